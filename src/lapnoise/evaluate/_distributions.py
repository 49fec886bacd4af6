"""Distributions of draws against their laws: Kolmogorov-Smirnov and chi-square, moments, signs, neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise.evaluate._checks import Statistic
from lapnoise.evaluate._statistics import (
    Law,
    Moments,
    continuous_law,
    cornish_fisher,
    discrete_law,
    kolmogorov_smirnov,
    normal_quantile,
)
from lapnoise.generator import Generator
from lapnoise.mechanisms import DiscreteLaplaceMechanism, LaplaceMechanism

__all__ = ["distributions", "judged_by"]

SUBJECT = "distribution"
SAMPLER = "the sampler: the map from words to draws, or the words themselves, if known answers failed too"
MECHANISM = (
    "the scale, which must be sensitivity / epsilon: the sensitivity and the epsilon that the mechanism has; then the "
    "sampler, if its own lines failed too"
)
ORDERED = 200_000
"""Draws that are sorted for the Kolmogorov-Smirnov distance."""


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
    for epsilon, sensitivity in (("1", 1), ("0.05", 3)):
        mechanism = LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity, changed=1)
        scale = float(Fraction(sensitivity) / Fraction(epsilon))
        # Whole numbers are lattice points and so is the noise: their difference is exact.
        values = np.arange(n, dtype=np.float64) % 2000.0 - 1000.0
        noisy = np.empty(n)
        mechanism._add(rng, values, noisy)
        tested = f"{n:,} of LaplaceMechanism, epsilon {epsilon}, sensitivity {sensitivity}"
        yield from judged_by(tested, (noisy - values) / scale, standard, SUBJECT, MECHANISM)
    counts, noisy_counts = np.full(n, 1000), np.empty(n, np.int64)
    DiscreteLaplaceMechanism(epsilon="0.5", sensitivity=1)._add(rng, counts, noisy_counts)
    tested = f"{n:,} of DiscreteLaplaceMechanism, epsilon 0.5, sensitivity 1"
    yield from judged_by(tested, (noisy_counts - counts).astype(np.float64), discrete_law(2.0), SUBJECT, MECHANISM)


def judged_by(tested: str, sample: NDArray[np.float64], law: Law, subject: str, look: str) -> Iterator[Statistic]:
    """Yield what a sample shows beside its law: distance, mean, magnitude, square, signs and neighbours."""
    n = sample.size
    distance, critical = kolmogorov_smirnov(sample[:ORDERED], law)
    yield Statistic(subject, tested, "Kolmogorov-Smirnov distance", distance, critical, look)
    sizes = np.abs(sample)
    for name, terms, moments in zip(
        ("mean", "mean magnitude", "mean square"), (sample, sizes, sizes * sizes), law.powers, strict=True
    ):
        yield _moment(subject, tested, f"{name}, standard errors off", terms, moments, look)
    plus, minus = int(np.count_nonzero(sample > 0)), int(np.count_nonzero(sample < 0))
    balance = abs(plus - minus) / math.sqrt(max(plus + minus, 1))
    yield Statistic(subject, tested, "signs, standard errors off", balance, normal_quantile, look)
    # Of uniform scores, whose products have no heavy tails; where the law has atoms they vary less than is allowed for.
    scores = math.sqrt(3.0) * (law.cdf(sample) + law.below(sample) - 1.0)
    product = abs(float(np.mean(scores[:-1] * scores[1:]))) * math.sqrt(n - 1)
    yield Statistic(subject, tested, "neighbours' correlation, standard errors", product, normal_quantile, look)


def _continuous(rng: Generator) -> Iterator[tuple[str, Callable[[int], NDArray[Any]]]]:
    for scale in (1.0, 1e-300, 1e300):
        yield f"laplace, scale {scale:g}", lambda n, b=scale: rng.laplace(0.0, b, n) / b  # type: ignore[misc]
    difference = "exponential_difference"
    yield "laplace, exponential difference", lambda n: rng.laplace(0.0, 1.0, n, method=difference)
    single = np.float32
    yield "laplace, float32", lambda n: rng.laplace(0.0, 1.0, n, dtype=single).astype(np.float64)


def _moment(
    subject: str, tested: str, measure: str, terms: NDArray[np.float64], moments: Moments, look: str
) -> Statistic:
    n = terms.size
    z = (float(terms.mean()) - moments.mean) / moments.deviation * math.sqrt(n)
    side = 1.0 if z > 0 else -1.0
    return Statistic(
        subject,
        tested,
        measure,
        abs(z),
        lambda alpha: side * cornish_fisher(side * normal_quantile(alpha), moments, n),
        look,
    )


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
