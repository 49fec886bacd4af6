"""Numbers in CSV cells: reading them, telling numeric columns from others, writing them back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise.files._split import content

__all__ = ["BadCellError", "ColumnScan", "integers_from_cells", "numbers_from_cells", "replace_numbers"]

_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NUMBER_CELL = re.compile(rb'\s*"?\s*(?:%s)\s*"?\s*' % _NUMBER.pattern)
_INTEGER = re.compile(rb"(?P<sign>[+-]?)0*(?P<digits>[0-9]+)")
_INT64_DIGITS = 19
_INFINITY = re.compile(rb"[+-]?inf(?:inity)?", re.IGNORECASE)


class BadCellError(Exception):
    """A cell that is neither a number of the kind that was asked for nor missing.

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


def numbers_from_cells(cells: Sequence[bytes], missing: frozenset[bytes]) -> NDArray[np.float64]:
    """Return the numbers in ``cells``, NaN where a cell is missing.

    Parameters
    ----------
    cells
        Cells as they stand in the file, quotes included.
    missing
        What a missing cell says. No other cell gives NaN.

    Raises
    ------
    BadCellError
        At the first cell that is neither missing nor a finite decimal number in ASCII digits.
    """
    texts = [b"nan" if cell in missing else cell for cell in _without_quotes(cells)]
    try:
        values = np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return _numbers_one_by_one(cells, missing)
    # float() also reads "nan", "inf" and "1_000", which need the closer look.
    finite = np.count_nonzero(np.isfinite(values))
    if finite + texts.count(b"nan") == len(texts) and not np.isinf(values).any() and b"_" not in b"".join(texts):
        return values
    return _numbers_one_by_one(cells, missing)


def _numbers_one_by_one(cells: Sequence[bytes], missing: frozenset[bytes]) -> NDArray[np.float64]:
    values = np.empty(len(cells))
    for index, cell in enumerate(cells):
        text = content(cell)
        if text in missing:
            values[index] = np.nan
            continue
        if _NUMBER.fullmatch(text) is None:
            raise BadCellError(index, _kind_of(text))
        values[index] = float(text)
        if np.isinf(values[index]):
            raise BadCellError(index, "a number beyond the largest float")
    return values


def integers_from_cells(
    cells: Sequence[bytes], missing: frozenset[bytes]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the integers in ``cells``, 0 where a cell is missing, and which cells are missing.

    Arguments are those of `numbers_from_cells`.

    Raises
    ------
    BadCellError
        At the first cell that is neither missing nor an integer of 64 bits in ASCII digits without point and exponent.
    """
    bare = _without_quotes(cells)
    texts = [b"0" if cell in missing else cell for cell in bare]
    try:
        values = np.fromiter(map(int, texts), np.int64, len(texts))
        if b"_" not in b"".join(texts):  # int() also reads "1_000"
            return values, np.fromiter((cell in missing for cell in bare), np.bool_, len(bare))
    except (ValueError, OverflowError):
        pass
    return _integers_one_by_one(cells, missing)


def _integers_one_by_one(
    cells: Sequence[bytes], missing: frozenset[bytes]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    values, absent = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.bool_)
    for index, cell in enumerate(cells):
        text = content(cell)
        if text in missing:
            absent[index] = True
            continue
        match = _INTEGER.fullmatch(text)
        if match is None:
            raise BadCellError(index, "a number that is no integer" if _NUMBER.fullmatch(text) else _kind_of(text))
        number = int(match["sign"] + match["digits"]) if len(match["digits"]) <= _INT64_DIGITS else 1 << 63
        if not -(1 << 63) <= number < 1 << 63:
            raise BadCellError(index, "an integer of more than 64 bits")
        values[index] = number
    return values, absent


def _without_quotes(cells: Sequence[bytes]) -> Sequence[bytes]:
    if b'"' not in b"".join(cells):
        return cells
    return [cell[1:-1] if cell[:1] == b'"' == cell[-1:] else cell for cell in cells]


def _kind_of(text: bytes) -> str:
    if _INFINITY.fullmatch(text):
        return "an infinite number"
    return "text" if text else "an empty cell"


def replace_numbers(cells: Sequence[bytes], values: NDArray[Any], missing: NDArray[np.bool_]) -> list[bytes]:
    """Return ``cells`` with the shortest text that reads back as each of ``values``, which are float64 or int64.

    Missing cells stay as they are, and quotes stay where there were some.
    """
    if not len(cells):
        return []
    # One encode for all of them costs a third of one for each.
    texts = "\n".join(map(repr, values.tolist())).encode("ascii").split(b"\n")
    if b'"' in b"".join(cells):
        texts = [b'"%s"' % text if cell[:1] == b'"' else text for cell, text in zip(cells, texts, strict=True)]
    for index in np.flatnonzero(missing).tolist():
        texts[index] = cells[index]
    return texts


class ColumnScan:
    """What has been seen of one column that nobody named.

    Parameters
    ----------
    missing
        What a missing cell says.
    whole
        Whether numbers that are no integers of 64 bits are to be told.

    Attributes
    ----------
    has_numbers
        Whether some cell is a number.
    missing_cells
        How many cells are missing.
    bad
        What the first cell is that is neither a number nor missing, and where it stands; None so far.
    not_whole
        The same for the first that is no integer of 64 bits, if ``whole``.
    """

    def __init__(self, missing: frozenset[bytes], *, whole: bool = False) -> None:
        self._missing = missing
        self._whole = whole
        self.has_numbers = False
        self.missing_cells = 0
        self.bad: str | None = None
        self.not_whole: str | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether every cell is a number or missing, and at least one is a number."""
        return self.has_numbers and self.bad is None

    @property
    def is_mixed(self) -> bool:
        """Whether there are both numbers and other cells."""
        return self.has_numbers and self.bad is not None

    def see(self, cells: Sequence[bytes], place: Callable[[int], str]) -> None:
        """Take note of more cells; ``place`` says where the cell at an index stands."""
        if self.bad is None:
            try:
                values = numbers_from_cells(cells, self._missing)
            except BadCellError as error:
                self.bad = f"{error.kind} at {place(error.index)}"
            else:
                missing = int(np.count_nonzero(np.isnan(values)))
                self.missing_cells += missing
                self.has_numbers = self.has_numbers or missing < len(values)
                if self._whole and self.not_whole is None:
                    self._see_integers(cells, place)
        if self.bad is not None and not self.has_numbers:
            self.has_numbers = any(map(_NUMBER_CELL.fullmatch, cells))

    def _see_integers(self, cells: Sequence[bytes], place: Callable[[int], str]) -> None:
        try:
            integers_from_cells(cells, self._missing)
        except BadCellError as error:
            self.not_whole = f"{place(error.index)} has {error.kind}"
