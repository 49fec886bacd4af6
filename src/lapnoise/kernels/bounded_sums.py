"""Values clipped, rounded half up to a lattice and added as integers: nothing is lost and no order matters."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import bits_from_float64
from lapnoise._jit import device, kernel

__all__ = ["CHUNK", "MOST_STEPS", "fill_steps", "sum_steps"]

MOST_STEPS = 1 << 50
"""Bounds are at most so many lattice steps from 0, so that rounding by adding 1.5 2^52 is exact."""

CHUNK = 1 << 11
"""Values whose steps, below 2^51 each, are added in an int64."""

# Added to a number below 2^51 it leaves the nearest integer in the last bits, half to even; AVX2 converts no 64-bit
# integers.
_NEAREST = 1.5 * 2.0**52
_NEAREST_BITS = np.int64(0x4338000000000000)
_LOW_HALF = np.int64(0xFFFFFFFF)


@device
def _steps_of(x: Any, scales: Any, least: Any, most: Any) -> Any:
    """Return x, times the two factors of 1/r, clamped to whole bounds and rounded half up; NaN gives ``least``.

    Clamping first is the same, since rounding is monotone and keeps the bounds.
    """
    y = (x * scales[0]) * scales[1]
    y = y if y > least else least
    y = y if y < most else most
    moved = y + _NEAREST
    nearest = np.int64(bits_from_float64(moved)) - _NEAREST_BITS
    # A tie that went down to an even integer.
    return nearest + np.int64(1 if y - (moved - _NEAREST) >= 0.5 else 0)


@kernel
def sum_steps(values: Any, inverse1: float, inverse2: float, least: float, most: float) -> Any:
    """Return the sum of the steps of float64 values as (high, low), high 2^32 + low, and how many values are NaN.

    A NaN counts as ``least`` in the sum. Up to 2^42 values.
    """
    scales = (inverse1, inverse2)
    high = np.int64(0)
    low = np.int64(0)
    missing = np.int64(0)
    for start in range(0, values.size, CHUNK):
        chunk = values[start : start + CHUNK]
        total = np.int64(0)
        for i in range(chunk.size):
            x = chunk[i]
            total += _steps_of(x, scales, least, most)
            missing += np.int64(1 if x != x else 0)
        high += total >> np.int64(32)
        low += total & _LOW_HALF
    return high, low, missing


@kernel
def fill_steps(out: Any, values: Any, inverse1: float, inverse2: float, least: float, most: float) -> None:
    """Write the steps of float64 values to ``out`` (int64); NaN gives ``least``."""
    scales = (inverse1, inverse2)
    for i in range(values.size):
        out[i] = _steps_of(values[i], scales, least, most)
