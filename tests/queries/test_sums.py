"""private_sum: an exact integer sum whose sensitivity is what it says, for every order, batch, type and size."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_oracles import SEED, Ledger, neighbours_of, noise, record, sum_of_records

from lapnoise import SeededNoiseWarning, default_rng
from lapnoise.queries import _bounds, private_sum
from lapnoise.queries._bounds import Bounds, choose
from lapnoise.queries._sum import exact_sum, sum_sensitivity

seeded = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

POISON = [math.nan, math.inf, -math.inf, 1e308, -1e308, -0.0, 5e-324, 2.0**970]


def lattice(low, high, epsilon=1, neighbours="add-remove", m=1):
    """Return the bounds that a sum takes."""
    low, high = Fraction(low), Fraction(high)
    return choose(low, high, sum_sensitivity(low, high, neighbours, m, False), Fraction(epsilon))


# The exact sum.


edges = st.one_of(
    st.floats(-1e6, 1e6), st.integers(-10, 10).map(float), st.floats(-1e-300, 1e-300), st.floats(-1e300, 1e300)
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    low=edges,
    high=edges,
    epsilon=st.sampled_from(["1", "0.1", "1e-6", "1e-14", "1e-30", "50", "1e9", "1e40"]),
    values=st.lists(st.one_of(st.floats(), edges, st.integers(-(2**63), 2**63 - 1)), max_size=12),
    shares=st.lists(st.integers(-3, 3), max_size=6),
)
def test_sums_are_exact(low, high, epsilon, values, shares):
    """Any values between any bounds sum to what fractions say, ties and neighbours of the bounds among them."""
    low, high = min(low, high), max(low, high)
    if low == high:
        high = math.nextafter(high, math.inf)
    on = lattice(low, high, epsilon)
    ties = [float((Fraction(2 * k + 1, 2) + on.least) * Fraction(2) ** on.exponent) for k in shares]
    rows = [*values, *ties, low, high, math.nextafter(low, math.inf), math.nextafter(high, -math.inf)]

    assert on.least < on.most
    assert max(abs(on.least), abs(on.most)) <= 2**50
    assert exact_sum(rows, on, "add-remove", None, 1) == sum_of_records(rows, on)
    floats = np.array(rows, np.float64)
    assert exact_sum(floats, on, "add-remove", None, 1) == sum_of_records(floats.tolist(), on)


def test_rounding_is_half_up():
    """Ties go up on both sides of 0, and what is just below a tie goes down."""
    on = Bounds(0, -10, 10)
    wanted = {0.5: 1, -0.5: 0, 1.5: 2, 2.5: 3, -1.5: -1, -2.5: -2, 0.49999999999999994: 0, -0.5000000000000001: -1}
    wanted |= {9.5: 10, 10.5: 10, -10.5: -10, -9.5: -9, 1e300: 10, -math.inf: -10}
    for x, steps in wanted.items():
        assert record(x, on) == steps
        assert exact_sum(np.array([x]), on, "add-remove", None, 1) == steps
        assert exact_sum(np.full(5000, x), on, "add-remove", None, 1) == 5000 * steps


LONG = [0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**60 + 128, 2**60 + 129, 2**62 - 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@pytest.mark.parametrize(
    "bounds",
    [
        (0, 1),
        (-3, 7),
        (-(2**53), 2**53),
        (0, 2**54),
        (-(2**60), 2**60),
        (2**61, 2**62),
        (-(2**62), -(2**61)),
        (0, 2**63),
        (-(2**64), 2**64),
        (2**64, 2**65),
        (-(2**80), 2**80),
        (0.25, 0.75),
    ],
)
def test_long_integers_never_pass_through_a_float(kind, bounds):
    """Integers of 64 bits sum to what fractions say, at bounds within and beyond 2^53."""
    limits = np.iinfo(kind)
    ties = [s * (2**p + 2 ** (p - 50) + d) for s in (1, -1) for p in range(54, 64) for d in (-1, 0)]
    rows = ties + [x + d for x in LONG for d in (-16, -9, -8, -7, -1, 0, 1, 7, 8, 9)]
    rows = [x for x in rows if limits.min <= x <= limits.max]
    for epsilon in (1, 10**6):
        on = lattice(*bounds, epsilon)
        assert exact_sum(np.array(rows, kind), on, "add-remove", None, 1) == sum_of_records(rows, on)


def test_short_types():
    """Integers of every width, bool, float32, float16 and long doubles sum as their values do."""
    on = lattice(-100, 300)
    for kind in (
        np.int8,
        np.uint8,
        np.int16,
        np.uint16,
        np.int32,
        np.uint32,
        np.float16,
        np.float32,
        np.longdouble,
        bool,
    ):
        rows = np.array([0, 1, 100, 7, 1, 127]).astype(kind)
        assert exact_sum(rows, on, "add-remove", None, 1) == sum_of_records([float(x) for x in rows], on)
        assert exact_sum(rows[::-2], on, "add-remove", None, 1) == sum_of_records([float(x) for x in rows[::-2]], on)
    swapped = np.array([1.5, -2.25]).astype(">f8")
    assert exact_sum(swapped, on, "add-remove", None, 1) == sum_of_records([1.5, -2.25], on)


@pytest.mark.parametrize(
    ("value", "kind", "n"),
    [(127, np.int8, 10**5), (255, np.uint8, 10**5), (2**31 - 1, np.int32, 10), (2**63 - 1, np.int64, 9)],
)
def test_no_overflow(value, kind, n):
    """Many narrow integers, and few wide ones, sum to their product."""
    on = lattice(0, 2**63)
    exact = exact_sum(np.full(n, value, kind), on, "add-remove", None, 1)

    assert exact == n * record(value, on)


def test_sums_at_the_largest_number_of_steps():
    """Half a million records of 2^50 steps each, far beyond an int64 together, sum exactly."""
    on = Bounds(-3, -(2**50), 2**50)
    n = 2**19 + 77
    for sign in (1, -1):
        assert exact_sum(np.full(n, sign * 1e30), on, "add-remove", None, 1) == sign * n * 2**50


# Neighbours.


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("bounds", [(-10, 3), (0, 5), (5, 10), (-7, -2), (0.1, 0.3)])
def test_neighbours_by_brute_force(bounds, relation, m):
    """No neighbours differ by more steps than the noise is made for, NaN and infinities among them; some do by all."""
    on = lattice(*bounds, 1, relation, m)
    domain = [bounds[0], bounds[1], sum(bounds) / 2, math.nan, math.inf, -1e308]
    steps = sum_sensitivity(on.least, on.most, relation, m, False)
    seen = max(
        abs(exact_sum(one, on, relation, None, m) - exact_sum(other, on, relation, None, m))
        for one, other in neighbours_of(domain, m, relation, others=1)
    )

    assert seen == steps
    result = private_sum([], *bounds, epsilon=1, neighbours=relation, max_contributions=m)
    assert Fraction(result.mechanism.lattice.t) >= steps == result.mechanism.lattice.sensitivity


def attack_rounding():
    """64 records at L and one that moves from L to U, where U - L is far below the precision of their sum."""
    low, high = (1 + 2**-47 - 2**-52) / 2, (1 + 2**-47) / 2
    return (low, high), [low] * 65, [low] * 64 + [high]


def attack_repeated_rounding():
    """One record more takes partial sums to where every further pair rounds up; float32's analogue of k = 52."""
    m, k = 2**16, 23
    plus, minus = m / 2**k * (0.5 + 2**-k), -m / 2**k * (0.5 - 2**-k)
    rest = [1.0] * (m - 1)
    return (-1.0, 1.0), rest + [plus, minus] * m, [1.0, *rest] + [plus, minus] * m


@pytest.mark.parametrize("attack", [attack_rounding, attack_repeated_rounding])
def test_attacks_by_rounding(attack):
    """The data sets of Casacuberta et al. move the exact sum by at most the sensitivity, and a float sum by more."""
    bounds, one, other = attack()
    relation = "replace" if len(one) == len(other) else "add-remove"
    on = lattice(*bounds, 1, relation)
    steps = sum_sensitivity(on.least, on.most, relation, 1, False)
    claimed = bounds[1] - bounds[0] if relation == "replace" else max(map(abs, bounds))
    kind = np.float64 if relation == "replace" else np.float32

    assert abs(exact_sum(one, on, relation, None, 1) - exact_sum(other, on, relation, None, 1)) <= steps
    moved = abs(sum(map(kind, one), kind(0)) - sum(map(kind, other), kind(0)))
    assert moved > 2 * claimed


def test_order_and_batches_do_not_matter():
    """Permutations, partitions, sorted and reversed rows give one sum, where float sums give many."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal(2000) * 10.0 ** rng.integers(-8, 8, 2000)
    on = lattice(-1e6, 1e6)
    orders = [rng.permutation(rows) for _ in range(100)] + [np.sort(rows), rows[::-1]]
    expected = sum_of_records(rows.tolist(), on)

    assert {exact_sum(order, on, "add-remove", None, 1) for order in orders} == {expected}
    for parts in (1, 2, 7, 200):
        assert exact_sum(iter(np.array_split(rows, parts)), on, "add-remove", None, 1) == expected
    assert len({float(np.cumsum(order)[-1]) for order in orders}) > 1


@seeded
def test_releases_do_not_depend_on_order():
    """With the same noise every permutation and partition gives the same release, bit for bit."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal(500)
    releases = {
        private_sum(values, -1, 1, epsilon=1, rng=default_rng(SEED)).value
        for values in (rows, rows[::-1], rng.permutation(rows), rows.tolist(), iter(np.array_split(rows, 9)))
    }
    assert len(releases) == 1


def test_integers_that_would_wrap():
    """2^63 - 1 with and without one more row differ by the record of that row, without an exception."""
    on = lattice(0, 10)
    one, other = np.array([2**63 - 1]), np.array([2**63 - 1, 1])
    moved = exact_sum(other, on, "add-remove", None, 1) - exact_sum(one, on, "add-remove", None, 1)
    assert moved == record(1, on)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("poison", POISON)
def test_poison(poison):
    """One record of any kind moves the sum by at most the sensitivity, and the release stays a finite float."""
    on = lattice(-1, 2)
    rows = [0.25, 1.0]
    moved = exact_sum([*rows, poison], on, "add-remove", None, 1) - exact_sum(rows, on, "add-remove", None, 1)

    assert abs(moved) <= sum_sensitivity(on.least, on.most, "add-remove", 1, False)
    value = private_sum(np.array([*rows, poison]), -1, 2, epsilon=1).value
    assert type(value) is float
    assert math.isfinite(value)


def test_missing_rows():
    """NaN, None and masked rows are left out; under replace they count as the number nearest to 0."""
    rows = [7.0, math.nan, 8.0]
    masked = np.ma.MaskedArray([7.0, 1e9, 8.0], mask=[False, True, False])
    for bounds, stand_in in (((5, 10), 5), ((-10, -5), -5), ((-3, 9), 0)):
        on = lattice(*bounds)
        for values in (rows, np.array(rows), [7.0, None, 8.0], masked):
            left = sum_of_records([7.0, 8.0], on)
            assert exact_sum(values, on, "add-remove", None, 1) == left
            assert exact_sum(values, on, "replace", None, 1) == left + record(stand_in, on)


# The release.


@seeded
@pytest.mark.parametrize(
    ("bounds", "relation", "m", "scale"),
    [
        ((-10, 3), "add-remove", 1, 20),
        ((-10, 3), "replace", 1, 26),
        ((0, 5), "add-remove", 3, 30),
        ((5, 10), "add-remove", 1, 20),
        ((5, 10), "replace", 1, 10),
        ((5, 10), "replace", 2, 30),
    ],
)
def test_scale_and_noise(bounds, relation, m, scale):
    """The scale is sensitivity over epsilon, and the release is sum and known noise added in steps and rounded once."""
    rows = [0.1, 7.3, 2.0, -4.0]
    result = private_sum(rows, *bounds, epsilon="0.5", neighbours=relation, max_contributions=m, rng=default_rng(SEED))
    on = lattice(*bounds, "0.5", relation, m)
    r = Fraction(2) ** on.exponent

    assert result.scale == scale
    assert result.epsilon == Fraction(1, 2)
    assert result.delta == 0
    assert result.mechanism.epsilon <= Fraction(1, 2)
    assert result.standard_error == pytest.approx(math.sqrt(2) * scale, rel=1e-12)
    t = result.mechanism.lattice.t
    assert Fraction(result.value) == Fraction(float((sum_of_records(rows, on) + noise(t)[0]) * r))
    low, high = result.interval(0.95)
    assert (low + high) / 2 == pytest.approx(result.value)
    assert high - low == pytest.approx(2 * scale * math.log(20), rel=1e-9)


def test_rounding_of_records_is_no_bias():
    """A billion rows, each off by half a step, move the sum by less than a thousandth of the scale."""
    for bounds, epsilon in (((0, 1), 1), ((-10, 3), "0.1"), ((0, 1e6), 3), ((0, 0.3), "1e-6")):
        result = private_sum([], *bounds, epsilon=epsilon)
        assert 10**9 * Fraction(result.mechanism.granularity) / 2 < Fraction(result.scale) / 1000


def test_lattices_depend_on_parameters_alone():
    """The lattice of ints, floats, float32 and none at all is one, and the cost of rounding below a thousandth."""
    kinds = [[], [1, 2], [0.5], np.array([1.0], np.float32), np.array([1], np.uint8), [math.nan]]
    assert len({private_sum(v, 0, 3, epsilon=1).mechanism for v in kinds}) == 1
    for epsilon in ("1e-3", "1e-9", "1e-12", "1e-20", "1e-200"):
        result = private_sum([1.0], 0, 3, epsilon=epsilon)
        assert result.mechanism.lattice.t >= 2**24
        assert Fraction(result.mechanism.sensitivity) <= 3 * Fraction(1001, 1000)
        assert math.isfinite(result.value)


def test_sums_beyond_the_floats_saturate():
    """Bounds near the largest float give a finite sum."""
    value = private_sum(np.full(100, 1.7e308), 0, 1.7e308, epsilon=1000).value
    assert value == float(np.finfo(np.float64).max)


def test_blocks_and_threads(monkeypatch):
    """Large arrays in blocks on several threads give the sum that fractions of their steps give."""
    rng = np.random.default_rng(3)
    rows = rng.normal(0, 2, 3 * _bounds.BLOCK + 11)
    rows[::1000] = np.nan
    on = lattice(-3, 3)
    r = 2.0**on.exponent
    known = rows[~np.isnan(rows)]
    steps = np.floor(np.clip(known, -3, 3) / r + 0.5).astype(np.int64)  # exact: r is a power of two, steps are small
    expected = int((steps >> 20).sum()) * 2**20 + int((steps & (2**20 - 1)).sum())

    for threads in (1, 2, 5):
        monkeypatch.setattr(_bounds, "available_threads", lambda n=threads: n)
        assert exact_sum(rows, on, "add-remove", None, 1) == expected


def test_empty_data():
    """Without rows the answer is noise of the same scale and type."""
    for empty in ([], np.array([]), np.array([], np.int64), iter([]), iter([[], []]), (), [None], np.full(3, np.nan)):
        result = private_sum(empty, 0, 10, epsilon=1)
        assert type(result.value) is float
        assert result.scale == 10
    assert exact_sum([], lattice(0, 10), "add-remove", None, 1) == 0


# Arguments and the ledger.


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"low": math.nan}, ValueError, "low must be finite, got nan"),
        ({"low": 1, "high": 0}, ValueError, "low must be less than high, got low 1 and high 0"),
        ({"low": 0, "high": 0}, ValueError, "low must be less than high"),
        ({"low": -math.inf}, ValueError, "low must be finite, got -inf"),
        ({"low": None}, TypeError, "low must be a number"),
        ({"epsilon": 0}, ValueError, "epsilon must be finite and > 0, got 0"),
        ({"neighbours": "bounded"}, ValueError, "neighbours must be 'add-remove' or 'replace'"),
        ({"max_contributions": 0}, ValueError, "max_contributions must be >= 1, got 0"),
        ({"person": ["a"]}, ValueError, "person must have one id for each of the 2 rows, got 1"),
        ({"person": "ab"}, ValueError, "person must be one-dimensional, one entry a row, got 0 dimensions"),
        ({"person": 5}, ValueError, "person must be one-dimensional"),
        ({"values": iter([[1]]), "person": ["a"]}, TypeError, "values must be one array where person is given"),
        ({"rng": 7}, TypeError, "rng must be a lapnoise Generator or None"),
        ({"ledger": object()}, TypeError, "ledger must have a method spend"),
        ({"label": 3}, TypeError, "label must be text, got 3"),
        ({"values": np.zeros((2, 2))}, ValueError, "values must be one-dimensional, one entry a row, got 2 dimensions"),
        ({"values": 3.0}, TypeError, "values must be a column of rows .*, got float"),
        ({"values": "12"}, TypeError, "values must be a column of rows .*, got str"),
        ({"values": np.array(["a"])}, TypeError, "values must be real numbers, got dtype <U1"),
        ({"values": np.array([1j])}, TypeError, "values must be real numbers, got dtype complex128"),
    ],
)
def test_refusals(arguments, error, message):
    """What is wrong with the arguments is said before anything is charged."""
    ledger = Ledger()
    with pytest.raises(error, match=message):
        private_sum(**{"values": [1.0, 2.0], "low": 0, "high": 1, "epsilon": 1, "ledger": ledger, **arguments})
    assert ledger.charges == []


def test_bounds_have_no_default():
    """There is no sum without bounds."""
    with pytest.raises(TypeError):
        private_sum([1.0], epsilon=1)


def test_the_ledger_is_charged_before_data_are_read():
    """An exhausted ledger refuses before the first batch is taken; a charge stands when values turn out bad."""
    taken = []

    def batches():
        taken.append(len(ledger.charges))
        yield [1.0]

    ledger = Ledger(total=1)
    private_sum(batches(), 0, 1, epsilon=1, ledger=ledger, label="ages")
    assert taken == [1]
    assert ledger.charges == [(Fraction(1), Fraction(0), "ages")]
    with pytest.raises(RuntimeError, match="exhausted"):
        private_sum(batches(), 0, 1, epsilon="0.1", ledger=ledger)
    assert taken == [1]
    with pytest.raises(TypeError, match="values must be real numbers"):
        private_sum(["a"], 0, 1, epsilon=1, ledger=(other := Ledger()))
    assert other.charges == [(Fraction(1), Fraction(0), "private_sum")]


def test_a_seeded_generator_warns():
    """Noise that can be drawn again is warned of, with the caller's line."""
    with pytest.warns(SeededNoiseWarning) as caught:
        private_sum([1.0], 0, 1, epsilon=1, rng=default_rng(1))
    assert caught[0].filename == __file__


def test_data_are_left_alone():
    """The rows are the same bytes afterwards."""
    rows = np.array([1.0, np.nan, np.inf, -7.0])
    before = rows.tobytes()
    rows.flags.writeable = False
    private_sum(rows, 0, 1, epsilon=1)
    assert rows.tobytes() == before
