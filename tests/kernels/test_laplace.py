"""Words of the test's choosing through the maps of every kernel: ends, symmetry, extreme scales, float32 in full."""

import math
from concurrent.futures import ThreadPoolExecutor
from math import isqrt

import numba
import numpy as np
import pytest
from adversarial import adversarial_half_words, adversarial_words
from from_words import (
    bounded_draws,
    difference_draws,
    difference_draws32,
    laplace_draws,
    laplace_draws32,
    log_magnitudes,
    magnitudes,
)
from mpmath import mp
from oracles import bounded_laplace, log_of_ratio, negative_log, negative_log32, worst_ulp_error

from lapnoise import default_rng
from lapnoise.kernels.laplace_float32 import (
    signed32,
)
from lapnoise.kernels.log import negative_log32 as kernel_negative_log32
from lapnoise.kernels.log import ratio32
from lapnoise.kernels.uniform import open01_from_half_word

LN2 = math.log(2.0)
ROOT_HALF = isqrt(1 << 127)  # the word whose uniform is sqrt(1/2), rounded down
ROOT_HALF32 = isqrt(1 << 63)

ENDS = [0, 1, 2, 3, (1 << 63) - 1, 1 << 63, (1 << 64) - 2, (1 << 64) - 1]
CROSSINGS = [centre + d for centre in (1 << 62, 1 << 63, ROOT_HALF, ROOT_HALF // 2) for d in range(-4, 5)]
WORDS = np.array(adversarial_words(), np.uint64)
ENDS32 = [0, 1, 2, 3, (1 << 31) - 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1]
HALF_WORDS = np.array(adversarial_half_words(), np.uint32)


def sign_of(words) -> np.ndarray:
    """Return 1 where bit 0 of a word is clear, -1 where it is set."""
    return 1 - 2 * (np.asarray(words) & np.asarray(words).dtype.type(1)).astype(np.int64)


def test_ends_of_float64():
    """The first and last cells give 64 ln 2 and 2^-64, exactly, with the sign that bit 0 says."""
    expected = {0: 64 * LN2, 1: -64 * LN2, (1 << 64) - 2: 2.0**-64, (1 << 64) - 1: -(2.0**-64)}

    assert list(expected.values()) == laplace_draws(list(expected)).tolist()
    assert 44.36 < 64 * LN2 < 44.37


@pytest.mark.parametrize("words", [ENDS, CROSSINGS], ids=["ends", "crossings"])
def test_chosen_words_through_float64(words):
    """N-01: at the ends, at u = 1/2 and at sqrt(1/2) each draw is finite, within 2 ulp, and has the sign of bit 0."""
    got = laplace_draws(words)

    assert np.isfinite(got).all()
    assert np.array_equal(sign_of(np.array(words, np.uint64)), np.sign(got))
    assert worst_ulp_error(np.abs(got), map(negative_log, words)) <= 2
    assert np.array_equal(np.abs(got), magnitudes(words))


def test_chosen_words_through_the_difference():
    """Every pair of ends gives a finite draw within 4 ulp of log(u2 / u1), 0 only where both cells are one."""
    pairs = [(a, b) for a in ENDS + CROSSINGS for b in ENDS + CROSSINGS]
    first, second = zip(*pairs, strict=True)
    got = difference_draws(first, second)

    assert worst_ulp_error(got, [log_of_ratio(b, a) for a, b in pairs]) <= 4
    assert np.array_equal(got == 0, [a | 1 == b | 1 for a, b in pairs])
    assert got.max() == -got.min() == pytest.approx(64 * LN2, rel=1e-15)


def test_chosen_words_through_the_log_domain():
    """The logarithm of the magnitude runs from ln 2^-64 to ln(64 ln 2), finite and within 1e-15 throughout."""
    words = ENDS + CROSSINGS + WORDS.tolist()
    got = log_magnitudes(words)
    with mp.workprec(120):
        exact = [mp.log(negative_log(word)) for word in words]
        worst = max(abs(g - x) / max(abs(x), 1) for g, x in zip(got.tolist(), exact, strict=True))

    # 2 ulp of the magnitude are 4.5e-16 of its logarithm; 2 ulp of the logarithm follow.
    assert worst <= 1e-15
    assert got.min() == pytest.approx(-64 * LN2, rel=1e-15)
    assert got.max() == pytest.approx(math.log(64 * LN2), rel=1e-15)


# Intervals about the centre, on both sides of it, in either tail, open, tiny, huge, and with the centre near an end.
INTERVALS = [
    (0.0, 1.0, -1.0, 1.0),
    (0.0, 1.0, -0.25, 3.0),
    (5.0, 0.3, 4.0, math.inf),
    (0.0, 1.0, -math.inf, math.inf),
    (0.0, 1.0, 2.0, 3.0),
    (0.0, 1.0, 30.0, 31.0),
    (0.0, 2.0, -900.0, -800.0),
    (0.0, 1.0, 800.0, math.inf),
    (0.0, 1.0, -1e-17, 1.0),
    (0.0, 1e10, -1.0, 2.0),
    (0.0, 1.0, 0.0, 1e-9),
]


@pytest.mark.parametrize("interval", INTERVALS)
def test_chosen_words_through_the_bounded_kernel(interval):
    """Conditioned draws lie in [low, high], and as near to the exact quantile of their word as rounding allows."""
    loc, scale, low, high = interval
    words = ENDS + CROSSINGS + list(range(1 << 57, 1 << 64, 1 << 57))
    got = bounded_draws(words, *interval)
    # The left side's share of the words is rounded to a float64, unless it is one half: 2^12 words may change sides,
    # and u is off by 2^-52.
    uneven = low < loc < high and loc - low != high - loc
    reach = 1 << 12 if uneven else 0
    share_error = min(scale, high - low) * 2.0**-51 if uneven else 0.0

    assert np.isfinite(got).all()
    assert (low <= got).all()
    assert (got <= high).all()
    with mp.workprec(400):
        left, right = (-mp.expm1(-abs(mp.mpf(end) - loc) / scale) for end in (low, high))
        border = int(left / (left + right) * mp.mpf(2) ** 64) if low < loc < high else None
        for word, draw in zip(words, got.tolist(), strict=True):
            if border is not None and abs(word - border) < reach:
                continue
            exact = bounded_laplace(word, *interval)
            nearer = low if low >= loc else high if high <= loc else loc
            # One rounding of the draw, and some of the distance from the point at which the side begins.
            allowed = abs(exact) * 2.0**-53 + abs(exact - nearer) * 1e-15 + share_error
            assert abs(draw - exact) <= allowed, word


def test_a_bounded_interval_of_one_point_or_scale_zero():
    """An interval of one point gives that point, and scale 0 the point of the interval nearest to loc."""
    for loc, scale, low, high, expected in [
        (0.0, 1.0, 2.5, 2.5, 2.5),
        (2.5, 1.0, 2.5, 2.5, 2.5),
        (0.0, 0.0, 1.0, 2.0, 1.0),
        (9.0, 0.0, 1.0, 2.0, 2.0),
        (1.5, 0.0, 1.0, 2.0, 1.5),
    ]:
        assert (bounded_draws(ENDS, loc, scale, low, high) == expected).all()


def test_odd_symmetry():
    """A word with bit 0 flipped gives the opposite draw, bit for bit, in both types; exchanged words nearly do."""
    got, opposite = laplace_draws(WORDS), laplace_draws(WORDS ^ np.uint64(1))
    assert np.array_equal(got, -opposite)
    got, opposite = laplace_draws32(HALF_WORDS), laplace_draws32(HALF_WORDS ^ np.uint32(1))
    assert np.array_equal(got, -opposite)
    forth, back = difference_draws(WORDS, WORDS[::-1].copy()), difference_draws(WORDS[::-1].copy(), WORDS)
    assert np.abs(forth + back).max() <= 2 * np.spacing(64 * LN2)


def test_no_zero_no_infinity_no_nan():
    """N-05: on adversarial words the magnitude of a draw is from 2^-64 to 64 ln 2, and from 2^-32 to 32 ln 2."""
    got = np.abs(laplace_draws(WORDS))
    assert got.min() == 2.0**-64
    assert got.max() == 64 * LN2
    got = np.abs(laplace_draws32(HALF_WORDS))
    assert got.min() == 2.0**-32
    assert got.max() == np.float32(32 * LN2)


def test_ends_of_float32():
    """The first and last cells of float32 give 32 ln 2 and 2^-32, with the sign that bit 0 says."""
    got = laplace_draws32(ENDS32)

    assert got[:2].tolist() == [np.float32(32 * LN2), -np.float32(32 * LN2)]
    assert got[-2:].tolist() == [2.0**-32, -(2.0**-32)]
    assert np.array_equal(sign_of(np.array(ENDS32, np.uint32)), np.sign(got))
    assert worst_ulp_error(np.abs(got), map(negative_log32, ENDS32), precision=24) <= 1.5
    assert 22.18 < 32 * LN2 < 22.19


def test_chosen_half_words_through_the_difference32():
    """Every pair of ends gives a finite float32 draw, 0 only where both cells are one."""
    near = [ROOT_HALF32 + d for d in range(-3, 4)]
    pairs = [(a, b) for a in ENDS32 + near for b in ENDS32 + near]
    got = difference_draws32(*zip(*pairs, strict=True))

    assert np.array_equal(got == 0, [a | 1 == b | 1 for a, b in pairs])
    assert np.abs(got).max() == np.float32(32 * LN2)


@numba.njit(error_model="numpy", nogil=True)
def scan32(first, last, step):
    """Draw from every step-th cell j of float32; return the worst error and step up in ulp, both ends, and faults."""
    error, rise, least, most, faults = 0.0, 0.0, np.inf, 0.0, 0
    before = np.inf
    for j in range(first, last, step):
        e, f = open01_from_half_word(np.uint32(2 * j))
        magnitude = kernel_negative_log32(e, f, ratio32(f))
        plus, minus = signed32(magnitude, np.uint32(2 * j)), signed32(magnitude, np.uint32(2 * j + 1))
        # (2 j + 1) 2^-32 is a float64, so its logarithm is as good as exact beside a float32.
        exact = -math.log((2 * j + 1) * 2.0**-32)
        ulp = 2.0 ** (math.frexp(exact)[1] - 24)
        error = max(error, abs(magnitude - exact) / ulp)
        rise = max(rise, (magnitude - before) / ulp)
        before = np.float64(magnitude)
        least, most = min(least, before), max(most, before)
        faults += not (plus > 0 and plus < np.inf and minus == -plus and plus == magnitude)
    return error, rise, least, most, faults


def check_scans(scans) -> None:
    """Assert what holds for the float32 draws of any set of cells."""
    error, rise, least, most, faults = (np.array(column) for column in zip(*scans, strict=True))

    assert faults.sum() == 0
    assert error.max() <= 1.5
    assert rise.max() <= 1  # monotone but for one unit in the last place
    assert least.min() >= 2.0**-32
    assert most.max() <= np.float32(32 * LN2)


def test_float32_on_a_dense_part():
    """N-02, N-06: at both ends, about every power of two and on 2^24 cells throughout float32 draws are right.

    Right is: finite, not 0, within 1.5 ulp, of either sign, and monotone in the cell but for one ulp. The cells are the
    first and the last 2^20, 2^13 about each power of two and each sqrt(1/2) 2^k, and every 128th.
    """
    top = 1 << 31
    parts = [(0, 1 << 20, 1), (top - (1 << 20), top, 1), (0, top, 128)]
    for k in range(13, 31):
        parts += [(centre - (1 << 12), centre + (1 << 12), 1) for centre in (1 << k, isqrt(1 << 2 * k + 1))]
    scans = [scan32(*part) for part in parts]

    check_scans(scans)
    assert scans[0][3] == np.float32(32 * LN2)
    assert scans[1][2] == 2.0**-32


@pytest.mark.slow
def test_float32_on_all_half_words():
    """The same on all 2^32 half words: 2^31 cells with either sign (half a minute on one core)."""
    edges = range(0, 1 << 31, 1 << 24)
    with ThreadPoolExecutor(2) as pool:
        # Neighbouring pieces share a cell, so that no step is left out.
        scans = list(pool.map(lambda first: scan32(max(first - 1, 0), first + (1 << 24), 1), edges))

    check_scans(scans)
    assert max(scan[3] for scan in scans) == np.float32(32 * LN2)
    assert min(scan[2] for scan in scans) == 2.0**-32


@pytest.mark.parametrize("loc", [0.0, 1.5, -1e300, 5e-324, math.inf, math.nan])
def test_scale_zero_gives_loc(loc):
    """N-09: with scale 0 every word gives loc, exactly."""
    assert np.array_equal(np.full(WORDS.size, loc), laplace_draws(WORDS, loc, 0.0), equal_nan=True)
    assert np.array_equal(
        np.full(WORDS.size, loc), difference_draws(WORDS, WORDS[::-1].copy(), loc, 0.0), equal_nan=True
    )
    with np.errstate(over="ignore"):
        expected = np.full(HALF_WORDS.size, np.float32(loc))
        assert np.array_equal(expected, laplace_draws32(HALF_WORDS, loc, 0.0), equal_nan=True)


def test_subnormal_scales():
    """N-12: the least scale gives multiples of itself, each the standard draw rounded to an integer, not all 0."""
    least = 5e-324
    expected = np.rint(laplace_draws(WORDS)) * least
    got = laplace_draws(WORDS, 0.0, least)

    assert np.array_equal(expected, got)
    assert np.abs(got).max() == 44 * least
    least32 = 2.0**-149
    got32 = laplace_draws32(HALF_WORDS, 0.0, least32)
    assert np.array_equal(np.rint(laplace_draws32(HALF_WORDS)) * np.float32(least32), got32)
    assert np.abs(got32).max() == np.float32(22 * least32)


def test_largest_scales():
    """N-12: at the largest scale that is accepted, max / 45 (float32: max / 23), every word gives a finite draw."""
    scale = np.finfo(np.float64).max / 45
    assert np.isfinite(laplace_draws(WORDS, 0.0, scale)).all()
    assert np.isfinite(difference_draws(WORDS, WORDS[::-1].copy(), 0.0, scale)).all()
    scale32 = np.finfo(np.float32).max / np.float32(23)
    assert np.isfinite(laplace_draws32(HALF_WORDS, 0.0, scale32)).all()
    assert np.isfinite(difference_draws32(HALF_WORDS, HALF_WORDS[::-1].copy(), 0.0, scale32)).all()
    assert np.isfinite(default_rng(7).laplace(0.0, scale, 10**6)).all()


@pytest.mark.parametrize(("loc", "scale"), [(0.0, 1.0), (3.7, 0.3), (-1e9, 123.456), (1e-300, 1e-300), (2.0, 1e280)])
def test_two_roundings(loc, scale):
    """A draw is fl(loc + fl(scale x)): the product is rounded before the sum, on machines with fma too."""
    other = WORDS[::-1].copy()

    assert np.array_equal(loc + scale * laplace_draws(WORDS), laplace_draws(WORDS, loc, scale))
    assert np.array_equal(loc + scale * difference_draws(WORDS, other), difference_draws(WORDS, other, loc, scale))
    if scale < 1e30:
        loc32, scale32 = np.float32(loc), np.float32(scale)
        expected = loc32 + scale32 * laplace_draws32(HALF_WORDS)
        assert np.array_equal(expected, laplace_draws32(HALF_WORDS, loc, scale))
