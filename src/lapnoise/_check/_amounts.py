"""Amounts that are read exactly: budgets, sensitivities, bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

from lapnoise import _numbers
from lapnoise._check._rules import amount, count, positive_amount, shown

__all__ = [
    "Accuracy",
    "accuracy",
    "bounds",
    "certain_bound",
    "changed",
    "delta",
    "distance",
    "epsilon",
    "float_release",
    "granularity",
    "level",
    "positive_delta",
    "score_sensitivity",
    "sensitivity",
    "unreachable_accuracy",
    "within_bounds",
]


def epsilon(value: Any, name: str = "epsilon") -> Fraction:
    """Return epsilon as the exact number that its text shows; it must be finite and > 0."""
    return positive_amount(name, value, _numbers.as_printed)


def delta(value: Any) -> Fraction:
    """Return delta as the exact number that its text shows; it must lie in [0, 1)."""
    return amount("delta", value, _numbers.as_printed, "at least 0 and less than 1", lambda amount: 0 <= amount < 1)


def positive_delta(value: Any, advice: str) -> Fraction:
    """Return a delta that is > 0, for what needs one; ``advice`` says what does without."""
    rule = "greater than 0 and less than 1"
    read = amount("delta", value, _numbers.as_printed, rule, lambda amount: 0 <= amount < 1)
    if read == 0:
        raise ValueError(f"delta must be {rule}, got {shown(value)}; {advice}")
    return read


def sensitivity(value: Any, name: str = "sensitivity") -> Fraction:
    """Return an L1 sensitivity, a number at its exact stored value or that of a Sensitivity; it must be > 0."""
    return positive_amount(name, _bound_of(name, value, "l1"), _numbers.as_stored)


def score_sensitivity(value: Any) -> Fraction:
    """Return the most by which any one score can change: a number, or the L-infinity norm of a Sensitivity."""
    return positive_amount("sensitivity", _bound_of("sensitivity", value, "linf"), _numbers.as_stored)


def changed(value: Any, sensitivity: Any) -> int | None:
    """Return how many coordinates one record can change: as given, else as a Sensitivity says, else None."""
    given = getattr(sensitivity, "changed", None) if value is None else value
    return None if given is None else count("changed", given, least=1)


def certain_bound(name: str, value: Any, norm: str) -> None:
    """Refuse a Sensitivity that is only a lower bound."""
    if getattr(value, "lower_bound", False):
        raise ValueError(
            f"{name} must bound every pair of neighbouring data sets, got the lower bound that some pairs gave: "
            f"where it is known to be the bound, hand over its {norm}"
        )


def _bound_of(name: str, value: Any, norm: str) -> Any:
    """Return a number, or this norm of a `lapnoise.sensitivity.Sensitivity`, told by its attributes."""
    if not hasattr(value, "changed") or not hasattr(value, norm):
        return value
    certain_bound(name, value, norm)
    return getattr(value, norm)


def distance(value: Any) -> Fraction:
    """Return an L1 distance at its exact value; it must be finite and >= 0."""
    return amount("distance", value, _numbers.as_stored, "finite and >= 0", lambda amount: amount >= 0)


def level(value: Any) -> Fraction:
    """Return a confidence level as the exact number that its text shows; it must lie between 0 and 1."""
    return amount("level", value, _numbers.as_printed, "between 0 and 1", lambda amount: 0 < amount < 1)


def bounds(low: Any, high: Any) -> tuple[Fraction, Fraction]:
    """Return bounds at their exact stored values; both finite, low < high."""
    least = amount("low", low, _numbers.as_stored, "finite", lambda amount: True)
    most = amount("high", high, _numbers.as_stored, "finite", lambda amount: True)
    if least >= most:
        raise ValueError(f"low must be less than high, got low {shown(low)} and high {shown(high)}")
    return least, most


class Accuracy(NamedTuple):
    """How accurate a release shall be: a standard deviation, or where there is a confidence, a half-width."""

    wanted: Fraction
    confidence: Fraction | None


def accuracy(std: Any, half_width: Any, confidence: Any) -> Accuracy:
    """Return what is wanted: a standard deviation, or a half-width with its confidence, and not both."""
    if (std is None) == (half_width is None):
        given = "neither" if std is None else "both"
        raise TypeError(f"std or half_width must be given, and not both, got {given}")
    if (half_width is None) != (confidence is None):
        raise TypeError("half_width and confidence must be given together, got only one of them")
    if std is not None:
        return Accuracy(positive_amount("std", std, _numbers.as_stored), None)
    wanted = positive_amount("half_width", half_width, _numbers.as_stored)
    sure = amount("confidence", confidence, _numbers.as_printed, "between 0 and 1", lambda level: 0 < level < 1)
    return Accuracy(wanted, sure)


def unreachable_accuracy(goal: Accuracy) -> NoReturn:
    """Refuse an accuracy that needs an epsilon beyond 1e-300 to 1e300."""
    name = "std" if goal.confidence is None else "half_width"
    raise ValueError(f"{name} must be reachable with an epsilon between 1e-300 and 1e300, got {shown(goal.wanted)}")


def within_bounds(sensitivity: Fraction, low: Fraction, high: Fraction) -> None:
    """Refuse a sensitivity that values within bounds cannot have."""
    if sensitivity > high - low:
        raise ValueError(
            f"sensitivity must be at most high - low, which is as far as a value can move, got {shown(sensitivity)}"
        )


def granularity(value: Any) -> int:
    """Return the exponent of a granularity, which must be a power of two and at least 2^-1074."""
    amount = positive_amount("granularity", value, _numbers.as_stored)
    exponent = amount.numerator.bit_length() - amount.denominator.bit_length()
    if amount != Fraction(2) ** exponent or exponent < -1074:
        raise ValueError(f"granularity must be a power of two, at least 2**-1074, got {shown(value)}")
    return exponent


def float_release(scale: float, exponent: int, most: int) -> None:
    """Refuse to release floats where the scale or the granularity is beyond them."""
    if scale == math.inf or exponent > most:
        raise OverflowError(
            f"scale and granularity must be floats to release floats, got scale {scale!r} and granularity "
            f"2**{exponent}; LaplaceMechanism.add_log_noise releases logarithms"
        )
