"""From columns to the identities of rows: one encoding, whatever the types, widths, layouts and batches."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from siphash_oracle import EPOCH, identity

from lapnoise._arrow_keys import from_arrow, values_and_mask
from lapnoise._row_keys import from_numpy, hash_rows

KEY = bytes(range(100, 116))
WORDS = np.frombuffer(KEY, "<u8").astype(np.uint64)
SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]


def hashed(*columns) -> list[tuple[int, ...]]:
    """Return the identities of rows whose key has these columns."""
    return [tuple(row) for row in hash_rows(columns, WORDS).tolist()]


def numpy_rows(*columns) -> list[tuple[int, ...]]:
    """Return the identities of rows, given NumPy arrays."""
    return hashed(*(from_numpy(f"k{i}", column) for i, column in enumerate(columns)))


def arrow_rows(*columns) -> list[tuple[int, ...]]:
    """Return the identities of rows, given Arrow arrays."""
    return hashed(*(from_arrow(f"k{i}", column) for i, column in enumerate(columns)))


def expected(*columns) -> list[tuple[int, int]]:
    """Return what the oracle makes of columns of Python objects."""
    return [identity(KEY, row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("kind", SIGNED + UNSIGNED)
def test_integers_of_every_width_are_one_type(kind):
    """One integer has one identity, that of the oracle, in every width, from NumPy and from Arrow."""
    limits = np.iinfo(kind)
    whole = [limits.min, limits.min + 1, 0, 1, 77, limits.max - 1, limits.max]
    array = np.array(whole, kind)

    assert numpy_rows(array) == expected(whole)
    assert arrow_rows(pa.array(array)) == expected(whole)
    assert numpy_rows(np.repeat(array, 3)[::3]) == expected(whole)
    assert numpy_rows(array.astype(array.dtype.newbyteorder(">"))) == expected(whole)


def test_integers_that_share_bits():
    """-1 and 2^64 - 1, -2^63 and 2^63 are four keys."""
    made = numpy_rows(np.array([-1, -(2**63)])) + numpy_rows(np.array([2**64 - 1, 2**63], np.uint64))

    assert len(set(made)) == 4


def test_types_are_told_apart():
    """1 as an integer, a bool, a date, a time, text and binary is six keys."""
    columns = [
        np.array([1]),
        np.array([True]),
        np.array([1], "datetime64[D]"),
        np.array([1], "datetime64[us]"),
        np.array(["1"]),
        np.array([b"1"]),
    ]

    assert len({numpy_rows(column)[0] for column in columns}) == 6


TEXTS = ["", "a", "ab", "Zürich", "12345678", "123456789", "\0", "\0\0", "x" * 300, "日本語" * 11, "e\u0301", "\u00e9"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_text(kind):
    """Text is its UTF-8, in every layout of Arrow's, as objects and in NumPy's own type."""
    array = pa.array(TEXTS, kind)

    assert arrow_rows(array) == expected(TEXTS)
    assert arrow_rows(array[3:9]) == expected(TEXTS[3:9])
    assert numpy_rows(np.array(TEXTS, object)) == expected(TEXTS)
    assert len(set(expected(TEXTS))) == len(TEXTS)
    cut = [text.rstrip("\0") for text in TEXTS]
    assert numpy_rows(np.array(TEXTS)) == expected(cut)  # NumPy's type has no zeros at the end


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3)])
def test_binary(kind):
    """Binary of fixed size and of any size is its bytes."""
    rows = [b"abc", b"\0\0\0", b"\xff\xfe\xfd", b"abc"]

    assert arrow_rows(pa.array(rows, kind)) == expected(rows)
    assert arrow_rows(pa.array(rows, kind)[1:3]) == expected(rows[1:3])
    assert numpy_rows(np.array(rows, object)) == expected(rows)


def test_bools_dates_and_times():
    """Bools, days and microseconds in UTC, in every unit and zone."""
    days = [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]
    times = [EPOCH - datetime.timedelta(seconds=3), datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)]
    bools = [True, False, True]

    assert numpy_rows(np.array(bools)) == arrow_rows(pa.array(bools)) == expected(bools)
    assert arrow_rows(pa.array([True, *bools])[1:]) == expected(bools)
    for kind in (pa.date32(), pa.date64()):
        assert arrow_rows(pa.array([days[0], *days], kind)[1:]) == expected(days)
    assert numpy_rows(np.array(days, "datetime64[D]")) == expected(days)
    naive = np.array([time.replace(tzinfo=None) for time in times], "datetime64[us]")
    for unit in ("s", "ms", "us", "ns"):
        assert numpy_rows(naive.astype(f"datetime64[{unit}]")) == expected(times)
        assert arrow_rows(pa.array(times, pa.timestamp(unit, "Asia/Tokyo"))) == expected(times)
        assert arrow_rows(pa.array(naive.astype(f"datetime64[{unit}]"), pa.timestamp(unit))) == expected(times)


def test_times_finer_than_microseconds():
    """Half a microsecond is refused, not cut, and so are seconds that are no microseconds in 64 bits."""
    fine = np.array([1000, 1500, -1], "datetime64[ns]")
    with pytest.raises(ValueError, match=r"key column 'when' must hold times of whole microseconds.* in row 1"):
        from_numpy("when", fine)
    with pytest.raises(ValueError, match="in row 1"):
        from_arrow("when", pa.array(fine))
    for far in (2**63 - 1, -(2**63) + 1, 2**63 // 10**6 + 1):
        with pytest.raises(ValueError, match="whole microseconds in 64 bits, got another in row 0"):
            from_numpy("when", np.array([far], "datetime64[s]"))


def test_compound_keys():
    """Parts do not run into one another, their order counts, and a part may be empty."""
    keys = [["a", "bc"], ["ab", "c"], ["abc", ""], ["", "abc"], ["bc", "a"]]
    made = numpy_rows(*(np.array(column, object) for column in zip(*keys, strict=True)))

    assert made == expected(*zip(*keys, strict=True))
    assert len({*made, *numpy_rows(np.array(["abc"], object))}) == 6
    mixed = ([1, -2, 3], ["x", "", "zz" * 9], [True, False, True], [b"", b"\1", b"12345678"])
    assert arrow_rows(*map(pa.array, mixed)) == expected(*mixed)


@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.binary(max_size=20)), max_size=30
    )
)
def test_any_compound_key(rows):
    """Text beside binary has the oracle's identity, and rows that differ have different ones."""
    texts, binaries = ([row[i] for row in rows] for i in (0, 1))
    made = arrow_rows(pa.array(texts, pa.string()), pa.array(binaries, pa.binary()))

    assert made == expected(texts, binaries)
    assert len(set(made)) == len(set(rows))


def test_batches_order_and_layout():
    """Cut, shuffled, chunked, sliced and dictionary-encoded, each row keeps its identity."""
    n = 10_007
    numbers, texts = np.arange(n) * 7 - 9, [f"user {i % 5003}" for i in range(n)]
    whole = arrow_rows(pa.array(numbers), pa.array(texts))
    assert whole[:50] == expected(numbers[:50].tolist(), texts[:50])
    assert len(set(whole)) == n
    for step in (1000, 4096, 4099):
        parts = [
            row
            for i in range(0, n, step)
            for row in arrow_rows(pa.array(numbers)[i : i + step], pa.array(texts)[i : i + step])
        ]
        assert parts == whole
    order = np.random.default_rng(3).permutation(n)
    shuffled = arrow_rows(pa.array(numbers[order]), pa.array(np.array(texts, object)[order]))
    assert shuffled == [whole[i] for i in order]
    chunks = pa.chunked_array([pa.array(texts[i : i + 999]) for i in range(0, n, 999)])
    assert arrow_rows(pa.array(numbers), chunks) == whole
    assert arrow_rows(pa.array(numbers), chunks.dictionary_encode()) == whole
    assert arrow_rows(pa.array(numbers), pa.array(texts).dictionary_encode()[:]) == whole


def test_nothing():
    """No rows have no identities, whatever says so."""
    for empty in (pa.array([], pa.string()), pa.chunked_array([], pa.large_string()), pa.array([], pa.int8())):
        assert arrow_rows(empty) == []
    assert arrow_rows(pa.array(["a", "b"])[2:]) == []
    assert numpy_rows(np.array([], object)) == []


@pytest.mark.parametrize(
    ("column", "row"),
    [
        (pa.array([1, 2, None]), 2),
        (pa.array(["a", None, None]), 1),
        (pa.array([3, None, 1])[1:], 0),
        (pa.chunked_array([[1], [2, None]]), 2),
        (pa.array(["a", None]).dictionary_encode(), 1),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])), 1),
        (pa.nulls(2), 0),
    ],
)
def test_missing_entries_of_arrow(column, row):
    """A null in a key is refused with its column and row."""
    with pytest.raises(ValueError, match=rf"^key column 'who' must not have missing entries, got one in row {row}$"):
        from_arrow("who", column)


@pytest.mark.parametrize("column", [np.array(["a", None], object), np.array([0, "NaT"], "datetime64[us]")])
def test_missing_entries_of_numpy(column):
    """None and NaT are refused with column and row."""
    with pytest.raises(ValueError, match=r"^key column 'who' must not have missing entries, got one in row 1$"):
        from_numpy("who", column)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.0]),
        pa.array([1.0], pa.float32()),
        pa.array([Decimal("1.5")]),
        pa.array([datetime.timedelta(1)]),
        pa.array([datetime.time(1)]),
        pa.array([[1]]),
        pa.array([{"a": 1}]),
        pa.array([1.0]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_other_types_of_arrow(column):
    """Floats and whatever else does not name a row exactly are refused with column and type."""
    with pytest.raises(
        TypeError, match=r"^key column 'who' must be integers, bool, dates, times, text or binary, got Arr"
    ):
        from_arrow("who", column)


@pytest.mark.parametrize(
    "column",
    [
        np.array([1.0]),
        np.array([math.nan]),
        np.array([1], "m8[s]"),
        np.array([1], "datetime64[h]"),
        np.array([1j]),
        np.array([1, "a"], object),
        np.array([True, 2], object),
        np.array([2**64, 1], object),
        np.array(["a", b"a"], object),
    ],
)
def test_other_types_of_numpy(column):
    """So they are as NumPy arrays; objects of mixed types too."""
    with pytest.raises(
        TypeError, match=r"^key column 'who' must be integers, bool, dates, times, text or binary, got "
    ):
        from_numpy("who", column)


def test_text_without_utf8():
    """A lone surrogate is refused by row, and the text is not in the message."""
    with pytest.raises(ValueError, match=r"^key column 'who' must be text .* got a lone surrogate in row 1$") as caught:
        from_numpy("who", np.array(["a", "secret\ud800"], object))
    assert not isinstance(caught.value.__context__, UnicodeError)  # which holds the text


def test_values_and_mask():
    """Numbers of Arrow arrays come with a mask where there are nulls."""
    values, mask = values_and_mask(pa.chunked_array([[1.5, None], [math.nan]]))
    assert mask.tolist() == [False, True, False]
    assert values[0] == 1.5
    assert math.isnan(values[2])
    whole, mask = values_and_mask(pa.array([None, 2**60 + 1]))
    assert whole.dtype == np.int64
    assert whole[1] == 2**60 + 1
    assert mask.tolist() == [True, False]
    assert values_and_mask(pa.array([True, False]))[1] is None
    assert values_and_mask(pa.array([True, None]))[0].dtype == np.bool_
