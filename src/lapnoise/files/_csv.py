"""CSV: noise in some columns, every other byte as it was."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

from lapnoise.errors import InputDataError, LapnoiseWarning
from lapnoise.files._cell_noise import CellNoise
from lapnoise.files._cells import (
    Absent,
    BadCellError,
    ColumnScan,
    check_integers,
    check_numbers,
    content,
    is_number,
)
from lapnoise.files._contents import Contents, Done
from lapnoise.files._csv_noise import noised
from lapnoise.files._rows import Block, RowReader
from lapnoise.files._source import Source
from lapnoise.files._target import Target

__all__ = ["CsvFile"]


class CsvFile:
    """A CSV file whose named columns are noised.

    Parameters
    ----------
    source
        The file.
    columns
        Names of the columns, or None for the only numeric one.
    delimiter
        One byte, or None for a tab in a file called ``.tsv`` and a comma in any other.
    missing
        What a missing cell says.
    whole
        Whether noised cells must be integers of 64 bits, and become such.
    """

    unit = "rows"

    def __init__(
        self,
        source: Source,
        *,
        columns: tuple[str, ...] | None,
        delimiter: bytes | None,
        missing: frozenset[bytes],
        whole: bool,
    ) -> None:
        self._source = source
        self._asked = columns
        self._guessed = delimiter is None
        self._delimiter = delimiter or (b"\t" if source.path.suffix.lower() == ".tsv" else b",")
        self._absent = Absent(missing)
        self._whole = whole
        self._names: list[str] = []
        self._head = b""
        self._chosen: list[int] = []

    def check_header(self) -> None:
        """Read the header alone, and refuse names that are not in it: what is published anyway."""
        reader = RowReader(self._source, self._delimiter)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LapnoiseWarning)  # `check` warns
            self._names = self._names_in(reader.header)
        if self._asked is not None:
            self._indices_of(self._asked)

    def check(self, done: Done) -> Contents:
        """Read the whole file, refuse what cannot be noised, and say what is there."""
        reader = RowReader(self._source, self._delimiter)
        self._head = reader.head
        self._names = self._names_in(reader.header)
        if self._asked is None:
            return self._check_unnamed(reader, done)
        self._chosen = self._indices_of(self._asked)
        check = check_integers if self._whole else check_numbers
        rows = missing = 0
        for block in reader.blocks(self._chosen):
            try:
                missing += check(block.cells, self._absent)
            except BadCellError as error:
                row, place = divmod(error.index, len(self._chosen))
                told = self._place(block, self._chosen[place], row, error.index)
                raise self._bad_cell(f"{told} has {error.kind}") from None
            rows += block.rows
            done(rows)
        return self._contents(rows, missing)

    def noise(self, target: Target, cell_noise: CellNoise, done: Done) -> None:
        """Read the whole file again and write it with noise.

        Row by row, and in file order within a row, each noised cell has the next place in the released vector.
        """
        total = 0
        for block in self._blocks(target):
            first = cell_noise.reserve(block.cells.size)
            target.write(noised(block, self._absent, cell_noise, first, whole=self._whole))
            total += block.rows
            done(total)

    def _blocks(self, target: Target) -> Iterator[Block]:
        """Read the whole file again, write its head and return the rows."""
        reader = RowReader(self._source, self._delimiter)
        if reader.head != self._head:
            raise InputDataError("the header changed")
        target.write(reader.head)
        yield from reader.blocks(self._chosen)

    def _check_unnamed(self, reader: RowReader, done: Done) -> Contents:
        width = len(self._names)
        scans = [ColumnScan(self._absent, whole=self._whole) for _ in self._names]
        rows = 0
        for block in reader.blocks(range(width)):
            for column, scan in enumerate(scans):
                scan.see(block.column(column, width), self._places(block, column))
            rows += block.rows
            done(rows)
        numeric = [column for column, scan in enumerate(scans) if scan.is_numeric]
        mixed = [
            f"column {name!r} has numbers but also {scan.bad}"
            for name, scan in zip(self._names, scans, strict=True)
            if scan.is_mixed
        ]
        if not rows:
            return self._contents(0, 0)
        if len(numeric) > 1:
            shown = ", ".join(repr(self._names[column]) for column in numeric)
            raise ValueError(f"columns must be given, since {len(numeric)} columns are numeric: {shown}")
        if not numeric and mixed:
            raise InputDataError(f"no column is numeric throughout: {'; '.join(mixed)}")
        if not numeric:
            shown = ", ".join(map(repr, self._names))
            raise ValueError(f"columns must be given, since no column is numeric; there are: {shown}")
        if _is_number(self._names[numeric[0]]):
            raise InputDataError(
                f"column {numeric[0] + 1} has a number for its name, so line 1 may be data and no header; "
                "if it is a header, name the columns (--columns)"
            )
        if (not_whole := scans[numeric[0]].not_whole) is not None:
            raise self._bad_cell(not_whole)
        if mixed:
            # One stray text hides a column of numbers, which is then published as it is: that must not pass unseen.
            warnings.warn(f"left without noise: {'; '.join(mixed)}", LapnoiseWarning, stacklevel=2)
        self._chosen = numeric
        return self._contents(rows, scans[numeric[0]].missing_cells)

    def _bad_cell(self, told: str) -> InputDataError:
        wanted = "an integer of 64 bits" if self._whole else "a finite number"
        return InputDataError(f"{told}, where {wanted} or a missing cell must stand")

    def _contents(self, rows: int, missing: int) -> Contents:
        columns = tuple(self._names[column] for column in self._chosen)
        return Contents(columns, rows, rows * len(columns), missing)

    def _names_in(self, header: list[bytes]) -> list[str]:
        if self._guessed and len(header) == 1:
            for other in (b"\t", b";", b"|", b","):
                if other in header[0]:
                    shown = repr(other.decode("ascii"))
                    raise InputDataError(
                        f"the header has a single field, with {shown} in it and no "
                        f"{self._delimiter.decode('ascii')!r}; give the delimiter (--delimiter {shown})"
                    )
        names = [content(cell).decode("utf-8", "surrogateescape") for cell in header]
        seen: dict[str, int] = {}
        for number, name in enumerate(names, 1):
            if not name:
                raise InputDataError(f"column {number} has no name in the header")
            if name in seen:
                raise InputDataError(f"columns {seen[name]} and {number} have the same name in the header")
            seen[name] = number
        # A row of numbers is rather data, which would be published as it is; names that are given settle it.
        if self._asked is None and all(map(_is_number, names)):
            raise InputDataError("the header has numbers only, so line 1 is data; a CSV file needs a header")
        if self._asked is not None and any(map(_is_number, names)):
            warnings.warn(
                "line 1 is taken for the header, with numbers in it, and published as it is: a CSV file needs a header",
                LapnoiseWarning,
                stacklevel=2,
            )
        return names

    def _indices_of(self, asked: tuple[str, ...]) -> list[int]:
        unknown = [name for name in asked if name not in self._names]
        if unknown:
            raise ValueError(
                f"columns must name columns of the source, got {', '.join(map(repr, unknown))}; "
                f"there are: {', '.join(map(repr, self._names))}"
            )
        return sorted(self._names.index(name) for name in asked)

    def _place(self, block: Block, column: int, row: int, cell: int) -> str:
        return f"data row {block.first_row + row} (line {block.line_of(cell)}), column {self._names[column]!r}"

    def _places(self, block: Block, column: int) -> Callable[[int], str]:
        return lambda row: self._place(block, column, row, row * len(self._names) + column)


def _is_number(name: str) -> bool:
    return is_number(content(name.encode("utf-8", "surrogateescape")))
