"""What code that draws for itself hands over from Python: streams, laws and places."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check._rules import shown
from lapnoise._check._sampling import LARGEST_DISCRETE_SCALE, ROUNDS

__all__ = ["discrete_law", "positions", "scalar", "stream_source"]

_SOURCE_WORDS = 6
_LAW_SIZE = 5


def scalar(name: str, value: Any) -> float:
    """Return a number that was checked as a parameter, and refuse an array."""
    if not isinstance(value, float):
        raise TypeError(f"{name} must be one number, got an array of shape {value.shape}")
    return value


def stream_source(value: Any) -> None:
    """Refuse what is no array of a key, a stream id and half of a number of rounds."""
    if (
        not isinstance(value, np.ndarray)
        or value.dtype != np.uint64
        or value.shape != (_SOURCE_WORDS,)
        or not _whole(value)
    ):
        raise TypeError(f"source must be an array of 6 uint64, as reserve returns it, got {_described(value)}")
    if int(value[-1]) * 2 not in ROUNDS:
        raise ValueError(f"source must end in half of 8, 12 or 20, as reserve returns it, got {int(value[-1])}")


def discrete_law(value: Any) -> None:
    """Refuse what is no array that describes a discrete Laplace distribution."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.shape != (_LAW_SIZE,):
        raise TypeError(f"law must be an array of 5 float64, as discrete_law returns it, got {_described(value)}")
    if not 0.0 <= value[0] <= LARGEST_DISCRETE_SCALE:
        raise ValueError(f"law must begin with a scale from 0 to 2**57, as discrete_law returns it, got {value[0]}")


def positions(value: Any, largest: int) -> NDArray[np.int64]:
    """Return places in a stream as int64."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"positions must be ints, got dtype {array.dtype}")
    wrong = (array < 0) | (array > largest) if array.size else np.zeros(array.shape, bool)
    if wrong.any():
        raise ValueError(f"positions must be from 0 to {largest}, got {shown(array[wrong].flat[0].item())}")
    return array.astype(np.int64)


def _whole(array: NDArray[Any]) -> bool:
    # Kernels read it by its address, one word after the other.
    return bool(array.flags.c_contiguous and array.flags.aligned)


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"dtype {value.dtype}, shape {value.shape} and strides {value.strides}"
    return shown(value)
