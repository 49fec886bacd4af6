"""A run as a whole: arguments, receipt, order of checks, and sources that change."""

import hashlib
import json
import math
import os
import subprocess
import sys
import time
import warnings
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import lapnoise
from lapnoise.errors import InputDataError, OutputError, SeededNoiseWarning
from lapnoise.files import _npy, _rows, add_noise


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a,n\nx,1\ny,\nz,3\n")
    return path


def test_receipt(source):
    target = source.with_name("t.csv")
    with pytest.warns(SeededNoiseWarning, match="came from a seed"):
        receipt = add_noise(str(source), target, epsilon="0.5", sensitivity=Decimal(3), seed=1)
    got = receipt.to_dict()
    assert json.loads(json.dumps(got)) == got
    assert got.pop("elapsed_seconds") > 0
    assert got.pop("warning") == "The noise came from a seed, so that it can be drawn again: it protects nobody."
    assert "the whole file costs epsilon" in got.pop("cost")
    absent = ["clip", "clamp", "fill", "strata", "epsilon_by", "strata_per_person", "scale_by_stratum"]
    assert [got.pop(name) for name in absent] == [None] * 7
    assert abs(datetime.fromisoformat(got.pop("finished")).timestamp() - time.time()) < 100
    assert got.pop("missing") == ["", "NA", "NaN", "None", "nan", "null"]
    assert got == {
        "version": lapnoise.__version__,
        "source": str(source),
        "target": str(target),
        "format": "csv",
        "columns": ["n"],
        "types": ["decimal -> float64"],
        "local": False,
        "rows": 3,
        "cells_noised": 2,
        "cells_missing": 1,
        "epsilon": "1/2",
        "epsilon_float": 0.5,
        "epsilon_attained": "1/2",
        "epsilon_attained_float": 0.5,
        "delta": "0",
        "delta_attained": "0",
        "sensitivity": "3",
        "sensitivity_float": 3.0,
        "changed": 3,
        "scale": 6.0 + 2**-20,  # (ceil(3 / 2^-22) + 2) 2^-22 / epsilon
        "granularity": 2.0**-22,
        "mechanism": "laplace",
        "generator": "chacha20",
        "seeded": True,
        "hardened": True,
        "dry_run": False,
        "ledger": None,
        "ledger_entry": None,
        "source_sha256": None,
        "target_sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
    }


def test_receipt_holds_nothing_of_the_source_unless_asked(source):
    receipt = add_noise(source, source.with_name("t.csv"), epsilon=1, sensitivity=1)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    assert digest not in str(receipt)
    receipt = add_noise(source, source.with_name("u.csv"), epsilon=1, sensitivity=1, digest_source=True)
    assert receipt.source_sha256 == digest


def test_seed_gives_the_same_bytes_twice(source):
    for name in ("a.csv", "b.csv"):
        with pytest.warns(SeededNoiseWarning):
            add_noise(source, source.with_name(name), epsilon=1, sensitivity=1, seed=[3, 4])
    assert source.with_name("a.csv").read_bytes() == source.with_name("b.csv").read_bytes()


def test_the_seeded_warning_comes_once(tmp_path, monkeypatch):
    monkeypatch.setattr(_rows, "BLOCK_BYTES", 8)
    source = tmp_path / "s.csv"
    source.write_text("n\n" + "1\n" * 100)
    for mechanism in ("laplace", "discrete-laplace"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            add_noise(source, tmp_path / "t.csv", epsilon=1, sensitivity=1, seed=1, mechanism=mechanism, force=True)
        assert [warning.category for warning in caught] == [SeededNoiseWarning]


def test_no_warning_without_a_seed(source):
    receipt = add_noise(source, source.with_name("t.csv"), epsilon=1, sensitivity=1)
    assert (receipt.warning, receipt.seeded, receipt.hardened) == (None, False, True)


@pytest.mark.parametrize(
    ("changed", "expected"),
    # Of 3 cells 1 changes by 1 at most, or k together: (ceil(1 / r) + k - 1) r / epsilon, r = 2^-24 for k up to 16.
    [(None, 1 + 2 * 2**-24), (1, 1.0), (2, 1 + 2**-24), (16, 1 + 15 * 2**-24), (10**6, 1 + 999_999 * 2**-40)],
)
def test_changed(source, changed, expected):
    receipt = add_noise(source, source.with_name("t.csv"), epsilon=1, sensitivity=1, changed=changed)
    assert receipt.changed == (3 if changed is None else changed)
    assert receipt.scale == expected
    assert receipt.granularity == (2.0**-40 if changed == 10**6 else 2.0**-24)
    assert Fraction(receipt.epsilon_attained) == 1


def test_changed_does_not_matter_to_discrete_noise(source):
    receipts = [
        add_noise(source, source.with_name("t.csv"), epsilon=1, sensitivity=2, mechanism=kind, force=True, **options)
        for kind, options in [("discrete-laplace", {}), ("discrete-laplace", {"changed": 2})]
    ]
    assert [(r.scale, r.granularity, r.epsilon_attained, r.changed) for r in receipts] == [
        (2.0, 1.0, "1", 3),
        (2.0, 1.0, "1", 2),
    ]


def test_dry_run_makes_nothing(source):
    receipt = add_noise(source, source.with_name("t.csv"), epsilon=1, sensitivity=1, dry_run=True)
    assert (receipt.dry_run, receipt.target_sha256, receipt.rows, receipt.cells_noised) == (True, None, 3, 2)
    assert list(source.parent.iterdir()) == [source]


def test_amounts_beyond_the_floats(source):
    receipt = add_noise(source, source.with_name("t.csv"), epsilon="1e400", sensitivity="1e401", dry_run=True)
    assert receipt.scale == math.nextafter(10.0, 11.0)  # three steps more than 10 / r come to 2^-20 10^-400
    assert (receipt.epsilon_float, receipt.sensitivity_float) == (None, None)
    assert Fraction(9, 10) < Fraction(receipt.epsilon_attained) / 10**400 < 1
    receipt = add_noise(source, source.with_name("t.csv"), epsilon="1e5000", sensitivity=Fraction(1, 3))
    # The finest lattice of floats attains far less than was asked, and its noise is 0 but for a chance below e^-1000.
    assert (receipt.epsilon, receipt.sensitivity, receipt.scale) == ("1e5000", "1/3", 0.0)
    assert receipt.granularity == 5e-324
    assert Fraction(10) ** 600 < Fraction(receipt.epsilon_attained) < Fraction(10) ** 700
    assert source.with_name("t.csv").read_text() == "a,n\nx,1.0\ny,\nz,3.0\n"


def test_attained_epsilon_of_more_digits_than_python_writes(source):
    receipt = add_noise(source, source.with_name("t.csv"), epsilon="1e5000", sensitivity="1e5000", dry_run=True)
    assert receipt.scale == math.nextafter(1.0, 2.0)
    # sys.get_int_max_str_digits() is 4300; decimal has no such limit.
    numerator, denominator = (int(Decimal(part)) for part in receipt.epsilon_attained.split("/"))
    assert 1 - Fraction(1, 2**50) < Fraction(numerator, denominator) / 10**5000 < 1


def test_discrete_scale_beyond_the_floats(source):
    receipt = add_noise(
        source, source.with_name("t.csv"), epsilon="1e-400", sensitivity=1, mechanism="discrete-laplace"
    )
    assert (receipt.scale, receipt.granularity, receipt.epsilon_attained_float) == (None, 1.0, 0.0)
    cells = [int(line.split(",")[1] or 0) for line in source.with_name("t.csv").read_text().splitlines()[1:]]
    assert [abs(cell) for cell in cells] == [2**63 - 1, 0, 2**63 - 1]


def test_progress(source, monkeypatch):
    monkeypatch.setattr(_rows, "BLOCK_BYTES", 8)
    calls = []
    add_noise(source, source.with_name("t.csv"), epsilon=1, sensitivity=1, progress=lambda *call: calls.append(call))
    checks = [call for call in calls if call[0] == "check"]
    noises = [call for call in calls if call[0] == "noise"]
    assert calls == checks + noises
    assert checks[-1] == ("check", "rows", 3, None)
    assert noises[-1] == ("noise", "rows", 3, 3)
    assert [call[2] for call in noises] == sorted({call[2] for call in noises})


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"epsilon": 0}, ValueError, "epsilon must be finite and > 0, got 0"),
        ({"epsilon": -1.0}, ValueError, r"epsilon must be finite and > 0, got -1\.0"),
        ({"epsilon": "nan"}, ValueError, "epsilon must be finite and > 0, got 'nan'"),
        ({"epsilon": float("inf")}, ValueError, "epsilon must be finite and > 0, got inf"),
        ({"epsilon": "half"}, TypeError, "epsilon must be a number"),
        ({"epsilon": None}, ValueError, "epsilon must be given for mechanism 'laplace'"),
        ({"sensitivity": 0}, ValueError, "sensitivity must be finite and > 0, got 0"),
        ({"sensitivity": True}, TypeError, "sensitivity must be a number"),
        (
            {"sensitivity": 1e308, "epsilon": 1e-9},
            OverflowError,
            "scale and granularity must be floats to release floats, got scale inf",
        ),
        ({"mechanism": "gauss"}, ValueError, "mechanism must be one of 'laplace', .*, got 'gauss'"),
        ({"mechanism": 1}, ValueError, "mechanism must be one of 'laplace', .*, got 1"),
        ({"progress": 5}, TypeError, "progress must be callable, got 5"),
        ({"changed": 0}, ValueError, "changed must be >= 1, got 0"),
        ({"changed": 1.0}, TypeError, r"changed must be an int, got 1\.0"),
        ({"changed": -1, "mechanism": "discrete-laplace"}, ValueError, "changed must be >= 1, got -1"),
        ({"columns": []}, ValueError, "columns must name at least one column"),
        ({"columns": ["n", " "]}, ValueError, "no empty name"),
        ({"columns": ["n", "n"]}, ValueError, "columns must name each column once"),
        ({"columns": 3}, TypeError, "columns must be names"),
        ({"columns": [b"n"]}, TypeError, "columns must be names"),
        ({"delimiter": ""}, ValueError, "delimiter must be one ASCII character"),
        ({"delimiter": ";;"}, ValueError, "delimiter must be one ASCII character"),
        ({"delimiter": "é"}, ValueError, "delimiter must be one ASCII character"),
        ({"delimiter": '"'}, ValueError, "delimiter must be one ASCII character"),
        ({"delimiter": "."}, ValueError, "delimiter must be one ASCII character"),
        ({"delimiter": "\n"}, ValueError, "delimiter must be one ASCII character"),
        ({"delimiter": 44}, TypeError, "delimiter must be one character of text"),
        ({"quote": ""}, ValueError, "quote must be one ASCII character"),
        ({"quote": "none"}, ValueError, "quote must be one ASCII character"),
        ({"quote": "é"}, ValueError, "quote must be one ASCII character"),
        ({"quote": "a"}, ValueError, "quote must be one ASCII character"),
        ({"quote": "7"}, ValueError, "quote must be one ASCII character"),
        ({"quote": "."}, ValueError, "quote must be one ASCII character"),
        ({"quote": "+"}, ValueError, "quote must be one ASCII character"),
        ({"quote": "-"}, ValueError, "quote must be one ASCII character"),
        ({"quote": "_"}, ValueError, "quote must be one ASCII character"),
        ({"quote": " "}, ValueError, "quote must be one ASCII character"),
        ({"quote": "\t"}, ValueError, "quote must be one ASCII character"),
        ({"quote": "\n"}, ValueError, "quote must be one ASCII character"),
        ({"quote": "\r"}, ValueError, "quote must be one ASCII character"),
        ({"quote": "\0"}, ValueError, "quote must be one ASCII character"),
        ({"quote": ","}, ValueError, "quote must be another character than the delimiter, got ','"),
        ({"quote": ";", "delimiter": ";"}, ValueError, "quote must be another character than the delimiter, got ';'"),
        ({"quote": 39}, TypeError, "quote must be one character of text or None"),
        ({"missing": "NA"}, TypeError, "missing must be a sequence of texts"),
        ({"missing": [1]}, TypeError, "missing must be a sequence of texts"),
        ({"format": "xls"}, ValueError, "format must be one of 'csv', .*, got 'xls'"),
        ({"seed": -1}, ValueError, "seed"),
        ({"seed": True}, TypeError, "seed"),
        ({"threads": 0}, ValueError, "threads"),
    ],
)
def test_arguments_that_are_refused(source, options, kind, message):
    with pytest.raises(kind, match=message):
        add_noise(source, source.with_name("t.csv"), **{"epsilon": 1, "sensitivity": 1, **options})
    assert list(source.parent.iterdir()) == [source]


def test_largest_scale_is_accepted(source):
    receipt = add_noise(source, source.with_name("t.csv"), epsilon=1, sensitivity=2.0**1023, columns="n", changed=1)
    assert receipt.scale == 2.0**1023
    assert np.isfinite(np.genfromtxt(source.with_name("t.csv"), delimiter=",", skip_header=1)[[0, 2], 1]).all()


def test_formats_by_name(source):
    with pytest.raises(
        ValueError, match=r"source must end in one of \.csv, \.tsv, .*\.npy.* unless format is given, got suffix '\.t"
    ):
        add_noise(source.with_suffix(".txt"), "t.txt", epsilon=1, sensitivity=1)
    with pytest.raises(ValueError, match=r"target must have the format of the source, csv, got suffix '\.npy'"):
        add_noise(source, source.with_suffix(".npy"), epsilon=1, sensitivity=1)
    upper = source.rename(source.with_name("S.CSV"))
    assert add_noise(upper, source, epsilon=1, sensitivity=1).format == "csv"


def test_sources_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        add_noise(tmp_path / "absent.csv", tmp_path / "t.csv", epsilon=1, sensitivity=1)
    (tmp_path / "directory.csv").mkdir()
    with pytest.raises(IsADirectoryError):
        add_noise(tmp_path / "directory.csv", tmp_path / "t.csv", epsilon=1, sensitivity=1)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="source must be a regular file, since it is read twice"):
        add_noise(tmp_path / "pipe.csv", tmp_path / "t.csv", epsilon=1, sensitivity=1)
    assert not (tmp_path / "t.csv").exists()


def test_existing_target_needs_force(source):
    target = source.with_name("t.csv")
    target.write_text("old")
    with pytest.raises(OutputError, match="target exists"):
        add_noise(source, target, epsilon=1, sensitivity=1)
    assert target.read_text() == "old"
    add_noise(source, target, epsilon=1, sensitivity=1, force=True)
    assert target.read_text().startswith("a,n\nx,")


def test_a_target_that_appears_during_the_run_stays(source):
    target = source.with_name("t.csv")

    def appear(stage: str, *_):
        if stage == "noise":
            target.write_text("theirs")

    with pytest.raises(OutputError, match="appeared while it was being written"):
        add_noise(source, target, epsilon=1, sensitivity=1, progress=appear)
    assert target.read_text() == "theirs"
    assert sorted(source.parent.iterdir()) == [source, target]


@pytest.mark.parametrize(
    "changed",
    [
        "a,n\nx,2\ny,\nz,3\n",
        "a,n\nx,1\ny,\nz,3\nw,4\n",
        "a,n\nx,1\n",
        "a,n\nx,1\ny,\nz,secret\n",
        "a,n\nx,1\ny,\nz\n",
        "n,a\n1,x\n,y\n3,z\n",
        "",
    ],
)
def test_a_source_that_changes_between_the_readings(source, changed):
    before = source.stat()

    def change(stage: str, *_):
        source.write_text(changed)
        # As a change within the resolution of the clock would look.
        os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(InputDataError, match="the source changed while it was being read; nothing was written"):
        add_noise(source, source.with_name("t.csv"), epsilon=1, sensitivity=1, progress=change)
    assert list(source.parent.iterdir()) == [source]


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_that_changes_between_the_readings(tmp_path, monkeypatch, order):
    monkeypatch.setattr(_npy, "MAPPED_VALUES", 4)
    source = tmp_path / "s.npy"
    np.save(source, np.asarray(np.zeros((4, 4)), order=order))

    def change(stage: str, *_):
        if stage == "noise":
            np.save(source, np.ones((4, 4)))

    with pytest.raises(InputDataError, match="the source changed while it was being read; nothing was written"):
        add_noise(source, tmp_path / "t.npy", epsilon=1, sensitivity=1, progress=change)
    assert list(tmp_path.iterdir()) == [source]


def test_source_replaced_by_another_file_has_no_effect(source):
    def replace(stage: str, *_):
        if stage == "check":
            other = source.with_name("other.csv")
            other.write_text("b,m\n")
            other.replace(source)

    add_noise(source, source.with_name("t.csv"), epsilon=1, sensitivity=1, progress=replace)
    assert source.with_name("t.csv").read_text().startswith("a,n\nx,")


# The peak of this process alone: ru_maxrss of a child begins at that of its parent.
PEAK = """
import re, sys
from pathlib import Path
from lapnoise.files import _cell_noise, _npy, add_noise
_npy.MAPPED_VALUES = 1 << 18
_cell_noise.CellNoise.add = lambda self, values, *_: _cell_noise.Noised(values, None)
_cell_noise.CellNoise.add_to_points = lambda self, points, *_: _cell_noise.Noised(points.base, None)
add_noise(sys.argv[1], sys.argv[2], epsilon=1, sensitivity=1, columns=sys.argv[3:] or None)
print(re.search("VmHWM:[^0-9]*([0-9]+) kB", Path("/proc/self/status").read_text())[1])
"""
only_with_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")


def peak_mebibytes(source, target, *columns) -> float:
    command = [sys.executable, "-c", PEAK, str(source), str(target), *columns]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


@only_with_proc
def test_memory_does_not_grow_with_a_csv_file(tmp_path):
    peaks = []
    for megabytes in (15, 60):
        source = tmp_path / f"{megabytes}.csv"
        source.write_text("a,n\n" + 'abc,123\n"d",4\n' * (megabytes * 1_000_000 // 14))
        peaks.append(peak_mebibytes(source, tmp_path / f"{megabytes}.out.csv", "n"))
    assert peaks[1] - peaks[0] < 25  # of the 45 that came with it; the heap takes some to settle


@only_with_proc
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_does_not_grow_with_an_array(tmp_path, order):
    peaks = []
    for rows in (3_000_000, 10_000_000):
        source = tmp_path / f"{rows}.npy"
        np.save(source, np.asarray(np.zeros((rows, 2), np.float32), order=order))
        peaks.append(peak_mebibytes(source, tmp_path / f"{rows}.out.npy"))
        source.unlink()
    assert peaks[1] - peaks[0] < 20


@pytest.mark.parametrize("target", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("force", [False, True])
def test_devices_as_targets_are_refused(source, target, force):
    with pytest.raises(ValueError, match=f"target must be a file that can appear at once, or '-' .* got '{target}'"):
        add_noise(source, target, epsilon=1, sensitivity=1, force=force)


@pytest.mark.parametrize(("source", "target"), [("-", "t.npy"), ("s.npy", "-")])
def test_streams_are_csv(source, target):
    with pytest.raises(ValueError, match="source and target must be files for format 'npy', got '-'"):
        add_noise(source, target, epsilon=1, sensitivity=1, format="npy")
