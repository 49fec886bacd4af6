"""The same kind out as in: masked arrays keep their mask, pandas Series their index, name and missing values."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from bitwise import same

from lapnoise import default_rng

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


def test_other_tables_and_columns():
    """Indexes and Arrow arrays, read-only as they are, give arrays; missing values give NaN; frames are refused."""
    expected = np.arange(3.0) + noise(3)
    column = pa.array(np.arange(3.0))
    assert not column.to_numpy().flags.writeable
    before = column.to_pylist()
    for values in (pd.Index([0.0, 1.0, 2.0]), pd.RangeIndex(3), column, column.to_numpy(), pa.chunked_array([column])):
        assert same(default_rng(1).add_laplace(values, 2.0), expected)
    assert column.to_pylist() == before
    with pytest.raises(TypeError, match=r"values must be .*, got a DataFrame: give its columns one by one"):
        default_rng(1).add_laplace(pd.DataFrame({"a": np.arange(3.0)}), 2.0)
    holed = default_rng(1).add_laplace(pa.array([0.0, None, 2.0]), 2.0)
    assert np.isnan(holed).tolist() == [False, True, False]
    assert same(holed[[0, 2]], expected[[0, 2]])
    with pytest.raises(ValueError, match="out must be writeable, got a read-only array"):
        default_rng(1).add_laplace(column, 2.0, out=column.to_numpy())
    assert column.to_pylist() == before


def test_lists_are_left_alone():
    """A list is not changed; a new array comes back."""
    values = [1.0, 2.0, 3.0]
    got = default_rng(1).add_laplace(values, 2.0)
    assert values == [1.0, 2.0, 3.0]
    assert same(got, np.array(values) + noise(3))
