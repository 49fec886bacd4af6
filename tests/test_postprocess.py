"""Post-processing: bounds, totals and order hold exactly, what is nearest is nearest, and twice is once."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from bitwise import same
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from lapnoise import LaplaceMechanism, postprocess

STEADY = settings(max_examples=100, deadline=None, derandomize=True)
NUMBERS = st.floats(-1e6, 1e6) | st.integers(-9, 9).map(float) | st.sampled_from([0.0, -0.0, 0.1, 1e-300, 1e15, -1e15])
VECTORS = st.lists(NUMBERS, max_size=12).map(np.array)
FILLED = st.lists(NUMBERS, min_size=1, max_size=12).map(np.array)
TOTALS = st.integers(0, 10**6) | st.integers(0, 5)

VECTOR_FUNCTIONS = {
    "clamp": lambda x: postprocess.clamp(x, -1, 3),
    "nonnegative": postprocess.nonnegative,
    "round_to_total": lambda x: postprocess.round_to_total(x, 7),
    "project_to_total": lambda x: postprocess.project_to_total(x, 7),
    "isotonic": postprocess.isotonic,
}


@STEADY
@given(VECTORS)
def test_clamp(x):
    """Values inside stay as they are, others become the nearer end; a second time nothing changes."""
    got = postprocess.clamp(x, -1.5, 1e3)

    assert got.tolist() == [min(max(v, -1.5), 1e3) for v in x.tolist()]
    assert same(postprocess.clamp(got, -1.5, 1e3), got)
    assert same(postprocess.clamp(x, -math.inf, math.inf), x.astype(np.float64))


def test_clamp_keeps_types():
    """Integers stay integers of their width, and float32 never leaves bounds that it cannot represent."""
    for kind in (np.int8, np.uint8, np.int64, np.uint64):
        assert same(postprocess.clamp(np.array([0, 5, 100], kind), -(10**30), 7), np.array([0, 5, 7], kind))
    third = postprocess.clamp(np.array([0, 1], np.float32), 1 / 3, 2 / 3)
    assert third.dtype == np.float32
    assert 1 / 3 <= float(third[0]) < 1 / 3 + 1e-7
    assert 2 / 3 - 1e-7 < float(third[1]) <= 2 / 3
    assert postprocess.clamp(5.0, 0, 2) == 2.0
    assert postprocess.clamp(True, 0, 2) == 1
    for low, high in ((1, 0), (math.nan, 1), (0, math.nan)):
        with pytest.raises(ValueError, match="low and high must be two numbers with low <= high"):
            postprocess.clamp([0.5], low, high)
    with pytest.raises(ValueError, match="low and high must hold a number of type uint8, got 300 and 400"):
        postprocess.clamp(np.zeros(1, np.uint8), 300, 400)
    with pytest.raises(TypeError, match=r"low must be an int, got 0\.5"):
        postprocess.clamp([1, 2], 0.5, 2)


@STEADY
@given(VECTORS)
def test_nonnegative(x):
    """Negative values become 0, never -0.0, and others stay; a second time nothing changes."""
    got = postprocess.nonnegative(x)

    assert got.tolist() == [max(v, 0.0) for v in x.tolist()]
    assert not np.signbit(got).any()
    assert same(postprocess.nonnegative(got), got)


@STEADY
@given(VECTORS, TOTALS)
def test_round_to_total(x, total):
    """The integers sum to the total and do so again; where nothing is negative none becomes so."""
    total = total if x.size else 0
    got = postprocess.round_to_total(x, total)

    assert got.dtype == np.int64
    assert sum(got.tolist()) == total
    assert same(postprocess.round_to_total(got, total), got)
    assert (x < 0).any() or (got >= 0).all()


@STEADY
@given(st.lists(st.integers(0, 2**20), min_size=1, max_size=12))
def test_rounding_errors(numerators):
    """Where values sum to the total each integer is less than 1 from its value: they are multiples of 2^-10."""
    numerators[0] += -sum(numerators) % 1024
    x = np.array(numerators) / 1024
    got = postprocess.round_to_total(x, sum(numerators) // 1024)

    assert np.abs(got - x).max() < 1


@settings(STEADY, max_examples=60)
@given(st.lists(st.integers(-6, 14), min_size=1, max_size=3), st.integers(-6, 12))
def test_rounding_is_nearest(quarters, total):
    """No other integers of that total, and of that sign, are nearer in squares; brute force over all that could be."""
    x = np.array(quarters) / 4
    if total < 0 and (x >= 0).all():
        with pytest.raises(ValueError, match="total must be >= 0 where no value is negative"):
            postprocess.round_to_total(x, total)
        return
    got = postprocess.round_to_total(x, total)
    least = 0 if (x >= 0).all() else -16
    others = (n for n in product(range(least, 17), repeat=x.size) if sum(n) == total)

    assert ((got - x) ** 2).sum() == min(((np.array(n) - x) ** 2).sum() for n in others)


def test_remainders():
    """The largest remainders get what is missing, the first of equal ones first; large integers stay exact."""
    assert postprocess.round_to_total([0.5, 0.5, 0.5, 0.5], 2).tolist() == [1, 1, 0, 0]
    assert postprocess.round_to_total([0.2, 0.5, 0.3], 1).tolist() == [0, 1, 0]
    assert postprocess.round_to_total([[1.5, 2.5], [0.0, 0.0]], 4).tolist() == [[2, 2], [0, 0]]
    assert postprocess.round_to_total([5, 0, 1], 2).tolist() == [2, 0, 0]
    assert postprocess.round_to_total([2**52 + 1, 2**52 + 2], 2**53 + 3).tolist() == [2**52 + 1, 2**52 + 2]
    many = np.full(5000, 2.0**53 - 1)
    assert sum(postprocess.round_to_total(many, 2**61).tolist()) == 2**61


@STEADY
@given(FILLED, TOTALS, st.sampled_from([0, 0.0, -2.5, 1e-3]))
def test_projection_to_a_total(x, total, low):
    """The projection keeps its bound and its total, and is a fixed point, bit for bit."""
    total = max(total, low * x.size)
    got = postprocess.project_to_total(x, total, low=low)

    assert (got >= low).all()
    assert abs(math.fsum(got) - total) <= 2.0**-50 * (abs(total) + abs(low) * x.size)
    assert same(postprocess.project_to_total(got, total, low=low), got)
    assert not np.signbit(got[got == 0]).any()


@STEADY
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=8), st.integers(0, 50), st.sampled_from([0, -1, 0.5]))
def test_projection_is_nearest(values, total, low):
    """The conditions of Karush, Kuhn and Tucker: one tau above the bound, and at it no value above tau + low."""
    total = max(total, low * len(values))
    got = postprocess.project_to_total(values, total, low=low)
    moved = np.array(values) - got
    free = got > low

    if free.any():
        assert np.ptp(moved[free]) < 1e-10
        assert (moved[~free] <= moved[free].max() + 1e-10).all()


def test_projection_against_a_general_solver():
    """SciPy's constrained minimiser finds the same point within its own tolerance."""
    x = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0])
    got = postprocess.project_to_total(x, 12.0, low=0.25)
    found = optimize.minimize(
        lambda y: ((y - x) ** 2).sum(),
        np.full(7, 12 / 7),
        bounds=[(0.25, None)] * 7,
        constraints={"type": "eq", "fun": lambda y: y.sum() - 12.0},
        options={"ftol": 1e-14},
    )

    assert got == pytest.approx(found.x, abs=1e-6)


def test_projection_of_large_values():
    """Values far above the total lose nothing to rounding: only their differences matter."""
    assert postprocess.project_to_total([1e15, 1e15 + 0.5, 0.0], 1).tolist() == [0.25, 0.75, 0.0]
    assert postprocess.project_to_total([0.1, 0.1, 5.0], 0.3, low=0.1).tolist() == [0.1, 0.1, 0.1]
    assert postprocess.project_to_total([-4.0, 2.0], 0).tolist() == [0.0, 0.0]


def test_totals_of_noisy_empty_cells():
    """Clamping 10^4 empty cells at b = 1 adds some 5000; the projection keeps the total, and rounds to it exactly."""
    noisy = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1).add_noise(np.zeros(10_000))

    assert abs(noisy.mean()) < 8 * math.sqrt(2 / 10_000)
    # The mean of max(0, X) is 1/2, its variance 3/4.
    assert abs(postprocess.nonnegative(noisy).sum() - 5000) < 8 * math.sqrt(0.75 * 10_000)
    kept = postprocess.project_to_total(noisy, 1000)
    assert kept.min() >= 0
    assert abs(math.fsum(kept) - 1000) <= 1e-9 * 1000
    assert same(postprocess.project_to_total(kept, 1000), kept)
    whole = postprocess.round_to_total(kept, 1000)
    assert whole.sum() == 1000
    assert np.abs(whole - kept).max() < 1


@STEADY
@given(VECTORS, st.booleans())
def test_isotonic_order(x, increasing):
    """The result never falls (or rises) and is a fixed point, bit for bit."""
    got = postprocess.isotonic(x, increasing=increasing)
    order = got if increasing else got[::-1]

    assert (order[1:] >= order[:-1]).all()
    assert same(postprocess.isotonic(got, increasing=increasing), got)
    if (x[1:] >= x[:-1]).all() and increasing:
        assert same(got, x.astype(np.float64))


@STEADY
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9), st.data())
def test_isotonic_is_nearest(values, data):
    """The min-max formula: each result is the largest over starts of the least over ends of weighted means."""
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(values), max_size=len(values)))
    n = len(values)

    def mean(a, b):
        return Fraction(sum(w * v for w, v in zip(weights[a:b], values[a:b], strict=True)), sum(weights[a:b]))

    expected = [max(min(mean(a, b) for b in range(i + 1, n + 1)) for a in range(i + 1)) for i in range(n)]
    got = postprocess.isotonic(values, weights=weights)
    assert got == pytest.approx([float(e) for e in expected], abs=1e-12)
    falling = postprocess.isotonic([-v for v in values], increasing=False, weights=weights)
    assert falling == pytest.approx([-float(e) for e in expected], abs=1e-12)


@pytest.mark.parametrize("name", VECTOR_FUNCTIONS)
def test_kinds_and_inputs(name):
    """A list gives an array, a Series a Series with index and name; the input stays, and no memory is shared."""
    function = VECTOR_FUNCTIONS[name]
    x = np.array([2.5, -1.0, 4.0])
    x.flags.writeable = False
    wanted = function(x)

    assert not np.shares_memory(wanted, x)
    assert x.tolist() == [2.5, -1.0, 4.0]
    assert same(function(x.tolist()), wanted)
    series = function(pd.Series(x, index=[7, 8, 9], name="n"))
    assert series.index.tolist() == [7, 8, 9]
    assert series.name == "n"
    assert same(series.to_numpy(), wanted)
    nullable = function(pd.Series([3, 1, 2], index=[7, 8, 9], dtype="Int64"))
    assert str(nullable.dtype) == ("Float64" if name in ("project_to_total", "isotonic") else "Int64")
    assert same(function(np.array([3, 1, 2], ">i4")).astype(np.float64), nullable.to_numpy(dtype=np.float64))


@pytest.mark.parametrize("name", VECTOR_FUNCTIONS)
def test_missing_values_are_refused(name):
    """NaN, NA and masks are refused, naming the place and no value."""
    function = VECTOR_FUNCTIONS[name]
    for values in (
        [1.0, math.nan],
        pd.Series([1.0, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1, None], dtype="int64[pyarrow]"),
    ):
        with pytest.raises(ValueError, match=r"^values\[1\] must be a number, got NaN$"):
            function(values)
    with pytest.raises(TypeError, match="values must not be masked"):
        function(np.ma.MaskedArray([1.0, 2.0], mask=[0, 1]))
    with pytest.raises(TypeError, match="values must be real numbers"):
        function(["a"])


def test_empty():
    """Of no values every function makes none; a total of them can only be 0."""
    for empty in ([], np.empty((0, 3))):
        assert postprocess.clamp(empty, 0, 1).shape == np.shape(empty)
        assert postprocess.nonnegative(empty).shape == np.shape(empty)
        assert postprocess.round_to_total(empty, 0).shape == np.shape(empty)
        assert postprocess.project_to_total(empty, 0).shape == np.shape(empty)
        for function in (postprocess.round_to_total, postprocess.project_to_total):
            with pytest.raises(ValueError, match="total must be 0 where there are no values, got 1"):
                function(empty, 1)
    assert postprocess.isotonic([]).shape == (0,)


def test_impossible_constraints():
    """Totals below what the values must have, and parameters that are no numbers, are refused."""
    with pytest.raises(ValueError, match="total must be at least low times the number of values, got total -1 and"):
        postprocess.project_to_total([1.0, 2.0], -1)
    with pytest.raises(ValueError, match=r"total must be at least low .* got total 3 and low 2 for 2 values"):
        postprocess.project_to_total([1.0, 2.0], 3, low=2)
    for total in (math.nan, math.inf, [1.0]):
        with pytest.raises(ValueError, match="total must be a number"):
            postprocess.project_to_total([1.0], total)
    for total in (1.0, True, "1", None):
        with pytest.raises(TypeError, match="total must be an int"):
            postprocess.round_to_total([1.0], total)
    with pytest.raises(ValueError, match=r"total must be below 2\*\*62"):
        postprocess.round_to_total([1.0], 2**62)
    with pytest.raises(ValueError, match=r"values\[1\] must be below 2\*\*53 in magnitude"):
        postprocess.round_to_total([1.0, 2.0**53], 1)
    for function in (lambda x: postprocess.project_to_total(x, 1), postprocess.isotonic):
        with pytest.raises(ValueError, match=r"values\[0\] must be below 2\*\*1000 in magnitude"):
            function([-math.inf])
    with pytest.raises(ValueError, match="values must have one dimension"):
        postprocess.isotonic([[1.0]])
    for weights in ([1.0], [1.0, 0.0], [1.0, math.nan]):
        with pytest.raises(ValueError, match="weights must"):
            postprocess.isotonic([1.0, 2.0], weights=weights)
