"""Exact discrete Laplace noise, P(X = k) = (1 - q) / (1 + q) q^abs(k) with q = exp(-1/t), one word a draw.

The magnitude is M = floor(t (-ln U) + kappa), kappa = t ln(2 / (1 + q)), and the sign is a bit of its own: each sign
carries half of the mass at 0, so that nothing is rejected. U is known to lie in a cell of width 2^-63. The fast tier
computes y = t E + kappa in float64 and accepts floor(y) where y is farther from every integer than all errors and the
cell's width together; what it cannot certify goes to the refined tier, and what that cannot decide is left to integer
arithmetic with further words. So the result is a function of the words alone, whichever tier answered.

References
----------
.. [1] A. Ghosh, T. Roughgarden, M. Sundararajan, "Universally utility-maximizing privacy mechanisms", SIAM J. Comput.
   41
   (2012), for the distribution. The construction and its proof: docs/exact-sampling.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import fma64
from lapnoise._jit import device, kernel
from lapnoise.bits.chacha_lanes import refill
from lapnoise.kernels.batches import at, float64_rooms, part, word_room
from lapnoise.kernels.laplace import decompose, signed
from lapnoise.kernels.log import negative_log
from lapnoise.kernels.refined import magnitude_from_word

__all__ = [
    "FAST_LIMIT",
    "LAW_SIZE",
    "TAIL",
    "certificate",
    "fill_discrete_laplace",
    "fill_discrete_laplace_each",
    "fill_discrete_laplace_wide",
    "magnitudes",
]

TAIL = 11.0
"""Draws with E beyond this, 1.7e-5 of all, always go to the refined tier, so that one bound serves all others."""

FAST_LIMIT = 2.0**43
"""Largest t of the fast tier: it accepts 84 % of the draws there."""

LAW_SIZE = 5
"""Length of a law array: t, kappa as two floats, the certificate, and t TAIL."""

_UNDECIDED = -1.0


def certificate(t: float) -> float:
    """Return how far y must lie from an integer: 80 t 2^-53 + 2^-50.

    The derivation gives 61 t 2^-53 + 2^-52: 20.1 for the logarithm, 11 for the rounding of y, 29.3 for the cell, which
    reaches 1 / (2 j) to a side. The rest is margin.
    """
    return t * 80.0 * 2.0**-53 + 2.0**-50


@device
def magnitudes(batch: Any, law: Any, e: Any, f: Any, s: Any, pending: Any, first: int) -> Any:
    """Write the magnitudes of a batch of words over ``e``, as whole float64 numbers; t <= FAST_LIMIT.

    The indices, counted from ``first``, of those that stay undecided are appended to ``pending``, whose entry 0 is
    their number; their magnitude is then -1. Requires room for them there.
    """
    decompose(batch, e, f, s)
    t = law[0]
    kappa = law[1]
    slack = law[3]
    farthest = law[4]
    doubtful = 0
    for i in range(batch.size):
        y = fma64(t, negative_log(e[i], f[i], s[i]), kappa)
        m = np.floor(y)
        fraction = y - m
        # Below 0 there is no integer to mistake M for, so the lower side needs no distance at m = 0.
        good = (fraction >= slack or m == 0.0) and fraction <= 1.0 - slack and y <= farthest
        e[i] = m if good else _UNDECIDED
        doubtful |= 0 if good else 1
    if doubtful:
        for i in range(batch.size):
            if e[i] == _UNDECIDED:
                refined, decided = magnitude_from_word(batch[i], t, kappa, law[2])
                if decided:
                    e[i] = np.float64(refined)
                else:
                    pending[0] += 1
                    pending[pending[0]] = first + i


@kernel
def fill_discrete_laplace(out: Any, law: Any, source: Any, position: int, scratch: Any, pending: Any) -> int:
    """Write exact draws to ``out`` (int64); return how many were made before ``pending`` was full."""
    words = word_room(scratch)
    e, f, s = float64_rooms(scratch)
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + words.size < pending.size:
        skip, count = refill(words, source, position + done, out.size - done, 1)
        batch = words[skip : skip + count]
        magnitudes(batch, law, e, f, s, pending, done)
        target = out[done : done + count]
        for i in range(count):
            target[i] = np.int64(signed(max(e[i], 0.0), batch[i]))
        done += count
    return done


@kernel
def fill_discrete_laplace_wide(out: Any, law: Any, source: Any, position: int, scratch: Any, pending: Any) -> int:
    """Do the same for t beyond FAST_LIMIT, where every draw goes to the refined tier."""
    return _fill_refined(out, law[0], law[1], law[2], source, position, scratch, pending)


@kernel
def fill_discrete_laplace_each(
    out: Any, t: Any, kappa_high: Any, kappa_low: Any, source: Any, position: int, scratch: Any, pending: Any
) -> int:
    """Do the same with a t of its own for each draw."""
    return _fill_refined(out, t, kappa_high, kappa_low, source, position, scratch, pending)


@device
def _fill_refined(
    out: Any, t: Any, kappa_high: Any, kappa_low: Any, source: Any, position: int, scratch: Any, pending: Any
) -> int:
    words = word_room(scratch)
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + words.size < pending.size:
        skip, count = refill(words, source, position + done, out.size - done, 1)
        t_part = part(t, done, count)
        high_part = part(kappa_high, done, count)
        low_part = part(kappa_low, done, count)
        for i in range(count):
            word = words[skip + i]
            m, decided = magnitude_from_word(word, at(t_part, i), at(high_part, i), at(low_part, i))
            out[done + i] = -m if word & np.uint64(1) else m
            if not decided:
                pending[0] += 1
                pending[pending[0]] = done + i
        done += count
    return done
