"""What an audit of this size finds: computed from the binomial laws of its counts, before or after any draw."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lapnoise.evaluate.auditing.bounds import FALSE_ALARM, clopper_pearson, epsilon_at_least
from lapnoise.evaluate.auditing.chosen_events import LAPLACE, NORMAL, Choices, Law, choices
from lapnoise.evaluate.auditing.search import SUSPICION

__all__ = ["SURE", "Power", "audit_power", "found_with", "least_impossible"]

SURE = 0.99
"""The chance with which a fault is found that is said to be found."""

SMALL_SCALE = 0.98
STRATA = 200
STEPS = 40
FEW_STRATA, FEW_STEPS = 40, 12
"""Where it is averaged over events: to 0.002 each, and to a part in 4,000 of what is beyond the claim."""


@dataclass(frozen=True)
class Power:
    """What an audit of some size finds, beside faults that are larger.

    Attributes
    ----------
    epsilon_found : float or None
        Laplace noise that has this epsilon between the two inputs, or a larger one, is found 99 times in 100: a scale
        too small by 1 - epsilon / epsilon_found. None where the size shows no epsilon above what is claimed.
    two_percent : float or None
        Chance to find noise whose scale is 0.98 of what epsilon asks for. None where the shape of the noise is not
        known.
    impossible : float or None
        An event of those looked at that only one input gives is found 99 times in 100 where it has this probability or
        more: a tail cut off, a value that is missing, an impossible bit pattern, the sign of zero. None where the size
        shows none.
    largest : float
        No counts of this size show more epsilon.
    """

    epsilon_found: float | None
    two_percent: float | None
    impossible: float | None
    largest: float

    def told(self) -> list[str]:
        """Return what is found, in words."""
        texts = []
        if self.two_percent is not None:
            texts.append(f"a scale 2 % small with probability {self.two_percent:.2g}")
        if self.epsilon_found is not None:
            texts.append(f"Laplace noise of an epsilon of {self.epsilon_found:.4g}, 99 times in 100")
        if self.impossible is not None:
            texts.append(
                f"an event looked at that one input alone gives, with probability {self.impossible:.2g}, as often"
            )
        return texts


@lru_cache
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
    largest = max(0.0, float(epsilon_at_least(counting, 0, counting, delta)))
    known = laplace is not None or gaussian is not None
    if largest <= epsilon:
        return Power(None, 0.0 if known else None, None, largest)
    two_percent = None
    if laplace is not None:
        two_percent = _found(LAPLACE, epsilon * laplace / SMALL_SCALE, choosing, counting, epsilon, delta)
    elif gaussian is not None:
        two_percent = _found(NORMAL, gaussian / SMALL_SCALE, choosing, counting, epsilon, delta)
    impossible = least_impossible(choosing, counting, epsilon, delta)
    return Power(_least_epsilon(choosing, counting, epsilon, delta), two_percent, impossible, largest)


def _found(law: Law, apart: float, choosing: int, counting: int, epsilon: float, delta: float) -> float:
    """Return the chance to find noise of a law, by the events that an audit chooses."""
    chosen = choices(law, apart, choosing, epsilon, delta)
    return _found_by(chosen, law, apart, counting, epsilon, delta)


def _found_by(chosen: Choices, law: Law, apart: float, counting: int, epsilon: float, delta: float) -> float:
    p, other = chosen.probabilities(law, apart)
    return float(found_with(p, other, counting, epsilon, delta, FEW_STRATA) @ chosen.shares)


def _least_epsilon(choosing: int, counting: int, epsilon: float, delta: float) -> float | None:
    """Return the least epsilon of Laplace noise that is found 99 times in 100, where this one is claimed."""

    def half(shown: float) -> bool:
        other = 0.5 * math.exp(-shown)
        return bool(found_with(0.5, other, counting, epsilon, delta, FEW_STRATA) >= SURE)

    # Of a probability of exp(-700) no count tells anything.
    best = _least(half, epsilon, epsilon + 700.0, STEPS)
    if best is None:
        return None
    # The best event is that of probability 1/2, and seldom the one chosen. What is chosen hangs little on epsilon.
    chosen = choices(LAPLACE, best, choosing, epsilon, delta)

    def found(shown: float) -> bool:
        return _found_by(chosen, LAPLACE, shown, counting, epsilon, delta) >= SURE

    reach = best - epsilon
    return _least(found, best, best + 3.0 * reach, FEW_STEPS)


def found_with(p: Any, other: Any, trials: int, epsilon: float, delta: float, strata: int = STRATA) -> Any:
    """Return the chance that counts of an event of these two probabilities show more than epsilon, or of several.

    The bound of k hits exceeds epsilon where the upper end for the other input lies below u = (low(k) - delta)
    exp(-epsilon): where its count j has P(Bin(n, u) <= j) < FALSE_ALARM / 2. k runs over the middles of ``strata``
    parts of equal probability.
    """
    from scipy.special import bdtr, bdtrik

    middles = (np.arange(strata)[:, None] + 0.5) / strata
    k = np.ceil(bdtrik(middles, trials, np.atleast_1d(p)))
    u = np.clip((clopper_pearson(k, trials, FALSE_ALARM)[0] - delta) * math.exp(-epsilon), 0.0, 1.0)
    # What u leaves out at 0 hits is never shown.
    shown = (1.0 - u) ** trials < FALSE_ALARM / 2
    j = np.ceil(bdtrik(FALSE_ALARM / 2, trials, np.where(shown, u, 0.5))) - 1
    found = np.where(shown, bdtr(j, trials, other), 0.0).mean(axis=0)
    return found if np.ndim(p) else float(found[0])


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

    exponent = _least(lambda power: found(10.0**power), -15.0, 0.0, STEPS)
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


def _least(holds: Callable[[float], bool], low: float, high: float, steps: int) -> float | None:
    """Return the least number between two from which on something holds, to a part in 2^steps; None for none."""
    if not holds(high):
        return None
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
