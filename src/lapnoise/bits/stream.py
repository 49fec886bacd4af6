"""A stream of 64-bit words addressed by (key, stream id, position), and how far it was given out."""

from __future__ import annotations

import threading
from os import getpid
from typing import Any

import numpy as np

from lapnoise.bits import fork
from lapnoise.bits.entropy import Key

__all__ = ["MAX_POSITION", "STREAM_VERSION", "Stream"]

STREAM_VERSION = 1
"""Number of the map from (key, stream id, position) to words and from words to draws; it changes when draws change."""

MAX_POSITION = 2**62
"""End of a stream, in words: 2^59 blocks of the 2^64 that the counter could number, so it never wraps.

Places counted in half words then fit in an int64.
"""


class Stream:
    """The words of one key and stream id, each given out once.

    Parameters
    ----------
    key : Key
        The ChaCha key.
    rounds : int
        8, 12 or 20.
    stream_id : int, optional
        0 to 2^64 - 1; streams of one key with different ids are independent.

    Attributes
    ----------
    source : ndarray of uint64
        What kernels take: the key in four words, the stream id and the number of double rounds.
    position : int
        The next word to be given out.
    sought : bool
        Whether words may be given out twice: after `seek`, and by a child, which the same labels make again.
    spawned : int
        How many children `spawn` has given out.
    lock : threading.Lock
        Held while ``position`` is read and moved.
    """

    __slots__ = ("_forks", "_pid", "key", "lock", "position", "rounds", "sought", "source", "spawned", "stream_id")

    def __init__(self, key: Key, rounds: int, stream_id: int = 0) -> None:
        self.rounds = rounds
        self.stream_id = stream_id
        self.position = 0
        self.sought = False
        self.spawned = 0
        self._take(key)

    def _take(self, key: Key) -> None:
        self.key = key
        self.source = np.empty(6, np.uint64)
        self.source[:4] = key.words()
        self.source[4] = self.stream_id
        self.source[5] = self.rounds // 2
        self.lock = threading.Lock()
        self._forks = fork.forks
        self._pid = getpid()

    def enter(self) -> None:
        """Adapt to the process: after a fork a key from the operating system is replaced by a fresh one.

        ``source`` is then a new array, by which whatever was made of the old words can be told to be stale.

        Raises
        ------
        RuntimeError
            If the key came from a seed before the process forked.
        """
        if self._pid == getpid() and self._forks == fork.forks:
            return
        with fork.fork_lock():
            if self._pid == getpid() and self._forks == fork.forks:
                return
            if self.key.seeded:
                raise RuntimeError(
                    "this generator was seeded before the process forked, so its draws here would repeat its parent's; "
                    "give each process a child of its own, by child(label) or spawn(n)"
                )
            self._take(Key.from_os())

    def reserve(self, words: int) -> int:
        """Give out the next words, and return where they begin.

        Raises
        ------
        OverflowError
            If they would pass the end of the stream; nothing is given out then.
        """
        self.enter()
        with self.lock:
            start = self.position
            if start + words > MAX_POSITION:
                raise OverflowError(f"the stream ends at word 2**62, and a draw at position {start} would pass it")
            self.position = start + words
            return start

    def seek(self, position: int) -> None:
        """Move to a place in the stream."""
        self.enter()
        with self.lock:
            self.position = position
            self.sought = True

    def spawn(self, count: int) -> list[Stream]:
        """Return new independent streams; every call gives others."""
        self.enter()
        with self.lock:
            first = self.spawned
            self.spawned += count
        return [Stream(self.key.spawned(first + i), self.rounds) for i in range(count)]

    def child(self, labels: tuple[str | int | bytes, ...]) -> Stream:
        """Return the independent stream that belongs to these labels."""
        if not self.key.seeded:
            self.enter()
        child = Stream(self.key.child(labels), self.rounds)
        child.sought = True
        return child

    def at(self, position: int) -> Stream:
        """Return the same words with a place of their own, for draws whose places are known before they are made."""
        self.enter()
        placed = Stream(self.key, self.rounds, self.stream_id)
        placed.position = position
        return placed

    def __reduce__(self) -> tuple[Any, ...]:
        secret = self.key.reveal()
        self.enter()
        with self.lock:
            return _restore, (secret, self.rounds, self.stream_id, self.position, self.spawned, self.sought)

    def __repr__(self) -> str:
        return f"Stream({self.key!r}, rounds={self.rounds}, position={self.position})"


def _restore(secret: bytes, rounds: int, stream_id: int, position: int, spawned: int, sought: bool) -> Stream:
    stream = Stream(Key(secret, seeded=True), rounds, stream_id)
    stream.position = position
    stream.spawned = spawned
    stream.sought = sought
    return stream
