"""Noise conditioned on an interval: kernels agree with the oracles draw by draw, and draws with the exact masses."""

import math
from fractions import Fraction

import conditional_oracles as oracles
import numpy as np
import pytest
from exact_oracles import key_of
from stats import accept, chi_square, reject

from lapnoise import _conditional_noise, default_rng
from lapnoise._conditional_noise import Interval, drawn, interval_kernel
from lapnoise._fill import scratch
from lapnoise.bits.chacha_lanes import copy_words
from lapnoise.kernels.attempts import ATTEMPT_ROOM, ATTEMPT_STREAMS
from lapnoise.kernels.conditional_laplace import fill_uniform_conditioned

SEED = 83
ROUNDS = 12

INTERVALS = [
    (Interval(0.3, -2, 3), 0),
    (Interval(1.0, 0, 1), 0),
    (Interval(2.5, 0, 30), 0),
    (Interval(2.5, 0, 3), 3),
    (Interval(10.0, -3, 3), 0),
    (Interval(7.0, 0, 6), 2),
    (Interval(7.0, 0, 7), 2),
    (Interval(2.0**20, -5, 2**20), -5),
    (Interval(2.0**40, 0, 2**39), 2**38),
    (Interval(2.0**43, 0, 2**50), 1),
    (Interval(2.0**43, -(2**42), 0), -1),
    (Interval(2.0**43, -(2**62), 2**62), 2**62 - 5),
]


def draws(on: Interval, centre, size: int, start: int = 0, seed: int = SEED) -> np.ndarray:
    """Return the draws of a seed's stream, by the kernels."""
    out = np.empty(size, np.int64)
    interval_kernel(on)(out, centre, default_rng(seed)._stream.source, start, scratch())
    return out


@pytest.mark.parametrize(("on", "centre"), INTERVALS)
def test_kernels_are_the_reference(on, centre):
    """Every draw of a kernel is that of Python integers, and both are the oracle's, bit for bit."""
    source = default_rng(SEED)._stream.source
    got = draws(on, centre, 700, start=37).tolist()

    assert got[:300] == [drawn(on, centre, source, 37 + i) for i in range(300)]
    key = key_of(source)
    assert got[:40] == [oracles.draw(Fraction(on.t), *on[1:], centre, key, 37 + i, ROUNDS) for i in range(40)]
    assert all(on.low <= k <= on.high for k in got)


@pytest.mark.parametrize("on", [Interval(40.0, -20, 90), Interval(40.0, 0, 39)])
def test_a_draw_depends_on_its_place_alone(on):
    """Centres of neighbours, the length of the array and the start of a batch change no other draw."""
    generator = np.random.default_rng(5)
    centre = generator.integers(on.low, on.high, 3000, endpoint=True)
    whole = draws(on, centre, 3000)
    for start, stop in ((0, 1), (1, 3), (511, 1200), (128, 129), (700, 3000)):
        assert np.array_equal(draws(on, centre[start:stop], stop - start, start), whole[start:stop])
    others = generator.integers(on.low, on.high, 3000, endpoint=True)
    others[100::7] = centre[100::7]
    assert np.array_equal(draws(on, others, 3000)[100::7], whole[100::7])


def test_ends_belong_to_the_interval():
    """An interval that ends exactly at a first candidate keeps it, and one that ends a step before draws again."""
    t = 50.0
    free = draws(Interval(t, -(10**6), 10**6), 0, 400)
    for i in range(0, 400, 7):
        x = int(free[i])
        reach = max(abs(x), math.ceil(t))
        ends = (-reach, x) if x > 0 else (x, reach)
        assert draws(Interval(t, *ends), 0, 1, i)[0] == x
        if abs(x) > 1:
            shorter = (-reach, x - 1) if x > 0 else (x + 1, reach)
            assert draws(Interval(t, *shorter), 0, 1, i)[0] != x


def test_words_that_would_favour_the_first_points_are_rejected(monkeypatch):
    """A uniform word counts below the largest multiple of the number of points; beyond it another attempt is made."""
    on, whole = Interval(10.0, 5, 7), 2**64 // 3 * 3
    certain = [0, 0]  # a coin whose U is 0 shows heads

    def words_of(uniforms):
        return lambda _source, _position, attempt, role: iter([uniforms[attempt]] if role == 0 else certain)

    for uniforms, wanted in (
        ([whole - 1], 7),
        ([whole, 3], 5),
        ([2**64 - 1, 2**64 - 1, 1], 6),
    ):
        monkeypatch.setattr(_conditional_noise, "attempt_words", words_of(uniforms))
        assert drawn(on, 6, np.zeros(6, np.uint64), 0) == wanted


@pytest.mark.parametrize("last", [2**63, 2**62 - 1, "a word", "before a word"])
def test_the_kernel_rejects_words_beyond_its_last(last):
    """The compiled loop takes the words up to ``last``, itself included, and rejects the attempts of all others."""
    source, t, points = default_rng(SEED)._stream.source, 1e9, 5

    def word_of(position, attempt):
        return next(_conditional_noise.attempt_words(source, position, attempt, 0))

    if isinstance(last, str):
        last = max(word_of(position, 0) for position in range(8)) - last.startswith("before")
    got, pending = np.empty(600, np.int64), np.zeros(2000, np.int64)
    done = fill_uniform_conditioned(
        got, 2, 0, np.uint64(points), np.uint64(last), t, source, 0, np.empty(ATTEMPT_ROOM, np.uint64), pending
    )
    assert (done, pending[0]) == (600, 0)
    wanted = []
    for position in range(600):
        attempt = 0
        while (word := word_of(position, attempt)) > last:
            attempt += 1
        wanted.append(word % points)  # the coin of t = 1e9 shows tails once in 1e8
    assert got.tolist() == wanted


def test_coins_have_the_right_chance():
    """Of a million first attempts of the narrow kind those count whose -ln U exceeds abs(k - c) / t, and no other."""
    t, width, centre, n = 2.0**40 / 3, 2**38, 2**37 + 12345, 1_000_000
    source = default_rng(SEED)._stream.source
    k, energy = (_words(source, role, n) for role in (0, 1))
    k = (k % np.uint64(width + 1)).astype(np.int64)
    energy = -np.log((energy >> np.uint64(1)).astype(np.float64) * 2.0**-63 + 2.0**-64)
    x = np.abs(k - centre) / t
    got = draws(Interval(t, 0, width), centre, n)

    assert np.array_equal(got[energy > x + 1e-14], k[energy > x + 1e-14])
    assert not np.any(got[energy < x - 1e-14] == k[energy < x - 1e-14])
    assert 0.8 < np.mean(energy > x) < 0.95


def _words(source, role: int, n: int) -> np.ndarray:
    """Return the words of n first attempts in a role."""
    own, out = source.copy(), np.empty(n, np.uint64)
    own[4] += np.uint64(ATTEMPT_STREAMS + role)
    copy_words(out, own, 0, scratch())
    return out


def test_wide_words_beyond_the_kernels():
    """Where t passes the compiled tiers, up to integers of several words, draws lie inside and are the oracle's law."""
    source = default_rng(SEED)._stream.source
    for on in (Interval(2.0**50, 0, 2**49), Interval(2**90, -(2**80), 2**80), Interval(2**70, -(2**75), 0)):
        made = [drawn(on, on.low, source, i) for i in range(200)]
        assert all(on.low <= k <= on.high for k in made)
        # Means of 200 draws from an end: half a width, where t is far wider, and t where it is far narrower.
        expected = min((on.high - on.low) / 2, on.t)
        assert 0.7 < sum(k - on.low for k in made) / 200 / expected < 1.3


LAWS = [
    (Interval(3.0, 0, 12), 0),
    (Interval(3.0, 0, 12), 5),
    (Interval(9.0, 0, 8), 0),
    (Interval(9.0, 0, 8), 4),
    (Interval(4.0, -6, 6), 0),
    (Interval(30.0, -6, 6), 0),
]


@pytest.mark.parametrize(("on", "centre"), LAWS)
def test_distribution(on, centre):
    """Draws have the exact masses; those of half the scale, and of clamped noise, do not pass for them."""
    n = 400_000
    counts = np.bincount(draws(on, centre, n, seed=17) - on.low, minlength=on.high - on.low + 1)
    accept(chi_square("conditioned", counts, oracles.masses(on.t, on.low, on.high, centre)))

    other = np.random.default_rng(3).choice(
        np.arange(on.low, on.high + 1), n, p=oracles.masses(on.t / 2, on.low, on.high, centre)
    )
    found = np.bincount(other - on.low, minlength=on.high - on.low + 1)
    reject(chi_square("half the scale", found, oracles.masses(on.t, on.low, on.high, centre)))
    steps = default_rng(17).discrete_laplace(on.t, n)
    clamped = np.bincount(np.clip(centre + steps, on.low, on.high) - on.low, minlength=on.high - on.low + 1)
    reject(chi_square("clamped", clamped, oracles.masses(on.t, on.low, on.high, centre)))
