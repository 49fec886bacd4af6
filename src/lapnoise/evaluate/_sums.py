"""What sums of independent terms lie between, but with a probability that is stated.

Three ways lead there. Many terms, beside how skew one is, have an expansion. Few have their distribution worked out, by
Fourier transform on a grid: exactly where terms are whole numbers, and where the tail leaves the transform enough
digits. Beyond that there is an inequality, which holds always and is wide.

References
----------
.. [1] E. A. Cornish, R. A. Fisher, "Moments and cumulants in the specification of distributions", Rev. Int. Stat. Inst.
   5 (1938); R. A. Fisher, E. A. Cornish, "The percentile points of distributions having known cumulants", Technometrics
   2 (1960).
.. [2] S. Boucheron, G. Lugosi, P. Massart, "Concentration Inequalities", 2013, theorem 2.10 (Bernstein), and exercise
   2.9 for sums of non-negative terms from below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

__all__ = ["Moments", "Term", "cornish_fisher", "mean_band", "normal_quantile", "share", "sum_band"]

Floats = NDArray[np.float64]

CELLS = 1 << 20
"""Of the grid; a sum's standard deviation is hundreds of them."""

LEAST_TRANSFORMED = 1e-10
"""Probabilities that the transform tells from its rounding, some 1e-15, with five digits."""

SLACK = 1e-3
"""Part of a probability that goes to terms beyond the grid, and a tenth of that to sums."""

MOST_SKEWNESS, MOST_KURTOSIS = 0.25, 0.1
"""Of the sum, times z and z^2: up to there the expansion's next terms move a quantile by less than 0.02."""


@dataclass(frozen=True)
class Moments:
    """Mean, standard deviation, skewness and excess kurtosis of one term of a mean."""

    mean: float
    deviation: float
    skewness: float
    kurtosis: float

    @classmethod
    def of(cls, raw: list[float]) -> Moments:
        """Return them for a term whose first four powers have these means."""
        first, second, third, fourth = raw
        variance = second - first**2
        if variance <= 0.0:  # all is 0 but with a probability that is no float
            return cls(first, 0.0, 0.0, 0.0)
        central3 = third - 3 * first * second + 2 * first**3
        central4 = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        deviation = math.sqrt(variance)
        return cls(first, deviation, central3 / variance / deviation, central4 / variance / variance - 3)


@dataclass(frozen=True)
class Term:
    """One of the independent terms of a sum.

    Attributes
    ----------
    moments : Moments
    exceeds : callable
        P(Y > v) for v >= 0.
    whole : bool
        Whether it is a whole number.
    signed : bool
        Whether it is symmetric about 0; else it is never negative.
    """

    moments: Moments
    exceeds: Callable[[Floats], Floats]
    whole: bool = False
    signed: bool = False


def normal_quantile(alpha: float) -> float:
    """Return the z that a standard normal passes in absolute value with probability alpha."""
    return -NormalDist().inv_cdf(alpha / 2)


def cornish_fisher(z: float, moments: Moments, n: int) -> float:
    """Return the quantile of a standardised mean of n terms at which a normal one has z [1]_."""
    skewness, kurtosis = moments.skewness / math.sqrt(n), moments.kurtosis / n
    return z + (z**2 - 1) * skewness / 6 + (z**3 - 3 * z) * kurtosis / 24 - (2 * z**3 - 5 * z) * skewness**2 / 36


def share(level: Fraction) -> str:
    """Return a probability below 1 in words that do not round it to 1."""
    short = f"{float(level):.9g}"
    return short if Fraction(short) < 1 else f"1 - {float(1 - level):.3g}"


def mean_band(term: Term, n: int, alpha: float) -> tuple[float, float]:
    """Return what the mean of n terms lies between, ends included, but with probability alpha at most."""
    low, high = sum_band(term, n, alpha)
    return low / n, high / n


@lru_cache(maxsize=1024)
def sum_band(term: Term, n: int, alpha: float) -> tuple[float, float]:
    """Return what the sum of n terms lies between, ends included, but with probability alpha / 2 on either side."""
    moments = term.moments
    if moments.deviation == 0.0:
        return n * moments.mean, n * moments.mean
    z = normal_quantile(alpha)
    few = z * abs(moments.skewness) > MOST_SKEWNESS * math.sqrt(n) or z * z * abs(moments.kurtosis) > MOST_KURTOSIS * n
    if few:
        return _transformed(term, n, alpha) if alpha >= LEAST_TRANSFORMED else _bounded(term, n, alpha)
    spread = moments.deviation * math.sqrt(n)
    low, high = (n * moments.mean + spread * cornish_fisher(side * z, moments, n) for side in (-1.0, 1.0))
    # A whole number has the density's mass from half below it to half above.
    return (math.floor(low + 0.5), math.ceil(high - 0.5)) if term.whole else (low, high)


def _transformed(term: Term, n: int, alpha: float) -> tuple[float, float]:
    """Return the band from the distribution of the sum on a grid, to whose points terms are rounded."""
    share = alpha / 2 * (1 - 4 * SLACK)
    most = _largest(term, n, SLACK * alpha)
    below, above = _reach(term, n, most, SLACK * alpha / 10)
    centre = n * term.moments.mean
    step = 1.0 if term.whole and below + above < CELLS - 4 else (below + above) / (CELLS - 4)
    cells = 1 << max(10, math.ceil(math.log2((below + above) / step + 4)))
    places = np.arange(math.ceil(most / step) + 1.0)
    passed = np.asarray(term.exceeds((places + 0.5) * step), np.float64)
    mass = np.zeros(cells)
    if term.signed:
        mass[: places.size] = np.concatenate(([1.0], passed[:-1])) - passed
        mass[0] = 1.0 - 2.0 * passed[0]
        mass[-1 : -places.size : -1] += mass[1 : places.size]
    else:
        mass[: places.size] = np.concatenate(([1.0], passed[:-1])) - passed
    sums = np.fft.irfft(np.fft.rfft(mass) ** n, cells)
    # Rounding to the grid moves the mean of a term, whose distribution may be steep at 0.
    drift = (
        0.0 if term.signed or (step == 1.0 and term.whole) else centre - n * step * float(mass[: places.size] @ places)
    )
    first = math.floor((centre - drift - below) / step) - 1
    sums = np.roll(np.maximum(sums, 0.0), -(first % cells))
    low = int(np.searchsorted(np.cumsum(sums), share, side="right"))
    high = cells - 1 - int(np.searchsorted(np.cumsum(sums[::-1]), share, side="right"))
    # What rounding does to a sum is at most half a step a term, and of many far less.
    off = 0.0 if step == 1.0 and term.whole else step * min(n / 2, math.sqrt(n))
    return (first + low) * step + drift - off, (first + high) * step + drift + off


def _bounded(term: Term, n: int, alpha: float) -> tuple[float, float]:
    """Return the band that inequalities give."""
    below, above = _reach(term, n, _largest(term, n, alpha / 4), alpha / 4)
    return n * term.moments.mean - below, n * term.moments.mean + above


def _largest(term: Term, n: int, alpha: float) -> float:
    """Return what none of n terms exceeds in absolute value, but with probability alpha."""
    sides = 2 if term.signed else 1

    def rare(v: float) -> bool:
        return float(term.exceeds(np.array([v]))[0]) * sides * n <= alpha

    low, high = 0.0, max(term.moments.deviation, 1.0 if term.whole else 0.0)
    while not rare(high):
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if rare(middle) else (middle, high)
    return high


def _reach(term: Term, n: int, most: float, alpha: float) -> tuple[float, float]:
    """Return how far below and above its mean a sum of terms of at most that size lies, but with alpha each [2]_."""
    moments, nats = term.moments, -math.log(alpha)
    variance = n * moments.deviation**2
    heavy = most * nats / 3
    above = heavy + math.sqrt(heavy**2 + 2 * nats * variance)
    if term.signed:
        return above, above
    return min(math.sqrt(2 * nats * (variance + n * moments.mean**2)), n * moments.mean), above
