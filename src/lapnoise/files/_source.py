"""The file that is read: a regular file, read twice, that must not change in between."""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from lapnoise.errors import InputDataError
from lapnoise.files._streams import STANDARD, standard_input

__all__ = ["Source"]


class Source:
    """A regular file opened for reading, which can tell whether its second reading saw what its first one saw.

    Parameters
    ----------
    path
        The file, or "-" for standard input. It stays open for both readings, so replacing it by another file of the
        same name has no effect.
    digest
        Whether to compute the SHA-256 of what is read last.

    Attributes
    ----------
    read_twice
        Whether a checksum tells if two readings saw the same; set to False where there is but one.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError
        When the file cannot be opened.
    ValueError
        When it is no regular file: a pipe or a terminal cannot be read twice.
    """

    def __init__(self, path: Path, *, digest: bool = False) -> None:
        self.path = path
        self._file = standard_input() if str(path) == STANDARD else _opened(path)
        self.read_twice = True
        self._checksum = 0
        self._digest = hashlib.sha256() if digest else None
        self._first: tuple[int | None, tuple[int, int]] = (None, self._stamp())

    @property
    def sha256(self) -> str | None:
        """The digest of what was read since the file was rewound, in hexadecimal; None where it was not asked for."""
        return None if self._digest is None else self._digest.hexdigest()

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
        if self.read_twice:
            # Changes are to be noticed, not forgeries: a digest would take as long as the noise itself.
            self._checksum = zlib.crc32(data, self._checksum)
        if self._digest is not None:
            self._digest.update(data)
        return data

    def rewind(self) -> None:
        """End the first reading, remember what it saw, and go back to the start."""
        self._first = (self._whole_checksum(), self._stamp())
        self._checksum = 0
        self._digest = None if self._digest is None else hashlib.sha256()
        self._file.seek(0)

    def verify_unchanged(self) -> None:
        """Raise InputDataError unless the second reading saw what the first one saw.

        Contents are compared where both readings went through :meth:`read` to the end, length and time of change
        always.
        """
        first, stamp = self._first
        checksum = self._whole_checksum()
        if stamp != self._stamp() or (None not in (first, checksum) and first != checksum):
            raise InputDataError("the source changed while it was being read; nothing was written")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _whole_checksum(self) -> int | None:
        return self._checksum if self.read_twice and self._file.tell() == self.size else None

    def _stamp(self) -> tuple[int, int]:
        status = os.fstat(self._file.fileno())
        return (status.st_size, status.st_mtime_ns)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _opened(path: Path) -> IO[bytes]:
    # Before the open, which would wait for a writer if this is a pipe.
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ValueError(f"source must be a regular file, since it is read twice, or '-', got {str(path)!r}")
    return path.open("rb")
