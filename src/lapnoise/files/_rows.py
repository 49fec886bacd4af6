"""From a CSV file to blocks of whole rows, in which the cells of some columns are marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from lapnoise.errors import InputDataError
from lapnoise.files._cells import Cells
from lapnoise.files._header import first_row, refuse_bare_return, refuse_open_quote
from lapnoise.files._source import Source

__all__ = ["BLOCK_BYTES", "MAX_RECORD_BYTES", "Block", "RowReader"]

BLOCK_BYTES = 1 << 20
"""How much is read at a time, without effect on the result."""

MAX_RECORD_BYTES = 1 << 24
"""The longest row; a longer one is taken for a quote that was never closed, so that memory stays bounded."""

_MOST_CELLS = 1 << 18
"""Marked cells in a block of more than one row at most."""

_COMPRESSED = ("gzip", "bzip2", "xz", "Zstandard", "a ZIP archive")
_MAGIC = {
    re.compile(rb"\x1f\x8b"): "gzip",
    re.compile(rb"BZh[1-9]1AY&SY"): "bzip2",
    re.compile(rb"\xfd7zXZ\0"): "xz",
    re.compile(rb"\x28\xb5\x2f\xfd"): "Zstandard",
    re.compile(rb"PK\x03\x04"): "a ZIP archive",
    re.compile(rb"PAR1[\0-\x08\x0e-\x1f]"): "Parquet",
    re.compile(rb"ARROW1\0"): "Arrow",
    re.compile(rb"\x93NUMPY"): "NPY",
}
"""How files begin that are taken for CSV by mistake."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole rows of one file, with empty lines before them and between them.

    Attributes
    ----------
    cells
        Those of the marked columns, row by row.
    start, stop
        Where the block begins and ends in the bytes that its cells lie in.
    rows
        How many rows it has.
    first_row
        Number of its first row; the row behind the header has number 1.
    first_line
        Number of the line on which it begins; the file's first line has number 1.
    """

    cells: Cells
    start: int
    stop: int
    rows: int
    first_row: int
    first_line: int

    def line_of(self, cell: int) -> int:
        """Return the number of the line on which the cell at this index begins."""
        return self.first_line + _lines(self.cells.data, self.start, int(self.cells.starts[cell]))

    def column(self, number: int, marked: int) -> Cells:
        """Return the cells of one of the marked columns, ``marked`` in all."""
        starts, ends = self.cells.starts[number::marked], self.cells.ends[number::marked]
        return Cells(self.cells.data, np.ascontiguousarray(starts), np.ascontiguousarray(ends), self.cells.quote)


class RowReader:
    """The header of a CSV file, and then its rows in blocks.

    Parameters
    ----------
    source
        The file, at its beginning.
    delimiter
        One byte.
    quote
        One byte; NUL where no cell is quoted.
    header
        Whether the first row is a header, and no row of data.

    Attributes
    ----------
    head
        Everything up to the first row of data as it stands in the file: a byte order mark and the header.
    header
        The cells of the first row, quotes included.

    Raises
    ------
    InputDataError
        When the file is empty, has NUL bytes, or its header has no end.
    """

    def __init__(self, source: Source, delimiter: bytes, quote: bytes, *, header: bool = True) -> None:
        self._source = source
        self._has_header = header
        self._in_rows = False
        self._delimiter = delimiter
        self._quote = quote
        self._at_end = False
        self._rest = b""
        self._rows = 0
        self._lines = 0
        self.head = b""
        self.header: list[bytes] = []
        self._read_header()

    def blocks(self, columns: Sequence[int]) -> Iterator[Block]:
        """Read all rows, in whose blocks the cells of these columns are marked; columns have rising numbers from 0.

        Raises
        ------
        InputDataError
            At the first row that has another number of cells than the header, no end, or a NUL byte.
        """
        from lapnoise.files import _csv_kernels as kernels

        width, marked = len(self.header), len(columns)
        chosen = np.zeros(width, np.bool_)
        chosen[list(columns)] = True
        marks = np.uint8(self._delimiter[0]), np.uint8(self._quote[0])
        self._in_rows = True
        if b"\0" in self._rest:
            self._refuse_nul()
        while self._more():
            data = np.frombuffer(self._rest + bytes(kernels.READ_ROOM), np.uint8)
            place, stop = 0, len(self._rest)
            while True:
                most = min(max(1, _MOST_CELLS // max(1, marked)), (stop - place) // width + 1)
                starts, ends = np.empty((2, most * marked), np.int32)
                rows, used, lines, *trouble = kernels.scan_rows(
                    data, place, stop, self._at_end, *marks, chosen, most, starts, ends
                )
                cells = Cells(data, starts[: rows * marked], ends[: rows * marked], self._quote)
                block = Block(cells, place, used, rows, self._rows + 1, self._lines + 1)
                if used > place:
                    yield block
                if trouble[0]:
                    self._refuse(block, trouble)
                if used == place:
                    break
                self._rows += rows
                self._lines += lines
                place = used
            self._rest = self._rest[place:]

    def _read_header(self) -> None:
        cells: list[bytes] | None = None
        while cells is None:
            if not self._more():
                raise InputDataError("the file is empty; a CSV file needs a header")
            if not self._at_end and len(self._rest) < len(_BOM):
                continue
            start = len(_BOM) if self._rest.startswith(_BOM) else 0
            if self._at_end and len(self._rest) == start:
                raise InputDataError("the file is empty but for a byte order mark; a CSV file needs a header")
            self._refuse_other_formats()
            cells, end = first_row(self._rest, start, self._delimiter, self._quote, self._at_end)
        # What lies behind the header is data, and is not looked at yet.
        if b"\0" in self._rest[:end]:
            self._refuse_nul()
        if not self._has_header:
            end = start
        self.header = cells
        self.head, self._rest = self._rest[:end], self._rest[end:]
        self._lines = self.head.count(b"\n")

    def _more(self) -> bool:
        """Read on, at least as much as is held back, so that a long row is not searched again too often."""
        if not self._at_end:
            # What is held back is one row whose end was not found yet.
            if len(self._rest) > MAX_RECORD_BYTES:
                raise InputDataError(
                    f"the row that begins on line {self._lines + 1} is longer than {MAX_RECORD_BYTES} bytes; "
                    "perhaps a quote is not closed"
                )
            data = self._source.read(max(BLOCK_BYTES, len(self._rest)))
            self._at_end = not data
            self._rest += data
            if self._in_rows and b"\0" in data:
                self._refuse_nul()
        return bool(self._rest)

    def _refuse_nul(self) -> None:
        line = self._lines + self._rest.count(b"\n", 0, self._rest.index(b"\0")) + 1
        raise InputDataError(f"line {line} has a NUL byte; a CSV file is text")

    def _refuse_other_formats(self) -> None:
        """Refuse what is no text by its first bytes."""
        if self._rest.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputDataError("the file is UTF-16; UTF-8 or another encoding that keeps ASCII bytes is needed")
        for magic, name in _MAGIC.items():
            if magic.match(self._rest):
                advice = "; decompress it first" if name in _COMPRESSED else ""
                raise InputDataError(f"the file is no CSV file but {name}, by its first bytes{advice}")

    def _refuse(self, block: Block, trouble: Sequence[int]) -> NoReturn:
        """Say what is wrong behind the rows of a block: what a scan told of it."""
        from lapnoise.files import _csv_kernels as kernels

        state, place, fields = trouble
        line = block.first_line + _lines(block.cells.data, block.start, place)
        if state == kernels.OPEN_QUOTE:
            refuse_open_quote(line)
        if state == kernels.BARE_RETURN:
            refuse_bare_return(line)
        raise InputDataError(
            f"data row {block.first_row + block.rows} (line {line}) has {_counted(fields)}, "
            f"the header has {len(self.header)}"
        )


def _lines(data: NDArray[np.uint8], start: int, stop: int) -> int:
    return int(np.count_nonzero(data[start:stop] == ord("\n")))


def _counted(cells: int) -> str:
    return f"{cells} field" if cells == 1 else f"{cells} fields"
