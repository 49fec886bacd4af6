"""Moments and quantiles of discrete Laplace noise conditioned on an interval, in steps and exact but for a last float.

Sums over a side of m steps are closed forms in q = exp(-1/t); they cancel where m is small beside t, so they are worked
out in fractions, with q to as many bits as it takes.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from lapnoise import exact

__all__ = ["mean_and_square", "quantile", "root"]

_PRECISION = 128


@functools.lru_cache(maxsize=64)
def mean_and_square(t: float, left: int, right: int) -> tuple[Fraction, Fraction]:
    """Return E X and E X^2, P(X = k) ~ exp(-abs(k) / t) for -left <= k <= right."""
    scale = Fraction(t)
    low, high = _side_sums(scale, left), _side_sums(scale, right)
    total = 1 + low[0] + high[0]
    return (high[1] - low[1]) / total, (high[2] + low[2]) / total


def quantile(t: float, left: int, right: int, level: Fraction) -> int:
    """Return the least h with P(abs(X) <= h) >= level for the same X, left <= right."""
    scale = Fraction(t)
    p = _precision(scale, right)
    one = 1 << p

    def power(m: int) -> Fraction:
        return Fraction(exact.exp_negative(m / scale, p)[0], one)

    def least(y: Fraction) -> int:
        """Return the least h >= 0 with q^(h + 1) <= y."""
        return max(0, math.ceil(scale * Fraction(exact.negative_log(y, p)[1], one)) - 1) if y < 1 else 0

    # 1 - q times the whole mass is ``whole``, and times that beyond h it is 2 q^(h + 1) - q^(left + 1) - q^(right + 1)
    # for h <= left, and then q^(h + 1) - q^(right + 1).
    ends = power(left + 1) + power(right + 1)
    whole = 1 + power(1) - ends
    on_both = least((ends + (1 - level) * whole) / 2)
    if on_both <= left:
        return on_both
    return min(max(left, least(power(right + 1) + (1 - level) * whole)), right)


def root(x: Fraction) -> Fraction:
    """Return the square root to 64 bits; it may lie beyond the floats."""
    shift = 64 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    return Fraction(math.isqrt((x.numerator << 2 * shift) // x.denominator), 1 << shift)


def _side_sums(scale: Fraction, m: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return the sums of j^n q^j over 1 <= j <= m for n = 0, 1 and 2."""
    if m == 0:
        return Fraction(0), Fraction(0), Fraction(0)
    p = _precision(scale, m)
    q = Fraction(exact.exp_negative(1 / scale, p)[0], 1 << p)
    if q == 0:  # t is so small that nothing is left but the centre
        return Fraction(0), Fraction(0), Fraction(0)
    end = Fraction(exact.exp_negative(m / scale, p)[0], 1 << p)
    rest = 1 - q
    squares = (m + 1) ** 2 - (2 * m * m + 2 * m - 1) * q + m * m * q * q
    return (
        q * (1 - end) / rest,
        q * (1 - end * (m + 1 - m * q)) / rest**2,
        q * (1 + q - end * squares) / rest**3,
    )


def _precision(scale: Fraction, m: int) -> int:
    # Below t = 1/2000 noise is zero but for a chance of 1e-868.
    return _PRECISION + 4 * math.ceil(scale).bit_length() + 4 * m.bit_length() + 3 * min(math.ceil(1 / scale), 2000)
