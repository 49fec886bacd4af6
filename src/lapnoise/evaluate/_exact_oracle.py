"""Exact noise against integer arithmetic: on random words, on words about boundaries, and on values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapnoise import exact as arithmetic
from lapnoise import lattice
from lapnoise._word_source import exact_noise
from lapnoise.evaluate._checks import Check, exact
from lapnoise.evaluate._reading_copy import Words, laplace_step
from lapnoise.generator import Generator
from lapnoise.mechanisms import LaplaceMechanism

__all__ = ["boundary_cell", "exact_oracle"]

SUBJECT = "exact noise"
LOOK = (
    "the sampler: a compiled tier of exact noise disagrees with integer arithmetic on the same word (kernels or their "
    "cache; floating point on this processor: rounding, fused multiply-add)"
)
SUM_LOOK = "the sum of value and noise, if the noise above is right: rounding to the lattice, or the one conversion"

# At 2^57 one word in fifteen decides nothing, so that further words are looked at too.
RANDOM_SCALES = (0.3, 3.0, 12345.678, 2.0**30, 2.0**43, 2.0**50, 2.0**57)
BOUNDARY_SCALES = (3.0, 2.0**30, 2.0**43)
DISTANCES = sorted({0, *(sign * (1 << k) for k in (0, 1, 2, 4, 6, 8, 12, 16) for sign in (-1, 1))})
"""Distances in cells from the one that holds a boundary."""


def exact_oracle(rng: Generator, draws: int, boundaries: int) -> Iterator[Check]:
    """Yield checks of so many draws at each scale, of the words about so many boundaries, and of sums."""
    for t in RANDOM_SCALES:
        place = rng.position
        got = rng.discrete_laplace(t, draws).tolist()
        words = Words.of(rng._stream.source)
        wrong = sum(k != _cut(laplace_step(words, place + i, t)) for i, k in enumerate(got))
        yield exact(SUBJECT, f"{draws} random words, {_named(t)}", "draws that differ", wrong, LOOK)
    for t in BOUNDARY_SCALES:
        chosen, wrong = _about_boundaries(rng, t, boundaries)
        tested = f"{chosen} words about boundaries, {_named(t)}"
        yield exact(SUBJECT, tested, "draws that differ", wrong, LOOK)
    values = _values(rng, draws)
    wrong = _sums(rng, values)
    yield exact(SUBJECT, f"{draws} values and their noise, summed exactly", "sums that differ", wrong, SUM_LOOK)


def boundary_cell(t: Fraction, m: int) -> int:
    """Return the cell of width 2^-63 in which M passes from m to m - 1: floor(2^63 2 q^m / (1 + q)), q = exp(-1/t).

    With 160 bits it is that cell but where the boundary lies within 2^-90 of a cell's end.
    """
    p = 160
    power = arithmetic.exp_negative(Fraction(m) / t, p)[0]
    q = arithmetic.exp_negative(1 / t, p)[0]
    return (power << 64) // ((1 << p) + q)


def _about_boundaries(rng: Generator, t: float, count: int) -> tuple[int, int]:
    """Return how many words about boundaries there were, and how many were decided wrongly."""
    from lapnoise.kernels.chosen_words import magnitudes_of_words

    scale = Fraction(t)
    words = []
    for e in rng.exponential(1.0, count).tolist():
        cell = boundary_cell(scale, max(1, math.floor(scale * Fraction(min(e, 11.0)))))
        words += [(cell + d) << 1 for d in DISTANCES if 0 < cell + d < 1 << 63]
    chosen = np.array(words, np.uint64)
    rooms, pending = np.empty((3, chosen.size)), np.empty(chosen.size + 1, np.int64)
    magnitudes_of_words(chosen, exact_noise().law(t), rooms, pending)
    # A word that is left undecided goes on to integer arithmetic, which is what it would be compared with.
    decided = [(word, int(m)) for word, m in zip(words, rooms[0].tolist(), strict=True) if m != -1.0]
    return len(words), sum(arithmetic.magnitude(scale, word >> 1, itertools.repeat(0)) != m for word, m in decided)


def _cut(k: int) -> int:
    return min(max(k, 1 - (1 << 63)), (1 << 63) - 1)


def _values(rng: Generator, count: int) -> NDArray[np.float64]:
    """Return values of all sizes, from far below the scale of the noise to far above."""
    exponents = (rng.words(count) % np.uint64(80)).astype(np.int64) - 40
    values: NDArray[np.float64] = rng.laplace(0.0, np.ldexp(1.0, exponents))
    return values


def _sums(rng: Generator, values: NDArray[np.float64]) -> int:
    mechanism = LaplaceMechanism(epsilon="0.7", sensitivity=1, changed=1)
    on = mechanism.lattice
    place, noisy = rng.position, np.empty(values.size)
    mechanism._add(rng, values, noisy)
    words = Words.of(rng._stream.source)
    expected = (
        lattice.release(Fraction(x), laplace_step(words, place + i, on.t), on.exponent)
        for i, x in enumerate(values.tolist())
    )
    return sum(a != b for a, b in zip(noisy.tolist(), expected, strict=True))


def _named(t: float) -> str:
    return f"scale {t:g}" if t < 2**20 else f"scale 2^{math.log2(t):g}"
