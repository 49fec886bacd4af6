"""Rows bounded by person: what one person adds is bounded for every query, and no order or other person matters."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from query_oracles import SEED, persons_of, record

from lapnoise import _check, default_rng
from lapnoise.queries import _persons, private_count, private_histogram, private_mean, private_sum
from lapnoise.queries._bounds import choose
from lapnoise.queries._cells import Edges
from lapnoise.queries._count import exact_count
from lapnoise.queries._histogram import exact_counts
from lapnoise.queries._mean import exact_distances, exact_steps
from lapnoise.queries._sum import exact_sum, sum_sensitivity

seeded = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

IDS = ("ann", "ben", "cat")
RELATIONS = ["add-remove", "replace"]


def columns(rows):
    """Return values and ids as two lists."""
    return [x for x, _ in rows], [p for _, p in rows]


def largest(statistic, domain, m, relation, rows=3, ids=IDS):
    """Return the largest L1 distance of a statistic of (values, ids) over neighbours whose persons have 0 to 3 rows."""
    seen = 0
    for one, other in persons_of(domain, ids, rows, relation):
        a, b = statistic(*columns(one)), statistic(*columns(other))
        seen = max(seen, sum(abs(x - y) for x, y in zip(a, b, strict=True)))
    return seen


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("relation", RELATIONS)
def test_counts_by_brute_force(relation, m):
    """A person with any number of rows adds m at most."""
    seen = largest(lambda values, ids: (exact_count(values, ids, m),), ["x", None], m, relation, rows=2)
    assert seen == m == private_count([], epsilon=1, neighbours=relation, max_contributions=m).scale


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", [(-2, 3), (5, 10), (-9, -1)])
def test_sums_by_brute_force(bounds, relation, m):
    """A person with any number of rows adds as much as m rows can, missing ones and infinities among them."""
    low, high = map(Fraction, bounds)
    on = choose(low, high, sum_sensitivity(low, high, relation, m, True), Fraction(1))
    domain = [bounds[0], math.inf, math.nan]
    rows = 3 if relation == "add-remove" else 2
    seen = largest(lambda values, ids: (exact_sum(values, on, relation, ids, m),), domain, m, relation, rows)

    assert seen == sum_sensitivity(on.least, on.most, relation, m, True)
    result = private_sum([], *bounds, epsilon=1, neighbours=relation, max_contributions=m, person=[])
    assert result.mechanism.lattice.sensitivity == seen


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("relation", RELATIONS)
def test_means_by_brute_force(relation, m):
    """The two sums of a mean together move by what m rows can, though a person's own mean is rounded."""
    result = private_mean([], -2, 3, epsilon=1, neighbours=relation, max_contributions=m)
    on = result.bounds

    def statistic(values, ids):
        return exact_distances(*exact_steps(values, on, ids, m), on)

    seen = largest(statistic, [-2, 3.0, 0.1], m, relation, rows=2)
    assert seen == result.mechanism.lattice.sensitivity


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("ids", [IDS, (7, -3, 2**40)])
def test_histograms_by_brute_force(ids, relation, m):
    """Counts move by m, or 2 m, in all, whether cells are edges, categories or found."""
    sides = 1 if relation == "add-remove" else 2
    limits = Edges(_check.edges([0, 1, 2, 3]))
    found = lambda values, ids: exact_counts(values, None, None, ids, m)  # noqa: E731

    def unknown(values, ids):
        counts = dict(zip(*found(values, ids), strict=True))
        return [int(counts.get(cell, 0)) for cell in range(3)]

    statistics = [
        lambda values, ids: exact_counts(values, limits, None, ids, m)[1].tolist(),
        lambda values, ids: exact_counts(values, None, [2, 0, 1], ids, m)[1].tolist(),
        unknown,
    ]
    domain = [0, 1, 2] if relation == "add-remove" else [0, 1, None]
    for statistic in statistics:
        assert largest(statistic, domain, m, relation, rows=2, ids=ids) == sides * m
    assert private_histogram([], edges=[0, 1], epsilon=1, neighbours=relation, max_contributions=m).scale == sides * m


def test_a_person_with_many_rows():
    """More than m rows count as m times their mean, rounded half up to the lattice, in sums and means."""
    on = choose(Fraction(0), Fraction(10), Fraction(20), Fraction(1))
    rows = [1.0, 2.5, 99.0, 0.1, 7.0]
    steps = [record(x, on) for x in rows]
    total = sum(steps)

    for m in (1, 2, 3, 4):
        expected = math.floor(Fraction(m * total, 5) + Fraction(1, 2))
        assert exact_sum(rows, on, "add-remove", ["a"] * 5, m) == expected
        assert exact_steps(rows, on, ["a"] * 5, m) == (expected, m)
        assert exact_count(rows, ["a"] * 5, m) == m
    for m in (5, 6):
        assert exact_sum(rows, on, "add-remove", ["a"] * 5, m) == total
        assert exact_count(rows, ["a"] * 5, m) == 5
    assert exact_sum(rows, on, "add-remove", ["a", "b", "a", "c", "b"], 1) == (
        math.floor(Fraction(steps[0] + steps[2], 2) + Fraction(1, 2))
        + math.floor(Fraction(steps[1] + steps[4], 2) + Fraction(1, 2))
        + steps[3]
    )


def test_sums_of_one_person_do_not_overflow():
    """A hundred thousand rows of 2^50 steps by one person are averaged exactly."""
    codes, steps = np.zeros(100_000, np.intp), np.full(100_000, 2**50 - 1)
    assert _persons.summed_steps(codes, steps, 3) == 3 * (2**50 - 1)
    assert _persons.summed_steps(codes, -steps, 10**6) == -100_000 * (2**50 - 1)


@seeded
@pytest.mark.parametrize("m", [1, 2, 5])
def test_no_order_matters(m):
    """Permuted rows give the same release, bit for bit, for all queries."""
    rng = np.random.default_rng(4)
    values, ids = rng.integers(0, 12, 300), rng.integers(0, 40, 300)
    order = [np.arange(300), np.arange(300)[::-1], rng.permutation(300), rng.permutation(300)]
    given = {"epsilon": 1, "max_contributions": m}

    def releases(where):
        common = {**given, "person": ids[where]}
        x = values[where]
        yield private_count(x, **common, rng=default_rng(SEED)).value
        yield private_sum(x, 0, 9, **common, rng=default_rng(SEED)).value
        yield private_mean(x, 0, 9, **common, rng=default_rng(SEED)).value
        yield private_histogram(x, edges=range(13), **common, rng=default_rng(SEED)).value.tolist()
        yield private_histogram(x, categories=range(12), **common, rng=default_rng(SEED)).value
        yield private_histogram(x, delta="0.01", **common, rng=default_rng(SEED)).value

    first, *others = (list(releases(where)) for where in order)
    assert all(other == first for other in others)


@pytest.mark.parametrize("name", [lambda i: i, lambda i: f"p{i}", lambda i: f"p{i}" if i % 2 else i])
def test_what_is_kept_of_a_person_depends_on_that_person_alone(name):
    """In a crowd as alone m rows are kept, of the same cells, whatever the others' ids and cells are."""
    rng = np.random.default_rng(5)
    cells, ids = rng.integers(0, 9, 400), rng.integers(0, 25, 400)
    named = [name(int(i)) for i in ids]
    limits = Edges(_check.edges(range(10)))

    def counts(where):
        return exact_counts(cells[where], limits, None, [named[i] for i in where], 3)[1]

    everyone = np.arange(400)
    alone = {}
    for person in range(25):
        alone[person] = counts(np.flatnonzero(ids == person))
        assert alone[person].sum() == min(3, np.sum(ids == person))
        assert np.all(alone[person] <= np.bincount(cells[ids == person], minlength=9))
    assert counts(everyone).tolist() == sum(alone.values()).tolist()
    for person in range(25):
        assert counts(np.flatnonzero(ids != person)).tolist() == (counts(everyone) - alone[person]).tolist()


def test_all_cells_are_kept_alike():
    """Of many persons with a row in each of ten cells, no cell is favoured when one row is kept."""
    persons = 20_000
    cells, ids = np.tile(np.arange(10), persons), np.repeat(np.arange(persons), 10)
    counts = exact_counts(cells, Edges(_check.edges(range(11))), None, ids, 1)[1]

    assert counts.sum() == persons
    assert np.abs(counts - 2000).max() < 6 * math.sqrt(2000 * 0.9)  # fixed: the choice is a hash of ids 0, 1, ...


PERSONS = {
    "list": ["a", "b", None, "a"],
    "floats from missing ints": np.array([1.0, 2.0, np.nan, 1.0]),
    "objects": np.array([1, "b", None, 1], object),
    "Int64": pd.Series([1, 2, None, 1], dtype="Int64"),
    "string": pd.Series(["a", "b", None, "a"], dtype="string"),
    "Series": pd.Series(["a", "b", None, "a"], index=[3, 2, 1, 0]),
    "category": pd.Series(["a", "b", None, "a"], dtype="category"),
    "Arrow": pa.array([5, 6, None, 5]),
    "Arrow chunks": pa.chunked_array([["a"], ["b", None, "a"]]),
}


@pytest.mark.parametrize("person", PERSONS.values(), ids=PERSONS)
def test_ids_of_every_kind(person):
    """Ids of every container group their rows; rows without an id are not counted."""
    values = [1.0, 2.0, 4.0, 8.0]
    on = choose(Fraction(0), Fraction(8), Fraction(8), Fraction(1))
    unit = record(1, on)

    assert exact_count(values, person, 1) == 2
    assert exact_count(values, person, 2) == 3
    assert exact_sum(values, on, "add-remove", person, 2) == 11 * unit
    assert exact_sum(values, on, "add-remove", person, 1) == 9 * unit // 2 + 2 * unit
    assert exact_counts(values, Edges(_check.edges([0, 3, 9])), None, person, 2)[1].tolist() == [2, 1]


@pytest.mark.parametrize(
    "values", [pd.Series([1, None, 4, 8], dtype="Int64"), pa.array([1, None, 4, 8]), [1, None, 4.0, 8]]
)
def test_rows_and_ids_stay_together(values):
    """Where missing rows are taken out the ids still belong to the others."""
    on = choose(Fraction(0), Fraction(8), Fraction(8), Fraction(1))
    unit = record(1, on)
    assert exact_sum(values, on, "add-remove", ["a", "b", "b", "a"], 1) == (9 * unit) // 2 + 4 * unit
    assert exact_count(values, ["a", "b", "b", "a"], 5) == 3


def test_a_missing_id_does_not_change_what_is_kept_of_others():
    """Whole ids keep the same rows as integers, as floats beside a missing one, and as objects."""
    cells, ids = np.tile(np.arange(8), 30), np.repeat(np.arange(30), 8)
    limits = Edges(_check.edges(range(9)))
    expected = exact_counts(cells, limits, None, ids, 2)[1].tolist()
    with_missing = pd.Series([*ids.tolist(), None])
    assert with_missing.dtype == np.float64
    for person in (with_missing, [*ids.tolist(), None], pd.Series([*ids.tolist(), None], dtype="Int64")):
        assert exact_counts([*cells.tolist(), 3], limits, None, person, 2)[1].tolist() == expected


def test_ids_that_name_nobody():
    """Ids of another kind are refused."""
    for person in (np.array(["2020-01-01"], "M8[D]"), np.array([1j])):
        with pytest.raises(TypeError, match="person must be integers or text, got dtype"):
            private_count([1], epsilon=1, person=person)


def test_hashes_are_pinned():
    """The choice of rows is the same in every process and version: the digest and the mixing are what they were."""
    assert _persons.digest(np.array([5, -1])).tolist() == [5, 2**64 - 1]
    for kind in (np.uint8, np.float64, object):
        assert _persons.digest(np.array([5], kind)).tolist() == [5]
    assert _persons.digest(np.array(["ann"])).tolist() == _persons.digest(["ann"]).tolist() == [13684109717488439188]
    # SplitMix64 with state 0: its first output, as published.
    assert int(_persons._mixed(np.zeros(1, np.uint64))[0]) == 0xE220A8397B1DCDAF


def test_brute_force_sees_unbounded_persons():
    """The check fails for rows that are not bounded, and for a choice by what the others' ids are."""
    assert largest(lambda values, ids: (len(values),), ["x"], 1, "add-remove") == 3

    def by_place(values, ids):
        known = sorted(set(ids))
        kept = [
            next(x for x, q in zip(values[:: (-1) ** i], ids[:: (-1) ** i], strict=True) if q == p)
            for i, p in enumerate(known)
        ]
        return [kept.count(cell) for cell in range(3)]

    ids = ("ben", "ann", "cat")
    assert largest(by_place, [0, 1, 2], 1, "add-remove", rows=2, ids=ids) > 1


def test_small_persons_by_all_orders():
    """Every order of six rows of two persons keeps the same cells."""
    rows = [(0, "a"), (1, "a"), (1, "a"), (2, "b"), (0, "b"), (2, "b")]
    limits = Edges(_check.edges([0, 1, 2, 3]))
    kept = {
        tuple(exact_counts(*([x for x, _ in order],), limits, None, [p for _, p in order], 2)[1].tolist())
        for order in itertools.permutations(rows)
    }
    assert len(kept) == 1
    assert sum(kept.pop()) == 4
