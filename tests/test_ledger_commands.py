"""``lapnoise ledger`` and ``lapnoise noise --ledger``: exit codes, exact answers, and files that do not appear."""

import csv
import json
import os
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import fresh_process
import numpy as np
import pytest

import lapnoise
from lapnoise import BudgetExhaustedError, InputDataError, PrivacyLedger, SeededNoiseWarning, files
from lapnoise.cli import main
from lapnoise.ledger._account import Account

EXAMPLE = Path(__file__).parents[1] / "examples" / "us_population_2000.csv"
ASK = ["--epsilon", "0.6", "--sensitivity", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("a,n\nx,1\ny,\nz,3\n")
    assert main(["ledger", "create", "budget.db", "--epsilon", "1"]) == 0
    return tmp_path


def names(folder):
    """Return the names of the files in a folder, but for the lock beside a ledger."""
    return sorted(entry.name for entry in folder.iterdir() if entry.name != "budget.db-lock")


def shown(capsys, *arguments):
    capsys.readouterr()
    assert main(["ledger", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_two_files_on_one_budget(folder, capsys):
    """The second file of 0.6 does not fit into 1: exit code 5, an exact statement of what is left, and no file."""
    assert main(["noise", str(EXAMPLE), "a.csv", *ASK, "--ledger", "budget.db"]) == 0
    assert f"charged as entry 1 of the ledger {folder / 'budget.db'}" in capsys.readouterr().err
    assert main(["noise", str(EXAMPLE), "b.csv", *ASK, "--ledger", "budget.db"]) == 5
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "lapnoise: budget exhausted: epsilon 3/5 was asked, epsilon 2/5 is left of epsilon 1\n"
    assert names(folder) == ["a.csv", "budget.db", "s.csv"]
    assert (
        main(["noise", str(EXAMPLE), "b.csv", "--epsilon", "0.4", "--sensitivity", "1", "--ledger", "budget.db"]) == 0
    )
    facts = shown(capsys, "show", "budget.db")
    assert len(facts.pop("head").partition(":")[2]) == 64
    latest = facts.pop("latest")
    assert [(entry["number"], entry["epsilon"], entry["state"]) for entry in latest] == [
        (1, "3/5", "released"),
        (3, "2/5", "released"),
    ]
    assert facts == {
        "file": "budget.db",
        "total": {"epsilon": "1", "delta": "0", "epsilon_float": 1.0, "delta_float": 0.0},
        "spent": {"epsilon": "1", "delta": "0", "epsilon_float": 1.0, "delta_float": 0.0},
        "remaining": {"epsilon": "0", "delta": "0", "epsilon_float": 0.0, "delta_float": 0.0},
        "entries": 2,
        "reserved": 0,
    }


def test_receipts_name_the_entry(folder, capsys):
    """The receipt says which ledger was charged, and where."""
    PrivacyLedger.open("budget.db").spend("0.1")
    assert main(["noise", "s.csv", "t.csv", *ASK, "--ledger", "budget.db", "--json"]) == 0
    receipt = json.loads(capsys.readouterr().out)
    assert (receipt["ledger"], receipt["ledger_entry"]) == (str(folder / "budget.db"), 2)
    entry = PrivacyLedger.open("budget.db").entries()[1]
    assert (entry.label, entry.epsilon, entry.state, entry.private) == (
        "s.csv -> t.csv",
        Fraction(3, 5),
        "released",
        True,
    )
    assert entry.details["mechanism"] == "LaplaceMechanism"
    assert entry.details["parameters"] == {"epsilon": "3/5", "sensitivity": "1", "changed": None, "granularity": None}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["s.csv", "t.csv", "--epsilon", "0", "--sensitivity", "1"], 2),
        (["s.csv", "t.csv", "--epsilon", "0.6", "--sensitivity", "nan"], 2),
        (["s.csv", "t.csv", *ASK, "--columns", "b"], 2),
        (["s.csv", "s.csv", *ASK, "--force"], 2),
        (["absent.csv", "t.csv", *ASK], 2),
        (["s.csv", "budget.db", *ASK], 4),
        (["s.csv", "absent/t.csv", *ASK], 4),
        (["one.csv", "t.csv", *ASK], 3),
        (["bad.npy", "t.npy", *ASK], 3),
    ],
)
def test_what_is_refused_without_the_data_costs_nothing(folder, arguments, code):
    """Parameters, header, dtype and target are checked before the charge."""
    Path("one.csv").write_text("a,a\n1,2\n")
    np.save("bad.npy", np.zeros(3, bool))
    assert main(["noise", *arguments, "--ledger", "budget.db"]) == code
    assert PrivacyLedger.open("budget.db").head.length == 0


@pytest.mark.parametrize("bad", ["text", "inf"])
def test_bad_data_cost_what_the_noise_does(folder, capsys, bad):
    """That a cell cannot be noised is an answer about the data: the charge stands, and no file appears."""
    Path("s.csv").write_text(f"a,n\nx,1\ny,{bad}\n")
    assert main(["noise", "s.csv", "t.csv", *ASK, "--columns", "n", "--ledger", "budget.db"]) == 3
    assert not Path("t.csv").exists()
    facts = shown(capsys, "show", "budget.db")
    assert (facts["spent"]["epsilon"], facts["reserved"]) == ("3/5", 1)


def test_a_full_disk_after_the_charge(folder, capsys, monkeypatch):
    """Where the target cannot be written the charge stands, and nothing is left behind."""

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        assert main(["noise", "s.csv", "t.csv", *ASK, "--ledger", "budget.db"]) == 4
    assert names(folder) == ["budget.db", "s.csv"]
    assert shown(capsys, "show", "budget.db")["reserved"] == 1


def test_a_dry_run_charges_nothing(folder, capsys):
    """A dry run leaves the ledger alone, and refuses what would not fit."""
    assert main(["noise", "s.csv", "t.csv", *ASK, "--ledger", "budget.db", "--dry-run", "--json"]) == 0
    receipt = json.loads(capsys.readouterr().out)
    assert (receipt["ledger"], receipt["ledger_entry"]) == (str(folder / "budget.db"), None)
    ledger = PrivacyLedger.open("budget.db")
    assert ledger.head.length == 0
    ledger.spend(0.5)
    assert main(["noise", "s.csv", "t.csv", *ASK, "--ledger", "budget.db", "--dry-run"]) == 5
    assert ledger.spent.epsilon == Fraction(1, 2)


def test_seeded_files_are_marked(folder, capsys):
    """A file with a seed costs the same, and its entry says that it protects nobody."""
    assert main(["noise", "s.csv", "t.csv", *ASK, "--ledger", "budget.db", "--seed", "7"]) == 0
    assert [entry.private for entry in PrivacyLedger.open("budget.db").entries()] == [False]


def test_files_take_a_ledger(folder):
    """``files.add_noise`` takes a ledger or a path; a ledger in memory too."""
    ledger = PrivacyLedger(1)
    receipt = files.add_noise("s.csv", "t.csv", epsilon=0.6, sensitivity=1, ledger=ledger)
    assert (receipt.ledger, receipt.ledger_entry) == ("in memory", 1)
    with pytest.raises(BudgetExhaustedError):
        files.add_noise("s.csv", "u.csv", epsilon=0.6, sensitivity=1, ledger=ledger)
    files.add_noise("s.csv", "u.csv", epsilon=1, sensitivity=1, ledger="budget.db", mechanism="discrete-laplace")
    assert PrivacyLedger.open("budget.db").remaining == (0, 0)
    Path("s.csv").write_text("a,n\nx,1\ny\n")
    with pytest.raises(InputDataError), pytest.warns(SeededNoiseWarning):
        files.add_noise("s.csv", "v.csv", epsilon=0.4, sensitivity=1, ledger=ledger, seed=1)
    assert ledger.remaining == (0, 0)
    assert names(folder) == ["budget.db", "s.csv", "t.csv", "u.csv"]


def test_the_target_is_not_published_where_the_ledger_fails(folder, monkeypatch):
    """When the end of a run cannot be recorded its target does not appear."""

    def fail(*_):
        raise lapnoise.LedgerUnavailableError("the ledger could not be written")

    monkeypatch.setattr(Account, "record", fail)
    assert main(["noise", "s.csv", "t.csv", *ASK, "--ledger", "budget.db"]) == 4
    assert names(folder) == ["budget.db", "s.csv"]
    assert PrivacyLedger.open("budget.db").spent.epsilon == Fraction(3, 5)


def test_create(folder, capsys):
    """A ledger is made once, with exact totals; an existing file is never touched."""
    assert main(["ledger", "create", "other.db", "--epsilon", "1/3", "--delta", "1e-6"]) == 0
    assert PrivacyLedger.open("other.db").total == (Fraction(1, 3), Fraction(1, 10**6))
    before = Path("other.db").read_bytes()
    capsys.readouterr()
    assert main(["ledger", "create", "other.db", "--epsilon", "1/3", "--delta", "1e-6"]) == 4
    assert main(["ledger", "create", "s.csv", "--epsilon", "1"]) == 4
    assert capsys.readouterr().err.count("a file is there already") == 2
    assert Path("other.db").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["create", "x.db"], 2, "Missing option '--epsilon'"),
        (["create", "x.db", "--epsilon", "0"], 2, "total_epsilon must be finite and > 0, got '0'"),
        (["create", "x.db", "--epsilon", "inf"], 2, "total_epsilon must be finite and > 0, got 'inf'"),
        (["create", "x.db", "--epsilon", "one"], 2, "total_epsilon must be a number"),
        (["create", "x.db", "--epsilon", "1", "--delta", "1"], 2, "total_delta must be at least 0 and less than 1"),
        (["create", "absent/x.db", "--epsilon", "1"], 4, "the ledger could not be made"),
        (["show", "absent.db"], 2, "does not exist"),
        (["verify", "absent.db"], 2, "does not exist"),
        (["export", "absent.db"], 2, "does not exist"),
        (["export", "budget.db", "--csv", "--json"], 2, "exclude each other"),
        (["verify", "budget.db", "--head", "7"], 2, "head must end in 64 hexadecimal digits"),
        (["show", "s.csv"], 3, "the file is not a ledger"),
        (["export", "s.csv"], 3, "the file is not a ledger"),
        (["verify", "s.csv"], 3, "the file is not a ledger"),
        (["spend", "budget.db"], 2, "No such command"),
    ],
)
def test_refusals(folder, capsys, arguments, code, message):
    """Each refusal is one line with its exit code, and makes no file."""
    before = names(folder)
    capsys.readouterr()
    assert main(["ledger", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("lapnoise: ")
    assert err.count("\n") == 1
    assert names(folder) == before


@pytest.mark.parametrize("ledger", ["absent.db", "s.csv", "folder"])
def test_noise_without_a_good_ledger(folder, capsys, ledger):
    """Where the ledger is missing or none, nothing is noised."""
    Path("folder").mkdir()
    assert main(["noise", "s.csv", "t.csv", *ASK, "--ledger", ledger]) == (3 if ledger == "s.csv" else 2)
    assert not Path("t.csv").exists()
    assert not Path("absent.db").exists()


def test_show_for_people(folder, capsys):
    """The summary says what there was, is spent and is left, and what theorems make of it where there is a delta."""
    main(["ledger", "create", "other.db", "--epsilon", "10", "--delta", "1e-6"])
    ledger = PrivacyLedger.open("other.db")
    for _ in range(30):
        ledger.spend("0.1")
    capsys.readouterr()
    assert main(["ledger", "show", "other.db"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "total: epsilon 10, delta 1/1000000",
        "spent: epsilon 3, delta 0",
        "remaining: epsilon 7, delta 1/1000000",
        "entries: 30, of which 0 reserved without a result",
    ]
    found = ledger.composition("1e-6")
    assert [line.split(":")[0] for line in lines[4:14]] == [f"  {number}" for number in range(21, 31)]
    assert lines[13].endswith("'', epsilon 1/10, delta 0, charged")
    assert lines[14] == "spent, by advanced composition: epsilon 3 for delta 1/1000000"
    assert lines[15] == f"spent, by zCDP: epsilon {found.zcdp:.9g} for delta 1/1000000"
    assert lines[16] == f"head: {ledger.head} (entries and recorded results, and their hash)"


def test_verify_says_what_is_wrong(folder, capsys):
    """Verification ends with 0 or 3 and names each problem; a head kept elsewhere tells an older copy."""
    shutil.copy("budget.db", "copy.db")
    ledger = PrivacyLedger.open("budget.db")
    ledger.spend("0.1")
    head = str(ledger.head)
    capsys.readouterr()
    assert main(["ledger", "verify", "budget.db", "--head", head]) == 0
    assert capsys.readouterr().out == f"budget.db: nothing is wrong; head {head}\n"
    assert main(["ledger", "verify", "copy.db"]) == 0
    assert main(["ledger", "verify", "copy.db", "--head", head]) == 3
    assert "lapnoise: copy.db: the ledger is an older copy: it has 0 entries" in capsys.readouterr().err
    with sqlite3.connect("budget.db") as connection:
        connection.execute("DROP TRIGGER entries_stay")
        connection.execute("UPDATE entries SET epsilon = '1/20'")
    connection.close()
    assert main(["ledger", "verify", "budget.db", "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found == {
        "file": "budget.db",
        "ok": False,
        "problems": ["entries_stay is missing", "the chain breaks at entry 1: it was changed, moved or is missing"],
        "head": head,
    }


def test_export(folder, capsys):
    """All entries come out, exactly, as CSV and as JSON."""
    ledger = PrivacyLedger.open("budget.db")
    ledger.spend("1/3", label='a, "b"\nc')
    ledger.parallel("parts", neighbours="replace", parts={"x": "0.1", "y": "0.2"})
    entries = shown(capsys, "export", "budget.db")
    assert entries == [entry.to_dict() for entry in ledger.entries()]
    assert main(["ledger", "export", "budget.db"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines(keepends=True)))
    assert [row["label"] for row in rows] == ['a, "b"\nc', "parts"]
    assert [row["epsilon"] for row in rows] == ["1/3", "3/10"]
    assert json.loads(rows[1]["details"]) == entries[1]["details"]
    assert [row["hash"] for row in rows] == [entry["hash"] for entry in entries]


@pytest.mark.parametrize(
    "arguments",
    [
        ["ledger"],
        ["ledger", "--help"],
        ["ledger", "show", "--help"],
        ["ledger", "show", "absent"],
        ["ledger", "create"],
    ],
    ids=" ".join,
)
def test_help_and_usage_errors_import_next_to_nothing(arguments):
    """Help and usage errors answer with Click alone."""
    script = f"""
    import json, sys
    import lapnoise.cli
    lapnoise.cli.main({arguments!r})
    print()
    print(json.dumps(sorted(sys.modules)))
    """
    found = set(json.loads(fresh_process.run(script).splitlines()[-1]))
    assert not found & {"numpy", "numba", "scipy", "sqlite3", "pandas", "pyarrow", "tqdm"}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("import lapnoise; lapnoise.PrivacyLedger", set()),
        ("import lapnoise; l = lapnoise.PrivacyLedger(1); l.spend(0.5); l.entries(); l.verify()", set()),
        ("import lapnoise, sys; lapnoise.PrivacyLedger(1, path=sys.argv[1]).spend(0.5)", {"sqlite3"}),
        (
            "import sys, lapnoise.cli; lapnoise.cli.main(['ledger', 'create', sys.argv[1], '--epsilon', '1'])",
            {"sqlite3", "click"},
        ),
    ],
)
def test_ledgers_are_light(tmp_path, script, expected):
    """Only a file brings in SQLite, and no ledger brings in Numba or SciPy."""
    printed = fresh_process.run(
        f"{script}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))", tmp_path / "a.db"
    )
    heavy = {"numba", "llvmlite", "scipy", "sqlite3", "pandas", "pyarrow", "click", "tqdm"}
    assert set(json.loads(printed.splitlines()[-1])) & heavy == expected


def test_the_guide_runs(folder):
    """The example of the guide does what it says."""
    guide = (Path(__file__).parents[1] / "docs" / "ledger.md").read_text()
    Path("budget.db").unlink()
    found = {}
    exec(guide.split("```python\n")[1].split("```")[0], found)
    assert found["ledger"].remaining == (Fraction(2, 5), 0)
    assert [entry.state for entry in found["ledger"].entries()] == ["released"]


@pytest.mark.parametrize("target", ["budget.db", "./budget.db", "budget.db-journal", "budget.db-lock", "link.csv"])
def test_the_ledger_is_never_the_target(folder, capsys, target):
    """A result is never written over the ledger that is charged, by any name of it, nor over its journal."""
    Path("link.csv").symlink_to("budget.db")
    before = Path("budget.db").read_bytes()
    for more in ([], ["--force"], ["--force", "--dry-run"]):
        assert main(["noise", "s.csv", target, *ASK, "--ledger", "budget.db", "--format", "csv", *more]) in (2, 4)
    assert Path("budget.db").read_bytes() == before
    assert main(["noise", "s.csv", target, *ASK, "--ledger", "budget.db", "--format", "csv", "--force"]) == 2
    assert "target must not be the ledger that is charged" in capsys.readouterr().err


def test_a_bad_cell_says_what_it_cost(folder, capsys):
    """Where cells turn out bad after the charge, the message says that it stands, and what is left."""
    Path("bad.csv").write_text("a\n1\nx\n")
    assert main(["noise", "bad.csv", "t.csv", "--columns", "a", *ASK, "--ledger", "budget.db"]) == 3
    err = capsys.readouterr().err
    assert (
        f"epsilon 3/5 was charged as entry 1 of the ledger {folder / 'budget.db'} and stays so; epsilon 2/5 is left"
        in err
    )


def test_long_amounts_are_readable(folder, capsys):
    """An amount of many digits has a decimal beside it."""
    ledger = PrivacyLedger.open("budget.db")
    ledger.spend(0.1 + 0.2, label="=1+1")
    capsys.readouterr()
    main(["ledger", "show", "budget.db"])
    assert "spent: epsilon 7500000000000001/25000000000000000 (about 0.3), delta 0" in capsys.readouterr().out
    with pytest.raises(lapnoise.BudgetExhaustedError, match=r"delta 1/1000 was asked, .* and delta 0 is left"):
        ledger.spend("0.1", "0.001")
