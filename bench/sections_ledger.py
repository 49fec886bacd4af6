"""The report's part on ledgers: what a charge costs in memory, what it costs on the disk, and how long ledgers open."""

from __future__ import annotations

import functools
import itertools
import sqlite3
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from bench.rows import Row, cost, plain
from bench.sections import Plan
from bench.timing import Measurement, Timed, interleave
from lapnoise import PrivacyLedger
from lapnoise.ledger import Amount
from lapnoise.ledger._chain import following

__all__ = ["LEDGER_SECTIONS", "grow", "rows_ledger"]

BUDGET = 10**9
LABEL = "a label of some forty letters, as they are"
SPEND = 0.001


def rows_ledger(plan: Plan) -> Iterator[Row]:
    """Compare a durable charge with the bare insertion of such a row, and time charges and ledgers by themselves."""
    entries = 1_000_000 if plan.repeats > 10 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        group = "one charge to a ledger, and one row to SQLite, each on the disk (ns a charge)"
        memory, bare = PrivacyLedger(BUDGET), _bare(Path(folder) / "bare.db")
        durable = PrivacyLedger(BUDGET, path=Path(folder) / "ledger.db")
        reference, spend, in_memory = "bare SQLite insert", "spend, in a file", "spend, in memory"
        row = (LABEL, "1/1000", "0", "{}", "0" * 64)

        def insert() -> None:
            bare.execute("BEGIN IMMEDIATE")
            bare.execute("INSERT INTO t VALUES (NULL, ?, ?, ?, ?, ?)", row)
            bare.execute("COMMIT")

        tasks = [
            Timed(reference, insert, 1),
            Timed(spend, functools.partial(durable.spend, SPEND, label=LABEL), 1),
            Timed(in_memory, functools.partial(memory.spend, SPEND, label=LABEL), 1),
        ]
        measured = interleave(tasks, plan.repeats)
        yield plain(group, reference, measured[reference])
        yield cost(group, spend, measured[spend], (reference, measured[reference]), target="durable spend")
        yield _seconds(group, in_memory, measured[in_memory], "memory spend")

        group = f"a ledger of {entries:,} entries"
        path = Path(folder) / "large.db"
        PrivacyLedger(BUDGET, path=path)
        grow(path, entries)
        large = PrivacyLedger.open(path)
        opening, asking = "open it and ask what remains", "ask what remains"
        tasks = [
            Timed(opening, lambda: PrivacyLedger.open(path).remaining, 1),
            Timed(asking, lambda: large.remaining, 1),
        ]
        measured = interleave(tasks, plan.repeats)
        yield _seconds(group, opening, measured[opening], "large ledger")
        yield _seconds(group, asking, measured[asking], "large ledger")


def grow(path: Path, entries: int) -> None:
    """Add entries to a ledger in one transaction, which its triggers forbid."""
    ledger = PrivacyLedger.open(path)
    state, genesis, one = ledger._account.state(), ledger._account._genesis, Amount(Fraction(1, 1000), Fraction(0))
    rows = []
    for _ in itertools.repeat(None, entries):
        spent = Amount(state.spent.epsilon + one.epsilon, state.spent.delta)
        row, state = following(genesis, state, spent, "spend", LABEL, one, None, "{}")
        rows.append(row)
    connection = sqlite3.connect(path, isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    connection.execute("BEGIN EXCLUSIVE")
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.executemany(
        "INSERT INTO entries (number, time, kind, label, epsilon, delta, request_id, details, hash) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    connection.execute(
        "UPDATE head SET count = ?, spent_epsilon = ?, hash = ?", (state.length, str(state.spent.epsilon), state.hash)
    )
    for _, sql in triggers:
        connection.execute(sql)
    connection.execute("COMMIT")
    connection.close()


LEDGER_SECTIONS = (rows_ledger,)


def _bare(path: Path) -> sqlite3.Connection:
    """Return a table of such rows, with the pragmas of a ledger."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute(
        "CREATE TABLE t "
        "(number INTEGER PRIMARY KEY, label TEXT, epsilon TEXT, delta TEXT, details TEXT, hash TEXT) STRICT"
    )
    return connection


def _seconds(group: str, what: str, measured: Measurement, target: str) -> Row:
    seconds = measured.ns * 1e-9
    return Row(group, what, seconds, "s", 1, measured.spread, target=target, judged=seconds)
