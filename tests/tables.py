"""Tables for the tests of Parquet and Arrow files, and what their noised columns must hold."""

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lapnoise import DiscreteLaplaceMechanism, LaplaceMechanism, default_rng
from lapnoise.errors import SeededNoiseWarning
from lapnoise.files import add_noise

SEED = 7


def write(table: pa.Table, path: Path, **options) -> Path:
    """Write a table in the format that the name says."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, **options)
    else:
        with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            writer.write_table(table)
    return path


def read(path: Path) -> pa.Table:
    """Read a file of either format."""
    return pq.ParquetFile(path).read() if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()


def noised(source: Path, target: Path | None = None, **options):
    """Return the receipt of a seeded run with epsilon 0.5 and sensitivity 1, and what it wrote."""
    target = target or source.with_name(f"t{source.suffix}")
    asked = {"epsilon": 0.5, "sensitivity": 1, "seed": SEED, "force": True, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        receipt = add_noise(source, target, **{key: value for key, value in asked.items() if value is not None})
    return receipt, None if target.is_dir() or not target.exists() else read(target)


def expected(values, *given, mechanism=None, integers: bool = False) -> np.ndarray:
    """Return a column with the noise of the seed, by default on the lattice for as many cells as it has."""
    if mechanism is None:
        kind = DiscreteLaplaceMechanism if integers else LaplaceMechanism
        mechanism = kind(epsilon=0.5, sensitivity=1, **({} if integers else {"changed": max(len(values), 1)}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        return mechanism.add_noise(np.asarray(values), *given, rng=default_rng(SEED, rounds=20))


def with_garbage(valid: list[bool], values: np.ndarray) -> pa.Array:
    """Return an array that is missing where ``valid`` says False, whatever number lies there."""
    bits = np.packbits(np.array(valid), bitorder="little")
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(values.dtype), len(values), [pa.py_buffer(bits), pa.py_buffer(values)]
    )
