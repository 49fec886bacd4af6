"""LaplaceMechanism.add_noise: every result is the exact sum rounded once, in every type, layout and container.

The noise of a seeded generator is known word by word, so that results are compared bit for bit with sums in fractions.
"""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from bitwise import same
from exact_oracles import half_up, lattice_sum
from exact_words import UNDECIDED, law, magnitudes

from lapnoise import LaplaceMechanism, SeededNoiseWarning, default_rng
from lapnoise._exact_noise import exact_draw

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

SEED = 71
MOST = float(np.finfo(np.float64).max)
MOST32 = float(np.finfo(np.float32).max)


def mechanism(exponent: int, t: float) -> LaplaceMechanism:
    """Return a mechanism with granularity 2^exponent and noise of scale t steps."""
    steps, r = math.ceil(t), Fraction(2) ** exponent
    made = LaplaceMechanism(epsilon=steps / Fraction(t), sensitivity=steps * r, changed=1, granularity=r)
    assert made.lattice == (exponent, steps, t)
    return made


@cache
def noise(t: float, size: int, seed: int = SEED, start: int = 0) -> list[int]:
    """Return the noise of a seed's stream by the last tier alone."""
    source = default_rng(seed)._stream.source
    return [exact_draw(t, source, start + i) for i in range(size)]


def summed(values, steps, exponent: int, kind) -> np.ndarray:
    """Return the exact sums of floats or ints with steps of noise, rounded once; NaN stays."""
    pairs = zip(values, steps, strict=True)
    return np.array([x if x != x else lattice_sum(Fraction(x), k, exponent, kind) for x, k in pairs], kind)


LATTICES = [
    (-1074, 1.0),
    (-1074, 2.0**30),
    (-1060, 3.0),
    (-500, 2.0**24),
    (-80, 2.0**43),
    (-40, 2.0**40),
    (-24, 2.0**24),
    (-1, 50.0),
    (0, 0.3),
    (0, 2.0**30),
    (1, 12345.0),
    (10, 2.0**20),
    (500, 2.0**24),
    (990, 2.0**30),
    (1023, 0.5),
    # Beyond the fast tier, and where noise needs more than 64 bits.
    (-24, math.nextafter(2.0**43, math.inf)),
    (-30, 2.0**50),
    (-60, 2.0**57),
    (-60, 2**60),
    (-300, 10**40),
]

FACTORS = [0, 0.5, -0.5, 0.49999999999999994, 0.5000000000000001, 1.5, -1.5, 2.5, -2.5, 0.25, 3.75, 1e6 + 0.5]
FACTORS += [s * (2.0**k + d) for k in (50, 51, 52, 53, 60) for s in (-1, 1) for d in (0, 0.5, 1, 1.5, 2)]
PLAIN = [-0.0, 1 / 3, -math.pi, 1e15 + 0.25, 123456789.125, 2.0**-30, 5e-324, -5e-324, 2.2e-308, 1e-310]
PLAIN += [1e300, -1e300, 1e308, -1e308, MOST, -MOST, math.nan, 1e18, -1.0]


def values_about(exponent: int, kind) -> np.ndarray:
    """Return values that are hard to round to multiples of 2^exponent, those that fit this type."""
    r, most = Fraction(2) ** exponent, float(np.finfo(kind).max)
    near = [Fraction(f) * r for f in FACTORS]
    kept = [float(x) for x in near if abs(x) <= Fraction(most)]
    return np.array([x for x in [*kept, *PLAIN] if not abs(x) > most]).astype(kind)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("exponent", "t"), LATTICES)
def test_sums_of_floats(exponent, t, kind):
    """Ties, ends of the floats, subnormals, huge values and NaN: each sum is exact and rounded once."""
    m = mechanism(exponent, t)
    x = np.tile(values_about(exponent, kind), 3)
    got = m.add_noise(x, rng=default_rng(SEED))

    assert same(got, summed(x.tolist(), noise(t, x.size), exponent, kind))
    assert not np.any(np.signbit(got) & (got == 0))
    assert np.all(np.isfinite(got) | np.isnan(x))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("exponent", "t"), [case for case in LATTICES if case[1] <= 2.0**43])
def test_sums_that_cancel(exponent, t, kind):
    """A value that is minus its noise gives 0.0, and half a step above or below it a step more or the same 0.0."""
    steps = noise(t, 60)
    r = Fraction(2) ** exponent
    wanted = [-k * r + d * r for k, d in zip(steps, itertools.cycle((0, Fraction(1, 2), Fraction(-1, 2))))]
    x = np.array([float(v) if abs(v) < Fraction(MOST32) else 0.0 for v in wanted]).astype(kind)
    got = mechanism(exponent, t).add_noise(x, rng=default_rng(SEED))

    assert same(got, summed(x.tolist(), steps, exponent, kind))
    assert not np.signbit(got[got == 0]).any()
    if kind == np.float64 and exponent in (-40, -24, 0):
        assert np.sum(got == 0) >= 20


WHOLE = [0, 1, -1, 2, 3, 2**31, 2**53, 2**53 + 1, 2**60 + 128, 2**60 + 129, 2**62, 2**63 - 1, 2**63 - 2, -(2**63)]
WHOLE += [1 - 2**63, -(2**62) - 1, 2**63, 2**63 + 1, 2**63 + 2**62, 2**64 - 1, 2**64 - 2, 2**64 - 3, 2**64 - 2**20]
WHOLE += [s * (3 * 2**k + d) for k in (1, 2, 9, 40, 60) for s in (-1, 1) for d in (-1, 0, 1)]
WHOLE += [s * (2**k + 2 ** (k - 1) + d) for k in (1, 2, 10, 40, 61, 62) for s in (-1, 1) for d in (-1, 0, 1)]

ON_INTEGERS = [
    *[(exponent, t) for exponent, t in LATTICES if exponent <= 10],
    *[(g, t) for g in (1, 2, 40, 61, 62, 63, 64, 65, 70, 500) for t in (0.5, 2.0**24)],
    (1, 2.0**43),
    (2, 2.0**43),
    (1, 2.0**50),
]


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@pytest.mark.parametrize(("exponent", "t"), ON_INTEGERS)
def test_sums_of_long_integers(exponent, t, kind):
    """64-bit integers never pass through a float: each sum is exact and rounded once to float64, at both ends too."""
    limits = np.iinfo(kind)
    whole = [x for x in WHOLE if limits.min <= x <= limits.max] * 2
    got = mechanism(exponent, t).add_noise(np.array(whole, kind), rng=default_rng(SEED))

    assert same(got, summed(whole, noise(t, len(whole)), exponent, np.float64))


def test_neighbours_beyond_the_floats():
    """2^60 + 128 and 2^60 + 129 stay one apart: sums with the same noise differ where a step is seen in the result."""
    m = mechanism(0, 3.0)
    pair = [m.add_noise(np.full(1000, x), rng=default_rng(SEED)) for x in (2**60 + 128, 2**60 + 129)]
    for x, got in zip((2**60 + 128, 2**60 + 129), pair, strict=True):
        assert got.tolist() == [float(x + k) for k in noise(3.0, 1000)]
    # 2^60 + 128 is the middle between two floats: 1 more decides for the upper one.
    assert set((pair[1] - pair[0]).tolist()) == {0.0, 256.0}


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.bool_])
@pytest.mark.parametrize(("exponent", "t"), [(-24, 2.0**24), (0, 3.0), (1, 2.0**24), (5, 3.0), (-30, 2.0**50)])
def test_sums_of_short_integers(exponent, t, kind):
    """Shorter integers and bool give float64, their ends included."""
    ends = [0, 1] if kind == np.bool_ else [np.iinfo(kind).min, 0, 1, 3, np.iinfo(kind).max]
    x = np.array(ends * 20, kind)
    got = mechanism(exponent, t).add_noise(x, rng=default_rng(SEED))

    assert same(got, summed([int(v) for v in x], noise(t, x.size), exponent, np.float64))


@pytest.mark.parametrize("kind", [">f8", ">f4", ">i8", ">u8", ">i2"])
def test_other_byte_orders(kind):
    """Arrays of the other byte order give what their values give, in this machine's order; >f4 gives float32."""
    x = np.arange(300).astype(kind)
    native = x.astype(x.dtype.newbyteorder("="))
    m = mechanism(-24, 2.0**24)

    assert same(m.add_noise(x, rng=default_rng(SEED)), m.add_noise(native, rng=default_rng(SEED)))


def test_type_and_missing_values_do_not_change_the_lattice():
    """Integers, the same numbers as floats, and the same with one NaN have the same lattice and the same sums."""
    m = LaplaceMechanism(epsilon=0.1, sensitivity=3)
    whole = np.arange(100)
    floats = whole.astype(np.float64)
    spoilt = floats.copy()
    spoilt[7] = np.nan
    made = [m.add_noise(x, rng=default_rng(SEED)) for x in (whole, floats, spoilt)]

    assert same(made[0], made[1])
    assert np.isnan(made[2][7])
    made[2][7] = made[0][7]
    assert same(made[2], made[0])
    r = m.for_length(100).granularity
    assert all((Fraction(y) / Fraction(r)).denominator == 1 for y in made[0].tolist())


# Draws: which words a release takes.


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int8, np.uint64, np.bool_])
@pytest.mark.parametrize("t", [3.0, 2.0**44])
def test_words_are_given_out_once(kind, t):
    """A release takes one word a value in every type, and the next release begins at the word after."""
    m = mechanism(0, t)
    rng = default_rng(SEED)
    for start, size in ((0, 7), (7, 100), (107, 1), (108, 0), (108, 50)):
        assert rng.position == start
        got = m.add_noise(np.zeros(size, kind), rng=rng)
        out = np.float32 if kind == np.float32 else np.float64
        assert same(got, summed([0] * size, noise(t, size, start=start), 0, out))
    assert rng.position == 158


def test_noise_of_two_types_is_independent():
    """No noise of a float32 release comes again in the float64 release after it."""
    m = mechanism(0, 2.0**40)
    rng = default_rng(SEED)
    short = m.add_noise(np.zeros(200, np.float32), rng=rng)
    long = m.add_noise(np.zeros(200), rng=rng)

    assert not np.isin(short, long.astype(np.float32)).any()


# Layouts.


def layouts(kind):
    """Yield arrays of 6,000 zeros of odd layouts and a name each."""
    yield "folded", np.zeros((60, 100), kind)
    yield "Fortran", np.zeros((60, 100), kind, order="F")
    yield "strided", np.zeros((60, 200), kind)[:, ::2]
    yield "reversed", np.zeros(6000, kind)[::-1]
    yield "transposed", np.zeros((10, 20, 30), kind).transpose(2, 0, 1)
    packed = np.zeros(6000, [("a", "u1"), ("x", kind)])
    yield "unaligned", packed["x"]


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("t", [2.0**40, 2.0**50])
def test_layouts_of_values_and_out(kind, t):
    """Whatever the layout of values and out, element i in C order gets draw i; in place too, and only there."""
    m = mechanism(-20, t)
    x = np.arange(6000).astype(kind) / 8
    wanted = m.add_noise(x, rng=default_rng(SEED))
    assert same(wanted[:300], summed(x[:300].tolist(), noise(t, 300), -20, kind))
    for name, values in layouts(kind):
        values[...] = x.reshape(values.shape)
        base = values.base if values.base is not None else values
        before = base.copy()
        assert same(m.add_noise(values, rng=default_rng(SEED)).ravel(), wanted), name
        assert same(base, before) if base.dtype.fields is None else (base == before).all(), name
        for _, out in layouts(kind):
            if out.shape == values.shape:
                assert m.add_noise(values, out=out, rng=default_rng(SEED)) is out
                assert same(out.ravel(), wanted), name
        assert m.add_noise(values, out=values, rng=default_rng(SEED)) is values
        assert same(values.ravel(), wanted), name
        if name == "strided":
            assert not base[:, 1::2].any()
        if name == "unaligned":
            assert not base["a"].any()


@pytest.mark.parametrize("shift", [1, 3, 1000, 6000])
def test_overlapping_memory(shift):
    """Values that overlap with out in memory are read as they were before."""
    m = mechanism(-20, 2.0**30)
    memory = np.arange(20_000.0)
    wanted = m.add_noise(memory[shift : shift + 10_000].copy(), rng=default_rng(SEED))
    m.add_noise(memory[shift : shift + 10_000], out=memory[:10_000], rng=default_rng(SEED))

    assert same(memory[:10_000], wanted)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (0, 1), (0, 600)])
def test_integers_that_overlap_with_out(first, second):
    """Integers in the memory of out, seen as floats, are read as they were before, wherever they lie in it."""
    m = mechanism(-20, 2.0**30)
    memory = np.arange(12_000)
    wanted = m.add_noise(memory[first : first + 10_000].copy(), rng=default_rng(SEED))
    out = memory.view(np.float64)[second : second + 10_000]

    assert same(m.add_noise(memory[first : first + 10_000], out=out, rng=default_rng(SEED)), wanted)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32, np.uint64])
@pytest.mark.parametrize("t", [2.0**30, 2.0**43])
def test_threads_and_blocks(kind, t):
    """300,000 values give the same on one thread and on two, and element i has draw i throughout."""
    m = mechanism(0, t)
    x = (np.arange(300_000) * 37 % 1001).astype(kind)
    one = m.add_noise(x, rng=default_rng(SEED, threads=1))
    two = m.add_noise(x, rng=default_rng(SEED, threads=2))
    steps = default_rng(SEED).discrete_laplace(t, x.size)

    assert same(one, two)
    # Sums below 2^53 are exact in float64, and float32 rounds them once.
    assert same(one, (x.astype(np.int64) + steps).astype(np.float64).astype(one.dtype))


def test_open_draws_keep_their_values():
    """In place, a value whose draw is left open by the compiled tiers is not touched until its noise is known."""
    t = 2.0**43
    x = np.arange(1_000_000.0)
    steps = default_rng(SEED).discrete_laplace(t, x.size)
    for kind in (np.float64, np.float32):
        values = x.astype(kind)
        mechanism(0, t).add_noise(values, out=values, rng=default_rng(SEED))
        assert same(values, (x + steps).astype(kind))
    # Some are open, so this has something to say: t 2^-63 (ln(2^63 / t) + 1) of them.
    assert np.sum(magnitudes(default_rng(SEED).words(x.size), law(t)) == UNDECIDED) >= 1


# Containers.


def test_kinds_of_values():
    """A number gives a number of its kind, a sequence an array, and 0-d and empty arrays stay what they are."""
    m = mechanism(-10, 1000.0)

    def release(x):
        return m.add_noise(x, rng=default_rng(SEED))

    step = noise(1000.0, 1)[0]
    for given, kind in (
        (1.5, float),
        (3, float),
        (True, float),
        (np.float64(1.5), np.float64),
        (np.int8(3), np.float64),
    ):
        assert type(release(given)) is kind
        assert release(given) == lattice_sum(Fraction(float(given)), step, -10)
    assert type(release(np.float32(1.5))) is np.float32
    assert release([1.0, 2.0]).shape == (2,)
    assert release(((1, 2), (3, 4))).shape == (2, 2)
    zero = release(np.array(2.5))
    assert type(zero) is np.ndarray
    assert zero.shape == ()
    for empty in ([], np.empty((0, 3)), np.empty(0, np.float32), np.empty(0, np.int64)):
        rng = default_rng(SEED)
        got = m.add_noise(empty, rng=rng)
        assert got.shape == np.shape(empty)
        assert rng.position == 0
    assert release(np.empty(0, np.float32)).dtype == np.float32


def test_masked_arrays():
    """A masked array keeps its mask, and a masked cell takes its word."""
    m = mechanism(-10, 1000.0)
    x = np.ma.MaskedArray([1.0, 2.0, 3.0, 4.0], mask=[0, 1, 0, 0])
    got = m.add_noise(x, rng=default_rng(SEED))

    assert isinstance(got, np.ma.MaskedArray)
    assert got.mask.tolist() == [False, True, False, False]
    assert same(got.data[[0, 2, 3]], summed([1, 2, 3, 4], noise(1000.0, 4), -10, np.float64)[[0, 2, 3]])
    x.mask[0] = True
    assert not got.mask[0]


@pytest.mark.parametrize(
    "kind", ["float64", "float32", "int64", "Float64", "Float32", "float[pyarrow]", "double[pyarrow]"]
)
def test_series(kind):
    """A Series keeps index, name, missing values and width; integers become float64."""
    m = mechanism(-10, 1000.0)
    x = pd.Series([1, 2, 3], index=[7, 8, 9], name="x").astype(kind)
    got = m.add_noise(x, rng=default_rng(SEED))
    out = np.float32 if "32" in kind or kind.startswith("float[") else np.float64

    assert got.index.tolist() == [7, 8, 9]
    assert got.name == "x"
    assert str(got.dtype) == ("float64" if kind == "int64" else kind)
    assert same(got.to_numpy().astype(out), summed([1, 2, 3], noise(1000.0, 3), -10, out))
    assert x.tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["Int64", "UInt64", "int64[pyarrow]", "Float64", "double[pyarrow]"])
def test_series_with_missing_values(kind):
    """Missing values stay missing and take their words; integers beyond 2^53 do not pass through a float."""
    m = mechanism(0, 3.0)
    large = 2**60 + 129 if "nt" in kind else 2.0**60
    x = pd.Series([large, None, large / large * 3, large], dtype=kind, index=list("abcd"), name="x")
    got = m.add_noise(x, rng=default_rng(SEED))
    wanted = summed([large, 0, 3, large], noise(3.0, 4), 0, np.float64)

    assert got.isna().tolist() == [False, True, False, False]
    assert got.index.tolist() == list("abcd")
    assert [float(v) for v in got.dropna()] == wanted[[0, 2, 3]].tolist()


def test_missing_values_of_floats_touch_nothing_else():
    """NaN stays NaN, whatever its sign, and its neighbours have the noise of their places."""
    x = np.arange(2000.0)
    x[::3] = np.nan
    x[1::6] = -np.nan
    for kind in (np.float64, np.float32):
        got = mechanism(-10, 1000.0).add_noise(x.astype(kind), rng=default_rng(SEED))
        assert np.array_equal(np.isnan(got), np.isnan(x))
        steps = default_rng(SEED).discrete_laplace(1000.0, x.size)
        keep = ~np.isnan(x)
        assert same(got[keep], (x + steps / 1024)[keep].astype(kind))


def test_values_are_left_alone():
    """The values given stay as they are, may be read-only, and share no memory with the result."""
    x = np.arange(1000.0)
    x.flags.writeable = False
    for values in (x, np.broadcast_to(np.float64(3.0), (5, 7)), np.arange(10), np.arange(4, dtype=np.uint64)):
        before = values.copy()
        got = mechanism(-10, 3.0).add_noise(values)
        assert same(values, before)
        assert not np.shares_memory(got, values)


# What is refused, before a word is drawn.


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("infinity", [math.inf, -math.inf])
def test_infinities_are_refused(kind, infinity):
    """An infinity is refused with its place and advice to clip, in every layout, and nothing is drawn or written."""
    m = mechanism(-10, 3.0)
    rng = default_rng(SEED)
    spread = np.zeros((4, 10), kind)
    spread[2, 6] = infinity
    for values, place in (
        (spread, "values[2, 6]"),
        (spread[:, ::2], "values[2, 3]"),
        (spread.T, "values[6, 2]"),
        (spread.astype(spread.dtype.newbyteorder(">")), "values[2, 6]"),
        (np.array([1.0, 2.0, infinity], kind), "values[2]"),
        (np.r_[np.zeros(10_000), infinity, infinity].astype(kind), "values[10000]"),
        (pd.Series([0.0, infinity], index=[5, 6]).astype(kind), "values[1]"),
        (kind(infinity), "values must"),
    ):
        out = np.full(np.shape(values), 7.0, kind)
        for target in ({}, {"out": out}):
            with pytest.raises(ValueError, match="must be finite or NaN, got an infinity: clip") as caught:
                m.add_noise(values, rng=rng, **target)
            assert str(caught.value).startswith(place)
        assert (out == 7.0).all()
    assert rng.position == 0


def test_wrong_values_are_refused():
    """Complex numbers, text, float16, objects and dates are a TypeError."""
    m = mechanism(-10, 3.0)
    for values in (1j, "1.0", ["a"], np.zeros(3, np.float16), [None, 1.0], np.array(["2020"], "M8[Y]"), object(), None):
        with pytest.raises(TypeError, match="values must be real numbers"):
            m.add_noise(values)


def test_messages_show_no_value():
    """No value of the data appears in a message, only the place of what is refused."""
    m = mechanism(-10, 3.0)
    for values, place in (([1234.5, math.inf], "values[1]"), ([[1234.5, 0.0, -math.inf]], "values[0, 2]")):
        for release in (m.add_noise, m.add_log_noise):
            with pytest.raises(ValueError, match="must be finite") as caught:
                release(values)
            assert str(caught.value).startswith(place)
            assert "1234" not in str(caught.value)
    with pytest.raises(ValueError, match=r"^values\[1\] must be finite, got NaN or an infinity$"):
        m.add_log_noise([1234.5, math.nan])
    for values in (["1234.5"], [1234.5, None], np.array([1234.5], np.float16), [1234.5j]):
        with pytest.raises(TypeError) as caught:
            m.add_noise(values)
        assert "1234" not in str(caught.value)


def test_wrong_out_is_refused():
    """An out of another type or shape, read-only, or with repeated memory is refused, and nothing is drawn."""
    m = mechanism(-10, 3.0)
    rng = default_rng(SEED)
    locked = np.zeros(3)
    locked.flags.writeable = False
    for out, error, message in (
        (np.zeros(3, np.float32), TypeError, "out must have dtype float64"),
        (np.zeros(3, np.int64), TypeError, "out must have dtype float64"),
        (np.zeros(4), ValueError, "out must have shape"),
        (locked, ValueError, "out must be writeable"),
        (np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,)), ValueError, "out must not repeat"),
        ([0.0, 0.0, 0.0], TypeError, "out must be a numpy array"),
    ):
        with pytest.raises(error, match=message):
            m.add_noise([1.0, 2.0, 3.0], out=out, rng=rng)
    with pytest.raises(TypeError, match="out must have dtype float32"):
        m.add_noise(np.zeros(3, np.float32), out=np.zeros(3), rng=rng)
    with pytest.raises(TypeError, match="out must have dtype float64"):
        m.add_noise(np.zeros(3, np.int64), out=np.zeros(3, np.int64), rng=rng)
    assert rng.position == 0


def test_scales_beyond_the_floats_are_refused():
    """Where scale or granularity is no float a float release is refused, with a word on add_log_noise."""
    rng = default_rng(SEED)
    for parameters in (
        {"epsilon": 1, "sensitivity": "1e310"},
        {"epsilon": "1e-400", "sensitivity": 1},
        {"epsilon": "1e-10", "sensitivity": 1e300},
        {"epsilon": "1e300", "sensitivity": 1, "granularity": Fraction(2) ** 1024},
    ):
        m = LaplaceMechanism(**parameters)
        for values in (1.0, [1.0, 2.0], 3):
            with pytest.raises(OverflowError, match="add_log_noise releases logarithms"):
                m.add_noise(values, rng=rng)
    assert rng.position == 0


# Clamp, generators.


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_clamp(kind):
    """A clamp clips the noisy values and nothing else, NaN and infinite bounds included."""
    m = mechanism(-10, 3000.0)
    x = np.arange(-50, 50).astype(kind)
    free = m.add_noise(x, rng=default_rng(SEED))
    for low, high in ((0.0, 10.0), (-5, 5), (2.0, 2.0), (-math.inf, 0), (0, math.inf), (-1e300, 1e300)):
        got = m.add_noise(x, clamp=(low, high), rng=default_rng(SEED))
        with np.errstate(over="ignore"):
            assert same(got, np.clip(free, low, high).astype(free.dtype))
        assert low <= float(got.min()) <= float(got.max()) <= high
    if kind != np.int64:
        x[3] = np.nan
        got = m.add_noise(x, clamp=(0.0, 1.0), rng=default_rng(SEED), out=x)
        assert np.flatnonzero(np.isnan(got)).tolist() == [3]
    assert 0.0 <= m.add_noise(5.0, clamp=(0.0, 1.0)) <= 1.0


def test_wrong_clamps_are_refused():
    """A clamp that is no pair, is reversed, or holds NaN is refused, and nothing is drawn."""
    m = mechanism(-10, 3.0)
    rng = default_rng(SEED)
    for clamp in ((2.0, 1.0), (math.nan, 1.0), (0.0, math.nan), ([0.0, 1.0], 2.0)):
        with pytest.raises(ValueError, match=r"clamp must be two numbers \(low, high\)"):
            m.add_noise([1.0], clamp=clamp, rng=rng)
    for clamp in (1.0, "ab", (1.0,), (0.0, 1.0, 2.0), {0.0, 1.0}, ("a", "b"), (None, 1.0), (0, 1j)):
        with pytest.raises(TypeError, match="clamp must be"):
            m.add_noise([1.0], clamp=clamp, rng=rng)
    assert rng.position == 0


def test_seeded_generators_warn_and_repeat():
    """Noise that can be drawn again warns on the caller's line: a seed, a child of one, a generator moved by seek."""
    m = mechanism(-10, 3.0)
    sought = default_rng()
    sought.seek(0)
    for rng in (default_rng(1), default_rng(1).child("a"), default_rng(1).spawn(1)[0], sought):
        for release in (m.add_noise, m.add_log_noise):
            with pytest.warns(SeededNoiseWarning, match="can be drawn again") as caught:
                release([1.0], rng=rng)
            assert [w.filename for w in caught] == [__file__]
    twice = [m.add_noise(np.zeros(100), rng=default_rng(5)) for _ in range(2)]
    assert same(*twice)


@pytest.mark.filterwarnings("error")
def test_system_generators_do_not_warn():
    """Without a generator, or with one keyed by the operating system, nothing warns and noise never comes again."""
    m = mechanism(-10, 2.0**50)
    rng = default_rng()
    made = [m.add_noise(np.zeros(50)) for _ in range(5)]
    made += [m.add_noise(np.zeros(50), rng=rng) for _ in range(5)] + [m.add_noise(np.zeros(50), threads=2)]
    made += [m.add_noise(np.zeros(50), rng=default_rng().child("a"))]

    assert np.unique(np.concatenate(made)).size == 12 * 50


@pytest.mark.parametrize("rng", [0, 7, np.random.default_rng(1), "seed", default_rng])
def test_other_generators_are_refused(rng):
    """A seed, NumPy's generator, or anything else for rng is a TypeError."""
    with pytest.raises(TypeError, match="rng must be a lapnoise Generator or None"):
        mechanism(-10, 3.0).add_noise([1.0], rng=rng)
    with pytest.raises(TypeError, match="rng must be a lapnoise Generator or None"):
        mechanism(-10, 3.0).add_log_noise([1.0], rng=rng)


def test_system_noise_is_chacha20(monkeypatch):
    """Without a generator the noise is that of ChaCha20 under a fresh key of the operating system."""
    from lapnoise.bits import entropy

    keys = []

    def urandom(n):
        keys.append(bytes([len(keys) + 1]) * n)
        return keys[-1]

    monkeypatch.setattr(entropy.os, "urandom", urandom)
    m = mechanism(0, 1000.0)
    got = [m.add_noise(np.zeros(40)) for _ in range(2)]
    for k, values in enumerate(got):
        source = np.array([*np.frombuffer(keys[k], "<u8"), 0, 10], np.uint64)
        assert values.tolist() == [exact_draw(1000.0, source, i) for i in range(40)]
    assert len(keys) == 2


# Vectors.


def test_length_stands_for_changed():
    """Without ``changed`` an array has the lattice of its length, and pieces of it that of ``for_length``."""
    m = LaplaceMechanism(epsilon=1, sensitivity=16)
    whole = m.for_length(16)
    x = np.arange(16.0)
    rng = default_rng(SEED)
    pieces = np.concatenate([whole.add_noise(x[:5], rng=rng), whole.add_noise(x[5:], rng=rng)])

    assert whole.changed == 16
    assert whole.for_length(3) is whole
    assert same(m.add_noise(x, rng=default_rng(SEED)), pieces)
    assert same(m.add_noise(x.reshape(4, 4), rng=default_rng(SEED)).ravel(), pieces)
    assert m.lattice != whole.lattice
    # 16 coordinates that change by 1 each: scale 16 / epsilon on each, once.
    assert whole.scale == pytest.approx(16, rel=2**-20)
    fixed = LaplaceMechanism(epsilon=1, sensitivity=16, changed=2)
    assert fixed.for_length(1000) is fixed
    for n in (0, -1, 1.5, True):
        with pytest.raises((TypeError, ValueError), match="n must be"):
            m.for_length(n)


# Logarithms.


def told(n: int, exponent: int) -> tuple[int, float]:
    """Return the sign and logarithm of n 2^exponent."""
    return (0, -math.inf) if n == 0 else (1 if n > 0 else -1, math.log(abs(n)) + exponent * math.log(2.0))


LOG_CASES = [
    {"epsilon": 1, "sensitivity": "1e310"},
    {"epsilon": "1e-400", "sensitivity": 1},
    {"epsilon": "1e-17", "sensitivity": "1e400", "changed": 5},
    {"epsilon": 0.5, "sensitivity": 1},
    {"epsilon": 1, "sensitivity": 1, "granularity": Fraction(2) ** 2000},
    {"epsilon": "1e-3", "sensitivity": 5e-324},
]


@pytest.mark.parametrize("parameters", LOG_CASES, ids=lambda p: " ".join(str(v)[:8] for v in p.values()))
def test_log_noise(parameters):
    """A release of logarithms is ln(abs(n) r), n the rounded value and its noise, on scales beyond the floats too."""
    m = LaplaceMechanism(**parameters)
    values = [0.0, 1.0, -1e300, MOST, 2.5, 1e-320]
    on = m.lattice if m.changed else m.for_length(len(values)).lattice
    got = m.add_log_noise(values, rng=default_rng(SEED))
    steps = noise(on.t, len(values))
    wanted = [told(half_up(Fraction(x), on.exponent) + k, on.exponent) for x, k in zip(values, steps, strict=True)]

    assert got.sign.dtype == np.int8
    assert got.sign.tolist() == [sign for sign, _ in wanted]
    np.testing.assert_allclose(got.log_abs, [log for _, log in wanted], rtol=4e-16)


def test_log_noise_depends_on_n_alone():
    """Equal numbers of steps give equal pairs, bit for bit, whatever they are made of; 0 is (0, -inf)."""
    m = LaplaceMechanism(epsilon=4, sensitivity=Fraction(2) ** 1100, changed=1, granularity=Fraction(2) ** 1100)
    assert m.lattice.t == 0.25
    seen: dict = {}
    r = 2.0**1000
    small = LaplaceMechanism(epsilon=1, sensitivity=3 * r, changed=1, granularity=r)
    for value in (0.0, r, -3 * r, 0.4 * r, 2.6 * r):
        got = small.add_log_noise(np.full(400, value), rng=default_rng(SEED))
        for k, sign, log in zip(noise(3.0, 400), got.sign.tolist(), got.log_abs.tolist(), strict=True):
            n = half_up(Fraction(value), 1000) + k
            assert seen.setdefault(n, (sign, log)) == (sign, log)
    assert seen[0] == (0, -math.inf)
    assert len(seen) > 15
    zeros = m.add_log_noise([1.0, -2.0, MOST] * 10, rng=default_rng(SEED))
    assert ((zeros.sign == 0) == np.isneginf(zeros.log_abs)).all()
    assert (zeros.sign == 0).sum() > 20


def test_log_noise_of_numbers_and_shapes():
    """A number gives numbers, an array arrays of its shape; integers do not pass through a float; NaN is refused."""
    m = mechanism(0, 3.0)
    one = m.add_log_noise(2**60 + 129, rng=default_rng(SEED))
    assert type(one.sign) is int
    assert type(one.log_abs) is float
    n = 2**60 + 129 + noise(3.0, 1)[0]
    assert one.log_abs == pytest.approx(math.log(n), rel=1e-16)
    assert m.add_log_noise(np.zeros((2, 3)), rng=default_rng(SEED)).sign.shape == (2, 3)
    assert m.add_log_noise(np.array(3.0)).sign in (-1, 0, 1)
    rng = default_rng(SEED)
    for bad in (math.nan, math.inf, [1.0, -math.inf]):
        with pytest.raises(ValueError, match="must be finite"):
            m.add_log_noise(bad, rng=rng)
    assert rng.position == 0


def test_calls_of_different_types_share_no_words():
    """A float32 release takes a word a value, as a float64 one does, so that what follows it is new noise."""
    m = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)
    rng = default_rng(5)
    with pytest.warns(SeededNoiseWarning):
        first = m.add_noise(np.zeros(101, np.float32), rng=rng)
    assert rng.position == 101
    with pytest.warns(SeededNoiseWarning):
        second = m.add_noise(np.zeros(101), rng=rng)

    assert not set(first.tolist()) & set(second.astype(np.float32).tolist())
