"""Experiments on real data: how far private counts, sums, means and histograms are from the true ones.

They compare with the true answers, so what they show is a function of the data that no noise protects.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check, queries
from lapnoise._check import experiment_arguments
from lapnoise.errors import SeededNoiseWarning
from lapnoise.evaluate._statistics import CONTINUOUS_FROM, continuous_law, discrete_law
from lapnoise.evaluate._sums import mean_band
from lapnoise.evaluate.experiments import EPSILONS, LEVEL, Curve, Statistic
from lapnoise.generator import Generator, default_rng

__all__ = ["QUERIES", "QueryErrors", "QueryRow", "query_errors"]

QUERIES = ("count", "sum", "mean", "histogram")


@dataclass(frozen=True)
class QueryRow:
    """Errors of one query at one epsilon, against the true answer over the values bounded to [low, high].

    Attributes
    ----------
    query : str
        "count", "sum", "mean" or "histogram"; the errors of a histogram are those of its cells.
    epsilon : Fraction
        What each answer spends.
    scale : float
        b of the noise: of a mean, of that on each of its two sums.
    bias : float
        Mean of the errors.
    rmse : Statistic
        Root of the mean squared error.
    relative : float
        rmse over the size of the true answer, or of the mean cell of a histogram; inf where that is 0.
    bounding : float
        What bounding the values to [low, high] itself changed in the true answer, at no epsilon; infinite, or NaN,
        where the sum of the values as they are is.
    """

    query: str
    epsilon: Fraction
    scale: float
    bias: float
    rmse: Statistic
    relative: float
    bounding: float


@dataclass(frozen=True)
class QueryErrors:
    """Errors of queries on a column.

    Attributes
    ----------
    low, high : float
        Bounds of the values.
    bins : int
        Cells of the histogram.
    n : int
        Answers drawn for each row.
    level : Fraction
        Probability that a root mean squared error lies in its band, for each by itself.
    seed : int or None
        None: drawn under keys of the operating system's.
    rows : tuple of QueryRow
    """

    low: float
    high: float
    bins: int
    n: int
    level: Fraction
    seed: int | None
    rows: tuple[QueryRow, ...]

    @property
    def note(self) -> str:
        """What is to be said wherever these errors are shown."""
        return "computed from the true answers, which it tells: for planning, not for publishing"

    @property
    def curves(self) -> tuple[Curve, ...]:
        """Root mean squared error against epsilon, for pictures: a curve for each query."""
        return tuple(
            Curve(f"private {query}", tuple((float(row.epsilon), row.rmse) for row in self.rows if row.query == query))
            for query in QUERIES
        )


def query_errors(
    values: Any,
    low: Any,
    high: Any,
    *,
    epsilons: Any = EPSILONS,
    n: int = 200,
    bins: int = 10,
    level: Any = LEVEL,
    seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> QueryErrors:
    """Ask private queries of a column again and again, and compare the answers with the true ones.

    The result tells the true answers: it is for planning, and must not be published where the data are private.

    Parameters
    ----------
    values : array_like or Series
        Real numbers, each taken as one person's. Missing ones (NaN) are left out.
    low, high : float, str, Decimal or Fraction
        Public bounds of the values, low < high.
    epsilons : sequence of float, str, Decimal or Fraction, optional
        What each answer spends, each finite and > 0.
    n : int, optional
        Answers to each query at each epsilon, 2 at least.
    bins : int, optional
        Cells of equal width that the histogram has between the bounds.
    level, seed
        As in `experiment`.
    progress : callable, optional
        Called with the answers so far, and with all there will be.

    Returns
    -------
    QueryErrors
        Rows by query, then by epsilon.

    Notes
    -----
    In theory the root mean squared error of count, sum and cells is the standard deviation of their noise. For the
    mean over a private number n of rows it is b / n sqrt(1 + 4 d^2 / (high - low)^2), b the scale of the noise on each
    of its two sums and d the distance of the mean from the middle of the bounds: the first term of an expansion, good
    where n epsilon is well above 1.

    Examples
    --------
    >>> from lapnoise import evaluate
    >>> rows = evaluate.query_errors([1.0, 5.0, 9.0], 0, 10, epsilons=[1], n=2, seed=1).rows
    >>> [row.query for row in rows]
    ['count', 'sum', 'mean', 'histogram']
    """
    asked = experiment_arguments.epsilons(epsilons)
    least, most = map(float, _check.bounds(low, high))
    experiment_arguments.answers(asked, least, most)
    column = experiment_arguments.one_column(values)
    times, edges = experiment_arguments.repeats("n", n), experiment_arguments.cells(least, most, bins)
    confidence = _check.level(level)
    rng = default_rng(seed, rounds=20)
    truth = _Truth(column[~np.isnan(column)], least, most, edges)
    rows: list[QueryRow] = []
    total = len(QUERIES) * len(asked) * times
    for query in QUERIES:
        for epsilon in asked:
            errors = []
            for _ in range(times):
                # A seeded key would warn at every answer that it protects nobody; here that is known.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SeededNoiseWarning)
                    answer = _asked(query, column, (low, high), edges, epsilon, None if seed is None else rng)
                errors.append(np.atleast_1d(np.asarray(answer.value, np.float64) - truth.bounded[query]))
                if progress is not None:
                    progress(len(rows) * times + len(errors), total)
            rows.append(_row(query, epsilon, answer, np.concatenate(errors), truth, float(1 - confidence)))
    return QueryErrors(least, most, edges.size - 1, times, confidence, seed, tuple(rows))


class _Truth:
    """The true answers, over the values as they are and bounded."""

    def __init__(self, present: NDArray[np.float64], low: float, high: float, edges: NDArray[np.float64]) -> None:
        bounded = np.clip(present, low, high)
        self.n = present.size
        self.width = high - low
        mean = math.fsum(bounded.tolist()) / self.n
        self.off_middle = mean - (low + high) / 2
        self.bounded: dict[str, Any] = {
            "count": self.n,
            "sum": math.fsum(bounded.tolist()),
            "mean": mean,
            "histogram": np.histogram(present, edges)[0],  # values beyond the edges are in no cell
        }
        # Beyond the floats, or of infinities: infinite, or NaN where there are both.
        beyond = not float(np.abs(present).max()) < 1e308 / self.n
        with np.errstate(over="ignore", invalid="ignore"):
            whole = float(present.sum()) if beyond else math.fsum(present.tolist())
            mean_of_all = float((present / self.n).sum()) if beyond else whole / self.n
        self.bounding = {
            "count": 0.0,
            "sum": self.bounded["sum"] - whole,
            "mean": mean - mean_of_all,
            "histogram": float(self.bounded["histogram"].sum() - self.n),
        }

    def size(self, query: str) -> float:
        return self.n / self.bounded[query].size if query == "histogram" else abs(float(self.bounded[query]))


def _asked(
    query: str,
    column: NDArray[np.float64],
    bounds: tuple[Any, Any],
    edges: NDArray[np.float64],
    epsilon: Fraction,
    rng: Generator | None,
) -> queries.QueryResult:
    if query == "count":
        return queries.private_count(column, epsilon=epsilon, rng=rng)
    if query == "sum":
        return queries.private_sum(column, *bounds, epsilon=epsilon, rng=rng)
    if query == "mean":
        return queries.private_mean(column, *bounds, epsilon=epsilon, rng=rng)
    return queries.private_histogram(column, edges=edges, epsilon=epsilon, rng=rng)


def _row(
    query: str,
    epsilon: Fraction,
    answer: queries.QueryResult,
    errors: NDArray[np.float64],
    truth: _Truth,
    alpha: float,
) -> QueryRow:
    if query == "mean":
        theory = answer.scale / truth.n * math.sqrt(1 + 4 * (truth.off_middle / truth.width) ** 2)
    else:
        theory = answer.standard_error
    # Counts are integers, whose noise is mostly 0 where epsilon is large; a mean's errors have lighter tails than
    # Laplace noise, so that its band is on the wide side.
    if query in ("count", "histogram") and answer.scale < CONTINUOUS_FROM:
        low, high = mean_band(discrete_law(answer.scale).terms[2], errors.size, alpha)
    else:
        term = continuous_law().terms[2]
        low, high = (max(end, 0.0) * theory**2 / term.moments.mean for end in mean_band(term, errors.size, alpha))
    rmse = math.sqrt(float(np.mean(errors**2)))
    size = truth.size(query)
    return QueryRow(
        query,
        epsilon,
        answer.scale,
        float(np.mean(errors)),
        Statistic(rmse, theory, math.sqrt(low), math.sqrt(high)),
        rmse / size if size else math.inf,
        truth.bounding[query],
    )
