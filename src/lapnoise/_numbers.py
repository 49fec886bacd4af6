"""Exact reading of amounts: what a person wrote is what is computed with."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

__all__ = ["MAX_DECIMAL_EXPONENT", "SquareRoot", "as_printed", "as_stored", "as_text", "fraction_down", "fraction_up"]

MAX_DECIMAL_EXPONENT = 10_000
"""The largest power of ten that text or a Decimal may carry."""

_RATIO = re.compile(r"\s*[+-]?[0-9]{1,4000}\s*/\s*[0-9]{1,4000}\s*", re.ASCII)


class SquareRoot(NamedTuple):
    """The square root of a rational number, exactly: an L2 sensitivity that is none itself."""

    l2_squared: Fraction


def as_printed(value: Any) -> Fraction | None:
    """Read a number as it prints, so that the float 0.1 is one tenth; None for NaN and the infinities.

    Used for epsilon and delta. bool, complex and text that is no number raise TypeError.
    """
    if isinstance(value, float | np.floating):
        value = repr(float(value)) if isinstance(value, float | np.float64) else str(value)
    return _exact(value)


def as_stored(value: Any) -> Fraction | None:
    """Read a number at its exact stored value, so that the float 0.1 is 0x1.999999999999ap-4; None if not finite.

    Used for sensitivities and bounds. bool, complex and text that is no number raise TypeError.
    """
    if isinstance(value, float | np.floating):
        # Not through float(): a long double may lie above its nearest float.
        return Fraction(*value.as_integer_ratio()) if np.isfinite(value) else None
    return _exact(value)


def as_text(number: Fraction) -> str:
    """Return a number as it was meant: a decimal where it is a short one, else the fraction, or what it is about."""
    if number and not Fraction(10) ** -300 < abs(number) < Fraction(10) ** 300:
        short = f"{(Decimal(number.numerator) / Decimal(number.denominator)).normalize():.12g}"
    else:
        short = f"{float(number):.12g}"
    if Fraction(short) == number:
        return short
    if max(number.numerator.bit_length(), number.denominator.bit_length()) < 64 and len(str(number)) <= 20:
        return str(number)
    return f"about {short}"


def fraction_up(value: Fraction) -> float:
    """Return the least float64 that is not below ``value``; inf beyond the largest."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if math.isinf(nearest) or Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def fraction_down(value: Fraction) -> float:
    """Return the largest finite float64 that is not above ``value`` >= 0."""
    above = fraction_up(value)
    return above if math.isfinite(above) and Fraction(above) == value else math.nextafter(above, 0.0)


def _exact(value: Any) -> Fraction | None:
    if isinstance(value, bool | np.bool_):
        raise TypeError("a bool is not an amount")
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, Fraction):
        return value
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, Decimal):
        return _from_decimal(value)
    raise TypeError(f"a {type(value).__name__} is not an amount")


def _from_text(text: str) -> Fraction | None:
    try:
        return _from_decimal(Decimal(text))
    except InvalidOperation:
        # Only "1/3" is left: Fraction would also work out 1e1000000000000000000, which Decimal refuses.
        if _RATIO.fullmatch(text) is None or int(text.rpartition("/")[2]) == 0:
            raise TypeError("text is not an amount") from None
    return Fraction("".join(text.split()))


def _from_decimal(number: Decimal) -> Fraction | None:
    # Fractions cost the square of their length: those of 1e10000 are made in a millisecond, those of 1e1000000 in
    # minutes.
    if not number.is_finite():
        return None
    if number and abs(number.adjusted()) > MAX_DECIMAL_EXPONENT:
        raise ValueError(f"must have a decimal exponent of at most {MAX_DECIMAL_EXPONENT}")
    return Fraction(number)
