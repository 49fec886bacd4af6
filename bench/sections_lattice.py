"""The report's parts on exact noise: what exactness costs, and how that compares with noise that is not exact."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import lapnoise
from bench.rows import Row, cost, plain, speed
from bench.sections import MILLION, Plan
from bench.timing import Measurement, Timed, interleave

__all__ = ["LATTICE_SECTIONS"]

LIBRARY_VALUES = 2_000
"""Values a call of the libraries that take microseconds for each."""

LOG2_T = (0, 10, 20, 24, 30, 34, 36, 40, 43)


def rows_lattice(plan: Plan) -> Iterator[Row]:
    """Compare exact noise added to a vector with NumPy's plain noise, and with the libraries that publish."""
    group = "1,000,000 values + exact lattice noise, ChaCha20 unless said"
    x, out = np.zeros(MILLION), np.empty(MILLION)
    theirs = np.random.Generator(np.random.PCG64(1))
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)
    reference = "numpy x + g.laplace"
    tasks = [Timed(reference, lambda: x + theirs.laplace(0.0, 1.0, MILLION), MILLION)]
    for rounds, threads in ((8, 1), (12, 1), (20, 1), (20, None)):
        rng = lapnoise.default_rng(rounds=rounds, threads=threads)
        call = functools.partial(mechanism.add_noise, x, out=out, rng=rng)
        name = f"LaplaceMechanism{'' if rounds == 20 else f' r{rounds}'}{'' if threads else ', all cores'}"
        tasks.append(Timed(name, call, MILLION, threads))
    values32, integers = x.astype(np.float32), np.zeros(MILLION, np.int64)
    one = lapnoise.default_rng(rounds=20, threads=1)
    counts = lapnoise.DiscreteLaplaceMechanism(epsilon=1, sensitivity=1)
    tasks += [
        Timed("LaplaceMechanism, float32", functools.partial(mechanism.add_noise, values32, rng=one), MILLION),
        Timed("LaplaceMechanism, int64 to float64", functools.partial(mechanism.add_noise, integers, rng=one), MILLION),
        Timed("DiscreteLaplaceMechanism, int64", functools.partial(counts.add_noise, integers, rng=one), MILLION),
    ]
    measured = interleave(tasks, plan.repeats)
    yield plain(group, reference, measured[reference])
    for task in tasks[1:]:
        target = "lattice" if task.name == "LaplaceMechanism" else None
        yield speed(group, task.name, measured[task.name], (reference, measured[reference]), task.threads, target)
    ours = measured["LaplaceMechanism"]
    for name, (make, target) in _LIBRARIES.items():
        publish = make()
        if publish is not None:
            library = interleave([Timed(name, publish, LIBRARY_VALUES)], min(plan.repeats, 7))[name]
            yield speed(group, "LaplaceMechanism", ours, (name, library), target=target)


def rows_discrete(plan: Plan) -> Iterator[Row]:
    """Compare exact discrete Laplace draws with the difference of two geometric ones."""
    group = "1,000,000 discrete Laplace draws, int64, r12"
    theirs = np.random.Generator(np.random.PCG64(1))
    p = -math.expm1(-1e-3)
    rng, out = lapnoise.default_rng(threads=1), np.empty(MILLION, np.int64)
    reference = "numpy geometric - geometric"
    tasks = [
        Timed(reference, lambda: theirs.geometric(p, MILLION) - theirs.geometric(p, MILLION), MILLION),
        Timed("discrete_laplace(1000)", functools.partial(rng.discrete_laplace, 1000.0, out=out), MILLION),
    ]
    measured = interleave(tasks, plan.repeats)
    yield plain(group, reference, measured[reference])
    name = tasks[1].name
    yield speed(group, name, measured[name], (reference, measured[reference]), target="discrete")


def rows_flat_in_t(plan: Plan) -> Iterator[Row]:
    """See whether a draw costs the same at every scale in lattice steps, and how many leave the first tier."""
    group = "discrete_laplace(t), r20, 1,000,000 draws, out=, by t"
    rng, out = lapnoise.default_rng(rounds=20, threads=1), np.empty(MILLION, np.int64)
    tasks = [Timed(f"t = 2^{k}", functools.partial(rng.discrete_laplace, 2.0**k, out=out), MILLION) for k in LOG2_T]
    measured = interleave(tasks, plan.repeats)
    for k in LOG2_T:
        predicted = 161.44 * 2.0 ** (k - 53) + 16.0 * 2.0**-53 + math.exp(-11.0)
        note = f"leave the first tier: {share_beyond_first_tier(2.0**k):.2g}, predicted {predicted:.2g}"
        yield Row(
            group,
            f"t = 2^{k}",
            measured[f"t = 2^{k}"].ns,
            threads=1,
            spread=measured[f"t = 2^{k}"].spread,
            against=note,
        )
    for limit, target in ((34, "flat in t"), (40, "flat in t to 2^40")):
        within = {f"t = 2^{k}": measured[f"t = 2^{k}"] for k in LOG2_T if k <= limit}
        fastest = min(within.items(), key=lambda item: item[1].ns)
        slowest: Measurement = max(within.values(), key=lambda measurement: measurement.ns)
        yield cost(group, f"slowest t up to 2^{limit} against fastest", slowest, fastest, target=target)


def rows_lattice_in_place(plan: Plan) -> Iterator[Row]:
    """Compare exact noise added in place with a constant added in place."""
    group = f"{plan.in_place:,} float64 in place, exact noise, ChaCha20"
    x = np.zeros(plan.in_place)
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)
    reference = "numpy x += c"
    tasks = [Timed(reference, functools.partial(np.add, x, 1.0, out=x), x.size)]
    for threads in (None, 1):
        rng = lapnoise.default_rng(rounds=20, threads=threads)
        call = functools.partial(mechanism.add_noise, x, out=x, rng=rng)
        tasks.append(Timed(f"LaplaceMechanism{'' if threads else ', all cores'}", call, x.size, threads))
    measured = interleave(tasks, plan.repeats)
    yield plain(group, reference, measured[reference])
    for task in tasks[1:]:
        target = "lattice in place" if task.threads is None else None
        yield cost(group, task.name, measured[task.name], (reference, measured[reference]), task.threads, target)


LATTICE_SECTIONS = (rows_lattice, rows_discrete, rows_flat_in_t, rows_lattice_in_place)


def share_beyond_first_tier(t: float) -> float:
    """Return the share of a million draws that the fast tier does not accept, by its own test."""
    from lapnoise._exact_noise import law

    draws = lapnoise.default_rng(1, threads=1).exponential(1.0, MILLION)
    numbers = law(t)
    y = t * draws + numbers[1]
    m = np.floor(y)
    fraction = y - m
    accepted = ((fraction >= numbers[3]) | (m == 0)) & (fraction <= 1 - numbers[3]) & (y <= numbers[4])
    return 1.0 - float(accepted.mean())


def _opendp() -> Callable[[], Any] | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    measurement = dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=1.0)
    values = [0.0] * LIBRARY_VALUES
    return lambda: measurement(values)


def _pydp() -> Callable[[], Any] | None:
    try:
        from pydp.algorithms.numerical_mechanisms import LaplaceMechanism
    except ImportError:
        return None
    mechanism = LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
    return lambda: [mechanism.add_noise(0.0) for _ in range(LIBRARY_VALUES)]


_LIBRARIES: dict[str, tuple[Callable[[], Callable[[], Any] | None], str]] = {
    "OpenDP": (_opendp, "OpenDP"),
    "PyDP (Google)": (_pydp, "PyDP"),
}
