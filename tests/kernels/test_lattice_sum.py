"""Sums of steps that were drawn before: bit for bit those of the kernels that draw and add in one pass."""

import math
from fractions import Fraction

import numpy as np
import pytest
from bitwise import same
from exact_oracles import half_up, integer_sum, rounded_once

from lapnoise import _attempts, _lattice_noise, default_rng
from lapnoise._exact_noise import discrete_kernel
from lapnoise._fill import scratch
from lapnoise.lattice import Lattice

SOURCE = default_rng(19)._stream.source
MOST = float(np.finfo(np.float64).max)
MOST32 = float(np.finfo(np.float32).max)

LATTICES = [
    (-1074, 1.0),
    (-1060, 2.0**24),
    (-500, 3.0),
    (-40, 2.0**40),
    (-24, 2.0**43),
    (0, 0.3),
    (0, 50.0),
    (1, 2.0**43),
    (10, 12345.0),
    (70, 2.0**24),
    (500, 2.0**30),
    (1023, 0.5),
    # Some, most and all of the steps are beyond 2^52 here.
    (-60, 2.0**50),
    (-30, 2.0**52),
    (1, 2.0**54),
    (-300, 2.0**57),
]

FACTORS = [0, 0.5, -0.5, 0.49999999999999994, 1.5, -1.5, 2.5, 3.75, 1e6 + 0.5]
FACTORS += [s * (2.0**k + d) for k in (50, 51, 52, 53, 60) for s in (-1, 1) for d in (0, 0.5, 1)]
PLAIN = [-0.0, 1 / 3, -math.pi, 2.0**-30, 5e-324, 1e-310, 1e300, -1e300, MOST, -MOST, math.nan, 1e18, -1.0]


def values(exponent: int, kind) -> np.ndarray:
    """Return values that are hard to round to multiples of 2^exponent, those that fit the type."""
    near = [math.ldexp(f, exponent) for f in FACTORS if exponent < 900]
    most = float(np.finfo(kind).max)
    return np.tile(np.array([x for x in [*near, *PLAIN] if not abs(x) > most]).astype(kind), 30)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("exponent", "t"), LATTICES)
def test_sums_of_floats(exponent, t, kind):
    """Ties, ends of the floats, NaN, and steps beyond 2^52: the sums of one pass, in place and of one number."""
    kind = np.dtype(kind)
    x = values(exponent, kind)
    on = Lattice(exponent, 1, t)
    place = 2000 if kind == np.float32 else 1000
    expected, got = np.empty_like(x), np.empty_like(x)
    _lattice_noise.float_kernel(on, kind)(expected, x, SOURCE, place, scratch())
    run = _attempts.to_floats(discrete_kernel(t), exponent, kind)
    run(got, x, SOURCE, place, scratch())

    assert same(got, expected)
    assert np.isnan(got).sum() == np.isnan(x).sum() > 0
    in_place = x.copy()
    run(in_place, None, SOURCE, place, scratch())
    assert same(in_place, expected)
    run(got, 1.5, SOURCE, place, scratch())
    _lattice_noise.float_kernel(on, kind)(expected, np.full_like(x, 1.5), SOURCE, place, scratch())
    assert same(got, expected)


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize(("exponent", "t"), [(g, t) for g, t in LATTICES if g <= 500])
def test_sums_of_integers(exponent, t, unsigned):
    """64-bit integers of both kinds, at the ends and about 2^53 and 2^60: the same floats and the same integers."""
    low, high = (0, 2**64 - 1) if unsigned else (-(2**63), 2**63 - 1)
    places = [0, 1, -1, 2**53 + 1, 2**60 + 128, 2**60 + 129, low, low + 1, high, high - 1, high - 2**20]
    places += [s * (2**k + d) for k in (31, 62, 63) for s in (-1, 1) for d in (-1, 0, 1)]
    whole = [x for x in places if low <= x <= high] * 30
    x = np.array(whole, np.uint64 if unsigned else np.int64).view(np.int64)
    draw = discrete_kernel(t)
    expected, got = np.empty(x.size), np.empty(x.size)
    _lattice_noise.integer_kernel(Lattice(exponent, 1, t), unsigned)(expected, x, SOURCE, 1000, scratch())
    _attempts.to_integers(draw, exponent, unsigned)(got, x, SOURCE, 1000, scratch())

    assert same(got, expected)
    noise = np.empty(x.size, np.int64)
    draw(noise, SOURCE, 1000, scratch())
    steps = [half_up(v, exponent) + k for v, k in zip(whole[:40], noise.tolist(), strict=False)]
    assert got[:40].tolist() == [rounded_once(n * Fraction(2) ** exponent) for n in steps]
    sums = np.empty(x.size, np.int64)
    _attempts.to_integer_sums(draw, unsigned)(sums, x, SOURCE, 1000, scratch())
    assert sums.tolist() == [integer_sum(v, k) for v, k in zip(whole, noise.tolist(), strict=True)]
    if not unsigned:
        _attempts.to_integer_sums(draw, unsigned)(x, None, SOURCE, 1000, scratch())
        assert same(x, sums)


def test_blocks_do_not_show():
    """More values than one pass holds get the same sums as in one pass of the other kernel; no value is none."""
    x = np.arange(10_001) / 3
    expected, got = np.empty_like(x), np.empty_like(x)
    _lattice_noise.float_kernel(Lattice(-30, 1, 2.0**24), x.dtype)(expected, x, SOURCE, 77, scratch())
    run = _attempts.to_floats(discrete_kernel(2.0**24), -30, x.dtype)
    run(got, x, SOURCE, 77, scratch())

    assert same(got, expected)
    assert np.all(got != x)
    empty = np.empty(0)
    run(empty, empty, SOURCE, 77, scratch())
