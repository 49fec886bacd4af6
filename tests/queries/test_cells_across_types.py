"""Categories and ids of mixed types: which of several equals a row holds changes nothing for any other row."""

import datetime
import itertools
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapnoise import _check
from lapnoise.queries import _persons, private_count, private_histogram, private_sum
from lapnoise.queries._bounds import choose
from lapnoise.queries._cells import Edges
from lapnoise.queries._count import exact_count
from lapnoise.queries._histogram import exact_counts
from lapnoise.queries._sum import exact_sum

ENTRIES = [
    *(0.5, Decimal("0.50"), Fraction(1, 2), np.float32(0.5)),
    *(1, True, 1.0, Decimal("1.00"), np.int8(1)),
    *("a", np.str_("a")),
    *(0, -0.0),
    *((1, "a"), (True, np.str_("a"))),
    *(datetime.date(2020, 1, 1), np.datetime64("2020", "D"), pd.Timestamp("2020", tz="UTC")),
    *(-1, 2**64 - 1),  # of one digest
    None,
]


def found(values, person, m):
    """Return the counts by the repr of their keys, in order."""
    keys, counts = exact_counts(values, None, None, person, m)
    return dict(zip(map(repr, keys), counts.tolist(), strict=True))


def distance(one, other):
    """Return the L1 distance of counts."""
    return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys())


def in_order(one, other):
    """Return whether the keys that both have are in one order."""
    return [key for key in one if key in other] == [key for key in other if key in one]


@pytest.mark.parametrize("m", [1, 2])
def test_a_row_moves_only_what_its_person_may(m):
    """Of thirty persons over the limit the same rows are kept, whatever equals of theirs another's rows come first."""
    crowd = [0.5, "a", 1, (1, "a"), datetime.date(2020, 1, 1), -1, 2**64 - 1]
    values = [entry for _ in range(30) for entry in crowd]
    person = [p for p in range(30) for _ in crowd]
    without = found(values, person, m)
    assert len(without) >= len(crowd) - 1  # each a choice of some, or nearly
    assert sum(without.values()) == 30 * m
    rows = [(entry,) for entry in ENTRIES] + list(itertools.combinations(ENTRIES, 2))
    for mine in rows:
        with_mine = found([*mine, *values], [99] * len(mine) + person, m)
        assert distance(without, with_mine) <= m
        assert in_order(without, with_mine)


entries = st.sampled_from(ENTRIES)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    m=st.integers(1, 3),
    others=st.lists(st.tuples(entries, st.sampled_from([1, 1.0, "b", Decimal(3), None])), max_size=12),
    mine=st.lists(entries, max_size=4),
    first=st.booleans(),
)
def test_neighbours_across_types(m, others, mine, first):
    """Counts of neighbours whose rows are equal across types differ by m at most, and share the order of their keys."""
    added = [(entry, "me") for entry in mine]
    both = added + others if first else others + added
    one, other = (found([x for x, _ in rows], [p for _, p in rows], m) for rows in (others, both))

    assert distance(one, other) <= min(m, len(mine))
    assert in_order(one, other)
    assert list(one) == [key for key in other if key in one]


def test_as_the_demonstration_has_it():
    """One Decimal placed first leaves what is kept of 670 persons with a float and a text."""
    values, person = [0.5, "x"] * 670, np.repeat(np.arange(670), 2).tolist()
    before = found(values, person, 1)
    after = found([Decimal("0.5"), *values], [*[670], *person], 1)
    assert sum(before.values()) == 670
    assert after == {**before, "0.5": before["0.5"] + 1}


STRINGS = hasattr(np.dtypes, "StringDType")  # from NumPy 2.0 on
TIMES = pd.Series(pd.date_range("2020", periods=2).repeat(500))
INTEGERS = [1, 2] * 500
COLUMNS = {
    "integers": (
        pd.Series(INTEGERS),
        *(pd.Series([*INTEGERS, extra]) for extra in (None, np.nan, 7, 7.5, True, "x", Decimal(1))),
        *(np.array([*INTEGERS, extra], kind) for extra, kind in ((3, "i1"), (2.5, "f4"), (None, object), (1.0, "f2"))),
        *([extra, *INTEGERS] for extra in (True, 1.0, Decimal("1.00"), Fraction(2), np.uint8(1), "1", (1,))),
        *(pd.Series([*INTEGERS, None], dtype=kind) for kind in ("Int64", "int64[pyarrow]", "Float64", "category")),
        pa.array([*INTEGERS, None]),
        pa.array([Decimal(1), *INTEGERS]),
        iter([[True], np.array(INTEGERS), np.array([np.nan, 9.0])]),
    ),
    "booleans": (
        np.array([True, False] * 500),
        pd.Series([*[True, False] * 500, None]),
        [0.0, *[True, False] * 500],
        [1, -0.0, *[True, False] * 500],
    ),
    "zeros": (
        np.array([0.0] * 1000),
        np.array([-0.0] + [0.0] * 1000),
        np.array([0.0] * 1000 + [-0.0]),
        [-0.0] + [0.0] * 1000,
        [False] + [0] * 1000,
    ),
    "text": (
        np.array(["a"] * 1000 + [np.nan], np.dtypes.StringDType(na_object=np.nan)) if STRINGS else ["a"] * 1000,
        ["a"] * 1000,
        [np.str_("a")] + ["a"] * 1000,
        np.array(["a"] * 1000),
        pd.Series(["a"] * 1000 + [None]),
    ),
    "times": (
        TIMES,
        pd.concat([TIMES, pd.Series([pd.NaT])]),
        TIMES.astype("M8[s]"),
        TIMES.dt.tz_localize("UTC"),
        TIMES.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        [TIMES[0].tz_localize("UTC").tz_convert("Asia/Tokyo"), *TIMES],
        [TIMES[0].to_pydatetime(), None, np.datetime64("NaT"), *TIMES],
        [datetime.date(2020, 1, 1), *TIMES],
        np.array(TIMES, "M8[D]"),
        pa.array(TIMES),
        pa.array(TIMES.dt.date),
    ),
    "durations": (
        [datetime.timedelta(1)] * 1000,
        [np.timedelta64(1, "D")] * 1000,
        [24, pd.Timedelta(days=1)] + [datetime.timedelta(1)] * 1000,
        np.array([86400] * 1000 + ["NaT"], "m8[s]"),
    ),
}


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_released_keys_are_no_ones_own(columns):
    """Keys that reach the threshold are the same objects by repr, with and without one row more of another type."""
    released = [
        repr(list(private_histogram(column, epsilon=10, delta="1e-6").value)) for column in map(as_given, columns)
    ]
    assert len(set(released)) == 1
    assert released[0] != "[]"


def as_given(column):
    """Return a column; batches again as an iterator of their own."""
    return iter(list(column)) if hasattr(column, "__next__") else column


def test_public_categories_are_matched_by_their_form():
    """Rows count in the category that they equal, whatever both their types are; its key stays the caller's object."""
    rows = [
        True,
        1.0,
        Decimal("1.00"),
        0.5,
        Fraction(1, 2),
        np.str_("a"),
        pd.Timestamp("2020"),
        3j,
        [1],
        object(),
        2**60,
    ]
    named = [1.0, Decimal("0.5"), "a", datetime.date(2020, 1, 1)]
    assert exact_counts(rows, None, named, None, 1)[1].tolist() == [3, 2, 1, 1]
    assert exact_counts(np.array([0.5, 1, 1e300, 2.0**53]), None, named, None, 1)[1].tolist() == [1, 1, 0, 0]
    assert exact_counts(np.array(["2020"], "M8[s]"), None, named, None, 1)[1].tolist() == [0, 0, 0, 1]
    result = private_histogram(rows, categories=named, epsilon=1)
    assert [type(key) for key in result.value] == [float, Decimal, str, datetime.date]
    with pytest.raises(ValueError, match=r"each category once, got Decimal.* twice"):
        private_histogram(rows, categories=[0.5, Decimal("0.50")], epsilon=1)
    with pytest.raises(ValueError, match=r"categories\[1\] must be a value"):
        private_histogram(rows, categories=[1, np.datetime64("NaT")], epsilon=1)
    times = np.array(["2020", "2021"], "M8[ns]")
    assert exact_counts(times, None, _check.categories(times), None, 1)[1].tolist() == [1, 1]


class Comparable:
    """Equal to everything."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (
            ["a", None, Comparable()],
            TypeError,
            r"values\[2\] must be a number, text, .* got a Comparable: give its text",
        ),
        ([("a", Comparable())], TypeError, r"values\[0\] must be .* got a Comparable"),
        ([1, 1j], TypeError, r"values\[1\] must be .* got a complex"),
        ([1, [2]], TypeError, r"values\[1\] must be .* got a list"),
        (
            np.array([1.0, np.nan, 5.0, 2.0**53, 3.0]),
            ValueError,
            r"values\[3\] must be an integer or a float below 2\*\*53",
        ),
        (pd.Series([2**60, None, 1]), ValueError, r"values\[0\] must be an integer"),
        ([1, -1e300, "a"], ValueError, r"values\[1\] must be an integer"),
    ],
)
def test_categories_without_a_form(rows, error, message):
    """What has no form is refused where categories are found, by its place and type."""
    with pytest.raises(error, match=message) as caught:
        private_histogram(rows, epsilon=1, delta="1e-6")
    assert "e+" not in str(caught.value)


def test_public_integers_that_floats_cannot_tell():
    """A public integer of 2^53 or more is counted among integers, and refuses floats that it could have become."""
    many = [2**60 + i for i in range(100)]
    assert exact_counts(np.array(many), None, [2**60], None, 1)[1].tolist() == [1]
    assert exact_counts(pd.Series([*many, None], dtype="Int64"), None, [2**60], None, 1)[1].tolist() == [1]
    with pytest.raises(ValueError, match=r"values\[0\] must be an integer or a float below 2\*\*53"):
        private_histogram(pd.Series([*many, None]), categories=[2**60], epsilon=1)


# Ids.


def test_ids_that_a_missing_one_would_merge():
    """A hundred long ids stay a hundred persons, or are refused by place where a missing id made them floats."""
    ids = [2**60 + i for i in range(100)]
    on = choose(Fraction(0), Fraction(1), Fraction(1), Fraction(1))
    ones = [1.0] * 101
    for person in ([*ids, None], pd.Series([*ids, None], dtype="Int64"), pa.array([*ids, None])):
        assert exact_sum(ones, on, "add-remove", person, 1) == 100 * on.most
        assert exact_count(ones, person, 1) == 100
    for person in (pd.Series([5, *ids[1:], None]), np.array([5, *ids[1:], np.nan]), [5, float(2**53), *ids[2:], None]):
        for query in (private_count, lambda *a, **k: private_sum(a[0], 0, 1, **k)):
            with pytest.raises(ValueError, match=r"person\[1\] must be an integer or a float below 2\*\*53") as caught:
                query(ones, epsilon=1, person=person)
            assert "1152921504606846" not in str(caught.value)
    assert exact_count([1, 1, 1], np.array([2.0**53 - 1, np.inf, np.nan]), 1) == 2
    assert exact_count([1, 1, 1], np.array([1, np.inf, np.nan], np.float16), 1) == 2


EQUAL_IDS = [
    [5, 5.0, Decimal(5), np.uint8(5), Fraction(5)],
    [0.5, Decimal("0.5"), np.float16(0.5)],
    ["ann", np.str_("ann")],
    [uuid.UUID(int=7), uuid.UUID(int=7)],
    [(1, "a"), (1.0, np.str_("a"))],
]


@pytest.mark.parametrize("equal", EQUAL_IDS, ids=str)
def test_equal_ids_are_one_person(equal):
    """Ids that are equal across types are one person, of whom the same rows are kept under each of them."""
    assert exact_count([1] * len(equal), equal, 1) == 1
    cells = list(range(8))
    limits = Edges(_check.edges(range(9)))
    kept = {tuple(exact_counts(cells, limits, None, [one] * 8, 2)[1].tolist()) for one in equal}
    assert len(kept) == 1
    assert len(set(_persons.digest(equal).tolist())) == 1
    others = [object_id for group in EQUAL_IDS for object_id in group[:1]]
    assert exact_count([1] * len(others), others, 1) == len(others)


def test_ids_without_a_form():
    """Ids whose equality could be anything are refused by place and type."""
    with pytest.raises(TypeError, match=r"person\[1\] must be a number, text, .* got a Comparable"):
        private_count([1, 2], epsilon=1, person=["a", Comparable()])


# Masked arrays.


def test_masked_objects():
    """None among the rows of a masked array of objects is missing, as in a list."""
    rows = np.ma.array([1, None, 2, "x"], mask=[0, 0, 1, 0], dtype=object)
    assert exact_count(rows, None, 1) == exact_count([1, None, "x"], None, 1) == 2
    assert exact_count(rows, ["a", "b", "c", "d"], 1) == 2
    assert found(rows, None, 1) == {"1": 1, "'x'": 1}
    numbers = np.ma.array([1, None, 2, 2**60 + 1], mask=[0, 0, 1, 0], dtype=object)
    assert exact_counts(numbers, Edges(_check.edges([0, 2, 2**60 + 1])), None, None, 1)[1].tolist() == [1, 1]
    assert exact_count([1, 1, 1, 1], np.ma.array([1, None, 2, 1], mask=[0, 0, 1, 0], dtype=object), 1) == 1
    with pytest.raises(TypeError, match="values must be real numbers"):
        private_sum(rows, 0, 1, epsilon=1)
