"""From a CSV file to its cells, so that joining cells and separators gives the same bytes again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lapnoise.errors import InputDataError
from lapnoise.files._source import Source
from lapnoise.files._split import EMPTY_LINES, cell_pattern, first_row, split_regular_rows, split_rows

__all__ = ["BLOCK_BYTES", "MAX_RECORD_BYTES", "Block", "RowReader"]

BLOCK_BYTES = 1 << 18
"""How much is read at a time, without effect on the result; larger blocks leave the caches and run a quarter slower."""

MAX_RECORD_BYTES = 1 << 24
"""The longest row; a longer one is taken for a quote that was never closed, so that memory stays bounded."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole rows of one file.

    Attributes
    ----------
    prefix
        Empty lines before the first row.
    cells
        The cells of all rows, one row after the other, quotes included.
    separators
        What stood behind each cell: the delimiter, or what ended the row (and empty lines behind it).
    first_row
        Number of the first row of the block; the row behind the header has number 1.
    first_line
        Number of the line on which the first row begins; the file's first line has number 1.
    """

    prefix: bytes
    cells: list[bytes]
    separators: list[bytes]
    first_row: int
    first_line: int

    def line_of(self, cell: int) -> int:
        """Return the number of the line on which the cell at this index begins."""
        return self.first_line + sum(part.count(b"\n") for part in (*self.cells[:cell], *self.separators[:cell]))

    def joined(self) -> bytes:
        """Return the bytes of the block."""
        parts = [b""] * (2 * len(self.cells))
        parts[0::2] = self.cells
        parts[1::2] = self.separators
        return self.prefix + b"".join(parts)


class RowReader:
    """The header of a CSV file, and then its rows in blocks.

    Parameters
    ----------
    source
        The file, at its beginning.
    delimiter
        One byte.

    Attributes
    ----------
    head
        Everything up to the first row as it stands in the file: a byte order mark and the header.
    header
        The cells of the header, quotes included.

    Raises
    ------
    InputDataError
        When the file is empty, has NUL bytes, or its header has no end.
    """

    def __init__(self, source: Source, delimiter: bytes) -> None:
        self._source = source
        self._delimiter = delimiter
        self._at_end = False
        self._rest = b""
        self._rows = 0
        self._lines = 0
        self.head = b""
        self.header: list[bytes] = []
        self._read_header()

    def __iter__(self) -> Iterator[Block]:
        width = len(self.header)
        pattern = cell_pattern(self._delimiter, swallow_empty_lines=width > 1)
        while self._more():
            prefix, buffer = b"", self._rest
            if width > 1:
                # With several columns an empty line is no row; with one it is a row with an empty cell.
                empty = EMPTY_LINES.match(buffer)
                prefix = empty.group() if empty else b""
                buffer = buffer[len(prefix) :]
            first_line = self._lines + prefix.count(b"\n") + 1
            regular = split_regular_rows(buffer, self._delimiter, width, at_end=self._at_end)
            cells, separators, used = regular or split_rows(buffer, pattern, self._at_end, first_line)
            block = Block(prefix, cells, separators, self._rows + 1, first_line)
            if not regular:
                _refuse_ragged(block, width)
            self._rest = buffer[used:]
            self._lines = first_line - 1 + buffer.count(b"\n", 0, used)
            self._rows += len(cells) // width
            if cells or prefix:
                yield block

    def _read_header(self) -> None:
        pattern = cell_pattern(self._delimiter, swallow_empty_lines=False)
        cells: list[bytes] | None = None
        while cells is None:
            if not self._more():
                raise InputDataError("the file is empty; a CSV file needs a header")
            if not self._at_end and len(self._rest) < len(_BOM):
                continue
            start = len(_BOM) if self._rest.startswith(_BOM) else 0
            if self._at_end and len(self._rest) == start:
                raise InputDataError("the file is empty but for a byte order mark; a CSV file needs a header")
            cells, end = first_row(self._rest, start, pattern, self._at_end)
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
            if b"\0" in data:
                self._refuse_nul()
        return bool(self._rest)

    def _refuse_nul(self) -> None:
        if not self._lines and self._rest.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputDataError("the file is UTF-16; UTF-8 or another encoding that keeps ASCII bytes is needed")
        line = self._lines + self._rest.count(b"\n", 0, self._rest.index(b"\0")) + 1
        raise InputDataError(f"line {line} has a NUL byte; a CSV file is text")


def _refuse_ragged(block: Block, width: int) -> None:
    count = len(block.cells)
    ends = [i + 1 for i, separator in enumerate(block.separators) if separator[-1:] == b"\n" or not separator]
    if count == width * len(ends) and ends == list(range(width, count + 1, width)):
        return
    row = next(i for i, end in enumerate(ends) if end != (i + 1) * width)
    first = row * width
    raise InputDataError(
        f"data row {block.first_row + row} (line {block.line_of(first)}) has {_counted(ends[row] - first)}, "
        f"the header has {width}"
    )


def _counted(cells: int) -> str:
    return f"{cells} field" if cells == 1 else f"{cells} fields"
