"""Kernels on a stream, against the maps of from_words on the words of that stream."""

import numba
import numpy as np
import pytest
from from_words import (
    bounded_draws,
    difference_draws,
    difference_draws32,
    laplace_draws,
    laplace_draws32,
    log_magnitudes,
)

from lapnoise import default_rng
from lapnoise._kernel_table import bounded_laplace as fill_bounded_laplace
from lapnoise._kernel_table import log_laplace as fill_log_laplace
from lapnoise.bits.chacha_lanes import WORD_ROOM, copy_words
from lapnoise.kernels.batches import SCRATCH_WORDS
from lapnoise.kernels.laplace import fill_difference, fill_exponential, fill_laplace
from lapnoise.kernels.laplace_float32 import (
    fill_difference32,
    fill_exponential32,
    fill_laplace32,
    half_words,
)

SOURCE = default_rng(7)._stream.source
SIZES = [0, 1, 2, 127, 128, 129, 511, 512, 513, 1025, 5000]
POSITIONS = [0, 1, 127, 511, 2**35 + 3]


def sign_of(words) -> np.ndarray:
    """Return 1 where bit 0 of a word is clear, -1 where it is set."""
    return 1 - 2 * (np.asarray(words) & np.asarray(words).dtype.type(1)).astype(np.int64)


def words_at(position: int, count: int) -> np.ndarray:
    """Return words of the stream."""
    out = np.empty(count, np.uint64)
    copy_words(out, SOURCE, position, np.empty(WORD_ROOM, np.uint64))
    return out


def run(kernel, size, parameters, position, kind=np.float64, before=None):
    """Return what a kernel writes to a new array, or over ``before``."""
    out = np.full(size, np.nan, kind) if before is None else before.copy()
    kernel(out, *parameters, SOURCE, position, np.empty(SCRATCH_WORDS, np.uint64))
    return out


def parameter_pairs(size: int, kind: type):
    """Return locs and scales: numbers, arrays, and one of each."""
    chance = np.random.default_rng(size)
    loc, scale = chance.normal(size=size).astype(kind), chance.gamma(2.0, size=size).astype(kind)
    return [(kind(0.5), kind(1.25)), (loc, scale), (kind(0.5), scale)]


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("size", SIZES)
def test_kernels_follow_the_words_of_the_stream(size, position):
    """Float64 kernels give, for any size and place and for numbers and arrays alike, the maps of the stream's words."""
    words, twice = words_at(position, size), words_at(position, 2 * size)
    standard, difference = laplace_draws(words), difference_draws(twice[::2].copy(), twice[1::2].copy())
    for loc, scale in parameter_pairs(size, np.float64):
        assert np.array_equal(loc + scale * standard, run(fill_laplace, size, (loc, scale), position))
        assert np.array_equal(scale * np.abs(standard), run(fill_exponential, size, (scale,), position))
        assert np.array_equal(loc + scale * difference, run(fill_difference, size, (loc, scale), position))
        if isinstance(loc, np.ndarray):
            assert np.array_equal(loc + scale * standard, run(fill_laplace, size, (None, scale), position, before=loc))
            got = run(fill_difference, size, (None, scale), position, before=loc)
            assert np.array_equal(loc + scale * difference, got)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("size", SIZES)
def test_float32_kernels_follow_the_half_words_of_the_stream(size, position):
    """Float32 kernels take half words, low half first, from any half word on; the difference takes whole words."""
    whole = words_at(position, size + 1)
    halves = whole.view(np.uint32)
    # An even place in half words is the beginning of a word, an odd one its middle.
    for odd in (0, 1):
        standard = laplace_draws32(halves[odd : odd + size].copy())
        for loc, scale in parameter_pairs(size, np.float32):
            start = 2 * position + odd
            assert np.array_equal(loc + scale * standard, run(fill_laplace32, size, (loc, scale), start, np.float32))
            got = run(fill_exponential32, size, (scale,), start, np.float32)
            assert np.array_equal(scale * np.abs(standard), got)
    difference = difference_draws32(halves[:-2:2].copy(), halves[1:-2:2].copy())
    for loc, scale in parameter_pairs(size, np.float32):
        got = run(fill_difference32, size, (loc, scale), 2 * position, np.float32)
        assert np.array_equal(loc + scale * difference, got)


@pytest.mark.parametrize("size", SIZES)
def test_other_kernels_follow_the_words_of_the_stream(size):
    """The log domain gives ln b + ln E and the sign of bit 0, the bounded kernel the conditioned quantile of a word."""
    words = words_at(3, size)
    sign = np.zeros(size, np.int8)
    log_abs = np.empty(size)
    fill_log_laplace(log_abs, sign, 2.5, SOURCE, 3, np.empty(SCRATCH_WORDS, np.uint64))

    assert np.array_equal(2.5 + log_magnitudes(words), log_abs)
    assert np.array_equal(sign_of(words), sign)
    interval = (0.5, 2.0, -1.0, 30.0)
    assert np.array_equal(bounded_draws(words, *interval), run(fill_bounded_laplace, size, interval, 3))


@numba.njit(error_model="numpy")
def first_half_words(source, start, wanted):
    return half_words(np.empty(WORD_ROOM, np.uint64), source, start, wanted).copy()


def test_half_words_of_a_batch():
    """A batch of half words begins where it is asked to, low halves first, and never holds more than is wanted."""
    expected = words_at(0, 4096).view(np.uint32)
    for start in range(260):
        for wanted in (1, 2, 3, 255, 256, 1000, 1023, 1024, 1025, 3000):
            got = first_half_words(SOURCE, start, wanted)

            assert 1 <= got.size <= wanted
            assert np.array_equal(expected[start : start + got.size], got)
            assert got.size == wanted or (start + got.size) % 256 == 0
