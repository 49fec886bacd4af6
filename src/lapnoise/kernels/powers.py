"""Powers of two out of a float's bits, without comparisons or conversions, so that every line vectorises under AVX2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lapnoise._intrinsics import float32_from_bits, float64_from_bits
from lapnoise._jit import device

__all__ = [
    "CENTRE",
    "CENTRE32",
    "RATIO_CENTRE",
    "RATIO_CENTRE32",
    "inverse_power",
    "inverse_power32",
    "power",
    "power32",
]

CENTRE = np.uint64(0x3FF0000000000000 - int(np.float64(math.sqrt(0.5)).view(np.uint64)))
"""Added to the bits of x > 0, it carries into the exponent exactly when the mantissa is at least sqrt(2)."""

RATIO_CENTRE = np.uint64(0x3FF0000000000000 + (1 << 51))
"""Added to bits(a) - bits(b) it gives the power of two near a / b: the quotient lies within 2^(1/2 + 0.0861) of it.

The bits of a positive float are a linear interpolation of its binary logarithm, 0.0861 below it at most.
"""

CENTRE32 = np.uint32(0x3F800000 - int(np.float32(math.sqrt(0.5)).view(np.uint32)))
RATIO_CENTRE32 = np.uint32(0x3F800000 + (1 << 22))

_EXPONENT_MASK = np.uint64(0xFFF0000000000000)
_EXPONENT_SHIFT = np.uint64(52)
_INVERSE = np.uint64(2046 << 52)  # minus the bits of 2^e: the bits of 2^-e
# An integer below 2^52 in the last mantissa bits of 2^52 is a float already. AVX2 converts no 64-bit integers.
_SMALL_INTEGER_BITS = np.uint64(0x4330000000000000)
_SMALL_INTEGER = 2.0**52 + 1023.0

_EXPONENT_MASK32 = np.uint32(0xFF800000)
_EXPONENT_SHIFT32 = np.uint32(23)
_INVERSE32 = np.uint32(254 << 23)
_SMALL_INTEGER_BITS32 = np.uint32(0x4B000000)
_SMALL_INTEGER32 = np.float32(2.0**23 + 127.0)


@device
def power(centred: Any) -> Any:
    """Return (bits of 2^e, e), e the exponent of the float64 whose bits are ``centred``, -1022 <= e <= 1023."""
    e = float64_from_bits(_SMALL_INTEGER_BITS | (centred >> _EXPONENT_SHIFT)) - _SMALL_INTEGER
    return centred & _EXPONENT_MASK, e


@device
def inverse_power(power_bits: Any) -> Any:
    """Return 2^-e from the bits of 2^e, -1022 <= e <= 1022."""
    return float64_from_bits(_INVERSE - power_bits)


@device
def power32(centred: Any) -> Any:
    """Return (bits of 2^e, e) of a float32, -126 <= e <= 127."""
    e = float32_from_bits(_SMALL_INTEGER_BITS32 | (centred >> _EXPONENT_SHIFT32)) - _SMALL_INTEGER32
    return centred & _EXPONENT_MASK32, e


@device
def inverse_power32(power_bits: Any) -> Any:
    """Return 2^-e from the bits of 2^e in float32, -126 <= e <= 126."""
    return float32_from_bits(np.uint32(_INVERSE32 - power_bits))
