"""A private sum of bounded values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lapnoise import _check, _release
from lapnoise import lattice as lattices
from lapnoise import sensitivity as sensitivities
from lapnoise.mechanisms import LaplaceMechanism
from lapnoise.mechanisms._additive import generator_for
from lapnoise.queries import _batches, _bounds, _persons
from lapnoise.queries._result import LARGEST, QueryResult, charge

__all__ = ["exact_sum", "private_sum", "sum_sensitivity"]


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
    asked = _check.epsilon(epsilon)
    least, most = _check.bounds(low, high)
    m = _check.count("max_contributions", max_contributions, least=1)
    kind = _check.neighbours(neighbours)
    _batches.verify(values, numbers=True)
    _persons.verify(person, values)
    _check.ledger(ledger)
    named = _check.label(label, "private_sum")
    on = _bounds.choose(least, most, sum_sensitivity(least, most, kind, m, person is not None), asked)
    r = Fraction(2) ** on.exponent
    steps = sum_sensitivity(on.least, on.most, kind, m, person is not None)
    mechanism = LaplaceMechanism(epsilon=asked, sensitivity=steps * r, changed=1, granularity=r)
    generator = generator_for(rng, None)
    charge(ledger, asked, Fraction(0), named)
    exact = exact_sum(values, on, kind, person, m)
    noise = _release.steps(generator, 1, mechanism.lattice.t)[0]
    value = lattices.release(exact * r, noise, on.exponent, LARGEST)
    return QueryResult(value, asked, Fraction(0), mechanism.scale, mechanism.std, mechanism)


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
