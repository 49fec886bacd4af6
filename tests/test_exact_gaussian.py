"""Sums of the discrete Gaussian in integers, against sums term by term; and the bound that smoothing gives."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from mutants import mutant

from lapnoise import exact_gaussian
from lapnoise.exact_gaussian import exceeding, least_magnitude, shift_delta, smoothing_loss, variance_of


def weights(sigma, reach: int) -> list[mpf]:
    """Return w(0), ..., w(reach) to 300 bits."""
    with mp.workprec(300):
        return [mp.exp(-mpf(k * k) / (2 * mpf(sigma) ** 2)) for k in range(reach + 1)]


def true_delta(sigma, epsilon, shift: int) -> mpf:
    """Return the sum of the positive parts of p(k) - exp(epsilon) p(k - shift)."""
    reach = math.ceil(45 * sigma + sigma**2 * Fraction(epsilon) / shift) + 40 + shift
    w = weights(sigma, reach + shift)
    with mp.workprec(300):
        growth = mp.exp(mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator)
        whole = w[0] + 2 * mp.fsum(w[1:])
        parts = (w[abs(k)] - growth * w[abs(k - shift)] for k in range(-reach, reach + 1))
        return mp.fsum(part for part in parts if part > 0) / whole


CASES = list(itertools.product([0.1, 0.35, 1.0, 3.73063, 17.3], ["0.01", "0.5", "1", "7", "60"], [1, 2, 5]))


@pytest.mark.parametrize(("sigma", "epsilon", "shift"), CASES)
def test_delta_of_a_shift(sigma, epsilon, shift):
    """The two tails enclose the sum of positive parts, to 2^-60 of it."""
    low, high = shift_delta(Fraction(sigma) ** 2, Fraction(epsilon), shift)
    if high == exact_gaussian.NOTHING:
        assert true_delta(sigma, epsilon, shift) < mpf(2) ** -7000
        return
    true = true_delta(sigma, epsilon, shift)
    with mp.workprec(300):
        assert mpf(low.numerator) / low.denominator <= true * (1 + mpf(2) ** -250)
        assert true * (1 - mpf(2) ** -250) <= mpf(high.numerator) / high.denominator
    assert 0 < high - low <= low / 2**60


def test_delta_grows_with_the_shift():
    """The largest shift of one coordinate is the worst, for narrow laws too."""
    for sigma, epsilon in itertools.product([0.3, 0.8, 2.0, 5.0], ["0.1", "1", "5"]):
        deltas = [shift_delta(Fraction(sigma) ** 2, Fraction(epsilon), shift)[1] for shift in range(1, 12)]
        assert deltas == sorted(deltas)


def test_the_continuous_calibration_does_not_hold():
    """At r = 1 a sigma of 3.73063 has a delta of 1.0346e-5 for epsilon 1, not 1e-5."""
    delta = float(shift_delta(Fraction("3.73063") ** 2, Fraction(1), 1)[1])
    assert delta == pytest.approx(1.0346e-5, rel=1e-4)


LEVELS = ["0.9", "0.5", "0.05", "1e-3", "1e-9", "1e-40"]


@pytest.mark.parametrize("sigma", [0.1, 0.3, 1.0, 2.5, 31.9, 32.5, 100.0])
def test_least_magnitude(sigma):
    """Term by term: at the magnitude that is returned the tail is small enough, and at one less it is not."""
    w = weights(sigma, math.ceil(40 * sigma) + 40)
    with mp.workprec(300):
        whole = w[0] + 2 * mp.fsum(w[1:])
        beyond = [2 * s / whole for s in itertools.accumulate(reversed(w))]  # P(abs(X) >= k), from far to near
        beyond = [mpf(1), *reversed(beyond[:-1])]
        for level in LEVELS:
            tail = Fraction(level)
            m = least_magnitude(sigma, tail)
            assert beyond[m + 1] * tail.denominator <= tail.numerator
            assert beyond[m] * tail.denominator > tail.numerator


@pytest.mark.parametrize("sigma", [33.0, 64.5, 200.0])
def test_tail_of_wide_laws(sigma):
    """The integral with its correction exceeds the tail, by a part of 0.03 (y^2 + 9) / sigma^3 at most."""
    w = weights(sigma, math.ceil(30 * sigma))
    with mp.workprec(300):
        whole = w[0] + 2 * mp.fsum(w[1:])
        for m in [0, 1, int(sigma), int(1.7 * sigma), int(1.8 * sigma), int(3 * sigma), int(8 * sigma)]:
            true = 2 * mp.fsum(w[m + 1 :]) / whole
            bound = exceeding(sigma, m)
            excess = mpf(bound.numerator) / bound.denominator / true - 1
            y = m / sigma
            assert 0 < excess <= 0.03 * (y * y + 9) * (1 + y) / sigma**3


def test_mutant_without_the_bound_of_the_remainder():
    """Without the variation of f'' the bound is no bound somewhere."""
    made = mutant("lapnoise.exact_gaussian", (" + Fraction(81, 10_000) * variation", ""))
    w = weights(33.0, 1000)
    with mp.workprec(300):
        whole = w[0] + 2 * mp.fsum(w[1:])
        found = [made.exceeding(33.0, m) for m in range(0, 200, 5)]
        missing = [
            2 * mp.fsum(w[m + 1 :]) / whole > mpf(b.numerator) / b.denominator
            for m, b in zip(range(0, 200, 5), found, strict=True)
        ]
    assert any(missing)


@pytest.mark.parametrize("sigma", [1e-3, 0.2, 0.5, 1.0, 1.99, 2.0, 3.0, 2.0**30])
def test_variance(sigma):
    """The variance is the sum of k^2 p(k), and sigma^2 from two steps on."""
    if sigma > 100:
        assert variance_of(sigma) == sigma**2
        return
    w = weights(sigma, 100)
    with mp.workprec(300):
        true = 2 * mp.fsum(k * k * w[k] for k in range(101)) / (w[0] + 2 * mp.fsum(w[1:]))
        assert variance_of(sigma) == pytest.approx(float(true), rel=1e-14, abs=0.0)


def rounded_at_random(sigma: float, square: float) -> tuple[np.ndarray, np.ndarray]:
    """Return abs(ln) of how a smoothed law and the discrete one differ, and of what they differ by at most, in floats.

    The law of normal noise of variance sigma^2 - s^2, rounded at random, is an integral that the trapezoid rule gives
    to 1e-13.
    """
    k = np.arange(-200, 201)
    deviation = math.sqrt(sigma**2 - square)
    x = np.arange(-14 * deviation, 14 * deviation, 1 / 64)
    normal = np.exp(-0.5 * (x / deviation) ** 2)
    rounding = np.exp(-((k[:, None] - x) ** 2) / (2 * square))
    made = (rounding / rounding.sum(axis=0)) @ (normal / normal.sum())
    law = np.exp(-0.5 * (k / sigma) ** 2)
    inside = np.abs(k) <= 6 * sigma
    return np.abs(np.log(made[inside] / (law[inside] / law.sum())))


@pytest.mark.parametrize(
    ("sigma", "square"),
    [
        (0.55, 0.25),
        (0.7, 0.25),
        (1.0, 0.25),
        (1.5, 0.25),
        (3.0, 0.25),
        (1.5, 0.5),
        (3.0, 0.5),
        (3.0, 1.0),
    ],
)
def test_smoothing(sigma, square):
    """Normal noise, rounded at random, has the discrete law but for exp(+-kappa), and kappa is not idle.

    The mutant is the kappa of wide laws for a law that is not.
    """
    wide = sigma**2 >= 4 * square
    loss = float(rounded_at_random(sigma, square).max())
    kappa = float(smoothing_loss(Fraction(square), wide))

    assert loss <= kappa + 1e-12
    if sigma < 0.7:
        assert loss > float(smoothing_loss(Fraction(square), True))
    if wide and square == 0.25:
        assert loss > kappa / 5


@pytest.mark.parametrize("square", ["0.25", "0.5", "1", "2", "8", "64"])
def test_loss_of_smoothing(square):
    """Both bounds are those of their derivation, rounded up by less than 3 %."""
    with mp.workprec(5000):
        s2 = mpf(Fraction(square).numerator) / Fraction(square).denominator
        eta = 2 * mp.fsum(mp.exp(-2 * mp.pi**2 * s2 * m * m) for m in range(1, 8))
        alpha = 2 * mp.fsum(mp.exp(-2 * mp.pi**2 * s2 * m * m * 7 / 4) for m in range(1, 8))
        true = [mp.log((1 + alpha) * (1 + alpha + eta**2 / (1 - eta))), mp.log((1 + eta) / (1 - eta))]
        for wide, kappa in zip((True, False), true, strict=True):
            bound = smoothing_loss(Fraction(square), wide)
            assert 1 <= mpf(bound.numerator) / bound.denominator / kappa < 1.03
