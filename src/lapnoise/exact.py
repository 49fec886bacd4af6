"""The last tier of the exact sampler: integers and interval arithmetic, slow and obviously right.

A real number is enclosed by two integers, in units of 2^-p: (low, high) means low 2^-p <= x <= high 2^-p. Every
operation rounds outward, so that what is decided here is decided for good; where an enclosure is too wide to decide,
the caller asks again with a larger p.

References
----------
.. [1] C. Haney et al., "Precision-based attacks and interval refining", 2022 (arXiv 2207.13793), section 5: extend the
   bits of the uniform until the interval decides.
.. [2] C. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential Privacy", 2020 (arXiv 2004.00010),
   section 5.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from fractions import Fraction

__all__ = ["Enclosure", "coin", "exp_negative", "kappa", "magnitude", "negative_log", "quantile_magnitude", "ratio"]

Enclosure = tuple[int, int]

WORD_BITS = 64
FIRST_BITS = 63
"""Bits of the uniform that the first word holds beside the sign."""

GUARD_BITS = 64
"""Bits of precision beyond those of the uniform."""


def magnitude(t: Fraction, first: int, more_words: Iterator[int]) -> int:
    """Return M = floor(t (-ln U) + kappa), U having the 63 bits of ``first`` and those of further words.

    Further words are taken from ``more_words`` as long as the cell that the bits so far leave U in holds points with
    different M. The result is the same however many are looked at, so it is a function of the bits alone.

    Parameters
    ----------
    t : Fraction
        Scale of the discrete Laplace distribution, > 0.
    first : int
        The first 63 bits of U.
    more_words : iterator of int
        Further words of 64 bits.
    """
    j, n = first, FIRST_BITS
    # Fewer bits than t has almost never decide; to try them would only cost time.
    while n < t.numerator.bit_length() - t.denominator.bit_length():
        j, n = j << WORD_BITS | next(more_words), n + WORD_BITS
    while True:
        if j > 0:
            decided = _floor_on_cell(t, j, n)
            if decided is not None:
                return decided
        j, n = j << WORD_BITS | next(more_words), n + WORD_BITS


def coin(x: Callable[[int], Enclosure], first: int, more_words: Iterator[int]) -> bool:
    """Return whether U < exp(-x), U having the 63 bits of ``first`` and those of further words: true with that chance.

    Parameters
    ----------
    x : callable
        ``x(p)`` encloses x >= 0 in units of 2^-p.
    first : int
        The first 63 bits of U.
    more_words : iterator of int
        Further words of 64 bits, taken as long as the bits so far do not decide.
    """
    j, n = first, FIRST_BITS
    while True:
        p = n + GUARD_BITS
        low, high = x(p)
        if -_log(Fraction(j + 1, 1 << n), p)[1] > high:  # -ln U exceeds x at the upper end of the cell
            return True
        if j > 0 and -_log(Fraction(j, 1 << n), p)[0] < low:
            return False
        j, n = j << WORD_BITS | next(more_words), n + WORD_BITS


def ratio(x: Fraction, p: int) -> Enclosure:
    """Enclose a rational number in units of 2^-p."""
    return (x.numerator << p) // x.denominator, _ceil_div(x.numerator << p, x.denominator)


def exp_negative(x: Fraction, p: int) -> Enclosure:
    """Enclose exp(-x), x >= 0, in units of 2^-p."""
    return _exp_negative(x, p) if x else (1 << p, 1 << p)


def quantile_magnitude(t: Fraction, tail: Fraction) -> int:
    """Return the least m with P(abs(X) <= m) >= 1 - tail, X discrete Laplace of scale t and 0 < tail < 1.

    P(M >= m) = 2 q^m / (1 + q) with q = exp(-1/t), so m is the value of M at U = tail (Lindemann: never a tie).
    """
    p = GUARD_BITS
    while True:
        low, high = _magnitude_enclosure(t, tail, tail, p)
        if low >> p == high >> p:
            return low >> p
        p *= 2


def negative_log(x: Fraction, p: int) -> Enclosure:
    """Enclose -ln x, x > 0, in units of 2^-p."""
    low, high = _log(x, p)
    return -high, -low


def kappa(t: Fraction, p: int) -> Enclosure:
    """Enclose kappa = t ln(2 / (1 + exp(-1/t))), which lies in (0, 1/2), in units of 2^-p."""
    # t multiplies the error of the logarithms, so they carry as many bits more as t has.
    inner = p + 8 + max(0, t.numerator.bit_length() - t.denominator.bit_length() + 1)
    q_low, q_high = _exp_negative(1 / t, inner)
    one = 1 << inner
    # ln(2 / (1 + q)) decreases in q.
    low = -_log(Fraction(one + q_high, 2 * one), inner)[1]
    high = -_log(Fraction(one + q_low, 2 * one), inner)[0]
    return _scaled((low, high), t, inner - p)


def _floor_on_cell(t: Fraction, j: int, n: int) -> int | None:
    """Return M if it is the same for all U in [j 2^-n, (j + 1) 2^-n], else None."""
    p = n + GUARD_BITS
    low, high = _magnitude_enclosure(t, Fraction(j, 1 << n), Fraction(j + 1, 1 << n), p)
    low = max(low, 0)  # t (-ln u) + kappa is positive
    return low >> p if low >> p == high >> p else None


def _magnitude_enclosure(t: Fraction, least: Fraction, greatest: Fraction, p: int) -> Enclosure:
    """Enclose t (-ln u) + kappa over u in [least, greatest]."""
    inner = p + 8 + max(0, t.numerator.bit_length() - t.denominator.bit_length() + 1)
    log = (-_log(greatest, inner)[1], -_log(least, inner)[0])
    low, high = _scaled(log, t, inner - p)
    kappa_low, kappa_high = _kappa_cached(t, p)
    return low + kappa_low, high + kappa_high


@functools.lru_cache(maxsize=256)
def _kappa_cached(t: Fraction, p: int) -> Enclosure:
    return kappa(t, p)


def _scaled(value: Enclosure, factor: Fraction, drop: int) -> Enclosure:
    """Multiply by a positive rational and drop bits, outward."""
    divisor = factor.denominator << drop
    return value[0] * factor.numerator // divisor, _ceil_div(value[1] * factor.numerator, divisor)


def _log(x: Fraction, p: int) -> Enclosure:
    """Enclose ln x, x > 0: x = 2^e m with m in [2/3, 4/3], ln m = 2 atanh((m - 1) / (m + 1))."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / Fraction(2) ** e
    if m > Fraction(4, 3):
        e, m = e + 1, m / 2
    elif m < Fraction(2, 3):
        e, m = e - 1, m * 2
    low, high = _atanh((m - 1) / (m + 1), p)
    ln2_low, ln2_high = _ln2(p)
    power = (e * ln2_low, e * ln2_high) if e >= 0 else (e * ln2_high, e * ln2_low)
    return power[0] + 2 * low, power[1] + 2 * high


def _atanh(x: Fraction, p: int) -> Enclosure:
    """Enclose atanh x = x + x^3/3 + x^5/5 + ..., abs(x) <= 1/5."""
    if x < 0:
        low, high = _atanh(-x, p)
        return -high, -low
    # Each power is enclosed, so the sum's enclosure grows by at most two units a term.
    one = 1 << p
    power_low, power_high = x.numerator * one // x.denominator, _ceil_div(x.numerator * one, x.denominator)
    square_low, square_high = power_low * power_low >> p, _ceil_shift(power_high * power_high, p)
    low = high = 0
    k = 1
    while power_high > 1:
        low += power_low // k
        high += _ceil_div(power_high, k)
        power_low = power_low * square_low >> p
        power_high = _ceil_shift(power_high * square_high, p)
        k += 2
    # The terms left out sum to less than power_high (1 + 1/25 + ...) <= 2 units.
    return low, high + 2


@functools.lru_cache(maxsize=64)
def _ln2(p: int) -> Enclosure:
    """Enclose ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)."""
    a, b, c = (_atanh(Fraction(1, n), p) for n in (26, 4801, 8749))
    return 18 * a[0] - 2 * b[1] + 8 * c[0], 18 * a[1] - 2 * b[0] + 8 * c[1]


def _exp_negative(x: Fraction, p: int) -> Enclosure:
    """Enclose exp(-x), x > 0, by exp(-x) = exp(-x / 2^k)^(2^k) with x / 2^k <= 1/2 and Taylor's alternating series."""
    if x > p + 2:  # exp(-x) < 2^-(x) is below the last unit
        return 0, 1
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 1)
    # Squaring k times multiplies the relative error by 2^k.
    inner = p + halvings + 8
    reduced = x / (1 << halvings)
    one = 1 << inner
    step_low, step_high = (
        reduced.numerator * one // reduced.denominator,
        _ceil_div(reduced.numerator * one, reduced.denominator),
    )
    low = high = 0
    term_low = term_high = one
    k = 0
    while term_high > 1:
        if k % 2 == 0:
            low, high = low + term_low, high + term_high
        else:
            low, high = low - term_high, high - term_low
        k += 1
        term_low = (term_low * step_low >> inner) // k
        term_high = _ceil_div(_ceil_shift(term_high * step_high, inner), k)
    low, high = low - 2, high + 2  # the alternating rest is smaller than its first term
    for _ in range(halvings):
        low, high = low * low >> inner, _ceil_shift(high * high, inner)
    drop = inner - p
    return max(low >> drop, 0), _ceil_shift(high, drop)


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def _ceil_shift(a: int, bits: int) -> int:
    return -(-a >> bits)
