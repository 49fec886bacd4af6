"""The package's own audit, of samplers that take inputs of any kind: one function for the tests of mechanisms.

A bound above epsilon has probability FALSE_ALARM for a mechanism that keeps it: the event is chosen on other outputs
than it is counted among, so that one event is tested.
"""

import math
from functools import partial

from lapnoise.evaluate.auditing import bounds, events, search

MANY = 1_000_000


def audit(make, x, neighbour, size: int = MANY, look=None, delta: float = 0.0) -> float:
    """Return a lower bound for the epsilon, given delta, of ``make(value, size, seed)`` from two inputs.

    The event is chosen on ``size`` outputs of each, and counted among as many others; ``look`` makes features, by
    default all that the audit has. Nothing is claimed, so that no event is suspected.
    """
    inputs = (x, neighbour)
    seeds = iter(range(51, 10**6))

    def draw(side, more):
        return make(inputs[side], more, next(seeds))

    def quiet(*_):
        pass

    event, side = search.choose(draw, size, look or partial(events.features, inputs=inputs), math.inf, delta, quiet)
    counts = search.count(draw, size, event, quiet)
    return max(0.0, float(bounds.epsilon_at_least(counts[side], counts[1 - side], size, delta)))
