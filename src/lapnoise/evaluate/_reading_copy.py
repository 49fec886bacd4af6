"""Words, draws and releases made again in plain Python, from the key and the place alone.

Nothing compiled is asked, neither for the words of a draw nor for those of its attempts and extensions: a sampler that
takes the right words in a wrong way, or further words from a wrong stream, makes other draws than these.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import exact as arithmetic
from lapnoise.bits.chacha import block

__all__ = ["Words", "conditioned_step", "gaussian_step", "laplace_magnitude", "laplace_step"]

FURTHER, ATTEMPTS, ROLES, FURTHER_OF_ATTEMPTS = 1 << 63, 1 << 62, 4, 1 << 40
"""Streams, as offsets of their ids, of further words, of attempts by role, and of the further words of those."""

_cached_block = functools.lru_cache(maxsize=1 << 12)(block)


class Words(NamedTuple):
    """The words of a key and stream id, by place."""

    key: tuple[int, ...]
    stream_id: int
    rounds: int

    @classmethod
    def of(cls, source: NDArray[np.uint64]) -> Words:
        """Return those of what kernels take."""
        key = tuple(int(half) for half in source[:4].astype("<u8").view("<u4"))
        return cls(key, int(source[4]), 2 * int(source[5]))

    def at(self, place: int, offset: int = 0) -> int:
        """Return a word of the stream whose id is that much higher: `lapnoise.bits.chacha.stream_word`, blocks kept."""
        group, i = divmod(place, 128)
        first, stream = 16 * group + 2 * (i % 8), (self.stream_id + offset) % (1 << 64)
        low, high = (_cached_block(self.key, first + k, stream, self.rounds)[i // 8] for k in (0, 1))
        return high << 32 | low

    def after(self, place: int, offset: int, further: int, apart: int) -> Iterator[int]:
        """Yield the word at a place of one stream, and then those there of further streams, so far apart."""
        yield self.at(place, offset)
        for depth in itertools.count():
            yield self.at(place, further + apart * depth)

    def attempt(self, place: int, number: int, role: int) -> Iterator[int]:
        """Yield the words of an attempt in a role."""
        stream = ATTEMPTS + ROLES * number + role
        return self.after(place, stream, FURTHER + stream, FURTHER_OF_ATTEMPTS)


def laplace_step(words: Words, place: int, t: float) -> int:
    """Return the discrete Laplace draw of scale t at a place."""
    return _signed(Fraction(t), words.after(place, 0, FURTHER, 1))


def gaussian_step(words: Words, place: int, sigma: float) -> int:
    """Return the discrete Gaussian draw at a place: the first attempt that its coin keeps."""
    t = Fraction(sigma)
    for number in itertools.count():
        made = _signed(t, words.attempt(place, number, 0))
        if _heads((abs(made) - t) ** 2 / (2 * t * t), words.attempt(place, number, 1)):
            return made
    raise AssertionError  # attempts have no end


def conditioned_step(words: Words, place: int, t: float, centre: int, low: int, high: int) -> int:
    """Return the discrete Laplace draw about a centre, conditioned on low <= k <= high, at a place."""
    scale, points = Fraction(t), high - low + 1
    for number in itertools.count():
        first = words.attempt(place, number, 0)
        if high - low >= t:
            k = centre + _signed(scale, first)
            if low <= k <= high:
                return k
            continue
        width = -(-points.bit_length() // 64)
        uniform = functools.reduce(lambda bits, word: bits << 64 | word, itertools.islice(first, width), 0)
        k = low + uniform % points
        kept = uniform < (1 << 64 * width) // points * points
        if kept and _heads(abs(k - centre) / scale, words.attempt(place, number, 1)):
            return k
    raise AssertionError  # attempts have no end


def laplace_magnitude(bits: int, size: int) -> float:
    """Return -log(u), u = (2 j + 1) 2^-size, where j is an integer of ``size`` bits without the last, the sign."""
    low, high = arithmetic.negative_log(Fraction(bits | 1, 1 << size), 160)
    return float(Fraction(low + high, 1 << 161))


def _signed(t: Fraction, words: Iterator[int]) -> int:
    word = next(words)
    magnitude = arithmetic.magnitude(t, word >> 1, words)
    return -magnitude if word & 1 else magnitude


def _heads(x: Fraction, words: Iterator[int]) -> bool:
    def enclosed(p: int) -> Any:
        return arithmetic.ratio(x, p)

    return arithmetic.coin(enclosed, next(words) >> 1, words)
