"""DiscreteLaplaceMechanism.add_noise: integers plus exact noise, saturated and never wrapped, in every type."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from bitwise import same
from exact_oracles import integer_sum
from stats import absolute_power_moments, accept, count, moment

from lapnoise import DiscreteLaplaceMechanism, SeededNoiseWarning, default_rng
from lapnoise._exact_noise import exact_draw

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

SEED = 73
MOST = 2**63 - 1


def mechanism(t: float) -> DiscreteLaplaceMechanism:
    """Return a mechanism with noise of scale t."""
    made = DiscreteLaplaceMechanism(epsilon=1 / Fraction(t), sensitivity=1)
    assert made.lattice.t == t
    return made


@cache
def noise(t: float, size: int, start: int = 0) -> list[int]:
    """Return the noise of the seed's stream by the last tier alone."""
    source = default_rng(SEED)._stream.source
    return [exact_draw(t, source, start + i) for i in range(size)]


def summed(values, steps) -> np.ndarray:
    """Return the exact sums, saturated."""
    return np.array([integer_sum(int(x), k) for x, k in zip(values, steps, strict=True)], np.int64)


SCALES = [0.3, 1.0, 50.0, 2.0**30, 2.0**43, 2.0**44, 2.0**50, 2.0**57, 10**18, 10**30]
KINDS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("t", SCALES)
def test_sums(t, kind):
    """Ends of every type, and integers about 2^53, 2^60 and 2^63: each sum is exact, or plus or minus 2^63 - 1."""
    limits = (0, 1) if kind == np.bool_ else (np.iinfo(kind).min, np.iinfo(kind).max)
    places = [
        0,
        1,
        -1,
        5,
        2**53 + 1,
        2**60 + 128,
        2**60 + 129,
        *(s * (2**63 + d) for s in (-1, 1) for d in range(-9, 10)),
    ]
    places += [limits[0], limits[0] + 1, limits[1] - 1, limits[1]]
    whole = [x for x in places if limits[0] <= x <= limits[1]] * 4
    got = mechanism(t).add_noise(np.array(whole, kind), rng=default_rng(SEED))

    assert same(got, summed(whole, noise(t, len(whole))))
    assert got.min() > -(2**63)


def test_saturation_shows_the_exact_tail():
    """At 2^63 - 1 with epsilon 1 no sum wraps, and P(X < 0) = 0.269 of the sums lie below; 1 % is seen.

    The mutant that wraps would have as many negative sums.
    """
    t, n = 1.0, 100_000
    got = mechanism(t).add_noise(np.full(n, MOST), rng=default_rng(SEED))
    below = math.exp(-1) / (1 + math.exp(-1))

    assert got.min() > MOST - 60
    accept(count("below the largest", int(np.sum(got < MOST)), n, below))
    low = mechanism(t).add_noise(np.full(n, -(2**63)), rng=default_rng(SEED))
    assert low.min() == -MOST
    assert low.max() < -MOST + 60


def test_noise_is_not_cut_before_the_sum():
    """Noise of more than 64 bits meets a huge value of the other sign exactly, so that no atom tells the value.

    The mutant that cuts the noise to 2^63 - 1 first has every seventh sum or so at 0.
    """
    t = 10**19
    x = np.array([MOST, -MOST] * 150)
    steps = noise(t, x.size)
    got = mechanism(t).add_noise(x, rng=default_rng(SEED))
    mutant = summed(x, [min(max(k, -MOST), MOST) for k in steps])

    assert same(got, summed(x, steps))
    assert np.sum(got == 0) == 0
    assert np.sum(mutant == 0) > 30
    huge = mechanism(10**30).add_noise(np.zeros(50, np.int64), rng=default_rng(SEED))
    assert set(np.abs(huge).tolist()) == {MOST}


def test_unsigned_integers_beyond_int64():
    """Unsigned integers from 2^63 on come back below it where the noise takes them there, and saturate elsewhere."""
    steps = noise(50.0, 2000)
    values = [2**63 - 1 + d for d in range(-100, 101)] * 9
    got = mechanism(50.0).add_noise(np.array(values, np.uint64), rng=default_rng(SEED))

    assert same(got, summed(values, steps[: len(values)]))
    assert 100 < np.sum(got < MOST) < len(values) - 100


@pytest.mark.parametrize("t", [3.0, 2.0**50])
def test_layouts(t):
    """Neither layout nor width nor place changes which noise a value gets; in place writes there and nowhere else."""
    m = mechanism(t)
    x = np.arange(6000)
    wanted = m.add_noise(x, rng=default_rng(SEED))
    assert same(wanted[:200], summed(x[:200], noise(t, 200)))
    spread = np.zeros((60, 200), np.int64)
    spread[:, ::2] = x.reshape(60, 100)
    for values in (x.reshape(60, 100), np.asfortranarray(x.reshape(60, 100)), spread[:, ::2], x.astype(np.int16)):
        for narrow in (values, values.astype(">i4"), values.astype(np.uint16)):
            assert same(m.add_noise(narrow, rng=default_rng(SEED)).ravel(), wanted)
            out = np.zeros((*values.shape, 2), np.int64)[..., 0]
            assert m.add_noise(narrow, out=out, rng=default_rng(SEED)) is out
            assert same(out.ravel(), wanted)
    view = spread[:, ::2]
    assert m.add_noise(view, out=view, rng=default_rng(SEED)) is view
    assert same(view.ravel(), wanted)
    assert not spread[:, 1::2].any()
    one = m.add_noise(np.arange(300_000), rng=default_rng(SEED, threads=1))
    assert same(one, m.add_noise(np.arange(300_000), rng=default_rng(SEED, threads=2)))
    assert same(one, np.arange(300_000) + default_rng(SEED).discrete_laplace(t, 300_000))


@pytest.mark.parametrize("shift", [1, 700])
def test_overlapping_memory(shift):
    """Values that overlap with out are read as they were before, in both directions and as unsigned ones."""
    m = mechanism(50.0)
    for kind in (np.int64, np.uint64):
        for source, target in ((shift, 0), (0, shift), (0, 0)):
            memory = np.arange(12_000)
            values = memory[source : source + 10_000].view(kind)
            wanted = m.add_noise(values.copy(), rng=default_rng(SEED))
            out = memory[target : target + 10_000]
            assert same(m.add_noise(values, out=out, rng=default_rng(SEED)), wanted)


def test_words_are_given_out_once():
    """Every type takes one word a value, and the next release begins at the word after."""
    rng = default_rng(SEED)
    start = 0
    for t in (3.0, 2.0**50, 10**20):
        for kind in KINDS:
            assert rng.position == start
            got = mechanism(t).add_noise(np.zeros(37, kind), rng=rng)
            assert same(got, summed([0] * 37, noise(t, 37, start)))
            start += 37


def test_kinds_of_values():
    """An int gives an int, a NumPy number one of int64, a sequence an array; a masked array keeps its mask."""
    m = mechanism(50.0)

    def release(x):
        return m.add_noise(x, rng=default_rng(SEED))

    step = noise(50.0, 1)[0]
    for given, kind in ((3, int), (True, int), (np.int8(3), np.int64), (np.uint64(2**63 + 1), np.int64), (2**63, int)):
        assert type(release(given)) is kind
        assert release(given) == integer_sum(int(given), step)
    assert release([1, 2]).tolist() == summed([1, 2], noise(50.0, 2)).tolist()
    for empty in ([], np.empty((0, 3), np.int32), ()):
        assert release(empty).shape == np.shape(empty)
        assert release(empty).dtype == np.int64
    zero = release(np.array(7))
    assert type(zero) is np.ndarray
    assert zero.shape == ()
    masked = release(np.ma.MaskedArray([1, 2, 3], mask=[0, 1, 0]))
    assert masked.mask.tolist() == [False, True, False]
    assert masked.data[[0, 2]].tolist() == summed([1, 0, 3], noise(50.0, 3))[[0, 2]].tolist()


@pytest.mark.parametrize("kind", ["int64", "int8", "uint64", "Int64", "UInt8", "int64[pyarrow]", "bool", "boolean"])
def test_series(kind):
    """A Series of integers of any width gives 64-bit integers of its kind, missing values staying missing."""
    nullable = kind[0].isupper() or "[" in kind or kind == "boolean"
    x = pd.Series([1, 0, 1], index=[7, 8, 9], name="x").astype(kind)
    if nullable:
        x[8] = pd.NA
    got = mechanism(50.0).add_noise(x, rng=default_rng(SEED))
    wanted = summed([1, 0, 1], noise(50.0, 3))

    assert got.index.tolist() == [7, 8, 9]
    assert got.name == "x"
    assert str(got.dtype) == ("int64[pyarrow]" if "[" in kind else "Int64" if nullable else "int64")
    assert got.isna().tolist() == [False, nullable, False]
    assert [int(v) for v in got[[7, 9]]] == wanted[[0, 2]].tolist()


def test_series_of_large_integers():
    """Nullable integers beyond 2^53 do not pass through a float."""
    x = pd.Series([2**60 + 129, None, 2**63 - 1], dtype="Int64")
    got = mechanism(0.3).add_noise(x, rng=default_rng(SEED))
    assert [int(v) for v in got[[0, 2]]] == summed([2**60 + 129, 0, 2**63 - 1], noise(0.3, 3))[[0, 2]].tolist()


def test_values_are_left_alone():
    """The values given stay as they are, may be read-only, and share no memory with the result."""
    x = np.arange(1000)
    x.flags.writeable = False
    for values in (x, np.broadcast_to(np.int64(3), (5, 7)), np.arange(4, dtype=np.uint64)):
        before = values.copy()
        got = mechanism(3.0).add_noise(values)
        assert same(values, before)
        assert not np.shares_memory(got, values)


def test_wrong_values_are_refused():
    """Floats, also whole ones, text, complex numbers and too large integers are refused before a word is drawn."""
    rng = default_rng(SEED)
    for values in (1.0, [1.0, 2.0], np.float32(3), "1", 1j, [None], np.zeros(2, np.float16), 2**64, -(2**63) - 1):
        with pytest.raises(TypeError, match="values must be"):
            mechanism(3.0).add_noise(values, rng=rng)
    for series in (pd.Series([1.0, 2.0]), pd.Series([1.5, None], dtype="Float64"), pd.Series(["a"])):
        with pytest.raises(TypeError, match="values must be"):
            mechanism(3.0).add_noise(series, rng=rng)
    assert rng.position == 0


def test_wrong_out_is_refused():
    """An out of another type or shape is refused, and nothing is drawn."""
    rng = default_rng(SEED)
    for out, error in (
        (np.zeros(2), TypeError),
        (np.zeros(2, np.int32), TypeError),
        (np.zeros(3, np.int64), ValueError),
    ):
        with pytest.raises(error, match="out must have"):
            mechanism(3.0).add_noise([1, 2], out=out, rng=rng)
    assert rng.position == 0


def test_clamp():
    """A clamp of ints clips the sums and nothing else; others are refused."""
    m = mechanism(50.0)
    x = np.arange(-50, 50)
    free = m.add_noise(x, rng=default_rng(SEED))
    for clamp in ((0, 10), (3, 3), (-(2**63), 2**63 - 1), [0, 1], (np.int8(0), np.int64(5))):
        assert same(m.add_noise(x, clamp=clamp, rng=default_rng(SEED)), np.clip(free, *clamp))
    rng = default_rng(SEED)
    for clamp in ((2, 1), (0, 2**63), (-(2**63) - 1, 0)):
        with pytest.raises(ValueError, match=r"clamp must be two ints \(low, high\)"):
            m.add_noise(x, clamp=clamp, rng=rng)
    for clamp in ((0.0, 1.0), (True, False), 3, "ab", (1, 2, 3), (None, 1)):
        with pytest.raises(TypeError, match="clamp must be"):
            m.add_noise(x, clamp=clamp, rng=rng)
    assert rng.position == 0


def test_generators():
    """A seeded generator warns and repeats; without one noise never comes again; others are refused."""
    m = mechanism(2.0**50)
    with pytest.warns(SeededNoiseWarning, match="can be drawn again") as caught:
        first = m.add_noise(np.zeros(50, np.int64), rng=default_rng(1))
    assert caught[0].filename == __file__
    assert same(first, m.add_noise(np.zeros(50, np.int64), rng=default_rng(1)))
    made = [m.add_noise(np.zeros(50, np.int64)) for _ in range(5)]
    made += [m.add_noise(np.zeros(50, np.int64), rng=default_rng(), threads=1)]
    assert np.unique(np.concatenate(made)).size == 300
    with pytest.raises(TypeError, match="rng must be a lapnoise Generator"):
        m.add_noise([1], rng=np.random.default_rng(1))


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-17", "1e-18"])
def test_tiny_epsilons(epsilon):
    """With a tiny epsilon noise has the right size, balanced signs and no overflow; 1 % and 2 % are seen at 1e-12.

    The mean magnitude of noise of scale t is t within 1 / (2 t), and of n draws it has a standard error of t / sqrt(n).
    """
    m = DiscreteLaplaceMechanism(epsilon=epsilon, sensitivity=1)
    n = 1_000_000 if epsilon == "1e-12" else 10_000
    steps = m.add_noise(np.zeros(n, np.int64), rng=default_rng(SEED))
    accept(count("plus signs", int(np.sum(steps > 0)), n, 0.5))
    assert steps.min() >= -MOST
    if epsilon != "1e-18":
        accept(moment("mean magnitude", np.abs(steps) / float(m.lattice.t), absolute_power_moments(1)))
    assert np.abs(steps.astype(float)).mean() == pytest.approx(float(m.lattice.t), rel=0.1)


def test_parameters():
    """The lattice is that of the integers, t is Δ / epsilon rounded up, and losses are exact."""
    m = DiscreteLaplaceMechanism(epsilon="0.3", sensitivity=2)

    assert m.granularity == 1.0
    assert Fraction(math.nextafter(m.lattice.t, 0.0)) < Fraction(20, 3) <= Fraction(m.lattice.t)
    assert m.epsilon == 2 / Fraction(m.lattice.t) <= Fraction(3, 10)
    assert m.privacy_loss(2) == (m.epsilon, 0)
    assert m.privacy_loss(5) == (m.epsilon * 5 / 2, 0)
    assert m.privacy_loss(0) == (0, 0)
    assert m.for_length(7) is m
    half = DiscreteLaplaceMechanism(epsilon=1, sensitivity="0.5")
    assert half.lattice.t == 0.5
    assert half.epsilon == 1
    for n in (0, -1, 1.5, True, None):
        with pytest.raises((TypeError, ValueError), match="n must be"):
            m.for_length(n)
