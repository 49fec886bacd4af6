"""CSV: noise in some columns, every other byte as it was."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from lapnoise._check import listed, noise_terms
from lapnoise.errors import InputDataError, LapnoiseWarning
from lapnoise.files._cell_noise import CellNoise
from lapnoise.files._cells import (
    MISSING_CELL,
    TEXT,
    Absent,
    BadCellError,
    ColumnScan,
    check_integers,
    check_numbers,
    content,
    is_number,
)
from lapnoise.files._contents import Contents, Done, Header, advice_for
from lapnoise.files._csv_noise import Marked, noised, stratum_labels
from lapnoise.files._overlap import in_order, read_ahead
from lapnoise.files._rows import Block, RowReader
from lapnoise.files._source import Source
from lapnoise.files._strata import StrataCodes
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
    quote
        One byte; NUL where no cell is quoted.
    missing
        What a missing cell says.
    header
        Whether the first row has names; columns are called 1, 2, ... without.
    encoding
        Of the names and strata; other bytes pass through.
    """

    unit = "rows"

    def __init__(
        self,
        source: Source,
        terms: Terms,
        *,
        columns: tuple[str, ...] | None,
        delimiter: bytes | None,
        quote: bytes,
        missing: frozenset[bytes],
        header: bool = True,
        encoding: str = "utf-8",
    ) -> None:
        self._source = source
        self._terms = terms
        self._asked = columns
        self._guessed = delimiter is None
        self._delimiter = delimiter or (b"\t" if source.path.suffix.lower() == ".tsv" else b",")
        self._quote = quote
        self._absent = Absent(missing, quote)
        self._whole = terms.whole
        self._has_header = header
        self._encoding = encoding
        self._names: list[str] = []
        self._head = b""
        self._marked = Marked((), (), None, None)

    def check_header(self) -> Header:
        """Read the header alone, and refuse names that are not in it: what is published anyway."""
        reader = self._reader()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LapnoiseWarning)  # `check` warns
            self._names = self._names_in(reader.header)
        strata = self._place_of_strata()
        if self._asked is None:
            self._check_limits("")
            return Header((), 1, None)
        names = self._mark(self._indices_of(self._asked), strata)
        return Header(names, len(names), None)

    def check(self, done: Done) -> Contents:
        """Read the whole file, refuse what cannot be noised, and say what is there."""
        reader = self._reader()
        self._head = reader.head
        self._names = self._names_in(reader.header)
        if self._asked is None:
            rows, missing = self._find_numeric(reader, done)
            if not (self._terms.local or self._marked.strata is not None):
                return self._contents(rows, 0 if self._terms.fill is not None else missing)
            self._source.rewind()
            reader = self._reader()
        rows = missing = 0
        for block in reader.blocks(self._marked.columns):
            missing += self._check(block)
            rows += block.rows
            done(rows)
        return self._contents(rows, missing)

    def noise(self, target: Output, cell_noise: CellNoise, done: Done, threads: int) -> Contents:
        """Read the whole file again and write it with noise; cell i of a noised column is number i there."""

        def noised_block(block: Block) -> tuple[memoryview, int, int]:
            return noised(block, self._marked, self._absent, cell_noise, self._encoding)

        reader = self._reader()
        if reader.head != self._head:
            raise InputDataError("the header changed")
        target.write(reader.head)
        total = missing = 0
        with read_ahead(reader.blocks(self._marked.columns), threads) as blocks:
            for data, rows, absent in in_order(blocks, noised_block, threads):
                target.write(data)
                total += rows
                missing += absent
                done(total)
        return self._contents(total, missing)

    def _reader(self) -> RowReader:
        return RowReader(self._source, self._delimiter, self._quote, header=self._has_header)

    def _mark(self, chosen: list[int], strata: int | None) -> tuple[str, ...]:
        """Mark columns to be noised and the one that tells strata; return the names of the former."""
        columns = sorted({*chosen, *([] if strata is None else [strata])})
        names = tuple(self._names[column] for column in chosen)
        mechanism = self._terms.mechanism(names, len(names))
        self._marked = Marked(
            tuple(columns),
            tuple(map(columns.index, chosen)),
            None if strata is None else columns.index(strata),
            None if strata is None else StrataCodes(getattr(mechanism, "strata", ())),
        )
        for name in names:
            self._check_limits(name)
        return names

    def _check_limits(self, name: str) -> None:
        """Refuse bounds and a fill that a column cannot have."""
        kind = np.dtype(np.int64 if self._whole else np.float64)
        noise_terms.cell_limits(self._terms.bounds_of(name), self._terms.clamp, self._terms.fill, kind, kind)

    def _place_of_strata(self) -> int | None:
        name = self._terms.strata
        if name is None:
            return None
        if name not in self._names:
            raise ValueError(f"strata must name a column of the source, got {name!r}; there are: {self._listed()}")
        if self._asked is not None and name in self._asked:
            raise ValueError(f"strata must be another column than those that are noised, got {name!r}")
        return self._only(name)

    def _check(self, block: Block) -> int:
        """Return how many noised cells of a block stay missing, and refuse what cannot be noised."""
        count = len(self._marked.columns)
        if self._marked.strata is not None and self._marked.codes is not None:
            labels = stratum_labels(block.column(self._marked.strata, count), self._absent, self._encoding)
            try:
                self._marked.codes.codes(labels)
            except BadCellError as error:
                told = self._place(block, self._marked.strata, error.index)
                raise InputDataError(
                    f"{told} has {error.kind}, where one of the strata that were given must stand"
                ) from None
        check = check_integers if self._whole else check_numbers
        missing = 0
        for place in self._marked.noised:
            cells = block.column(place, count)
            try:
                bounded = self._terms.bounds_of(self._names[self._marked.columns[place]]) is not None
                absent = check(cells, self._absent, bounded=bounded)
                if absent and self._terms.local and self._terms.fill is None:
                    first = next(i for i in range(cells.size) if cells.content(i) in self._absent.texts)
                    raise BadCellError(first, MISSING_CELL)
            except BadCellError as error:
                raise self._bad_cell(self._place(block, place, error.index), error.kind) from None
            missing += 0 if self._terms.fill is not None else absent
        return missing

    def _find_numeric(self, reader: RowReader, done: Done) -> tuple[int, int]:
        """Read the whole file and mark the only numeric column; return the rows and how many cells it misses."""
        width = len(self._names)
        bounded = [self._terms.bounds_of(name) is not None for name in self._names]
        scans = [ColumnScan(self._absent, whole=self._whole, bounded=bound) for bound in bounded]
        rows = 0
        for block in reader.blocks(range(width)):
            for column, scan in enumerate(scans):
                scan.see(block.column(column, width), self._places(block, column))
            rows += block.rows
            done(rows)
        strata = self._place_of_strata()
        numeric = [column for column, scan in enumerate(scans) if scan.is_numeric and column != strata]
        mixed = [
            f"column {name!r} has numbers but also {scan.bad}"
            for name, scan in zip(self._names, scans, strict=True)
            if scan.is_mixed
        ]
        if not rows:
            return 0, 0
        if len(numeric) > 1:
            shown = listed([self._names[column] for column in numeric])
            raise ValueError(f"columns must be given, since {len(numeric)} columns are numeric: {shown}")
        if not numeric and mixed:
            raise InputDataError(f"no column is numeric throughout: {'; '.join(mixed)}")
        if not numeric:
            raise ValueError(f"columns must be given, since no column is numeric; there are: {self._listed()}")
        if self._has_header and self._is_number(self._names[numeric[0]]):
            raise InputDataError(
                f"column {numeric[0] + 1} has a number for its name, so line 1 may be data and no header; "
                "if it is a header, name the columns (--columns)"
            )
        if (not_whole := scans[numeric[0]].not_whole) is not None:
            raise self._bad_cell(*not_whole)
        if mixed:
            # One stray text hides a column of numbers, which is then published as it is: that must not pass unseen.
            warnings.warn(f"left without noise: {'; '.join(mixed)}", LapnoiseWarning, stacklevel=2)
        self._mark(numeric, strata)
        return rows, scans[numeric[0]].missing_cells

    def _bad_cell(self, place: str, kind: str) -> InputDataError:
        wanted = "an integer of 64 bits" if self._whole else "a finite number"
        advice = advice_for(kind)
        if kind == TEXT:
            advice = " (decimal commas, thousands separators and units are not read)"
        missing = "" if self._terms.local and self._terms.fill is None else " or a missing cell"
        return InputDataError(f"{place} has {kind}, where {wanted}{missing} must stand{advice}")

    def _contents(self, rows: int, missing: int) -> Contents:
        columns = tuple(self._names[self._marked.columns[place]] for place in self._marked.noised)
        types = ("integer -> integer" if self._whole else "decimal -> float64",) * len(columns)
        return Contents(columns, types, rows, rows * len(columns), missing)

    def _names_in(self, header: list[bytes]) -> list[str]:
        if not self._has_header:
            return [str(number) for number in range(1, len(header) + 1)]
        if self._guessed and len(header) == 1:
            for other in (b"\t", b";", b"|", b","):
                if other in header[0] and other != self._quote:
                    shown = repr(other.decode("ascii"))
                    raise InputDataError(
                        f"the header has a single field, with {shown} in it and no "
                        f"{self._delimiter.decode('ascii')!r}; give the delimiter (--delimiter {shown})"
                    )
        names = [content(cell, self._quote).decode(self._encoding, "surrogateescape") for cell in header]
        if self._asked is None:
            self._refuse_unclear(names)
        # A row of numbers is rather data, which would be published as it is; names that are given settle it.
        if self._asked is None and all(map(self._is_number, names)):
            raise InputDataError("the header has numbers only, so line 1 is data; a CSV file needs a header")
        if self._asked is not None and any(map(self._is_number, names)):
            warnings.warn(
                "line 1 is taken for the header, with numbers in it, and published as it is: a CSV file needs a header",
                LapnoiseWarning,
                stacklevel=2,
            )
        return names

    def _refuse_unclear(self, names: list[str]) -> None:
        """Refuse to choose among columns that their names do not tell apart."""
        seen: dict[str, int] = {}
        for number, name in enumerate(names, 1):
            if not name:
                raise InputDataError(
                    f"column {number} has no name in the header; name the columns to be noised (--columns)"
                )
            if name in seen:
                raise InputDataError(
                    f"columns {seen[name]} and {number} have the same name in the header; "
                    "name the columns to be noised (--columns)"
                )
            seen[name] = number

    def _is_number(self, name: str) -> bool:
        return is_number(content(name.encode("utf-8", "surrogateescape"), self._quote))

    def _indices_of(self, asked: tuple[str, ...]) -> list[int]:
        unknown = [name for name in asked if name not in self._names]
        if unknown:
            raise ValueError(
                f"columns must name columns of the source, got {listed(unknown)}; there are: {self._listed()}"
            )
        return sorted(self._only(name) for name in asked)

    def _listed(self) -> str:
        """Return the names for a message; a number may be a value of a row that was taken for a header."""
        return listed([f"column {i}" if self._is_number(name) else name for i, name in enumerate(self._names, 1)])

    def _only(self, name: str) -> int:
        """Return the place of a name in the header, which must be there once."""
        if self._names.count(name) > 1:
            first = self._names.index(name)
            second = self._names.index(name, first + 1)
            raise InputDataError(f"columns {first + 1} and {second + 1} have the same name in the header: {name!r}")
        return self._names.index(name)

    def _place(self, block: Block, marked: int, row: int, columns: Sequence[int] | None = None) -> str:
        """Say where the cell of a marked column in a row of a block stands; ``columns`` are those that are marked."""
        columns = self._marked.columns if columns is None else columns
        line = block.line_of(row * len(columns) + marked)
        return f"data row {block.first_row + row} (line {line}), column {self._names[columns[marked]]!r}"

    def _places(self, block: Block, column: int) -> Callable[[int], str]:
        """Say the same where all columns are marked."""
        return lambda row: self._place(block, column, row, range(len(self._names)))
