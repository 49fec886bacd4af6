"""The second tier of the exact sampler: the same decision in double-double arithmetic, some 25 ns a draw.

With v = 2 j + 1 shifted left by z places until its top bit is set, and c the middle of that 128th of [2^63, 2^64) in
which it then lies,

    -log(v 2^(-64 - z)) = z ln 2 - log(c 2^-64) - 2 atanh(s),    s = (v - c) / (v + c),  abs(s) <= 2^-9,

where log c comes from a table and the series of atanh ends after s^7. The error is below 2^-72
(docs/exact-sampling.md).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import exact
from lapnoise._intrinsics import fma64, leading_zeros
from lapnoise._jit import device

__all__ = ["LOG_ERROR", "magnitude_from_word", "pair_from_enclosure"]

LOG_ERROR = 2.0**-70
"""Allowance for the error of the logarithm: four times its bound."""

FLOOR_ERROR = 2.0**-50
"""Allowance for the roundings after the product with t; they are below 2^-52."""

_TABLE_BITS = 192
_ONE = np.uint64(1)
_CELL_SHIFT = np.uint64(56)
_CELL_MIDDLE = np.uint64(1 << 55)
_MIDDLE = np.int64(1 << 55)
_FIRST_CELL = np.uint64(128)
_CELL_MASK = np.uint64((1 << 56) - 1)
# 45 bits and the rest: z times the first, z <= 63, is exact.
_LN2_HIGH = 0.6931471805599188
_LN2_LOW = 2.6557520756679704e-14


def pair_from_enclosure(enclosure: exact.Enclosure, p: int) -> tuple[float, float]:
    """Return two floats whose sum is the middle of an enclosure to 106 bits."""
    middle = Fraction(sum(enclosure), 2 << p)
    high = float(middle)
    return high, float(middle - Fraction(high))


def _log_table() -> NDArray[np.float64]:
    cells = (Fraction(2 * i + 1, 512) for i in range(128, 256))
    return np.array([pair_from_enclosure(exact.negative_log(c, _TABLE_BITS), _TABLE_BITS) for c in cells])


_TABLE = _log_table()


@device
def two_sum(a: Any, b: Any) -> Any:
    """Return (s, e) with s = fl(a + b) and s + e = a + b exactly (Knuth)."""
    s = a + b
    from_b = s - a
    return s, (a - (s - from_b)) + (b - from_b)


@device
def refined_log(odd: Any) -> Any:
    """Return (high, low) with high + low = -log(odd 2^-64) within 2^-72, ``odd`` a uint64 > 0."""
    zeros = leading_zeros(odd)
    v = odd << zeros
    cell = v >> _CELL_SHIFT
    # v - c and v + c as pairs of floats, exactly: the first has 56 bits, the second is 2 c more.
    difference = np.int64(v & _CELL_MASK) - _MIDDLE
    difference_high = np.float64(difference)
    difference_low = np.float64(difference - np.int64(difference_high))
    twice_c = np.float64(cell + cell + _ONE) * 7.205759403792794e16  # 2^56
    sum_high, sum_low = two_sum(twice_c, difference_high)
    sum_low += difference_low
    s = difference_high / sum_high
    rest = (fma64(-s, sum_high, difference_high) + difference_low) - s * sum_low
    s_low = rest / sum_high
    z = s * s
    series = s * z * fma64(z, fma64(z, 2.0 / 7.0, 2.0 / 5.0), 2.0 / 3.0)
    row = cell - _FIRST_CELL
    places = np.float64(zeros)
    high, low1 = two_sum(places * _LN2_HIGH, _TABLE[row, 0])
    high, low2 = two_sum(high, -2.0 * s)
    return high, (low1 + low2) + (fma64(places, _LN2_LOW, _TABLE[row, 1]) - fma64(2.0, s_low, series))


@device
def magnitude_from_word(word: Any, t: Any, kappa_high: Any, kappa_low: Any) -> Any:
    """Return (M, decided) for the cell of uniforms of a word, M = floor(t (-ln U) + kappa) as int64; t <= 2^57.

    ``decided`` is False where the cell holds uniforms with different M, or where roundings do not let one tell.
    """
    odd = word | _ONE
    high, low = refined_log(odd)
    product = t * high
    product_low = fma64(t, low, fma64(t, high, -product)) + kappa_low
    y, y_low = two_sum(product, kappa_high)
    y_low += product_low
    whole = np.floor(y)
    rest = (y - whole) + y_low
    carry = np.floor(rest)
    fraction = rest - carry
    twice_j = np.float64(odd - _ONE)
    # ln((2 j + 1) / (2 j)) < 1 / (2 j) is how far -ln U reaches to either side within the cell.
    reach = t / max(twice_j, 1.0) * 1.0000001 + t * LOG_ERROR + FLOOR_ERROR
    m = np.int64(whole) + np.int64(carry)
    # Below 0 there is no integer to mistake M for.
    decided = twice_j > 0.0 and (fraction >= reach or m == 0) and fraction <= 1.0 - reach
    return m, decided
