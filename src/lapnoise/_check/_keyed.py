"""What keyed noise takes: a secret, names, the columns of row keys, and values with their identities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapnoise._check._arrays import no_mask, values
from lapnoise._check._rules import shown

__all__ = [
    "SECRET_BYTES",
    "bound_length",
    "key_columns",
    "key_in_utf8",
    "key_kinds",
    "key_of_microseconds",
    "key_shape",
    "key_type",
    "keyed_ledger",
    "keyed_mask",
    "keyed_mechanism",
    "keyed_values",
    "name",
    "no_missing_key",
    "row_identities",
    "secret",
]

SECRET_BYTES = 32
"""Least length of a secret."""


def secret(value: Any) -> bytes:
    """Return the bytes of a secret, which no message shows."""
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"secret must be bytes, got {type(value).__name__}")
    found = bytes(value)
    if len(found) < SECRET_BYTES:
        raise ValueError(f"secret must have at least {SECRET_BYTES} bytes, got {len(found)}")
    return found


def name(parameter: str, value: Any) -> str:
    """Return a name: text that is not empty and has a UTF-8 form."""
    if not isinstance(value, str):
        raise TypeError(f"{parameter} must be a str, got {shown(value)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{parameter} must be text that UTF-8 can write, got {shown(value)}") from None
    if not value:
        raise ValueError(f"{parameter} must not be empty")
    return str.__str__(value)


def keyed_mechanism(mechanism: Any, kinds: tuple[type, ...]) -> None:
    """Refuse a mechanism whose noise is not keyed."""
    if type(mechanism) not in kinds:
        told = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"mechanism must be a {told} for keyed noise, got {type(mechanism).__name__}")


def bound_length(changed: int | None) -> None:
    """Refuse a mechanism whose lattice would depend on how many rows come at a time."""
    if changed is None:
        raise ValueError(
            "mechanism must have changed set for keyed noise, got None: values come in pieces, so give changed, a "
            "Sensitivity that knows it, or mechanism.for_length(n) for the length of the whole column"
        )


def keyed_ledger(value: Any, kind: type) -> None:
    """Refuse a ledger that could not tell whether a release was charged before."""
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"ledger must be a {kind.__name__}, got {shown(value)}")


def key_columns(lengths: Sequence[int]) -> None:
    """Refuse no columns at all, and columns of different length."""
    if not lengths:
        raise ValueError("columns must name at least one key column, got none")
    if len(set(lengths)) > 1:
        raise ValueError(f"columns must have one length, got {sorted(set(lengths))}")


def key_shape(column: str, dimensions: int) -> None:
    """Refuse a key column that is not one-dimensional."""
    if dimensions != 1:
        raise ValueError(f"key column {column!r} must have one dimension, got {dimensions}")


def key_type(column: str, told: str) -> NoReturn:
    """Refuse a key column by its type."""
    raise TypeError(
        f"key column {column!r} must be integers, bool, dates, times, text or binary, got {told}; "
        "a key is compared exactly, so cast other types to text or integers first"
    )


def key_kinds(column: str, kinds: Mapping[str, int], allowed: Sequence[str], where: str) -> None:
    """Refuse a key column by what its entries are, given the first row of each kind, in the order of these."""
    if len(kinds) > 1 or any(kind not in allowed for kind in kinds):
        told = " and ".join(f"{kind} in row {row}{where}" for kind, row in list(kinds.items())[:2])
        raise TypeError(
            f"key column {column!r} must hold entries of one type, out of {', '.join(allowed)}, got {told}; "
            "a key is compared exactly, so cast all of the column to one of these first"
        )


def no_missing_key(column: str, rows: Any) -> None:
    """Refuse a key with missing entries, given their rows."""
    if len(rows):
        raise ValueError(f"key column {column!r} must not have missing entries, got one in row {int(rows[0])}")


def key_of_microseconds(column: str, rows: Any) -> None:
    """Refuse times that are no whole 64-bit number of microseconds, given their rows."""
    if len(rows):
        raise ValueError(
            f"key column {column!r} must hold times of whole microseconds in 64 bits, got another in row {int(rows[0])}"
        )


def key_in_utf8(column: str, written: int, rows: int) -> None:
    """Refuse text of which UTF-8 can write the first rows only."""
    if written == rows:
        return
    raise ValueError(f"key column {column!r} must be text that UTF-8 can write, got a lone surrogate in row {written}")


def keyed_values(value: Any) -> NDArray[Any]:
    """Return the values of a column."""
    no_mask("values", value)
    array = values(value)
    if array.ndim != 1:
        raise ValueError(f"values must have one dimension, got {array.ndim}")
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def row_identities(value: Any, rows: int) -> NDArray[np.uint64]:
    """Return the identities of as many rows."""
    if not isinstance(value, np.ndarray) or value.dtype != np.uint64 or value.shape != (rows, 2):
        told = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise ValueError(f"identities must be uint64 of shape ({rows}, 2), one row a value, got {told}")
    return np.ascontiguousarray(value)


def keyed_mask(value: Any, rows: int) -> NDArray[np.bool_] | None:
    """Return where values are missing; None if nowhere."""
    if value is None:
        return None
    found = np.asarray(value)
    if found.dtype != np.bool_ or found.shape != (rows,):
        raise ValueError(f"mask must be bool of shape ({rows},), got {found.dtype} of shape {found.shape}")
    return found if found.any() else None
