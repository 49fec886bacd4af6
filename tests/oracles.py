"""Exact references in integers, fractions and mpmath, for what the kernels compute in floating point.

They follow the definitions, not the kernels: a word gives the fraction (2 j + 1) 2^-64, and a logarithm is taken to 120
bits. Results are mpmath numbers; ``ulp_error`` compares floats with them.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf

from lapnoise.bits.chacha import block

PRECISION = 120
"""Bits of every reference: 67 more than a float64 has."""


def uniform(word: int) -> Fraction:
    """Return the uniform of a 64-bit word, (2 j + 1) 2^-64 with j its upper 63 bits."""
    return Fraction(int(word) | 1, 1 << 64)


def uniform32(half_word: int) -> Fraction:
    """Return the uniform of a half word, (2 j + 1) 2^-32 with j its upper 31 bits."""
    return Fraction(int(half_word) | 1, 1 << 32)


# Every operation on an mpf rounds to the precision that is set, even a change of sign, and 53 bits are set by default:
# so signs are changed before the logarithm is taken, and nothing is done outside of ``workprec``.


def log(x: Fraction) -> mpf:
    """Return the natural logarithm of a fraction, with 120 correct bits near 1 too."""
    # Near 1 the leading bits of x - 1 vanish, 64 of them at most for the uniforms of words.
    with mp.workprec(PRECISION + 70):
        return mp.log(mpf(x.numerator) / x.denominator)


def negative_log(word: int) -> mpf:
    """Return -log(u), the magnitude of the standard draw of a word."""
    return log(1 / uniform(word))


def negative_log32(half_word: int) -> mpf:
    """Return -log(u), the magnitude of the standard draw of a half word."""
    return log(1 / uniform32(half_word))


def log_of_ratio(word_a: int, word_b: int) -> mpf:
    """Return log(u_a / u_b) of two words."""
    return log(uniform(word_a) / uniform(word_b))


def log_of_ratio32(half_a: int, half_b: int) -> mpf:
    """Return log(u_a / u_b) of two half words."""
    return log(uniform32(half_a) / uniform32(half_b))


def ulp_error(got: float, exact: mpf, precision: int = 53) -> float:
    """Return abs(got - exact) in units of the last place that ``exact`` has at this precision (24 for float32)."""
    with mp.workprec(PRECISION):
        if exact == 0:
            return 0.0 if got == 0 else math.inf
        _, exponent = mp.frexp(exact)
        return float(abs(mpf(float(got)) - exact) * mpf(2) ** (precision - exponent))


def worst_ulp_error(got: Iterable[float], exact: Iterable[mpf], precision: int = 53) -> float:
    """Return the largest ``ulp_error`` of a batch."""
    return max(ulp_error(g, x, precision) for g, x in zip(got, exact, strict=True))


def conditioned_exponential(u: Fraction, width: mpf) -> mpf:
    """Return the quantile at u of a standard exponential conditioned on [0, width], width possibly infinite."""
    with mp.workprec(400):
        q = mpf(u.numerator) / u.denominator * -mp.expm1(-width)
        return -mp.log1p(-q)


def bounded_laplace(word: int, loc: float, scale: float, low: float, high: float) -> mpf:
    """Return the draw of Laplace(loc, scale) conditioned on [low, high] that belongs to a word.

    The words below 2^64 times the mass left of the centre go left of it, outwards as the word grows; the others go
    right, outwards too. The middle of a word's cell among those of its side is the point at which the side is inverted.
    Where the interval lies on one side of the centre all words belong to that side, and run away from the centre.
    """
    with mp.workprec(400):
        loc_, scale_, low_, high_ = (mpf(x) for x in (loc, scale, low, high))
        if low_ >= loc_:
            return low_ + scale_ * conditioned_exponential(Fraction(2 * word + 1, 1 << 65), (high_ - low_) / scale_)
        if high_ <= loc_:
            return high_ - scale_ * conditioned_exponential(Fraction(2 * word + 1, 1 << 65), (high_ - low_) / scale_)
        left_width, right_width = (loc_ - low_) / scale_, (high_ - loc_) / scale_
        left, right = -mp.expm1(-left_width), -mp.expm1(-right_width)
        cells = int(mp.floor(left / (left + right) * mpf(2) ** 64))
        if word < cells:
            return loc_ - scale_ * conditioned_exponential(Fraction(2 * word + 1, 2 * cells), left_width)
        rest = Fraction(2 * (word - cells) + 1, 2 * ((1 << 64) - cells))
        return loc_ + scale_ * conditioned_exponential(rest, right_width)


def stream_words(key: Sequence[int], start: int, count: int, stream: int, rounds: int) -> np.ndarray:
    """Return ``count`` words of a stream from position ``start`` on, whole groups of 16 blocks at a time.

    Output word k of the 16 blocks side by side is 64 bytes of memory; the 16 rows one after the other are the group.
    """
    first, last = start // 128, (start + count + 127) // 128
    groups = []
    for group in range(first, last):
        blocks = np.array([block(key, 16 * group + lane, stream, rounds) for lane in range(16)], dtype="<u4")
        groups.append(np.ascontiguousarray(blocks.T).view("<u8").reshape(-1))
    words = np.concatenate(groups) if groups else np.empty(0, np.uint64)
    return words[start - 128 * first :][:count].astype(np.uint64)
