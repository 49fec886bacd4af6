"""Discrete Laplace noise about a centre, conditioned on an interval of integers, by rejecting whole attempts.

The target is P(k) proportional to exp(-abs(k - c) / t) for the integers k of [low, high], with c one of them. Two ways
lead there, and the parameters alone choose between them:

wide
    The candidate is c + X with X a discrete Laplace variate of scale t, and counts if it lies in the interval.
narrow, where high - low < t
    The candidate is uniform on the interval, and counts if a coin shows exp(-abs(k - c) / t).

The rejected candidates' words are never looked at again, so what counts has the conditioned distribution exactly. For
every c, an attempt of the first kind counts with a chance of 0.31 at least, one of the second with 0.60
(docs/exact-sampling.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._jit import device, kernel
from lapnoise.bits.chacha_lanes import BATCH_WORDS, GROUP_WORDS, refill
from lapnoise.kernels.attempts import attempt_rooms, coin, energy_error, open_attempt
from lapnoise.kernels.batches import at
from lapnoise.kernels.discrete_laplace import magnitudes
from lapnoise.kernels.laplace import decompose
from lapnoise.kernels.log import negative_log

__all__ = ["fill_conditional_laplace", "fill_uniform_conditioned"]

_ONE = np.uint64(1)

_COIN_ERROR = energy_error + 2.0**-53
"""The quotient abs(k - c) / t is below 1, so its rounding adds at most 2^-53."""


@device
def _choose_words(chosen: Any, words: Any, own: Any, position: int, todo: Any, left: int, count: int) -> None:
    """Write the words at ``position`` + todo[:left] to ``chosen``; only groups that hold one of them are made."""
    start = 0
    end = 0
    skip = 0
    for j in range(left):
        i = todo[j]
        if i >= end:
            wanted = min(count - i, GROUP_WORDS - ((position + i) & (GROUP_WORDS - 1)))
            skip, made = refill(words, own, position + i, wanted, 1)
            start = i
            end = i + made
        chosen[j] = words[skip + i - start]


@kernel
def fill_conditional_laplace(
    out: Any, centre: Any, low: int, high: int, law: Any, source: Any, position: int, room: Any, pending: Any
) -> int:
    """Write draws of the wide kind to ``out`` (int64); return how many were made before ``pending`` was full.

    ``centre`` is an int64 array or one number; t <= FAST_LIMIT, and all of them lie within plus or minus 2^62.
    """
    own, words, chosen, floats, integers = attempt_rooms(room)
    e = floats[:BATCH_WORDS]
    f = floats[BATCH_WORDS : 2 * BATCH_WORDS]
    s = floats[2 * BATCH_WORDS : 3 * BATCH_WORDS]
    doubtful = floats[3 * BATCH_WORDS : 5 * BATCH_WORDS].view(np.int64)
    todo = integers[:BATCH_WORDS]
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + BATCH_WORDS < pending.size:
        count = min(BATCH_WORDS, out.size - done)
        for i in range(count):
            todo[i] = i
        left = count
        attempt = 0
        while left > 0:
            open_attempt(own, source, attempt, 0)
            _choose_words(chosen, words, own, position + done, todo, left, count)
            doubtful[0] = 0
            magnitudes(chosen[:left], law, e, f, s, doubtful, 0)
            rejected = 0
            for j in range(left):
                i = done + todo[j]
                if e[j] < 0.0:
                    pending[0] += 1
                    pending[pending[0]] = i
                else:
                    m = np.int64(e[j])
                    k = at(centre, i) + (-m if chosen[j] & _ONE else m)
                    if low <= k <= high:
                        out[i] = k
                    else:
                        todo[rejected] = i - done
                        rejected += 1
            left = rejected
            attempt += 1
        done += count
    return done


@kernel
def fill_uniform_conditioned(
    out: Any,
    centre: Any,
    low: int,
    points: Any,
    last: Any,
    t: float,
    source: Any,
    position: int,
    room: Any,
    pending: Any,
) -> int:
    """Do the same by the narrow way on low, ..., low + points - 1, both uint64; high - low < t.

    ``last`` + 1 is the largest multiple of ``points`` up to 2^64: a word beyond it would favour the first points.
    """
    own, words, chosen, floats, integers = attempt_rooms(room)
    e = floats[:BATCH_WORDS]
    f = floats[BATCH_WORDS : 2 * BATCH_WORDS]
    s = floats[2 * BATCH_WORDS : 3 * BATCH_WORDS]
    uniform = floats[3 * BATCH_WORDS : 4 * BATCH_WORDS].view(np.uint64)
    todo = integers[:BATCH_WORDS]
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + BATCH_WORDS < pending.size:
        count = min(BATCH_WORDS, out.size - done)
        for i in range(count):
            todo[i] = i
        left = count
        attempt = 0
        while left > 0:
            open_attempt(own, source, attempt, 0)
            _choose_words(uniform, words, own, position + done, todo, left, count)
            open_attempt(own, source, attempt, 1)
            _choose_words(chosen, words, own, position + done, todo, left, count)
            decompose(chosen[:left], e, f, s)
            rejected = 0
            for j in range(left):
                i = done + todo[j]
                k = low + np.int64(uniform[j] % points)
                x = np.float64(abs(k - at(centre, i))) / t
                heads = coin(negative_log(e[j], f[j], s[j]), x, _COIN_ERROR)
                if uniform[j] > last or heads == 0:
                    todo[rejected] = i - done
                    rejected += 1
                elif heads == 1:
                    out[i] = k
                else:
                    pending[0] += 1
                    pending[pending[0]] = i
            left = rejected
            attempt += 1
        done += count
    return done
