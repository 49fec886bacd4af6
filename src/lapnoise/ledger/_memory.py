"""A ledger in the memory of one process."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from lapnoise.bits import fork
from lapnoise.errors import LedgerUnavailableError
from lapnoise.ledger._amounts import Amount
from lapnoise.ledger._chain import Row, State, Terms, now

__all__ = ["MemoryStore"]


class MemoryStore:
    """Rows in lists, under a lock. A forked child has a copy of the budget, which it must not spend."""

    def __init__(self, total: Amount) -> None:
        self.terms = Terms(secrets.token_hex(16), now(), total)
        self._state = State(0, Amount(Fraction(0), Fraction(0)), self.terms.genesis)
        self._rows: list[Row] = []
        self._requests: dict[str, int] = {}
        self._contents: dict[int, tuple[int, bytes]] = {}
        self._lock = threading.RLock()
        self._process = _process()

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[MemoryStore]:
        """Hold the lock."""
        if _process() != self._process:
            raise LedgerUnavailableError(
                "a ledger in memory belongs to the process that made it, not to a fork of it: give a path to share one"
            )
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise LedgerUnavailableError(
                "the ledger is in use by this very thread: a signal handler or a finalizer must not use it; nothing "
                "was granted"
            )
        with self._lock:
            yield self

    def state(self) -> State:
        """Return where the ledger stands."""
        return self._state

    def append(self, row: Row, before: State, after: State, content: tuple[int, bytes] | None) -> None:
        """Add a row, and what a charge led to."""
        self._rows[before.length :] = [row]
        self._state = after
        if row.request_id is not None:
            self._requests[row.request_id] = row.number
        if content is not None:
            self._contents[content[0]] = row.number, content[1]

    def row(self, number: int) -> Row | None:
        """Return the row with a number."""
        return self._rows[number - 1] if 0 < number <= len(self._rows) else None

    def request(self, request_id: str) -> Row | None:
        """Return the row of a request."""
        return self.row(self._requests.get(request_id, 0))

    def content(self, number: int) -> tuple[int, bytes] | None:
        """Return the result that a charge led to, behind the number of the row that records it."""
        return self._contents.get(number)

    def rows(self) -> list[Row]:
        """Return all rows in order."""
        return list(self._rows)


def _process() -> tuple[int, int]:
    # Beside the process id, which a child in a namespace of its own may have in common with its parent.
    return os.getpid(), fork.forks
