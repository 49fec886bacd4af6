"""The only module that rejects a caller's argument.

Every check runs before a word is drawn, a budget charged or a file made, and every message names the parameter, the
rule and the value.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lapnoise import _numbers

__all__ = [
    "FLOAT32",
    "FLOAT64",
    "INT64",
    "ROUNDS",
    "Method",
    "clamp",
    "count",
    "discrete_scale",
    "distance",
    "dtype",
    "epsilon",
    "finite",
    "finite_values",
    "float_release",
    "generator",
    "granularity",
    "infinite_value",
    "integer_clamp",
    "integer_values",
    "interval",
    "labels",
    "level",
    "method",
    "no_mask",
    "no_signed_log",
    "number_or_array",
    "output",
    "position",
    "rounds",
    "scale",
    "seed",
    "sensitivity",
    "shape",
    "size",
    "threads",
    "values",
]

ROUNDS = (8, 12, 20)

Method = Literal["inverse", "exponential_difference"]
Parameter = float | NDArray[Any]

FLOAT64 = np.dtype(np.float64)
FLOAT32 = np.dtype(np.float32)
INT64 = np.dtype(np.int64)

LARGEST_DISCRETE_SCALE = 2.0**57  # beyond it integers past 64 bits are no longer out of the question

_LARGEST = float(np.finfo(np.float64).max)
# The largest scale: the largest standard draw is 64 ln 2 = 44.4 in float64 and 32 ln 2 = 22.2 in float32.
_LARGEST_SCALE = {FLOAT64: _LARGEST / 45, FLOAT32: float(np.finfo(np.float32).max) / 23}
_NORMAL_SCALE = float(np.finfo(np.float32).tiny)  # neither 0 nor rounded to 0 in any dtype
_LEAST_SCALE = {FLOAT64: 2.0**-1074, FLOAT32: 2.0**-149}  # the least subnormal numbers

_CHECK_BLOCK = 1 << 16


def epsilon(value: Any) -> Fraction:
    """Return epsilon as the exact number that its text shows; it must be finite and > 0."""
    return _positive_amount("epsilon", value, _numbers.as_printed)


def sensitivity(value: Any) -> Fraction:
    """Return a sensitivity at its exact stored value; it must be finite and > 0."""
    return _positive_amount("sensitivity", value, _numbers.as_stored)


def distance(value: Any) -> Fraction:
    """Return an L1 distance at its exact value; it must be finite and >= 0."""
    return _amount("distance", value, _numbers.as_stored, "finite and >= 0", lambda amount: amount >= 0)


def level(value: Any) -> Fraction:
    """Return a confidence level as the exact number that its text shows; it must lie between 0 and 1."""
    return _amount("level", value, _numbers.as_printed, "between 0 and 1", lambda amount: 0 < amount < 1)


def granularity(value: Any) -> int:
    """Return the exponent of a granularity, which must be a power of two and at least 2^-1074."""
    amount = _positive_amount("granularity", value, _numbers.as_stored)
    exponent = amount.numerator.bit_length() - amount.denominator.bit_length()
    if amount != Fraction(2) ** exponent or exponent < -1074:
        raise ValueError(f"granularity must be a power of two, at least 2**-1074, got {_shown(value)}")
    return exponent


def float_release(scale: float, exponent: int, most: int) -> None:
    """Refuse to release floats where the scale or the granularity is beyond them."""
    if scale == math.inf or exponent > most:
        raise OverflowError(
            f"scale and granularity must be floats to release floats, got scale {scale!r} and granularity "
            f"2**{exponent}; add_log_noise releases logarithms"
        )


def generator(value: Any, kind: type) -> None:
    """Refuse anything but a lapnoise Generator."""
    if not isinstance(value, kind):
        given = type(value)
        raise TypeError(f"rng must be a lapnoise Generator or None, got {given.__module__}.{given.__qualname__}")


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
    low, high = (number_or_array("clamp", bound) for bound in _pair("clamp", value))
    if not (isinstance(low, float) and isinstance(high, float) and low <= high):
        raise ValueError(f"clamp must be two numbers (low, high) with low <= high, got {_shown(value)}")
    if kind == FLOAT32:
        low, high = _float32_inside(low), -_float32_inside(-high)
        if low > high:
            raise ValueError(f"clamp must hold a float32 between its bounds, got {_shown(value)}")
    return low, high


def _float32_inside(low: float) -> float:
    """Return the least finite float32 that is not below ``low``."""
    largest = float(np.finfo(np.float32).max)
    nearest = np.float32(min(max(low, -largest), largest))
    if float(nearest) >= low:
        return float(nearest)
    with np.errstate(over="ignore"):  # beyond the largest there is none
        return float(np.nextafter(nearest, np.float32(np.inf)))


def integer_clamp(value: Any) -> tuple[int, int]:
    """Return (low, high), ints with low <= high that fit in int64."""
    low, high = (_integer("clamp", bound) for bound in _pair("clamp", value))
    if not -(2**63) <= low <= high < 2**63:
        raise ValueError(f"clamp must be two ints (low, high) of 64 bits with low <= high, got {_shown(value)}")
    return low, high


def integer_values(value: Any) -> NDArray[Any]:
    """Return array-like integers, or bool, to which noise is added."""
    array = values(value)
    if array.dtype.kind not in "iub" and array.size:
        raise TypeError(f"values must be integers for discrete noise, got dtype {array.dtype}")
    return array if array.dtype.kind in "iub" else array.astype(np.int64)


def infinite_value(where: tuple[Any, ...]) -> None:
    """Refuse an infinite value, naming its place."""
    raise ValueError(f"{_place(where)} must be finite or NaN, got an infinity: clip the values to known bounds first")


def finite_values(array: NDArray[Any]) -> None:
    """Refuse values that are NaN or infinite, naming the place of the first and not the value."""
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        raise ValueError(f"{_place(np.unravel_index(wrong[0], array.shape))} must be finite, got NaN or an infinity")


def _no_rounded_integer(values: Any) -> None:
    """Refuse a sequence whose large integers NumPy would round, because other entries make the whole a float array."""
    with contextlib.suppress(ValueError):  # rows of unequal length, which are refused elsewhere
        if np.asarray(values).dtype.kind == "f":
            entries = np.asarray(values, dtype=object)
            for i, entry in enumerate(entries.flat):
                if isinstance(entry, int | np.integer) and abs(int(entry)) > 1 << 53:
                    raise TypeError(
                        f"{_place(np.unravel_index(i, entries.shape))} must not be an integer beyond 2**53 among other "
                        "numbers, which would round it to a float: give an integer array"
                    )


def _place(where: tuple[Any, ...]) -> str:
    return f"values[{', '.join(str(int(k)) for k in where)}]" if where else "values"


def seed(value: Any) -> np.random.SeedSequence:
    """Return the SeedSequence of an int >= 0, of a sequence of such ints, or the SeedSequence that was given."""
    if isinstance(value, np.random.SeedSequence):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"seed must be >= 0, got {_shown(value)}")
        return np.random.SeedSequence(int(value))
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes | bytearray):
        numbers = list(np.atleast_1d(value) if isinstance(value, np.ndarray) else value)
        if numbers and all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in numbers):
            if min(numbers) < 0:
                raise ValueError(f"seed must hold ints >= 0 only, got {_shown(value)}")
            return np.random.SeedSequence([int(n) for n in numbers])
    raise TypeError(f"seed must be None, an int, a sequence of ints or a SeedSequence, got {_shown(value)}")


def rounds(value: Any) -> int:
    """Return ChaCha's number of rounds: 8, 12 or 20."""
    if isinstance(value, bool) or value not in ROUNDS:
        raise ValueError(f"rounds must be 8, 12 or 20, got {_shown(value)}")
    return int(value)


def threads(value: Any) -> int | None:
    """Return a number of threads >= 1, or None for all cores that may be used."""
    if value is None:
        return None
    return count("threads", value, least=1)


def count(name: str, value: Any, least: int = 0) -> int:
    """Return an int of at least ``least``."""
    number = _integer(name, value)
    if number < least:
        raise ValueError(f"{name} must be >= {least}, got {_shown(value)}")
    return number


def position(value: Any, largest: int) -> int:
    """Return a place in a stream, in 64-bit words."""
    number = _integer("position", value)
    if not 0 <= number <= largest:
        raise ValueError(f"position must be from 0 to 2**{largest.bit_length() - 1}, got {_shown(value)}")
    return number


def labels(values: tuple[Any, ...]) -> tuple[str | int | bytes, ...]:
    """Return the labels of a child: at least one, each str, int or bytes."""
    if not values:
        raise TypeError("labels must hold at least one str, int or bytes, got none")
    checked: list[str | int | bytes] = []
    for label in values:
        if isinstance(label, np.integer):
            checked.append(int(label))
        elif isinstance(label, str | int | bytes) and not isinstance(label, bool):
            checked.append(label)
        else:
            raise TypeError(f"labels must be str, int or bytes, got {_shown(label)}")
    return tuple(checked)


def method(value: Any) -> Method:
    """Return the name of a sampling method."""
    if value == "inverse":
        return "inverse"
    if value == "exponential_difference":
        return "exponential_difference"
    raise ValueError(f'method must be "inverse" or "exponential_difference", got {_shown(value)}')


def dtype(value: Any) -> np.dtype[Any]:
    """Return float64 or float32."""
    if value is np.float64:
        return FLOAT64
    with contextlib.suppress(TypeError):
        for kind in (FLOAT64, FLOAT32):
            if value is not None and np.dtype(value) == kind:
                return kind
    raise TypeError(f"dtype must be float64 or float32, got {_shown(value)}")


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
        return _as_float(name, value)
    no_mask(name, value)
    array = _real_array(name, value)
    if array.dtype.kind == "b":
        raise TypeError(f"{name} must be real numbers, got dtype bool")
    return float(array) if array.ndim == 0 else array


def values(value: Any) -> NDArray[Any]:
    """Return array-like values to which noise is added: integers, bool, float32 or float64."""
    if isinstance(value, list | tuple):
        _no_rounded_integer(value)
    return _real_array("values", _as_float("values", value) if isinstance(value, Fraction | Decimal) else value)


def scale(value: Any, kind: np.dtype[Any], name: str = "scale") -> Parameter:
    """Return a scale, finite, >= 0, not -0.0, and small enough that no draw of this dtype overflows."""
    checked = number_or_array(name, value)
    if isinstance(checked, float):
        _scale_number(name, checked, kind)
        return checked
    if checked.size:
        low, high = float(checked.min()), float(checked.max())
        # Two reductions without a temporary settle the usual case; only a doubtful array is searched.
        if not (low > _LEAST_SCALE[kind] and high <= _LARGEST_SCALE[kind]):
            _scale_search(name, checked, kind)
    return checked


def interval(loc: Any, low: Any, high: Any) -> tuple[Parameter, Parameter, Parameter]:
    """Return (loc, low, high), all finite and low <= high; an infinite bound becomes the largest float of its sign."""
    loc = finite("loc", loc)
    low, high = number_or_array("low", low), number_or_array("high", high)
    for name, bound, wrong in (("low", low, math.inf), ("high", high, -math.inf)):
        if np.any(np.isnan(bound)) or np.any(np.equal(bound, wrong)):
            raise ValueError(f"{name} must not be NaN or {wrong}, got {_shown(bound)}")
    shape({"low": low, "high": high}, None)
    if np.any(np.greater(low, high)):
        raise ValueError(f"low must be <= high, got low {_shown(low)} and high {_shown(high)}")
    # At the end of the floats, and not beyond, so that no draw is infinite.
    low = max(low, -_LARGEST) if isinstance(low, float) else np.maximum(low, -_LARGEST)
    high = min(high, _LARGEST) if isinstance(high, float) else np.minimum(high, _LARGEST)
    return loc, low, high


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


def _scale_number(name: str, value: float, kind: np.dtype[Any]) -> None:
    if _NORMAL_SCALE <= value <= _LARGEST_SCALE[kind]:
        return
    if not 0.0 <= value < math.inf or (value == 0.0 and math.copysign(1.0, value) < 0.0):
        raise ValueError(f"{name} must be finite and >= 0, and not -0.0, got {value!r}")
    if value > _LARGEST_SCALE[kind]:
        raise OverflowError(
            f"{name} must be at most {_LARGEST_SCALE[kind]:.6g} for {kind}, got {value!r}: a draw could pass the "
            "largest float; log_laplace takes the logarithm of a scale of any size"
        )
    if kind == FLOAT32 and value > 0.0 and np.float32(value) == 0.0:
        least = _LEAST_SCALE[kind]
        raise ValueError(f"{name} must be 0 or at least {least:.6g} for {kind}, got {value!r}: it would round to 0")


def _scale_search(name: str, array: NDArray[Any], kind: np.dtype[Any]) -> None:
    for start in range(0, array.size, _CHECK_BLOCK):
        block = np.asarray(array.flat[start : start + _CHECK_BLOCK], dtype=np.float64)
        sure = (block > _LEAST_SCALE[kind]) & (block <= _LARGEST_SCALE[kind]) | (block == 0.0) & ~np.signbit(block)
        for i in np.flatnonzero(~sure):
            where = ", ".join(str(int(k)) for k in np.unravel_index(start + int(i), array.shape))
            _scale_number(f"{name}[{where}]", float(block[i]), kind)


def discrete_scale(value: Any) -> Parameter:
    """Return the scale of discrete noise: as `scale`, and at most 2^57."""
    checked = scale(value, FLOAT64)
    if np.any(np.greater(checked, LARGEST_DISCRETE_SCALE)):
        raise OverflowError(f"scale must be at most 2**57 for discrete noise, got {_shown(value)}")
    return checked


def finite(name: str, value: Any) -> Parameter:
    """Return a real number or an array of them, all finite."""
    return _finite(name, number_or_array(name, value))


def _as_float(name: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        shown = "a number beyond the largest" if name == "values" else _shown(value)  # values are data
        raise OverflowError(f"{name} must fit in a float64, got {shown}") from None


def _finite(name: str, value: Parameter) -> Parameter:
    if not np.all(np.isfinite(value)):
        raise ValueError(f"{name} must be finite, got {_shown(value)}")
    return value


def _real_array(name: str, value: Any) -> NDArray[Any]:
    if type(value).__name__ == "DataFrame":
        raise TypeError(f"{name} must be a number, an array or a Series, got a DataFrame: give its columns one by one")
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of different length
        raise ValueError(f"{name} must be a number or a regular array, got rows of unequal length") from error
    if array.size == 0 and array.dtype == np.float64:
        return array
    if array.dtype.kind not in "fiub" or array.dtype.itemsize not in (1, 2, 4, 8) or array.dtype.char == "e":
        raise TypeError(f"{name} must be real numbers (integers, float32 or float64), got dtype {array.dtype}")
    return array


def _integer(name: str, value: Any) -> int:
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be an int, got {_shown(value)}")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, got {_shown(value)}") from None


def _positive_amount(name: str, value: Any, read: Callable[[Any], Fraction | None]) -> Fraction:
    return _amount(name, value, read, "finite and > 0", lambda amount: amount > 0)


def _repeats_memory(array: NDArray[Any]) -> bool:
    """Return whether two elements may share bytes: whether an axis steps less than the axes inside it span."""
    span = array.itemsize
    for step, length in sorted((abs(step), length) for step, length in zip(array.strides, array.shape, strict=True)):
        if length > 1:
            if step < span:
                return True
            span = step * (length - 1) + span
    return False


def _amount(
    name: str,
    value: Any,
    read: Callable[[Any], Fraction | None],
    rule: str,
    holds: Callable[[Fraction], bool],
) -> Fraction:
    try:
        amount = read(value)
    except TypeError:
        raise TypeError(
            f"{name} must be a number (int, float, Decimal, Fraction or numeric text), got {_shown(value)}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{name} {error}, got {_shown(value)}") from None
    if amount is None or not holds(amount):
        raise ValueError(f"{name} must be {rule}, got {_shown(value)}")
    return amount


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or len(value) != 2:
        raise TypeError(f"{name} must be a pair (low, high), got {_shown(value)}")
    return value[0], value[1]


def _shown(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # more digits than Python writes
        return f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."
