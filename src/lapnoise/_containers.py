"""Values in, the same kind out: how a result takes the form of what was given.

pandas is never imported here: where no pandas object exists there is nothing to recognise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_series", "unwrap"]

Rewrap = Callable[[NDArray[Any]], Any]


def unwrap(values: Any) -> tuple[Any, Rewrap]:
    """Return what the numbers are taken from, and a function that gives a result the form of ``values``.

    Numbers become numbers, 0-d arrays 0-d arrays, lists and tuples arrays; masked arrays keep their mask, pandas Series
    their index, name and missing values.
    """
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values).copy()
        return values.data, lambda result: np.ma.MaskedArray(result, mask=np.broadcast_to(mask, np.shape(result)))
    if isinstance(values, np.ndarray):
        return values, lambda result: result
    if isinstance(values, np.generic):
        return values, lambda result: result[()]
    if is_series(values):
        return _unwrap_series(values, sys.modules["pandas"])
    return values, lambda result: result.item() if result.ndim == 0 else result


def is_series(values: Any) -> bool:
    """Return whether these are a pandas Series, whose result must have its length."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(values, pandas.Series)


def _unwrap_series(series: Any, pandas: Any) -> tuple[Any, Rewrap]:
    def plain(result: NDArray[Any]) -> Any:
        return pandas.Series(result, index=series.index, name=series.name, copy=False)

    if isinstance(series.dtype, np.dtype):
        return series.to_numpy(), plain
    types = pandas.api.types
    missing = series.isna().to_numpy()
    data: Any
    if types.is_bool_dtype(series.dtype):
        data = series.to_numpy(dtype=np.bool_, na_value=False)
    elif types.is_integer_dtype(series.dtype):
        # Integers never pass through a float; what stands in for a missing one is masked again afterwards.
        data = series.to_numpy(dtype=_integer_kind(series.dtype, types), na_value=0)
    elif types.is_float_dtype(series.dtype) and series.dtype.numpy_dtype.itemsize > 2:
        data = series.to_numpy(dtype=series.dtype.numpy_dtype, na_value=np.nan)
    else:
        return series.to_numpy(dtype=object), plain

    def nullable(result: NDArray[Any]) -> Any:
        name = result.dtype.name if isinstance(series.dtype, pandas.ArrowDtype) else result.dtype.name.capitalize()
        suffix = "[pyarrow]" if isinstance(series.dtype, pandas.ArrowDtype) else ""
        return plain(result).astype(_ARROW_NAMES.get(name, name) + suffix).mask(missing, pandas.NA)

    return data, nullable


_ARROW_NAMES = {"float64": "double", "float32": "float"}


def _integer_kind(dtype: Any, types: Any) -> type[np.generic]:
    return np.uint64 if types.is_unsigned_integer_dtype(dtype) else np.int64
