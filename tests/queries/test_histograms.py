"""private_histogram: cells compared exactly, counts whose sensitivity is what it says, and a threshold for delta."""

import bisect
import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from query_oracles import SEED, Ledger, is_missing, neighbours_of, noise

from lapnoise import _check, default_rng
from lapnoise.kernels.cells import ROOM, count_cells, count_even_cells
from lapnoise.queries import _cells, private_histogram
from lapnoise.queries._cells import Edges
from lapnoise.queries._histogram import exact_counts, threshold

seeded = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")


def counted(values, edges):
    """Return the exact counts of cells with these edges."""
    return exact_counts(values, Edges(_check.edges(edges)), None, None, 1)[1].tolist()


def reference(values, edges):
    """Return the counts by bisection among fractions."""
    exact = [e if isinstance(e, float) and math.isinf(e) else Fraction(e) for e in edges]
    counts = [0] * (len(edges) - 1)
    for x in values:
        if is_missing(x):
            continue
        value = x if isinstance(x, float) and math.isinf(x) else Fraction(x)
        cell = len(counts) - 1 if value == exact[-1] else bisect.bisect_right(exact, value) - 1
        if 0 <= cell < len(counts):
            counts[cell] += 1
    return counts


# Cells.


numbers = st.one_of(st.floats(allow_nan=False), st.integers(-50, 50), st.integers(-50, 50).map(lambda k: k / 8))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    edges=st.lists(st.one_of(numbers, st.fractions(-5, 5)), min_size=2, max_size=60, unique_by=float),
    values=st.lists(st.one_of(numbers, st.just(math.nan)), max_size=30),
)
def test_cells_by_bisection(edges, values):
    """Every value lies in the cell that exact comparison says, for few edges and many, infinite ones outside."""
    edges = sorted(edges, key=lambda e: e if isinstance(e, float) and math.isinf(e) else Fraction(e))
    near = [float(e) for e in edges]
    rows = [*values, *near, *(math.nextafter(e, math.inf) for e in near), *(math.nextafter(e, -math.inf) for e in near)]

    assert counted(rows, edges) == reference(rows, edges)
    floats = np.array(rows, np.float64)
    assert counted(floats, edges) == reference(floats.tolist(), edges)


WHOLE = [0, 1, -1, 2, 3, 2**53, 2**53 + 1, 2**60 + 128, 2**60 + 129, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int8, np.uint16, np.int32, bool])
@pytest.mark.parametrize(
    "edges",
    [
        [0, 1, 2],
        [-0.5, 0.5, 2.5],
        [2**53, 2**53 + 1, 2**60 + 129],
        [-math.inf, 0, math.inf],
        [-(2**64), 2**65],
        [2**70, 2**71],
        [-(2**71), -(2**70)],
        [-(2**63), 2**63 - 1],
        [0, 2**64 - 1],
        [*range(-40, 40)],
        [0.1, 2.0**63],
    ],
)
def test_cells_of_integers(kind, edges):
    """Integers are compared with edges exactly, at both ends of their type and beyond."""
    limits = (0, 1) if kind is bool else (np.iinfo(kind).min, np.iinfo(kind).max)
    rows = [x for x in WHOLE if limits[0] <= x <= limits[1]]

    assert counted(np.array(rows, kind), edges) == reference(rows, edges)


def test_cells_as_in_numpy():
    """Cells are half open but for the last one, and values outside are in none."""
    rows = np.random.default_rng(1).normal(0, 2, 5000).round(1)
    for edges in ([-3, -1, 0, 2.5], list(np.linspace(-4, 4, 81)), [0, 0.1]):
        assert counted(rows, edges) == np.histogram(rows, edges)[0].tolist()
    assert counted([0, 1, 2, 3, 4, math.nan, math.inf], [0, 1, 3]) == [1, 3]
    assert counted([-math.inf, 0, 5, math.inf, math.nan], [-math.inf, 5, math.inf]) == [2, 2]


def test_edges_are_exact():
    """A decimal edge is that decimal: the float 0.1 lies above one tenth, and in the cell that begins there."""
    assert counted([0.1], ["0", "0.1", "0.2"]) == [0, 1]
    assert counted([0.1], [0, Decimal("0.1"), 1]) == [0, 1]
    assert counted([0.3], ["0.1", "0.2", "0.3"]) == [0, 1]  # 0.3 is below three tenths
    assert counted([0.1], ["0", "0.1"]) == [0]  # above the last edge
    assert counted([np.float32(0.1)], [0.1, 1]) == [1]


def test_blocks_and_threads(monkeypatch):
    """Large arrays in blocks on several threads give the same counts."""
    rows = np.random.default_rng(3).normal(0, 2, 3 * _cells.BLOCK + 11)
    rows[::100] = np.nan
    for edges in (np.linspace(-3, 3, 11), np.linspace(-3, 3, 101)):
        expected = np.histogram(rows[~np.isnan(rows)], edges)[0].tolist()
        for threads in (1, 2, 5):
            monkeypatch.setattr(_cells, "available_threads", lambda n=threads: n)
            assert counted(rows, edges) == expected


ROWS = {
    "list": ["a", "b", None, "a", math.nan],
    "text": np.array(["a", "b", "a"]),
    "objects": np.array(["a", None, "b", "a"], object),
    "Series": pd.Series(["a", "b", None, "a"]),
    "category": pd.Series(["a", "b", None, "a"], dtype="category"),
    "string": pd.Series(["a", "b", None, "a"], dtype="string"),
    "Arrow": pa.array(["a", "b", None, "a"]),
    "Arrow dictionary": pa.chunked_array(
        [pa.array(["a", None]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()]
    ),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_categories_of_every_kind(rows):
    """Categories are counted in every container; those not named are in no cell, those not seen count 0."""
    assert exact_counts(rows, None, ["b", "z", "a"], None, 1)[1].tolist() == [1, 0, 2]
    assert exact_counts(rows, None, ["z"], None, 1)[1].tolist() == [0]
    found, counts = exact_counts(rows, None, None, None, 1)
    assert (found, counts.tolist()) == (["a", "b"], [2, 1])


def test_categories_of_numbers():
    """Numbers are categories too; NaN is in none; batches add up."""
    assert exact_counts(np.array([1, 2, 2]), None, [1, 2.0], None, 1)[1].tolist() == [1, 2]
    assert exact_counts(np.array([1.0, np.nan, 2.5]), None, [2.5], None, 1)[1].tolist() == [1]
    batches = iter([[3, "x", None], np.array([3, 10]), pd.Series(["x", "y"]), []])
    found, counts = exact_counts(batches, None, None, None, 1)
    assert (found, counts.tolist()) == ([3, 10, "x", "y"], [2, 1, 2, 1])


def test_the_order_of_found_categories_is_theirs():
    """What was found is listed in an order that rows have no part in."""
    rows = ["b", 10, "a", 9, (1, 2), None, 2.5]
    for order in itertools.permutations(rows):
        assert exact_counts(list(order), None, None, None, 1)[0] == [2.5, 9, 10, "a", "b", (1, 2)]


# Neighbours and noise.


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("cells", [{"edges": [0, 1, 2, 3]}, {"categories": [0, 1, 2]}])
def test_neighbours_by_brute_force(cells, relation, m):
    """Counts of neighbours differ by m, or 2 m, in L1 norm at most, rows in no cell among them; and by as much."""
    result = private_histogram([], **cells, epsilon=1, neighbours=relation, max_contributions=m)
    limits = Edges(_check.edges(cells["edges"])) if "edges" in cells else None
    seen = 0
    for one, other in neighbours_of([0, 1, 2, 99, math.nan], m, relation, others=1):
        a, b = (exact_counts(rows, limits, cells.get("categories"), None, m)[1] for rows in (one, other))
        seen = max(seen, int(np.abs(a - b).sum()))

    assert seen == m * (1 if relation == "add-remove" else 2) == result.mechanism.sensitivity
    assert result.scale == seen


@seeded
def test_values():
    """Each count gets known noise of its own: an array for edges, a dict for categories, in their order."""
    rows = [0, 1, 1, 2, 2, 2]
    by_edges = private_histogram(rows, edges=[0, 1, 2, 3], epsilon="0.5", rng=default_rng(SEED))
    by_name = private_histogram(rows, categories=[0, 1, 2], epsilon="0.5", rng=default_rng(SEED))
    expected = [c + x for c, x in zip([1, 2, 3], noise(by_edges.mechanism.lattice.t, 3), strict=True)]

    assert by_edges.value.dtype == np.int64
    assert by_edges.value.tolist() == expected
    assert by_name.value == dict(zip([0, 1, 2], expected, strict=True))
    assert all(type(k) is int for k in by_name.value.values())
    assert (by_edges.scale, by_edges.delta, by_edges.threshold) == (2, 0, None)
    low, high = by_edges.interval(0.9)
    assert (low - high).tolist() == [low[0] - high[0]] * 3
    assert by_name.interval(0.9) == {k: (int(low[k]), int(high[k])) for k in range(3)}
    assert repr(by_name) == f"HistogramResult({by_name.value} ± 2.799, epsilon=0.5)"


def test_empty_cells_are_signed():
    """Empty cells get noise like all others, and it adds up to nothing: nothing is cut off at 0."""
    result = private_histogram([], edges=range(10_001), epsilon=1)
    assert result.value.min() < 0 < result.value.max()
    # Ten thousand cells cut off at 0 would add up to 4,255 on average.
    assert abs(int(result.value.sum())) < 10 * 1.3571 * 100


def test_noise_does_not_depend_on_how_many_rows_there_are():
    """The scale is that of counts, whatever their number."""
    assert private_histogram([0.5] * 1000, edges=[0, 1], epsilon=1, neighbours="replace").scale == 2.0


# Categories that are not known.


def tail(t, k):
    """Return P(X >= k) of discrete Laplace noise of scale t, by adding up masses on the short side."""
    q = mp.exp(-1 / mpf(t.numerator) * t.denominator)
    mass = (1 - q) / (1 + q)
    return mass * q**k / (1 - q) if k >= 1 else 1 - mass * q ** (1 - k) / (1 - q)


def partitions(m):
    """Yield the ways in which m rows or fewer lie in categories."""
    for total in range(1, m + 1):
        stack = [([], total, total)]
        while stack:
            parts, left, most = stack.pop()
            if not left:
                yield parts
            stack += [([*parts, k], left - k, k) for k in range(1, min(left, most) + 1)]


def seen(t, least, m, strict=False):
    """Return the largest probability that a category of one person alone is released, over all of m rows or fewer."""
    reach = least + 1 if strict else least
    return max(1 - math.prod(1 - tail(t, reach - c) for c in parts) for parts in partitions(m))


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("t", [Fraction(1, 3), Fraction(1), Fraction(2), Fraction(7), Fraction(100)])
@pytest.mark.parametrize("delta", ["1e-6", "0.01", "1/3", "0.6", "1e-30"])
def test_threshold_by_enumeration(t, m, delta):
    """At the threshold nobody is seen but for delta; one lower somebody is."""
    mp.dps = 60
    delta = Fraction(delta)
    exact = mpf(delta.numerator) / delta.denominator
    least = threshold(t, delta, m)

    assert least > m
    assert seen(t, least, m) <= exact
    if least > m + 1:
        assert seen(t, least - 1, m) > exact
        assert seen(t, least - 1, m, strict=True) <= exact  # the mutant that leaves out the mass is content one lower


def test_threshold_where_equality_holds():
    """A delta that is exactly the tail's mass is met by its own threshold."""
    t, k = Fraction(1), 5
    q = math.exp(-1)
    just_above = Fraction(q**k / (1 + q)) * (1 + Fraction(1, 10**9))
    just_below = Fraction(q**k / (1 + q)) * (1 - Fraction(1, 10**9))
    assert threshold(t, just_above, 1) == 1 + k
    assert threshold(t, just_below, 1) == 2 + k


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.01"), ("0.5", "0.001"), ("3", "0.2")])
def test_delta_by_enumeration(relation, epsilon, delta):
    """Over all releases of two categories the laws of neighbours differ by at most (epsilon, delta), m = 2.

    A category that is not there is never released; one that is there is released from the threshold on.
    """
    m = 2
    result = private_histogram([], epsilon=epsilon, delta=delta, neighbours=relation, max_contributions=m)
    t, least, e = result.mechanism.lattice.t, result.threshold, math.exp(float(epsilon))
    q = math.exp(-1 / t)
    reach = range(least, least + 400)

    def law(count):
        if count == 0:
            return np.array([1.0] + [0.0] * len(reach))
        masses = [(1 - q) / (1 + q) * q ** abs(k - count) for k in reach]
        return np.array([1 - sum(masses), *masses])

    worst = 0.0
    bases = list(itertools.product(range(4), repeat=2))
    moves = [(i, j) for i in range(3) for j in range(3) if i + j <= m]
    for base in bases:
        for one, other in itertools.product(moves, repeat=2):
            if relation == "add-remove" and other != (0, 0):
                continue
            p, p2 = (np.outer(law(base[0] + mv[0]), law(base[1] + mv[1])) for mv in (one, other))
            for a, b in ((p, p2), (p2, p)):
                worst = max(worst, float(np.maximum(a - e * b, 0).sum()))
    assert worst <= float(delta) * (1 + 1e-9)
    assert worst >= float(delta) / 20  # not idle


@seeded
def test_only_categories_that_reach_the_threshold():
    """What is released is what reached the threshold with its own noise, in an order that rows have no part in."""
    rows = ["rare"] + ["b"] * 30 + ["a"] * 14 + ["c"] * 15
    for seed in range(30):
        results = [
            private_histogram(order, epsilon=1, delta="1e-5", rng=default_rng(seed)) for order in (rows, rows[::-1])
        ]
        first = results[0]
        assert first.threshold == 13
        assert first.value == results[1].value
        assert list(first.value) == sorted(first.value)
        assert "rare" not in first.value
        assert "b" in first.value
        assert all(k >= first.threshold for k in first.value.values())
    t = first.mechanism.lattice.t
    result = private_histogram(rows, epsilon=1, delta="1e-5", rng=default_rng(SEED))
    noisy = dict(zip(["a", "b", "c", "rare"], np.add([14, 30, 15, 1], noise(t, 4)), strict=True))
    assert result.value == {name: k for name, k in noisy.items() if k >= 13}
    assert (result.epsilon, result.delta) == (1, Fraction(1, 10**5))


def test_nothing_found():
    """Without rows there is nothing to release, and the result is an empty dict."""
    for rows in ([], [None], np.array([]), iter([]), pd.Series([], dtype="string")):
        assert private_histogram(rows, epsilon=1, delta="1e-6").value == {}


# Arguments.


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"edges": None}, ValueError, "edges, categories or delta .* one of the three, got none"),
        ({"categories": ["a"]}, ValueError, "one of the three, got edges and categories"),
        ({"delta": "1e-6"}, ValueError, "got edges and delta"),
        ({"edges": [1]}, ValueError, "edges must be at least two numbers, got 1"),
        ({"edges": [0, 1, 1]}, ValueError, "edges must rise, got 1 before 1"),
        ({"edges": [0, math.nan]}, ValueError, r"edges\[1\] must be finite, got nan"),
        ({"edges": [0, math.inf, 2]}, ValueError, r"edges\[1\] must be finite, got inf"),
        ({"edges": 5}, TypeError, "edges must be a sequence of numbers, got 5"),
        ({"edges": ["a", "b"]}, TypeError, r"edges\[0\] must be a number"),
        ({"edges": None, "categories": []}, ValueError, "categories must hold at least one category, got none"),
        (
            {"edges": None, "categories": ["a", "a"]},
            ValueError,
            "categories must hold each category once, got 'a' twice",
        ),
        ({"edges": None, "categories": ["a", None]}, ValueError, r"categories\[1\] must be a value, got None"),
        ({"edges": None, "categories": [1.0, math.nan]}, ValueError, r"categories\[1\] must be a value, got nan"),
        ({"edges": None, "categories": "abc"}, TypeError, "categories must be a sequence, got 'abc'"),
        ({"edges": None, "categories": [[1]]}, TypeError, r"categories\[0\] must be a number, text, .* got a list"),
        ({"edges": None, "delta": 0}, ValueError, "delta must be greater than 0 and less than 1, got 0; categories"),
        ({"edges": None, "delta": 1}, ValueError, "delta must be greater than 0 and less than 1, got 1"),
        ({"values": np.array(["a"])}, TypeError, "values must be real numbers, got dtype <U1"),
        ({"neighbours": "x"}, ValueError, "neighbours must be"),
    ],
)
def test_refusals(arguments, error, message):
    """What is wrong with the arguments is said before anything is charged."""
    ledger = Ledger()
    with pytest.raises(error, match=message):
        private_histogram(**{"values": [1.0], "edges": [0, 1], "epsilon": 1, "ledger": ledger, **arguments})
    assert ledger.charges == []


def test_charges():
    """A histogram is one charge of epsilon, and of delta where there is a threshold."""
    ledger = Ledger()
    private_histogram([1.0], edges=[0, 1], epsilon=1, ledger=ledger)
    private_histogram([1.0], epsilon="0.5", delta=1e-6, ledger=ledger, label="found")
    assert ledger.charges == [(1, 0, "private_histogram"), (Fraction(1, 2), Fraction(1, 10**6), "found")]


@pytest.mark.parametrize(
    ("edges", "guessed"),
    [
        (np.linspace(-2, 2, 101).tolist(), True),
        (np.linspace(0.1, 0.7, 8).tolist(), True),
        ([0, 1, 2, 3], True),
        ([1e15, 1e15 + 0.125, 1e15 + 0.25, 1e15 + 0.375], True),
        ([-5e-324, 0, 5e-324], False),
        ([0, 1, 2, 9], False),
        ([-math.inf, 0, 1, 2], False),
        ([-1.7e308, 0, 1.7e308], False),
    ],
)
def test_cells_of_even_edges_are_guessed_rightly(edges, guessed):
    """On edges, on both sides of each, and anywhere between, counts are those of comparisons with every edge."""
    limits = _cells.Edges(_check.edges(edges))
    thresholds, _ = limits._thresholds(np.dtype(np.float64))
    assert (_cells._guess(thresholds) is not None) == guessed
    ends = np.array([e for e in edges if math.isfinite(e)])
    near = np.concatenate([ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf)])
    inside = np.random.default_rng(3).uniform(max(ends[0], -1e300), min(ends[-1], 1e300), 5003)
    values = np.concatenate([near, inside, [np.nan, np.inf, -np.inf, 0.0, -0.0]])
    wanted = [
        sum(1 for x in values.tolist() if a <= x and (x < b or (x == b and b == edges[-1])))
        for a, b in itertools.pairwise(edges)
    ]

    assert exact_counts(values, limits, None, None, 1)[1].tolist() == wanted


def test_a_wrong_guess_is_seen():
    """The check refuses edges whose guess would be too far off, which a mutant without it counts wrongly."""
    edges = [0.0, 1.0, 2.0, 9.0]
    thresholds, _ = _cells.Edges(_check.edges(edges))._thresholds(np.dtype(np.float64))
    counts = np.zeros((4, 5), np.int64)
    values = np.array([2.5])
    room = np.empty(ROOM, np.int64)
    count_even_cells(counts, values, np.append(thresholds, [np.nan, np.nan]), 0.0, 3 / 9, room)
    assert counts.sum(axis=0).tolist() != [0, 0, 0, 1, 0]
    counts[:] = 0
    count_cells(counts, values, thresholds, room)
    assert counts.sum(axis=0).tolist() == [0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("values", "categories"),
    [
        (np.array([1, 2]), ["1", "2"]),
        (pd.Series([1.0, 2.0]), ["1"]),
        (np.array(["2013-01-01"], "M8[D]"), ["2013-01-01"]),
        (pd.to_datetime(pd.Series(["2013-01-01"])), [1]),
    ],
)
def test_categories_of_another_type(values, categories):
    """Categories that no value can equal are refused, instead of counting nothing."""
    with pytest.raises(TypeError, match="categories must be of the type of the values, dtype"):
        private_histogram(values, categories=categories, epsilon=1)


def test_edges_come_with_the_counts():
    """A result over edges carries them, and one over categories none."""
    with_edges = private_histogram([1.0], edges=[0, "0.5", 2], epsilon=1)
    assert with_edges.edges == (0, Fraction(1, 2), 2)
    assert private_histogram(["a"], categories=["a"], epsilon=1).edges is None
    assert repr(with_edges).startswith(f"HistogramResult({with_edges.value.tolist()} ± 1.357")
