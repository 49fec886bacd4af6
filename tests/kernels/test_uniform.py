"""Words to uniforms: exact halves, and an excess that is rounded once, compared with fractions."""

import math
import random
from fractions import Fraction

import numba
import numpy as np
import pytest
from adversarial import adversarial_half_words, adversarial_words
from mutants import mutant
from oracles import uniform, uniform32

from lapnoise.kernels import powers
from lapnoise.kernels import uniform as kernels

CHANCE = random.Random(2)
WORDS = adversarial_words() + [CHANCE.getrandbits(64) for _ in range(10_000)]
HALF_WORDS = adversarial_half_words() + [CHANCE.getrandbits(32) for _ in range(10_000)]


def pairs_of(function):
    """Return a map from an array of words to the list of pairs that the device function makes of them."""

    @numba.njit(error_model="numpy")
    def run(words, first, second):
        for i in range(words.size):
            first[i], second[i] = function(words[i])

    def pairs(words, kind=np.float64):
        first, second = np.empty(words.size, kind), np.empty(words.size, kind)
        run(words, first, second)
        return list(zip(first.tolist(), second.tolist(), strict=True))

    return pairs


def test_halves_are_exact():
    """The two halves of a word add up to (2 j + 1) 2^-64 without any error, and the low one has 32 bits."""
    for word, (high, low) in zip(WORDS, pairs_of(kernels.halves)(np.array(WORDS, np.uint64)), strict=True):
        assert Fraction(high) + Fraction(low) == uniform(word)
        assert 0 < low < 2.0**-32
        assert (high * 2.0**32).is_integer()


def test_halves32_are_exact():
    """The two halves of a half word add up to (2 j + 1) 2^-32 without any error, and the low one has 16 bits."""
    got = pairs_of(kernels.halves32)(np.array(HALF_WORDS, np.uint32), np.float32)
    for half_word, (high, low) in zip(HALF_WORDS, got, strict=True):
        assert Fraction(high) + Fraction(low) == uniform32(half_word)
        assert 0 < low < 2.0**-16
        assert (high * 2.0**16).is_integer()


def test_open01_from_word_is_rounded_once():
    """E is an integer from -64 to 0, and f is u 2^-e - 1 correctly rounded, within a rounding of its interval."""
    for word, (e, f) in zip(WORDS, pairs_of(kernels.open01_from_word)(np.array(WORDS, np.uint64)), strict=True):
        assert -64 <= e <= 0
        assert f == float(uniform(word) / Fraction(2) ** int(e) - 1)
        assert math.sqrt(0.5) - 1 - 1e-15 <= f <= math.sqrt(2) - 1 + 1e-15


def test_open01_from_half_word_is_rounded_once():
    """E is an integer from -32 to 0, and f is u 2^-e - 1 correctly rounded to float32."""
    got = pairs_of(kernels.open01_from_half_word)(np.array(HALF_WORDS, np.uint32), np.float32)
    for half_word, (e, f) in zip(HALF_WORDS, got, strict=True):
        excess = uniform32(half_word) / Fraction(2) ** int(e) - 1

        assert -32 <= e <= 0
        assert f == float(np.float32(float(excess)))  # 33 bits at most: the first conversion is exact
        assert math.sqrt(0.5) - 1 - 1e-6 <= f <= math.sqrt(2) - 1 + 1e-6


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # The uniform rounded to a float64 first: its last 11 bits are gone.
        ("((high - float64_from_bits(power_bits)) + low)", "((high + low) - float64_from_bits(power_bits))"),
        # A uniform on a lattice that holds 0.
        ("odd = word | _ONE\n    high = float64_from_bits(_HIGH_BITS | (odd >> _HALF)) - (_HIGH + _LOW)",
         "odd = word\n    high = float64_from_bits(_HIGH_BITS | (odd >> _HALF)) - (_HIGH + _LOW)"),
    ],
    ids=["low bits lost", "uniform of 0"],
)  # fmt: skip
def test_mutants_are_not_rounded_once(old, new):
    """A uniform that loses its low bits, or can be 0, is seen by the comparison with fractions."""
    changed = mutant("lapnoise.kernels.uniform", (old, new))
    got = pairs_of(changed.open01_from_word)(np.array(WORDS, np.uint64))
    wrong = 0
    for word, (e, f) in zip(WORDS, got, strict=True):
        wrong += f != float(uniform(word) / Fraction(2) ** int(e) - 1)

    assert wrong > len(WORDS) // 10


def test_powers():
    """A power of two is taken out of a float exactly, for every exponent of a normal number."""

    @numba.njit(error_model="numpy")
    def run(bits):
        power_bits, e = powers.power(bits)
        return power_bits, e, powers.inverse_power(power_bits)

    for exponent in range(-1022, 1023):
        for mantissa in (0, 1, (1 << 52) - 1):
            power_bits, e, inverse = run(np.uint64((exponent + 1023 << 52) + mantissa))

            assert e == exponent
            assert power_bits == exponent + 1023 << 52
            assert inverse == math.ldexp(1.0, -exponent)
