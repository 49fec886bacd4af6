"""The arguments of experiments and verifications: lists of epsilon, scales whose squares are floats, recorded noise."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check._amounts import epsilon
from lapnoise._check._arrays import values
from lapnoise._check._rules import count, shown

__all__ = ["epsilons", "false_alarm", "is_discrete", "one_column", "recorded_noise", "repeats", "squares"]

LEAST_RECORDED = 100
LEAST_FALSE_ALARM = 1e-12


def epsilons(value: Any) -> list[Fraction]:
    """Return the epsilons of a sweep: at least one, each finite, > 0 and there once."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"epsilons must be a sequence of numbers, got {shown(value)}")
    read = [epsilon(one, "every one of epsilons") for one in value]
    if not read:
        raise ValueError("epsilons must hold one at least, got none")
    if len(set(read)) < len(read):
        raise ValueError(f"epsilons must hold each once, got {shown(value)}")
    return read


def squares(scale: float) -> None:
    """Refuse a scale whose square, or that of a large draw, is no normal float."""
    if not 1e-140 <= scale <= 1e140:
        raise OverflowError(
            f"sensitivity / epsilon must lie between 1e-140 and 1e140, so that squared errors are floats, got {scale!r}"
        )


def repeats(name: str, value: Any) -> int:
    """Return how often something is drawn, which must be twice at least for a standard deviation."""
    return count(name, value, least=2)


def false_alarm(value: Any) -> float:
    """Return a rate of false alarms, in [1e-12, 1/2): beyond that distributions of statistics are not known."""
    if isinstance(value, bool) or not isinstance(value, float | int) or not LEAST_FALSE_ALARM <= value < 0.5:
        raise ValueError(f"false_alarm must be at least {LEAST_FALSE_ALARM:g} and less than 1/2, got {shown(value)}")
    return float(value)


def is_discrete(mechanism: Any) -> bool:
    """Return whether recorded noise is said to be on the integers."""
    if mechanism not in ("laplace", "discrete-laplace"):
        raise ValueError(f"mechanism must be 'laplace' or 'discrete-laplace', got {shown(mechanism)}")
    return bool(mechanism == "discrete-laplace")


def one_column(value: Any) -> NDArray[np.float64]:
    """Return a column of real numbers, missing ones as NaN, of which one at least is there."""
    array = values(value)
    if array.ndim != 1:
        raise ValueError(f"values must be one column, got an array of {array.ndim} dimensions")
    floats = array.astype(np.float64)
    if not np.count_nonzero(~np.isnan(floats)):
        raise ValueError("values must hold one number at least, got none")
    return floats


def recorded_noise(value: Any) -> NDArray[np.float64]:
    """Return recorded differences as finite floats, enough of them to judge a distribution by."""
    array = values(value).reshape(-1).astype(np.float64)
    if array.size < LEAST_RECORDED:
        raise ValueError(f"noise must hold at least {LEAST_RECORDED} differences, got {array.size}")
    if not np.isfinite(array).all():
        raise ValueError(f"noise must be finite, got {int(np.count_nonzero(~np.isfinite(array)))} others")
    return array
