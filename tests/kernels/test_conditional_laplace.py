"""The samplers of noise conditioned on an interval, on words beside their decisions, and their coin's error."""

import itertools
import math
import random
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from chosen_words import filling, words_of
from derivations import EPS0, LOGARITHM, derived
from exact_oracles import boundary_cell
from mpmath import mp, mpf

from lapnoise import _attempts, default_rng, exact
from lapnoise._exact_noise import law
from lapnoise.kernels import conditional_laplace
from lapnoise.kernels.attempts import energy_error
from lapnoise.kernels.discrete_laplace import FAST_LIMIT

MODULE = "lapnoise.kernels.conditional_laplace"
SIZE = 512
BESIDE = [s * d for d in (0, 1, 30, 200, 500, 900, 1500, 3000, 10**5, 10**9) for s in (-1, 1)]
"""Distances from the cell of a decision, in cells; the coin's error is some 90,000 of these at x = 0."""


def compare(fill, tables, reference, *parameters) -> tuple[int, int, set[int]]:
    """Return how many draws are wrong, how many there are of those left open, and at which places they are."""
    out, pending = np.zeros(SIZE, np.int64), np.zeros(1153, np.int64)
    assert fill(out, *parameters, pending, tables) == SIZE
    left = set(pending[1 : 1 + pending[0]].tolist())
    wrong = sum(out[i] != reference(i) for i in range(SIZE) if i not in left)
    return wrong, len(left), left


# Wide intervals: words at which the candidate passes from one integer to the next.

WIDE = [(3.0, -7, 12, 2), (2.0**30 + 0.5, -(2**31), 2**33, 77), (FAST_LIMIT, -(2**45), 2**45, -(2**44))]
"""t, low, high and centre."""


@cache
def wide_words(t: float, low: int, high: int, centre: int) -> tuple[np.ndarray, list[int]]:
    """Return words about steps of the candidate, many of them at the interval's ends, and the places of ambiguous ones.

    A word is ambiguous if its cell holds the step.
    """
    chance = random.Random(7)
    words, ambiguous = [], []
    for i in range(SIZE):
        sign = chance.getrandbits(1)
        end = centre - low + 1 if sign else high - centre + 1
        m = end if i % 3 == 0 and end < 10 * t else max(1, math.floor(t * chance.uniform(0.0, 4.0)))
        d = 0 if i % 2 else chance.choice(BESIDE)
        words.append((boundary_cell(Fraction(t), m, 63) + d) << 1 | sign)
        if d == 0:
            ambiguous.append(i)
    return np.array([*words, *default_rng(5).words(SIZE)], np.uint64), ambiguous


def wide(on: tuple[float, int, int, int], *changes: tuple[str, str]) -> tuple[int, int, set[int]]:
    """Compare the kernel's draws about ``on`` with attempts in integers."""
    t, low, high, centre = on
    words, _ = wide_words(*on)

    def reference(place: int) -> int:
        made = (centre + _attempts.candidate(Fraction(t), words_of(words, place, a)) for a in itertools.count())
        return next(k for k in made if low <= k <= high)

    return compare(filling(MODULE, "fill_conditional_laplace", *changes), [words], reference, centre, low, high, law(t))


@pytest.mark.parametrize("on", WIDE)
def test_ambiguous_candidates_are_left_open(on):
    """A word whose cell holds a step leaves its draw open, at the ends too; all that is not left open is right."""
    wrong, left, places = wide(on)
    assert wrong == 0
    assert places >= set(wide_words(*on)[1])
    assert left < SIZE - 100


WIDE_MUTANTS = {
    "another attempt": (
        "if e[j] < 0.0:\n                    pending[0] += 1\n                    pending[pending[0]] = i",
        "if e[j] < 0.0:\n                    todo[rejected] = i - done\n                    rejected += 1",
    ),
    "taken for a candidate": ("if e[j] < 0.0:", "if e[j] < -1.0:"),
}


@pytest.mark.parametrize("name", WIDE_MUTANTS)
def test_mutants_of_the_wide_kernel(name):
    """Drawing again where a word is ambiguous, or deciding it, makes other draws."""
    assert wide(WIDE[0], WIDE_MUTANTS[name])[0] > 0


# Narrow intervals: coins' words beside exp(-abs(k - c) / t).

NARROW = [(7.3, 0, 6, 2), (2.0**20 / 3, -5, 2**18, -5), (FAST_LIMIT / 1.7, -(2**41), 2**41, 12345)]


@cache
def narrow_words(t: float, low: int, high: int, centre: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return uniform words, coins' words beside exp(-x), and the places whose cells hold exp(-x)."""
    points = high - low + 1
    uniform = default_rng(3).words(2 * SIZE)
    uniform[:SIZE:16] = np.uint64(2**64 - 1)  # beyond the largest multiple: another attempt
    coins, ambiguous = [], []
    for i, word in enumerate(uniform.tolist()):
        x = abs(low + word % points - centre) / Fraction(t)
        with mp.workprec(200):
            edge = int(mp.floor(mp.exp(-mpf(x.numerator) / x.denominator) * 2**63))
        d = BESIDE[i % len(BESIDE)]
        coins.append(2 * min(max(edge + d, 0), 2**63 - 1))
        if d == 0 and x and word < 2**64 // points * points and i < SIZE:
            ambiguous.append(i)
    return uniform, np.array(coins, np.uint64), ambiguous


def narrow(on: tuple[float, int, int, int], *changes: tuple[str, str]) -> tuple[int, int, set[int]]:
    """Compare the kernel's draws about ``on`` with attempts in integers."""
    t, low, high, centre = on
    uniform, coins, _ = narrow_words(*on)
    points = high - low + 1
    whole = 2**64 // points * points

    def reference(place: int) -> int:
        for attempt in itertools.count():
            word = next(words_of(uniform, place, attempt))
            k = low + word % points
            x = partial(exact.ratio, abs(k - centre) / Fraction(t))
            if word < whole and _attempts.accepts(x, words_of(coins, place, attempt)):
                return k
        raise AssertionError

    fill = filling(MODULE, "fill_uniform_conditioned", *changes)
    given = (centre, low, np.uint64(points), np.uint64(whole - 1), t)
    return compare(fill, [uniform, coins], reference, *given)


@pytest.mark.parametrize("on", NARROW)
def test_ambiguous_coins_are_left_open(on):
    """A coin whose cell holds exp(-x) leaves its draw open; all that is not left open is right."""
    wrong, left, places = narrow(on)
    assert wrong == 0
    assert places >= set(narrow_words(*on)[2])
    assert left < SIZE - 20


NARROW_MUTANTS = {
    "another attempt": ("or heads == 0:", "or heads <= 0:"),
    "taken for heads": ("elif heads == 1:", "elif heads != 0:"),
    "no error": ("_COIN_ERROR = energy_error + 2.0**-53", "_COIN_ERROR = 0.0"),
}


@pytest.mark.parametrize("name", NARROW_MUTANTS)
def test_mutants_of_the_narrow_kernel(name):
    """Drawing again, or deciding, where the coin is ambiguous makes other draws, as does a coin without its error."""
    assert narrow(NARROW[1], NARROW_MUTANTS[name])[0] > 0


# The coin's error.


def least_error() -> Fraction:
    """Return what the coin's error must be at least: what bounds E and a rounding of x < 1, half a unit of 2^-53."""
    parts = derived()
    energy = Fraction(sum(parts[name] for name in (*LOGARITHM, "cell"))) * Fraction(EPS0)
    assert Fraction(energy_error) > energy * Fraction(5, 4)
    return Fraction(energy_error) + Fraction(EPS0) / 2


def test_error_of_the_coin_from_its_derivation():
    """The error has room for the logarithm and its cell, with a quarter to spare, and beside them for x; less has not.

    x = abs(k - c) / t is rounded by half a unit of 2^-53 at most, and by nearly that here.
    """
    chance = random.Random(11)
    rounding = Fraction(0)
    for _ in range(2000):
        t = chance.choice((7.3, 2.0**20 / 3, FAST_LIMIT / 1.7)) * chance.uniform(1.0, 1.7)
        k = chance.randrange(math.ceil(t))
        rounding = max(rounding, abs(Fraction(float(k) / t) - k / Fraction(t)))

    assert 0.99 < rounding / (Fraction(EPS0) / 2) <= 1
    error = conditional_laplace._COIN_ERROR
    assert error >= least_error()
    for mutant in (0.0, EPS0, energy_error / 2, energy_error):
        assert mutant < least_error()
