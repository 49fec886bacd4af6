"""Noise as a function of secret, release, mechanism, column, row and value: right, exact, and of nothing else."""

import math
import pickle
from fractions import Fraction
from functools import cache

import keyed_oracle
import numba
import numpy as np
import pytest
from bitwise import same
from exact_oracles import integer_sum, probability
from stats import accept, chi_square, correlations, reject

from lapnoise import DiscreteLaplaceMechanism, GaussianMechanism, LaplaceMechanism
from lapnoise._keyed_noise import cell_draw, cell_words, source_of
from lapnoise._keyed_release import KeyedRelease
from lapnoise._row_keys import from_numpy
from lapnoise.bits.chacha_lanes import WORD_ROOM
from lapnoise.kernels import keyed_noise

SECRET = bytes(range(7, 47))
RELEASE = KeyedRelease(SECRET, "2024-q1")
MOST = 2**63 - 1
FLOAT_MAX = 1.7976931348623157e308


def laplace(t: float = 2.0**40, exponent: int = -40, **changes) -> LaplaceMechanism:
    """Return a mechanism whose lattice has this exponent and scale."""
    r = Fraction(2) ** exponent
    made = LaplaceMechanism(**{"epsilon": 1 / Fraction(t), "sensitivity": r, "changed": 1, "granularity": r, **changes})
    assert changes or (made.lattice.t, made.lattice.exponent) == (t, exponent)
    return made


def discrete(t: float) -> DiscreteLaplaceMechanism:
    """Return a mechanism on integers with noise of scale t."""
    return DiscreteLaplaceMechanism(epsilon=1 / Fraction(t), sensitivity=1)


def rows(keys, release: KeyedRelease = RELEASE) -> np.ndarray:
    """Return the identities of rows with these keys."""
    return release.identities([from_numpy("id", np.asarray(keys))])


@cache
def many_rows(n: int = 20_000) -> np.ndarray:
    """Return the identities of rows 0 to n - 1."""
    return rows(np.arange(n))


def told(mechanism: LaplaceMechanism, column: str = "x", release: KeyedRelease = RELEASE, shift: float = 0.0):
    """Return what 20,000 rows of a value are released as."""
    ids = many_rows() if release is RELEASE else rows(np.arange(20_000), release)
    return release.column(mechanism, column).add_noise(np.full(20_000, shift), ids)


# Against the description.

VALUES = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1 / 3,
    -1e300,
    2.0**-41,
    3 * 2.0**-41,
    -(2.0**-41),
    1e15 + 0.125,
    5e-324,
    FLOAT_MAX,
    -7.25,
]
VALUES32 = [0.0, -0.0, 0.5, 0.1, 16777215.0, 1e15, -3.4028234663852886e38, 1e-45]
INTEGERS = [0, 1, -1, 2**53 + 1, 2**60 + 128, 2**60 + 129, -(2**63), 2**63 - 1]
SCALES = [(2.0**24, -24), (2.0**40, -40), (2.0**43, -43), (2.0**44, -44), (2.0**57, -57), (2**70, -70), (2.0**30, 3)]


@pytest.mark.parametrize(("t", "exponent"), [*SCALES, (2.0**24, -1074), (2.0**30, 990), (2.0**30, 66)])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_floats(kind, t, exponent):
    """Every value about the edges of the lattice and of the floats is released as the oracle has it, bit for bit."""
    values = (VALUES if kind == np.float64 else VALUES32) * 4
    mechanism = laplace(t, exponent)
    oracle = keyed_oracle.laplace(SECRET, "2024-q1", mechanism, "x")
    got = RELEASE.column(mechanism, "x").add_noise(np.array(values, kind), rows(range(len(values))))
    wanted = [oracle.release([i], kind(x).item(), kind) for i, x in enumerate(values)]

    assert same(got, np.array(wanted, kind))


@pytest.mark.parametrize(("t", "exponent"), [*SCALES, (2.0**30, 1), (2.0**30, 63), (2.0**30, 64), (2.0**30, 70)])
@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int8])
def test_integers_on_a_lattice(kind, t, exponent):
    """Integers of 64 bits, which no float holds, are released as the oracle has it."""
    limits = np.iinfo(kind)
    values = [x for x in [*INTEGERS, 2**63, 2**63 + 1, 2**64 - 1, limits.min] if limits.min <= x <= limits.max] * 4
    mechanism = laplace(t, exponent)
    oracle = keyed_oracle.laplace(SECRET, "2024-q1", mechanism, "x")
    got = RELEASE.column(mechanism, "x").add_noise(np.array(values, kind), rows(range(len(values))))

    assert same(got, np.array([oracle.release([i], x, np.float64) for i, x in enumerate(values)]))


@pytest.mark.parametrize("t", [0.3, 1.0, 50.0, 2.0**43, 2.0**50, 2.0**57, 10**19])
@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.bool_])
def test_integers(kind, t):
    """The discrete mechanism gives exact sums, saturated and never the noise before."""
    low, high = (0, 1) if kind == np.bool_ else (np.iinfo(kind).min, np.iinfo(kind).max)
    values = [x for x in [*INTEGERS, 2**63, 2**64 - 1] if low <= x <= high] * 6
    mechanism = discrete(t)
    oracle = keyed_oracle.discrete(SECRET, "2024-q1", mechanism, "n")
    got = RELEASE.column(mechanism, "n").add_noise(np.array(values, kind), rows(range(len(values))))

    assert same(got, np.array([integer_sum(x, oracle.noise([i], x)) for i, x in enumerate(values)], np.int64))
    assert got.min() >= -MOST


def test_compound_keys_and_text():
    """Rows named by text and number, of which some have open draws, are released as the oracle has it."""
    names, numbers = [f"Zürich {i}" for i in range(150)], np.arange(150) - 75
    mechanism = laplace(2.0**57, -57)
    oracle = keyed_oracle.laplace(SECRET, "2024-q1", mechanism, "x")
    ids = RELEASE.identities([from_numpy("a", np.array(names)), from_numpy("b", numbers)])
    got = RELEASE.column(mechanism, "x").add_noise(np.full(150, 0.25), ids)
    keys = list(zip(names, numbers.tolist(), strict=True))

    assert same(got, np.array([oracle.release(key, 0.25, np.float64) for key in keys]))
    assert sum(oracle.is_open(key, 0.25) for key in keys) > 5


@pytest.mark.parametrize("t", [0.3, 50.0, 2.0**30, 2.0**40, 2.0**43, 2.0**50])
def test_tiers_agree(t):
    """Four thousand draws of the kernels are those of the last tier alone."""
    n = 4000
    column = RELEASE.column(discrete(t), "n")
    low, high = (many_rows()[:n, k].tolist() for k in (0, 1))
    wanted = [cell_draw(t, column._key, a, b) for a, b in zip(low, high, strict=True)]

    assert column.add_noise(np.zeros(n, np.int64), many_rows()[:n]).tolist() == wanted


# Words.


@numba.njit(error_model="numpy")
def first_words(words, low, high, source, first, count):
    keyed_noise._first_words(words, low, high, source, first, count)


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 100, 511, 512])
def test_first_words(count):
    """The words of lanes are those of the plain cipher, whatever the number of cells and wherever they begin."""
    key = bytes(range(32))
    low, high = (np.ascontiguousarray(many_rows()[:1000, k]) for k in (0, 1))
    for first in (0, 1, 13):
        words = np.zeros(WORD_ROOM, np.uint64)
        first_words(words, low, high, source_of(key), first, count)
        wanted = [
            next(cell_words(key, a, b))
            for a, b in zip(low[first : first + count].tolist(), high[first : first + count].tolist(), strict=True)
        ]
        assert words[:count].tolist() == wanted


def test_words_do_not_repeat():
    """Among 1,000,000 cells, rows one apart, no word appears twice (by chance: one in 37 million)."""
    n = 1_000_000
    ids = rows(np.arange(n))
    low, high = (np.ascontiguousarray(ids[:, k]) for k in (0, 1))
    found = np.empty(n, np.uint64)
    for first in range(0, n, 500):
        words = np.empty(WORD_ROOM, np.uint64)
        first_words(words, low, high, source_of(bytes(32)), first, 500)
        found[first : first + 500] = words[:500]

    assert np.unique(found).size == n
    assert np.unique(ids[:, 0]).size == n


def test_further_words_have_blocks_of_their_own():
    """Twenty words of a cell differ, and those from the ninth on have another key."""
    words = [w for w, _ in zip(cell_words(bytes(32), 1, 2), range(20), strict=False)]

    assert len(set(words)) == 20
    oracle = keyed_oracle.Oracle(SECRET, "r", [], 0, 1, "x")
    assert words == [_word_under(oracle, bytes(32), (1, 2), k) for k in range(20)]


def _word_under(oracle, key, place, number):
    oracle.key = key
    return oracle.word(place, number)


# What the noise does not depend on.


@pytest.mark.parametrize("t", [2.0**40, 2.0**50])
def test_batches_and_order(t):
    """Cut anywhere, in any order, each row is released as the same bytes."""
    n = 20_000 if t <= 2.0**43 else 3000
    values = np.random.default_rng(1).normal(size=n) * 100
    ids = many_rows()[:n]
    column = RELEASE.column(laplace(t, -40), "x")
    whole = column.add_noise(values, ids)
    for step in (1, 7, 1000, 8192, 8193):
        cut = range(0, n if step > 1 else 50, step)
        parts = [column.add_noise(values[i : i + step], ids[i : i + step]) for i in cut]
        assert same(np.concatenate(parts), whole[: len(parts) * step])
    order = np.random.default_rng(2).permutation(n)
    assert same(column.add_noise(values[order], ids[order]), whole[order])
    assert same(column.add_noise(values[::-1], ids[::-1]), whole[::-1])


def test_made_anew():
    """Another object of the same release, pickled or made from the same secret, makes the same bytes."""
    mechanism = laplace()
    wanted = told(mechanism)
    again = KeyedRelease(bytearray(SECRET), "2024-q1")
    values = np.zeros(20_000)
    assert same(again.identities([from_numpy("other name", np.arange(20_000, dtype=np.int16))]), many_rows())
    for release in (again, pickle.loads(pickle.dumps(RELEASE))):
        assert same(told(mechanism, release=release), wanted)
    column = pickle.loads(pickle.dumps(RELEASE.column(mechanism, "x")))
    assert column == RELEASE.column(mechanism, "x")
    assert column != RELEASE.column(mechanism, "y")
    assert same(column.add_noise(values, many_rows()), wanted)


def test_epsilon_as_it_prints():
    """The float 0.1 and the text 1/10 are one mechanism."""
    a, b = (LaplaceMechanism(epsilon=e, sensitivity=1, changed=1) for e in (0.1, "1/10"))
    assert same(told(a), told(b))


def test_dtypes_of_values():
    """Five is released with the same noise as an integer, a float64 and a float32; a column may become floats."""
    column = RELEASE.column(laplace(2.0**10, 0), "x")
    ids = many_rows()[:500]
    wanted = column.add_noise(np.full(500, 5), ids)
    for kind in (np.int8, np.uint64, np.float64, np.float32):
        assert np.array_equal(column.add_noise(np.full(500, 5, kind), ids), wanted)
    assert np.array_equal(
        RELEASE.column(discrete(3.0), "n").add_noise(np.full(500, True), ids),
        RELEASE.column(discrete(3.0), "n").add_noise(np.full(500, 1), ids),
    )


def test_values_of_one_step():
    """Values that are rounded to one step have the same noise, and the next step has another."""
    column = RELEASE.column(laplace(2.0**40, -1), "x")
    ids = many_rows()
    at = {x: column.add_noise(np.full(20_000, x), ids) for x in (0.0, 0.2, -0.25, 0.25)}

    assert same(at[0.0], at[0.2])
    assert same(at[0.0], at[-0.25])
    assert np.mean(at[0.25] - 0.5 == at[0.0]) < 1e-3


# What it does depend on: with one thing changed, hardly a row in 20,000 keeps its noise.


def agreement(a, b) -> float:
    """Return the part of rows that are equal."""
    return float(np.mean(a == b))


BASE = {"epsilon": "0.5", "sensitivity": 1, "changed": 1, "granularity": 2.0**-30}


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": "0.25"}, {"epsilon": "0.500000000001"}, {"sensitivity": 2}, {"changed": 2}, {"granularity": 2.0**-31}],
    ids=str,
)
def test_parameters(changes):
    """Every parameter of the mechanism; else two releases would be two equations for the value.

    The noise in units of its scale is compared, which a mutant that leaves a parameter out would repeat.
    """
    one, other = LaplaceMechanism(**BASE), LaplaceMechanism(**{**BASE, **changes})
    a, b = told(one) / one.scale, told(other) / other.scale

    assert agreement(np.round(a, 4), np.round(b, 4)) < 0.01
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.05
    same_law = LaplaceMechanism(**BASE)
    assert same(told(same_law), told(one))


def test_granularity_given_and_chosen():
    """A granularity that was asked for is a parameter even where it is the one that would be chosen."""
    chosen = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)
    given = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1, granularity=chosen.granularity)
    assert chosen.lattice == given.lattice
    assert agreement(told(chosen), told(given)) < 1e-3


def test_lattice():
    """The lattice that follows from the parameters, which a later version may choose otherwise."""
    one, other = LaplaceMechanism(**BASE), LaplaceMechanism(**BASE)
    other._set(lattice=other.lattice._replace(t=other.lattice.t * 2))
    a, b = told(one), told(other) / 2

    assert agreement(np.round(a, 4), np.round(b, 4)) < 0.01


def test_mechanism():
    """The class: the discrete mechanism at the same t on the same lattice has other noise."""
    a = RELEASE.column(laplace(1000.0, 0), "x").add_noise(np.zeros(20_000, np.int64), many_rows())
    b = RELEASE.column(discrete(1000.0), "x").add_noise(np.zeros(20_000, np.int64), many_rows())
    assert agreement(a, b) < 0.005


def test_column_release_and_secret():
    """Column, release id and every byte of a secret, also beyond 64 bytes."""
    mechanism = laplace()
    wanted = told(mechanism)
    assert agreement(told(mechanism, "y"), wanted) < 1e-3
    others = [
        KeyedRelease(SECRET, "2024-q2"),
        KeyedRelease(SECRET + b"\0", "2024-q1"),
        KeyedRelease(SECRET[1:], "2024-q1"),
    ]
    others += [KeyedRelease(bytes(99), "2024-q1"), KeyedRelease(bytes(98) + b"\1", "2024-q1")]
    found = [told(mechanism, release=release) for release in others]
    for i, a in enumerate([wanted, *found]):
        for b in found[i:]:
            assert agreement(a, b) < 1e-3
    ids = [rows(np.arange(100), release)[:, 0].tolist() for release in [RELEASE, *others]]
    assert len({word for column in ids for word in column}) == 100 * len(ids)


def test_names_do_not_run_together():
    """A release "ab" with column "c" is another than "a" with "bc"."""
    mechanism = laplace()
    a = KeyedRelease(SECRET, "ab").column(mechanism, "c")
    b = KeyedRelease(SECRET, "a").column(mechanism, "bc")
    assert a._key != b._key


def test_value_and_row():
    """Another value in the row, near or far, and another row with the value."""
    column = RELEASE.column(laplace(2.0**20, 0), "x")
    ids = many_rows()
    base = told(laplace(2.0**20, 0))
    for x in (1.0, -1.0, 2.0, 1e9, 2.0**52, 2.0**52 + 1, 2.0**60, -(2.0**60)):
        noise = column.add_noise(np.full(20_000, x), ids) - x
        assert agreement(noise, base) < 1e-3
        assert abs(np.corrcoef(noise, base)[0, 1]) < 0.05
    whole = [column.add_noise(np.full(20_000, x), ids) - float(2**60) for x in (2**60 + 1, 2**60 + 2)]
    assert agreement(*whole) < 0.01
    assert agreement(base[1:], base[:-1]) < 1e-3


def test_big_integers_a_unit_apart():
    """2^60 + 1 and 2^60 + 2 are two points, though one float is next to both."""
    column = RELEASE.column(discrete(1000.0), "n")
    a, b = (column.add_noise(np.full(20_000, 2**60 + d), many_rows()) - d for d in (1, 2))
    assert agreement(a, b) < 0.005


# The law.


def law(x: np.ndarray, t: float):
    """Check integers against their exact probabilities."""
    m = next(m for m in range(1, 100) if x.size * float(probability(Fraction(t), m)) < 400)
    inner = [float(probability(Fraction(t), k)) for k in range(-m, m + 1)]
    rest = (1 - sum(inner)) / 2
    counted = np.bincount(np.clip(x, -m - 1, m + 1) + m + 1, minlength=2 * m + 3)
    return chi_square(f"keyed noise of scale {t:g}", counted, [rest, *inner, rest])


@pytest.mark.parametrize("t", [1.0, 3.0])
def test_law(t):
    """The noise of 500,000 rows, numbered and of one value, has the exact law; noise of scale 0.98 t is refused."""
    n = 500_000
    values = np.full(n, 17)
    noise = RELEASE.column(discrete(t), "n").add_noise(values, rows(np.arange(n))) - values
    mutant = RELEASE.column(discrete(0.98 * t), "n").add_noise(values, rows(np.arange(n))) - values

    accept(law(noise, t))
    reject(law(mutant, t))


def test_neighbours_are_independent():
    """Noise of rows 1 to 16 apart, of two columns and of two values is uncorrelated; that of one cell is refused."""
    n = 500_000
    ids = rows(np.arange(n))

    def signs(column, value):
        noise = RELEASE.column(laplace(), column).add_noise(np.full(n, value), ids) - value
        return np.sign(noise)

    a = signs("x", 1.0)
    m = n - 16
    lags = [a[:m] @ a[lag : lag + m] / m for lag in range(1, 17)]
    across = [a @ signs("y", 1.0) / n, a @ signs("x", 2.0) / n]
    accept(correlations("signs of neighbouring cells", [*lags, *across], m))
    reject(correlations("signs of one cell", [*lags, a @ signs("x", 1.0) / n], m))


# Missing values and refusals.


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_masks(kind):
    """Under the mask stands 0, whatever stood there, and other rows keep their noise; the values stay as they are."""
    column = RELEASE.column(laplace(), "x")
    values = np.arange(40).astype(kind)
    mask = np.arange(40) % 3 == 0
    given = values.copy()
    if kind != np.int64:
        given[mask] = np.inf
    before = given.copy()
    got = column.add_noise(given, many_rows()[:40], mask)

    assert same(got[~mask], column.add_noise(values, many_rows()[:40])[~mask])
    assert not got[mask].any()
    assert same(given, before)
    assert same(
        column.add_noise(values, many_rows()[:40], np.zeros(40, bool)), column.add_noise(values, many_rows()[:40])
    )


def test_nan_stays():
    """NaN stays NaN and touches nothing else, on scales of kernels and of integers."""
    values = np.arange(40.0)
    values[::5] = np.nan
    for t in (2.0**40, 2.0**50):
        column = RELEASE.column(laplace(t, -40), "x")
        got = column.add_noise(values, many_rows()[:40])
        assert np.isnan(got).tolist() == np.isnan(values).tolist()
        clean = column.add_noise(np.arange(40.0), many_rows()[:40])
        assert same(got[~np.isnan(values)], clean[~np.isnan(values)])


def test_no_rows():
    """Nothing is released as nothing, in the dtype that something would have."""
    none = np.empty((0, 2), np.uint64)
    assert RELEASE.column(laplace(), "x").add_noise(np.empty(0, np.float32), none).dtype == np.float32
    assert RELEASE.column(discrete(1.0), "n").add_noise([], none).dtype == np.int64


IDS = np.zeros((2, 2), np.uint64)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: KeyedRelease("x" * 32, "r"), TypeError, r"^secret must be bytes, got str$"),
        (lambda: KeyedRelease(bytes(31), "r"), ValueError, r"^secret must have at least 32 bytes, got 31$"),
        (lambda: KeyedRelease(SECRET, 7), TypeError, r"^release_id must be a str, got 7$"),
        (lambda: KeyedRelease(SECRET, ""), ValueError, r"^release_id must not be empty$"),
        (lambda: KeyedRelease(SECRET, "\ud800"), ValueError, r"^release_id must be text that UTF-8 can write"),
        (lambda: RELEASE.column(laplace(), ""), ValueError, r"^name must not be empty$"),
        (lambda: RELEASE.column(laplace(changed=None), "x"), ValueError, r"^mechanism must have changed set"),
        (
            lambda: RELEASE.column(GaussianMechanism(epsilon=1, delta=0.1, sensitivity=1), "x"),
            TypeError,
            r"^mechanism must be a LaplaceMechanism or DiscreteLaplaceMechanism for keyed noise, got Gau",
        ),
        (lambda: RELEASE.identities([]), ValueError, r"^columns must name at least one key column, got none$"),
        (
            lambda: RELEASE.identities([from_numpy("a", np.arange(2)), from_numpy("b", np.array(["x"]))]),
            ValueError,
            r"^columns must have one length, got \[1, 2\]$",
        ),
        (
            lambda: from_numpy("a", np.zeros((2, 2), int)),
            ValueError,
            r"^key column 'a' must have one dimension, got 2$",
        ),
        (
            lambda: RELEASE.column(laplace(), "x").add_noise(np.zeros((2, 1)), IDS),
            ValueError,
            r"^values must have one dim",
        ),
        (
            lambda: RELEASE.column(laplace(), "x").add_noise(np.ma.array([1.0, 2.0], mask=[True, False]), IDS),
            TypeError,
            r"^values must not be masked, got a masked array$",
        ),
        (
            lambda: RELEASE.column(laplace(), "x").add_noise(np.zeros(3), IDS),
            ValueError,
            r"^identities must be uint64 of",
        ),
        (
            lambda: RELEASE.column(laplace(), "x").add_noise(np.zeros(2), IDS, [0, 1]),
            ValueError,
            r"^mask must be bool of",
        ),
        (lambda: RELEASE.column(discrete(1.0), "n").add_noise([1.0, 2.0], IDS), TypeError, r"^values must be integers"),
        (
            lambda: RELEASE.column(laplace(), "x").add_noise([0.0, np.inf], IDS),
            ValueError,
            r"^values\[1\] must be finite",
        ),
    ],
)
def test_refusals(call, error, message):
    """Arguments that do not fit are refused by name."""
    with pytest.raises(error, match=message):
        call()


def test_nothing_shows_a_key():
    """Neither repr nor str shows secret or key, and a release does not hold the secret."""
    column = RELEASE.column(laplace(), "x")
    for made, key in ((RELEASE, RELEASE._key), (column, column._key)):
        for text in (repr(made), str(made)):
            assert key.hex() not in text
            assert repr(key)[2:-1] not in text
    assert repr(RELEASE) == "KeyedRelease('2024-q1')"
    assert SECRET not in pickle.dumps(RELEASE)
    assert math.isfinite(column.mechanism.scale)
