"""The report's part on embedding: the same draws in a user's own kernel, one at a time, and by C functions."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

import lapnoise
from bench.contender import LOC, SCALE
from bench.rows import Row, cost, plain
from bench.sections import MILLION, Plan
from bench.timing import Timed, interleave
from lapnoise.embed import capi, jit

__all__ = ["EMBED_SECTIONS"]

REFERENCE = "Generator.laplace, out="
FEW = 100_000
"""Draws of what takes 100 ns each."""


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def by_words(out: Any, loc: float, scale: float, source: Any, position: int) -> None:
    """Draw from words in a buffer, 512 at a time."""
    words = np.empty(512, np.uint64)
    for start in range(0, out.size, 512):
        part = out[start : start + 512]
        batch = words[: part.size]
        jit.fill_words(batch, source, position + start)
        for i in range(part.size):
            part[i] = loc + scale * jit.laplace_from_word(batch[i])


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def by_cursor(out: Any, loc: float, scale: float, cursor: Any) -> None:
    """Draw one after the other."""
    for i in range(out.size):
        out[i] = loc + scale * jit.laplace_from_word(jit.next_word(cursor))


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def by_place(out: Any, loc: float, scale: float, source: Any, position: int) -> None:
    """Draw each by its place."""
    for i in range(out.size):
        out[i] = loc + scale * jit.laplace_at(source, position + i)


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def whole(out: Any, loc: float, scale: float, source: Any, position: int) -> None:
    """Draw by one call."""
    jit.fill_laplace(out, loc, scale, source, position)


def rows_embed(plan: Plan) -> Iterator[Row]:
    """Compare draws in a kernel of a user's with Generator's, which are the same bits."""
    group = f"{MILLION:,} draws of Laplace(1, 2), r12, inside other code"
    out = np.empty(MILLION)
    rng = lapnoise.default_rng(1, threads=1)
    source, _ = jit.reserve(rng, 0)
    calls: dict[str, tuple[Callable[[], Any], int]] = {
        REFERENCE: (functools.partial(rng.laplace, LOC, SCALE, out=out), MILLION),
        "jit.fill_laplace": (functools.partial(whole, out, LOC, SCALE, source, 0), MILLION),
        "jit.fill_words, jit.laplace_from_word": (functools.partial(by_words, out, LOC, SCALE, source, 0), MILLION),
        "jit.next_word": (lambda: by_cursor(out, LOC, SCALE, jit.cursor(rng, MILLION)), MILLION),
        "jit.laplace_at": (functools.partial(by_place, out[:FEW], LOC, SCALE, source, 0), FEW),
        "capi.fill_laplace, by ctypes": (_by_ctypes(out, source), MILLION),
    }
    tasks = [Timed(name, call, draws) for name, (call, draws) in calls.items()]
    measured = interleave(tasks, plan.repeats)
    yield plain(group, REFERENCE, measured[REFERENCE])
    for task in tasks[1:]:
        yield cost(group, task.name, measured[task.name], ("Generator", measured[REFERENCE]))


def _by_ctypes(out: NDArray[np.float64], source: NDArray[np.uint64]) -> Callable[[], Any]:
    doubles = out.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    words = source.ctypes.data_as(ctypes.POINTER(ctypes.c_uint64))
    return functools.partial(capi.fill_laplace.ctypes, doubles, out.size, LOC, SCALE, words, 0)


EMBED_SECTIONS = (rows_embed,)
