"""Keys of which the least decides a selection, each as two bounds, from one word a candidate.

A word gives a unit exponential E = -ln U, U uniform, and a candidate has an offset. In the exponential mechanism the
key is ln E + x - ln m, with x - ln m the offset: the least of independent exponentials of rates m exp(-x) [1]_ belongs
to candidate i with probability m_i exp(-x_i) over their sum. In permute-and-flip it is x - E: the greatest score with
exponential noise [2]_.

The bounds hold for every U in the cell of the word, so a candidate whose lower bound is above another's upper bound has
lost, whatever further bits say. Nothing branches on a score or a word.

Error. E lies within 2^-51 of -ln u, relatively, u being the middle of the cell; the two bounds allow

    2^-36 + 2^-48 abs(offset) + what the cell allows.

Of that ln E takes 2^-51 and 2^-46 (2 ulp of a number up to 44.4) and E itself 44.4 2^-51; an offset takes its own
error, a relative 2^-50 of x and 4 ulp of ln m, which is at most 745, so 2^-41; the sums take 2^-52 of their terms. For
U in the cell -ln U is within w = 1 / (2 j) of -ln u, so that ln E is within 2 w / E where w <= E / 2.

References
----------
.. [1] F. McSherry, K. Talwar, "Mechanism design via differential privacy", FOCS 2007, for the distribution.
.. [2] Z. Ding et al., "The permute-and-flip mechanism is identical to report-noisy-max with exponential noise", 2021
   (arXiv 2105.07260); R. McKenna, D. Sheldon, "Permute-and-flip", NeurIPS 2020.
"""

from __future__ import annotations

from typing import Any

from lapnoise._jit import device, kernel
from lapnoise.bits.chacha_lanes import refill
from lapnoise.kernels.batches import float64_rooms, word_room
from lapnoise.kernels.laplace import decompose
from lapnoise.kernels.log import log_positive, negative_log
from lapnoise.kernels.uniform import halves

__all__ = [
    "SLACK",
    "SLACK_PER_UNIT",
    "exponential_bounds",
    "fill_exponential_bounds",
    "fill_flip_bounds",
    "flip_bounds",
]

SLACK = 2.0**-36
SLACK_PER_UNIT = 2.0**-48

_CELL = 2.0**-64
_CELL_UP = 2.0**-64 * (1.0 + 2.0**-40)
_INFINITY = float("inf")


@device
def reach(word: Any) -> Any:
    """Return at least 1 / (2 j), how far -ln U reaches to either side in the cell of a word; infinity for j = 0."""
    high, low = halves(word)
    return _CELL_UP / (high + (low - _CELL))


@device
def exponential_bounds(batch: Any, offset: Any, low: Any, high: Any, e: Any, f: Any, s: Any) -> None:
    """Write bounds of ln E + offset for a batch of words; -inf and inf where the word tells nothing."""
    decompose(batch, e, f, s)
    for i in range(batch.size):
        e[i] = negative_log(e[i], f[i], s[i])
        f[i] = reach(batch[i]) / e[i]
    for i in range(batch.size):
        spread = 2.0 * f[i] if f[i] < 0.5 else _INFINITY
        spread += SLACK + SLACK_PER_UNIT * abs(offset[i])
        key = log_positive(e[i]) + offset[i]
        low[i] = key - spread
        high[i] = key + spread


@device
def flip_bounds(batch: Any, offset: Any, low: Any, high: Any, e: Any, f: Any, s: Any) -> None:
    """Write bounds of offset - E for a batch of words; -inf and inf where the word tells nothing."""
    decompose(batch, e, f, s)
    for i in range(batch.size):
        spread = reach(batch[i]) + (SLACK + SLACK_PER_UNIT * abs(offset[i]))
        key = offset[i] - negative_log(e[i], f[i], s[i])
        low[i] = key - spread
        high[i] = key + spread


@kernel
def fill_exponential_bounds(low: Any, high: Any, offset: Any, source: Any, position: int, scratch: Any) -> None:
    """Write the bounds of ``low.size`` candidates of the exponential mechanism, from the words at ``position`` on."""
    words = word_room(scratch)
    e, f, s = float64_rooms(scratch)
    done = 0
    while done < low.size:
        skip, count = refill(words, source, position + done, low.size - done, 1)
        end = done + count
        exponential_bounds(words[skip : skip + count], offset[done:end], low[done:end], high[done:end], e, f, s)
        done = end


@kernel
def fill_flip_bounds(low: Any, high: Any, offset: Any, source: Any, position: int, scratch: Any) -> None:
    """Do the same for permute-and-flip."""
    words = word_room(scratch)
    e, f, s = float64_rooms(scratch)
    done = 0
    while done < low.size:
        skip, count = refill(words, source, position + done, low.size - done, 1)
        end = done + count
        flip_bounds(words[skip : skip + count], offset[done:end], low[done:end], high[done:end], e, f, s)
        done = end
