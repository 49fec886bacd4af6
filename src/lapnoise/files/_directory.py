"""A directory of Parquet files that are one table: all cells are noised together, and each file keeps its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

from lapnoise.errors import InputDataError
from lapnoise.files._arrow import Layout, header_of, layout_of, shown_type
from lapnoise.files._batches import Piece, add_noise, missing_cells
from lapnoise.files._cell_noise import CellNoise
from lapnoise.files._contents import Contents, Done, Header
from lapnoise.files._directory_source import DirectorySource
from lapnoise.files._directory_target import DirectoryTarget
from lapnoise.files._parquet import parquet_batches, parquet_reader, parquet_writer
from lapnoise.files._parquet_options import writer_options
from lapnoise.files._terms import Terms

__all__ = ["ParquetDirectory"]


class ParquetDirectory:
    """Parquet files whose named columns are noised, in the order of their paths.

    Parameters
    ----------
    source
        The directory.
    terms
        What is asked of the noise.
    columns
        Names of the columns, or None for the only numeric one.
    """

    unit = "rows"

    def __init__(self, source: DirectorySource, terms: Terms, *, columns: tuple[str, ...] | None) -> None:
        self._source = source
        self._terms = terms
        self._asked = columns
        self._layout: Layout

    def check_header(self) -> Header:
        """Read the footers alone, and refuse names and types that cannot be noised, or that differ between files."""
        rows = 0
        first: Any = None
        for file in self._source.files:
            with self._source.open(file) as opened:
                found = parquet_reader(opened, _shown(file))
                if first is None:
                    first = found.schema_arrow
                    self._layout = layout_of(first, self._terms, self._asked)
                _refuse_difference(first, found.schema_arrow, file, self._source.files[0])
                writer_options(found.metadata, self._layout)
                rows += found.metadata.num_rows
        return header_of(self._layout, rows)

    def check(self, done: Done) -> Contents:
        """Read the noised columns, refuse what cannot be noised, and say what is there."""
        rows = missing = 0
        for piece in self._pieces(self._layout.read_names(), threads=1, digest=False):
            missing += missing_cells(piece, self._layout, self._terms)
            rows += piece.batch.num_rows
            done(rows)
        return self._layout.contents(rows, missing)

    def noise(self, target: DirectoryTarget, cell_noise: CellNoise, done: Done, threads: int) -> Contents:
        """Read each file once and write it with noise."""
        rows = missing = 0
        with ExitStack() as last:
            pieces = self._pieces(None, threads, digest=True)
            noised = last.enter_context(closing(add_noise(pieces, self._layout, cell_noise, threads)))
            ready = next(noised, None)
            for part, file in enumerate(self._source.files):
                with ExitStack() as opened:
                    origin = opened.enter_context(self._source.open(file))
                    found = parquet_reader(origin, _shown(file))
                    layout = layout_of(found.schema_arrow, self._terms, self._layout.names)
                    written = opened.enter_context(target.file(file))
                    write = opened.enter_context(parquet_writer(written, found.metadata, layout))
                    while ready is not None and ready[0].part == part:
                        write(ready[0])
                        missing += ready[1]
                        rows += ready[0].batch.num_rows
                        done(rows)
                        ready = next(noised, None)
        return self._layout.contents(rows, missing)

    def _pieces(self, columns: list[str] | None, threads: int, *, digest: bool) -> Iterator[Piece]:
        cell = 0
        for part, file in enumerate(self._source.files):
            row = 0
            with self._source.open(file) as opened:
                found = parquet_reader(opened, _shown(file))
                for batch, ends_group in parquet_batches(found, self._layout, columns, threads, _shown(file)):
                    yield Piece(batch, part, _shown(file), row, cell, ends_group)
                    row += batch.num_rows
                    cell += batch.num_rows
                if digest:
                    self._source.digest_file(file, opened)


def _shown(file: str) -> str:
    return f"file {file!r}: "


def _refuse_difference(first: Any, other: Any, file: str, first_file: str) -> None:
    for number in range(max(len(first), len(other))):
        if number >= len(other):
            raise InputDataError(f"{_shown(file)}column {first.field(number).name!r} of {first_file!r} is missing")
        name, kind = other.field(number).name, shown_type(other.field(number))
        if number >= len(first):
            raise InputDataError(f"{_shown(file)}column {name!r} is not in {first_file!r}")
        if name != first.field(number).name:
            raise InputDataError(
                f"{_shown(file)}column {number + 1} is {name!r}, where {first.field(number).name!r} stands in "
                f"{first_file!r}"
            )
        before = shown_type(first.field(number))
        if kind != before or not other.field(number).type.equals(first.field(number).type):
            raise InputDataError(f"{_shown(file)}column {name!r} is of type {kind}, but {before} in {first_file!r}")
