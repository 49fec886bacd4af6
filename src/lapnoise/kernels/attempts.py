"""What kernels share that reject whole attempts: words keyed by (position, attempt), and a certified coin.

Attempt a of the draw at position p takes word p of the streams id + 2^62 + 4 a + role, one role for each word it needs;
further word d of such a word is word p of that stream's id + 2^63 + d 2^40. So no draw depends on how often its
neighbours were rejected, and the word at p itself of the stream that is numbered id stays unused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._jit import device
from lapnoise.bits.chacha_lanes import BATCH_WORDS, SOURCE_WORDS, WORD_ROOM

__all__ = [
    "ATTEMPT_ROOM",
    "ATTEMPT_STREAMS",
    "ROLES",
    "TAIL_ENERGY",
    "attempt_rooms",
    "coin",
    "energy_error",
    "open_attempt",
]

ATTEMPT_STREAMS = 1 << 62
ROLES = 4

ATTEMPT_ROOM = SOURCE_WORDS + 2 * WORD_ROOM + 8 * BATCH_WORDS
"""Length of the uint64 array in which a kernel with attempts works: 46 KiB."""

TAIL_ENERGY = 11.0
"""Up to here ``energy_error`` bounds the error of E."""

energy_error = 80.0 * 2.0**-53 + 2.0**-50
"""Bound on the distance of a computed E = -ln U, for E <= 11, from that of every U in the cell of its word.

As in ``kernels.discrete_laplace.certificate``, with t = 1: the derivation gives 61 2^-53.
"""

_ATTEMPT_STREAMS = np.uint64(ATTEMPT_STREAMS)


@device
def open_attempt(own: Any, source: Any, attempt: Any, role: Any) -> None:
    """Write to ``own`` the source of the words that an attempt takes in a role."""
    for i in range(SOURCE_WORDS):
        own[i] = source[i]
    own[4] = source[4] + _ATTEMPT_STREAMS + np.uint64(ROLES * attempt + role)


@device
def attempt_rooms(room: Any) -> Any:
    """Return (own source, words, words, six float64 rows, two int64 rows), all parts of ``room``."""
    first = room[SOURCE_WORDS : SOURCE_WORDS + WORD_ROOM]
    second = room[SOURCE_WORDS + WORD_ROOM : SOURCE_WORDS + 2 * WORD_ROOM]
    rows = room[SOURCE_WORDS + 2 * WORD_ROOM :]
    floats = rows[: 6 * BATCH_WORDS].view(np.float64)
    integers = rows[6 * BATCH_WORDS :].view(np.int64)
    return room[:SOURCE_WORDS], first, second, floats, integers


@device
def coin(energy: Any, x: Any, error: Any) -> Any:
    """Return 1 if U < exp(-x) for the whole cell of a word, 0 if for none of it, and -1 if that is not certain.

    ``energy`` is the computed -ln U of the word. Requires x >= 0 and ``error`` to bound the error of x and
    ``energy_error`` together where x <= 11.
    """
    if energy > TAIL_ENERGY:
        # E may lie far from its cell's other end there, yet above 10 all the same.
        return 1 if x < TAIL_ENERGY - 1.0 else -1
    if x > TAIL_ENERGY:
        return 0 if energy < TAIL_ENERGY - 1.0 else -1
    if energy > x + error:
        return 1
    return 0 if energy < x - error else -1
