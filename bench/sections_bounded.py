"""The report's part on bounded domains and bounded noise: what exactness costs beside a library in plain Python."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import lapnoise
from bench.rows import Row, plain, speed
from bench.sections import Plan
from bench.timing import Timed, interleave

__all__ = ["BOUNDED_SECTIONS", "rows_bounded"]

VALUES = 100_000

LIBRARY_VALUES = 500
"""Values a call of a library that takes some 50 us for each."""

LOW, HIGH, DELTA = 0.0, 10.0, 1e-5


def rows_bounded(plan: Plan) -> Iterator[Row]:
    """Compare results in [0, 10], and noise that is cut off, with diffprivlib where it is installed."""
    group = "100,000 values, epsilon = sensitivity = 1, ChaCha20: results in [0, 10], and noise with delta = 1e-5"
    end, middle = np.full(VALUES, LOW), np.full(VALUES, (LOW + HIGH) / 2)
    bounded = lapnoise.BoundedLaplaceMechanism(epsilon=1, sensitivity=1, low=LOW, high=HIGH, changed=1)
    narrow = lapnoise.BoundedLaplaceMechanism(epsilon=0.1, sensitivity=1, low=LOW, high=HIGH, changed=1)
    truncated = lapnoise.TruncatedLaplaceMechanism(epsilon=1, delta=DELTA, sensitivity=1, changed=1)
    one = lapnoise.default_rng(rounds=20, threads=1)
    calls = {
        "BoundedLaplaceMechanism, values at an end": (bounded, end),
        "BoundedLaplaceMechanism, values in the middle": (bounded, middle),
        "BoundedLaplaceMechanism, epsilon = 0.1": (narrow, end),
        "TruncatedLaplaceMechanism": (truncated, middle),
    }
    tasks = [Timed(name, functools.partial(m.add_noise, x, rng=one), VALUES) for name, (m, x) in calls.items()]
    tasks.append(Timed("LaplaceMechanism", functools.partial(_plain().add_noise, middle, rng=one), VALUES))
    measured = interleave(tasks, plan.repeats)
    yield plain(group, "LaplaceMechanism", measured["LaplaceMechanism"])
    for task in tasks[:-1]:
        reference = ("LaplaceMechanism", measured["LaplaceMechanism"])
        yield speed(group, task.name, measured[task.name], reference)
    for name, (ours, make) in _LIBRARIES.items():
        publish = make()
        if publish is not None:
            library = interleave([Timed(name, publish, LIBRARY_VALUES)], min(plan.repeats, 7))[name]
            yield speed(group, ours, measured[ours], (name, library), target="peers")


BOUNDED_SECTIONS = (rows_bounded,)


def _plain() -> lapnoise.LaplaceMechanism:
    return lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)


def _bounded_domain() -> Callable[[], Any] | None:
    try:
        from diffprivlib.mechanisms import LaplaceBoundedDomain
    except ImportError:
        return None
    mechanism = LaplaceBoundedDomain(epsilon=1.0, delta=0.0, sensitivity=1.0, lower=LOW, upper=HIGH)
    return lambda: [mechanism.randomise(LOW) for _ in range(LIBRARY_VALUES)]


def _bounded_noise() -> Callable[[], Any] | None:
    try:
        from diffprivlib.mechanisms import LaplaceBoundedNoise
    except ImportError:
        return None
    mechanism = LaplaceBoundedNoise(epsilon=1.0, delta=DELTA, sensitivity=1.0)
    return lambda: [mechanism.randomise(5.0) for _ in range(LIBRARY_VALUES)]


_LIBRARIES: dict[str, tuple[str, Callable[[], Callable[[], Any] | None]]] = {
    "diffprivlib LaplaceBoundedDomain": ("BoundedLaplaceMechanism, values at an end", _bounded_domain),
    "diffprivlib LaplaceBoundedNoise": ("TruncatedLaplaceMechanism", _bounded_noise),
}
