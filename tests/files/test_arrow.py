"""Arrow IPC files noised: what is theirs alone; tests that hold for both formats stand with those of Parquet."""

import gc

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
import tables

from lapnoise.errors import InputDataError
from lapnoise.files import _batches, add_noise
from lapnoise.files._ipc_messages import batch_messages


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_compression_stays(tmp_path, codec):
    table = pa.table({"x": np.arange(1000.0), "s": ["text"] * 1000})
    source = tables.write(table, tmp_path / "s.arrow", compression=codec)
    tables.noised(source)
    found = list(batch_messages(pa.py_buffer((tmp_path / "t.arrow").read_bytes())))
    assert [(message.rows, message.codec) for message in found] == [(1000, codec)]


@pytest.mark.parametrize("codec", ["uncompressed", "lz4", "zstd"])
def test_feather_version_2(tmp_path, codec):
    source = tmp_path / "s.feather"
    pyarrow.feather.write_feather(pa.table({"x": [1.0, 2.0], "s": ["a", None]}), source, compression=codec)
    receipt, _ = tables.noised(source, tmp_path / "t.feather")
    got = pyarrow.feather.read_table(tmp_path / "t.feather")
    assert got["x"].to_pylist() == tables.expected([1.0, 2.0]).tolist()
    assert got["s"].to_pylist() == ["a", None]
    assert (receipt.format, receipt.rows) == ("arrow", 2)


def test_format_by_option(tmp_path):
    source = tables.write(pa.table({"x": [1.0]}), tmp_path / "s.arrow").rename(tmp_path / "s.dat")
    assert add_noise(source, tmp_path / "t.dat", epsilon=1, sensitivity=1, format="arrow").format == "arrow"
    with pytest.raises(InputDataError, match="the file does not begin as a Parquet file does"):
        add_noise(source, tmp_path / "u.dat", epsilon=1, sensitivity=1, format="parquet")


def test_pieces_of_a_batch_hold_their_own_text_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(_batches, "PIECE_ROWS", 100)
    monkeypatch.setattr(_batches, "_LEAST_PIECE_ROWS", 100)
    texts = [f"a text that is not in the view itself, {i}" for i in range(2000)]
    nested = pl.Series([[text] for text in texts])
    source = tmp_path / "s.arrow"
    pl.DataFrame({"x": np.arange(2000.0), "s": texts, "l": nested, "st": [{"a": text} for text in texts]}).write_ipc(
        source
    )
    assert tables.read(source).schema.field("s").type == pa.string_view()
    _, got = tables.noised(source, columns="x")
    assert got.drop(["x"]).equals(tables.read(source).drop(["x"]))
    assert (tmp_path / "t.arrow").stat().st_size < 1.5 * source.stat().st_size


def test_notes_of_batches_and_of_the_file(tmp_path):
    source = tmp_path / "s.arrow"
    table = pa.table({"x": [1.0]}).replace_schema_metadata({"k": "v"})
    with pa.ipc.new_file(source, table.schema, metadata={"footer": "kept"}) as writer:
        writer.write_table(table)
    tables.noised(source)
    reader = pa.ipc.open_file(tmp_path / "t.arrow")
    assert (reader.schema.metadata, reader.metadata) == ({b"k": b"v"}, {b"footer": b"kept"})


def test_dictionaries_that_grow(tmp_path):
    source = tmp_path / "s.arrow"
    kind = pa.dictionary(pa.int8(), pa.string())
    schema = pa.schema({"x": pa.float64(), "c": kind})
    parts = [pa.DictionaryArray.from_arrays(pa.array([k], pa.int8()), ["a", "b", "c"][: k + 1]) for k in range(3)]
    with pa.ipc.new_file(source, schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as writer:
        for part in parts:
            writer.write_batch(pa.RecordBatch.from_arrays([pa.array([1.0]), part], schema=schema))
    _, got = tables.noised(source)
    assert got["c"].to_pylist() == ["a", "b", "c"]
    assert got["c"].type == kind


def file_bytes(rows: int = 1000, **options) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"x": np.arange(float(rows)), "s": ["text"] * rows})
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def stream_bytes() -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"x": [1.0]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def with_bad_offsets() -> bytes:
    data = bytearray(file_bytes())
    place = data.index(np.arange(0, 40, 4, dtype=np.int32).tobytes())  # of the text
    data[place + 20 : place + 24] = b"\xff\xff\xff\x7f"
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"FEA1" + bytes(100), "the file is of Feather version 1; only version 2 is read"),
        (stream_bytes(), "the file is a stream; only files are read"),
        (b"PAR1" + bytes(100), "the file does not begin as an Arrow file does"),
        (b"ARR", "the file does not begin as an Arrow file does"),
        (file_bytes()[:500], "the file ends early: it does not end as an Arrow file does"),
        (file_bytes()[:500] + b"ARROW1", "the footer of the Arrow file cannot be read: the file is damaged"),
        (b"ARROW1", "the footer of the Arrow file cannot be read: the file is damaged"),
        (with_bad_offsets(), "record batch 1 of 1 cannot be read: the file is damaged"),
    ],
)
def test_damaged_files(tmp_path, data, message):
    source = tmp_path / "s.arrow"
    source.write_bytes(data)
    with pytest.raises(InputDataError, match=f"^{message}$"):
        add_noise(source, tmp_path / "t.arrow", epsilon=1, sensitivity=1, columns="x")
    assert list(tmp_path.iterdir()) == [source]


def test_a_compressed_batch_that_is_damaged(tmp_path):
    data = bytearray(file_bytes(compression="zstd"))
    start = data.index(b"\x28\xb5\x2f\xfd")
    data[start : start + 40] = bytes(40)
    source = tmp_path / "s.arrow"
    source.write_bytes(data)
    with pytest.raises(InputDataError, match="record batch 1 of 1 cannot be read: the file is damaged"):
        add_noise(source, tmp_path / "t.arrow", epsilon=1, sensitivity=1)
    gc.collect()
    assert list(tmp_path.iterdir()) == [source]
