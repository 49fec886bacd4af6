"""What every generator has whatever it draws: a stream of words, its children, its place, and how arrays are filled."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._check import FLOAT32
from lapnoise._fill import SERIAL_BELOW, fill
from lapnoise._threads import available_threads, thread_cap
from lapnoise.bits.stream import MAX_POSITION, Stream

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["WordSource", "exact_noise", "kernels"]


class WordSource:
    """A stream of random words with a place in it.

    Parameters
    ----------
    stream : Stream
        The words.
    threads : int, optional
        Threads for large arrays at most; None uses the cores that this process may use.
    """

    def __init__(self, stream: Stream, *, threads: int | None = None) -> None:
        self._stream = stream
        self._threads = threads
        self._resolved_threads = 0

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return the next n words of the stream, uint64, uniform on 0 to 2^64 - 1."""
        out = np.empty(_check.count("n", n), np.uint64)
        self._fill(kernels().words, [out], [])
        return out

    def spawn(self, n: int) -> list[Self]:
        """Return n new independent generators; every call gives others. The position does not move."""
        return [type(self)(stream, threads=self._threads) for stream in self._stream.spawn(_check.count("n", n))]

    def child(self, *labels: str | int | bytes) -> Self:
        """Return the independent generator that belongs to these labels: the same labels, the same child.

        It depends on the key alone, not on what was drawn or spawned. ``child("a", "b")`` is another generator than
        ``child("a").child("b")``, and 1, "1" and b"1" are three labels. Since the same labels give the same noise
        again, a mechanism that is given a child warns.
        """
        return type(self)(self._stream.child(_check.labels(labels)), threads=self._threads)

    @property
    def position(self) -> int:
        """Place in the stream, in 64-bit words."""
        return self._stream.position

    def seek(self, position: int) -> None:
        """Move to a place in the stream, in 64-bit words; draws made there before are made again.

        Parameters
        ----------
        position : int
            0 to 2**62.
        """
        self._stream.seek(_check.position(position, MAX_POSITION))

    @property
    def repeatable(self) -> bool:
        """Whether its noise can be drawn again: it was seeded, moved by `seek`, or made by `child`."""
        return self._stream.key.seeded or self._stream.sought

    def _at(self, position: int) -> Self:
        """Return a generator of one thread that draws from a place on; this one does not move."""
        return type(self)(self._stream.at(position), threads=1)

    def _reserve(self, words: int) -> tuple[NDArray[np.uint64], int]:
        """Give out the next words to code that makes its draws itself: their source, copied, and their place."""
        start = self._stream.reserve(words)
        return self._stream.source.copy(), start

    def _fill(
        self,
        kernel: Any,
        outs: list[NDArray[Any]],
        parameters: list[Any],
        units: int = 1,
        kind: np.dtype[Any] | Sequence[np.dtype[Any]] | None = None,
    ) -> int:
        """Run a kernel over ``outs``, each draw taking ``units`` words, or half words where they are float32.

        Returns the place of the first draw in those units.
        """
        size = outs[0].size
        halves = 2 if outs[0].dtype == FLOAT32 else 1
        start = halves * self._stream.reserve(-(-size * units // halves))
        if size:
            # Most generators are made for a few draws (a child for each row), which need no count of threads.
            threads = 1 if size <= SERIAL_BELOW else self._resolved_threads or self._count()
            fill(kernel, outs, parameters, self._stream.source, start, units, threads, kind)
        return start

    def _count(self) -> int:
        """Find out how many threads to use, once: reading affinity and quota takes up to 600 us."""
        cap = thread_cap()
        wanted = self._threads or available_threads()
        self._resolved_threads = wanted if cap is None else min(wanted, cap)
        return self._resolved_threads

    def __copy__(self) -> Self:
        # By __reduce__ a shallow copy would share this stream, and each would move the other's place.
        return type(self)(copy.copy(self._stream), threads=self._threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self._stream, self._threads)

    def __repr__(self) -> str:
        stream = self._stream
        origin = "a seed" if stream.key.seeded else "the operating system"
        return f"{type(self).__name__}(key from {origin}, rounds={stream.rounds}, position={stream.position})"


def _restore(kind: type[WordSource], stream: Stream, threads: int | None) -> WordSource:
    return kind(stream, threads=threads)


def kernels() -> ModuleType:
    # An import statement takes a third of a microsecond even where there is nothing left to import.
    return _loaded[0] if _loaded else _load()


def _load() -> ModuleType:
    from lapnoise import _kernel_table

    _loaded.append(_kernel_table)
    return _kernel_table


def exact_noise() -> ModuleType:
    """Return the module of exact noise; importing it imports Numba."""
    from lapnoise import _exact_noise

    return _exact_noise


_loaded: list[ModuleType] = []
