"""References for exact noise, written from the definitions and not from the code under test.

Three kinds. An interval oracle decides single draws, M = floor(t (-ln U) + kappa), from their words with mpmath's
interval arithmetic. A distributional one draws discrete Laplace noise in fractions by rejection (Canonne, Kamath and
Steinke), beside the exact probabilities. And sums on a lattice are made in fractions and rounded once by integers.
"""

import functools
import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from mpmath import iv, mp, mpf

from lapnoise.bits.chacha import stream_word

FIRST_BITS = 63
"""Bits of the uniform in the first word; its last bit is the sign."""

EXTENSION_STREAMS = 1 << 63
"""Id of the stream, relative to a draw's own, whose word at the draw's position is its second one."""


# Single draws.


def magnitude(t: Fraction, first: int, more: Callable[[int], int]) -> int:
    """Return M = floor(t (-ln U) + t ln(2 / (1 + exp(-1/t)))) for the U of bits ``first``, more(0), more(1) ...

    An interval of U is narrowed word by word until all of it has one M.
    """
    j, bits = first, FIRST_BITS
    for depth in range(100):
        found = _common_floor(t, j, bits) if j else None
        if found is not None:
            return found
        j, bits = j << 64 | more(depth), bits + 64
    raise AssertionError("a boundary would have to be a dyadic number")


def draw(t: Fraction, word: int, more: Callable[[int], int]) -> int:
    """Return the signed draw of a word: minus where its last bit is set."""
    size = magnitude(t, word >> 1, more)
    return -size if word & 1 else size


def further_words(key: list[int], position: int, rounds: int, stream: int = 0) -> Callable[[int], int]:
    """Return the further words of the draw at a position, made by the plain Python cipher."""
    return lambda depth: stream_word(key, position, (stream + EXTENSION_STREAMS + depth) % 2**64, rounds)


def key_of(source: np.ndarray) -> list[int]:
    """Return the key in a source array as eight 32-bit words."""
    return [int(half) for word in source[:4] for half in (int(word) & 0xFFFFFFFF, int(word) >> 32)]


def _common_floor(t: Fraction, j: int, bits: int) -> int | None:
    # The bits of the cell's edges, of t, and 80 more; those of t in steps of 64, so that scales share logarithms.
    precision = bits + 80 + 64 * -(-math.ceil(t).bit_length() // 64)
    scale, kappa = _scale_and_kappa(t, precision)
    log = _log_cell(j, bits, precision)
    iv.prec = precision
    value = scale * log + kappa
    with mp.workprec(precision + 64):  # mpf() would round the ends to the 53 bits that are set by default
        low, high = (int(mp.floor(mpf(end))) for end in (value.a, value.b))
    return low if low == high else None


@functools.lru_cache(maxsize=1 << 15)
def _log_cell(j: int, bits: int, precision: int):
    """Return an interval with -ln U for all U in [j 2^-bits, (j + 1) 2^-bits]."""
    iv.prec = precision
    return bits * iv.log(2) - iv.log(iv.mpf([j, j + 1]))


@functools.lru_cache(maxsize=1 << 10)
def _scale_and_kappa(t: Fraction, precision: int):
    iv.prec = precision
    scale = iv.mpf(t.numerator) / t.denominator
    return scale, scale * iv.log(2 / (1 + iv.exp(-1 / scale)))


# Laws.


def boundary(t: Fraction, m: int, precision: int) -> mpf:
    """Return 2 q^m / (1 + q), m >= 1: the U up to which M >= m, with this many bits."""
    with mp.workprec(precision + 64 + m.bit_length()):
        scale = mpf(t.numerator) / t.denominator
        return 2 * mp.exp(-m / scale) / (1 + mp.exp(-1 / scale))


def boundary_cell(t: Fraction, m: int, bits: int) -> int:
    """Return j = floor(2^bits 2 q^m / (1 + q)): the cell of width 2^-bits in which M passes from m to m - 1."""
    with mp.workprec(bits + 128):
        return int(mp.floor(mp.ldexp(boundary(t, m, bits + 128), bits)))


def probability(t: Fraction, k: int) -> mpf:
    """Return P(X = k) = (1 - q) / (1 + q) q^abs(k), q = exp(-1/t), to 100 bits."""
    with mp.workprec(160):
        inverse = mpf(t.denominator) / t.numerator
        return mp.tanh(inverse / 2) * mp.exp(-abs(k) * inverse)


def tail(t: Fraction, m: int) -> mpf:
    """Return P(abs(X) >= m)."""
    return mpf(1) if m <= 0 else boundary(t, m, 100)


def variance(t: Fraction) -> mpf:
    """Return the variance as the sum of k^2 P(X = k), term by term; for t up to some thousands."""
    with mp.workprec(160):
        last = math.ceil(80 * t) + 2
        return 2 * mp.fsum(k * k * probability(t, k) for k in range(1, last))


def canonne_kamath_steinke(t: Fraction, chance: random.Random) -> int:
    """Draw a discrete Laplace integer of scale t = num / den in whole numbers alone.

    Algorithm 2 of "The Discrete Gaussian for Differential Privacy" (2020): U uniform below num is kept with probability
    exp(-U / num), V is geometric with parameter 1 - 1/e, the magnitude is floor((U + num V) / den), and a negative zero
    is drawn again.
    """
    num, den = t.numerator, t.denominator
    while True:
        u = chance.randrange(num)
        if not _bernoulli_exp(Fraction(u, num), chance):
            continue
        v = 0
        while _bernoulli_exp(Fraction(1), chance):
            v += 1
        size = (u + num * v) // den
        negative = chance.getrandbits(1)
        if size or not negative:
            return -size if negative else size


def _bernoulli_exp(x: Fraction, chance: random.Random) -> bool:
    """Return True with probability exp(-x), 0 <= x <= 1: the parity of how many Bernoulli(x / k) succeed in a row."""
    k = 1
    while chance.randrange(x.denominator * k) < x.numerator:
        k += 1
    return k % 2 == 1


# Sums.


def half_up(value: Fraction, exponent: int) -> int:
    """Return the multiple of 2^exponent nearest to a value, ties toward plus infinity, in units of 2^exponent."""
    doubled = 2 * value / Fraction(2) ** exponent + 1
    return doubled.numerator // (2 * doubled.denominator)


def rounded_once(value: Fraction, kind=np.float64) -> float:
    """Return the float of this type that is nearest to a fraction, ties to even, saturated at the largest."""
    precision, least, largest = (53, -1074, np.finfo(np.float64).max) if kind == np.float64 else FLOAT32
    if value == 0:
        return 0.0
    size = abs(value)
    top = size.numerator.bit_length() - size.denominator.bit_length()
    top -= size < Fraction(2) ** top
    unit = Fraction(2) ** max(top - precision + 1, least)
    steps, rest = divmod(size.numerator * unit.denominator, size.denominator * unit.numerator)
    half = Fraction(rest, size.denominator * unit.numerator) - Fraction(1, 2)
    steps += half > 0 or (half == 0 and steps % 2 == 1)
    rounded = float(min(steps * unit, Fraction(float(largest))))
    return -rounded if value < 0 and rounded else rounded  # no release is -0.0


FLOAT32 = (24, -149, np.finfo(np.float32).max)


def lattice_sum(value: Fraction, noise: int, exponent: int, kind=np.float64) -> float:
    """Return (value rounded half up to a multiple of r + noise r), rounded once; r = 2^exponent."""
    return rounded_once((half_up(value, exponent) + noise) * Fraction(2) ** exponent, kind)


def integer_sum(value: int, noise: int) -> int:
    """Return value + noise, saturated at plus and minus 2^63 - 1."""
    return min(max(value + noise, 1 - 2**63), 2**63 - 1)
