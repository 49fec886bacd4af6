"""Distributions of draws against their laws: Kolmogorov-Smirnov and chi-square, moments, signs, neighbours."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise.errors import SeededNoiseWarning
from lapnoise.evaluate._checks import Statistic
from lapnoise.evaluate._statistics import (
    Law,
    conditioned_law,
    continuous_law,
    discrete_law,
    fair_signs,
    kolmogorov_smirnov,
    normal_law,
    random_signs,
)
from lapnoise.evaluate._sums import Term, sum_band
from lapnoise.generator import Generator
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)

__all__ = ["distributions", "judged_by"]

SUBJECT = "distribution"
SAMPLER = "the sampler: the map from words to draws, or the words themselves, if known answers failed too"
MECHANISM = (
    "the scale, which must be sensitivity / epsilon: the sensitivity and the epsilon that the mechanism has; then the "
    "sampler, if its own lines failed too"
)
ORDERED = 200_000
"""Draws that are sorted for the Kolmogorov-Smirnov distance."""

GAUSSIAN_SIGMA = 4.224678889
BOUNDED_SCALES = ((10, 1.611560104), (1, 1.0))
"""Width of a domain, and the scale."""


def distributions(rng: Generator, n: int) -> Iterator[Statistic]:
    """Yield statistics of n draws of each law, at several scales and types."""
    standard = continuous_law()
    for name, draw in _continuous(rng):
        yield from judged_by(f"{n:,} of {name}", draw(n), standard, SUBJECT, SAMPLER)
    for t in (1.0, 50.0, 2.0**30):
        sample = rng.discrete_laplace(t, n).astype(np.float64)
        tested = f"{n:,} of discrete_laplace, scale {t:g}"
        yield from judged_by(tested, sample, discrete_law(t), SUBJECT, SAMPLER)
        if t == 1.0:
            yield _chi_square(tested, sample, t)
    for tested, noise, law in _released(rng, n):
        yield from judged_by(f"{n:,} of {tested}", noise, law, SUBJECT, MECHANISM)


def judged_by(tested: str, sample: NDArray[np.float64], law: Law, subject: str, look: str) -> Iterator[Statistic]:
    """Yield what a sample shows beside its law: distance, mean, magnitude, square, signs and neighbours."""
    distance, critical = kolmogorov_smirnov(sample[:ORDERED], law)
    yield Statistic(subject, tested, "Kolmogorov-Smirnov distance", distance, critical, look)
    sizes = np.abs(sample)
    for name, values, term in zip(
        ("mean", "mean magnitude", "mean square"), (sample, sizes, sizes * sizes), law.terms, strict=True
    ):
        yield _moment(subject, tested, f"{name}, standard errors off", values, term, look)
    plus, minus = int(np.count_nonzero(sample > 0)), int(np.count_nonzero(sample < 0))
    yield Statistic(subject, tested, "signs, standard errors off", *fair_signs(plus, minus), look)
    # Of uniform scores, whose products have no heavy tails. Given the sizes their signs are fair coins.
    scores = math.sqrt(3.0) * (law.cdf(sample) + law.below(sample) - 1.0)
    products = scores[:-1] * scores[1:]
    off = abs(float(products.sum())) / (math.sqrt(float(products @ products)) or 1.0)
    yield Statistic(subject, tested, "neighbours' correlation, standard errors", off, random_signs, look)


def _continuous(rng: Generator) -> Iterator[tuple[str, Callable[[int], NDArray[Any]]]]:
    for scale in (1.0, 1e-300, 1e300):
        yield f"laplace, scale {scale:g}", lambda n, b=scale: rng.laplace(0.0, b, n) / b  # type: ignore[misc]
    difference = "exponential_difference"
    yield "laplace, exponential difference", lambda n: rng.laplace(0.0, 1.0, n, method=difference)
    single = np.float32
    yield "laplace, float32", lambda n: rng.laplace(0.0, 1.0, n, dtype=single).astype(np.float64)


def _released(rng: Generator, n: int) -> Iterator[tuple[str, NDArray[np.float64], Law]]:
    """Yield what was released, n errors of it, and their law, in units of its scale or on the integers."""
    standard = continuous_law()
    # Whole numbers are lattice points and so is the noise: their difference is exact.
    values = np.arange(n, dtype=np.float64) % 2000.0 - 1000.0

    def errors(mechanism: Any, values: NDArray[Any]) -> NDArray[np.float64]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeededNoiseWarning)  # of a test with a seed, whose values are nobody's
            return np.asarray(mechanism.add_noise(values, rng=rng) - values, np.float64)

    for epsilon, sensitivity in (("1", 1), ("0.05", 3)):
        laplace = LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity, changed=1)
        scale = float(Fraction(sensitivity) / Fraction(epsilon))
        tested = f"LaplaceMechanism, epsilon {epsilon}, sensitivity {sensitivity}"
        yield tested, errors(laplace, values) / scale, standard
    discrete = DiscreteLaplaceMechanism(epsilon="0.5", sensitivity=1)
    tested = "DiscreteLaplaceMechanism, epsilon 0.5, sensitivity 1"
    yield tested, errors(discrete, np.full(n, 1000)), discrete_law(2.0)
    # sigma = 4.2247 is where Phi(1 / 2 sigma - sigma) - e Phi(-1 / 2 sigma - sigma) is 1e-6 (Balle and Wang 2018).
    gaussian = GaussianMechanism(epsilon=1, delta="1e-6", sensitivity=1, changed=1)
    yield "GaussianMechanism, epsilon 1, delta 1e-6", errors(gaussian, values) / GAUSSIAN_SIGMA, normal_law()
    # The bound of the noise is b ln(1 + (exp(epsilon) - 1) / (2 delta)) (Geng et al. 2018).
    truncated = TruncatedLaplaceMechanism(epsilon=1, delta="0.1", sensitivity=1, changed=1)
    bound = math.log1p(math.expm1(1.0) / 0.2)
    yield "TruncatedLaplaceMechanism, epsilon 1, delta 0.1", errors(truncated, values), conditioned_law(bound)
    # About the middle of a domain of 10 the noise is symmetric; its scale solves 1 / b + ln(C(1) / C(0)) = 1.
    for width, scale in BOUNDED_SCALES:
        bounded = BoundedLaplaceMechanism(epsilon=1, sensitivity=1, low=-width / 2, high=width / 2, changed=1)
        noise = errors(bounded, np.zeros(n)) / scale
        yield f"BoundedLaplaceMechanism, epsilon 1, a domain of {width}", noise, conditioned_law(width / 2 / scale)


def _moment(subject: str, tested: str, measure: str, values: NDArray[np.float64], term: Term, look: str) -> Statistic:
    n, centre = values.size, values.size * term.moments.mean
    error = term.moments.deviation * math.sqrt(n) or 1.0
    off = (float(values.sum()) - centre) / error

    def critical(alpha: float) -> float:
        low, high = sum_band(term, n, alpha)
        return (high - centre) / error if off > 0 else -((low - centre) / error)

    return Statistic(subject, tested, measure, abs(off), critical, look)


def _chi_square(tested: str, sample: NDArray[np.float64], t: float) -> Statistic:
    """Return the statistic of counts of -8 to 8, and of what lies beyond on either side."""
    from scipy.stats import chi2

    law, last = discrete_law(t), 8
    steps = np.arange(-last, last + 1, dtype=np.float64)
    upto = law.cdf(steps)
    expected = sample.size * np.diff(np.concatenate(([0.0], law.below(steps[:1]), upto, [1.0])))
    cells = np.clip(sample, -last - 1, last + 1).astype(np.int64) + last + 1
    counts = np.bincount(cells, minlength=expected.size)
    value = float(np.sum((counts - expected) ** 2 / expected))
    return Statistic(SUBJECT, tested, "chi-square, 19 cells", value, lambda alpha: float(chi2.isf(alpha, 18)), SAMPLER)
