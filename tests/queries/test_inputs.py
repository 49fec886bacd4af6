"""Numbers of every container, each row read by itself."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from query_oracles import sum_of_records

from lapnoise.queries import _batches, private_mean, private_sum
from lapnoise.queries._bounds import choose
from lapnoise.queries._sum import exact_sum

TIE = 2**60 + 2**10 - 1
"""Just below half a step of 2^11, and rounded to a float at half a step, from where it goes up."""

ON = choose(Fraction(0), Fraction(10), Fraction(10), Fraction(1))

ROWS = {
    "list": [1, 2.5, None, 4.0, math.nan],
    "objects": np.array([1, 2.5, None, 4.0], object),
    "Float64": pd.Series([1.0, 2.5, None, 4.0], dtype="Float64"),
    "Series of objects": pd.Series([1, 2.5, None, Decimal(4)], dtype=object),
    "Series": pd.Series([1.0, 2.5, None, 4.0]),
    "double[pyarrow]": pd.Series([1.0, 2.5, None, 4.0], dtype="double[pyarrow]"),
    "Arrow": pa.array([1.0, 2.5, None, 4.0]),
    "Arrow decimals": pa.array([Decimal("1.0"), Decimal("2.5"), None, Decimal("4.0")]),
    "Arrow dictionary": pa.array([1.0, 2.5, None, 4.0]).dictionary_encode(),
    "fractions": [Fraction(1), Decimal("2.5"), np.float32(4), Decimal("NaN"), pd.NA],
    "masked": np.ma.MaskedArray([1.0, 2.5, 9.0, 4.0], mask=[0, 0, 1, 0]),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_numbers_of_every_kind(rows):
    """Each container's numbers are what they are; what is missing is left out."""
    assert exact_sum(rows, ON, "add-remove", None, 1) == sum_of_records([1, 2.5, 4.0], ON)
    assert exact_sum(iter([rows, rows]), ON, "add-remove", None, 1) == 2 * sum_of_records([1, 2.5, 4.0], ON)
    assert type(private_mean(rows, 0, 10, epsilon=1).value) is float


@pytest.mark.parametrize(
    "rows",
    [
        [TIE, 0.5],
        [2**63, -1],
        np.array([TIE, 0.5, None], object),
        pd.Series([TIE, None], dtype="Int64"),
        pd.Series([TIE, None], dtype="int64[pyarrow]"),
        pa.array([TIE, None]),
        [10**30, -(10**30), Decimal("1e400"), Fraction(-(10**400))],
    ],
    ids=str,
)
def test_integers_are_not_rounded_by_their_neighbours(rows):
    """A long integer counts as itself, in whatever company."""
    on = choose(Fraction(2**60), Fraction(2**60 + 2**40), Fraction(1), Fraction(1))
    listed = [
        x for x in (rows.to_pylist() if hasattr(rows, "to_pylist") else list(rows)) if x is not None and x is not pd.NA
    ]
    assert exact_sum(rows, on, "add-remove", None, 1) == sum_of_records(listed, on)


@pytest.mark.parametrize(
    "rows",
    [
        ["a"],
        [1, "2"],
        np.array(["1"], object),
        pd.Series(["a"]),
        pd.Series(["a"], dtype="string"),
        pa.array(["a"]),
        [1j],
        [[1, 2], [3]],
        iter([["a"]]),
        iter(["ab"]),
        pd.Series(["a"], dtype="category"),
        np.array(["2020"], "M8[Y]"),
    ],
    ids=str,
)
def test_what_is_no_number(rows):
    """Text and other types are refused, and no value is shown."""
    with pytest.raises(
        (TypeError, ValueError), match=r"^values must be (real numbers|one-dimensional|a column)"
    ) as caught:
        private_sum(rows, 0, 1, epsilon=1)
    assert "'a'" not in str(caught.value)


def test_iterables_that_can_be_read_again():
    """Anything that gives batches is taken, and read once."""

    class Table:
        def __init__(self):
            self.read = 0

        def __iter__(self):
            self.read += 1
            yield np.array([1.0, 2.0])
            yield [3]

    table = Table()
    assert exact_sum(table, ON, "add-remove", None, 1) == sum_of_records([1, 2, 3], ON)
    assert table.read == 1
    assert _batches.is_batched(table)
    assert exact_sum(range(4), ON, "add-remove", None, 1) == sum_of_records(range(4), ON)
    assert not any(_batches.is_batched(x) for x in ([1], (1,), np.ones(1), pd.Series([1]), pa.array([1]), "a", {}))
