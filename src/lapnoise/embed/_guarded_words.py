"""The words of a stream in memory that C code takes them from, and the lock that NumPy enters before it does."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._fill import scratch
from lapnoise.bits import fork
from lapnoise.bits.stream import MAX_POSITION, Stream

__all__ = ["GuardedWords"]

# A prototype of its own: what ctypes.pythonapi hands out is shared, types of arguments included.
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class GuardedWords:
    """A stream in memory, and the lock under which its words are taken.

    C functions cannot raise, so everything that must be refused is refused where the lock is entered: draws of a seeded
    stream in a forked child, and draws after the end of a stream. A stream keyed by the operating system goes on there
    with a new key.

    The lock can be entered again by the thread that holds it, as NumPy's own from version 2.5 on.
    """

    def __init__(self, stream: Stream, half: int | None = None) -> None:
        from lapnoise import _jit  # noqa: F401 # before what imports Numba itself: only it explains why Numba is missing
        from lapnoise.embed import _bit_functions

        self._functions = _bit_functions
        self._state = _bit_functions.memory()
        place = _bit_functions.POSITION
        self._place: Any = self._state[place : place + 1].data  # reads as an int, in a third of the array's time
        self._lock = threading.RLock()
        self._entered: list[Any] = []
        self._moving = False
        self.load(stream, half)

    def connect(self, capsule: object) -> None:
        """Point NumPy's bitgen_t in a capsule at this memory and at the functions that take words from it."""
        addresses: list[Any] = [self._state.ctypes.data, *(function.address for function in self._functions.FUNCTIONS)]
        (ctypes.c_size_t * len(addresses)).from_address(_pointer_in(capsule, b"BitGenerator"))[:] = addresses

    @property
    def stream(self) -> Stream:
        """The stream; its own position is the one of the last move."""
        return self._held[0]

    @property
    def position(self) -> int:
        """Place of the next word."""
        # A draw that began before the end may have ended beyond it.
        return min(int(self._place[0]), MAX_POSITION)

    @property
    def half(self) -> int | None:
        """The half of a word that is kept for the next draw of 32 bits; None without one."""
        kept = self._state[self._functions.HALF_KEPT]
        return int(self._state[self._functions.HALF]) if kept else None

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Enter the lock, as that of threading.

        Raises
        ------
        RuntimeError
            If the stream was seeded before the process forked.
            Or if a signal handler draws while this thread moves the stream.
        OverflowError
            If the stream has ended.
        """
        self._adapt()
        lock = self._lock
        if not lock.acquire(blocking, timeout):
            return False
        if self._moving or self._place[0] >= MAX_POSITION:
            lock.release()
            self._refuse_moving()
            raise OverflowError("the stream ends at word 2**62")
        # After a fork the one that was entered is not the one that is there.
        self._entered.append(lock)
        return True

    def release(self) -> None:
        """Leave the lock."""
        self._entered.pop().release()

    __enter__ = acquire

    def __exit__(self, *error: object) -> None:
        self.release()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock, even at the end of the stream."""
        self._adapt()
        with self._lock:
            yield

    def renew(self) -> None:
        """Take a new key if this process was forked with one of the operating system; refuse nothing."""
        if not self.stream.key.seeded:
            self._adapt()

    def take(self, out: NDArray[np.uint64]) -> None:
        """Write the next words to ``out``."""
        with self.held():
            self._refuse_moving()
            self._moving = True
            try:
                stream = self.stream
                stream.position = self.position
                start = stream.reserve(out.size)
                # Before the words are made: a signal handler that draws in the meantime takes those behind them.
                self._set(start + out.size)
            finally:
                self._moving = False
            self._functions.copy_words(out, stream.source, start, scratch())

    def move(self, position: int) -> None:
        """Move to a place; a half word is dropped."""
        self.stream.seek(position)
        self.load(self.stream)

    def placed(self) -> Stream:
        """Return a copy of the stream, at this place."""
        self.stream.position = self.position
        return copy.copy(self.stream)

    def load(self, stream: Stream, half: int | None = None) -> None:
        """Go on with a stream, where it stands."""
        functions = self._functions
        self._refuse_moving()
        self._moving = True
        try:
            self._state[: functions.SOURCE_WORDS] = stream.source
            self._state[functions.HALF_KEPT] = half is not None
            self._state[functions.HALF] = half or 0
            self._set(stream.position)
            # Last, since threads look at it before they hold the lock.
            self._held = stream, stream.source
        finally:
            self._moving = False

    def _refuse_moving(self) -> None:
        if self._moving:
            raise RuntimeError("a signal handler cannot draw while the thread that it interrupts moves the stream")

    def _set(self, position: int) -> None:
        self._place[0] = position
        self._functions.fill(self._state)

    def _adapt(self) -> None:
        stream, source = self._held
        stream.enter()
        if stream.source is not source:
            with fork.fork_lock():
                if self._held[1] is source:
                    self._lock = threading.RLock()  # another thread may have held the old one as the process forked
                    stream.position = self.position
                    self.load(stream)
