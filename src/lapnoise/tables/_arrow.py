"""Tables and record batches of Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._arrow_metadata import adapted_metadata
from lapnoise._arrow_values import chunked_like, chunks_of, numpy_dtype, values_and_missing
from lapnoise.files._cell_noise import Noised
from lapnoise.tables._frames import places_of_labels

__all__ = ["ArrowFrame", "joined", "strata_places", "tells_strata"]

_EXTENSION = b"ARROW:extension:name"
"""Of a field whose numbers mean something that is not known here."""

_TEXT = ("string", "large_string", "string_view")


class ArrowFrame:
    """A Table or a RecordBatch.

    Parameters
    ----------
    table
        The Table or RecordBatch.
    pyarrow
        The module.
    """

    def __init__(self, table: Any, pyarrow: Any) -> None:
        self._table = table
        self._pyarrow = pyarrow
        self.names: list[Any] = list(table.schema.names)
        self.rows: int = table.num_rows

    def type_of(self, column: int) -> str:
        """Return the name of a column's type."""
        return str(self._table.schema.field(column).type)

    def dtype_of(self, column: int) -> np.dtype[Any] | None:
        """Return the dtype of a column of integers, float32 or float64; None for all others."""
        field = self._table.schema.field(column)
        dtype = None if _EXTENSION in (field.metadata or ()) else numpy_dtype(field.type)
        return None if dtype is None or dtype.kind == "b" else dtype

    def tells_strata(self, column: int) -> bool:
        """Return whether a column holds text, integers or categories."""
        return tells_strata(self._table.schema.field(column).type)

    def values(self, column: int, start: int, stop: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return numbers of a column, and which of them are null."""
        return joined(chunks_of(self._table.column(column).slice(start, stop - start)))

    def strata(self, column: int, places: Mapping[str, int]) -> NDArray[np.int32]:
        """Return the place of each row's stratum, -1 where it is unknown or missing."""
        return strata_places(self._table.column(column), places)

    def with_columns(self, noised: Mapping[int, Noised]) -> Any:
        """Return the table with some columns replaced; field and schema metadata stay."""
        schema, columns = self._table.schema, list(self._table.columns)
        changed: dict[str, Any] = {}
        for i, (values, missing) in noised.items():
            before, field = columns[i], schema.field(i)
            made = chunked_like(list(map(len, chunks_of(before))), values, missing, self._pyarrow)
            kind = self._pyarrow.from_numpy_dtype(values.dtype)
            columns[i] = self._pyarrow.chunked_array(made, type=kind) if hasattr(before, "chunks") else made[0]
            schema = schema.set(i, field.with_type(kind))
            if kind != field.type:
                changed[field.name] = kind
        schema = schema.with_metadata(adapted_metadata(schema.metadata, changed))
        return type(self._table).from_arrays(columns, schema=schema)


def joined(chunks: list[Any]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the numbers of chunks one after the other, and which of them are null."""
    parts = [values_and_missing(chunk) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    values = np.concatenate([values for values, _ in parts])
    if all(missing is None for _, missing in parts):
        return values, None
    masks = [np.zeros(len(values), np.bool_) if missing is None else missing for values, missing in parts]
    return values, np.concatenate(masks)


def tells_strata(kind: Any) -> bool:
    """Return whether an Arrow type is one of text, integers or categories of these."""
    if str(kind).startswith("dictionary<"):
        kind = kind.value_type
    dtype = numpy_dtype(kind)
    return str(kind) in _TEXT if dtype is None else dtype.kind in "iu"


def strata_places(column: Any, places: Mapping[str, int]) -> NDArray[np.int32]:
    """Return the place of each entry's stratum, -1 where it is unknown or missing."""
    found = [np.zeros(0, np.int32)]
    for chunk in chunks_of(column):
        encoded = chunk if hasattr(chunk, "dictionary") else chunk.dictionary_encode()
        by_label = places_of_labels(encoded.dictionary.to_pylist(), places)
        codes, missing = values_and_missing(encoded.indices)
        found.append(by_label[codes if missing is None else np.where(missing, len(by_label) - 1, codes)])
    return np.concatenate(found)
