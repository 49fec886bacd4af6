"""A private mean of bounded values, over a private or a public number of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self

from lapnoise import _check, _release
from lapnoise import exact as arithmetic
from lapnoise.generator import Generator
from lapnoise.mechanisms import LaplaceMechanism
from lapnoise.mechanisms._additive import generator_for
from lapnoise.queries import _batches, _bounds, _persons
from lapnoise.queries._result import LARGEST, QueryResult, charge

__all__ = ["Mean", "MeanResult", "exact_distances", "private_mean"]


@dataclass(frozen=True, repr=False, eq=False)
class MeanResult(QueryResult):
    """A noisy mean over a private number of rows.

    Attributes
    ----------
    distances : (int, int)
        The two noisy sums that were released, in steps of the lattice: of the distances of the records from the lower
        and from the upper bound.
    bounds : Bounds
        The bounds on the lattice.
    limits : (Fraction, Fraction)
        low and high, which the value is clamped to.
    """

    distances: tuple[int, int]
    bounds: _bounds.Bounds
    limits: tuple[Fraction, Fraction]

    @property
    def noisy_sum(self) -> float:
        """Noisy sum of the distances from the middle of the bounds."""
        return _as_float(Fraction(self.distances[0] - self.distances[1], 2) * Fraction(2) ** self.bounds.exponent)

    @property
    def noisy_count(self) -> float:
        """Noisy number of rows."""
        return _as_float(Fraction(sum(self.distances), self.bounds.most - self.bounds.least))

    def interval(self, level: Any) -> tuple[float, float]:
        """Return (low, high) that holds the exact mean of the bounded rows with at least this probability.

        With a probability of (1 + level) / 2 each of the two sums is within a half-width of its noisy value; with both,
        the mean is between those of the ends, as it rises in one and falls in the other, and neither is negative.
        """
        each = (1 + _check.level(level)) / 2
        steps = arithmetic.quantile_magnitude(Fraction(self.mechanism.lattice.t), 1 - each)
        below, above = self.distances
        least = _position(max(below - steps, 0), max(above + steps, 0), Fraction(0))
        most = _position(max(below + steps, 0), max(above - steps, 0), Fraction(1))
        low, high = (self.bounds.least + (self.bounds.most - self.bounds.least) * at for at in (least, most))
        low, high = low - Fraction(1, 2), high + Fraction(1, 2)  # rounding moves a mean of rows by half a step at most
        return _clamped(low, self.bounds, self.limits), _clamped(high, self.bounds, self.limits)


class Mean(NamedTuple):
    """A mean whose parameters were checked.

    Attributes
    ----------
    epsilon : Fraction
        What it costs.
    limits : (Fraction, Fraction)
        low and high.
    on : Bounds
        The bounds on the lattice.
    rows : int or None
        The number of rows where it is public.
    m : int
        Rows of a person at most.
    mechanism : LaplaceMechanism
        The noise on each sum that is released.
    """

    epsilon: Fraction
    limits: tuple[Fraction, Fraction]
    on: _bounds.Bounds
    rows: int | None
    m: int
    mechanism: LaplaceMechanism

    @classmethod
    def planned(cls, low: Any, high: Any, epsilon: Any, n: Any, neighbours: Any, max_contributions: Any) -> Self:
        """Return the mean with these parameters."""
        asked = _check.epsilon(epsilon)
        least, most = _check.bounds(low, high)
        rows = None if n is None else _check.count("n", n, least=1)
        kind = _check.mean_neighbours(neighbours, rows)
        m = _check.count("max_contributions", max_contributions, least=1)
        moved = m * (2 if kind == "replace" else 1) if rows is None else m
        on = _bounds.choose(least, most, moved * (most - least), asked)
        r = Fraction(2) ** on.exponent
        sensitivity = moved * (on.most - on.least) * r
        mechanism = LaplaceMechanism(epsilon=asked, sensitivity=sensitivity, changed=1, granularity=r)
        return cls(asked, (least, most), on, rows, m, mechanism)

    def exact(self, values: Any, person: Any) -> tuple[int, int]:
        """Return the sum in steps and the number of rows, before noise; those of disjoint sets of persons add up."""
        return exact_steps(values, self.on, person, self.m)

    def released(self, exact: tuple[int, int], generator: Generator) -> QueryResult:
        """Return the mean with noise."""
        noise = _release.steps(generator, 1 if self.rows else 2, self.mechanism.lattice.t)
        return (
            self._over_public_rows(exact, noise[0], self.rows) if self.rows else self._over_private_rows(exact, noise)
        )

    def _over_public_rows(self, exact: tuple[int, int], noise: int, rows: int) -> QueryResult:
        on, r = self.on, Fraction(2) ** self.on.exponent
        steps, counted = exact
        middle = (on.least + on.most) // 2  # a whole step, so that a row adds up to half the width on either side
        value = _as_float((middle + Fraction(steps - counted * middle + noise, rows)) * r)
        scale, error = self.mechanism.scale / rows, self.mechanism.std / rows
        rounding = float(r / 2)
        return QueryResult(value, self.epsilon, Fraction(0), scale, error, self.mechanism, rows=rows, rounding=rounding)

    def _over_private_rows(self, exact: tuple[int, int], noise: list[int]) -> MeanResult:
        on, mechanism = self.on, self.mechanism
        below, above = (a + x for a, x in zip(exact_distances(*exact, on), noise, strict=True))
        width = on.most - on.least
        count = max(Fraction(below + above, width), Fraction(1))
        middle_steps = Fraction(on.least + on.most, 2)
        centred = Fraction(below - above, 2) / count
        value = _clamped(middle_steps + centred, on, self.limits)
        # By the delta method; the noise of centred sum and count is uncorrelated, since that of A and B is alike.
        away = float(min(abs(2 * centred / width), Fraction(1)))
        error = mechanism.std * math.sqrt((1 + away * away) / 2) / _as_float(count)
        limited = min(error, _as_float(self.limits[1] - self.limits[0]))
        zero = Fraction(0)
        return MeanResult(
            value, self.epsilon, zero, mechanism.scale, limited, mechanism, (below, above), on, self.limits
        )


def private_mean(
    values: Any,
    low: Any,
    high: Any,
    *,
    epsilon: Any,
    n: int | None = None,
    neighbours: str | None = None,
    max_contributions: int = 1,
    person: Any = None,
    rng: Any = None,
    ledger: Any = None,
    label: str | None = None,
) -> QueryResult:
    """Average values clipped to [low, high], with exact Laplace noise on a lattice.

    Parameters
    ----------
    values : array_like, Series, Arrow array, or iterable of these as batches
        Real numbers; infinities clip to the bounds. Missing ones (NaN, None, NA, null, masked) are left out; with a
        public ``n`` this is to count them as the middle of the bounds.
    low, high : float, str, Decimal or Fraction
        Bounds that do not come from the data, finite, low < high, at their exact values.
    epsilon : float, str, Decimal or Fraction
        What the query costs, finite and > 0. A float counts as it prints.
    n : int, optional
        The number of rows where it is public, once each person's are bounded. By default it is private.
    neighbours : {"add-remove", "replace"}, optional
        Relation between neighbouring data sets: "add-remove" by default, "replace" with ``n``, which "add-remove"
        would reveal.
    max_contributions, person
        As in `private_sum`: a person with more than m rows counts as m times the mean of their clipped values.
    rng, ledger, label
        As in `private_count`.

    Returns
    -------
    MeanResult
        ``value`` is a float in [low, high]: the middle plus the noisy centred sum over the noisy count, taken as 1 at
        least. Without rows it is a value near the middle, or anywhere where noise has it.
    QueryResult
        With ``n``: the middle plus the noisy centred sum over n, unbiased, so that it may lie outside the bounds.

    Notes
    -----
    With a private number of rows two sums are released, A of x - low and B of high - x, with noise of scale
    m (high - low) / epsilon each. A row moves them by x - low and high - x, together by high - low whatever x is, so
    their L1 sensitivity is m (high - low) under "add-remove" and twice that under "replace". The centred sum is
    (A - B) / 2 and the count (A + B) / (high - low), and both have half the variance that they have where epsilon is
    split evenly between the two, the split that is best in the worst case: centred sum and count then have a
    sensitivity of m (high - low) / 2 and m at epsilon / 2. The points (x - middle, 1) that a row can add fill a
    rectangle, and this noise has its shape: the K-norm mechanism of Hardt and Talwar, "On the geometry of differential
    privacy", STOC 2010.

    Records are rounded to a lattice as in `private_sum`; A and B are exact sums of whole steps.

    Examples
    --------
    >>> from lapnoise import queries
    >>> queries.private_mean([1.0, 2.5, 90.0], 0, 10, epsilon=1, n=3).scale == 10 / 3
    True
    """
    query = Mean.planned(low, high, epsilon, n, neighbours, max_contributions)
    _batches.verify(values, numbers=True)
    _persons.verify(person, values)
    _check.ledger(ledger)
    named = _check.label(label, "private_mean")
    generator = generator_for(rng, None)
    charge(ledger, query.epsilon, Fraction(0), named)
    return query.released(query.exact(values, person), generator)


def exact_steps(values: Any, on: _bounds.Bounds, person: Any, m: int) -> tuple[int, int]:
    """Return the sum of the records in steps, and their number, before noise."""
    if person is None:
        totals = [_bounds.total(batch, on) for batch in _batches.batches(values, numbers=True)]
        return sum(steps for steps, _ in totals), sum(rows for _, rows in totals)
    steps, there = _bounds.steps(_batches.read(values, numbers=True), on)
    codes = _persons.identify(person).codes
    counted = there & (codes >= 0)
    kept = codes[counted]
    return _persons.summed_steps(kept, steps[counted], m), _persons.rows_counted(kept, m)


def exact_distances(steps: int, rows: int, on: _bounds.Bounds) -> tuple[int, int]:
    """Return the sums of the distances from the lower and from the upper bound, in steps, neither negative."""
    return steps - rows * on.least, rows * on.most - steps


def _position(below: int, above: int, otherwise: Fraction) -> Fraction:
    return Fraction(below, below + above) if below + above else otherwise


def _clamped(steps: Fraction, on: _bounds.Bounds, limits: tuple[Fraction, Fraction]) -> float:
    value = steps * Fraction(2) ** on.exponent
    return _as_float(min(max(value, limits[0]), limits[1]))


def _as_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return LARGEST if value > 0 else -LARGEST
