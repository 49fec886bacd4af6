"""What several releases cost together: the simple sum, and theorems that give less for some delta.

Every bound is computed in decimal arithmetic of 50 digits and rounded up.
"""

from __future__ import annotations

import decimal
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from lapnoise._numbers import fraction_up
from lapnoise.ledger._amounts import Amount
from lapnoise.ledger._entry import LedgerEntry

__all__ = ["Composition", "advanced", "composed", "parallel_cost", "zcdp_epsilon"]

_CONTEXT = decimal.Context(prec=50, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_SLACK = Decimal("1e-40")
"""Relative; some ten operations of 50 digits lose less than 1e-48."""

_LARGEST = 500
"""Beyond this epsilon no theorem here helps, and its exponential is large."""


class Composition(NamedTuple):
    """Epsilon of all charges together, for one delta.

    Attributes
    ----------
    delta : Fraction
        The delta that the others are for.
    simple : Amount
        The sum of all epsilon, with the sum of all delta: what the ledger grants by.
    advanced : float or None
        By advanced composition, or the simple sum where that is less.
    zcdp : float or None
        By zero-concentrated differential privacy, or the simple sum where that is less.
    accounting : float or None
        By composing privacy loss distributions (package dp-accounting), or the simple sum where that is less; None
        unless asked for. An estimate where
        Gaussian noise is among them, which it takes for continuous.

    A theorem gives None where its delta would be larger.
    """

    delta: Fraction
    simple: Amount
    advanced: float | None
    zcdp: float | None
    accounting: float | None


def composed(entries: Sequence[LedgerEntry], delta: Fraction, *, accounting: bool) -> Composition:
    """Return what charges cost together for ``delta``."""
    simple = Amount(sum((e.epsilon for e in entries), Fraction(0)), sum((e.delta for e in entries), Fraction(0)))
    loss = None
    if accounting:
        from lapnoise.ledger._accounting import accounted

        try:
            loss = accounted(entries, delta)
        except OverflowError:  # exp(epsilon) is beyond floats
            loss = math.inf
        if simple.delta <= delta:
            loss = min(loss, fraction_up(simple.epsilon))
    return Composition(delta, simple, _by_advanced(entries, simple, delta), _by_zcdp(entries, simple, delta), loss)


def advanced(epsilons: Iterable[Fraction], slack: Fraction) -> float:
    """Return epsilon of pure releases together, at delta = ``slack``: the less of the sum and advanced composition.

    References
    ----------
    C. Dwork, G. Rothblum, S. Vadhan, "Boosting and differential privacy", FOCS 2010, theorem III.3, summed over
    unequal epsilon: sqrt(2 ln(1/slack) sum epsilon^2) + sum epsilon (exp(epsilon) - 1).
    """
    counts = Counter(epsilons)
    basic = fraction_up(sum((epsilon * times for epsilon, times in counts.items()), Fraction(0)))
    if any(epsilon > _LARGEST for epsilon in counts):
        return basic
    with decimal.localcontext(_CONTEXT):
        squares = linear = Decimal(0)
        for epsilon, times in counts.items():
            value = _decimal(epsilon)
            squares += times * value * value
            linear += times * value * (value.exp() - 1)
        bound = (2 * squares * -_decimal(slack).ln()).sqrt() + linear
        return min(basic, _up(bound))


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> float:
    """Return an epsilon such that rho-zCDP implies (epsilon, delta)-differential privacy.

    References
    ----------
    M. Bun, T. Steinke, "Concentrated differential privacy: simplifications, extensions, and lower bounds", TCC 2016,
    proposition 1.3: rho + 2 sqrt(rho ln(1/delta)). C. Canonne, G. Kamath, T. Steinke, "The discrete Gaussian for
    differential privacy", NeurIPS 2020, proposition 12: for every order alpha > 1, alpha rho + (ln(1/delta) +
    alpha ln(1 - 1/alpha) - ln(alpha - 1)) / (alpha - 1). The less of the two.
    """
    if rho == 0:
        return 0.0
    with decimal.localcontext(_CONTEXT):
        exact, log = _decimal(rho), -_decimal(delta).ln()
        plain = _up(exact + 2 * (exact * log).sqrt())
        # The bound holds at every order, so that the search for the best one need not be exact.
        order = 1 + _best_order(exact, log)
        if order - 1 < _SLACK:
            return plain  # so large a rho leaves an order of 1, to 50 digits
        tight = exact * order + (log + order * (1 - 1 / order).ln() - (order - 1).ln()) / (order - 1)
        return min(plain, max(_up(tight), 0.0))


def parallel_cost(parts: Sequence[Amount], neighbours: str, most: int | None) -> Amount:
    """Return the cost of parts of the data when a person is in at most ``most`` of them; None: in all.

    One neighbour more or less touches as many parts; a person that is replaced leaves as many and enters as many.
    """
    touched = len(parts) if most is None else most if neighbours == "add-remove" else 2 * most
    epsilons, deltas = (sorted(column, reverse=True)[:touched] for column in zip(*parts, strict=True))
    return Amount(sum(epsilons, Fraction(0)), sum(deltas, Fraction(0)))


def _by_advanced(entries: Sequence[LedgerEntry], simple: Amount, delta: Fraction) -> float | None:
    if simple.delta == 0 and simple.epsilon == 0:
        return 0.0
    if delta <= simple.delta:
        return fraction_up(simple.epsilon) if delta == simple.delta else None
    return advanced((entry.epsilon for entry in entries), delta - simple.delta)


def _by_zcdp(entries: Sequence[LedgerEntry], simple: Amount, delta: Fraction) -> float | None:
    """Convert what has rho, with pure releases as epsilon^2 / 2 (Bun and Steinke, proposition 1.4) or added up."""
    bounds = [fraction_up(simple.epsilon)] if simple.delta <= delta else []
    costs = Counter((entry.epsilon, entry.delta, entry.rho) for entry in entries)
    for converting in (True, False):
        rho = epsilon_rest = delta_rest = Fraction(0)
        for (epsilon, own_delta, own_rho), times in costs.items():
            if own_rho is not None:
                rho += times * own_rho
            elif converting and own_delta == 0:
                rho += times * epsilon**2 / 2
            else:
                epsilon_rest, delta_rest = epsilon_rest + times * epsilon, delta_rest + times * own_delta
        if rho and delta_rest < delta:
            converted = zcdp_epsilon(rho, delta - delta_rest)
            finite = math.isfinite(converted)
            bounds.append(fraction_up(epsilon_rest + Fraction(converted)) if finite else converted)
    return min(bounds, default=None)


def _best_order(rho: Decimal, log: Decimal) -> Decimal:
    """Return alpha - 1 near the best alpha, by a search by thirds of its logarithm."""
    rho_float, log_float = float(rho), float(log)
    if not 1e-300 < rho_float < 1e300:
        return (log / rho).sqrt()

    def bound(x: float) -> float:
        order = math.exp(x)
        return rho_float * (1 + order) + (log_float - (1 + order) * math.log1p(1 / order) - x) / order

    centre = 0.5 * math.log(max(log_float, 1e-300) / rho_float)
    low, high = centre - 20.0, centre + 5.0
    for _ in range(100):
        third = (high - low) / 3
        if bound(low + third) < bound(high - third):
            high -= third
        else:
            low += third
    return Decimal(math.exp(low))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _up(value: Decimal) -> float:
    return fraction_up(Fraction(value + abs(value) * _SLACK))
