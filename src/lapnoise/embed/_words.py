"""Words of a stream for jitted code: many at once, one by its place, and one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray
from numpy.typing import NDArray

from lapnoise._intrinsics import address_of, load_word, pointer_to_words, store_word
from lapnoise._jit import device, kernel
from lapnoise.bits.chacha_lanes import GROUP_WORDS, SOURCE_WORDS, copy_words, word_of_group, write_group
from lapnoise.embed._guards import JittedValueError, require_place
from lapnoise.embed._sources import reserve
from lapnoise.embed._types import place_of, scratch_words, typed_cursor, typed_source, typed_words
from lapnoise.generator import Generator
from lapnoise.kernels.batches import SCRATCH_WORDS

__all__ = ["CURSOR_END", "CURSOR_NEXT", "CURSOR_WORDS", "cursor", "fill_words", "next_word", "word_at"]

CURSOR_NEXT = SOURCE_WORDS
CURSOR_END = SOURCE_WORDS + 1
_BUFFER = SOURCE_WORDS + 2
CURSOR_WORDS = _BUFFER + GROUP_WORDS
_IN_GROUP = np.uint64(GROUP_WORDS - 1)
_GROUP_SHIFT = np.uint64(7)


@device
def fill_words(out: Any, source: Any, position: Any) -> None:
    """Write the words of a stream from a position on to ``out``.

    Parameters
    ----------
    out : array of uint64, one-dimensional
        Its length is the number of words.
    source : array of uint64, shape (6,)
        What `reserve` returned.
    position : int
        Place of the first word; 0 to 2^62 less the length.

    Raises
    ------
    ValueError
        If the words would leave the stream, or ``source`` is none. Compiling fails where ``position`` is a float.
    """
    typed_words(out)
    typed_source(source)
    first = place_of(position)
    require_place(source, first, out.size)
    copy_words(out, source, first, carray(scratch_words(), SCRATCH_WORDS))


@device
def word_at(source: Any, position: Any) -> Any:
    """Return the word of a stream at a position, uint64: 128 are made for it, some 100 ns.

    Parameters
    ----------
    source, position
        As in `fill_words`.
    """
    typed_source(source)
    place = place_of(position)
    require_place(source, place, 1)
    return word_of_group(source, np.uint64(place >> 7), place & 127)


def cursor(rng: Generator, words: int) -> NDArray[np.uint64]:
    """Reserve words of a generator for `next_word`, which gives them out one after the other.

    Parameters
    ----------
    rng : Generator
    words : int
        How many may be asked for, >= 0. Those that are not are lost.

    Returns
    -------
    ndarray of uint64, shape (136,)
        For one thread at a time. It holds the key of the generator.

    Raises
    ------
    TypeError, ValueError, OverflowError, RuntimeError
        As in `reserve`.
    """
    source, position = reserve(rng, words)
    state = np.zeros(CURSOR_WORDS, np.uint64)
    state[:SOURCE_WORDS] = source
    state[CURSOR_NEXT] = position
    state[CURSOR_END] = position + words
    if position % GROUP_WORDS:
        _make_group(state.ctypes.data)
    return state


@kernel
def _make_group(address: int) -> None:
    """Make the group of words in which the next one of the cursor at an address lies."""
    state = carray(pointer_to_words(address), CURSOR_WORDS)
    write_group(state, _BUFFER, state, state[CURSOR_NEXT] >> _GROUP_SHIFT)


@device
def next_word(cursor: Any) -> Any:
    """Return the next word of a `cursor`, uint64.

    Raises
    ------
    ValueError
        If all of its words were given out, or the array is no cursor.
    """
    typed_cursor(cursor)
    # By its address: for an array Numba counts the references in a function that may raise, 12 against 4 ns a draw.
    return _next_word(address_of(cursor), cursor.size)


@device
def _next_word(address: int, size: int) -> Any:
    if size != CURSOR_WORDS:
        raise JittedValueError("cursor must be an array as cursor() returns it, got {} words", size)
    position = load_word(address, 8 * CURSOR_NEXT)
    if position >= load_word(address, 8 * CURSOR_END):
        raise JittedValueError("cursor must be reserved for all words that are taken of it; it ends at {}", position)
    place = position & _IN_GROUP
    if place == 0:
        _make_group(address)
    store_word(address, 8 * CURSOR_NEXT, position + np.uint64(1))
    return load_word(address, 8 * (np.int64(place) + _BUFFER))
