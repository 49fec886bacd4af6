"""What every file format offers to the job that noises it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from lapnoise.files._cell_noise import CellNoise
from lapnoise.files._target import Target

__all__ = ["Contents", "Done", "Format"]

Done = Callable[[int], None]
"""Told how many rows (of an array: values) are done so far."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a source holds.

    Attributes
    ----------
    columns
        Names of the columns that are noised, in file order; empty for an array.
    rows
        Data rows, or the length of an array's first axis (1 for a single number).
    cells
        Cells in the noised columns, missing ones included.
    missing
        Missing cells among them.
    """

    columns: tuple[str, ...]
    rows: int
    cells: int
    missing: int


class Format(Protocol):
    """A source in one file format, read from its beginning by each method."""

    unit: str
    """What is counted while it is read: "rows" or "values"."""

    def check_header(self) -> None:
        """Read the header alone, and refuse what it shows to be impossible."""

    def check(self, done: Done) -> Contents:
        """Read the whole source, refuse what cannot be noised, and say what is there."""

    def noise(self, target: Target, cell_noise: CellNoise, done: Done) -> None:
        """Read the whole source again and write it with noise."""
