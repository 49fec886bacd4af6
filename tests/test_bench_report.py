"""The command of the benches: what it refuses before anything is measured, and a run from end to end."""

import json
import re

import numpy as np
import pytest
from bench import contenders, parts, report, sections, sections_peers, timing
from bench.environment import INSIDE
from bench.peer_table import peer_tables
from bench.sections import NUMPY, Plan
from bench_rows import peer_row

SAMPLER = """
import numpy as np
rng = np.random.default_rng(5)

def draw(n):
    return rng.laplace(1.0, 2.0, n)

def wrong(n):
    return rng.laplace(1.0, 1.0, n)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Let a module with samplers be found, and leave nothing behind of a run."""
    (tmp_path / "report_samplers.py").write_text(SAMPLER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sections, "_wrong", [])
    monkeypatch.setattr(sections_peers, "_not_timed", {})
    monkeypatch.setattr(timing, "keep_freed_memory", lambda: None)
    before = dict(contenders.CONTENDERS)
    yield
    contenders.CONTENDERS.clear()
    contenders.CONTENDERS.update(before)


@pytest.fixture
def no_run(monkeypatch):
    """Fail where a process that measures is started."""

    def started(*_):
        raise AssertionError("a run was started")

    monkeypatch.setattr(report, "rerun", started)


def refused(arguments, capsys):
    """Return what the command says where it refuses, with status 2."""
    with pytest.raises(SystemExit) as ended:
        report.main(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plot", "x.png"], "--plot draws the part peers: name it, or give --all"),
        (["gaussian", "--plot", "x.png"], "--plot draws the part peers"),
        (["--all", "--plot", "x.gif"], "--plot must be a file that ends in .png, .svg, .pdf, got 'x.gif'"),
        (["--all", "--plot", "x"], "--plot must be a file that ends in"),
        (["peers", "--plot", "none/x.png"], "--plot must be a file in a directory that exists, got 'none/x.png'"),
        (["--json", "none/x.json"], "--json must be a file in a directory that exists, got 'none/x.json'"),
        (["--json", "folder"], "--json must be a file, got the directory 'folder'"),
        (["--quality"], "unrecognized arguments: --quality"),
    ],
)
def test_refused_before_a_process_is_started(arguments, message, tmp_path, monkeypatch, capsys):
    """Files that could not be written are refused at once."""
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(INSIDE, raising=False)
    assert message in refused(arguments, capsys)
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


@pytest.mark.usefixtures("no_run")
def test_what_is_read_only_is_refused(tmp_path, monkeypatch, capsys):
    """So is a file that may not be written; root may write any, so that the answer of the system is made up."""
    file = tmp_path / "x.json"
    file.write_text("{}")
    monkeypatch.setattr("bench.output_files.os.access", lambda path, _: path != file)
    assert f"--json must be a file that can be written, got {str(file)!r}" in refused(["--json", str(file)], capsys)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gausian"], "'gausian'"),
        (["--all", "gaussian"], "PART cannot be given with --all, got 'gaussian'"),
        (["peers", "--sampler", "report_samplers"], "must be given as module:function"),
        (["peers", "--sampler", "report_samplers:wrong"], "must draw Laplace(1, 2)"),
        (["gaussian", "--sampler", "report_samplers:draw"], "appears in float64, peers, start_of_peers, quality"),
    ],
)
def test_refused_before_anything_is_measured(arguments, message, tmp_path, monkeypatch, capsys):
    """Parts and samplers are refused by the process that would measure."""
    monkeypatch.setenv(INSIDE, str(tmp_path))
    monkeypatch.setattr(report, "_report", None)
    text = refused(arguments, capsys)
    assert message in text
    if arguments == ["gausian"]:
        assert "PART must be one of float64, float32, stages," in text
        assert "peers, start_of_peers, quality, got" in text


@pytest.mark.usefixtures("own", "no_run")
def test_a_sampler_entered_in_code_is_refused(monkeypatch, capsys):
    """What was entered in this process, which the one that measures would lack, is refused before that is started."""
    monkeypatch.delenv(INSIDE, raising=False)
    contenders.enter("mine", lambda n: np.zeros(n))
    contenders.enter("a:b", lambda n: np.zeros(n), origin="a:b")
    message = "does not have 'mine', entered here in code: put the function into a module, and give --sampler"
    assert message in refused(["peers", "--sampler", "a:b"], capsys)
    assert "does not have 'mine', 'a:b', entered" in refused(["peers"], capsys)


def test_arguments_reach_the_process_that_measures(monkeypatch, tmp_path):
    """All arguments go on to it, and its status comes back."""
    given = []
    monkeypatch.delenv(INSIDE, raising=False)
    monkeypatch.setattr(report, "rerun", lambda *passed: given.append(passed) or 7)
    arguments = ["peers", "--sampler", "a:b", "--quick", "--cpu", "avx2", "--plot", str(tmp_path / "x.svg")]
    assert report.main(arguments) == 7
    assert given == [("bench.report", arguments, "avx2")]


def test_parts():
    """The usual run has no part on peers; --all has everything, and parts come in the table's order."""
    usual, quality = parts.chosen_parts([], False)
    assert not quality
    assert "peers" not in usual
    assert list(usual)[:2] == ["float64", "float32"]
    every, quality = parts.chosen_parts([], True)
    assert quality
    assert set(every) - set(usual) == {"peers", "start_of_peers"}
    chosen, quality = parts.chosen_parts(["quality", "peers", "gaussian"], False)
    assert (list(chosen), quality) == (["gaussian", "peers"], True)
    assert parts.chosen_parts(["quality"], False) == ({}, True)


@pytest.mark.usefixtures("own")
def test_a_run(tmp_path, monkeypatch, capsys):
    """A run of peers and quality with a sampler of one's own: tables, JSON and picture have it, and all agree."""
    monkeypatch.setenv(INSIDE, str(tmp_path))
    monkeypatch.setattr(sections_peers, "QUICK_SIZES", (1, 10, 1_000))
    few = {NUMPY, "numpy formula", "report_samplers:draw"}
    every = sections_peers.compared
    monkeypatch.setattr(
        sections_peers, "compared", lambda kind, *others: [x for x in every(kind, *others) if x in few or x == NUMPY]
    )
    monkeypatch.setattr("bench.quality.with_claims", lambda: ["numpy formula", "report_samplers:draw"])
    file, picture = tmp_path / "x.json", tmp_path / "x.svg"
    arguments = ["peers", "quality", "--quick", "--sampler", "report_samplers:draw"]
    assert report.main([*arguments, "--json", str(file), "--plot", str(picture)]) == 0
    text, told = capsys.readouterr()
    assert [re.sub(r"\d+ s$", "N s", line) for line in told.splitlines() if not line.startswith(" ")] == [
        *("peers ...", "peers: N s", "quality ...", "quality: N s")
    ]
    assert "checked:            draws of all contenders" in text
    assert "| report_samplers:draw " in text
    assert "| **peers: float64, array scale, one thread** " in text
    written = json.loads(file.read_text())
    rows = [row for row in written["rows"] if row["scale"] == "scalar"]
    assert {(row["what"], row["draws"]) for row in rows} == {(name, n) for name in few for n in (1, 10, 1_000)}
    for row in rows:
        numpy = next(one for one in rows if (one["what"], one["draws"]) == (NUMPY, row["draws"]))
        assert row["ratio"] == pytest.approx(numpy["value"] / row["value"])
        assert row["reference_spread"] == numpy["spread"]
        assert (row["dtype"], row["threads"], row["unit"], row["repeats"]) == ("float64", 1, "ns", 3)
    assert "report_samplers:draw" not in {row["what"] for row in written["rows"] if row["scale"] == "array"}
    own = written["quality"][1]
    assert (own["what"], own["claim"], own["seen"]["draws"]) == ("report_samplers:draw", None, 1_000_000)
    assert {"numpy", "randomgen", "python-dp", "scikit-learn"} <= set(written["machine"])
    assert "report_samplers:draw" in picture.read_text()
    assert "a quick run" in picture.read_text()


@pytest.mark.usefixtures("own")
def test_wrong_draws_end_with_1(tmp_path, monkeypatch, capsys):
    """A contender that draws a wrong distribution is named, not timed, and the status is 1."""
    monkeypatch.setenv(INSIDE, str(tmp_path))
    monkeypatch.setattr(sections_peers, "QUICK_SIZES", (1,))
    monkeypatch.setattr(
        sections_peers, "compared", lambda *asked: [NUMPY, "off"] if asked == ("float64", "scalar", 1) else [NUMPY]
    )
    rng = np.random.default_rng(3)
    contenders.enter("off", lambda n: rng.laplace(1.0, 2.2, n))
    monkeypatch.setattr(sections_peers, "available", lambda _: True)
    assert report.main(["peers", "--quick"]) == 1
    text = capsys.readouterr().out
    assert "WRONG DRAWS from off" in text
    assert "| off" not in text


@pytest.mark.usefixtures("own")
def test_what_takes_too_long_is_said(monkeypatch, tmp_path):
    """From the size on at which a call would take too long a contender is left out, and a line says so."""
    clock = {NUMPY: 10.0, "numpy formula": 1e6}
    monkeypatch.setattr(sections_peers, "QUICK_SIZES", (1, 100, 1_000))
    monkeypatch.setattr(sections_peers, "compared", lambda *_: [NUMPY, "numpy formula"])
    monkeypatch.setattr(sections_peers, "correct", lambda *_: True)
    monkeypatch.setattr(
        sections_peers,
        "interleave",
        lambda tasks, _: {task.name: timing.Measurement(clock[task.name], 0.0, 3) for task in tasks},
    )
    rows = list(sections_peers.rows_peers(Plan.of(True, False, tmp_path)))
    scalar = [(row.what, row.draws) for row in rows if row.group == "peers: float64, scalar scale, one thread"]
    assert scalar == [(NUMPY, 1), ("numpy formula", 1), (NUMPY, 100), ("numpy formula", 100)]
    line = "numpy formula, scalar scale: not at 1,000 draws and more, a call would take over 0.25 s"
    assert line in sections_peers.not_timed()


def test_peer_table():
    """A table has a line for each contender and a column for each size; what was not timed is empty."""
    rows = [peer_row("a", 1, 2_500.0, 0.5), peer_row("a", 1_000, 3.14159, 12.34), peer_row("b", 1, 16_000.0, 0.0004)]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in peer_tables(rows).splitlines()]
    assert lines[0] == ["**peers: float64, scalar scale, one thread**", "1", "1,000"]
    assert lines[2:] == [["a", "2,500 (0.5x)", "3.14 (12.3x)"], ["b", "16,000 (0.0004x)", ""]]
    assert peer_tables([*rows, peer_row("c", dtype="float32")]).count("**peers") == 2


@pytest.mark.usefixtures("own")
def test_it_ends_in_time(monkeypatch, tmp_path):
    """Once the part has taken long, or would, sizes are left out where NumPy's Generator takes over half a second."""
    monkeypatch.setattr(sections_peers, "SIZES", (1, 10**7, 10**8))
    monkeypatch.setattr(sections_peers, "PATIENCE", -1.0)
    monkeypatch.setattr(sections_peers, "compared", lambda *_: [NUMPY, "numpy formula"])
    monkeypatch.setattr(sections_peers, "correct", lambda *_: True)
    monkeypatch.setattr(
        sections_peers, "_timed", lambda names, *_: {name: timing.Measurement(20.0, 0.0, 3) for name in names}
    )
    rows = list(sections_peers.rows_peers(Plan.of(False, False, tmp_path)))
    assert {row.draws for row in rows} == {1, 10**7}
    lines = sections_peers.not_timed()
    assert f"{NUMPY}, scalar scale: not at 100,000,000 draws and more, a call would take over 0.5 s" in lines
    group = "peers: float32, array scale, all cores"
    assert f"{group}: nobody at 100,000,000 draws and more, where NumPy's Generator is not timed" in lines
    # 10^8 draws take 2 s, of two contenders four times 16 s: more than is left, however early it is.
    monkeypatch.setattr(sections_peers, "PATIENCE", 15.0)
    assert {row.draws for row in sections_peers.rows_peers(Plan.of(False, False, tmp_path))} == {1, 10**7}
    monkeypatch.setattr(sections_peers, "PATIENCE", 1e6)
    assert {row.draws for row in sections_peers.rows_peers(Plan.of(False, False, tmp_path))} == {1, 10**7, 10**8}
