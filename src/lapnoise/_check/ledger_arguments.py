"""The arguments of ledgers: totals, labels, request ids, parts, heads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from lapnoise import _numbers
from lapnoise._check._amounts import delta, epsilon
from lapnoise._check._rules import amount, count, positive_amount, shown

__all__ = [
    "LARGEST_RESULT",
    "charge_size",
    "disjoint",
    "ledger_head",
    "ledger_path",
    "neighbours",
    "no_output",
    "optional_text",
    "parts",
    "plain_candidates",
    "positive_delta",
    "releasing",
    "result_size",
    "sum_size",
    "text",
    "timeout",
    "total_delta",
    "total_epsilon",
    "totals",
]

LARGEST_RESULT = 16 * 2**20
"""Bytes of a result that a ledger keeps for a request id."""

_LARGEST_AMOUNT = 4096
"""Bits above and below the line of an amount: some 1,200 decimal digits."""

_LARGEST_SUM = 8192
"""Bits of the sum's denominator from which on decimals alone are charged.

Every other denominator may multiply it, and each charge takes as long as it is long; decimals of the size above add at
most 4096 factors of 2 and 1764 of 5.
"""


def total_epsilon(value: Any) -> Fraction:
    """Return the epsilon of a whole budget as its text shows; finite and > 0."""
    total = positive_amount("total_epsilon", value, _numbers.as_printed)
    _size("total_epsilon", total)
    return total


def total_delta(value: Any) -> Fraction:
    """Return the delta of a whole budget as its text shows; in [0, 1)."""
    rule = "at least 0 and less than 1"
    total = amount("total_delta", value, _numbers.as_printed, rule, lambda amount: 0 <= amount < 1)
    _size("total_delta", total)
    return total


def charge_size(epsilon: Fraction, delta: Fraction) -> None:
    """Refuse a charge whose amounts are too long to be added up for ever."""
    _size("epsilon", epsilon)
    _size("delta", delta)


def sum_size(name: str, before: Fraction, charged: Fraction, after: Fraction) -> None:
    """Refuse a charge that makes a long denominator of the sum longer, unless it is a decimal."""
    bits = after.denominator.bit_length()
    longer = bits > _LARGEST_SUM and after.denominator > before.denominator
    if longer and pow(10, _LARGEST_AMOUNT, charged.denominator):
        raise ValueError(
            f"{name} must be a decimal, such as 0.1, where the sum of all charges would be a fraction with a "
            f"denominator of {bits} bits, more than {_LARGEST_SUM}, got {shown(charged)}"
        )


def _size(name: str, value: Fraction) -> None:
    bits = max(value.numerator.bit_length(), value.denominator.bit_length())
    if bits > _LARGEST_AMOUNT:
        raise ValueError(f"{name} must be a fraction of integers of at most {_LARGEST_AMOUNT} bits, got {bits} bits")


def positive_delta(value: Any) -> Fraction:
    """Return a delta as its text shows; between 0 and 1."""
    return amount("delta", value, _numbers.as_printed, "between 0 and 1", lambda amount: 0 < amount < 1)


def text(name: str, value: Any) -> str:
    """Return text that UTF-8 can hold."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, got {shown(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{name} must be text that UTF-8 can hold, got {shown(value)}") from None
    return str(value)


def optional_text(name: str, value: Any) -> str | None:
    """Return text that is not empty; None stays None."""
    if value is None:
        return None
    if not text(name, value):
        raise ValueError(f"{name} must not be empty, got ''")
    return str(value)


def timeout(value: Any) -> float:
    """Return seconds to wait for a lock, at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"timeout must be a number of seconds, got {shown(value)}")
    if not 0 <= value <= 1e6:
        raise ValueError(f"timeout must be from 0 to 1e6 seconds, got {shown(value)}")
    return float(value)


def ledger_path(value: Any) -> Path:
    """Return the path of a ledger with all symbolic links followed, so that it has one name."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"path must be a path, got {shown(value)}")
    told = os.fspath(value)
    if not isinstance(told, str) or not told or told == ":memory:":
        raise ValueError(f"path must be the path of a file, got {shown(value)}")
    return Path(os.path.realpath(told))


def ledger_head(value: Any) -> tuple[int, str]:
    """Return (count, hash) of a head, which may be text such as ``"3:9f86..."``."""
    pair = value
    if isinstance(value, str):
        number, _, digest = value.strip().partition(":")
        pair = (int(number) if number.isascii() and number.isdigit() and len(number) < 20 else None, digest)
    if not isinstance(pair, tuple) or len(pair) != 2 or isinstance(pair[0], bool) or not isinstance(pair[0], int):
        raise ValueError(f"head must be a count and a hash, such as '3:9f86...', got {shown(value)}")
    if not isinstance(pair[1], str) or len(pair[1]) != 64 or set(pair[1]) - set("0123456789abcdef"):
        raise ValueError(f"head must end in 64 hexadecimal digits, got {shown(value)}")
    return count("head", pair[0]), pair[1]


def neighbours(value: Any) -> str:
    """Return the neighbouring relation."""
    if value not in ("add-remove", "replace"):
        raise ValueError(f"neighbours must be 'add-remove' or 'replace', got {shown(value)}")
    return str(value)


def parts(value: Any) -> list[tuple[str, Fraction, Fraction]]:
    """Return (name, epsilon, delta) of each part; from a mapping, or from pairs (name, cost)."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise TypeError(f"parts must map names to costs, got {shown(value)}")
    named: list[tuple[str, Fraction, Fraction]] = []
    for item in value.items() if isinstance(value, Mapping) else value:
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise TypeError(f"parts must be pairs (name, cost), got {shown(item)}")
        name, cost = item
        two = cost if isinstance(cost, tuple | list) else (cost, 0)
        if len(two) != 2:
            raise ValueError(f"parts must cost epsilon or (epsilon, delta), got {shown(cost)}")
        named.append((text("name of a part", name), epsilon(two[0]), delta(two[1])))
    if not named:
        raise ValueError("parts must name at least one part, got none")
    if len({name for name, _, _ in named}) < len(named):
        raise ValueError(f"parts must name each part once, got {shown([name for name, _, _ in named])}")
    return named


def disjoint(members: Any, names: list[str], most: int | None) -> None:
    """Refuse members of parts of whom one is in more than ``most`` parts; parts are named, members never."""
    if not isinstance(members, Mapping) or set(members) != set(names):
        raise ValueError("members must map the name of each part to the ids of those in it, got other names")
    seen: dict[Any, list[str]] = {}
    for name in names:
        for member in set(getattr(members[name], "tolist", lambda name=name: members[name])()):
            seen.setdefault(member, []).append(name)
    for found in seen.values():
        if most is not None and len(found) > most:
            raise ValueError(
                f"members must be in at most {most} {'part' if most == 1 else 'parts'} each, got one in "
                f"{' and '.join(map(repr, found[: most + 1]))}; the charge stands"
            )


def releasing(mechanism: Any) -> tuple[str, Fraction, Fraction, dict[str, Any]]:
    """Return the name of a mechanism's releasing method, the epsilon and delta it was asked for, its parameters."""
    method = next((name for name in ("add_noise", "select") if callable(getattr(mechanism, name, None))), None)
    if method is None or isinstance(mechanism, type) or not hasattr(mechanism, "epsilon_asked"):
        raise TypeError(f"mechanism must be a mechanism of lapnoise, got {shown(mechanism)}")
    asked = getattr(mechanism, "delta_asked", getattr(mechanism, "delta", 0))
    return method, epsilon(mechanism.epsilon_asked), delta(asked), dict(mechanism._parameters())


def result_size(size: int) -> None:
    """Refuse to keep a result that is too large for a ledger."""
    if size > LARGEST_RESULT:
        raise ValueError(
            f"request_id must be left out where a result has more than {LARGEST_RESULT} bytes, which no ledger keeps, "
            f"got {size} bytes"
        )


def no_output(value: Any) -> None:
    """Refuse an array to write to where the result is kept."""
    if value is not None:
        raise ValueError("out must be left out where there is a request_id, got an array")


def plain_candidates(value: Any, kinds: tuple[type, ...]) -> None:
    """Refuse candidates that a ledger cannot keep."""
    for candidate in value:
        if not isinstance(candidate, kinds):
            raise TypeError(
                f"candidates must be text or numbers where there is a request_id, got a {type(candidate).__name__}"
            )


def totals(name: str, expected: Any, found: Any) -> None:
    """Refuse totals that are not those of the ledger that exists."""
    if expected != found:
        raise ValueError(f"total_epsilon and total_delta must be those of the ledger {name!r}, {found}, got {expected}")
