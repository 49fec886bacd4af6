"""Laplace noise as a sign and the natural logarithm of its magnitude, for scales beyond the floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._jit import kernel
from lapnoise.bits.chacha_lanes import refill
from lapnoise.kernels.batches import at, float64_rooms, part, word_room
from lapnoise.kernels.laplace import decompose
from lapnoise.kernels.log import log_positive, negative_log

__all__ = ["fill_log_laplace"]

_ONE = np.uint64(1)


@kernel
def fill_log_laplace(log_abs: Any, sign: Any, log_scale: Any, source: Any, position: int, scratch: Any) -> None:
    """Write ln abs(x) and sign (int8, -1 or 1) of ``sign.size`` draws x of Laplace(0, exp(log_scale)), one word a draw.

    ln abs(x) = log_scale + ln E, E the magnitude that ``fill_laplace`` draws from the same word: from -44.4 to 3.8
    above log_scale, so nothing overflows.
    """
    words = word_room(scratch)
    e, f, s = float64_rooms(scratch)
    done = 0
    while done < sign.size:
        skip, count = refill(words, source, position + done, sign.size - done, 1)
        batch = words[skip : skip + count]
        decompose(batch, e, f, s)
        log_target = log_abs[done : done + count]
        sign_target = sign[done : done + count]
        log_scale_part = part(log_scale, done, count)
        for i in range(count):
            log_target[i] = at(log_scale_part, i) + log_positive(negative_log(e[i], f[i], s[i]))
        for i in range(count):
            sign_target[i] = np.int8(1) - np.int8(batch[i] & _ONE) * np.int8(2)
        done += count
