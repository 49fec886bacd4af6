"""Laplace noise conditioned on an interval, against the exact quantile in 60 digits."""

import math

import numpy as np
import pytest
from bitwise import same
from mpmath import mp, mpf

from lapnoise import default_rng

INF = math.inf
CASES = [
    (0.0, 1.0, -1.0, 1.0),
    (0.3, 2.0, -1.0, 7.0),
    (0.0, 1.0, -INF, INF),
    (0.0, 1.0, -0.5, INF),
    (0.0, 1.0, -INF, 0.25),
    (0.0, 1.0, 0.0, 1.0),
    (0.0, 1.0, -1.0, 0.0),
    (0.0, 1.0, 0.0, INF),
    (0.0, 1.0, -INF, 0.0),
    (0.0, 1.0, 1e3, 1e3 + 1),
    (0.0, 1.0, -1e3 - 1, -1e3),
    (0.0, 1.0, 700.0, INF),
    (0.0, 1.0, -INF, -700.0),
    (1e6, 0.5, 0.0, 10.0),
    (-1e300, 1.0, 5.0, 6.0),
    (0.0, 1.0, -1e-12, 1e-12),
    (0.0, 1.0, 5.0, 5.0 + 1e-12),
    (0.0, 1.0, -1e-9, 100.0),
    (0.0, 1e-300, -1.0, 1.0),
    (0.0, 1e300, -1.0, 2.0),
    (0.0, 1e306, -1e308, 1e308),
    (0.0, 5e-324, -1.0, 1.0),
    (0.1, 0.7, 0.1 - 1e-17, 0.1 + 30.0),
]

# The others hold so few floats, or such large ones, that draws coincide.
CASES_WITH_MANY_FLOATS = [case for case in CASES if case[1] > 1e-300 and abs(case[0]) < 1e300 and case[3] != 5 + 1e-12]

every_case = pytest.mark.parametrize(("loc", "scale", "low", "high"), CASES)


def exact(word, loc, scale, low, high, shift=0):
    """Return the draw of a word: a side in proportion to its mass, then the quantile of a cut exponential.

    ``shift`` moves the border between the sides by so many of the 2^64 words.
    """
    loc, scale, low, high = map(mpf, (loc, scale, low, high))
    if low >= loc or high <= loc:
        distance = -mp.log1p((mpf(word) + 0.5) / 2**64 * mp.expm1(-(high - low) / scale))
        return low + scale * distance if low >= loc else high - scale * distance
    left, right = -mp.expm1(-(loc - low) / scale), -mp.expm1(-(high - loc) / scale)
    cells = int(mp.floor(2**64 * left / (left + right))) + shift
    if word < cells:
        return loc + scale * mp.log1p(-(word + mpf(0.5)) / cells * left)
    return loc - scale * mp.log1p(-(word - cells + mpf(0.5)) / (2**64 - cells) * right)


@every_case
def test_draws_are_quantiles(loc, scale, low, high):
    """Every draw is the exact quantile of its word, to 1e-14 of its distance from where its side begins, or an ulp.

    The border between the two sides may be off by 2^-52 of the mass, as a float64 is.
    """
    n = 400
    got = default_rng(3).bounded_laplace(loc, scale, low, high, n)
    words = default_rng(3).words(n)
    anchor = min(max(loc, low), high)
    with mp.workdps(60):
        for word, draw in zip(words.tolist(), got.tolist(), strict=True):
            expected = [exact(word, loc, scale, low, high, shift) for shift in (-4096, 4096)]
            allowed = mpf(1e-14) * abs(expected[0] - mpf(anchor)) + math.ulp(draw) + math.ulp(anchor) / 2
            assert min(expected) - allowed <= mpf(draw) <= max(expected) + allowed
            assert low <= draw <= high


@pytest.mark.parametrize(("loc", "scale", "low", "high"), CASES_WITH_MANY_FLOATS)
def test_draws_follow_the_conditioned_law(loc, scale, low, high):
    """The distribution function at the draws is uniform: Kolmogorov-Smirnov at 1e-9 a case, which sees faults of 0.021.

    By Massart's inequality n = 100,000 draws stay within sqrt(ln(2 / 1e-9) / 2n) = 0.01035 but for one run in 1e9.
    """
    n = 100_000
    x = np.sort(default_rng(11).bounded_laplace(loc, scale, low, high, n))
    with np.errstate(over="ignore", invalid="ignore"):
        if low >= loc:
            u = np.expm1(-(x - low) / scale) / np.expm1(-(high - low) / scale)
        elif high <= loc:
            u = 1 - np.expm1(-(high - x) / scale) / np.expm1(-(high - low) / scale)
        else:
            left, right = -np.expm1(-(loc - low) / scale), -np.expm1(-(high - loc) / scale)
            before = -np.exp(-(loc - x) / scale) * np.expm1(-(x - low) / scale)
            u = np.where(x < loc, before, left - np.expm1(-(x - loc) / scale)) / (left + right)
    steps = np.arange(n + 1) / n
    distance = max(np.max(steps[1:] - u), np.max(u - steps[:-1]))
    assert distance < math.sqrt(math.log(2e9) / (2 * n))


def test_no_draw_is_infinite():
    """An open side ends at the largest float, however near the interval comes to it; arrays are treated alike."""
    largest = np.finfo(float).max
    for low, high in ((1.797e308, INF), (-INF, -1.797e308)):
        got = default_rng(1).bounded_laplace(0.0, 3e306, low, high, 1000)
        assert same(default_rng(1).bounded_laplace(0.0, 3e306, [low], [high], 1000), got)
        assert 1.797e308 <= np.abs(got).min() < np.abs(got).max() <= largest
        assert np.unique(got).size > 900
    assert np.isfinite(default_rng(1).bounded_laplace(1.7e308, 3e306, -INF, INF, 10_000)).all()


@pytest.mark.parametrize("point", [0.0, -3.0, 1e300, 5e-324, 7.25])
@pytest.mark.parametrize("loc", [0.0, -3.0, 1e5])
def test_an_interval_of_one_point(point, loc):
    """Low == high gives that point."""
    assert default_rng(1).bounded_laplace(loc, 2.0, point, point, 50).tolist() == [point] * 50


@pytest.mark.parametrize(
    ("loc", "low", "high", "nearest"),
    [(0.5, 0.0, 1.0, 0.5), (-2.0, 0.0, 1.0, 0.0), (9.0, 0.0, 1.0, 1.0), (9.0, -INF, INF, 9.0), (9.0, -INF, 2.0, 2.0)],
)
def test_scale_zero(loc, low, high, nearest):
    """Scale 0 gives the point of the interval that is nearest to loc."""
    assert default_rng(1).bounded_laplace(loc, 0.0, low, high, 20).tolist() == [nearest] * 20


def test_without_bounds_it_is_laplace_noise():
    """An interval that is open on both sides leaves all of the law: magnitude and sign are as for a Laplace draw."""
    got = default_rng(1).bounded_laplace(0.0, 1.0, -INF, INF, 100_000)
    # Standard errors at n = 1e5: 0.0032 for the mean magnitude, 0.0016 for the share of a sign; 6 of them are allowed.
    assert abs(np.abs(got).mean() - 1) < 0.019
    assert abs((got < 0).mean() - 0.5) < 0.0095


def test_nothing_gathers_at_the_ends():
    """Draws are conditioned, not clipped: neither end of a narrow interval is drawn."""
    got = default_rng(1).bounded_laplace(0.0, 10.0, -1.0, 1.0, 100_000)
    assert not np.isin(got, (-1.0, 1.0)).any()
    assert np.unique(got).size == 100_000


def test_parameters_are_arrays():
    """Each element has its own centre, scale and bounds, and the draw of its own word."""
    loc, scale, low, high = (np.array(column) for column in zip(*CASES, strict=True))
    got = default_rng(3).bounded_laplace(loc, scale, low, high)
    rng = default_rng(3)
    assert same(got, [rng.bounded_laplace(*case) for case in CASES])
    assert rng.position == len(CASES)
