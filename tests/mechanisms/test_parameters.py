"""What mechanisms are made of: which parameters they take and refuse, what they say of their noise, that they stay."""

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import fresh_process
import numpy as np
import pytest
from exact_oracles import probability, variance
from mpmath import mp, mpf
from stats import accept, count

from lapnoise import DiscreteLaplaceMechanism, LaplaceMechanism, default_rng
from lapnoise.exact import quantile_magnitude

BOTH = pytest.mark.parametrize("kind", [LaplaceMechanism, DiscreteLaplaceMechanism])

REFUSED_AMOUNTS = [0, 0.0, -0.0, -1, -1e-300, math.nan, math.inf, -math.inf, "0", "-1", "nan", "inf", "-Infinity"]
REFUSED_AMOUNTS += [
    Decimal(0),
    Decimal("NaN"),
    Decimal("Infinity"),
    Fraction(0),
    Fraction(-1, 3),
    np.float32(0),
    np.int8(-1),
]
WRONG_TYPES = [
    "one",
    "",
    "0.1.2",
    "1/0",
    True,
    False,
    np.True_,
    1 + 0j,
    None,
    [1],
    (1,),
    b"1",
    np.array([1.0]),
    object(),
]


# Taken and refused.


@BOTH
@pytest.mark.parametrize("name", ["epsilon", "sensitivity"])
@pytest.mark.parametrize("bad", REFUSED_AMOUNTS, ids=repr)
def test_refused_amounts(kind, name, bad):
    """An epsilon or a sensitivity that is not finite and > 0 is a ValueError that names it, the rule and the value."""
    with pytest.raises(ValueError, match=rf"{name} must be finite and > 0, got") as caught:
        kind(**{"epsilon": 1, "sensitivity": 1, name: bad})
    assert repr(bad) in str(caught.value)


@BOTH
@pytest.mark.parametrize("name", ["epsilon", "sensitivity"])
@pytest.mark.parametrize("bad", WRONG_TYPES, ids=lambda bad: type(bad).__name__ + repr(bad)[:8])
def test_refused_types(kind, name, bad):
    """What is no real number, a bool and other text among it, is a TypeError that names the parameter."""
    with pytest.raises(TypeError, match=rf"{name} must be a number"):
        kind(**{"epsilon": 1, "sensitivity": 1, name: bad})


@BOTH
def test_parameters_have_names_and_no_defaults(kind):
    """Parameters go by name, and neither epsilon nor sensitivity has a default."""
    for arguments in ({}, {"epsilon": 1}, {"sensitivity": 1}):
        with pytest.raises(TypeError, match="missing"):
            kind(**arguments)
    with pytest.raises(TypeError, match="positional"):
        kind(1, 1)
    with pytest.raises(ValueError, match="epsilon must have a decimal exponent of at most"):
        kind(epsilon="1e-1000001", sensitivity=1)


TAKEN = [
    (np.float32(1), Fraction(1), Fraction(1)),
    (np.int64(2), Fraction(2), Fraction(2)),
    (Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)),
    (Decimal("0.1"), Fraction(1, 10), Fraction(1, 10)),
    ("0.1", Fraction(1, 10), Fraction(1, 10)),
    (" 1/3 ", Fraction(1, 3), Fraction(1, 3)),
    ("1e-3", Fraction(1, 1000), Fraction(1, 1000)),
    (3, Fraction(3), Fraction(3)),
    (0.1, Fraction(1, 10), Fraction(0.1)),
    (np.float64(0.1), Fraction(1, 10), Fraction(0.1)),
    (np.float32(0.1), Fraction(1, 10), Fraction(float(np.float32(0.1)))),
    (5e-324, Fraction(5, 10**324), Fraction(5e-324)),
    (2**70, Fraction(2**70), Fraction(2**70)),
]


@BOTH
@pytest.mark.parametrize(("given", "printed", "stored"), TAKEN, ids=lambda given: repr(given)[:20])
def test_taken_amounts(kind, given, printed, stored):
    """An epsilon counts as it prints, a sensitivity at its exact value; text, Decimal and Fraction are exact."""
    assert kind(epsilon=given, sensitivity=1).epsilon_asked == printed
    assert kind(epsilon=1, sensitivity=given).sensitivity == stored


@pytest.mark.parametrize("bad", [0, -1, 1.0, 1.5, "1", True, np.float64(2), 1j], ids=repr)
def test_refused_numbers_of_coordinates(bad):
    """A ``changed`` that is no int >= 1 is refused."""
    with pytest.raises((TypeError, ValueError), match="changed must be"):
        LaplaceMechanism(epsilon=1, sensitivity=1, changed=bad)
    assert LaplaceMechanism(epsilon=1, sensitivity=1, changed=np.int8(3)).changed == 3


@pytest.mark.parametrize(
    "bad", [0, -1, 0.3, 3, "0.75", math.nan, math.inf, Fraction(1, 3), Fraction(2) ** -1075], ids=repr
)
def test_refused_granularities(bad):
    """A granularity that is no power of two, or finer than every float, is a ValueError; a wrong type a TypeError."""
    with pytest.raises(ValueError, match="granularity must be"):
        LaplaceMechanism(epsilon=1, sensitivity=1, granularity=bad)
    for wrong in (True, "x", 1j, [1]):
        with pytest.raises(TypeError, match="granularity must be"):
            LaplaceMechanism(epsilon=1, sensitivity=1, granularity=wrong)


@pytest.mark.parametrize("exponent", [-1074, -1073, -24, -1, 0, 1, 10, 1023, 1024, 3000])
def test_taken_granularities(exponent):
    """Every power of two from 2^-1074 on is used as it is, and shown as a float where it is one."""
    r = Fraction(2) ** exponent
    for given in [r] + ([float(r)] if exponent <= 1023 else []) + ([np.float64(r)] if exponent <= 1023 else []):
        m = LaplaceMechanism(epsilon=1, sensitivity=1, granularity=given)
        assert m.granularity == r
        assert isinstance(m.granularity, float if exponent <= 1023 else Fraction)
    assert LaplaceMechanism(epsilon=1, sensitivity=1, granularity="0.25").granularity == 0.25


# What they say.


def test_scale_is_sensitivity_over_epsilon():
    """The scale is Δ / epsilon, exactly where the lattice divides Δ, else within 2^-20 and never below."""
    assert LaplaceMechanism(epsilon=0.5, sensitivity=3).scale == 6.0
    assert DiscreteLaplaceMechanism(epsilon=0.5, sensitivity=3).scale == 6.0
    for epsilon, sensitivity in (("0.3", 0.1), (1, 0.1), ("1/3", 12345.678), (2.5, 1e-300), (0.7, 1e300)):
        m = LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity)
        b = m.sensitivity / m.epsilon_asked
        assert 1 - Fraction(1, 2**52) <= Fraction(m.scale) / b <= 1 + Fraction(1, 2**20)
        assert m.log_scale == pytest.approx(math.log(m.scale), rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("kind", [LaplaceMechanism, DiscreteLaplaceMechanism])
def test_more_epsilon_means_less_noise(kind):
    """Twice the epsilon halves the scale, never the other way about."""
    one, two = kind(epsilon=1, sensitivity=1000), kind(epsilon=2, sensitivity=1000)
    assert one.scale == 2 * two.scale
    assert one.std == pytest.approx(2 * two.std, rel=1e-5)
    assert one.interval(0.95) > 1.9 * two.interval(0.95)


LATTICE_SCALES = [0.05, 0.3, 0.7, 1.0, 3.0, 50.0, 200.0]


@pytest.mark.parametrize("t", LATTICE_SCALES)
@pytest.mark.parametrize("exponent", [-1000, -3, 0, 5, 400])
def test_variance_is_that_of_the_lattice(t, exponent):
    """Variance, mse and standard deviation are those of the discrete noise, summed term by term, times r^2."""
    r = Fraction(2) ** exponent
    steps = math.ceil(t)
    m = LaplaceMechanism(epsilon=steps / Fraction(t), sensitivity=steps * r, granularity=r)
    with mp.workprec(200):
        true = mp.sqrt(variance(Fraction(t))) * mpf(2) ** exponent
        assert m.std == pytest.approx(float(true), rel=1e-13)
    assert m.variance == m.mse == m.std * m.std
    if exponent == 0:
        assert DiscreteLaplaceMechanism(epsilon=1 / Fraction(t), sensitivity=1).variance == m.variance


def test_variance_of_fine_lattices():
    """On the lattices that are chosen the variance is 2 b^2, and 0 where noise is never seen."""
    for epsilon, sensitivity in ((1, 1), ("0.1", 3), (3, 1e-100), ("1e-17", 1), ("1e-30", 1)):
        m = LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity)
        assert m.std == pytest.approx(math.sqrt(2.0) * m.scale, rel=1e-14)
    assert DiscreteLaplaceMechanism(epsilon=10_000, sensitivity=1).variance == 0.0
    assert LaplaceMechanism(epsilon="1e-400", sensitivity=1).std == math.inf


@pytest.mark.parametrize("t", LATTICE_SCALES)
@pytest.mark.parametrize("level", [0.5, "0.95", Fraction(1, 3), "0.999999999", 1e-9])
def test_interval_is_that_of_the_lattice(t, level):
    """The half-width is the least multiple of r at which probabilities, added one by one, reach the level."""
    steps = math.ceil(t)
    m = LaplaceMechanism(epsilon=steps / Fraction(t), sensitivity=Fraction(steps, 8), granularity="0.125")
    k = round(m.interval(level) * 8)
    asked = Fraction(str(level)) if isinstance(level, float) else Fraction(level)
    with mp.workprec(160):
        inside = probability(Fraction(t), 0) + 2 * mp.fsum(probability(Fraction(t), i) for i in range(1, k + 1))
        wanted = mpf(asked.numerator) / asked.denominator
        assert m.interval(level) == k / 8
        assert inside >= wanted
        assert k == 0 or inside - 2 * probability(Fraction(t), k) < wanted


def test_interval_of_fine_lattices():
    """On a fine lattice the half-width is b ln(1 / alpha) within a step; levels that are none are refused."""
    m = LaplaceMechanism(epsilon=1, sensitivity=3)
    assert m.interval(0.95) == pytest.approx(3 * math.log(20), abs=2 * m.granularity)
    assert quantile_magnitude(Fraction(m.lattice.t), Fraction(1, 20)) * m.granularity == m.interval("0.95")
    for bad in (0, 1, -0.5, 1.5, math.nan, math.inf):
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            m.interval(bad)
    for bad in (True, "x", None, 1j):
        with pytest.raises(TypeError, match="level must be a number"):
            m.interval(bad)


def test_coverage_of_the_interval():
    """Of 200,000 noises 95 % lie within interval(0.95), less a step's worth; 0.4 % are seen."""
    with pytest.warns(match="can be drawn again"):
        x = LaplaceMechanism(epsilon=0.5, sensitivity=2, changed=1).add_noise(np.zeros(200_000), rng=default_rng(74))
    h = LaplaceMechanism(epsilon=0.5, sensitivity=2, changed=1).interval(0.95)
    accept(count("covered", int(np.sum(np.abs(x) <= h)), x.size, 0.95))


def test_privacy_loss():
    """The loss of a distance is its steps over t, exactly: epsilon at Δ, 0 at 0, and no less in between."""
    m = LaplaceMechanism(epsilon=1, sensitivity=1, changed=3, granularity="0.25")
    t = Fraction(m.lattice.t)

    assert m.lattice.sensitivity == 6
    assert m.privacy_loss(1) == (m.epsilon, 0) == (6 / t, 0)
    assert m.privacy_loss(0) == (0, 0)
    assert m.privacy_loss("0.25") == (3 / t, 0)
    assert m.privacy_loss(Fraction(1, 10**9)) == (3 / t, 0)
    assert m.privacy_loss(0.1) == m.privacy_loss(np.float64(0.1)) == (3 / t, 0)
    assert m.privacy_loss(2.6) == (13 / t, 0)
    assert all(isinstance(part, Fraction) for part in m.privacy_loss(1))
    losses = [m.privacy_loss(Fraction(k, 16))[0] for k in range(100)]
    assert losses == sorted(losses)
    for bad in (-1, math.nan, math.inf, "-0.5"):
        with pytest.raises(ValueError, match="distance must be finite and >= 0"):
            m.privacy_loss(bad)
    for bad in (True, None, "x", 1j):
        with pytest.raises(TypeError, match="distance must be a number"):
            m.privacy_loss(bad)


@BOTH
def test_attained_epsilon(kind):
    """What is attained is a Fraction, never above what was asked, and within 2^-52 of it."""
    for k in range(1, 200):
        m = kind(epsilon=Fraction(k, 97), sensitivity=Fraction(k, 13))
        assert isinstance(m.epsilon, Fraction)
        assert m.epsilon_asked * (1 - Fraction(1, 2**52)) <= m.epsilon <= m.epsilon_asked == Fraction(k, 97)


# That they stay what they are.


MADE = [
    lambda: LaplaceMechanism(epsilon=0.1, sensitivity=1),
    lambda: LaplaceMechanism(epsilon="1/3", sensitivity=0.1, changed=4),
    lambda: LaplaceMechanism(epsilon=1, sensitivity=1, granularity=Fraction(2) ** 2000),
    lambda: LaplaceMechanism(epsilon="1e-400", sensitivity="1e310", granularity=2.0**-1074),
    lambda: DiscreteLaplaceMechanism(epsilon=0.1, sensitivity=1),
    lambda: DiscreteLaplaceMechanism(epsilon="1e-18", sensitivity="1/7"),
]


@pytest.mark.parametrize("make", MADE)
def test_mechanisms_cannot_be_changed(make):
    """No attribute can be set, added or deleted."""
    m = make()
    for name in ("epsilon", "epsilon_asked", "sensitivity", "changed", "lattice", "granularity", "scale", "other"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(m, name, 1)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(m, name)
    assert m == make()
    assert not hasattr(m, "__dict__")


@pytest.mark.parametrize("make", MADE)
def test_copies_are_equal(make):
    """Pickles of every protocol and copies equal what they were made of, with hash, text and lattice."""
    m = make()
    copies = [pickle.loads(pickle.dumps(m, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in [*copies, copy.copy(m), copy.deepcopy(m), make()]:
        assert other == m
        assert hash(other) == hash(m)
        assert repr(other) == repr(m)
        assert other.lattice == m.lattice
        assert type(other) is type(m)


def test_equality():
    """Mechanisms are equal where parameters are, however they were written, and unequal where one differs."""
    m = LaplaceMechanism(epsilon=0.1, sensitivity=0.5)
    assert m == LaplaceMechanism(epsilon="0.1", sensitivity=Fraction(1, 2))
    others = [
        LaplaceMechanism(epsilon=0.2, sensitivity=0.5),
        LaplaceMechanism(epsilon=0.1, sensitivity=0.25),
        LaplaceMechanism(epsilon=0.1, sensitivity=0.5, changed=1),
        LaplaceMechanism(epsilon=0.1, sensitivity=0.5, granularity=m.granularity),
        DiscreteLaplaceMechanism(epsilon=0.1, sensitivity=0.5),
        0.1,
        None,
    ]
    assert all(m != other for other in others)
    assert len({m, *others}) == 8


def test_text():
    """The text of a mechanism makes the same one again; only a number beyond the floats is told by its size."""
    shown = {kind.__name__: kind for kind in (LaplaceMechanism, DiscreteLaplaceMechanism, Fraction)}
    for m in (make() for make in MADE):
        if "about" not in repr(m):
            assert eval(repr(m), shown) == m
    assert repr(LaplaceMechanism(epsilon=0.1, sensitivity=1)) == "LaplaceMechanism(epsilon=0.1, sensitivity=1.0)"
    third = LaplaceMechanism(epsilon="1/3", sensitivity=0.5, changed=4)
    assert repr(third) == "LaplaceMechanism(epsilon=Fraction('1/3'), sensitivity=0.5, changed=4)"
    assert "2**2000" in repr(MADE[2]())
    assert sum("about" in repr(make()) for make in MADE) == 2


@pytest.mark.parametrize("name", ["LaplaceMechanism", "DiscreteLaplaceMechanism"])
def test_forks_and_pickles_share_no_noise(name):
    """Parent, forked children and a process with a pickle each draw noise of their own, without a generator."""
    script = f"""
    import os, pickle, sys
    import numpy as np
    import lapnoise
    m = lapnoise.{name}(epsilon="1e-9", sensitivity=1)
    m.add_noise(np.zeros(4, np.int64))
    for _ in range(3):
        read, write = os.pipe()
        if os.fork() == 0:
            os.write(write, repr(m.add_noise(np.zeros(20, np.int64)).tolist()).encode())
            os._exit(0)
        os.wait()
        print(os.read(read, 65536).decode())
    print(m.add_noise(np.zeros(20, np.int64)).tolist())
    print(pickle.loads(pickle.dumps(m)).add_noise(np.zeros(20, np.int64)).tolist())
    """
    drawn = [value for line in fresh_process.run(script).splitlines() for value in eval(line)]
    assert len(drawn) == 100
    assert len(set(drawn)) == 100


def test_import_needs_neither_numba_nor_scipy():
    """A mechanism can be made and asked of its noise without Numba or SciPy being imported."""
    script = """
    import sys
    import lapnoise
    m = lapnoise.LaplaceMechanism(epsilon="0.1", sensitivity=1)
    print(m, m.granularity, m.std, m.interval(0.95), m.epsilon, m.privacy_loss(1), m.for_length(5).scale)
    assert not {"numba", "scipy", "pandas"} & set(sys.modules)
    """
    assert "LaplaceMechanism(epsilon=0.1, sensitivity=1.0)" in fresh_process.run(script)
