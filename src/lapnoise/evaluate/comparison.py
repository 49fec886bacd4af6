"""The mechanisms that add noise to numbers, side by side at equal guarantees."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapnoise import _check
from lapnoise._numbers import fraction_up
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)
from lapnoise.sensitivity import Sensitivity

__all__ = ["Comparison", "compare"]

CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True)
class Comparison:
    """One mechanism at the guarantee that all are compared at.

    Attributes
    ----------
    mechanism : str
        Its name; "Laplace, clipped" is the Laplace mechanism whose results, of values within the bounds, are clipped
        to them.
    epsilon, delta : Fraction
        What it spends.
    scale : float
        b of the noise, or sigma.
    error : float
        Root of the mean squared error of one coordinate, at the worst value: the standard deviation of the noise where
        it does not depend on the value.
    half_width : float
        abs(noise) is at most this in 95 of 100 releases, for the worst value where it depends on the value.
    largest : float
        The largest error possible: inf where there is none.
    """

    mechanism: str
    epsilon: Fraction
    delta: Fraction
    scale: float
    error: float
    half_width: float
    largest: float


def compare(
    *,
    epsilon: Any,
    delta: Any = Fraction(1, 10**6),
    sensitivity: Any = 1,
    coordinates: int = 1,
    low: Any = 0,
    high: Any = 100,
) -> list[Comparison]:
    """Compare the mechanisms on a vector of numbers, each of which one record can change by the sensitivity.

    Parameters
    ----------
    epsilon : float, str, Decimal or Fraction
        What each of them spends.
    delta : float, str, Decimal or Fraction
        What those spend beside it that need a delta.
    sensitivity : float, str, Decimal or Fraction
        How much one record can change any one coordinate; at most high - low.
    coordinates : int
        How many coordinates one record can change at once: the L1 sensitivity is that many times the sensitivity, the
        L2 sensitivity its square root times.
    low, high : float, str, Decimal or Fraction
        Bounds of the values, for the mechanisms that have them.

    Returns
    -------
    list of Comparison

    Examples
    --------
    >>> from lapnoise import evaluate
    >>> [round(row.error, 2) for row in evaluate.compare(epsilon=1)[:2]]
    [1.41, 1.36]
    """
    spent, small = _check.epsilon(epsilon), _check.delta(delta)
    each = _check.sensitivity(sensitivity)
    changed = _check.count("coordinates", coordinates, least=1)
    least, most = _check.bounds(low, high)
    _check.within_bounds(each, least, most)
    return list(_rows(spent, small, each, changed, least, most))


def _rows(
    epsilon: Fraction, delta: Fraction, each: Fraction, changed: int, low: Fraction, high: Fraction
) -> Iterator[Comparison]:
    l1 = each * changed
    none = Fraction(0)
    width = fraction_up(high - low)

    def row(name: str, mechanism: Any, delta: Fraction, largest: float) -> Comparison:
        half_width = mechanism.interval(CONFIDENCE)
        return Comparison(name, epsilon, delta, mechanism.scale, math.sqrt(mechanism.mse), half_width, largest)

    laplace = LaplaceMechanism(epsilon=epsilon, sensitivity=l1, changed=changed)
    yield row("Laplace", laplace, none, math.inf)
    yield row("discrete Laplace", DiscreteLaplaceMechanism(epsilon=epsilon, sensitivity=l1), none, math.inf)
    error, half_width = _clipped(laplace, width)
    yield Comparison("Laplace, clipped", epsilon, none, laplace.scale, error, half_width, width)
    bounded = BoundedLaplaceMechanism(epsilon=epsilon, sensitivity=l1, low=low, high=high, changed=changed)
    yield row("bounded Laplace", bounded, none, width)
    if delta:
        truncated = TruncatedLaplaceMechanism(epsilon=epsilon, delta=delta, sensitivity=l1, changed=changed)
        yield row("truncated Laplace", truncated, delta, truncated.bound)
        moved = Sensitivity._exact(l1, each**2 * changed, each, changed)
        gaussian = GaussianMechanism(epsilon=epsilon, delta=delta, sensitivity=moved)
        yield row("Gaussian", gaussian, delta, math.inf)


def _clipped(laplace: LaplaceMechanism, width: float) -> tuple[float, float]:
    """Return error and half-width of clipped Laplace noise at the worst of the values, an interval of this width.

    An exponential Y of scale b cut at a has E min(Y, a)^2 = 2 b^2 (1 - exp(-a / b) (1 + a / b)), and at a from the one
    end and width - a from the other half of each goes to either side. An error is beyond h with probability exp(-h / b)
    where both ends are farther than h, half of that where one is, and 0 where none is.
    """
    from scipy.optimize import minimize_scalar

    b = laplace.scale
    steps = width / b

    def cut(a: float) -> float:
        return 1.0 - math.exp(-a) * (1.0 + a)

    def square(a: float) -> float:
        return cut(a) + cut(steps - a)

    # Symmetric about the middle, with one extremum at most between it and an end.
    between = minimize_scalar(lambda a: -square(a), bounds=(0.0, steps / 2), method="bounded")
    worst = max(square(0.0), square(steps / 2), -float(between.fun))
    both, one = laplace.interval(CONFIDENCE), laplace.interval(2 * CONFIDENCE - 1)
    return b * math.sqrt(worst), max(min(width / 2, both), min(width, one))
