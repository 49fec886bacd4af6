"""What every file format offers to the job that noises it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from lapnoise.files._target import Target

__all__ = ["AddNoise", "Contents", "Done", "Format"]

AddNoise = Callable[[NDArray[Any]], None]
"""Adds noise in place to a C-contiguous array, the next values of the released vector in C order."""

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
    float32
        Whether noise is added to float32 values; else to float64 values.
    """

    columns: tuple[str, ...]
    rows: int
    cells: int
    missing: int
    float32: bool = False


class Format(Protocol):
    """A source in one file format, read from its beginning by each method."""

    unit: str
    """What is counted while it is read: "rows" or "values"."""

    def check(self, done: Done) -> Contents:
        """Read the whole source, refuse what cannot be noised, and say what is there."""

    def noise(self, target: Target, add_noise: AddNoise, done: Done) -> None:
        """Read the whole source again and write it with noise."""
