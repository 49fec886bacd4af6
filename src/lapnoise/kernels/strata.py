"""Exact discrete Laplace noise with one of a few scales for each draw: ``kernels.discrete_laplace``, law by law.

The laws stand in a table, one row a stratum. What a batch needs of them is laid out in rows of its own first, so that
the loop over the logarithms stays free of lookups and vectorises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import fma64
from lapnoise._jit import kernel
from lapnoise.bits.chacha_lanes import BATCH_WORDS, refill
from lapnoise.kernels.batches import SCRATCH_WORDS, float64_rooms, word_room
from lapnoise.kernels.discrete_laplace import TAIL
from lapnoise.kernels.laplace import decompose, signed
from lapnoise.kernels.log import negative_log
from lapnoise.kernels.refined import magnitude_from_word

__all__ = ["STRATA_ROOM", "fill_discrete_laplace_strata"]

STRATA_ROOM = SCRATCH_WORDS + 2 * BATCH_WORDS
"""Length of the uint64 array in which the kernel works: 25 KiB."""

_UNDECIDED = -1.0
_SLACK = 80.0 * 2.0**-53
_LEAST_SLACK = 2.0**-50


@kernel
def fill_discrete_laplace_strata(
    out: Any, strata: Any, laws: Any, source: Any, position: int, room: Any, pending: Any
) -> int:
    """Write exact draws to ``out`` (int64), draw i of the scale ``laws[strata[i], 0]``.

    ``laws`` has a row (t, kappa as two floats, the certificate, t TAIL) for each stratum, t <= FAST_LIMIT. Returns how
    many draws were made before ``pending`` was full.
    """
    words = word_room(room)
    e, f, s = float64_rooms(room[:SCRATCH_WORDS])
    rows = room[SCRATCH_WORDS:].view(np.float64)
    t, kappa = rows[:BATCH_WORDS], rows[BATCH_WORDS:]
    first, second = laws[:, 0], laws[:, 1]
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + words.size < pending.size:
        skip, count = refill(words, source, position + done, out.size - done, 1)
        batch = words[skip : skip + count]
        target = out[done : done + count]
        which = strata[done : done + count]
        for i in range(count):
            row = np.uint64(which[i])  # an unsigned index needs no test for negative ones
            t[i] = first[row]
            kappa[i] = second[row]
        decompose(batch, e, f, s)
        doubtful = 0
        for i in range(count):
            y = fma64(t[i], negative_log(e[i], f[i], s[i]), kappa[i])
            m = np.floor(y)
            fraction = y - m
            # The certificate of each law, made here: the sum is monotone in t, so no row needs a lookup more.
            slack = fma64(t[i], _SLACK, _LEAST_SLACK)
            good = (fraction >= slack or m == 0.0) and fraction <= 1.0 - slack and y <= t[i] * TAIL
            e[i] = m if good else _UNDECIDED
            doubtful |= 0 if good else 1
        if doubtful:
            for i in range(count):
                if e[i] == _UNDECIDED:
                    law = laws[which[i]]
                    refined, decided = magnitude_from_word(batch[i], law[0], law[1], law[2])
                    if decided:
                        e[i] = np.float64(refined)
                    else:
                        pending[0] += 1
                        pending[pending[0]] = done + i
        for i in range(count):
            target[i] = np.int64(signed(max(e[i], 0.0), batch[i]))
        done += count
    return done
