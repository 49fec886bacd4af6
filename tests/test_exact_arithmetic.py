"""The last tier, exact.py: every enclosure holds its number and is narrow, and decisions take the bits they need.

True values are mpmath's, at 200 bits more than the enclosure has.
"""

import math
import random
from fractions import Fraction
from itertools import pairwise

import pytest
from exact_oracles import boundary, boundary_cell, magnitude, probability
from mpmath import mp, mpf
from mutants import mutant

from lapnoise import exact
from lapnoise._exact_noise import kappa_pair

SCALES = [
    *(Fraction(x) for x in (1e-300, 1e-3, 0.1, 0.3, 1 / 3, 0.7, 1.0, 3.0, 50.0, 12345.678, 2.0**57)),
    *(Fraction(2**k + d) for k in (30, 36, 43, 50) for d in (-1, 0, 1)),
    Fraction(10**40, 7),
    Fraction(2) ** 200,
]


def number(x: Fraction) -> mpf:
    """Return a fraction at the precision that is set."""
    return mpf(x.numerator) / x.denominator


def place(enclosure: exact.Enclosure, true, p: int) -> tuple[mpf, int]:
    """Return where in its enclosure a number lies, 0 at the lower end and 1 at the upper, and the width in units."""
    low, high = enclosure
    assert low <= high
    above = mp.ldexp(true, p) - low
    return above / (high - low) if high > low else above * mp.inf if above else mpf(0), high - low


def random_fractions(seed: int, count: int, bits: int) -> list[Fraction]:
    """Return positive fractions from 2^-bits to 2^bits, their logarithms uniform, and some very close to 1."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        power = Fraction(2) ** chance.randint(-bits, bits)
        made.append(power * Fraction(chance.getrandbits(90) + 1, chance.getrandbits(90) + 1))
    return (
        made + [1 + Fraction(d, 2**k) for k in (1, 2, 10, 64, 200) for d in (-1, 1)] + [Fraction(2, 3), Fraction(4, 3)]
    )


@pytest.mark.parametrize("p", [64, 127, 192, 700])
def test_negative_log_is_enclosed(p):
    """Minus the logarithm of numbers from 2^-3000 to 2^3000 lies inside, and e ln 2 widens it by 26 p units an e."""
    for x in random_fractions(1, 60, 3000):
        got = exact.negative_log(x, p)
        with mp.workprec(p + 300):
            where, width = place(got, -mp.log(number(x)), p)
        e = abs(x.numerator.bit_length() - x.denominator.bit_length()) + 1

        assert 0 <= where <= 1
        assert width <= 26 * p * (e + 1)


@pytest.mark.parametrize("p", [64, 192, 700])
def test_atanh_is_enclosed(p):
    """Atanh lies inside for abs(x) <= 1/5, at 0 too, with a width of p units at most."""
    chance = random.Random(2)
    arguments = [Fraction(chance.getrandbits(80), 2**80) / 5 * chance.choice((-1, 1)) for _ in range(60)]
    for x in [*arguments, Fraction(0), Fraction(1, 5), Fraction(-1, 5), Fraction(1, 10**60), Fraction(1, 2**p)]:
        got = exact._atanh(x, p)
        with mp.workprec(p + 300):
            where, width = place(got, mp.atanh(number(x)), p)

        assert 0 <= where <= 1
        assert width <= p


@pytest.mark.parametrize("p", [64, 192, 700])
def test_exponential_is_enclosed(p):
    """Exp(-x) lies inside for x from 2^-400 to far beyond the last unit, with a width of 8 units at most."""
    chance = random.Random(3)
    arguments = [Fraction(chance.getrandbits(80) + 1, 2 ** chance.randint(70, 400)) for _ in range(60)]
    arguments += [Fraction(k) for k in (1, 2, 40, 63, 64, 65, p, p + 1, p + 2, p + 3, 10**9, 10**300)]
    arguments += [Fraction(p * 7, 10), Fraction(1, 2), Fraction(1, 2) + Fraction(1, 2**99)]
    for x in arguments:
        got = exact._exp_negative(x, p)
        with mp.workprec(p + 300):
            where, width = place(got, mp.exp(-number(x)), p)

        assert 0 <= where <= 1
        assert width <= 8


@pytest.mark.parametrize("t", SCALES, ids=lambda t: f"2^{math.log2(t):.3g}")
def test_kappa_is_enclosed(t):
    """Kappa lies inside and in (0, 1/2), with a width of 2 p units at most, from t = 1e-300 to 2^200."""
    for p in (64, 127, 192, 700):
        got = exact.kappa(t, p)
        with mp.workprec(p + 300 + 2 * abs(math.ceil(math.log2(t)))):
            true = number(t) * mp.log(2 / (1 + mp.exp(-1 / number(t))))
            where, width = place(got, true, p)

        assert 0 <= where <= 1
        assert width <= 2 * p
        assert got[0] >= 0
        assert got[1] <= (1 << p - 1) + 2 * p


def lost(arithmetic) -> list[int]:
    """Return how many of 150 logarithms and of 150 exponentials escape their enclosures."""
    chance = random.Random(4)
    escaped = [0, 0]
    for x in random_fractions(4, 138, 60):
        reduced = Fraction(chance.getrandbits(80) + 1, 2 ** chance.randint(74, 130))
        logarithm, exponential = arithmetic.negative_log(x, 127), arithmetic._exp_negative(reduced, 127)
        with mp.workprec(450):
            for i, (made, true) in enumerate(
                ((logarithm, -mp.log(number(x))), (exponential, mp.exp(-number(reduced))))
            ):
                escaped[i] += not 0 <= place(made, true, 127)[0] <= 1
    return escaped


def test_enclosures_would_fail_without_outward_rounding():
    """Quotients, or powers, that are rounded down at the upper ends too lose nine numbers in ten; nothing else does."""
    quotients = mutant("lapnoise.exact", ("return -(-a // b)", "return a // b"))
    powers = mutant("lapnoise.exact", ("return -(-a >> bits)", "return a >> bits"))

    assert lost(exact) == [0, 0]
    assert lost(quotients)[0] >= 130
    assert lost(powers)[1] >= 130


@pytest.mark.parametrize("t", [5e-324, 1e-300, 1e-200, 1e-3, 0.1, 1 / 3, 1.0, 3.0, 50.0, 2.0**30, 2.0**43, 2.0**57])
def test_kappa_pair(t):
    """Kappa as two floats has a relative error of 2^-100, or half the least float where its low part ends there."""
    high, low = kappa_pair(t)
    with mp.workprec(3000):
        scale = mpf(t)
        true = scale * mp.log(2 / (1 + mp.exp(-1 / scale)))
        error = abs(mpf(high) + mpf(low) - true)

        assert error <= max(true * mpf(2) ** -100, mpf(2) ** -1075)
    assert abs(low) <= math.ulp(high) / 2


def test_kappa_pair_at_zero():
    """A scale of 0 has kappa 0."""
    assert kappa_pair(0.0) == (0.0, 0.0)


class Words:
    """An iterator of given words that counts how many were taken."""

    def __init__(self, *words: int) -> None:
        self.taken = 0
        self._words = words

    def __iter__(self):
        return self

    def __next__(self) -> int:
        self.taken += 1
        return self._words[self.taken - 1]


def some_steps(t: Fraction) -> list[int]:
    """Return magnitudes m >= 1 from small ones to those at U = 2^-50."""
    return sorted({max(1, math.floor(t * Fraction(e))) for e in (0.001, 0.1, 0.7, 1.5, 4.2, 11.0, 20.0, 34.0)})


@pytest.mark.parametrize("t", [x for x in SCALES if x < 2**60], ids=lambda t: f"2^{math.log2(t):.3g}")
def test_further_words_are_taken_where_they_must_be(t):
    """A cell with a boundary takes a word more, its neighbours none; so does the cell of 127 bits with the boundary."""
    for m in some_steps(t):
        j = boundary_cell(t, m, 63)
        if j < 2:
            continue
        fine = boundary_cell(t, m, 127) - (j << 64)
        assert 1 < fine < 2**64 - 2
        for first, words, expected, taken in (
            (j - 1, (), m, 0),
            (j + 1, (), m - 1, 0),
            (j, (0,), m, 1),
            (j, (fine - 1,), m, 1),
            (j, (fine + 1,), m - 1, 1),
            (j, (2**64 - 1,), m - 1, 1),
            (j, (fine, 0), m, 2),
            (j, (fine, 2**64 - 1), m - 1, 2),
        ):
            source = Words(*words)
            # Where cells hold several boundaries only the first bits say less.
            if boundary_cell(t, m + 1, 63) < j - 1 and boundary_cell(t, max(m - 1, 1), 63) > j + 1:
                assert exact.magnitude(t, first, source) == expected
                assert source.taken == taken


def test_boundaries_are_met_on_every_scale():
    """The test before this one runs: for every scale above 1/30 there are at least three lonely boundaries."""
    for t in SCALES:
        if Fraction(1, 30) < t < 2**50:
            cells = [boundary_cell(t, m, 63) for m in some_steps(t)]
            assert sum(j >= 2 for j in cells) >= (3 if t > 1 else 1)


def test_first_cell_takes_words_until_it_ends():
    """First bits of 0 leave U unbounded below, so words are taken until a one comes; M grows by 64 t ln 2 a word."""
    t = Fraction(1000)
    found = []
    for zeros in range(4):
        source = Words(*[0] * zeros, 1 << 63, 0, 0, 0)
        found.append(exact.magnitude(t, 0, source))
        assert zeros + 1 <= source.taken <= zeros + 3
    assert found[0] == pytest.approx(64_000 * math.log(2), abs=2)
    assert all(b - a == pytest.approx(64_000 * math.log(2), abs=1) for a, b in pairwise(found))


@pytest.mark.parametrize("t", SCALES, ids=lambda t: f"2^{math.log2(t):.3g}")
def test_magnitude_against_intervals(t):
    """Random bits give the magnitude that mpmath's intervals give, small cells among them."""
    chance = random.Random(5)
    for _ in range(40):
        first = chance.getrandbits(63) >> chance.choice((0, 0, 0, 5, 20, 45, 62, 63))
        words = [chance.getrandbits(64) for _ in range(8)]
        assert exact.magnitude(t, first, iter(words)) == magnitude(t, first, words.__getitem__)


LEVELS = [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000), Fraction(1, 10**12), Fraction(999, 1000)]


@pytest.mark.parametrize("t", [Fraction(x) for x in (0.05, 0.3, 1 / 3, 0.7, 1.0, 3.0, 50.0)], ids=float)
@pytest.mark.parametrize("left", LEVELS, ids=float)
def test_quantile_against_the_exact_distribution(t, left):
    """The quantile is the least m at which the probabilities of -m to m, added one by one, reach 1 - tail."""
    m = exact.quantile_magnitude(t, left)
    with mp.workprec(160):
        inside = probability(t, 0) + 2 * mp.fsum(probability(t, k) for k in range(1, m + 1))
        wanted = 1 - number(left)

        assert inside >= wanted
        assert m == 0 or inside - 2 * probability(t, m) < wanted


@pytest.mark.parametrize(
    "t", [t for t in SCALES if t > 1000] + [Fraction(2) ** 1000], ids=lambda t: f"2^{math.log2(t):.4g}"
)
def test_quantile_of_large_scales(t):
    """For large scales P(abs(X) > m) <= tail < P(abs(X) >= m)."""
    for left in (*LEVELS, Fraction(1, 10**400)):
        m = exact.quantile_magnitude(t, left)
        with mp.workprec(3000):
            assert boundary(t, m + 1, 2600) <= number(left)
            assert m == 0 or boundary(t, m, 2600) > number(left)


def test_quantile_of_tiny_scales_is_zero():
    """Noise that is 0 but for a probability below the tail has the quantile 0."""
    assert exact.quantile_magnitude(Fraction(1, 10**300), Fraction(1, 10**50)) == 0
    assert exact.quantile_magnitude(Fraction(1, 10), Fraction(1, 1000)) == 0
    assert exact.quantile_magnitude(Fraction(1, 10), Fraction(1, 100000)) == 1
