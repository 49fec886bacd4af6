"""Mean and variance of Laplace noise that is cut off, without cancellation at any scale.

For a value v and ends low <= high the result is v + X clipped to [low, high]. With A = high - v and B = v - low the
clipped noise c is X inside [-B, A], and P(X > x) = exp(-x / b) / 2, so that

    E max(c, 0)^2 = integral of 2 x P(X > x) from 0 to A = b^2 P(2, A / b),

P(2, u) = 1 - (1 + u) exp(-u) being the incomplete gamma function, which scipy knows without that difference.
"""

from __future__ import annotations

import math

__all__ = ["clipped_bias", "clipped_variance"]


def clipped_bias(value: float, low: float, high: float, b: float) -> float:
    """Return the mean of the value with noise of scale b, cut off at both ends, less the value."""
    outside = max(low - value, value - high, 0.0)
    shift = outside + _mean_inwards(value, low, high, b)
    return shift if value - low <= high - value else -shift


def clipped_variance(value: float, low: float, high: float, b: float) -> float:
    """Return the variance of the value with noise of scale b, cut off at both ends."""
    if low <= value <= high:
        square = _square(high - value, b) + _square(value - low, b)
    else:
        # About the nearer end: from there P(X > x) is exp(-distance / b) of what it is from a value at that end.
        square = math.exp(-max(low - value, value - high) / b) * _square(high - low, b)
    mean = _mean_inwards(value, low, high, b)
    # At least half of the square, so that nothing cancels: E max(c, 0) is at most sqrt(P(c > 0) E max(c, 0)^2).
    return math.inf if square == math.inf else square - mean * mean


def _mean_inwards(value: float, low: float, high: float, b: float) -> float:
    """Return how far the mean lies from the value, or from the end that is nearer to a value outside, inwards.

    (b / 2) (exp(-near / b) - exp(-far / b)) for the distances of the ends, without a difference of near numbers.
    """
    above, below = high - value, value - low
    near = min(abs(above), abs(below))
    if near == math.inf:
        return 0.0
    gap = abs(above - below) if low <= value <= high else high - low
    return b / 2.0 * math.exp(-near / b) * -math.expm1(-gap / b)


def _square(room: float, b: float) -> float:
    """Return b^2 P(2, room / b), the integral of 2 x P(X > x) from 0 to ``room``."""
    from scipy.special import gammainc

    u = room / b
    return 0.5 * room * room if u < 2.0**-54 else b * float(gammainc(2.0, u)) * b  # P(2, u) could underflow
