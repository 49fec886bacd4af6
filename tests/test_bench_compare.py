"""Which rows of two reports count as changed."""

import dataclasses
import json

import pytest
from bench import compare
from bench.rows import Row
from bench_rows import peer_row


def report(*rows, quick=False, **machine):
    """Return what a report's file holds."""
    machine = {"processor": "A", "numpy": "2.4", "clock under load": "3 GHz", **machine}
    return {"machine": machine, "quick": quick, "rows": [row.as_json() for row in rows]}


def one(old, new):
    """Return the change between two rows."""
    (change,) = compare.changes([old.as_json()], [new.as_json()])
    return change


def row(ratio, spread=0.0, reference_spread=0.0, faster=True, repeats=5):
    """Return a row that is so many times faster, or so many times the cost of its reference."""
    spreads = {"spread": spread, "reference_spread": reference_spread}
    return Row("g", "w", 1.0, "ns", 1, against="numpy: 5.00 ns", ratio=ratio, faster=faster, repeats=repeats, **spreads)


@pytest.mark.parametrize(
    ("old", "new", "beyond", "slower"),
    [
        (row(10), row(9.2), False, True),  # 8.7 % slower
        (row(10), row(9.0), True, True),  # 11 % slower
        (row(10), row(11.2), True, False),
        (row(10), row(10.9), False, False),
        (row(2, faster=False), row(2.3, faster=False), True, True),  # its cost grew
        (row(2, faster=False), row(1.7, faster=False), True, False),
        (row(10, 0.03, 0.03), row(8, 0.03, 0.03), True, True),  # 22 % against three times 6 %
        (row(10, 0.04, 0.04), row(8, 0.04, 0.04), False, True),  # three times 8 % hides it
        (row(10, 0.08), row(8), False, True),  # as much in one of the four
        (row(10), row(7.7, repeats=4), False, True),  # fewer than five repeats: 30 % must be passed
        (row(10, repeats=3), row(7.6), True, True),
        (row(10, repeats=0), row(8), False, True),  # files of older reports do not tell
    ],
)
def test_what_counts(old, new, beyond, slower):
    """A ratio has changed beyond 10 %, or 30 %, and three times the root of the sum of the squares of four spreads."""
    change = one(old, new)
    assert change.beyond is beyond
    assert (change.factor < 1) is slower


def test_times_do_not_count():
    """A row as slow again as its reference is has not changed; a row without ratio or spread is left out."""
    twice = dataclasses.replace(row(10), value=2.0, against="numpy: 10.00 ns")
    assert one(row(10), twice).factor == 1.0
    assert compare.changes([Row("g", "w", 1.0).as_json()], [Row("g", "w", 2.0).as_json()]) == []
    assert compare.changes([row(10, None).as_json()], [row(5).as_json()]) == []
    assert compare.changes([row(10).as_json()], [row(5, None).as_json()]) == []
    assert compare.changes([row(10, 0.0, None).as_json()], [row(5).as_json()]) == []
    lacking = row(5).as_json()
    del lacking["reference_spread"]  # as in files of older reports
    assert compare.changes([row(10).as_json()], [lacking]) == []


def test_rows_are_told_apart():
    """Rows differ by group, name, threads, size and reference, and by nothing that is measured."""
    rows = [
        row(10),
        dataclasses.replace(row(10), threads=None),
        dataclasses.replace(row(10), against="mkl_random's fastest: 3.00 ns"),
        peer_row(draws=10),
        peer_row(draws=100),
        peer_row(draws=100, scale="array"),
    ]
    old = [one.as_json() for one in rows]
    new = [dataclasses.replace(one, value=7.0, ratio=one.ratio * 2).as_json() for one in reversed(rows)]
    found = compare.changes(old, new)
    assert [change.factor for change in found] == [2.0] * 6
    assert len({change.name for change in found}) >= 5
    assert compare.changes(old[:1], old[1:]) == []


def test_main(tmp_path, capsys):
    """The exit status is 1 where something became slower; both lists, machines and missing rows are printed."""
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    a.write_text(json.dumps(report(row(10), peer_row("torch", ratio=2.0), peer_row("gone"))))
    b.write_text(
        json.dumps(report(row(5), peer_row("torch", ratio=3.0), processor="B", **{"clock under load": "2 GHz"}))
    )
    assert compare.main([str(a), str(b)]) == 1
    text = capsys.readouterr().out
    assert "machines: different" in text
    assert "processor: A -> B" in text
    assert "clock" not in text
    assert "compared: 2 ratios; only in the old report 1, only in the new one 0" in text
    assert "slower: 1\n  2.00 times slower, ratio 10 -> 5, spread 0%: g | w | against numpy\n" in text
    assert "faster: 1\n  1.50 times faster, ratio 2 -> 3, spread 3%: peers: float64" in text
    assert "1,000 draws" in text
    assert compare.main([str(a), str(a)]) == 0
    assert "machines: the same kind\nother processes: not known -> not known\ncompared: 3" in capsys.readouterr().out


def test_faster_alone_is_no_failure(tmp_path, capsys):
    """What became faster alone gives 0."""
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    a.write_text(json.dumps(report(row(5))))
    b.write_text(json.dumps(report(row(10))))
    assert compare.main([str(a), str(b)]) == 0
    assert "not to be trusted" not in capsys.readouterr().out


BUSY = {"other processes": "0.41 cores busy on average during the run"}
CALM = {"other processes": "0.20 cores busy on average during the run"}


@pytest.mark.parametrize(
    ("old", "new", "doubts"),
    [
        (({}, True), (CALM, False), "the old report is a quick run"),
        ((CALM, False), (BUSY, False), "the machine was busy during the new one"),
        ((BUSY, False), (CALM, True), "the machine was busy during the old one; the new report is a quick run"),
        ((CALM, False), ({"other processes": "not known"}, False), None),
    ],
)
def test_doubts(old, new, doubts, tmp_path, capsys):
    """Both reports' other processes are printed; after a quick or a busy run a line says what that is worth."""
    for name, (machine, quick), ratio in (("a", old, 10), ("b", new, 8)):
        (tmp_path / name).write_text(json.dumps(report(row(ratio), quick=quick, **machine)))
    status = compare.main([str(tmp_path / "a"), str(tmp_path / "b")])
    assert status == (0 if old[1] or new[1] else 1)  # 22 % are nothing in a quick run
    lines = capsys.readouterr().out.splitlines()
    shown = [machine.get("other processes", "not known") for machine, _ in (old, new)]
    assert f"other processes: {' -> '.join(shown)}" in lines
    assert [line for line in lines if "trusted" in line] == ([f"not to be trusted: {doubts}"] if doubts else [])


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "cannot be read"), ("ns", "is no JSON"), ("[]", "holds no rows"), ('{"rows": [1]}', "holds no rows")],
)
def test_refused(text, message, tmp_path, capsys):
    """What is no report is refused with status 2."""
    file = tmp_path / "x.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SystemExit) as ended:
        compare.main([str(file), str(file)])
    assert ended.value.code == 2
    assert f"{file} {message}" in capsys.readouterr().err
