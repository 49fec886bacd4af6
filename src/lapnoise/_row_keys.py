"""What a row is called: from the columns of its key to 128 bits, by one encoding on every machine and in every engine.

Format 1. A key is a sequence of parts, one a column, in the order in which the columns are given. Each part is a
sequence of 64-bit words, written as little-endian bytes:

    integer, 0 to 2^63 - 1        tag 1, the integer
    integer, -2^63 to -1          tag 2, the integer in two's complement
    integer, 2^63 to 2^64 - 1     tag 3, the integer
    bool                          tag 4, 0 or 1
    date                          tag 5, days since 1970-01-01 in two's complement
    time                          tag 6, microseconds since 1970-01-01 UTC in two's complement
    text                          tag 7 + 2^8 n, the n bytes of its UTF-8, zeros up to a whole word
    binary                        tag 8 + 2^8 n, its n bytes, zeros up to a whole word

The first word of a part tells how many follow, so no two keys have one encoding. Integers of every width are one type,
and so are fixed-size, large and dictionary-encoded text; text is taken as it is, without normalising Unicode. A time
without a zone counts as UTC; a finer one than microseconds is refused where it would be cut. Floats and missing entries
are refused: neither names a row. The identity of a row is SipHash-2-4-128 of its key's bytes under the key of the
release.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check

__all__ = ["KEY_FORMAT", "BytesColumn", "IntegerColumn", "KeyColumn", "from_numpy", "hash_rows", "kind", "microseconds"]

KEY_FORMAT = 1
"""Number of the encoding above; it changes when identities change."""

INTEGER, NEGATIVE, LARGE, BOOL, DATE, TIME, TEXT, BINARY = range(1, 9)

_KINDS = {INTEGER: "integer", BOOL: "bool", DATE: "date", TIME: "time", TEXT: "text", BINARY: "binary"}

_BLOCK = 1 << 12
"""Rows that are hashed at a time: 160 KiB of states, which stay in L2."""

_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}


class IntegerColumn(NamedTuple):
    """A part of keys that is one integer.

    Attributes
    ----------
    values : ndarray
        Integers of any width, or bool; uint64 seen as int64.
    tag, tag_below_zero : int
        What stands before an integer, by the sign of its int64.
    """

    values: NDArray[Any]
    tag: int
    tag_below_zero: int


class BytesColumn(NamedTuple):
    """A part of keys that is text or binary: row i is ``data[offsets[i] : offsets[i + 1]]``."""

    offsets: NDArray[Any]
    data: NDArray[np.uint8]
    tag: int


KeyColumn = IntegerColumn | BytesColumn


def hash_rows(columns: Sequence[KeyColumn], key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the identity of each row as two uint64 words, given the two words of a SipHash key."""
    from lapnoise.kernels import siphash

    rows = length(columns[0])
    out = np.empty((rows, 2), np.uint64)
    states = np.empty((siphash.STATE_ROWS, _BLOCK), np.uint64)
    for first in range(0, rows, _BLOCK):
        count = min(_BLOCK, rows - first)
        state = states if count == _BLOCK else np.empty((siphash.STATE_ROWS, count), np.uint64)
        siphash.start(state, key)
        for column in columns:
            if isinstance(column, IntegerColumn):
                whole = np.ascontiguousarray(column.values[first : first + count], np.int64)
                siphash.absorb_integers(state, whole, column.tag, column.tag_below_zero)
            else:
                offsets = np.ascontiguousarray(column.offsets[first : first + count + 1], np.int64)
                siphash.absorb_bytes(state, offsets, column.data, column.tag)
        siphash.finish(state, out[first : first + count])
    return out


def length(column: KeyColumn) -> int:
    """Return the number of rows."""
    return column.values.size if isinstance(column, IntegerColumn) else column.offsets.size - 1


def kind(column: KeyColumn) -> str:
    """Return what a part of keys is: parts of two kinds are never one part, whatever they hold."""
    return _KINDS[column.tag]


def from_numpy(name: str, values: Any) -> KeyColumn:
    """Return a column of keys from an array: integers, bool, datetime64, text or bytes, also as objects.

    Of datetime64 that of days is a date, and every other one a time.
    """
    array = np.asarray(values)
    _check.key_shape(name, array.ndim)
    kind = array.dtype.kind
    if kind == "b":
        return IntegerColumn(array, BOOL, BOOL)
    if kind == "i":
        return IntegerColumn(array, INTEGER, NEGATIVE)
    if kind == "u":
        return IntegerColumn(array.astype(np.uint64).view(np.int64), INTEGER, LARGE)
    if kind == "M":
        return _from_times(name, array)
    if kind == "U":
        return _joined(name, array.tolist(), TEXT)
    if kind == "S":
        return _joined(name, array.tolist(), BINARY)
    if kind == "O":
        return _from_objects(name, array.tolist())
    return _check.key_type(name, f"dtype {array.dtype}")


def microseconds(name: str, values: NDArray[np.int64], unit: str) -> IntegerColumn:
    """Return a column of times from whole numbers of s, ms, us or ns since 1970-01-01 UTC."""
    if unit == "ns":
        whole, rest = np.divmod(values, 1000)
        _check.key_of_microseconds(name, np.flatnonzero(rest))
    else:
        factor = _MICROSECONDS[unit]
        most = (2**63 - 1) // factor
        _check.key_of_microseconds(name, np.flatnonzero((values > most) | (values < -most)))
        whole = values * np.int64(factor)
    return IntegerColumn(whole, TIME, TIME)


def _from_times(name: str, array: NDArray[Any]) -> IntegerColumn:
    _check.no_missing_key(name, np.flatnonzero(np.isnat(array)))
    unit, step = np.datetime_data(array.dtype)
    native = array.astype(array.dtype.newbyteorder("="))
    if unit == "D" and step == 1:
        return IntegerColumn(native.view(np.int64), DATE, DATE)
    if unit not in (*_MICROSECONDS, "ns") or step != 1:
        _check.key_type(name, f"dtype {array.dtype}")
    return microseconds(name, native.view(np.int64), unit)


def _from_objects(name: str, entries: list[Any]) -> KeyColumn:
    _check.no_missing_key(name, [i for i, entry in enumerate(entries) if entry is None])
    if all(isinstance(entry, str) for entry in entries):
        return _joined(name, entries, TEXT)
    if all(isinstance(entry, bytes) for entry in entries):
        return _joined(name, entries, BINARY)
    if all(isinstance(entry, int | np.integer) and not isinstance(entry, bool) for entry in entries):
        found = np.array([int(entry) for entry in entries])
        if found.dtype.kind in "iu":
            return from_numpy(name, found)
    return _check.key_type(name, "objects that are not all text, all bytes or all integers of 64 bits")


def _joined(name: str, entries: list[Any], tag: int) -> BytesColumn:
    if tag == TEXT:
        encoded: list[bytes] = []
        with contextlib.suppress(UnicodeEncodeError):  # left before anything is raised: its message holds the text
            for entry in entries:
                encoded.append(entry.encode("utf-8"))  # noqa: PERF401 # those before the error count
        _check.key_in_utf8(name, len(encoded), len(entries))
        entries = encoded
    offsets = np.zeros(len(entries) + 1, np.int64)
    np.cumsum([len(entry) for entry in entries], out=offsets[1:])
    return BytesColumn(offsets, np.frombuffer(b"".join(entries), np.uint8), tag)
