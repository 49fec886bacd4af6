"""The file arguments' part of ``lapnoise._check``: every message names the parameter, the rule and the value."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from lapnoise import _numbers

__all__ = ["columns", "delimiter", "file_format", "missing", "scale_for", "target_format"]

_FORMAT_OF_SUFFIX = {".csv": "csv", ".tsv": "csv", ".npy": "npy"}
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


def scale_for(epsilon: Fraction, sensitivity: Fraction, *, float32: bool = False) -> float:
    """Return sensitivity / epsilon rounded up to a float; no draw at that scale can pass the largest float."""
    scale = _numbers.fraction_up(sensitivity / epsilon)
    # A float64 draw reaches 45 scales at most, a float32 draw 23: beyond that a cell could become infinite.
    limit = _LARGEST_FLOAT32 / 23 if float32 else sys.float_info.max / 45
    if scale > limit:
        raise OverflowError(
            f"sensitivity / epsilon must be at most {limit:.6g} for {'float32' if float32 else 'float64'} values, "
            f"got {'more than any float' if math.isinf(scale) else repr(scale)}"
        )
    if float32:
        nearest = np.float32(scale)
        return float(nearest if float(nearest) >= scale else np.nextafter(nearest, np.float32(np.inf)))
    return scale


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


def target_format(suffix: str, expected: str) -> None:
    """Refuse a target whose suffix says another format than the one that is written."""
    if _FORMAT_OF_SUFFIX.get(suffix.lower(), expected) != expected:
        raise ValueError(f"target must have the format of the source, {expected}, got suffix {suffix!r}")
