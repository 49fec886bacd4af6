"""The kernels' arithmetic on words of a test's choosing: each map is made of the device functions that the kernels use.

That the kernels do the same with the words of a stream is a test of its own (kernels/test_kernels.py).
"""

from functools import cache
from types import ModuleType

import numba
import numpy as np
from numpy.typing import NDArray

from lapnoise.kernels import laplace, laplace_float32, log, uniform
from lapnoise.kernels.bounded_laplace import bounded_from_word

jit = numba.njit(error_model="numpy", nogil=True)

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]


def as_words(words) -> Words:
    """Return Python integers or arrays as uint64."""
    return np.asarray(words, np.uint64)


def as_half_words(half_words) -> NDArray[np.uint32]:
    """Return Python integers or arrays as uint32."""
    return np.asarray(half_words, np.uint32)


def laplace_draws(words, loc: float = 0.0, scale: float = 1.0) -> Floats:
    """Return the draws of Laplace(loc, scale) by inverse transform, one a word."""
    return _laplace(as_words(words), float(loc), float(scale))


def laplace_draws32(half_words, loc: float = 0.0, scale: float = 1.0) -> NDArray[np.float32]:
    """Return the float32 draws of Laplace(loc, scale) by inverse transform, one a half word."""
    return _laplace32(as_half_words(half_words), np.float32(loc), np.float32(scale))


def difference_draws(first, second, loc: float = 0.0, scale: float = 1.0) -> Floats:
    """Return the draws of Laplace(loc, scale) as a difference of exponentials, from two words each."""
    return _difference(as_words(first), as_words(second), float(loc), float(scale))


def difference_draws32(first, second, loc: float = 0.0, scale: float = 1.0) -> NDArray[np.float32]:
    """Return the float32 draws of the difference of exponentials, from two half words each."""
    return _difference32(as_half_words(first), as_half_words(second), np.float32(loc), np.float32(scale))


def bounded_draws(words, loc: float, scale: float, low: float, high: float) -> Floats:
    """Return the draws of Laplace(loc, scale) conditioned on [low, high], one a word."""
    return _bounded(as_words(words), float(loc), float(scale), float(low), float(high))


def log_magnitudes(words) -> Floats:
    """Return ln E of each word, E being the magnitude of its standard draw."""
    return _log_magnitudes(as_words(words))


def magnitudes(words, uniform: ModuleType = uniform, log: ModuleType = log) -> Floats:
    """Return -log(u) of each word, with mutants in place of the modules if so wished."""
    return _magnitudes(uniform, log)(as_words(words))


def magnitudes32(half_words, log: ModuleType = log) -> NDArray[np.float32]:
    """Return -log(u) of each half word, with a mutant in place of the logarithm if so wished."""
    return _magnitudes32(log)(as_half_words(half_words))


def ratios(first, second, uniform: ModuleType = uniform, log: ModuleType = log) -> Floats:
    """Return log(u1 / u2) of each pair of words, with mutants in place of the modules if so wished."""
    return _ratios(uniform, log)(as_words(first), as_words(second))


@cache
def _magnitudes(uniform: ModuleType, log: ModuleType):
    open01, ratio, negative_log = uniform.open01_from_word, log.ratio, log.negative_log

    @jit
    def run(words):
        out = np.empty(words.size)
        for i in range(words.size):
            e, f = open01(words[i])
            out[i] = negative_log(e, f, ratio(f))
        return out

    return run


@cache
def _magnitudes32(log: ModuleType):
    ratio32, negative_log32 = log.ratio32, log.negative_log32

    @jit
    def run(half_words):
        out = np.empty(half_words.size, np.float32)
        for i in range(half_words.size):
            e, f = uniform.open01_from_half_word(half_words[i])
            out[i] = negative_log32(e, f, ratio32(f))
        return out

    return run


@cache
def _ratios(uniform: ModuleType, log: ModuleType):
    halves, log_of_ratio = uniform.halves, log.log_of_ratio

    @jit
    def run(first, second):
        out = np.empty(first.size)
        for i in range(first.size):
            high1, low1 = halves(first[i])
            high2, low2 = halves(second[i])
            out[i] = log_of_ratio(high1, low1, high2, low2)
        return out

    return run


@jit
def _laplace(words, loc, scale):
    e, f, s, out = np.empty(words.size), np.empty(words.size), np.empty(words.size), np.empty(words.size)
    laplace.decompose(words, e, f, s)
    for i in range(words.size):
        out[i] = loc + laplace.signed(scale * log.negative_log(e[i], f[i], s[i]), words[i])
    return out


@jit
def _laplace32(half_words, loc, scale):
    e = np.empty(half_words.size, np.float32)
    f, s, out = np.empty_like(e), np.empty_like(e), np.empty_like(e)
    laplace_float32.decompose32(half_words, e, f, s)
    for i in range(half_words.size):
        out[i] = loc + laplace_float32.signed32(scale * log.negative_log32(e[i], f[i], s[i]), half_words[i])
    return out


@jit
def _difference(first, second, loc, scale):
    out = np.empty(first.size)
    for i in range(first.size):
        high1, low1 = uniform.halves(first[i])
        high2, low2 = uniform.halves(second[i])
        out[i] = loc + scale * log.log_of_ratio(high2, low2, high1, low1)
    return out


@jit
def _difference32(first, second, loc, scale):
    out = np.empty(first.size, np.float32)
    for i in range(first.size):
        high1, low1 = uniform.halves32(first[i])
        high2, low2 = uniform.halves32(second[i])
        out[i] = loc + scale * log.log_of_ratio32(high2, low2, high1, low1)
    return out


@jit
def _bounded(words, loc, scale, low, high):
    out = np.empty(words.size)
    for i in range(words.size):
        out[i] = bounded_from_word(words[i], loc, scale, low, high)
    return out


@jit
def _log_magnitudes(words):
    out = np.empty(words.size)
    for i in range(words.size):
        e, f = uniform.open01_from_word(words[i])
        out[i] = log.log_positive(log.negative_log(e, f, log.ratio(f)))
    return out
