"""Exact noise in the plane, P(z) proportional to exp(-alpha ||z||) over pairs z of integers, by whole attempts.

An attempt proposes two independent discrete Laplace variates of scale t, P proportional to exp(-(abs(x) + abs(y)) / t),
and keeps them with probability

    exp(-(alpha ||z|| - (abs(x) + abs(y)) / t)),

which is at most 1 because ||z|| >= (abs(x) + abs(y)) / sqrt(2) and t alpha >= sqrt(2). The share that is kept
goes to pi / 4 as alpha goes to 0.

References
----------
.. [1] M. E. Andrés, N. E. Bordenabe, K. Chatzikokolakis, C. Palamidessi, "Geo-indistinguishability: differential
   privacy for location-based systems", CCS 2013, section 4, for the law in the continuous plane. The proof for this
   one: docs/exact-sampling.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lapnoise._intrinsics import fma64
from lapnoise._jit import device, kernel
from lapnoise.bits.chacha_lanes import BATCH_WORDS, refill
from lapnoise.kernels.attempts import attempt_rooms, coin, energy_error, open_attempt
from lapnoise.kernels.discrete_laplace import magnitudes
from lapnoise.kernels.laplace import decompose, signed
from lapnoise.kernels.log import negative_log

__all__ = ["COIN_ROLE", "FARTHEST", "SLACK", "X_ROLE", "Y_ROLE", "fill_planar_laplace"]

X_ROLE, COIN_ROLE, Y_ROLE = 0, 1, 2

FARTHEST = 22.0
"""Proposals with (abs(x) + abs(y)) / t beyond this, 6e-9 of all, are left to integers, so that one bound serves all."""

SLACK = energy_error + 160.0 * 2.0**-53
"""Bound on the errors of the coin's two sides: the derivation gives 125 2^-53 for what stands beside the energy."""

_UNDECIDED = -1.0


@device
def _propose(target: Any, batch: Any, law: Any, e: Any, f: Any, s: Any, dump: Any) -> None:
    """Write the signed discrete Laplace variates of a batch of words; NaN where one is not decided."""
    dump[0] = 0
    magnitudes(batch, law, e, f, s, dump, 0)
    for k in range(batch.size):
        target[k] = math.nan if e[k] == _UNDECIDED else signed(e[k], batch[k])


@kernel
def fill_planar_laplace(out: Any, law: Any, alpha: float, source: Any, position: int, room: Any, pending: Any) -> int:
    """Write exact draws z to ``out`` (complex128, whole numbers); return how many before ``pending`` was full.

    ``law`` is that of the discrete Laplace variates, t <= FAST_LIMIT. The indices of draws with an attempt that is not
    certain are appended to ``pending``.
    """
    own, words, batch, floats, integers = attempt_rooms(room)
    e, f, s = floats[:BATCH_WORDS], floats[BATCH_WORDS : 2 * BATCH_WORDS], floats[2 * BATCH_WORDS : 3 * BATCH_WORDS]
    x, y = floats[3 * BATCH_WORDS : 4 * BATCH_WORDS], floats[4 * BATCH_WORDS : 5 * BATCH_WORDS]
    left = floats[5 * BATCH_WORDS :].view(np.int64)
    inverse_t = 1.0 / law[0]
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + words.size < pending.size:
        count = 0
        going = 1
        attempt = 0
        while going:
            # One place in the code for the three kinds of words, since what makes words is long and stands inline.
            for turn in range(3):
                role = X_ROLE if turn == 0 else Y_ROLE if turn == 1 else COIN_ROLE
                open_attempt(own, source, attempt, role)
                skip, count = refill(words, own, position + done, out.size - done, 1)
                if attempt == 0 and turn == 0:
                    going = count
                    for k in range(count):
                        left[k] = k
                for k in range(going):
                    batch[k] = words[skip + left[k]]
                if turn < 2:
                    _propose(x if turn == 0 else y, batch[:going], law, e, f, s, integers)
            decompose(batch[:going], e, f, s)
            stay = 0
            for k in range(going):
                size = abs(x[k]) + abs(y[k])
                excess = fma64(-size, inverse_t, alpha * math.sqrt(fma64(x[k], x[k], y[k] * y[k])))
                heads = coin(negative_log(e[k], f[k], s[k]), excess, SLACK)
                if not size * inverse_t <= FARTHEST:
                    heads = -1
                if heads == 1:
                    # x + 0.0 turns -0.0 into 0.0.
                    out[done + left[k]] = complex(x[k] + 0.0, y[k] + 0.0)
                elif heads == 0:
                    left[stay] = left[k]
                    stay += 1
                else:
                    pending[0] += 1
                    pending[pending[0]] = done + left[k]
            going = stay
            attempt += 1
        done += count
    return done
