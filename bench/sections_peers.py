"""The report's part on everybody: every contender at every size, and how long each takes to its first draws."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bench.contenders import CONTENDERS, MKL_GENERATORS, SCALE, available, correct, lapnoise_name, mkl_name
from bench.machine import available_memory
from bench.probes import first_draws_of
from bench.rows import Row, speed
from bench.sections import NUMPY, NUMPY32, Plan, note_wrong
from bench.timing import Measurement, Timed, cores, interleave

__all__ = ["GROUP", "PEER_SECTIONS", "SIZES", "compared", "not_timed", "too_much"]

GROUP = "peers"
SIZES = tuple(10**k for k in range(9))
QUICK_SIZES = (1, 1_000, 1_000_000)

LONGEST = 10.0
"""Seconds that a call may be expected to take."""

QUICK_LONGEST = 0.25

PATIENCE, LATE = 360.0, 0.5
"""A size that is expected to end beyond the first number of seconds has no call over the second, so that all ends."""

ROOM = 8
"""Arrays as large as the result that a call may need: the formula and PyTorch have up to six at once."""

FASTEST_MKL = ("MCG59", "SFMT19937", "ARS5")
"""Of MKL's ten generators the three that were fastest on the machines tried."""

_not_timed: dict[str, str] = {}


def not_timed() -> list[str]:
    """Return a line for each contender that was left out from some size on."""
    return [f"{what}: {why}" for what, why in _not_timed.items()]


def compared(kind: str, scale: str, threads: int | None) -> list[str]:
    """Return the contenders of a dtype that make a new array each call; NumPy's Generator comes first."""
    first = NUMPY if kind == "float64" else NUMPY32
    left_out = {mkl_name(name) for name in MKL_GENERATORS if name not in FASTEST_MKL}
    names = [
        name
        for name, contender in CONTENDERS.items()
        if (contender.dtype, contender.threads) == (kind, threads)
        and contender.allocates
        and (scale == "scalar" or contender.array)
        and "exponential difference" not in name
        and name not in left_out
        and name != first
    ]
    return [first, *names]


def too_much(n: int, itemsize: int, expected: float, longest: float, memory: int) -> str:
    """Return why a call for n draws is not made; empty where it is."""
    if expected > longest:
        return f"a call would take over {longest:g} s"
    if memory and n * itemsize * ROOM > memory:
        return "memory is short"
    return ""


def rows_peers(plan: Plan) -> Iterator[Row]:
    """Compare everybody with NumPy's Generator, at every size, with one scale and with a scale for each draw."""
    started = time.monotonic()
    checked: dict[tuple[str, str], bool] = {}

    def right(name: str, scale: str) -> bool:
        if (name, scale) not in checked:
            n = 20_000 if CONTENDERS[name].slow else 200_000
            given: Any = SCALE if scale == "scalar" else np.full(n, SCALE, CONTENDERS[name].dtype)
            checked[name, scale] = correct(name, n, given)
            if not checked[name, scale]:
                note_wrong(name)
        return checked[name, scale]

    for kind in ("float64", "float32"):
        for scale in ("scalar", "array"):
            for threads in (1, None):
                names = [name for name in compared(kind, scale, threads) if available(name) and right(name, scale)]
                if len(names) > 1:
                    yield from _by_size(plan, names, kind, scale, threads, started + PATIENCE)


def _by_size(plan: Plan, names: list[str], kind: str, scale: str, threads: int | None, late: float) -> Iterator[Row]:
    reference = names[0]
    group = f"{GROUP}: {kind}, {scale} scale, {'one thread' if threads else 'all cores'}"
    print(f"  {group} ...", file=sys.stderr, flush=True)
    seconds = dict.fromkeys(names, 0.0)
    before = 1
    for n in QUICK_SIZES if plan.quick else SIZES:
        expected = {name: seconds[name] * n / before for name in names}
        longest = QUICK_LONGEST if plan.quick else LONGEST
        calls = _repeats(n, plan) + 2  # two before the clock
        ends = time.monotonic() + calls * sum(each for each in expected.values() if each <= longest)
        longest = LATE if ends > late and not plan.quick else longest
        for name in names:
            why = too_much(n, np.dtype(kind).itemsize, expected[name], longest, available_memory())
            if why:
                del seconds[name]
                _not_timed.setdefault(f"{name}, {scale} scale", f"not at {n:,} draws and more, {why}")
        if reference not in seconds:
            _not_timed[group] = f"nobody at {n:,} draws and more, where NumPy's Generator is not timed"
        names = list(seconds)
        if reference not in seconds or len(names) == 1:
            return
        measured = _timed(names, n, kind, scale, plan)
        for name, measurement in measured.items():
            seconds[name] = measurement.ns * n / 1e9
            row = speed(group, name, measurement, ("numpy", measured[reference]), CONTENDERS[name].threads)
            yield replace(row, draws=n, dtype=kind, scale=scale)
        before = n


def _timed(names: list[str], n: int, kind: str, scale: str, plan: Plan) -> dict[str, Measurement]:
    scales = () if scale == "scalar" else (1.0, np.full(n, SCALE, kind))
    tasks = []
    for name in names:
        threads = CONTENDERS[name].threads
        with cores(threads):
            tasks.append(Timed(name, CONTENDERS[name].make(n, *scales), n, threads))
    return interleave(tasks, _repeats(n, plan))


def _repeats(n: int, plan: Plan) -> int:
    return 3 if plan.quick else 7 if n < 10**5 else 5 if n < 10**7 else 3 if n < 10**8 else 2


def rows_start_of_peers(plan: Plan) -> Iterator[Row]:
    """Time the first 1,000 draws in a process of its own: imports, set-up and whatever must be compiled."""
    group = "first 1,000 draws in a new process, imports included (all else is timed warm)"
    skipped = {lapnoise_name(8), lapnoise_name(20)}  # they start as r12 does
    names = [name for name in compared("float64", "scalar", 1) if available(name) and name not in skipped]
    probed: dict[str, Callable[[], float]] = {}
    for name in names:
        contender = CONTENDERS[name]
        if contender.origin == "code":
            continue
        probed[name] = partial(first_draws_of, name, plan.cache)
        if contender.module in ("numba", "lapnoise"):
            probed[f"{name}, nothing compiled yet"] = partial(first_draws_of, name, None)
    times: dict[str, list[float]] = {what: [] for what in probed}
    for turn in range(2 if plan.quick else 6):
        for what, probe in probed.items():
            taken = probe()
            if turn:  # the first fills caches: compiled code, the file system
                times[what].append(taken)
    measured = {what: Measurement.of(taken, 1) for what, taken in times.items()}
    theirs = measured[NUMPY]
    for what, one in measured.items():
        against = f"numpy: {theirs.ns / 1e6:.3g} ms"
        ratio = one.ns / theirs.ns
        spread = one.spread if one.repeats > 1 else None
        row = Row(group, what, one.ns / 1e9, "s", 1, spread, against, ratio, False)
        yield replace(row, reference_spread=theirs.spread, repeats=min(one.repeats, theirs.repeats))


PEER_SECTIONS = (rows_peers, rows_start_of_peers)
