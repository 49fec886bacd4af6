"""A Monte Carlo inside a kernel: the worst error of k noisy counts, and how often the largest is the true one.

Each block of trials takes its words from a place of its own, so that the draws are the same on any number of threads.
The first answer has a closed form, which the estimate is held to. Run it with `python examples/monte_carlo.py`.
"""

from __future__ import annotations

import math

import numba
import numpy as np

import lapnoise
from lapnoise.embed import jit

TRIALS = 1_000_000
BLOCK = 1_000  # trials whose words are made at a time: 40 kB of them
COUNTS = np.array([120.0, 118.0, 101.0, 97.0, 64.0])
SCALE = 2.0


@numba.njit(parallel=True)
def simulate(counts, scale, trials, source, position):
    """Return the mean of the largest error, its mean square, and how often the largest count stays the largest."""
    k = counts.size
    worst, squares, kept = 0.0, 0.0, 0
    for block in numba.prange((trials + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        words = np.empty((min(trials - first, BLOCK), k), np.uint64)
        jit.fill_words(words.reshape(-1), source, position + first * k)
        for trial in range(words.shape[0]):
            largest, best, top = 0.0, 0, -np.inf
            for i in range(k):
                noise = scale * jit.laplace_from_word(words[trial, i])
                largest = max(largest, abs(noise))
                if counts[i] + noise > top:
                    top, best = counts[i] + noise, i
            worst += largest
            squares += largest * largest
            kept += best == 0
    return worst / trials, squares / trials, kept / trials


def main() -> None:
    """Estimate, and compare with theory: the largest of k exponentials of mean b has mean b (1 + 1/2 + ... + 1/k)."""
    source, position = jit.reserve(lapnoise.default_rng(7), TRIALS * COUNTS.size)
    worst, square, kept = simulate(COUNTS, SCALE, TRIALS, source, position)
    theory = SCALE * sum(1 / i for i in range(1, COUNTS.size + 1))
    error = math.sqrt((square - worst * worst) / TRIALS)
    print(f"largest error of {COUNTS.size} counts: {worst:.4f} +- {error:.4f}, theory {theory:.4f}")
    print(f"the largest count stays the largest in {100 * kept:.2f} % of trials")


if __name__ == "__main__":
    main()
