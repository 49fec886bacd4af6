"""The parameters of Gaussian noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn

from lapnoise import _numbers
from lapnoise._check._amounts import certain_bound, positive_delta
from lapnoise._check._rules import amount, positive_amount, shown

__all__ = ["flag", "gaussian_delta", "l2_distance", "l2_sensitivity", "no_granularity", "too_many_steps"]

LEAST_DELTA = Fraction(1, 10**1000)


def gaussian_delta(value: Any) -> Fraction:
    """Return the delta of Gaussian noise: > 0, and not so small that a calibration would take minutes."""
    read = positive_delta(value, "LaplaceMechanism needs none")
    if read < LEAST_DELTA:
        raise ValueError(f"delta must be at least 1e-1000, got {shown(value)}")
    return read


def l2_sensitivity(value: Any) -> Fraction:
    """Return the square of an L2 sensitivity, a number or what has an attribute ``l2_squared``; finite and > 0."""
    square = getattr(value, "l2_squared", None)
    if square is not None:
        certain_bound("sensitivity", value, "l2")
        return positive_amount("sensitivity.l2_squared", square, _numbers.as_stored)
    return positive_amount("sensitivity", value, _numbers.as_stored) ** 2


def l2_distance(value: Any) -> Fraction:
    """Return the square of an L2 distance, given likewise; finite and >= 0."""
    square = getattr(value, "l2_squared", None)
    if square is not None:
        return amount("distance.l2_squared", square, _numbers.as_stored, "finite and >= 0", lambda amount: amount >= 0)
    return amount("distance", value, _numbers.as_stored, "finite and >= 0", lambda amount: amount >= 0) ** 2


def flag(name: str, value: Any) -> bool:
    """Return a bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return value


def no_granularity(value: Any) -> None:
    """Refuse a granularity for noise on whole numbers."""
    if value is not None:
        raise TypeError(f"granularity must be left out where integers is True, since it is 1, got {shown(value)}")


def too_many_steps(sigma: float, most: float) -> NoReturn:
    """Refuse noise of more steps than are drawn."""
    raise OverflowError(
        f"scale must be at most 2**{int(most).bit_length() - 1} steps of the granularity, got {sigma!r}; a larger "
        "epsilon or a coarser granularity makes them fewer, and integers=False chooses a granularity"
    )
