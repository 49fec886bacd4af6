"""The target: whole or absent, nothing overwritten by accident, nothing left behind."""

import errno
import os
import stat

import pytest

from lapnoise.errors import OutputError
from lapnoise.files import _target
from lapnoise.files._target import Target, refuse_unsafe_target


def test_appears_whole_at_the_end(tmp_path):
    path = tmp_path / "t.csv"
    with Target(path, force=False) as target:
        target.write(b"a")
        target.write(b"")
        target.write(b"bc")
        assert not path.exists()
        (temporary,) = tmp_path.iterdir()
        assert temporary.name.startswith(".t.csv.lapnoise-")
    assert path.read_bytes() == b"abc"
    assert list(tmp_path.iterdir()) == [path]
    assert target.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-4, "abc"


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("force", [False, True])
def test_nothing_is_left_after_an_exception(tmp_path, kind, force):
    path = tmp_path / "t.csv"
    if force:
        path.write_bytes(b"old")

    def fail():
        with Target(path, force=force) as target:
            target.write(b"new")
            raise kind

    with pytest.raises(kind):
        fail()
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"old"] * force


def test_force_replaces_and_keeps_the_mode(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with Target(path, force=True) as target:
        target.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_mode_of_a_new_file_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with Target(tmp_path / "t.csv", force=False):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o640


def write_while_it_appears(path):
    with Target(path, force=False) as target:
        target.write(b"ours")
        path.write_bytes(b"theirs")


def test_a_target_that_appears_meanwhile_is_left_alone(tmp_path):
    path = tmp_path / "t.csv"
    with pytest.raises(OutputError, match="appeared while it was being written"):
        write_while_it_appears(path)
    assert path.read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_file_systems_without_hard_links(tmp_path, monkeypatch):
    def no_link(*_, **__):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_link)
    with Target(tmp_path / "a.csv", force=False) as target:
        target.write(b"ours")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]
    with pytest.raises(OutputError, match="appeared while it was being written"):
        write_while_it_appears(tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == b"theirs"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.csv", "b.csv"]


def test_temporaries_of_dead_runs_are_removed_and_others_stay(tmp_path):
    stale = [tmp_path / f".t.csv.lapnoise-{i:016x}" for i in range(2)]
    others = [tmp_path / name for name in (".u.csv.lapnoise-0000000000000000", ".t.csv.lapnoise-mine", "t.csv.bak")]
    for entry in (*stale, *others):
        entry.write_bytes(b"x")
    with Target(tmp_path / "t.csv", force=False):
        assert not any(entry.exists() for entry in stale)
    assert sorted(tmp_path.iterdir()) == sorted([*others, tmp_path / "t.csv"])


def test_the_temporary_of_a_live_run_stays(tmp_path):
    with Target(tmp_path / "t.csv", force=False) as first:
        first.write(b"first")
        with Target(tmp_path / "t.csv", force=True) as second:
            second.write(b"second")
            assert len(list(tmp_path.iterdir())) == 2
        (tmp_path / "t.csv").unlink()
    assert (tmp_path / "t.csv").read_bytes() == b"first"


def test_a_temporary_taken_for_stale_before_it_was_locked_is_made_anew(tmp_path, monkeypatch):
    plain, names = _target.lock, []

    def late(fd):
        if not names:
            names.extend(tmp_path.iterdir())
            names[0].unlink()
        return plain(fd)

    monkeypatch.setattr(_target, "lock", late)
    with Target(tmp_path / "t.csv", force=False) as target:
        target.write(b"whole")
        assert list(tmp_path.iterdir()) != names
    assert (tmp_path / "t.csv").read_bytes() == b"whole"


def test_file_systems_without_locks(tmp_path, monkeypatch):
    def no_lock(*_):
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(_target.fcntl, "flock", no_lock)
    unsure = tmp_path / ".t.csv.lapnoise-0000000000000000"
    unsure.write_bytes(b"perhaps of a live run")
    with Target(tmp_path / "t.csv", force=False) as target:
        target.write(b"whole")
    assert (tmp_path / "t.csv").read_bytes() == b"whole"
    assert unsure.exists()


def test_names_as_long_as_the_file_system_takes(tmp_path):
    path = tmp_path / ("t" * 251 + ".csv")
    with Target(path, force=False) as target:
        target.write(b"whole")
    assert path.read_bytes() == b"whole"


@pytest.mark.parametrize("step", ["write", "fsync", "replace", "posix_fallocate"])
def test_a_disk_that_is_full_leaves_nothing(tmp_path, monkeypatch, step):
    path = tmp_path / "t.csv"

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_target.Path if step == "replace" else os, step, full)
    path.write_bytes(b"old")

    def run():
        with Target(path, force=True) as target:
            target.append_mapped(10)
            target.write(b"new")

    with pytest.raises(OutputError, match=r"target could not be written: '.*t\.csv': No space left on device"):
        run()
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"old"]


def test_digest_after_a_memory_map(tmp_path):
    with Target(tmp_path / "t.npy", force=False) as target:
        target.write(b"a")
        filled = target.append_mapped(2)
        filled[1:] = b"bc"
        target.digest_map(filled)
    assert target.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_force_writes_through_a_symbolic_link(tmp_path):
    (tmp_path / "real.csv").write_bytes(b"old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    with Target(tmp_path / "link.csv", force=True) as target:
        target.write(b"new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_bytes() == b"new"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", ["s.csv", "./s.csv", "symbolic.csv", "hard.csv"])
def test_the_source_is_never_the_target(tmp_path, name, force):
    source = tmp_path / "s.csv"
    source.write_bytes(b"x")
    (tmp_path / "symbolic.csv").symlink_to(source)
    (tmp_path / "hard.csv").hardlink_to(source)
    with pytest.raises(ValueError, match="target must not be the source"):
        refuse_unsafe_target(tmp_path / name, source, force=force)


@pytest.mark.parametrize(
    ("name", "force", "message"),
    [
        ("old.csv", False, "target exists: .*; it is replaced only with force"),
        ("dangling.csv", False, "target exists: .*; it is replaced only with force"),
        ("directory", True, "target must be a regular file to be replaced"),
        ("pipe", True, "target must be a regular file to be replaced"),
        ("null", True, "target must be a regular file to be replaced"),
        ("absent/t.csv", False, "directory of the target does not exist"),
        ("old.csv/t.csv", True, "directory of the target does not exist"),
        ("dangling.csv", True, "directory of the target does not exist"),
    ],
)
def test_targets_that_are_refused(tmp_path, name, force, message):
    source = tmp_path / "s.csv"
    source.write_bytes(b"x")
    (tmp_path / "old.csv").write_bytes(b"old")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to(os.devnull)
    (tmp_path / "dangling.csv").symlink_to("nowhere/t.csv")
    with pytest.raises(OutputError, match=message):
        refuse_unsafe_target(tmp_path / name, source, force=force)


def test_a_directory_that_is_not_writable(tmp_path, monkeypatch):
    (tmp_path / "s.csv").write_bytes(b"x")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="directory of the target is not writable"):
        refuse_unsafe_target(tmp_path / "t.csv", tmp_path / "s.csv", force=False)


def test_a_directory_that_turns_out_not_to_be_writable(tmp_path, monkeypatch):
    def read_only(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(OutputError, match="Read-only file system"), Target(tmp_path / "t.csv", force=False):
        pass
