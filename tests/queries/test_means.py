"""private_mean: two sums whose sensitivity is what it says, the ratio that is released, and its interval."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from query_oracles import SEED, Ledger, neighbours_of, noise, record

from lapnoise import default_rng
from lapnoise.queries import MeanResult, QueryResult, private_mean
from lapnoise.queries._bounds import choose
from lapnoise.queries._mean import exact_distances, exact_steps

seeded = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

BOUNDS = [(-10, 3), (0, 5), (5, 10), (0.1, 0.3)]


def lattice(result):
    """Return the lattice of a result's bounds."""
    return result.bounds


def distances(values, on, m=1):
    """Return the two exact sums, in steps."""
    return exact_distances(*exact_steps(values, on, None, m), on)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_neighbours_by_brute_force(bounds, relation, m):
    """The two sums together move by no more than the noise is made for, NaN among the rows too, and by as much."""
    result = private_mean([], *bounds, epsilon=1, neighbours=relation, max_contributions=m)
    on = result.bounds
    domain = [bounds[0], bounds[1], sum(bounds) / 2, math.nan, math.inf]
    seen = 0
    for one, other in neighbours_of(domain, m, relation, others=1):
        a, b = distances(one, on), distances(other, on)
        seen = max(seen, abs(a[0] - b[0]) + abs(a[1] - b[1]))

    assert seen == result.mechanism.lattice.sensitivity
    assert seen == (1 if relation == "add-remove" else 2) * m * (on.most - on.least)


@pytest.mark.parametrize("m", [1, 2, 9])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_public_number_by_brute_force(bounds, m):
    """The centred sum of n rows moves by no more than the noise is made for when up to m of them are replaced."""
    n = 3
    result = private_mean([], *bounds, epsilon=1, n=n, max_contributions=m)
    on = choose(Fraction(bounds[0]), Fraction(bounds[1]), m * (Fraction(bounds[1]) - Fraction(bounds[0])), Fraction(1))
    middle = (on.least + on.most) // 2
    domain = [bounds[0], bounds[1], math.nan, -math.inf]

    def centred(values):
        steps, rows = exact_steps(values, on, None, m)
        return steps - rows * middle

    seen = max(
        abs(centred(one) - centred(other))
        for one in itertools.product(domain, repeat=n)
        for other in itertools.product(domain, repeat=n)
        if sum(x is not y for x, y in zip(one, other, strict=True)) <= m
    )
    assert seen == min(m, n) * (on.most - on.least)
    assert result.mechanism.lattice.sensitivity == m * (on.most - on.least)  # n is not trusted
    assert result.scale == pytest.approx(m * float(Fraction(bounds[1]) - Fraction(bounds[0])) / n, rel=1e-9)


@seeded
def test_value_of_a_private_number():
    """The release is the middle plus noisy centred sum over noisy count, from exact sums and known noise."""
    rows = [1.0, 2.0, 4.0, 7.5, 99.0, math.nan] * 20
    result = private_mean(rows, 0, 10, epsilon=1, rng=default_rng(SEED))
    on = result.bounds
    r, width = Fraction(2) ** on.exponent, on.most - on.least
    x, y = noise(result.mechanism.lattice.t, 2)
    steps = [record(v, on) for v in rows if v == v]
    below, above = sum(s - on.least for s in steps) + x, sum(on.most - s for s in steps) + y

    assert isinstance(result, MeanResult)
    assert result.distances == (below, above)
    assert result.noisy_count == (below + above) / width
    assert result.noisy_sum == float(Fraction(below - above, 2) * r)
    expected = 5 + Fraction(below - above, 2) * r / Fraction(below + above, width)
    assert result.value == float(expected)
    assert result.scale == 10.0


def test_clamped_to_the_bounds():
    """With next to no rows the noise decides, and the value lies between the bounds."""
    for bounds in BOUNDS:
        for rows in ([], [math.nan], [bounds[1]], [bounds[0]]):
            results = [private_mean(rows, *bounds, epsilon="0.1") for _ in range(20)]
            assert all(bounds[0] <= result.value <= bounds[1] for result in results)
            assert all(type(result.value) is float and result.standard_error >= 0 for result in results)
            assert all(bounds[0] <= end <= bounds[1] for result in results for end in result.interval(0.9))


@seeded
def test_value_of_a_public_number():
    """With n the release is the middle plus the noisy centred sum over n, missing rows counting as the middle."""
    rows = [1.0, 2.0, 4.0, math.nan]
    result = private_mean(rows, 0, 10, epsilon=1, n=4, rng=default_rng(SEED))
    exponent = int(math.log2(result.mechanism.granularity))
    x = noise(result.mechanism.lattice.t)[0] * Fraction(2) ** exponent

    assert type(result) is QueryResult
    assert result.value == float((Fraction(1 + 2 + 4 + 5) + x) / 4)
    assert result.scale == 2.5
    low, high = result.interval(0.95)
    assert high - low == pytest.approx(2 * 2.5 * math.log(20), rel=1e-9)
    assert result.standard_error == pytest.approx(2.5 * math.sqrt(2))


@pytest.mark.parametrize("rows", [[], [0.0], [10.0] * 3, [1.0, 9.0] * 50, [0.0] * 4000])
@pytest.mark.parametrize("level", [0.5, 0.95, "0.999"])
def test_interval_holds_the_mean(rows, level):
    """Whatever the noise, if each sum is off by at most its half-width the interval holds the exact mean."""
    result = private_mean(rows, 0, 10, epsilon="0.3")
    on = result.bounds
    exact = distances(rows, on)
    mean = sum(rows) / len(rows) if rows else None
    each = (1 + Fraction(str(level))) / 2
    h = math.ceil(Fraction(result.mechanism.interval(each)) / Fraction(2) ** on.exponent)
    for x, y in itertools.product((-h, -h // 2, 0, h // 3, h), repeat=2):
        shifted = MeanResult(
            **{
                **{name: getattr(result, name) for name in result.__dataclass_fields__},
                "distances": (exact[0] + x, exact[1] + y),
            }
        )
        low, high = shifted.interval(level)
        assert 0 <= low <= high <= 10
        if mean is not None:
            assert low <= mean <= high
    # Two independent sums: each is within its half-width with at least (1 + level) / 2.
    assert each**2 >= Fraction(str(level))


@seeded
@pytest.mark.parametrize("n", [None, 5])
def test_budgets_beyond_the_floats(n):
    """With noise beyond the floats there is still an answer, in the bounds or saturated, and an interval."""
    for seed in range(8):  # noise of either sign
        result = private_mean([1.0], 0, 10, epsilon=Fraction(1, 10**400), n=n, rng=default_rng(seed))
        assert math.isfinite(result.value)
        low, high = result.interval(0.9)
        assert low <= result.value <= high
        if n is None:
            assert 0 <= low <= high <= 10
            assert 0 < result.standard_error <= 10
            assert math.isfinite(result.noisy_count)
            assert math.isfinite(result.noisy_sum)


def test_better_than_a_split():
    """Centred sum and count have half the variance that they have where epsilon is split evenly between them."""
    low, high, epsilon = -4.0, 12.0, 0.5
    result = private_mean([], low, high, epsilon=epsilon)
    variance = result.mechanism.variance  # of each of the two sums

    split_sum = 2 * ((high - low) / 2 / (epsilon / 2)) ** 2
    split_count = 2 * (1 / (epsilon / 2)) ** 2
    assert variance / 2 == pytest.approx(split_sum / 2, rel=1e-9)  # (A - B) / 2
    assert 2 * variance / (high - low) ** 2 == pytest.approx(split_count / 2, rel=1e-9)  # (A + B) / (U - L)


@seeded
def test_standard_error():
    """With many rows it is the root of the centred sum's variance and that of the count times the distance, over n."""
    n = 10_000
    for value in (5.0, 10.0, 2.5):
        result = private_mean(np.full(n, value), 0, 10, epsilon=1, rng=default_rng(SEED))
        away = value - 5
        expected = math.sqrt(100 + away**2 * 4) / n  # var of (A - B)/2 is b^2 = 100, of the count 4 b^2 / 10^2
        assert result.standard_error == pytest.approx(expected, rel=0.01)
    few = [private_mean([], 0, 10, epsilon="0.001", rng=default_rng(seed)) for seed in range(20)]
    few = [result.standard_error for result in few if result.noisy_count < 100]
    assert len(few) >= 5
    assert set(few) == {10.0}  # never more than the width


@seeded
def test_order_and_batches_do_not_matter():
    """Permutations and partitions give one release."""
    rows = np.random.default_rng(2).normal(0, 1, 400)
    releases = {
        private_mean(values, -1, 1, epsilon=1, rng=default_rng(SEED)).value
        for values in (rows, rows[::-1], rows.tolist(), iter(np.array_split(rows, 7)))
    }
    assert len(releases) == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n": 0}, ValueError, "n must be >= 1, got 0"),
        ({"n": 3, "neighbours": "add-remove"}, ValueError, "neighbours must be 'replace' for a mean over a public"),
        ({"neighbours": "other"}, ValueError, "neighbours must be 'add-remove' or 'replace', got 'other'"),
        ({"low": 1}, ValueError, "low must be less than high"),
        ({"low": math.nan}, ValueError, "low must be finite"),
        ({"n": 2.5}, TypeError, "n must be an int, got 2.5"),
    ],
)
def test_refusals(arguments, error, message):
    """What is wrong with the arguments is said before anything is charged."""
    ledger = Ledger()
    with pytest.raises(error, match=message):
        private_mean(**{"values": [1.0], "low": 0, "high": 1, "epsilon": 1, "ledger": ledger, **arguments})
    assert ledger.charges == []


def test_one_charge():
    """A mean is one charge of the whole epsilon, also where it releases two sums."""
    ledger = Ledger()
    private_mean([1.0], 0, 1, epsilon=1, ledger=ledger)
    private_mean([1.0], 0, 1, epsilon="0.5", n=1, ledger=ledger, label="b")
    assert ledger.charges == [(1, 0, "private_mean"), (Fraction(1, 2), 0, "b")]


def test_bounds_closer_than_their_size_can_tell():
    """Where the lattice cannot tell the bounds apart, the answer is still one between them."""
    low = 1e15
    result = private_mean([low, math.inf], low, math.nextafter(low, math.inf), epsilon=1)
    assert low <= result.value <= math.nextafter(low, math.inf)


@pytest.mark.parametrize("rows", [None, 1000])
def test_intervals_allow_for_the_rounding_of_rows(rows):
    """Where bounds are huge beside their distance the lattice is coarse, and intervals still hold the exact mean."""
    exact = Fraction(10**15) + Fraction(1, 4)
    values = np.full(1000, float(exact))
    results = [private_mean(values, 10**15, 10**15 + 1, epsilon=1, n=rows) for _ in range(50)]

    assert all(low <= exact <= high for low, high in (result.interval("0.95") for result in results))
    narrow = private_mean(np.full(1000, 0.25), 0, 1, epsilon=1, n=rows).interval("0.95")
    assert narrow[1] - narrow[0] < 0.02


@pytest.mark.parametrize("n", [1, 3])
def test_a_wrong_number_lowers_no_noise(n):
    """A person's m rows move the sum by m widths at most, which the noise is made for, though n says fewer rows."""
    m, low, high = 5, Fraction(0), Fraction(1)
    result = private_mean([], low, high, epsilon=1, n=n, max_contributions=m)
    on = choose(low, high, m * (high - low), Fraction(1))
    sums = []
    for value in (0.0, 1.0):
        steps, rows = exact_steps([value] * m, on, ["ann"] * m, m)
        sums.append(steps - rows * (on.least + on.most) // 2)

    assert sums[1] - sums[0] == m * (on.most - on.least) == result.mechanism.lattice.sensitivity
