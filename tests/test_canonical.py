"""One form for equal categories and ids, of whatever type, and for each of them alone."""

import datetime
import enum
import math
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from lapnoise._canonical import RoundedFloatError, UnfitError, canonical, is_rounded, text

EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
NOON = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)


class Word(str):
    __slots__ = ()


class Level(enum.IntEnum):
    ONE = 1


class Comparable:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


ALIKE = {
    "1": [
        1,
        True,
        1.0,
        np.True_,
        np.uint8(1),
        np.float32(1),
        np.longdouble(1),
        Decimal("1.00"),
        Fraction(1),
        Level.ONE,
    ],
    "0": [0, -0.0, 0.0, False, np.float64(-0.0), Decimal("-0.00"), Decimal("0e999999999")],
    "0.5": [0.5, np.float16(0.5), Decimal("0.50"), Fraction(1, 2)],
    "inf": [math.inf, np.float32(math.inf), Decimal("Infinity")],
    "Fraction(1, 10)": [Decimal("0.1"), Fraction(1, 10), Decimal("0.10")],
    "9007199254740993": [2**53 + 1, np.int64(2**53 + 1), Decimal(2**53 + 1)],
    "'a'": ["a", np.str_("a"), Word("a")],
    "b'a'": [b"a", np.bytes_(b"a")],
    "np.datetime64('2020-01-01T12:00:00.000000000')": [
        NOON,
        NOON.astimezone(EAST),
        NOON.replace(tzinfo=None),
        pd.Timestamp(NOON),
        pd.Timestamp(NOON).tz_convert("Asia/Tokyo"),
        np.datetime64("2020-01-01T12", "h"),
        np.datetime64("2020-01-01T12", "us"),
    ],
    "np.datetime64('2020-01-01T00:00:00.000000000')": [
        datetime.date(2020, 1, 1),
        np.datetime64("2020", "Y"),
        pd.Timestamp("2020-01-01"),
    ],
    "np.datetime64('3000-01-01T00:00:00.000000')": [
        datetime.date(3000, 1, 1),
        datetime.datetime(3000, 1, 1),
        np.datetime64("3000", "s"),
        pd.Timestamp(np.datetime64("3000", "s")),
    ],
    "datetime.timedelta(seconds=60)": [
        datetime.timedelta(minutes=1),
        np.timedelta64(1, "m"),
        pd.Timedelta("60s"),
    ],
    "(1, 'a', None)": [(1.0, np.str_("a"), math.nan), (True, "a", None), (np.int8(1), "a", pd.NaT)],
}


@pytest.mark.parametrize("shown", ALIKE)
def test_equals_have_one_form(shown):
    """Equal entries of all types have one form, of one type, with one text; taken again it stays."""
    keys = [canonical(entry) for entry in ALIKE[shown]]
    assert {repr(key).replace("numpy.", "np.") for key in keys} == {shown}
    assert {type(key) for key in keys} == {type(keys[0])}
    assert len({text(key) for key in keys}) == len(set(keys)) == 1
    assert repr(canonical(keys[0])) == repr(keys[0])


def test_others_have_others():
    """Entries that differ have forms and texts that differ."""
    entries = [shown[0] for shown in ALIKE.values()]
    entries += ["1", "0.5", b"1", 0.1, -1, 2**64 - 1, 10**5000, Fraction(10**5000, 3), Fraction(2 * 10**400 + 1, 2)]
    entries += ["1, 2", ("1, 2",), ("1", "2"), (1, 2), ((1,), 2), (1, (2,)), (), ((),), "", (None,), ("None",)]
    entries += [NOON + datetime.timedelta(microseconds=1), pd.Timestamp(NOON) + pd.Timedelta(1, "ns")]
    entries += [np.float64(2**53 - 1), "\ud800", uuid.UUID(int=5), str(uuid.UUID(int=5)), 5]
    keys = [canonical(entry) for entry in entries]
    assert len(set(keys)) == len({text(key) for key in keys}) == len(entries)


@pytest.mark.parametrize(
    "entry",
    [
        Comparable(),
        1j,
        [1],
        frozenset([1]),
        np.array([1]),
        (1, Comparable()),
        Decimal("1e10001"),
        Decimal("1e-999999999"),
        Decimal("1e999999999"),
        np.datetime64(1, "as"),
        np.timedelta64(1, "ns"),
        np.datetime64(2**60, "Y"),
    ],
    ids=repr,
)
def test_what_has_no_form(entry):
    """Types whose equality could be anything have none, nor what is out of range."""
    with pytest.raises(UnfitError) as caught:
        canonical(entry)
    assert not isinstance(caught.value, RoundedFloatError)


@pytest.mark.parametrize("entry", [2.0**53, -(2.0**53), np.float32(2**60), np.longdouble("1e4000"), (1, 1e300)])
def test_floats_that_could_be_several_integers(entry):
    """From 2^53 on a float has no form, while the one before has."""
    with pytest.raises(RoundedFloatError):
        canonical(entry)
    assert canonical(2.0**53 - 1) == 2**53 - 1
    assert [is_rounded(key) for key in (2**53, -(2**60), (0, 2**53), 2**53 - 1, "a", math.inf, 0.5)] == [True] * 3 + [
        False
    ] * 4
