"""Generator: the shapes and types it returns, the words it takes, and draws that depend on (key, position) alone."""

import math
import timeit
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from bitwise import bits, same

from lapnoise import default_rng

F32, F64 = np.float32, np.float64
DIFFERENCE = "exponential_difference"

# name -> (n draws, half words that one draw takes)
DRAWS = {
    "laplace": (lambda rng, n: rng.laplace(0.5, 2.0, n), 2),
    "laplace32": (lambda rng, n: rng.laplace(0.5, 2.0, n, dtype=F32), 1),
    "difference": (lambda rng, n: rng.laplace(0.5, 2.0, n, method=DIFFERENCE), 4),
    "difference32": (lambda rng, n: rng.laplace(0.5, 2.0, n, dtype=F32, method=DIFFERENCE), 2),
    "exponential": (lambda rng, n: rng.exponential(2.0, n), 2),
    "exponential32": (lambda rng, n: rng.exponential(2.0, n, dtype=F32), 1),
    "add_laplace": (lambda rng, n: rng.add_laplace(np.full(n, 0.5), 2.0), 2),
    "add_laplace32": (lambda rng, n: rng.add_laplace(np.full(n, 0.5, F32), 2.0), 1),
    "log_laplace": (lambda rng, n: rng.log_laplace(0.5, n).log_abs, 2),
    "log_laplace sign": (lambda rng, n: rng.log_laplace(0.5, n).sign, 2),
    "bounded_laplace": (lambda rng, n: rng.bounded_laplace(0.5, 2.0, -1.0, 3.0, n), 2),
    "words": (lambda rng, n: rng.words(n), 2),
}

every_draw = pytest.mark.parametrize(("draw", "half_words"), DRAWS.values(), ids=DRAWS)

LOCS = [0.0, 3, np.float64(1), np.float32(1), np.int64(2), np.array(1.0), [], [2.0], [1, 2], np.zeros((2, 1))]
LOCS += [np.zeros((0, 3)), (1.0, 2.0, 3.0), np.zeros((2, 3), F32), np.zeros((2, 3), np.int8)]
SIZES = [None, (), 0, 1, 3, (0, 3), (2, 3), (4, 2, 3), np.int64(3), [2, 3], np.array([2, 3]), np.array(3), (3, 2)]


@pytest.mark.parametrize("size", SIZES, ids=repr)
@pytest.mark.parametrize("scale", [1.0, [1.0, 2.0, 3.0], np.ones((2, 1))], ids=["number", "(3,)", "(2, 1)"])
@pytest.mark.parametrize("loc", LOCS, ids=repr)
def test_shapes_and_types_are_those_of_numpy(loc, scale, size):
    """For every form of loc, scale and size the result has NumPy's type, dtype and shape, or both refuse."""
    rng = default_rng(1)
    try:
        expected = np.random.default_rng(1).laplace(loc, scale, size)
    except ValueError:
        with pytest.raises(ValueError, match=r"arguments must broadcast.*, got .*(loc|scale) of shape"):
            rng.laplace(loc, scale, size)
        assert rng.position == 0
        return
    got = rng.laplace(loc, scale, size)
    assert type(got) is type(expected)
    assert np.shape(got) == np.shape(expected)
    assert np.asarray(got).dtype == F64
    assert rng.position == np.size(expected)


@pytest.mark.parametrize("size", SIZES, ids=repr)
@pytest.mark.parametrize("scale", [1, 1.0, [1.0, 2.0, 3.0], [], np.ones((2, 1)), np.array(2.0)], ids=repr)
def test_exponential_has_numpy_shapes_and_types(scale, size):
    """Exponential draws have NumPy's type, dtype and shape for every form of scale and size, or both refuse."""
    try:
        expected = np.random.default_rng(1).exponential(scale, size)
    except ValueError:
        with pytest.raises(ValueError, match=r"arguments must broadcast to shape .*, got scale of shape"):
            default_rng(1).exponential(scale, size)
        return
    got = default_rng(1).exponential(scale, size)
    assert type(got) is type(expected)
    assert np.shape(got) == np.shape(expected)


@pytest.mark.parametrize("size", [None, (), 0, 3, (2, 3)], ids=repr)
def test_log_and_bounded_draws_have_the_same_shapes(size):
    """The other two samplers give numbers for numbers, and arrays of the asked shape."""
    pair, bounded = default_rng(1).log_laplace(1, size), default_rng(1).bounded_laplace(0, 1, -1, 1, size)
    if size is None:
        assert (type(pair.sign), type(pair.log_abs), type(bounded)) == (int, float, float)
    else:
        shape = default_rng(1).laplace(size=size).shape
        assert (pair.sign.dtype, pair.log_abs.dtype, bounded.dtype) == (np.int8, F64, F64)
        assert pair.sign.shape == pair.log_abs.shape == bounded.shape == shape


@pytest.mark.parametrize(
    "dtype", [F64, F32, float, "float64", "float32", "f8", "f4", np.dtype(F64), np.dtype(F32)], ids=repr
)
def test_dtype_is_that_of_the_result(dtype):
    """Any name of float64 and float32 is understood, and a bare draw is a Python float all the same."""
    for draw in (default_rng(1).laplace, default_rng(1).exponential):
        assert draw(size=3, dtype=dtype).dtype == np.dtype(dtype)
        assert type(draw(dtype=dtype)) is float


def test_sum_keeps_the_kind_of_values():
    """Noise added to a number, a NumPy number, a 0-d array or a list gives a number, a NumPy number, 0-d, an array."""
    kinds = [
        (1.0, float),
        (1, float),
        (True, float),
        (np.float64(1), F64),
        (np.float32(1), F32),
        (np.int16(1), F64),
        (np.array(1.0), np.ndarray),
        ([1, 2], np.ndarray),
        ((1.0, 2.0), np.ndarray),
        (range(3), np.ndarray),
    ]
    for values, kind in kinds:
        got = default_rng(1).add_laplace(values, 1.0)
        assert type(got) is kind
        assert np.shape(got) == np.shape(values)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"])
def test_integers_give_float64(name):
    """Noise added to integers or bool is not cut to integers: the result is float64, each value plus its draw."""
    values = np.array([0, 1, 100, 120]).astype(name)
    before = values.tobytes()
    got = default_rng(1).add_laplace(values, 1.5)
    assert same(got, values.astype(F64) + default_rng(1).laplace(0.0, 1.5, 4))
    assert values.tobytes() == before


@pytest.mark.parametrize("loc", [Fraction(1, 4), Decimal("0.25"), np.float32(0.25), [0.25], np.array(0.25)], ids=repr)
def test_loc_may_be_any_real_number(loc):
    """Every way to write a quarter gives the same draw."""
    assert np.all(default_rng(1).laplace(loc, 1) == default_rng(1).laplace(0.25, 1))


@every_draw
@pytest.mark.parametrize("n", [0, 1, 2, 3, 127, 128, 129, 511, 512, 513, 1025])
def test_words_that_draws_take(draw, half_words, n):
    """A call takes a fixed number of words for each draw; an odd half word left over is dropped."""
    rng = default_rng(1)
    rng.seek(5)
    draw(rng, n)
    assert rng.position == 5 + (n * half_words + 1) // 2


@pytest.mark.parametrize("loc", [0.0, math.nan, math.inf, np.full(3, math.nan)], ids=repr)
@pytest.mark.parametrize("scale", [0.0, 1.0, 5e-324, np.zeros(3)], ids=repr)
def test_words_do_not_depend_on_values(loc, scale):
    """Scale 0 and NaN take their words too."""
    rng = default_rng(1)
    rng.laplace(loc, scale, 3)
    rng.add_laplace(np.broadcast_to(loc, 3), scale)
    rng.laplace(loc, scale, 3, method=DIFFERENCE)
    rng.exponential(scale, 3)
    rng.bounded_laplace(0.0, scale, 0.0, 0.0, 3)
    assert rng.position == 3 + 3 + 6 + 3 + 3


@every_draw
def test_draws_do_not_depend_on_how_calls_split_them(draw, half_words):
    """An array of n draws equals any split of it into consecutive calls (with half words, at even counts)."""
    n = 1600
    expected = draw(default_rng(1), n)
    random = np.random.default_rng(1)
    for _ in range(20):
        cuts = np.sort(random.integers(0, n // 2, 7)) * 2 if half_words % 2 else np.sort(random.integers(0, n, 7))
        rng = default_rng(1)
        pieces = [draw(rng, int(count)) for count in np.diff([0, *cuts, n])]
        assert same(np.concatenate(pieces), expected)


@every_draw
@pytest.mark.parametrize("n", [1, 3, 600])
def test_seek_equals_read(draw, half_words, n):
    """A draw made after `seek` is the one that reading on gives, at every offset around groups and batches."""
    most = (700 * 2 + n * 4) // half_words
    # Draws of two words begin at even words in one reading and at odd words in the other.
    readings = []
    for first in (0, 1):
        rng = default_rng(1)
        rng.seek(first)
        readings.append(draw(rng, most))
    rng = default_rng(1)
    for offset in range(701):
        rng.seek(offset)
        first = offset % max(1, half_words // 2)
        skipped = 2 * (offset - first) // half_words
        assert same(draw(rng, n), readings[first][skipped : skipped + n]), offset


def test_draws_are_those_of_the_words():
    """Bit 0 of a word is the sign, set for minus, and the magnitude -log((w | 1) 2^-64) b, all within 3 ulp."""
    words = default_rng(7).words(500)
    got = default_rng(7).laplace(0.0, 1.0, 500)
    assert np.array_equal(np.signbit(got), words & 1 == 1)
    with mpmath.workdps(40):
        for word, draw in zip(words.tolist(), got.tolist(), strict=True):
            exact = -mpmath.log(mpmath.mpf(word | 1) / 2**64)
            assert abs(abs(draw) - exact) <= 3 * math.ulp(draw)


def test_float32_draws_are_those_of_the_half_words():
    """Half words make float32 draws in the same way, the low half first."""
    words = default_rng(7).words(250)
    halves = [half for word in words.tolist() for half in (word & 0xFFFFFFFF, word >> 32)]
    got = default_rng(7).laplace(0.0, 1.0, 500, dtype=F32)
    with mpmath.workdps(40):
        for half, draw in zip(halves, got.tolist(), strict=True):
            exact = -mpmath.log(mpmath.mpf(half | 1) / 2**32)
            assert math.copysign(1.0, draw) == 1 - 2 * (half & 1)
            assert abs(abs(draw) - exact) <= 3 * np.spacing(F32(abs(draw)))


@pytest.mark.parametrize("dtype", [F64, F32])
def test_exponential_is_the_magnitude_of_laplace(dtype):
    """At the same position `exponential` is the magnitude of `laplace`, bit for bit."""
    expected = np.abs(default_rng(3).laplace(0.0, 0.3, 2000, dtype=dtype))
    assert same(default_rng(3).exponential(0.3, 2000, dtype=dtype), expected)


@pytest.mark.parametrize("method", ["inverse", DIFFERENCE])
@pytest.mark.parametrize("dtype", [F64, F32])
def test_noise_drawn_about_and_added_to_values_agree(dtype, method):
    """laplace(loc), add_laplace(loc), loc + laplace(0) and one draw at a time agree bit for bit, large or small."""
    random = np.random.default_rng(1)
    loc = (random.standard_normal(2000) * 10.0 ** random.integers(-30, 30, 2000)).astype(dtype)
    loc[:5] = [0.0, math.inf, -math.inf, math.nan, np.finfo(dtype).max]
    for scale in (dtype(0.7), np.geomspace(1e-20, 1e20, 2000).astype(dtype), dtype(0.0)):
        expected = loc + default_rng(3).laplace(0.0, scale, 2000, dtype=dtype, method=method)
        assert same(default_rng(3).laplace(loc, scale, dtype=dtype, method=method), expected)
        assert same(default_rng(3).add_laplace(loc, scale, method=method), expected)
        in_place = loc.copy()
        assert default_rng(3).add_laplace(in_place, scale, out=in_place, method=method) is in_place
        assert same(in_place, expected)


def test_single_draws_equal_draws_in_arrays():
    """Draws taken one by one, with any parameters and between arrays of draws, are those of one array."""
    expected = default_rng(3).laplace(0.0, 1.0, 1000)
    rng = default_rng(3)
    got = []
    while len(got) < 900:
        kind = len(got) % 7
        if kind < 3:
            got.append(rng.laplace())
        elif kind == 3:
            got.append(rng.laplace(0.0, 8.0) / 8)
        elif kind == 4:
            got += [*rng.laplace(size=len(got) % 50).tolist(), rng.laplace(0, 1)]
        elif kind == 5:
            got.append(rng.add_laplace(0.0, 1.0))
        else:
            got.append(rng.laplace(np.float64(0), np.float32(1)))
    assert got == expected[: len(got)].tolist()
    assert rng.position == len(got)
    for place in (0, 999, 127, 128, 127, 600, 0):
        rng.seek(place)
        assert rng.laplace() == expected[place]


def test_single_draws_are_sums_rounded_like_those_of_arrays():
    """The short way for one draw rounds as the kernels do: the product first, then the sum."""
    random = np.random.default_rng(5)
    locs, scales = random.normal(size=600) * 1e3, random.exponential(size=600)
    rng = default_rng(3)
    assert same(
        [rng.laplace(float(a), float(b)) for a, b in zip(locs, scales, strict=True)],
        default_rng(3).laplace(locs, scales),
    )


@pytest.mark.parametrize("dtype", [F64, F32])
def test_no_draw_is_shared_across_a_broadcast_axis(dtype):
    """Where scale is broadcast each element still has a draw of its own, times its own scale."""
    scale = np.array([1, 10, 100], dtype)
    standard = default_rng(3).laplace(0, 1, (1000, 3), dtype=dtype)
    assert np.unique(standard).size == 3000
    assert same(default_rng(3).laplace(0, scale, (1000, 3), dtype=dtype), standard * scale)
    assert same(default_rng(3).laplace(np.zeros((1000, 1)), scale, dtype=dtype), standard * scale)
    tall = np.repeat([[2], [4]], 500, axis=0).astype(dtype)
    assert same(default_rng(3).laplace(0, tall, (1000, 3), dtype=dtype), standard * tall)
    assert same(default_rng(3).exponential(scale, (1000, 3), dtype=dtype), np.abs(standard) * scale)


def test_all_methods_broadcast():
    """Parameters of `log_laplace` and `bounded_laplace` broadcast, each element with its own draw and parameters."""
    column, row = np.array([[0.0], [1e4]]), np.array([-1.0, 0.0, 2.0])
    expected = default_rng(3).log_laplace(np.repeat(column, 3, axis=1).ravel())
    got = default_rng(3).log_laplace(column, (2, 3))
    assert same(got.log_abs.ravel(), expected.log_abs)
    assert same(got.sign.ravel(), expected.sign)
    one_by_one = default_rng(3)
    expected = [[one_by_one.bounded_laplace(x, 2.0, low, 5e4) for low in row.tolist()] for x in column.ravel().tolist()]
    assert same(default_rng(3).bounded_laplace(column, 2, row, 5e4), expected)


@pytest.mark.parametrize("dtype", [F64, F32])
def test_scale_zero_gives_loc(dtype):
    """Scale 0 gives loc exactly."""
    loc = np.array([0.0, 1.0, -2.5, 1e30, math.inf, -math.inf], dtype)
    for method in ("inverse", DIFFERENCE):
        assert np.array_equal(default_rng(1).laplace(loc, 0.0, dtype=dtype, method=method), loc)
    assert np.array_equal(default_rng(1).laplace(0.0, 0.0, 5), np.zeros(5))
    assert not default_rng(1).exponential(0, 5).any()


def test_nan_and_infinity_pass_and_touch_nothing_else():
    """NaN stays NaN, infinities stay infinite, and every other cell is as without them."""
    clean = np.linspace(-5, 5, 1001)
    holed = clean.copy()
    holed[::7], holed[3::7], holed[5::7] = math.nan, math.inf, -math.inf
    for dtype in (F64, F32):
        expected = default_rng(1).add_laplace(clean.astype(dtype), 2.0)
        got = default_rng(1).add_laplace(holed.astype(dtype), 2.0)
        finite = np.isfinite(holed)
        assert same(got[finite], expected[finite])
        assert np.array_equal(got[~finite], holed[~finite].astype(dtype), equal_nan=True)


@pytest.mark.parametrize("dtype", [F64, F32])
def test_extreme_scales(dtype):
    """The least scale gives multiples of it that are not all 0, and the largest gives finite draws."""
    info = np.finfo(dtype)
    tiny = default_rng(1).laplace(0.0, float(info.smallest_subnormal), 1000, dtype=dtype)
    assert len(set(np.abs(bits(np.abs(tiny))).tolist())) > 3
    assert np.abs(tiny).max() < 45 * float(info.smallest_subnormal)
    largest = float(info.max) / (45 if dtype is F64 else 23)
    huge = default_rng(1).laplace(0.0, largest, 100_000, dtype=dtype)
    assert np.isfinite(huge).all()
    with pytest.raises(OverflowError, match=r"scale must be at most .* got .* log_laplace takes the logarithm"):
        default_rng(1).laplace(0.0, math.nextafter(largest, math.inf), dtype=dtype)


def test_a_single_draw_is_quick():
    """A draw without arrays costs less than 20 us, the best of many tries, so that nobody needs a loop of their own."""
    rng = default_rng(1)
    best = min(timeit.repeat(rng.laplace, number=1000, repeat=20)) / 1000
    assert best < 20e-6
