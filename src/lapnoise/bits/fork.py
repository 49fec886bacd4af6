"""Telling a forked child from its parent, so that no two processes ever draw the same noise.

``os.register_at_fork`` sees forks made through Python; the process id also sees those made by C code. Two marks
are equal only in the process that made them.
"""

from __future__ import annotations

import os
import threading

__all__ = ["fork_lock", "process_mark"]

_forks = 0
_lock = threading.Lock()


def process_mark() -> tuple[int, int]:
    """Return a mark of this process: how many forks lie behind it, and its id."""
    return _forks, os.getpid()


def fork_lock() -> threading.Lock:
    """Return the lock under which objects adapt to a new process; a child gets a fresh one, free for sure."""
    return _lock


def _in_child() -> None:
    global _forks, _lock
    _forks += 1
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
