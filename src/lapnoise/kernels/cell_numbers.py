"""What CSV cells say: decimals taken apart, integers of 64 bits, missing cells; what a kernel cannot settle stays open.

A cell is the bytes from a start to an end, with the quotes around it if it has some. What it says is what stands
between the quotes without white space around it; a cell that one of the given texts equals is missing. Which byte is
the quote, the caller says; NUL, which is in no text, where none is. Kernels get arrays, and what they call gets
addresses in ``text`` and ``absent``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import address_of, load_byte, load_word, trailing_zeros
from lapnoise._jit import device, kernel

__all__ = [
    "MISSING",
    "NO_NUMBER",
    "OPEN",
    "READ",
    "READ_ROOM",
    "SHORT",
    "bare",
    "check_decimals",
    "check_integers",
    "decimal",
    "find_number",
    "is_missing",
    "read_integers",
]

READ, MISSING, OPEN = 0, 1, 2
"""What became of a cell: it was read, it is missing, or it needs a closer look."""

NO_NUMBER, SHORT, LONG = 0, 1, 2
"""What a text is: no decimal, one of up to 19 digits, or one of more."""

READ_ROOM = 32
"""Bytes behind a cell that the kernels for CSV may read, whatever they are."""

_EMPTY = 256  # place in the array of first bytes for the text that has none
_MOST_DIGITS = 19
_SAFE_MAGNITUDE = 300  # a decimal below 10^300 is no number beyond the largest float
_HUGE = 10**9

_TENS = np.array([10**k for k in range(20)], np.uint64)
_SPACE, _PLUS, _MINUS, _POINT, _ZERO, _E = 32, 43, 45, 46, 48, 101
_USUAL_QUOTE = np.uint8(34)

_ZEROS = np.uint64(0x3030303030303030)
_BEYOND_NINE = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x000000FF000000FF)
_UPPER_WEIGHTS = np.uint64(100 + (1000000 << 32))
_LOWER_WEIGHTS = np.uint64(1 + (10000 << 32))
_U0, _U1, _U3, _U8, _U10, _U16, _U32 = (np.uint64(k) for k in (0, 1, 3, 8, 10, 16, 32))


@device
def _is_space(byte: Any) -> Any:
    return byte == _SPACE or 9 <= byte <= 13


@device
def bare(text: Any, start: Any, end: Any, quote: Any) -> Any:
    """Return where that which a cell says begins and ends, if its quotes are at its ends or nowhere."""
    if end - start >= 2 and load_byte(text, start) == quote and load_byte(text, end - 1) == quote:
        start += 1
        end -= 1
    return _stripped(text, start, end)


@device
def _stripped(text: Any, start: Any, end: Any) -> Any:
    while start < end and _is_space(load_byte(text, start)):
        start += 1
    while start < end and _is_space(load_byte(text, end - 1)):
        end -= 1
    return start, end


@device
def is_missing(text: Any, start: Any, end: Any, absent: Any) -> Any:
    """Return whether one of the texts of missing cells equals these bytes.

    ``absent`` has the addresses of ``texts``, ``bounds`` and ``firsts`` in `check_decimals`, and the number of texts.
    """
    texts, bounds, firsts, count = absent
    found = False
    if load_byte(firsts, np.int64(load_byte(text, start)) if start < end else _EMPTY):
        for k in range(count):
            begin = np.int64(load_word(bounds, 8 * k))
            same = np.int64(load_word(bounds, 8 * k + 8)) - begin == end - start
            for i in range(end - start if same else 0):
                same = same and load_byte(texts, begin + i) == load_byte(text, start + i)
            found = found or same
    return found


@device
def _digits(text: Any, place: Any, end: Any, number: Any, count: int) -> Any:
    """Read digits from a place on: return the number with them behind, how many it has then, and where they end.

    The number stays what it was from where it would have more than 19.
    """
    more = True
    while more:
        word = load_word(text, place) ^ _ZEROS
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
                word = ((word & _PAIRS) * _UPPER_WEIGHTS + ((word >> _U16) & _PAIRS) * _LOWER_WEIGHTS) >> _U32
                number = number * _TENS[np.uint64(run)] + word
            place += run
        more = more and place < end
    return number, count, place


@device
def decimal(text: Any, place: Any, end: Any) -> Any:
    """Return (kind, negative, D, digits of D, p) of the decimal D 10^p; D is not whole where the kind is long."""
    negative = False
    if place < end and (load_byte(text, place) == _MINUS or load_byte(text, place) == _PLUS):
        negative = load_byte(text, place) == _MINUS
        place += 1
    first = place
    while place < end and load_byte(text, place) == _ZERO:
        place += 1
    number, count, place = _digits(text, place, end, _U0, 0)
    seen = place - first
    power = 0
    if place < end and load_byte(text, place) == _POINT:
        place += 1
        behind = place
        if count == 0:
            while place < end and load_byte(text, place) == _ZERO:
                place += 1
        number, count, place = _digits(text, place, end, number, count)
        power = behind - place
        seen += place - behind
    kind = NO_NUMBER if seen == 0 else SHORT if count <= _MOST_DIGITS else LONG
    if place < end and kind != NO_NUMBER:
        exponent, place = _exponent(text, place, end)
        power += exponent
        if place != end:
            kind = NO_NUMBER
    return kind, negative, number, count, power if count > 0 else 0


@device
def _exponent(text: Any, place: Any, end: Any) -> Any:
    """Return the exponent that begins at a place, capped, and where it ends; that place where there is none."""
    begin = place
    exponent = np.int64(0)
    negative = False
    if (load_byte(text, place) | 32) == _E:
        place += 1
        if place < end and (load_byte(text, place) == _MINUS or load_byte(text, place) == _PLUS):
            negative = load_byte(text, place) == _MINUS
            place += 1
        first = place
        while place < end and 48 <= load_byte(text, place) <= 57:
            exponent = min(exponent * 10 + np.int64(load_byte(text, place)) - 48, np.int64(_HUGE))
            place += 1
        place = place if place > first else begin
    return (-exponent if negative else exponent), place


@kernel
def read_integers(
    data: Any, starts: Any, ends: Any, quote: Any, texts: Any, bounds: Any, firsts: Any, values: Any, states: Any
) -> int:
    """Read integers of 64 bits, 0 from missing cells; return how many cells are open.

    Arguments are those of `check_decimals`, and ``values`` (int64) are written.
    """
    text = address_of(data)
    absent = (address_of(texts), address_of(bounds), address_of(firsts), bounds.size - 1)
    still_open = 0
    for i in range(starts.size):
        start, end = bare(text, np.int64(starts[i]), np.int64(ends[i]), quote)
        states[i], values[i] = _integer(text, start, end, absent)
        still_open += 1 if states[i] == OPEN else 0
    return still_open


@device
def _integer(text: Any, place: Any, end: Any, absent: Any) -> Any:
    state = MISSING
    number = _U0
    negative = False
    if not is_missing(text, place, end, absent):
        if place < end and (load_byte(text, place) == _MINUS or load_byte(text, place) == _PLUS):
            negative = load_byte(text, place) == _MINUS
            place += 1
        first = place
        while place < end and load_byte(text, place) == _ZERO:
            place += 1
        number, count, place = _digits(text, place, end, _U0, 0)
        limit = np.uint64((1 << 63) - 1) + (_U1 if negative else _U0)
        fine = place > first and place == end and count <= _MOST_DIGITS and number <= limit
        state = READ if fine else OPEN
    return state, np.int64(_U0 if state != READ else _U0 - number if negative else number)


@kernel
def check_decimals(
    data: Any, starts: Any, ends: Any, quote: Any, texts: Any, bounds: Any, firsts: Any, states: Any
) -> Any:
    """Say of each cell whether it is a finite number; return how many are missing and how many open.

    Parameters
    ----------
    data : ndarray of uint8
        With READ_ROOM bytes behind every cell.
    starts, ends : ndarray of int32
        Where cells begin and end.
    quote : uint8
    texts, bounds, firsts : ndarrays of uint8, int64 and bool
        What missing cells say, one text behind the other, where each begins and the last one ends, and with which
        bytes they begin (257 entries, the last for the empty text). None of them has a quote.
    states : ndarray of uint8
        Written: READ, MISSING or OPEN.
    """
    missing = 0
    text = address_of(data)
    absent = (address_of(texts), address_of(bounds), address_of(firsts), bounds.size - 1)
    still_open = 0
    for i in range(starts.size):
        start, end = bare(text, np.int64(starts[i]), np.int64(ends[i]), quote)
        states[i] = READ
        if is_missing(text, start, end, absent):
            states[i] = MISSING
            missing += 1
            continue
        kind, _, _, count, power = decimal(text, start, end)
        if kind == NO_NUMBER or count + power > _SAFE_MAGNITUDE:
            states[i] = OPEN
            still_open += 1
    return missing, still_open


@kernel
def check_integers(
    data: Any, starts: Any, ends: Any, quote: Any, texts: Any, bounds: Any, firsts: Any, states: Any
) -> Any:
    """Say of each cell whether it is an integer of 64 bits; return how many are missing and how many open."""
    missing = 0
    text = address_of(data)
    absent = (address_of(texts), address_of(bounds), address_of(firsts), bounds.size - 1)
    still_open = 0
    for i in range(starts.size):
        start, end = bare(text, np.int64(starts[i]), np.int64(ends[i]), quote)
        states[i], _ = _integer(text, start, end, absent)
        missing += 1 if states[i] == MISSING else 0
        still_open += 1 if states[i] == OPEN else 0
    return missing, still_open


@device
def _may_quote(byte: Any, quote: Any) -> Any:
    # Numbers in the usual quotes must not pass unseen where a file was said to have others.
    return byte in (quote, _USUAL_QUOTE)


@kernel
def find_number(data: Any, starts: Any, ends: Any, quote: Any) -> int:
    """Return the index of the first cell that says a number, whatever quotes it has or lacks, or -1."""
    text = address_of(data)
    for i in range(starts.size):
        start, end = _stripped(text, np.int64(starts[i]), np.int64(ends[i]))
        if start < end and _may_quote(load_byte(text, start), quote):
            start += 1
        if start < end and _may_quote(load_byte(text, end - 1), quote):
            end -= 1
        start, end = _stripped(text, start, end)
        kind, _, _, _, _ = decimal(text, start, end)
        if kind != NO_NUMBER:
            return i
    return -1
