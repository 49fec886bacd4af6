"""A private quantile: the exponential mechanism over all the points that the answer can be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._containers import is_series
from lapnoise.generator import Generator
from lapnoise.lattice import LEAST_EXPONENT
from lapnoise.mechanisms import ExponentialMechanism
from lapnoise.mechanisms._additive import generator_for
from lapnoise.mechanisms._selecting import Field, winner

__all__ = ["QuantileResult", "private_quantile"]

_POINTS_BITS = 40
_MANTISSA_BITS = 52
_LARGEST_DENOMINATOR = 1 << 30
"""Ranks are counted in this part of a row at the finest, so that 2^33 rows fit in 64 bits."""


class QuantileResult(NamedTuple):
    """A private quantile and what it cost.

    Attributes
    ----------
    value : float
        Between the bounds.
    epsilon, delta : Fraction
        What was spent; delta is 0.
    """

    value: float
    epsilon: Fraction
    delta: Fraction


def private_quantile(
    values: Any,
    quantile: Any,
    low: Any,
    high: Any,
    *,
    epsilon: Any,
    neighbours: str = "add-remove",
    rng: Any = None,
) -> QuantileResult:
    """Return a quantile of values with pure differential privacy.

    Parameters
    ----------
    values : array_like of shape (n,), Series, Arrow array, or an iterable of those
        One row a person. NaN and missing values are dropped, infinities count as the bounds; there may be none.
    quantile : float, str, Decimal or Fraction
        From 0 to 1, read as it prints: 0.5 is the median. It counts to 2^-30.
    low, high : float, str, Decimal or Fraction
        Public bounds, at their exact values. Values beyond count as the bound.
    epsilon : float, str, Decimal or Fraction
        Privacy budget, finite and > 0.
    neighbours : {"add-remove", "replace"}
        What two neighbouring data sets differ in: a row that is there or not, or the value of one of n rows.
    rng : Generator, optional
        None draws from ChaCha20 under a fresh key from the operating system. A seeded generator warns.

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
    term, and with it u, by at most max(q, 1 - q); a row replaced moves a count by at most 1, and one that turns into
    NaN is a row less. With that sensitivity the exponential mechanism selects a point. All points between two
    neighbouring values have one score, so an interval is selected by its number of points [1]_, and one of those
    uniformly. The intervals depend on data; the points and their number do not, so nothing beside u depends on data.

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
    most = b if _check.neighbours(neighbours) == "replace" else max(a, b - a)
    mechanism = ExponentialMechanism(epsilon=epsilon, sensitivity=most)
    generator = generator_for(rng, None)
    starts, lengths, scores = intervals(points.places(values), points.number, a, b)
    i = winner(mechanism, generator, Field(scores, lengths.astype(np.float64), None))
    place = int(starts[i]) + _uniform_below(generator, int(lengths[i]))
    value = math.ldexp(points.first + place, points.exponent)
    return QuantileResult(value, *mechanism.privacy_loss(most))


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
        low = math.ldexp(self.first, self.exponent)
        high = math.ldexp(self.first + self.number - 1, self.exponent)
        half = -self.exponent // 2
        up1, up2 = math.ldexp(1.0, half), math.ldexp(1.0, -self.exponent - half)
        found = [np.empty(0, np.int64)]
        for batch in _batches(values):
            array = _as_floats(batch)
            steps = (np.clip(array[~np.isnan(array)], low, high) * up1) * up2
            floor = np.floor(steps)
            found.append((floor + (steps - floor >= 0.5)).astype(np.int64) - self.first)
        return np.concatenate(found)


def _points(low: Any, high: Any) -> _Points:
    least, most = _check.float_bounds(low, high)
    exponent = max(
        _floor_log2(most - least) - _POINTS_BITS,
        _floor_log2(max(abs(least), abs(most))) - _MANTISSA_BITS,  # no point between floats
        LEAST_EXPONENT,
    )
    r = Fraction(2) ** exponent
    first, last = math.ceil(least / r), math.floor(most / r)
    _check.points_between(low, high, last - first + 1)
    return _Points(exponent, first, last - first + 1)


def _batches(values: Any) -> Iterator[Any]:
    """Yield the arrays that values come in: one, or those of an iterable."""
    sequence = isinstance(values, list | tuple | range)
    batched = sequence and len(values) > 0 and hasattr(values[0], "__len__") and not isinstance(values[0], str)
    if batched or not (sequence or is_series(values) or hasattr(values, "__array__") or not _iterable(values)):
        yield from values
    else:
        yield values


def _iterable(values: Any) -> bool:
    return isinstance(values, Iterable) and not isinstance(values, str | bytes | dict)


def _as_floats(batch: Any) -> NDArray[np.float64]:
    """Return a column as float64, missing values as NaN.

    64-bit integers are rounded: a rounding of each row by itself changes no count of rows that differ.
    """
    if isinstance(batch, np.ma.MaskedArray):
        batch = batch.compressed()
    if is_series(batch):
        _check.numeric(batch.dtype)
        batch = batch.to_numpy(dtype=np.float64, na_value=np.nan)
    array = np.asarray(batch)
    _check.one_dimension("values", array.ndim)
    _check.numeric(array.dtype)
    return array.astype(np.float64, copy=False)


def _uniform_below(rng: Generator, n: int) -> int:
    """Return a uniform integer from 0 to n - 1; words beyond the largest multiple of n are drawn again."""
    fair = (1 << 64) // n * n
    while True:
        word = int(rng.words(1)[0])
        if word < fair:
            return word % n


def _floor_log2(x: Fraction) -> int:
    g = x.numerator.bit_length() - x.denominator.bit_length()
    return g if Fraction(2) ** g <= x else g - 1
