"""Columns of a Spark frame by name: their Arrow types, the schema with noise, and keys that repeat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lapnoise import _check
from lapnoise._record_batches import DrawnBatches, KeyedBatches, result_types

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["arrow_types", "noised_schema", "selected", "verify_keys"]


def arrow_types(frame: DataFrame, names: Iterable[str]) -> dict[str, tuple[pa.DataType, str]]:
    """Return the Arrow type of each column that is named, and what Spark calls it."""
    from pyspark.sql.pandas.types import to_arrow_type

    fields = {field.name: field.dataType for field in frame.schema}
    return {name: (_plain(to_arrow_type, fields[name]), fields[name].simpleString()) for name in names}


def _plain(to_arrow_type: Any, kind: Any) -> pa.DataType:
    import pyarrow as pa

    try:
        return to_arrow_type(kind)
    except Exception:  # of a type that has none, which no column may have that is named
        return pa.null()


def noised_schema(
    frame: DataFrame, batches: KeyedBatches | DrawnBatches, key_columns: Sequence[str] = ()
) -> StructType:
    """Check the types of the columns that are named, and return the schema with those of the noised ones."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    found = result_types(batches, arrow_types(frame, [*batches.names, *key_columns]))
    noised = {name: from_arrow_type(kind) for name, kind in found.items()}
    return StructType(
        [
            StructField(field.name, noised.get(field.name, field.dataType), field.nullable, field.metadata)
            for field in frame.schema
        ]
    )


def selected(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the columns of these names as ``c0``, ``c1``, ...: by place, whatever else a name could mean to Spark."""
    places = [frame.columns.index(name) for name in names]
    numbered = frame.toDF(*(f"a{i}" for i in range(len(frame.columns))))
    return numbered.select([numbered[f"a{i}"].alias(f"c{k}") for k, i in enumerate(places)])


def verify_keys(frame: DataFrame, key_columns: Sequence[str]) -> None:
    """Refuse null and repeated keys, by one job over the key columns."""
    from pyspark.sql import functions

    keys = selected(frame, key_columns)
    rows = keys.groupBy(*keys.columns).agg(functions.count(functions.lit(1)).alias("n"))
    lost = [functions.max(rows[name].isNull()).alias(name) for name in keys.columns]
    found = rows.agg(functions.max("n").alias("n"), *lost).collect()[0]
    for name, place in zip(key_columns, keys.columns, strict=True):
        _check.no_null_key(name, bool(found[place]))
    _check.no_repeated_keys(found["n"] or 0, key_columns)
