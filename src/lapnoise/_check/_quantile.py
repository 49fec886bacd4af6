"""The arguments of a private quantile."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from lapnoise import _numbers
from lapnoise._check._amounts import bounds
from lapnoise._check._rules import amount, shown

__all__ = ["float_bounds", "points_between", "quantile"]

LARGEST = Fraction(float(np.finfo(np.float64).max))


def quantile(value: Any) -> Fraction:
    """Return which quantile, 1/2 for the median, as the exact number that its text shows."""
    return amount("quantile", value, _numbers.as_printed, "from 0 to 1", lambda amount: 0 <= amount <= 1)


def points_between(low: Any, high: Any, number: int) -> None:
    """Refuse bounds that no float lies between."""
    if number < 1:
        raise ValueError(f"low and high must have a float between them, got low {shown(low)} and high {shown(high)}")


def float_bounds(low: Any, high: Any) -> tuple[Fraction, Fraction]:
    """Return bounds at their exact values; low < high, both within the largest float."""
    least, most = bounds(low, high)
    if max(-least, most) > LARGEST or min(-least, most) < -LARGEST:
        raise ValueError(f"low and high must lie among the floats, got low {shown(low)} and high {shown(high)}")
    return least, most
