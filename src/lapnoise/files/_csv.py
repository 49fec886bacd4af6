"""CSV: noise in some columns, every other byte as it was."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lapnoise.errors import InputDataError, LapnoiseWarning
from lapnoise.files._cell_noise import BadValueError, CellNoise, Place
from lapnoise.files._cells import BadCellError, ColumnScan, integers_from_cells, numbers_from_cells, replace_numbers
from lapnoise.files._contents import Contents, Done, Header
from lapnoise.files._decimals import exact_value, nearest_points
from lapnoise.files._rows import Block, RowReader
from lapnoise.files._source import Source
from lapnoise.files._split import content
from lapnoise.files._target import Output
from lapnoise.files._terms import Terms

__all__ = ["CsvFile"]


class CsvFile:
    """A CSV file whose named columns are noised.

    Parameters
    ----------
    source
        The file.
    terms
        What is asked of the noise; where it is discrete, noised cells must be integers of 64 bits, and become such.
    columns
        Names of the columns, or None for the only numeric one.
    delimiter
        One byte, or None for a tab in a file called ``.tsv`` and a comma in any other.
    missing
        What a missing cell says.
    """

    unit = "rows"

    def __init__(
        self,
        source: Source,
        terms: Terms,
        *,
        columns: tuple[str, ...] | None,
        delimiter: bytes | None,
        missing: frozenset[bytes],
    ) -> None:
        self._source = source
        self._terms = terms
        self._asked = columns
        self._guessed = delimiter is None
        self._delimiter = delimiter or (b"\t" if source.path.suffix.lower() == ".tsv" else b",")
        self._missing = missing
        self._whole = terms.whole
        self._names: list[str] = []
        self._head = b""
        self._chosen: list[int] = []

    def check_header(self) -> Header:
        """Read the header alone, and refuse names that are not in it: what is published anyway."""
        reader = RowReader(self._source, self._delimiter)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LapnoiseWarning)  # `check` warns
            self._names = self._names_in(reader.header)
        if self._asked is None:
            return Header((), 1, None)
        chosen = self._indices_of(self._asked)
        return Header(tuple(self._names[column] for column in chosen), len(chosen), None)

    def check(self, done: Done) -> Contents:
        """Read the whole file, refuse what cannot be noised, and say what is there."""
        reader = RowReader(self._source, self._delimiter)
        self._head = reader.head
        self._names = self._names_in(reader.header)
        if self._asked is None:
            return self._check_unnamed(reader, done)
        self._chosen = self._indices_of(self._asked)
        rows = missing = 0
        for block in reader:
            for column in self._chosen:
                try:
                    absent = self._missing_in(block.cells[column :: len(self._names)])
                except BadCellError as error:
                    raise self._bad_cell(f"{self._place(block, column)(error.index)} has {error.kind}") from None
                missing += int(np.count_nonzero(absent))
            rows += len(block.cells) // len(self._names)
            done(rows)
        return self._contents(rows, missing)

    def noise(self, target: Output, cell_noise: CellNoise, done: Done, threads: int) -> Contents:
        """Read the whole file again and write it with noise; cell i of a noised column is number i there."""
        reader = RowReader(self._source, self._delimiter)
        if reader.head != self._head:
            raise InputDataError("the header changed")
        target.write(reader.head)
        width = len(self._names)
        total = missing = 0
        for block in reader:
            for number, column in enumerate(self._chosen):
                cells = block.cells[column::width]
                try:
                    block.cells[column::width], absent = self._noised(cells, cell_noise, Place(number, total))
                except (BadCellError, BadValueError):
                    raise InputDataError("a cell changed") from None
                missing += absent
            target.write(block.joined())
            total += len(block.cells) // width
            done(total)
        return self._contents(total, missing)

    def _noised(self, cells: list[bytes], cell_noise: CellNoise, place: Place) -> tuple[list[bytes], int]:
        if self._whole:
            integers, absent = integers_from_cells(cells, self._missing)
            noised = cell_noise.add(integers, place, absent)
        else:
            values = numbers_from_cells(cells, self._missing)
            points = nearest_points(values, cells, cell_noise.mechanism.lattice.exponent)
            noised = cell_noise.add_to_points(points, lambda i: exact_value(cells[i]), place, np.isnan(values))
        left = np.zeros(len(cells), np.bool_) if noised.missing is None else noised.missing
        return replace_numbers(cells, noised.values, left), int(np.count_nonzero(left))

    def _missing_in(self, cells: list[bytes]) -> NDArray[np.bool_]:
        if self._whole:
            return integers_from_cells(cells, self._missing)[1]
        return np.isnan(numbers_from_cells(cells, self._missing))

    def _check_unnamed(self, reader: RowReader, done: Done) -> Contents:
        width = len(self._names)
        scans = [ColumnScan(self._missing, whole=self._whole) for _ in self._names]
        rows = 0
        for block in reader:
            for column, scan in enumerate(scans):
                scan.see(block.cells[column::width], self._place(block, column))
            rows += len(block.cells) // width
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
        types = ("integer -> integer" if self._whole else "decimal -> float64",) * len(columns)
        return Contents(columns, types, rows, rows * len(columns), missing)

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

    def _place(self, block: Block, column: int) -> Callable[[int], str]:
        def place(row: int) -> str:
            line = block.line_of(row * len(self._names) + column)
            return f"data row {block.first_row + row} (line {line}), column {self._names[column]!r}"

        return place


def _is_number(name: str) -> bool:
    try:
        numbers_from_cells([name.encode("utf-8", "surrogateescape")], frozenset())
    except BadCellError:
        return False
    return True
