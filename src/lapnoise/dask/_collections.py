"""Where dask is imported, and what of its collections is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lapnoise import _check

if TYPE_CHECKING:
    from dask.array import Array
    from dask.dataframe import DataFrame

__all__ = ["array_or_none", "frame_of"]


def frame_of(value: Any) -> DataFrame:
    """Return a frame whose partitions are those of pandas."""
    import_dask()
    import pandas as pd
    from dask import dataframe

    _check.dask_frame(value, dataframe.DataFrame)
    _check.pandas_partitions(value._meta, pd.DataFrame)
    return value


def array_or_none(value: Any) -> Array | None:
    """Return an array of known shape whose blocks are those of NumPy; None of what is no array at all."""
    import_dask()
    from dask import array

    if not isinstance(value, array.Array):
        return None
    _check.numpy_blocks(value._meta, np.ndarray)
    _check.known_chunks(value.shape)
    return value


def import_dask() -> None:
    """Say which extra is missing where one of its packages is."""
    try:
        import dask.array
        import dask.dataframe  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        _check.clustered("dask", error)
