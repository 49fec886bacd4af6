"""Directories of Parquet files: one table, whose files keep their names, whole or not there at all."""

import hashlib
import os
import shutil
import signal
from pathlib import Path

import fresh_process
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tables

from lapnoise import LaplaceMechanism
from lapnoise.cli import main
from lapnoise.errors import InputDataError, OutputError
from lapnoise.files import _directory_target, add_noise


@pytest.fixture
def source(tmp_path):
    """Return a directory of three files, of 3, 0 and 4 rows."""
    path = tmp_path / "s"
    for name, values in (
        ("k=2/a.parquet", [1.0, None, 3.0]),
        ("k=10/b.parquet", []),
        ("k=3/c.parquet", [4.0, 5, 6, 7]),
    ):
        (path / name).parent.mkdir(parents=True)
        table = pa.table({"x": pa.array(values, pa.float64()), "s": pa.array([name] * len(values), pa.string())})
        pq.write_table(table, path / name, row_group_size=2)
    (path / "_SUCCESS").touch()
    (path / "_metadata").write_bytes(b"stale")
    (path / ".part.crc").touch()
    (path / "_temporary").mkdir()
    (path / "_temporary" / "d.parquet").touch()
    return path


ORDER = ["k=10/b.parquet", "k=2/a.parquet", "k=3/c.parquet"]
OPTIONS = {"epsilon": 0.5, "sensitivity": 1}


def files_of(path: Path) -> list[str]:
    return sorted(str(entry.relative_to(path)) for entry in path.rglob("*") if entry.is_file())


def test_all_files_are_one_table(source):
    target = source.with_name("t")
    receipt, _ = tables.noised(source, target)
    assert files_of(target) == ORDER
    got = [pq.read_table(target / name, partitioning=None) for name in ORDER]
    values = np.array([1.0, 0, 3, 4, 5, 6, 7])
    wanted = tables.expected(values, mechanism=LaplaceMechanism(epsilon=0.5, sensitivity=1, changed=7)).tolist()
    wanted[1] = None
    assert [value for table in got for value in table["x"].to_pylist()] == wanted
    assert [value for table in got for value in table["s"].to_pylist()] == [ORDER[1]] * 3 + [ORDER[2]] * 4
    assert [pq.read_metadata(target / name).num_row_groups for name in ORDER] == [0, 2, 2]
    assert (receipt.format, receipt.rows, receipt.cells_noised, receipt.cells_missing) == ("parquet", 7, 6, 1)
    assert sorted(entry.name for entry in source.parent.iterdir()) == ["s", "t"]


def test_digests_are_those_of_sha256sum(source):
    target = source.with_name("t")
    receipt, _ = tables.noised(source, target, digest_source=True)
    for path, told in ((source, receipt.source_sha256), (target, receipt.target_sha256)):
        digests = {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in ORDER}
        lines = "".join(f"{digests[name]}  {name}\n" for name in ORDER)
        assert told == hashlib.sha256(lines.encode()).hexdigest()


def test_a_dry_run_reads_all_and_writes_nothing(source):
    receipt, _ = tables.noised(source, source.with_name("t"), dry_run=True)
    assert (receipt.rows, receipt.cells_noised, receipt.cells_missing) == (7, 6, 1)
    assert [entry.name for entry in source.parent.iterdir()] == ["s"]


def test_rows_are_told_by_file(source):
    for dry_run in (False, True):
        with pytest.raises(InputDataError, match=r"file 'k=2/a.parquet': row 2, column 'x' has a missing cell"):
            add_noise(source, source.with_name("t"), epsilon=1, local=True, clip=(0, 9), dry_run=dry_run)
    assert [entry.name for entry in source.parent.iterdir()] == ["s"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"x": pa.float32(), "s": pa.string()}, "column 'x' is of type float, but double in 'k=10/b.parquet'"),
        (
            [pa.field("x", pa.float64(), metadata={"ARROW:extension:name": "euros"}), pa.field("s", pa.string())],
            "column 'x' is of type extension<euros>, but double in 'k=10/b.parquet'",
        ),
        ({"x": pa.float64(), "s": pa.int8()}, "column 's' is of type int8, but string in 'k=10/b.parquet'"),
        ({"x": pa.float64()}, "column 's' of 'k=10/b.parquet' is missing"),
        ({"s": pa.string(), "x": pa.float64()}, "column 1 is 's', where 'x' stands in 'k=10/b.parquet'"),
        ({"x": pa.float64(), "s": pa.string(), "y": pa.int8()}, "column 'y' is not in 'k=10/b.parquet'"),
    ],
)
def test_schemas_must_agree(source, schema, message):
    pq.write_table(pa.schema(schema).empty_table(), source / "z.parquet")
    with pytest.raises(InputDataError, match=f"^file 'z.parquet': {message}$"):
        add_noise(source, source.with_name("t"), **OPTIONS, columns="x")
    assert [entry.name for entry in source.parent.iterdir()] == ["s"]


def test_what_is_no_table_is_refused(source, tmp_path):
    target = tmp_path / "t"
    (source / "k=2" / "notes.txt").touch()
    with pytest.raises(InputDataError, match=r"the directory has 'k=2/notes\.txt', which is no Parquet file"):
        add_noise(source, target, **OPTIONS)
    (source / "k=2" / "notes.txt").unlink()
    (source / "linked").symlink_to(source / "k=2")
    with pytest.raises(InputDataError, match="the directory has 'linked', which is no Parquet file"):
        add_noise(source, target, **OPTIONS)
    (source / "linked").unlink()
    (source / "_delta_log").mkdir()
    with pytest.raises(InputDataError, match="the directory has '_delta_log': of such a table not all files count"):
        add_noise(source, target, **OPTIONS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputDataError, match="the directory has no Parquet files"):
        add_noise(tmp_path / "empty", target, **OPTIONS)
    (source / "_delta_log").rmdir()
    (source / "z.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputDataError, match=r"^file 'z.parquet': the file ends early"):
        add_noise(source, target, **OPTIONS)
    assert not target.exists()


def test_targets_that_are_refused(source, tmp_path):
    inside = "target must lie outside of the source, and the source outside of it"
    (tmp_path / "link").symlink_to(source)
    for target in (source, source / "t", tmp_path, tmp_path / "link", tmp_path / "link" / "t"):
        with pytest.raises(ValueError, match=inside):
            add_noise(source, target, **OPTIONS, force=True)
    target = tmp_path / "t"
    target.mkdir()
    with pytest.raises(OutputError, match=r"target exists: .*; it is replaced only with force"):
        add_noise(source, target, **OPTIONS)
    (target / "letter.txt").touch()
    with pytest.raises(OutputError, match=r"target must be a directory of Parquet files to be replaced: .*letter"):
        add_noise(source, target, **OPTIONS, force=True)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="target must be a directory to be replaced by one"):
        add_noise(source, tmp_path / "file", **OPTIONS, force=True)
    with pytest.raises(OutputError, match="directory of the target does not exist"):
        add_noise(source, tmp_path / "absent" / "t", **OPTIONS)
    with pytest.raises(ValueError, match=r"target must have the format of the source, parquet, got suffix '\.csv'"):
        add_noise(source, tmp_path / "t.csv", **OPTIONS)


def test_a_ledger_in_the_target_is_not_removed(source, tmp_path):
    from lapnoise import PrivacyLedger

    (tmp_path / "t").mkdir()
    ledger = tmp_path / "t" / "_ledger"
    PrivacyLedger(5, path=ledger)
    with pytest.raises(ValueError, match="target must not be the ledger that is charged"):
        add_noise(source, tmp_path / "t", **OPTIONS, force=True, ledger=ledger)
    assert ledger.exists()


def test_force_replaces_the_whole_directory(source, tmp_path):
    target = tmp_path / "t"
    tables.noised(source, target)
    (target / "old.parquet").write_bytes(b"old")
    target.chmod(0o750)
    tables.noised(source, target)
    assert files_of(target) == ORDER
    assert target.stat().st_mode & 0o777 == 0o750
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["s", "t"]


def test_a_target_that_appears_meanwhile_stays(source, tmp_path):
    target = tmp_path / "t"

    def appear(*_):
        target.mkdir(exist_ok=True)
        (target / "theirs").touch()

    with pytest.raises(OutputError, match="target appeared while it was being written"):
        add_noise(source, target, **OPTIONS, progress=appear)
    assert files_of(target) == ["theirs"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["s", "t"]


@pytest.mark.parametrize("step", ["mkdir", "rename", "write"])
def test_a_full_disk_leaves_what_was_there(source, tmp_path, monkeypatch, step):
    target = tmp_path / "t"
    tables.noised(source, target)
    before = {name: (target / name).read_bytes() for name in ORDER}

    def full(path, *given, **_):
        if step != "rename" or "old-" not in str(given[0]):
            raise OSError(28, "No space left on device")
        return path.replace(*given)

    monkeypatch.setattr(*((os, "write") if step == "write" else (Path, step)), full)
    with pytest.raises(OutputError, match=r"target could not be written: .*: No space left on device"):
        add_noise(source, target, **OPTIONS, force=True)
    monkeypatch.undo()
    if step == "rename":  # the one that would have put it back fails here too, and the next run does it
        with _directory_target.DirectoryTarget(target, force=True):
            assert {name: (target / name).read_bytes() for name in ORDER} == before
        return
    assert {name: (target / name).read_bytes() for name in ORDER} == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["s", "t"]


def test_a_source_that_changes(source, tmp_path):
    for change in (
        lambda: (source / "new.parquet").touch(),
        lambda: os.utime(source / ORDER[0], ns=(1, 1)),
        lambda: (source / ORDER[2]).unlink(),
    ):
        changed = []

        def once(stage, *_, change=change, changed=changed):
            if not changed:
                changed.append(change())

        copy = tmp_path / "copy"
        shutil.copytree(source, copy)
        with pytest.raises(InputDataError, match="the source changed while it was being read"):
            add_noise(source, tmp_path / "t", **OPTIONS, progress=once)
        shutil.rmtree(source)
        copy.rename(source)
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


KILLED = """
import os, signal, sys
from lapnoise.files import add_noise
def stop(stage, unit, done, total):
    print("writing", flush=True)
    import time; time.sleep(60)
add_noise(sys.argv[1], sys.argv[2], epsilon=1, sensitivity=1, progress=stop)
"""


def test_a_killed_run_is_cleared_away_by_the_next(source, tmp_path):
    target = tmp_path / "t"
    process = fresh_process.start(KILLED, source, target)
    assert process.stdout.readline() == "writing\n"
    (left,) = [entry for entry in tmp_path.iterdir() if entry.name.startswith(".t.lapnoise-")]
    # Of a live run it stays.
    with _directory_target.DirectoryTarget(target, force=False):
        assert left.exists()
    target.rename(tmp_path / "other") if target.exists() else None
    shutil.rmtree(tmp_path / "other", ignore_errors=True)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert left.exists()
    tables.noised(source, target)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["s", "t"]


def test_what_was_set_aside_by_a_killed_run_comes_back(source, tmp_path):
    target = tmp_path / "t"
    tables.noised(source, target)
    target.rename(tmp_path / ".t.lapnoise-old-0123456789abcdef")
    with pytest.raises(KeyboardInterrupt), _directory_target.DirectoryTarget(target, force=True):
        raise KeyboardInterrupt
    assert files_of(target) == ORDER
    shutil.copytree(target, tmp_path / ".t.lapnoise-old-0123456789abcdef")
    tables.noised(source, target)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["s", "t"]


def test_command_line(source, tmp_path, capsys):
    given = ["noise", str(source), str(tmp_path / "t"), "--epsilon", "1", "--sensitivity", "1", "--quiet"]
    assert main(given) == 0
    assert files_of(tmp_path / "t") == ORDER
    assert main(given) == 4
    (source / "z.parquet").write_bytes(b"")
    assert main([*given, "--force", "--format", "parquet"]) == 3
    assert capsys.readouterr().err.splitlines()[-1].endswith("s: file 'z.parquet': the file is empty")


def test_directories_of_other_formats(tmp_path):
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(IsADirectoryError):
        add_noise(tmp_path / "d.csv", tmp_path / "t.csv", **OPTIONS)
    with pytest.raises(IsADirectoryError):
        add_noise(tmp_path / "d.csv", tmp_path / "t", **OPTIONS, format="arrow")
