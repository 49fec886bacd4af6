"""Noise beyond the floats: draws in the log domain, back to floats, and sums there, against 60 digits."""

import math

import numpy as np
import pytest
from bitwise import same
from mpmath import mp, mpf

from lapnoise import SignedLog, default_rng

INF = math.inf
LOG_LARGEST = math.log(np.finfo(float).max)
SCALES = [-1e4, -745.5, -700.0, -1.0, 0.0, 0.5, 700.0, 1e4, 1e6]


def number(sign, log_abs):
    """Return x in 60 digits."""
    return mpf(int(sign)) * mp.exp(mpf(float(log_abs))) if sign else mpf(0)


@pytest.mark.parametrize("log_scale", SCALES)
def test_draws_in_the_log_domain(log_scale):
    """Sign and ln abs(x) = ln b + ln E of the word's own E, within 2 ulp of ln E and one rounding of the sum."""
    words = default_rng(3).words(500)
    sign, log_abs = default_rng(3).log_laplace(log_scale, 500)
    assert np.array_equal(sign, np.where(words & 1, -1, 1))
    with mp.workdps(60):
        for word, got in zip(words.tolist(), log_abs.tolist(), strict=True):
            log_e = mp.log(-mp.log(mpf(word | 1) / 2**64))
            # E is within 2 ulp, so its logarithm within 4.5e-16 besides its own 2 ulp.
            allowed = 4.5e-16 + 2 * math.ulp(float(log_e)) + math.ulp(got) / 2
            assert abs(mpf(got) - (log_scale + log_e)) <= allowed


@pytest.mark.parametrize("log_scale", [-700.0, -20.0, 0.0, 1.5, 600.0])
def test_exp_of_log_draws_is_laplace_noise(log_scale):
    """At the same position exp(log draw) is the draw of `laplace`, within the error of a logarithm of its size."""
    got = default_rng(3).log_laplace(log_scale, 5000).to_float()
    expected = default_rng(3).laplace(0.0, math.exp(log_scale), 5000)
    np.testing.assert_allclose(got, expected, rtol=3e-16 * (abs(log_scale) + 50), atol=0)
    assert np.array_equal(np.signbit(got), np.signbit(expected))


def test_log_scales_as_arrays():
    """Each element has its own log_scale; numbers give numbers, and those are the draws of arrays."""
    got = default_rng(3).log_laplace(np.array(SCALES))
    rng = default_rng(3)
    one_by_one = [rng.log_laplace(log_scale) for log_scale in SCALES]
    assert same(got.sign, np.array([x.sign for x in one_by_one], np.int8))
    assert same(got.log_abs, [x.log_abs for x in one_by_one])
    assert {(type(x.sign), type(x.log_abs)) for x in one_by_one} == {(int, float)}


def test_log_draws_far_beyond_the_floats():
    """With ln b = 1e6 every draw is finite in the log domain, and the way back to floats is refused."""
    draws = default_rng(3).log_laplace(1e6, 10_000)
    assert np.isfinite(draws.log_abs).all()
    assert 1e6 - 45 < draws.log_abs.min() < draws.log_abs.max() < 1e6 + 4
    with pytest.raises(
        OverflowError, match=r"^log_abs must be below 709\.78\d* to become a float, got 10000\d\d\.\d+$"
    ):
        draws.to_float()


def test_to_float():
    """Signs and magnitudes become floats, numbers a float and arrays an array; what is too small becomes 0."""
    assert SignedLog(-1, 0.0).to_float() == -1.0
    assert type(SignedLog(-1, 0.0).to_float()) is float
    assert SignedLog(0, -INF).to_float() == 0.0
    assert SignedLog(1, -1e6).to_float() == 0.0
    got = SignedLog(np.array([1, -1, 0], np.int8), np.array([math.log(3), math.log(0.25), -INF])).to_float()
    np.testing.assert_allclose(got, [3.0, -0.25, 0.0], rtol=3e-16, atol=0)
    assert got.dtype == np.float64
    assert SignedLog(np.empty(0, np.int8), np.empty(0)).to_float().shape == (0,)
    assert SignedLog(np.array(1), np.array(0.0)).to_float() == 1.0


@pytest.mark.parametrize("log_abs", [LOG_LARGEST, 710.0, 1e6, 1e300, INF])
def test_to_float_beyond_the_floats(log_abs):
    """A magnitude beyond the floats raises, for numbers and anywhere in an array; just below it does not."""
    for sign in (1, -1):
        with pytest.raises(
            OverflowError,
            match=rf"^log_abs must be below 709\.78\d* to become a float, got {log_abs!r}$".replace("+", r"\+"),
        ):
            SignedLog(sign, log_abs).to_float()
    with pytest.raises(OverflowError, match="log_abs must be below 709"):
        SignedLog(np.array([1, -1]), np.array([0.0, log_abs])).to_float()
    assert math.isfinite(SignedLog(1, math.nextafter(LOG_LARGEST, 0)).to_float())


ADDENDS = [0.0, -0.0, 1.0, -1.0, 5e-324, -1e-300, 0.1, 3.5, -1e16, 1e300, np.finfo(float).max, -np.finfo(float).max]
LOGS = [-1e6, -745.0, -40.0, -1e-9, 0.0, 1e-300, 0.7, 37.0, 690.0, 709.0, 1e4, 1e6]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("log_abs", LOGS)
def test_sums_are_accurate(sign, log_abs):
    """The logarithm of a sum is within its rounding and that of the addend's logarithm, as far as they matter.

    An error of d in the logarithm of a term moves that of the sum by d abs(term / sum): that is what cancels in the
    numbers themselves.
    """
    for value in ADDENDS:
        got = SignedLog(sign, log_abs).add(value)
        assert (type(got.sign), type(got.log_abs)) == (int, float)
        with mp.workdps(800):
            x = number(sign, log_abs)
            exact = x + mpf(value)
            assert got.sign == mp.sign(exact)
            if exact == 0:
                assert got.log_abs == -INF
                continue
            own, other = abs(x / exact), abs(mpf(value) / exact)
            log_value = math.ulp(math.log(abs(value))) if value else 0.0
            allowed = other * log_value + (own + other) * mpf(4e-16) + 2 * math.ulp(got.log_abs)
            assert abs(mpf(got.log_abs) - mp.log(abs(exact))) <= allowed


@pytest.mark.parametrize("value", [1.0, 1.5, 2.0, 1e-300, 1e300, 123456.789])
def test_near_cancellation(value):
    """X - x' with x' a few ulp beside x comes out as the difference of the two, with its sign, and x - x is 0."""
    log_value = float(np.log(value))
    for steps in (-3, -1, 1, 3, 1000):
        near = log_value + steps * max(math.ulp(log_value), 2.0**-52)
        got = SignedLog(1, near).add(-value)
        with mp.workdps(60):
            exact = mp.exp(mpf(near) - mpf(log_value)) - 1
            assert got.sign == mp.sign(exact)
            assert abs(mpf(got.log_abs) - (log_value + mp.log(abs(exact)))) <= 3 * math.ulp(got.log_abs) + 1e-15
    for sign in (1, -1):
        assert SignedLog(sign, log_value).add(-sign * value) == SignedLog(0, -INF)


def test_zero_in_sums():
    """0 + value is value, x + 0 is x exactly, and 0 + 0 is 0, with -inf as its logarithm."""
    zero = SignedLog(0, -INF)
    assert zero.add(0.0) == zero.add(-0.0) == zero
    assert zero.add(-2.0) == SignedLog(-1, float(np.log(2.0)))
    assert SignedLog(-1, 1e6).add(0.0) == SignedLog(-1, 1e6)
    assert SignedLog(1, 0.3).add(-0.0) == SignedLog(1, 0.3)


def test_sums_of_arrays():
    """Sums broadcast, have int8 signs and float64 logarithms, and are those of the numbers one by one."""
    noise = default_rng(3).log_laplace(2.0, (4, 1))
    values = np.array([0.0, 1.0, -7.5, 1e300])
    got = noise.add(values)
    assert (got.sign.dtype, got.log_abs.dtype) == (np.int8, np.float64)
    expected = [
        [SignedLog(int(s), float(x)).add(v) for v in values.tolist()]
        for s, x in zip(*map(np.ravel, noise), strict=True)
    ]
    assert got.sign.tolist() == [[x.sign for x in row] for row in expected]
    assert same(got.log_abs, [[x.log_abs for x in row] for row in expected])
    moderate = noise.add(values[:3]).to_float()
    np.testing.assert_allclose(moderate, noise.to_float() + values[:3], rtol=1e-13)
    assert same(noise.add([1, 2, 3]).log_abs, noise.add(np.array([1.0, 2.0, 3.0])).log_abs)
    before = noise.log_abs.copy()
    noise.add(values)
    assert same(noise.log_abs, before)


def test_sums_that_overflow_as_floats():
    """Noise of scale e^1e4 added to the largest float has a logarithm, and no float."""
    total = default_rng(3).log_laplace(1e4, 100).add(np.finfo(float).max)
    assert np.isfinite(total.log_abs).all()
    with pytest.raises(OverflowError, match="to become a float"):
        total.to_float()


def test_it_is_a_named_tuple():
    """The parts have names and an order."""
    sign, log_abs = SignedLog(-1, 2.0)
    assert (sign, log_abs) == (-1, 2.0)
    assert SignedLog._fields == ("sign", "log_abs")
