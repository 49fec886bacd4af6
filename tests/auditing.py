"""A black-box audit: the epsilon that outputs of two neighbouring inputs show (Clopper and Pearson 1934).

A bound above epsilon has probability RATE for a mechanism that keeps it: the event is chosen on other outputs than it
is counted among, so that one event is tested.
"""

import math

import numpy as np
from stats import clopper_pearson

RATE = 1e-6
MANY = 1_000_000


def epsilon_at_least(hits: int, others: int, size: int, delta: float = 0.0) -> float:
    """Return a lower bound for epsilon from the counts of one event among ``size`` outputs of each of two inputs.

    P(S) <= exp(epsilon) P'(S) + delta, so that epsilon is at least ln((P(S) - delta) / P'(S)).
    """
    surely = clopper_pearson(hits, size, RATE)[0] - delta
    return math.log(max(surely, 1e-300) / clopper_pearson(others, size, RATE)[1])


def lowest_bits(y: np.ndarray) -> np.ndarray:
    """Return the exponent of the lowest set bit of each float, 2000 for 0."""
    mantissa, exponent = np.frexp(y)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(y == 0, 2000, exponent - 53 + lowest)


QUANTILES = np.concatenate([10.0 ** np.arange(-5, -1), np.arange(1, 40) / 40, 1 - 10.0 ** np.arange(-2, -6, -1)])


def half_lines(y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the outputs, and thresholds from far in one tail to far in the other."""
    return [(y, np.unique(np.quantile(y, QUANTILES, method="nearest")))]


def features(y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return what an adversary looks at, each a number for every output, and thresholds of it.

    Value, magnitude, place of the lowest bit, sign of zero, and the last eight bits of the significand.
    """
    low = lowest_bits(y)
    significand = np.abs(np.frexp(y)[0] * 2.0**53).astype(np.int64)
    return [
        *half_lines(y),
        *half_lines(np.abs(y)),
        (low, np.unique(low)[:60]),
        ((y == 0).astype(np.int64) - np.signbit(y), np.array([-1, 0])),
        *((significand >> k & 1, np.array([0])) for k in range(8)),
    ]


def audit(make, x, neighbour, size: int = MANY, look=features, delta: float = 0.0) -> float:
    """Return a lower bound for the epsilon, given delta, of ``make(value, size, seed)`` from two inputs.

    Of all events "feature <= threshold" and their complements the one with the highest bound is chosen; its bound is
    that of its counts among new outputs.
    """
    chosen = [look(make(value, size, 51 + k)) for k, value in enumerate((x, neighbour))]
    best: tuple = (0.0,)
    for k, pair in enumerate(zip(*chosen, strict=True)):
        for threshold in np.unique(np.concatenate([thresholds for _, thresholds in pair])):
            counts = [int(np.sum(feature <= threshold)) for feature, _ in pair]
            for below in (True, False):
                found = counts if below else [size - count for count in counts]
                for forward in (True, False):
                    bound = epsilon_at_least(*(found if forward else found[::-1]), size, delta)
                    best = max(best, (bound, k, float(threshold), below, forward))
    if len(best) == 1:
        return 0.0
    _, k, threshold, below, forward = best
    held = [look(make(value, size, 61 + i))[k][0] <= threshold for i, value in enumerate((x, neighbour))]
    hits = [int(np.sum(event == below)) for event in held]
    return epsilon_at_least(*(hits if forward else hits[::-1]), size, delta)
