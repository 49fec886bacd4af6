"""Words to uniforms in (0, 1), in the form that a logarithm wants.

That form is u = 2^e (1 + f) with f in [sqrt(1/2) - 1, sqrt(2) - 1].

A 64-bit word w gives a sign, bit 0, and an integer j, the other 63 bits. The uniform is the middle of cell j of 2^63,
u = (2 j + 1) 2^-64, so 0 and 1 do not occur. Since 2 j + 1 = w | 1, no bit is moved. A half word gives u = (2 j + 1)
2^-32 in the same way.

Why not u itself: as a float64 near 1 it would lose the last 11 bits, and the noise near 0 with them. Here the
difference u - 2^e is taken from the two halves of the integer *before* anything is rounded: ``high`` and ``low - 2^e``
are exact, so that 2^e f carries one rounding, however close u is to 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import bits_from_float32, bits_from_float64, float32_from_bits, float64_from_bits
from lapnoise._jit import device
from lapnoise.kernels.powers import CENTRE, CENTRE32, inverse_power, inverse_power32, power, power32

__all__ = ["halves", "halves32", "open01_from_half_word", "open01_from_word"]

_ONE = np.uint64(1)
# An integer in the last mantissa bits of a power of two becomes a float by subtracting that power: the upper 32 bits
# with the unit 2^-32 under 2^20, the lower 32 with the unit 2^-64 under 2^-12.
_HIGH_BITS = np.uint64(np.float64(2.0**20).view(np.uint64))
_LOW_BITS = np.uint64(np.float64(2.0**-12).view(np.uint64))
_HIGH = 2.0**20
_LOW = 2.0**-12
_HALF = np.uint64(32)
_HALF_MASK = np.uint64(0xFFFFFFFF)

_ONE32 = np.uint32(1)
_HIGH_BITS32 = np.uint32(np.float32(2.0**7).view(np.uint32))
_LOW_BITS32 = np.uint32(np.float32(2.0**-9).view(np.uint32))
_HIGH32 = np.float32(2.0**7)
_LOW32 = np.float32(2.0**-9)
_BOTH32 = np.float32(_HIGH32 + _LOW32)
_HALF32 = np.uint32(16)
_HALF_MASK32 = np.uint32(0xFFFF)


@device
def halves(word: Any) -> Any:
    """Return (high, low) in float64, both exact, with high + low = u = (2 j + 1) 2^-64 and low a number of 32 bits."""
    odd = word | _ONE
    high = float64_from_bits(_HIGH_BITS | (odd >> _HALF)) - _HIGH
    return high, float64_from_bits(_LOW_BITS | (odd & _HALF_MASK)) - _LOW


@device
def _offset_halves(word: Any) -> Any:
    """Return (high - 2^-12, low + 2^-12), which costs an operation less; enough where their sum is all that is used."""
    odd = word | _ONE
    high = float64_from_bits(_HIGH_BITS | (odd >> _HALF)) - (_HIGH + _LOW)
    return high, float64_from_bits(_LOW_BITS | (odd & _HALF_MASK))


@device
def open01_from_word(word: Any) -> Any:
    """Return (e, f) as float64 with u = 2^e (1 + f), u = (2 j + 1) 2^-64 and j the upper 63 bits of ``word``.

    e is exact, from -64 to 0. 2^e f is u - 2^e rounded once; so f is u - 1 rounded once where u >= sqrt(1/2).
    """
    high, low = _offset_halves(word)
    power_bits, e = power(bits_from_float64(high + low) + CENTRE)
    f = ((high - float64_from_bits(power_bits)) + low) * inverse_power(power_bits)
    return e, f


@device
def halves32(half_word: Any) -> Any:
    """Return (high, low) in float32, both exact, with high + low = u = (2 j + 1) 2^-32 and low a number of 16 bits."""
    odd = half_word | _ONE32
    high = float32_from_bits(_HIGH_BITS32 | (odd >> _HALF32)) - _HIGH32
    return high, float32_from_bits(_LOW_BITS32 | (odd & _HALF_MASK32)) - _LOW32


@device
def _offset_halves32(half_word: Any) -> Any:
    """Return (high - 2^-9, low + 2^-9); see ``_offset_halves``."""
    odd = half_word | _ONE32
    high = float32_from_bits(_HIGH_BITS32 | (odd >> _HALF32)) - _BOTH32
    return high, float32_from_bits(_LOW_BITS32 | (odd & _HALF_MASK32))


@device
def open01_from_half_word(half_word: Any) -> Any:
    """Return (e, f) as float32 with u = 2^e (1 + f), u = (2 j + 1) 2^-32 and j the upper 31 bits of ``half_word``."""
    high, low = _offset_halves32(half_word)
    power_bits, e = power32(np.uint32(bits_from_float32(high + low) + CENTRE32))
    f = ((high - float32_from_bits(power_bits)) + low) * inverse_power32(power_bits)
    return e, f
