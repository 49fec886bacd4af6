"""The report's part on queries: what clipping, exact sums and noise cost over a plain sum of the same array."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.rows import Row, cost, plain
from bench.sections import MILLION, Plan
from bench.timing import Timed, interleave
from lapnoise import queries

__all__ = ["rows_queries"]

ROWS = 10 * MILLION


def rows_queries(plan: Plan) -> Iterator[Row]:
    """Compare private queries over ten million float64 with NumPy's sum of them."""
    group = f"{ROWS:,} float64 rows, queries, fresh ChaCha20 key each"
    x = np.random.Generator(np.random.PCG64(1)).standard_normal(ROWS)
    reference = "numpy x.sum()"
    calls = {
        "private_count": functools.partial(queries.private_count, x, epsilon=1),
        "private_sum": functools.partial(queries.private_sum, x, -2, 2, epsilon=1),
        "private_mean": functools.partial(queries.private_mean, x, -2, 2, epsilon=1),
        "private_histogram, 10 cells": functools.partial(
            queries.private_histogram, x, edges=np.linspace(-2, 2, 11), epsilon=1
        ),
        "private_histogram, 100 cells": functools.partial(
            queries.private_histogram, x, edges=np.linspace(-2, 2, 101), epsilon=1
        ),
    }
    tasks = [Timed(reference, x.sum, ROWS)]
    for threads in (1, None):
        suffix = "" if threads else ", all cores"
        tasks += [Timed(name + suffix, _on(threads, call), ROWS, threads) for name, call in calls.items()]
    tasks.append(Timed("numpy histogram, 10 cells", lambda: np.histogram(x, np.linspace(-2, 2, 11)), ROWS))
    measured = interleave(tasks, plan.repeats)
    yield plain(group, reference, measured[reference])
    for task in tasks[1:]:
        target = "query" if task.name.startswith("private") else None
        yield cost(group, task.name, measured[task.name], (reference, measured[reference]), task.threads, target)


def _on(threads: int | None, call: Any) -> Any:
    """Return a call under a cap on threads; a query takes all cores otherwise."""
    if threads is None:
        return call

    def capped() -> Any:
        before = os.environ.get("LAPNOISE_NUM_THREADS")
        os.environ["LAPNOISE_NUM_THREADS"] = str(threads)
        try:
            return call()
        finally:
            if before is None:
                del os.environ["LAPNOISE_NUM_THREADS"]
            else:
                os.environ["LAPNOISE_NUM_THREADS"] = before

    return capped
