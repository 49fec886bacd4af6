"""Enclosures of the normal distribution, against mpmath: what is true lies inside, and inside is narrow."""

from fractions import Fraction

import pytest
from mpmath import mp, mpf

from lapnoise import exact_normal
from lapnoise.exact_normal import delta_over_density, gaussian_delta, mills, pi, root_down, root_up


def real(x: Fraction) -> mpf:
    """Return a fraction as a number of mpmath's, in the precision that is set."""
    return mpf(x.numerator) / x.denominator


def tail(x) -> mpf:
    """Return Q(x)."""
    return mp.erfc(x / mp.sqrt(2)) / 2


def true_delta(u: Fraction, epsilon: Fraction) -> mpf:
    """Return Phi(u/2 - epsilon/u) - exp(epsilon) Phi(-u/2 - epsilon/u)."""
    a = real(u) / 2 - real(epsilon) / real(u)
    return tail(-a) - mp.exp(real(epsilon)) * tail(real(u) - a)


POINTS = [Fraction(x) for x in (0, "1/3", 1, "5/2", "59/10", 6, "601/100", 8, 37, 1000, 10**9, "1/1000000")]


@pytest.mark.parametrize("p", [64, 128, 300])
@pytest.mark.parametrize("x", [*POINTS, *(-x for x in POINTS if x <= 37)])
def test_mills_ratio(x, p):
    """Q(x) / phi(x) lies between the two integers, which are at most 16 apart."""
    low, high = mills(x, p)
    with mp.workprec(p + 2200):
        true = mp.ldexp(tail(real(x)) * mp.sqrt(2 * mp.pi) * mp.exp(real(x) ** 2 / 2), p)
        assert low <= true <= high
    assert 0 <= high - low <= 16


@pytest.mark.parametrize("p", [8, 64, 500, 3000])
def test_pi(p):
    """Pi lies between two integers that are at most 3 apart."""
    low, high = pi(p)
    with mp.workprec(p + 64):
        assert low < mp.ldexp(mp.pi, p) < high
    assert high - low <= 3


PAIRS = [
    ("1", "1"),
    ("0.268", "1"),
    ("2", "10"),
    ("0.1", "0.5"),
    ("1e-6", "1e-6"),
    ("2.7e-8", "1e-6"),
    ("42", "1000"),
    ("44.7", "1000"),
    ("1.35", "1e-6"),
    ("10", "0.01"),
    ("30", "1"),
    ("0.02", "0.7"),
]


@pytest.mark.parametrize(("u", "epsilon"), PAIRS)
def test_delta_of_normal_noise(u, epsilon):
    """Balle and Wang's delta lies between bounds that agree to 2^-60, also where it is 1e-300."""
    u, epsilon = Fraction(u), Fraction(epsilon)
    low, high = gaussian_delta(u, epsilon)
    least, most = delta_over_density(u, epsilon)
    with mp.workprec(4000):
        true = true_delta(u, epsilon)
        a = real(u) / 2 - real(epsilon) / real(u)
        over = true * mp.sqrt(2 * mp.pi) * mp.exp(a * a / 2)
        assert real(low) <= true <= real(high)
        assert real(least) <= over <= real(most)
    assert 0 < high - low <= low / 2**60


def test_ends_of_delta():
    """Where delta is below exp(-5000) or next to 1 a bound is given at once, and it is one."""
    assert gaussian_delta(Fraction(1, 10**9), Fraction(1)) == (0, exact_normal.NOTHING)
    assert gaussian_delta(Fraction(200), Fraction(1)) == (0, 1)
    with mp.workprec(200):
        assert mp.exp(-exact_normal.FARTHEST) < real(exact_normal.NOTHING) * 2**7000 * mpf(2) ** -7000


@pytest.mark.parametrize("x", ["2", "1/3", "4/9", "1e-300", "1e300", "12345678901234567890123", "0.9999999999", "49"])
def test_roots(x):
    """A root is exact where it is rational, and else lies outside by 2^-80 at most."""
    x = Fraction(x)
    up, down = root_up(x), root_down(x)
    assert down**2 <= x <= up**2
    assert up - down <= up / 2**79
    assert (up**2 == x) == (x not in (2, Fraction(1, 3), Fraction("0.9999999999"), 12345678901234567890123))
    assert root_up(Fraction(0)) == 0
