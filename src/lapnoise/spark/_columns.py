"""Columns of a Spark frame by name: their Arrow types, the schema with noise, and keys that repeat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lapnoise import _check
from lapnoise._record_batches import DrawnBatches, KeyedBatches, result_types

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["arrow_types", "mapped", "noised_schema", "selected", "verify_keys"]


def arrow_types(frame: DataFrame, names: Iterable[str]) -> dict[str, tuple[pa.DataType, str]]:
    """Return Arrow's type of each column that is named, that of nulls where there is no plain one, and Spark's name."""
    import pyarrow as pa

    known = {
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }
    told = {field.name: field.dataType.simpleString() for field in frame.schema}

    def arrow_type(name: str) -> pa.DataType:
        if told[name].startswith("decimal"):
            return pa.decimal128(*map(int, told[name][8:-1].split(",")))
        return known.get(told[name].partition(" collate")[0], pa.null())

    return {name: (arrow_type(name), told[name]) for name in names}


def noised_schema(
    frame: DataFrame, batches: KeyedBatches | DrawnBatches, key_columns: Sequence[str] = ()
) -> StructType:
    """Check the types of the columns that are named, and return the schema with those of the noised ones."""
    from pyspark.sql.types import DoubleType, FloatType, LongType, StructField, StructType

    found = result_types(batches, arrow_types(frame, [*batches.names, *key_columns]))
    types = {"int64": LongType(), "float": FloatType(), "double": DoubleType()}
    noised = {name: types[str(kind)] for name, kind in found.items()}
    return StructType(
        [
            StructField(field.name, noised.get(field.name, field.dataType), field.nullable, field.metadata)
            for field in frame.schema
        ]
    )


class Renamed(NamedTuple):
    """A task on batches whose columns have their names back.

    Attributes
    ----------
    task : KeyedBatches or DrawnBatches
    names : tuple of str
    """

    task: KeyedBatches | DrawnBatches
    names: tuple[str, ...]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with noise."""
        import pyarrow as pa

        return self.task.run(pa.RecordBatch.from_arrays(batch.columns, list(self.names)) for batch in batches)


def mapped(frame: DataFrame, task: KeyedBatches | DrawnBatches, schema: StructType) -> DataFrame:
    """Return what a task makes of a frame.

    Spark looks columns up by name when it hands them on, and fails where a name has a dot or two differ by case alone.
    """
    return _numbered(frame).mapInArrow(Renamed(task, tuple(frame.columns)).run, schema)


def selected(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the columns of these names as ``c0``, ``c1``, ...: by place, whatever else a name could mean to Spark."""
    numbered = _numbered(frame)
    return numbered.select([numbered[frame.columns.index(name)].alias(f"c{k}") for k, name in enumerate(names)])


def _numbered(frame: DataFrame) -> DataFrame:
    return frame.toDF(*(f"a{i}" for i in range(len(frame.columns))))


def verify_keys(frame: DataFrame, key_columns: Sequence[str]) -> None:
    """Refuse null and repeated keys, by one job over the key columns."""
    from pyspark.sql import functions

    keys = selected(frame, key_columns)
    rows = keys.groupBy(*keys.columns).agg(functions.count(functions.lit(1)).alias("n"))
    lost = [functions.max(rows[name].isNull()).alias(name) for name in keys.columns]
    found = rows.agg(functions.max("n").alias("n"), *lost).collect()[0]
    for name, place in zip(key_columns, keys.columns, strict=True):
        _check.no_null_key(name, bool(found[place]))
    _check.no_repeated_keys((found["n"] or 0) > 1, key_columns)
