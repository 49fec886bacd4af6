"""The logarithms against mpmath: error bounds over everything that the sampler feeds them, and mutants that break them.

Largest errors seen: 1.65 ulp for -log(u) on 2 * 10^7 words and 3.2 ulp for log(u1 / u2) on 2 * 10^7 pairs of them; in
float32 1.46 ulp for -log(u) on all half words and 3.6 ulp for log(u1 / u2) on 4 * 10^7 pairs.
"""

import math
import random

import numba
import numpy as np
import pytest
from adversarial import adversarial_half_words, adversarial_words
from from_words import (
    as_words,
    difference_draws,
    difference_draws32,
    laplace_draws32,
    magnitudes,
    magnitudes32,
    ratios,
)
from mpmath import mp, mpf
from mutants import mutant
from oracles import log_of_ratio, log_of_ratio32, negative_log, negative_log32, ulp_error, worst_ulp_error

from lapnoise.kernels.exp import decay
from lapnoise.kernels.log import log_positive

INVERSE_ULP = 2.0
RATIO_ULP = 4.0


def some_words(count: int, seed: int, bits: int = 64) -> list[int]:
    """Return random words, half of them shifted so that every magnitude occurs, a quarter so that 1 - u is small."""
    chance = random.Random(seed)
    words = []
    for i in range(count):
        word = chance.getrandbits(bits)
        if i % 2:
            word >>= chance.randrange(bits)
        words.append(word ^ ((1 << bits) - 1) if i % 4 == 3 else word)
    return words


def some_pairs(count: int, seed: int, bits: int = 64) -> list[tuple[int, int]]:
    """Return pairs of words: independent, far apart, neighbours, and close at every magnitude."""
    chance = random.Random(seed)
    first, second = some_words(count, seed + 1, bits), some_words(count, seed + 2, bits)
    pairs = list(zip(first, second, strict=True))
    for word in first[: count // 2]:
        width = max(word.bit_length(), 2)
        pairs.append((word, word ^ chance.getrandbits(chance.randrange(1, width))))
        pairs.append((word, (word * 2 + chance.randrange(-4, 5)) % (1 << bits)))
    ends = [0, 2, 4, 6, 1 << bits // 2, 1 << bits - 1, (1 << bits) - 2]
    return pairs + [(a, b) for a in ends for b in ends]


CORPUS = adversarial_words() + some_words(30_000, 11) + [0x9B55346031DAAE84, 0x9B9963843DB3BE86]


@pytest.fixture(scope="module")
def exact() -> list[mpf]:
    """Return -log(u) of the corpus."""
    return [negative_log(word) for word in CORPUS]


def test_negative_log_within_two_ulp(exact):
    """On random and adversarial words -log(u) lies within 2 ulp of the logarithm of the exact uniform."""
    assert worst_ulp_error(magnitudes(CORPUS), exact) <= INVERSE_ULP


@pytest.mark.slow
def test_negative_log_within_two_ulp_on_a_million_words():
    """The same on 10^6 more words."""
    words = some_words(1_000_000, 12)

    assert worst_ulp_error(magnitudes(words), map(negative_log, words)) <= INVERSE_ULP


# Each coefficient by itself, by the least that matters: an error d of _Ck moves the logarithm by at most d z^(k+1) / 2
# relative, with z <= 0.0294. So _C0 to _C2 are changed in the last 20 bits of their 53, the others in more.
BROKEN_LOGARITHMS = [
    ("_C0 = 0.666666666666667", "_C0 = 0.66666666666"),
    ("_C1 = 0.39999999999899505", "_C1 = 0.3999999999"),
    ("_C2 = 0.28571428625975487", "_C2 = 0.285714285"),
    ("_C3 = 0.2222221113479508", "_C3 = 0.22222220"),
    ("_C4 = 0.18182889125261723", "_C4 = 0.181826"),
    ("_C5 = 0.15331721600556042", "_C5 = 0.1532"),
    ("_C6 = 0.14616449685043406", "_C6 = 0.143"),
    ("_LN2 = 0.6931471805599453\n", "_LN2 = 0.69314718055994\n"),
    ("return fma64(s, fma64(-z, p, f), fma64(-e, _LN2, -f))", "return -(e * _LN2 + s * (2.0 + z * p))"),
]


@pytest.mark.parametrize("change", BROKEN_LOGARITHMS, ids=[new for _, new in BROKEN_LOGARITHMS])
def test_mutants_break_the_bound(exact, change):
    """A coefficient wrong in its last bits, a short ln 2 and a looser order of operations all exceed 2 ulp."""
    got = magnitudes(CORPUS, log=mutant("lapnoise.kernels.log", change))

    assert worst_ulp_error(got, exact) > INVERSE_ULP


def test_rounded_uniforms_break_the_bound(exact):
    """The logarithm of a uniform that was rounded to a float64 first is far off near 1."""
    change = "((high - float64_from_bits(power_bits)) + low)", "((high + low) - float64_from_bits(power_bits))"
    got = magnitudes(CORPUS, uniform=mutant("lapnoise.kernels.uniform", change))

    assert worst_ulp_error(got, exact) > 1000


def test_log_of_ratio_within_four_ulp():
    """Near a = b, far apart and at every magnitude log(a / b) lies within 4 ulp, and is 0 exactly where a = b."""
    pairs = some_pairs(10_000, 13)
    first, second = zip(*pairs, strict=True)
    got = ratios(first, second)
    exact = [log_of_ratio(*pair) for pair in pairs]

    assert worst_ulp_error(got, exact) <= RATIO_ULP
    assert np.array_equal(got, difference_draws(second, first))
    assert np.array_equal(got == 0, as_words(first) | np.uint64(1) == as_words(second) | np.uint64(1))


def test_log_of_ratio32_within_four_ulp():
    """The same in float32, on half words."""
    pairs = some_pairs(10_000, 14, bits=32)
    first, second = zip(*pairs, strict=True)
    got = difference_draws32(second, first)

    assert worst_ulp_error(got, [log_of_ratio32(*pair) for pair in pairs], precision=24) <= RATIO_ULP
    assert np.array_equal(got == 0, [a | 1 == b | 1 for a, b in pairs])


# An offset left in the halves cancels only where e = 0.
OFFSET_HALVES = (
    "    return high, float64_from_bits(_LOW_BITS | (odd & _HALF_MASK)) - _LOW",
    "    return high - _LOW, float64_from_bits(_LOW_BITS | (odd & _HALF_MASK))",
)


@pytest.mark.parametrize(
    ("module", "change"),
    [
        ("log", ("_W1 = 0.4000000000000801", "_W1 = 0.40000000001")),
        ("log", ("_W7 = 0.1361161435410514", "_W7 = 0.0")),
        ("log", ("(fma64(-c, high_b, high_a) + fma64(-c, low_b, low_a))", "fma64(-c, b, a)")),
        ("uniform", OFFSET_HALVES),
    ],
    ids=["_W1", "_W7", "rounded uniforms", "halves with an offset"],
)
def test_mutants_break_the_bound_of_the_ratio(module, change):
    """A wrong coefficient, a difference of rounded uniforms and halves with an offset all exceed 4 ulp."""
    pairs = some_pairs(3_000, 15)
    got = ratios(*zip(*pairs, strict=True), **{module: mutant(f"lapnoise.kernels.{module}", change)})

    assert worst_ulp_error(got, [log_of_ratio(*pair) for pair in pairs]) > RATIO_ULP


@numba.njit(error_model="numpy")
def log_positives(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = log_positive(x[i])
    return out


def test_log_positive():
    """From 2^-1022 to 2^1022 the logarithm is within 2 ulp, or within 2e-16 where it is less than 1/4."""
    chance = random.Random(16)
    numbers = [chance.choice([1.0, 1e-3, 1e-9]) * -math.log(chance.random()) for _ in range(5_000)]
    numbers += [math.exp(chance.uniform(-708, 708)) for _ in range(5_000)]
    numbers += [1 + chance.uniform(-1, 1) * 2.0**-k for k in range(1, 53) for _ in range(10)]
    for k in [*range(-70, 10), -1022, 1021]:
        for centre in (2.0**k, math.sqrt(0.5) * 2.0**k):
            numbers += [math.nextafter(centre, math.inf), centre, math.nextafter(centre, 0)]
    numbers = [x for x in numbers if x >= 2.0**-1022]
    for x, got in zip(numbers, log_positives(np.array(numbers)).tolist(), strict=True):
        with mp.workprec(120):
            exact = mp.log(mpf(x))
            if abs(exact) < 0.25:
                assert abs(got - exact) <= 2e-16
            else:
                assert ulp_error(got, exact) <= 2


@numba.njit(error_model="numpy")
def decays(x):
    first, second = np.empty_like(x), np.empty_like(x)
    for i in range(x.size):
        first[i], second[i] = decay(x[i])
    return first, second


def test_decay():
    """Both exp(-x) and 1 - exp(-x) are within a relative 1e-15, at the ends too."""
    chance = random.Random(17)
    numbers = [chance.uniform(0, 60) for _ in range(3_000)]
    numbers += [math.exp(chance.uniform(-700, 6.5)) for _ in range(3_000)]
    numbers += [(k + 0.5) * math.log(2) * (1 + d * 2.0**-52) for k in range(90) for d in (-2, -1, 0, 1, 2)]
    numbers += [5e-324, 1e-310, 2.0**-53, 2.0**-54, 1.0, 699.9]
    far, near = (part.tolist() for part in decays(np.array(numbers)))
    with mp.workprec(120):
        for x, got_far, got_near in zip(numbers, far, near, strict=True):
            assert abs(got_far / mp.exp(-mpf(x)) - 1) <= 1e-15
            assert abs(got_near / -mp.expm1(-mpf(x)) - 1) <= 1e-15
    far, near = decays(np.array([0.0, 700.0, 1e9, 1e308, math.inf]))

    assert (far[0], near[0]) == (1.0, 0.0)
    assert (far[1:] > 0).all()
    assert (far[1:] < 1e-303).all()
    assert (near[1:] == 1.0).all()


# Around the largest error, which is at cell 1606484127.
HALF_WORDS = [*range(2 * 1606484127 - 4000, 2 * 1606484127 + 4000, 2), *adversarial_half_words()]


@pytest.fixture(scope="module")
def exact32() -> list[mpf]:
    """Return -log(u) of these half words."""
    return [negative_log32(half_word) for half_word in HALF_WORDS]


def test_float32_logarithm_near_its_worst(exact32):
    """Half words around the largest error of float32 stay below 1.5 ulp (all of them are tested in test_laplace)."""
    got = magnitudes32(HALF_WORDS)

    assert worst_ulp_error(got, exact32, precision=24) <= 1.5
    assert np.array_equal(got, np.abs(laplace_draws32(HALF_WORDS)))


@pytest.mark.parametrize(
    "change",
    [
        ("_S0 = np.float32(0.6666668503957586)", "_S0 = np.float32(0.66666)"),
        ("_S1 = np.float32(0.3998878056602198)", "_S1 = np.float32(0.3997)"),
        ("_S2 = np.float32(0.2957994939197279)", "_S2 = np.float32(0.27)"),
        ("_LN2F = np.float32(0.6931471805599453)", "_LN2F = np.float32(0.6931472 + 2e-7)"),
    ],
    ids=["_S0", "_S1", "_S2", "_LN2F"],
)
def test_mutants_break_the_bound_of_float32(exact32, change):
    """A wrong coefficient, or ln 2 wrong in its last bits, exceeds 1.5 ulp in float32."""
    got = magnitudes32(HALF_WORDS, log=mutant("lapnoise.kernels.log", change))

    assert worst_ulp_error(got, exact32, precision=24) > 1.5
