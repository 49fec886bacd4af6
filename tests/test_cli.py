"""The command line: exit codes, streams, messages, and ending well when it is told to stop."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import file_oracle
import numpy as np
import pytest

import lapnoise
from lapnoise import _console, _release, default_rng
from lapnoise.cli import main

# Tests run elsewhere than where they were started, so a relative path would not lead to the package.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(lapnoise.__file__).parents[1])}
EXAMPLE = Path(__file__).parents[1] / "examples" / "us_population_2000.csv"
AMOUNTS = ["--epsilon", "0.5", "--sensitivity", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("a,n\nx,1\ny,\nz,3\n")
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_main_job_on_the_shipped_example(folder, capsys):
    assert main(["noise", str(EXAMPLE), "t.csv", *AMOUNTS]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert all(line.startswith("lapnoise: ") for line in lines)
    assert lines[0].endswith("t.csv: 38 cells in people noised, 0 missing, 38 rows")
    assert lines[1] == (
        "lapnoise: laplace noise of scale 2.0000011 in steps of 1.49011612e-08, for sensitivity 1 and at most 38 cells "
        "changed by one person"
    )
    assert lines[2] == "lapnoise: the whole file costs epsilon 1/2 (attained: 0.5)"
    assert len(lines) == 4
    before, after = EXAMPLE.read_text().splitlines(), Path("t.csv").read_text().splitlines()
    assert [line.rsplit(",", 1)[0] for line in before] == [line.rsplit(",", 1)[0] for line in after]
    differences = [
        float(new.rsplit(",", 1)[1]) - float(old.rsplit(",", 1)[1])
        for old, new in zip(before[1:], after[1:], strict=True)
    ]
    # P(abs(noise) > 100) = exp(-50) for one cell.
    assert 0 < max(map(abs, differences)) < 100
    assert len(set(differences)) == 38


def test_json_receipt(folder, capsys):
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--json", "--seed", "7"]) == 0
    out, err = capsys.readouterr()
    receipt = json.loads(out)
    assert out.count("\n") == 1
    assert (receipt["columns"], receipt["rows"], receipt["cells_noised"], receipt["changed"]) == (["n"], 3, 2, 3)
    assert (receipt["scale"], receipt["granularity"]) == (2 + 2**-21, 2**-23)
    assert (receipt["epsilon"], receipt["epsilon_attained"], receipt["epsilon_attained_float"]) == ("1/2", "1/2", 0.5)
    assert (receipt["mechanism"], receipt["generator"]) == ("laplace", "chacha20")
    assert (receipt["seeded"], receipt["hardened"], receipt["dry_run"]) == (True, True, False)
    assert err == "lapnoise: warning: The noise came from a seed, so that it can be drawn again: it protects nobody.\n"


def test_seed_gives_the_words_of_the_generator(folder, capsys):
    for target in ("t.csv", "u.csv"):
        assert main(["noise", "s.csv", target, *AMOUNTS, "--quiet", "--seed", "7"]) == 0
    first, _, third = file_oracle.draws(3, 0.5, 1)
    expected = f"a,n\nx,{file_oracle.released(1, first)!r}\ny,\nz,{file_oracle.released(3, third)!r}\n"
    assert Path("t.csv").read_text() == expected
    assert Path("u.csv").read_bytes() == Path("t.csv").read_bytes()
    assert capsys.readouterr().err.count("protects nobody") == 2


def test_the_seeded_warning_comes_once_beside_the_summary(folder, capsys):
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--seed", "7"]) == 0
    assert capsys.readouterr().err.count("protects nobody") == 1


@pytest.mark.parametrize("changed", [1, 2, 10**6])
def test_changed(folder, capsys, changed):
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--seed", "7", "--json", "--changed", str(changed)]) == 0
    receipt = json.loads(capsys.readouterr().out)
    first, _, third = file_oracle.draws(3, 0.5, 1, changed)
    expected = f"a,n\nx,{file_oracle.released(1, first)!r}\ny,\nz,{file_oracle.released(3, third)!r}\n"
    assert Path("t.csv").read_text() == expected
    assert (receipt["changed"], receipt["granularity"]) == (changed, 2.0**first.lattice.exponent)


def test_discrete_noise(folder, capsys):
    options = ["--mechanism", "discrete-laplace", "--seed", "7", "--json"]
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, *options]) == 0
    first, third = file_oracle.step_at(2.0, 0), file_oracle.step_at(2.0, 2)
    assert Path("t.csv").read_text() == f"a,n\nx,{1 + first}\ny,\nz,{3 + third}\n"
    receipt = json.loads(capsys.readouterr().out)
    assert (receipt["mechanism"], receipt["scale"], receipt["granularity"]) == ("discrete-laplace", 2.0, 1.0)
    assert main(["noise", "s.csv", "u.csv", *AMOUNTS, "--mechanism", "discrete-laplace"]) == 0
    assert "discrete-laplace noise of scale 2 in steps of 1, for sensitivity 1" in capsys.readouterr().err


def test_discrete_noise_takes_integers_only(folder, capsys):
    Path("s.csv").write_text("a,n\nx,1\nx,2.50\n")
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--mechanism", "discrete-laplace"]) == 3
    err = capsys.readouterr().err
    assert "data row 2 (line 3), column 'n' has a number that is no integer, where an integer of 64 bits" in err
    assert "2.50" not in err
    assert is_one_line(err)
    assert names(folder) == ["s.csv"]


def test_without_a_seed_output_differs(folder):
    for target in ("t.csv", "u.csv"):
        assert main(["noise", "s.csv", target, *AMOUNTS, "--quiet"]) == 0
    assert Path("u.csv").read_bytes() != Path("t.csv").read_bytes()


def test_quiet_says_nothing(folder, capsys):
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_dry_run_prints_the_plan_and_makes_nothing(folder, capsys):
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("s.csv -> t.csv: 2 cells in n (decimal -> float64) would be noised, 1 missing, 3 rows\n")
    assert out.splitlines()[1].startswith("laplace noise of scale 2.0")
    assert err == ""
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dry_run"] is True
    assert names(folder) == ["s.csv"]


def test_names_that_are_no_utf8_can_be_shown(folder, capfd):
    Path("s.csv").write_bytes("größe,a\n1,x\n".encode("latin-1"))
    for option in ("--dry-run", "--json", "--force"):
        assert main(["noise", "s.csv", "t.csv", *AMOUNTS, option]) == 0
        out, err = capfd.readouterr()
        assert r"gr\udcf6\udcdfe" in out + err


def test_force(folder):
    Path("t.csv").write_text("old")
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS]) == 4
    assert Path("t.csv").read_text() == "old"
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--force"]) == 0
    assert Path("t.csv").read_text().startswith("a,n\nx,")


@pytest.mark.parametrize("asked", [["--columns", "n,m"], ["--columns", "m", "--columns", " n"], ["--columns", '"n",m']])
def test_columns(folder, capsys, asked):
    Path("s.csv").write_text("n,m,k\n1,2,3\n")
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--json", *asked]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["n", "m"]


def test_a_column_with_a_comma_in_its_name(folder, capsys):
    Path("s.csv").write_text('"n, all",m\n1,2\n')
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--json", "--columns", '"n, all"']) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["n, all"]


@pytest.mark.parametrize("delimiter", ["\t", "tab", r"\t"])
def test_tab_as_delimiter(folder, delimiter):
    Path("s.csv").write_text("a\tn\nx\t1\n")
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--delimiter", delimiter]) == 0
    assert Path("t.csv").read_text().startswith("a\tn\nx\t")


def test_quotes(folder, capsys):
    Path("s.csv").write_text("'a,b',n\nx,'1'\n")
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--quote", "'"]) == 0
    assert re.fullmatch(r"'a,b',n\nx,-?[0-9.e+-]+\n", Path("t.csv").read_text())
    assert main(["noise", "s.csv", "u.csv", *AMOUNTS]) == 3
    Path("s.csv").write_text('"a,n\nx,1\n')
    assert main(["noise", "s.csv", "u.csv", *AMOUNTS]) == 3
    assert "line 1 opens a quote that is never closed" in capsys.readouterr().err
    assert main(["noise", "s.csv", "u.csv", *AMOUNTS, "--quote", "none"]) == 0
    assert Path("u.csv").read_text().startswith('"a,n\nx,')


def test_other_options(folder):
    Path("s.txt").write_text("n\n1\n-\n.\n")
    options = ["--format", "csv", "--missing", "-", "--missing", ".", "--threads", "1", "--quiet"]
    assert main(["noise", "s.txt", "t.txt", *AMOUNTS, *options]) == 0
    assert Path("t.txt").read_text().splitlines()[2:] == ["-", "."]


def test_npy(folder, capsys):
    np.save("s.npy", np.arange(6.0).reshape(2, 3))
    assert main(["noise", "s.npy", "t.npy", *AMOUNTS, "--seed", "7"]) == 0
    expected = [file_oracle.released(i, draw) for i, draw in enumerate(file_oracle.draws(6, 0.5, 1))]
    np.testing.assert_array_equal(np.load("t.npy"), np.reshape(expected, (2, 3)))
    assert "s.npy -> t.npy: 6 cells noised, 0 missing, 2 rows" in capsys.readouterr().err


USAGE = [
    ([], "Missing argument 'SRC'"),
    (["s.csv", "t.csv", "--epsilon", "1"], "Missing option '--sensitivity'"),
    (["s.csv", "t.csv", "--sensitivity", "1"], "Missing option '--epsilon'"),
    (["s.csv", "t.csv", *AMOUNTS, "--epsilon", "0"], "epsilon must be finite and > 0, got '0'"),
    (["s.csv", "t.csv", *AMOUNTS, "--epsilon", "-1"], "epsilon must be finite and > 0, got '-1'"),
    (["s.csv", "t.csv", *AMOUNTS, "--epsilon", "nan"], "epsilon must be finite and > 0, got 'nan'"),
    (["s.csv", "t.csv", *AMOUNTS, "--epsilon", "half"], "epsilon must be a number"),
    (["s.csv", "t.csv", *AMOUNTS, "--sensitivity", "inf"], "sensitivity must be finite and > 0, got 'inf'"),
    (["s.csv", "t.csv", *AMOUNTS, "--sensitivity", "1e308"], "scale and granularity must be floats to release floats"),
    (
        ["s.csv", "t.csv", *AMOUNTS, "--columns", "n,b"],
        "columns must name columns of the source, got 'b'; there are: 'a'",
    ),
    (["s.csv", "t.csv", *AMOUNTS, "--columns", ""], "columns must name at least one column"),
    (["s.csv", "t.csv", *AMOUNTS, "--seed", "-1"], "Invalid value for '--seed'"),
    (["s.csv", "t.csv", *AMOUNTS, "--changed", "0"], "Invalid value for '--changed'"),
    (["s.csv", "t.csv", *AMOUNTS, "--mechanism", "gauss"], "Invalid value for '--mechanism'"),
    (["s.csv", "t.csv", *AMOUNTS, "--threads", "0"], "Invalid value for '--threads'"),
    (["s.csv", "t.csv", *AMOUNTS, "--delimiter", "ab"], "delimiter must be one ASCII character"),
    (["s.csv", "t.csv", *AMOUNTS, "--quote", "None"], "quote must be one ASCII character"),
    (["s.csv", "t.csv", *AMOUNTS, "--quote", ","], "quote must be another character than the delimiter"),
    (["s.csv", "t.csv", *AMOUNTS, "--format", "xls"], "Invalid value for '--format'"),
    (["s.csv", "t.csv", *AMOUNTS, "--frobnicate"], "No such option"),
    (["s.csv", "t.csv", "u.csv", *AMOUNTS], "unexpected extra argument"),
    (["absent.csv", "t.csv", *AMOUNTS], "source cannot be read: 'absent.csv': No such file or directory"),
    (["s.csv/s.csv", "t.csv", *AMOUNTS], "source cannot be read: 's.csv/s.csv': Not a directory"),
    (["s.txt", "t.csv", *AMOUNTS], "source must end in one of .csv, .tsv"),
    (["s.csv", "t.npy", *AMOUNTS], "target must have the format of the source"),
    (["s.csv", "s.csv", *AMOUNTS, "--force"], "target must not be the source"),
    (["s.csv", "./s.csv", *AMOUNTS], "target must not be the source"),
    (["two.csv", "t.csv", *AMOUNTS], "columns must be given, since 2 columns are numeric: 'm', 'n'"),
    (["none.csv", "t.csv", *AMOUNTS], "columns must be given, since no column is numeric; there are: 'a'"),
]

BAD_INPUT = [
    ("", "the file is empty"),
    ("a,a\n1,2\n", "columns 1 and 2 have the same name"),
    ("a,\n1,2\n", "column 2 has no name"),
    ("a,n\nx,1\nx\n", "data row 2 (line 3) has 1 field, the header has 2"),
    ("a,n\nx,1\nx,secret\n", "data row 2 (line 3), column 'n' has text"),
    ("a,n\nx,1\nx,inf\n", "data row 2 (line 3), column 'n' has an infinite number"),
    ('a,n\nx,1\n"x,2\n', "line 3 opens a quote that is never closed"),
    ("a,n\nx,\0\n", "line 2 has a NUL byte"),
    ("a;n\nx;1\n", "--delimiter ';'"),
]


def is_one_line(text: str) -> bool:
    return text.startswith("lapnoise: ") and text.endswith("\n") and text.count("\n") == 1


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_usage_errors(folder, capsys, arguments, message):
    Path("two.csv").write_text("m,n\n1,2\n")
    Path("none.csv").write_text("a\nx\n")
    before = names(folder)
    assert main(["noise", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert is_one_line(err)
    assert names(folder) == before


@pytest.mark.parametrize(("text", "message"), BAD_INPUT)
def test_bad_input(folder, capsys, text, message):
    Path("s.csv").write_text(text)
    columns = ["--columns", "n"] if text.startswith("a,n") else []
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, *columns]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "secret" not in err
    assert err.startswith("lapnoise: s.csv: ")
    assert is_one_line(err)
    assert names(folder) == ["s.csv"]


def test_truncated_array(folder, capsys):
    np.save("s.npy", np.arange(10.0))
    Path("s.npy").write_bytes(Path("s.npy").read_bytes()[:-1])
    assert main(["noise", "s.npy", "t.npy", *AMOUNTS]) == 3
    assert "the file ends early" in capsys.readouterr().err
    assert names(folder) == ["s.csv", "s.npy"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("old.csv", "target exists: 'old.csv'"),
        ("absent/t.csv", "directory of the target does not exist"),
        ("old.csv/t.csv", "directory of the target does not exist"),
        ("folder", "target must be a regular file to be replaced"),
    ],
)
def test_targets_that_cannot_be_written(folder, capsys, target, message):
    Path("old.csv").write_text("old")
    Path("folder").mkdir()
    force = ["--force"] if target == "folder" else []
    assert main(["noise", "s.csv", target, *AMOUNTS, *force]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert is_one_line(err)
    assert names(folder) == ["folder", "old.csv", "s.csv"]


def test_disk_full(folder, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS]) == 4
    assert capsys.readouterr().err == "lapnoise: target could not be written: 't.csv': No space left on device\n"
    assert names(folder) == ["s.csv"]


PRINTING = [
    ["compare", "--epsilon", "1"],
    ["audit", "numpy-laplace", "--epsilon", "1", "--draws", "1000"],
    ["experiment", "--n", "2"],
    ["doctor"],
    ["noise", "s.csv", "t.csv", "--columns", "n", "--dry-run", *AMOUNTS],
    ["noise", "s.csv", "-", "--columns", "n", *AMOUNTS],
    ["--version"],
]


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
def test_standard_output_that_cannot_be_written(folder, arguments):
    """A full disk and a reader that is gone end with 4, which is no verdict; only the former is worth a line."""
    command = [sys.executable, "-m", "lapnoise", *arguments]
    variables = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONUNBUFFERED"}
    if Path("/dev/full").exists():  # on Linux
        with Path("/dev/full").open("wb") as full:
            ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=variables, timeout=100)
        assert ended.returncode == 4
        assert "could not be written" in ended.stderr
        assert "Exception ignored" not in ended.stderr
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, env=variables, timeout=100)
    os.close(writer)
    assert ended.returncode == 4
    assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize("arguments", [PRINTING[0], PRINTING[-2]], ids=" ".join)
def test_standard_output_that_is_closed(folder, arguments):
    """Where there is no standard output nothing passes for printed."""
    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "lapnoise", *arguments]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, timeout=100)
    assert ended.returncode == 4
    assert "could not be written" in ended.stderr


def test_no_code_of_others_ends_a_command(capsys):
    """A SystemExit from within is no code of the command's own."""
    assert _console.guarded(lambda: sys.exit(0)) == 1
    assert capsys.readouterr().err.startswith("lapnoise: unexpected SystemExit at ")


def test_json_without_nan(capsys):
    """NaN and the infinities are null in all that is printed as JSON."""
    _console.tell_json({"a": [math.nan, (math.inf, 1.5)], "b": {"c": -math.inf, "d": "NaN", "e": None}})
    assert capsys.readouterr().out == '{"a": [null, [null, 1.5]], "b": {"c": null, "d": "NaN", "e": null}}\n'


@pytest.mark.parametrize("kind", [ValueError, KeyError, OSError, ZeroDivisionError])
def test_unexpected_errors_show_their_place_and_no_data(folder, capsys, monkeypatch, kind):
    def fail(*_, **__):
        raise kind("secret")

    monkeypatch.setattr(_release, "add_integer_noise", fail)
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"lapnoise: unexpected {kind.__name__} at {__file__}:")
    assert "secret" not in err
    assert is_one_line(err)
    assert names(folder) == ["s.csv"]


def test_numba_that_cannot_be_imported_gives_one_clear_line(folder, capsys, monkeypatch):
    def fail(*_, **__):
        raise ImportError("lapnoise draws with Numba, which could not be imported")

    monkeypatch.setattr(_release, "add_integer_noise", fail)
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS]) == 1
    assert capsys.readouterr().err == "lapnoise: lapnoise draws with Numba, which could not be imported\n"


def test_interrupt(folder, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(_release, "add_integer_noise", interrupt)
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS]) == 130
    assert capsys.readouterr().err == "lapnoise: interrupted\n"
    assert names(folder) == ["s.csv"]


def test_signal_handlers_are_put_back(folder):
    before = signal.getsignal(signal.SIGTERM)
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--dry-run", "--json"]) == 0
    assert signal.getsignal(signal.SIGTERM) is before


SLOW = """
import sys, time
from pathlib import Path
from lapnoise.cli import main
from lapnoise.files import _cell_noise

def wait(*_):
    Path("drawing").touch()
    time.sleep(60)

_cell_noise.CellNoise.add_to_points = wait
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGHUP, 130), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_a_run_that_is_stopped_leaves_no_target(folder, number, code):
    command = [sys.executable, "-c", SLOW, "noise", "s.csv", "t.csv", *AMOUNTS]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    deadline = time.monotonic() + 60
    while not Path("drawing").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    left = [name for name in names(folder) if name.startswith(".t.csv.lapnoise-")]
    assert len(left) == 1
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    Path("drawing").unlink()
    if number == signal.SIGKILL:
        # Nobody can clean up then; the next run does.
        assert names(folder) == [*left, "s.csv"]
        assert main(["noise", "s.csv", "t.csv", *AMOUNTS, "--quiet"]) == 0
        assert names(folder) == ["s.csv", "t.csv"]
    else:
        assert err == "lapnoise: interrupted\n"
        assert names(folder) == ["s.csv"]


def imported(folder: Path, *arguments: str) -> tuple[int, set[str]]:
    """Return the exit code of a fresh process and the top-level modules that it imported."""
    command = [sys.executable, "-X", "importtime", "-m", "lapnoise", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=ENVIRONMENT, check=False)
    lines = [line for line in process.stderr.splitlines() if line.startswith("import time:")]
    return process.returncode, {line.rsplit("|", 1)[1].strip().split(".")[0] for line in lines}


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["noise", "--help"], ["noise", "s.csv"], ["nois"], []]
)
def test_help_and_usage_errors_import_next_to_nothing(folder, arguments):
    code, modules = imported(folder, *arguments)
    assert code == (2 if arguments in (["noise", "s.csv"], ["nois"]) else 0)
    assert "click" in modules
    assert not modules & {"numba", "llvmlite", "numpy", "scipy", "pandas", "pyarrow", "tqdm", "sqlite3"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["s.csv", "t.csv", "--epsilon", "0", "--sensitivity", "1"], 2),
        (["s.csv", "t.csv", *AMOUNTS, "--columns", "b"], 2),
        (["s.csv", "s.csv", *AMOUNTS], 2),
        (["s.csv", "absent/t.csv", *AMOUNTS], 4),
    ],
)
def test_what_reads_no_rows_does_not_import_numba(folder, arguments, code):
    got, modules = imported(folder, "noise", *arguments)
    assert got == code
    assert not modules & {"numba", "llvmlite", "scipy", "pandas", "pyarrow"}


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"lapnoise {lapnoise.__version__}\n"


def test_help_says_what_sensitivity_is_about(capsys):
    assert main(["noise", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "--sensitivity is the L1 sensitivity of that whole vector, and the whole file costs epsilon" in text
    assert "the noise is exact on those multiples, so that floating-point attacks find nothing" in text
    assert "not yet" not in text


def test_no_command_shows_the_help(capsys):
    assert main([]) == 0
    assert "noise" in capsys.readouterr().out


def test_doctor(capsys):
    words = [f"{int(word):016x}" for word in default_rng(0).words(8)]
    assert main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["known_words"] == words
    assert facts["lapnoise"] == lapnoise.__version__
    assert facts["numpy"] == np.__version__
    assert facts["threads"] >= 1
    assert isinstance(facts["cache_writable"], bool)
    assert set(facts["extras"]) == {"pandas", "polars", "pyarrow", "pyspark", "dask", "dp-accounting", "matplotlib"}
    assert main(["doctor"]) == 0
    assert f"known words: {' '.join(words)}\n" in capsys.readouterr().out


class Terminal:
    """A stream that says that it is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True


def test_progress_bar_on_a_terminal_only(folder, capsys, monkeypatch):
    assert main(["noise", "s.csv", "t.csv", *AMOUNTS]) == 0
    assert "rows/s" not in capsys.readouterr().err
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["noise", "s.csv", "u.csv", *AMOUNTS, "--json"]) == 0
    assert "check" in terminal.text
    assert "noise" in terminal.text
    assert "0.00/3.00 [" in terminal.text
    assert "rows/s" in terminal.text
    terminal.text = ""
    assert main(["noise", "s.csv", "v.csv", *AMOUNTS, "--quiet"]) == 0
    assert terminal.text == ""


def test_bar_is_taken_off_the_screen_after_an_error(folder, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with _console.ProgressBar(shown=True) as bar:
        bar.show("check", "rows", 1, None)
    assert terminal.text.endswith("\r")


def test_doctor_compares_kernels_with_their_references(monkeypatch, capsys):
    """The self-test passes here, and tells words and exact draws that are not what they should be."""
    assert run_json(capsys, "doctor", "--json")["self_test"] == "as expected"
    monkeypatch.setattr("lapnoise._exact_noise.exact_draw", lambda t, source, position: 0)
    assert run_json(capsys, "doctor", "--json")["self_test"].startswith("DIFFERENT exact draws at scale 0.5")
    monkeypatch.setattr("lapnoise.bits.chacha.stream_word", lambda *arguments: 0)
    assert run_json(capsys, "doctor", "--json")["self_test"].startswith("DIFFERENT words")


def run_json(capsys, *arguments):
    assert main(list(arguments)) == 0
    return json.loads(capsys.readouterr().out)
