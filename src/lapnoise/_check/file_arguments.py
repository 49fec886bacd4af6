"""The arguments of files: names of columns, formats, delimiters, quotes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lapnoise._check._gaussian import flag
from lapnoise._check._rules import shown

__all__ = [
    "columns",
    "csv_options",
    "file_format",
    "no_columns",
    "no_delimiter",
    "not_the_ledger",
    "progress",
    "target_format",
]

_OTHER_FORMATS = {".gz", ".json", ".npz", ".orc", ".xls", ".xlsx", ".zip", ".zst"}
_FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "csv",
    ".npy": "npy",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_COMPRESSED = {".gz", ".bz2", ".xz", ".zip", ".zst"}
_FORMATS = ("csv", "npy", "parquet", "arrow")


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


def quote(value: Any, separator: bytes) -> bytes:
    """Return a quote as one byte, NUL for None; what could stand in a number, part cells or be stripped is refused."""
    if value is None:
        return b"\0"
    if not isinstance(value, str):
        raise TypeError(f"quote must be one character of text or None, got {value!r}")
    if len(value) != 1 or not value.isascii() or value.isalnum() or value.isspace() or value in "\0.+-_":
        raise ValueError(
            f"quote must be one ASCII character that is no letter, digit, white space or any of .+-_, got {value!r}"
        )
    if value.encode("ascii") == separator:
        raise ValueError(f"quote must be another character than the delimiter, got {value!r} for both")
    return value.encode("ascii")


def csv_options(separator: Any, mark: Any, absent: Any, header: Any, encoding: Any) -> dict[str, Any]:
    """Return how a CSV file is to be read."""
    if not isinstance(encoding, str):
        raise TypeError(f"encoding must be the name of one (text), got {shown(encoding)}")
    try:
        plain = all(bytes([code]).decode(encoding) == chr(code) for code in range(128))
    except LookupError:
        raise ValueError(f"encoding must be one that Python knows, got {encoding!r}") from None
    except UnicodeError:
        plain = False
    if not plain or _hides_ascii(encoding):
        raise ValueError(f"encoding must keep ASCII bytes for ASCII characters alone, got {encoding!r}")
    given = None if separator is None else delimiter(separator)
    return {
        "delimiter": given,
        "quote": quote(mark, given or b","),
        "missing": missing(absent),
        "header": flag("header", header),
        "encoding": encoding,
    }


def missing(value: Any) -> frozenset[bytes]:
    """Return the texts that stand for a missing cell, as stripped UTF-8."""
    texts: list[Any] = [None] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"missing must be a sequence of texts, got {value!r}")
    return frozenset(text.strip().encode("utf-8", "surrogateescape") for text in texts)


def file_format(value: Any, suffix: str, *, directory: bool, stream: bool) -> str:
    """Return the format as asked, or else by the suffix of the source: streams are CSV, directories Parquet."""
    if value is not None and value not in _FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, _FORMATS))}, got {value!r}")
    guess = "csv" if stream else "parquet" if directory else None
    found = _FORMAT_OF_SUFFIX.get(suffix.lower(), guess) if value is None else str(value)
    if stream and found != "csv":
        raise ValueError(f"source and target must be files for format {found!r}, got '-' for one of them")
    if found is None:
        known = ", ".join(_FORMAT_OF_SUFFIX)
        compressed = suffix.lower() in _COMPRESSED
        advice = "; decompress it first, to a file or into standard input (source '-')" if compressed else ""
        raise ValueError(f"source must end in one of {known} unless format is given, got suffix {suffix!r}{advice}")
    return found


def not_the_ledger(target: Path, same: bool) -> None:
    """Refuse a target that is the ledger which is charged."""
    if same:
        raise ValueError(f"target must not be the ledger that is charged, got {str(target)!r}")


def target_format(suffix: str, expected: str) -> None:
    """Refuse a target whose suffix says another format than the one that is written."""
    if _FORMAT_OF_SUFFIX.get(suffix.lower(), expected) != expected or suffix.lower() in _OTHER_FORMATS:
        raise ValueError(f"target must have the format of the source, {expected}, got suffix {suffix!r}")


def no_delimiter(delimiter: Any, kind: str) -> None:
    """Refuse a delimiter for a format that has none."""
    if delimiter is not None:
        raise ValueError(f"delimiter applies to CSV files only, got format {kind!r}")


def no_columns(columns: Any, delimiter: Any, strata: Any, clip: Any) -> None:
    """Refuse for an array what is about columns."""
    if columns is not None or delimiter is not None or strata is not None or isinstance(clip, Mapping):
        raise ValueError("columns, strata, bounds by column and delimiter apply to tables only, got an NPY file")


def progress(value: Any) -> None:
    """Refuse what cannot be told how far a run is."""
    if value is not None and not callable(value):
        raise TypeError(f"progress must be callable, got {shown(value)}")


def _hides_ascii(encoding: str) -> bool:
    """Return whether an ASCII byte can be the second byte of a character, as in Shift JIS or GBK."""
    for lead in range(128, 256):
        for code in range(32, 127):
            try:
                text = bytes([lead, code]).decode(encoding)
            except UnicodeError:
                continue
            if not text.endswith(chr(code)):
                return True
    return False
