"""The report's part on strata: what a scale for each value costs beside one for all."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

import lapnoise
from bench.rows import Row, cost, plain
from bench.sections import MILLION, Plan
from bench.timing import Timed, interleave

__all__ = ["rows_stratified"]


def rows_stratified(plan: Plan) -> Iterator[Row]:
    """Compare noise of five strengths with noise of one, both exact, on a million values."""
    group = "1,000,000 values + exact lattice noise by stratum, ChaCha20"
    x, out = np.zeros(MILLION), np.empty(MILLION)
    strata = np.random.Generator(np.random.PCG64(1)).integers(0, 5, MILLION)
    plainly = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)
    by_stratum = lapnoise.StratifiedLaplaceMechanism(
        epsilon={0: 1, 1: "0.9", 2: "0.7", 3: "0.5", 4: "0.1"}, sensitivity=1, changed=1
    )
    rng = lapnoise.default_rng(rounds=20, threads=1)
    reference = "LaplaceMechanism"
    tasks = [Timed(reference, functools.partial(plainly.add_noise, x, out=out, rng=rng), MILLION)]
    for kind in (np.int8, np.int32):
        call = functools.partial(by_stratum.add_noise, x, strata.astype(kind), out=out, rng=rng)
        tasks.append(Timed(f"StratifiedLaplaceMechanism, strata in {np.dtype(kind)}", call, MILLION))
    measured = interleave(tasks, plan.repeats)
    yield plain(group, reference, measured[reference])
    for task in tasks[1:]:
        target = "stratified" if task is tasks[1] else None
        yield cost(group, task.name, measured[task.name], (reference, measured[reference]), target=target)
