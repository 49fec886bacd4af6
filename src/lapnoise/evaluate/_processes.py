"""Threads, pieces and forks: draws depend on key and place alone, and no child repeats its parent's noise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._threads import available_threads
from lapnoise.evaluate._checks import Check, exact
from lapnoise.generator import Generator, default_rng
from lapnoise.mechanisms import LaplaceMechanism

__all__ = ["fork_check", "thread_checks"]

THREADS_LOOK = "threads: blocks of one call must begin at their own places in the stream (`_fill`, the thread pool)"
PIECES_LOOK = "places in the stream: a call must take as many words as it makes draws"
FORK_LOOK = "forks: a generator keyed by the operating system must take a new key in a child (`bits.fork`, `Stream`)"

SIZE = 3 * (1 << 17) + 5000
PIECES = (2, 126, 128, 130, 512, 514, 65_536, 100_000)

Draw = Callable[[Generator, int], NDArray[Any]]

FORK_SCRIPT = """
import json, os, sys
sys.path[:0] = json.loads(sys.argv[1])
import lapnoise
from lapnoise.mechanisms import LaplaceMechanism

def seen(keyed, seeded, mechanism):
    words = [str(word) for word in keyed.words(32)]
    noise = [repr(x) for x in mechanism.add_noise([0.0] * 16).tolist()]
    try:
        seeded.words(1)
        refused = False
    except RuntimeError:
        refused = True
    return {"words": words, "noise": noise, "refused": refused}

keyed, seeded = lapnoise.default_rng(), lapnoise.default_rng(1)
mechanism = LaplaceMechanism(epsilon=1, sensitivity=1)
keyed.words(1), mechanism.add_noise([0.0])
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    try:
        os.write(writing, json.dumps(seen(keyed, seeded, mechanism)).encode())
    finally:
        os._exit(0)
os.close(writing)
with os.fdopen(reading, "rb") as file:
    theirs = json.loads(file.read())
os.waitpid(child, 0)
print(json.dumps([seen(keyed, seeded, mechanism), theirs]))
"""


def thread_checks() -> Iterator[Check]:
    """Yield checks that one thread, all threads and pieces give the same bits."""
    many = max(2, available_threads())
    draws: dict[str, Draw] = {
        "laplace": lambda rng, n: rng.laplace(0.0, 1.0, n),
        "laplace, float32": lambda rng, n: rng.laplace(0.0, 1.0, n, dtype=np.float32),
        "discrete_laplace": lambda rng, n: rng.discrete_laplace(1000.0, n),
        "LaplaceMechanism": _released,
    }
    for name, draw in draws.items():
        whole = draw(default_rng(5, threads=1), SIZE)
        wrong = _differing(draw(default_rng(5, threads=many), SIZE), whole)
        yield exact(
            "threads", f"{SIZE:,} of {name}, 1 against {many} threads", "draws that differ", wrong, THREADS_LOOK
        )
        rng, pieces = default_rng(5), (*PIECES, SIZE - sum(PIECES))
        wrong = _differing(np.concatenate([draw(rng, n) for n in pieces]), whole)
        tested = f"{SIZE:,} of {name}, at once against {len(pieces)} pieces"
        yield exact("threads", tested, "draws that differ", wrong, PIECES_LOOK)


def fork_check() -> Iterator[Check]:
    """Yield checks of a process and its child, both in a new Python, which has no threads; none where none forks."""
    if not hasattr(os, "fork"):
        return
    command = [sys.executable, "-c", FORK_SCRIPT, json.dumps(sys.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        yield exact("fork", "a process and its child", "processes that failed", 1, f"{FORK_LOOK}; it said: {last}")
        return
    mine, theirs = json.loads(done.stdout)
    for name in ("words", "noise"):
        repeated = len(set(mine[name]) & set(theirs[name]))
        yield exact("fork", f"{name} under the system's key, parent and child", "repeated", repeated, FORK_LOOK)
    wrong = int(mine["refused"]) + int(not theirs["refused"])
    yield exact("fork", "a seeded generator draws in the parent alone", "processes that differ", wrong, FORK_LOOK)


def _released(rng: Generator, n: int) -> NDArray[np.float64]:
    values = np.zeros(n)
    LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)._add(rng, values, values)
    return values


def _differing(found: NDArray[Any], expected: NDArray[Any]) -> int:
    kind = np.dtype(f"u{expected.dtype.itemsize}")
    return int(np.count_nonzero(found.view(kind) != expected.view(kind)))
