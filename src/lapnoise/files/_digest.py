"""The digest of what is written, computed beside the writing: SHA-256 takes longer than the noise."""

from __future__ import annotations

import hashlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

__all__ = ["Digest"]

_INLINE_BYTES = 1 << 20
"""Up to here a thread would cost more than it gains."""

_WAITING = 8
"""Pieces that may wait for the thread, so that memory stays bounded."""


class Digest:
    """SHA-256 of pieces that are not changed once they were given; large ones are taken by a thread."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._size = 0
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: deque[Future[None]] = deque()

    def update(self, data: Any) -> None:
        """Append bytes, or the buffer of an array."""
        self._size += len(data)
        if self._size <= _INLINE_BYTES:
            self._digest.update(data)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="lapnoise-digest")
        self._waiting.append(self._pool.submit(self._digest.update, data))
        while len(self._waiting) > _WAITING:
            self._waiting.popleft().result()

    def hexdigest(self) -> str:
        """Return the digest of all that was given so far, in hexadecimal."""
        self.close()
        return self._digest.hexdigest()

    def close(self) -> None:
        """Wait for the thread and let it end."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
            self._waiting.clear()
