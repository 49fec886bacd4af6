"""Full and failing disks, files that were changed, damaged, restored or put in another's place: closed, never open."""

import itertools
import json
import os
import random
import shutil
import sqlite3
import subprocess
import textwrap
import threading
from fractions import Fraction

import fresh_process
import pytest
from ledger_stub import Stub

from lapnoise import LedgerDamagedError, LedgerError, LedgerUnavailableError, PrivacyLedger, RequestRefusedError
from lapnoise.ledger._verification import verify_file


@pytest.fixture
def path(tmp_path):
    """Give a ledger of 1, of which 0.4 is spent in four entries."""
    place = tmp_path / "a.db"
    ledger = PrivacyLedger(1, path=place)
    for k in range(4):
        ledger.spend(0.1, label=f"entry {k}")
    return place


def verified(path):
    """Verify a file that may not even open."""
    return verify_file(path, 0.1, None)


def edit(path, *statements):
    """Change a file behind its triggers."""
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def statements_of(call):
    """Return how many statements a call sends to SQLite."""
    with Counting() as counter:
        call()
    return counter.count


class Counting:
    """Count the statements sent to SQLite; one of them fails, before or after it is done."""

    def __init__(self, fails=None, code=sqlite3.SQLITE_FULL, after=False):
        self.count, self.fails, self.code, self.after = 0, fails, code, after

    def __enter__(self):
        counter = self

        class Connection(sqlite3.Connection):
            def execute(self, statement, *parameters):
                counter.count += 1
                failing = counter.count == counter.fails
                if failing and not counter.after:
                    raise counter.error()
                result = super().execute(statement, *parameters)
                if failing:
                    result.close()
                    raise counter.error()
                return result

        self.real = sqlite3.connect
        sqlite3.connect = lambda *arguments, **options: self.real(*arguments, factory=Connection, **options)
        return self

    def error(self):
        full = self.code == sqlite3.SQLITE_FULL
        error = sqlite3.OperationalError("database or disk is full" if full else "disk I/O error")
        error.sqlite_errorcode = self.code
        return error

    def __exit__(self, *_):
        sqlite3.connect = self.real


@pytest.mark.parametrize(
    ("code", "after"),
    [(sqlite3.SQLITE_FULL, False), (sqlite3.SQLITE_IOERR | 4 << 8, True)],
    ids=["ENOSPC before it", "EIO in fsync after it"],
)
def test_any_statement_that_fails(tmp_path, code, after):
    """Whichever statement of a release finds the disk full or failing, nothing is returned, and the ledger is sound.

    Where the noise was drawn the charge is there; where nothing was charged the release can be made later.
    """
    reference = tmp_path / "reference.db"

    def release(path, stub):
        return PrivacyLedger(1, path=path).release(stub, 1.0, label="a", request_id="r")

    steps = statements_of(lambda: release(reference, Stub()))
    assert steps > 30
    outcomes = set()
    for k in range(1, steps + 1):
        path, stub = tmp_path / f"{k}.db", Stub()
        with Counting(k, code, after), pytest.raises(LedgerUnavailableError, match=r"full|I/O") as refused:
            release(path, stub)
        assert "nothing was granted" in str(refused.value)
        ledger = PrivacyLedger(1, path=path)
        assert ledger.verify().ok
        entries = ledger.entries()
        assert len(entries) >= stub.calls
        assert ledger.spent.epsilon == Fraction(len(entries), 4)
        if not entries:
            assert release(path, stub) == 2.0
            outcomes.add("nothing was charged")
        elif entries[0].state == "reserved":
            with pytest.raises(RequestRefusedError):
                release(path, stub)
            outcomes.add("charged")
        else:
            assert release(path, Stub()) == 2.0
            outcomes.add("recorded")
    assert outcomes == {"nothing was charged", "charged"} | ({"recorded"} if after else set())


def test_pages_run_out(path):
    """SQLite's own refusal of a page more is a full disk; nothing is lost, and with room the ledger goes on."""
    ledger = PrivacyLedger.open(path)
    pages = ledger._account._store._connected().execute("PRAGMA page_count").fetchone()[0]
    ledger._account._store._connected().execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerUnavailableError, match="database or disk is full; nothing was granted"):
        ledger.spend(0.1, label="x" * 10_000)
    assert ledger.spent.epsilon == Fraction(2, 5)
    ledger._account._store._connected().execute("PRAGMA max_page_count = 1000")
    ledger.spend(0.1, label="x" * 10_000)
    assert ledger.verify().ok


def spend_until_refused(path, before="", after=""):
    """Spend in a process of its own until an error; return how many spends were granted, the error, what is there."""
    script = f"""
    import itertools, json, os, resource, signal, sys
    from lapnoise import LedgerError, PrivacyLedger
    ledger = PrivacyLedger.open({str(path)!r})
    {before}
    granted = 0
    try:
        for granted in itertools.count():
            ledger.spend("1/1000000", label="x" * 200)
    except LedgerError as error:
        told = f"{{type(error).__name__}}: {{error}}"
    {after}
    again = PrivacyLedger.open({str(path)!r})
    print(json.dumps([granted, told, len(again.entries()), again.verify().problems]))
    again.spend("1/1000000")
    """
    return textwrap.dedent(script)


def test_a_file_that_may_not_grow(path):
    """Where the system refuses to write, spending stops, and no granted spend is lost."""
    limit = "soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)\n    "
    limit += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({path.stat().st_size + 8192}, hard))"
    script = spend_until_refused(path, limit, "resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))")
    granted, told, entries, problems = json.loads(fresh_process.run(script))
    assert told.startswith("LedgerUnavailableError: the ledger could not be read or written")
    assert granted > 5
    assert entries == 4 + granted
    assert problems == []


def in_own_mounts(*lines):
    """Run shell lines where file systems can be mounted for themselves, or skip."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("this system has no unshare")
    probe = [unshare, "-rm", "sh", "-c", "mount -t tmpfs none /mnt"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    command, variables = [unshare, "-rm", "sh", "-ec", "\n".join(lines)], fresh_process.environment()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_full_disk(path, tmp_path):
    """On a file system of 80 KiB spending stops when it is full, no granted spend is lost, and with room it goes on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    filler = disk / "filler"
    script = tmp_path / "script.py"
    script.write_text(spend_until_refused(disk / "a.db", "", f"os.unlink({str(filler)!r})"))
    printed = in_own_mounts(
        f"mount -t tmpfs -o size=80k none '{disk}'",
        f"cp '{path}' '{disk}/a.db'",
        f"head -c 20000 /dev/zero > '{filler}'",
        f"{fresh_process.sys.executable} '{script}'",
    )
    granted, told, entries, problems = json.loads(printed)
    assert told.startswith("LedgerUnavailableError: the ledger could not be read or written")
    assert "database or disk is full; nothing was granted" in told
    assert entries == 4 + granted
    assert granted > 5
    assert problems == []


READ_ONLY = """
import json, sys
from pathlib import Path
from lapnoise import LedgerError, PrivacyLedger
path = Path(sys.argv[1])
told = []
ledger = PrivacyLedger.open(path)
told.append(str(ledger.remaining.epsilon))
for call in (lambda: ledger.spend(0.1), lambda: PrivacyLedger(1, path=path.with_name("new.db"))):
    try:
        call()
        told.append("granted")
    except LedgerError as error:
        told.append(f"{type(error).__name__}: {error}")
told.append(PrivacyLedger.open(path).verify().problems)
print(json.dumps(told))
"""


def assert_read_only(printed):
    remaining, spend, made, problems = json.loads(printed)
    assert remaining == "3/5"
    assert spend.startswith("LedgerUnavailableError: the ledger could not be read or written")
    assert made.startswith("LedgerUnavailableError: the ledger could not be made")
    assert problems == []


def test_a_read_only_file_system(path, tmp_path):
    """On a file system that is read-only a ledger can be read and verified, neither spent from nor made."""
    folder, script = path.parent, tmp_path / "script.py"
    script.write_text(READ_ONLY)
    printed = in_own_mounts(
        f"mount --bind '{folder}' '{folder}'",
        f"mount -o remount,ro,bind '{folder}'",
        f"{fresh_process.sys.executable} '{script}' '{path}'",
    )
    assert_read_only(printed)


def test_a_read_only_folder(path):
    """In a folder that may not be written a ledger can be read, neither spent from nor made."""
    path.parent.chmod(0o500)
    try:
        if os.access(path.parent, os.W_OK):
            pytest.skip("this user may write everywhere")
        assert_read_only(fresh_process.run(READ_ONLY, path))
    finally:
        path.parent.chmod(0o700)


def test_a_folder_that_is_not_there(tmp_path):
    """A ledger is not made where there is no folder."""
    with pytest.raises(LedgerUnavailableError, match=r"could not be made: .*: No such file or directory"):
        PrivacyLedger(1, path=tmp_path / "absent" / "a.db")


def test_the_charge_is_on_the_disk_before_it_is_granted(path, tmp_path):
    """Between the question and the answer journal, file and folder are synchronised."""
    if shutil.which("strace") is None:
        pytest.skip("this system has no strace")
    script = tmp_path / "script.py"
    script.write_text(
        f"import os\nfrom lapnoise import PrivacyLedger\nledger = PrivacyLedger.open({str(path)!r})\n"
        "os.write(1, b'asked\\n')\nledger.spend(0.1)\nos.write(1, b'granted\\n')\n"
    )
    command = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,write", fresh_process.sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=fresh_process.environment())
    if done.returncode:
        pytest.skip("processes cannot be traced here")
    between = done.stderr.split('"asked\\n"')[1].split('"granted\\n"')[0]
    synchronised = [line for line in between.splitlines() if "sync(" in line]
    for name in (f"<{path}-journal>", f"<{path}>", f"<{path.parent}>"):
        assert any(name in line for line in synchronised), (name, synchronised)


def test_pages_of_garbage(path, tmp_path):
    """Whichever page is overwritten, the ledger says so: it grants nothing, or its verification finds it."""
    ledger = PrivacyLedger.open(path)
    for _ in range(40):
        ledger.spend("1/1000", label="x" * 200)
    whole = path.read_bytes()
    size = 4096
    assert len(whole) % size == 0
    generator = random.Random(1)
    for page in range(len(whole) // size):
        copy = tmp_path / f"{page}.db"
        copy.write_bytes(whole[: page * size] + generator.randbytes(size) + whole[(page + 1) * size :])
        assert verified(copy).problems, page


def test_bits_that_flip(path, tmp_path):
    """Whichever bit flips, either verification finds it, or no entry and no sum is another one than before."""
    whole = path.read_bytes()
    ledger = PrivacyLedger.open(path)
    entries, spent, head = ledger.entries(), ledger.spent, ledger.head
    generator = random.Random(2)
    found = 0
    copy = tmp_path / "copy.db"
    # Most of a page is empty; the texts stand at the ends of pages.
    places = [place for place in range(len(whole)) if whole[place]]
    for place in generator.sample(places, 300):
        changed = bytearray(whole)
        changed[place] ^= 1 << generator.randrange(8)
        copy.write_bytes(changed)
        if verified(copy).ok:
            again = PrivacyLedger.open(copy)
            assert (again.entries(), again.spent, again.head) == (entries, spent, head), place
        else:
            found += 1
    assert found > 200


@pytest.mark.parametrize("cut", [0, 1, 100, 4096, -4096])
def test_files_cut_short(path, cut):
    """A file of which a part is missing is refused."""
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    with pytest.raises(LedgerDamagedError):
        PrivacyLedger.open(path).spend(0.1)
    assert not verified(path).ok


FORGERIES = {
    "an amount": (["UPDATE entries SET epsilon = '1/20' WHERE number = 2"], "the chain breaks at entry 2"),
    "a label": (["UPDATE entries SET label = 'other' WHERE number = 2"], "the chain breaks at entry 2"),
    "an entry in between": (["DELETE FROM entries WHERE number = 2"], "the chain breaks at entry 2"),
    "the last entry": (["DELETE FROM entries WHERE number = 4"], "the head speaks of 4 entries, and there are 3"),
    "the last entry and the count": (
        ["DELETE FROM entries WHERE number = 4", "UPDATE head SET count = 3"],
        "the head speaks of 3 entries, and there are 3",
    ),
    "the sum": (
        ["UPDATE head SET spent_epsilon = '0'"],
        "the head says that epsilon 0 is spent, and the entries cost epsilon 2/5",
    ),
    "the total": (["UPDATE head SET total_epsilon = '2'"], "the chain breaks at entry 1"),
    "an amount that is none": (["UPDATE entries SET epsilon = '0.1' WHERE number = 1"], "the chain breaks at entry 1"),
    "a result of nothing": (["INSERT INTO results VALUES (2, 2, x'00')"], None),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_what_was_changed_behind_the_triggers_is_found(path, forgery):
    """With the triggers out of the way, changes are found by verification, and by the first charge where it can see."""
    statements, problem = FORGERIES[forgery]
    with sqlite3.connect(path) as connection:
        triggers = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"))
    connection.close()
    ledger = PrivacyLedger.open(path)
    edit(path, *(f"DROP TRIGGER {name}" for name in triggers), *statements, *triggers.values())
    found = ledger.verify()
    if problem is None:
        assert found.ok  # it can never be returned: entry 2 has no request
        return
    assert any(told.startswith(problem) for told in found.problems), found
    if forgery in ("the last entry", "the last entry and the count", "the sum", "the total"):
        for one in (ledger, None):
            with pytest.raises(LedgerDamagedError, match="cannot be trusted"):
                (one or PrivacyLedger.open(path)).spend(0.1)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DROP TRIGGER entries_stay", "entries_stay is missing"),
        ("DROP INDEX requests", "requests is missing"),
        ("CREATE TRIGGER more AFTER INSERT ON entries BEGIN SELECT 1; END", "more was added"),
        ("ALTER TABLE results RENAME COLUMN content TO body", "results was altered"),
        ("PRAGMA user_version = 2", "it has format 2, made by another version of lapnoise"),
        ("PRAGMA application_id = 7", "it is a SQLite file but not a ledger"),
    ],
)
def test_tables_that_are_not_as_they_were(path, statement, problem):
    """A file whose tables, triggers or version are others is not opened, and verification says why."""
    edit(path, statement)
    with pytest.raises(LedgerDamagedError, match=problem):
        PrivacyLedger.open(path)
    assert problem in "; ".join(verified(path).problems)


def test_a_restored_copy(path, tmp_path):
    """An older copy is refused by whoever saw the ledger go on, or kept its head; alone it cannot be told."""
    copy = tmp_path / "copy.db"
    ledger = PrivacyLedger.open(path)
    old = ledger.head
    shutil.copy(path, copy)
    ledger.spend(0.6, label="forgotten by the copy")
    kept = str(ledger.head)
    shutil.copy(copy, tmp_path / "again.db")
    copy.replace(path)
    with pytest.raises(LedgerDamagedError, match=r"it is an older copy or another history: it was seen with 5 entries"):
        ledger.spend(0.1)
    with pytest.raises(LedgerDamagedError, match="older copy"):
        ledger.remaining  # noqa: B018
    with pytest.raises(LedgerDamagedError, match="older copy"):
        PrivacyLedger.open(path, expected_head=kept)
    found = PrivacyLedger.open(path).verify(kept)
    assert found.problems == (
        "the ledger is an older copy: it has 4 entries, and the head kept elsewhere says that there were 5",
    )
    assert PrivacyLedger.open(path).verify(old).ok
    fresh = PrivacyLedger.open(path)
    fresh.spend(0.1, label="in its place")
    with pytest.raises(LedgerDamagedError, match="older copy or another history"):
        PrivacyLedger.open(path, expected_head=kept)
    assert "another history" in fresh.verify(kept).problems[0]
    assert PrivacyLedger.open(path, expected_head=old).remaining.epsilon == Fraction(1, 2)


def test_a_copy_restored_in_place(path):
    """The same bytes written over the file, under its own number, are an older copy too."""
    before = path.read_bytes()
    ledger = PrivacyLedger.open(path)
    ledger.spend(0.1)
    path.write_bytes(before)
    with pytest.raises(LedgerDamagedError, match="older copy"):
        ledger.spend(0.1)


def spent_elsewhere(path, times):
    """Spend tenths in another process."""
    script = "import sys, lapnoise\nledger = lapnoise.PrivacyLedger.open(sys.argv[1])\n"
    fresh_process.run(f"{script}for _ in range({times}): ledger.spend('0.1', label='other')", path)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_copy_restored_in_place_that_went_on_as_often(path, times):
    """It is refused when another process spent as often as this one did, and SQLite's counter is the same again."""
    before = path.read_bytes()
    ledger = PrivacyLedger.open(path)
    for _ in range(times):
        ledger.spend(0.1, label="own")
    path.write_bytes(before)
    spent_elsewhere(path, times)
    with pytest.raises(LedgerDamagedError, match="older copy or another history"):
        ledger.spend(0.1)
    again = PrivacyLedger.open(path)
    assert [entry.label for entry in again.entries()][4:] == ["other"] * times
    assert again.verify().ok


def test_a_ledger_has_one_name(path, tmp_path):
    """A file with a second name, whose journal is another, is refused when it is opened, and when it is open."""
    ledger = PrivacyLedger.open(path)
    other = tmp_path / "other.db"
    os.link(path, other)
    for call in (lambda: ledger.spend(0.1), *(lambda name=name: PrivacyLedger.open(name) for name in (path, other))):
        with pytest.raises(LedgerUnavailableError, match=r"the ledger has 2 names: .*; remove the other hard links"):
            call()
    other.unlink()
    ledger.spend(0.6)
    assert ledger.remaining == (0, 0)


def test_a_second_name_of_a_moment(path, tmp_path):
    """The second name that a file has while it is made is waited out."""
    os.link(path, tmp_path / "made")
    timer = threading.Timer(0.05, (tmp_path / "made").unlink)
    timer.start()
    PrivacyLedger.open(path).spend(0.6)
    timer.join()


def test_a_write_ahead_log_is_refused(path):
    """A log turned on by somebody else, before or after the ledger was opened, ends its use until it is turned off."""
    ledger = PrivacyLedger.open(path)
    edit(path, "PRAGMA journal_mode = WAL")
    for call in (lambda: ledger.spend(0.1), lambda: PrivacyLedger.open(path)):
        with pytest.raises(
            LedgerUnavailableError, match=r"was given a write-ahead log: .*'PRAGMA journal_mode = DELETE'"
        ):
            call()
    assert "write-ahead log" in verified(path).problems[0]
    ledger = None
    edit(path, "PRAGMA journal_mode = DELETE")
    PrivacyLedger.open(path).spend(0.6)


def test_statistics_do_not_matter(path):
    """The tables that ANALYZE adds are no tables of the ledger."""
    ledger = PrivacyLedger.open(path)
    edit(path, "ANALYZE")
    ledger.spend(0.1)
    assert PrivacyLedger.open(path).verify().ok


def test_another_ledger_in_its_place(path, tmp_path):
    """A ledger of the same totals that is put in this one's place is another history, even where nothing was spent."""
    first = PrivacyLedger(1, path=tmp_path / "b.db")
    PrivacyLedger(1, path=tmp_path / "c.db")
    (tmp_path / "c.db").replace(tmp_path / "b.db")
    with pytest.raises(LedgerDamagedError, match="another history"):
        first.spend(0.1)


def test_a_file_that_went_on_elsewhere(path, tmp_path):
    """A file that was moved away, spent from and moved back is the same ledger."""
    ledger = PrivacyLedger.open(path)
    away = tmp_path / "away.db"
    shutil.copy(path, away)
    PrivacyLedger.open(away).spend(0.1)
    away.replace(path)
    ledger.spend(0.5)
    assert ledger.remaining == (0, 0)


def test_a_file_that_went_away(path):
    """A ledger whose file was deleted grants nothing, and no new one is made in its place."""
    ledger = PrivacyLedger.open(path)
    path.unlink()
    for call in (lambda: ledger.spend(0.1), lambda: ledger.remaining, ledger.entries):
        with pytest.raises(LedgerUnavailableError, match="there is no ledger at"):
            call()
    assert not path.exists()


@pytest.mark.parametrize("ending", ["journal", "wal", "shm"])
def test_a_journal_left_alone(tmp_path, ending):
    """No ledger is made beside another's journal or log, which would be played back onto it."""
    (tmp_path / f"a.db-{ending}").write_bytes(b"x")
    with pytest.raises(LedgerUnavailableError, match=rf"a\.db-{ending}' is left of another; move it away"):
        PrivacyLedger(1, path=tmp_path / "a.db")


def test_errors_are_of_one_kind():
    """Whoever catches LedgerError catches every way in which a ledger does not grant."""
    for kind in (LedgerUnavailableError, LedgerDamagedError, RequestRefusedError):
        assert issubclass(kind, LedgerError)
    assert len(list(itertools.chain([LedgerError], LedgerError.__subclasses__()))) == 5
