"""GaussianMechanism: calibrated for the law that is sampled, in every direction; and its releases."""

import copy
import itertools
import math
import pickle
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import fresh_process
import numpy as np
import pandas as pd
import pytest
from bitwise import same
from exact_oracles import integer_sum, lattice_sum
from mpmath import mp, mpf
from stats import accept, count

import lapnoise
from lapnoise import GaussianMechanism, LaplaceMechanism, SeededNoiseWarning, default_rng
from lapnoise._fill import scratch
from lapnoise._gaussian_noise import exact_gaussian_draw, gaussian_kernel
from lapnoise.kernels.discrete_laplace import FAST_LIMIT
from lapnoise.mechanisms import _gaussian_calibration as calibration

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

SEED = 79
MOST = 2**63 - 1


def gaussian(epsilon, delta, sensitivity=1, **more) -> GaussianMechanism:
    """Return a mechanism."""
    return GaussianMechanism(epsilon=epsilon, delta=delta, sensitivity=sensitivity, **more)


# Calibration.


@pytest.mark.parametrize(("epsilon", "sigma"), [("0.5", 7.03183), ("1", 3.73063), ("10", 0.499889)])
def test_published_calibrations(epsilon, sigma):
    """On a fine lattice sigma is that of the analytic Gaussian mechanism for delta = 1e-5."""
    m = gaussian(epsilon, "1e-5")
    assert m.scale == pytest.approx(sigma, abs=1e-5, rel=0)
    assert m.std == m.scale
    assert m.epsilon == m.epsilon_asked == Fraction(epsilon)
    assert Fraction("0.99999e-5") < m.delta_attained <= m.delta == Fraction("1e-5")


@pytest.mark.parametrize(("epsilon", "truth"), [(5, 1.35e-6), (8, 8.0e-6), (10, 2.27e-5), (20, 1.5e-3)])
def test_the_classical_formula_fails_beyond_one(epsilon, truth):
    """Its sigma, sqrt(2 ln(1.25 / delta)) / epsilon, has these deltas where 1e-5 is meant; ours never exceeds it."""
    sigma = math.sqrt(2 * math.log(1.25e5)) / epsilon
    delta = float(calibration.gaussian_delta(Fraction(1 / sigma), Fraction(epsilon))[1])
    assert delta == pytest.approx(truth, rel=0.04)
    assert (gaussian(epsilon, "1e-5").scale > sigma) == (truth > 1e-5)


GRID = list(itertools.product(["1e-6", "1e-3", "0.1", "1", "10", "1000"], ["1e-300", "1e-30", "1e-5", "0.1", "0.5"]))


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_calibration_of_fine_lattices(epsilon, delta):
    """Against mpmath: sigma is the analytic one for D steps, to 1e-9, and never lets delta be exceeded."""
    m = gaussian(epsilon, delta)
    with mp.workprec(2400):
        steps = mp.sqrt(int(calibration.reach(Fraction(1), 1, m.lattice.exponent).square))
        ratio = steps / mpf(m.lattice.t)
        e = mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator

        def true(u):
            upper = mp.erfc((e / u - u / 2) / mp.sqrt(2)) / 2
            return upper - mp.exp(e) * mp.erfc((e / u + u / 2) / mp.sqrt(2)) / 2

        wanted = mpf(Fraction(delta).numerator) / Fraction(delta).denominator
        assert true(ratio) <= wanted
        assert true(ratio * (1 + mpf("1e-9"))) > wanted
        attained = mpf(m.delta_attained.numerator) / m.delta_attained.denominator
        assert true(ratio) <= attained <= wanted
    assert 24 <= math.log2(m.lattice.t) < 43.01
    assert float(steps) * m.granularity - 1 < 2.0**-20 * 1.001 or m.lattice.t > 2.0**42


@cache
def mass(sigma: float, reach: int) -> np.ndarray:
    """Return P(X = -reach), ..., P(X = reach)."""
    k = np.arange(-reach, reach + 1)
    w = np.exp(-0.5 * (k / sigma) ** 2)
    return w / w.sum()


def true_delta(sigma: float, epsilon: float, shift: tuple[int, ...]) -> float:
    """Return the sum of the positive parts of p(k) - exp(epsilon) p(k - shift) over a box of 2 or 3 dimensions."""
    reach = math.ceil(9 * sigma) + max(map(abs, shift)) + 2
    one = mass(sigma, reach)
    p = one
    for _ in shift[1:]:
        p = np.multiply.outer(p, one)
    axes = np.meshgrid(*[np.arange(-reach, reach + 1)] * len(shift), indexing="ij", sparse=True)
    along = sum(v * k for v, k in zip(shift, axes, strict=True))
    gain = epsilon + (2 * along - sum(v * v for v in shift)) / (2 * sigma * sigma)
    return float(np.sum(p * np.maximum(-np.expm1(np.minimum(gain, 0.0)), 0.0)))


def directions(square: Fraction, dimensions: int) -> list[tuple[int, ...]]:
    """Return all integer shifts, up to signs and order, that are no longer than the root of ``square``."""
    most = math.isqrt(math.floor(square))
    found = itertools.combinations_with_replacement(range(most, -1, -1), dimensions)
    return [v for v in found if 0 < sum(x * x for x in v) <= square]


CASES = [
    ("0.5", "1e-2", 1),
    ("1", "1e-5", 1),
    ("1", "1e-5", 2),
    ("1", "0.1", 3),
    ("3", "1e-3", 3),
    ("8", "1e-6", 2),
    ("20", "1e-5", 1),
    ("2", "1e-4", 4),
    ("0.3", "0.3", 2),
    ("1", "0.5", 1),
    ("30", "1e-9", 5),
]


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "delta", "square"), [(e, d, k * k) for e, d, k in CASES] + [("1", "1e-4", 2)])
def test_privacy_of_whole_numbers_in_every_direction(epsilon, delta, square, dimensions):
    """Brute force over all shifts of L2 norm D or less: delta holds in each, and in the worst is not far below."""
    m = gaussian(epsilon, delta, SimpleNamespace(l2_squared=Fraction(square)), changed=dimensions, integers=True)
    sigma = m.lattice.t
    if dimensions == 3 and sigma > 7:
        sigma_is_large = gaussian(
            epsilon, delta, SimpleNamespace(l2_squared=Fraction(square)), changed=2, integers=True
        )
        assert sigma >= sigma_is_large.lattice.t * (1 - 1e-9)
        return
    found = {v: true_delta(sigma, float(epsilon), v) for v in directions(Fraction(square), dimensions)}
    worst = max(found.values())

    assert worst <= float(m.delta_attained) * (1 + 1e-9) <= float(Fraction(delta)) * (1 + 1e-8)
    if dimensions == 1:
        assert worst >= float(m.delta_attained) * (1 - 1e-6)
        assert worst >= float(Fraction(delta)) * (1 - 1e-5)
    elif sigma > 2:
        assert worst >= 0.4 * float(Fraction(delta))


def test_the_continuous_calibration_would_fail():
    """At r = 1 the analytic sigma exceeds delta by 3.5 %, and shifts of one length differ: a mutant that is refused."""
    m = gaussian(1, "1e-5")
    assert true_delta(m.scale, 1.0, (1,)) == pytest.approx(1.0346e-5, rel=1e-4)
    whole = gaussian(1, "1e-5", integers=True)
    assert whole.scale > m.scale * 1.001
    assert true_delta(whole.scale, 1.0, (1,)) <= 1e-5
    sigma = 3.73063 * 5
    assert abs(true_delta(sigma, 1.0, (5, 0)) / true_delta(sigma, 1.0, (3, 4)) - 1) > 1e-4
    mutant = [
        true_delta(5 / float(calibration.largest_ratio(Fraction(20), Fraction("1e-5"))), 20.0, v)
        for v in ((5, 0), (3, 4))
    ]
    assert max(mutant) > 1.01e-5


@pytest.mark.parametrize("integers", [False, True])
def test_more_of_anything_means_the_right_noise(integers):
    """Noise falls with epsilon and delta, and grows with sensitivity and with the number of coordinates."""
    scales = [gaussian(e, "1e-6", integers=integers).scale for e in ("0.01", "0.1", "0.5", "1", "3", "10")]
    assert scales == sorted(scales, reverse=True)
    scales = [gaussian(1, d, integers=integers).scale for d in ("1e-100", "1e-9", "1e-3", "0.2", "0.6")]
    assert scales == sorted(scales, reverse=True)
    scales = [gaussian(1, "1e-6", s, integers=integers).scale for s in (1, 2, 7, 100, 10**6)]
    assert scales == sorted(scales)
    scales = [gaussian(1, "1e-6", 3, changed=n, integers=integers).scale for n in (1, 2, 4, 9, 10**6)]
    assert all(b >= a * (1 - 1e-6) for a, b in itertools.pairwise(scales))


def test_far_ends():
    """Budgets beyond all use give a mechanism that holds, or are refused, and at once."""
    for epsilon, delta in (
        ("1e300", "1e-3"),
        ("1e20", "1e-300"),
        ("1e-300", "1e-5"),
        ("1", "1e-1000"),
        ("1", "0.999999"),
    ):
        for integers in (False, True):
            m = gaussian(epsilon, delta, integers=integers)
            assert 0 <= m.delta_attained <= m.delta
    with pytest.raises(OverflowError, match="scale must be at most"):
        gaussian("1e-300", "1e-300")


def test_long_vectors_pay_little():
    """D = Δ2 / r + sqrt(changed): with 1e9 coordinates the lattice is finer, and sigma grows by 1e-6 at most."""
    one, many = gaussian(1, "1e-9", changed=1), gaussian(1, "1e-9", changed=10**9)
    assert many.granularity < one.granularity
    assert one.scale < many.scale < one.scale * (1 + 2e-6)
    steps = 1 / Fraction(many.granularity)
    within = calibration.reach(Fraction(1), 10**9, many.lattice.exponent)
    assert within.square >= steps**2 + 2 * steps * Fraction(31622776601683793319, 10**15) + 10**9 - 1
    assert within.square <= (steps + Fraction(31622776601683793320, 10**15)) ** 2
    assert gaussian("1e-6", "1e-9", changed=10**9).scale > 1.01 * gaussian("1e-6", "1e-9").scale


def test_rounding_moves_a_vector_by_less_than_a_step_a_coordinate():
    """Values in steps, moved by v in n coordinates, are D = norm(v) + sqrt(n) apart at most when rounded."""
    chance = np.random.default_rng(5)
    reached = 0.0
    for n in (1, 2, 5):
        for _ in range(2000):
            x, v = chance.uniform(-3, 3, n), chance.uniform(-1, 1, n)
            moved = np.floor(x + v + 0.5) - np.floor(x + 0.5)
            most = np.linalg.norm(v) + math.sqrt(n)
            assert np.linalg.norm(moved) < most
            reached = max(reached, float(np.linalg.norm(moved) / most))
    assert reached > 0.8


def test_coarse_granularities():
    """At r = 1 a value that moves by 1 moves by one step, and by 1.5 by two: brute force over those is within delta."""
    for sensitivity, shift in ((1, 1), ("0.25", 1), ("1.5", 2), (3, 3)):
        m = gaussian(1, "1e-5", sensitivity, granularity=1, changed=1)
        found = true_delta(m.lattice.t, 1.0, (shift,))
        assert 0.9999e-5 < found <= float(m.delta_attained) * (1 + 1e-9) <= 1.00000001e-5
    m = gaussian(1, "1e-3", 2, granularity=1, changed=2)  # below (2 + sqrt(2))^2 = 11.66
    found = [true_delta(m.lattice.t, 1.0, v) for v in directions(Fraction(11), 2)]
    assert 0.5e-3 < max(found) <= 1e-3


def test_short_law_and_smoothing_agree():
    """For one coordinate the two proofs give nearly the same delta, the exact one the smaller."""
    for sigma in (8.0, 20.0, 32.0):
        within = calibration.Reach(Fraction(4), 1)
        exactly = calibration.delta_bound(sigma, within, Fraction(1, 2))
        smoothed = min(
            calibration._smoothed(Fraction(sigma) ** 2, within, Fraction(1, 2), s) for s in calibration.SMOOTHINGS
        )
        assert exactly < smoothed < exactly * Fraction(3, 2)


def test_privacy_loss():
    """At the sensitivity the loss is (epsilon, delta_attained); at 0 nothing; it grows with distance."""
    for m in (
        gaussian(1, "1e-5"),
        gaussian(2, "1e-3", 3, changed=7, integers=True),
        gaussian(1, "1e-5", integers=True),
    ):
        assert m.privacy_loss(m.sensitivity) == (m.epsilon, m.delta_attained)
        assert m.privacy_loss(0) == (0, 0)
        losses = [m.privacy_loss(m.sensitivity * k / 2)[1] for k in range(1, 9)]
        assert losses == sorted(losses)
        assert losses[0] < m.delta < losses[-1]
        others = [m.privacy_loss(m.sensitivity, epsilon=e)[1] for e in ("0.1", "0.5", "1", "2", "4")]
        assert others == sorted(others, reverse=True)
        assert m.privacy_loss(m.sensitivity, epsilon="0.1")[0] == Fraction("0.1")
    whole = gaussian(1, "1e-5", integers=True)
    assert whole.privacy_loss("0.9") == (1, 0)
    assert whole.privacy_loss("1.9") == whole.privacy_loss(1)
    for bad in (-1, math.nan, "x", None, True):
        with pytest.raises((TypeError, ValueError), match="distance must be"):
            whole.privacy_loss(bad)
    assert whole.privacy_loss(10**9)[1] <= 1


def test_rho():
    """Zero-concentrated privacy: rho is D^2 / (2 sigma^2), from D in steps."""
    m = gaussian(1, "1e-5", 3, integers=True)
    assert m.rho == 9 / (2 * Fraction(m.lattice.t) ** 2)
    fine = gaussian(1, "1e-5", 3)
    assert 0 < fine.rho / (9 / (2 * Fraction(fine.scale) ** 2)) - 1 < 1e-5


# Parameters.


def test_l2_sensitivity_is_what_counts():
    """Of an object with norms it is L2 that is used: 16 coordinates that change by 1 have L2 4, not 16."""
    norms = SimpleNamespace(l1=16, l2=4.0, linf=1, l2_squared=Fraction(16))
    assert gaussian(1, "1e-5", norms, changed=16) == gaussian(1, "1e-5", 4, changed=16)
    root = gaussian(1, "1e-5", SimpleNamespace(l2_squared=Fraction(2)), integers=True)
    assert root.l2_squared == 2
    assert 0 < root.sensitivity**2 - 2 < Fraction(1, 2**75)
    assert root.scale == pytest.approx(gaussian(1, "1e-5", 1, integers=True).scale, rel=1e-12)
    two = gaussian(1, "1e-5", SimpleNamespace(l2_squared=Fraction(2)), integers=True, changed=2)
    assert 1.40 < two.scale / root.scale < 1.45
    below = gaussian(1, "1e-5", "0.5", integers=True)
    assert below.scale == gaussian(1, "1e-5", 1, integers=True).scale
    with pytest.raises(ValueError, match=r"sensitivity\.l2_squared must be finite and > 0"):
        gaussian(1, "1e-5", SimpleNamespace(l2_squared=0))


@pytest.mark.parametrize("bad", [0, -0.0, -1, 1, 2, math.nan, math.inf, "nan", "0", "1e-1001"], ids=repr)
def test_refused_deltas(bad):
    """Delta lies between 0 and 1; 0 points to Laplace noise."""
    with pytest.raises(ValueError, match="delta must be") as caught:
        gaussian(1, bad)
    assert repr(bad) in str(caught.value)
    assert ("LaplaceMechanism" in str(caught.value)) == (bad in (0, "0"))


@pytest.mark.parametrize("bad", ["one", True, 1 + 0j, None, [1]], ids=repr)
def test_refused_types(bad):
    """What is no number is a TypeError that names the parameter."""
    for name in ("epsilon", "delta", "sensitivity"):
        with pytest.raises(TypeError, match=f"{name} must be a number"):
            GaussianMechanism(**{"epsilon": 1, "delta": 0.1, "sensitivity": 1, name: bad})


def test_other_refusals():
    """Epsilon, sensitivity, changed, granularity and integers are checked, and noise beyond the kernel is refused."""
    for name, bad in itertools.product(("epsilon", "sensitivity"), (0, -1, math.nan, math.inf, "-1")):
        with pytest.raises(ValueError, match=f"{name} must be finite and > 0"):
            GaussianMechanism(**{"epsilon": 1, "delta": 0.1, "sensitivity": 1, name: bad})
    with pytest.raises(ValueError, match="changed must be >= 1"):
        gaussian(1, 0.1, changed=0)
    with pytest.raises(ValueError, match="granularity must be a power of two"):
        gaussian(1, 0.1, granularity=3)
    with pytest.raises(TypeError, match="granularity must be left out"):
        gaussian(1, 0.1, granularity=1, integers=True)
    for bad in (None, 1, "yes"):
        with pytest.raises(TypeError, match="integers must be True or False"):
            gaussian(1, 0.1, integers=bad)
    for more in ({"sensitivity": 10**13, "integers": True}, {"granularity": 2.0**-50}, {"changed": 10**30}):
        with pytest.raises(OverflowError, match=r"scale must be at most 2\*\*43 steps"):
            gaussian("0.1", "1e-5", **more)
    assert calibration.LARGEST_SIGMA == FAST_LIMIT
    rng = default_rng(SEED)
    with pytest.raises(OverflowError, match="scale and granularity must be floats"):
        gaussian(1, 0.1, "1e310").add_noise(0.0, rng=rng)
    assert rng.position == 0
    assert gaussian(1, "1e-5", "1e-320").granularity == 2.0**-1074
    with pytest.raises(TypeError):
        GaussianMechanism(1, 0.1, 1)


MADE = [
    lambda: gaussian(0.1, "1e-5"),
    lambda: gaussian("1/3", 1e-9, 0.1, changed=4),
    lambda: gaussian(1, "1e-5", granularity=2.0**-20),
    lambda: gaussian(1, "1e-5", SimpleNamespace(l2_squared=Fraction(2)), changed=2, integers=True),
]


@pytest.mark.parametrize("make", MADE)
def test_mechanisms_are_values(make):
    """They cannot be changed; pickles, copies and their text make equal ones, with the same lattice and delta."""
    m = make()
    for name in ("epsilon", "delta", "sensitivity", "lattice", "delta_attained", "other"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(m, name, 1)
    shown = {"GaussianMechanism": GaussianMechanism, "Fraction": Fraction, "SquareRoot": lapnoise._numbers.SquareRoot}
    for other in (pickle.loads(pickle.dumps(m)), copy.deepcopy(m), make(), eval(repr(m), shown)):
        assert other == m
        assert hash(other) == hash(m)
        assert (other.lattice, other.delta_attained) == (m.lattice, m.delta_attained)
    others = [gaussian(0.1, "1e-6"), gaussian(0.1, "1e-5", integers=True), LaplaceMechanism(epsilon=0.1, sensitivity=1)]
    assert all(m != other for other in others)
    assert not hasattr(m, "__dict__")


def test_no_numba_is_imported_before_the_first_noise():
    """A mechanism can be made and asked of its noise with neither Numba nor SciPy."""
    script = """
    import sys
    import lapnoise
    m = lapnoise.GaussianMechanism(epsilon=1, delta="1e-5", sensitivity=1)
    print(m, m.std, m.interval(0.95), m.privacy_loss(1), m.rho, m.for_length(5).scale)
    assert not {"numba", "scipy", "pandas"} & set(sys.modules)
    """
    assert "GaussianMechanism(epsilon=1.0, delta=1e-05, sensitivity=1.0" in fresh_process.run(script)


# What it says of its noise.


def test_statistics_of_the_noise():
    """std, variance and mse are those of the discrete law, intervals hold at least their level and are the least."""
    for m in (
        gaussian(10, "1e-5", integers=True),
        gaussian(1, "1e-5", integers=True),
        gaussian(30, 0.1, granularity=1),
    ):
        p = mass(m.lattice.t, 200)
        k = np.arange(-200, 201)
        assert m.variance == pytest.approx(float(p @ k**2), rel=1e-12)
        assert m.mse == m.variance == m.std**2
        for level in ("0.5", "0.95", "0.999"):
            h = m.interval(level)
            assert p[np.abs(k) <= h].sum() >= float(level) > p[np.abs(k) < h].sum()
    fine = gaussian(1, "1e-5")
    assert fine.interval("0.95") == pytest.approx(1.959963984540054 * fine.scale, rel=1e-6)
    assert Fraction(fine.interval("0.95")) % Fraction(fine.granularity) == 0


def test_coverage():
    """Of released values 95 % lie within interval(0.95): 0.6 % is seen."""
    m = gaussian(1, "1e-5", changed=1)
    noise = m.add_noise(np.zeros(100_000), rng=default_rng(SEED))
    accept(count("within", int(np.sum(np.abs(noise) <= m.interval("0.95"))), noise.size, 0.95))


def test_epsilon_for():
    """The least epsilon that reaches a std or a half-width, on floats and on integers: a little less does not."""
    for more in ({}, {"integers": True}, {"changed": 50}):
        found = GaussianMechanism.epsilon_for(sensitivity=2, delta="1e-6", std=20, **more)
        assert gaussian(found, "1e-6", 2, **more).std <= 20
        assert gaussian(found * Fraction(10**9 - 1, 10**9), "1e-6", 2, **more).std > 20
    found = GaussianMechanism.epsilon_for(sensitivity=1, delta="1e-5", half_width=10, confidence="0.99")
    assert gaussian(found, "1e-5").interval("0.99") <= 10
    assert gaussian(found * Fraction(999, 1000), "1e-5").interval("0.99") > 10
    with pytest.raises(TypeError, match="std or half_width must be given"):
        GaussianMechanism.epsilon_for(sensitivity=1, delta="1e-5")


# Releases.


@cache
def noise(sigma: float, size: int, start: int = 0) -> list[int]:
    """Return the noise of the seed's stream, part of it made again by the loop in integers."""
    source = default_rng(SEED)._stream.source
    out = np.empty(size, np.int64)
    gaussian_kernel(sigma)(out, source, start, scratch())
    for i in range(0, size, 97):
        assert out[i] == exact_gaussian_draw(sigma, source, start + i)
    return out.tolist()


def test_length_stands_for_changed():
    """An array without ``changed`` is released by the mechanism for its length; a number by that for one."""
    m = gaussian(1, "1e-5")
    x = np.zeros(400)
    assert m.for_length(400) == gaussian(1, "1e-5", changed=400)
    assert same(m.add_noise(x, rng=default_rng(SEED)), m.for_length(400).add_noise(x, rng=default_rng(SEED)))
    assert m.for_length(400).lattice != m.lattice
    fixed = gaussian(1, "1e-5", changed=3)
    assert fixed.for_length(400) is fixed
    assert type(m.add_noise(1.5)) is float


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int32, np.int64, np.uint64, np.bool_])
def test_sums(kind):
    """Each value is rounded to the lattice, exact noise is added, and the sum is rounded once."""
    m = gaussian(1, "1e-5", changed=1, granularity=2.0**-10)
    if np.dtype(kind).kind == "f":
        x = np.array([0.0, -0.0, 1 / 3, 2.0**-11, -(2.0**-11), 1e30, -1e30, 123456.789, math.nan] * 20).astype(kind)
    else:
        x = np.array([0, 1] * 90).astype(kind)
    steps = noise(m.lattice.t, x.size)
    got = m.add_noise(x, rng=default_rng(SEED))
    out = np.float32 if kind == np.float32 else np.float64
    wanted = [v if v != v else lattice_sum(Fraction(v), k, -10, out) for v, k in zip(x.tolist(), steps, strict=True)]
    assert same(got, np.array(wanted, out))


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.uint64, np.bool_])
def test_sums_of_whole_numbers(kind):
    """Integers give the exact sums in int64, saturated at plus or minus 2^63 - 1 and never wrapped."""
    m = gaussian(1, "1e-5", changed=1, integers=True)
    limits = (0, 1) if kind == np.bool_ else (np.iinfo(kind).min, np.iinfo(kind).max)
    places = [0, 1, 5, 2**60 + 129, *(s * (2**63 + d) for s in (-1, 1) for d in range(-9, 10)), *limits]
    whole = [v for v in places if limits[0] <= v <= limits[1]] * 9
    got = m.add_noise(np.array(whole, kind), rng=default_rng(SEED))
    wanted = [integer_sum(v, k) for v, k in zip(whole, noise(m.lattice.t, len(whole)), strict=True)]
    assert same(got, np.array(wanted, np.int64))
    assert np.abs(got).max() <= MOST


def test_kinds_and_layouts():
    """Layout, threads, pieces and place do not change which noise a value gets; Series and masks stay what they are."""
    for m in (gaussian(1, "1e-5", changed=1), gaussian(1, "1e-5", changed=1, integers=True)):
        x = np.arange(6000) if m.integers else np.arange(6000) / 7
        wanted = m.add_noise(x, rng=default_rng(SEED))
        square = x.reshape(60, 100)
        spread = np.zeros((60, 200), x.dtype)
        spread[:, ::2] = square
        for values in (square, np.asfortranarray(square), spread[:, ::2], square.astype(x.dtype.newbyteorder())):
            assert same(m.add_noise(values, rng=default_rng(SEED)).ravel(), wanted)
        view = spread[:, ::2]
        assert m.add_noise(view, out=view, rng=default_rng(SEED)) is view
        assert same(view.ravel(), wanted)
        assert not spread[:, 1::2].any()
        rng = default_rng(SEED)
        assert same(np.concatenate([m.add_noise(x[i : i + 700], rng=rng) for i in range(0, 6000, 700)]), wanted)
        assert rng.position == 6000
        rng.seek(4321)
        assert same(m.add_noise(x[4321:4400], rng=rng), wanted[4321:4400])
        many = np.zeros(300_000, x.dtype)
        one, two = (m.add_noise(many, rng=default_rng(SEED, threads=n)) for n in (1, 2))
        assert same(one, two)
        series = m.add_noise(pd.Series(x[:5], index=list("abcde"), name="x"), rng=default_rng(SEED))
        assert series.index.tolist() == list("abcde")
        assert same(series.to_numpy(), wanted[:5])
        masked = m.add_noise(np.ma.MaskedArray(x[:3], mask=[0, 1, 0]), rng=default_rng(SEED))
        assert masked.mask.tolist() == [False, True, False]
        assert type(m.add_noise(x[1].item())) is type(x[1].item())
        assert m.add_noise(np.empty((0, 3), x.dtype)).shape == (0, 3)


def test_clamps_and_refusals():
    """Clamps clip the sums; what does not fit is refused before a word is drawn."""
    m, whole = gaussian(1, "1e-5"), gaussian(1, "1e-5", integers=True)
    x = np.arange(100)
    for each, clamp in ((m, (0.5, 20.0)), (whole, (0, 20))):
        free = each.add_noise(x, rng=default_rng(SEED))
        assert same(each.add_noise(x, clamp=clamp, rng=default_rng(SEED)), np.clip(free, *clamp))
    rng = default_rng(SEED)
    with pytest.raises(ValueError, match="finite"):
        m.add_noise([1.0, math.inf], rng=rng)
    with pytest.raises(TypeError, match="values must be"):
        whole.add_noise([1.0], rng=rng)
    with pytest.raises(TypeError, match="clamp must be"):
        whole.add_noise(x, clamp=(0.0, 1.0), rng=rng)
    with pytest.raises(TypeError, match="out must have"):
        whole.add_noise(x, out=np.zeros(100), rng=rng)
    with pytest.raises(TypeError, match="rng must be a lapnoise Generator"):
        m.add_noise(x, rng=np.random.default_rng(1))
    assert rng.position == 0


@pytest.mark.parametrize("integers", [False, True])
def test_generators(integers):
    """A seeded generator warns, at the caller's line, and repeats; without one noise never comes again."""
    m = gaussian("1e-9", "1e-5", integers=integers)
    x = np.zeros(50, np.int64)
    with pytest.warns(SeededNoiseWarning, match="can be drawn again") as caught:
        first = m.add_noise(x, rng=default_rng(1))
    assert caught[0].filename == __file__
    assert same(first, m.add_noise(x, rng=default_rng(1)))
    assert len({m.add_noise(x).tobytes() for _ in range(4)}) == 4
