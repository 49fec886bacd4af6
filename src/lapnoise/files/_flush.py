"""Written bytes brought to the disk while more are written, so that little is left to wait for at the end."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["Flusher"]

_FLUSH_BYTES = 1 << 24
"""How much is written between two flushes: with 16 MiB the last one takes a tenth of what all of them take."""


class Flusher:
    """Flushes a file now and then, in a thread; what fails there is raised at the next call."""

    def __init__(self) -> None:
        self._unflushed = 0
        self._pool: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None

    def written(self, fd: int, size: int) -> None:
        """Take note of bytes that were written; OSError where an earlier flush failed."""
        self._unflushed += size
        if self._unflushed < _FLUSH_BYTES:
            return
        if self._running is not None:
            if not self._running.done():
                return
            self._running.result()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="lapnoise-flush")
        self._unflushed = 0
        self._running = self._pool.submit(getattr(os, "fdatasync", os.fsync), fd)

    def close(self) -> None:
        """Wait for the thread and let it end."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        running, self._running = self._running, None
        if running is not None:
            running.result()
