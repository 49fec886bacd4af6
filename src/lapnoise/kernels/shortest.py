"""Numbers as text: the shortest decimal that reads back as a float64, byte for byte as Python's ``repr`` has it.

Among the decimals that lie in the interval that rounds to a float, one of the fewest digits is taken, and of those the
nearest. With 10^k the largest power of ten below the interval's width, the interval holds a multiple of 10^k, and at
most one of 10^(k+1): so the float and the two ends are scaled by 10^-k, which needs 128 bits of the power, and the
answer is among four integers. Of what is scaled only the integer part is kept, and whether anything is left over
(rounding to odd); that this decides every comparison, although the power is rounded, is proven in the paper.

Text may be followed by up to TEXT_ROOM bytes of rubbish, since digits are stored eight at a time.

References
----------
.. [1] R. Giulietti, "The Schubfach way to render doubles" (2020).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._intrinsics import (
    address_of,
    bits_from_float64,
    leading_zeros,
    load_word,
    multiply_wide,
    store_byte,
    store_word,
)
from lapnoise._jit import device, kernel

__all__ = ["TEXT_ROOM", "format_floats", "format_integers", "powers_of_ten", "write_float", "write_integer"]

TEXT_ROOM = 40
"""Bytes that must be there from a text's beginning on; no text is longer than 24."""

_LEAST_POWER, _LARGEST_POWER = -292, 324
"""The powers of ten by which floats from 2^-1074 to 2^1024 are scaled."""

_TENS = np.array([10**k for k in range(20)], np.uint64)
_LOW_WORD = np.uint64(0xFFFFFFFF)
_ZEROS = np.uint64(0x3030303030303030)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_HIDDEN = np.uint64(1 << 52)
_U0, _U1, _U2, _U4, _U8, _U10, _U40 = (np.uint64(k) for k in (0, 1, 2, 4, 8, 10, 40))
_TEN_TO_8, _TEN_TO_16 = np.uint64(10**8), np.uint64(10**16)


@functools.cache
def powers_of_ten() -> NDArray[np.uint64]:
    """Return the high and low words of ceil(10^k 2^s) for k from -292 to 324, where 2^127 <= 10^k 2^s < 2^128."""
    words = []
    for k in range(_LEAST_POWER, _LARGEST_POWER + 1):
        ten = 10 ** abs(k)
        if k >= 0:
            shift = 128 - ten.bit_length()
            scaled = ten << shift if shift >= 0 else -(-ten >> -shift)
        else:
            scaled = -(-(1 << (127 + ten.bit_length())) // ten)
        words += [scaled >> 64, scaled & (1 << 64) - 1]
    return np.array(words, np.uint64)


@device
def _scaled(high: Any, low: Any, c: Any) -> Any:
    """Return floor(c g / 2^128), odd if anything more than the power's own rounding is left over."""
    carry, _ = multiply_wide(low, c)
    whole, rest = multiply_wide(high, c)
    total = rest + carry
    if total < rest:
        whole += _U1
    return whole | (_U1 if total > _U1 else _U0)


@device
def _shortest(bits: Any, powers: Any) -> Any:
    """Return (D, k): the shortest decimal D 10^k of the finite float with these bits, but for its sign; not for 0."""
    fraction = bits & np.uint64((1 << 52) - 1)
    biased = np.int64((bits >> np.uint64(52)) & np.uint64(0x7FF))
    if biased != 0:
        c = fraction | _HIDDEN
        q = biased - 1075
        # An integer below 2^53 is its own shortest decimal but for trailing zeros, which count for nothing here.
        if -53 < q <= 0:
            unit = _U1 << np.uint64(-q)
            if c & (unit - _U1) == _U0:
                return c >> np.uint64(-q), 0
    else:
        c = fraction
        q = np.int64(-1074)
    # Both ends of the interval belong to it where c is even. Below a power of two floats lie closer.
    closer = fraction == _U0 and biased > 1
    outside = c & _U1
    k = (q * 1262611 - (524031 if closer else 0)) >> 22  # floor(log10(2^q)), or of 3/4 of it
    h = np.uint64(q + ((-k * 1741647) >> 19) + 1)  # floor(log2(10^-k))
    place = 16 * (-k - _LEAST_POWER)
    high, low = load_word(powers, place), load_word(powers, place + 8)
    centre = c << _U2
    lower = _scaled(high, low, (centre - (_U1 if closer else _U2)) << h) + outside
    v = _scaled(high, low, centre << h)
    upper = _scaled(high, low, (centre + _U2) << h) - outside
    s = v >> _U2
    if s >= _U10:
        tens = s // _U10
        below = lower <= _U40 * tens
        above = _U40 * tens + _U40 <= upper
        if below != above:
            return tens + (_U1 if above else _U0), k + 1
    below = lower <= s << _U2
    above = (s << _U2) + _U4 <= upper
    if below != above:
        return s + (_U1 if above else _U0), k
    middle = (s << _U2) + _U2
    up = v > middle or (v == middle and s & _U1 != _U0)
    return s + (_U1 if up else _U0), k


@device
def _digit_count(number: Any) -> Any:
    """Return how many decimal digits a uint64 from 1 to 10^19 - 1 has."""
    guess = ((np.uint64(64) - leading_zeros(number)) * np.uint64(1233)) >> np.uint64(12)
    return np.int64(guess) + (1 if number >= _TENS[guess] else 0)


@device
def _eight_digits(number: Any) -> Any:
    """Return a word whose bytes, lowest first, are the eight decimal digits of a number, 0 to 9 each.

    Halves, then quarters, then single digits side by side in one register; the multipliers are reciprocals of 100
    and 10, exact for as many digits as they get.
    """
    top = number // np.uint64(10000)
    halves = top | ((number - np.uint64(10000) * top) << np.uint64(32))
    hundreds = ((halves * np.uint64(10486)) >> np.uint64(20)) & np.uint64(0x0000007F0000007F)
    quarters = hundreds | ((halves - np.uint64(100) * hundreds) << np.uint64(16))
    tens = ((quarters * np.uint64(103)) >> np.uint64(10)) & np.uint64(0x000F000F000F000F)
    return tens | ((quarters - _U10 * tens) << _U8)


@device
def _digits_in_place(number: Any, count: int) -> Any:
    """Return 17 digits, those of a number of ``count`` <= 17 digits and then zeros, as text in three words."""
    number *= _TENS[np.uint64(17 - count)]
    head = number // _TEN_TO_16
    rest = number - head * _TEN_TO_16
    upper = rest // _TEN_TO_8
    a = _eight_digits(upper)
    b = _eight_digits(rest - upper * _TEN_TO_8)
    first = (head | (a << _U8)) | _ZEROS
    second = ((a >> np.uint64(56)) | (b << _U8)) | _ZEROS
    return first, second, (b >> np.uint64(56)) | np.uint64(0x30)


@device
def _significant(first: Any, second: Any, third: Any) -> Any:
    """Return how many of 17 digits are left without the zeros behind."""
    if third != np.uint64(0x30):
        return np.int64(17)
    if second != _ZEROS:
        return np.int64(16) - np.int64(leading_zeros(second ^ _ZEROS) >> np.uint64(3))
    return np.int64(8) - np.int64(leading_zeros(first ^ _ZEROS) >> np.uint64(3))


@device
def _low_bytes(count: Any) -> Any:
    """Return a word with ones in so many of its lowest bytes, counts beyond 0 to 8 taken to the nearer of them."""
    if count >= 8:
        return _ALL
    return (_U1 << np.uint64(8 * max(count, 0))) - _U1


@device
def write_float(out: Any, end: int, value: float, powers: Any) -> Any:
    """Write a finite float as ``repr`` does, ``end`` bytes behind the address ``out``, and return where it ends.

    ``powers`` is the address of what `powers_of_ten` returns.
    """
    bits = bits_from_float64(value)
    if bits >> np.uint64(63):
        store_byte(out, end, np.uint8(45))  # -
        end += 1
        bits &= np.uint64((1 << 63) - 1)
    if bits == _U0:
        store_word(out, end, np.uint64(0x302E30))  # 0.0
        end += 3
    else:
        number, k = _shortest(bits, powers)
        count = _digit_count(number)
        first, second, third = _digits_in_place(number, count)
        digits = _significant(first, second, third)
        point = count + k  # the value is 0.DDD 10^point
        if -4 < point <= 16:
            end = _write_plain(out, end, first, second, third, digits, point)
        else:
            store_byte(out, end, np.uint8(first & np.uint64(0xFF)))
            store_byte(out, end + 1, np.uint8(46))
            store_word(out, end + 2, (first >> _U8) | (second << np.uint64(56)))
            store_word(out, end + 10, (second >> _U8) | (third << np.uint64(56)))
            end = _write_exponent(out, end + (digits + 1 if digits > 1 else 1), point - 1)
    return end


@device
def _write_plain(out: Any, end: int, first: Any, second: Any, third: Any, digits: Any, point: Any) -> Any:
    """Write 0.DDD 10^point without an exponent."""
    if point > 0:
        # Digits before the point as they are, those behind it a byte further on.
        before, after = _low_bytes(point), _low_bytes(point - 8)
        second_shifted = (first >> np.uint64(56)) | (second << _U8)
        store_word(out, end, (first & before) | ((first << _U8) & ~before))
        store_word(out, end + 8, (second & after) | (second_shifted & ~after))
        store_word(out, end + 16, (second >> np.uint64(56)) | (third << _U8))
        store_byte(out, end + point, np.uint8(46))  # .
        end += max(digits, point + 1) + 1
    else:
        store_word(out, end, np.uint64(0x3030303030302E30))  # 0.000000
        start = end + 2 - point
        store_word(out, start, first)
        store_word(out, start + 8, second)
        store_word(out, start + 16, third)
        end = start + digits
    return end


@device
def _write_exponent(out: Any, end: int, exponent: int) -> Any:
    store_byte(out, end, np.uint8(101))  # e
    store_byte(out, end + 1, np.uint8(45 if exponent < 0 else 43))
    size = abs(exponent)
    end += 2
    if size >= 100:
        store_byte(out, end, np.uint8(48 + size // 100))
        size %= 100
        end += 1
    store_byte(out, end, np.uint8(48 + size // 10))
    store_byte(out, end + 1, np.uint8(48 + size % 10))
    return end + 2


@device
def write_integer(out: Any, end: int, value: Any) -> Any:
    """Write an int64 in decimal digits, ``end`` bytes behind the address ``out``, and return where it ends."""
    number = np.uint64(value)
    if value < 0:
        store_byte(out, end, np.uint8(45))
        end += 1
        number = _U0 - number
    count = _digit_count(number | _U1)
    last = _U0
    if count > 17:
        upper = number // _TEN_TO_8
        last = number - upper * _TEN_TO_8
        number = upper
    head = count if count <= 17 else count - 8
    first, second, third = _digits_in_place(number, head)
    store_word(out, end, first)
    store_word(out, end + 8, second)
    store_word(out, end + 16, third)
    if count > 17:
        store_word(out, end + head, _eight_digits(last) | _ZEROS)
    return end + count


@kernel
def format_floats(out: Any, ends: Any, values: Any, powers: Any) -> None:
    """Write finite floats one behind the other to ``out`` (uint8) and where each ends to ``ends``.

    ``out`` has room for TEXT_ROOM bytes for each of them.
    """
    text, end = address_of(out), 0
    for i in range(values.size):
        end = write_float(text, end, values[i], address_of(powers))
        ends[i] = end


@kernel
def format_integers(out: Any, ends: Any, values: Any) -> None:
    """Do the same with int64 values."""
    text, end = address_of(out), 0
    for i in range(values.size):
        end = write_integer(text, end, values[i])
        ends[i] = end
