"""The clock: contenders take turns, each on the cores it may use, and medians are reported.

Taking turns spreads whatever else the machine does over all contenders alike, so that it leaves ratios alone. A repeat
in which the system took a core away is taken again, as often as there are repeats at most.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

__all__ = ["Measurement", "Timed", "all_cores", "cores", "interleave", "keep_freed_memory"]

SLOW = 5.0
"""Seconds a call may take before three repeats are enough."""

LEAST = 5e-3
"""Seconds a repeat lasts at least: short calls are repeated, so that the clock and cold caches weigh little."""

LONG = 0.1
"""Seconds beyond which some interruption is certain, and a repeat is not taken again for it."""

_affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


@dataclass(frozen=True)
class Timed:
    """Something to time.

    Attributes
    ----------
    name : str
        What the result is filed under.
    call : callable
        Takes nothing. What it returns is dropped.
    draws : int
        Draws that a call makes, or 1 to time the call itself.
    threads : int or None
        1: the thread is pinned to one core. None: all cores may be used.
    """

    name: str
    call: Callable[[], Any]
    draws: int
    threads: int | None = 1


@dataclass(frozen=True)
class Measurement:
    """What the repeats gave.

    Attributes
    ----------
    ns : float
        Median over the repeats, in ns per draw.
    spread : float
        Half the distance between the quartiles, divided by the median.
    repeats : int
        How many there were.
    """

    ns: float
    spread: float
    repeats: int

    @classmethod
    def of(cls, seconds: Sequence[float], draws: int) -> Measurement:
        """Summarise repeats given in seconds a call."""
        median = statistics.median(seconds)
        low, _, high = statistics.quantiles(seconds, n=4) if len(seconds) > 1 else (median, median, median)
        return cls(median / draws * 1e9, (high - low) / 2 / median, len(seconds))


def all_cores() -> int:
    """Return the cores that this process was given."""
    return len(_affinity) or os.cpu_count() or 1


@contextlib.contextmanager
def cores(threads: int | None) -> Iterator[None]:
    """Pin this thread to one core (``threads`` = 1), or leave it all of them. Threads made inside inherit that.

    The core is the one that the scheduler gives a thread that wakes up, so that a busy one is avoided.
    """
    if not _affinity:  # macOS lets no thread be pinned
        yield
        return
    os.sched_setaffinity(0, _affinity)
    if threads == 1:
        time.sleep(1e-3)
        os.sched_setaffinity(0, {_current_core()})
    try:
        yield
    finally:
        os.sched_setaffinity(0, _affinity)


def _current_core() -> int:
    with contextlib.suppress(OSError, AttributeError):
        core = int(ctypes.CDLL(None).sched_getcpu())
        if core in _affinity:
            return core
    return max(_affinity)


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python's garbage collector out of the timed part."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def keep_freed_memory() -> None:
    """Let the C library keep what is freed, so that a new array is memory already there; glibc only, else nothing.

    By default it gives the end of its heap back whenever 16 MiB are free there, which depends on who drew before: a
    million draws of a contender with large temporaries took 6 ms or 17 ms, the difference being 7,800 page faults.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(-1, 2**30)  # M_TRIM_THRESHOLD
        mallopt(-3, 2**25)  # M_MMAP_THRESHOLD, the most that glibc takes


def interleave(tasks: Sequence[Timed], repeats: int) -> dict[str, Measurement]:
    """Time all tasks, taking turns.

    Parameters
    ----------
    tasks : sequence of Timed
        Each is called twice before the clock starts, so that compiling and the first touch of memory are left out.
    repeats : int
        Turns; three for a task whose call lasts longer than 5 s.

    Returns
    -------
    dict of str to Measurement
    """
    counts, again = [], []
    for task in tasks:
        with cores(task.threads):
            task.call()
            lasted = _time(task.call, 1)
        counts.append((max(1, math.ceil(LEAST / lasted)), min(repeats, 3) if lasted > SLOW else repeats))
        again.append(repeats if lasted < LONG else 0)
    times: list[list[float]] = [[] for _ in tasks]
    with no_collection():
        for turn in range(2 * repeats):
            for i in range(len(tasks)):
                i = (i + turn) % len(tasks)  # nobody always comes after the same one
                count, wanted = counts[i]
                if len(times[i]) == wanted:
                    continue
                with cores(tasks[i].threads):
                    before = _interruptions()
                    taken = _time(tasks[i].call, count)
                    interrupted = _interruptions() > before
                if interrupted and again[i]:
                    again[i] -= 1
                else:
                    times[i].append(taken)
    return {task.name: Measurement.of(taken, task.draws) for task, taken in zip(tasks, times, strict=True)}


def _interruptions() -> int:
    """Return how often the system took a core from this process before it was done."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def _time(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in repeat(None, count):
        call()
    return (time.perf_counter() - start) / count
