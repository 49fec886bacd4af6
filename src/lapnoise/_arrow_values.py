"""Numbers out of Arrow arrays, and Arrow arrays out of numbers, without copies where bytes allow it.

Only buffers and types are touched: no compute function and no conversion of Arrow's, which would import pandas where it
is installed. What lies beneath a null is whatever somebody left there.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["arrow_array", "chunked_like", "chunks_of", "numpy_dtype", "values_and_missing"]

_NAMES = {"float": "float32", "double": "float64", "bool": "bool"}
_NAMES |= {f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def numpy_dtype(kind: Any) -> np.dtype[Any] | None:
    """Return the dtype of an Arrow type of integers, bool, float32 or float64; None for all others."""
    # Extension types may call themselves what they like, and their numbers may mean anything.
    name = None if hasattr(kind, "storage_type") else _NAMES.get(str(kind))
    return None if name is None else np.dtype(name)


def chunks_of(column: Any) -> list[Any]:
    """Return the chunks of an Array or a ChunkedArray."""
    return list(column.chunks) if hasattr(column, "chunks") else [column]


def values_and_missing(chunk: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the numbers of an Array, read-only and nulls with whatever lies beneath, and which are null.

    No mask comes back where nothing is null. Only bool is copied.
    """
    dtype = numpy_dtype(chunk.type)
    validity, data = chunk.buffers()[:2]
    start, length = chunk.offset, len(chunk)
    if dtype is None or data is None or length == 0:
        values = np.zeros(length, dtype or np.float64)
    elif dtype.kind == "b":
        values = _bits(data, start, length)
    else:
        values = np.frombuffer(data, dtype, length, start * dtype.itemsize)
    if validity is None or not chunk.null_count:
        return values, None
    return values, ~_bits(validity, start, length)


def arrow_array(values: NDArray[Any], missing: NDArray[np.bool_] | None, pyarrow: Any) -> Any:
    """Return an Array over the numbers themselves (integers, float32 or float64), null where they are missing."""
    data = np.ascontiguousarray(values)
    validity, nulls = None, 0
    if missing is not None and (nulls := int(np.count_nonzero(missing))):
        validity = pyarrow.py_buffer(np.packbits(~missing, bitorder="little"))
    buffers = [validity, pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.from_numpy_dtype(data.dtype), data.size, buffers, nulls)


def chunked_like(
    lengths: Sequence[int], values: NDArray[Any], missing: NDArray[np.bool_] | None, pyarrow: Any
) -> list[Any]:
    """Return numbers as Arrays of these lengths, one after the other."""
    ends = np.cumsum([0, *lengths]).tolist()
    return [
        arrow_array(values[start:stop], None if missing is None else missing[start:stop], pyarrow)
        for start, stop in itertools.pairwise(ends)
    ]


def _bits(buffer: Any, start: int, length: int) -> NDArray[np.bool_]:
    """Return bits of a buffer that Arrow packed, the lowest of a byte first."""
    first, last = start >> 3, (start + length + 7) >> 3
    packed = np.frombuffer(buffer, np.uint8, last - first, first)
    skipped = start & 7
    return np.unpackbits(packed, bitorder="little")[skipped : skipped + length].view(np.bool_)
