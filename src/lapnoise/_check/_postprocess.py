"""Released numbers, and the constraints that they are brought to."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapnoise._check._arrays import FLOAT32, FLOAT64, float32_inside, no_mask, number_or_array, place, values
from lapnoise._check._rules import integer, shown

__all__ = [
    "finite_released",
    "finite_vector",
    "limits",
    "negative_total",
    "released",
    "total",
    "weights",
    "whole_total",
]


def released(value: Any, missing: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """Return array-like numbers, none of them NaN or missing; bool as int64."""
    no_mask("values", value)
    array = values(value)
    wrong = np.isnan(array) if array.dtype.kind == "f" else missing
    if wrong is not None:
        _refuse(wrong, "must be a number, got NaN")
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def finite_released(value: Any, missing: NDArray[np.bool_] | None = None, *, whole: bool = False) -> NDArray[Any]:
    """Return the same where all are below 2^1000, or with ``whole`` below 2^53, so that sums of them are finite."""
    array = released(value, missing)
    bits = 53 if whole else 1000
    _refuse(np.abs(array.astype(FLOAT64)) >= 2.0**bits, f"must be below 2**{bits} in magnitude, got more")
    return array


def finite_vector(value: Any, missing: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """Return a vector of numbers, all finite."""
    array = finite_released(value, missing)
    if array.ndim != 1:
        raise ValueError(f"values must have one dimension, got shape {array.shape}")
    return array


def limits(low: Any, high: Any, kind: np.dtype[Any]) -> tuple[Any, Any]:
    """Return (low, high) as numbers of this dtype inside the bounds that were given; low <= high, neither NaN."""
    if kind.kind in "iu":
        ends: list[Any] = [integer("low", low), integer("high", high)]
    else:
        ends = [number_or_array("low", low), number_or_array("high", high)]
    if not all(isinstance(end, int | float) for end in ends) or not ends[0] <= ends[1]:
        raise ValueError(f"low and high must be two numbers with low <= high, got {shown(low)} and {shown(high)}")
    if kind.kind in "iu":
        inside = max(ends[0], int(np.iinfo(kind).min)), min(ends[1], int(np.iinfo(kind).max))
    elif kind == FLOAT32:
        inside = float32_inside(ends[0]), -float32_inside(-ends[1])
    else:
        return ends[0], ends[1]
    if inside[0] > inside[1]:
        raise ValueError(f"low and high must hold a number of type {kind}, got {shown(low)} and {shown(high)}")
    return inside


def whole_total(value: Any, size: int) -> int:
    """Return a total of ``size`` integers, an int of 62 bits at most."""
    whole = integer("total", value)
    if abs(whole) >= 1 << 62:
        raise ValueError(f"total must be below 2**62 in magnitude, got {shown(value)}")
    if size == 0 and whole:
        raise ValueError(f"total must be 0 where there are no values, got {shown(value)}")
    return whole


def negative_total(value: int) -> NoReturn:
    """Refuse a negative total of values none of which is negative."""
    raise ValueError(f"total must be >= 0 where no value is negative, got {shown(value)}")


def total(value: Any, size: int, low: Any) -> tuple[float, float]:
    """Return (total, low) as finite floats, a total that ``size`` numbers of at least ``low`` can have."""
    ends = []
    for name, given in (("total", value), ("low", low)):
        number = number_or_array(name, given)
        if not isinstance(number, float) or not abs(number) < 2.0**1000:
            raise ValueError(f"{name} must be a number below 2**1000 in magnitude, got {shown(given)}")
        ends.append(number)
    if size == 0 and ends[0] != 0.0:
        raise ValueError(f"total must be 0 where there are no values, got {shown(value)}")
    # A part in 10^12 is left to those who wrote decimals: three times 0.1 is a little above 0.3.
    if ends[0] - size * ends[1] < -1e-12 * abs(ends[0]):
        raise ValueError(
            f"total must be at least low times the number of values, got total {shown(value)} and low {shown(low)} for "
            f"{size} values"
        )
    return ends[0], ends[1]


def weights(value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a weight for each value, finite and > 0."""
    array = np.asarray(number_or_array("weights", value), FLOAT64)
    if array.shape != shape:
        raise ValueError(f"weights must have the shape {shape} of values, got {array.shape}")
    wrong = np.flatnonzero(~(np.isfinite(array) & (array > 0.0)))
    if wrong.size:
        raise ValueError(f"weights must be finite and > 0, got {shown(float(array[wrong[0]]))}")
    return array


def _refuse(wrong: NDArray[np.bool_], rule: str) -> None:
    if np.any(wrong):
        raise ValueError(f"{place(tuple(np.argwhere(wrong)[0]))} {rule}")
