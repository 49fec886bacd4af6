"""The file that is read: a regular file, read twice, that must not change in between."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from lapnoise.errors import InputDataError

__all__ = ["Source"]


class Source:
    """A regular file opened for reading, which can tell whether its second reading saw what its first one saw.

    Parameters
    ----------
    path
        The file. It stays open for both readings, so replacing it by another file of the same name has no effect.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError
        When the file cannot be opened.
    ValueError
        When it is no regular file: a pipe or a terminal cannot be read twice.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Before the open, which would wait for a writer if this is a pipe.
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise ValueError(f"source must be a regular file, since it is read twice, got {str(path)!r}")
        self._file = path.open("rb")
        self._digest = hashlib.sha256()
        self._first: tuple[bytes, tuple[int, int]] = (b"", (0, 0))

    @property
    def size(self) -> int:
        """Length of the file in bytes, at this moment."""
        return os.fstat(self._file.fileno()).st_size

    def fileno(self) -> int:
        """Return the file descriptor, for memory maps."""
        return self._file.fileno()

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end of the file."""
        data = self._file.read(size)
        self._digest.update(data)
        return data

    def rewind(self) -> None:
        """End the first reading, remember what it saw, and go back to the start."""
        self._first = (self._digest.digest(), self._stamp())
        self._digest = hashlib.sha256()
        self._file.seek(0)

    def verify_unchanged(self) -> None:
        """Raise InputDataError unless the second reading saw what the first one saw.

        Contents are compared when the second reading went through :meth:`read`, length and time of change always.
        """
        digest = self._digest.digest() if self._file.tell() else self._first[0]
        if (digest, self._stamp()) != self._first:
            raise InputDataError("the source changed while it was being read; nothing was written")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _stamp(self) -> tuple[int, int]:
        status = os.fstat(self._file.fileno())
        return (status.st_size, status.st_mtime_ns)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
