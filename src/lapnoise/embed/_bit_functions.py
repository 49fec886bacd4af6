"""The C functions through which NumPy takes words, and the memory that they share. Importing it imports Numba.

Memory is an array of uint64: what a kernel takes as the source of a stream, the place in it, the half word kept back,
and a batch of words. The batch is the one that the place lies in, so that place modulo batch tells where the next word
is, and a new batch is due when that is 0. Whoever moves the place calls `fill`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, types
from numpy.typing import NDArray

from lapnoise._jit import c_function, device, kernel
from lapnoise.bits.chacha_lanes import BATCH_WORDS, SOURCE_WORDS, copy_words, refill

__all__ = ["FUNCTIONS", "HALF", "HALF_KEPT", "POSITION", "SOURCE_WORDS", "copy_words", "fill", "memory"]

POSITION = SOURCE_WORDS
"""Where the place of the next word stands."""

HALF_KEPT = SOURCE_WORDS + 1
"""Where it says, by 1 or 0, whether a half word is kept back."""

HALF = SOURCE_WORDS + 2
"""Where that half stands."""

_BATCH = 16
_WORDS = _BATCH + BATCH_WORDS
_CACHE_LINE = 64
_POINTER = types.CPointer(types.uint64)


def memory() -> NDArray[np.uint64]:
    """Return memory of a stream at its beginning, without a source, that begins on a cache line."""
    room = np.zeros(_WORDS + _CACHE_LINE // 8, np.uint64)
    start = -room.ctypes.data % _CACHE_LINE // 8
    return room[start : start + _WORDS]


@kernel
def fill(state: Any) -> None:
    """Make the batch that the place lies in."""
    place: Any = np.int64(state[POSITION])
    refill(state[_BATCH:_WORDS], state[:SOURCE_WORDS], place - place % BATCH_WORDS, BATCH_WORDS, 1)


@device
def _next_word(pointer: Any) -> Any:
    state = carray(pointer, (_WORDS,))
    place = state[POSITION]
    i = place % np.uint64(BATCH_WORDS)
    if i == np.uint64(0):
        fill(state)
    state[POSITION] = place + np.uint64(1)
    return state[np.uint64(_BATCH) + i]


@c_function(types.uint64(_POINTER))
def _next_uint64(pointer: Any) -> Any:
    return _next_word(pointer)


@c_function(types.uint32(_POINTER))
def _next_uint32(pointer: Any) -> Any:
    state = carray(pointer, (_WORDS,))
    if state[HALF_KEPT] != np.uint64(0):
        state[HALF_KEPT] = np.uint64(0)
        return np.uint32(state[HALF])
    word = _next_word(pointer)
    state[HALF_KEPT] = np.uint64(1)
    state[HALF] = word >> np.uint64(32)
    return np.uint32(word & np.uint64(0xFFFFFFFF))


@c_function(types.float64(_POINTER))
def _next_double(pointer: Any) -> Any:
    # NumPy's own map from words to [0, 1): multiples of 2^-53.
    return np.float64(_next_word(pointer) >> np.uint64(11)) * 2.0**-53


FUNCTIONS = (_next_uint64, _next_uint32, _next_double, _next_uint64)
"""In the order of NumPy's bitgen_t: next_uint64, next_uint32, next_double, next_raw."""
