"""DataFrames of polars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._containers import missing_in, polars_dtype, polars_with_nulls
from lapnoise.files._cell_noise import Noised

__all__ = ["PolarsFrame"]


class PolarsFrame:
    """A DataFrame.

    Parameters
    ----------
    frame
        The DataFrame.
    polars
        The module.
    """

    def __init__(self, frame: Any, polars: Any) -> None:
        self._frame = frame
        self._polars = polars
        self.names: list[Any] = list(frame.columns)
        self.rows: int = frame.height

    def type_of(self, column: int) -> str:
        """Return the name of a column's type."""
        return str(self._frame.dtypes[column])

    def dtype_of(self, column: int) -> np.dtype[Any] | None:
        """Return the dtype of a column of integers, float32 or float64; None for all others."""
        dtype = polars_dtype(self._frame.dtypes[column])
        return None if dtype is None or dtype.kind == "b" else dtype

    def tells_strata(self, column: int) -> bool:
        """Return whether a column holds text, integers or categories."""
        kind, polars = self._frame.dtypes[column], self._polars
        return bool(kind.is_integer()) or kind in (polars.String, polars.Categorical, polars.Enum)

    def values(self, column: int, start: int, stop: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return numbers of a column, and which of them are null."""
        part = self._frame.to_series(column).slice(start, stop - start)
        missing = missing_in(part)
        return (part if missing is None else part.fill_null(0)).to_numpy(), missing

    def strata(self, column: int, places: Mapping[str, int]) -> NDArray[np.int32]:
        """Return the place of each row's stratum, -1 where it is unknown or missing."""
        texts = self._frame.to_series(column).cast(self._polars.String)
        found: NDArray[np.int32] = texts.replace_strict(
            list(places), list(places.values()), default=-1, return_dtype=self._polars.Int32
        ).to_numpy()
        return found

    def with_columns(self, noised: Mapping[int, Noised]) -> Any:
        """Return the frame with some columns replaced."""
        polars = self._polars
        made = [
            polars_with_nulls(polars.Series(self.names[i], values), missing, polars)
            for i, (values, missing) in noised.items()
        ]
        return self._frame.with_columns(made)
