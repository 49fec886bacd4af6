"""Guarantees worked out again, in floats and from formulas of their own, from the scale that each mechanism has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from lapnoise.evaluate._checks import Check, exact
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)

__all__ = ["guarantee_checks"]

SUBJECT = "guarantee"
LOOK = "the scale of this mechanism for so many coordinates: calibration, or the lattice that `for_length` chooses"

COORDINATES = (1, 2, 1000)
ROUNDING = 1e-9
"""Relative rounding of the formulas, and more."""

Cost = tuple[float, float]


def guarantee_checks() -> Iterator[Check]:
    """Yield checks that no mechanism costs more than what was asked, for vectors of several lengths."""
    for epsilon, delta1 in ((Fraction(1, 10), Fraction(1)), (Fraction(2), Fraction(5, 2))):
        terms: dict[str, Any] = {"epsilon": epsilon, "sensitivity": delta1}
        made: dict[str, Any] = {
            "LaplaceMechanism": LaplaceMechanism(**terms),
            "DiscreteLaplaceMechanism": DiscreteLaplaceMechanism(**terms),
            "GaussianMechanism": GaussianMechanism(**terms, delta="1e-6"),
            "TruncatedLaplaceMechanism": TruncatedLaplaceMechanism(**terms, delta="1e-3"),
            "BoundedLaplaceMechanism": BoundedLaplaceMechanism(**terms, low=0, high=10),
        }
        for name, mechanism in made.items():
            over = sum(_costs_more(mechanism.for_length(n), n) for n in COORDINATES)
            tested = f"{name}, epsilon {epsilon}, sensitivity {delta1}, of 1, 2 and 1,000 coordinates"
            yield exact(SUBJECT, tested, "that cost more than was asked", over, LOOK)


def _costs_more(mechanism: Any, n: int) -> bool:
    epsilon, delta = float(mechanism.epsilon_asked), float(mechanism.delta)
    cost = COSTS[type(mechanism)](mechanism, n)
    return not (cost[0] <= epsilon * (1 + ROUNDING) and cost[1] <= delta * (1 + ROUNDING) + 1e-300)


def _steps(mechanism: Any, n: int) -> int:
    """Return how many steps n values move by that differ by the sensitivity in L1 norm."""
    steps: int = math.ceil(mechanism.sensitivity / mechanism.lattice.granularity) + n - 1
    return steps


def _laplace(mechanism: Any, n: int) -> Cost:
    return float(_steps(mechanism, n) / Fraction(mechanism.lattice.t)), 0.0


def _discrete(mechanism: Any, n: int) -> Cost:
    return float(mechanism.sensitivity / Fraction(mechanism.lattice.t)), 0.0


def _truncated(mechanism: Any, n: int) -> Cost:
    """P(abs(X) <= A, X + d > A) = q^(A - d + 1) (1 - q^d) / (1 + q - 2 q^(A + 1)), q = exp(-1 / t)."""
    t, most, d = float(mechanism.lattice.t), mechanism._most, _steps(mechanism, n)
    mass = math.exp(-(most - d + 1) / t) * -math.expm1(-d / t)
    return d / t, mass / (1 + math.exp(-1 / t) - 2 * math.exp(-(most + 1) / t))


def _bounded(mechanism: Any, n: int) -> Cost:
    """Return n times d / t + ln(C(d) / C(0)), d the even share of the steps.

    C(i) is proportional to 1 + q - q^(i + 1) - q^(W - i + 1), q = exp(-1 / t).
    """
    t, width = float(mechanism.lattice.t), mechanism._last - mechanism._first
    moved = min(mechanism.sensitivity, n * (mechanism.high - mechanism.low))
    d = min(float(math.ceil(moved / mechanism.lattice.granularity) + n - 1) / n, float(width))
    gained = math.exp(-1 / t) * math.expm1(-d / t) * math.expm1((d - width) / t) / -math.expm1(-(width + 1) / t)
    return n * (d / t + math.log1p(gained)), 0.0


def _gaussian(mechanism: Any, n: int) -> Cost:
    """Phi(D / 2 sigma - epsilon sigma / D) - exp(epsilon) Phi(-D / 2 sigma - epsilon sigma / D) (Balle and Wang 2018).

    D is the sensitivity in steps and sqrt(n) more for the rounding. Of the discrete law delta is no less, but by less
    than its rounding where sigma is millions of steps.
    """
    from scipy.special import ndtr

    epsilon, sigma = float(mechanism.epsilon_asked), float(mechanism.lattice.t)
    moved = float(mechanism.sensitivity / mechanism.lattice.granularity) + math.sqrt(n)
    half, far = moved / sigma / 2, epsilon * sigma / moved
    return epsilon, float(ndtr(half - far) - math.exp(epsilon) * ndtr(-half - far))


COSTS = {
    LaplaceMechanism: _laplace,
    DiscreteLaplaceMechanism: _discrete,
    GaussianMechanism: _gaussian,
    TruncatedLaplaceMechanism: _truncated,
    BoundedLaplaceMechanism: _bounded,
}
