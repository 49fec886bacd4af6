"""The report's part on experiments: what statistics cost over drawing alone."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from bench.rows import Row, cost, plain
from bench.sections import MILLION, Plan
from bench.timing import Timed, all_cores, interleave
from lapnoise import LaplaceMechanism, default_rng, evaluate
from lapnoise._threads import run_blocks
from lapnoise.evaluate._accumulation import BLOCK

__all__ = ["rows_experiment"]


def rows_experiment(plan: Plan) -> Iterator[Row]:
    """Compare an experiment at one epsilon with the same noise in the same blocks, of which nothing is summed."""
    n = 100 * MILLION if plan.in_place > 10 * MILLION else 10 * MILLION
    group = f"{n:,} errors at one epsilon, ChaCha20"
    for threads in (1, None):
        suffix = "" if threads else ", all cores"
        alone = Timed(f"drawing alone{suffix}", functools.partial(_draw, n, threads or all_cores()), n, threads)
        call = functools.partial(evaluate.experiment, [1], n=n, seed=1, threads=threads or all_cores())
        whole = Timed(f"evaluate.experiment{suffix}", call, n, threads)
        measured = interleave([alone, whole], min(plan.repeats, 9))
        yield plain(group, alone.name, measured[alone.name], threads)
        reference = (alone.name, measured[alone.name])
        yield cost(group, whole.name, measured[whole.name], reference, threads, "experiment")


def _draw(n: int, threads: int) -> None:
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)
    rng = default_rng(1, rounds=20)

    def block(i: int) -> None:
        errors = np.zeros(min(BLOCK, n - i * BLOCK))
        mechanism._add(rng._at(i * BLOCK), errors, errors)

    run_blocks(block, -(-n // BLOCK), threads)
