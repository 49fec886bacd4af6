"""What pandas and Spark note in a schema about columns, when the types of some change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["adapted_metadata"]

_PANDAS, _SPARK = b"pandas", b"org.apache.spark.sql.parquet.row.metadata"

_SPARK_TYPES = {"double": "double", "float": "float", "int64": "long"}


def adapted_metadata(metadata: Mapping[bytes, bytes] | None, changed: Mapping[str, Any]) -> dict[bytes, bytes] | None:
    """Return the metadata of a schema in which columns have new types, by name.

    Notes that cannot be read are left as they are: only who wrote them knows what they mean.
    """
    if metadata is None:
        return None
    adapted = dict(metadata)
    for key, adapt in ((_PANDAS, _adapt_pandas), (_SPARK, _adapt_spark)):
        if key not in adapted:
            continue
        try:
            notes = json.loads(adapted[key])
            for name, kind in changed.items():
                adapt(notes, name, str(kind))
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            continue
        adapted[key] = json.dumps(notes, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return adapted


def _adapt_pandas(notes: Any, name: str, kind: str) -> None:
    plain = {"double": "float64", "float": "float32"}.get(kind, kind)
    for entry in notes["columns"]:
        if entry.get("field_name", entry.get("name")) != name:
            continue
        before = str(entry["numpy_type"])
        entry["pandas_type"] = plain
        if before.endswith("[pyarrow]"):
            entry["numpy_type"] = f"{kind}[pyarrow]"
        else:
            # Nullable types have a capital, and pandas restores the column by it.
            entry["numpy_type"] = plain.capitalize() if before[:1] in "IUF" else plain


def _adapt_spark(notes: Any, name: str, kind: str) -> None:
    for field in notes["fields"]:
        if field["name"] == name:
            field["type"] = _SPARK_TYPES[kind]
