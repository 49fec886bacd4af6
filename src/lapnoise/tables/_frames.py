"""What every kind of table offers to the job that noises it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lapnoise.files._cell_noise import Noised

__all__ = ["Frame", "places_of_labels"]


class Frame(Protocol):
    """A table, whose columns have numbers from 0 on."""

    names: list[Any]
    """Of the columns, in order."""

    rows: int
    """How many there are."""

    def type_of(self, column: int) -> str:
        """Return the name of a column's type, as its library has it."""

    def dtype_of(self, column: int) -> np.dtype[Any] | None:
        """Return the dtype of a column of integers, float32 or float64; None for all others."""

    def tells_strata(self, column: int) -> bool:
        """Return whether a column holds text, integers or categories."""

    def values(self, column: int, start: int, stop: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return numbers of a column, and which of them are null (None: none), beneath which anything may lie."""

    def strata(self, column: int, places: Mapping[str, int]) -> NDArray[np.signedinteger[Any]]:
        """Return the place of each row's stratum, by its text, and -1 where it is unknown or missing."""

    def with_columns(self, noised: Mapping[int, Noised]) -> Any:
        """Return the table with some columns replaced, null where they are missing; all others are shared."""


def places_of_labels(labels: Any, places: Mapping[str, int]) -> NDArray[np.int32]:
    """Return the place of each label's stratum, -1 for others, and one more -1 for what has no label."""
    found = [places.get(str(label), -1) if _is_label(label) else -1 for label in labels]
    return np.array([*found, -1], np.int32)


def _is_label(label: Any) -> bool:
    return isinstance(label, str | int | np.integer) and not isinstance(label, bool)
