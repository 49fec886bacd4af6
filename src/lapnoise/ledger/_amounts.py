"""Amounts of privacy, epsilon beside delta, as exact rationals and as their text."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

__all__ = ["Amount", "from_text", "to_text"]

_SHORT = 24


class Amount(NamedTuple):
    """Epsilon and delta, exactly."""

    epsilon: Fraction
    delta: Fraction

    def __str__(self) -> str:
        """Return the amount in words: "epsilon 2/5", and the delta unless it is 0."""
        told = f"epsilon {_readable(self.epsilon)}"
        return f"{told} and delta {_readable(self.delta)}" if self.delta else told

    def to_dict(self) -> dict[str, str | float]:
        """Return both amounts as exact text and as the nearest floats."""
        exact = {"epsilon": to_text(self.epsilon), "delta": to_text(self.delta)}
        return {**exact, "epsilon_float": _nearest(self.epsilon), "delta_float": _nearest(self.delta)}


def _readable(amount: Fraction) -> str:
    """Return the exact text, and where that is long, a decimal beside it."""
    text = to_text(amount)
    return text if len(text) <= _SHORT else f"{text} (about {_nearest(amount):.9g})"


def _nearest(amount: Fraction) -> float:
    """Return the nearest float, inf beyond the largest."""
    try:
        return float(amount)
    except OverflowError:
        return math.inf


def to_text(amount: Fraction) -> str:
    """Return an exact rational in lowest terms: "2/5", "3"."""
    try:
        return str(amount)
    except ValueError:
        # Python refuses to write integers of more than 4300 digits; Decimal writes them.
        parts = [f"{Decimal(part):f}" for part in amount.as_integer_ratio()]
        return "/".join(parts[:1] if amount.denominator == 1 else parts)


def from_text(text: object) -> Fraction:
    """Return the rational that `to_text` wrote; ValueError for anything else."""
    if not isinstance(text, str):  # a damaged row may hold anything
        raise ValueError("not a text")
    numerator, _, denominator = text.partition("/")
    amount = Fraction(_integer(numerator), _integer(denominator) if denominator else 1)
    if to_text(amount) != text:
        raise ValueError("not an amount in lowest terms")
    return amount


def _integer(digits: str) -> int:
    if not (digits.isascii() and digits.isdigit()) or digits == "0" * len(digits) != "0":
        raise ValueError("not digits")
    return int(digits) if len(digits) < 4000 else int(Decimal(digits))
