"""Files as pyarrow reads and writes them: through Python, so that descriptors and digests stay in our hands."""

from __future__ import annotations

import os
from typing import Any, Protocol

import numpy as np

from lapnoise.files._target import Target

__all__ = ["OpenFile", "SourceStream", "TargetStream"]

_DIRECT_BYTES = 1 << 16
"""Pieces of this size are written at once, smaller ones are gathered."""


class OpenFile(Protocol):
    """A file that is open for reading."""

    @property
    def size(self) -> int:
        """Length in bytes."""

    def fileno(self) -> int:
        """Return the file descriptor."""


class SourceStream:
    """A reader at any place of an open file, which leaves the position of its descriptor alone."""

    def __init__(self, file: OpenFile) -> None:
        self._fd = file.fileno()
        self._size = file.size
        self._position = 0
        self.closed = False

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes, fewer than asked for only at the end."""
        left = max(self._size - self._position, 0) if size is None or size < 0 else size
        parts = []
        while left and (data := os.pread(self._fd, left, self._position)):
            parts.append(data)
            self._position += len(data)
            left -= len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place and return it."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._position

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return False."""
        return False

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Take no more calls; the file itself stays open."""
        self.closed = True


class TargetStream:
    """A writer to a target, which stops writing for good after an error.

    Writers of pyarrow finish what they began when they are thrown away, and so after a failure too.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._waiting = bytearray()
        self._position = 0
        self._abandoned = False
        self.closed = False

    def write(self, data: Any) -> int:
        """Append bytes or a buffer of `pyarrow`."""
        view = memoryview(data)
        self._position += view.nbytes
        if self._abandoned:
            return view.nbytes
        if view.nbytes < _DIRECT_BYTES:
            self._waiting += view
            if len(self._waiting) >= _DIRECT_BYTES:
                self.flush()
        else:
            self.flush()
            self._target.write(np.frombuffer(view, np.uint8))
        return view.nbytes

    def abandon(self) -> None:
        """Write nothing from now on."""
        self._abandoned = True
        self._waiting.clear()

    def flush(self) -> None:
        """Hand on what was gathered."""
        if self._waiting and not self._abandoned:
            data = bytes(self._waiting)
            self._waiting.clear()
            self._target.write(data)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._position

    def readable(self) -> bool:
        """Return False."""
        return False

    def seekable(self) -> bool:
        """Return False."""
        return False

    def writable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Take no more calls; the target itself stays open."""
        self.flush()
        self.closed = True
