"""Noise on columns of tables in memory: the same numbers whatever holds them, and all else as it was."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from bitwise import same

from lapnoise import (
    BudgetExhaustedError,
    InputDataError,
    LaplaceMechanism,
    PrivacyLedger,
    SeededNoiseWarning,
    StratifiedLaplaceMechanism,
    default_rng,
    files,
    tables,
)
from lapnoise.files._terms import LOCAL
from lapnoise.tables import _noising

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

SEED = 7
LAPLACE = {"epsilon": 1, "sensitivity": 1}
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = [*INTEGERS, "float32", "float64"]
LARGE = {"int64": [2**63 - 1, -(2**63), 2**53 + 1], "uint64": [2**64 - 1, 2**63 + 3, 2**53 + 1]}
MISSING = np.array([False, True, False, False, False, True])


def rng():
    return default_rng(SEED, rounds=20)


def numbers(name):
    """Return six numbers of a dtype, the largest and those beyond floats among them."""
    return np.array([*LARGE.get(name, [7, 1, 3]), 0, 5, 2], name)


def garbled(values, missing):
    """Return an Arrow array with garbage beneath its nulls."""
    data = values.copy()
    data[missing] = np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).max
    validity = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, [validity, pa.py_buffer(data)])


def arrow_table(columns):
    """Return a Table whose columns lie in three chunks, one of them empty, and begin within a buffer."""
    whole = {name: pa.concat_arrays([column[:1], column]) for name, column in columns.items()}
    chunked = {name: pa.chunked_array([c[1:3], c[3:3], c[3:]]) for name, c in whole.items()}
    return pa.table(chunked)


KINDS = {
    "pandas": lambda columns: pd.DataFrame({name: column.to_numpy() for name, column in columns.items()}),
    "nullable": lambda columns: pd.DataFrame(
        {
            name: pd.array(column.to_pylist(), dtype=column.to_numpy(zero_copy_only=False).dtype.name.capitalize())
            if not str(column.type).startswith("u") and not column.null_count
            else pd.array(column.to_pylist(), dtype=NULLABLE[str(column.type)])
            for name, column in columns.items()
        }
    ),
    "ArrowDtype": lambda columns: pd.DataFrame(
        {name: pd.arrays.ArrowExtensionArray(pa.chunked_array([column])) for name, column in columns.items()}
    ),
    "polars": lambda columns: pl.DataFrame({name: pl.from_arrow(column) for name, column in columns.items()}),
    "Table": arrow_table,
    "RecordBatch": lambda columns: pa.RecordBatch.from_arrays(list(columns.values()), list(columns)),
}

NULLABLE = {str(pa.from_numpy_dtype(np.dtype(n))): n.capitalize().replace("Uint", "UInt") for n in NUMBERS}


def column_of(table, name):
    """Return a column as values, 0 for nulls, and its nulls."""
    column = table[name] if not isinstance(table, pa.RecordBatch) else table.column(name)
    if isinstance(column, pd.Series):
        missing = np.zeros(len(column), np.bool_) if isinstance(column.dtype, np.dtype) else column.isna().to_numpy()
        if isinstance(column.dtype, np.dtype):
            return column.to_numpy(), missing
        dtype = getattr(column.dtype, "numpy_dtype", None)
        return column.to_numpy(dtype=dtype, na_value=dtype.type(0)), missing
    if isinstance(column, pl.Series):
        return column.fill_null(0).to_numpy(), column.is_null().to_numpy()
    column = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    column.validate(full=True)
    return column.fill_null(0).to_numpy(), column.is_null().to_numpy(zero_copy_only=False)


def from_file(path, array, **options):
    """Return what the file engine makes of an array with the same seed."""
    source, target = path / "s.npy", path / "t.npy"
    np.save(source, array)
    files.add_noise(source, target, seed=SEED, force=True, **options)
    return np.load(target)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("kind", KINDS)
def test_one_column(tmp_path, kind, name):
    """One column gets the numbers that the file engine writes; float32 stays float32, and all others become float64."""
    values = numbers(name)
    expected = from_file(tmp_path, values, **LAPLACE)
    table = KINDS[kind]({"x": pa.array(values)})
    before = repr(table)
    got = tables.add_noise(table, rng=rng(), **LAPLACE)
    assert type(got) is type(table)
    found, missing = column_of(got, "x")
    assert same(found, expected)
    assert not missing.any()
    assert repr(table) == before


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pandas"])
def test_nulls(kind, name):
    """Nulls stay null, take their words, and what lies beneath them plays no part."""
    values = numbers(name)
    expected = tables.add_noise(pd.DataFrame({"x": values}), rng=rng(), **LAPLACE)["x"].to_numpy()
    got = tables.add_noise(KINDS[kind]({"x": garbled(values, MISSING)}), rng=rng(), **LAPLACE)
    found, missing = column_of(got, "x")
    assert missing.tolist() == MISSING.tolist()
    assert same(found[~missing], expected[~missing])


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("kind", KINDS)
def test_discrete_noise(tmp_path, kind, name):
    """With discrete noise integers become int64, in the family that their type belongs to."""
    values = numbers(name)
    expected = from_file(tmp_path, values, mechanism="discrete-laplace", **LAPLACE)
    column = pa.array(values) if kind == "pandas" else garbled(values, MISSING)
    got = tables.add_noise(KINDS[kind]({"x": column}), mechanism="discrete-laplace", rng=rng(), **LAPLACE)
    found, missing = column_of(got, "x")
    assert same(found[~missing], expected[~missing])
    assert missing.sum() == column.null_count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "bounded-laplace"])
def test_several_columns(tmp_path, monkeypatch, kind, mechanism):
    """Columns of several types form one vector, in table order whatever the order of names; pieces change nothing."""
    n = 1000
    a, b, c = np.arange(n) % 50, np.arange(n) * 0.25 % 40, (np.arange(n) % 30).astype(np.float32)
    asked = {"mechanism": mechanism, "sensitivity": 2, "epsilon": 1}
    asked |= {"gaussian": {"delta": "1e-5"}, "bounded-laplace": {"clip": (0, 60)}}.get(mechanism, {})
    table = KINDS[kind]({"a": pa.array(a), "b": pa.array(b), "z": pa.array(a), "c": pa.array(c)})
    got = tables.add_noise(table, columns=["c", "a", "b"], rng=rng(), **asked)
    monkeypatch.setattr(_noising, "PIECE_VALUES", 7)
    pieces = tables.add_noise(table, columns=["a", "b", "c"], rng=rng(), **asked)
    for name in "abc":
        assert same(column_of(pieces, name)[0], column_of(got, name)[0])
    assert column_of(got, "c")[0].dtype == np.float32
    assert same(column_of(got, "z")[0], a)
    pd.DataFrame({"a": a, "b": b, "c": c.astype(float)}).to_csv(tmp_path / "s.csv", index=False)
    files.add_noise(tmp_path / "s.csv", tmp_path / "t.csv", columns=["a", "b", "c"], seed=SEED, **asked)
    wanted = np.loadtxt(tmp_path / "t.csv", delimiter=",", skiprows=1).T
    # The file engine knows decimals alone; none of its sums lies so near the middle of two float32 to round otherwise.
    for name, numbers_in_file in zip("abc", wanted, strict=True):
        found = column_of(got, name)[0]
        assert same(found, numbers_in_file.astype(found.dtype))


def test_a_generator_is_used_up():
    """A generator moves behind the last word, so that no later draw repeats one; the next table begins there."""
    frame = pd.DataFrame({"x": np.zeros(100), "y": np.zeros(100)})
    one, two = rng(), default_rng(rounds=20)
    first = tables.add_noise(frame, columns=["x", "y"], rng=one, **LAPLACE)
    assert one.position == (1 << 42) + 100
    second = tables.add_noise(frame, columns=["x", "y"], rng=one, **LAPLACE)
    assert not (first.to_numpy() == second.to_numpy()).all(axis=0).any()
    skipped = rng()
    skipped.seek((1 << 42) + 100)
    assert same(tables.add_noise(frame, columns=["x", "y"], rng=skipped, **LAPLACE).to_numpy(), second.to_numpy())
    fresh = [tables.add_noise(frame, columns="x", rng=two, **LAPLACE)["x"].tolist() for _ in range(2)]
    assert fresh[0] != fresh[1]
    assert two.position == 200


def test_without_a_generator_each_call_has_a_key_of_its_own():
    frame = pd.DataFrame({"x": np.zeros(100)})
    first, second = (tables.add_noise(frame, **LAPLACE)["x"].tolist() for _ in range(2))
    assert first != second


@pytest.mark.filterwarnings("error")
def test_a_seeded_generator_warns_where_it_is_used():
    with pytest.warns(SeededNoiseWarning, match=r"can be drawn again") as told:
        tables.add_noise(pd.DataFrame({"x": [1.0]}), rng=rng(), **LAPLACE)
    assert told[0].filename == __file__


# What stays as it was


def test_a_pandas_frame_keeps_what_is_not_noised():
    """Index, labels, order, attributes and other columns stay, the latter without a copy; the frame given stays."""
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)], names=["k", "n"])
    frame = pd.DataFrame(
        {"z": ["p", "q", None], "x": [1.0, np.nan, 3.0], "y": [4.0, 5.0, 6.0], "w": pd.Categorical(["u", "v", "u"])}
    )
    frame.index = index
    frame.columns.name = "names"
    frame.attrs["source"] = "here"
    before = frame.copy(deep=True)
    got = tables.add_noise(frame, columns="x", **LAPLACE)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(got.drop(columns="x"), before.drop(columns="x"))
    assert list(got.columns) == list("zxyw")
    assert got.columns.name == "names"
    assert got.index.equals(index)
    assert got.attrs == {"source": "here"}
    assert np.isnan(got["x"]).tolist() == [False, True, False]
    assert np.shares_memory(got["y"].to_numpy(), frame["y"].to_numpy())
    assert not np.shares_memory(got["x"].to_numpy(), frame["x"].to_numpy())


@pytest.mark.parametrize(
    ("given", "noised", "discrete"),
    [
        ("int8", "float64", "int64"),
        ("float32", "float32", None),
        ("Int64", "Float64", "Int64"),
        ("UInt8", "Float64", "Int64"),
        ("Float32", "Float32", None),
        ("Float64", "Float64", None),
        ("int32[pyarrow]", "double[pyarrow]", "int64[pyarrow]"),
        ("uint64[pyarrow]", "double[pyarrow]", "int64[pyarrow]"),
        ("float[pyarrow]", "float[pyarrow]", None),
    ],
)
def test_families_of_pandas_types(given, noised, discrete):
    """Types of NumPy, nullable ones and those of Arrow stay in their family."""
    frame = pd.DataFrame({"x": pd.array([1, 2, 3], dtype=given)})
    assert str(tables.add_noise(frame, **LAPLACE)["x"].dtype) == noised
    if discrete is not None:
        got = tables.add_noise(frame, mechanism="discrete-laplace", **LAPLACE)
        assert str(got["x"].dtype) == discrete


def test_nan_is_no_null():
    """Beside nulls NaN stays NaN, in frames that tell the two apart."""
    for table in (pl.DataFrame({"x": [1.0, np.nan, None]}), pa.table({"x": [1.0, np.nan, None]})):
        values, missing = column_of(tables.add_noise(table, **LAPLACE), "x")
        assert missing.tolist() == [False, False, True]
        assert np.isnan(values[1])


def test_an_arrow_table_keeps_what_is_not_noised():
    """Metadata, chunks and other columns stay, the latter without a copy."""
    field = pa.field("x", pa.int64(), metadata={"unit": "m"})
    schema = pa.schema([field, pa.field("y", pa.int64()), ("z", pa.string())], metadata={"made": "by us"})
    table = pa.Table.from_arrays(
        [pa.chunked_array([[1], [], [2, None]]), pa.chunked_array([[4, 5], [6]]), pa.chunked_array([["a", None, "c"]])],
        schema=schema,
    )
    got = tables.add_noise(table, columns=["x"], **LAPLACE)
    assert got.schema.equals(schema.set(0, field.with_type(pa.float64())), check_metadata=True)
    assert [len(chunk) for chunk in got["x"].chunks] == [1, 0, 2]
    assert got["x"].null_count == 1
    for name in "yz":
        assert [c.buffers()[-1].address for c in got[name].chunks] == [
            c.buffers()[-1].address for c in table[name].chunks
        ]
    assert table["x"].to_pylist() == [1, 2, None]


@pytest.mark.parametrize(
    ("given", "noised"),
    [("Int64", "Float64"), ("int64", "float64"), ("int64[pyarrow]", "double[pyarrow]"), ("Float32", "Float32")],
)
def test_notes_of_pandas_in_arrow_metadata(given, noised):
    """A table that came from pandas goes back to it: what the schema says of the old type is said of the new one."""
    frame = pd.DataFrame({"x": pd.array([1, 2], dtype=given), "y": pd.array([1, None], dtype="Int8")}, index=[7, 9])
    table = pa.Table.from_pandas(frame)
    got = tables.add_noise(table, columns="x", **LAPLACE)
    back = got.to_pandas()
    assert [str(dtype) for dtype in back.dtypes] == [noised, "Int8"]
    assert back.index.tolist() == [7, 9]
    notes = json.loads(got.schema.metadata[b"pandas"])
    assert notes["columns"][1:] == json.loads(table.schema.metadata[b"pandas"])["columns"][1:]
    odd = table.replace_schema_metadata({"pandas": "of somebody else"})
    assert tables.add_noise(odd, columns="x", **LAPLACE).schema.metadata == {b"pandas": b"of somebody else"}


def test_a_polars_frame_keeps_what_is_not_noised():
    """Order, names and other columns stay."""
    frame = pl.DataFrame({"z": ["p", None], "x": [1, 2], "y": [[1], [2]]})
    before = frame.clone()
    got = tables.add_noise(frame, columns="x", **LAPLACE)
    assert frame.equals(before)
    assert got.columns == ["z", "x", "y"]
    assert got.drop("x").equals(before.drop("x"))
    assert got.schema["x"] == pl.Float64
    chunked = pl.concat([frame, frame], rechunk=False)
    assert same(
        tables.add_noise(chunked, columns="x", rng=rng(), **LAPLACE)["x"].to_numpy(),
        tables.add_noise(pd.DataFrame({"x": [1, 2, 1, 2]}), rng=rng(), **LAPLACE)["x"].to_numpy(),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows(kind):
    """A table without rows has its types noised, and costs what was asked."""
    ledger = PrivacyLedger(1)
    table = KINDS[kind]({"x": pa.array([], pa.int32()), "y": pa.array([], pa.float32())})
    got = tables.add_noise(table, columns=["x", "y"], ledger=ledger, **LAPLACE)
    assert type(got) is type(table)
    assert len(got) == 0
    assert [column_of(got, name)[0].dtype for name in "xy"] == [np.float64, np.float32]
    assert ledger.spent.epsilon == 1


# Which columns


@pytest.mark.parametrize("kind", KINDS)
def test_the_only_numeric_column(kind):
    """Without names the only numeric column is noised; a choice, or none, is refused with the names."""
    one, two = pa.array([1, 2]), pa.array([1.5, 2.5])
    assert same(
        column_of(tables.add_noise(KINDS[kind]({"x": one}), rng=rng(), **LAPLACE), "x")[0],
        column_of(tables.add_noise(KINDS[kind]({"x": one}), columns="x", rng=rng(), **LAPLACE), "x")[0],
    )
    with pytest.raises(ValueError, match=r"^columns must be given, since 2 columns are numeric: 'x', 'y'$"):
        tables.add_noise(KINDS[kind]({"x": one, "y": two}), **LAPLACE)


def test_no_numeric_column():
    """Bools, text and dates are not numeric."""
    frame = pd.DataFrame({"b": [True], "t": ["a"], "d": pd.to_datetime(["2020-01-01"])})
    with pytest.raises(ValueError, match=r"since no column is numeric; there are: 'b', 't', 'd'$"):
        tables.add_noise(frame, **LAPLACE)
    with pytest.raises(ValueError, match=r"since no column is numeric; there are: none$"):
        tables.add_noise(pd.DataFrame(), **LAPLACE)


def test_names_that_do_not_fit():
    """Unknown and repeated names are refused; a name that two columns share only where it is meant."""
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "b", "b"])
    table = pa.Table.from_arrays([pa.array([1.0])] * 3, ["a", "b", "b"])
    for given in (frame, table):
        assert type(tables.add_noise(given, columns="a", **LAPLACE)) is type(given)
        for names, told in (
            ("c", r"columns must name columns of the table, got 'c'; there are: 'a', 'b', 'b'"),
            (["a", "a"], r"columns must name each column once, got \['a', 'a'\]"),
            ("b", r"columns must name columns that are there once, got 'b', which 2 columns have"),
            ([], "columns must name at least one column, got none"),
        ):
            with pytest.raises(ValueError, match=f"^{told}$"):
                tables.add_noise(given, columns=names, **LAPLACE)
        with pytest.raises(TypeError, match=r"^columns must be names of columns, got \[\['a'\]\]$"):
            tables.add_noise(given, columns=[["a"]], **LAPLACE)
    shared = pd.DataFrame([[1.0, "x"]], columns=["a", "a"])
    with pytest.raises(ValueError, match=r"got 'a', which 2 columns have"):
        tables.add_noise(shared, **LAPLACE)


def test_labels_that_are_no_text():
    """Columns of pandas may be called by numbers and tuples."""
    frame = pd.DataFrame(np.zeros((3, 2)))
    got = tables.add_noise(frame, columns=[1], **LAPLACE)
    assert (got[0] == 0).all()
    assert (got[1] != 0).all()
    deep = pd.DataFrame({("a", "b"): [0.0], ("a", "c"): [0.0]})
    got = tables.add_noise(deep, columns=[("a", "c")], **LAPLACE)
    assert (got == 0).to_numpy().tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        (pd.DataFrame({"x": [True]}), "bool"),
        (pd.DataFrame({"x": ["a"]}), "str"),
        (pd.DataFrame({"x": [1, "a"]}), "object"),
        (pd.DataFrame({"x": pd.Categorical([1])}), "category"),
        (pd.DataFrame({"x": pd.array([True, None], dtype="boolean")}), "boolean"),
        (pd.DataFrame({"x": np.array([1], np.float16)}), "float16"),
        (pd.DataFrame({"x": pd.array([1], dtype="bool[pyarrow]")}), r"bool\[pyarrow\]"),
        (pl.DataFrame({"x": [True]}), "Boolean"),
        (pl.DataFrame({"x": ["a"]}), "String"),
        (pl.DataFrame({"x": [None]}), "Null"),
        (pa.table({"x": [True]}), "bool"),
        (pa.table({"x": pa.array(["a"]).dictionary_encode()}), "dictionary<"),
        (pa.table({"x": pa.array([1], pa.decimal128(5, 2))}), r"decimal128\(5, 2\)"),
        (
            pa.table([[1]], schema=pa.schema([pa.field("x", pa.int64(), metadata={"ARROW:extension:name": "cents"})])),
            "int64",
        ),
        (pa.table({"x": pa.array([1], pa.timestamp("s"))}), r"timestamp\[s\]"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__module__,
)
def test_types_that_cannot_be_noised(table, kind):
    """A named column of another type is refused by the name of that type, before the charge."""
    ledger = PrivacyLedger(1)
    with pytest.raises(TypeError, match=rf"^column 'x' must hold real numbers \(.*\), got dtype {kind}"):
        tables.add_noise(table, columns="x", ledger=ledger, **LAPLACE)
    assert ledger.entries() == []


def test_floats_are_no_integers():
    with pytest.raises(TypeError, match=r"^column 'x' must hold integers for discrete noise, got dtype float64$"):
        tables.add_noise(pd.DataFrame({"x": [1.0]}), mechanism="discrete-laplace", **LAPLACE)


def test_what_is_no_table():
    """A plan must be collected; a Series and a dict are no tables."""
    with pytest.raises(TypeError, match=r"^table must be collected first \(table\.collect\(\)\), got a LazyFrame$"):
        tables.add_noise(pl.LazyFrame({"x": [1]}), **LAPLACE)
    for value in (pd.Series([1.0]), pl.Series([1.0]), {"x": [1.0]}, np.zeros((2, 2)), pa.array([1.0])):
        with pytest.raises(TypeError, match=rf"^table must be a pandas or polars DataFrame.*{type(value).__name__}$"):
            tables.add_noise(value, **LAPLACE)


# Bad values, and the order of charge and checks


@pytest.mark.parametrize("kind", KINDS)
def test_bad_values(monkeypatch, kind):
    """An infinite number is named by row position and column, never by its value; the charge stands."""
    monkeypatch.setattr(_noising, "PIECE_VALUES", 8)
    values = np.zeros(40)
    values[17] = -np.inf
    table = KINDS[kind]({"k": pa.array(np.zeros(40)), "x": pa.array(values)})
    ledger = PrivacyLedger(2)
    told = "^row position 17, column 'x' has an infinite number, where a finite number .* must stand; clip bounds such"
    with pytest.raises(InputDataError, match=told):
        tables.add_noise(table, columns=["k", "x"], ledger=ledger, label="mine", **LAPLACE)
    (entry,) = ledger.entries()
    assert (entry.label, entry.epsilon, entry.state) == ("mine", 1, "reserved")
    got = tables.add_noise(table, columns=["k", "x"], clip=(-5, 5), ledger=ledger, **LAPLACE)
    assert np.isfinite(column_of(got, "x")[0]).all()
    assert ledger.entries()[1].state == "released"
    assert ledger.entries()[1].label == "tables.add_noise"
    assert ledger.remaining.epsilon == 0


def test_order_of_charge_and_checks(tmp_path):
    """Parameters, names and types are checked before the charge; what does not fit is refused before any value is."""
    path = tmp_path / "b.db"
    PrivacyLedger("0.5", path=path)
    frame = pd.DataFrame({"x": [np.inf], "t": ["a"]})
    for wrong in ({"columns": "y"}, {"columns": "t"}, {"clip": (2, 1)}, {"rng": 7}, {"label": 3}, {"fill": "x"}):
        with pytest.raises((TypeError, ValueError)) as error:
            tables.add_noise(frame, ledger=path, **LAPLACE, **wrong)
        assert not isinstance(error.value, InputDataError)
    assert PrivacyLedger.open(path).entries() == []
    with pytest.raises(BudgetExhaustedError):
        tables.add_noise(frame, ledger=path, **LAPLACE)
    with pytest.raises(InputDataError):
        tables.add_noise(frame, ledger=path, epsilon="0.5", sensitivity=1)
    assert PrivacyLedger.open(path).remaining.epsilon == 0


def test_what_a_ledger_notes():
    """An entry holds shape and kind, whether noise can be drawn again, and no value."""
    ledger = PrivacyLedger(1)
    frame = pl.DataFrame({"x": [123456.75, 765432.25], "y": [1, 2]})
    tables.add_noise(frame, columns=["x", "y"], ledger=ledger, rng=rng(), **LAPLACE)
    details = ledger.entries()[0].details
    assert details["inputs"] == ["DataFrame", [2, 2]]
    assert details["private"] is False
    assert "123456" not in json.dumps(dict(details), default=str)


# Clipping, clamping, filling, rows that are persons


@pytest.mark.parametrize("kind", KINDS)
def test_local_noise(tmp_path, kind):
    """Each row is one person: the bounds give the sensitivity, and epsilon is charged once."""
    assert "Each row is one person" in LOCAL
    a, b = np.array([-500, 30, 700, 5]), np.array([0.25, 0.5, -7.0, 2.0])
    ledger = PrivacyLedger(1)
    asked = {"epsilon": 1, "local": True, "clip": {"a": (-60, 600), "b": (0, 1)}, "clamp": (-1000, 1000)}
    table = KINDS[kind]({"a": pa.array(a), "b": pa.array(b)})
    got = tables.add_noise(table, columns=["a", "b"], ledger=ledger, rng=rng(), **asked)
    entry = ledger.entries()[0].details
    assert Fraction(entry["parameters"]["sensitivity"]) == 661
    assert entry["parameters"]["changed"] == "2"
    clipped = pd.DataFrame({"a": a.clip(-60, 600), "b": b.clip(0, 1)})
    m = LaplaceMechanism(epsilon=1, sensitivity=661, changed=2)
    expected = tables.add_noise(clipped, mechanism=m, columns=["a", "b"], clamp=(-1000, 1000), rng=rng())
    for name in "ab":
        assert same(column_of(got, name)[0], expected[name].to_numpy())
        assert np.abs(expected[name]).max() <= 1000


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_of_persons(kind):
    """A missing value is refused where each row is a person, unless it counts as something."""
    values = np.array([1.0, 2.0, 3.0, 0.0, 5.0, 4.0])
    holed = np.where(MISSING, np.nan, values)
    column = pa.array(holed) if kind == "pandas" else garbled(values, MISSING)
    asked = {"epsilon": 1, "local": True, "clip": (0, 10)}
    with pytest.raises(
        InputDataError, match=r"^row position 1, column 'x' has a missing cell, where a number must stand; fill says"
    ):
        tables.add_noise(KINDS[kind]({"x": column}), **asked)
    got, missing = column_of(tables.add_noise(KINDS[kind]({"x": column}), fill=7, rng=rng(), **asked), "x")
    filled = pd.DataFrame({"x": np.where(MISSING, 7, values)})
    assert not missing.any()
    assert same(got, tables.add_noise(filled, rng=rng(), **asked)["x"].to_numpy())


def test_bounds_by_name():
    """Bounds must be those of noised columns, and of each where rows are persons."""
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(ValueError, match=r"^clip must name noised columns only, got 'b'$"):
        tables.add_noise(frame, columns="a", clip={"b": (0, 1)}, **LAPLACE)
    with pytest.raises(ValueError, match=r"got none for 'b'$"):
        tables.add_noise(frame, columns=["a", "b"], epsilon=1, local=True, clip={"a": (0, 1)})
    with pytest.raises(ValueError, match=r"^fill must be an integer for integers, got "):
        tables.add_noise(pd.DataFrame({"a": [1]}), fill=0.5, **LAPLACE)


# Strata

STRATA = {
    "pandas": [
        lambda names: pd.Series(names),
        lambda names: pd.Series(names, dtype=object),
        lambda names: pd.Series(names, dtype="category"),
        lambda names: pd.Series(names, dtype="string[pyarrow]"),
        lambda names: pd.Series(names, dtype=pd.ArrowDtype(pa.string())),
        lambda names: pd.Series(names, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    ],
    "polars": [
        lambda names: pl.Series(names),
        lambda names: pl.Series(names, dtype=pl.Categorical),
        lambda names: pl.Series(names, dtype=pl.Enum(["high", "low", "unused", "other"])),
    ],
    "arrow": [
        lambda names: pa.chunked_array([names[:1], [], names[1:]]),
        lambda names: pa.array(names, pa.large_string()),
        lambda names: pa.array(names, pa.string_view() if hasattr(pa, "string_view") else pa.string()),
        lambda names: pa.chunked_array(
            [pa.array(names[:1]).dictionary_encode(), pa.array(names[1:]).dictionary_encode()]
        ),
        lambda names: pa.concat_arrays([pa.array(["low"]), pa.array(names)])[1:].dictionary_encode(),
    ],
}
MAKERS = [(kind, maker) for kind, makers in STRATA.items() for maker in makers]


def stratified(kind, band, **options):
    """Return a table's noisy column x, whose strata are told by column band."""
    x = np.arange(4.0)
    table = {
        "pandas": lambda: pd.DataFrame({"x": x, "band": band}),
        "polars": lambda: pl.DataFrame({"x": x, "band": band}),
        "arrow": lambda: pa.table({"x": x, "band": band}),
    }[kind]()
    asked = {"mechanism": "stratified", "sensitivity": 1, "strata": "band", "columns": "x", **options}
    return column_of(tables.add_noise(table, rng=rng(), **asked), "x")[0]


BY_NAME = {"low": 1, "high": "0.125"}


@pytest.mark.parametrize(("kind", "make"), MAKERS)
def test_strata(tmp_path, kind, make):
    """Text and categories of every library name the same strata, by their text."""
    names = ["low", "high", "low", "high"]
    got = stratified(kind, make(names), epsilon_by=BY_NAME)
    m = StratifiedLaplaceMechanism(epsilon=BY_NAME, sensitivity=1).for_length(4)
    assert same(got, m.add_noise(np.arange(4.0), names, rng=rng()))
    assert same(got, stratified(kind, make(names), epsilon_by={"high": "0.125", "low": 1}))


@pytest.mark.parametrize(("kind", "make"), MAKERS)
def test_unknown_and_missing_strata(kind, make):
    """A stratum that is unknown or missing is named by row position and column."""
    for wrong in ("other", None):
        with pytest.raises(
            ValueError,
            match=r"^row position 2, column 'band' must be one of \['low', 'high'\], got another or a missing one$",
        ):
            stratified(kind, make(["low", "high", wrong, "low"]), epsilon_by=BY_NAME)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("keys", [(1, 2), ("1", "2")])
def test_strata_of_integers(kind, keys):
    """Integers name strata by their text too."""
    band = np.array([1, 2, 1, 2], np.int16)
    got = stratified(kind, band, epsilon_by=dict(zip(keys, [1, "0.125"], strict=True)))
    assert same(got, stratified(kind, ["low", "high", "low", "high"], epsilon_by=BY_NAME))


def test_strata_that_do_not_fit():
    """Floats and bools tell no strata; nor does a noised column; strata must differ as text."""
    for band, told in ((np.arange(4.0), "float64"), (np.ones(4, np.bool_), "bool")):
        with pytest.raises(
            TypeError, match=f"^column 'band' must hold text, integers or categories to tell strata, got dtype {told}$"
        ):
            stratified("pandas", band, epsilon_by=BY_NAME)
    with pytest.raises(ValueError, match=r"^strata must differ as text, got \[1, '1'\]$"):
        stratified("pandas", np.ones(4, np.int64), epsilon_by={1: 1, "1": 1})
    with pytest.raises(ValueError, match=r"^columns must not name the column that tells strata, got 'band'$"):
        stratified("pandas", np.ones(4, np.int64), epsilon_by={1: 1}, columns=["x", "band"])
    with pytest.raises(
        ValueError, match=r"^strata must name columns of the table, got 'bands'; there are: 'x', 'band'$"
    ):
        stratified("pandas", np.ones(4, np.int64), epsilon_by={1: 1}, strata="bands")
    with pytest.raises(ValueError, match=r"^strata_public must be True"):
        stratified("pandas", np.ones(4, np.int64), epsilon_by={1: 1}, local=True, clip=(0, 1), sensitivity=None)


def test_strata_of_persons_and_the_only_numeric_column():
    """The column of strata is not taken for the numeric one; persons with public strata pay the largest epsilon."""
    ledger = PrivacyLedger(1)
    frame = pd.DataFrame({"band": [1, 2], "x": [0.5, 3.0]})
    asked = {"mechanism": "stratified", "strata": "band", "epsilon_by": {1: 1, 2: "0.5"}, "local": True}
    got = tables.add_noise(frame, clip=(0, 1), strata_public=True, ledger=ledger, **asked)
    assert got["band"].tolist() == [1, 2]
    assert (got["x"] != frame["x"]).all()
    assert ledger.spent.epsilon == 1


def test_the_charge_comes_before_strata_are_read():
    """Strata stand in the table: whether they are known shows after the charge."""
    ledger = PrivacyLedger(2)
    frame = pd.DataFrame({"band": ["low", "odd"], "x": [0.5, 3.0]})
    with pytest.raises(ValueError, match=r"^row position 1, column 'band'"):
        tables.add_noise(frame, mechanism="stratified", strata="band", epsilon_by=BY_NAME, sensitivity=1, ledger=ledger)
    assert ledger.spent.epsilon == Fraction(9, 8)
