"""Noise inside a kernel of one's own: hourly counts are bounded, added up and noised in one pass, on all cores.

The kernel is compiled by Numba, and draws with `lapnoise.embed.jit`: each cell's noise is addressed by its place in the
stream, so that it is the same on any number of threads. Run it with `python examples/user_kernel.py`.
"""

from __future__ import annotations

import numba
import numpy as np

import lapnoise
from lapnoise.embed import jit

ROOMS, HOURS, VISITS = 1_000, 24, 2_000_000
MOST = 4  # visits of one person that are counted
SCALE = 2.0


@numba.njit(parallel=True)
def noisy_totals(visits, scale, source, position):
    """Return the visits of each room, at most MOST a person and hour, with Laplace noise."""
    rooms, hours = visits.shape[0], visits.shape[1]
    totals = np.empty(rooms)
    for room in numba.prange(rooms):
        total = 0
        for hour in range(hours):
            total += min(visits[room, hour], MOST)
        totals[room] = total + scale * jit.laplace_at(source, position + room)
    return totals


@numba.njit
def add_noise_in_blocks(x, scale, source, position):
    """Add noise to a vector from words in a buffer: the fast way, 512 words at a time."""
    words = np.empty(512, np.uint64)
    for start in range(0, x.size, 512):
        part = x[start : start + 512]
        batch = words[: part.size]
        jit.fill_words(batch, source, position + start)
        for i in range(part.size):
            part[i] += scale * jit.laplace_from_word(batch[i])


def main() -> None:
    """Noise a table of counts in two kernels, and compare with the Generator whose words they take."""
    visits = np.random.default_rng(1).poisson(VISITS / ROOMS / HOURS / 40, (ROOMS, HOURS))
    rng = lapnoise.default_rng(7)  # seeded, so that the example prints the same every time; for tests and simulation
    source, position = jit.reserve(rng, ROOMS)
    totals = noisy_totals(visits, SCALE, source, position)
    plain = np.minimum(visits, MOST).sum(axis=1)
    same = np.array_equal(totals, lapnoise.default_rng(7).add_laplace(plain, SCALE))
    print(f"{ROOMS:,} rooms: mean error {np.abs(totals - plain).mean():.2f}, scale {SCALE:g}")
    print(f"the noise is Generator's, bit for bit: {same}")

    x = np.zeros(1_000_000)
    source, position = jit.reserve(rng, x.size)  # the words after those that the rooms took
    add_noise_in_blocks(x, SCALE, source, position)
    check = lapnoise.default_rng(7)
    check.seek(ROOMS)
    same = np.array_equal(x, check.laplace(0.0, SCALE, x.size))
    print(f"{x.size:,} values in blocks: mean magnitude {np.abs(x).mean():.3f}, Generator's bits: {same}")


if __name__ == "__main__":
    main()
