"""The arguments of a report: the mechanism by name, what it is called, data with their bounds, and the file."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from lapnoise._check._rules import shown
from lapnoise._numbers import as_text

__all__ = ["both_bounds", "column_name", "data_bounds", "mechanism_name", "page_name", "ratio", "title"]

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


def both_bounds(low: Any, high: Any) -> None:
    """Refuse one bound without the other."""
    if (low is None) != (high is None):
        given, value = ("low", low) if high is None else ("high", high)
        raise ValueError(f"low and high must be given together, got {given} {shown(value)} alone")


def ratio(sensitivity: Fraction, epsilon: Fraction) -> None:
    """Refuse noise of which a report could not show squared errors, from a quarter of epsilon to four times as much."""
    if not Fraction(10) ** -130 <= sensitivity / epsilon <= Fraction(10) ** 130:
        raise OverflowError(
            "sensitivity / epsilon must lie between 1e-130 and 1e130 for a report, so that squared errors are floats, "
            f"got sensitivity {as_text(sensitivity)} and epsilon {as_text(epsilon)}"
        )


def _line(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str or None, got {shown(value)}")
    line = " ".join(value.split())
    if not line or len(line) > LONGEST:
        raise ValueError(f"{name} must have from 1 to {LONGEST} characters, got {len(line)}")
    return line
