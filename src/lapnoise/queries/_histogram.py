"""A private histogram: over public edges, public categories, or categories that only the data know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check, _release, exact
from lapnoise import sensitivity as sensitivities
from lapnoise._canonical import canonical
from lapnoise.generator import Generator
from lapnoise.mechanisms import DiscreteLaplaceMechanism
from lapnoise.mechanisms._additive import generator_for
from lapnoise.queries import _batches, _cells, _persons
from lapnoise.queries._result import QueryResult, charge

__all__ = ["Histogram", "HistogramResult", "exact_counts", "private_histogram", "threshold"]

Exact = tuple[list[Any], NDArray[np.int64]]
"""The categories that were found, where none are given, and the count of each cell."""


@dataclass(frozen=True, repr=False, eq=False)
class HistogramResult(QueryResult):
    """Noisy counts by cell.

    Attributes
    ----------
    threshold : int or None
        The least noisy count that was released, where categories were not known in advance.
    edges : tuple of Fraction or float, or None
        The edges of the cells, where these were given.
    """

    threshold: int | None
    edges: tuple[Fraction | float, ...] | None


class Histogram(NamedTuple):
    """A histogram whose parameters were checked.

    Attributes
    ----------
    epsilon, delta : Fraction
        What it costs.
    limits : Edges or None
        The cells, where edges were given.
    names : list or None
        The categories, where these were given.
    m : int
        Rows of a person at most.
    mechanism : DiscreteLaplaceMechanism
        The noise on each count.
    least : int or None
        The threshold, where categories are not known in advance.
    """

    epsilon: Fraction
    delta: Fraction
    limits: _cells.Edges | None
    names: list[Any] | None
    m: int
    mechanism: DiscreteLaplaceMechanism
    least: int | None

    @classmethod
    def planned(
        cls, edges: Any, categories: Any, epsilon: Any, delta: Any, neighbours: Any, max_contributions: Any
    ) -> Self:
        """Return the histogram with these parameters."""
        asked = _check.epsilon(epsilon)
        bound = sensitivities.histogram(neighbours=neighbours, max_contributions=max_contributions)
        _check.cells(edges, categories, delta)
        limits = None if edges is None else _cells.Edges(_check.edges(edges))
        names = None if categories is None else _check.categories(categories)
        advice = "categories that are known in advance need none"
        spare = Fraction(0) if delta is None else _check.positive_delta(delta, advice)
        mechanism = DiscreteLaplaceMechanism(epsilon=asked, sensitivity=bound)
        least = threshold(Fraction(mechanism.lattice.t), spare, max_contributions) if spare else None
        return cls(asked, spare, limits, names, max_contributions, mechanism, least)

    def exact(self, values: Any, person: Any) -> Exact:
        """Return what is counted, before noise."""
        return exact_counts(values, self.limits, self.names, person, self.m)

    def merged(self, parts: Iterable[Exact]) -> Exact:
        """Return what is counted in disjoint sets of persons together."""
        if self.least is None:
            cells = len(self.names or []) if self.limits is None else self.limits.cells
            return [], sum((counts for _, counts in parts), np.zeros(cells, np.int64))
        total: dict[Any, int] = {}
        for names, counts in parts:
            for name, count in zip(names, counts.tolist(), strict=True):
                total[name] = total.get(name, 0) + count
        found = _cells.sorted_categories(total)
        return found, np.array([total[name] for name in found], np.int64)

    def released(self, exact: Exact, generator: Generator) -> HistogramResult:
        """Return the counts with noise."""
        found, counts = exact
        noisy = np.empty(counts.size, np.int64)
        _release.add_integer_noise(generator, counts, noisy, self.mechanism.lattice.t)
        value: Any = noisy
        if self.least is not None:
            value = {name: k for name, k in zip(found, noisy.tolist(), strict=True) if k >= self.least}
        elif self.names is not None:
            value = dict(zip(self.names, noisy.tolist(), strict=True))
        around = None if self.limits is None else tuple(self.limits.edges)
        mechanism = self.mechanism
        return HistogramResult(
            value, self.epsilon, self.delta, mechanism.scale, mechanism.std, mechanism, self.least, around
        )


def private_histogram(
    values: Any,
    *,
    edges: Any = None,
    categories: Any = None,
    epsilon: Any,
    delta: Any = None,
    neighbours: str = "add-remove",
    max_contributions: int = 1,
    person: Any = None,
    rng: Any = None,
    ledger: Any = None,
    label: str | None = None,
) -> HistogramResult:
    """Count rows by cell, with exact discrete Laplace noise on every count.

    One of ``edges``, ``categories`` and ``delta`` says what the cells are.

    Parameters
    ----------
    values : array_like, Series, Arrow array, or iterable of these as batches
        Real numbers with ``edges``, else numbers, text, bytes, dates, durations, UUIDs or tuples of these. Missing rows
        (None, NaN, NaT, NA, null, masked) and rows in no cell are not counted.
    edges : sequence of float, str, Decimal or Fraction, optional
        Public edges e_0 < ... < e_n of n cells [e_i, e_i+1), the last one closed, as in `numpy.histogram`; values are
        compared with them exactly. The outer ones may be infinite.
    categories : sequence, optional
        Public categories, each once. Rows of any type that are equal count: True and 1.0 in category 1, a time in
        whatever zone (one without counts as UTC, a date as its midnight).
    epsilon : float, str, Decimal or Fraction
        What the query costs, finite and > 0. A float counts as it prints.
    delta : float, str, Decimal or Fraction, optional
        For categories that are not known in advance: only those whose noisy count reaches a threshold are released.
        Rows of other types are refused then, and so are floats of 2**53 or more in size: one missing row would make a
        column of integers such floats.
    neighbours : {"add-remove", "replace"}, optional
        Relation between neighbouring data sets; the L1 sensitivity is m under the first and 2 m under the second.
    max_contributions : int, optional
        m. With ``person`` it is enforced: of a person with more rows that count, m are kept, chosen by a hash of id,
        cell and place within the cell. Without, it is what the caller knows: every row is taken as one person's, and
        each person as having m rows at most.
    person : array_like of ints or text, optional
        Whose each row is; rows without an id are not counted. ``values`` must be one array then.
    rng, ledger, label
        As in `private_count`.

    Returns
    -------
    HistogramResult
        ``value`` is an int64 array of length n with ``edges``, else a dict from category to int. Counts may be
        negative. With ``delta`` the order of categories is that of numbers, then of text, and their types are those of
        their values alone, whatever type the column has: an int, else a float, else a Fraction for numbers (1 for
        True), a str for text, a datetime64 in UTC for dates and times.

    Notes
    -----
    epsilon-differentially private: a person moves the counts by at most m (2 m) in L1 norm (Dwork, McSherry, Nissim
    and Smith 2006, section 3.3). With ``delta`` (epsilon, delta)-differentially private: see `threshold`.

    Examples
    --------
    >>> from lapnoise import queries
    >>> result = queries.private_histogram(["a", "b", "a"], categories=["a", "b", "c"], epsilon=1)
    >>> list(result.value)
    ['a', 'b', 'c']
    """
    query = Histogram.planned(edges, categories, epsilon, delta, neighbours, max_contributions)
    _batches.verify(values, numbers=query.limits is not None)
    if query.names is not None:
        _check.comparable_categories(query.names, getattr(values, "dtype", None))
    _persons.verify(person, values)
    _check.ledger(ledger)
    named = _check.label(label, "private_histogram")
    generator = generator_for(rng, None)
    charge(ledger, query.epsilon, query.delta, named)
    return query.released(query.exact(values, person), generator)


def threshold(t: Fraction, delta: Fraction, m: int) -> int:
    """Return the least count that categories of one person alone reach, with noise of scale t, but for delta; > m.

    With X discrete Laplace and q = exp(-1/t), P(X >= k) = q^k / (1 + q) for k >= 1: the mass at the threshold T itself
    counts. A person alone in categories with counts c_1 + ... + c_j <= m is seen, in any of them, with a probability
    1 - prod(1 - P(X >= T - c_i)). The negative logarithm of the product is a sum of convex functions of c_i, so it is
    largest for one category of m or for m categories of 1: P(X >= T - m) and 1 - (1 - P(X >= T - 1))^m must both be at
    most delta.

    Notes
    -----
    Let p be that probability, and epsilon_0 <= epsilon the loss on the categories that others have too. Under
    add-remove what is seen with the person has a probability of at most p + exp(epsilon_0) times the one without;
    the other way round, y being the probability, with the person, of what is released of the other categories, it is at
    most min(1, exp(epsilon_0) y) - exp(epsilon) (1 - p) y <= p too. Under replace, with p on either side, the
    difference is at most p + (1 - p) min(1, exp(epsilon_0) y) - exp(epsilon) (1 - p) y <= p. So delta is p in all
    three.
    """
    return max(m + _reached(t, delta), 1 + _reached(t, _each_of(delta, m)))


def _each_of(delta: Fraction, m: int) -> Fraction:
    """Return 1 - (1 - delta)^(1/m), rounded down to a fraction: a partial sum of its binomial series.

    All terms are positive: delta / m, and each the one before times delta (k - 1/m) / (k + 1).
    """
    term = total = delta / m
    for k in range(1, _TERMS):
        term *= delta * (k - Fraction(1, m)) / (k + 1)
        if term <= total / (1 << 64):
            break
        total += term
    return total


_TERMS = 200


def _reached(t: Fraction, probability: Fraction) -> int:
    """Return the least k >= 1 with P(X >= k) <= probability, X discrete Laplace of scale t."""
    # P(X >= k) is half of P(abs(X) >= k).
    return exact.quantile_magnitude(t, 2 * probability) + 1 if 2 * probability < 1 else 1


def exact_counts(values: Any, limits: _cells.Edges | None, names: list[Any] | None, person: Any, m: int) -> Exact:
    """Return the categories that were found, where none are given, and the count of each cell, before noise."""
    if limits is not None and person is None:
        counts = np.zeros(limits.cells, np.int64)
        for batch in _batches.batches(values, numbers=True):
            counts += limits.counts(batch)
        return [], counts
    places = {canonical(name): i for i, name in enumerate(names or [])}
    if person is None:
        cells = 0 if names is None else len(names)
        counts = np.zeros(cells, np.int64)
        for batch in _batches.batches(values, numbers=False):
            rows = _cells.cells_of_categories(batch, places, grow=names is None)
            added = np.bincount(rows[rows >= 0], minlength=len(places)).astype(np.int64)
            counts = np.pad(counts, (0, added.size - counts.size)) + added
    else:
        batch = _batches.read(values, numbers=limits is not None)
        if limits is not None:
            rows = limits.rows(batch)
            keys = _persons.digest(np.arange(limits.cells))
        else:
            rows = _cells.cells_of_categories(batch, places, grow=names is None)
            if names is None:
                rows = _in_order(rows, places)
            keys = _persons.digest(places)
        rows = _bounded(rows, keys, person, m)
        counts = np.bincount(rows, minlength=keys.size).astype(np.int64)
    if limits is not None or names is not None:
        return [], counts
    found = _cells.sorted_categories(name for name, place in places.items() if counts[place])
    return found, counts[[places[name] for name in found]] if found else np.zeros(0, np.int64)


def _in_order(rows: NDArray[np.intp], places: dict[Any, int]) -> NDArray[np.intp]:
    """Return rows by places in the order of categories, which depends on no other row, and renumber ``places`` so."""
    order = _cells.sorted_categories(places)
    numbers = np.full(len(order) + 1, -1, np.intp)  # the last one of rows in no cell
    numbers[[places[name] for name in order]] = np.arange(len(order))
    places.clear()
    places.update((name, i) for i, name in enumerate(order))
    return numbers[rows]


def _bounded(rows: NDArray[np.intp], keys: NDArray[np.uint64], person: Any, m: int) -> NDArray[np.intp]:
    """Return the cells of the rows that count, at most m of each person."""
    persons = _persons.identify(person)
    counted = np.flatnonzero((rows >= 0) & (persons.codes >= 0))
    kept = _persons.kept_rows(persons.codes[counted], persons.ids, rows[counted], keys, m)
    return rows[counted[kept]]
