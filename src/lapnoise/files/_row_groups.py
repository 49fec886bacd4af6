"""Row groups of a target, whose ends tell nothing of the noised columns.

Where one ends follows from the row groups of the source, from types, and from the columns that are published as they
are; never from how many bytes the numbers of the source took, nor from the pieces in which it was read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from lapnoise.files._arrow import pyarrow
from lapnoise.files._row_bytes import bytes_of

__all__ = ["MOST_GROUP_ROWS", "RowGroups"]

MOST_GROUP_ROWS = 1 << 20
"""A row group of the target has no more rows, however many one of the source has."""

MOST_GROUP_BYTES = 1 << 26
"""Nor more bytes in memory, about, since it is written as a whole."""

GRID_ROWS = 1 << 8
"""A group that has these bytes ends at a multiple of so many rows: pieces end elsewhere."""


class RowGroups:
    """Pieces of a table, gathered into the row groups to be written.

    Parameters
    ----------
    schema
        Of the target, of `pyarrow`.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._batches: list[Any] = []
        self._rows = 0
        self._bytes = 0.0

    def add(self, batch: Any, *, ends_group: bool) -> Iterator[Any]:
        """Take the next rows, and yield the tables of the groups that are full with them."""
        while batch.num_rows:
            rows, is_full = self._room(batch)
            taken, batch = batch.slice(0, rows), batch.slice(rows)
            self._batches.append(taken)
            self._rows += rows
            self._bytes += bytes_of(taken)
            if is_full or (ends_group and not batch.num_rows):
                yield self._table()

    def rest(self) -> Iterator[Any]:
        """Yield the table of what is left, if there is something."""
        if self._rows:
            yield self._table()

    def _room(self, batch: Any) -> tuple[int, bool]:
        """Return how many rows of a batch still go into this group, and whether it is full then."""
        rows = min(batch.num_rows, MOST_GROUP_ROWS - self._rows)
        if self._bytes + bytes_of(batch.slice(0, rows)) >= MOST_GROUP_BYTES:
            ends = range(GRID_ROWS - self._rows % GRID_ROWS, rows + 1, GRID_ROWS)
            found = bisect_left(
                ends, True, key=lambda end: self._bytes + bytes_of(batch.slice(0, end)) >= MOST_GROUP_BYTES
            )
            if found < len(ends):
                return ends[found], True
        return rows, self._rows + rows >= MOST_GROUP_ROWS

    def _table(self) -> Any:
        table = pyarrow().Table.from_batches(self._batches, self._schema)
        self._batches, self._rows, self._bytes = [], 0, 0.0
        # Pages would else begin anew with each piece.
        return table.combine_chunks()
