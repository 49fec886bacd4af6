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
    if not (pandas.api.types.is_numeric_dtype(series.dtype) or pandas.api.types.is_bool_dtype(series.dtype)):
        return np.asarray(series), plain
    missing = series.isna().to_numpy()
    kind = np.float32 if str(series.dtype).lower() in ("float32", "float[pyarrow]") else np.float64
    data = series.to_numpy(dtype=kind, na_value=np.nan)

    def nullable(result: NDArray[Any]) -> Any:
        dtype = _nullable_dtype(series.dtype, result.dtype, pandas)
        return plain(result).astype(dtype).mask(missing, pandas.NA)

    return data, nullable


def _nullable_dtype(dtype: Any, kind: np.dtype[Any], pandas: Any) -> Any:
    if isinstance(dtype, pandas.ArrowDtype):
        return "double[pyarrow]" if kind == np.float64 else "float[pyarrow]"
    return "Float64" if kind == np.float64 else "Float32"
