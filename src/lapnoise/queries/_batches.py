"""Rows from whatever holds them: arrays, lists, Series, Arrow arrays, and iterables of these as batches.

Each row is read by itself: what its neighbours are never changes what it counts as. So a list that mixes integers and
floats is not handed to NumPy, which would round the integers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._canonical import is_missing
from lapnoise._containers import Foreign, is_series, unwrap

__all__ = ["Batch", "batches", "dimensions", "is_batched", "missing", "read", "verify"]


class Batch(NamedTuple):
    """Rows that are there, in one or more arrays.

    Attributes
    ----------
    length : int
        Rows, the missing ones included.
    parts : list of (rows, values)
        One-dimensional arrays, and which rows they are: an index array, or None for all. Values may still be NaN.
    """

    length: int
    parts: list[tuple[NDArray[np.intp] | None, NDArray[Any]]]


def dimensions(values: Any) -> int:
    """Return how many axes this has; 0 for what is no column."""
    column = hasattr(values, "__len__") and not isinstance(values, str | bytes | dict)
    return int(getattr(values, "ndim", int(column)))


def is_batched(values: Any) -> bool:
    """Return whether this is an iterable of batches and not one batch."""
    if isinstance(values, list | tuple):
        # Of arrays, that is: a tuple may be a category, and a list of numbers is a row too many.
        return len(values) > 0 and (getattr(values[0], "ndim", 0) > 0 or _is_arrow(values[0]))
    one = isinstance(values, range | np.ndarray) or hasattr(values, "__array__") or _is_arrow(values)
    return not one and not isinstance(values, str | bytes | dict) and hasattr(values, "__iter__")


def verify(values: Any, numbers: bool) -> None:
    """Refuse one batch of the wrong shape or type, without looking at a value; batches are verified as they come."""
    if is_batched(values):
        return
    _check.one_column("values", values, dimensions(values))
    if numbers and not _may_be_numbers(values):
        _check.numeric(getattr(values, "dtype", getattr(values, "type", None)))
    kind = getattr(values, "dtype", None)
    if numbers and isinstance(kind, np.dtype) and kind.kind != "O":
        _check.numeric(kind)


def batches(values: Any, numbers: bool) -> Iterator[Batch]:
    """Yield the batches, one where values are no iterable of batches."""
    if not is_batched(values):
        yield read(values, numbers)
        return
    for batch in values:
        _check.batch(batch, isinstance(batch, list | range | np.ndarray) or is_series(batch) or _is_column(batch))
        verify(batch, numbers)
        yield read(batch, numbers)


def read(values: Any, numbers: bool) -> Batch:
    """Return the rows of one batch that are not null; NaN may still be among them.

    With ``numbers`` the arrays are of real numbers, else of any type.
    """
    if _is_arrow(values):
        return _read_arrow(values, numbers)
    if isinstance(values, np.ma.MaskedArray):
        rows = np.flatnonzero(~np.ma.getmaskarray(values))
        return _subset(len(values), rows, values.data[rows], numbers)
    if is_series(values):
        if isinstance(values.dtype, np.dtype):
            return read(values.to_numpy(), numbers)
        rows = np.flatnonzero(values.notna().to_numpy())
        there = values.iloc[rows]
        plain = unwrap(there)[0]
        return _subset(
            len(values), rows, there.to_numpy(dtype=object) if isinstance(plain, Foreign) else plain, numbers
        )
    if isinstance(values, list | tuple | range):
        kinds = set(map(type, values))
        if kinds == {float}:
            return Batch(len(values), [(None, np.array(values))])
        return _read_objects(values, numbers)
    array = np.asarray(values)
    _check.one_dimension("values", array.ndim)
    if array.dtype.kind in "OT":
        return _read_objects(array.tolist(), numbers)
    if numbers:
        _check.numeric(array.dtype)
    return Batch(array.size, [(None, array)])


def missing(values: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Return which entries are NaN or NaT; None where the type has neither."""
    lost: NDArray[np.bool_] | None = None
    if values.dtype.kind in "fc":
        lost = np.isnan(values)
    elif values.dtype.kind in "mM":
        lost = np.isnat(values)
    return lost


def _may_be_numbers(values: Any) -> bool:
    """Return whether a type that is none of NumPy's can hold numbers."""
    if _is_arrow(values):
        types = sys.modules["pyarrow"].types
        kind = values.type.value_type if types.is_dictionary(values.type) else values.type
        tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
        return any(test(kind) for test in tests)
    if is_series(values) and not isinstance(values.dtype, np.dtype):
        return bool(sys.modules["pandas"].api.types.is_numeric_dtype(values.dtype))
    return True


def _subset(length: int, rows: NDArray[np.intp], values: Any, numbers: bool) -> Batch:
    """Return the batch of which these are the rows that are there."""
    inner = read(values, numbers)
    return Batch(length, [(rows if where is None else rows[where], part) for where, part in inner.parts])


def _is_column(values: Any) -> bool:
    """Return whether this is a column of another library, Arrow's among them."""
    return _is_arrow(values) or (hasattr(values, "__array__") and not isinstance(values, np.generic))


def _is_arrow(values: Any) -> bool:
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(values, arrow.Array | arrow.ChunkedArray)


def _read_arrow(values: Any, numbers: bool) -> Batch:
    chunks = values.chunks if hasattr(values, "chunks") else [values]
    start, parts = 0, []
    for chunk in chunks:
        plain = chunk.dictionary_decode() if hasattr(chunk, "dictionary_decode") else chunk
        there = np.flatnonzero(plain.is_valid().to_numpy(zero_copy_only=False)) + start
        parts += _subset(len(plain), there, plain.drop_null().to_numpy(zero_copy_only=False), numbers).parts
        start += len(plain)
    return Batch(start, parts)


def _read_objects(values: Any, numbers: bool) -> Batch:
    """Return Python objects as arrays: with ``numbers`` one of int64, one of uint64, one of floats, by their kind."""
    rows: dict[str, list[int]] = {"int64": [], "uint64": [], "float64": [], "object": []}
    found: dict[str, list[Any]] = {kind: [] for kind in rows}
    for i, entry in enumerate(values):
        if is_missing(entry):
            continue
        kind, value = _number(entry) if numbers else ("object", entry)
        rows[kind].append(i)
        found[kind].append(value)
    parts: list[tuple[NDArray[np.intp] | None, NDArray[Any]]] = []
    for kind, entries in found.items():
        if entries:
            array = np.empty(len(entries), kind)
            array[:] = entries
            parts.append((np.array(rows[kind], np.intp), array))
    return Batch(len(values), parts)


def _number(entry: Any) -> tuple[str, int | float]:
    if isinstance(entry, Integral | np.bool_):
        value = int(entry)
        if -(2**63) <= value < 2**64:
            return ("int64" if value < 2**63 else "uint64"), value
    elif not isinstance(entry, Real | Decimal):
        _check.numeric(np.dtype(object))
    try:
        return "float64", float(entry)
    except OverflowError:
        return "float64", math.inf if entry > Fraction(0) else -math.inf
