"""Critical values of the statistics that experiments and verifications show, each for a rate of false alarms.

References
----------
.. [1] E. A. Cornish, R. A. Fisher, "Moments and cumulants in the specification of distributions", Rev. Int. Stat. Inst.
   5 (1938); R. A. Fisher, E. A. Cornish, "The percentile points of distributions having known cumulants", Technometrics
   2 (1960).
.. [2] R. Simard, P. L'Ecuyer, "Computing the two-sided Kolmogorov-Smirnov distribution", J. Stat. Softw. 39 (2011).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Law",
    "Moments",
    "continuous_law",
    "cornish_fisher",
    "discrete_law",
    "kolmogorov_smirnov",
    "mean_band",
    "normal_quantile",
    "square_moments",
]

Floats = NDArray[np.float64]

CONTINUOUS_FROM = 2.0**12
"""From this scale in steps on, moments on a lattice are those of the continuous law within 1 / (12 t^2) < 5e-9."""


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
        central3 = third - 3 * first * second + 2 * first**3
        central4 = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        return cls(first, math.sqrt(variance), central3 / variance**1.5, central4 / variance**2 - 3)


@dataclass(frozen=True)
class Law:
    """A symmetric distribution, standard or on the integers.

    Attributes
    ----------
    cdf, below : callable
        P(X <= x) and P(X < x).
    powers : tuple of Moments
        Of abs(X) and of X^2, behind those of X itself.
    """

    cdf: Callable[[Floats], Floats]
    below: Callable[[Floats], Floats]
    powers: tuple[Moments, Moments, Moments]


def normal_quantile(alpha: float) -> float:
    """Return the z that a standard normal passes in absolute value with probability alpha."""
    return -NormalDist().inv_cdf(alpha / 2)


def cornish_fisher(z: float, moments: Moments, n: int) -> float:
    """Return the quantile of a standardised mean of n terms at which a normal one has z [1]_."""
    skewness, kurtosis = moments.skewness / math.sqrt(n), moments.kurtosis / n
    return z + (z**2 - 1) * skewness / 6 + (z**3 - 3 * z) * kurtosis / 24 - (2 * z**3 - 5 * z) * skewness**2 / 36


def mean_band(moments: Moments, n: int, alpha: float) -> tuple[float, float]:
    """Return what the mean of n terms lies between but with probability alpha.

    The error of the expansion falls like n^-3/2; for the squares of Laplace noise it is of use from some hundreds on.
    """
    z = normal_quantile(alpha)
    spread = moments.deviation / math.sqrt(n)
    low = cornish_fisher(-z, moments, n)
    high = cornish_fisher(z, moments, n)
    return moments.mean + spread * low, moments.mean + spread * high


def square_moments(releases: int) -> Moments:
    """Return the moments of x^2 for x the mean of so many standard Laplace variates.

    From cumulants: those of a Laplace variate are 2 (j - 1)! for even j, and a mean of k has k^(1 - j) times those.
    """
    cumulants = [0.0] + [2.0 * math.factorial(j - 1) * float(releases) ** (1 - j) * (j % 2 == 0) for j in range(1, 9)]
    raw = [1.0]
    for order in range(1, 9):
        raw.append(sum(math.comb(order - 1, j - 1) * cumulants[j] * raw[order - j] for j in range(1, order + 1)))
    return Moments.of([raw[2], raw[4], raw[6], raw[8]])


@lru_cache(maxsize=1)
def continuous_law() -> Law:
    """Return the standard Laplace distribution: E abs(x)^k = k!."""

    def cdf(x: Floats) -> Floats:
        tail = 0.5 * np.exp(-np.abs(x))
        return np.where(x < 0, tail, 1 - tail)

    return Law(cdf, cdf, _powers([float(math.factorial(k)) for k in range(9)]))


@lru_cache(maxsize=64)
def discrete_law(t: float) -> Law:
    """Return the discrete Laplace distribution of scale t, on the integers."""
    q = math.exp(-1.0 / t)

    def cdf(k: Floats) -> Floats:
        tail = np.exp(-(np.floor(np.abs(k)) + 1) / t) / (1 + q)  # P(X > abs(k)), and P(X < -abs(k))
        here = np.exp(-np.abs(k) / t) / (1 + q)  # P(X <= k) for k < 0, P(X >= k) for k > 0
        return np.where(k < 0, here, 1 - tail)

    if t >= CONTINUOUS_FROM:
        means = [math.factorial(k) * t**k for k in range(9)]
    else:
        k = np.arange(1.0, 800.0 * t + 2)
        mass = 2 * (1 - q) / (1 + q) * np.exp(-k / t)
        means = [float(np.sum(mass * k**power)) for power in range(9)]
    return Law(cdf, lambda k: cdf(k - 1), _powers(means))


def kolmogorov_smirnov(sample: Floats, law: Law) -> tuple[float, Callable[[float], float]]:
    """Return the largest distance between distribution functions, and its critical value for a rate of false alarms.

    The critical value is that of continuous laws [2]_; where the law has atoms, false alarms are rarer still.
    """
    from scipy.stats import kstwo

    n = sample.size
    points, counts = np.unique(sample, return_counts=True)
    upto = np.cumsum(counts)
    above = np.abs(upto / n - law.cdf(points)).max()
    below = np.abs((upto - counts) / n - law.below(points)).max()
    return float(max(above, below)), lambda alpha: float(kstwo.isf(alpha, n))


def _powers(means: list[float]) -> tuple[Moments, Moments, Moments]:
    """Return the moments of X, abs(X) and X^2, given the means of abs(X)^k, k = 0 to 8."""
    signed = Moments.of([0.0, means[2], 0.0, means[4]])
    return signed, Moments.of(means[1:5]), Moments.of([means[2], means[4], means[6], means[8]])
