"""Connections to a ledger's file, what SQLite's errors mean, and a new file that appears whole."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lapnoise.errors import LedgerDamagedError, LedgerError, LedgerUnavailableError
from lapnoise.ledger._amounts import to_text
from lapnoise.ledger._schema import APPLICATION_ID, FORMAT, SCHEMA

if TYPE_CHECKING:
    from sqlite3 import Connection, Error

    from lapnoise.ledger._chain import Terms

__all__ = ["connect", "create", "explained", "sync_directory"]

_OLDEST = (3, 37)
"""The first SQLite with strict tables."""


def connect(path: Path, timeout: float) -> Connection:
    """Open an existing file so that a commit lasts: the journal and its folder are synchronised with it."""
    import sqlite3

    if sqlite3.sqlite_version_info < _OLDEST:
        raise LedgerUnavailableError(
            f"ledgers in files need SQLite 3.37 or later, and this Python has {sqlite3.sqlite_version}"
        )
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=timeout, check_same_thread=False
    )
    # With a rollback journal, which keeps the ledger one file, only EXTRA synchronises the folder after the journal is
    # gone: below it a power failure could bring the journal, and so the state before the charge, back.
    try:
        for pragma in ("synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def create(path: Path, terms: Terms) -> bool:
    """Make a ledger's file with nothing spent; it appears whole or not at all. Return False where there is a file."""
    for ending in ("-journal", "-wal", "-shm"):
        beside = path.with_name(path.name + ending)
        if os.path.lexists(beside) and not os.path.lexists(path):
            # SQLite would play it back onto the new file.
            told = f"the ledger could not be made: {str(beside)!r} is left of another; move it away"
            raise LedgerUnavailableError(told)
    temporary = path.with_name(f".{path.name[:50]}.lapnoise-{secrets.token_hex(8)}")
    try:
        # SQLite gives its journals the permissions of the file.
        os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with explained(path):
            _fill(temporary, terms)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        sync_directory(path.parent)
    except OSError as error:
        raise LedgerUnavailableError(f"the ledger could not be made: {str(path)!r}: {error.strerror}") from None
    finally:
        for leftover in (temporary, temporary.with_name(temporary.name + "-journal")):
            with contextlib.suppress(OSError):
                leftover.unlink()
    return True


def _fill(path: Path, terms: Terms) -> None:
    connection = connect(path, 0.0)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        for statement in SCHEMA.values():
            connection.execute(statement)
        connection.execute(
            "INSERT INTO head VALUES (1, ?, ?, ?, ?, 0, '0', '0', ?)",
            (terms.identity, terms.created, *map(to_text, terms.total), terms.genesis),
        )
        connection.execute("COMMIT")
    finally:
        connection.close()


def sync_directory(directory: Path) -> None:
    """Make a new name last."""
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ledger errors that say what happened to which file."""
    import sqlite3

    try:
        yield
    except sqlite3.Error as error:
        raise _ledger_error(path, error) from error
    except UnicodeDecodeError:  # SQLite quotes a table's name from a damaged page
        raise LedgerDamagedError(f"the ledger is damaged: {str(path)!r}: a text in it is no text") from None


def _ledger_error(path: Path, error: Error) -> LedgerError:
    import sqlite3

    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    place = repr(str(path))
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerUnavailableError(f"the ledger is locked by another process: {place}; nothing was granted")
    if code == sqlite3.SQLITE_NOTADB:
        return LedgerDamagedError(f"the file is not a ledger: {place}")
    if code == sqlite3.SQLITE_CORRUPT:
        return LedgerDamagedError(f"the ledger is damaged: {place}: {error}; restore it only with its latest entries")
    if code in (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH):
        return LedgerDamagedError(f"the ledger is not as it should be: {place}: {error}")
    return LedgerUnavailableError(f"the ledger could not be read or written: {place}: {error}; nothing was granted")
