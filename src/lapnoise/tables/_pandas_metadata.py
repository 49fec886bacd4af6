"""What pandas notes in an Arrow schema of the types that its columns had.

`Table.to_pandas` goes by these notes: a column that says "Int64" is made into one, and fails where noise turned its
integers into floats.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["with_types"]

_KEY = b"pandas"
_ARROW_NAMES = {"float64": "double", "float32": "float"}


def with_types(schema: Any, changed: Mapping[str, str]) -> Any:
    """Return a schema whose notes give the columns named their new dtypes; all other metadata stay as they are."""
    metadata = schema.metadata
    if not changed or not metadata or _KEY not in metadata:
        return schema
    try:
        notes = json.loads(metadata[_KEY])
        for column in notes["columns"]:
            if (name := changed.get(column["field_name"])) is not None:
                column["numpy_type"] = _renamed(column["numpy_type"], name)
                column["pandas_type"] = name
    except (ValueError, TypeError, KeyError, AttributeError):  # notes of somebody else
        return schema
    return schema.with_metadata({**metadata, _KEY: json.dumps(notes).encode()})


def _renamed(before: str, name: str) -> str:
    """Return the name of a dtype in the family that the old one belonged to: NumPy's, pandas' nullable, Arrow's."""
    if before.endswith("[pyarrow]"):
        return f"{_ARROW_NAMES.get(name, name)}[pyarrow]"
    return name.capitalize() if before[:1].isupper() else name
