"""Budgets: exact amounts, what fits and what does not, in memory and in a file."""

import copy
import math
import pickle
import sqlite3
import stat
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_stub import Stub

from lapnoise import BudgetExhaustedError, LedgerDamagedError, LedgerUnavailableError, PrivacyLedger
from lapnoise.ledger import Amount, Head
from lapnoise.ledger._amounts import from_text, to_text

ALMOST_NOTHING = ["5e-324", 5e-324, "1e-17", Fraction(1, 10**400), Decimal("1e-1200")]


@pytest.fixture(params=["memory", "file"])
def make(request, tmp_path):
    """Give a function that makes a ledger of either kind."""

    def ledger(total_epsilon, total_delta=0):
        path = None if request.param == "memory" else tmp_path / "budget.db"
        return PrivacyLedger(total_epsilon, total_delta, path)

    return ledger


@pytest.mark.parametrize(
    ("total", "spends"),
    [
        (1, [0.1, 0.9]),
        (1.0, [0.1] * 10),
        (0.3, [0.1] * 3),
        (1, [Fraction(1, 3)] * 3),
        (1, ["1/3"] * 3),
        (1, [0.7, 0.1, 0.2]),
        ("0.1", [Decimal("0.1")]),
        (np.float32(0.1), [0.1]),
        (1, [np.int64(1)]),
    ],
)
def test_a_budget_can_be_spent_to_its_end(make, total, spends):
    """Amounts count as they print, so that decimals and thirds fill a budget exactly; then nothing more fits."""
    ledger = make(total)
    for spend in spends:
        assert ledger.can_spend(spend)
        ledger.spend(spend)
    assert ledger.remaining == (0, 0)
    assert ledger.spent == ledger.total == (Fraction(str(total)), 0)
    for tiny in ALMOST_NOTHING:
        assert not ledger.can_spend(tiny)
        with pytest.raises(BudgetExhaustedError):
            ledger.spend(tiny)
    assert ledger.remaining == (0, 0)
    assert len(ledger.entries()) == len(spends)


def test_what_is_refused_says_what_is_left(make):
    """A refusal gives what was asked and what is left exactly, and charges nothing."""
    ledger = make(1, "1e-6")
    ledger.spend(0.4, 1e-7, label="first")
    message = (
        r"^budget exhausted: epsilon 7/10 was asked, epsilon 3/5 and delta 9/10000000 is left of epsilon 1 and delta "
        r"1/1000000$"
    )
    with pytest.raises(BudgetExhaustedError, match=message) as refused:
        ledger.spend(0.7)
    assert (refused.value.asked, refused.value.remaining) == ((Fraction(7, 10), 0), ledger.remaining)
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.asked, again.remaining) == (str(refused.value), refused.value.asked, ledger.remaining)
    with pytest.raises(BudgetExhaustedError):
        ledger.spend(0.1, "9.1e-7")
    assert not ledger.can_spend(0.1, "9.1e-7")
    assert ledger.spent == (Fraction(2, 5), Fraction(1, 10**7))


def test_tiny_spends_add_up():
    """A hundred thousand spends of 1e-5 are exactly 1, and the next one is refused."""
    ledger = PrivacyLedger(1)
    for _ in range(10**5):
        ledger.spend(1e-5)
    assert ledger.spent == (1, 0)
    with pytest.raises(BudgetExhaustedError):
        ledger.spend(1e-5)


def test_amounts_have_a_size(make):
    """Totals and charges of more than 4096 bits above or below the line are refused by name, and nothing is charged."""
    rule = "must be a fraction of integers of at most 4096 bits, got "
    for long in (Fraction(1, 2**4096), Fraction(2**4096 + 1, 2**4095), "1e-5000", "1e5000"):
        with pytest.raises(ValueError, match=rf"^total_epsilon {rule}"):
            PrivacyLedger(long)
    with pytest.raises(ValueError, match=rf"^total_delta {rule}4097 bits$"):
        PrivacyLedger(1, Fraction(1, 2**4096))
    ledger = make(Fraction(2**4096 - 1), "0.5")
    with pytest.raises(ValueError, match=rf"^epsilon {rule}4097 bits$"):
        ledger.spend(Fraction(1, 2**4096))
    with pytest.raises(ValueError, match=rf"^delta {rule}4097 bits$"):
        ledger.can_spend(1, Fraction(1, 2**4096))
    assert ledger.head.length == 0
    ledger.spend(Fraction(1, 2**4095), Fraction(1, 2**4095))
    assert ledger.spent == (Fraction(1, 2**4095),) * 2
    with pytest.raises(BudgetExhaustedError, match=r"budget exhausted: .* \(about inf\) was asked"):
        ledger.spend(2**4096 - 1)


@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_sums_have_a_size(make, name):
    """Where the sum's denominator has grown past 8192 bits decimals alone are charged, exactly, and to the end."""
    ledger = make(1, "0.5")
    first, *long = (Fraction(1, base ** int(4000 / math.log2(base))) for base in (3, 7, 11))

    def spend(amount):
        return ledger.spend(amount) if name == "epsilon" else ledger.spend("1e-9", amount)

    spend(first)
    spend(long[0])
    before = ledger.spent
    with pytest.raises(
        ValueError, match=rf"^{name} must be a decimal, such as 0\.1, where the sum .* 1\d{{4}} bits, more"
    ):
        spend(long[1])
    assert ledger.spent == before
    for amount in (first, "0.1", "1e-1200", Fraction(1, 2**4095)):
        spend(amount)
    index = ("epsilon", "delta").index(name)
    expected = 2 * first + long[0] + Fraction("0.1") + Fraction(1, 10**1200) + Fraction(1, 2**4095)
    assert ledger.spent[index] == expected
    with pytest.raises(BudgetExhaustedError):
        spend("0.9")
    assert ledger.verify().ok


def test_a_tiny_spend_is_never_lost(make):
    """A subnormal spend is taken off a large budget, in which a float would absorb it."""
    ledger = make(10**6)
    ledger.spend(5e-324)
    assert ledger.remaining.epsilon == 10**6 - Fraction("5e-324")
    with pytest.raises(BudgetExhaustedError):
        ledger.spend(10**6)
    ledger.spend(ledger.remaining.epsilon)
    assert ledger.remaining == (0, 0)


amounts = st.one_of(
    st.fractions(min_value=Fraction(1, 10**9), max_value=2),
    st.floats(min_value=5e-324, max_value=2.0),
    st.decimals(min_value="1e-30", max_value=2, allow_nan=False),
)
deltas = st.one_of(
    st.just(0), st.floats(min_value=0, max_value=0.5), st.fractions(min_value=0, max_value=Fraction(1, 2))
)


def exact(value):
    """Return what a number means in a budget, without the library."""
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(total=amounts, total_delta=deltas, spends=st.lists(st.tuples(amounts, deltas), max_size=20))
def test_against_exact_fractions(total, total_delta, spends):
    """Whatever is asked, exactly those spends are granted that fit in exact arithmetic, and the sums are exact."""
    ledger = PrivacyLedger(total, total_delta)
    epsilon = delta = Fraction(0)
    for asked in spends:
        more = epsilon + exact(asked[0]), delta + exact(asked[1])
        if fits := more[0] <= exact(total) and more[1] <= exact(total_delta):
            epsilon, delta = more
        assert ledger.can_spend(*asked) == fits or fits
        try:
            ledger.spend(*asked)
            granted = True
        except BudgetExhaustedError:
            granted = False
        assert granted == fits
        assert ledger.spent == (epsilon, delta)
        assert ledger.remaining == (exact(total) - epsilon, exact(total_delta) - delta)
    assert ledger.verify().ok


@settings(deadline=None, max_examples=200, derandomize=True)
@given(st.fractions())
def test_text_of_amounts_is_exact(value):
    """An amount reads back from its text, and no other text is taken for it."""
    value = abs(value)
    text = to_text(value)
    assert from_text(text) == value
    for other in (f" {text}", f"0{text}", f"-{text}", f"{text}/1", "1.0", "", "/", "2/4", "1/0", "٣"):
        with pytest.raises((ValueError, ZeroDivisionError)):
            from_text(other)


@pytest.mark.parametrize(
    "value", [Fraction(10**6000, 7), Fraction(7, 10**6000), Fraction(10**5000)], ids=["n", "d", "i"]
)
def test_text_of_amounts_of_thousands_of_digits(value):
    """Amounts beyond what Python writes read back too."""
    assert from_text(to_text(value)) == value


BAD_AMOUNTS = [
    (0, ValueError),
    (-0.0, ValueError),
    (-1, ValueError),
    (math.nan, ValueError),
    (math.inf, ValueError),
    (-math.inf, ValueError),
    ("nan", ValueError),
    ("1e20000", ValueError),
    ("one", TypeError),
    (True, TypeError),
    (1 + 0j, TypeError),
    (None, TypeError),
    ({1}, TypeError),
]


@pytest.mark.parametrize(("bad", "kind"), BAD_AMOUNTS, ids=repr)
def test_bad_epsilon(tmp_path, bad, kind):
    """Totals and spends that are no positive finite number are refused by name, and no file is made."""
    for path in (None, tmp_path / "a.db"):
        with pytest.raises(kind, match=r"^total_epsilon must "):
            PrivacyLedger(bad, path=path)
    assert not list(tmp_path.iterdir())
    ledger = PrivacyLedger(1)
    for call in (ledger.spend, ledger.can_spend, lambda e: ledger.parallel("a", neighbours="replace", parts={"p": e})):
        with pytest.raises(kind, match=r"^epsilon must "):
            call(bad)
    assert ledger.spent == (0, 0)
    assert ledger.head.length == 0


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (-1e-9, ValueError),
        (1, ValueError),
        (math.nan, ValueError),
        (False, TypeError),
        (None, TypeError),
        ("x", TypeError),
    ],
    ids=repr,
)
def test_bad_delta(bad, kind):
    """A delta outside [0, 1) is refused by name."""
    with pytest.raises(kind, match=r"^total_delta must "):
        PrivacyLedger(1, bad)
    ledger = PrivacyLedger(1)
    for call in (ledger.spend, ledger.can_spend):
        with pytest.raises(kind, match=r"^delta must "):
            call(0.1, bad)
    assert ledger.spent == (0, 0)


@pytest.mark.parametrize("bad", [None, 1, b"a", ["a"]])
def test_labels_are_text(bad):
    """A label that is no text is a TypeError, before anything is charged."""
    ledger = PrivacyLedger(1)
    for call in (
        lambda: ledger.spend(0.1, label=bad),
        lambda: ledger.parallel(bad, neighbours="replace", parts={"a": 1}),
        lambda: ledger.release(Stub(), 1, label=bad),
    ):
        with pytest.raises(TypeError, match=r"^label must be text, got "):
            call()
    with pytest.raises(ValueError, match=r"^label must be text that UTF-8 can hold, got "):
        ledger.spend(0.1, label="\udcff")
    assert ledger.head.length == 0


def test_labels_keep_every_character(make):
    """Quotes, line ends, NUL and letters of any script come back as they were, and the chain covers them."""
    ledger = make(1)
    labels = ["", "a\nb", "'; DROP TABLE entries; --", '"', "\0x", "größe ✓", "\u2028"]
    for label in labels:
        ledger.spend(0.01, label=label)
    assert [entry.label for entry in ledger.entries()] == labels
    assert ledger.verify().ok


def test_entries(make):
    """A charge is returned, and listed, with what it was for and what it cost."""
    ledger = make(1, 0.5)
    first = ledger.spend(0.25, 1e-9, label="first")
    second = ledger.spend("1/3")
    assert ledger.entries() == [first, second]
    assert first[:1] + first[2:10] == (
        1,
        "spend",
        "first",
        Fraction(1, 4),
        Fraction(1, 10**9),
        "charged",
        None,
        True,
        {},
    )
    assert first.cost == Amount(Fraction(1, 4), Fraction(1, 10**9))
    assert first.time.endswith("+00:00")
    assert first.time <= second.time
    assert second.hash == ledger.head.hash
    assert first.to_dict()["delta"] == "1/1000000000"


def test_head_text(make):
    """A head changes with every charge, and reads back from its text."""
    ledger = make(1)
    heads = [ledger.head]
    for _ in range(3):
        ledger.spend(0.1)
        heads.append(ledger.head)
    assert [head.length for head in heads] == [0, 1, 2, 3]
    assert len({head.hash for head in heads}) == 4
    for head in heads:
        assert ledger.verify(head).ok
        assert ledger.verify(str(head)).ok
    found = ledger.verify(Head(2, heads[3].hash))
    assert found.problems == ("entry 2 is not the one that the head kept elsewhere speaks of: another history",)
    found = ledger.verify(Head(4, heads[3].hash))
    assert "is an older copy: it has 3 entries, and the head kept elsewhere says that there were 4" in found.problems[0]
    for bad in ("", "3", "x:" + "0" * 64, "3:abc", (3, 4), (True, "0" * 64), 7):
        with pytest.raises(ValueError, match=r"^head must "):
            ledger.verify(bad)


def test_copies_of_a_budget_are_refused():
    """A ledger in memory can neither be copied nor pickled: the copy would be a second budget."""
    ledger = PrivacyLedger(1)
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a copy would be a second budget"):
            call(ledger)


def test_a_pickled_ledger_is_the_same_file(tmp_path):
    """A ledger in a file is pickled by its path, and goes on where it stood."""
    ledger = PrivacyLedger(1, path=tmp_path / "a.db")
    ledger.spend(0.4)
    again = pickle.loads(pickle.dumps(ledger))
    again.spend(0.6)
    assert ledger.remaining == again.remaining == (0, 0)


def test_opening(tmp_path):
    """A file is made once, with its totals; it is opened by its path, or by a constructor with the same totals."""
    path = tmp_path / "a.db"
    with pytest.raises(LedgerUnavailableError, match="there is no ledger at"):
        PrivacyLedger.open(path)
    first = PrivacyLedger(1, "1e-6", path)
    first.spend(0.5)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.db", "a.db-lock"]
    assert stat.S_IMODE((tmp_path / "a.db-lock").stat().st_mode) == 0o600
    for second in (
        PrivacyLedger.open(path),
        PrivacyLedger(1.0, 1e-6, str(path)),
        PrivacyLedger("1", Decimal("1e-6"), path),
    ):
        assert second.spent == (Fraction(1, 2), 0)
        assert second.total == (1, Fraction(1, 10**6))
    for totals in ((2, "1e-6"), (1, 0), (1, "1e-5")):
        with pytest.raises(ValueError, match="total_epsilon and total_delta must be those of the ledger"):
            PrivacyLedger(*totals, path)
    assert first.remaining == (Fraction(1, 2), Fraction(1, 10**6))
    assert repr(first) == f"<PrivacyLedger of epsilon 1 and delta 1/1000000 in {str(path)!r}>"


def test_a_link_leads_to_the_ledger(tmp_path):
    """A symbolic link is another name of the file, not another ledger."""
    PrivacyLedger(1, path=tmp_path / "a.db").spend(1)
    (tmp_path / "link.db").symlink_to(tmp_path / "a.db")
    assert not PrivacyLedger(1, path=tmp_path / "link.db").can_spend("1e-9")


@pytest.mark.parametrize("name", ["a b", "100%25", "a?mode=memory", "#a", "größe", "x" * 200, "\udcff"])
def test_names_of_files(tmp_path, name):
    """Whatever a file is called, the ledger is in that file."""
    PrivacyLedger(1, path=tmp_path / name).spend(0.5)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [name, f"{name}-lock"]
    assert PrivacyLedger(1, path=tmp_path / name).remaining.epsilon == Fraction(1, 2)


def test_an_old_sqlite_is_named(tmp_path, monkeypatch):
    """Where SQLite has no strict tables the refusal says which version has."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(LedgerUnavailableError, match=r"ledgers in files need SQLite 3\.37 or later"):
        PrivacyLedger(1, path=tmp_path / "a.db")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("path", "kind"), [("", ValueError), (b"a", TypeError), (7, TypeError)])
def test_bad_paths(path, kind):
    """What is no path of a file is refused by name."""
    with pytest.raises(kind, match=r"^path must be "):
        PrivacyLedger(1, path=path)
    with pytest.raises(kind, match=r"^path must be "):
        PrivacyLedger.open(path)


@pytest.mark.parametrize(
    ("timeout", "kind"), [(-1, ValueError), (math.nan, ValueError), ("1", TypeError), (True, TypeError)]
)
def test_bad_timeouts(timeout, kind):
    """A timeout is a number of seconds."""
    with pytest.raises(kind, match=r"^timeout must be "):
        PrivacyLedger(1, timeout=timeout)


def test_charges_last(tmp_path):
    """Commits synchronise journal, file and folder; the tables are strict."""
    path = tmp_path / "a.db"
    ledger = PrivacyLedger(1, path=path)
    connection = ledger._account._store._connected()
    told = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "fullfsync")]
    assert told == ["delete", 3, 1]
    with sqlite3.connect(path) as other:
        strict = dict(other.execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'"))
    other.close()
    assert {name: strict[name] for name in ("head", "entries", "results")} == dict.fromkeys(
        ("head", "entries", "results"), 1
    )


SABOTAGE = [
    "UPDATE entries SET epsilon = '0' WHERE number = 1",
    "DELETE FROM entries",
    "INSERT OR REPLACE INTO entries SELECT number, time, kind, label, '0', delta, NULL, details, hash FROM entries",
    "INSERT INTO entries SELECT number + 5, time, kind, label, '0', delta, NULL, details, hash FROM entries",
    "INSERT OR REPLACE INTO entries SELECT 3, time, kind, label, '0', delta, 'r', details, hash FROM entries LIMIT 1",
    "UPDATE head SET spent_epsilon = '0'",
    "UPDATE head SET spent_epsilon = '0', count = count + 1",
    "UPDATE head SET total_epsilon = '100', count = count + 1",
    "UPDATE head SET hash = 'x'",
    "DELETE FROM head",
    "INSERT OR REPLACE INTO head SELECT 1, identity, created, '100', total_delta, 0, '0', '0', hash FROM head",
    "UPDATE results SET content = x'00'",
    "DELETE FROM results",
    "INSERT OR REPLACE INTO results SELECT number, recorded, x'00' FROM results",
]


@pytest.mark.parametrize("statement", SABOTAGE)
def test_rows_cannot_be_changed_or_taken_away(tmp_path, statement):
    """Each way to change, replace or delete what was written is refused by the file itself."""
    path = tmp_path / "a.db"
    ledger = PrivacyLedger(1, path=path)
    ledger.release(Stub(), 5, label="a", request_id="r")
    before = ledger.head
    other = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError):
        other.execute(statement)
    other.close()
    assert ledger.verify(before).ok
    assert ledger.head == before


def test_the_wrong_kind_of_file(tmp_path):
    """A file of text, a database of something else and a directory are no ledgers, and stay as they are."""
    text, database = tmp_path / "a.txt", tmp_path / "b.db"
    text.write_text("epsilon,delta\n" * 100)
    with sqlite3.connect(database) as other:
        other.execute("CREATE TABLE t (a)")
    other.close()
    before = text.read_bytes(), database.read_bytes()
    for open_it in (PrivacyLedger.open, lambda path: PrivacyLedger(1, path=path)):
        with pytest.raises(LedgerDamagedError, match="the file is not a ledger"):
            open_it(text)
        with pytest.raises(LedgerDamagedError, match="it is a SQLite file but not a ledger"):
            open_it(database)
        with pytest.raises(LedgerUnavailableError):
            open_it(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(LedgerDamagedError, match="not a ledger"):
        PrivacyLedger.open(tmp_path / "empty")
    assert (text.read_bytes(), database.read_bytes()) == before
