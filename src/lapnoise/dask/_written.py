"""Noise that is drawn once, written once and read back: on columns of a frame, and on an array."""

from __future__ import annotations

import io
import os
import pickle
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._cluster_charge import DrawnCharge
from lapnoise._record_batches import DRAWN, DrawnBatches
from lapnoise.dask._blocks import ELEMENT, DrawnBlock, noised_dtype
from lapnoise.dask._collections import array_or_none, frame_of
from lapnoise.dask._partitions import Partition, noised_meta
from lapnoise.dask._place import Place

if TYPE_CHECKING:
    import pandas as pd
    from dask.array import Array
    from dask.dataframe import DataFrame

    from lapnoise.ledger import PrivacyLedger

__all__ = ["release"]


def release(
    data: Any,
    path: str | os.PathLike[str],
    *,
    columns: str | Iterable[str] | None = None,
    mechanism: Any,
    ledger: PrivacyLedger | None = None,
    label: str = "dask.release",
    data_version: str | None = None,
) -> Any:
    """Draw noise once, write what gets it, and return it as it is read back.

    Each attempt of a task draws under a key of its own from the operating system, and writes a file of its own in a
    folder beside ``path``. When every part is there, one file of each moves to ``path``, all at once; the others are
    removed. What is read afterwards are files: nothing is computed anew.

    Parameters
    ----------
    data : dask.dataframe.DataFrame or dask.array.Array
        A frame of pandas partitions, or an array of NumPy blocks whose shape is known, of one dimension at least.
    path : str or path-like
        A folder that does not exist yet, in a file system that client and workers share. A frame is written as Parquet
        with its index, an array as `dask.array.from_npy_stack` reads it, in pieces along its first axis.
    columns : str or iterable of str
        Of a frame: columns of integers, float or double. Float stays float; integers become double, and int64 with a
        mechanism on integers. Nulls and NaN stay, and so do other columns. All elements of an array get noise.
    mechanism : mechanism
        Laplace, discrete Laplace, Gaussian, bounded or truncated Laplace. All noised cells form one vector. Where
        ``changed`` is None the rows of a frame are counted first, and the length of the vector is their number times
        that of the columns; what is written must have as many rows.
    ledger : PrivacyLedger, optional
        Charged before a value is read. The charge stands whatever happens then.
    label : str, optional
        Name of the charge.
    data_version : str, optional
        What you call the state of the data.

    Returns
    -------
    dask.dataframe.DataFrame or dask.array.Array
        Read from ``path``.

    Raises
    ------
    TypeError, ValueError
        Where an argument or a type breaks a rule, or the path exists; nothing is charged then. Where the frame has
        another number of rows when it is written than when they were counted: nothing stays of what was written.
    BudgetExhaustedError
        If the charge does not fit.
    """
    array = array_or_none(data)
    if array is not None:
        _check.no_columns(columns, None)
        return _release_array(array, path, mechanism, DrawnCharge(ledger, label, data_version))
    frame = frame_of(data)
    names = _check.column_names("columns", columns, list(frame.columns))
    _check.drawn_mechanism(mechanism, DRAWN)
    _check.text_labels(list(frame.columns))
    # What Parquet cannot hold fails here, before the charge.
    noised_meta(frame, DrawnBatches(mechanism, names)).to_parquet(io.BytesIO(), engine="pyarrow", index=True)
    place = Place(path)

    def write(bound: Any, folder: Path, rows: int | None) -> None:
        attempt = FrameAttempt(Partition(DrawnBatches(bound, names)), folder)
        found = frame.map_partitions(attempt.write, meta=attempt.meta(), clear_divisions=True).compute()
        if rows is not None:
            _check.rows_written(rows, int(found["rows"].sum()), str(place.path))
        place.publish(list(found["file"]), "part-{:06d}.parquet".format)

    def count() -> int:
        return len(frame)

    _write_once(place, mechanism, names, DrawnCharge(ledger, label, data_version), count, write)
    return _read_frame(place.path, frame)


def _read_frame(path: Path, like: DataFrame) -> DataFrame:
    from dask import dataframe

    return dataframe.read_parquet(path, calculate_divisions=like.known_divisions)


def _release_array(array: Array, path: Any, mechanism: Any, charge: DrawnCharge) -> Array:
    from dask import array as arrays

    _check.drawn_mechanism(mechanism, DRAWN)
    _check.dimensions(array.ndim)
    kind = noised_dtype(array, DrawnBatches(mechanism, (ELEMENT,)))
    place = Place(path)
    parts = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))

    def write(bound: Any, folder: Path, _: int | None) -> None:
        attempt = ArrayAttempt(DrawnBlock(bound), folder)
        one = ((1,) * parts.numblocks[0], *((1,),) * (array.ndim - 1))
        names = parts.map_blocks(attempt.write, dtype="U32", chunks=one, meta=np.empty((0,) * array.ndim, "U32"))
        info = pickle.dumps({"chunks": parts.chunks, "dtype": kind, "axis": 0})
        place.publish(names.compute().reshape(-1).tolist(), "{}.npy".format, info=info)

    _write_once(place, mechanism, (ELEMENT,), charge, lambda: array.size, write)
    return arrays.from_npy_stack(str(place.path))


def _write_once(
    place: Place,
    mechanism: Any,
    names: tuple[str, ...],
    charge: DrawnCharge,
    count: Callable[[], int],
    write: Callable[[Any, Path, int | None], None],
) -> None:
    """Charge, bind the mechanism to the number of cells, write, and record; on failure nothing that was written stays.

    ``count`` is called where the number of rows is not fixed by the mechanism; ``write`` gets it, or None.
    """
    free = getattr(mechanism, "changed", 1) is None
    if not free:
        _verify_floats(mechanism)
    place.verify_new()
    charge.make(mechanism, names)
    try:
        rows, bound = None, mechanism
        if free:
            rows = count()
            bound = mechanism.for_length(max(1, rows * len(names)))
            _verify_floats(bound)
        with place.attempts() as folder:
            write(bound, folder, rows)
    except BaseException as error:
        charge.note(error)
        raise
    charge.record()


def _verify_floats(mechanism: Any) -> None:
    if hasattr(mechanism, "verify_floats"):
        mechanism.verify_floats()


class FrameAttempt(NamedTuple):
    """What writes partitions with noise.

    Its folder is another one for each release, so that dask never takes a task of one for that of another.
    """

    partition: Partition
    folder: Path

    def write(self, partition: pd.DataFrame) -> pd.DataFrame:
        """Write a partition with noise to a file of its own, and return its name and how many rows it has."""
        import pandas as pd

        file = uuid.uuid4().hex
        self.partition.noised(partition).to_parquet(self.folder / file, engine="pyarrow", index=True)
        return pd.DataFrame({"file": pd.Series([file], dtype=object), "rows": [len(partition)]})

    def meta(self) -> pd.DataFrame:
        """Return the types of what `write` returns."""
        import pandas as pd

        return pd.DataFrame({"file": pd.Series([], dtype=object), "rows": pd.Series([], dtype="int64")})


class ArrayAttempt(NamedTuple):
    """What writes blocks with noise."""

    block: DrawnBlock
    folder: Path

    def write(self, block: NDArray[Any]) -> NDArray[Any]:
        """Write a block with noise to a file of its own, and return its name."""
        file = uuid.uuid4().hex
        with (self.folder / file).open("wb") as stream:
            np.save(stream, self.block.noised(block))
        return np.full((1,) * block.ndim, file)
