"""Noise on pandas partitions by way of Arrow: columns go there and come back as what they were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lapnoise import _check
from lapnoise._arrow_keys import from_arrow
from lapnoise._record_batches import DrawnBatches, KeyedBatches, result_types, task_generator
from lapnoise.dask._key_arrays import PartKinds, key_array, verify_kinds

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from dask.dataframe import DataFrame

__all__ = ["Partition", "arrow_types", "noised_meta", "typed_array", "verify_keys"]


class Partition(NamedTuple):
    """What a task does with a partition.

    Attributes
    ----------
    batches : KeyedBatches or DrawnBatches
        The noise.
    """

    batches: KeyedBatches | DrawnBatches

    def noised(self, partition: pd.DataFrame) -> pd.DataFrame:
        """Return a partition with noise; index, other columns and the order of all stay."""
        import pyarrow as pa

        batches = self.batches
        keys = batches.key_columns if isinstance(batches, KeyedBatches) else ()
        arrays = [_number_array(name, partition[name]) for name in batches.names]
        arrays += [key_array(name, partition[name]) for name in keys]
        given = pa.RecordBatch.from_arrays(arrays, [*batches.names, *keys])
        drawn = isinstance(batches, DrawnBatches)
        noised = batches.noised(given, task_generator()) if drawn else batches.noised(given)  # type: ignore[call-arg]
        out = partition.copy(deep=False)
        for name in batches.names:
            column = _from_arrow(noised.column(name), partition[name].dtype)
            out.isetitem(list(partition.columns).index(name), column)
        return out

    def identities(self, partition: pd.DataFrame) -> pd.DataFrame:
        """Return the two words that each row is called; null keys are refused.

        Of keys that are not of one kind there are none: those are refused when all partitions are known, so that the
        same is said however the rows are divided.
        """
        import pandas as pd

        keyed: Any = self.batches
        names = keyed.key_columns
        for name in names:
            _check.no_null_key(name, bool(partition[name].isna().any()))
        if not PartKinds.of(partition, names).plain:
            return pd.DataFrame({word: np.empty(0, np.uint64) for word in _WORDS})
        columns = [from_arrow(name, key_array(name, partition[name])) for name in names]
        return pd.DataFrame(keyed.rows.identities(columns), columns=list(_WORDS))

    def kinds(self, partition: pd.DataFrame) -> pd.DataFrame:
        """Return one row: what the keys of a partition are."""
        import pandas as pd

        keyed: Any = self.batches
        return pd.DataFrame({"kinds": pd.Series([PartKinds.of(partition, keyed.key_columns)], dtype=object)})


_WORDS = ("low", "high")


def arrow_types(frame: DataFrame, names: Iterable[str]) -> dict[str, tuple[pa.DataType, str]]:
    """Return Arrow's type of each column that is named, that of nulls where there is no plain one, and pandas' name.

    Objects count as text: what they are is known where the rows are.
    """
    meta = frame._meta
    return {name: (_arrow_type(meta[name]), str(meta[name].dtype)) for name in names}


def _arrow_type(column: pd.Series) -> pa.DataType:
    import pyarrow as pa

    if column.dtype == object:
        return pa.large_string()
    try:
        kind = pa.array(column.iloc[:0], from_pandas=True).type
    except (pa.ArrowException, TypeError):  # complex and sparse numbers
        return pa.null()
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def noised_meta(frame: DataFrame, batches: KeyedBatches | DrawnBatches) -> pd.DataFrame:
    """Check the types of the columns that are named, and return an empty frame with those of the noised ones."""
    keys = batches.key_columns if isinstance(batches, KeyedBatches) else ()
    types = arrow_types(frame, [*batches.names, *keys])
    for name in batches.names:  # a category of numbers would not stay one
        if str(frame._meta[name].dtype) == "category":
            import pyarrow as pa

            types[name] = pa.null(), "category"
    result_types(batches, types)
    return Partition(batches).noised(frame._meta.iloc[:0])


def verify_keys(frame: DataFrame, batches: KeyedBatches) -> None:
    """Refuse null, mixed and repeated keys, by one computation over identities of 16 bytes a row."""
    import pandas as pd
    from dask import compute

    keys = frame[list(batches.key_columns)]
    task = Partition(batches)
    meta = pd.DataFrame({word: np.empty(0, np.uint64) for word in _WORDS})
    identities = keys.map_partitions(task.identities, meta=meta, clear_divisions=True)
    told = pd.DataFrame({"kinds": pd.Series([], dtype=object)})
    kinds = keys.map_partitions(task.kinds, meta=told, clear_divisions=True)
    sizes = identities.groupby(list(_WORDS), sort=False).size(split_out=max(1, frame.npartitions))
    most, parts = compute(sizes.max(), kinds)
    verify_kinds(batches.key_columns, parts["kinds"])
    # The largest of no sizes is NaN, which is not greater.
    _check.no_repeated_keys(bool(most > 1), batches.key_columns)


def typed_array(name: str, column: pd.Series, kind: pa.DataType) -> pa.Array:
    """Return a column as the Arrow type that its frame told; of objects only text is taken."""
    import pyarrow as pa

    floats = pa.types.is_floating(kind)  # whose NaN stays what it is
    try:
        given = kind if column.dtype == object else None
        found = pa.array(column, given, from_pandas=not floats).cast(kind)
    except (pa.ArrowException, TypeError):  # left before anything is raised: its message shows an entry
        found = None
    if found is None:
        _check.plain_type(name, "object")
    return _whole(found)


def _number_array(name: str, column: pd.Series) -> pa.Array:
    import pyarrow as pa

    if column.dtype == object:  # what the frame's own types did not tell
        _check.noised_type(name, "object", False)
    return _whole(pa.array(column, from_pandas=False))


def _whole(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    return pa.concat_arrays(array.chunks or [pa.array([], array.type)]) if hasattr(array, "chunks") else array


def _from_arrow(array: pa.Array, like: Any) -> Any:
    """Return numbers as an array of the family of a dtype: NumPy's, nullable ones of pandas, or Arrow's."""
    import pandas as pd

    if isinstance(like, pd.ArrowDtype):
        return pd.arrays.ArrowExtensionArray(array)
    if isinstance(like, np.dtype):
        return np.array(array)  # a copy, since Arrow's own memory cannot be written to
    mask = np.array(array.is_null().to_numpy(zero_copy_only=False))
    values = np.array(array.fill_null(0))
    kind = pd.arrays.FloatingArray if values.dtype.kind == "f" else pd.arrays.IntegerArray
    return kind(values, mask)
