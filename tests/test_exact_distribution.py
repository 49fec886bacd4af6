"""The law of exact noise, against its exact probabilities, a second sampler, and what memorylessness says of its bits.

Error rates are those of stats.py: a false alarm has probability 1e-9 a check, and each check states what it detects.
Small scales show the construction, where one integer holds much of the mass; large ones show the tails and the bits.
"""

import math
import random
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from exact_oracles import canonne_kamath_steinke, probability, tail
from exact_words import UNDECIDED, fast_tier, fast_values, law, magnitudes
from noise_checks import columns, laplace_distribution, laplace_moments, serial, sign_and_magnitude
from scipy import stats as distributions
from stats import ALPHA, Check, accept, chi_square, correlations, count, reject

from lapnoise import default_rng

SMALL = [0.3, 0.7, 1.0, 3.0, 50.0]
SOME = 1_000_000
LARGE = 2.0**30


@cache
def draws(t: float, size: int = SOME, seed: int = 61) -> np.ndarray:
    """Return draws of a scale, each scale under a seed of its own."""
    return default_rng([seed, *Fraction(t).as_integer_ratio()]).discrete_laplace(t, size)


def cells(t: float, size: int, least: float = 100.0) -> tuple[int, np.ndarray]:
    """Return the largest m that is a cell of its own and the probabilities of (-inf, -m), -m ... m, (m, inf)."""
    exact, m = Fraction(t), 0
    while size * float(tail(exact, m + 2)) / 2 >= least and size * float(probability(exact, m + 1)) >= least:
        m += 1
    inner = [float(probability(exact, k)) for k in range(-m, m + 1)]
    beyond = float(tail(exact, m + 1)) / 2
    return m, np.array([beyond, *inner, beyond])


def counted(x: np.ndarray, m: int) -> np.ndarray:
    """Count integers in those cells."""
    return np.bincount(np.clip(x, -m - 1, m + 1) + m + 1, minlength=2 * m + 3)


def whole_law(x: np.ndarray, t: float):
    """Check integers against all exact probabilities."""
    m, expected = cells(t, x.size)
    return chi_square(f"law of scale {t:g}", counted(x, m), expected)


# The law on small scales.


@pytest.mark.parametrize("t", SMALL)
def test_probabilities(t):
    """A million draws have the exact probabilities; a distance, root of sum (q - p)^2 / p, of 0.021 is seen."""
    check = whole_law(draws(t), t)
    assert check.detects < 0.021
    accept(check)


@pytest.mark.slow
@pytest.mark.parametrize("t", SMALL)
def test_probabilities_of_many_draws(t):
    """So have ten million; a distance of 0.008 is seen. Some 2 s for all."""
    check = whole_law(draws(t, 10_000_000, 62), t)
    assert check.detects < 0.008
    accept(check)


def test_mutants_of_the_law():
    """Zero counted twice, a Laplace variate rounded or cut down, signs of 51 % and a scale of 0.98 are refused."""
    chance = np.random.default_rng(4)
    t = 1.0
    sign = np.where(chance.random(SOME) < 0.5, -1, 1)
    uniform = chance.exponential(t, SOME)
    mutants = {
        "zero twice": sign * np.floor(uniform).astype(np.int64),
        "rounded": np.rint(sign * uniform).astype(np.int64),
        "rounded down": np.where(sign < 0, -np.ceil(uniform), np.floor(uniform)).astype(np.int64),
        "signs": np.where(chance.random(SOME) < 0.04, np.abs(draws(t)), draws(t)),
        "scale": default_rng(63).discrete_laplace(0.98 * t, SOME),
    }
    assert np.mean(mutants["zero twice"] == 0) == pytest.approx(1 - math.exp(-1), abs=0.003)
    for mutant in mutants.values():
        reject(whole_law(mutant, t))
    accept(whole_law(draws(t, SOME, 64), t))


@pytest.mark.parametrize("t", SMALL)
def test_signs_balance(t):
    """Among draws that are not 0 the signs balance, whatever the magnitude; 1 % is seen, 2.1 % at 0.3."""
    x = draws(t)
    x = x[x != 0]
    accept(count("plus signs", int(np.sum(x > 0)), x.size, 0.5))
    small = x[np.abs(x) <= max(1, round(t))]
    accept(count("plus signs of small draws", int(np.sum(small > 0)), small.size, 0.5))


@pytest.mark.parametrize("t", SMALL)
def test_neighbours_are_independent(t):
    """Draws are uncorrelated with the sixteen after them, and by place modulo 8; 0.012 and 0.033 are seen.

    What is multiplied is whether a draw lies in the middle half of the law, or nearly, and its sign, 0 for a zero.
    """
    x = draws(t)
    exact = Fraction(t)
    m = next(m for m in range(200) if float(tail(exact, m + 1)) < 0.5)
    inside = 1 - float(tail(exact, m + 1))
    middle = ((np.abs(x) <= m) - inside) / math.sqrt(inside * (1 - inside))
    sign = np.sign(x) / math.sqrt(float(tail(exact, 1)))
    n = x.size - 16
    for name, y in (("middle", middle), ("sign", sign)):
        accept(correlations(name, [y[:n] @ y[lag : lag + n] / n for lag in range(1, 17)], n))
        rows = y[: x.size // 8 * 8].reshape(-1, 8)
        products = (rows.T @ rows / rows.shape[0])[np.triu_indices(8, 1)]
        accept(correlations(f"{name} by lanes", products, rows.shape[0]))


# A second sampler.


def two_samples(x: np.ndarray, y: np.ndarray, t: float) -> Check:
    """Check that two samples of one size have one law, without a look at its probabilities.

    ``detects`` is the root of the sum of (p - q)^2 / (p + q).
    """
    m, _ = cells(t, x.size)
    a, b = counted(x, m), counted(y, m)
    statistic = float(np.sum((a - b) ** 2 / (a + b)))
    critical = float(distributions.chi2.isf(ALPHA, a.size - 1))
    detects = (math.sqrt(critical) + 5) / math.sqrt(x.size)
    return Check(f"two samples of scale {t:g}", statistic, critical, detects)


TWO = 40_000


@cache
def rejection_draws(t: float, size: int = TWO) -> np.ndarray:
    """Return what the sampler of Canonne, Kamath and Steinke draws with Python's own generator."""
    chance = random.Random(65)
    return np.array([canonne_kamath_steinke(Fraction(t), chance) for _ in range(size)])


@pytest.mark.parametrize("t", [0.5, 1.0, 7 / 3, 50.0])
def test_against_rejection_sampling(t):
    """40,000 draws and as many of the sampler by rejection in fractions have one law; a distance of 0.11 is seen.

    The sampler by rejection has the exact probabilities itself, and a scale off by a tenth is refused.
    """
    reference = rejection_draws(t)
    accept(whole_law(reference, t))
    accept(two_samples(draws(t)[:TWO], reference, t))
    reject(two_samples(draws(0.9 * t)[:TWO], reference, t))


# The law on large scales.


@cache
def large_draws() -> np.ndarray:
    """Return two million draws of scale 2^30 as multiples of the scale.

    Steps of the distribution function, 2^-31, are far below what a sample of this size resolves.
    """
    return draws(LARGE, 1 << 21) / LARGE


def test_large_scale():
    """On a scale of 2^30 distribution function, tails and moments are those of the continuous law."""
    x = large_draws()
    for check in laplace_distribution(x[: 1 << 20]) + laplace_moments(x):
        accept(check)


@pytest.mark.parametrize("t", [2.0**40, 2.0**50, 2.0**57])
def test_larger_scales(t):
    """On scales that the refined tier serves, too."""
    x = draws(t, 1 << 18) / t
    for check in laplace_distribution(x) + laplace_moments(x):
        accept(check)


def test_large_scale_is_independent():
    """Draws of scale 2^30 are uncorrelated with the sixteen after them and by lanes, and signs with magnitudes."""
    x = large_draws()
    for check in (*serial(x), *columns("places modulo 8", x, 8), *columns("places modulo 512", x, 512)):
        accept(check)
    accept(sign_and_magnitude(x))


def bits_of(x: np.ndarray, t: float, places: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bits of abs(x) - 1 for abs(x) >= 1, scaled to mean 0 and variance 1, and P(bit = 1).

    Given M >= 1, M - 1 is geometric with q = exp(-1/t), so its bits are independent and bit i is 1 with probability
    1 / (1 + exp(2^i / t)).
    """
    size = np.abs(x[x != 0]) - 1
    p = np.array([1 / (1 + math.exp(2.0**i / t)) for i in range(places)])
    return (((size[:, None] >> np.arange(places)) & 1) - p) / np.sqrt(p * (1 - p)), p


@pytest.mark.parametrize(("t", "places"), [(3.0, 4), (50.0, 8), (2.0**30, 33)])
def test_bits_are_independent(t, places):
    """Each bit of M - 1 has its probability, and no two go together; correlations of 0.017 are seen."""
    x = draws(t) if t < 100 else draws(t, 1 << 21)[: 1 << 19]
    bits, p = bits_of(x, t, places)
    n = bits.shape[0]
    accept(correlations("bits", bits.mean(axis=0), n))
    accept(correlations("pairs of bits", (bits.T @ bits / n)[np.triu_indices(places, 1)], n))
    assert p[0] == pytest.approx(0.5, abs=0.1)


def met_by_32_bits(x: np.ndarray) -> np.ndarray:
    """Return which magnitudes of scale 2^30 some uniform (k + 1/2) 2^-32 has."""
    cell = np.floor(np.exp(-(x + 0.5) / LARGE) * 2.0**32)
    return np.any([np.floor(LARGE * -np.log((cell + d + 0.5) * 2.0**-32)) == x for d in (-1, 0, 1)], axis=0)


def test_mutant_with_a_coarse_uniform():
    """A uniform of 32 bits reaches a fifth of the integers beyond 3 scales; draws know no such bounds.

    Each of some 50,000 draws there falls on such an integer with probability 0.2 or less, so 0.25 has 1e-170.
    """
    uniform = (np.random.default_rng(5).integers(0, 2**32, 1 << 20) + 0.5) * 2.0**-32
    mutant = np.floor(LARGE * -np.log(uniform))
    x = np.abs(draws(LARGE, 1 << 21)[: 1 << 20]).astype(np.float64)

    assert met_by_32_bits(mutant[mutant > 3 * LARGE]).all()
    assert 0.02 < np.mean(met_by_32_bits(x[x > 3 * LARGE])) < 0.25


@pytest.mark.parametrize(("t", "size"), [(3.0, SOME), (2.0**30, 1 << 21)])
def test_tail_counts(t, size):
    """As many draws lie beyond 5 to 10 scales as P(abs(X) >= m) says; at 5 a difference of a seventh is seen.

    A tail that is a fifth of a scale short is refused there.
    """
    x = np.abs(draws(t, size))
    for z in range(5, 11):
        m = math.ceil(z * t)
        accept(count(f"beyond {z} scales", int(np.sum(x >= m)), size, float(tail(Fraction(t), m))))
    shortened = x * (1 - 0.2 / 5)
    reject(count("mutant", int(np.sum(shortened >= 5 * t)), size, float(tail(Fraction(t), math.ceil(5 * t)))))


@pytest.mark.slow
def test_far_tail_counts():
    """Of 2^28 draws as many lie beyond 8 to 15 scales as should: 82 at 15, of which 60 more are seen. Some 10 s."""
    hits = dict.fromkeys(range(8, 16), 0)
    parts = 16
    generator = default_rng(66)
    for _ in range(parts):
        x = np.abs(generator.discrete_laplace(LARGE, 1 << 24))
        for z in hits:
            hits[z] += int(np.sum(x >= z * int(LARGE)))
    for z, found in hits.items():
        accept(count(f"beyond {z} scales", found, parts << 24, float(tail(Fraction(LARGE), z * int(LARGE)))))


# Control flow (R6a).


def by_magnitude(left: np.ndarray, sizes: np.ndarray, t: float) -> Check:
    """Check that leaving the fast tier does not go with the magnitude, among draws of magnitude >= 1 and E < 10.

    ``detects`` is the root of the sum of (q - p)^2 / p over sixteen cells of magnitude, each left or not.
    """
    used = (sizes >= 1) & (sizes < 10 * t)
    edges = np.quantile(sizes[used], np.arange(1, 16) / 16)
    cell = np.searchsorted(edges, sizes[used])
    table = np.array([np.bincount(cell[left[used] == side], minlength=16) for side in (0, 1)])
    expected = table.sum(0) * table.sum(1)[:, None] / table.sum()
    statistic = float(np.sum((table - expected) ** 2 / expected))
    critical = float(distributions.chi2.isf(ALPHA, 15))
    return Check("leaving by magnitude", statistic, critical, (math.sqrt(critical) + 5) / math.sqrt(used.sum()))


@pytest.mark.parametrize("t", [50.0, 2.0**20, 2.0**40])
def test_leaving_the_fast_tier_tells_nothing_of_the_magnitude(t):
    """With a certificate of 0.01, or that of 2^40, draws of all magnitudes >= 1 leave the fast tier equally often.

    A mutant whose certificate grows with E, though it leaves equally often on the whole, is refused.
    """
    words = default_rng(67).words(1 << 21)
    slack = max(0.01, law(t)[3])
    left = fast_tier(words, law(t, slack=slack)) == UNDECIDED
    sizes = magnitudes(words, law(t))
    assert np.mean(left) == pytest.approx(2 * slack, rel=0.05)
    accept(by_magnitude(left, sizes, t))

    y = fast_values(words, law(t))
    distance = np.abs(y - np.rint(y))
    reject(by_magnitude(distance < slack * y / t, sizes, t))


def test_words_do_not_depend_on_draws():
    """A draw takes one word whatever its size, so that positions tell nothing."""
    generator = default_rng(68)
    for t in (1e-3, 3.0, 2.0**30, 2.0**50, 2.0**57):
        before = generator.position
        generator.discrete_laplace(t, 1000)
        assert generator.position == before + 1000
