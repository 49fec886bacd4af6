"""Numbers in CSV cells: checking them, reading integers, telling numeric columns from others.

Kernels settle all ordinary cells. What they leave open is looked at here one by one, which also words what is refused.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "INFINITE",
    "MISSING_CELL",
    "TEXT",
    "Absent",
    "BadCellError",
    "Cells",
    "ColumnScan",
    "check_integers",
    "check_numbers",
    "content",
    "is_number",
    "number_in",
    "read_integers",
]

_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(rb"(?P<sign>[+-]?)0*(?P<digits>[0-9]+)")
_INT64_DIGITS = 19
_LARGEST_FLOAT = repr(sys.float_info.max).encode()

INFINITE, MISSING_CELL, TEXT = "an infinite number", "a missing cell", "text"
"""What cells are called in messages."""
_INFINITY = re.compile(rb"[+-]?inf(?:inity)?", re.IGNORECASE)


class BadCellError(Exception):
    """A cell that cannot be noised: no number of the kind that was asked for, infinite, or missing where it may not be.

    Attributes
    ----------
    index
        Its place among the cells that were read.
    kind
        What it is, as a phrase for a message; never what it says, which is data.
    """

    def __init__(self, index: int, kind: str) -> None:
        super().__init__(f"cell {index}: {kind}")
        self.index = index
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells in the bytes of a file.

    Attributes
    ----------
    data : ndarray of uint8
        The bytes, with 32 more behind them, whatever they are.
    starts, ends : ndarrays of int32
        Where each cell begins and ends, quotes included.
    quote : bytes
        The byte that quotes cells; NUL, which no file has, where none does.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    quote: bytes

    @property
    def size(self) -> int:
        """How many there are."""
        return self.starts.size

    def __getitem__(self, index: int) -> bytes:
        return self.data[self.starts[index] : self.ends[index]].tobytes()

    @property
    def arguments(self) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32], np.uint8]:
        """The same for kernels."""
        return self.data, self.starts, self.ends, np.uint8(self.quote[0])

    def content(self, index: int) -> bytes:
        """Return what the cell at an index says."""
        return content(self[index], self.quote)


class Absent:
    """What missing cells say.

    Parameters
    ----------
    texts : frozenset of bytes
        Each without white space around it.
    quote : bytes
        The byte that quotes cells, as in `Cells`.
    """

    def __init__(self, texts: frozenset[bytes], quote: bytes) -> None:
        self.texts = texts
        # Kernels compare bytes as they stand in the file, where a quote inside quotes stands twice.
        plain = sorted(text for text in texts if quote not in text)
        bounds = np.cumsum([0, *map(len, plain)], dtype=np.int64)
        firsts = np.zeros(257, np.bool_)
        firsts[[text[0] if text else 256 for text in plain]] = True
        self.arrays = (np.frombuffer(b"".join(plain) or b"\0", np.uint8), bounds, firsts)
        """The same for kernels: one text behind the other, where each begins, and the bytes that they begin with."""


@functools.cache
def _quoted(quote: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"Q([^Q]*+(?:QQ[^Q]*+)*+)Q".replace(b"Q", re.escape(quote)))


def content(cell: bytes, quote: bytes) -> bytes:
    """Return what a cell says: without quotes, and without white space around it."""
    if cell[:1] == quote and (quoted := _quoted(quote).match(cell)):
        cell = quoted.group(1).replace(quote * 2, quote) + cell[quoted.end() :]
    return cell.strip()


def is_number(text: bytes) -> bool:
    """Return whether a text is a decimal number in ASCII digits, not beyond the largest float."""
    return _NUMBER.fullmatch(text) is not None and not np.isinf(float(text))


def check_numbers(cells: Cells, absent: Absent, *, bounded: bool = False) -> int:
    """Return how many cells are missing.

    Parameters
    ----------
    cells, absent
        The cells, and what missing ones say.
    bounded
        Whether bounds take what is infinite, or too large, to a number.

    Raises
    ------
    BadCellError
        At the first cell that is neither missing nor a finite decimal number in ASCII digits.
    """
    from lapnoise.files import _csv_kernels as kernels

    states = np.empty(cells.size, np.uint8)
    missing, still_open = kernels.check_decimals(*cells.arguments, *absent.arrays, states)
    for index in np.flatnonzero(states == kernels.OPEN).tolist() if still_open else ():
        missing += number_in(cells, index, absent, bounded=bounded) is None
    return int(missing)


def number_in(cells: Cells, index: int, absent: Absent, *, bounded: bool = False) -> bytes | None:
    """Return the text of the number in a cell, None if it is missing; BadCellError if it is neither.

    With ``bounded`` that of the largest float stands for what is beyond it.
    """
    text = cells.content(index)
    if text in absent.texts:
        return None
    infinite = _INFINITY.fullmatch(text) is not None
    if not infinite and _NUMBER.fullmatch(text) is None:
        raise BadCellError(index, _kind_of(text))
    if not np.isinf(float(text)):
        return text
    if not bounded:
        raise BadCellError(index, INFINITE if infinite else "a number beyond the largest float")
    return _LARGEST_FLOAT if text[:1] != b"-" else b"-" + _LARGEST_FLOAT


def check_integers(cells: Cells, absent: Absent, *, bounded: bool = False) -> int:
    """Return how many cells are missing; parameters as of `check_numbers`.

    Raises
    ------
    BadCellError
        At the first cell that is neither missing nor an integer of 64 bits in ASCII digits without point and exponent.
    """
    from lapnoise.files import _csv_kernels as kernels

    states = np.empty(cells.size, np.uint8)
    missing, still_open = kernels.check_integers(*cells.arguments, *absent.arrays, states)
    for index in np.flatnonzero(states == kernels.OPEN).tolist() if still_open else ():
        missing += _integer_in(cells, index, absent, bounded) is None
    return int(missing)


def read_integers(
    cells: Cells, absent: Absent, *, bounded: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the integers of 64 bits in cells, and their states as kernels tell them; arguments and errors as above."""
    from lapnoise.files import _csv_kernels as kernels

    values, states = np.empty(cells.size, np.int64), np.empty(cells.size, np.uint8)
    still_open = kernels.read_integers(*cells.arguments, *absent.arrays, values, states)
    for index in np.flatnonzero(states == kernels.OPEN).tolist() if still_open else ():
        number = _integer_in(cells, index, absent, bounded)
        states[index] = kernels.MISSING if number is None else kernels.READ
        values[index] = number or 0
    return values, states


def _integer_in(cells: Cells, index: int, absent: Absent, bounded: bool) -> int | None:
    text = cells.content(index)
    if text in absent.texts:
        return None
    least, most = -(1 << 63), (1 << 63) - 1
    if bounded and _INFINITY.fullmatch(text):
        return least if text[:1] == b"-" else most
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise BadCellError(index, "a number that is no integer" if _NUMBER.fullmatch(text) else _kind_of(text))
    digits = match["digits"] if len(match["digits"]) <= _INT64_DIGITS else b"1" + b"0" * _INT64_DIGITS
    number = int(match["sign"] + digits)
    if not least <= number <= most and not bounded:
        raise BadCellError(index, "an integer of more than 64 bits")
    return min(max(number, least), most)


def _kind_of(text: bytes) -> str:
    if _INFINITY.fullmatch(text):
        return INFINITE
    return TEXT if text else "an empty cell"


class ColumnScan:
    """What has been seen of one column that nobody named.

    Parameters
    ----------
    absent
        What a missing cell says.
    whole
        Whether numbers that are no integers of 64 bits are to be told.
    bounded
        As of `check_numbers`.

    Attributes
    ----------
    has_numbers
        Whether some cell is a number.
    missing_cells
        How many cells are missing.
    bad
        What the first cell is that is neither a number nor missing, and where it stands; None so far.
    not_whole
        Where the first one stands that is no integer of 64 bits, and what it is, if ``whole``; None so far.
    """

    def __init__(self, absent: Absent, *, whole: bool = False, bounded: bool = False) -> None:
        self._absent = absent
        self._whole = whole
        self._bounded = bounded
        self.has_numbers = False
        self.missing_cells = 0
        self.bad: str | None = None
        self.not_whole: tuple[str, str] | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether every cell is a number or missing, and at least one is a number."""
        return self.has_numbers and self.bad is None

    @property
    def is_mixed(self) -> bool:
        """Whether there are both numbers and other cells."""
        return self.has_numbers and self.bad is not None

    def see(self, cells: Cells, place: Callable[[int], str]) -> None:
        """Take note of more cells; ``place`` says where the cell at an index stands."""
        if self.bad is None:
            try:
                missing = check_numbers(cells, self._absent, bounded=self._bounded)
            except BadCellError as error:
                self.bad = f"{error.kind} at {place(error.index)}"
            else:
                self.missing_cells += missing
                self.has_numbers = self.has_numbers or missing < cells.size
                if self._whole and self.not_whole is None:
                    self._see_integers(cells, place)
        if self.bad is not None and not self.has_numbers:
            from lapnoise.files import _csv_kernels as kernels

            self.has_numbers = kernels.find_number(*cells.arguments) >= 0

    def _see_integers(self, cells: Cells, place: Callable[[int], str]) -> None:
        try:
            check_integers(cells, self._absent, bounded=self._bounded)
        except BadCellError as error:
            self.not_whole = (place(error.index), error.kind)
