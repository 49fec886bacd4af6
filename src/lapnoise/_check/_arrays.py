"""Arrays and numbers that are computed with, and where results go."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check._rules import count, integer, pair, shown
from lapnoise._containers import Foreign, is_frame, missing_in, unwrap

__all__ = [
    "FLOAT32",
    "FLOAT64",
    "INT64",
    "Parameter",
    "clamp",
    "dtype",
    "finite",
    "finite_values",
    "floats",
    "infinite_value",
    "integer_clamp",
    "integer_values",
    "no_mask",
    "no_signed_log",
    "number_or_array",
    "output",
    "shape",
    "size",
    "values",
]

Parameter = float | NDArray[Any]

FLOAT64 = np.dtype(np.float64)
FLOAT32 = np.dtype(np.float32)
INT64 = np.dtype(np.int64)


def dtype(value: Any) -> np.dtype[Any]:
    """Return float64 or float32."""
    if value is np.float64:
        return FLOAT64
    with contextlib.suppress(TypeError):
        for kind in (FLOAT64, FLOAT32):
            if value is not None and np.dtype(value) == kind:
                return kind
    raise TypeError(f"dtype must be float64 or float32, got {shown(value)}")


def size(value: Any) -> tuple[int, ...] | None:
    """Return the shape that a size asks for; None stays None."""
    if value is None:
        return None
    if type(value) is int and value >= 0:
        return (value,)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(count("size", n) for n in value)
    return (count("size", value),)


def number_or_array(name: str, value: Any) -> Parameter:
    """Return a real number as a float, and anything array-like as an array of real numbers (bool excepted)."""
    if type(value) is float:
        return value
    if type(value) is int or isinstance(value, Fraction | Decimal):
        return as_float(name, value)
    no_mask(name, value)
    array = _real_array(name, value)
    if array.dtype.kind == "b":
        raise TypeError(f"{name} must be real numbers, got dtype bool")
    return float(array) if array.ndim == 0 else array


def values(value: Any) -> NDArray[Any]:
    """Return array-like values to which noise is added: integers, bool, float32 or float64."""
    if isinstance(value, list | tuple):
        _no_rounded_integer(value)
    return _real_array("values", as_float("values", value) if isinstance(value, Fraction | Decimal) else value)


def floats(value: Any) -> NDArray[np.float64]:
    """Return a column or array of real numbers as float64 of its own, missing ones (masked, null) as NaN."""
    missing = np.ma.getmaskarray(value) if isinstance(value, np.ma.MaskedArray) else missing_in(value)
    array = values(unwrap(value)[0]).astype(np.float64)
    if missing is not None:
        array[missing] = np.nan
    return array


def integer_values(value: Any) -> NDArray[Any]:
    """Return array-like integers, or bool, to which noise is added."""
    array = values(value)
    if array.dtype.kind not in "iub" and array.size:
        raise TypeError(f"values must be integers for discrete noise, got dtype {array.dtype}")
    return array if array.dtype.kind in "iub" else array.astype(np.int64)


def finite(name: str, value: Any) -> Parameter:
    """Return a real number or an array of them, all finite."""
    return finite_parameter(name, number_or_array(name, value))


def finite_values(array: NDArray[Any]) -> None:
    """Refuse values that are NaN or infinite, naming the place of the first and not the value."""
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        raise ValueError(f"{place(np.unravel_index(wrong[0], array.shape))} must be finite, got NaN or an infinity")


def infinite_value(where: tuple[Any, ...]) -> None:
    """Refuse an infinite value, naming its place."""
    raise ValueError(f"{place(where)} must be finite or NaN, got an infinity: clip the values to known bounds first")


def shape(parameters: dict[str, Any], wanted: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the shape that the parameters broadcast to; a wanted shape may extend it but never shrink it."""
    shapes = {name: value.shape for name, value in parameters.items() if type(value) is not float}
    if not shapes:
        return () if wanted is None else wanted
    try:
        common = np.broadcast_shapes(*shapes.values())
        if wanted is None or np.broadcast_shapes(common, wanted) == wanted:
            return common if wanted is None else wanted
    except ValueError:
        pass
    told = " and ".join(f"{name} of shape {found}" for name, found in shapes.items())
    target = "" if wanted is None else f" to shape {wanted}"
    raise ValueError(f"arguments must broadcast{target}, got {told}")


def output(out: Any, kind: np.dtype[Any], wanted: tuple[int, ...] | None, name: str = "out") -> NDArray[Any]:
    """Return an array to write to as a plain array: of this dtype, writeable, of the wanted shape."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{name} must be a numpy array, got {type(out).__name__}")
    if out.dtype != kind:
        raise TypeError(f"{name} must have dtype {kind}, got {out.dtype}")
    if not out.flags.writeable:
        raise ValueError(f"{name} must be writeable, got a read-only array")
    if wanted is not None and out.shape != wanted:
        raise ValueError(f"{name} must have shape {wanted}, got {out.shape}")
    if not out.flags.c_contiguous and _repeats_memory(out):
        raise ValueError(f"{name} must not repeat its own memory, got strides {out.strides} for shape {out.shape}")
    return out if type(out) is np.ndarray else np.asarray(out)


def no_mask(name: str, value: Any) -> None:
    """Refuse a masked array where a mask would be lost."""
    if isinstance(value, np.ma.MaskedArray) and value.mask is not np.ma.nomask:
        raise TypeError(f"{name} must not be masked, got a masked array")


def no_signed_log(value: Any, kind: type) -> None:
    """Refuse a SignedLog, which as a tuple would pass for two numbers."""
    if isinstance(value, kind):
        raise TypeError("value must be a number or an array of numbers, got a SignedLog")


def clamp(value: Any, kind: np.dtype[Any]) -> tuple[float, float]:
    """Return (low, high) as numbers of this dtype inside the bounds that were given; low <= high, neither NaN."""
    low, high = (number_or_array("clamp", bound) for bound in pair("clamp", value))
    if not (isinstance(low, float) and isinstance(high, float) and low <= high):
        raise ValueError(f"clamp must be two numbers (low, high) with low <= high, got {shown(value)}")
    if kind == FLOAT32:
        low, high = float32_inside(low), -float32_inside(-high)
        if low > high:
            raise ValueError(f"clamp must hold a float32 between its bounds, got {shown(value)}")
    return low, high


def integer_clamp(value: Any) -> tuple[int, int]:
    """Return (low, high), ints with low <= high that fit in int64; an infinity leaves a side open."""
    low, high = pair("clamp", value)
    low = -(2**63) if isinstance(low, float) and low == -math.inf else integer("clamp", low)
    high = 2**63 - 1 if isinstance(high, float) and high == math.inf else integer("clamp", high)
    if not -(2**63) <= low <= high < 2**63:
        raise ValueError(f"clamp must be two ints (low, high) of 64 bits with low <= high, got {shown(value)}")
    return low, high


def float32_inside(low: float) -> float:
    """Return the least finite float32 that is not below ``low``."""
    largest = float(np.finfo(np.float32).max)
    nearest = np.float32(min(max(low, -largest), largest))
    if float(nearest) >= low:
        return float(nearest)
    with np.errstate(over="ignore"):  # beyond the largest there is none
        return float(np.nextafter(nearest, np.float32(np.inf)))


def finite_parameter(name: str, value: Parameter) -> Parameter:
    if not np.all(np.isfinite(value)):
        raise ValueError(f"{name} must be finite, got {shown(value)}")
    return value


def as_float(name: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        told = "a number beyond the largest" if name == "values" else shown(value)  # values are data
        raise OverflowError(f"{name} must fit in a float64, got {told}") from None


def _real_array(name: str, value: Any) -> NDArray[Any]:
    if not isinstance(value, np.ndarray) and is_frame(value):
        raise TypeError(
            f"{name} must be a number, an array or a Series, got a {type(value).__name__}: give its columns one by "
            "one, or the whole to lapnoise.tables.add_noise"
        )
    if isinstance(value, Foreign):
        raise TypeError(f"{name} must be real numbers (integers, float32 or float64), got dtype {value.kind}")
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of different length
        raise ValueError(f"{name} must be a number or a regular array, got rows of unequal length") from error
    if array.size == 0 and array.dtype == np.float64:
        return array
    if array.dtype.kind not in "fiub" or array.dtype.itemsize not in (1, 2, 4, 8) or array.dtype.char == "e":
        raise TypeError(f"{name} must be real numbers (integers, float32 or float64), got dtype {array.dtype}")
    return array


def _no_rounded_integer(values: Any) -> None:
    """Refuse a sequence whose large integers NumPy would round, because other entries make the whole a float array."""
    with contextlib.suppress(ValueError):  # rows of unequal length, which are refused elsewhere
        if np.asarray(values).dtype.kind == "f":
            entries = np.asarray(values, dtype=object)
            for i, entry in enumerate(entries.flat):
                if isinstance(entry, int | np.integer) and abs(int(entry)) > 1 << 53:
                    raise TypeError(
                        f"{place(np.unravel_index(i, entries.shape))} must not be an integer beyond 2**53 among other "
                        "numbers, which would round it to a float: give an integer array"
                    )


def place(where: tuple[Any, ...], name: str = "values") -> str:
    return f"{name}[{', '.join(str(int(k)) for k in where)}]" if where else name


def _repeats_memory(array: NDArray[Any]) -> bool:
    """Return whether two elements may share bytes: whether an axis steps less than the axes inside it span."""
    span = array.itemsize
    for step, length in sorted((abs(step), length) for step, length in zip(array.strides, array.shape, strict=True)):
        if length > 1:
            if step < span:
                return True
            span = step * (length - 1) + span
    return False
