"""Rows of a ledger and the chain of hashes over them, in which no row can be changed, moved or left out unseen."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from lapnoise.ledger._amounts import Amount, to_text

__all__ = ["CHARGES", "Book", "Head", "Row", "State", "Terms", "encode", "following", "now", "row_hash"]

CHARGES = ("spend", "parallel", "release")
"""Kinds of rows that cost; the other kind, "result", marks a release as done."""

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
"""The canonical text of what is hashed: injective, whatever stands in labels."""


class Head(NamedTuple):
    """Where a ledger stands: how many rows it has, and the hash that covers them all.

    Kept elsewhere it tells whether a ledger that is found later is this one, continued, or an older copy.
    """

    length: int
    hash: str

    def __str__(self) -> str:
        return f"{self.length}:{self.hash}"


class Terms(NamedTuple):
    """What a ledger is made with, and never changes."""

    identity: str
    created: str
    total: Amount

    @property
    def genesis(self) -> str:
        """Hash of the terms, which stands before the first row and is part of every row's hash."""
        return _digest(["lapnoise ledger", self.identity, self.created, *map(to_text, self.total)])


class State(NamedTuple):
    """How many rows there are, what they cost in sum, and the hash of the last."""

    length: int
    spent: Amount
    hash: str


class Row(NamedTuple):
    """One row; amounts and details as their canonical text."""

    number: int
    time: str
    kind: str
    label: str
    epsilon: str
    delta: str
    request_id: str | None
    details: str
    hash: str


class Book(Protocol):
    """The rows of a ledger inside a transaction."""

    def state(self) -> State:
        """Return where the ledger stands; LedgerDamagedError where head and last row do not fit."""

    def append(self, row: Row, before: State, after: State, content: tuple[int, bytes] | None) -> None:
        """Add a row, and what a charge led to: its number and the result."""

    def row(self, number: int) -> Row | None:
        """Return the row with a number."""

    def request(self, request_id: str) -> Row | None:
        """Return the row of a request."""

    def content(self, number: int) -> tuple[int, bytes] | None:
        """Return the result that a charge led to, behind the number of the row that records it."""

    def rows(self) -> list[Row]:
        """Return all rows in order."""


def following(
    terms_hash: str,
    before: State,
    spent: Amount,
    kind: str,
    label: str,
    cost: Amount,
    request_id: str | None,
    details: str,
) -> tuple[Row, State]:
    """Return the row that comes next, and the state after it."""
    number, time = before.length + 1, now()
    epsilon, delta = to_text(cost.epsilon), to_text(cost.delta)
    digest = _digest(
        [terms_hash, before.hash, number, time, kind, label, epsilon, delta, request_id, details, *map(to_text, spent)]
    )
    row = Row(number, time, kind, label, epsilon, delta, request_id, details, digest)
    return row, State(number, spent, digest)


def row_hash(terms_hash: str, previous: str, row: Row, spent: Amount) -> str:
    """Return the hash that a row must have behind the row before it, where ``spent`` is the sum up to it."""
    return _digest([terms_hash, previous, *row[:-1], *map(to_text, spent)])


def now() -> str:
    """Return the time in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _digest(fields: list[Any]) -> str:
    return hashlib.sha256(encode(fields).encode("utf-8", "surrogatepass")).hexdigest()
