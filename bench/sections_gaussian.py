"""The report's part on Gaussian noise that is exact, beside the libraries that publish with Gaussian noise."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import lapnoise
from bench.rows import Row, plain, speed
from bench.sections import Plan
from bench.timing import Timed, interleave

__all__ = ["GAUSSIAN_SECTIONS"]

VALUES = 100_000
LIBRARY_VALUES = 1_000
"""Values a call of the libraries, which take microseconds for each."""

SIGMA = 3.730632524
"""What epsilon = 1, delta = 1e-5 and a sensitivity of 1 need."""


def rows_gaussian(plan: Plan) -> Iterator[Row]:
    """Compare exact Gaussian noise added to a vector with NumPy's plain noise, and with other libraries' releases."""
    group = "100,000 values + exact Gaussian noise, epsilon 1, delta 1e-5, ChaCha20"
    x, integers = np.zeros(VALUES), np.zeros(VALUES, np.int64)
    theirs = np.random.Generator(np.random.PCG64(1))
    on_floats = lapnoise.GaussianMechanism(epsilon=1, delta="1e-5", sensitivity=1, changed=1)
    on_integers = lapnoise.GaussianMechanism(epsilon=1, delta="1e-5", sensitivity=1, changed=1, integers=True)
    reference = "numpy x + g.normal"
    tasks = [Timed(reference, lambda: x + theirs.normal(0.0, SIGMA, VALUES), VALUES)]
    for threads in (1, None):
        rng = lapnoise.default_rng(rounds=20, threads=threads)
        name = f"GaussianMechanism{'' if threads else ', all cores'}"
        tasks.append(Timed(name, functools.partial(on_floats.add_noise, x, rng=rng), VALUES, threads))
    one = lapnoise.default_rng(rounds=20, threads=1)
    tasks.append(
        Timed("GaussianMechanism, integers", functools.partial(on_integers.add_noise, integers, rng=one), VALUES)
    )
    measured = interleave(tasks, plan.repeats)
    yield plain(group, reference, measured[reference])
    for task in tasks[1:]:
        yield speed(group, task.name, measured[task.name], (reference, measured[reference]), task.threads)
    ours = measured["GaussianMechanism"]
    for name, make in _LIBRARIES.items():
        publish = make()
        if publish is not None:
            library = interleave([Timed(name, publish, LIBRARY_VALUES)], min(plan.repeats, 7))[name]
            yield speed(group, "GaussianMechanism", ours, (name, library), target="peers")


GAUSSIAN_SECTIONS = (rows_gaussian,)


def _opendp() -> Callable[[], Any] | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=SIGMA)
    values = [0.0] * LIBRARY_VALUES
    return lambda: measurement(values)


def _pydp() -> Callable[[], Any] | None:
    try:
        from pydp.algorithms.numerical_mechanisms import GaussianMechanism
    except ImportError:
        return None
    mechanism = GaussianMechanism(1.0, 1e-5, 1.0)
    return lambda: [mechanism.add_noise(0.0) for _ in range(LIBRARY_VALUES)]


def _diffprivlib() -> Callable[[], Any] | None:
    try:
        from diffprivlib.mechanisms import GaussianAnalytic
    except ImportError:
        return None
    mechanism = GaussianAnalytic(epsilon=1.0, delta=1e-5, sensitivity=1.0)
    return lambda: [mechanism.randomise(0.0) for _ in range(LIBRARY_VALUES)]


_LIBRARIES: dict[str, Callable[[], Callable[[], Any] | None]] = {
    "OpenDP": _opendp,
    "PyDP (Google)": _pydp,
    "diffprivlib": _diffprivlib,
}
