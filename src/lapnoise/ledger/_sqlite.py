"""A ledger in a SQLite file that many processes share; each charge is one immediate transaction."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapnoise.errors import LedgerDamagedError, LedgerUnavailableError
from lapnoise.ledger import _connection
from lapnoise.ledger._amounts import Amount, from_text, to_text
from lapnoise.ledger._chain import Head, Row, State, Terms, row_hash
from lapnoise.ledger._lock import alone
from lapnoise.ledger._schema import schema_problems

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["SqliteBook", "SqliteStore"]

_COLUMNS = "number, time, kind, label, epsilon, delta, request_id, details, hash"


class SqliteStore:
    """One connection for each process, under a lock.

    Parameters
    ----------
    path : Path
        The file, which exists.
    timeout : float
        Seconds to wait for other processes.
    seen : Head, optional
        Where the ledger stood when somebody last looked; it must have gone on from there.
    trusting : bool
        Whether to open the file whatever its tables look like, to verify it.
    """

    def __init__(self, path: Path, timeout: float, seen: Head | None = None, *, trusting: bool = False) -> None:
        self.path = path
        self.timeout = timeout
        self.seen = seen
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._process = 0
        self._file = (0, 0)
        self.known: tuple[Terms, State] | None = None
        with _fork_lock:
            _stores.add(self)
        self._trusting = trusting
        if not trusting:
            with self.transaction(write=False) as book:
                book.state()

    @property
    def terms(self) -> Terms:
        """What the ledger was made with."""
        if self.known is None:
            raise LedgerDamagedError(f"the ledger was never read: {str(self.path)!r}")
        return self.known[0]

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[SqliteBook]:
        """Run what is inside on one state of the file; it is kept, durably, only when it ends without an exception."""
        if self._lock._is_owned():  # type: ignore[attr-defined]
            # Neither the outer transaction nor its connection is touched. (A flag beside the lock could be left set by
            # an interruption.)
            raise LedgerUnavailableError(
                f"the ledger is in use by this very thread: {str(self.path)!r}: a signal handler or a finalizer must "
                "not use it; nothing was granted"
            )
        with self._lock:
            self._identify()  # no lock file is made where there is no ledger
            with _connection.explained(self.path), alone(self.path, self.timeout, write=write):
                yield from self._transaction(write)

    def _transaction(self, write: bool) -> Iterator[SqliteBook]:
        connection = self._connected()
        try:
            # SQLite takes the pages that it holds for those of the file while a counter in the file stands as it was.
            # A copy that was restored in place, and went on as often, stands so too: no page is kept.
            connection.execute("PRAGMA shrink_memory")
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            self._verify_journal(connection)
            book = SqliteBook(connection, self)
            yield book
            connection.execute("COMMIT")
        except BaseException:
            self._roll_back(connection)
            raise
        if book.read is not None:
            self.known = book.read
            self.seen = Head(book.read[1].length, book.read[1].hash)

    def _verify_journal(self, connection: Connection) -> None:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()  # the mode is known once a page is read
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        if mode == "wal":
            raise LedgerUnavailableError(
                f"the ledger was given a write-ahead log: {str(self.path)!r}: it must be one file; end all processes "
                "that use it, and give it 'PRAGMA journal_mode = DELETE'"
            )

    def __del__(self) -> None:
        # A connection of another process is left as it is.
        connection: Connection | None = getattr(self, "_connection", None)
        if connection is not None and self._process == os.getpid():
            connection.close()

    def _roll_back(self, connection: Connection) -> None:
        import sqlite3

        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            # The next transaction opens the file anew, and SQLite rolls back from the journal.
            self._connection = None
            with suppress(sqlite3.Error):
                connection.close()

    def _connected(self) -> Connection:
        if self._connection is not None and self._process != os.getpid():
            # A connection must not be used, not even closed, in a fork of its process.
            _abandoned.append(self._connection)
            self._connection = None
        file = self._identify()
        if self._connection is not None and file != self._file:
            self._connection.close()  # another file was put in this one's place
            self._connection = None
        if self._connection is not None and self._connection.in_transaction:
            self._roll_back(self._connection)  # what an interrupted one left open
        if self._connection is None:
            connection = _connection.connect(self.path, self.timeout)
            try:
                problems = [] if self._trusting else schema_problems(connection)
                if problems:
                    raise LedgerDamagedError(f"the file cannot be used: {str(self.path)!r}: {'; '.join(problems)}")
            except BaseException:
                connection.close()
                raise
            self._connection, self._process, self._file = connection, os.getpid(), file
        return self._connection

    def _identify(self) -> tuple[int, int]:
        for patience in range(100, -1, -1):
            try:
                status = os.stat(self.path)  # noqa: PTH116 - 2 us less than Path.stat, at every spend
            except FileNotFoundError:
                raise LedgerUnavailableError(f"there is no ledger at {str(self.path)!r}") from None
            except OSError as error:
                told = f"the ledger cannot be opened: {str(self.path)!r}: {error.strerror}"
                raise LedgerUnavailableError(told) from None
            if status.st_nlink <= 1:
                break
            if patience == 0:
                raise LedgerUnavailableError(
                    f"the ledger has {status.st_nlink} names: {str(self.path)!r}: its journal goes by the name, so "
                    "that by another one what a process left undone is missed; remove the other hard links"
                )
            time.sleep(0.005)  # a new file has two names for a moment
        return status.st_dev, status.st_ino


class SqliteBook:
    """The rows of the file inside a transaction."""

    def __init__(self, connection: Connection, store: SqliteStore) -> None:
        self._connection = connection
        self._store = store
        self.read: tuple[Terms, State] | None = None

    def state(self) -> State:
        """Return where the ledger stands; LedgerDamagedError unless it went on from where it was seen last."""
        terms, state = self.read = self.head()
        seen = self._store.seen
        last = self._connection.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY number DESC LIMIT 2").fetchall()
        if not _fits(terms, state, [Row(*row) for row in last]):
            raise self._damaged("its head and its last entry do not fit")
        if seen is not None and seen != (state.length, state.hash) and not self._went_on(terms, state, seen):
            raise self._damaged(
                f"it is an older copy or another history: it was seen with {seen.length} entries and hash {seen.hash}, "
                f"and has {state.length} now"
            )
        return state

    def append(self, row: Row, before: State, after: State, content: tuple[int, bytes] | None) -> None:
        """Add a row, and what a charge led to; the head moves only if it stands where it was read."""
        self._connection.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        if content is not None:
            values = (content[0], row.number, content[1])
            self._connection.execute("INSERT INTO results (number, recorded, content) VALUES (?, ?, ?)", values)
        moved = self._connection.execute(
            "UPDATE head SET count = ?, spent_epsilon = ?, spent_delta = ?, hash = ? WHERE count = ? AND hash = ?",
            (after.length, *map(to_text, after.spent), after.hash, before.length, before.hash),
        )
        if moved.rowcount != 1:
            raise self._damaged("its head moved inside a transaction")
        if self.read is not None:
            self.read = (self.read[0], after)

    def row(self, number: int) -> Row | None:
        """Return the row with a number."""
        return self._one("number", number)

    def request(self, request_id: str) -> Row | None:
        """Return the row of a request."""
        return self._one("request_id", request_id)

    def content(self, number: int) -> tuple[int, bytes] | None:
        """Return the result that a charge led to, behind the number of the row that records it."""
        query = "SELECT recorded, content FROM results WHERE number = ?"
        found = self._connection.execute(query, (number,)).fetchone()
        return None if found is None else (int(found[0]), bytes(found[1]))

    def rows(self) -> list[Row]:
        """Return all rows in order."""
        found = self._connection.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY number")
        return [Row(*row) for row in found]

    def schema_problems(self) -> list[str]:
        """Return what is wrong with the tables and triggers of the file."""
        return schema_problems(self._connection)

    def integrity_problems(self) -> list[str]:
        """Return what SQLite finds wrong with the pages of the file."""
        found = [text for (text,) in self._connection.execute("PRAGMA integrity_check(10)")]
        return [] if found == ["ok"] else found

    def _one(self, column: str, value: Any) -> Row | None:
        query = f"SELECT {_COLUMNS} FROM entries WHERE {column} = ?"
        found = self._connection.execute(query, (value,)).fetchone()
        return None if found is None else Row(*found)

    def head(self) -> tuple[Terms, State]:
        """Return what the ledger was made with, and where its head says that it stands."""
        found = self._connection.execute("SELECT * FROM head").fetchone()
        try:
            _, identity, created, total_epsilon, total_delta, count, epsilon, delta, digest = found
            terms = Terms(identity, created, Amount(from_text(total_epsilon), from_text(total_delta)))
            return terms, State(count, Amount(from_text(epsilon), from_text(delta)), digest)
        except (TypeError, ValueError, ZeroDivisionError):
            raise self._damaged("its head cannot be read") from None

    def _went_on(self, terms: Terms, state: State, seen: Head) -> bool:
        if seen.length == 0:
            return seen.hash == terms.genesis
        row = self.row(seen.length)
        return row is not None and row.hash == seen.hash

    def _damaged(self, what: str) -> LedgerDamagedError:
        return LedgerDamagedError(f"the ledger cannot be trusted: {str(self._store.path)!r}: {what}")


def _fits(terms: Terms, state: State, last: list[Row]) -> bool:
    """Return whether the last rows, latest first, are those that the head speaks of."""
    if not last:
        return state.length == 0 and state.hash == terms.genesis and not any(state.spent)
    previous = last[1].hash if len(last) > 1 else terms.genesis
    expected = row_hash(terms.genesis, previous, last[0], state.spent)
    return last[0].number == state.length and last[0].hash == state.hash == expected


_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
_fork_lock = threading.RLock()
_held: list[SqliteStore] = []
_abandoned: list[Any] = []


def _before_fork() -> None:
    # No fork while a thread is inside a transaction: the copy in the child would roll back what the parent writes.
    _fork_lock.acquire()
    for store in _stores:
        store._lock.acquire()
        _held.append(store)


def _after_fork() -> None:
    while _held:
        _held.pop()._lock.release()
    _fork_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
