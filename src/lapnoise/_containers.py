"""Values in, the same kind out: how a result takes the form of what was given.

Neither pandas nor polars nor pyarrow is imported here: where no object of theirs exists there is nothing to recognise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._arrow_values import chunked_like, chunks_of, numpy_dtype, values_and_missing

__all__ = [
    "Foreign",
    "describe",
    "is_arrow",
    "is_column",
    "is_frame",
    "is_polars",
    "is_series",
    "missing_in",
    "polars_dtype",
    "polars_with_nulls",
    "unwrap",
]

Rewrap = Callable[[NDArray[Any]], Any]


class Foreign:
    """A column of a type that holds no numbers NumPy has, to be refused by the name of that type."""

    def __init__(self, kind: Any) -> None:
        self.kind = str(kind)


def unwrap(values: Any) -> tuple[Any, Rewrap]:
    """Return what the numbers are taken from, and a function that gives a result the form of ``values``.

    Numbers become numbers, 0-d arrays 0-d arrays, lists and tuples arrays; masked arrays keep their mask, pandas Series
    their index, name and missing values, polars Series their name and nulls, Arrow arrays nulls and chunks. What lies
    beneath a null is replaced: by NaN, among integers by 0.
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
    if is_polars(values):
        return _unwrap_polars(values, sys.modules["polars"])
    if is_arrow(values):
        return _unwrap_arrow(values, sys.modules["pyarrow"])
    return values, lambda result: result.item() if result.ndim == 0 else result


def is_series(values: Any) -> bool:
    """Return whether these are a pandas Series, whose result must have its length."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(values, pandas.Series)


def is_polars(values: Any) -> bool:
    """Return whether these are a polars Series."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(values, polars.Series)


def is_arrow(values: Any) -> bool:
    """Return whether these are an Arrow array, in chunks or not."""
    pyarrow = sys.modules.get("pyarrow")
    return pyarrow is not None and isinstance(values, pyarrow.Array | pyarrow.ChunkedArray)


def is_column(values: Any) -> bool:
    """Return whether these are a column of another library than NumPy, whose result must have its length."""
    return is_series(values) or is_polars(values) or is_arrow(values)


_FRAMES = {"pandas": ("DataFrame",), "polars": ("DataFrame", "LazyFrame"), "pyarrow": ("Table", "RecordBatch")}


def is_frame(values: Any) -> bool:
    """Return whether this is a table of several columns."""
    modules = ((sys.modules.get(home), names) for home, names in _FRAMES.items())
    return any(isinstance(values, getattr(home, name)) for home, names in modules if home for name in names)


def missing_in(values: Any) -> NDArray[np.bool_] | None:
    """Return which entries of a column are missing; None where these are no such column, or none is."""
    if is_series(values):
        mask: NDArray[np.bool_] = values.isna().to_numpy()
        return mask
    if is_polars(values):
        return _polars_nulls(values)
    return _arrow_nulls(values) if is_arrow(values) and numpy_dtype(values.type) is not None else None


def describe(values: Any) -> tuple[list[int], str]:
    """Return shape and dtype: what may be said of data without saying anything of values."""
    if is_arrow(values):
        return [len(values)], str(values.type)
    return list(np.shape(values)), str(getattr(values, "dtype", None))


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
        return Foreign(series.dtype), plain

    def nullable(result: NDArray[Any]) -> Any:
        name = result.dtype.name if isinstance(series.dtype, pandas.ArrowDtype) else result.dtype.name.capitalize()
        suffix = "[pyarrow]" if isinstance(series.dtype, pandas.ArrowDtype) else ""
        return plain(result).astype(_ARROW_NAMES.get(name, name) + suffix).mask(missing, pandas.NA)

    return data, nullable


_ARROW_NAMES = {"float64": "double", "float32": "float"}


def _integer_kind(dtype: Any, types: Any) -> type[np.generic]:
    return np.uint64 if types.is_unsigned_integer_dtype(dtype) else np.int64


_POLARS_NAMES = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)} | {"Float32", "Float64"}


def polars_dtype(kind: Any) -> np.dtype[Any] | None:
    """Return the dtype of a polars type of integers, bool, float32 or float64; None for all others."""
    name = str(kind)
    if name == "Boolean":
        return np.dtype(np.bool_)
    return np.dtype(name.lower()) if name in _POLARS_NAMES else None


def _unwrap_polars(series: Any, polars: Any) -> tuple[Any, Rewrap]:
    kind = polars_dtype(series.dtype)
    if kind is None:
        return Foreign(series.dtype), lambda result: result
    missing = _polars_nulls(series)
    filled = series if missing is None else series.fill_null(kind.type(np.nan if kind.kind == "f" else 0).item())

    def named(result: NDArray[Any]) -> Any:
        return polars_with_nulls(polars.Series(series.name, result), missing, polars)

    return filled.to_numpy(), named


def polars_with_nulls(series: Any, missing: NDArray[np.bool_] | None, polars: Any) -> Any:
    """Return a polars Series that is null where it is missing."""
    return series if missing is None or not missing.any() else series.set(polars.Series(missing), None)


def _polars_nulls(series: Any) -> NDArray[np.bool_] | None:
    return series.is_null().to_numpy() if series.null_count() else None


def _unwrap_arrow(column: Any, pyarrow: Any) -> tuple[Any, Rewrap]:
    kind = numpy_dtype(column.type)
    if kind is None:
        return Foreign(column.type), lambda result: result
    chunks = chunks_of(column)
    missing = _arrow_nulls(column)
    values = _joined([values_and_missing(chunk)[0] for chunk in chunks], kind)
    if missing is not None:
        values = np.where(missing, kind.type(np.nan if kind.kind == "f" else 0), values)

    def rewrapped(result: NDArray[Any]) -> Any:
        made = chunked_like(list(map(len, chunks)), result, missing, pyarrow)
        if not hasattr(column, "chunks"):
            return made[0]
        return pyarrow.chunked_array(made, type=pyarrow.from_numpy_dtype(result.dtype))

    return values, rewrapped


def _arrow_nulls(column: Any) -> NDArray[np.bool_] | None:
    if not column.null_count:
        return None
    masks = ((len(chunk), values_and_missing(chunk)[1]) for chunk in chunks_of(column))
    return _joined([np.zeros(length, np.bool_) if mask is None else mask for length, mask in masks], np.dtype(np.bool_))


def _joined(parts: list[NDArray[Any]], kind: np.dtype[Any]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, kind), *parts])
