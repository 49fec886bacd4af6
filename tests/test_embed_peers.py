"""Names of numpy.random and diffprivlib, and measurements of OpenDP, over this library: the same bits, sound maps."""

import itertools
import math
import re
import sys
import textwrap
import threading
import types
from fractions import Fraction
from pathlib import Path

import fresh_process
import mpmath
import numpy as np
import pytest
from bitwise import same
from scipy.integrate import quad

import lapnoise
from lapnoise import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    SeededNoiseWarning,
    TruncatedLaplaceMechanism,
    default_rng,
)
from lapnoise.embed import diffprivlib, opendp
from lapnoise.embed.numpy_random import Random, random
from lapnoise.lattice import round_half_up

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

SEED = 7
PAGE = (Path(__file__).parents[1] / "docs" / "migrating.md").read_text()
RECIPE = re.compile(r"((?:^    .*\n|^\n)+)", re.MULTILINE)


# numpy.random


def seeded():
    """Return the stand-in with a generator that is known."""
    stand_in = Random()
    stand_in._made = default_rng(SEED)
    return stand_in


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("laplace", ()),
        ("laplace", (1.0, 2.0)),
        ("laplace", (1, 2, 3)),
        ("laplace", (0.0, 1.0, (2, 3))),
        ("laplace", ([0.0, 1.0], 2.0)),
        ("laplace", (0.0, [[1.0], [2.0]], (2, 3))),
        ("exponential", ()),
        ("exponential", (2.0, np.int64(5))),
        ("exponential", ([1.0, 2.0],)),
    ],
)
def test_calls_of_numpy_are_taken_as_they_are(name, arguments):
    """Calls of numpy.random give results of its shapes and types, with the draws of a Generator, bit for bit."""
    got = getattr(seeded(), name)(*arguments)
    theirs = getattr(np.random.RandomState(1), name)(*arguments)
    assert (type(got), np.shape(got)) == (type(theirs), np.shape(theirs))
    assert same(got, getattr(default_rng(SEED), name)(*arguments))


def test_calls_of_numpy_take_the_same_names():
    """Parameters may be named as in numpy.random, and their defaults are its."""
    assert seeded().laplace(size=2, scale=3.0, loc=1.0).tolist() == default_rng(SEED).laplace(1.0, 3.0, 2).tolist()
    assert seeded().exponential(size=2, scale=3.0).tolist() == default_rng(SEED).exponential(3.0, 2).tolist()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("laplace", (0.0, -1.0)),
        ("laplace", (0.0, -0.0)),
        ("laplace", ([0.0, 1.0], [1.0, 1.0, 1.0])),
        ("laplace", (0.0, 1.0, -1)),
        ("exponential", (-1.0,)),
    ],
)
def test_what_numpy_refuses_is_refused_alike(name, arguments):
    """What numpy.random refuses raises the same kind of error."""
    for stand_in in (np.random.RandomState(1), random):
        with pytest.raises(ValueError, match=r"scale|size|dimensions|broadcast"):
            getattr(stand_in, name)(*arguments)


@pytest.mark.parametrize("name", ["normal", "seed", "default_rng"])
def test_other_names_of_numpy_are_told_where_they_are(name):
    """What is not offered is no attribute, and the message says where it is instead."""
    assert not hasattr(random, name)
    with pytest.raises(AttributeError) as caught:
        getattr(random, name)
    assert str(caught.value) == (
        f"lapnoise.embed.numpy_random.random has no attribute {name!r}: it offers laplace and exponential alone; "
        "numpy.random.Generator(lapnoise.ChaChaBits()) draws from the other distributions, and "
        "lapnoise.default_rng(seed) takes a seed"
    )
    assert np.isfinite(np.random.Generator(lapnoise.ChaChaBits()).normal())


def test_the_generator_is_made_at_the_first_draw():
    """Nothing is keyed before something is drawn, and then by the operating system."""
    stand_in = Random()
    assert stand_in._made is None
    stand_in.laplace()
    assert not stand_in._made.repeatable


def test_threads_share_no_draw():
    """Many threads that begin at once never get the same draws."""
    stand_in, found = Random(), []
    barrier = threading.Barrier(8)

    def draw():
        barrier.wait()
        found.append(stand_in.laplace(size=1000))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(np.unique(found)) == 8000


def test_a_forked_process_has_draws_of_its_own():
    """After a fork parent and child draw differently, though the generator was made before."""
    script = """
    import multiprocessing
    from lapnoise.embed.numpy_random import random

    def draw(queue):
        queue.put(random.laplace(size=100).tolist())

    random.laplace()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=draw, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    drawn = {x for _ in children for x in queue.get()} | set(random.laplace(size=100).tolist())
    for child in children:
        child.join()
    print(len(drawn))
    """
    assert fresh_process.run(script) == "300\n"


# diffprivlib


MECHANISMS = [
    (diffprivlib.Laplace(epsilon=0.5, sensitivity=2, random_state=SEED), LaplaceMechanism(epsilon=0.5, sensitivity=2)),
    (
        diffprivlib.LaplaceBoundedDomain(epsilon=1, sensitivity=2, lower=-1, upper=5, random_state=SEED),
        BoundedLaplaceMechanism(epsilon=1, sensitivity=2, low=-1, high=5),
    ),
    (
        diffprivlib.LaplaceBoundedNoise(epsilon=1, delta=0.01, sensitivity=2, random_state=SEED),
        TruncatedLaplaceMechanism(epsilon=1, delta=0.01, sensitivity=2),
    ),
    (diffprivlib.Geometric(epsilon=0.1, random_state=SEED), DiscreteLaplaceMechanism(epsilon=0.1, sensitivity=1)),
    (
        diffprivlib.Gaussian(epsilon=1, delta=1e-5, sensitivity=2, random_state=SEED),
        GaussianMechanism(epsilon=1, delta=1e-5, sensitivity=2),
    ),
    (
        diffprivlib.GaussianAnalytic(epsilon=3, delta=1e-5, sensitivity=2, random_state=SEED),
        GaussianMechanism(epsilon=3, delta=1e-5, sensitivity=2),
    ),
    (
        diffprivlib.GaussianDiscrete(epsilon=1, delta=1e-5, random_state=SEED),
        GaussianMechanism(epsilon=1, delta=1e-5, sensitivity=1, integers=True),
    ),
]


@pytest.mark.parametrize(("theirs", "ours"), MECHANISMS, ids=[type(one).__name__ for one, _ in MECHANISMS])
def test_randomise_is_add_noise(theirs, ours):
    """Each class gives, number by number, what the mechanism of this library gives with the same generator."""
    rng = default_rng(SEED, rounds=20)
    values = [3, 4, 2]
    expected = [ours.add_noise(value, rng=rng) for value in values]
    got = [theirs.randomise(value) for value in values]
    assert theirs.mechanism == ours
    assert got == expected
    assert {type(x) for x in got} == {type(x) for x in expected}
    assert theirs.copy().mechanism is theirs.mechanism


def test_results_are_cut_off_after_the_noise():
    """The truncated classes give what is given without bounds, cut off at them; infinities leave a side open."""
    options = {"epsilon": 0.5, "sensitivity": 2, "random_state": SEED}
    free = [diffprivlib.Laplace(**options).randomise(3.0), diffprivlib.Geometric(**options).randomise(3)]
    for low, high in ((-100, 100), (3, 3), (-math.inf, 2), (4, math.inf)):
        cut = diffprivlib.LaplaceTruncated(lower=low, upper=high, **options).randomise(3.0)
        whole = diffprivlib.GeometricTruncated(lower=low, upper=high, **options).randomise(3)
        assert [cut, whole] == [min(max(x, low), high) for x in free]
        assert (type(cut), type(whole)) == (float, int)


@pytest.mark.parametrize("delta", ["0", "1e-300", "1e-6", "0.1", "0.999"])
def test_delta_buys_a_pure_loss(delta):
    """With a delta the mechanism's epsilon is epsilon - ln(1 - delta) or less, by at most 2^-60 of delta."""
    asked = diffprivlib.Laplace(epsilon="0.5", delta=delta, sensitivity=1).mechanism.epsilon_asked
    with mpmath.workdps(700):
        most = mpmath.mpf("0.5") - mpmath.log(1 - mpmath.mpf(delta))
        short = most - mpmath.mpf(asked.numerator) / asked.denominator
        assert short >= -(mpmath.mpf(10) ** -690)
        assert short <= mpmath.mpf(delta) * mpmath.mpf(2) ** -60


@pytest.mark.parametrize("value", [-7.0, -1.0, 0.5, 2.0, 5.0, 11.0])
@pytest.mark.parametrize("bounds", [(-1.0, 5.0), (-math.inf, 5.0), (-1.0, math.inf), (2.0, 2.0)])
def test_moments_of_what_is_cut_off(bounds, value):
    """Bias and variance of results that are cut off agree with quadrature, for values inside and outside the bounds."""
    mechanism = diffprivlib.LaplaceTruncated(epsilon=0.5, delta=0.1, sensitivity=1, lower=bounds[0], upper=bounds[1])
    b = mechanism.mechanism.scale

    def moment(power):
        def weighted(x):
            return (min(max(value + x, bounds[0]), bounds[1]) - value) ** power * math.exp(-abs(x) / b) / (2 * b)

        ends = sorted({-60 * b, 0.0, 60 * b, *(end - value for end in bounds if math.isfinite(end))})
        return sum(quad(weighted, low, high)[0] for low, high in itertools.pairwise(ends))

    assert mechanism.bias(value) == pytest.approx(moment(1), rel=1e-9, abs=1e-9)
    assert mechanism.variance(value) == pytest.approx(moment(2) - moment(1) ** 2, rel=1e-9, abs=1e-9)
    assert mechanism.mse(value) == pytest.approx(moment(2), rel=1e-9, abs=1e-9)


def clipped_moments(value, low, high, b):
    """Return bias, variance and mean square of clipped Laplace noise, by integrals in 1000 digits."""
    with mpmath.workdps(1000):  # the scale may be 10^15 times the room, or the room 10^4 scales
        low, high = mpmath.mpf(low) - value, mpmath.mpf(high) - value
        b = mpmath.mpf(b)

        def below(x):  # P(X < x)
            return mpmath.exp(x / b) / 2 if x < 0 else 1 - mpmath.exp(-x / b) / 2

        def side(power, first, last):  # integral of x^power exp(-x / b) / (2 b), 0 <= first
            if first >= last:
                return 0
            u, v = first / b, last / b

            def upper(x):  # of the gamma function at power + 1
                return 0 if mpmath.isinf(x) else mpmath.exp(-x) * ((1 + x) if power == 1 else (2 + 2 * x + x * x))

            return b**power * (upper(u) - upper(v)) / 2

        def moment(power):
            inside = side(power, max(low, 0), high) + (-1) ** power * side(power, max(-high, 0), -low)
            at_low = 0 if mpmath.isinf(low) else low**power * below(low)
            at_high = 0 if mpmath.isinf(high) else high**power * below(-high)
            return inside + at_low + at_high

        first, second = moment(1), moment(2)
        return float(first), float(second - first * first), float(second)


@pytest.mark.parametrize("epsilon", ["1e-160", "1e-12", "1e-8", "1e-4", "0.1", "1", "30", "1e3"])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-math.inf, 1.0), (0.0, math.inf), (-math.inf, math.inf), (1.0, 1.0)])
def test_moments_do_not_cancel(bounds, epsilon):
    """Bias, variance and mean square are right to 13 digits, however large the scale beside the bounds, and small."""
    mechanism = diffprivlib.LaplaceTruncated(epsilon=epsilon, sensitivity=1, lower=bounds[0], upper=bounds[1])
    for value in (-1000.0, -0.25, 0.0, 0.3, 0.5, 0.5000001, 1.0, 1.5):
        got = mechanism.bias(value), mechanism.variance(value), mechanism.mse(value)
        expected = clipped_moments(value, *bounds, mechanism.mechanism.scale)
        # The least float is far below: at a scale of 1e-3 nothing comes back to -1000.
        assert got == pytest.approx(expected, rel=1e-13, abs=1e-300), value


def test_moments_where_the_scale_is_huge():
    """At an epsilon of 1e-8 a result is an end by about a fair coin, wherever it comes from."""
    mechanism = diffprivlib.LaplaceTruncated(epsilon=1e-8, sensitivity=1, lower=0, upper=1)
    assert mechanism.variance(0.3) == pytest.approx(0.25, rel=1e-7)
    assert mechanism.mse(0.3) == pytest.approx(0.29, rel=1e-7)
    assert mechanism.variance(3) == pytest.approx(0.25, rel=1e-7)
    assert mechanism.bias(1e200) == -1e200
    assert mechanism.mse(1e200) == math.inf
    assert math.isnan(mechanism.bias(math.nan))
    assert math.isnan(mechanism.variance(math.nan))


def test_moments_of_a_bounded_domain():
    """Bias and variance at a value are those of the conditioned law, largest at an end and mirrored."""
    mechanism = diffprivlib.LaplaceBoundedDomain(epsilon=1, sensitivity=2, lower=-1, upper=5)
    at = [mechanism.variance(value) for value in (-1, 2.0, 5, 99)]
    assert max(at[:2]) == pytest.approx(mechanism.mechanism.std**2, rel=1e-12)
    assert at[0] == pytest.approx(at[2], rel=1e-12)
    assert at[2] == at[3]
    assert mechanism.bias(1.0) == pytest.approx(-mechanism.bias(3.0), rel=1e-12)
    b = mechanism.mechanism.scale
    total, first, second = (
        sum(quad(lambda x: x**k * math.exp(-abs(x) / b), *ends)[0] for ends in ((-2, 0), (0, 4)))  # noqa: B023
        for k in range(3)
    )
    assert mechanism.bias(1.0) == pytest.approx(first / total, rel=1e-6)
    assert mechanism.variance(1.0) == pytest.approx(second / total - (first / total) ** 2, rel=1e-6)


ENDS = {"lower": -1, "upper": 5}
ASKED = {
    "Laplace": {"epsilon": 0.1, "delta": 0.01, "sensitivity": 2},
    "LaplaceTruncated": {"epsilon": 0.1, "delta": 0.01, "sensitivity": 2.5, "lower": -math.inf, "upper": 5},
    "LaplaceBoundedDomain": {"epsilon": 0.1, "delta": 0.01, "sensitivity": 2.5, **ENDS},
    "LaplaceBoundedNoise": {"epsilon": 0.1, "delta": 0.01, "sensitivity": 2},
    "Geometric": {"epsilon": 0.1, "sensitivity": 3},
    "GeometricTruncated": {"epsilon": 0.1, "sensitivity": 3, "lower": -math.inf, "upper": 5},
    "Gaussian": {"epsilon": 0.1, "delta": 0.01, "sensitivity": 2},
    "GaussianAnalytic": {"epsilon": 0.1, "delta": 0.01, "sensitivity": 2},
    "GaussianDiscrete": {"epsilon": 0.1, "delta": 0.01, "sensitivity": 2},
}


@pytest.mark.parametrize("name", ASKED)
def test_attributes_are_what_was_asked(name):
    """Each class tells its parameters, also in a copy, and none can be set, which would change no noise."""
    mechanism = getattr(diffprivlib, name)(**ASKED[name], random_state=SEED).copy()
    expected = {"delta": 0.0, **ASKED[name], "random_state": SEED}
    assert {attribute: getattr(mechanism, attribute) for attribute in expected} == expected
    assert [type(getattr(mechanism, name)) for name in ("epsilon", "delta", "sensitivity")] == [float] * 3
    for attribute, value in expected.items():
        with pytest.raises(AttributeError, match=attribute):
            setattr(mechanism, attribute, value)
    assert hasattr(mechanism, "lower") == ("lower" in expected)


@pytest.mark.parametrize("name", ASKED)
def test_attributes_are_diffprivlibs(name):
    """Each parameter is an attribute there too, of the same value."""
    peer = pytest.importorskip("diffprivlib").mechanisms
    theirs, ours = (getattr(home, name)(**ASKED[name]) for home in (peer, diffprivlib))
    for attribute in ("epsilon", "delta", "sensitivity", "random_state", "lower", "upper"):
        assert getattr(ours, attribute, "none") == getattr(theirs, attribute, "none"), attribute


def test_effective_epsilon():
    """It is that of Laplace noise of the same scale, less than epsilon, and there is none beside a delta."""
    mechanism = diffprivlib.LaplaceBoundedDomain(epsilon=1, sensitivity=2, **ENDS)
    assert mechanism.effective_epsilon() == 2 / mechanism.mechanism.scale
    assert 0.5 < mechanism.effective_epsilon() < 1
    for delta in ("0.01", "1e-400"):
        beside = diffprivlib.LaplaceBoundedDomain(epsilon=1, delta=delta, sensitivity=2, **ENDS)
        assert beside.effective_epsilon() is None


def test_effective_epsilon_is_diffprivlibs():
    """It agrees with theirs, to what the lattice does."""
    peer = pytest.importorskip("diffprivlib").mechanisms
    for delta in (0.0, 0.01):
        options = {"epsilon": 1, "delta": delta, "sensitivity": 2, **ENDS}
        ours, theirs = (home.LaplaceBoundedDomain(**options).effective_epsilon() for home in (diffprivlib, peer))
        assert ours == (theirs and pytest.approx(theirs, rel=1e-6))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: diffprivlib.Laplace(epsilon=0, sensitivity=1), ValueError, "epsilon must be finite and > 0, got 0"),
        (lambda: diffprivlib.Laplace(epsilon=math.inf, sensitivity=1), ValueError, "epsilon must be finite and > 0"),
        (
            lambda: diffprivlib.Laplace(epsilon=1, delta=1, sensitivity=1),
            ValueError,
            "delta must be at least 0 and less",
        ),
        (
            lambda: diffprivlib.Laplace(epsilon=1, sensitivity=0),
            ValueError,
            "sensitivity must be finite and > 0, got 0",
        ),
        (
            lambda: diffprivlib.Laplace(epsilon=1, sensitivity=1, random_state=np.random.RandomState(1)),
            TypeError,
            "random_state must be None, an int or a lapnoise Generator, got RandomState",
        ),
        (
            lambda: diffprivlib.LaplaceTruncated(epsilon=1, sensitivity=1, lower=10, upper=0),
            ValueError,
            r"lower and upper must be two numbers with lower <= upper, got \(10, 0\)",
        ),
        (
            lambda: diffprivlib.LaplaceTruncated(epsilon=1, sensitivity=1, lower=0, upper=math.nan),
            ValueError,
            r"lower and upper must be two numbers with lower <= upper, got \(0, nan\)",
        ),
        (
            lambda: diffprivlib.LaplaceTruncated(epsilon=1, sensitivity=1, lower="a", upper=1),
            TypeError,
            "lower must be real numbers",
        ),
        (
            lambda: diffprivlib.LaplaceTruncated(epsilon=1, sensitivity=1, lower=0, upper=None),
            TypeError,
            "upper must be real numbers",
        ),
        (
            lambda: diffprivlib.GeometricTruncated(epsilon=1, lower=0.5, upper=1),
            TypeError,
            "lower must be an int, got 0.5",
        ),
        (
            lambda: diffprivlib.GeometricTruncated(epsilon=1, lower=0, upper=-math.inf),
            TypeError,
            "upper must be an int, got -inf",
        ),
        (
            lambda: diffprivlib.GeometricTruncated(epsilon=1, lower=2, upper=1),
            ValueError,
            r"lower and upper must be ints of 64 bits with lower <= upper, got \(2, 1\)",
        ),
        (
            lambda: diffprivlib.GeometricTruncated(epsilon=1, lower=0, upper=2**63),
            ValueError,
            "lower and upper must be ints of 64 bits with lower <= upper, got ",
        ),
        (
            lambda: diffprivlib.LaplaceBoundedDomain(epsilon=1, sensitivity=1, lower=0, upper=math.inf),
            ValueError,
            "upper must be finite, got inf",
        ),
        (
            lambda: diffprivlib.LaplaceBoundedDomain(epsilon=1, sensitivity=1, lower="a", upper=1),
            TypeError,
            "lower must be a number .* got 'a'",
        ),
        (
            lambda: diffprivlib.LaplaceBoundedDomain(epsilon=1, sensitivity=1, lower=1, upper=1),
            ValueError,
            "lower must be less than upper, got lower 1 and upper 1",
        ),
        (
            lambda: diffprivlib.LaplaceBoundedNoise(epsilon=1, delta=0, sensitivity=1),
            ValueError,
            "delta must be greater than 0",
        ),
        (
            lambda: diffprivlib.Laplace(epsilon=1, sensitivity=1).randomise([1.0]),
            TypeError,
            "value must be one real number, got a list",
        ),
        (
            lambda: diffprivlib.Geometric(epsilon=1).randomise(1.0),
            TypeError,
            "value must be one integer, got a float",
        ),
        (
            lambda: diffprivlib.Laplace(epsilon=1, sensitivity=1).randomise(math.inf),
            ValueError,
            "values must be finite or NaN",
        ),
        (
            lambda: diffprivlib.GeometricTruncated(epsilon=1, lower=0, upper=1).variance(1),
            NotImplementedError,
            "bias and variance of GeometricTruncated depend on the value",
        ),
    ],
)
def test_what_is_unsound_or_unknown_is_refused(call, error, message):
    """What has no guarantee, or no answer, is refused, and the message names the parameter."""
    with pytest.raises(error, match=f"^{message}"):
        call()


def test_noise_that_can_come_again_warns():
    """An int as random_state warns at each draw; without one results differ and nothing warns."""
    with pytest.warns(SeededNoiseWarning, match="can be drawn again"):
        diffprivlib.Laplace(epsilon=1, sensitivity=1, random_state=SEED).randomise(0.0)
    fresh = diffprivlib.Laplace(epsilon=1, sensitivity=1)
    assert len({fresh.randomise(0.0) for _ in range(20)}) == 20


STAND_IN = {
    "__init__.py": "",
    "mechanisms/__init__.py": "",
    "mechanisms/base.py": "class DPMechanism: pass\nclass LaplaceTruncated(DPMechanism): pass\n"
    "class {other}(DPMechanism): pass",
    "tools/__init__.py": "from diffprivlib.tools import histograms, utils",
    "tools/utils.py": "from diffprivlib.mechanisms.base import LaplaceTruncated, {other}\n"
    "check_random_state = None\n"
    "def mean(x, random_state=None):\n"
    "    rng = check_random_state(random_state)\n"
    "    kind = LaplaceTruncated(epsilon=1, sensitivity=1, lower=0, upper=9, random_state=rng)\n"
    "    return kind.randomise(x)\n"
    "count_nonzero = nanmean = nanstd = nansum = nanvar = std = sum = var = mean",
    "tools/histograms.py": "from diffprivlib.mechanisms.base import {other}\n"
    "def histogram(x): return {other}\nhistogram2d = histogramdd = histogram",
}


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Return a function that makes a diffprivlib of a few lines, one mechanism of which has a given name."""
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "diffprivlib"}

    def forget():
        for name in [name for name in sys.modules if name.partition(".")[0] == "diffprivlib"]:
            del sys.modules[name]

    def make(other):
        for name, text in STAND_IN.items():
            file = tmp_path / "diffprivlib" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.format(other=other))
        forget()
        monkeypatch.syspath_prepend(tmp_path)

    yield make
    forget()
    sys.modules.update(kept)


def test_tools_are_a_second_copy(stand_in):
    """The tools draw from this library's classes, and the module that others import keeps its own."""
    stand_in("GeometricTruncated")
    tools = diffprivlib.tools()
    expected = diffprivlib.LaplaceTruncated(epsilon=1, sensitivity=1, lower=0, upper=9, random_state=SEED)
    assert tools.mean(3.0, random_state=SEED) == expected.randomise(3.0)
    assert tools.histogram(0) is diffprivlib.GeometricTruncated
    theirs = sys.modules["diffprivlib.tools"]
    assert theirs.utils.LaplaceTruncated is sys.modules["diffprivlib.mechanisms.base"].LaplaceTruncated
    assert theirs.utils.check_random_state is None
    for name in ("quantile", "median", "percentile"):
        with pytest.raises(NotImplementedError, match=rf"^diffprivlib's {name} must not be asked here"):
            getattr(tools, name)([1.0], 0.5, bounds=(0, 1))


def test_a_tool_with_another_mechanism_is_refused(stand_in):
    """A version whose tools use a mechanism that is not offered gets none of its noise replaced, and no tools."""
    stand_in("Cauchy")
    with pytest.raises(NotImplementedError, match=r"^diffprivlib must use mechanisms .* got one that uses Cauchy$"):
        diffprivlib.tools()


def test_tools_as_they_are():
    """The tools of diffprivlib give what their sensitivities and this library's mechanisms give, call by call."""
    peer = pytest.importorskip("diffprivlib")
    tools = diffprivlib.tools()
    x = np.arange(600.0).reshape(200, 3) % 97
    rng, again = default_rng(SEED), default_rng(SEED)

    def laplace(epsilon, sensitivity, value, low, high):
        return LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity).add_noise(value, rng=again, clamp=(low, high))

    def whole(sensitivity, value, low, high):
        mechanism = DiscreteLaplaceMechanism(epsilon=0.5, sensitivity=sensitivity)
        return mechanism.add_noise(int(value), rng=again, clamp=(low, high))

    options = {"epsilon": 0.5, "random_state": rng}
    account = peer.BudgetAccountant()
    got = tools.mean(x, bounds=(0, 96), accountant=account, **options)
    assert account.total()[0] == pytest.approx(0.5)
    assert got == laplace(0.5, 96 / 600, x.mean(), 0.0, 96.0)
    assert tools.sum(x, bounds=(0, 96), **options) == laplace(0.5, 96, x.sum(), 0.0, 96.0 * 600)
    assert tools.sum(x, bounds=(0, 96), dtype=int, **options) == whole(96, x.sum(), 0, 96 * 600)
    assert tools.count_nonzero(x > 50, **options) == whole(1, (x > 50).sum(), 0, 600)
    counts, edges = tools.histogram(x, bins=4, range=(0, 97), **options)
    expected = [whole(1, n, 0, sys.maxsize) for n in np.histogram(x, bins=4, range=(0, 97))[0]]
    assert counts.tolist() == expected
    assert edges.tolist() == [0.0, 24.25, 48.5, 72.75, 97.0]
    columns = tools.nanmean(x, bounds=(0, 96), axis=0, **options)
    expected = [laplace(0.5 / 3, 96 / 200, float(x[:, i].mean()), 0.0, 96.0) for i in range(3)]
    assert columns.tolist() == expected
    bounded = BoundedLaplaceMechanism(epsilon=0.5, sensitivity=(96 / 600) ** 2 * 599, low=0, high=96**2 / 4)
    assert tools.var(x, bounds=(0, 96), **options) == bounded.add_noise(x.var(), rng=again)
    assert tools.std(x, bounds=(0, 96), **options) == math.sqrt(bounded.add_noise(x.var(), rng=again))
    assert rng.position == again.position
    assert tools.mean(x, bounds=(0, 96), random_state=3) == tools.mean(x, bounds=(0, 96), random_state=3)
    assert tools.mean(x, bounds=(0, 96)) != tools.mean(x, bounds=(0, 96))
    assert peer.tools.utils.LaplaceTruncated is peer.mechanisms.LaplaceTruncated


def test_moments_are_diffprivlibs():
    """Where both have a formula for the same law, bias and variance agree, to what the lattice does."""
    peer = pytest.importorskip("diffprivlib").mechanisms
    cut = {"epsilon": 1, "sensitivity": 2, "lower": -1, "upper": 5}
    for name, options, value in (
        ("Laplace", {"epsilon": 0.7, "delta": 0.1, "sensitivity": 2}, 3.0),
        ("LaplaceTruncated", cut, 1.5),
        ("LaplaceBoundedDomain", cut, 1.5),
        ("LaplaceBoundedNoise", {"epsilon": 1, "delta": 0.01, "sensitivity": 2}, 3.0),
        ("Geometric", {"epsilon": 0.7}, 3),
        ("GaussianAnalytic", {"epsilon": 0.7, "delta": 0.1, "sensitivity": 2}, 3.0),
    ):
        ours, theirs = getattr(diffprivlib, name)(**options), getattr(peer, name)(**options)
        assert ours.bias(value) == pytest.approx(theirs.bias(value), rel=1e-6), name
        if name != "LaplaceBoundedNoise":  # they have none
            assert ours.variance(value) == pytest.approx(theirs.variance(value), rel=1e-6), name


# OpenDP


def atom(kind, nan=False):
    """Return what is asked of OpenDP's domain of numbers."""
    return types.SimpleNamespace(type=f"AtomDomain<{kind}>", nan=nan, carrier_type=kind)


def vector(kind, size=None, nan=False):
    """Return what is asked of OpenDP's domain of vectors."""
    element = atom(kind, nan)
    return types.SimpleNamespace(
        type=f"VectorDomain<{element.type}>", element_domain=element, size=size, carrier_type=f"Vec<{kind}>"
    )


@pytest.fixture
def stub(monkeypatch):
    """Let there be an OpenDP that hands back what it is given."""

    def make_user_measurement(input_domain, input_metric, output_measure, function, privacy_map, TO):
        return types.SimpleNamespace(function=function, map=privacy_map, measure=output_measure, kind=TO)

    modules = {
        "opendp": types.ModuleType("opendp"),
        "opendp.measurements": types.SimpleNamespace(make_user_measurement=make_user_measurement),
        "opendp.measures": types.SimpleNamespace(max_divergence=lambda: "max"),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)


SCALES = [0.3, 1, 1000.0, "1/3", 5e-324, 1e300]


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("scale", SCALES)
def test_the_map_bounds_every_pair_of_floats(scale, size):
    """No two vectors come to lie further apart, in scales of the noise, than the map says, and some as far."""
    made = opendp.make_laplace(vector("f64", size), "L1Distance<f64>", scale)
    mechanism = opendp._mechanism(scale, np.dtype(np.float64), (size,))
    r, t = mechanism.lattice.granularity, Fraction(mechanism.lattice.t)
    assert Fraction(scale) <= t * r <= Fraction(scale) * (1 + size * Fraction(2) ** -39) + size * r
    assert t * r == Fraction(mechanism.scale)
    tiny = r / 1000
    for whole in (1, 2, 1000, mechanism.lattice.sensitivity):
        # One coordinate takes all but the little that each other one needs to cross the middle between two points.
        moved = [r * whole - (size - 1) * tiny, *[tiny] * (size - 1)]
        below = [r * Fraction(2 * k + 1, 2) - tiny / 2 for k in range(size)]
        assert sum(moved) == r * whole
        steps = sum(
            round_half_up(x + d, mechanism.lattice.exponent) - round_half_up(x, mechanism.lattice.exponent)
            for x, d in zip(below, moved, strict=True)
        )
        assert steps == whole + size - 1
        assert steps / t <= Fraction(made.map(r * whole)) <= steps / t * (1 + Fraction(2) ** -52)
    assert made.map(0.0) == 0.0
    assert Fraction(made.map(Fraction(scale))) <= 1 + Fraction(2) ** -52
    assert (made.measure, made.kind) == ("max", "Vec<f64>")


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize("scale", [0.3, 1, 1000.0, "1/3"])
def test_the_map_of_integers_is_the_ratio(scale):
    """Integers lose d_in / t, whatever their number, rounded up by less than a last bit."""
    for domain, metric in ((atom("i32"), "AbsoluteDistance<i32>"), (vector("i64"), "L1Distance<f64>")):
        made = opendp.make_laplace(domain, metric, scale)
        for distance in (1, 3, 10**6):
            exact = distance / Fraction(opendp._mechanism(scale, np.dtype(np.int64), ()).lattice.t)
            assert exact <= Fraction(made.map(distance)) <= exact * (1 + Fraction(2) ** -52)
            assert exact <= distance / Fraction(scale)


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize(
    ("domain", "metric", "value", "dtype"),
    [
        (atom("f64"), "AbsoluteDistance<f64>", 3.5, np.float64),
        (atom("f32"), "AbsoluteDistance<f32>", 3.5, np.float32),
        (vector("f64", 3), "L1Distance<f64>", [3.5, 1.0, -2.0], np.float64),
        (vector("f32", 3), "L1Distance<f64>", [3.5, 1.0, -2.0], np.float32),
        (atom("i32"), "AbsoluteDistance<i32>", 3, np.int32),
        (vector("i64"), "L1Distance<i64>", [2**62 + 1, 4], np.int64),
        (vector("u32", 2), "L1Distance<u32>", [2**31, 4], np.uint32),
        (vector("i32"), "L1Distance<u32>", [], np.int32),
        (vector("f64", 0), "L1Distance<f64>", [], np.float64),
    ],
)
def test_a_measurement_adds_the_mechanisms_noise(domain, metric, value, dtype):
    """What is measured is the noise of the mechanism of that scale, bit for bit, as numbers of Python."""
    made = opendp.make_laplace(domain, metric, 2.0, rng=default_rng(SEED))
    mechanism = opendp._mechanism(2.0, np.dtype(dtype), np.shape(value))
    expected = mechanism.add_noise(np.array(value, dtype), rng=default_rng(SEED))
    assert made.function(value) == expected.tolist()
    assert mechanism.scale == pytest.approx(2.0, rel=1e-9)


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize(("kind", "low", "high"), [("i32", -(2**31), 2**31 - 1), ("u8", 0, 255), ("i8", -128, 127)])
def test_integers_saturate_at_the_ends_of_their_type(kind, low, high):
    """Noise that leads beyond the type leaves its end."""
    made = opendp.make_laplace(vector(kind), "L1Distance<i32>", 1e15)
    assert set(made.function([low, high] * 50)) == {low, high}


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ((atom("f64", nan=True), "AbsoluteDistance<f64>", 1), ValueError, "input_domain must not hold NaN, got "),
        ((vector("f64", 2, nan=True), "L1Distance<f64>", 1), ValueError, "input_domain must not hold NaN, got "),
        ((vector("f64"), "L1Distance<f64>", 1), ValueError, "input_domain must tell the size of vectors of floats"),
        ((atom("f64"), "L1Distance<f64>", 1), TypeError, "input_domain and input_metric must be numbers"),
        ((vector("f64", 2), "L2Distance<f64>", 1), TypeError, "input_domain and input_metric must be numbers"),
        ((vector("i32"), "SymmetricDistance", 1), TypeError, "input_domain and input_metric must be numbers"),
        ((atom("u64"), "AbsoluteDistance<u64>", 1), TypeError, "input_domain and input_metric must be numbers"),
        ((atom("bool"), "DiscreteDistance", 1), TypeError, ".*got AtomDomain<bool> and DiscreteDistance$"),
        ((1, 2, 1), TypeError, ".*got 1 and 2$"),
        ((atom("f64"), "AbsoluteDistance<f64>", 0), ValueError, "scale must be finite and > 0, got 0"),
        ((atom("f64"), "AbsoluteDistance<f64>", math.inf), ValueError, "scale must be finite and > 0, got inf"),
        ((atom("f64"), "AbsoluteDistance<f64>", "1e400"), OverflowError, "scale and granularity must be floats"),
    ],
)
def test_spaces_that_do_not_fit_are_refused(call, error, message):
    """Domains for which no map is known, and scales that are none, are refused."""
    with pytest.raises(error, match=f"^{message}"):
        opendp.make_laplace(*call)


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize("rng", [np.random.default_rng(SEED), SEED])
def test_a_foreign_generator_is_refused_when_a_measurement_is_made(rng):
    """What is no generator of this library is refused at once, and not at the first call of the measurement."""
    with pytest.raises(TypeError, match=r"^rng must be a lapnoise Generator or None, got "):
        opendp.make_laplace(atom("f64"), "AbsoluteDistance<f64>", 1, rng=rng)


@pytest.mark.usefixtures("stub")
def test_data_outside_the_domain_are_refused():
    """Data that the map does not speak of are refused before a word is drawn: other sizes, NaN and infinities."""
    rng = default_rng(SEED)
    made = opendp.make_laplace(vector("f64", 2), "L1Distance<f64>", 1, rng=rng)
    for value, message in (
        ([1.0], r"values must have the shape \(2,\) of their domain, got \(1,\)"),
        ([1.0, math.nan], r"values\[1\] must be finite"),
        ([math.inf, 1.0], r"values\[0\] must be finite"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            made.function(value)
    with pytest.raises(ValueError, match=r"^values must have the shape \(n,\) of their domain, got \(1, 2\)"):
        opendp.make_laplace(vector("i32"), "L1Distance<i32>", 1).function([[1, 2]])
    for distance in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=r"^distance must be finite and >= 0"):
            made.map(distance)
    assert rng.position == 0


def test_measurements_are_opendps():
    """They chain after OpenDP's transformations, compose, and have their scale searched for, with sound losses."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    space = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0), nan=False), size=100), dp.symmetric_distance()
    total = space >> dp.t.then_sum()

    def make(scale):
        return total >> opendp.make_laplace(total.output_domain, total.output_metric, scale)

    chain = make(20.0)
    loss = chain.map(2)
    moved = Fraction(total.map(2))  # 10 and the rounding of the sum
    assert moved / 20 <= Fraction(loss) <= moved / 20 * (1 + Fraction(2) ** -30)
    rng = default_rng(SEED)
    known = opendp.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), 20.0, rng=rng)
    assert known(100.0) == opendp._mechanism(20.0, np.dtype(float), ()).add_noise(100.0, rng=default_rng(SEED))
    both = dp.c.make_composition([chain, chain])
    first, second = both([1.0] * 100)
    assert first != second
    assert both.map(2) >= 2 * loss
    found = dp.binary_search_param(make, d_in=2, d_out=0.5)
    assert make(found).map(2) <= 0.5
    assert found == pytest.approx(20.0, rel=1e-9)
    rounded = chain >> (lambda x: round(x))
    assert type(rounded([1.0] * 100)) is int
    count = (dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()) >> dp.t.then_count()
    counted = count >> opendp.make_laplace(count.output_domain, count.output_metric, 2.0)
    assert counted.map(1) == 0.5
    assert type(counted([1, 2, 3])) is int
    with pytest.raises(ValueError, match=r"input_domain must not hold NaN"):
        opendp.make_laplace(dp.atom_domain(T=float), dp.absolute_distance(T=float), 1.0)
    with pytest.raises(ValueError, match=r"input_domain must tell the size"):
        opendp.make_laplace(dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float), 1.0)


# The page


@pytest.mark.parametrize("peer", ["diffprivlib", "opendp", "torch"])
def test_recipes_of_the_page_run(peer, capsys):
    """What docs/migrating.md shows for a library runs where that is installed."""
    recipes = [textwrap.dedent(text) for text in RECIPE.findall(PAGE) if text.strip()]
    mine = [text for text in recipes if re.search(rf"^(import {peer}|from lapnoise.embed import {peer})", text, re.M)]
    assert len(mine) == 1
    pytest.importorskip(peer)
    exec(compile(mine[0], "docs/migrating.md", "exec"), {})
    assert capsys.readouterr().out


def test_embed_offers_what_it_has():
    """The package hands out its modules, and nothing else."""
    from lapnoise import embed

    names = ["capi", "diffprivlib", "jit", "numpy_bits", "numpy_random", "opendp", "tensors"]
    assert embed.__all__ == names
    assert [getattr(embed, name).__name__ for name in names] == [f"lapnoise.embed.{name}" for name in names]
    assert dir(embed) == embed.__all__
    assert lapnoise.embed is embed
    with pytest.raises(AttributeError, match=r"^module 'lapnoise.embed' has no attribute 'tensorflow'$"):
        embed.tensorflow  # noqa: B018
