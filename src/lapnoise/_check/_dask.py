"""What noise on dask collections takes: frames of pandas, arrays of known chunks, folders that all workers reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lapnoise._check._rules import shown

__all__ = [
    "dask_frame",
    "dimensions",
    "folder_there",
    "known_chunks",
    "no_columns",
    "noised_array",
    "numpy_blocks",
    "pandas_partitions",
    "shared_folder",
    "text_labels",
]


def dask_frame(value: Any, kind: type) -> None:
    """Refuse what is neither a frame nor an array."""
    if not isinstance(value, kind):
        told = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
        raise TypeError(f"data must be a dask.dataframe.DataFrame or a dask.array.Array, got {told}")


def pandas_partitions(meta: Any, kind: type) -> None:
    """Refuse frames whose partitions lie elsewhere, such as on a graphics card."""
    if not isinstance(meta, kind):
        raise TypeError(f"data must have partitions of pandas, got those of {type(meta).__module__}")


def numpy_blocks(meta: Any, kind: type) -> None:
    """Refuse arrays whose blocks have masks, are sparse or lie elsewhere."""
    if type(meta) is not kind:
        raise TypeError(f"data must have blocks of plain NumPy arrays, got {type(meta).__name__}")


def known_chunks(shape: Sequence[Any]) -> None:
    """Refuse an array of unknown shape: no element knows its place then."""
    if any(length != length for length in shape):
        raise ValueError("data must have chunks of known size: call its compute_chunk_sizes() first")


def no_columns(columns: Any, key_columns: Any) -> None:
    """Refuse names of columns where there are none."""
    for parameter, value in (("columns", columns), ("key_columns", key_columns)):
        if value is not None:
            raise TypeError(f"{parameter} must be left out for an array, got {shown(value)}")


def noised_array(kind: Any, whole: bool) -> None:
    """Refuse an array by its type."""
    if not (kind.kind in "iu" or (kind.kind == "f" and kind.itemsize in (4, 8) and not whole)):
        wanted = "integers, for discrete noise" if whole else "integers, float32 or float64"
        raise TypeError(f"data must hold {wanted}, got dtype {kind}: cast it first")


def dimensions(count: int) -> None:
    """Refuse an array that is one number, which no part of can be written."""
    if not count:
        raise ValueError("data must have at least one dimension, got none: reshape it to one element")


def text_labels(labels: Sequence[Any]) -> None:
    """Refuse a frame to be written where a column's name would come back as another one."""
    for label in labels:
        if not isinstance(label, str):
            raise TypeError(f"data must have columns whose names are text, to be written, got {shown(label)}")


def shared_folder(path: str) -> None:
    """Refuse the address of a store in which nothing can be moved at once."""
    if "://" in path:
        raise ValueError(f"path must be a folder that client and workers share, got the address {path!r}")


def folder_there(path: str, found: bool) -> None:
    """Refuse a place in a folder that is not there."""
    if not found:
        raise ValueError(f"path must lie in a folder that exists, got one in {path!r}")
