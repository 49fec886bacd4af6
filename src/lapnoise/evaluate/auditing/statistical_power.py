"""What an audit of this size finds: computed from the binomial laws of its counts, before or after any draw."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapnoise.evaluate.auditing.bounds import FALSE_ALARM, clopper_pearson, epsilon_at_least
from lapnoise.evaluate.auditing.search import SUSPICION

__all__ = ["SURE", "Power", "audit_power", "found_with", "least_impossible"]

SURE = 0.99
"""The chance with which a fault is found that is said to be found."""

SMALL_SCALE = 0.98
STRATA = 200
STEPS = 40


@dataclass(frozen=True)
class Power:
    """What an audit of some size finds, beside faults that are larger.

    Attributes
    ----------
    epsilon_found : float or None
        An event of probability 1/2 for one input that shows this epsilon, and a larger one, is found 99 times in 100.
        Such are the half-lines of Laplace noise: a scale too small by 1 - epsilon / epsilon_found. None where the size
        shows no epsilon above what is claimed.
    two_percent : float or None
        Chance to find noise whose scale is 0.98 of what epsilon asks for. None where the shape of the noise is not
        known.
    impossible : float or None
        An output that only one input gives is found 99 times in 100 where it has this probability or more: a tail cut
        off, an impossible bit pattern, the sign of zero. None where the size shows none.
    """

    epsilon_found: float | None
    two_percent: float | None
    impossible: float | None


def audit_power(
    epsilon: float,
    delta: float,
    choosing: int,
    counting: int,
    *,
    laplace: float | None = None,
    gaussian: float | None = None,
) -> Power:
    """Return the power of an audit that chooses on some draws of each input and counts others.

    Parameters
    ----------
    epsilon, delta : float
        What is claimed.
    laplace : float, optional
        For Laplace noise, also where truncated: what the two inputs show of epsilon, as a part of it.
    gaussian : float, optional
        For Gaussian noise: how many standard deviations lie between the inputs.
    """

    def half(shown: float) -> float:
        return found_with(0.5, (0.5 - delta) * math.exp(-shown), counting, epsilon, delta)

    two_percent = None
    if laplace is not None:
        two_percent = half(epsilon * laplace / SMALL_SCALE)
    elif gaussian is not None:
        two_percent = found_with(*_best_tail(gaussian / SMALL_SCALE, counting, delta), counting, epsilon, delta)
    # Of a probability of exp(-700) no count tells anything.
    largest = epsilon + 700.0
    least = _least(lambda shown: half(shown) >= SURE, epsilon, largest) if delta < 0.5 else None
    return Power(least, two_percent, least_impossible(choosing, counting, epsilon, delta))


def found_with(p: float, other: float, trials: int, epsilon: float, delta: float) -> float:
    """Return the chance that counts of an event of these two probabilities show more than epsilon.

    The bound of k hits exceeds epsilon where the upper end for the other input lies below u = (low(k) - delta)
    exp(-epsilon): where its count j has P(Bin(n, u) <= j) < FALSE_ALARM / 2. k runs over the middles of `STRATA` parts
    of equal probability.
    """
    from scipy.special import bdtr, bdtrik

    middles = (np.arange(STRATA) + 0.5) / STRATA
    k = np.ceil(bdtrik(middles, trials, p))
    u = np.clip((clopper_pearson(k, trials, FALSE_ALARM)[0] - delta) * math.exp(-epsilon), 0.0, 1.0)
    # What u leaves out at 0 hits is never shown.
    shown = (1.0 - u) ** trials < FALSE_ALARM / 2
    j = np.ceil(bdtrik(FALSE_ALARM / 2, trials, u[shown])) - 1
    return float(bdtr(j, trials, other).sum() / STRATA)


def least_impossible(choosing: int, counting: int, epsilon: float, delta: float) -> float | None:
    """Return the least probability of outputs that only one input gives with which they are found 99 times in 100.

    They are chosen where, among the draws for that, they show more than epsilon, which no sound event does.
    """
    from scipy.special import bdtrc

    needed = [
        (trials, _hits_needed(trials, epsilon, delta, error))
        for trials, error in ((choosing, SUSPICION), (counting, FALSE_ALARM))
    ]
    if any(hits is None for _, hits in needed):
        return None

    def found(p: float) -> bool:
        # At least that many hits.
        return math.prod(float(bdtrc(hits - 1, trials, p)) for trials, hits in needed if hits) >= SURE

    exponent = _least(lambda power: found(10.0**power), -15.0, 0.0)
    return None if exponent is None else float(10.0**exponent)


def _hits_needed(trials: int, epsilon: float, delta: float, error: float) -> int | None:
    """Return the least count that, beside none of the other input, shows more than epsilon."""

    def shows(hits: int) -> bool:
        return bool(epsilon_at_least(hits, 0, trials, delta, error) > epsilon)

    if not shows(trials):
        return None
    low, high = 0, trials
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def _best_tail(apart: float, trials: int, delta: float) -> tuple[float, float]:
    """Return the probabilities of the tail of a normal law, and of one that much farther, that show most."""
    from scipy.special import ndtr

    ends = np.linspace(-6.0, 6.0, 1201)
    p, other = ndtr(ends), ndtr(ends - apart)
    shown = epsilon_at_least(np.floor(p * trials), np.floor(other * trials), trials, delta)
    best = int(np.argmax(shown))
    return float(p[best]), float(other[best])


def _least(holds: Callable[[float], bool], low: float, high: float) -> Any:
    """Return the least number between two from which on something holds, to a part in 2^`STEPS`; None for none."""
    if not holds(high):
        return None
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
