"""The report's part on looking at mechanisms from outside: what an audit costs, and how close its bound comes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from bench.rows import Row
from bench.sections import MILLION, Plan
from lapnoise import evaluate

__all__ = ["EVALUATE_SECTIONS"]


def rows_audit(plan: Plan) -> Iterator[Row]:
    """Audit Laplace noise at an epsilon of 1, with one seed after another, and see what 99 in 100 of them show."""
    group = "audit of laplace at epsilon 1, 1,000,000 outputs of each input, seconds an audit"
    evaluate.audit("laplace", epsilon=1, draws=MILLION, seed=0)
    seeds = 100 if plan.repeats > 7 else 10
    times, shown = [], []
    for seed in range(seeds):
        start = time.perf_counter()
        shown.append(evaluate.audit("laplace", epsilon=1, draws=MILLION, seed=seed).shown)
        times.append(time.perf_counter() - start)
    median = statistics.median(times)
    low, _, high = statistics.quantiles(times, n=4)
    spread = (high - low) / 2 / median
    yield Row(group, "evaluate.audit", median, "s", None, spread, target="audit", judged=median)
    reached = sorted(shown)[seeds // 100]
    what = f"epsilon shown, at least, with {seeds - seeds // 100} of {seeds} seeds"
    yield Row(group, what, median, "s", None, None, "epsilon: 1", reached, target="audit bound")


EVALUATE_SECTIONS = (rows_audit,)
