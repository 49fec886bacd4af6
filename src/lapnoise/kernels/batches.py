"""What the fill kernels share: the layout of scratch, and parameters that are one number or one for each draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from lapnoise._jit import device, overload
from lapnoise.bits.chacha_lanes import BATCH_WORDS, WORD_ROOM

__all__ = ["SCRATCH_WORDS", "at", "float32_rooms", "float64_rooms", "location", "part", "word_room"]

SCRATCH_WORDS = WORD_ROOM + 3 * BATCH_WORDS
"""Length of the uint64 scratch array of a kernel: 17 KiB, words first, then three rows of floats."""


@device
def word_room(scratch: Any) -> Any:
    """Return the place for the words of a batch."""
    return scratch[:WORD_ROOM]


@device
def float64_rooms(scratch: Any) -> Any:
    """Return three float64 arrays for what is made of each word of a batch."""
    floats = scratch[WORD_ROOM:].view(np.float64)
    return floats[:BATCH_WORDS], floats[BATCH_WORDS : 2 * BATCH_WORDS], floats[2 * BATCH_WORDS :]


@device
def float32_rooms(scratch: Any) -> Any:
    """Return three float32 arrays for what is made of each half word of a batch."""
    floats = scratch[WORD_ROOM:].view(np.float32)
    size = 2 * BATCH_WORDS
    return floats[:size], floats[size : 2 * size], floats[2 * size :]


def location(loc: Any, target: Any, i: int) -> Any:
    """Return ``at(loc, i)``, or ``target[i]`` where loc is None: noise is added to what stands in the target.

    The same array as both loc and out would do, but then two pointers may overlap for all that the compiler knows, and
    it falls back to one draw at a time: 2.1 against 0.9 ns.
    """
    raise TypeError("only jitted code calls this")


def part(parameter: Any, start: int, count: int) -> Any:
    """Return ``count`` entries of an array parameter, and a number as it is."""
    raise TypeError("only jitted code calls this")


def at(parameter: Any, i: int) -> Any:
    """Return entry i of an array parameter, and a number as it is."""
    raise TypeError("only jitted code calls this")


@overload(part)
def _part(parameter: Any, start: Any, count: Any) -> Any:
    if isinstance(parameter, types.Array):
        return lambda parameter, start, count: parameter[start : start + count]
    return lambda parameter, start, count: parameter


@overload(location)
def _location(loc: Any, target: Any, i: Any) -> Any:
    if loc == types.none:
        return lambda loc, target, i: target[i]
    if isinstance(loc, types.Array):
        return lambda loc, target, i: loc[i]
    return lambda loc, target, i: loc


@overload(at)
def _at(parameter: Any, i: Any) -> Any:
    if isinstance(parameter, types.Array):
        return lambda parameter, i: parameter[i]
    return lambda parameter, i: parameter
