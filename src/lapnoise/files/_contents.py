"""What every file format offers to the job that noises it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from lapnoise.files._cell_noise import CellNoise
from lapnoise.files._cells import INFINITE, MISSING_CELL

__all__ = ["Contents", "Done", "Format", "Header", "advice_for"]

Done = Callable[[int], None]
"""Told how many rows (of an array: values) are done so far."""


def advice_for(kind: str) -> str:
    """Return what a message about a cell of this kind says of a way out."""
    return {
        INFINITE: "; clip bounds such values (--clip)",
        MISSING_CELL: "; fill says what such a cell counts as (--fill)",
    }.get(kind, "")


@dataclass(frozen=True, slots=True)
class Header:
    """What the beginning of a source tells, before any value is read.

    Attributes
    ----------
    columns
        Names of the columns that are noised, in file order; empty for an array, and where only the values can tell.
    cells_per_row
        Noised cells in a row.
    contents
        What is there, but for the number of missing cells; None where the whole file must be read to know.
    """

    columns: tuple[str, ...]
    cells_per_row: int
    contents: Contents | None


@dataclass(frozen=True, slots=True)
class Contents:
    """What a source holds.

    Attributes
    ----------
    columns
        Names of the columns that are noised, in file order; empty for an array.
    types
        For each noised column, or for the array, its type in the source and in the target.
    rows
        Data rows, or the length of an array's first axis.
    cells
        Cells in the noised columns, missing ones included.
    missing
        Missing cells among them.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: int
    cells: int
    missing: int


class Format(Protocol):
    """A source in one file format, read from its beginning by each method."""

    unit: str
    """What is counted while it is read: "rows" or "values"."""

    def check_header(self) -> Header:
        """Read the header alone, and refuse what it shows to be impossible."""

    def check(self, done: Done) -> Contents:
        """Read the whole source, refuse what cannot be noised, and say what is there."""

    def noise(self, target: Any, cell_noise: CellNoise, done: Done, threads: int) -> Contents:
        """Read the whole source, write it with noise, and say what is there; refuse what `check` refuses.

        ``target`` is an `Output` of `lapnoise.files._target`, or a `DirectoryTarget` where the source is a directory.
        """
