"""Where rows and cells begin and end in the bytes of a CSV file, and the bytes put together again with new numbers.

Quotes are read as Python's ``csv`` module reads them: a quote opens a quoted cell only at the beginning of the cell,
two quotes inside stand for one, and what follows the closing quote belongs to the cell. Which byte is the quote, the
caller says; NUL, which is in no text, where none is. Rows end with LF or CRLF outside of quotes. With several columns
an empty line is no row; with one it is a row with an empty cell. Bytes are never decoded, so every encoding that keeps
ASCII bytes for ASCII characters passes through.

The end of a cell is looked for in 32 bytes at a time, so that a cell costs one comparison and no misprediction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from lapnoise._intrinsics import address_of, copy_block, load_byte, matching_bytes, trailing_zeros
from lapnoise._jit import device, kernel, overload
from lapnoise.kernels.cell_numbers import MISSING
from lapnoise.kernels.shortest import TEXT_ROOM, write_float, write_integer

__all__ = ["BARE_RETURN", "CELL_ROOM", "FINE", "OPEN_QUOTE", "RAGGED", "TEXT_ROOM", "scan_rows", "write_numbers"]

FINE, RAGGED, OPEN_QUOTE, BARE_RETURN = 0, 1, 2, 3
"""What ended a scan: nothing that is wrong, another number of cells, a quote never closed, a CR without its LF."""

CELL_ROOM = 26
"""By how many bytes a cell can grow: the longest text and two quotes."""

_BLOCK = 32
_LF, _CR = np.uint8(10), np.uint8(13)


@device
def _find(text: Any, place: Any, stop: Any, a: Any, b: Any, c: Any) -> Any:
    """Return the first place before ``stop`` that has byte a, b or c, else ``stop``."""
    while place < stop:
        matches = matching_bytes(text, place, a, b, c)
        if matches != np.uint64(0):
            return min(place + np.int64(trailing_zeros(matches)), stop)
        place += _BLOCK
    return stop


@device
def _close_quote(text: Any, place: Any, stop: Any, quote: Any) -> Any:
    """Return the place behind the quote that closes what was opened before ``place``, ``stop`` + 1 where none does.

    And how many lines end on the way.
    """
    lines = 0
    while True:
        place = _find(text, place, stop, quote, _LF, _LF)
        if place >= stop:
            return stop + 1, lines
        if load_byte(text, place) == _LF:
            lines += 1
        elif place + 1 < stop and load_byte(text, place + 1) == quote:
            place += 1
        else:
            return place + 1, lines
        place += 1


@kernel
def scan_rows(
    data: Any,
    place: int,
    stop: int,
    at_end: bool,
    delimiter: Any,
    quote: Any,
    chosen: Any,
    most_rows: int,
    starts: Any,
    ends: Any,
) -> Any:
    """Find whole rows, and the chosen cells in them, from ``place`` to ``stop``.

    Parameters
    ----------
    data : ndarray of uint8
        With 32 bytes behind ``stop``, whatever they are.
    at_end : bool
        Whether the file ends at ``stop``, so that the last row need not.
    delimiter, quote : uint8
    chosen : ndarray of bool
        Which cells of a row are noted. Each row must have so many.
    most_rows : int
        How many rows are taken at most.
    starts, ends : ndarrays of int32
        Written: where the chosen cells begin and end, row by row, quotes included. With room for ``most_rows``.

    Returns
    -------
    tuple of int
        The number of rows; how far they go, with empty lines in front of the next; how many lines that is; what ended
        the scan; if anything wrong, where: the beginning of a row of another width or of a cell whose quote is open,
        or the carriage return; and the number of cells of the last row if that is wrong.
    """
    text = address_of(data)
    rows = cells = lines = 0
    width = chosen.size
    while True:
        if width > 1:
            while place < stop:
                if load_byte(text, place) == _LF:
                    place += 1
                elif load_byte(text, place) == _CR and place + 1 < stop and load_byte(text, place + 1) == _LF:
                    place += 2
                else:
                    break
                lines += 1
        row, lines_before = place, lines
        if place >= stop or rows >= most_rows:
            return rows, row, lines, FINE, 0, 0
        fields = 0
        more = True
        while more:
            begin = place
            if place < stop and load_byte(text, place) == quote:
                place, inside = _close_quote(text, place + 1, stop, quote)
                lines += inside
                if place > stop:
                    state = OPEN_QUOTE if at_end else FINE
                    return rows, row, lines_before, state, begin, 0
                # At the end of what was read a closing quote may be half of two that stand for one.
            place = _find(text, place, stop, delimiter, _LF, _CR)
            if place >= stop and not at_end:
                return rows, row, lines_before, FINE, 0, 0
            if fields < width and chosen[fields]:
                starts[cells] = begin
                ends[cells] = place
                cells += 1
            fields += 1
            more = place < stop and load_byte(text, place) == delimiter
            if place < stop and load_byte(text, place) == _CR:
                place += 1
                if place >= stop and not at_end:
                    return rows, row, lines_before, FINE, 0, 0
                if place >= stop or load_byte(text, place) != _LF:
                    return rows, row, lines_before, BARE_RETURN, place - 1, 0
            lines += 1 if place < stop and load_byte(text, place) == _LF else 0
            place += 1
        if fields != width:
            return rows, row, lines_before, RAGGED, row, fields
        place = min(place, stop)
        rows += 1


def write_number(out: Any, end: int, value: Any, powers: Any) -> Any:
    """Write a float64 or an int64 as text and return where it ends."""
    raise TypeError("only jitted code calls this")


@overload(write_number)
def _write_number(out: Any, end: Any, value: Any, powers: Any) -> Any:
    if isinstance(value, types.Float):
        return lambda out, end, value, powers: write_float(out, end, value, powers)
    return lambda out, end, value, powers: write_integer(out, end, value)


@device
def _copy(out: Any, end: Any, text: Any, place: Any, stop: Any) -> Any:
    """Copy what lies from place to stop and return where the copy ends; up to 31 bytes behind it are overwritten."""
    for k in range(0, stop - place, _BLOCK):
        copy_block(out, end + k, text, place + k)
    return end + stop - place


@kernel
def write_numbers(
    out: Any,
    data: Any,
    place: Any,
    stop: Any,
    starts: Any,
    ends: Any,
    states: Any,
    values: Any,
    powers: Any,
) -> Any:
    """Write data[place:stop] to ``out``, with numbers for the cells that are not missing; return where it ends.

    Parameters
    ----------
    out : ndarray of uint8
        With room for CELL_ROOM bytes a cell and TEXT_ROOM more.
    data : ndarray of uint8
        With 32 bytes behind ``stop``.
    starts, ends : ndarrays of int32
        Where the cells begin and end, quotes included, in rising order.
    states : ndarray of uint8
        Cells that are MISSING stay as they are.
    values : ndarray of float64 or int64
        One for each cell. It is written without quotes: where some writers set them shows the sign of a number, or
        whether there was one.
    powers : ndarray of uint64
        As `shortest.powers_of_ten` returns them.
    """
    text, target, table = address_of(data), address_of(out), address_of(powers)
    end = 0
    for i in range(starts.size):
        if states[i] == MISSING:
            continue
        end = _copy(target, end, text, place, np.int64(starts[i]))
        end = write_number(target, end, values[i], table)
        place = np.int64(ends[i])
    return _copy(target, end, text, place, stop)
