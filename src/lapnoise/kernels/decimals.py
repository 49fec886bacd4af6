"""Decimal texts read: onto a lattice, or as integers of 64 bits; what a kernel cannot settle is left to a closer look.

A cell is the bytes from a start to an end, with the quotes around it if it has some. What it says is what stands
between the quotes without white space around it; a cell that one of the given texts equals is missing.

**Rounding.** A decimal v = D 10^p, with D < 10^19 and abs(p) <= 290, is rounded half up to a multiple of r = 2^e as
what it says. Let u = 2^-53. x = fl(fl(D) fl(10^p)) takes three roundings, so that abs(v - x) is at most
((1 + u)^3 - 1) abs(v), below 4 u abs(x). y = x / r is exact, r being a power of two, unless it underflows, where its
error is nothing to 2^-52. So v / r lies within 4 u abs(y) = 2^-51 abs(y) of y. y - floor(y) is exact but for the
rounding of what lies near 1, at most u. Where it is further from 1/2 than 2^-51 abs(y) + 2^-52, both errors together do
not reach the half, and y decides.

Else floor(2 v / r) is found in integers, floor(v / r + 1/2) = floor((floor(2 v / r) + 1) / 2): 2 v / r is
D 5^p 2^(1 - e + p), and for p < 0 a long division by 5^-p < 2^63 brings in as many bits at a time as that leaves room
for.

From 2^52 steps on, y has no half to be compared with and steps may not fit in a float: the point is then told as x,
which is a multiple of r, and steps from there, floor((floor(2 v / r) - 2 x / r + 1) / 2). That difference is at most
2^-50 abs(y) + 1, so for abs(y) < 2^102 it is known from its lowest 64 bits, and the steps are at most 2^51 + 1.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._intrinsics import (
    address_of,
    bits_from_float64,
    float64_from_bits,
    leading_zeros,
    load_byte,
    load_word,
    trailing_zeros,
)
from lapnoise._jit import device, kernel

__all__ = [
    "EMPTY",
    "MISSING",
    "OPEN",
    "READ",
    "READ_ROOM",
    "check_decimals",
    "check_integers",
    "find_number",
    "float_powers",
    "read_integers",
    "read_points",
]

READ, MISSING, OPEN = 0, 1, 2
"""What became of a cell: it was read, it is missing, or it needs a closer look."""

READ_ROOM = 32
"""Bytes behind a cell that the kernels for CSV may read, whatever they are."""

EMPTY = 256
"""Place in the array of first bytes for the text that has none."""

_MOST_POWER = 290
_MOST_DIGITS = 19
_SAFE_MAGNITUDE = 300  # a decimal below 10^300 is no number beyond the largest float
_MOST_FIVES = 27
_HUGE = 10**9

_TENS = np.array([10**k for k in range(20)], np.uint64)
_FIVES = np.array([5**k for k in range(_MOST_FIVES + 1)], np.uint64)
_SPACE, _QUOTE, _PLUS, _MINUS, _POINT, _ZERO, _E = 32, 34, 43, 45, 46, 48, 101

_ZEROS = np.uint64(0x3030303030303030)
_BEYOND_NINE = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x000000FF000000FF)
_UPPER_WEIGHTS = np.uint64(100 + (1000000 << 32))
_LOWER_WEIGHTS = np.uint64(1 + (10000 << 32))
_U0, _U1, _U3, _U8, _U10, _U32, _U64 = (np.uint64(k) for k in (0, 1, 3, 8, 10, 32, 64))
_FRACTION = np.uint64((1 << 52) - 1)

_NO_NUMBER, _SHORT, _LONG = 0, 1, 2


@functools.cache
def float_powers() -> NDArray[np.float64]:
    """Return the floats nearest to 10^-290 up to 10^290."""
    return np.array([float(f"1e{k}") for k in range(-_MOST_POWER, _MOST_POWER + 1)])


@device
def _is_space(byte: Any) -> Any:
    return byte == _SPACE or 9 <= byte <= 13


@device
def _bare(data: Any, start: Any, end: Any) -> Any:
    """Return where that which a cell says begins and ends, if its quotes are at its ends or nowhere."""
    if end - start >= 2 and load_byte(data, start) == _QUOTE and load_byte(data, end - 1) == _QUOTE:
        start += 1
        end -= 1
    return _stripped(data, start, end)


@device
def _stripped(data: Any, start: Any, end: Any) -> Any:
    while start < end and _is_space(load_byte(data, start)):
        start += 1
    while start < end and _is_space(load_byte(data, end - 1)):
        end -= 1
    return start, end


@device
def _is_missing(data: Any, start: Any, end: Any, absent: Any) -> Any:
    """Return whether one of the texts equals these bytes; ``firsts`` says with which bytes texts begin."""
    texts, bounds, firsts, count = absent
    found = False
    if load_byte(firsts, np.int64(load_byte(data, start)) if start < end else EMPTY):
        for k in range(count):
            begin = np.int64(load_word(bounds, 8 * k))
            same = np.int64(load_word(bounds, 8 * k + 8)) - begin == end - start
            for i in range(end - start if same else 0):
                same = same and load_byte(texts, begin + i) == load_byte(data, start + i)
            found = found or same
    return found


@device
def _digits(data: Any, place: Any, end: Any, number: Any, count: int) -> Any:
    """Read digits from a place on: return the number with them behind, how many it has then, and where they end.

    The number stays what it was from where it would have more than 19.
    """
    more = True
    while more:
        word = load_word(data, place) ^ _ZEROS
        # A byte above nine carries into those behind it only, which do not matter any more.
        digits = np.int64(trailing_zeros(((word + _BEYOND_NINE) | word) & _HIGH_BITS) >> _U3)
        more = digits == 8
        run = min(digits, end - place)
        if run > 0:
            count += run
            if count <= _MOST_DIGITS:
                # Zeros come in from below, where the first digits are.
                word <<= np.uint64(64 - 8 * run)
                word = word * _U10 + (word >> _U8)
                word = ((word & _PAIRS) * _UPPER_WEIGHTS + ((word >> np.uint64(16)) & _PAIRS) * _LOWER_WEIGHTS) >> _U32
                number = number * _TENS[np.uint64(run)] + word
            place += run
        more = more and place < end
    return number, count, place


@device
def _number(data: Any, place: Any, end: Any) -> Any:
    """Return (kind, negative, D, digits of D, p) of the decimal D 10^p; D is not whole where the kind is long."""
    negative = False
    if place < end and (load_byte(data, place) == _MINUS or load_byte(data, place) == _PLUS):
        negative = load_byte(data, place) == _MINUS
        place += 1
    first = place
    while place < end and load_byte(data, place) == _ZERO:
        place += 1
    number, count, place = _digits(data, place, end, _U0, 0)
    seen = place - first
    power = 0
    if place < end and load_byte(data, place) == _POINT:
        place += 1
        behind = place
        if count == 0:
            while place < end and load_byte(data, place) == _ZERO:
                place += 1
        number, count, place = _digits(data, place, end, number, count)
        power = behind - place
        seen += place - behind
    kind = _NO_NUMBER if seen == 0 else _SHORT if count <= _MOST_DIGITS else _LONG
    if place < end and kind != _NO_NUMBER:
        exponent, place = _exponent(data, place, end)
        power += exponent
        if place != end:
            kind = _NO_NUMBER
    return kind, negative, number, count, power if count > 0 else 0


@device
def _exponent(data: Any, place: Any, end: Any) -> Any:
    """Return the exponent that begins at a place, capped, and where it ends; that place where there is none."""
    begin = place
    exponent = np.int64(0)
    negative = False
    if (load_byte(data, place) | 32) == _E:
        place += 1
        if place < end and (load_byte(data, place) == _MINUS or load_byte(data, place) == _PLUS):
            negative = load_byte(data, place) == _MINUS
            place += 1
        first = place
        while place < end and 48 <= load_byte(data, place) <= 57:
            exponent = min(exponent * 10 + np.int64(load_byte(data, place)) - 48, np.int64(_HUGE))
            place += 1
        place = place if place > first else begin
    return (-exponent if negative else exponent), place


@device
def _doubled_floor(number: Any, power: Any, negative: Any, exponent: Any) -> Any:
    """Return whether floor(2 v / 2^exponent) could be found for v = number 10^power, and its lowest 64 bits."""
    if abs(power) > _MOST_FIVES:
        return False, _U0
    fives = _FIVES[np.uint64(abs(power))]
    divisor = _U1 if power > 0 else fives
    if power > 0:
        if number > np.uint64(0xFFFFFFFFFFFFFFFF) // fives:
            return False, _U0
        number *= fives
    shift = 1 - exponent + power
    floor = number // divisor
    rest = number - floor * divisor
    if shift <= -64:
        rest = _U1 if number != _U0 else _U0
        floor = _U0
    elif shift < 0:
        whole = floor >> np.uint64(-shift)
        if whole << np.uint64(-shift) != floor:
            rest = _U1
        floor = whole
    room: Any = np.int64(leading_zeros(divisor))
    while shift > 0:
        if rest == _U0:
            floor = floor << np.uint64(shift) if shift < 64 else _U0
            break
        bits = min(room, shift)
        scaled = rest << np.uint64(bits)
        quotient = scaled // divisor
        rest = scaled - quotient * divisor
        floor = (floor << np.uint64(bits)) + quotient
        shift -= bits
    if negative:
        floor = _U0 - floor - (_U1 if rest != _U0 else _U0)
    return True, floor


@device
def _doubled_steps(x: float, exponent: int) -> Any:
    """Return the lowest 64 bits of 2 x / 2^exponent for a normal x of at least 2^52 steps."""
    bits = bits_from_float64(x)
    mantissa = (bits & _FRACTION) | (_FRACTION + _U1)
    shift = np.int64((bits >> np.uint64(52)) & np.uint64(0x7FF)) - 1075 + 1 - exponent
    doubled = mantissa << np.uint64(shift) if shift < 64 else _U0
    return _U0 - doubled if bits >> np.uint64(63) else doubled


@device
def _point(number: Any, power: int, negative: Any, exponent: int, factors: Any, powers: Any) -> Any:
    """Return (found, base, steps) of the lattice point to which number 10^power is rounded."""
    x = np.float64(number) * float64_from_bits(
        load_word(powers, 8 * (max(-_MOST_POWER, min(power, _MOST_POWER)) + _MOST_POWER))
    )
    if negative:
        x = -x
    y = x * factors[0] * factors[1]
    below = np.floor(y)
    rest = y - below
    base = 0.0
    steps = np.int64(0)
    found = abs(power) <= _MOST_POWER and abs(y) < 2.0**102
    if found and abs(y) < 2.0**52 and abs(rest - 0.5) > abs(y) * 2.0**-51 + 2.0**-52:
        steps = np.int64(below) + (1 if rest > 0.5 else 0)
    elif found:
        doubled = _U0
        if abs(y) >= 2.0**52:
            base = x
            doubled = _doubled_steps(x, exponent)
        found, floor = _doubled_floor(number, power, negative, exponent)
        steps = (np.int64(floor - doubled) + 1) >> 1
    return found, base, steps


@kernel
def read_points(
    data: Any,
    starts: Any,
    ends: Any,
    texts: Any,
    bounds: Any,
    firsts: Any,
    exponent: int,
    factors: Any,
    powers: Any,
    base: Any,
    steps: Any,
    states: Any,
) -> int:
    """Round cells to the lattice of 2^exponent; return how many are open.

    Parameters
    ----------
    data : ndarray of uint8
        With READ_ROOM bytes behind every cell.
    starts, ends : ndarray of int32
        Where cells begin and end.
    texts, bounds, firsts : ndarrays of uint8, int64 and bool
        What missing cells say, one text behind the other, where each begins and the last one ends, and with which
        bytes they begin (257 entries, the last for the empty text). None of them has a quote.
    factors : ndarray of float64
        Two powers of two whose product is 2^-exponent.
    powers : ndarray of float64
        As `float_powers` returns them.
    base, steps, states : ndarrays of float64, int64 and uint8
        Written: the point is base + steps 2^exponent, and base is 0 below 2^52 steps; NaN and 0 in a missing cell.
    """
    text = address_of(data)
    scale, table = (factors[0], factors[1]), address_of(powers)
    absent = (address_of(texts), address_of(bounds), address_of(firsts), bounds.size - 1)
    still_open = 0
    for i in range(starts.size):
        start, end = _bare(text, np.int64(starts[i]), np.int64(ends[i]))
        base[i] = 0.0
        steps[i] = 0
        states[i] = READ
        if _is_missing(text, start, end, absent):
            base[i] = np.nan
            states[i] = MISSING
            continue
        kind, negative, number, _, power = _number(text, start, end)
        if kind == _SHORT:
            found, base[i], steps[i] = _point(number, power, negative, exponent, scale, table)
        else:
            found = False
        if not found:
            states[i] = OPEN
            still_open += 1
    return still_open


@kernel
def read_integers(
    data: Any, starts: Any, ends: Any, texts: Any, bounds: Any, firsts: Any, values: Any, states: Any
) -> int:
    """Read integers of 64 bits; return how many cells are open. Missing cells give 0; arguments as in `read_points`."""
    text = address_of(data)
    absent = (address_of(texts), address_of(bounds), address_of(firsts), bounds.size - 1)
    still_open = 0
    for i in range(starts.size):
        start, end = _bare(text, np.int64(starts[i]), np.int64(ends[i]))
        states[i], values[i] = _integer(text, start, end, absent)
        still_open += 1 if states[i] == OPEN else 0
    return still_open


@device
def _integer(data: Any, place: Any, end: Any, absent: Any) -> Any:
    state = MISSING
    number = _U0
    negative = False
    if not _is_missing(data, place, end, absent):
        if place < end and (load_byte(data, place) == _MINUS or load_byte(data, place) == _PLUS):
            negative = load_byte(data, place) == _MINUS
            place += 1
        first = place
        while place < end and load_byte(data, place) == _ZERO:
            place += 1
        number, count, place = _digits(data, place, end, _U0, 0)
        limit = np.uint64((1 << 63) - 1) + (_U1 if negative else _U0)
        fine = place > first and place == end and count <= _MOST_DIGITS and number <= limit
        state = READ if fine else OPEN
    return state, np.int64(_U0 if state != READ else _U0 - number if negative else number)


@kernel
def check_decimals(data: Any, starts: Any, ends: Any, texts: Any, bounds: Any, firsts: Any, states: Any) -> Any:
    """Say of each cell whether it is a finite number; return how many are missing and how many open."""
    missing = 0
    text = address_of(data)
    absent = (address_of(texts), address_of(bounds), address_of(firsts), bounds.size - 1)
    still_open = 0
    for i in range(starts.size):
        start, end = _bare(text, np.int64(starts[i]), np.int64(ends[i]))
        states[i] = READ
        if _is_missing(text, start, end, absent):
            states[i] = MISSING
            missing += 1
            continue
        kind, _, _, count, power = _number(text, start, end)
        if kind == _NO_NUMBER or count + power > _SAFE_MAGNITUDE:
            states[i] = OPEN
            still_open += 1
    return missing, still_open


@kernel
def check_integers(data: Any, starts: Any, ends: Any, texts: Any, bounds: Any, firsts: Any, states: Any) -> Any:
    """Say of each cell whether it is an integer of 64 bits; return how many are missing and how many open."""
    missing = 0
    text = address_of(data)
    absent = (address_of(texts), address_of(bounds), address_of(firsts), bounds.size - 1)
    still_open = 0
    for i in range(starts.size):
        start, end = _bare(text, np.int64(starts[i]), np.int64(ends[i]))
        states[i], _ = _integer(text, start, end, absent)
        missing += 1 if states[i] == MISSING else 0
        still_open += 1 if states[i] == OPEN else 0
    return missing, still_open


@kernel
def find_number(data: Any, starts: Any, ends: Any) -> int:
    """Return the index of the first cell that says a number, however many quotes it lacks, or -1."""
    text = address_of(data)
    for i in range(starts.size):
        start, end = _stripped(text, np.int64(starts[i]), np.int64(ends[i]))
        if start < end and load_byte(text, start) == _QUOTE:
            start += 1
        if start < end and load_byte(text, end - 1) == _QUOTE:
            end -= 1
        start, end = _stripped(text, start, end)
        kind, _, _, _, _ = _number(text, start, end)
        if kind != _NO_NUMBER:
            return i
    return -1
