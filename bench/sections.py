"""The parts of the report: each takes a plan, measures, and gives rows."""

from __future__ import annotations

import functools
import gc
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

import lapnoise
from bench import probes
from bench.contenders import (
    CONTENDERS,
    LOC,
    MKL_GENERATORS,
    SCALE,
    available,
    correct,
    entered,
    lapnoise_name,
    mkl_name,
)
from bench.machine import available_memory
from bench.rows import Row, cost, plain, speed
from bench.stages import STAGE_DRAWS, refill_call, stage_calls
from bench.timing import Measurement, Timed, cores, interleave

__all__ = ["MILLION", "NUMPY", "NUMPY32", "SECTIONS", "Plan", "note_wrong", "wrong"]

NUMPY = "numpy Generator(PCG64)"
NUMPY32 = "numpy Generator(PCG64), astype(float32)"
MILLION = 1_000_000

_wrong: list[str] = []


@dataclass(frozen=True)
class Plan:
    """How much to do.

    Attributes
    ----------
    repeats : int
        Turns of each contender.
    processes : int
        Processes for what needs one of its own.
    in_place : int
        Elements of the arrays that noise is added to in place.
    sizes : tuple of int
        Draws a call, to see whether cost is flat.
    cache : Path
        Directory of compiled kernels, warm once the first section is done.
    """

    repeats: int
    processes: int
    in_place: int
    sizes: tuple[int, ...]
    cache: Path

    @property
    def quick(self) -> bool:
        """Whether it is only to be seen that everything runs."""
        return self.repeats < 7

    @classmethod
    def of(cls, quick: bool, large: bool, cache: Path) -> Self:
        """Make a plan from the options of the command line."""
        if quick:
            return cls(5, 3, 5_000_000, (10_000, 100_000, MILLION, 10 * MILLION), cache)
        sizes = tuple(10**k for k in range(4, 9))
        if large and available_memory() > 10 * 2**30:
            sizes += (10**9,)
        return cls(31, 15, 50 * MILLION, sizes, cache)


def wrong() -> list[str]:
    """Return the contenders whose draws were wrong."""
    return _wrong


def note_wrong(name: str) -> None:
    """Remember a contender whose draws were wrong."""
    if name not in _wrong:
        _wrong.append(name)


def rows_float64(plan: Plan) -> Iterator[Row]:
    """Compare a million float64 draws, in a new array each call unless it says ``out=``."""
    group = "1,000,000 float64, into a new array unless out= is named"
    mkl = _fastest_mkl(plan)
    theirs = [NUMPY, "numpy legacy", "numpy formula", "numpy formula, out=", *([mkl] if mkl else []), "torch", "jax"]
    theirs += entered("float64")
    targets = {lapnoise_name(8): "r8", lapnoise_name(12): "r12", lapnoise_name(12, None): "r12 all cores"}
    ours = [lapnoise_name(rounds, threads) for threads in (1, None) for rounds in (8, 12, 20)]
    ours += [lapnoise_name(12, threads, in_out=True) for threads in (1, None)]
    ours += [lapnoise_name(12, threads, method="exponential_difference") for threads in (1, None)]
    measured = _contend([*theirs, *ours], plan.repeats)
    for name, measurement in measured.items():
        reference = ("numpy", measured[NUMPY])
        yield speed(group, name, measurement, reference, CONTENDERS[name].threads, targets.get(name))
    if mkl in measured:
        r8 = measured[lapnoise_name(8)]
        yield speed(group, lapnoise_name(8), r8, ("mkl_random's fastest", measured[mkl]), target="mkl_random")


def rows_float32(plan: Plan) -> Iterator[Row]:
    """Compare a million float32 draws."""
    group = "1,000,000 float32, into a new array unless out= is named"
    ours = [lapnoise_name(rounds, threads, "float32") for threads in (1, None) for rounds in (8, 12, 20)]
    ours += [lapnoise_name(12, 1, "float32", in_out=True)]
    measured = _contend([NUMPY32, "torch, float32", "jax, float32", *entered("float32"), *ours], plan.repeats)
    targets = {lapnoise_name(12, 1, "float32"): "float32"}
    for name, measurement in measured.items():
        reference = ("numpy", measured[NUMPY32])
        yield speed(group, name, measurement, reference, CONTENDERS[name].threads, targets.get(name))


def rows_stages(plan: Plan) -> Iterator[Row]:
    """Take the time of a draw apart."""
    group = "Parts of a float64 draw, in L1, and all of it"
    draws, n = STAGE_DRAWS["float64"], 100_000
    tasks = [Timed(f"ChaCha words, {rounds} rounds", refill_call(rounds), draws) for rounds in (8, 12, 20)]
    tasks += [Timed(name, call, draws) for name, call in stage_calls("float64").items()]
    out = np.empty(n)
    for rounds in (8, 12, 20):
        rng = lapnoise.default_rng(1, rounds=rounds, threads=1)
        call = functools.partial(rng.laplace, LOC, SCALE, out=out)
        tasks.append(Timed(f"lapnoise r{rounds}, 100,000 draws, out=", call, n))
    for name, measurement in interleave(tasks, plan.repeats).items():
        yield plain(group, name, measurement)


def rows_in_place(plan: Plan) -> Iterator[Row]:
    """Compare noise added in place with a constant added in place."""
    group = f"{plan.in_place:,} float64 in place, add_laplace(x, b, out=x)"
    x = np.zeros(plan.in_place)
    reference = "numpy x += c"
    tasks = [Timed(reference, functools.partial(np.add, x, 1.0, out=x), x.size)]
    for rounds, threads in ((8, None), (12, None), (20, None), (12, 1)):
        rng = lapnoise.default_rng(1, rounds=rounds, threads=threads)
        call = functools.partial(rng.add_laplace, x, SCALE, out=x)
        tasks.append(Timed(f"lapnoise r{rounds}{'' if threads else ', all cores'}", call, x.size, threads))
    measured = interleave(tasks, plan.repeats)
    yield plain(group, reference, measured[reference])
    for task in tasks[1:]:
        target = "in place" if task.name == "lapnoise r12, all cores" else None
        yield cost(group, task.name, measured[task.name], (reference, measured[reference]), task.threads, target)


def rows_memory(plan: Plan) -> Iterator[Row]:
    """Find the memory that a call in place takes beside the array."""
    group = "Memory beside the array, in place, second call"
    n = plan.in_place
    for size, kind, layout in (
        (10_000, "float64", ":"),
        (n, "float64", ":"),
        (n, "float32", ":"),
        (n, "float64", "::2"),
    ):
        taken = probes.extra_memory(size, kind, layout)
        what = f"{size:,} {kind}" + ("" if layout == ":" else f", every second one: x[{layout}]")
        yield Row(group, what, taken, "B", None, target="extra memory", judged=taken)


def rows_scalar_call(plan: Plan) -> Iterator[Row]:
    """Compare calls for one draw and for few, the call included."""
    group = "Short calls, ns a call"
    ours, theirs = lapnoise.default_rng(1), np.random.Generator(np.random.PCG64(1))
    # The short lengths lie between the scalar call and the sizes of rows_flat_in_n.
    for size in (None, 1, 10, 100, 1_000):
        text = "laplace(loc, scale)" if size is None else f"laplace(loc, scale, {size:,})"
        tasks = [
            Timed("numpy", functools.partial(theirs.laplace, LOC, SCALE, size), 1),
            Timed("lapnoise", functools.partial(ours.laplace, LOC, SCALE, size), 1),
        ]
        measured = interleave(tasks, plan.repeats)
        target = "scalar call" if size is None else None
        yield cost(group, text, measured["lapnoise"], ("numpy's", measured["numpy"]), target=target)
    yield _array_against_loop(group, plan, ours)


def _array_against_loop(group: str, plan: Plan, rng: lapnoise.Generator) -> Row:
    def loop() -> None:
        for _ in range(10_000):
            rng.laplace(LOC, SCALE)

    tasks = [Timed("loop", loop, 10_000), Timed("array", functools.partial(rng.laplace, LOC, SCALE, MILLION), MILLION)]
    measured = interleave(tasks, plan.repeats)
    what = "laplace(loc, scale, 1,000,000), per draw"
    reference = ("loop of scalar calls", measured["loop"])
    return speed(group, what, measured["array"], reference, target="array against scalar loop")


def rows_flat_in_n(plan: Plan) -> Iterator[Row]:
    """See whether a draw costs the same in short and in long arrays."""
    group = "r12, float64, out=, by length"
    gc.collect()
    out = np.ones(max(plan.sizes))
    rng = lapnoise.default_rng(1, threads=1)
    tasks = [Timed(f"{n:,} draws", functools.partial(rng.laplace, LOC, SCALE, out=out[:n]), n) for n in plan.sizes]
    yield from _flat(group, interleave(tasks, plan.repeats), "slowest length against fastest", "flat in n")


def rows_flat_in_scale(plan: Plan) -> Iterator[Row]:
    """See whether a draw costs the same at every scale."""
    group = "r12, 1,000,000 float64, out=, by scale"
    out = np.ones(MILLION)
    rng = lapnoise.default_rng(1, threads=1)
    tasks = [
        Timed(f"scale {scale:g}", functools.partial(rng.laplace, 0.0, scale, out=out), out.size)
        for scale in (1e-300, 1e-100, 1.0, 1e100, 1e300)
    ]
    yield from _flat(group, interleave(tasks, plan.repeats), "slowest scale against fastest", "flat in scale")


def rows_starting(plan: Plan) -> Iterator[Row]:
    """Time imports and first calls, each in a process of its own; kinds of process take turns."""
    group = "Start, each in a process of its own"
    first, trivial = "first draw, kernels cached", "first call of a trivial cached Numba function"
    measured = _in_processes(
        {
            "import lapnoise, beyond numpy": probes.bare_import,
            "from lapnoise import default_rng, beyond numpy": probes.draw_import,
            trivial: functools.partial(probes.first_trivial_call, plan.cache),
            first: functools.partial(probes.first_draw, plan.cache),
            "first draw, cache empty: everything compiled": functools.partial(probes.first_draw, None),
        },
        plan.processes,
    )
    targets = {
        "import lapnoise, beyond numpy": "import",
        "from lapnoise import default_rng, beyond numpy": "import",
        "first draw, cache empty: everything compiled": "first draw, cold",
    }
    for what, (seconds, spread) in measured.items():
        yield Row(group, what, seconds, "s", 1, spread, target=targets.get(what), judged=seconds)
    beyond = measured[first][0] - measured[trivial][0]
    yield Row(
        group, "first draw cached, beyond that function", beyond, "s", 1, target="first draw, warm", judged=beyond
    )


SECTIONS: tuple[Callable[[Plan], Iterable[Row]], ...] = (
    rows_float64,
    rows_float32,
    rows_stages,
    rows_in_place,
    rows_memory,
    rows_scalar_call,
    rows_flat_in_n,
    rows_flat_in_scale,
    rows_starting,
)
"""In the order of the table."""


def _contend(names: Iterable[str], repeats: int, n: int = MILLION) -> dict[str, Measurement]:
    """Time contenders that are installed and draw what they should."""
    tasks = []
    for name in filter(available, names):
        if not correct(name):
            note_wrong(name)
            continue
        threads = CONTENDERS[name].threads
        with cores(threads):
            tasks.append(Timed(name, CONTENDERS[name].make(n), n, threads))
    return interleave(tasks, repeats)


def _fastest_mkl(plan: Plan) -> str | None:
    measured = _contend(map(mkl_name, MKL_GENERATORS), min(plan.repeats, 7))
    return min(measured, key=lambda name: measured[name].ns, default=None)


def _flat(group: str, measured: dict[str, Measurement], what: str, target: str) -> Iterator[Row]:
    for name, measurement in measured.items():
        yield plain(group, name, measurement)
    fastest = min(measured.items(), key=lambda item: item[1].ns)
    slowest = max(measured.values(), key=lambda measurement: measurement.ns)
    yield cost(group, what, slowest, fastest, target=target)


def _in_processes(probed: dict[str, Callable[[], Any]], processes: int) -> dict[str, tuple[float, float]]:
    times: dict[str, list[float]] = {what: [] for what in probed}
    for what in probed:
        probed[what]()  # fills caches: compiled kernels, byte code, the file system
    for _ in range(processes):
        for what, probe in probed.items():
            times[what].append(probe())
    result = {}
    for what, taken in times.items():
        median = statistics.median(taken)
        low, _, high = statistics.quantiles(taken, n=4)
        result[what] = (median, (high - low) / 2 / median)
    return result
