"""How many bytes rows take, told by types and by the lengths of text and lists: by nothing that a number can change."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise.files._arrow import pyarrow

__all__ = ["bytes_of"]

_VARIABLE_BYTES = 32.0
"""What a value of any length counts as where types alone are asked."""

_VIEW_BYTES, _OFFSET_BYTES = 16, 8


def bytes_of(batch: Any) -> float:
    """Return how many bytes the rows of a record batch take, as the sum of what any slices of it take.

    Numbers count by their type, and so does what is missing among them.
    """
    return sum(_bytes(column) for column in batch.columns)


def _width(kind: Any) -> float:
    types = pyarrow().types
    if hasattr(kind, "storage_type"):
        return _width(kind.storage_type)
    if types.is_struct(kind):
        return sum(_width(kind.field(i).type) for i in range(kind.num_fields))
    if types.is_fixed_size_list(kind):
        return float(kind.list_size) * _width(kind.value_type)
    try:
        return float(kind.bit_width) / 8
    except ValueError:
        return _VARIABLE_BYTES


def _bytes(array: Any) -> float:
    types, kind, rows = pyarrow().types, array.type, len(array)
    if not rows:
        return 0.0
    if hasattr(kind, "storage_type"):
        return _bytes(array.storage)
    if types.is_struct(kind):
        return sum(_bytes(array.field(i)) for i in range(kind.num_fields))
    if types.is_fixed_size_list(kind):
        return _bytes(array.values.slice(array.offset * kind.list_size, rows * kind.list_size))
    if str(kind) in ("string_view", "binary_view"):
        lengths = np.frombuffer(array.buffers()[1], np.int32)[array.offset * 4 : (array.offset + rows) * 4 : 4]
        return float(_VIEW_BYTES * rows + lengths.sum(dtype=np.int64))
    is_long = types.is_large_string(kind) or types.is_large_binary(kind) or types.is_large_list(kind)
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind)
    if not (is_long or is_list or types.is_string(kind) or types.is_binary(kind)):
        return rows * _width(kind)
    offsets = np.frombuffer(array.buffers()[1], np.int64 if is_long else np.int32)
    first, end = int(offsets[array.offset]), int(offsets[array.offset + rows])
    inside = _bytes(array.values.slice(first, end - first)) if is_list else float(end - first)
    return _OFFSET_BYTES * rows + inside
