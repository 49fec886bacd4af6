"""Domains that results stay in."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from lapnoise import _numbers
from lapnoise._check._arrays import FLOAT32, float32_inside
from lapnoise._check._rules import amount, shown

__all__ = ["floats_inside", "lattice_points", "location"]


def lattice_points(low: Fraction, high: Fraction, exponent: int) -> tuple[int, int]:
    """Return the ends of a domain in steps of the granularity 2^exponent; there must be two points at least."""
    r = Fraction(2) ** exponent
    first, last = math.ceil(low / r), math.floor(high / r)
    if first >= last:
        raise ValueError(
            f"low and high must have two multiples of the granularity between them, 2**{exponent}, got low "
            f"{shown(low)} and high {shown(high)}"
        )
    return first, last


def floats_inside(low: Fraction, high: Fraction, kind: np.dtype[Any]) -> tuple[float, float]:
    """Return the least and the greatest float of this dtype in [low, high]; there must be one."""
    most = Fraction(float(np.finfo(np.float64).max))
    first = _numbers.fraction_up(max(low, -most)) + 0.0
    last = 0.0 - _numbers.fraction_up(max(-high, -most))
    if kind == FLOAT32:
        first, last = float32_inside(first), 0.0 - float32_inside(-last)
    if first > last:
        raise ValueError(f"low and high must have a {kind} between them, got low {shown(low)} and high {shown(high)}")
    return first, last


def location(value: Any) -> Fraction:
    """Return a value at its exact stored value; it must be finite."""
    return amount("value", value, _numbers.as_stored, "finite", lambda amount: True)
