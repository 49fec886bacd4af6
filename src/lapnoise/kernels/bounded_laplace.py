"""Laplace noise conditioned on an interval, by inverting the conditioned distribution function.

A Laplace variate on one side of its centre is an exponential, and an exponential cut to an interval has no memory:
beyond the interval's nearer end it is again an exponential, cut to the interval's width. So the far tail costs no
accuracy, and no probability there is ever subtracted from one near 1.

The word is split between the two sides as an integer, in proportion to their masses, and what is left of it gives the
position on its side: near the centre and near both ends the draws are as fine as 64 bits allow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import bits_from_float64
from lapnoise._jit import device, kernel
from lapnoise.bits.chacha_lanes import refill
from lapnoise.kernels.batches import at, part, word_room
from lapnoise.kernels.exp import decay
from lapnoise.kernels.log import negative_log, ratio
from lapnoise.kernels.powers import CENTRE, inverse_power, power

__all__ = ["bounded_from_word", "fill_bounded_laplace"]

_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_WORDS = 2.0**64
_LARGEST_SHARE = 18446744073709549568.0  # the float64 below 2^64


@device
def cut_exponential(below: Any, above: Any, cells: Any, width: Any) -> Any:
    """Invert the distribution of a standard exponential conditioned on [0, width] at (below + 1/2) / cells.

    ``below`` and ``above`` count the cells on either side of the chosen one; cells = below + above + 1. With u the
    point and v = 1 - u, both exact to the last bit, the result is -log(1 - q), where q = u (1 - exp(-width)) and
    1 - q = v + u exp(-width): whichever is small is known in full.
    """
    u = (np.float64(below) + 0.5) / cells
    v = (np.float64(above) + 0.5) / cells
    far, near = decay(width)
    rest = v + u * far
    power_bits, e = power(bits_from_float64(rest) + CENTRE)
    f = rest * inverse_power(power_bits) - 1.0
    if e == 0.0:
        f = -u * near
    return negative_log(e, f, ratio(f))


@device
def bounded_from_word(word: Any, loc: Any, scale: Any, low: Any, high: Any) -> Any:
    """Return one draw of Laplace(loc, scale) conditioned on [low, high]."""
    if scale == 0.0:
        return min(max(loc, low), high)
    if low >= loc:
        drawn = low + scale * cut_exponential(word, word ^ _ALL, _WORDS, (high - low) / scale)
    elif high <= loc:
        drawn = high - scale * cut_exponential(word, word ^ _ALL, _WORDS, (high - low) / scale)
    else:
        left_width = (loc - low) / scale
        right_width = (high - loc) / scale
        _, left = decay(left_width)
        _, right = decay(right_width)
        # Both masses are 0 only where the whole interval is narrower than 1e-308 scale.
        share = left / (left + right) if left + right > 0.0 else 0.5
        cells = np.uint64(min(share * _WORDS, _LARGEST_SHARE))
        if word < cells:
            below, above = word, cells - _ONE - word
            drawn = loc - scale * cut_exponential(below, above, np.float64(cells), left_width)
        else:
            below, above = word - cells, word ^ _ALL
            drawn = loc + scale * cut_exponential(below, above, _WORDS - np.float64(cells), right_width)
    return min(max(drawn, low), high)


@kernel
def fill_bounded_laplace(
    out: Any, loc: Any, scale: Any, low: Any, high: Any, source: Any, position: int, scratch: Any
) -> None:
    """Write ``out.size`` draws of Laplace(loc, scale) conditioned on [low, high], one word a draw."""
    words = word_room(scratch)
    done = 0
    while done < out.size:
        skip, count = refill(words, source, position + done, out.size - done, 1)
        loc_part = part(loc, done, count)
        scale_part = part(scale, done, count)
        low_part = part(low, done, count)
        high_part = part(high, done, count)
        for i in range(count):
            out[done + i] = bounded_from_word(
                words[skip + i], at(loc_part, i), at(scale_part, i), at(low_part, i), at(high_part, i)
            )
        done += count
