"""Cells and numbers: what is a number, what is missing, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from csv_oracle import ABSENT, cells_from
from hypothesis import given
from hypothesis import strategies as st

from lapnoise.files import MISSING
from lapnoise.files._cells import (
    Absent,
    BadCellError,
    ColumnScan,
    check_integers,
    check_numbers,
    content,
    read_integers,
)
from lapnoise.files._decimals import nearest_points
from lapnoise.kernels.cell_numbers import MISSING as IS_MISSING
from lapnoise.kernels.cell_numbers import READ
from lapnoise.kernels.csv_scan import CELL_ROOM, TEXT_ROOM, write_numbers
from lapnoise.kernels.shortest import powers_of_ten


def replaced(texts: list[bytes], values: np.ndarray, states: np.ndarray, quote: bytes = b'"') -> list[bytes]:
    """Return the cells with numbers for those that are not missing."""
    cells = cells_from(texts, quote)
    size = cells.data.size - 32
    out = np.empty(size + CELL_ROOM * cells.size + TEXT_ROOM, np.uint8)
    end = write_numbers(out, cells.data, 0, size, cells.starts, cells.ends, states, values, powers_of_ten())
    return out[:end].tobytes().split(b"\n")[:-1]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (b"12", "12"),
        (b"007", "7"),
        (b"-1.50", "-1.5"),
        (b"+.5", "0.5"),
        (b"5.", "5"),
        (b"1e3", "1000"),
        (b"1E-3", "0.001"),
        (b" 12 ", "12"),
        (b"\t12", "12"),
        (b'"12"', "12"),
        (b'" 12 "', "12"),
        (b"-0", "0"),
        (b"1577134800018226901", "1577134800018226901"),
        (b"1.7976931348623157e308", "1.7976931348623157e308"),
        (b"4.9e-324", "4.9e-324"),
    ],
)
def test_numbers(cell, expected):
    # Beside a missing cell with spaces, and alone.
    exponent = -1074 if b"e-3" in cell else 940 if b"e308" in cell else -30
    step = Fraction(2) ** exponent
    for texts in ([cell], [cell, b" NA "]):
        assert check_numbers(cells_from(texts), ABSENT) == len(texts) - 1
        points = nearest_points(cells_from(texts), ABSENT, exponent)
        got = Fraction(points.base[0]) + int(points.steps[0]) * step
        assert got == math.floor(Fraction(expected) / step + Fraction(1, 2)) * step
        assert points.states.tolist() == [READ, IS_MISSING][: len(texts)]
        assert np.isnan(points.base).tolist() == [False, True][: len(texts)]


@pytest.mark.parametrize("token", MISSING)
@pytest.mark.parametrize("form", ["{}", " {} ", '"{}"', '" {}"'])
def test_missing_tokens(token, form):
    cell = form.format(token).encode()
    texts = [b"1", cell, b"3"]
    assert check_numbers(cells_from(texts), ABSENT) == check_integers(cells_from(texts), ABSENT) == 1
    points = nearest_points(cells_from(texts), ABSENT, 0)
    assert (points.states.tolist(), points.steps.tolist()) == ([READ, IS_MISSING, READ], [1, 0, 3])
    np.testing.assert_array_equal(points.base, [0.0, np.nan, 0.0])
    assert replaced(texts, np.array([1.0, np.nan, 3.0]), points.states) == [b"1.0", cell, b"3.0"]


def test_missing_tokens_may_be_numbers_or_have_quotes():
    absent = Absent(frozenset({b"-9", b"9", b'a"b', b"a b", b"\xff"}), b'"')
    missing = [b"-9", b" -9 ", b"9", b'"a""b"', b"a b", b"\xff", b'"\xff"']
    numbers = [b"-9.0", b"-90", b"+9", b"99", b"09"]
    for texts in (missing, numbers):
        expected = [IS_MISSING if texts is missing else READ] * len(texts)
        assert check_numbers(cells_from(texts), absent) == (len(texts) if texts is missing else 0)
        assert nearest_points(cells_from(texts), absent, 0).states.tolist() == expected
    assert read_integers(cells_from([*missing, *numbers[1:]]), absent)[0].tolist() == [0] * 7 + [-90, 9, 99, 9]
    for other in (b'a"b"', b'"a"b', b"a", b"a b c", b"\xfe", b""):
        with pytest.raises(BadCellError):
            check_numbers(cells_from([other]), absent)
    nothing = Absent(frozenset(), b'"')
    with pytest.raises(BadCellError):
        check_numbers(cells_from([b""]), nothing)
    assert check_numbers(cells_from([b"1"]), nothing) == 0


def test_a_quote_behind_a_cell_is_none_of_its_own():
    """A lone quote has nothing to close it, and a cell at the end of the bytes is followed by anything."""
    for text in (b'"', b'1"', b'"1'):
        with pytest.raises(BadCellError) as caught:
            check_numbers(cells_from([text]), ABSENT)
        assert caught.value.kind == "text"
    assert nearest_points(cells_from([b'"1"2', b'"1" ']), ABSENT, 0).steps.tolist() == [12, 1]


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
        check_numbers(cells_from([b"1", b"", cell, b"x"]), ABSENT)
    assert (caught.value.index, caught.value.kind) == (2, kind)
    with pytest.raises(BadCellError, match=f"cell 1: {kind}"):
        nearest_points(cells_from([b"", cell]), ABSENT, 0)


def test_empty_cells_are_refused_when_they_are_not_missing():
    with pytest.raises(BadCellError) as caught:
        check_numbers(cells_from([b"1", b'""']), Absent(frozenset({b"NA"}), b'"'))
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
        values, states = read_integers(cells_from(cells), ABSENT)
        assert values.dtype == np.int64
        assert values.tolist() == [expected, 0]
        assert states.tolist() == [READ, IS_MISSING]
        assert check_integers(cells_from(cells), ABSENT) == 1


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
        check_integers(cells_from([b"1", b"", cell, b"x"]), ABSENT)
    assert (caught.value.index, caught.value.kind) == (2, kind)
    with pytest.raises(BadCellError, match=f"cell 1: {kind}"):
        read_integers(cells_from([b"", cell]), ABSENT)


def test_empty_cells_are_no_integers_when_they_are_not_missing():
    with pytest.raises(BadCellError) as caught:
        check_integers(cells_from([b"1", b""]), Absent(frozenset({b"NA"}), b'"'))
    assert (caught.value.index, caught.value.kind) == (1, "an empty cell")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_written_numbers_read_back(values):
    texts = replaced([b"0"] * len(values), np.array(values), np.zeros(len(values), np.uint8))
    assert texts == [repr(value).encode() for value in values]
    assert check_numbers(cells_from(texts), ABSENT) == 0


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["{}", '"{}"', " {} ", "+{}", "00{}"]))))
def test_integers_read_back(parts):
    parts = [(abs(value) if form[0] in "+0" and value > -(2**63) else value, form) for value, form in parts]
    parts = [(value, form) for value, form in parts if form[0] not in "+0" or value >= 0]
    values, _ = read_integers(cells_from([form.format(value).encode() for value, form in parts]), ABSENT)
    assert values.tolist() == [value for value, _ in parts]


def test_quotes_stay_where_they_were():
    states = np.array([READ, READ, IS_MISSING], np.uint8)
    texts = [b'"1"', b"2", b'""']
    assert replaced(texts, np.array([1.5, 2.5, 0.0]), states) == [b"1.5", b"2.5", b'""']
    assert replaced(texts, np.array([-7, 2**62, 0]), states) == [b"-7", b"4611686018427387904", b'""']


@pytest.mark.parametrize("quote", [b'"', b"'", b"^", b"%", b"\\"])
def test_content_by_quote(quote):
    def said(text: bytes) -> bytes:
        return content(text.replace(b"Q", quote), quote).replace(quote, b"Q")

    assert [said(text) for text in (b"Q a QQb QcQ", b"QQ", b" QaQ", b"a", b"Qa")] == [
        b"a Qb cQ",
        b"",
        b"QaQ",
        b"a",
        b"Qa",
    ]
    for other in (b"\0", b"*"):
        assert content(quote + b"a" + quote * 2 + b" ", other) == quote + b"a" + quote * 2
    doubled = Absent(frozenset({quote + b"a"}), quote)
    assert check_numbers(cells_from([quote * 3 + b"a" + quote], quote), doubled) == 1


@given(st.lists(st.tuples(st.binary(max_size=70), st.booleans()), max_size=20), st.floats(-1e9, 1e9))
def test_what_lies_between_numbers_stays(parts, value):
    """Gaps of any length, beside numbers that grow and shrink."""
    texts = [gap.replace(b'"', b"").replace(b"\n", b"") for gap, _ in parts]
    states = np.array([IS_MISSING if kept else READ for _, kept in parts], np.uint8)
    expected = [text if kept else repr(value).encode() for text, (_, kept) in zip(texts, parts, strict=True)]
    assert replaced(texts, np.full(len(parts), value), states) == expected


@pytest.mark.parametrize(
    ("parts", "numeric", "mixed"),
    [
        ([[b"1", b"2"], [b""]], True, False),
        ([[b"", b"NA"]], False, False),
        ([[b"a", b"b"]], False, False),
        ([[b"1"], [b"a"]], False, True),
        ([[b"a"], [b"1"]], False, True),
        ([[b"a", b'" 1"']], False, True),
        ([[b"a", b' "1']], False, True),
        ([[b"a"], [b"b", b"-.5e-3"]], False, True),
        ([[b"a"], [b"b", b".", b"1e", b"1 2", b'""1', b"- 1"]], False, False),
        ([[b"00-04", b"85+"]], False, False),
        ([], False, False),
    ],
)
def test_column_scan(parts, numeric, mixed):
    scan = ColumnScan(ABSENT)
    for cells in parts:
        scan.see(cells_from(cells), str)
    assert (scan.is_numeric, scan.is_mixed) == (numeric, mixed)


def test_column_scan_names_the_first_bad_cell_and_counts_missing_ones():
    scan = ColumnScan(ABSENT)
    scan.see(cells_from([b"1", b"", b"NA"]), lambda index: f"row {index}")
    scan.see(cells_from([b"1", b"inf", b"a"]), lambda index: f"row {index}")
    assert (scan.missing_cells, scan.bad) == (2, "an infinite number at row 1")


def test_column_scan_tells_what_is_no_integer():
    scan = ColumnScan(ABSENT, whole=True)
    for cells in ([b"1", b""], [b"2", b"3.5"], [b"4.5"]):
        scan.see(cells_from(cells), lambda index: f"row {index}")
    assert (scan.is_numeric, scan.not_whole) == (True, ("row 1", "a number that is no integer"))
