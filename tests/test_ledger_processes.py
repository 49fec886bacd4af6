"""Many processes and threads on one budget, processes killed at every step, and forks.

Forks happen in fresh processes, which have a time limit.
"""

import contextlib
import json
import linecache
import signal
import sys
import textwrap
import threading
import time
from fractions import Fraction

import fresh_process
import pytest

from lapnoise import BudgetExhaustedError, LedgerUnavailableError, PrivacyLedger
from lapnoise.ledger._memory import MemoryStore
from lapnoise.ledger._sqlite import SqliteBook

FORKING = """
import json, multiprocessing, os, random, signal, sys, time
from fractions import Fraction
import lapnoise
from lapnoise import BudgetExhaustedError, LedgerError, PrivacyLedger, RequestRefusedError

path = sys.argv[1]

def in_child(run):
    # Run run() in a forked process; return what it returned, or the signal that ended it.
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            answer = run()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(write, json.dumps(answer).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        printed = pipe.read()
    status = os.waitpid(pid, 0)[1]
    return json.loads(printed) if printed else -os.WTERMSIG(status)
"""


def forking(script, *arguments, timeout=60):
    """Run a script after FORKING in a process of its own, and return what it printed as JSON."""
    return json.loads(fresh_process.run(FORKING + textwrap.dedent(script), *arguments, timeout=timeout))


RACE = """
    def race(barrier):
        {opening}
        barrier.wait()
        try:
            ledger.spend(1, label=str(os.getpid()))
        except BudgetExhaustedError:
            os._exit(1)
        os._exit(0)

    context = multiprocessing.get_context("fork")
    {before}
    barrier = context.Barrier(64)
    racers = [context.Process(target=race, args=(barrier,)) for _ in range(64)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    codes = [racer.exitcode for racer in racers]
    print(json.dumps([codes.count(0), codes.count(1)]))
"""


@pytest.mark.parametrize(
    ("before", "opening"),
    [
        ("PrivacyLedger(10, path=path)", "ledger = PrivacyLedger.open(path)"),
        ("pass", "ledger = PrivacyLedger(10, path=path)"),
        ("ledger = PrivacyLedger(10, path=path); ledger.remaining", "pass"),
    ],
    ids=["each opens it", "each makes it", "forks of one that has it open"],
)
def test_of_64_processes_exactly_10_win(tmp_path, before, opening):
    """Of 64 processes at a barrier on a budget of 10, each asking for 1, exactly 10 win; the file is sound."""
    path = tmp_path / "a.db"
    assert forking(RACE.format(before=before, opening=opening), path) == [10, 54]
    ledger = PrivacyLedger.open(path)
    assert ledger.remaining == (0, 0)
    assert len({entry.label for entry in ledger.entries()}) == 10
    assert ledger.verify().ok


def race_threads(ledger, epsilon, number=64):
    """Return how many of some threads at a barrier were granted their spend."""
    barrier = threading.Barrier(number)
    wins = []

    def run():
        barrier.wait()
        with contextlib.suppress(BudgetExhaustedError):
            wins.append(ledger.spend(epsilon))

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(wins)


def test_of_64_threads_exactly_10_win():
    """Of 64 threads behind a barrier, each asking 0.1 of 1, exactly 10 win; twenty times."""
    for _ in range(20):
        ledger = PrivacyLedger(1)
        assert race_threads(ledger, 0.1) == 10
        assert ledger.verify().ok


def test_of_64_threads_on_a_file_exactly_10_win(tmp_path):
    """The same on one connection to a file, and on one for each half of the threads."""
    ledger = PrivacyLedger(1, path=tmp_path / "a.db")
    assert race_threads(ledger, 0.1) == 10
    assert ledger.verify().ok
    halves = [PrivacyLedger(1, path=tmp_path / "b.db") for _ in range(2)]
    granted = []
    racers = [threading.Thread(target=lambda half=half: granted.append(race_threads(half, 0.1, 32))) for half in halves]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert sum(granted) == 10
    assert halves[0].remaining == (0, 0)


def test_a_ledger_without_its_lock_is_caught(monkeypatch):
    """The race has teeth: with a lock that locks nothing, and a look between check and charge, too many win."""

    class NoLock:
        _is_owned = staticmethod(lambda: False)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    def slow(self):
        state = self._state
        time.sleep(0.01)
        return state

    monkeypatch.setattr(MemoryStore, "state", slow)
    ledger = PrivacyLedger(1)
    ledger._account._store._lock = NoLock()
    assert race_threads(ledger, 0.1) > 10


KILLED = """
    class Stub:
        epsilon_asked = Fraction(1, 4)
        _parameters = staticmethod(lambda: {})

        def add_noise(self, values):
            step()
            return values + 1 / (1 + int.from_bytes(os.urandom(4)))

    import sqlite3

    class Steps(sqlite3.Connection):
        def execute(self, statement, *parameters):
            step()
            return super().execute(statement, *parameters)

    real = sqlite3.connect
    sqlite3.connect = lambda *arguments, **options: real(*arguments, factory=Steps, **options)

    count, last = 0, None

    def step():
        global count
        count += 1
        if last is not None and count == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def attempt():
        ledger = PrivacyLedger(1, path=path)
        result = ledger.release(Stub(), 1.0, label="a", request_id="r")
        step()
        return result

    def replay():
        try:
            return PrivacyLedger(1, path=path).release(Stub(), 1.0, label="a", request_id="r")
        except RequestRefusedError:
            return "refused"

    def left():
        ledger = PrivacyLedger(1, path=path)
        return [len(ledger.entries()), str(ledger.spent.epsilon), ledger.verify().problems]

    def whole():
        attempt()
        return count

    def clear():
        for place in (path, path + "-journal"):
            if os.path.exists(place):
                os.unlink(place)

    steps = in_child(whole)
    clear()
    told = []
    for last in range(1, steps + 1):
        ended = in_child(attempt)
        last, at = None, last
        told.append([at, ended, in_child(left), in_child(replay), in_child(replay), in_child(left)])
        clear()
    print(json.dumps(told))
"""


def test_killed_at_every_step_of_a_release(tmp_path):
    """Killed before or after any statement or the noise, nothing is half done, and a request is answered once.

    After the kill the budget was charged not at all or once; then a replay makes the release, returns its very result,
    or is refused, and never charges a second time.
    """
    told = forking(KILLED, tmp_path / "a.db")
    assert len(told) > 40
    answers = set()
    for at, ended, (entries, spent, problems), first, second, after in told:
        assert ended == -signal.SIGKILL, at
        assert problems == [], at
        assert (entries, spent) in ((0, "0"), (1, "1/4")), at
        if entries == 0:
            assert isinstance(first, float), at
        answers.add((entries, first if first == "refused" else "made or kept"))
        assert first == second, at
        assert after == [1, "1/4", []], at
    assert answers == {(0, "made or kept"), (1, "refused"), (1, "made or kept")}


AT_ANY_MOMENT = """
    def spend(write):
        ledger = PrivacyLedger.open(path)
        while True:
            ledger.spend("1/1000000")
            os.write(write, b".")

    PrivacyLedger(1, path=path)
    told = []
    for seed in range(int(sys.argv[2])):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            spend(write)
        os.close(write)
        granted = os.read(read, 1)
        start = time.perf_counter()
        granted += os.read(read, 1)
        lasts = time.perf_counter() - start
        time.sleep(lasts * random.Random(seed).uniform(0, 2))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with open(read, "rb") as pipe:
            granted += pipe.read()
        ledger = PrivacyLedger.open(path)
        told.append([len(granted), len(ledger.entries()), str(ledger.spent.epsilon), ledger.verify().problems])
    print(json.dumps(told))
"""


@pytest.mark.parametrize("kills", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_at_any_moment(tmp_path, kills):
    """Killed inside a commit or anywhere else, every acknowledged charge is there, and at most one more."""
    before = more = 0
    for acknowledged, entries, spent, problems in forking(AT_ANY_MOMENT, tmp_path / "a.db", kills, timeout=300):
        assert problems == []
        assert acknowledged >= 2
        assert before + acknowledged <= entries <= before + acknowledged + 1
        assert Fraction(spent) == Fraction(entries, 10**6)
        more += entries - before - acknowledged
        before = entries
    assert kills < 100 or more  # some kills come between the commit and the answer


def test_forks_use_connections_of_their_own(tmp_path):
    """Children and grandchildren of a process with an open ledger spend from it, and so does the parent, in turns."""
    script = """
    ledger = PrivacyLedger(1, path=path)
    ledger.spend("1/8", label="parent")
    own = ledger._account._store._connection

    def child():
        ledger.spend("1/8", label="child")
        if ledger._account._store._connection is own or own not in lapnoise.ledger._sqlite._abandoned:
            return "the connection of the parent was used or closed"
        in_child(lambda: [ledger.spend("1/8", label="grandchild").number])
        return str(ledger.remaining.epsilon)

    told = [in_child(child), in_child(child)]
    ledger.spend("1/8", label="parent")
    print(json.dumps([*told, str(ledger.remaining.epsilon), [entry.label for entry in ledger.entries()]]))
    """
    labels = ["parent", "child", "grandchild", "child", "grandchild", "parent"]
    assert forking(script, tmp_path / "a.db") == ["5/8", "3/8", "1/4", labels]


def test_no_fork_inside_a_transaction(tmp_path):
    """A fork waits until no thread is inside a transaction, which its child would otherwise roll back."""
    script = """
    import threading
    ledger = PrivacyLedger(1, path=path)
    inside, done = threading.Event(), []

    def slowly():
        with ledger._account._store.transaction(write=True) as book:
            half = lapnoise.ledger.Amount(Fraction(1, 2), Fraction(0))
            ledger._account._charge(book, "spend", "slow", half, None, "{}")
            inside.set()
            time.sleep(0.3)
            done.append(True)

    thread = threading.Thread(target=slowly)
    thread.start()
    inside.wait()
    told = in_child(lambda: [done, str(ledger.spent.epsilon)])
    thread.join()
    print(json.dumps([told, str(ledger.spent.epsilon), ledger.verify().problems]))
    """
    assert forking(script, tmp_path / "a.db") == [[[True], "1/2"], "1/2", []]


def test_a_ledger_in_memory_does_not_cross_a_fork(tmp_path):
    """A forked child holds a copy of the budget, and may not spend from it."""
    script = """
    ledger = PrivacyLedger(1)
    told = in_child(lambda: str(ledger.spend(1)))
    ledger.spend(1)
    print(json.dumps([told, str(ledger.spent.epsilon)]))
    """
    told, spent = forking(script, tmp_path / "a.db")
    assert told.startswith("LedgerUnavailableError: a ledger in memory belongs to the process that made it")
    assert spent == "1"


def test_a_locked_file_is_refused_in_time(tmp_path):
    """While another process holds the file a charge waits for the timeout, and then nothing was charged."""
    path = tmp_path / "a.db"
    ledger = PrivacyLedger(1, path=path, timeout=0.05)
    script = """
    import sqlite3
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    print("locked", flush=True)
    sys.stdin.readline()
    """
    holder = fresh_process.start(FORKING + textwrap.dedent(script), path)
    assert holder.stdout.readline() == "locked\n"
    with pytest.raises(LedgerUnavailableError, match=r"is locked by another process: .*; nothing was granted"):
        ledger.spend(0.1)
    assert ledger.spent == (0, 0)
    fresh_process.finish(holder, stdin="\n")
    ledger.spend(0.1)
    assert ledger.spent.epsilon == Fraction(1, 10)


@pytest.mark.parametrize("write", [True, False])
def test_a_file_that_is_closed_inside_a_transaction(tmp_path, monkeypatch, write):
    """Closing the file, which drops SQLite's locks, lets no other process in: neither to spend nor to roll back."""
    path = tmp_path / "a.db"
    ledger = PrivacyLedger(1, path=path)
    ledger.spend(0.2)
    ask = "ledger.spend('0.7')" if write else "ledger.spent"
    script = f"""
    import sys, lapnoise
    try:
        ledger = lapnoise.PrivacyLedger.open(sys.argv[1], timeout=0.1)
        print({ask})
    except lapnoise.LedgerUnavailableError as error:
        print("locked" if "is locked by another process" in str(error) else error)
    """
    told = []
    real = SqliteBook.append

    def append(self, *arguments):
        real(self, *arguments)
        path.read_bytes()
        told.append(fresh_process.run(textwrap.dedent(script), path))

    monkeypatch.setattr(SqliteBook, "append", append)
    ledger.spend(0.8)
    assert told == ["locked\n"]
    again = PrivacyLedger.open(path)
    assert again.remaining == (0, 0)
    assert len(again.entries()) == 2
    assert again.verify().ok


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_ledger_is_not_used_inside_itself(tmp_path, monkeypatch, kind):
    """A signal handler that comes inside a transaction is refused, at once, and what it interrupted is done."""
    ledger = PrivacyLedger(1, path=None if kind == "memory" else tmp_path / "a.db")
    book = MemoryStore if kind == "memory" else SqliteBook
    real, told = book.append, []

    def append(self, *arguments):
        real(self, *arguments)
        for call in (lambda: ledger.remaining, lambda: ledger.spend(0.1), ledger.entries):
            with pytest.raises(LedgerUnavailableError, match="in use by this very thread:"):
                call()
            told.append("refused")

    def handle(*_):
        told.append(str(ledger.spent.epsilon))

    monkeypatch.setattr(book, "append", append)
    ledger.spend(0.1)
    assert told == ["refused"] * 3
    monkeypatch.undo()
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert told[3:] == ["1/10"]
    ledger.spend(0.9)
    assert ledger.remaining == (0, 0)
    assert ledger.verify().ok


def test_an_interrupted_transaction_is_rolled_back(tmp_path):
    """What an interruption left open, even in rolling back, does not keep the next charge out."""
    ledger = PrivacyLedger(1, path=tmp_path / "a.db")
    ledger._account._store._connected().execute("BEGIN IMMEDIATE")
    ledger.spend(1)
    assert ledger.remaining == (0, 0)


def test_a_fork_is_told_by_more_than_its_number(tmp_path):
    """A child that has the process id of its parent, as in a namespace of its own, may not spend from memory."""
    script = """
    ledger = PrivacyLedger(1)
    own = os.getpid()
    os.getpid = lambda: own
    print(json.dumps([in_child(lambda: str(ledger.spend(1))), str(ledger.spend(1).epsilon)]))
    """
    told, spent = forking(script, tmp_path / "a.db")
    assert told.startswith("LedgerUnavailableError: a ledger in memory belongs to the process that made it")
    assert spent == "1"


class Interrupting:
    """Interrupt what is inside at one of the lines of the ledger or of contextlib that it comes to.

    Lines that begin with "with" are come to again before what they hold is let go, where Python looks for no signal.
    """

    def __init__(self, line):
        self.left = line
        self.withs = set()

    def _called(self, frame, event, argument):
        name = frame.f_code.co_filename
        if frame.f_lineno == frame.f_code.co_firstlineno:  # not a generator that goes on
            self.withs = {place for place in self.withs if place[0] != id(frame)}
        return self._traced if "/lapnoise/ledger/" in name or name.endswith("/contextlib.py") else None

    def _traced(self, frame, event, argument):
        text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        again = (id(frame), frame.f_lineno) in self.withs
        if text.lstrip().startswith("with "):
            self.withs.add((id(frame), frame.f_lineno))
        if event == "line" and not again:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self._traced

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._called)

    def __exit__(self, *_):
        sys.settrace(self.before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_interrupted_at_any_line(tmp_path, kind):
    """Whichever line of a spend is interrupted, it is charged whole or not at all, and the ledger goes on at once."""
    ledger = PrivacyLedger(1, path=None if kind == "memory" else tmp_path / "a.db", timeout=0)
    ledger.spend("1/1000000", label="first")
    outcomes = []
    for line in range(1, 1000):
        before = len(ledger.entries())
        try:
            with Interrupting(line):
                ledger.spend("1/1000000", label="interrupted")
            break
        except KeyboardInterrupt:
            pass
        outcomes.append(len(ledger.entries()) - before)
    assert len(outcomes) > (30 if kind == "memory" else 90)
    assert set(outcomes) == {0, 1}
    assert ledger.spent.epsilon == Fraction(len(ledger.entries()), 10**6)
    assert ledger.verify().ok
