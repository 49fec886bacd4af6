"""Whether a ledger is what it was: pages, tables, chain, sums and results, each recomputed."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from lapnoise.errors import LedgerError
from lapnoise.ledger._amounts import Amount, from_text
from lapnoise.ledger._chain import CHARGES, Book, Head, Row, State, Terms, row_hash

__all__ = ["Verification", "chain_problems", "head_problems", "kept_result", "verify_file"]


class Verification(NamedTuple):
    """What `verify` found.

    Attributes
    ----------
    problems : tuple of str
        What is wrong, in sentences; empty where nothing is.
    length : int
        Rows that were read.
    head : Head or None
        Where the ledger stands; None where that could not be read.
    """

    problems: tuple[str, ...]
    length: int
    head: Head | None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def chain_problems(book: Book, terms: Terms, state: State) -> list[str]:
    """Recompute every hash and sum, and compare results with their digests; report the first break of the chain."""
    previous, spent = terms.genesis, Amount(Fraction(0), Fraction(0))
    rows = book.rows()
    problems = []
    for number, row in enumerate(rows, 1):
        try:
            epsilon, delta = from_text(row.epsilon), from_text(row.delta)
            spent = Amount(spent.epsilon + epsilon, spent.delta + delta)
            fits = row.number == number and row.hash == row_hash(terms.genesis, previous, row, spent)
        except (TypeError, ValueError, ZeroDivisionError):
            fits = False
        if not fits:
            problems.append(f"the chain breaks at entry {number}: it was changed, moved or is missing")
            break
        previous = row.hash
    else:
        if len(rows) != state.length or previous != state.hash:
            problems.append(f"the head speaks of {state.length} entries, and there are {len(rows)}")
        if spent != state.spent:
            problems.append(f"the head says that {state.spent} is spent, and the entries cost {spent}")
        problems += _result_problems(book, rows)
    if state.spent.epsilon > terms.total.epsilon or state.spent.delta > terms.total.delta:
        problems.append(f"more is spent than there is: {state.spent} of {terms.total}")
    return problems


def head_problems(book: Book, terms: Terms, state: State, expected: Head) -> list[str]:
    """Compare with a head that was kept elsewhere."""
    if expected.length > state.length:
        return [
            f"the ledger is an older copy: it has {state.length} entries, and the head kept elsewhere says that there "
            f"were {expected.length}"
        ]
    row = book.row(expected.length)
    found = terms.genesis if expected.length == 0 else row.hash if row else None
    if found != expected.hash:
        return [f"entry {expected.length} is not the one that the head kept elsewhere speaks of: another history"]
    return []


def kept_result(book: Book, number: int) -> bytes | None:
    """Return the result of a charge; None where there is none that the chain vouches for."""
    kept = book.content(number)
    row = None if kept is None else book.row(kept[0])
    if kept is None or row is None or row.kind != "result":
        return None
    vouched = {"of": number, "sha256": hashlib.sha256(kept[1]).hexdigest()}
    return kept[1] if json.loads(row.details) == vouched else None


def verify_file(path: Path, timeout: float, expected: Head | None) -> Verification:
    """Verify a file, as far as it can be read; what keeps it from being opened is the problem then."""
    from lapnoise.ledger._sqlite import SqliteStore

    problems: list[str] = []
    try:
        store = SqliteStore(path, timeout, trusting=True)
        with store.transaction(write=False) as book:
            problems += book.schema_problems()
            problems += [f"page damage: {text}" for text in book.integrity_problems()]
            terms, state = book.head()
            problems += chain_problems(book, terms, state)
            problems += head_problems(book, terms, state, expected) if expected else []
            return Verification(tuple(problems), state.length, Head(state.length, state.hash))
    except LedgerError as error:
        return Verification((*problems, str(error)), 0, None)


def _result_problems(book: Book, rows: list[Row]) -> list[str]:
    charges = {row.number for row in rows if row.kind in CHARGES}
    problems = []
    for row in rows:
        if row.kind == "result":
            details = json.loads(row.details)
            if details["of"] not in charges:
                problems.append(f"entry {row.number} is the result of no charge")
            elif details["sha256"] and kept_result(book, details["of"]) is None:
                problems.append(f"the result of entry {details['of']} was changed or is missing")
    return problems
