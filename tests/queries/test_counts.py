"""private_count: rows of any type, known noise, and one charge."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from query_oracles import SEED, Ledger, neighbours_of, noise

from lapnoise import default_rng
from lapnoise.queries import private_count, private_sum
from lapnoise.queries._count import exact_count

seeded = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_neighbours_by_brute_force(relation, m):
    """Neighbours differ by m at most, and by m where rows are missing."""
    pairs = neighbours_of(["a", None], m, relation)
    seen = max(abs(exact_count(one, None, m) - exact_count(other, None, m)) for one, other in pairs)

    assert seen == m
    assert private_count([], epsilon=1, neighbours=relation, max_contributions=m).scale == m


@seeded
@pytest.mark.parametrize(("epsilon", "m", "scale"), [(1, 1, 1), ("0.5", 3, 6), (0.1, 1, 10), (4, 1, 0.25)])
def test_value(epsilon, m, scale):
    """The release is count plus known discrete Laplace noise of scale m / epsilon, a signed int."""
    result = private_count([1, 2, 3], epsilon=epsilon, max_contributions=m, rng=default_rng(SEED))

    assert type(result.value) is int
    assert result.value == 3 + noise(result.mechanism.lattice.t)[0]
    assert result.scale == scale
    assert (result.delta, type(result.epsilon)) == (0, Fraction)
    q = math.exp(-1 / scale)
    assert result.standard_error == pytest.approx(math.sqrt(2 * q) / (1 - q), rel=1e-12)


def test_counts_are_signed_and_never_saturate():
    """Nothing is cut off at 0, and noise beyond 64 bits is kept."""
    values = [private_count([], epsilon="0.01").value for _ in range(60)]
    assert min(values) < 0 < max(values)
    result = private_count([], epsilon=Fraction(1, 10**400))
    assert abs(result.value) > 2**64
    low, high = result.interval(0.95)
    assert low < result.value < high
    assert (type(low), type(high)) == (int, int)


def test_interval():
    """The interval is of whole numbers, the least that has the level."""
    result = private_count([0] * 50, epsilon=1)
    low, high = result.interval(0.95)
    h = result.value - low

    assert (type(low), type(high)) == (int, int)
    assert high - result.value == h
    q = math.exp(-1)
    tail = lambda k: 2 * q ** (k + 1) / (1 + q)  # noqa: E731 # P(abs(X) > k)
    assert tail(h) <= 0.05 < tail(h - 1)


ROWS = {
    "list": (["a", None, math.nan, 0, "", pd.NaT, pd.NA, Decimal("NaN")], 3),
    "tuple": ((1, None), 1),
    "floats": (np.array([1.0, np.nan, np.inf, -0.0]), 3),
    "float32": (np.array([1.0, np.nan], np.float32), 1),
    "ints": (np.arange(5), 5),
    "text": (np.array(["a", "", "b"]), 3),
    "objects": (np.array([None, 1, "x"], object), 2),
    "dates": (np.array(["2020-01-01", "NaT"], "M8[D]"), 1),
    "strided": (np.array([1.0, np.nan, 3.0, 4.0])[::2], 2),
    "masked": (np.ma.MaskedArray([1.0, 2.0, np.nan], mask=[True, False, False]), 1),
    "Series": (pd.Series([1.0, None, 3.0], index=[5, 5, 5]), 2),
    "Series of text": (pd.Series(["a", None]), 1),
    "Int64": (pd.Series([1, None, 3], dtype="Int64"), 2),
    "string": (pd.Series(["a", None], dtype="string"), 1),
    "category": (pd.Series(["a", None, "a"], dtype="category"), 2),
    "Float64": (pd.Series([1.5, None], dtype="Float64"), 1),
    "timestamps": (pd.Series(pd.to_datetime(["2020-01-01", None])), 1),
    "pandas on Arrow": (pd.Series([1, None, 3], dtype="int64[pyarrow]"), 2),
    "Index": (pd.Index([1.0, np.nan]), 1),
    "Arrow": (pa.array([1, None, 3]), 2),
    "Arrow text": (pa.array(["a", None]), 1),
    "Arrow floats": (pa.array([1.0, None, float("nan")]), 1),
    "Arrow chunks": (pa.chunked_array([[1, None], [], [3]]), 2),
    "Arrow dictionary": (pa.array(["a", None, "a"]).dictionary_encode(), 2),
    "empty Arrow chunks": (pa.chunked_array([], pa.int64()), 0),
    "generator": (lambda: (batch for batch in ([1, None], np.ones(3), pd.Series([None, "a"]), pa.array([None]))), 5),
}


@pytest.mark.parametrize(("rows", "expected"), ROWS.values(), ids=ROWS)
def test_rows_of_every_kind(rows, expected):
    """What is there is counted, what is missing is not, in every container."""
    assert exact_count(rows() if callable(rows) else rows, None, 1) == expected
    assert type(private_count(rows() if callable(rows) else rows, epsilon=1).value) is int


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"epsilon": -1}, ValueError, "epsilon must be finite and > 0, got -1"),
        ({"epsilon": True}, TypeError, "epsilon must be a number"),
        ({"neighbours": None}, ValueError, "neighbours must be 'add-remove' or 'replace', got None"),
        ({"values": pd.DataFrame({"a": [1]})}, TypeError, "values must be one column, got a DataFrame"),
        ({"values": {"a": 1}}, TypeError, "values must be a column of rows .*, got dict"),
        ({"person": [1]}, ValueError, "person must have one id for each of the 2 rows, got 1"),
    ],
)
def test_refusals(arguments, error, message):
    """What is wrong with the arguments is said before anything is charged."""
    ledger = Ledger()
    with pytest.raises(error, match=message):
        private_count(**{"values": [1, 2], "epsilon": 1, "ledger": ledger, **arguments})
    assert ledger.charges == []


def test_what_a_result_is():
    """It is immutable, and shows value, standard error and cost."""
    result = private_count([], epsilon="0.5")
    with pytest.raises(AttributeError):
        result.value = 0
    assert repr(result) == f"QueryResult({result.value} ± 2.799, epsilon=0.5)"


@pytest.mark.parametrize(
    "mask", [np.array([True, False]), pd.Series([True, None], dtype="boolean"), pa.array([True]), pd.Series([True])]
)
def test_a_mask_is_not_counted(mask):
    """Booleans are no rows to count: False would count too."""
    with pytest.raises(TypeError, match="values must be the rows to count, got dtype bool"):
        private_count(mask, epsilon=1)


def test_batches_are_columns():
    """What iterates over tuples is refused: each would count as a column of as many rows as it has cells."""
    frame = pd.DataFrame({"a": [1, 2, 2], "b": [3, 4, 5]})
    for rows in (frame.itertuples(), frame.iterrows(), frame.groupby("a"), iter([(1, 2)]), frame["a"].items()):
        with pytest.raises(TypeError, match=r"values must be a column, or an iterable of columns .* iterable of"):
            private_count(rows, epsilon=1)
    for scalars in (iter([1, 2]), {3: 4}.values(), iter(["ab"])):
        with pytest.raises(TypeError, match="values must be a column"):
            private_count(scalars, epsilon=1)


def test_persons_are_paired_by_label_or_not_at_all():
    """Ids with another index than the values are refused, since pairing them by place would bound nobody."""
    values = pd.Series([1.0, 2.0, 3.0])
    for query in (
        lambda person: private_count(values, epsilon=1, person=person),
        lambda person: private_sum(values, 0, 5, epsilon=1, person=person),
    ):
        with pytest.raises(ValueError, match="person must have the index of values, got another one"):
            query(pd.Series([1, 2, 3], index=[2, 1, 0]))
        query(pd.Series([1, 2, 3]))
        query([1, 2, 3])
