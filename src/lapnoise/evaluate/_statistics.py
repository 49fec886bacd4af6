"""Laws that experiments and verifications hold draws to, and critical values of their statistics.

References
----------
.. [1] R. Simard, P. L'Ecuyer, "Computing the two-sided Kolmogorov-Smirnov distribution", J. Stat. Softw. 39 (2011).
.. [2] V. Bentkus, D. Dzindzalieta, "A tight Gaussian bound for weighted sums of Rademacher random variables", Bernoulli
   21 (2015), theorem 1.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from lapnoise.evaluate._sums import Moments, Term, normal_quantile

__all__ = [
    "Law",
    "Moments",
    "averaged_terms",
    "conditioned_law",
    "continuous_law",
    "discrete_law",
    "fair_signs",
    "kolmogorov_smirnov",
    "normal_law",
    "random_signs",
    "square_moments",
]

Floats = NDArray[np.float64]

CONTINUOUS_FROM = 2.0**12
"""From this scale in steps on, moments on a lattice are those of the continuous law within 1 / (12 t^2) < 5e-9."""

RADEMACHER = 3.18
"""Of weighted sums of signs, how many times as probable as those of a normal tails are at most [2]_: 3.1787."""


@dataclass(frozen=True)
class Law:
    """A symmetric distribution, standard or on the integers.

    Attributes
    ----------
    cdf, below : callable
        P(X <= x) and P(X < x).
    powers : tuple of Moments
        Of abs(X) and of X^2, behind those of X itself.
    whole : bool
        Whether it is on the integers.
    """

    cdf: Callable[[Floats], Floats]
    below: Callable[[Floats], Floats]
    powers: tuple[Moments, Moments, Moments]
    whole: bool = False

    @cached_property
    def terms(self) -> tuple[Term, Term, Term]:
        """X, abs(X) and X^2 as terms of sums."""

        def tail(x: Floats) -> Floats:
            return self.below(-np.floor(x) if self.whole else -x)

        signed, size, square = self.powers
        return (
            Term(signed, tail, self.whole, signed=True),
            Term(size, lambda v: 2 * tail(v), self.whole),
            Term(square, lambda v: 2 * tail(np.sqrt(v)), self.whole),
        )


def square_moments(releases: int) -> Moments:
    """Return the moments of x^2 for x the mean of so many standard Laplace variates.

    From cumulants: those of a Laplace variate are 2 (j - 1)! for even j, and a mean of k has k^(1 - j) times those.
    """
    cumulants = [0.0] + [2.0 * math.factorial(j - 1) * float(releases) ** (1 - j) * (j % 2 == 0) for j in range(1, 9)]
    raw = [1.0]
    for order in range(1, 9):
        raw.append(sum(math.comb(order - 1, j - 1) * cumulants[j] * raw[order - j] for j in range(1, order + 1)))
    return Moments.of([raw[2], raw[4], raw[6], raw[8]])


@lru_cache(maxsize=256)
def averaged_terms(releases: int) -> tuple[Term, Term]:
    """Return x and x^2 as terms of sums, for x the mean of so many standard Laplace variates.

    A sum S of k has P(S > s) = sum of C(k - 1 + j, j) 2^-(k + j) Q(k - j, s) over 0 <= j < k for s >= 0, Q being the
    regularised upper incomplete gamma function: its density is a polynomial times exp(-abs(s)).
    """
    from scipy.special import gammaincc, gammaln

    j = np.arange(releases)
    k = releases + 0.0
    weights = np.exp(gammaln(k + j) - gammaln(j + 1) - gammaln(k) - (k + j) * math.log(2.0))

    def tail(x: Floats) -> Floats:
        return np.asarray(sum(w * gammaincc(releases - i, releases * x) for i, w in enumerate(weights.tolist())))

    # Of a mean of k variates excess kurtosis is that of one over k.
    signed = Moments(0.0, math.sqrt(2.0 / releases), 0.0, 3.0 / releases)
    return Term(signed, tail, signed=True), Term(square_moments(releases), lambda v: 2 * tail(np.sqrt(v)))


@lru_cache(maxsize=1)
def continuous_law() -> Law:
    """Return the standard Laplace distribution: E abs(x)^k = k!."""

    def cdf(x: Floats) -> Floats:
        tail = 0.5 * np.exp(-np.abs(x))
        return np.where(x < 0, tail, 1 - tail)

    return Law(cdf, cdf, _powers([float(math.factorial(k)) for k in range(9)]))


@lru_cache(maxsize=64)
def conditioned_law(reach: float) -> Law:
    """Return the standard Laplace distribution conditioned on abs(x) <= reach."""
    from scipy.special import gammainc

    rest, whole = math.exp(-reach), -math.expm1(-reach)

    def cdf(x: Floats) -> Floats:
        tail = (np.exp(-np.minimum(np.abs(x), reach)) - rest) / (2 * whole)
        return np.where(x < 0, tail, 1 - tail)

    # Of an exponential variate below a, E x^k = k! P(k + 1, a) / P(1, a), P the regularised incomplete gamma function.
    return Law(cdf, cdf, _powers([math.factorial(k) * float(gammainc(k + 1, reach)) / whole for k in range(9)]))


@lru_cache(maxsize=1)
def normal_law() -> Law:
    """Return the standard normal distribution: E abs(x)^k = 2^(k / 2) gamma((k + 1) / 2) / sqrt(pi)."""
    from scipy.special import ndtr

    means = [2 ** (k / 2) * math.gamma((k + 1) / 2) / math.sqrt(math.pi) for k in range(9)]
    return Law(ndtr, ndtr, _powers(means))


@lru_cache(maxsize=64)
def discrete_law(t: float) -> Law:
    """Return the discrete Laplace distribution of scale t, on the integers."""
    q = math.exp(-1.0 / t)

    def cdf(k: Floats) -> Floats:
        tail = np.exp(-(np.floor(np.abs(k)) + 1) / t) / (1 + q)  # P(X > abs(k)), and P(X < -abs(k))
        here = np.exp(-np.abs(k) / t) / (1 + q)  # P(X <= k) for k < 0, P(X >= k) for k > 0
        return np.where(k < 0, here, 1 - tail)

    means: list[float]
    if t >= CONTINUOUS_FROM:
        means = [math.factorial(k) * t**k for k in range(9)]
    else:
        k = np.arange(1.0, 800.0 * t + 2)
        mass = 2 * (1 - q) / (1 + q) * np.exp(-k / t)
        means = [float(np.sum(mass * k**power)) for power in range(9)]
    return Law(cdf, lambda k: cdf(k - 1), _powers(means), whole=True)


def kolmogorov_smirnov(sample: Floats, law: Law) -> tuple[float, Callable[[float], float]]:
    """Return the largest distance between distribution functions, and its critical value for a rate of false alarms.

    The critical value is that of continuous laws [1]_; where the law has atoms, false alarms are rarer still.
    """
    from scipy.stats import kstwo

    n = sample.size
    points, counts = np.unique(sample, return_counts=True)
    upto = np.cumsum(counts)
    above = np.abs(upto / n - law.cdf(points)).max()
    below = np.abs((upto - counts) / n - law.below(points)).max()
    return float(max(above, below)), lambda alpha: float(kstwo.isf(alpha, n))


def fair_signs(plus: int, minus: int) -> tuple[float, Callable[[float], float]]:
    """Return how many standard errors apart two counts are that fair coins made, and the critical value: binomial."""
    from scipy.stats import binom

    n = plus + minus
    if n == 0:
        return 0.0, lambda alpha: 0.0

    def critical(alpha: float) -> float:
        return float(2 * binom.isf(alpha / 2, n, 0.5) - n) / math.sqrt(n)

    return abs(plus - minus) / math.sqrt(n), critical


def random_signs(alpha: float) -> float:
    """Return what abs(sum of a_i s_i) / sqrt(sum of a_i^2) exceeds with probability alpha at most, s_i fair signs [2]_.

    Whatever the weights are, and however few.
    """
    return normal_quantile(alpha / RADEMACHER)


def _powers(means: list[float]) -> tuple[Moments, Moments, Moments]:
    """Return the moments of X, abs(X) and X^2, given the means of abs(X)^k, k = 0 to 8."""
    signed = Moments.of([0.0, means[2], 0.0, means[4]])
    return signed, Moments.of(means[1:5]), Moments.of([means[2], means[4], means[6], means[8]])
