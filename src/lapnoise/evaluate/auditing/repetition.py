"""Whether a callable repeats itself: outputs that come again from call to call are no releases of their own."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lapnoise._check import audit_arguments
from lapnoise.evaluate.auditing.events import Floats
from lapnoise.evaluate.auditing.search import Draw

__all__ = ["CHANCE", "alike", "watched"]

CHANCE = 1e-15
"""The chance that two calls with outputs independent of one another look like a repetition, at most."""

ALIKE = 0.5
"""The correlation of two calls from which on they are one another's repetition, rather than places that differ."""

Halves = NDArray[np.bool_]


def watched(draw: Draw, name: str) -> Draw:
    """Return what draws the same, and refuses outputs of a call that another call gave before.

    A call is compared with the first and the latest of its own input, and with the latest of the other.
    """
    first: dict[int, Halves] = {}
    latest: dict[int, Halves] = {}
    constant: dict[int, tuple[float, int]] = {}

    def drawn(side: int, size: int) -> Floats:
        outputs = draw(side, size)
        half = _upper_half(outputs)
        before = [first.get(side), latest.get(0), latest.get(1)]
        if any(alike(half, other) for other in before if other is not None):
            audit_arguments.repeated(name)
        first.setdefault(side, half)
        latest[side] = half
        if (outputs == outputs[0]).all():
            told, times = constant.setdefault(side, (float(outputs[0]), size))
            # Of all ways to deal out as many of both, two have each in a call of its own.
            ways = math.lgamma(times + size + 1) - math.lgamma(times + 1) - math.lgamma(size + 1)
            if told != outputs[0] and ways > math.log(2.0 / CHANCE):
                audit_arguments.one_for_all(name)
        return outputs

    return drawn


def alike(one: Halves, other: Halves) -> bool:
    """Return whether two calls agree, place by place, on what is large; by chance with `CHANCE` at most.

    Where the outputs of a call may stand in any order, the number of places at which both are large is hypergeometric,
    and exceeds its mean by s with chance exp(-2 s^2 / k) at most, k being how many are large, or not, in either
    (W. Hoeffding, "Probability inequalities for sums of bounded random variables", 1963, section 6).
    """
    size = min(one.size, other.size)
    one, other = one[:size], other[:size]
    large, others = int(one.sum()), int(other.sum())
    fewest = min(large, size - large, others, size - others)
    if fewest == 0:
        return False
    beyond = int((one & other).sum()) - large * others / size
    spread = math.sqrt(large * (size - large)) * math.sqrt(others * (size - others)) / size
    return beyond > ALIKE * spread and 2.0 * beyond * beyond / fewest > -math.log(CHANCE)


def _upper_half(outputs: Floats) -> Halves:
    """Return which outputs are above the median; with it, where that is closer to half of them."""
    median = np.partition(outputs, outputs.size // 2)[outputs.size // 2]
    above: Halves = outputs > median
    with_it: Halves = outputs >= median
    return above if outputs.size - 2 * int(above.sum()) <= 2 * int(with_it.sum()) - outputs.size else with_it
