"""A private count of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np

from lapnoise import _check, _release
from lapnoise import sensitivity as sensitivities
from lapnoise.generator import Generator
from lapnoise.mechanisms import DiscreteLaplaceMechanism
from lapnoise.mechanisms._additive import generator_for
from lapnoise.queries import _batches, _persons
from lapnoise.queries._result import QueryResult, charge

__all__ = ["Count", "exact_count", "private_count"]


class Count(NamedTuple):
    """A count whose parameters were checked.

    Attributes
    ----------
    epsilon : Fraction
        What it costs.
    m : int
        Rows of a person at most.
    mechanism : DiscreteLaplaceMechanism
        The noise on the count.
    """

    epsilon: Fraction
    m: int
    mechanism: DiscreteLaplaceMechanism

    @classmethod
    def planned(cls, epsilon: Any, neighbours: Any, max_contributions: Any) -> Self:
        """Return the count with these parameters."""
        asked = _check.epsilon(epsilon)
        bound = sensitivities.count(neighbours=neighbours, max_contributions=max_contributions)
        return cls(asked, max_contributions, DiscreteLaplaceMechanism(epsilon=asked, sensitivity=bound))

    def exact(self, values: Any, person: Any) -> int:
        """Return the number of rows that count, before noise; those of disjoint sets of persons add up."""
        return exact_count(values, person, self.m)

    def released(self, exact: int, generator: Generator) -> QueryResult:
        """Return the number with noise."""
        noisy = exact + _release.steps(generator, 1, self.mechanism.lattice.t)[0]
        return QueryResult(noisy, self.epsilon, Fraction(0), self.mechanism.scale, self.mechanism.std, self.mechanism)


def private_count(
    values: Any,
    *,
    epsilon: Any,
    neighbours: str = "add-remove",
    max_contributions: int = 1,
    person: Any = None,
    rng: Any = None,
    ledger: Any = None,
    label: str | None = None,
) -> QueryResult:
    """Count rows, with exact discrete Laplace noise.

    Parameters
    ----------
    values : array_like, Series, Arrow array, or iterable of these as batches
        Rows of any type. Missing ones (None, NaN, NaT, NA, null, masked) are not counted.
    epsilon : float, str, Decimal or Fraction
        What the query costs, finite and > 0. A float counts as it prints.
    neighbours : {"add-remove", "replace"}, optional
        Relation between neighbouring data sets. Under "replace" the count still moves, since a row may be missing.
    max_contributions : int, optional
        m. With ``person`` it is enforced: a person with more rows counts as m. Without, it is what the caller knows:
        every row is taken as one person's, and each person as having m rows at most.
    person : array_like of ints or text, optional
        Whose each row is; rows without an id are not counted. ``values`` must be one array then. Ids are alike whatever
        their type is: 5 and 5.0. Floats of 2**53 or more in size are refused: one missing id makes a column of integers
        floats, which would make several persons one.
    rng : Generator, optional
        None draws from ChaCha20 under a fresh key from the operating system. A seeded generator warns.
    ledger : PrivacyLedger, optional
        Charged after the arguments are checked and before a value is read.
    label : str, optional
        Name of the charge; "private_count" by default.

    Returns
    -------
    QueryResult
        ``value`` is an int, which may be negative.

    Notes
    -----
    epsilon-differentially private: P(noise = k) is proportional to exp(-abs(k) epsilon / m), exactly (Ghosh,
    Roughgarden and Sundararajan 2012).

    Examples
    --------
    >>> from lapnoise import queries
    >>> result = queries.private_count(["a", "b", None], epsilon=1)
    >>> result.scale
    1.0
    """
    query = Count.planned(epsilon, neighbours, max_contributions)
    _batches.verify(values, numbers=False)
    _check.no_mask_of_rows(getattr(values, "dtype", getattr(values, "type", None)))
    _persons.verify(person, values)
    _check.ledger(ledger)
    named = _check.label(label, "private_count")
    generator = generator_for(rng, None)
    charge(ledger, query.epsilon, Fraction(0), named)
    return query.released(query.exact(values, person), generator)


def exact_count(values: Any, person: Any, m: int) -> int:
    """Return the number of rows that count, before noise."""
    if person is None:
        return sum(_present(batch) for batch in _batches.batches(values, numbers=False))
    there = np.zeros(len(values), np.bool_)
    for rows, part in _batches.read(values, numbers=False).parts:
        lost = _batches.missing(part)
        there[slice(None) if rows is None else rows] = True if lost is None else ~lost
    codes = _persons.identify(person).codes
    return _persons.rows_counted(codes[there & (codes >= 0)], m)


def _present(batch: _batches.Batch) -> int:
    found = 0
    for _, part in batch.parts:
        for start in range(0, part.size, _BLOCK):
            block = part[start : start + _BLOCK]
            lost = _batches.missing(block)
            found += block.size - (0 if lost is None else int(np.count_nonzero(lost)))
    return found


_BLOCK = 1 << 16  # of flags, which stay in L2
