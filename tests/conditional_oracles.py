"""References for noise conditioned on an interval, written from the definitions: masses, draws, losses."""

import itertools
import math
from fractions import Fraction

import exact_oracles
import numpy as np
from mpmath import iv

from lapnoise.bits.chacha import stream_word

ATTEMPTS = 1 << 62
"""Attempt a of the draw at position p takes in role i word p of the stream whose id is this + 4 a + i."""

EXTENSIONS = 1 << 63
"""Further word d is word p of that stream's id + this + d 2^40."""


def masses(t: float, low: int, high: int, centre: int) -> np.ndarray:
    """Return P(k), proportional to exp(-abs(k - centre) / t), for k = low, ..., high."""
    weights = np.exp(-np.abs(np.arange(low, high + 1) - centre) / t)
    return weights / math.fsum(weights)


def draw(t: Fraction, low: int, high: int, centre: int, key: list[int], position: int, rounds: int) -> int:
    """Return the draw at a position by rejecting attempts: a candidate c + X, or where high - low < t a uniform one."""
    for attempt in itertools.count():
        first, more = _words(key, position, rounds, 4 * attempt)
        if high - low >= t:
            k = centre + exact_oracles.draw(t, first, more)
            if low <= k <= high:
                return k
        else:
            points = high - low + 1
            k = low + first % points
            if first < 2**64 - 2**64 % points and _coin(
                abs(k - centre) / t, *_words(key, position, rounds, 4 * attempt + 1)
            ):
                return k
    raise AssertionError


def _words(key: list[int], position: int, rounds: int, stream: int):
    def word(offset: int) -> int:
        return stream_word(key, position, (ATTEMPTS + stream + offset) % 2**64, rounds)

    return word(0), lambda depth: word(EXTENSIONS + (depth << 40))


def _coin(x: Fraction, first: int, more) -> bool:
    """Return whether U < exp(-x) for the U of 63 bits of ``first``, and more(0), more(1) ..."""
    j, bits = first >> 1, 63
    for depth in range(100):
        iv.prec = bits + 80
        chance = iv.exp(-iv.mpf(x.numerator) / x.denominator)
        low, high = iv.mpf(j) / 2**bits, iv.mpf(j + 1) / 2**bits
        if high.b < chance.a:
            return True
        if low.a > chance.b:
            return False
        j, bits = j << 64 | more(depth), bits + 64
    raise AssertionError


def losses(t: float, width: int) -> np.ndarray:
    """Return, for d = 0, ..., width, the largest ln(P(k) / P'(k)) over all k and centres d apart."""
    logs = np.log([masses(t, 0, width, centre) for centre in range(width + 1)])
    worst = np.zeros(width + 1)
    for i, j in itertools.product(range(width + 1), repeat=2):
        worst[abs(i - j)] = max(worst[abs(i - j)], (logs[i] - logs[j]).max())
    return worst


def shifts(norm: int, coordinates: int, most: int):
    """Yield all vectors of integers from 0 to ``most`` whose sum is at most ``norm``."""
    for vector in itertools.product(range(min(norm, most) + 1), repeat=coordinates):
        if sum(vector) <= norm:
            yield vector


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Return the largest P(S) - exp(epsilon) Q(S) over all events S."""
    return math.fsum(np.maximum(p - math.exp(epsilon) * q, 0.0).ravel())
