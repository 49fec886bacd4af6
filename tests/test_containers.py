"""The same kind out as in: masked arrays keep their mask, Series index, name and missing values, Arrow its chunks."""

import json
from datetime import date, timedelta
from decimal import Decimal

import fresh_process
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from bitwise import same

from lapnoise import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    PrivacyLedger,
    StratifiedLaplaceMechanism,
    TruncatedLaplaceMechanism,
    default_rng,
    postprocess,
)

F32, F64 = np.float32, np.float64
INDEX = [7, 8, 9]


def noise(n, scale=2.0, dtype=F64):
    return default_rng(1).laplace(0.0, scale, n, dtype=dtype)


@pytest.mark.parametrize("name", ["float64", "float32", "int64", "uint8", "bool"])
def test_masked_arrays_keep_their_mask(name):
    """The result is masked where the values are; values under the mask are noised too and take their words."""
    values = np.ma.array([1, 0, 3, 1], mask=[False, True, False, True]).astype(name)
    data, mask = values.data.copy(), values.mask.copy()
    rng = default_rng(1)
    got = rng.add_laplace(values, 2.0)
    dtype = F32 if name == "float32" else F64
    assert type(got) is np.ma.MaskedArray
    assert got.mask.tolist() == mask.tolist()
    assert same(got.data, data.astype(dtype) + noise(4, dtype=dtype))
    assert rng.position == (2 if dtype is F32 else 4)
    assert same(values.data, data)
    assert not np.shares_memory(got.data, values.data)
    assert not np.shares_memory(got.mask, values.mask)


def test_laplace_about_a_masked_loc():
    """`laplace` keeps the mask of loc, repeated where size extends it."""
    loc = np.ma.array([1.0, 2.0], mask=[False, True])
    got = default_rng(1).laplace(loc, 2.0)
    assert got.mask.tolist() == [False, True]
    assert same(got.data, loc.data + noise(2))
    got = default_rng(1).laplace(loc, 2.0, (3, 2))
    assert got.mask.tolist() == [[False, True]] * 3
    assert same(got.data, loc.data + noise(6).reshape(3, 2))


def test_masked_arrays_without_a_mask_of_their_own():
    """Masked arrays stay masked arrays when nothing is masked, when all is, and when they are empty or 0-d."""
    cases = [np.ma.array([1.0, 2.0]), np.ma.masked_all(3), np.ma.array([], dtype=float), np.ma.array(1.0), np.ma.masked]
    for values in cases:
        for got in (default_rng(1).add_laplace(values, 2.0), default_rng(1).laplace(values, 2.0)):
            assert isinstance(got, np.ma.MaskedArray)
            assert got.shape == values.shape
            assert np.array_equal(np.ma.getmaskarray(got), np.ma.getmaskarray(values))


def test_a_mask_is_broadcast_with_its_values():
    """Where scale extends the values, their mask is extended too."""
    got = default_rng(1).add_laplace(np.ma.array([1.0, 2.0], mask=[True, False]), [[1.0], [4.0]])
    assert got.mask.tolist() == [[True, False], [True, False]]


def test_masked_arrays_in_place():
    """In place the values change, under the mask too, and the mask does not; a hard mask and a view are no obstacle."""
    for hard in (False, True):
        parent = np.arange(8.0)
        values = np.ma.array(parent[::2], mask=[True, False, False, True], copy=False, hard_mask=hard)
        assert default_rng(1).add_laplace(values, 2.0, out=values) is values
        assert values.mask.tolist() == [True, False, False, True]
        assert same(parent[::2], np.arange(0.0, 8, 2) + noise(4))
        assert same(parent[1::2], np.arange(1.0, 8, 2))


def test_out_decides_the_kind():
    """With ``out`` that array comes back, whatever kind the values were."""
    out = np.zeros(3)
    for values in (np.ma.array([1.0, 2, 3], mask=[0, 1, 0]), pd.Series([1.0, 2, 3]), [1, 2, 3]):
        assert default_rng(1).add_laplace(values, 2.0, out=out) is out
        assert same(out, np.array([1.0, 2, 3]) + noise(3))


@pytest.mark.parametrize("name", ["float64", "int64", "int8", "uint16", "bool", "float32"])
def test_series(name):
    """A Series keeps its index and name; integers and bool become float64, float32 stays."""
    series = pd.Series(np.array([1, 0, 1]), index=INDEX, name="x").astype(name)
    before = series.copy(deep=True)
    got = default_rng(1).add_laplace(series, 2.0)
    dtype = F32 if name == "float32" else F64
    expected = pd.Series(np.array([1, 0, 1], dtype) + noise(3, dtype=dtype), index=INDEX, name="x")
    pd.testing.assert_series_equal(got, expected, check_exact=True)
    pd.testing.assert_series_equal(series, before)
    assert not np.shares_memory(got.to_numpy(), series.to_numpy())


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("Int64", "Float64"),
        ("UInt8", "Float64"),
        ("Float64", "Float64"),
        ("Float32", "Float32"),
        ("boolean", "Float64"),
        ("int64[pyarrow]", "double[pyarrow]"),
        ("uint8[pyarrow]", "double[pyarrow]"),
        ("double[pyarrow]", "double[pyarrow]"),
        ("float[pyarrow]", "float[pyarrow]"),
        ("bool[pyarrow]", "double[pyarrow]"),
    ],
)
def test_series_with_missing_values(name, result):
    """NA stays NA and takes its word; the rest gets noise, in the nullable type of the result."""
    dtype = F32 if result.lower().startswith(("float32", "float[")) else F64
    for cells in ([1, None, 0], [1, 0, 0], [None, None, None]):
        series = pd.Series(cells, dtype=name, index=INDEX, name="x")
        rng = default_rng(1)
        got = rng.add_laplace(series, 2.0)
        assert str(got.dtype) == result
        assert got.name == "x"
        assert got.index.tolist() == INDEX
        assert got.isna().tolist() == series.isna().tolist()
        expected = np.array([1, 0, 0], dtype) + noise(3, dtype=dtype)
        present = got.dropna()
        assert same(present.to_numpy(dtype), expected[~series.isna().to_numpy()])
        assert rng.position == (2 if dtype is F32 else 3)


def test_series_of_scales():
    """A Series as scale counts by position, as NumPy takes it, and the values keep their index."""
    series = pd.Series([1.0, 2.0, 3.0], index=INDEX)
    got = default_rng(1).add_laplace(series, pd.Series([1.0, 2.0, 4.0], index=[2, 1, 0]))
    assert same(got.to_numpy(), series.to_numpy() + noise(3, [1.0, 2.0, 4.0]))
    assert got.index.tolist() == INDEX


def test_series_forms():
    """Empty Series, repeated and hierarchical labels, and slices with a step are no obstacle."""
    empty = default_rng(1).add_laplace(pd.Series([], dtype="Int64", name="e"), 2.0)
    assert (len(empty), empty.name, str(empty.dtype)) == (0, "e", "Float64")
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)])
    got = default_rng(1).add_laplace(pd.Series([1.0, 2.0, 3.0], index=index), 2.0)
    assert got.index.equals(index)
    frame = pd.DataFrame({"a": np.arange(6.0), "b": np.arange(6)})
    before = frame.copy(deep=True)
    got = default_rng(1).add_laplace(frame["a"][::-2], 2.0)
    assert same(got.to_numpy(), np.array([5.0, 3.0, 1.0]) + noise(3))
    assert got.index.tolist() == [5, 3, 1]
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["1", "2"]),
        pd.Series(["1", "2"], dtype=object),
        pd.Series(["1", "2"], dtype="string[pyarrow]"),
        pd.Series([1.0, None], dtype=object),
        pd.Series([1, 2j]),
        pd.to_datetime(pd.Series(["2020-01-01"])),
        pd.to_timedelta(pd.Series([1, 2])),
        pd.Series([1.0, 2.0], dtype=np.float16),
        pd.Series(["a", "b"], dtype="category"),
    ],
    ids=lambda series: str(series.dtype),
)
def test_series_of_other_types(series):
    """Text, objects, dates and the like are refused with their type, and nothing is drawn."""
    rng = default_rng(1)
    with pytest.raises(TypeError, match=r"^values must be real numbers \(integers, float32 or float64\), got dtype "):
        rng.add_laplace(series, 1.0)
    assert rng.position == 0


@pytest.mark.parametrize(("length", "scale"), [(1, [1.0, 2.0]), (2, [[1.0], [2.0]]), (2, [1.0, 2.0, 3.0])])
def test_a_series_keeps_its_length(length, scale):
    """A scale that would extend a Series is refused before anything is drawn."""
    rng = default_rng(1)
    with pytest.raises(ValueError, match=rf"^arguments must broadcast to shape \({length},\), got values of shape"):
        rng.add_laplace(pd.Series([1.0] * length), scale)
    assert rng.position == 0


def test_indexes_and_arrays_of_arrow():
    """An index gives an array; Arrow arrays, read-only as they are, give Arrow arrays, and stay as they are."""
    expected = np.arange(3.0) + noise(3)
    for values in (pd.Index([0.0, 1.0, 2.0]), pd.RangeIndex(3)):
        assert same(default_rng(1).add_laplace(values, 2.0), expected)
    column = pa.array(np.arange(3.0))
    assert not column.to_numpy().flags.writeable
    before = column.to_pylist()
    assert same(default_rng(1).add_laplace(column, 2.0).to_numpy(), expected)
    with pytest.raises(ValueError, match="out must be writeable, got a read-only array"):
        default_rng(1).add_laplace(column, 2.0, out=column.to_numpy())
    out = np.empty(3)
    assert default_rng(1).add_laplace(pa.chunked_array([column]), 2.0, out=out) is out
    assert same(out, expected)
    assert column.to_pylist() == before


FRAMES = [
    pd.DataFrame({"a": np.arange(3.0)}),
    pl.DataFrame({"a": np.arange(3.0)}),
    pl.LazyFrame({"a": np.arange(3.0)}),
    pa.table({"a": np.arange(3.0)}),
    pa.RecordBatch.from_pydict({"a": [1.0]}),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: f"{type(frame).__module__}.{type(frame).__name__}")
def test_tables_go_elsewhere(frame):
    """A whole table is refused, and the message says where it goes."""
    told = (
        rf"^values must be .*, got a {type(frame).__name__}: give its columns one by one, or the whole to "
        r"lapnoise\.tables\.add_noise$"
    )
    ledger = PrivacyLedger(1)
    for call in (
        lambda: default_rng(1).add_laplace(frame, 2.0),
        lambda: LAPLACE.add_noise(frame),
        lambda: DISCRETE.add_noise(frame),
        lambda: STRATIFIED.add_noise(frame, ["a"]),
        lambda: ledger.release(LAPLACE, frame, label="a"),
    ):
        with pytest.raises(TypeError, match=told):
            call()
    assert ledger.spent.epsilon == 0


LAPLACE = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)
DISCRETE = DiscreteLaplaceMechanism(epsilon=1, sensitivity=1)
STRATIFIED = StratifiedLaplaceMechanism(epsilon={"a": 1, "b": "0.5"}, sensitivity=1, changed=1)
MECHANISMS = {
    "laplace": LAPLACE,
    "gaussian": GaussianMechanism(epsilon=1, delta="1e-5", sensitivity=1, changed=1),
    "bounded": BoundedLaplaceMechanism(epsilon=1, sensitivity=1, low=0, high=100, changed=1),
    "truncated": TruncatedLaplaceMechanism(epsilon=1, delta="1e-5", sensitivity=1, changed=1),
}

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = [*INTEGERS, "float32", "float64"]
ENDS = {"int64": [2**63 - 1, -(2**63), 2**53 + 1], "uint64": [2**64 - 1, 2**63 + 3, 2**53 + 1]}


def numbers(name):
    """Return five numbers of a dtype, the largest and those beyond floats among them."""
    return np.array([*ENDS.get(name, [7, 1, 3]), 0, 5], name)


def arrow(values, missing=None, garbage=None):
    """Return an Arrow array made of buffers, with garbage beneath its nulls."""
    data = values.copy()
    if missing is None:
        missing = np.zeros(values.size, np.bool_)
    if garbage is not None:
        data[missing] = garbage
    validity = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(data.dtype), data.size, [validity, pa.py_buffer(data)])


def polars_series(values, missing):
    """Return a polars Series over such an array: garbage lies beneath its nulls too."""
    return pl.from_arrow(arrow(values, missing, garbage_of(values.dtype))).rename("x")


def garbage_of(dtype):
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


MISSING = np.array([False, True, False, False, True])


@pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_columns_of_other_libraries(mechanism, name):
    """Polars and Arrow give the bits that NumPy gives, in their own kind; what lies beneath a null plays no part."""
    m = MECHANISMS[mechanism]
    values = numbers(name)
    kind = np.float32 if name == "float32" else np.float64
    expected = m.add_noise(values, rng=default_rng(1))
    clean = pa.array(values)
    whole = pa.chunked_array([clean[:2], clean[:0], clean[2:]])

    got = m.add_noise(pl.Series("x", values), rng=default_rng(1))
    assert (type(got), got.name, got.dtype) == (pl.Series, "x", pl.Float32 if kind is np.float32 else pl.Float64)
    assert same(got.to_numpy(), expected)
    got = m.add_noise(clean, rng=default_rng(1))
    assert got.type == pa.from_numpy_dtype(kind)
    assert got.null_count == 0
    assert same(got.to_numpy(), expected)
    got = m.add_noise(whole, rng=default_rng(1))
    assert [len(chunk) for chunk in got.chunks] == [2, 0, 3]
    assert same(got.to_numpy(), expected)

    there = ~MISSING
    holed = m.add_noise(polars_series(values, MISSING), rng=default_rng(1))
    assert (holed.name, holed.is_null().to_list()) == ("x", MISSING.tolist())
    assert same(holed.drop_nulls().to_numpy(), expected[there])
    for column in (arrow(values, MISSING, garbage_of(values.dtype)), whole):
        if column is whole:
            nulls = arrow(values, MISSING, garbage_of(values.dtype))
            column = pa.chunked_array([nulls[:1], nulls[1:1], nulls[1:]])
        got = m.add_noise(column, rng=default_rng(1))
        got.validate(full=True)
        assert type(got) is type(column) or isinstance(got, pa.Array)
        assert got.is_null().to_pylist() == MISSING.tolist()
        assert same(got.drop_null().to_numpy(), expected[there])


@pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_of_other_libraries(name):
    """With discrete noise integers become int64, also those from 2^63 on, and sums saturate."""
    values = numbers(name)
    expected = DISCRETE.add_noise(values, rng=default_rng(1))
    assert expected.dtype == np.int64
    holed = polars_series(values, MISSING), arrow(values, MISSING, garbage_of(values.dtype))
    for column in (pl.Series("x", values), pa.array(values), pa.chunked_array([pa.array(values)])):
        got = DISCRETE.add_noise(column, rng=default_rng(1))
        assert type(got).__name__ in ("Series", "Int64Array", "ChunkedArray")
        assert same(np.asarray(got), expected)
    for column in holed:
        got = DISCRETE.add_noise(column, rng=default_rng(1))
        assert got.to_pylist() if isinstance(got, pa.Array) else got.to_list()
        assert [x for x in (got.to_pylist() if isinstance(got, pa.Array) else got.to_list()) if x is not None] == [
            int(x) for x in expected[~MISSING]
        ]


@pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")
@pytest.mark.parametrize("name", ["int64", "uint8", "float32", "float64"])
def test_what_lies_beneath_a_null_does_not_leak(name):
    """Not even the bytes beneath the nulls of a result depend on those beneath the nulls of the values."""
    values = numbers(name)
    found = {
        LAPLACE.add_noise(arrow(values, MISSING, garbage), rng=default_rng(1)).buffers()[1].to_pybytes()
        for garbage in (0, 1, 77, garbage_of(values.dtype))
    }
    assert len(found) == 1


@pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")
@pytest.mark.parametrize("start", [0, 1, 3, 7, 8, 13])
def test_slices_of_arrow_arrays(start):
    """A slice begins anywhere in a byte of the validity bits, and in one of packed bools."""
    n = 40
    values, missing = np.arange(n) % 5, np.arange(n) % 3 == 0
    column = arrow(values, missing, 99)[start : start + 17]
    expected = LAPLACE.add_noise(values[start : start + 17], rng=default_rng(1))
    there = ~missing[start : start + 17]
    got = LAPLACE.add_noise(column, rng=default_rng(1))
    assert got.is_valid().to_pylist() == there.tolist()
    assert same(got.drop_null().to_numpy(), expected[there])
    flags = pa.array(values == 1)[start : start + 17]
    got = LAPLACE.add_noise(flags, rng=default_rng(1))
    assert same(got.to_numpy(), LAPLACE.add_noise(values[start : start + 17] == 1, rng=default_rng(1)))


@pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")
def test_bools_and_nan_of_other_libraries():
    """Bools count as 0 and 1, as NumPy's do; NaN is a number like none, and no null."""
    expected = LAPLACE.add_noise(np.array([True, False, True]), rng=default_rng(1))
    for column in (pl.Series([True, None, True]), pa.array([True, None, True])):
        got = LAPLACE.add_noise(column, rng=default_rng(1)).drop_nulls() if isinstance(column, pl.Series) else None
        got = LAPLACE.add_noise(column, rng=default_rng(1)).drop_null() if got is None else got
        assert same(got.to_numpy(), expected[[0, 2]])
    for column in (pl.Series([1.0, np.nan, None]), pa.array([1.0, np.nan, None])):
        got = LAPLACE.add_noise(column, rng=default_rng(1))
        assert got.null_count() == 1 if isinstance(got, pl.Series) else got.null_count == 1
        listed = got.to_list() if isinstance(got, pl.Series) else got.to_pylist()
        assert np.isnan(listed[1])
        assert listed[2] is None


def test_empty_columns_of_other_libraries():
    """No rows, no chunks, and nothing but nulls give the same again."""
    for column in (pa.array([], pa.int32()), pa.chunked_array([], pa.int32()), pa.chunked_array([[]], pa.float32())):
        got = LAPLACE.add_noise(column)
        assert (len(got), got.type) == (0, pa.float32() if column.type == pa.float32() else pa.float64())
        assert getattr(got, "num_chunks", None) == getattr(column, "num_chunks", None)
    got = LAPLACE.add_noise(pl.Series("e", [], dtype=pl.UInt8))
    assert (got.name, len(got), got.dtype) == ("e", 0, pl.Float64)
    assert LAPLACE.add_noise(pa.array([None, None], pa.int8())).to_pylist() == [None, None]
    assert LAPLACE.add_noise(pl.Series([None, None], dtype=pl.Int8)).to_list() == [None, None]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pl.Series(["a"]), "String"),
        (pl.Series(["a"], dtype=pl.Categorical), "Categorical"),
        (pl.Series([date(2020, 1, 1)]), "Date"),
        (pl.Series([Decimal("1.5")]), "Decimal"),
        (pl.Series([[1.0]]), "List"),
        (pl.Series([None]), "Null"),
        (pl.Series([timedelta(1)]), "Duration"),
        (pa.array(["a"]), "string"),
        (pa.array(["a"]).dictionary_encode(), "dictionary"),
        (pa.array([1, 2]).dictionary_encode(), "dictionary"),
        (pa.array([date(2020, 1, 1)]), "date32"),
        (pa.array([Decimal("1.5")]), "decimal128"),
        (pa.array([1.5], pa.float16()), "halffloat"),
        (pa.nulls(2), "null"),
        (pa.chunked_array([[timedelta(1)]]), "duration"),
        (pd.Series(["a"], dtype="category"), "category"),
        (pd.Series([Decimal("1.5")], dtype=pd.ArrowDtype(pa.decimal128(5, 2))), "decimal128"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_columns_are_refused(column, kind):
    """What holds no numbers is refused by the name of its type, before a ledger is charged."""
    ledger = PrivacyLedger(1)
    for call in (
        lambda: LAPLACE.add_noise(column),
        lambda: DISCRETE.add_noise(column),
        lambda: default_rng(1).add_laplace(column, 1.0),
        lambda: ledger.release(LAPLACE, column, label="a"),
    ):
        with pytest.raises(TypeError, match=rf"^values must be real numbers \(.*\), got dtype {kind}"):
            call()
    assert ledger.spent.epsilon == 0


def test_infinite_and_fractional_entries_of_other_libraries():
    """An infinite entry is named by its place among all chunks; floats are no integers."""
    for column in (pl.Series([1.0, None, np.inf]), pa.chunked_array([[1.0, None], [np.inf]])):
        with pytest.raises(ValueError, match=r"^values\[2\] must be finite or NaN, got an infinity"):
            LAPLACE.add_noise(column)
        with pytest.raises(TypeError, match=r"^values must be integers for discrete noise, got dtype float64$"):
            DISCRETE.add_noise(column)


@pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")
def test_strata_of_other_libraries():
    """Strata may be a Series or an Arrow array too, in categories or not."""
    values, strata = np.arange(4.0), ["a", "b", "b", "a"]
    expected = STRATIFIED.add_noise(values, strata, rng=default_rng(1))
    for told in (
        pl.Series(strata),
        pl.Series(strata, dtype=pl.Categorical),
        pa.array(strata),
        pa.array(strata).dictionary_encode(),
        pa.chunked_array([strata[:1], strata[1:]]),
    ):
        got = STRATIFIED.add_noise(pl.Series("x", values), told, rng=default_rng(1))
        assert same(got.to_numpy(), expected)
        assert same(STRATIFIED.add_noise(pa.array(values), told, rng=default_rng(1)).to_numpy(), expected)
    for told in (pl.Series(["a", None, "b", "a"]), pa.array(["a", None, "b", "a"])):
        with pytest.raises(ValueError, match=r"^strata\[1\] must be one of \['a', 'b'\], got "):
            STRATIFIED.add_noise(pl.Series(values), told)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", [1, None, 2**63 + 1], dtype=pl.UInt64),
        pl.Series("x", [1.5, None, np.nan], dtype=pl.Float32),
        pa.array([1, None, 3]),
        pa.chunked_array([[1.5, None], [], [np.nan]]),
    ],
    ids=["UInt64", "Float32", "Array", "ChunkedArray"],
)
def test_releases_of_other_libraries(column):
    """A ledger releases columns, keeps the result, and gives it again in the same form; it notes no value."""
    ledger = PrivacyLedger(2)
    first = ledger.release(LAPLACE, column, label="a", request_id="r")
    again = ledger.release(LAPLACE, column, label="a", request_id="r")
    assert type(first) is type(again)
    assert isinstance(again, type(column) if isinstance(column, pl.Series | pa.ChunkedArray) else pa.Array)
    listed = [x.to_list() if isinstance(x, pl.Series) else x.to_pylist() for x in (first, again)]
    assert repr(listed[0]) == repr(listed[1])
    assert listed[0][1] is None
    assert ledger.spent.epsilon == 1
    dtype = str(column.dtype) if isinstance(column, pl.Series) else str(column.type)
    assert ledger.entries()[0].details["inputs"] == [[type(column).__name__, [3], dtype]]


def test_a_charge_stands_for_columns_of_other_libraries():
    """An infinite entry shows after the charge, which stands."""
    ledger = PrivacyLedger(2)
    for column in (pl.Series([np.inf]), pa.array([np.inf])):
        with pytest.raises(ValueError, match="must be finite or NaN"):
            ledger.release(LAPLACE, column, label="a")
    assert ledger.spent.epsilon == 2


def test_a_column_keeps_its_length():
    """A scale that would extend a column is refused, as for a Series of pandas."""
    for column in (pl.Series([1.0]), pa.array([1.0])):
        with pytest.raises(ValueError, match=r"^arguments must broadcast to shape \(1,\), got values of shape"):
            default_rng(1).add_laplace(column, [1.0, 2.0])


def test_released_columns_of_other_libraries():
    """Post-processing gives the same kind, and refuses nulls whatever lies beneath them."""
    for column in (pl.Series("x", [-1.5, 2.0]), pa.array([-1.5, 2.0]), pa.chunked_array([[-1.5], [2.0]])):
        got = postprocess.nonnegative(column)
        assert type(got) is type(column)
        assert np.asarray(got).tolist() == [0.0, 2.0]
    for column in (pl.Series([1, None]), pa.array([1, None]), pa.chunked_array([[1.0], [None]])):
        with pytest.raises(ValueError, match=r"^values\[1\] must be a number, got NaN"):
            postprocess.nonnegative(column)


ARROW = """
import pyarrow
buffers = [pyarrow.py_buffer(b"\x05"), pyarrow.py_buffer(bytes(24))]
column = pyarrow.Array.from_buffers(pyarrow.int64(), 3, buffers, 1)
columns = [column, pyarrow.chunked_array([column, column])]
tables = [pyarrow.Table.from_arrays([column], ["a"]), pyarrow.RecordBatch.from_arrays([column], ["a"])]
"""
POLARS = """
import polars
columns = [polars.Series([1, None, 3])]
tables = [polars.DataFrame({"a": columns[0]})]
"""


@pytest.mark.parametrize("given", [ARROW, POLARS], ids=["arrow", "polars"])
def test_nothing_is_imported_for_columns(given):
    """Noise on what is of Arrow brings in neither pandas nor polars, and on what is of polars no other library."""
    used = """
import json, sys, lapnoise
before = set(sys.modules)
m = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1)
noisy = [m.add_noise(column) for column in columns]
noisy += [lapnoise.tables.add_noise(table, epsilon=1, sensitivity=1) for table in tables]
libraries = {"pandas", "polars", "pyarrow"}
print(json.dumps([len(noisy), sorted(libraries & before), sorted(libraries & set(sys.modules))]))
"""
    own = "pyarrow" if given is ARROW else "polars"
    assert json.loads(fresh_process.run(given + used)) == [4 if given is ARROW else 2, [own], [own]]


def test_lists_are_left_alone():
    """A list is not changed; a new array comes back."""
    values = [1.0, 2.0, 3.0]
    got = default_rng(1).add_laplace(values, 2.0)
    assert values == [1.0, 2.0, 3.0]
    assert same(got, np.array(values) + noise(3))
