"""DataFrames of pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._arrow_values import chunked_like, chunks_of, numpy_dtype
from lapnoise.files._cell_noise import Noised
from lapnoise.tables._arrow import joined, strata_places, tells_strata
from lapnoise.tables._frames import places_of_labels

__all__ = ["PandasFrame"]


class PandasFrame:
    """A DataFrame whose columns may be of NumPy's, pandas' nullable, and Arrow's types.

    Parameters
    ----------
    frame
        The DataFrame.
    pandas
        The module.
    """

    def __init__(self, frame: Any, pandas: Any) -> None:
        self._frame = frame
        self._pandas = pandas
        self.names: list[Any] = list(frame.columns)
        self.rows: int = len(frame)

    def type_of(self, column: int) -> str:
        """Return the name of a column's type."""
        return str(self._frame.dtypes.iloc[column])

    def dtype_of(self, column: int) -> np.dtype[Any] | None:
        """Return the dtype of a column of integers, float32 or float64; None for all others."""
        dtype = self._frame.dtypes.iloc[column]
        if self._is_arrow(dtype):
            dtype = numpy_dtype(dtype.pyarrow_dtype)
        elif self._is_nullable(self._array(column)):
            dtype = dtype.numpy_dtype
        if not isinstance(dtype, np.dtype) or dtype.kind not in "iuf" or dtype.itemsize > 8 or dtype.char == "e":
            return None
        return dtype

    def tells_strata(self, column: int) -> bool:
        """Return whether a column holds text, integers or categories; of objects that shows later."""
        dtype = self._frame.dtypes.iloc[column]
        types = self._pandas.api.types
        if self._is_arrow(dtype):
            return tells_strata(dtype.pyarrow_dtype)
        if isinstance(dtype, self._pandas.CategoricalDtype | self._pandas.StringDtype):
            return True
        return bool(types.is_integer_dtype(dtype) or types.is_object_dtype(dtype))

    def values(self, column: int, start: int, stop: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return numbers of a column, and which of them are null."""
        array = self._array(column)
        if self._is_arrow(array.dtype):
            return joined(chunks_of(array.__arrow_array__().slice(start, stop - start)))
        part = array[start:stop]
        if self._is_nullable(part):
            dtype = part.dtype.numpy_dtype
            return part.to_numpy(dtype=dtype, na_value=dtype.type(0)), part.isna()
        return part.to_numpy(), None

    def strata(self, column: int, places: Mapping[str, int]) -> NDArray[np.int32]:
        """Return the place of each row's stratum, -1 where it is unknown or missing."""
        array = self._array(column)
        if self._is_arrow(array.dtype):
            return strata_places(array.__arrow_array__(), places)
        if isinstance(array.dtype, self._pandas.CategoricalDtype):
            codes, labels = array.codes, array.categories
        else:
            codes, labels = self._pandas.factorize(array)
        found: NDArray[np.int32] = places_of_labels(labels, places)[codes]  # -1 is the last
        return found

    def with_columns(self, noised: Mapping[int, Noised]) -> Any:
        """Return the frame with some columns replaced; index, labels and attributes stay."""
        made = self._frame.copy(deep=False)
        for i, (values, missing) in noised.items():
            column = self._like(self._array(i), values, missing)
            # A bare array would be copied.
            made.isetitem(i, self._pandas.Series(column, index=made.index, copy=False))
        return made

    def _like(self, before: Any, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
        """Return numbers as an array of the same family as a column was."""
        arrays = self._pandas.arrays
        if self._is_arrow(before.dtype):
            import pyarrow

            chunks = chunked_like(list(map(len, chunks_of(before.__arrow_array__()))), values, missing, pyarrow)
            kind = pyarrow.from_numpy_dtype(values.dtype)
            return arrays.ArrowExtensionArray(pyarrow.chunked_array(chunks, type=kind))
        if not self._is_nullable(before):
            return values
        mask = np.zeros(values.shape, np.bool_) if missing is None else missing
        return (arrays.FloatingArray if values.dtype.kind == "f" else arrays.IntegerArray)(values, mask)

    def _array(self, column: int) -> Any:
        return self._frame.iloc[:, column].array

    def _is_arrow(self, dtype: Any) -> bool:
        return isinstance(dtype, self._pandas.ArrowDtype)

    def _is_nullable(self, array: Any) -> bool:
        return isinstance(array, self._pandas.arrays.IntegerArray | self._pandas.arrays.FloatingArray)
