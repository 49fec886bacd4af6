"""Telling a forked child from its parent, so that no two processes ever draw the same noise.

``os.register_at_fork`` sees forks made through Python; the process id also sees those made by C code. The two together
mark a process.
"""

from __future__ import annotations

import os
import threading

__all__ = ["fork_lock", "forks"]

forks = 0
"""How many forks lie between this process and the one that imported this module."""

_lock = threading.Lock()


def fork_lock() -> threading.Lock:
    """Return the lock under which objects adapt to a new process; a child gets a fresh one, free for sure."""
    return _lock


def _in_child() -> None:
    global forks, _lock
    forks += 1
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
