"""A private sum of bounded values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple, Self

from lapnoise import _check, _release
from lapnoise import lattice as lattices
from lapnoise import sensitivity as sensitivities
from lapnoise.generator import Generator
from lapnoise.mechanisms import LaplaceMechanism
from lapnoise.mechanisms._additive import generator_for
from lapnoise.queries import _batches, _bounds, _persons
from lapnoise.queries._result import LARGEST, QueryResult, charge

__all__ = ["Sum", "exact_sum", "private_sum", "sum_sensitivity"]


class Sum(NamedTuple):
    """A sum whose parameters were checked.

    Attributes
    ----------
    epsilon : Fraction
        What it costs.
    on : Bounds
        The bounds on the lattice.
    neighbours : str
        The relation.
    m : int
        Rows of a person at most.
    mechanism : LaplaceMechanism
        The noise on the sum.
    """

    epsilon: Fraction
    on: _bounds.Bounds
    neighbours: str
    m: int
    mechanism: LaplaceMechanism

    @classmethod
    def planned(
        cls, low: Any, high: Any, epsilon: Any, neighbours: Any, max_contributions: Any, *, bounded: bool
    ) -> Self:
        """Return the sum with these parameters; ``bounded`` where there are ids of persons."""
        asked = _check.epsilon(epsilon)
        least, most = _check.bounds(low, high)
        m = _check.count("max_contributions", max_contributions, least=1)
        kind = _check.neighbours(neighbours)
        on = _bounds.choose(least, most, sum_sensitivity(least, most, kind, m, bounded), asked)
        r = Fraction(2) ** on.exponent
        steps = sum_sensitivity(on.least, on.most, kind, m, bounded)
        return cls(asked, on, kind, m, LaplaceMechanism(epsilon=asked, sensitivity=steps * r, changed=1, granularity=r))

    def exact(self, values: Any, person: Any) -> int:
        """Return the sum in steps, before noise; those of disjoint sets of persons add up."""
        return exact_sum(values, self.on, self.neighbours, person, self.m)

    def released(self, exact: int, generator: Generator) -> QueryResult:
        """Return the sum with noise."""
        noise = _release.steps(generator, 1, self.mechanism.lattice.t)[0]
        value = lattices.release(exact * Fraction(2) ** self.on.exponent, noise, self.on.exponent, LARGEST)
        return QueryResult(value, self.epsilon, Fraction(0), self.mechanism.scale, self.mechanism.std, self.mechanism)


def private_sum(
    values: Any,
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
) -> QueryResult:
    """Add values clipped to [low, high], with exact Laplace noise on a lattice.

    Parameters
    ----------
    values : array_like, Series, Arrow array, or iterable of these as batches
        Real numbers; infinities clip to the bounds. Missing ones (NaN, None, NA, null, masked) are left out. Only
        under "replace" without ``person``, where every row of one data set stands for one of the other, they count as
        the number in [low, high] that is nearest to 0: the same, unless 0 lies outside.
    low, high : float, str, Decimal or Fraction
        Bounds that do not come from the data, finite, low < high, at their exact values.
    epsilon : float, str, Decimal or Fraction
        What the query costs, finite and > 0. A float counts as it prints.
    neighbours : {"add-remove", "replace"}, optional
        Relation between neighbouring data sets.
    max_contributions : int, optional
        m. With ``person`` it is enforced: a person with more rows counts with m times the mean of their clipped values.
        Without, it is what the caller knows: every row is taken as one person's, and each person as having m at most.
    person : array_like of ints or text, optional
        Whose each row is; rows without an id are left out. ``values`` must be one array then. Under "replace" a
        person may then have no row that counts, so that the sensitivity is m (max(high, 0) - min(low, 0)).
    rng, ledger, label
        As in `private_count`.

    Returns
    -------
    QueryResult
        ``value`` is a float, a multiple of the mechanism's granularity rounded once.

    Notes
    -----
    Each value is clipped and rounded half up to a multiple of a power of two that depends on the parameters alone,
    2^-40 of the scale or finer than 2^-49 of the larger bound, and these are added as integers: the exact sum neither
    overflows nor depends on the order of rows, and its sensitivity in steps is exact. A sum in floating point can move
    by many times its nominal sensitivity (Casacuberta, Shoemate, Vadhan and Wagaman, "Widespread underestimation of
    sensitivity in differentially private libraries and how to fix it", CCS 2022).

    Examples
    --------
    >>> from lapnoise import queries
    >>> queries.private_sum([1.0, 2.5, 90.0], 0, 10, epsilon=0.5).scale
    20.0
    """
    query = Sum.planned(low, high, epsilon, neighbours, max_contributions, bounded=person is not None)
    _batches.verify(values, numbers=True)
    _persons.verify(person, values)
    _check.ledger(ledger)
    named = _check.label(label, "private_sum")
    generator = generator_for(rng, None)
    charge(ledger, query.epsilon, Fraction(0), named)
    return query.released(query.exact(values, person), generator)


def sum_sensitivity(low: Any, high: Any, neighbours: str, m: int, bounded: bool) -> Any:
    """Return the sensitivity of a sum of values in [low, high]: numbers, or whole steps.

    As `lapnoise.sensitivity.bounded_sum`; with ``bounded`` persons these may have no rows under replace too.
    """
    if bounded and neighbours == "replace":
        return m * (max(high, 0) - min(low, 0))
    bound = sensitivities.bounded_sum(low, high, neighbours=neighbours, max_contributions=m).l1
    return bound if isinstance(low, Fraction) else int(bound)


def exact_sum(values: Any, on: _bounds.Bounds, neighbours: str, person: Any, m: int) -> int:
    """Return the sum in steps, before noise."""
    if person is not None:
        steps, there = _bounds.steps(_batches.read(values, numbers=True), on)
        codes = _persons.identify(person).codes
        counted = there & (codes >= 0)
        return _persons.summed_steps(codes[counted], steps[counted], m)
    total = 0
    for batch in _batches.batches(values, numbers=True):
        found, rows = _bounds.total(batch, on)
        total += found
        if neighbours == "replace":
            total += (batch.length - rows) * on.nearest_zero()
    return total
