"""Reading, work and writing at the same time, and results in the order of what was read."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["in_order", "read_ahead"]

Piece = TypeVar("Piece")
Result = TypeVar("Result")

_AHEAD = 2
"""Pieces that are read before they are wanted: one is being worked on while the next one waits."""


def in_order(pieces: Iterable[Piece], work: Callable[[Piece], Result], threads: int) -> Generator[Result, None, None]:
    """Yield ``work(piece)`` for each piece in order, while up to ``threads`` others are worked on.

    No more than ``threads`` + 1 pieces are held at a time. The first piece is worked on here, so that kernels compile
    on the calling thread. An error of ``work`` is raised where its result is due.
    """
    iterator = iter(pieces)
    for piece in iterator:
        yield work(piece)
        break
    if threads == 1:
        yield from map(work, iterator)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="lapnoise-files") as pool:
        try:
            for piece in iterator:
                waiting.append(pool.submit(work, piece))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def read_ahead(pieces: Iterable[Piece], threads: int) -> Iterator[Iterator[Piece]]:
    """Give an iterator over ``pieces`` that are made in a thread of their own, a few ahead; on one thread, as they are.

    The thread has ended when the ``with`` block is left, also by an exception.
    """
    if threads == 1:
        yield iter(pieces)
        return
    made: queue.Queue[Any] = queue.Queue(_AHEAD)
    stopped = threading.Event()

    def make() -> None:
        try:
            for piece in pieces:
                if not _put(made, (piece, None), stopped):
                    return
            _put(made, (None, StopIteration()), stopped)
        except BaseException as error:  # raised again where the piece is due
            _put(made, (None, error), stopped)

    def taken() -> Iterator[Piece]:
        while True:
            piece, error = made.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield piece

    thread = threading.Thread(target=make, name="lapnoise-reader", daemon=True)
    thread.start()
    try:
        yield taken()
    finally:
        stopped.set()
        thread.join()


def _put(made: queue.Queue[Any], item: Any, stopped: threading.Event) -> bool:
    while not stopped.is_set():
        try:
            made.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False
