"""Which of several random keys is least, in integers and interval arithmetic: the last tier of selecting mechanisms.

A candidate has a unit exponential E = -ln U and a penalty x >= 0. Its key is ln E + x - ln m in the exponential
mechanism, m being its measure, and x - E in permute-and-flip. U is known by its first bits alone, so a key is known to
lie between two numbers; where those of two keys overlap, further bits of both are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from lapnoise import exact
from lapnoise.exact import FIRST_BITS, GUARD_BITS, WORD_BITS

__all__ = ["Contender", "winner"]


class Contender(NamedTuple):
    """A candidate as the comparison sees it.

    Attributes
    ----------
    first : int
        The first 63 bits of U.
    more_words : iterator of int
        Further words of 64 bits.
    penalty : Fraction
        x, at least 0.
    measure : Fraction
        m, more than 0.
    """

    first: int
    more_words: Iterator[int]
    penalty: Fraction
    measure: Fraction


def winner(contenders: Sequence[Contender], logarithmic: bool) -> int:
    """Return the index of the contender with the least key.

    The result is the same however many bits are looked at, so it is a function of the bits alone. Equal keys have
    probability zero, whatever the penalties: bits that never part two keys would be looked at without end.

    Parameters
    ----------
    contenders : sequence of Contender
        At least one.
    logarithmic : bool
        Whether keys are ln E + x - ln m, or x - E.
    """
    left = {i: contender.first for i, contender in enumerate(contenders)}
    n = FIRST_BITS
    key = _logarithmic_key if logarithmic else _linear_key
    while True:
        keys = {i: key(contenders[i], j, n) for i, j in left.items()}
        least = min(high for _, high in keys.values())
        left = {i: j for i, j in left.items() if keys[i][0] <= least}
        if len(left) == 1:
            return next(iter(left))
        left = {i: j << WORD_BITS | next(contenders[i].more_words) for i, j in left.items()}
        n += WORD_BITS


Bounds = tuple[float, float]
"""Two ints in units of 2^-p, which Python compares with infinities exactly."""


def _linear_key(contender: Contender, j: int, n: int) -> Bounds:
    """Enclose x - E for U in [j 2^-n, (j + 1) 2^-n]."""
    p = _precision(n)
    low, high = _exponential(j, n, p)
    x_low, x_high = _fixed(contender.penalty, p)
    return x_low - high, x_high - low


def _logarithmic_key(contender: Contender, j: int, n: int) -> Bounds:
    """Enclose ln E + x - ln m for U in [j 2^-n, (j + 1) 2^-n]."""
    p = _precision(n)
    low, high = _exponential(j, n, p)
    x_low, x_high = _fixed(contender.penalty, p)
    m_low, m_high = exact.negative_log(contender.measure, p)
    # E at both ends is a number of units; an end at 0 or infinity tells nothing yet.
    log_low = -exact.negative_log(Fraction(int(low), 1 << p), p)[1] if low > 0 else -math.inf
    log_high = -exact.negative_log(Fraction(int(high), 1 << p), p)[0] if high < math.inf else math.inf
    return log_low + x_low + m_low, log_high + x_high + m_high


def _precision(n: int) -> int:
    # E may be as small as 2^-n, and its logarithm wants n bits of it.
    return 2 * n + GUARD_BITS


def _exponential(j: int, n: int, p: int) -> Bounds:
    """Enclose -ln U for U in [j 2^-n, (j + 1) 2^-n]."""
    low = exact.negative_log(Fraction(j + 1, 1 << n), p)[0]
    return low, exact.negative_log(Fraction(j, 1 << n), p)[1] if j else math.inf


def _fixed(x: Fraction, p: int) -> tuple[int, int]:
    scaled = x.numerator << p
    return scaled // x.denominator, -(-scaled // x.denominator)
