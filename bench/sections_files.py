"""The report's part on files: noise in a file against the same file only copied, and the memory that it takes."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import probes
from bench.rows import Row, cost, plain
from bench.sections import Plan
from bench.timing import Timed, interleave
from lapnoise import files

__all__ = ["FILE_SECTIONS", "rows_bulk"]

EPSILON, SENSITIVITY = 1, 1
COLUMN = "y"


def rows_bulk(plan: Plan) -> Iterator[Row]:
    """Compare noise in one float64 column of a file, or in an array, with a copy of the file by who copies it best."""
    large = plan.repeats > 10
    rows, repeats = (20_000_000, 5) if large else (2_000_000, 3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "s.npy", _numbers(rows))
        yield from _compared(folder, "npy", rows, "cp", lambda: _cp(folder), repeats)
        if importlib.util.find_spec("pyarrow") is None:
            return
        _write_table(folder / "s.parquet", rows)
        yield from _compared(folder, "parquet", rows, "pyarrow's copy", lambda: _copy_parquet(folder), repeats)
        (folder / "s.parquet").unlink()
        rows = rows // 4
        _write_csv(folder / "s.csv", rows)
        yield from _compared(folder, "csv", rows, "pyarrow reads and writes", lambda: _copy_csv(folder), repeats)


def _compared(
    folder: Path, suffix: str, rows: int, reference: str, copy: Callable[[], Any], repeats: int
) -> Iterator[Row]:
    columns = None if suffix == "npy" else COLUMN
    megabytes = (folder / f"s.{suffix}").stat().st_size / 1e6
    what = "float64" if suffix == "npy" else "rows of four columns, one float64 noised"
    group = f"{suffix}: {rows:,} {what}, {megabytes:.0f} MB (ns a row)"

    def noise(threads: int | None) -> None:
        files.add_noise(
            folder / f"s.{suffix}",
            folder / f"t.{suffix}",
            epsilon=EPSILON,
            sensitivity=SENSITIVITY,
            columns=columns,
            force=True,
            threads=threads,
        )

    def durable() -> None:
        copy()
        subprocess.run(["sync", str(folder / f"c.{suffix}")], check=True)

    durable_copy, ours, single = f"{reference}, then sync", "lapnoise, with sync", "lapnoise, threads=1"
    tasks = [
        Timed(reference, copy, rows, None),
        Timed(durable_copy, durable, rows, None),
        Timed(ours, lambda: noise(None), rows, None),
        Timed(single, lambda: noise(1), rows, None),
    ]
    measured = interleave(tasks, repeats)
    yield plain(group, reference, measured[reference], None)
    yield plain(group, durable_copy, measured[durable_copy], None)
    yield cost(group, ours, measured[ours], (reference, measured[reference]), None, f"bulk {suffix}")
    yield cost(group, ours, measured[ours], (durable_copy, measured[durable_copy]), None)
    yield cost(group, single, measured[single], (reference, measured[reference]), 1)
    peak = probes.file_peak(folder / f"s.{suffix}", folder / f"p.{suffix}", columns)
    yield Row(group, "peak memory of the process", peak, "B", None, target="bulk memory", judged=peak)
    for left in folder.glob(f"[ctp].{suffix}"):
        left.unlink()


def _numbers(rows: int) -> Any:
    return np.random.default_rng(1).normal(size=rows)


def _table(rows: int, first: int, count: int) -> Any:
    import pyarrow as pa

    rng = np.random.default_rng(first)
    kinds = np.array(["alpha", "beta", "gamma", "delta"])[rng.integers(0, 4, count)]
    return pa.table(
        {
            "id": np.arange(first, first + count),
            "x": np.round(rng.normal(100, 30, count), 2),
            COLUMN: rng.normal(size=count),
            "kind": pa.array(kinds),
        }
    )


_PIECE = 1 << 20


def _write_table(path: Path, rows: int) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, _table(rows, 0, 1).schema) as writer:
        for first in range(0, rows, _PIECE):
            writer.write_table(_table(rows, first, min(_PIECE, rows - first)))


def _write_csv(path: Path, rows: int) -> None:
    from pyarrow import csv

    with csv.CSVWriter(path, _table(rows, 0, 1).schema) as writer:
        for first in range(0, rows, _PIECE):
            writer.write_table(_table(rows, first, min(_PIECE, rows - first)))


def _cp(folder: Path) -> None:
    if shutil.which("cp"):
        subprocess.run(["cp", str(folder / "s.npy"), str(folder / "c.npy")], check=True)
    else:
        shutil.copyfile(folder / "s.npy", folder / "c.npy")


def _copy_parquet(folder: Path) -> None:
    import pyarrow.parquet as pq

    source = pq.ParquetFile(folder / "s.parquet")
    with pq.ParquetWriter(folder / "c.parquet", source.schema_arrow) as writer:
        for group in range(source.num_row_groups):
            writer.write_table(source.read_row_group(group))


def _copy_csv(folder: Path) -> None:
    from pyarrow import csv

    with csv.open_csv(folder / "s.csv") as reader, csv.CSVWriter(folder / "c.csv", reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


FILE_SECTIONS = (rows_bulk,)
