"""Device functions: the noise of `Generator`, bit for bit, inside loops that users compile with Numba themselves.

`reserve` takes a stretch of words from a Generator; the functions below, which jitted code calls (and Python may), make
draws of them, each addressed by its place, so that loops may run in any order and on any number of threads:

    source, position = jit.reserve(rng, x.size)

    @numba.njit(parallel=True)
    def twice_with_noise(x, scale, source, position):
        out = np.full(x.size, np.nan)  # never in place: where prange loses an exception, no noise is drawn
        for i in numba.prange(x.size):
            out[i] = 2.0 * x[i] + scale * jit.laplace_at(source, position + i)
        return out

Fastest are `fill_words` into a buffer of some hundred words and `laplace_from_word` in a loop over it, which is
compiled to vector instructions: 1.2 ns a draw. One at a time, `next_word` costs 4 and `laplace_at`, by its place, 100.

In some versions of Numba uint64 + int64 is float64, which loses words. A position that comes out as a float is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray
from numba.core import types
from numpy.typing import NDArray

from lapnoise._intrinsics import address_of, fma64, load_word, pointer_to_words, store_word
from lapnoise._jit import device, kernel, overload
from lapnoise.bits.chacha_lanes import GROUP_WORDS, SOURCE_WORDS, copy_words, word_of_group, write_group
from lapnoise.embed._guards import (
    JittedValueError,
    place_fits,
    refuse,
    require_law,
    require_parameter,
    require_place,
    scales_fit,
)
from lapnoise.embed._sources import discrete_law, finish, reserve, verify
from lapnoise.embed._types import (
    PENDING_ROOM,
    half_word_of,
    place_of,
    scratch_words,
    stack_of_integers,
    typed_cursor,
    typed_floats,
    typed_integers,
    typed_law,
    typed_source,
    typed_words,
    word_of,
)
from lapnoise.generator import Generator
from lapnoise.kernels.batches import SCRATCH_WORDS
from lapnoise.kernels.discrete_laplace import FAST_LIMIT
from lapnoise.kernels.discrete_laplace import fill_discrete_laplace as _fill_discrete
from lapnoise.kernels.discrete_laplace import fill_discrete_laplace_wide as _fill_discrete_wide
from lapnoise.kernels.laplace import fill_exponential as _fill_exponential
from lapnoise.kernels.laplace import fill_laplace as _fill_laplace
from lapnoise.kernels.laplace import signed
from lapnoise.kernels.laplace_float32 import fill_exponential32 as _fill_exponential32
from lapnoise.kernels.laplace_float32 import fill_laplace32 as _fill_laplace32
from lapnoise.kernels.laplace_float32 import signed32
from lapnoise.kernels.log import negative_log, negative_log32, ratio, ratio32
from lapnoise.kernels.refined import magnitude_from_word
from lapnoise.kernels.uniform import open01_from_half_word, open01_from_word

__all__ = [
    "add_laplace",
    "cursor",
    "discrete_laplace_from_word",
    "discrete_law",
    "exponential_from_word",
    "fill_discrete_laplace",
    "fill_exponential",
    "fill_laplace",
    "fill_words",
    "finish",
    "laplace_at",
    "laplace_from_half_word",
    "laplace_from_word",
    "next_word",
    "reserve",
    "verify",
    "word_at",
]

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


@device
def laplace_at(source: Any, position: Any) -> Any:
    """Return the standard Laplace draw at a position: ``laplace_from_word(word_at(source, position))``."""
    return laplace_from_word(word_at(source, position))


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


@device
def laplace_from_word(word: Any) -> Any:
    """Return the standard Laplace draw, float64, that a word makes.

    Parameters
    ----------
    word : uint64
        Bit 0 is the sign, the others make u = (2 j + 1) 2^-64 and the magnitude -log(u), within 2 ulp, from 2^-64 to
        44.4.

    Notes
    -----
    ``loc + scale * laplace_from_word(w)`` is what `Generator.laplace` makes of the word, bit for bit, unless the loop
    is compiled with ``fastmath``. A loop over words is compiled to vector instructions.
    """
    bits = word_of(word)
    e, f = open01_from_word(bits)
    return signed(negative_log(e, f, ratio(f)), bits)


@device
def exponential_from_word(word: Any) -> Any:
    """Return the standard exponential draw, float64, that a word makes: the magnitude of `laplace_from_word`."""
    e, f = open01_from_word(word_of(word))
    return negative_log(e, f, ratio(f))


@device
def laplace_from_half_word(half_word: Any) -> Any:
    """Return the standard Laplace draw, float32, that half a word makes.

    Parameters
    ----------
    half_word : uint32
        `Generator.laplace` takes the lower half of a word first: ``words.view(np.uint32)`` holds them in order. The
        magnitude reaches from 2^-32 to 22.2.
    """
    bits = half_word_of(half_word)
    e, f = open01_from_half_word(bits)
    return signed32(negative_log32(e, f, ratio32(f)), bits)


@device
def discrete_laplace_from_word(word: Any, law: Any) -> Any:
    """Return (draw, decided): the exact discrete Laplace draw that a word makes, int64, where the word decides it.

    Parameters
    ----------
    word : uint64
    law : array of float64, shape (5,)
        What `discrete_law` returned.

    Returns
    -------
    draw : int64
        0 where it is not decided.
    decided : bool
        False with a probability of some t 2^-57 + 2^-49. Then `finish` makes the draw of the word's place, with
        further words; taking another word instead would change the distribution.
    """
    typed_law(law)
    bits = word_of(word)
    require_law(law)
    t, kappa, slack = law[0], law[1], law[3]
    y = fma64(t, exponential_from_word(bits), kappa)
    m = np.floor(y)
    fraction = y - m
    certain = t <= FAST_LIMIT and y <= law[4] and fraction <= 1.0 - slack and (fraction >= slack or m == 0.0)
    magnitude, decided = np.int64(m) if certain else np.int64(0), certain
    if not certain:
        magnitude, decided = magnitude_from_word(bits, t, kappa, law[2])
    draw = magnitude if decided else np.int64(0)
    return (-draw if bits & np.uint64(1) else draw), decided


@device
def fill_laplace(out: Any, loc: Any, scale: Any, source: Any, position: Any) -> None:
    """Write draws of Laplace(loc, scale) to ``out``, as `Generator.laplace` makes them at a position.

    Parameters
    ----------
    out : array of float64 or float32, one-dimensional
        float64 takes a word a draw, float32 half a word.
    loc : float, or array like ``out``
    scale : float, or array like ``out``
        Finite, >= 0 and not -0.0.
    source, position
        As in `fill_words`; in float32 too the position counts words.

    Raises
    ------
    ValueError, OverflowError
        As in `Generator.laplace`, before a word is made; ``out`` is NaN then, because in `prange` Numba may lose an
        exception.

    Notes
    -----
    ``out`` must not overlap ``loc`` or ``scale``, unless it is the very array that ``loc`` is.
    """
    typed_floats(out)
    typed_source(source)
    first = place_of(position)
    _run_laplace(out, require_parameter(loc, out), require_parameter(scale, out), scale, source, first)


@device
def add_laplace(values: Any, scale: Any, source: Any, position: Any) -> None:
    """Add Laplace noise to ``values`` in place, as `Generator.add_laplace` does at a position; see `fill_laplace`."""
    typed_floats(values)
    typed_source(source)
    _run_laplace(values, None, require_parameter(scale, values), scale, source, place_of(position))


@device
def fill_exponential(out: Any, scale: Any, source: Any, position: Any) -> None:
    """Write draws of Exponential(scale) to ``out``: the magnitudes of `fill_laplace` about 0."""
    typed_floats(out)
    typed_source(source)
    _run_exponential(out, require_parameter(scale, out), scale, source, place_of(position))


@device
def fill_discrete_laplace(out: Any, law: Any, source: Any, position: Any, undecided: Any) -> int:
    """Write exact discrete Laplace draws to ``out``, as `Generator.discrete_laplace` makes them at a position.

    Parameters
    ----------
    out : array of int64, one-dimensional
    law : array of float64, shape (5,)
        What `discrete_law` returned.
    source, position
        As in `fill_words`.
    undecided : array of int64, one-dimensional
        Gets the indices of draws that their word does not decide, as many as it has room for; they hold 0. Of n draws
        some n (t 2^-57 + 2^-49) are.

    Returns
    -------
    int
        How many are undecided, room or not. `finish` makes them: ``out[where] = finish(law, source, position + where)``
        with ``where = undecided[:count]``.
    """
    typed_integers(out)
    typed_integers(undecided)
    typed_law(law)
    typed_source(source)
    first = place_of(position)
    require_place(source, first, out.size)
    require_law(law)
    scratch = carray(scratch_words(), SCRATCH_WORDS)
    pending = carray(stack_of_integers(), PENDING_ROOM)
    done, left_open = 0, 0
    while done < out.size:
        if law[0] <= FAST_LIMIT:
            count = _fill_discrete(out[done:], law, source, first + done, scratch, pending)
        else:
            count = _fill_discrete_wide(out[done:], law, source, first + done, scratch, pending)
        for k in range(pending[0]):
            where = done + pending[k + 1]
            out[where] = 0
            if left_open < undecided.size:
                undecided[left_open] = where
            left_open += 1
        done += count
    return left_open


def _run_laplace(out: Any, loc: Any, scale: Any, given: Any, source: Any, first: int) -> None:
    raise TypeError("only jitted code calls this")


@overload(_run_laplace)
def _run_laplace_typed(out: Any, loc: Any, scale: Any, given: Any, source: Any, first: int) -> Any:
    if out.dtype == types.float64:

        def double(out: Any, loc: Any, scale: Any, given: Any, source: Any, first: int) -> None:
            if not (place_fits(source, first, out.size) and scales_fit(given, out)):
                refuse(out, given, source, first, out.size)
            _fill_laplace(out, loc, scale, source, first, carray(scratch_words(), SCRATCH_WORDS))

        return double

    def single(out: Any, loc: Any, scale: Any, given: Any, source: Any, first: int) -> None:
        if not (place_fits(source, first, (out.size + 1) >> 1) and scales_fit(given, out)):
            refuse(out, given, source, first, (out.size + 1) >> 1)
        _fill_laplace32(out, loc, scale, source, 2 * first, carray(scratch_words(), SCRATCH_WORDS))

    return single


def _run_exponential(out: Any, scale: Any, given: Any, source: Any, first: int) -> None:
    raise TypeError("only jitted code calls this")


@overload(_run_exponential)
def _run_exponential_typed(out: Any, scale: Any, given: Any, source: Any, first: int) -> Any:
    if out.dtype == types.float64:

        def double(out: Any, scale: Any, given: Any, source: Any, first: int) -> None:
            if not (place_fits(source, first, out.size) and scales_fit(given, out)):
                refuse(out, given, source, first, out.size)
            _fill_exponential(out, scale, source, first, carray(scratch_words(), SCRATCH_WORDS))

        return double

    def single(out: Any, scale: Any, given: Any, source: Any, first: int) -> None:
        if not (place_fits(source, first, (out.size + 1) >> 1) and scales_fit(given, out)):
            refuse(out, given, source, first, (out.size + 1) >> 1)
        _fill_exponential32(out, scale, source, 2 * first, carray(scratch_words(), SCRATCH_WORDS))

    return single
