"""Sensitivity of common queries: how far the data of one person can move their result.

Neighbouring data sets differ by all rows of one person. Under ``"add-remove"`` these rows are there or not; under
``"replace"`` another person's rows take their place. A person has 1 to ``max_contributions`` rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, NoReturn

from lapnoise import _check
from lapnoise._numbers import fraction_up

__all__ = ["Sensitivity", "bounded_mean", "bounded_sum", "count", "empirical", "histogram", "variance"]


class Sensitivity:
    """Bounds on the difference between the results of a query on neighbouring data sets, in several norms.

    Whatever takes a sensitivity takes a number or this.

    Parameters
    ----------
    l1, l2, linf : float, str, Decimal or Fraction
        Bounds on the L1, L2 and L-infinity norm of the difference, finite and > 0, at their exact values.
    changed : int
        Bound on the number of coordinates that differ.

    Attributes
    ----------
    l1, linf, l2_squared : Fraction
        Exact.
    l2 : float or Fraction
        Exact where it is rational, else rounded up to a float.
    lower_bound : bool
        Whether these are only the largest differences that were seen (`empirical`), which no mechanism takes.
    """

    __slots__ = ("changed", "l1", "l2_squared", "linf", "lower_bound")

    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    changed: int
    lower_bound: bool

    def __init__(self, l1: Any, l2: Any, linf: Any, changed: int) -> None:
        self._set(
            _check.norm("l1", l1),
            _check.norm("l2", l2) ** 2,
            _check.norm("linf", linf),
            _check.count("changed", changed, least=1),
        )

    @classmethod
    def _exact(
        cls, l1: Fraction, l2_squared: Fraction, linf: Fraction, changed: int, lower_bound: bool = False
    ) -> Sensitivity:
        made = object.__new__(cls)
        made._set(l1, l2_squared, linf, changed, lower_bound)
        return made

    def _set(self, l1: Fraction, l2_squared: Fraction, linf: Fraction, changed: int, lower_bound: bool = False) -> None:
        for name, value in zip(_FIELDS, (l1, l2_squared, linf, changed, lower_bound), strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"Sensitivity is immutable; make another one to change {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("Sensitivity is immutable")

    @property
    def l2(self) -> float | Fraction:
        """Bound on the L2 norm, exact where it is rational, else rounded up to a float."""
        return _root_up(self.l2_squared)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.l1, self.l2, self.linf, self.changed))

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _FIELDS)

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, Sensitivity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __reduce__(self) -> tuple[Any, ...]:
        return Sensitivity._exact, self._values()

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={_told(value)}" for name, value in zip(("l1", "l2", "linf"), self, strict=False))
        seen = ", lower_bound=True" if self.lower_bound else ""
        return f"Sensitivity({told}, changed={self.changed}{seen})"


_FIELDS = ("l1", "l2_squared", "linf", "changed", "lower_bound")


def count(*, neighbours: str = "add-remove", max_contributions: int = 1) -> Sensitivity:
    """Return the sensitivity of a count of rows that satisfy something: m, under both relations.

    Parameters
    ----------
    neighbours : {"add-remove", "replace"}, optional
        Under "replace" too a person's rows may all be counted, or none of them.
    max_contributions : int, optional
        m, how many rows a person has at most.
    """
    _check.neighbours(neighbours)
    return _scalar(Fraction(_contributions(max_contributions)))


def bounded_sum(low: Any, high: Any, *, neighbours: str = "add-remove", max_contributions: int = 1) -> Sensitivity:
    """Return the sensitivity of a sum of values in [L, U].

    m max(abs(L), abs(U)) under add-remove. Under replace U - L for m = 1; the sum of 1 to m rows lies between
    min(L, m L) and max(U, m U), and the sensitivity is their distance.

    Parameters
    ----------
    low, high : float, str, Decimal or Fraction
        L < U at their exact values, finite.
    neighbours : {"add-remove", "replace"}, optional
    max_contributions : int, optional
        m, how many rows a person has at most.
    """
    least, most = _check.bounds(low, high)
    m = _contributions(max_contributions)
    if _check.neighbours(neighbours) == "add-remove":
        return _scalar(m * max(abs(least), abs(most)))
    return _scalar(max(most, m * most) - min(least, m * least))


def bounded_mean(
    low: Any, high: Any, n: int, *, neighbours: str = "replace", max_contributions: int = 1
) -> Sensitivity:
    """Return the sensitivity of the mean of a public number n of values in [L, U]: (U - L) min(m, n) / n.

    Parameters
    ----------
    low, high : float, str, Decimal or Fraction
        L < U at their exact values, finite.
    n : int
        Number of rows, which is public and the same in both data sets.
    neighbours : {"replace"}, optional
        Under add-remove n itself would tell who is there: `lapnoise.queries.private_mean` keeps it private.
    max_contributions : int, optional
        m, how many rows a person has at most.
    """
    least, most = _check.bounds(low, high)
    rows = _check.count("n", n, least=1)
    _check.replace_only(neighbours, "mean", "lapnoise.queries.private_mean keeps the number of rows private")
    return _scalar((most - least) * min(_contributions(max_contributions), rows) / rows)


def variance(
    low: Any, high: Any, n: int, *, ddof: int = 0, neighbours: str = "replace", max_contributions: int = 1
) -> Sensitivity:
    """Return the sensitivity of the variance of a public number n of values in [L, U].

    (U - L)^2 (n - 1) / n^2 for ddof 0 and (U - L)^2 / n for ddof 1, with one row a person. With up to m rows it is
    (U - L)^2 max(j (n - j)) / (n (n - ddof)) over j <= m.

    Parameters
    ----------
    low, high : float, str, Decimal or Fraction
        L < U at their exact values, finite.
    n : int
        Number of rows, which is public and the same in both data sets; more than ``ddof``, and at least 2.
    ddof : {0, 1}, optional
        The divisor is n - ddof.
    neighbours : {"replace"}, optional
        Under add-remove n itself would tell who is there.
    max_contributions : int, optional
        m, how many rows a person has at most.

    Notes
    -----
    The difference is convex in each of the rows that change and in the mean of the others, so that it is largest where
    all others lie at one bound, j of the changed rows move from there to the other bound, and the rest stay.
    """
    least, most = _check.bounds(low, high)
    rows = _check.count("n", n, least=2)
    divisor = rows - _check.ddof(ddof)
    _check.replace_only(neighbours, "variance", "the number of rows would have to be private too")
    m = min(_contributions(max_contributions), rows)
    moved = min(m, rows // 2)
    return _scalar((most - least) ** 2 * moved * (rows - moved) / (rows * divisor))


def histogram(*, neighbours: str = "add-remove", max_contributions: int = 1) -> Sensitivity:
    """Return the sensitivity of a histogram of rows, each of which lies in one cell or none.

    Under add-remove L1 is m, and so are L2 and L-infinity, since all rows may lie in one cell; m cells can change.
    Under replace m rows leave some cells and m enter others: L1 is 2 m, L2 m sqrt(2), L-infinity m, and 2 m cells
    can change.

    Parameters
    ----------
    neighbours : {"add-remove", "replace"}, optional
    max_contributions : int, optional
        m, how many rows a person has at most.
    """
    m = _contributions(max_contributions)
    sides = 1 if _check.neighbours(neighbours) == "add-remove" else 2
    return Sensitivity._exact(Fraction(sides * m), Fraction(sides * m * m), Fraction(m), sides * m)


def empirical(query: Callable[[Any], Any], pairs: Iterable[tuple[Any, Any]]) -> Sensitivity:
    """Return the largest differences seen between the results of a query on neighbouring data sets.

    This is a lower bound on the sensitivity: other pairs may differ by more. It finds a sensitivity that is claimed
    too small, and proves none; mechanisms refuse it. Who knows that it is the bound hands over its ``l1``.

    Parameters
    ----------
    query : callable
        Takes a data set and returns a number, an array, or a dict-like in which a missing key counts as 0; all finite.
    pairs : iterable of (data set, data set)
        Neighbouring data sets.

    Returns
    -------
    Sensitivity
        With ``lower_bound`` True; the largest in each norm, exact, perhaps of different pairs.

    Examples
    --------
    >>> from lapnoise import sensitivity
    >>> sensitivity.empirical(sum, [([1, 2], [1, 2, 5]), ([1], [])])
    Sensitivity(l1=5, l2=5, linf=5, changed=1, lower_bound=True)
    """
    l1 = l2_squared = linf = Fraction(0)
    changed = seen = 0
    for one, other in pairs:
        results = query(one), query(other)
        _check.same_keys(*results)
        first, second = (_check.statistic(result) for result in results)
        keys = {**first, **second}
        moved = [abs(first.get(key, Fraction(0)) - second.get(key, Fraction(0))) for key in keys]
        l1 = max(l1, sum(moved, Fraction(0)))
        l2_squared = max(l2_squared, sum((x * x for x in moved), Fraction(0)))
        linf = max([linf, *moved])
        changed = max(changed, sum(x > 0 for x in moved))
        seen += 1
    _check.pairs_seen(seen)
    return Sensitivity._exact(l1, l2_squared, linf, changed, lower_bound=True)


def _told(value: float | Fraction) -> str:
    try:
        return f"{float(value):.6g}"
    except OverflowError:
        return str(value)


def _contributions(value: Any) -> int:
    return _check.count("max_contributions", value, least=1)


def _scalar(bound: Fraction) -> Sensitivity:
    return Sensitivity._exact(bound, bound * bound, bound, 1)


def _root_up(square: Fraction) -> float | Fraction:
    """Return the square root: exact if it is rational, else a float that is not below it."""
    numerator, denominator = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if numerator**2 == square.numerator and denominator**2 == square.denominator:
        return Fraction(numerator, denominator)
    # sqrt(n / d) = sqrt(n d 4^k) / (d 2^k), with 128 bits at least.
    product = square.numerator * square.denominator
    k = max(0, 128 - product.bit_length())
    return fraction_up(Fraction(math.isqrt(product << 2 * k) + 1, square.denominator << k))
