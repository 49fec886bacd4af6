"""The arguments of files: names of columns, formats, delimiters."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = [
    "MECHANISMS",
    "columns",
    "delimiter",
    "file_format",
    "mechanism",
    "missing",
    "not_the_ledger",
    "source",
    "target_format",
]

MECHANISMS = ("laplace", "discrete-laplace")

_OTHER_FORMATS = {".arrow", ".feather", ".gz", ".json", ".npz", ".orc", ".parquet", ".xls", ".xlsx", ".zip", ".zst"}
_FORMAT_OF_SUFFIX = {".csv": "csv", ".tsv": "csv", ".npy": "npy"}


def mechanism(value: Any) -> str:
    """Return the name of a mechanism."""
    if value not in MECHANISMS:
        raise ValueError(f"mechanism must be 'laplace' or 'discrete-laplace', got {value!r}")
    return str(value)


def columns(value: Any) -> tuple[str, ...] | None:
    """Return the names of columns, each once and stripped; a single string is one name."""
    if value is None:
        return None
    names: list[Any] = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"columns must be names (text), got {value!r}")
    stripped = tuple(name.strip() for name in names)
    if not stripped or not all(stripped):
        raise ValueError(f"columns must name at least one column and no empty name, got {value!r}")
    if len(set(stripped)) < len(stripped):
        raise ValueError(f"columns must name each column once, got {value!r}")
    return stripped


def delimiter(value: Any) -> bytes:
    """Return a delimiter as one byte; what could stand in a number or end a row is refused."""
    if not isinstance(value, str):
        raise TypeError(f"delimiter must be one character of text, got {value!r}")
    if len(value) != 1 or not value.isascii() or value.isalnum() or value in '"\r\n\0.+-_':
        raise ValueError(
            f"delimiter must be one ASCII character that is no letter, digit, quote, line end or any of .+-_, "
            f"got {value!r}"
        )
    return value.encode("ascii")


def missing(value: Any) -> frozenset[bytes]:
    """Return the texts that stand for a missing cell, as stripped UTF-8."""
    texts: list[Any] = [None] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"missing must be a sequence of texts, got {value!r}")
    return frozenset(text.strip().encode("utf-8", "surrogateescape") for text in texts)


def file_format(value: Any, suffix: str) -> str:
    """Return "csv" or "npy", as asked or else by the suffix of the source."""
    if value is None:
        if suffix.lower() not in _FORMAT_OF_SUFFIX:
            raise ValueError(f"source must end in .csv, .tsv or .npy unless format is given, got suffix {suffix!r}")
        return _FORMAT_OF_SUFFIX[suffix.lower()]
    if value not in ("csv", "npy"):
        raise ValueError(f"format must be 'csv' or 'npy', got {value!r}")
    return str(value)


def source(path: Path) -> None:
    """Refuse standard input: a source is read twice."""
    if str(path) == "-":
        raise ValueError("source must be a file, since it is read twice, got '-'")


def not_the_ledger(target: Path, same: bool) -> None:
    """Refuse a target that is the ledger which is charged."""
    if same:
        raise ValueError(f"target must not be the ledger that is charged, got {str(target)!r}")


def target_format(suffix: str, expected: str) -> None:
    """Refuse a target whose suffix says another format than the one that is written."""
    if _FORMAT_OF_SUFFIX.get(suffix.lower(), expected) != expected or suffix.lower() in _OTHER_FORMATS:
        raise ValueError(f"target must have the format of the source, {expected}, got suffix {suffix!r}")
