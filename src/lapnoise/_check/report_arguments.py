"""The arguments of a report: the mechanism by name, what it is called, data with their bounds, and the file."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from lapnoise._check._rules import shown

__all__ = ["column_name", "data_bounds", "mechanism_name", "page_name", "title", "whole_neighbours"]

LONGEST = 500
SUFFIXES = (".html", ".htm")


def mechanism_name(value: Any, names: tuple[str, ...]) -> str:
    """Return the name of a mechanism that there is a report of."""
    if value not in names:
        raise ValueError(f"mechanism must be one of {', '.join(names)}, got {shown(value)}")
    return str(value)


def title(value: Any) -> str | None:
    """Return a title as one line, or None."""
    return None if value is None else _line("title", value)


def column_name(value: Any) -> str | None:
    """Return what a column is called as one line, or None."""
    return None if value is None else _line("column", value)


def data_bounds(data: Any, low: Any, high: Any) -> None:
    """Refuse data without public bounds."""
    if data is not None and (low is None or high is None):
        raise ValueError("data need low and high: public bounds, not read from the data")


def page_name(path: Any) -> Path:
    """Return the path of a page, which must end as pages do."""
    found = Path(path)
    if found.suffix.lower() not in SUFFIXES:
        raise ValueError(f"report must be a file that ends in {' or '.join(SUFFIXES)}, got {str(path)!r}")
    return found


def whole_neighbours(sensitivity: Fraction) -> tuple[int, int]:
    """Return two integers as far apart as a sensitivity allows; one below 1 allows none."""
    if sensitivity < 1:
        raise ValueError(f"sensitivity must be at least 1 for discrete-laplace, got {sensitivity}")
    return 0, sensitivity.numerator // sensitivity.denominator


def _line(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str or None, got {shown(value)}")
    line = " ".join(value.split())
    if not line or len(line) > LONGEST:
        raise ValueError(f"{name} must have from 1 to {LONGEST} characters, got {len(line)}")
    return line
