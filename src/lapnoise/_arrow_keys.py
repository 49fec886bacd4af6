"""Arrow arrays to columns of row keys, and to values with a mask: their buffers where they lie, slices and all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._row_keys import BINARY, DATE, TEXT, BytesColumn, IntegerColumn, KeyColumn, from_numpy, microseconds

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_arrow", "values_and_mask"]

_DAY = 86_400_000


def from_arrow(name: str, array: pa.Array | pa.ChunkedArray) -> KeyColumn:
    """Return a column of keys: integers, bool, dates, times, text and binary, of whatever width and layout."""
    import pyarrow as pa

    whole = _decoded(array)
    kind = whole.type
    _check.no_missing_key(name, _null_rows(whole))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return from_numpy(name, whole.to_numpy(zero_copy_only=False))
    if pa.types.is_date32(kind):
        return IntegerColumn(whole.cast(pa.int32()).to_numpy(), DATE, DATE)
    if pa.types.is_date64(kind):
        return IntegerColumn(whole.cast(pa.int64()).to_numpy() // _DAY, DATE, DATE)
    if pa.types.is_timestamp(kind):
        return microseconds(name, whole.cast(pa.int64()).to_numpy(), kind.unit)
    if str(kind) in ("string", "large_string", "string_view"):  # older Arrow lacks the last
        return _bytes(whole.cast(pa.large_string()), TEXT)
    if pa.types.is_fixed_size_binary(kind):
        return _bytes(whole.cast(pa.binary()).cast(pa.large_binary()), BINARY)
    if str(kind) in ("binary", "large_binary", "binary_view"):
        return _bytes(whole.cast(pa.large_binary()), BINARY)
    return _check.key_type(name, f"Arrow type {kind}")


def values_and_mask(array: pa.Array | pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return numbers as a NumPy array, and where they are missing; None if nowhere."""
    whole = _decoded(array)
    if not whole.null_count:
        return whole.to_numpy(zero_copy_only=False), None
    mask = whole.is_null().to_numpy(zero_copy_only=False)
    return whole.fill_null(False if str(whole.type) == "bool" else 0).to_numpy(zero_copy_only=False), mask


def _decoded(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one array without chunks and without a dictionary."""
    import pyarrow as pa

    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if isinstance(whole, pa.ChunkedArray):  # what older versions give where there is no chunk
        whole = pa.array([], array.type)
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def _null_rows(array: pa.Array) -> NDArray[np.intp]:
    if not array.null_count:
        return np.empty(0, np.intp)
    return np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))


def _bytes(array: pa.Array, tag: int) -> BytesColumn:
    _, offsets, data = array.buffers()
    if offsets is None or not len(array):  # an empty array may have no buffers
        return BytesColumn(np.zeros(1, np.int64), np.empty(0, np.uint8), tag)
    places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return BytesColumn(places, np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), tag)
