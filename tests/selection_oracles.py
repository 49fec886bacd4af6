"""Selection by its definition, in high precision: keys from all the bits that are needed, and probabilities."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from mpmath import mp, mpf

BITS = 700


def true_key(j: int, n: int, penalty: Fraction, measure: Fraction, logarithmic: bool) -> mpf:
    """Return the key at U = j 2^-n; infinite at the ends of the unit interval."""
    if j == 0:
        return mp.inf if logarithmic else -mp.inf
    exponential = -mp.log(mpf(j) / mpf(2) ** n)
    x = mpf(penalty.numerator) / penalty.denominator
    if not logarithmic:
        return x - exponential
    if exponential == 0:
        return -mp.inf
    return mp.log(exponential) + x - mp.log(mpf(measure.numerator) / measure.denominator)


def winner(
    words: Sequence[int],
    penalties: Sequence[Fraction],
    measures: Sequence[Fraction],
    logarithmic: bool,
    further: Callable[[int, int], int],
) -> int:
    """Return the candidate with the least key, U having 63 bits of its word and all those of further(i, depth)."""
    left = {i: word >> 1 for i, word in enumerate(words) if measures[i] > 0}
    n = 63
    with mp.workprec(BITS):
        for depth in range(4):
            ends = {}
            for i, j in left.items():
                both = [true_key(end, n, penalties[i], measures[i], logarithmic) for end in (j, j + 1)]
                ends[i] = min(both), max(both)
            least = min(high for _, high in ends.values())
            left = {i: j for i, j in left.items() if ends[i][0] <= least}
            if len(left) == 1:
                return next(iter(left))
            left = {i: j << 64 | further(i, depth) for i, j in left.items()}
            n += 64
    raise AssertionError("keys that four words do not part")


def softmax(penalties: Sequence[Fraction], measures: Sequence[Fraction]) -> list[float]:
    """Return m exp(-x) over the sum of all."""
    with mp.workprec(BITS):
        weights = [
            mpf(m.numerator) / m.denominator * mp.exp(-mpf(x.numerator) / x.denominator)
            for x, m in zip(penalties, measures, strict=True)
        ]
        return [float(w / mp.fsum(weights)) for w in weights]


def permute_and_flip(q: Sequence[float]) -> list[float]:
    """Return probabilities by visiting the candidates in every order, each taken with probability q."""
    totals = [0.0] * len(q)
    for order in itertools.permutations(range(len(q))):
        reached = 1.0
        for i in order:
            totals[i] += reached * q[i]
            reached *= 1.0 - q[i]
    return [total / math.factorial(len(q)) for total in totals]
