"""Every draw of exact noise is a function of its words alone, whichever tier answers.

The reference is `exact_oracles.magnitude`, mpmath intervals over a cell of uniforms. Random words hardly ever lie where
tiers could differ, so words are also placed at the boundaries between integers; what even those cannot see, a
certificate that is too small, is killed by computing the bound again from its parts.
"""

import math
import random
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from exact_oracles import draw, further_words, key_of
from exact_words import (
    UNDECIDED,
    all_tiers,
    boundary_words,
    fast_tier,
    jit,
    law,
    magnitudes,
    refined_logs,
    refined_tier,
    wrong,
)
from mutants import mutant
from stats import accept, chi_square, count, reject

from lapnoise import _exact_noise, _release, default_rng
from lapnoise._exact_noise import exact_draw
from lapnoise.kernels import discrete_laplace
from lapnoise.kernels.discrete_laplace import FAST_LIMIT

SEED = 31
MANY = 10_000

LARGE = [2.0**30 - 2.0**-23, 2.0**30, 2.0**30 + 2.0**-22, 2.0**36, 2.0**40, FAST_LIMIT]
BEYOND = [math.nextafter(FAST_LIMIT, math.inf), 2.0**50, 2.0**57]
SCALES = [1e-300, 1e-3, 0.1, 0.3, 1 / 3, 1.0, 3.0, 50.0, 12345.678, *LARGE, *BEYOND]

EPS0 = 2.0**-53


def named(t: float) -> str:
    """Return a scale as it stands in a test's name."""
    return f"{t:g}" if t < 2**24 else f"2^{math.log2(t):g}" if math.log2(t).is_integer() else f"{t!r}"


@cache
def words_of(seed: int, size: int) -> np.ndarray:
    """Return the first words of a seed's stream."""
    return default_rng(seed).words(size)


@cache
def expected(t: float, seed: int = SEED, size: int = MANY) -> np.ndarray:
    """Return what the oracle makes of the first words of a seed's stream, as Python ints."""
    generator = default_rng(seed)
    key, rounds = key_of(generator._stream.source), generator._stream.rounds
    drawn = [
        draw(Fraction(t), word, further_words(key, i, rounds)) for i, word in enumerate(words_of(seed, size).tolist())
    ]
    return np.array(drawn, dtype=object)


# R14a: bit for bit against the oracle.


@pytest.mark.parametrize("t", SCALES, ids=named)
def test_draws_against_the_oracle(t):
    """Ten thousand draws of a stream are those of the oracle, sign included, on every scale."""
    got = default_rng(SEED).discrete_laplace(t, MANY)

    assert got.dtype == np.int64
    assert got.tolist() == expected(t).tolist()


@pytest.mark.slow
def test_many_draws_against_the_oracle():
    """So are 200,000 of another stream on every scale, some 90 s."""
    seed, size = SEED + 1, 200_000
    words = words_of(seed, size).tolist()
    source = default_rng(seed)._stream.source
    got = {t: default_rng(seed).discrete_laplace(t, size).tolist() for t in SCALES}
    for i, word in enumerate(words):
        more = further_words(key_of(source), i, 12)
        for t in SCALES:
            assert got[t][i] == draw(Fraction(t), word, more), (t, i)


@pytest.mark.parametrize("t", [0.3, 50.0, 2.0**40, 2.0**50], ids=named)
def test_calls_of_every_size(t):
    """Single draws, and calls of sizes about the batch of 512 and the group of 128, give the same integers."""
    wanted = expected(t).tolist()
    generator = default_rng(SEED)
    got = [generator.discrete_laplace(t) for _ in range(60)]
    assert all(type(k) is int for k in got)
    for size in (1, 2, 67, 127, 128, 129, 0, 511, 512, 513, 1023, 1025, 3000):
        got += generator.discrete_laplace(t, size).tolist()

    assert got == wanted[: len(got)]
    assert generator.position == len(got)


@pytest.mark.parametrize("t", [3.0, 2.0**40, 2.0**50], ids=named)
def test_threads_blocks_and_layouts(t):
    """Neither threads nor blocks nor strides change an integer."""
    size = (1 << 17) + 5000
    wanted = default_rng(SEED, threads=1).discrete_laplace(t, size)
    spread = np.zeros(2 * size, np.int64)
    folded = np.zeros((size // 8, 8), np.int64, order="F")

    assert np.array_equal(default_rng(SEED, threads=2).discrete_laplace(t, size), wanted)
    default_rng(SEED, threads=2).discrete_laplace(t, out=spread[::-2])
    assert np.array_equal(spread[::-2], wanted)
    default_rng(SEED).discrete_laplace(t, out=folded)
    assert np.array_equal(folded.ravel(), wanted[: folded.size])
    assert wanted[:MANY].tolist() == expected(t).tolist()


def test_a_scale_for_each_draw():
    """Draws with scales of their own are those of one scale at the same places, 0 included."""
    scales = np.array([*SCALES, 0.0])
    which = np.random.default_rng(1).integers(0, scales.size, 4000)
    got = default_rng(SEED).discrete_laplace(scales[which])
    for k, t in enumerate(SCALES):
        assert got[which == k].tolist() == expected(t)[:4000][which == k].tolist()
    assert not got[which == len(SCALES)].any()


@pytest.mark.parametrize("t", [0.3, 2.0**50, 2.0**57, 2**60, 10**30], ids=float)
def test_steps_beyond_64_bits(t):
    """Draws as Python ints are the oracle's, also where they have more than 64 bits."""
    got = _release.steps(default_rng(SEED), 3000, t)

    assert got == expected(t, size=3000).tolist()
    assert t < 2**57 or max(map(abs, got)) > (2**63 if t > 2**60 else 2**58)


def test_scale_zero_gives_zeros():
    """At scale 0 every draw is 0, for the word 0 too, and takes its word."""
    generator = default_rng(1)
    assert not generator.discrete_laplace(0.0, 1000).any()
    assert generator.position == 1000
    assert exact_draw(0.0, generator._stream.source, 5) == 0


@pytest.mark.parametrize("bad", [-1.0, -0.0, math.nan, math.inf])
def test_refused_scales(bad):
    """A scale that is negative, -0.0, NaN or infinite is refused before a word is taken, in an array too."""
    generator = default_rng(1)
    with pytest.raises(ValueError, match="scale must be finite and >= 0"):
        generator.discrete_laplace(bad, 3)
    with pytest.raises(ValueError, match=r"scale\[1\] must be finite and >= 0"):
        generator.discrete_laplace([1.0, bad])
    assert generator.position == 0


def test_refused_huge_scales():
    """A scale above 2^57 is refused, and 2^57 is not."""
    generator = default_rng(1)
    for bad in (math.nextafter(2.0**57, math.inf), [1.0, 2.0**58]):
        with pytest.raises(OverflowError, match=r"scale must be at most 2\*\*57"):
            generator.discrete_laplace(bad)
    assert generator.position == 0
    generator.discrete_laplace(2.0**57)


# R14b: words at the boundaries.

BOUNDED = [0.1, 0.3, 1 / 3, 1.0, 3.0, 50.0, 12345.678, 2.0**20, *LARGE]


@pytest.mark.parametrize("t", BOUNDED, ids=named)
def test_fast_tier_at_boundaries(t):
    """The fast tier accepts no cell that holds a boundary, and what it accepts nearby lies on the right side."""
    words, at, distance = boundary_words(t, 200, 7)
    found = fast_tier(words, law(t))

    assert wrong(found, at, distance) == 0
    if t <= 2.0**30 and t >= 3.0:  # it does accept some of the farther ones
        assert np.mean(found[np.abs(distance) == 1 << 20] != UNDECIDED) > 0.4


@pytest.mark.parametrize("t", [*BOUNDED, *BEYOND], ids=named)
def test_refined_tier_at_boundaries(t):
    """The refined tier leaves cells with a boundary open, and all others are right; it decides two cells away."""
    words, at, distance = boundary_words(t, 200, 8)
    found = refined_tier(words, t)

    assert wrong(found, at, distance) == 0
    # Where cells are wider than the steps between integers (small U, large t) there is nothing to be decided.
    if 2.0**20 <= t <= FAST_LIMIT:
        away = (np.abs(distance) >= 2) & (np.abs(distance) <= 1 << 16)
        assert np.mean(found[away & (at < 2 * t)] != UNDECIDED) > 0.999


@pytest.mark.parametrize("t", [50.0, *LARGE], ids=named)
def test_mutants_at_boundaries(t):
    """Without a certificate the fast tier errs at boundaries, as it does with one of 5 t 2^-53 for the cell alone."""
    words, at, distance = boundary_words(t, 200, 7)

    assert wrong(fast_tier(words, law(t, slack=0.0)), at, distance) > 150
    assert wrong(fast_tier(words, law(t, slack=5 * t * EPS0)), at, distance) > 0


@pytest.mark.parametrize("t", [2.0**30, 2.0**43, 2.0**50], ids=named)
def test_mutants_of_the_refined_tier(t):
    """A refined tier that forgets the width of the cell decides cells with a boundary."""
    forgetful = _refined_mutant(("t / max(twice_j, 1.0) * 1.0000001 + ", ""))
    words, at, distance = boundary_words(t, 100, 8)

    assert wrong(forgetful(words, t, *_exact_noise.kappa_pair(t)), at, distance) > 50


@cache
def _refined_mutant(*changes):
    magnitude_from_word = mutant("lapnoise.kernels.refined", *changes).magnitude_from_word

    @jit
    def run(words, t, high, low):
        out = np.empty(words.size, np.int64)
        for i in range(words.size):
            m, decided = magnitude_from_word(words[i], t, high, low)
            out[i] = m if decided else -1
        return out

    return run


# R14c: the ends of the range of words.


@pytest.mark.parametrize("t", [1e-300, 0.3, 3.0, 2.0**30, 2.0**43, 2.0**50, 2.0**57], ids=named)
def test_ends_of_the_range(t):
    """The first and last words, and those about powers of two, have the oracle's magnitude, and both signs."""
    words = [0, 1, 2, 3, 4, 5, 2**64 - 1, 2**64 - 2, 2**64 - 3, 2**63, 2**63 - 1, 2**63 + 1]
    words += [(1 << k) + d for k in range(3, 63) for d in (-2, 0, 1)]
    chance = random.Random(9)
    further = [[chance.getrandbits(64) for _ in range(4)] for _ in words]
    got = all_tiers(np.array(words, np.uint64), t, lambda i, depth: further[i][depth])
    for i, word in enumerate(words):
        assert abs(draw(Fraction(t), word, further[i].__getitem__)) == got[i]
    assert all(0 <= m < 2**64 for m in got)


def test_word_zero_is_left_to_the_last_tier():
    """The first cell is unbounded below, so neither compiled tier decides it, at any scale of noise above 0."""
    for t in (1e-300, 0.3, 2.0**43):
        assert magnitudes([0, 1], law(t)).tolist() == [UNDECIDED, UNDECIDED]
        assert refined_tier([0, 1], t).tolist() == [UNDECIDED, UNDECIDED]
    assert refined_tier([2, 3], 1e-300).tolist() == [0, 0]


def test_undecided_places_are_appended():
    """A batch adds its undecided places, counted from ``first``, after those that stand there already."""
    tier = discrete_laplace.magnitudes

    @jit
    def run(words, numbers, pending, first):
        e, f, s = np.empty(words.size), np.empty(words.size), np.empty(words.size)
        tier(words, numbers, e, f, s, pending, first)
        return e

    pending = np.array([2, 11, 12, 0, 0, 0, 0], np.int64)
    made = run(np.array([5 << 60, 1, 7 << 60, 0], np.uint64), law(3.0), pending, 1000)

    assert pending.tolist() == [4, 11, 12, 1001, 1003, 0, 0]
    assert made[[1, 3]].tolist() == [-1.0, -1.0]
    assert (made[[0, 2]] >= 0).all()


# R14d: mutants of the construction, each against the oracle on random words.


def mismatches(got, t: float) -> int:
    """Return how many draws of the oracle's stream differ."""
    return int(np.sum(np.asarray(got, dtype=object) != expected(t)[: len(got)]))


def signed(sizes: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Give magnitudes the sign of their words."""
    return np.where(words & np.uint64(1), -sizes, sizes)


@pytest.mark.parametrize("t", [0.3, 1.0, 3.0, 50.0], ids=named)
def test_mutants_of_kappa(t):
    """Without kappa, or with 1/2 in its place, integers differ on small scales."""
    words = words_of(SEED, MANY)
    high, low = _exact_noise.kappa_pair(t)

    assert mismatches(signed(magnitudes(words, law(t)), words), t) == 0
    assert mismatches(signed(magnitudes(words, law(t, kappa=0.0, kappa_low=0.0)), words), t) > 50
    assert mismatches(signed(magnitudes(words, law(t, kappa=0.5, kappa_low=0.0)), words), t) >= (1 if t > 10 else 20)
    assert 0 < high + low < 0.5


@pytest.mark.parametrize(("t", "most"), [(2.0**40, 2), (2.0**43, 10), (2.0**50, 1000)])
def test_mutant_with_53_bits(t, most):
    """A uniform of 53 bits gives other integers, the more the larger the scale."""
    words = words_of(SEED, MANY)
    cut = (words & ~np.uint64((1 << 11) - 1)) | (words & np.uint64(1))
    middle = cut | np.uint64(1 << 10)

    assert mismatches(signed(refined_tier(middle, t), words), t) > most


def test_mutant_sign_from_the_uniform():
    """A sign taken from the highest bit of the uniform differs half of the time, and goes with the magnitude."""
    words = words_of(SEED, MANY)
    sizes = magnitudes(words, law(50.0))
    mutant = np.where(words >> np.uint64(63), -sizes, sizes)

    assert 4000 < mismatches(mutant, 50.0) < 6000
    small = sizes < 35
    reject(count("plus signs of small draws", int(np.sum(mutant[small] > 0)), int(small.sum()), 0.5))
    accept(
        count(
            "plus signs of small draws", int(np.sum(expected(50.0)[small] > 0)), int((small & (sizes > 0)).sum()), 0.5
        )
    )


@cache
def open_places(t: float, seed: int = SEED, size: int = MANY) -> list[int]:
    """Return the places of a stream where the first word leaves the integer open, by the oracle's own measure."""
    found = refined_tier(words_of(seed, size), t)
    return np.flatnonzero(found == UNDECIDED).tolist()


def test_open_draws_take_words_by_position():
    """At t = 2^50 some draws are open; each takes the words at its own place of the streams from 2^63 on, and no other.

    So it is the same whether it is drawn alone, after its neighbours, or in a stream of which only its key is known.
    """
    t = 2.0**50
    places = open_places(t)
    assert 3 <= len(places) <= 40  # 12 expected
    alone = default_rng(SEED)
    for place in places:
        alone.seek(place)
        assert alone.discrete_laplace(t) == expected(t)[place]
        assert alone.position == place + 1
        assert exact_draw(t, alone._stream.source, place) == expected(t)[place]
    for start in (1, 100, 4000):
        alone.seek(start)
        assert alone.discrete_laplace(t, 2000).tolist() == expected(t)[start : start + 2000].tolist()


def test_last_tier_alone():
    """The last tier asked for every draw, open or not, gives the same integers."""
    source = default_rng(SEED)._stream.source
    for t in (0.3, 3.0, 2.0**40, 2.0**50, 2.0**57):
        assert [exact_draw(t, source, i) for i in range(300)] == expected(t)[:300].tolist()


def test_further_words_by_depth():
    """Word d of an open draw is the word at its place of stream 2^63 + d, as the plain cipher makes it; all differ."""
    source = default_rng(SEED)._stream.source
    for place in (0, 5, 127, 128, 2**40 + 3):
        more = _exact_noise.further_words(source, place)
        made = further_words(key_of(source), place, 12)
        words = [next(more) for _ in range(4)]
        assert words == [made(depth) for depth in range(4)]
        assert len({*words, made(0), int(_exact_noise.word_of_stream(source, place, 0))}) == 5


def test_mutant_that_takes_words_of_neighbours(monkeypatch):
    """Further words from the draws' own stream give other integers, at open places only."""

    def neighbours(source, position):
        while True:
            position += 1
            yield _exact_noise.word_of_stream(source, position, 0)

    monkeypatch.setattr(_exact_noise, "further_words", neighbours)
    t = 2.0**50
    assert 1 <= mismatches(default_rng(SEED).discrete_laplace(t, MANY), t) <= len(open_places(t))


def test_mutant_that_draws_again():
    """A draw that is made anew where its word leaves it open differs from the oracle at open places, and only there."""
    t = 2.0**50
    words = words_of(SEED, MANY + 1)
    sizes = refined_tier(words, t)
    again = np.where(sizes[:-1] == UNDECIDED, signed(sizes, words)[1:], signed(sizes, words)[:-1])

    assert set(np.flatnonzero(again != expected(t)).tolist()) == set(open_places(t))


# R14e: the far tail has no holes.


def low_bits(sizes, name: str):
    """Check that the last eight bits of magnitudes take all values equally often."""
    last = np.array([int(m) & 255 for m in sizes])
    return chi_square(name, np.bincount(last, minlength=256), np.full(256, 1 / 256))


@pytest.mark.parametrize(("t", "cells"), [(2.0**30, 8), (2.0**40, 1 << 20)], ids=["first cells", "far tail"])
def test_tail_has_no_holes(t, cells):
    """Draws forced into the first cells, where E > 29, take every value of their last eight bits equally often.

    Density changes by less than 2^-22 over 256 steps. A distance of 0.11 from uniformity is seen. The mutant that takes
    the middle of the cell for U has one integer a cell.
    """
    size = 1 << 15
    chance = np.random.default_rng(3)
    words = (chance.integers(1, cells, size, endpoint=True).astype(np.uint64) << np.uint64(1)) | np.uint64(1)
    further = chance.integers(0, 2**64, (size, 4), dtype=np.uint64, endpoint=False)
    sizes = all_tiers(words, t, lambda i, depth: int(further[i, depth]))

    accept(low_bits(sizes, "last bits"))
    accept(count("odd draws", sum(int(m) & 1 for m in sizes), size, 0.5))
    assert min(sizes) > 29 * t
    if cells == 8:
        assert len(set(sizes.tolist())) > 0.9 * size
        high, low = refined_logs(words)
        middles = [math.floor(Fraction(t) * (Fraction(h) + Fraction(x))) for h, x in zip(high, low, strict=True)]
        assert len(set(middles)) <= 8
        reject(low_bits(middles, "mutant"))
