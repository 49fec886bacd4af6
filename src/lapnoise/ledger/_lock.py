"""A lock beside a ledger's file that other uses of the file by the same process do not undo.

SQLite locks by POSIX record locks, and a process loses all of those on a file when any part of it closes that file: a
backup, a checksum. ``flock`` on a file of its own stays.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lapnoise.errors import LedgerUnavailableError

__all__ = ["alone", "lock_path"]


def lock_path(path: Path) -> str:
    """Return the name of the lock of a ledger's file."""
    return f"{path}-lock"


@contextmanager
def alone(path: Path, timeout: float, *, write: bool) -> Iterator[None]:
    """Hold the lock; LedgerUnavailableError where it is not had within ``timeout`` seconds.

    It is made by the first who writes. Who only reads does without it where it is not there or may not be opened.
    """
    # Other systems have no POSIX locks to lose.
    fd = _opened(path, write) if os.name == "posix" else None
    if fd is None:
        yield
        return
    # An interruption may come anywhere, in the last lines too: a file that nobody holds any longer is closed.
    with io.FileIO(fd, "r+") as file:
        _wait(file.fileno(), path, timeout)
        yield


def _opened(path: Path, write: bool) -> int | None:
    name = lock_path(path)
    try:
        with suppress(FileNotFoundError):
            return os.open(name, os.O_RDWR | os.O_NOFOLLOW)
        if not write:
            return None  # nobody wrote here yet, or this is no ledger
        # Whoever may use the ledger may use its lock, as it is with SQLite's journals.
        mode = os.stat(path).st_mode & 0o666  # noqa: PTH116
        fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, mode)
        with suppress(OSError):
            os.fchmod(fd, mode)
        return fd
    except OSError as error:
        if not write:
            return None
        raise _failed(path, error) from None


def _wait(fd: int, path: Path, timeout: float) -> None:
    import fcntl

    end, pause = time.monotonic() + timeout, 0.0005
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            left = end - time.monotonic()
            if left <= 0:
                told = f"the ledger is locked by another process: {str(path)!r}; nothing was granted"
                raise LedgerUnavailableError(told) from None
            time.sleep(min(pause, left))
            pause = min(2 * pause, 0.01)
        except OSError as error:
            raise _failed(path, error) from None
        else:
            return


def _failed(path: Path, error: OSError) -> LedgerUnavailableError:
    return LedgerUnavailableError(
        f"the ledger could not be read or written: {str(path)!r}: its lock {lock_path(path)!r}: {error.strerror}; "
        "nothing was granted"
    )
