"""BoundedLaplaceMechanism: the guarantee by brute force, published numbers, results that stay inside."""

import copy
import itertools
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import conditional_oracles as oracles
import numpy as np
import pandas as pd
import pytest
from bitwise import same
from exact_oracles import half_up, rounded_once
from mpmath import mp, mpf
from stats import accept, count, reject

from lapnoise import BoundedLaplaceMechanism, LaplaceMechanism, SeededNoiseWarning, default_rng
from lapnoise._conditional_noise import Interval, drawn
from lapnoise._lattice_noise import factors
from lapnoise.conditional_law import mean_and_square, quantile
from lapnoise.exact_conditional import bounded_loss, bounded_scale, log_slack
from lapnoise.kernels.domain import points_to_floats, points_to_floats32

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

SEED = 91


def bounded(**changes) -> BoundedLaplaceMechanism:
    """Return the mechanism of the published numbers, with changes."""
    return BoundedLaplaceMechanism(**{"epsilon": 1, "sensitivity": 1, "low": 0, "high": 10, **changes})


def on_steps(epsilon, steps: int, width: int, changed: int = 1, delta=0) -> BoundedLaplaceMechanism:
    """Return a mechanism on the integers from 0 to ``width``, whose Δ_lat is ``steps`` or what the width allows."""
    made = bounded(
        epsilon=epsilon, sensitivity=steps - changed + 1, low=0, high=width, changed=changed, delta=delta, granularity=1
    )
    assert made.lattice.sensitivity == min(steps, changed * width)
    return made


# The guarantee.

GRID = list(itertools.product(["1e-6", "0.01", "0.5", "1", "3", "20"], [1, 2, 5, 9], [1, 2, 7, 16]))


@pytest.mark.parametrize(("epsilon", "steps", "width"), GRID)
def test_loss_of_one_coordinate(epsilon, steps, width):
    """On the exact masses no event of no two values within reach costs more than epsilon, and one costs just that."""
    m = on_steps(epsilon, steps, width)
    worst = oracles.losses(m.lattice.t, width)[: steps + 1].max()

    assert m.epsilon <= m.epsilon_asked == Fraction(epsilon)
    assert worst == pytest.approx(float(epsilon), rel=1e-10)
    assert float(m.epsilon) == pytest.approx(float(epsilon), rel=1e-11)


@pytest.mark.parametrize(
    ("changed", "width", "steps"), [(2, 6, 2), (2, 6, 5), (2, 3, 9), (3, 5, 3), (3, 5, 7), (3, 4, 8)]
)
@pytest.mark.parametrize("epsilon", ["0.01", "1", "6"])
def test_loss_of_several_coordinates(epsilon, changed, width, steps):
    """No vector of whole shifts within Δ_lat costs more than epsilon, and one, split evenly, costs just that."""
    m = on_steps(epsilon, steps, width, changed)
    one = oracles.losses(m.lattice.t, width)
    costs = {vector: math.fsum(one[d] for d in vector) for vector in oracles.shifts(steps, changed, width)}
    worst = max(costs, key=costs.get)

    assert costs[worst] == pytest.approx(float(epsilon), rel=1e-10)
    total = min(steps, changed * width)
    even = tuple(sorted(total // changed + (i < total % changed) for i in range(changed)))
    assert costs[even] == pytest.approx(costs[worst], rel=1e-12)


@pytest.mark.parametrize("width", [1, 2, 3, 8, 25])
@pytest.mark.parametrize("t", [0.2, 1.0, 3.7, 40.0, 1000.0])
def test_shape_of_the_loss(width, t):
    """The loss of a shift is concave, never falls, ends at W / t, and is the bound that is computed in integers."""
    one = oracles.losses(t, width)

    assert np.all(np.diff(one) > 0)
    assert np.all(np.diff(one, 2) <= 1e-13 * one[-1])
    assert one[-1] == pytest.approx(width / t, rel=1e-12)
    computed = [bounded_loss(t, width, d, 1) for d in range(width + 1)]
    assert np.allclose([float(x) for x in computed], one, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("width", [1, 4, 9])
def test_loss_falls_with_the_scale(width):
    """A larger scale never costs more, whatever the shift."""
    scales = np.geomspace(0.05, 500.0, 60)
    for d in range(1, width + 1):
        assert np.all(np.diff([float(bounded_loss(t, width, d, 1)) for t in scales]) < 0)


@pytest.mark.parametrize(("t", "width", "steps", "s"), [(3.7, 9, 4, 1), (1e9, 10**10, 10**9, 3), (0.01, 30, 5, 2)])
def test_loss_is_an_upper_bound(t, width, steps, s):
    """The bound lies above the loss at 200 digits by less than a relative 2^-70."""
    with mp.workdps(200):
        q = mp.exp(-1 / mpf(t))

        def g(d):
            return d / mpf(t) + mp.log(1 + q * (1 - q**d) * (1 - q ** (width - d)) / (1 - q ** (width + 1)))

        exact = (s - steps % s) * g(steps // s) + (steps % s) * g(steps // s + 1)
        bound = bounded_loss(t, width, steps, s)
        excess = mpf(bound.numerator) / bound.denominator / exact - 1
        assert 0 < excess < mpf(2) ** -70


def test_the_scale_is_the_least():
    """A scale that is lower by a relative 2^-40 costs more than epsilon, whatever the parameters."""
    for epsilon, width, steps, s in itertools.product(
        ("1e-30", "0.1", "1", "30"), (1, 50, 10**30), (1, 40, 10**9), (1, 7)
    ):
        asked = Fraction(epsilon)
        t, loss = bounded_scale(asked, width, steps, s)
        lower = Fraction(t) * (1 - Fraction(1, 2**40))
        assert loss == bounded_loss(t, width, steps, s) <= asked < bounded_loss(lower, width, steps, s)


@pytest.mark.parametrize("delta", ["1e-6", "0.01", "0.3", "0.9"])
@pytest.mark.parametrize("epsilon", ["0.01", "1"])
@pytest.mark.parametrize("changed", [1, 2])
def test_delta(epsilon, delta, changed):
    """With a delta less noise is made, and no event is likelier than exp(epsilon) times its neighbour's plus delta."""
    width, steps = 8, 3
    m, pure = (on_steps(epsilon, steps, width, changed, d) for d in (delta, 0))
    assert m.lattice.t < pure.lattice.t
    assert m.epsilon <= Fraction(epsilon)
    assert m.privacy_loss(steps - changed + 1) == (m.epsilon, Fraction(delta))

    laws = [oracles.masses(m.lattice.t, 0, width, centre) for centre in range(width + 1)]
    allowed = float(delta) * (1 + 1e-9)
    pairs = [(i, j) for i in range(width + 1) for j in range(width + 1) if abs(i - j) <= steps]
    if changed == 1:
        assert max(oracles.hockey_stick(laws[i], laws[j], float(epsilon)) for i, j in pairs) <= allowed
        return
    for (i, j), (k, other) in itertools.product([(0, d) for d in range(steps + 1)], pairs):
        if j - i + abs(k - other) <= steps:
            p, q = np.outer(laws[i], laws[k]), np.outer(laws[j], laws[other])
            assert oracles.hockey_stick(p, q, float(epsilon)) <= allowed


def test_slack_is_a_lower_bound():
    """What a delta allows lies below -ln(1 - delta) by less than a relative 2^-80."""
    for delta in ("1e-300", "1e-6", "0.5", "0.999999"):
        with mp.workdps(400):
            exact = -mp.log(1 - mpf(delta))
            slack = log_slack(Fraction(delta))
            rest = 1 - mpf(slack.numerator) / slack.denominator / exact
            assert 0 < rest < mpf(2) ** -80


def test_drawing_again_at_the_scale_of_laplace_is_not_private():
    """Noise of scale Δ / epsilon, drawn until it lies inside, costs 1.48985 where 1 is promised."""
    m = bounded(granularity=Fraction(1, 32))
    naive = oracles.losses(32.0, 320)[32]
    assert naive > 1.45
    assert oracles.losses(m.lattice.t, 320)[32] <= 1 + 1e-12
    fine = bounded_loss(2.0**40, 10 * 2**40, 2**40, 1)
    assert float(fine) == pytest.approx(1.48985, abs=5e-6)


# Published numbers.


def continuous_scale(width: float, sensitivity: float, epsilon: float):
    """Return the scale on a continuous domain, the root of Δ / b + ln(C(Δ) / C(0)) = epsilon, to 30 digits."""
    with mp.workdps(40):

        def excess(b):
            def c(q):
                return 1 - (mp.exp(-q / b) + mp.exp(-(width - q) / b)) / 2

            return sensitivity / b + mp.log(c(sensitivity) / c(mpf(0))) - epsilon

        return +mp.findroot(excess, (mpf(sensitivity) / epsilon, 2 * mpf(sensitivity) / epsilon), solver="anderson")


def test_published_scale():
    """On [0, 10] with Δ = 1 and epsilon = 1 the scale is 1.6115601044, the root of the continuous equation."""
    root = float(continuous_scale(10, 1, 1))

    assert root == pytest.approx(1.6115601044, rel=1e-10)
    assert bounded(granularity=2.0**-40).scale == pytest.approx(root, rel=1e-10)
    assert bounded().scale == pytest.approx(root, rel=1e-7)


@pytest.mark.parametrize(("low", "high", "delta1", "epsilon"), [(-1, 1, 0.5, 0.1), (0, 1000, 3, 2.5), (5, 6, 0.99, 8)])
def test_scale_tends_to_the_continuous_one(low, high, delta1, epsilon):
    """On a fine lattice the scale is that of the continuous domain."""
    made = bounded(epsilon=epsilon, sensitivity=delta1, low=low, high=high, granularity=2.0**-42)
    assert made.scale == pytest.approx(float(continuous_scale(high - low, delta1, epsilon)), rel=1e-9)


def test_several_coordinates_cost_more():
    """The scale of one coordinate costs 1.093 with two and 1.218 with sixteen; with many it tends to 2 Δ / ε."""
    t, unit = 1.6115601044 * 2.0**40, 2**40
    assert float(bounded_loss(t, 10 * unit, unit, 2)) == pytest.approx(1.093, abs=5e-4)
    assert float(bounded_loss(t, 10 * unit, unit, 16)) == pytest.approx(1.218, abs=5e-4)

    scales = [bounded(changed=s, granularity=2.0**-40).scale for s in (1, 2, 16, 1000, 10**6)]
    assert scales == sorted(scales)
    assert scales[-1] == pytest.approx(2.0, rel=1e-5)
    assert bounded().for_length(16) == bounded(changed=16)


@pytest.mark.parametrize("delta1", [10, 10.5, 1e6, 1e308])
def test_a_sensitivity_beyond_the_width(delta1):
    """One coordinate moves by the width at most, so that b is (high - low) / epsilon; s of them by s times that."""
    made = bounded(sensitivity=delta1, epsilon="0.5")
    assert made.scale == pytest.approx(20.0, rel=1e-11)
    assert made.epsilon == made.privacy_loss(10)[0] == made.privacy_loss(1e300)[0] <= Fraction(1, 2)
    if delta1 >= 30:
        assert bounded(sensitivity=delta1, epsilon="0.5", changed=3).scale == pytest.approx(60.0, rel=1e-11)


def test_privacy_loss():
    """The loss of a distance is 0 at 0, epsilon at the sensitivity, concave, and constant beyond the domain."""
    m = bounded()
    assert m.privacy_loss(0) == (0, 0)
    assert m.privacy_loss(1) == (m.epsilon, 0)
    losses = [float(m.privacy_loss(d)[0]) for d in range(13)]
    assert np.all(np.diff(losses[:11], 2) < 0)
    assert losses[10] == losses[11] == losses[12] == pytest.approx(10 / m.scale, rel=1e-12)
    # Less than a delta is no loss at all.
    assert bounded(delta="0.5").privacy_loss("0.001") == (0, Fraction(1, 2))


# Statistics.


@pytest.mark.parametrize("width", [1, 2, 5, 12, 31])
@pytest.mark.parametrize("epsilon", ["0.001", "0.4", "2", "30"])
def test_statistics_are_the_worst_of_all_values(epsilon, width):
    """std, mse, bias and interval are those of the exact masses, the largest over all values of the domain."""
    m = on_steps(epsilon, 1, width)
    errors = [np.arange(width + 1) - centre for centre in range(width + 1)]
    laws = [oracles.masses(m.lattice.t, 0, width, centre) for centre in range(width + 1)]
    means = [math.fsum(p * e) for p, e in zip(laws, errors, strict=True)]
    squares = [math.fsum(p * e * e) for p, e in zip(laws, errors, strict=True)]

    assert m.mse == pytest.approx(max(squares), rel=1e-12)
    assert m.std == pytest.approx(max(s - b * b for s, b in zip(squares, means, strict=True)) ** 0.5, rel=1e-9)
    assert m.variance == pytest.approx(m.std**2)
    for centre in (0, width // 2, width):
        assert m.bias(centre) == pytest.approx(means[centre], rel=1e-9, abs=1e-12)
    assert m.bias(-3) == m.bias(0)
    for level in ("0.01", "0.5", "0.9", "0.999"):
        within = [min(p[np.abs(e) <= h].sum() for p, e in zip(laws, errors, strict=True)) for h in range(width + 1)]
        assert m.interval(level) == next(h for h, chance in enumerate(within) if chance >= float(level) - 1e-14)


@pytest.mark.parametrize("t", [0.4, 3.0, 100.0])
@pytest.mark.parametrize(("left", "right"), [(0, 9), (3, 4), (4, 4)])
def test_quantiles_of_one_value(t, left, right):
    """The quantile about one value is the least distance that holds enough of the exact masses."""
    size, law = np.abs(np.arange(-left, right + 1)), oracles.masses(t, -left, right, 0)
    for level in np.linspace(0.01, 0.99, 25):
        held = [law[size <= h].sum() for h in range(right + 1)]
        assert quantile(t, left, right, Fraction(float(level))) == next(h for h, p in enumerate(held) if p >= level)


def test_moments_of_wide_and_narrow_intervals():
    """Moments keep their digits where an interval is far wider, or far narrower, than the scale."""
    mean, square = mean_and_square(2.0**40, 0, 2**70)
    assert float(mean) == pytest.approx(2.0**40, rel=1e-11)
    assert float(square) == pytest.approx(2.0**81, rel=1e-11)
    mean, square = mean_and_square(2.0**50, 0, 10**6)
    assert float(mean) == pytest.approx(5e5, rel=1e-8)
    assert float(square) == pytest.approx(10**6 * (2 * 10**6 + 1) / 6, rel=1e-8)
    _, square = mean_and_square(2.0**-6, 5, 5)
    assert float(square) == pytest.approx(2 * math.exp(-64), rel=1e-12)


def test_statistics_of_the_default_lattice():
    """On the default lattice the statistics are those of the continuous law at an end."""
    m = bounded()
    b, w = m.scale, 10 / m.scale
    rest = -math.expm1(-w)
    mean = b * (1 - math.exp(-w) * (1 + w)) / rest
    square = b * b * (2 - math.exp(-w) * (2 + 2 * w + w * w)) / rest
    assert m.bias(0) == pytest.approx(mean, rel=1e-6) == pytest.approx(-m.bias(10), rel=1e-6)
    assert m.mse == pytest.approx(square, rel=1e-6)
    assert m.bias(5) == 0
    assert m.interval("0.95") == pytest.approx(-b * math.log(0.05 + 0.95 * math.exp(-w)), rel=1e-6)


def test_epsilon_for():
    """The epsilon found is as accurate as was wanted, and one that is lower by its last digit is not."""
    domain = {"sensitivity": 1, "low": 0, "high": 10}
    found = BoundedLaplaceMechanism.epsilon_for(**domain, half_width=2, confidence="0.95")
    assert (
        bounded(epsilon=found).interval("0.95")
        <= 2
        < bounded(epsilon=found * (1 - Fraction(1, 10**6))).interval("0.95")
    )
    found = BoundedLaplaceMechanism.epsilon_for(**domain, std="0.5", delta="1e-6", changed=3)
    made, less = (bounded(epsilon=e, delta="1e-6", changed=3) for e in (found, found * (1 - Fraction(1, 10**6))))
    assert made.std <= 0.5 < less.std


@pytest.mark.slow
def test_accuracy_that_every_epsilon_reaches():
    """A half-width beyond the domain, which every epsilon reaches, is refused: there is no least one."""
    with pytest.raises(ValueError, match="half_width must be reachable"):
        BoundedLaplaceMechanism.epsilon_for(sensitivity=1, low=0, high=10, half_width=20, confidence="0.9")


# Results.


def expected(m: BoundedLaplaceMechanism, values, kind=np.float64, start: int = 0) -> np.ndarray:
    """Return the results for a seed's stream, in integers and fractions."""
    source, g = default_rng(SEED)._stream.source, m.lattice.exponent
    first, last = math.ceil(m.low / Fraction(2) ** g), math.floor(m.high / Fraction(2) ** g)
    on, made = Interval(m.lattice.t, first, last), []
    for i, x in enumerate(values):
        if x != x:
            made.append(x)
            continue
        centre = min(max(half_up(Fraction(x), g), first), last)
        near = kind(rounded_once(drawn(on, centre, source, start + i) * Fraction(2) ** g, kind))
        while Fraction(float(near)) < m.low:
            near = np.nextafter(near, kind(np.inf))
        while Fraction(float(near)) > m.high:
            near = np.nextafter(near, kind(-np.inf))
        made.append(near)
    return np.array(made, kind)


DOMAINS = [
    {"low": 0, "high": 10},
    {"low": -1, "high": 1, "epsilon": "0.001"},
    {"low": 0.1, "high": 0.3, "sensitivity": 100},
    {"low": "1/3", "high": "2/3", "sensitivity": "0.01"},
    {"low": "1/3", "high": "2/3", "sensitivity": 2.0**-61, "granularity": 2.0**-62},
    {"low": 1, "high": 1 + 2.0**-40, "sensitivity": 2.0**-43},
    {"low": 5.0, "high": 5.000000000001},
    {"low": -(2.0**70), "high": 2.0**70, "sensitivity": 2.0**50},
    {"low": -1e300, "high": 1e300},
    {"low": -1e308, "high": 1e308, "sensitivity": 1e308, "epsilon": "0.01"},
    {"low": 0, "high": 2.0**-1070, "sensitivity": 2.0**-1074},
    {"low": -7, "high": 12, "granularity": 4.0, "sensitivity": 5},
    {"low": -3, "high": 2.0**66, "granularity": 2.0**12, "sensitivity": 2.0**30},
    {"low": 2.0**64, "high": 2.0**66, "granularity": 2.0**12, "sensitivity": 2.0**50},
    {"low": -(2.0**66), "high": -(2.0**64), "granularity": 2.0**12, "sensitivity": 2.0**50},
    {"low": 0, "high": 1, "granularity": 2.0**-60},
    {"low": 0, "high": 1, "epsilon": "1e-12"},
    {"low": 0, "high": 10, "epsilon": 1000, "granularity": 1},
]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_results(domain):
    """Results are the reference's bit for bit in every domain, type and place, and lie in the domain, exactly."""
    m = bounded(**domain, changed=1)
    width = m.high - m.low
    spread = [m.low + width * Fraction(k, 7) for k in range(-2, 10)]
    spread += [half_up(m.low + width / 3, m.lattice.exponent) * Fraction(m.granularity) + Fraction(m.granularity) / 2]
    spread += [s * m.lattice.granularity * 2**k * Fraction(3, 2) for k in (61, 62, 63, 64) for s in (-1, 1)]
    values = [float(x) for x in spread if abs(x) < 1.7e308] + [math.nan, 0.0, -0.0, 1.7e308, -1.7e308, 5e-324, -1e-310]
    got = m.add_noise(values, rng=default_rng(SEED))
    assert same(got, expected(m, values))
    inside = [Fraction(x) for x in got.tolist() if x == x]
    assert all(m.low <= x <= m.high for x in inside)
    assert not np.signbit(got[got == 0]).any()

    for kind in (np.int64, np.uint64):
        limits = np.iinfo(kind)
        near = {math.floor(x) + d for x in (*spread, m.low, m.high) for d in (-2, -1, 0, 1, 2)}
        near |= {limits.min, limits.min + 1, limits.max, limits.max - 1, 2**63 - 1, 2**62, 3, 6}
        whole = sorted(x for x in near if limits.min <= x <= limits.max)
        assert same(m.add_noise(np.array(whole, kind), rng=default_rng(SEED)), expected(m, whole))


@pytest.mark.parametrize("domain", [d for d in DOMAINS if abs(float(Fraction(d["high"]))) < 1e38], ids=str)
def test_results_in_float32(domain):
    """In float32 too every result is the lattice point rounded once, or the nearest float32 inside."""
    m = bounded(**domain, changed=1)
    least, most = (np.float32(float(end)) for end in (m.low, m.high))
    if least == most and not m.low <= Fraction(float(least)) <= m.high:
        with pytest.raises(ValueError, match="must have a float32 between them"):
            m.add_noise(np.float32([0]))
        return
    values = np.array([float(m.low), float(m.high), 0, 1, -1, 0.25, 1e30, math.nan, 0.2, 7.3] * 3, np.float32)
    got = m.add_noise(values, rng=default_rng(SEED))
    assert got.dtype == np.float32
    assert same(got, expected(m, values.tolist(), np.float32))
    assert all(m.low <= Fraction(x) <= m.high for x in got.tolist() if x == x)


def test_points_are_rounded_once():
    """Points beyond 53 bits, at and beside the ties of float32 and of float64, are rounded once to either."""
    near = itertools.product((53, 58, 61), (24, 53), (1, 3), (-1, 0, 1))
    points = [s * (2**k + j * 2 ** (k - bits) + d) for k, bits, j, d in near for s in (-1, 1)]
    for exponent in (-80, 0, 3):
        for kind, kernel in ((np.float64, points_to_floats), (np.float32, points_to_floats32)):
            got = np.zeros(len(points), kind)
            kernel(got, None, np.array(points), factors(exponent), -math.inf, math.inf)
            assert same(got, np.array([rounded_once(k * Fraction(2) ** exponent, kind) for k in points], kind))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("low", "high", "epsilon"), [("0.1", "0.3", 50), (0.1, 0.3, "0.01"), ("-1/3", "1e-9", 1)])
def test_a_million_results_lie_inside(kind, low, high, epsilon):
    """Of a million results at an end, in both types, none leaves the domain, whose ends are no lattice points."""
    m = bounded(low=low, high=high, epsilon=epsilon, changed=1)
    got = m.add_noise(np.tile(np.array([float(m.low), float(m.high)], kind), 500_000), rng=default_rng(SEED))

    assert m.low <= Fraction(float(got.min()))
    assert Fraction(float(got.max())) <= m.high


def test_clamping_is_something_else():
    """Clamped noise has an atom at either end, the bounded mechanism none, and values are clamped first."""
    n, v, b = 1_000_000, 0.5, 1.0
    zeros = np.full(n, v)
    clipped = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1).add_noise(
        zeros, rng=default_rng(SEED), clamp=(0, 10)
    )
    accept(count("clamped to 0", int(np.sum(clipped == 0)), n, 0.5 * math.exp(-v / b)))
    m = bounded(changed=1)
    got = m.add_noise(zeros, rng=default_rng(SEED))
    assert np.sum((got == 0) | (got == 10)) <= 1
    reject(count("clamped to 0", int(np.sum(got == 0)), n, 0.5 * math.exp(-v / b)))

    outside = m.add_noise([-5.0, 17.0, -1e300, 1e300], rng=default_rng(SEED))
    assert same(outside, m.add_noise([0.0, 10.0, 0.0, 10.0], rng=default_rng(SEED)))


def test_coverage():
    """The interval of a level holds that share of the results for a value at an end, where none is wider."""
    m, n = bounded(changed=1), 1_000_000
    got = m.add_noise(np.zeros(n), rng=default_rng(SEED))
    accept(count("coverage at an end", int(np.sum(got <= m.interval("0.9"))), n, 0.9))
    reject(count("coverage of a wrong level", int(np.sum(got <= m.interval("0.9"))), n, 0.903))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("epsilon", ["1", "0.01"])
def test_threads_places_and_layouts(kind, epsilon):
    """Threads, pieces, layouts, and writing in place change no result, and each value takes one word."""
    m = bounded(changed=1, epsilon=epsilon)
    x = (np.arange(200_000) % 14 - 2).astype(kind)
    rng = default_rng(SEED, threads=1)
    one = m.add_noise(x, rng=rng)
    assert rng.position == x.size
    assert same(one[:60], expected(m, x[:60].tolist(), one.dtype.type))
    assert same(one, m.add_noise(x, rng=default_rng(SEED, threads=2)))
    rng.seek(150_000)
    assert same(m.add_noise(x[150_000:], rng=rng), one[150_000:])
    doubled = np.zeros(2 * x.size, kind)[::2]
    doubled[...] = x
    assert same(m.add_noise(doubled, rng=default_rng(SEED)), one)
    folded = np.asfortranarray(x[:1200].reshape(30, 40))
    assert same(m.add_noise(folded, rng=default_rng(SEED)).ravel(), one[:1200])
    if kind != np.int64:
        assert m.add_noise(x, out=x, rng=default_rng(SEED)) is x
        assert same(x, one)


def test_containers():
    """Numbers, lists, masked arrays and Series come back as what they were, and missing values stay missing."""
    m = bounded(changed=1)
    assert type(m.add_noise(3)) is float
    assert m.add_noise([]).shape == (0,)
    masked = m.add_noise(np.ma.masked_array([1.0, 2.0], [True, False]))
    assert masked.mask.tolist() == [True, False]
    series = pd.Series([1.0, None, 3.0], name="a")
    got = m.add_noise(series)
    assert got.name == "a"
    assert got.isna().tolist() == [False, True, False]
    with pytest.warns(SeededNoiseWarning):
        m.add_noise(1.0, rng=default_rng(1))
    assert m.add_noise(np.full(100, 5.0), clamp=(4, 6)).min() >= 4


def test_a_length_binds_the_changed_coordinates():
    """An array without ``changed`` takes the scale of its length, so that the whole vector costs epsilon."""
    x = np.arange(8.0)
    assert same(bounded().add_noise(x, rng=default_rng(SEED)), bounded(changed=8).add_noise(x, rng=default_rng(SEED)))


GOLDEN = {
    "1": [3.420530319213867, 0.8770238757133484, 2.4775596261024475, 3.322624385356903, 5.874559819698334],
    "0.01": [5.040382385253906, 9.322826385498047, 7.707176208496094, 4.265083312988281, 6.144008636474609],
}


@pytest.mark.parametrize("epsilon", GOLDEN)
def test_golden_results(epsilon):
    """A seed gives the same results in every version, by either way of drawing."""
    m = bounded(epsilon=epsilon, changed=1)
    assert m.add_noise([0.0, 0.0, 0.0, 5.0, 5.0], rng=default_rng(SEED)).tolist() == GOLDEN[epsilon]


# Parameters.


@pytest.mark.parametrize("bad", [0, -0.0, -1, math.nan, math.inf, "-1"])
@pytest.mark.parametrize("name", ["epsilon", "sensitivity"])
def test_refused_amounts(name, bad):
    """An epsilon or a sensitivity that is not finite and > 0 is refused by name."""
    with pytest.raises(ValueError, match=f"{name} must be finite and > 0, got"):
        bounded(**{name: bad})


@pytest.mark.parametrize("bad", ["one", True, None, 1j, [1]])
@pytest.mark.parametrize("name", ["epsilon", "sensitivity", "low", "high", "delta"])
def test_refused_types(name, bad):
    """What is no number is a TypeError."""
    with pytest.raises(TypeError, match=f"{name} must be a number"):
        bounded(**{name: bad})


@pytest.mark.parametrize(("low", "high"), [(0, 0), (1, 0), (2.5, "2.5"), (1e300, -1e300)])
def test_refused_domains(low, high):
    """A domain without an inside is refused."""
    with pytest.raises(ValueError, match="low must be less than high"):
        bounded(low=low, high=high)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["low", "high"])
def test_refused_ends(name, bad):
    """Ends are finite."""
    with pytest.raises(ValueError, match=f"{name} must be finite"):
        bounded(**{name: bad})


@pytest.mark.parametrize("bad", [-0.1, 1, 1.0, 2, math.nan])
def test_refused_deltas(bad):
    """A delta lies in [0, 1)."""
    with pytest.raises(ValueError, match="delta must be at least 0 and less than 1"):
        bounded(delta=bad)


def test_refused_lattices():
    """A granularity that leaves the domain less than two points, and a domain without a float, are refused."""
    with pytest.raises(ValueError, match=r"two multiples of the granularity between them, 2\*\*4, got"):
        bounded(granularity=16.0)
    with pytest.raises(ValueError, match="low and high must have two multiples"):
        bounded(low=0, high=Fraction(1, 2**1076))
    narrow = bounded(low="1/3", high=Fraction(1, 3) + Fraction(1, 2**200))
    for refused in (narrow.verify_floats, lambda: narrow.add_noise(1.0)):
        with pytest.raises(ValueError, match="low and high must have a float64 between them"):
            refused()
    with pytest.raises(ValueError, match="low and high must have a float64 between them"):
        bounded(low="1e400", high="2e400", sensitivity="1e400").add_noise(1.0)
    with pytest.raises(ValueError, match="must be finite or NaN, got an infinity"):
        bounded().add_noise([1.0, math.inf])
    with pytest.raises(TypeError):
        BoundedLaplaceMechanism(epsilon=1, sensitivity=1, low=0)


def test_taken_amounts():
    """Text, Decimal, Fraction and NumPy numbers count exactly: epsilon as it prints, ends as stored."""
    made = bounded(epsilon=0.1, delta=np.float32(0.01), low=Decimal("-0.1"), high=np.float64(0.1), sensitivity="1/7")
    assert (made.epsilon_asked, made.delta) == (Fraction(1, 10), Fraction(1, 100))
    assert (made.low, made.high, made.sensitivity) == (Fraction(-1, 10), Fraction(0.1), Fraction(1, 7))


def test_values_do_not_choose_the_lattice():
    """Granularity and scale are the same whatever is released."""
    m = bounded(changed=2)
    before = (m.granularity, m.scale, m.epsilon)
    for values in (1, 2.5, np.float32([1, 2]), np.arange(9), [1e300]):
        m.add_noise(values)
        assert (m.granularity, m.scale, m.epsilon) == before


def test_objects():
    """Mechanisms are immutable, compare by parameters, and survive pickling and copying."""
    m = bounded(delta="1e-6", changed=3, granularity=2.0**-20)
    for other in (pickle.loads(pickle.dumps(m)), copy.copy(m), copy.deepcopy(m), eval(repr(m))):
        assert other == m
        assert hash(other) == hash(m)
        assert (other.lattice, other.epsilon) == (m.lattice, m.epsilon)
    assert m != bounded()
    assert repr(bounded()) == "BoundedLaplaceMechanism(epsilon=1.0, sensitivity=1.0, low=0.0, high=10.0, delta=0.0)"
    with pytest.raises(AttributeError, match="immutable"):
        m.low = 3
