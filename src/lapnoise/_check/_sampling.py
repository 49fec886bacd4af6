"""Seeds, places in a stream, and the parameters of the sampler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lapnoise._check._arrays import FLOAT32, FLOAT64, Parameter, finite, number_or_array, shape
from lapnoise._check._rules import count, integer, shown

__all__ = [
    "LARGEST_SCALE",
    "LEAST_SCALE",
    "ROUNDS",
    "Method",
    "discrete_scale",
    "generator",
    "interval",
    "labels",
    "method",
    "position",
    "rounds",
    "scale",
    "seed",
    "threads",
]

ROUNDS = (8, 12, 20)

Method = Literal["inverse", "exponential_difference"]

LARGEST_DISCRETE_SCALE = 2.0**57  # beyond it integers past 64 bits are no longer out of the question

_LARGEST = float(np.finfo(np.float64).max)
# The largest scale: the largest standard draw is 64 ln 2 = 44.4 in float64 and 32 ln 2 = 22.2 in float32.
LARGEST_SCALE = {FLOAT64: _LARGEST / 45, FLOAT32: float(np.finfo(np.float32).max) / 23}
_NORMAL_SCALE = float(np.finfo(np.float32).tiny)  # neither 0 nor rounded to 0 in any dtype
LEAST_SCALE = {FLOAT64: 2.0**-1074, FLOAT32: 2.0**-149}  # the least subnormal numbers

_CHECK_BLOCK = 1 << 16


def generator(value: Any, kind: type) -> None:
    """Refuse anything but a lapnoise Generator."""
    if not isinstance(value, kind):
        given = type(value)
        raise TypeError(f"rng must be a lapnoise Generator or None, got {given.__module__}.{given.__qualname__}")


def seed(value: Any) -> np.random.SeedSequence:
    """Return the SeedSequence of an int >= 0, of a sequence of such ints, or the SeedSequence that was given."""
    if isinstance(value, np.random.SeedSequence):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"seed must be >= 0, got {shown(value)}")
        return np.random.SeedSequence(int(value))
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes | bytearray):
        numbers = list(np.atleast_1d(value) if isinstance(value, np.ndarray) else value)
        if numbers and all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in numbers):
            if min(numbers) < 0:
                raise ValueError(f"seed must hold ints >= 0 only, got {shown(value)}")
            return np.random.SeedSequence([int(n) for n in numbers])
    raise TypeError(f"seed must be None, an int, a sequence of ints or a SeedSequence, got {shown(value)}")


def rounds(value: Any) -> int:
    """Return ChaCha's number of rounds: 8, 12 or 20."""
    if isinstance(value, bool) or value not in ROUNDS:
        raise ValueError(f"rounds must be 8, 12 or 20, got {shown(value)}")
    return int(value)


def threads(value: Any) -> int | None:
    """Return a number of threads >= 1, or None for all cores that may be used."""
    if value is None:
        return None
    return count("threads", value, least=1)


def position(value: Any, largest: int) -> int:
    """Return a place in a stream, in 64-bit words."""
    number = integer("position", value)
    if not 0 <= number <= largest:
        end = f"2**{largest.bit_length() - 1}" if largest & (largest - 1) == 0 else str(largest)
        raise ValueError(f"position must be from 0 to {end}, got {shown(value)}")
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
            raise TypeError(f"labels must be str, int or bytes, got {shown(label)}")
    return tuple(checked)


def method(value: Any) -> Method:
    """Return the name of a sampling method."""
    if value == "inverse":
        return "inverse"
    if value == "exponential_difference":
        return "exponential_difference"
    raise ValueError(f'method must be "inverse" or "exponential_difference", got {shown(value)}')


def scale(value: Any, kind: np.dtype[Any], name: str = "scale") -> Parameter:
    """Return a scale, finite, >= 0, not -0.0, and small enough that no draw of this dtype overflows."""
    checked = number_or_array(name, value)
    if isinstance(checked, float):
        _scale_number(name, checked, kind)
        return checked
    if checked.size:
        low, high = float(checked.min()), float(checked.max())
        # Two reductions without a temporary settle the usual case; only a doubtful array is searched.
        if not (low > LEAST_SCALE[kind] and high <= LARGEST_SCALE[kind]):
            _scale_search(name, checked, kind)
    return checked


def discrete_scale(value: Any) -> Parameter:
    """Return the scale of discrete noise: as `scale`, and at most 2^57."""
    checked = scale(value, FLOAT64)
    if np.any(np.greater(checked, LARGEST_DISCRETE_SCALE)):
        raise OverflowError(f"scale must be at most 2**57 for discrete noise, got {shown(value)}")
    return checked


def interval(loc: Any, low: Any, high: Any) -> tuple[Parameter, Parameter, Parameter]:
    """Return (loc, low, high), all finite and low <= high; an infinite bound becomes the largest float of its sign."""
    loc = finite("loc", loc)
    low, high = number_or_array("low", low), number_or_array("high", high)
    for name, bound, wrong in (("low", low, math.inf), ("high", high, -math.inf)):
        if np.any(np.isnan(bound)) or np.any(np.equal(bound, wrong)):
            raise ValueError(f"{name} must not be NaN or {wrong}, got {shown(bound)}")
    shape({"low": low, "high": high}, None)
    if np.any(np.greater(low, high)):
        raise ValueError(f"low must be <= high, got low {shown(low)} and high {shown(high)}")
    # At the end of the floats, and not beyond, so that no draw is infinite.
    low = max(low, -_LARGEST) if isinstance(low, float) else np.maximum(low, -_LARGEST)
    high = min(high, _LARGEST) if isinstance(high, float) else np.minimum(high, _LARGEST)
    return loc, low, high


def _scale_number(name: str, value: float, kind: np.dtype[Any]) -> None:
    if _NORMAL_SCALE <= value <= LARGEST_SCALE[kind]:
        return
    if not 0.0 <= value < math.inf or (value == 0.0 and math.copysign(1.0, value) < 0.0):
        raise ValueError(f"{name} must be finite and >= 0, and not -0.0, got {value!r}")
    if value > LARGEST_SCALE[kind]:
        raise OverflowError(
            f"{name} must be at most {LARGEST_SCALE[kind]:.6g} for {kind}, got {value!r}: a draw could pass the "
            "largest float; log_laplace takes the logarithm of a scale of any size"
        )
    if kind == FLOAT32 and value > 0.0 and np.float32(value) == 0.0:
        least = LEAST_SCALE[kind]
        raise ValueError(f"{name} must be 0 or at least {least:.6g} for {kind}, got {value!r}: it would round to 0")


def _scale_search(name: str, array: NDArray[Any], kind: np.dtype[Any]) -> None:
    for start in range(0, array.size, _CHECK_BLOCK):
        block = np.asarray(array.flat[start : start + _CHECK_BLOCK], dtype=np.float64)
        sure = (block > LEAST_SCALE[kind]) & (block <= LARGEST_SCALE[kind]) | (block == 0.0) & ~np.signbit(block)
        for i in np.flatnonzero(~sure):
            where = ", ".join(str(int(k)) for k in np.unravel_index(start + int(i), array.shape))
            _scale_number(f"{name}[{where}]", float(block[i]), kind)
