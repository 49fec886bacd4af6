"""Columns of keys as Arrow arrays, where a partition's other rows never say what an entry is.

Arrow finds one type for all the objects that it is given: text beside binary becomes binary, and a time beside a date
loses its hours. A key would then have another name in another partition. So of objects the type is taken as it is,
and has to be one for the whole column.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["PartKinds", "key_array", "verify_kinds"]

TEXT, BINARY, INTEGER, BOOL, DATE = "str", "bytes", "int", "bool", "datetime.date"
TIME, ZONED = "datetime.datetime without a time zone", "datetime.datetime with a time zone"
KINDS = (TEXT, BINARY, INTEGER, BOOL, DATE, TIME, ZONED)
"""What entries of a key may be."""

# A bool is an int, and a datetime a date, so those come first.
_CLASSES: tuple[tuple[str, tuple[type, ...]], ...] = (
    (TEXT, (str,)),
    (BINARY, (bytes,)),
    (BOOL, (bool, np.bool_)),
    (INTEGER, (int, np.integer)),
    (TIME, (datetime.datetime,)),
    (DATE, (datetime.date,)),
)

_BEYOND = "int beyond int64"
_EPOCH = datetime.datetime(1970, 1, 1)
_ZONED_EPOCH = _EPOCH.replace(tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


class PartKinds(NamedTuple):
    """What the keys of a partition are.

    Attributes
    ----------
    rows : int
        How many there are.
    first : tuple of dict
        For each key column the kinds of its entries, each with the first row that has it, in the order of these.
    """

    rows: int
    first: tuple[dict[str, int], ...]

    @classmethod
    def of(cls, partition: pd.DataFrame, names: Iterable[str]) -> PartKinds:
        """Return the kinds of the columns that are named."""
        return cls(len(partition), tuple(_kinds(name, partition[name]) for name in names))

    @property
    def plain(self) -> bool:
        """Whether every column is of one kind that keys may be."""
        return all(len(kinds) <= 1 and all(kind in KINDS for kind in kinds) for kinds in self.first)


def verify_kinds(names: Sequence[str], parts: Iterable[PartKinds]) -> None:
    """Refuse columns of several kinds, or of one that names no row; rows are counted over all partitions, in order."""
    start = 0
    found: list[dict[str, int]] = [{} for _ in names]
    for part in parts:
        for kinds, first in zip(found, part.first, strict=True):
            for kind, row in first.items():
                kinds.setdefault(kind, start + row)
        start += part.rows
    for name, kinds in zip(names, found, strict=True):
        _check.key_kinds(name, kinds, KINDS, "")


def key_array(name: str, column: pd.Series) -> pa.Array:
    """Return a column of keys as it is to Arrow; objects as what they all are."""
    import pyarrow as pa

    if _holds_objects(column):
        return _from_objects(name, column)
    try:
        found = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError):  # left before anything is raised: its message shows an entry
        found = None
    if found is None:
        _check.key_type(name, f"dtype {column.dtype}")
    return pa.concat_arrays(found.chunks or [pa.array([], found.type)]) if hasattr(found, "chunks") else found


def _holds_objects(column: pd.Series) -> bool:
    """Say whether a column is of objects, or of categories that are."""
    kind: Any = column.dtype
    return "object" in (str(kind), str(kind.categories.dtype) if str(kind) == "category" else "")


def _kinds(name: str, column: pd.Series) -> dict[str, int]:
    """Return the kinds of entries that are not missing, each with its first row."""
    there = column.notna().to_numpy(bool)
    rows = np.flatnonzero(there)
    if not rows.size:
        return {}
    if not _holds_objects(column):
        return {_kind_of_type(key_array(name, column.iloc[:1]).type): int(rows[0])}
    kinds = _kinds_of_entries(column[there].astype(object).tolist())
    return {kind: int(rows[kinds.index(kind)]) for kind in dict.fromkeys(kinds)}


def _kind_of_type(kind: pa.DataType) -> str:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _kind_of_type(kind.value_type)
    if types.is_timestamp(kind):
        return TIME if kind.tz is None else ZONED
    tests = {INTEGER: types.is_integer, BOOL: types.is_boolean, DATE: types.is_date}
    for told, test in tests.items():
        if test(kind):
            return told
    told = str(kind)
    return TEXT if "string" in told else BINARY if "binary" in told else f"type {told}"


def _kinds_of_entries(entries: list[Any]) -> list[str]:
    types = list(map(type, entries))
    told = {kind: _kind_of_class(kind) for kind in set(types)}
    kinds = [told[kind] for kind in types]
    for row, kind in enumerate(kinds):
        if kind == TIME and entries[row].utcoffset() is not None:
            kinds[row] = ZONED
        elif kind == INTEGER and not -(2**63) <= int(entries[row]) < 2**63:
            kinds[row] = _BEYOND
    return kinds


def _kind_of_class(kind: type) -> str:
    for told, classes in _CLASSES:
        if issubclass(kind, classes):
            return told
    return f"type {kind.__qualname__}"


def _from_objects(name: str, column: pd.Series) -> pa.Array:
    import pyarrow as pa

    _check.no_missing_key(name, np.flatnonzero(column.isna().to_numpy(bool)))
    entries = column.astype(object).tolist()
    kinds = _kinds(name, column)
    _check.key_kinds(name, kinds, KINDS, " of a partition")
    kind = next(iter(kinds), TEXT)  # no rows are of any kind
    if kind in (TIME, ZONED):
        return pa.array(_microseconds(name, entries, kind), pa.timestamp("us", None if kind == TIME else "UTC"))
    if kind == TEXT:
        return _text(name, entries)
    if kind == INTEGER:
        return pa.array(np.array([int(entry) for entry in entries], np.int64))
    if kind == BOOL:
        return pa.array(np.array([bool(entry) for entry in entries], np.bool_))
    return pa.array(entries, pa.date32() if kind == DATE else pa.large_binary())


def _text(name: str, entries: list[str]) -> pa.Array:
    import pyarrow as pa

    encoded: list[bytes] = []
    with contextlib.suppress(UnicodeEncodeError):  # left before anything is raised: its message holds the text
        for entry in entries:
            encoded.append(entry.encode("utf-8"))  # noqa: PERF401 # those before the error count
    _check.key_in_utf8(name, len(encoded), len(entries))
    return pa.array(encoded, pa.large_binary()).cast(pa.large_string())


def _microseconds(name: str, entries: list[Any], kind: str) -> NDArray[np.int64]:
    """Return times since 1970-01-01 UTC; those of pandas may be finer, or lie where none is in microseconds."""
    import pandas as pd

    epoch = _EPOCH if kind == TIME else _ZONED_EPOCH
    found = np.zeros(len(entries), np.int64)
    for row, entry in enumerate(entries):
        cut = False
        if isinstance(entry, pd.Timestamp):
            try:
                whole = entry.as_unit("us")
                found[row] = whole.to_datetime64().astype(np.int64)
                cut = bool(entry.nanosecond)
            except ValueError:  # left before anything is raised: its message shows the time
                cut = True
        else:
            found[row] = (entry - epoch) // _MICROSECOND
        _check.key_of_microseconds(name, [row] if cut else [])
    return found
