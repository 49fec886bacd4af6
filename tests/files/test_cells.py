"""Cells and numbers: what is a number, what is missing, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapnoise.files import MISSING
from lapnoise.files._cells import BadCellError, ColumnScan, integers_from_cells, numbers_from_cells, replace_numbers

ABSENT = frozenset(token.encode() for token in MISSING)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (b"12", 12.0),
        (b"007", 7.0),
        (b"-1.50", -1.5),
        (b"+.5", 0.5),
        (b"5.", 5.0),
        (b"1e3", 1000.0),
        (b"1E-3", 0.001),
        (b" 12 ", 12.0),
        (b"\t12", 12.0),
        (b'"12"', 12.0),
        (b'" 12 "', 12.0),
        (b"-0", -0.0),
        (b"1577134800018226901", 1577134800018226901.0),
        (b"1.7976931348623157e308", 1.7976931348623157e308),
        (b"4.9e-324", 5e-324),
    ],
)
def test_numbers(cell, expected):
    # Beside a missing cell with spaces, which sends the column to the closer look, and alone.
    for cells in ([cell], [cell, b" NA "]):
        got = numbers_from_cells(cells, ABSENT)[0]
        assert (got, math.copysign(1, got)) == (expected, math.copysign(1, expected))


@pytest.mark.parametrize("token", MISSING)
@pytest.mark.parametrize("form", ["{}", " {} ", '"{}"', '" {}"'])
def test_missing_tokens(token, form):
    cell = form.format(token).encode()
    got = numbers_from_cells([b"1", cell, b"3"], ABSENT)
    np.testing.assert_array_equal(got, [1.0, np.nan, 3.0])
    assert replace_numbers([b"1", cell, b"3"], got, np.isnan(got)) == [b"1.0", cell, b"3.0"]


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        (b"abc", "text"),
        (b"1_000", "text"),
        (b"1,5", "text"),
        (b"12 34", "text"),
        (b"0x10", "text"),
        (b"1e", "text"),
        (b"--1", "text"),
        (b"NAN", "text"),
        (b"n/a", "text"),
        (b"<5", "text"),
        ("١٢".encode(), "text"),
        ("１２".encode(), "text"),
        (b"\xa012", "text"),
        (b'"a""b"', "text"),
        (b'""12""', "text"),
        (b"True", "text"),
        (b"inf", "an infinite number"),
        (b"-Infinity", "an infinite number"),
        (b"1e999", "a number beyond the largest float"),
        (b"-1e309", "a number beyond the largest float"),
    ],
)
def test_what_is_no_number(cell, kind):
    with pytest.raises(BadCellError) as caught:
        numbers_from_cells([b"1", b"", cell, b"x"], ABSENT)
    assert (caught.value.index, caught.value.kind) == (2, kind)


def test_empty_cells_are_refused_when_they_are_not_missing():
    with pytest.raises(BadCellError) as caught:
        numbers_from_cells([b"1", b'""'], frozenset({b"NA"}))
    assert (caught.value.index, caught.value.kind) == (1, "an empty cell")


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (b"12", 12),
        (b"007", 7),
        (b"-5", -5),
        (b"+5", 5),
        (b" 12 ", 12),
        (b'"12"', 12),
        (b'" 12 "', 12),
        (b"-0", 0),
        (b"0" * 5000 + b"17", 17),
        (b"9223372036854775807", 2**63 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b"9007199254740993", 2**53 + 1),
    ],
)
def test_integers(cell, expected):
    for cells in ([cell, b"NA"], [cell, b" NA "]):
        values, absent = integers_from_cells(cells, ABSENT)
        assert values.dtype == np.int64
        assert values.tolist() == [expected, 0]
        assert absent.tolist() == [False, True]


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        (b"1.0", "a number that is no integer"),
        (b"1.", "a number that is no integer"),
        (b"1e3", "a number that is no integer"),
        (b"9223372036854775808", "an integer of more than 64 bits"),
        (b"-9223372036854775809", "an integer of more than 64 bits"),
        (b"9" * 5000, "an integer of more than 64 bits"),
        (b"inf", "an infinite number"),
        (b"1_000", "text"),
        (b"0x10", "text"),
        (b"--1", "text"),
        ("١٢".encode(), "text"),
        (b"abc", "text"),
    ],
)
def test_what_is_no_integer(cell, kind):
    with pytest.raises(BadCellError) as caught:
        integers_from_cells([b"1", b"", cell, b"x"], ABSENT)
    assert (caught.value.index, caught.value.kind) == (2, kind)


def test_empty_cells_are_no_integers_when_they_are_not_missing():
    with pytest.raises(BadCellError) as caught:
        integers_from_cells([b"1", b""], frozenset({b"NA"}))
    assert (caught.value.index, caught.value.kind) == (1, "an empty cell")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_written_numbers_read_back(values):
    cells = replace_numbers([b"0"] * len(values), np.array(values), np.zeros(len(values), np.bool_))
    assert [float(cell) for cell in cells] == values
    np.testing.assert_array_equal(numbers_from_cells(cells, ABSENT), values)


def test_quotes_stay_where_they_were():
    missing = np.array([False, False, True])
    assert replace_numbers([b'"1"', b"2", b'""'], np.array([1.5, 2.5, 0.0]), missing) == [b'"1.5"', b"2.5", b'""']
    assert replace_numbers([b'"1"', b"2", b'""'], np.array([-7, 2**62, 0]), missing) == [
        b'"-7"',
        b"4611686018427387904",
        b'""',
    ]


@pytest.mark.parametrize(
    ("parts", "numeric", "mixed"),
    [
        ([[b"1", b"2"], [b""]], True, False),
        ([[b"", b"NA"]], False, False),
        ([[b"a", b"b"]], False, False),
        ([[b"1"], [b"a"]], False, True),
        ([[b"a"], [b"1"]], False, True),
        ([[b"a", b'" 1"']], False, True),
        ([[b"00-04", b"85+"]], False, False),
        ([], False, False),
    ],
)
def test_column_scan(parts, numeric, mixed):
    scan = ColumnScan(ABSENT)
    for cells in parts:
        scan.see(cells, str)
    assert (scan.is_numeric, scan.is_mixed) == (numeric, mixed)


def test_column_scan_names_the_first_bad_cell_and_counts_missing_ones():
    scan = ColumnScan(ABSENT)
    scan.see([b"1", b"", b"NA"], lambda index: f"row {index}")
    scan.see([b"1", b"inf", b"a"], lambda index: f"row {index}")
    assert (scan.missing_cells, scan.bad) == (2, "an infinite number at row 1")


def test_column_scan_tells_what_is_no_integer():
    scan = ColumnScan(ABSENT, whole=True)
    for cells in ([b"1", b""], [b"2", b"3.5"], [b"4.5"]):
        scan.see(cells, lambda index: f"row {index}")
    assert (scan.is_numeric, scan.not_whole) == (True, "row 1 has a number that is no integer")
