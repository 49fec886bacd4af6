"""Statistical checks with stated error rates.

Two rates belong to every check:

false alarm
    The chance, over keys, that a right sampler is rejected: ALPHA = 1e-9 for each check, whether it looks at one
    statistic or at a batch. The suite may make BUDGET / ALPHA = 1000 checks, so that their total stays within
    BUDGET = 1e-6; `accept` counts them and refuses the next one.
miss
    The chance that a faulty sampler is accepted: at most MISS = 1e-6 for every fault of at least the size that the
    check states as ``detects``, in the unit of its statistic.

Seeds are fixed, so a test that passed goes on passing until the words or the map from words to draws change; the rates
say how often such a change raises a false alarm. Thresholds are computed from the rates and the sample size, never
tuned. A check is made by one function and judged by `accept` or, for a mutant that must be caught, `reject`.

References
----------
.. [1] R. Simard, P. L'Ecuyer, "Computing the two-sided Kolmogorov-Smirnov distribution", J. Stat. Softw. 39 (2011).
.. [2] P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", Ann. Probab. 18 (1990).
.. [3] T. W. Anderson, D. A. Darling, "Asymptotic theory of certain goodness of fit criteria based on stochastic
   processes", Ann. Math. Statist. 23 (1952), section 4.
.. [4] N. V. Smirnov, "On the distribution of the omega^2 criterion", Rec. Math. 2 (1937), for the tail of a quadratic
   form.
.. [5] R. A. Fisher, E. A. Cornish, "The percentile points of distributions having known cumulants", Technometrics 2
   (1960).
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, optimize
from scipy import stats as distributions

ALPHA = 1e-9
MISS = 1e-6
BUDGET = 1e-6

Floats = NDArray[np.float64]

_made = itertools.count(1)


@dataclass(frozen=True)
class Check:
    """A statistic beside the largest value that a right sampler shows, but for a false alarm."""

    name: str
    statistic: float
    critical: float
    detects: float

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.statistic:.6g} against a critical value of {self.critical:.6g} "
            f"(false alarms {ALPHA:g}; faults of {self.detects:.3g} and more are missed with {MISS:g})"
        )


def accept(check: Check) -> None:
    """Assert that a check passes, and take its false alarm rate from the suite's budget."""
    __tracebackhide__ = True
    assert next(_made) * ALPHA <= BUDGET * (1 + 1e-12), "more checks than the budget of false alarms allows"
    assert check.statistic <= check.critical, str(check)


def reject(check: Check) -> None:
    """Assert that a check catches a mutant."""
    __tracebackhide__ = True
    assert check.statistic > check.critical, f"not caught: {check}"


def normal_quantile(alpha: float) -> float:
    """Return the z that a standard normal passes in absolute value with probability alpha."""
    return float(distributions.norm.isf(alpha / 2))


def kolmogorov_smirnov(sample: ArrayLike, cdf: Callable[[Floats], Floats]) -> Check:
    """Check the largest distance between the sample's distribution function and ``cdf``.

    The critical value is exact for the sample size [1]_. ``detects`` is a distance: the critical value and the distance
    that the sample's distribution function keeps to its own limit but for MISS [2]_.
    """
    values = np.sort(np.asarray(sample, np.float64))
    n = values.size
    expected = cdf(values)
    steps = np.arange(n + 1) / n
    distance = float(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()))
    critical = float(distributions.kstwo.isf(ALPHA, n))
    return Check("Kolmogorov-Smirnov distance", distance, critical, critical + math.sqrt(math.log(2 / MISS) / (2 * n)))


def anderson_darling(
    sample: ArrayLike, log_cdf: Callable[[Floats], Floats], log_sf: Callable[[Floats], Floats]
) -> Check:
    """Check the squared distance between distribution functions with weight 1 / (F (1 - F)), which sees tails.

    ``detects`` is the root of that weighted square, the integral of (G - F)^2 / (F (1 - F)) dF: the root of the
    statistic over n is a norm, so by the triangle inequality a fault is missed only where the noise of the sample makes
    up the difference. An error d of a Laplace variate's scale has a norm of 0.386 d.
    """
    values = np.sort(np.asarray(sample, np.float64))
    n = values.size
    weights = np.arange(1, 2 * n, 2)
    statistic = -n - float(np.sum(weights * (log_cdf(values) + log_sf(values[::-1])))) / n
    critical = anderson_darling_critical(ALPHA)
    detects = (math.sqrt(critical) + math.sqrt(anderson_darling_critical(MISS))) / math.sqrt(n)
    return Check("Anderson-Darling statistic", statistic, critical, detects)


def anderson_darling_tail(z: float) -> float:
    """Return the limit of P(A^2 > z) as the sample grows, exactly for all z that leave less than 1/2.

    A^2 tends to the sum of squares of standard normals over j (j + 1), whose generating function is
    E exp(s A^2) = D(s)^(-1/2), D(s) = -cos(pi/2 sqrt(1 + 8 s)) / (2 pi s) [3]_. For such a sum [4]_

        P(A^2 > z) = 1/pi sum_k (-1)^(k+1) integral of exp(-z s) / (s sqrt(abs(D(s)))) ds

    over s between the zeros of D that are number 2 k - 1 and 2 k. With t = sqrt(1 + 8 s) = 4 k + sin(phi) the integrand
    is smooth. At the sizes used here, 10^5 and more, the sample's own distribution differs from the limit by O(1/n).
    """

    def integrand(phi: float, k: int) -> float:
        y = math.sin(phi)
        t = 4 * k + y
        # cos(pi y / 2) near y = 1, without cancelling: sin(pi (1 - abs(y)) / 2), 1 - abs(y) = cos(phi)^2 / (1 + abs(y))
        cosine = math.sin(math.pi / 2 * math.cos(phi) ** 2 / (1 + abs(y)))
        s = (t * t - 1) / 8
        return math.exp(-z * s) * math.sqrt(2 * math.pi / (s * cosine)) * t / 4 * math.cos(phi)

    terms = [integrate.quad(integrand, -math.pi / 2, math.pi / 2, args=(k,))[0] for k in (1, 2, 3)]
    return float(terms[0] - terms[1] + terms[2]) / math.pi


@cache
def anderson_darling_critical(alpha: float) -> float:
    """Return the z with P(A^2 > z) = alpha."""
    return float(optimize.brentq(lambda z: math.log(anderson_darling_tail(z) / alpha), 1.0, 50.0))


@dataclass(frozen=True)
class Moments:
    """Mean, standard deviation, skewness and excess kurtosis of one term of a mean."""

    mean: float
    deviation: float
    skewness: float
    kurtosis: float


def absolute_power_moments(order: int) -> Moments:
    """Return the moments of abs(x)^order for a standard Laplace x, from E abs(x)^k = k!."""
    raw = [math.factorial(order * k) for k in range(5)]
    return _from_raw_moments([float(m) for m in raw])


def signed_moments() -> Moments:
    """Return the moments of a standard Laplace variate: variance 2, fourth moment 24."""
    return _from_raw_moments([1.0, 0.0, 2.0, 0.0, 24.0])


def _from_raw_moments(m: list[float]) -> Moments:
    variance = m[2] - m[1] ** 2
    third = m[3] - 3 * m[1] * m[2] + 2 * m[1] ** 3
    fourth = m[4] - 4 * m[1] * m[3] + 6 * m[1] ** 2 * m[2] - 3 * m[1] ** 4
    return Moments(m[1], math.sqrt(variance), third / variance**1.5, fourth / variance**2 - 3)


def moment(name: str, terms: ArrayLike, moments: Moments) -> Check:
    """Check a mean in standard errors: b sqrt(2/n) for x, b/sqrt(n) for abs(x), b^2 sqrt(20/n), b^4 sqrt(39744/n).

    The mean of a skewed term is not normal yet at six standard errors; the critical value has the next two terms of the
    expansion of its quantile [5]_. ``detects`` is an error of the mean.
    """
    values = np.asarray(terms, np.float64)
    n = values.size
    z = (float(values.mean()) - moments.mean) / moments.deviation * math.sqrt(n)
    upper = _cornish_fisher(normal_quantile(ALPHA), moments, n)
    lower = -_cornish_fisher(-normal_quantile(ALPHA), moments, n)
    critical = upper if z > 0 else lower
    missed = float(distributions.norm.isf(MISS))
    return Check(name, abs(z), critical, (upper + missed) * moments.deviation / math.sqrt(n))


def _cornish_fisher(z: float, moments: Moments, n: int) -> float:
    skewness, kurtosis = moments.skewness / math.sqrt(n), moments.kurtosis / n
    return z + (z**2 - 1) * skewness / 6 + (z**3 - 3 * z) * kurtosis / 24 - (2 * z**3 - 5 * z) * skewness**2 / 36


def count(name: str, hits: int, trials: int, probability: float) -> Check:
    """Check a number of hits by the exact binomial distribution; the statistic is -log10 of its two-sided tail.

    ``detects`` is an error of the probability.
    """
    law = distributions.binom(trials, probability)
    tail = 2 * min(float(law.cdf(hits)), float(law.sf(hits - 1)))
    spread = math.sqrt(probability * (1 - probability) / trials)
    reach = normal_quantile(ALPHA) + float(distributions.norm.isf(MISS))
    return Check(name, -math.log10(max(tail, 1e-300)), -math.log10(ALPHA), reach * spread)


def chi_square(name: str, counts: ArrayLike, probabilities: ArrayLike) -> Check:
    """Check counts of disjoint cells that make up everything, each expected 100 times at least.

    ``detects`` is the root of the sum of (q - p)^2 / p over the cells.
    """
    got = np.asarray(counts, np.float64).ravel()
    p = np.asarray(probabilities, np.float64).ravel()
    n = got.sum()
    assert abs(p.sum() - 1) < 1e-12
    assert (n * p).min() >= 100
    statistic = float(np.sum((got - n * p) ** 2 / (n * p)))
    critical = float(distributions.chi2.isf(ALPHA, p.size - 1))
    detects = math.sqrt(
        optimize.brentq(lambda shift: distributions.ncx2.cdf(critical, p.size - 1, shift) - MISS, 1.0, 1e4) / n
    )
    return Check(name, statistic, critical, detects)


def correlations(name: str, products: ArrayLike, n: int) -> Check:
    """Check means of n products x y, where x and y are independent, bounded, of mean 0 and variance 1.

    The largest of the m means is compared with the normal bound for ALPHA / m. ``detects`` is one correlation.
    """
    means = np.asarray(products, np.float64).ravel()
    z = normal_quantile(ALPHA / means.size)
    largest = float(np.abs(means).max())
    return Check(name, largest * math.sqrt(n), z, (z + float(distributions.norm.isf(MISS))) / math.sqrt(n))


# Distributions, standard form. Logarithms are taken on the side where nothing cancels.


def laplace_cdf(x: Floats) -> Floats:
    """Return P(X <= x) of the standard Laplace distribution."""
    tail = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0, tail, 1 - tail)


def laplace_log_cdf(x: Floats) -> Floats:
    """Return log P(X <= x) of the standard Laplace distribution."""
    return np.where(x < 0, -np.abs(x) - math.log(2), np.log1p(-0.5 * np.exp(-np.abs(x))))


def laplace_log_sf(x: Floats) -> Floats:
    """Return log P(X > x) of the standard Laplace distribution."""
    return laplace_log_cdf(-x)


def exponential_cdf(x: Floats) -> Floats:
    """Return P(X <= x) of the standard exponential distribution."""
    return -np.expm1(-x)


def exponential_log_cdf(x: Floats) -> Floats:
    """Return log P(X <= x) of the standard exponential distribution."""
    return np.log(-np.expm1(-x))


def exponential_log_sf(x: Floats) -> Floats:
    """Return log P(X > x) of the standard exponential distribution."""
    return -x


def centred_ranks(cumulative: Floats) -> Floats:
    """Return uniforms on (0, 1) scaled to mean 0 and variance 1, for `correlations`."""
    return (cumulative - 0.5) * math.sqrt(12)
