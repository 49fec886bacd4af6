"""Exact discrete Gaussian noise, P(X = k) proportional to exp(-k^2 / (2 sigma^2)), by rejection from discrete Laplace.

An attempt draws Y, discrete Laplace of scale t = sigma, and keeps it with probability exp(-x),

    x = (abs(Y) - sigma)^2 / (2 sigma^2),

since exp(-abs(k) / sigma) exp(-(abs(k) - sigma)^2 / (2 sigma^2)) = exp(-k^2 / (2 sigma^2)) / sqrt(e). Some 1.32
attempts make a draw where sigma is large, and sqrt(e) = 1.65 where it is small.

References
----------
.. [1] C. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential Privacy", 2020 (arXiv 2004.00010),
   algorithm 3, with t = sigma.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._jit import kernel
from lapnoise.bits.chacha_lanes import BATCH_WORDS, WORD_ROOM, refill
from lapnoise.kernels.attempts import attempt_rooms, coin, energy_error, open_attempt
from lapnoise.kernels.discrete_laplace import LAW_SIZE, magnitudes
from lapnoise.kernels.laplace import decompose, signed
from lapnoise.kernels.log import negative_log

__all__ = ["COIN_ERROR", "fill_discrete_gaussian"]

COIN_ERROR = energy_error + 96.0 * 2.0**-53
"""Bound on the errors of x and of E together, for x <= 11.

abs(Y) - sigma, 1 / sigma and their product are rounded once each, the square and the half of it make 2 (3) + 1: a
relative 7.1 2^-53, which is 78 2^-53 at 11. The rest is margin.
"""


@kernel
def fill_discrete_gaussian(out: Any, law: Any, source: Any, position: int, room: Any, pending: Any) -> int:
    """Write exact draws to ``out`` (int64); return how many were made before ``pending`` was full.

    ``law`` is that of discrete Laplace noise of scale sigma <= FAST_LIMIT, and 1 / sigma after it. A draw any of whose
    attempts is not certain is left to ``pending``.
    """
    own, first, second, floats, integers = attempt_rooms(room)
    m, f, s = floats[:BATCH_WORDS], floats[BATCH_WORDS : 2 * BATCH_WORDS], floats[2 * BATCH_WORDS : 3 * BATCH_WORDS]
    energy, g, r = (
        floats[3 * BATCH_WORDS : 4 * BATCH_WORDS],
        floats[4 * BATCH_WORDS : 5 * BATCH_WORDS],
        floats[5 * BATCH_WORDS :],
    )
    places = integers[:BATCH_WORDS]
    sigma, inverse = law[0], law[LAW_SIZE]
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + WORD_ROOM < pending.size:
        count = min(out.size - done, BATCH_WORDS - ((position + done) & 127))  # what refill makes of it
        target = out[done : done + count]
        left = count
        for i in range(count):
            places[i] = i
        attempt = 0
        while left > 0:
            open_attempt(own, source, attempt, 0)
            skip, _ = refill(first, own, position + done, count, 1)
            open_attempt(own, source, attempt, 1)
            refill(second, own, position + done, count, 1)
            # The words of the draws still open move to the front: places increase, so none is overwritten unread.
            for i in range(left):
                first[i] = first[skip + places[i]]
                second[i] = second[skip + places[i]]
            before = pending[0]
            magnitudes(first[:left], law, m, f, s, pending, done)
            pending[0] = before  # it named them by their place among the open ones; m < 0 tells them too
            decompose(second[:left], energy, g, r)
            for i in range(left):
                energy[i] = negative_log(energy[i], g[i], r[i])
                z = (m[i] - sigma) * inverse
                f[i] = 0.5 * (z * z)
            still = 0
            for i in range(left):
                place = places[i]
                verdict = coin(energy[i], f[i], COIN_ERROR) if m[i] >= 0.0 else -1
                if verdict == 1:
                    target[place] = np.int64(signed(m[i], first[i]))
                elif verdict == 0:
                    places[still] = place
                    still += 1
                else:
                    target[place] = 0
                    pending[0] += 1
                    pending[pending[0]] = done + place
            left = still
            attempt += 1
        done += count
    return done
