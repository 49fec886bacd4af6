"""private_quantile: scores that move by no more than was proved, every point with its weight, and no odd data."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from stats import accept, chi_square, count, reject

from lapnoise import SeededNoiseWarning, default_rng
from lapnoise.mechanisms import ExponentialMechanism
from lapnoise.queries import private_quantile
from lapnoise.queries._quantile import QuantileResult, _points, bounded_places, intervals

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

RANKS = [Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), Fraction(1)]
POINTS = 4


def score(places, k: int, q: Fraction) -> Fraction:
    """Return the score of point k by its definition."""
    below = sum(p < k for p in places)
    upto = sum(p <= k for p in places)
    target = q * len(places)
    return -max(Fraction(0), below - target, target - upto)


def per_point(places, q: Fraction, number: int = POINTS) -> np.ndarray:
    """Return the score times b of every point, by the package's intervals, of which each point is in one."""
    starts, lengths, scores = intervals(np.array(places, np.int64), number, q.numerator, q.denominator)
    found = np.full(number, 1, np.int64)
    for start, length, value in zip(starts, lengths, scores, strict=True):
        assert (found[start : start + length] == 1).all()
        found[start : start + length] = value
    assert lengths.sum() == number
    assert (found <= 0).all()
    return found


def data_sets(size: int):
    """Return all multisets of up to ``size`` places."""
    return [list(c) for n in range(size + 1) for c in itertools.combinations_with_replacement(range(POINTS), n)]


@pytest.mark.parametrize("q", RANKS, ids=str)
def test_intervals_have_the_defined_scores(q):
    """The runs of equal scores cover each point once, with its score by the definition."""
    for places in data_sets(5):
        wanted = [score(places, k, q) * q.denominator for k in range(POINTS)]
        assert per_point(places, q).tolist() == wanted


@pytest.mark.parametrize("q", RANKS, ids=str)
def test_sensitivities_by_brute_force(q):
    """A row more moves no score by more than max(q, 1 - q), a row replaced by no more than 1; the first is reached."""
    most = {"add": 0, "replace": 0}
    for places in data_sets(4):
        before = per_point(places, q)
        for new in range(POINTS):
            most["add"] = max(most["add"], np.abs(per_point([*places, new], q) - before).max())
            for i in range(len(places)):
                other = per_point([*places[:i], *places[i + 1 :], new], q)
                most["replace"] = max(most["replace"], np.abs(other - before).max())
    assert most["add"] == q.denominator * max(q, 1 - q)
    assert most["replace"] <= q.denominator


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10)], ids=str)
def test_privacy_of_the_points(q, neighbours):
    """Between neighbouring data sets no point's exact probability changes by more than epsilon, in logarithm."""
    epsilon = 1.0
    b = q.denominator
    most = b if neighbours == "replace" else max(q.numerator, b - q.numerator)
    m = ExponentialMechanism(epsilon=epsilon, sensitivity=most)
    worst = 0.0
    for places in data_sets(4):
        p = np.log(m.probabilities(per_point(places, q)))
        for new in range(POINTS):
            others = [places[:i] + places[i + 1 :] for i in range(len(places))] if neighbours == "replace" else [places]
            for kept in others:
                worst = max(worst, float(np.abs(np.log(m.probabilities(per_point([*kept, new], q))) - p).max()))
    assert 0.4 < worst <= epsilon + 1e-9


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 1),
        (-1, 1),
        (0.1, 0.3),
        (1e15, 1e15 + 1),
        (-1e308, 1e308),
        (0, 1e-322),
        (1.0, math.nextafter(1, 2)),
        (5, 7.5),
    ],
)
def test_lattice_comes_from_the_bounds(low, high):
    """Its points are floats between the bounds, ends included where they are multiples, and at most 2^41 + 1."""
    points = _points(low, high)
    ends = [math.ldexp(points.first, points.exponent), math.ldexp(points.first + points.number - 1, points.exponent)]
    r = Fraction(2) ** points.exponent
    assert low <= ends[0] <= ends[1] <= high
    assert [Fraction(end) / r for end in ends] == [points.first, points.first + points.number - 1]
    assert Fraction(ends[0]) - Fraction(low) < r > Fraction(high) - Fraction(ends[1])
    assert 1 <= points.number <= 2**41 + 1
    assert points.number >= 2**40 or r >= Fraction(math.ulp(max(abs(low), abs(high))))
    assert points.places([low, high, -math.inf, math.inf, math.nan]).tolist() == [0, points.number - 1] * 2


def test_values_are_rounded_half_up_to_the_lattice():
    """Places are those of the exact rounding, for floats between points and at ties."""
    points = _points(-3, 5)
    r = Fraction(2) ** points.exponent
    values = [0.1, -0.1, 1 / 3, 4.999999999999, float(r / 2), float(-r / 2), float(r * 3 / 2), 2.0**-60, 4, -3]
    wanted = [math.floor(Fraction(v) / r + Fraction(1, 2)) - points.first for v in values]
    assert sorted(points.places(values).tolist()) == sorted(wanted)


def test_results():
    """A result has a value between the bounds, what it cost, and stays as it is."""
    result = private_quantile(np.arange(1000.0), 0.25, 0, 1000, epsilon="0.5")
    assert isinstance(result, QuantileResult)
    assert (result.epsilon, result.delta) == (Fraction(1, 2), 0)
    assert 0 <= result.value <= 1000
    with pytest.raises(AttributeError):
        result.value = 1.0


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_large_epsilon_gives_the_quantile(neighbours):
    """With much budget the answer lies in the right gap; ties of 800,000 equal values are met exactly."""
    values = np.arange(0.5, 100)
    for q, low, high in ((0.5, 49.5, 50.5), ("0.1", 9.5, 10.5), (0, 0, 0.5), (1, 99.5, 100)):
        for seed in range(5):
            got = private_quantile(values, q, 0, 100, epsilon=200, neighbours=neighbours, rng=default_rng(seed))
            assert low <= got.value <= high
    many = np.concatenate([np.full(800_000, 5), np.arange(200_000)])
    assert private_quantile(many, 0.5, 0, 200_000, epsilon=0.5, neighbours=neighbours).value == 5.0


def test_odd_data():
    """NaN and missing values are dropped, infinities count as the bounds, and no data give a value."""
    assert -1 <= private_quantile([], 0.5, -1, 1, epsilon=1).value <= 1
    plain = private_quantile([0.0, 1.0, 1.0], 0.5, 0, 1, epsilon=1, rng=default_rng(1))
    for values in (
        [0.0, math.nan, math.inf, 1.0],
        [-math.inf, 7, 1.0],
        pd.Series([0, None, 1, 1], dtype="Int64"),
        pd.Series([0.0, None, 1, 1], dtype="double[pyarrow]"),
        pa.array([0.0, None, 1.0, 1.0]),
        pa.chunked_array([[0], [1, 1]]),
        np.ma.MaskedArray([0.0, 0.25, 1.0, 1.0], [0, 1, 0, 0]),
        [False, True, True],
        iter([np.array([0]), pa.array([1]), pd.Series([1.0])]),
        iter([[0.0], [1, 1]]),
        [np.array([0.0]), pa.array([1, 1])],
        (np.array(v, np.float32) for v in ([1, 1], [], [0])),
    ):
        assert private_quantile(values, 0.5, 0, 1, epsilon=1, rng=default_rng(1)) == plain


def test_order_and_batches_change_nothing():
    """The answer is a function of the multiset of values."""
    values = np.random.Generator(np.random.PCG64(1)).normal(size=1000)
    wanted = private_quantile(values, 0.3, -3, 3, epsilon=1, rng=default_rng(2))
    for same in (values[::-1], np.sort(values), np.split(values, 10), iter(np.split(values[::-1], [1, 500]))):
        assert private_quantile(same, 0.3, -3, 3, epsilon=1, rng=default_rng(2)) == wanted


REFUSED = [
    (ValueError, "quantile must be from 0 to 1, got 1.5", {"quantile": 1.5}),
    (ValueError, "quantile must be from 0 to 1, got nan", {"quantile": math.nan}),
    (TypeError, "quantile must be a number", {"quantile": "half"}),
    (ValueError, "low must be less than high", {"low": 1, "high": 1}),
    (ValueError, "low must be finite, got nan", {"low": math.nan}),
    (ValueError, "high must be finite, got inf", {"high": math.inf}),
    (ValueError, "low and high must lie among the floats", {"high": 10**400}),
    (ValueError, "low and high must have a float between", {"low": Fraction(3, 10**340), "high": Fraction(4, 10**340)}),
    (ValueError, "epsilon must be finite and > 0, got 0", {"epsilon": 0}),
    (ValueError, "neighbours must be 'add-remove' or 'replace', got 'both'", {"neighbours": "both"}),
    (TypeError, "rng must be", {"rng": 7}),
    (TypeError, "values must be real numbers", {"values": ["a"]}),
    (TypeError, "values must be real numbers", {"values": pd.Series(["a"])}),
    (ValueError, "values must be one-dimensional", {"values": np.zeros((2, 2))}),
    (TypeError, "values must be a column of rows .*, got float", {"values": 1.0}),
]


@pytest.mark.parametrize(("error", "message", "given"), REFUSED, ids=lambda value: str(value)[:40])
def test_refusals(error, message, given):
    """What does not fit is refused by name before a word is taken."""
    rng = default_rng(3)
    arguments = {"values": [1.0], "quantile": 0.5, "low": 0, "high": 2, "epsilon": 1, "rng": rng, **given}
    with pytest.raises(error, match=message):
        private_quantile(**arguments)
    assert rng.position == 0


def test_seeded_generators_warn():
    """A quantile that can be had again says so where it was asked for, once."""
    with pytest.warns(SeededNoiseWarning) as caught:
        private_quantile([1.0], 0.5, 0, 2, epsilon=1, rng=default_rng(1))
    assert [warning.filename for warning in caught] == [__file__]


def test_shares_of_the_points():
    """On the four floats of a narrow range 4,000 answers have the probabilities of the definition; others do not.

    No data give each point the same share.
    """
    low, high = 1.0, 1 + 3 * 2.0**-52
    floats = [low + k * 2.0**-52 for k in range(4)]
    rng = default_rng(4)
    values = [floats[0], floats[2], floats[2]]

    def counts(values):
        found = [private_quantile(values, 0.5, low, high, epsilon=2, rng=rng).value for _ in range(4000)]
        assert set(found) == set(floats)
        return [found.count(x) for x in floats]

    m = ExponentialMechanism(epsilon=2, sensitivity=1)
    wanted = m.probabilities(per_point([0, 2, 2], Fraction(1, 2)))
    got = counts(values)
    accept(chi_square("shares", got, wanted))
    reject(chi_square("mutant", got, [0.25] * 4))
    accept(chi_square("no data", counts([]), [0.25] * 4))


def test_the_answer_is_uniform_within_a_gap():
    """With one value in the middle and little budget each half, and each half of a half, has its share."""
    rng = default_rng(5)
    found = np.array([private_quantile([], 0.5, 0, 1, epsilon=1, rng=rng).value for _ in range(5000)])
    accept(count("lower half", int((found < 0.5).sum()), found.size, 0.5))
    accept(count("odd quarters", int((found % 0.5 < 0.25).sum()), found.size, 0.5))


def test_rows_of_one_person():
    """Of a person with more than m rows m count, evenly spaced in their order, whatever the order of rows."""
    chance = np.random.default_rng(5)
    person = np.repeat([3, 1, 2], [7, 2, 1])
    values = np.concatenate([np.arange(7.0), [10.0, np.nan], [20.0]])
    points = _points(0, 32)
    at = lambda places: sorted(((places + points.first) * 2.0**points.exponent).tolist())  # noqa: E731
    for _ in range(5):
        order = chance.permutation(values.size)
        kept = bounded_places(values[order], points, person[order], 2)
        assert at(kept) == [1.0, 5.0, 10.0, 20.0]
    assert at(bounded_places(values, points, person, 7)) == [*np.arange(7.0), 10.0, 20.0]
    assert at(bounded_places(values, points, [None] * 10, 1)) == []


@pytest.mark.parametrize(("neighbours", "cost"), [("add-remove", 3), ("replace", 4)])
def test_several_rows_of_one_person(neighbours, cost):
    """Up to m rows that come, go or are replaced move no score by more than the sensitivity, and some by all of it."""
    m, a, b = 2, 1, 4
    rows = [list(c) for k in range(1, m + 1) for c in itertools.combinations_with_replacement(range(4), k)]
    others = [list(c) for k in range(3) for c in itertools.combinations_with_replacement(range(4), k)]
    score = {}
    for base in others:
        for mine in [[], *rows]:
            starts, lengths, scores = intervals(np.array(base + mine, np.int64), 4, a, b)
            of_point = np.empty(4, np.int64)
            for start, length, value in zip(starts, lengths, scores, strict=True):
                of_point[start : start + length] = value
            score[tuple(base), tuple(mine)] = of_point
    pairs = [((), r) for r in rows] if neighbours == "add-remove" else itertools.permutations(rows, 2)
    worst = max(np.abs(score[tuple(o), tuple(p)] - score[tuple(o), tuple(q)]).max() for p, q in pairs for o in others)
    bound = m * (b if neighbours == "replace" else max(a, b - a))
    assert worst <= bound == 2 * cost
    assert worst >= bound - 1


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("q", ["0", "0.1", "0.5", "0.75"])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_the_sensitivity_that_is_used(m, q, neighbours):
    """It is m max(q, 1 - q) rows, or m where rows are replaced: the result tells it, and selections go by it.

    With m epsilon the words select what they do with epsilon and one row a person; as if m were dropped, they do not.
    """
    values = np.random.default_rng(6).normal(size=50)

    def selected(contributions, epsilon):
        return [
            private_quantile(
                values,
                q,
                -3,
                3,
                epsilon=epsilon,
                neighbours=neighbours,
                max_contributions=contributions,
                rng=default_rng(seed),
            )
            for seed in range(40)
        ]

    rows = m * (Fraction(1) if neighbours == "replace" else max(Fraction(q), 1 - Fraction(q)))
    one, more = selected(1, Fraction(1, 2)), selected(m, Fraction(m, 2))
    assert {result.rows_at_epsilon for result in more} == {float(rows / Fraction(m, 2))}
    assert {result.rows_at_epsilon for result in selected(m, Fraction(1, 4))} == {float(4 * rows)}
    assert [result.value for result in more] == [result.value for result in one]
    assert m == 1 or [result.value for result in selected(1, Fraction(m, 2))] != [result.value for result in one]


def test_a_ledger_is_charged_before_values_are_read():
    """What a ledger refuses reads nothing."""

    class Refusing:
        def spend(self, epsilon, delta, label):
            raise LookupError(f"{epsilon} {delta} {label}")

    def unread():
        raise AssertionError("read")
        yield

    with pytest.raises(LookupError, match="1/2 0 private_quantile"):
        private_quantile(unread(), 0.5, 0, 1, epsilon="0.5", ledger=Refusing())


def test_rank_error():
    """The rank is off by no more than what is told, more often than the level: here in all of 300 answers."""
    values = np.arange(1000.0)
    rng = default_rng(8)
    answers = [private_quantile(values, "0.25", 0, 1000, epsilon=1, rng=rng) for _ in range(300)]
    told = answers[0].rank_error("0.9")

    assert abs(told / (2 * 0.75 * math.log(answers[0].points / 0.1)) - 1) < 1e-12
    assert max(abs(a.value - 250) for a in answers) <= told + 1
    assert repr(answers[0]).startswith("QuantileResult(2")
