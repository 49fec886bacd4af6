"""A private quantile: the exponential mechanism over all the points that the answer can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise.generator import Generator
from lapnoise.lattice import LEAST_EXPONENT, floor_log2
from lapnoise.mechanisms import ExponentialMechanism
from lapnoise.mechanisms._additive import generator_for
from lapnoise.mechanisms._selecting import Field, winner
from lapnoise.queries import _batches, _persons
from lapnoise.queries._result import charge

__all__ = ["QuantileResult", "private_quantile"]

_POINTS_BITS = 40
_MANTISSA_BITS = 52
_LARGEST_DENOMINATOR = 1 << 30
"""Ranks are counted in this part of a row at the finest, so that 2^33 rows fit in 64 bits."""


@dataclass(frozen=True, repr=False)
class QuantileResult:
    """A private quantile and what it cost.

    How far it is from the exact one depends on the data, so there is neither a standard error nor an interval: what is
    known is how far its *rank* may be off, ``rank_error``.

    Attributes
    ----------
    value : float
        Between the bounds.
    epsilon, delta : Fraction
        What was spent; delta is 0.
    points : int
        How many points the value was selected from.
    rows_at_epsilon : float
        sensitivity / epsilon in rows: what is a scale for noise.
    """

    value: float
    epsilon: Fraction
    delta: Fraction
    points: int
    rows_at_epsilon: float

    def rank_error(self, level: Any) -> float:
        """Return how many rows the rank of the value is from the wanted one at most, with at least this probability.

        Parameters
        ----------
        level : float, str, Decimal or Fraction
            Between 0 and 1, read as it prints.

        Notes
        -----
        A score of at least 2 (sensitivity / epsilon) (ln(points) + ln(1 / (1 - level))) below the best is selected
        with a probability of 1 - level at most (McSherry and Talwar, FOCS 2007, theorem 6). The best score is that of
        the exact quantile, 0, if values are there.
        """
        missed = float(1 - _check.level(level))
        return 2.0 * self.rows_at_epsilon * (math.log(self.points) - math.log(missed))

    def __repr__(self) -> str:
        off = self.rank_error("0.95")
        return f"QuantileResult({self.value!r}, rank ± {off:.4g}, epsilon={float(self.epsilon):.4g})"


def private_quantile(
    values: Any,
    quantile: Any,
    low: Any,
    high: Any,
    *,
    epsilon: Any,
    neighbours: str = "add-remove",
    max_contributions: int = 1,
    person: Any = None,
    rng: Any = None,
    ledger: Any = None,
    label: str | None = None,
) -> QuantileResult:
    """Return a quantile of values with pure differential privacy.

    Parameters
    ----------
    values : array_like, Series, Arrow array, or iterable of these as batches
        Real numbers. NaN and missing values are dropped, infinities count as the bounds; there may be none.
    quantile : float, str, Decimal or Fraction
        From 0 to 1, read as it prints: 0.5 is the median. It counts to 2^-30.
    low, high : float, str, Decimal or Fraction
        Public bounds, at their exact values. Values beyond count as the bound.
    epsilon : float, str, Decimal or Fraction
        Privacy budget, finite and > 0.
    neighbours : {"add-remove", "replace"}
        What two neighbouring data sets differ in: the rows of one person that are there or not, or that are others.
    max_contributions : int, optional
        m, how many rows a person has at most; with ``person`` how many count.
    person : array_like, optional
        Whose each row is. Of a person with more than m rows those m count that stand evenly spaced in their order.
    rng, ledger, label
        As in `private_count`.

    Returns
    -------
    QuantileResult
        ``value`` is a point of a lattice of 2^40 to 2^41 points between the bounds, or of all the floats that are
        multiples of the last bit of the larger bound, where those are fewer.

    Raises
    ------
    ValueError, TypeError
        If an argument is not of its kind, or low is not less than high; nothing is drawn then.

    Notes
    -----
    Values are rounded to the lattice, which the bounds alone decide. Point k of it has the score

        u(k) = -max(0, N(values < k) - q n, q n - N(values <= k)),

    minus the distance of q n from the ranks that k has. A row more moves either count by 0 or 1 and q n by q, so each
    term, and with it u, by at most max(q, 1 - q), and m rows by m times that. Up to m rows that are replaced by up to m
    others change a term from within -q m and (1 - q) m to another place there, so by at most m. With that sensitivity
    the exponential mechanism selects a point. All points between two neighbouring values have one score, so an interval
    is selected by its number of points [1]_, and one of those uniformly. The intervals depend on data; the points and
    their number do not, so nothing beside u depends on data.

    References
    ----------
    .. [1] A. Smith, "Privacy-preserving statistical estimation with optimal convergence rates", STOC 2011, section 3.

    Examples
    --------
    >>> import lapnoise.queries
    >>> result = lapnoise.queries.private_quantile(range(1001), 0.5, 0, 1000, epsilon=1)
    >>> abs(result.value - 500) < 100
    True
    """
    rank = _check.quantile(quantile)
    if rank.denominator > _LARGEST_DENOMINATOR:
        rank = Fraction(round(rank * _LARGEST_DENOMINATOR), _LARGEST_DENOMINATOR)
    points = _points(low, high)
    a, b = rank.numerator, rank.denominator
    # Scores are counted in parts of a row, u b, so that they are integers.
    m = _check.count("max_contributions", max_contributions, least=1)
    most = m * (b if _check.neighbours(neighbours) == "replace" else max(a, b - a))
    mechanism = ExponentialMechanism(epsilon=epsilon, sensitivity=most)
    _batches.verify(values, numbers=True)
    _persons.verify(person, values)
    _check.ledger(ledger)
    named = _check.label(label, "private_quantile")
    generator = generator_for(rng, None)
    charge(ledger, mechanism.epsilon_asked, Fraction(0), named)
    places = points.places(values) if person is None else bounded_places(values, points, person, m)
    starts, lengths, scores = intervals(places, points.number, a, b)
    i = winner(mechanism, generator, Field(scores, lengths.astype(np.float64), None))
    place = int(starts[i]) + _uniform_below(generator, int(lengths[i]))
    value = math.ldexp(points.first + place, points.exponent)
    rows = float(Fraction(most, b) / mechanism.epsilon)
    return QuantileResult(value, mechanism.epsilon, Fraction(0), points.number, rows)


def intervals(
    places: NDArray[np.int64], number: int, a: int, b: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return start, length and score u b of all runs of points 0 to number - 1 that have one score, q being a / b.

    They are the gaps before, between and after the different places of values, some empty, then these places.
    """
    found, counts = np.unique(places, return_counts=True)
    ranks = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    after = np.concatenate([np.zeros(1, np.int64), found + 1])
    gaps = np.concatenate([found, np.full(1, number)]) - after
    excess = b * ranks - a * places.size
    gap_scores = -np.abs(excess)
    place_scores = -np.maximum(np.maximum(excess[:-1], -excess[1:]), 0)
    return (
        np.concatenate([after, found]),
        np.concatenate([gaps, np.ones_like(found)]),
        np.concatenate([gap_scores, place_scores]),
    )


class _Points(NamedTuple):
    """The multiples of 2^exponent from ``first`` on that an answer can be."""

    exponent: int
    first: int
    number: int

    def places(self, values: Any) -> NDArray[np.int64]:
        """Return the place of each value that is there, 0 to number - 1, rounded half up."""
        found = [np.empty(0, np.int64)]
        for batch in _batches.batches(values, numbers=True):
            found += [self.of(_as_float64(part))[1] for _, part in batch.parts]
        return np.concatenate(found)

    def of(self, values: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which values are not NaN, and the places of these.

        64-bit integers were rounded to floats: a rounding of each row by itself changes no count of rows that differ.
        """
        low = math.ldexp(self.first, self.exponent)
        high = math.ldexp(self.first + self.number - 1, self.exponent)
        half = -self.exponent // 2
        up1, up2 = math.ldexp(1.0, half), math.ldexp(1.0, -self.exponent - half)
        there = ~np.isnan(values)
        steps = (np.clip(values[there], low, high) * up1) * up2
        floor = np.floor(steps)
        return there, (floor + (steps - floor >= 0.5)).astype(np.int64) - self.first


def _as_float64(values: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # of a long double, which becomes an infinity
        return values.astype(np.float64, copy=False)


def bounded_places(values: Any, points: _Points, person: Any, m: int) -> NDArray[np.int64]:
    """Return the places of at most m rows of each person, evenly spaced in the order of that person's places."""
    codes = _persons.identify(person).codes
    whose, where = [np.empty(0, np.intp)], [np.empty(0, np.int64)]
    for rows, part in _batches.read(values, numbers=True).parts:
        there, places = points.of(_as_float64(part))
        of_part = codes[rows if rows is not None else slice(None)][there]
        whose.append(of_part[of_part >= 0])
        where.append(places[of_part >= 0])
    who, place = np.concatenate(whose), np.concatenate(where)
    order = np.lexsort((place, who))
    _, starts, counts = np.unique(who[order], return_index=True, return_counts=True)
    # Of c > m rows those with the ranks floor((2 i + 1) c / (2 m)), i < m; they are different, c being larger than m.
    kept = [
        start + (np.arange(c) if c <= m else (2 * np.arange(m) + 1) * c // (2 * m))
        for start, c in zip(starts.tolist(), counts.tolist(), strict=True)
    ]
    return place[order[np.concatenate(kept)]] if kept else np.empty(0, np.int64)


def _points(low: Any, high: Any) -> _Points:
    least, most = _check.float_bounds(low, high)
    exponent = max(
        floor_log2(most - least) - _POINTS_BITS,
        floor_log2(max(abs(least), abs(most))) - _MANTISSA_BITS,  # no point between floats
        LEAST_EXPONENT,
    )
    r = Fraction(2) ** exponent
    first, last = math.ceil(least / r), math.floor(most / r)
    _check.points_between(low, high, last - first + 1)
    return _Points(exponent, first, last - first + 1)


def _uniform_below(rng: Generator, n: int) -> int:
    """Return a uniform integer from 0 to n - 1; words beyond the largest multiple of n are drawn again."""
    fair = (1 << 64) // n * n
    while True:
        word = int(rng.words(1)[0])
        if word < fair:
            return word % n
