"""From the accuracy that is wanted to the epsilon that gives it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapnoise import _check

if TYPE_CHECKING:
    from lapnoise._check import Accuracy

__all__ = ["least_epsilon"]

DIGITS = 12
FARTHEST = 300  # powers of ten between which an epsilon is looked for


def least_epsilon(make: Callable[[Fraction], Any], goal: Accuracy) -> Fraction:
    """Return the least epsilon, rounded up to 12 decimal digits, whose mechanism is as accurate as is wanted.

    Parameters
    ----------
    make : callable
        From epsilon to a mechanism; its noise shrinks as epsilon grows.
    goal : Accuracy
        What `_check.accuracy` returned.
    """

    def reached(epsilon: Fraction) -> bool:
        mechanism = make(epsilon)
        got: float = mechanism.std if goal.confidence is None else mechanism.interval(goal.confidence)
        return math.isfinite(got) and Fraction(got) <= goal.wanted

    decade = 0
    while decade > -FARTHEST and reached(Fraction(10) ** (decade - 1)):
        decade -= 1
    while decade <= FARTHEST and not reached(Fraction(10) ** decade):
        decade += 1
    if not -FARTHEST < decade <= FARTHEST:
        _check.unreachable_accuracy(goal)
    # 10^(decade - 1) is too little and 10^decade enough: bisect the integers between, in units of the last digit.
    unit: Fraction = Fraction(10) ** (decade - DIGITS)
    low, high = 10 ** (DIGITS - 1), 10**DIGITS
    while high - low > 1:
        middle = (low + high) // 2
        if reached(middle * unit):
            high = middle
        else:
            low = middle
    found: Fraction = high * unit
    return found
