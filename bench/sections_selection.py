"""The report's part on selections: what it costs to pick one of a million candidates, and how that compares."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import lapnoise
from bench.rows import Row, plain, speed
from bench.sections import MILLION, Plan
from bench.timing import Timed, interleave

__all__ = ["SELECTION_SECTIONS"]

LIBRARY_CANDIDATES = 10_000
"""Candidates a call of the libraries that take more for each."""


def rows_selection(plan: Plan) -> Iterator[Row]:
    """Compare exact selections with the greatest of scores with NumPy's Gumbel noise, and with the libraries."""
    group = "1 of 1,000,000 candidates selected, ChaCha20, ns a candidate"
    theirs = np.random.Generator(np.random.PCG64(1))
    scores = theirs.normal(size=MILLION)
    counts = theirs.integers(0, 1000, MILLION)
    measure = theirs.random(MILLION)
    candidates = range(MILLION)
    exponential = lapnoise.ExponentialMechanism(epsilon=1, sensitivity=1)
    flip = lapnoise.PermuteAndFlipMechanism(epsilon=1, sensitivity=1)
    one, all_cores = lapnoise.default_rng(rounds=20, threads=1), lapnoise.default_rng(rounds=20)
    reference = "numpy argmax(scores / 2 + g.gumbel), not exact"
    tasks = [
        Timed(reference, lambda: int(np.argmax(scores / 2 + theirs.gumbel(size=MILLION))), MILLION),
        Timed("ExponentialMechanism", _selecting(exponential, candidates, scores, one), MILLION),
        Timed("ExponentialMechanism, all cores", _selecting(exponential, candidates, scores, all_cores), MILLION, None),
        Timed("ExponentialMechanism, int64 scores", _selecting(exponential, candidates, counts, one), MILLION),
        Timed(
            "ExponentialMechanism, measure",
            functools.partial(_selecting(exponential, candidates, scores, one), measure=measure),
            MILLION,
        ),
        Timed("PermuteAndFlipMechanism", _selecting(flip, candidates, scores, one), MILLION),
    ]
    measured = interleave(tasks, plan.repeats)
    yield plain(group, reference, measured[reference])
    for task in tasks[1:]:
        row = speed(group, task.name, measured[task.name], (reference, measured[reference]), task.threads, "selection")
        yield dataclasses.replace(row, judged=row.value)
    some = scores[:LIBRARY_CANDIDATES]
    ours = "ExponentialMechanism, 10,000 candidates"
    few = Timed(ours, _selecting(exponential, range(some.size), some, one), some.size)
    for name, make in _LIBRARIES.items():
        publish = make(some)
        if publish is not None:
            pair = interleave([few, Timed(name, publish, some.size)], min(plan.repeats, 7))
            yield speed(group, ours, pair[ours], (name, pair[name]), target="peers")


def rows_few_candidates(plan: Plan) -> Iterator[Row]:
    """See what a selection among a handful costs, a fresh key from the operating system included."""
    group = "1 of 10 candidates selected, ns a selection"
    scores = np.arange(10.0)
    exponential = lapnoise.ExponentialMechanism(epsilon=1, sensitivity=1)
    rng = lapnoise.default_rng(rounds=20, threads=1)
    tasks = [
        Timed("ExponentialMechanism, rng=", _selecting(exponential, range(10), scores, rng), 1),
        Timed("ExponentialMechanism, fresh key", _selecting(exponential, range(10), scores, None), 1),
    ]
    measured = interleave(tasks, plan.repeats)
    for task in tasks:
        yield plain(group, task.name, measured[task.name])


SELECTION_SECTIONS = (rows_selection, rows_few_candidates)


def _selecting(mechanism: Any, candidates: Any, scores: Any, rng: Any) -> Callable[..., Any]:
    return functools.partial(mechanism.select, candidates, scores, rng=rng)


def _opendp(scores: Any) -> Callable[[], Any] | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    measurement = dp.m.make_noisy_max(domain, dp.linf_distance(T=float), dp.max_divergence(), scale=2.0)
    values = scores.tolist()
    return lambda: measurement(values)


def _diffprivlib(scores: Any) -> Callable[[], Any] | None:
    try:
        from diffprivlib.mechanisms import Exponential
    except ImportError:
        return None
    values = scores.tolist()
    return lambda: Exponential(epsilon=1.0, sensitivity=1.0, utility=values).randomise()


_LIBRARIES: dict[str, Callable[[Any], Callable[[], Any] | None]] = {
    "OpenDP make_noisy_max": _opendp,
    "diffprivlib Exponential": _diffprivlib,
}
