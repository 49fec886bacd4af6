"""A lazy pool of threads for kernels that hold no lock, and how many of them this process may use.

Numba's own threads are not used: parallel=True costs seconds to compile, under OpenMP a forked child is killed at its
first parallel kernel, and the workqueue layer aborts the process when two threads enter it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor
    from pathlib import Path

__all__ = ["available_threads", "run_blocks"]

_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_pool_lock = threading.Lock()


def available_threads() -> int:
    """Return the cores that this process may use: its affinity, its cgroup's quota and LAPNOISE_NUM_THREADS."""
    limits = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1]
    quota = _cgroup_quota()
    if quota is not None:
        limits.append(quota)
    cap = thread_cap()
    if cap is not None:
        limits.append(cap)
    return max(1, min(limits))


def thread_cap() -> int | None:
    """Return LAPNOISE_NUM_THREADS, or None where it is not set to a positive integer."""
    text = os.environ.get("LAPNOISE_NUM_THREADS", "").strip()
    return int(text) if text.isdecimal() and int(text) > 0 else None


def run_blocks(work: Callable[[int], None], blocks: int, threads: int) -> None:
    """Call ``work(i)`` for i in range(blocks) on up to ``threads`` threads, this one included; an error is raised here.

    Blocks are handed out one by one, so a busy core slows only its own block. The caller works too: with the pool busy
    or gone everything still gets done.
    """
    helpers = min(threads, blocks) - 1
    if helpers <= 0:
        for i in range(blocks):
            work(i)
        return
    remaining = iter(range(blocks))
    failed = threading.Event()

    def labour() -> None:
        # next() on a range iterator is one step under the interpreter's lock or its per-object lock.
        for i in remaining:
            if failed.is_set():
                return
            try:
                work(i)
            except BaseException:
                failed.set()
                raise

    futures: list[Future[None]] = []
    try:
        with contextlib.suppress(RuntimeError):  # the pool is closed: another call wants a larger one, or Python ends
            futures += (_executor(helpers).submit(labour) for _ in range(helpers))
        labour()
    finally:
        # A helper that never got to start is not waited for; one that did must end before `out` is handed back.
        errors = [future.exception() for future in futures if not future.cancel()]
    for error in errors:
        if error is not None:
            raise error


def _executor(helpers: int) -> ThreadPoolExecutor:
    global _pool, _pool_size
    with _pool_lock:
        if _pool is None or _pool_size < helpers:
            # The pool left behind ends by itself once its last task is done.
            if _pool is not None:
                _pool.shutdown(wait=False)
            # Imported here, because it brings logging and takes 8 ms, which a process that never needs it should not
            # wait.
            from concurrent.futures import ThreadPoolExecutor

            _pool = ThreadPoolExecutor(helpers, thread_name_prefix="lapnoise")
            _pool_size = helpers
        return _pool


@functools.cache
def _cgroup_quota() -> int | None:
    """Return the processor quota of this process's cgroup in whole cores, rounded up; None without one."""
    quotas = []
    for quota, period in _cgroup_limits():
        if quota > 0 and period > 0:
            quotas.append(-(-quota // period))
    return min(quotas, default=None)


def _cgroup_limits() -> list[tuple[int, int]]:
    limits = []
    from pathlib import Path  # takes 2 ms to import, which only large arrays are worth

    root = Path("/sys/fs/cgroup")
    try:
        own = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
        for _, controllers, name in own:
            folder = root if not controllers else root / "cpu"
            place = folder / name.lstrip("/")
            for level in itertools.takewhile(lambda level: level != root.parent, [place, *place.parents]):
                limits += _limit_at(level)
    except (OSError, ValueError):
        return limits
    return limits


def _limit_at(folder: Path) -> list[tuple[int, int]]:
    modern = folder / "cpu.max"
    if modern.is_file():
        quota, period = modern.read_text().split()
        return [] if quota == "max" else [(int(quota), int(period))]
    legacy = folder / "cpu.cfs_quota_us"
    if legacy.is_file():
        period_file = folder / "cpu.cfs_period_us"
        return [(int(legacy.read_text()), int(period_file.read_text()))]
    return []


def _in_child() -> None:
    global _pool, _pool_size, _pool_lock
    _pool, _pool_size, _pool_lock = None, 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
