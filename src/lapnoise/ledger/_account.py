"""What is done with the rows of a ledger, in one transaction each: charge, reserve, record."""

from __future__ import annotations

import hashlib
import os
import secrets
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from lapnoise._check import ledger_arguments
from lapnoise.errors import BudgetExhaustedError, RequestRefusedError
from lapnoise.ledger._amounts import Amount, to_text
from lapnoise.ledger._chain import Book, Head, Row, State, Terms, encode, following, now
from lapnoise.ledger._entry import entry_of
from lapnoise.ledger._memory import MemoryStore
from lapnoise.ledger._verification import Verification, chain_problems, head_problems, kept_result, verify_file

__all__ = ["Account", "left"]

_NOTHING = Amount(Fraction(0), Fraction(0))
_REPEATABLE = b"repeatable"
"""What is kept as the result of a release that is made anew, and the same, each time."""


class Account:
    """A store of rows, and the rules by which rows are added.

    Parameters
    ----------
    store
        In memory or in a file.
    """

    def __init__(self, store: Any) -> None:
        self._store = store
        self._genesis = self.terms.genesis

    @classmethod
    def made(cls, total: Amount, path: Path | None, timeout: float) -> Self:
        """Return a new account in memory, or the one in a file, which is made where it is not there."""
        if path is None:
            return cls(MemoryStore(total))
        from lapnoise.ledger._connection import create
        from lapnoise.ledger._sqlite import SqliteStore

        if not os.path.lexists(path):
            create(path, Terms(secrets.token_hex(16), now(), total))
        return cls(SqliteStore(path, timeout))

    @classmethod
    def opened(cls, path: Path, timeout: float, seen: Head | None) -> Self:
        """Return the account in an existing file, which must have gone on from where it was seen."""
        from lapnoise.ledger._sqlite import SqliteStore

        return cls(SqliteStore(path, timeout, seen))

    @property
    def terms(self) -> Terms:
        """What the ledger was made with."""
        terms: Terms = self._store.terms
        return terms

    @property
    def path(self) -> Path | None:
        """The file, None in memory."""
        return getattr(self._store, "path", None)

    @property
    def seen(self) -> tuple[Head, float]:
        """Where a file stood when it was last looked at, and how long to wait for it."""
        return self._store.seen, self._store.timeout

    def state(self) -> State:
        """Return where the ledger stands."""
        with self._store.transaction(write=False) as book:
            state: State = book.state()
        return state

    def rows(self) -> list[Row]:
        """Return all rows."""
        with self._store.transaction(write=False) as book:
            rows: list[Row] = book.rows()
        return rows

    def fits(self, cost: Amount) -> bool:
        """Return whether a charge would fit now."""
        return _after(self.terms.total, self.state().spent, cost) is not None

    def refuse_unless_fits(self, cost: Amount) -> None:
        """Raise BudgetExhaustedError where a charge would not fit now."""
        self._granted(self.state(), cost)

    def charge(self, kind: str, label: str, cost: Amount, details: str) -> Row:
        """Charge; BudgetExhaustedError where the cost does not fit."""
        with self._store.transaction(write=True) as book:
            return self._charge(book, kind, label, cost, None, details)

    def reserve(
        self, label: str, cost: Amount, details: dict[str, Any], request_id: str | None = None
    ) -> tuple[bytes | None, int]:
        """Charge a release before data are touched; return the result kept for the request instead, and the entry."""
        with self._store.transaction(write=True) as book:
            earlier = None if request_id is None else book.request(request_id)
            if earlier is None:
                return None, self._charge(book, "release", label, cost, request_id, encode(details)).number
            _refuse_other("request_id", earlier, label, cost, details)
            book.state()
            kept = kept_result(book, earlier.number)
        if kept is None:
            raise RequestRefusedError(
                f"request_id {request_id!r} was charged before, as entry {earlier.number}, and has no result: it is "
                "being made, or its process ended; nothing is refunded, so take another request_id"
            )
        return kept, earlier.number

    def charge_once(self, label: str, cost: Amount, details: dict[str, Any], request_id: str) -> bool:
        """Charge a release that may be made any number of times, being the same each time; return whether it was new.

        Charge and record are one transaction: there is no moment at which another process could find one alone.
        """
        with self._store.transaction(write=True) as book:
            earlier = book.request(request_id)
            if earlier is not None:
                _refuse_other("release_id", earlier, label, cost, details)
                book.state()
                return False
            number = self._charge(book, "release", label, cost, request_id, encode(details)).number
            self._record(book, number, label, _REPEATABLE)
        return True

    def record(self, number: int, label: str, content: bytes | None) -> None:
        """Record that the noise of a charge was drawn, and the result where it is kept."""
        with self._store.transaction(write=True) as book:
            self._record(book, number, label, content)

    def verified(self, expected: Head | None) -> Verification:
        """Recompute everything, and say what is wrong."""
        if self.path is not None:
            return verify_file(self.path, self._store.timeout, expected)
        with self._store.transaction(write=False) as book:
            state = book.state()
            problems = chain_problems(book, self.terms, state)
            problems += head_problems(book, self.terms, state, expected) if expected else []
        return Verification(tuple(problems), state.length, Head(state.length, state.hash))

    def _charge(self, book: Book, kind: str, label: str, cost: Amount, request_id: str | None, details: str) -> Row:
        state = book.state()
        spent = self._granted(state, cost)
        row, after = following(self._genesis, state, spent, kind, label, cost, request_id, details)
        book.append(row, state, after, None)
        return row

    def _record(self, book: Book, number: int, label: str, content: bytes | None) -> None:
        details = {"of": number, "sha256": None if content is None else hashlib.sha256(content).hexdigest()}
        state = book.state()
        row, after = following(self._genesis, state, state.spent, "result", label, _NOTHING, None, encode(details))
        book.append(row, state, after, None if content is None else (number, content))

    def _granted(self, state: State, cost: Amount) -> Amount:
        """Return the sum after a charge; BudgetExhaustedError where it is more than the total."""
        total = self.terms.total
        spent = _after(total, state.spent, cost)
        if spent is None:
            rest = left(total, state.spent)
            nothing = " and delta 0" if cost.delta and not rest.delta else ""
            told = f"budget exhausted: {cost} was asked, {rest}{nothing} is left of {total}"
            raise BudgetExhaustedError(told, cost, rest)
        return spent


def _refuse_other(name: str, earlier: Row, label: str, cost: Amount, details: dict[str, Any]) -> None:
    """Refuse a request under an id that was charged for another one."""
    before = entry_of(earlier, cost).details
    if before.get("fingerprint") != details["fingerprint"]:
        changed = ", ".join(_differing(before, earlier.label, details, label, earlier, cost))
        raise RequestRefusedError(
            f"{name} {earlier.request_id!r} was charged before for something else, as entry {earlier.number}, "
            f"which differs in {changed}"
        )


def _differing(
    before: dict[str, Any], label_before: str, details: dict[str, Any], label: str, earlier: Row, cost: Amount
) -> list[str]:
    """Return the names of what one request has otherwise than another."""
    names = sorted((set(before) | set(details)) - {"fingerprint", "rho", "steps"})
    found = [name for name in names if encode(before.get(name)) != encode(details.get(name))]
    found += ["label"] if label_before != label else []
    same_cost = (earlier.epsilon, earlier.delta) == (to_text(cost.epsilon), to_text(cost.delta))
    return found + ([] if same_cost else ["cost"]) or ["its module"]


def left(total: Amount, spent: Amount) -> Amount:
    """Return what is left."""
    return Amount(total.epsilon - spent.epsilon, total.delta - spent.delta)


def _after(total: Amount, spent: Amount, cost: Amount) -> Amount | None:
    """Return the sum after a charge, or None where it is more than the total."""
    ledger_arguments.charge_size(*cost)
    after = Amount(spent.epsilon + cost.epsilon, spent.delta + cost.delta if cost.delta else spent.delta)
    if after.epsilon > total.epsilon or after.delta > total.delta:
        return None
    for name, *amounts in zip(("epsilon", "delta"), spent, cost, after, strict=True):
        ledger_arguments.sum_size(name, *amounts)
    return after
