"""TruncatedLaplaceMechanism: epsilon and delta by brute force, and noise that never passes its bound."""

import copy
import itertools
import math
import pickle
from fractions import Fraction

import conditional_oracles as oracles
import numpy as np
import pandas as pd
import pytest
from bitwise import same
from exact_oracles import lattice_sum
from mpmath import mp, mpf
from stats import accept, count

from lapnoise import LaplaceMechanism, SeededNoiseWarning, TruncatedLaplaceMechanism, default_rng
from lapnoise._conditional_noise import Interval, drawn
from lapnoise.exact_conditional import tail_mass, truncation

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

SEED = 97


def truncated(**changes) -> TruncatedLaplaceMechanism:
    """Return the mechanism of the published number, with changes."""
    return TruncatedLaplaceMechanism(**{"epsilon": 1, "delta": 1e-5, "sensitivity": 1, **changes})


def on_steps(epsilon, delta, steps: int, changed: int = 1) -> TruncatedLaplaceMechanism:
    """Return a mechanism on the integers with this Δ_lat."""
    made = truncated(epsilon=epsilon, delta=delta, sensitivity=steps - changed + 1, changed=changed, granularity=1)
    assert made.lattice.sensitivity == steps
    return made


def law(t: float, most: int, shift: int, room: int) -> np.ndarray:
    """Return the masses of X + shift on -most, ..., most + room."""
    return np.concatenate([np.zeros(shift), oracles.masses(t, -most, most, 0), np.zeros(room - shift)])


# The guarantee.


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "4"])
@pytest.mark.parametrize("delta", ["0.4", "0.1", "0.01", "1e-6"])
def test_guarantee_of_one_coordinate(epsilon, delta, steps):
    """No event is likelier than exp(epsilon) times its neighbour's plus delta; one bound less would not do."""
    m = on_steps(epsilon, delta, steps)
    t, most = m.lattice.t, int(m.bound)
    worst = max(oracles.hockey_stick(law(t, most, 0, d), law(t, most, d, d), float(epsilon)) for d in range(steps + 1))

    assert m.epsilon <= Fraction(epsilon)
    assert worst <= float(delta) * (1 + 1e-12)
    assert worst == pytest.approx(float(m.delta_attained), rel=1e-9)
    assert m.delta_attained <= m.delta == Fraction(delta)
    smaller = oracles.masses(t, 1 - most, most - 1, 0)[-steps:].sum()
    assert smaller > float(delta) or most == steps


@pytest.mark.parametrize(("changed", "steps"), [(2, 2), (2, 3), (2, 5), (3, 3), (3, 4)])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0.3"), ("1", "0.05"), ("3", "0.2")])
def test_one_coordinate_is_the_worst(epsilon, delta, changed, steps):
    """Of all whole shift vectors within Δ_lat none needs more delta than that of a single coordinate."""
    m = on_steps(epsilon, delta, steps, changed)
    t, most = m.lattice.t, int(m.bound)
    needed = {}
    for vector in oracles.shifts(steps, changed, steps):
        p, q = (
            np.prod(np.meshgrid(*[law(t, most, d * moved, steps) for d in vector], indexing="ij"), axis=0)
            for moved in (0, 1)
        )
        needed[vector] = oracles.hockey_stick(p, q, float(epsilon))

    single = tuple(steps if i == 0 else 0 for i in range(changed))
    assert needed[single] == pytest.approx(max(needed.values()), rel=1e-12)
    assert needed[single] == pytest.approx(float(m.delta_attained), rel=1e-9)
    assert sorted(needed.values())[-changed - 1] < needed[single]


@pytest.mark.parametrize("t", [0.3, 2.0, 50.0])
@pytest.mark.parametrize("most", [0, 1, 4, 9])
def test_tail_mass(t, most):
    """The mass beyond the end is that of the exact law for every shift, and shifts that are split need less."""
    masses = oracles.masses(t, -most, most, 0)
    tails = [math.fsum(masses[2 * most + 1 - d :]) if d else 0.0 for d in range(2 * most + 2)]
    computed = [float(tail_mass(t, most, d)) for d in range(2 * most + 4)]

    assert np.allclose(computed, [*tails, 1.0, 1.0], rtol=1e-12, atol=1e-15)
    for d, e in itertools.product(range(2 * most + 1), repeat=2):
        assert computed[d] + computed[e] - computed[d] * computed[e] <= computed[min(d + e, 2 * most + 1)] * (1 + 1e-12)


@pytest.mark.parametrize(
    ("t", "most", "shift"),
    [(2.0**24, 190_000_000, 2**24), (3.7, 40, 2), (2.0**40, 2**40, 5), (0.01, 3, 1), (2.0, 9, 15)],
)
def test_tail_mass_is_an_upper_bound(t, most, shift):
    """The bound lies above the mass at 400 digits by less than a relative 2^-60."""
    with mp.workdps(400):
        q = mp.exp(-1 / mpf(t))

        def tail(d):
            return q ** (most + 1 - d) * (1 - q**d) / (1 + q - 2 * q ** (most + 1))

        exact = tail(shift) if shift <= most + 1 else 1 - tail(2 * most + 1 - shift)
        bound = tail_mass(t, most, shift)
        assert 0 <= mpf(bound.numerator) / bound.denominator / exact - 1 < mpf(2) ** -60


def test_the_bound_is_the_least():
    """One step less leaves more than delta beyond the end, for parameters far and near."""
    for epsilon, delta, steps in itertools.product(
        ("1e-9", "0.1", "1", "50"), ("1e-300", "1e-6", "0.49"), (1, 1000, 2**30)
    ):
        m = on_steps(epsilon, delta, steps)
        most, attained = truncation(m.lattice.t, steps, m.delta)
        assert attained == tail_mass(m.lattice.t, most, steps) <= m.delta
        assert most == steps or tail_mass(m.lattice.t, most - 1, steps) > m.delta


def test_privacy_loss():
    """The loss of a distance is 0 at 0, that attained at the sensitivity, and delta 1 beyond twice the bound."""
    m = truncated()
    assert m.privacy_loss(0) == (0, 0)
    assert m.privacy_loss(1) == (m.epsilon, m.delta_attained)
    assert m.privacy_loss("0.5") == (m.epsilon / 2, tail_mass(m.lattice.t, round(m.bound / m.granularity), 2**23))
    assert m.privacy_loss(23) == (23 * m.epsilon, 1)
    several = truncated(changed=5)
    assert several.privacy_loss(1) == (several.epsilon, several.delta_attained)


# Published numbers.


def test_published_bound():
    """For Δ = 1, epsilon = 1 and delta = 1e-5 noise ends at ln(1 + (e - 1) / 2e-5) = 11.3611, up to a step."""
    m = truncated()
    wanted = math.log1p(math.expm1(1) / 2e-5)
    assert wanted == pytest.approx(11.3611, abs=5e-5)
    assert m.bound == pytest.approx(wanted, abs=2 * m.granularity)
    assert 0.9999999 * 1e-5 < m.delta_attained <= Fraction("1e-5")
    assert m.scale == 1.0
    wide = truncated(epsilon="0.1", delta="1e-3", sensitivity=7)
    assert wide.bound == pytest.approx(70 * math.log1p(math.expm1(0.1) / 2e-3), rel=1e-6)


def test_a_delta_of_zero_is_refused():
    """Bounded noise has no pure guarantee: delta 0 is refused with advice, as is one that is no probability."""
    for bad in (0, 0.0, "0"):
        with pytest.raises(ValueError, match=r"delta must be greater than 0 and .*LaplaceMechanism needs none"):
            truncated(delta=bad)
    for bad in (-0.1, 1, math.nan, math.inf):
        with pytest.raises(ValueError, match="delta must be greater than 0 and less than 1"):
            truncated(delta=bad)
    for bad in ("one", True, None, 1j):
        with pytest.raises(TypeError, match="delta must be a number"):
            truncated(delta=bad)
    with pytest.raises(TypeError):
        TruncatedLaplaceMechanism(epsilon=1, sensitivity=1)


@pytest.mark.parametrize("bad", [0, -0.0, -1, math.nan, math.inf])
@pytest.mark.parametrize("name", ["epsilon", "sensitivity"])
def test_refused_amounts(name, bad):
    """An epsilon or a sensitivity that is not finite and > 0 is refused by name."""
    with pytest.raises(ValueError, match=f"{name} must be finite and > 0, got"):
        truncated(**{name: bad})


# Statistics.


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "10"])
@pytest.mark.parametrize("delta", ["0.2", "1e-4"])
def test_statistics(epsilon, delta, steps):
    """std, variance, mse and interval are those of the exact masses."""
    m = on_steps(epsilon, delta, steps)
    most = int(m.bound)
    size, masses = np.abs(np.arange(-most, most + 1)), oracles.masses(m.lattice.t, -most, most, 0)
    variance = math.fsum(masses * size * size)

    assert m.variance == m.mse == pytest.approx(variance, rel=1e-11)
    assert m.std == pytest.approx(variance**0.5, rel=1e-11)
    for level in ("0.01", "0.5", "0.95", "0.9999"):
        held = [masses[size <= h].sum() for h in range(most + 1)]
        assert m.interval(level) == next(h for h, p in enumerate(held) if p >= float(level))


def test_epsilon_for():
    """The epsilon found is as accurate as was wanted, and one that is lower by its last digit is not."""
    found = TruncatedLaplaceMechanism.epsilon_for(delta="1e-6", sensitivity=1, std=10)
    assert (
        truncated(epsilon=found, delta="1e-6").std
        <= 10
        < truncated(epsilon=found * Fraction(999999, 10**6), delta="1e-6").std
    )


# Noise.


def sums(m: TruncatedLaplaceMechanism, values, kind=np.float64, start: int = 0) -> np.ndarray:
    """Return the results for a seed's stream, in integers and fractions."""
    source, g = default_rng(SEED)._stream.source, m.lattice.exponent
    most = int(Fraction(m.bound) / Fraction(2) ** g)
    noise = [drawn(Interval(m.lattice.t, -most, most), 0, source, start + i) for i in range(len(values))]
    return np.array(
        [x if x != x else lattice_sum(Fraction(x), k, g, kind) for x, k in zip(values, noise, strict=True)], kind
    )


MECHANISMS = [
    {},
    {"epsilon": "0.001", "delta": "0.3"},
    {"epsilon": 30, "delta": "0.1", "granularity": 1},
    {"sensitivity": 1e300},
    {"sensitivity": 5e-324},
    {"epsilon": "1e-9", "delta": "1e-4", "granularity": 2.0**-20},
    {"epsilon": "1e-20", "granularity": 1},
]


@pytest.mark.parametrize("parameters", MECHANISMS, ids=str)
def test_results(parameters):
    """Results are the exact sums rounded once, with noise that is the reference's, in every type."""
    m = truncated(**parameters, changed=1)
    r = float(m.granularity)
    values = [0.0, -0.0, 1 / 3, math.nan, 1e18, -1e300, 1.7e308, 5e-324, 2.5 * r, -2.5 * r, *range(20)]
    got = m.add_noise(values, rng=default_rng(SEED))
    assert same(got, sums(m, values))
    if r > 1e-40 and r < 1e30:
        short = np.array([0, 1 / 3, math.nan, 1e18, -1e30, 2.5 * r], np.float32)
        assert same(m.add_noise(short, rng=default_rng(SEED)), sums(m, short.tolist(), np.float32))
    for kind in (np.int64, np.uint64):
        limits = np.iinfo(kind)
        whole = [int(limits.min), int(limits.max), 2**60 + 1, 0, 1, 2, 3]
        assert same(m.add_noise(np.array(whole, kind), rng=default_rng(SEED)), sums(m, whole))


GOLDEN = [
    ({}, [-0.3747220039367676, -3.1332942843437195, -1.5285392999649048, -0.8786372542381287, 0.18058937788009644]),
    (
        {"epsilon": "0.001", "delta": "0.3"},
        [1.349090576171875, 0.063140869140625, 0.371612548828125, 1.08544921875, 0.258575439453125],
    ),
]


@pytest.mark.parametrize(("parameters", "wanted"), GOLDEN)
def test_golden_noise(parameters, wanted):
    """A seed gives the same noise in every version, by either way of drawing."""
    assert truncated(**parameters, changed=1).add_noise(np.zeros(5), rng=default_rng(SEED)).tolist() == wanted


def test_a_delta_of_thousands_of_digits():
    """A delta of 1e-3000 is exact, and its bound is worked out in a moment."""
    m = truncated(delta="1e-3000")
    assert m.bound == pytest.approx(3000 * math.log(10) + math.log(math.expm1(1) / 2), rel=1e-9)
    assert 0.999 < m.delta_attained / m.delta <= 1


@pytest.mark.parametrize("epsilon", ["0.0001", "1"])
def test_noise_never_passes_the_bound(epsilon):
    """Of a million draws none passes the bound, and with a tight one some lie on its last steps."""
    m = truncated(epsilon=epsilon, delta="0.01", changed=1, granularity=1 / 64)
    noise = m.add_noise(np.zeros(1_000_000), rng=default_rng(SEED))

    assert m.bound - 1 < np.abs(noise).max() <= m.bound


def test_free_noise_passes_the_bound():
    """Laplace noise of the same scale passes the bound as often as its law says: what is cut off is no rarity."""
    m, n = truncated(delta="0.01", changed=1), 1_000_000
    free = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1).add_noise(np.zeros(n), rng=default_rng(SEED))
    accept(count("beyond the bound", int(np.sum(np.abs(free) > m.bound)), n, math.exp(-m.bound / m.scale)))


def test_coverage():
    """The interval of a level holds that share of the noise."""
    m, n = truncated(delta="0.05", changed=1), 1_000_000
    noise = m.add_noise(np.zeros(n), rng=default_rng(SEED))
    accept(count("coverage", int(np.sum(np.abs(noise) <= m.interval("0.9"))), n, 0.9))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_threads_places_and_layouts(kind):
    """Threads, pieces, layouts, and writing in place change no result, and each value takes one word."""
    m = truncated(changed=1, delta="0.1")
    x = (np.arange(200_000) % 99).astype(kind)
    rng = default_rng(SEED, threads=1)
    one = m.add_noise(x, rng=rng)
    assert rng.position == x.size
    assert same(one, m.add_noise(x, rng=default_rng(SEED, threads=2)))
    assert same(one[:50], sums(m, x[:50].tolist(), one.dtype.type))
    rng.seek(150_000)
    assert same(m.add_noise(x[150_000:], rng=rng), one[150_000:])
    spaced = np.zeros(2 * x.size, kind)[::2]
    spaced[...] = x
    assert same(m.add_noise(spaced, rng=default_rng(SEED)), one)
    if kind != np.int64:
        assert m.add_noise(x, out=x, rng=default_rng(SEED)) is x
        assert same(x, one)


def test_containers():
    """Numbers, masked arrays and Series come back as what they were; infinities are refused."""
    m = truncated(changed=1)
    assert type(m.add_noise(3)) is float
    assert abs(m.add_noise(100, clamp=(99, 101)) - 100) <= 1
    assert m.add_noise(np.ma.masked_array([1.0, 2.0], [True, False])).mask.tolist() == [True, False]
    assert m.add_noise(pd.Series([1.0, None])).isna().tolist() == [False, True]
    with pytest.raises(ValueError, match="must be finite or NaN, got an infinity"):
        m.add_noise([math.inf])
    with pytest.warns(SeededNoiseWarning):
        m.add_noise(1.0, rng=default_rng(1))


def test_a_length_binds_the_changed_coordinates():
    """An array without ``changed`` takes the lattice of its length; more coordinates mean a larger Δ_lat."""
    x = np.arange(8.0)
    assert same(
        truncated().add_noise(x, rng=default_rng(SEED)), truncated(changed=8).add_noise(x, rng=default_rng(SEED))
    )
    assert truncated().for_length(8) == truncated(changed=8)
    assert truncated(changed=8, granularity=1).lattice.sensitivity == 8


def test_objects():
    """Mechanisms are immutable, compare by parameters, and survive pickling and copying."""
    m = truncated(changed=3, granularity=2.0**-20)
    for other in (pickle.loads(pickle.dumps(m)), copy.deepcopy(m), eval(repr(m))):
        assert other == m
        assert hash(other) == hash(m)
        assert (other.lattice, other.bound, other.delta_attained) == (m.lattice, m.bound, m.delta_attained)
    assert m != truncated()
    assert repr(truncated(delta="0.25")) == "TruncatedLaplaceMechanism(epsilon=1.0, delta=0.25, sensitivity=1.0)"
    with pytest.raises(AttributeError, match="immutable"):
        m.delta = 0


@pytest.mark.parametrize("epsilon", ["1e5", "1e8"])
def test_losses_far_out_in_the_tail(epsilon):
    """A delta below 2^-2800 is told as a power of two that is no less, at once, and never above what is kept."""
    m = TruncatedLaplaceMechanism(epsilon=epsilon, delta="1e-9", sensitivity=1)
    loss, mass = m.privacy_loss("0.5")
    assert 0 < mass < Fraction(1, 2**2800)
    assert loss <= Fraction(epsilon)
    assert m.privacy_loss(1)[1] <= m.delta_attained
    near = TruncatedLaplaceMechanism(epsilon=4100, delta="1e-9", sensitivity=1)
    steps = math.ceil(Fraction(1, 2) / near.lattice.granularity)
    exact = tail_mass(near.lattice.t, near._most, steps)
    assert exact <= near.privacy_loss("0.5")[1] <= exact * 2**20
