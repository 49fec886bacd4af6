"""One form for each category or id, a function of it alone: equal ones of different types become one object.

A column's type depends on all of its rows (one missing row makes integers floats, one text makes them objects), and
which of several equal objects is seen first depends on the others. Neither may show, nor decide what is counted.
"""

from __future__ import annotations

import datetime
import math
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from lapnoise._numbers import MAX_DECIMAL_EXPONENT, fraction_up

__all__ = ["EXACT_FLOATS", "RoundedFloatError", "UnfitError", "canonical", "is_missing", "is_rounded", "text"]

EXACT_FLOATS = 2**53
"""From here on a float may be any of several integers, rounded because another row of the column is missing."""


class UnfitError(Exception):
    """Of an entry that has no canonical form; the message says what it is, without its value."""


class RoundedFloatError(UnfitError):
    """Of a float that may be any of several integers."""


def canonical(entry: Any) -> Any:
    """Return the form of a category or id that all its equals share.

    Numbers become an int, else a float that is exactly equal, else a Fraction; text a str, bytes bytes; dates and times
    a datetime64 in UTC, of nanoseconds, else of microseconds; durations a timedelta; UUIDs themselves; tuples are taken
    entry by entry, and what is missing in one becomes None.

    Raises
    ------
    UnfitError
        For other types, whose equality could be anything.
    """
    kind = type(entry)
    if kind is str or kind is int:
        return entry
    if kind is float and abs(entry) < EXACT_FLOATS:
        return int(entry) if entry.is_integer() else entry
    if isinstance(entry, str):
        return str.__str__(entry)
    if isinstance(entry, bytes):
        return bytes(entry)
    if is_missing(entry):
        return None
    if isinstance(entry, datetime.date | np.datetime64):
        return _time(entry)
    if isinstance(entry, datetime.timedelta | np.timedelta64):  # the latter is an np.integer too
        return _duration(entry)
    if isinstance(entry, int | np.integer | np.bool_):
        return int(entry)
    if isinstance(entry, float | np.floating | Decimal | Fraction):
        return _number(entry)
    if kind is uuid.UUID:
        return uuid.UUID(int=entry.int)
    if isinstance(entry, tuple):
        return tuple(map(canonical, entry))
    raise UnfitError(f"a {kind.__name__}")


def text(key: Any) -> str:
    """Return a text that no other canonical form has, the same in all versions of Python and NumPy."""
    name = type(key).__name__
    if isinstance(key, tuple):
        return f"{name} ({', '.join(map(text, key))})"
    if isinstance(key, int | Fraction):  # in hexadecimal, since Python refuses thousands of decimal digits
        return f"{name} {key.numerator:x}/{key.denominator:x}"
    return f"{name} {key!r}" if isinstance(key, str | bytes) else f"{name} {key}"


def is_rounded(key: Any) -> bool:
    """Return whether a canonical form is, or holds, a number that floats cannot tell from its neighbours."""
    if isinstance(key, tuple):
        return any(map(is_rounded, key))
    return isinstance(key, int | Fraction) and not -EXACT_FLOATS < key < EXACT_FLOATS


def is_missing(entry: Any) -> bool:
    """Return whether an entry is None, NaN, NaT, NA or masked."""
    if entry is None or type(entry).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    if isinstance(entry, float | np.floating):
        return bool(entry != entry)
    if isinstance(entry, np.datetime64 | np.timedelta64):
        return bool(np.isnat(entry))
    return isinstance(entry, Decimal) and entry.is_nan()


def _number(entry: Any) -> int | float | Fraction:
    if entry in (math.inf, -math.inf):
        return float(entry)
    if isinstance(entry, Decimal):
        if not entry:
            return 0
        if abs(entry.adjusted()) > MAX_DECIMAL_EXPONENT:
            raise UnfitError(f"a Decimal beyond a power of ten of {MAX_DECIMAL_EXPONENT}")
    elif not isinstance(entry, Fraction) and abs(entry) >= np.float64(EXACT_FLOATS):
        raise RoundedFloatError(f"a {type(entry).__name__} of 2**53 or more in size")
    exact = Fraction(*entry.as_integer_ratio())
    if exact.denominator == 1:
        return exact.numerator
    nearest = fraction_up(exact)
    return nearest if math.isfinite(nearest) and Fraction(nearest) == exact else exact


def _time(entry: Any) -> np.datetime64:
    if hasattr(entry, "to_datetime64"):  # a pandas Timestamp, which may be of nanoseconds; in UTC if it has a zone
        given = entry.to_datetime64()
    elif isinstance(entry, datetime.datetime):
        ahead = entry.utcoffset() or datetime.timedelta(0)
        given = np.datetime64(entry.replace(tzinfo=None), "us") - np.timedelta64(ahead, "us")
    elif isinstance(entry, datetime.date):
        given = np.datetime64(entry, "D")
    else:
        given = entry
    for unit in ("ns", "us"):
        found = _exactly(given, unit)
        if found is not None:
            return found  # type: ignore[no-any-return]
    raise UnfitError(f"a {type(entry).__name__} out of the range of microseconds, or finer than nanoseconds")


def _duration(entry: Any) -> datetime.timedelta:
    # Not a timedelta64: that of 5 ns equals the integer 5.
    given = entry.to_timedelta64() if hasattr(entry, "to_timedelta64") else np.timedelta64(entry)
    found = _exactly(given, "us")
    if found is None:
        raise UnfitError(f"a {type(entry).__name__} out of the range of microseconds, or finer than these")
    return datetime.timedelta(microseconds=int(found.astype(np.int64)))


def _exactly(value: Any, unit: str) -> Any:
    """Return a datetime64 or timedelta64 in another unit, None where it would wrap or be cut off."""
    try:
        found = value.astype(f"{value.dtype.kind}8[{unit}]")
    except OverflowError:
        return None
    return found if found.astype(value.dtype) == value else None
