"""What every check is made of: reading numbers, and saying what was wrong with what was given."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = [
    "amount",
    "count",
    "integer",
    "listed",
    "pair",
    "positive_amount",
    "shown",
]


def shown(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # more digits than Python writes
        return f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."


def listed(names: Sequence[Any]) -> str:
    """Return names for a message: the first twenty, and how many more there are."""
    rest = len(names) - _LISTED
    more = f" and {rest} more" if rest > 0 else ""
    return (", ".join(map(repr, names[:_LISTED])) or "none") + more


_LISTED = 20


def amount(
    name: str,
    value: Any,
    read: Callable[[Any], Fraction | None],
    rule: str,
    holds: Callable[[Fraction], bool],
) -> Fraction:
    try:
        amount = read(value)
    except TypeError:
        raise TypeError(
            f"{name} must be a number (int, float, Decimal, Fraction or numeric text), got {shown(value)}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{name} {error}, got {shown(value)}") from None
    if amount is None or not holds(amount):
        raise ValueError(f"{name} must be {rule}, got {shown(value)}")
    return amount


def positive_amount(name: str, value: Any, read: Callable[[Any], Fraction | None]) -> Fraction:
    return amount(name, value, read, "finite and > 0", lambda amount: amount > 0)


def pair(name: str, value: Any, parts: str = "low, high") -> tuple[Any, Any]:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or len(value) != 2:
        raise TypeError(f"{name} must be a pair ({parts}), got {shown(value)}")
    return value[0], value[1]


def integer(name: str, value: Any) -> int:
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be an int, got {shown(value)}")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, got {shown(value)}") from None


def count(name: str, value: Any, least: int = 0) -> int:
    """Return an int of at least ``least``."""
    number = integer(name, value)
    if number < least:
        raise ValueError(f"{name} must be >= {least}, got {shown(value)}")
    return number
