"""The kernels as C functions, for ctypes, cffi, Cython, C programs and SciPy's LowLevelCallable.

Each name below is a function that is compiled when its ``address`` (an int) or its ``ctypes`` (a callable) is first
asked for, and cached on disk. `include` is the folder of the C header that documents and declares them all.
"""

from __future__ import annotations

import ctypes
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numba import carray

from lapnoise import _check
from lapnoise._check import FLOAT64
from lapnoise._intrinsics import address_of_pointer, float64_from_bits
from lapnoise._jit import CFunction, c_function, device, overload
from lapnoise.bits.chacha_lanes import SOURCE_WORDS
from lapnoise.embed import jit
from lapnoise.embed._guards import law_is_right, scale_is_right, scale_is_right32, source_is_right, stretch_is_right
from lapnoise.embed._sources import discrete_law, finish, reserve
from lapnoise.embed._words import CURSOR_END, CURSOR_NEXT, CURSOR_WORDS, cursor
from lapnoise.generator import Generator
from lapnoise.kernels.discrete_laplace import LAW_SIZE

__all__ = [
    "LAW",
    "LENGTH",
    "MISALIGNED",
    "NULL",
    "OK",
    "POSITION",
    "SCALE",
    "SOURCE",
    "CFunction",
    "add_laplace",
    "add_laplace32",
    "cursor",
    "declarations",
    "discrete_law",
    "exponential_from_word",
    "fill_discrete_laplace",
    "fill_exponential",
    "fill_exponential32",
    "fill_laplace",
    "fill_laplace32",
    "fill_words",
    "filter_line",
    "finish",
    "include",
    "laplace_from_half_word",
    "laplace_from_word",
    "line_noise",
    "next_word",
    "reserve",
]

# As enum lapnoise_code of the header.
OK, NULL, MISALIGNED, LENGTH, SOURCE, POSITION, SCALE, LAW = 0, -1, -2, -3, -4, -5, -6, -7

_LONGEST = 2**60  # entries: more bytes than can be addressed
_LINE_SCALE = SOURCE_WORDS + 2
_LINE_WORDS = SOURCE_WORDS + 3


def include() -> str:
    """Return the folder in which ``lapnoise.h`` lies, for a compiler's ``-I``."""
    return str(Path(str(resources.files("lapnoise.embed"))))


def declarations() -> str:
    """Return the header's declarations without its directives, as ``cffi.FFI().cdef`` takes them."""
    text = resources.files("lapnoise.embed").joinpath("lapnoise.h").read_text()
    return re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)


def _entry_size(pointer: Any) -> Any:
    """Return the size in bytes of what a pointer points to."""
    raise TypeError("only jitted code calls this")


@overload(_entry_size)
def _entry_size_typed(pointer: Any) -> Any:
    size = pointer.dtype.bitwidth // 8
    return lambda pointer: size


@device
def _refused(array: Any, n: int) -> int:
    """Return what is wrong with a pointer to n entries."""
    address = address_of_pointer(array)
    if address == 0:
        return NULL
    if address % _entry_size(array) != 0:
        return MISALIGNED
    return OK if n >= 0 and n <= _LONGEST else LENGTH


@device
def _refused_draws(array: Any, n: int, scale: float, source: Any, position: int) -> int:
    """Return what is wrong with a call that writes n draws of a scale to an array."""
    single = _entry_size(array) == 4
    refused = _refused(array, n)
    if refused == OK:
        refused = _refused(source, SOURCE_WORDS)
    if refused != OK:
        return refused
    if not source_is_right(carray(source, SOURCE_WORDS)):
        return SOURCE
    if not stretch_is_right(position, (n + 1) >> 1 if single else n):
        return POSITION
    right = scale_is_right32(np.float64(scale)) if single else scale_is_right(np.float64(scale))
    return OK if right else SCALE


@c_function("int64(CPointer(uint64), int64, CPointer(uint64), int64)")
def fill_words(out: Any, n: int, source: Any, position: int) -> int:
    """Write the words from a position on."""
    refused = _refused_draws(out, n, 1.0, source, position)
    if refused == OK:
        jit.fill_words(carray(out, n), carray(source, SOURCE_WORDS), position)
    return refused


@device
def _filled(out: Any, n: int, loc: float, scale: float, source: Any, position: int) -> int:
    refused = _refused_draws(out, n, scale, source, position)
    if refused == OK:
        jit.fill_laplace(carray(out, n), loc, scale, carray(source, SOURCE_WORDS), position)
    return refused


@c_function("int64(CPointer(float64), int64, float64, float64, CPointer(uint64), int64)")
def fill_laplace(out: Any, n: int, loc: float, scale: float, source: Any, position: int) -> int:
    """Write draws of Laplace(loc, scale)."""
    return _filled(out, n, loc, scale, source, position)


@c_function("int64(CPointer(float32), int64, float32, float32, CPointer(uint64), int64)")
def fill_laplace32(out: Any, n: int, loc: float, scale: float, source: Any, position: int) -> int:
    """Write float32 draws of Laplace(loc, scale)."""
    return _filled(out, n, loc, scale, source, position)


@device
def _added(values: Any, n: int, scale: float, source: Any, position: int) -> int:
    refused = _refused_draws(values, n, scale, source, position)
    if refused == OK:
        jit.add_laplace(carray(values, n), scale, carray(source, SOURCE_WORDS), position)
    return refused


@c_function("int64(CPointer(float64), int64, float64, CPointer(uint64), int64)")
def add_laplace(values: Any, n: int, scale: float, source: Any, position: int) -> int:
    """Add noise of Laplace(0, scale) in place."""
    return _added(values, n, scale, source, position)


@c_function("int64(CPointer(float32), int64, float32, CPointer(uint64), int64)")
def add_laplace32(values: Any, n: int, scale: float, source: Any, position: int) -> int:
    """Add float32 noise of Laplace(0, scale) in place."""
    return _added(values, n, scale, source, position)


@device
def _filled_exponential(out: Any, n: int, scale: float, source: Any, position: int) -> int:
    refused = _refused_draws(out, n, scale, source, position)
    if refused == OK:
        jit.fill_exponential(carray(out, n), scale, carray(source, SOURCE_WORDS), position)
    return refused


@c_function("int64(CPointer(float64), int64, float64, CPointer(uint64), int64)")
def fill_exponential(out: Any, n: int, scale: float, source: Any, position: int) -> int:
    """Write draws of Exponential(scale)."""
    return _filled_exponential(out, n, scale, source, position)


@c_function("int64(CPointer(float32), int64, float32, CPointer(uint64), int64)")
def fill_exponential32(out: Any, n: int, scale: float, source: Any, position: int) -> int:
    """Write float32 draws of Exponential(scale)."""
    return _filled_exponential(out, n, scale, source, position)


@c_function("int64(CPointer(int64), int64, CPointer(float64), CPointer(uint64), int64, CPointer(int64), int64)")
def fill_discrete_laplace(out: Any, n: int, law: Any, source: Any, position: int, undecided: Any, room: int) -> int:
    """Write exact discrete Laplace draws; return how many their word leaves undecided."""
    refused = _refused_draws(out, n, 1.0, source, position)
    if refused == OK:
        refused = _refused(law, LAW_SIZE)
    if refused == OK:
        refused = _refused(undecided, room)
    if refused != OK:
        return refused
    numbers = carray(law, LAW_SIZE)
    if not law_is_right(numbers):
        return LAW
    places = carray(undecided, room)
    return jit.fill_discrete_laplace(carray(out, n), numbers, carray(source, SOURCE_WORDS), position, places)


@c_function("int64(CPointer(uint64), CPointer(uint64))")
def next_word(cursor: Any, word: Any) -> int:
    """Write the next word of a cursor."""
    refused = _refused_draws(word, 1, 1.0, cursor, 0)
    if refused != OK:
        return refused
    state = carray(cursor, CURSOR_WORDS)
    if state[CURSOR_NEXT] >= state[CURSOR_END]:
        return POSITION
    carray(word, 1)[0] = jit.next_word(state)
    return OK


@c_function("float64(uint64)")
def laplace_from_word(word: int) -> Any:
    """Return the standard Laplace draw of a word."""
    return jit.laplace_from_word(word)


@c_function("float64(uint64)")
def exponential_from_word(word: int) -> Any:
    """Return the standard exponential draw of a word."""
    return jit.exponential_from_word(word)


@c_function("float32(uint32)")
def laplace_from_half_word(half_word: int) -> Any:
    """Return the standard float32 Laplace draw of half a word."""
    return jit.laplace_from_half_word(half_word)


@c_function("int32(CPointer(float64), intp, CPointer(float64), intp, voidptr)")
def filter_line(line: Any, n: int, out: Any, out_n: int, state: Any) -> int:
    """Write the middle of a line with noise added; return 1, or 0 if something is wrong."""
    origin = address_of_pointer(state)
    if origin == 0 or origin % 8 != 0 or _refused(line, n) != OK:
        return 0
    words = carray(state, _LINE_WORDS, np.uint64)
    position: Any = np.int64(words[CURSOR_NEXT])
    end = np.int64(words[CURSOR_END])
    scale = float64_from_bits(words[_LINE_SCALE])
    source = words[:SOURCE_WORDS]
    if _refused(out, out_n) != OK or not source_is_right(source) or not scale_is_right(scale):
        return 0
    margin = (n - out_n) >> 1
    if margin < 0 or position > end - out_n or not stretch_is_right(position, out_n):
        return 0
    target, values = carray(out, out_n), carray(line, n)
    for i in range(out_n):
        target[i] = values[margin + i]
    jit.add_laplace(target, scale, source, position)
    words[CURSOR_NEXT] = np.uint64(position + out_n)
    return 1


def line_noise(rng: Generator, scale: float, words: int) -> Any:
    """Return a LowLevelCallable by which `scipy.ndimage.generic_filter1d` adds Laplace noise to the lines of an array.

    Parameters
    ----------
    rng : Generator
        It moves on by ``words``.
    scale : float
        b, finite and >= 0.
    words : int
        Values that noise will be added to: one word each. A call that would take more fails.

    Returns
    -------
    scipy.LowLevelCallable
        For one use by one thread; with ``filter_size=1`` lines are what they are in the array.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As in `reserve` and `Generator.laplace`.

    Examples
    --------
    >>> import lapnoise, numpy, scipy.ndimage
    >>> image = numpy.zeros((3, 4))
    >>> noise = line_noise(lapnoise.default_rng(7), 2.0, image.size)
    >>> noisy = scipy.ndimage.generic_filter1d(image, noise, filter_size=1)
    >>> bool((noisy == lapnoise.default_rng(7).laplace(0, 2.0, (3, 4))).all())
    True
    """
    from scipy import LowLevelCallable

    checked = _check.scalar("scale", _check.scale(scale, FLOAT64))
    source, position = reserve(rng, words)
    state = (ctypes.c_uint64 * _LINE_WORDS)(*source.tolist(), position, position + words)
    state[_LINE_SCALE] = int(np.float64(checked).view(np.uint64))
    # The cast keeps the array it was made of alive, and the callable keeps the cast.
    return LowLevelCallable(filter_line.ctypes, ctypes.cast(state, ctypes.c_void_p))
