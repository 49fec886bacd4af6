"""StratifiedLaplaceMechanism: each value has its stratum's own noise, on one lattice; what people spend."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from bitwise import same
from stats import absolute_power_moments, accept, moment, reject

from lapnoise import LaplaceMechanism, SeededNoiseWarning, StratifiedLaplaceMechanism, default_rng
from lapnoise._exact_noise import exact_draw
from lapnoise._strata_noise import strata_kernel
from lapnoise.lattice import release

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

SEED = 91
BANDS = {"a": 2, "b": 1, "c": "0.5", "d": "0.1", "e": "0.001"}


def mechanism(**changes) -> StratifiedLaplaceMechanism:
    """Return a mechanism of five strata, for single values."""
    return StratifiedLaplaceMechanism(**{"epsilon": BANDS, "sensitivity": 1, "changed": 1, **changes})


def some_strata(n: int) -> np.ndarray:
    """Return strata in no order."""
    return np.array(list(BANDS))[np.random.default_rng(4).integers(0, len(BANDS), n)]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint64, np.int16])
def test_each_value_has_the_noise_of_its_stratum(kind):
    """Bit for bit a value gets what its stratum's own mechanism would give it at the same place of the stream."""
    m, n = mechanism(), 70_000
    values = (np.arange(n) % 1000).astype(kind)
    strata = some_strata(n)
    got = m.add_noise(values, strata, rng=default_rng(SEED))

    for name in BANDS:
        alone = m.stratum(name).add_noise(values, rng=default_rng(SEED))
        assert same(got[strata == name], alone[strata == name])
    assert got.dtype == (np.float32 if kind == np.float32 else np.float64)


def test_noise_is_the_exact_draw():
    """Each result is the exact sum of value and draw by the last tier alone, for scales of up to 2^43 steps."""
    m = StratifiedLaplaceMechanism(epsilon={0: 1, 1: "1e-8", 7: 3}, sensitivity="0.1", changed=3)
    scales = [m.stratum(name).lattice.t for name in m.strata]
    assert 2**40 < max(scales) <= 2**43
    source = default_rng(SEED)._stream.source
    values, strata = np.linspace(-5, 5, 300), np.arange(300) % 3
    got = m.add_noise(values, np.array([0, 1, 7])[strata], rng=default_rng(SEED))
    exponent = m.lattice.exponent
    wanted = [
        release(Fraction(x), exact_draw(scales[s], source, i), exponent)
        for i, (x, s) in enumerate(zip(values.tolist(), strata.tolist(), strict=True))
    ]

    assert same(got, np.array(wanted))


def test_draws_that_a_first_word_leaves_open():
    """Where the kernel leaves draws open they are made by the last tier: with 2^43 steps in one batch in sixteen."""
    scales = [2.0**43, 3.0]
    n = 200_000
    out, strata = np.empty(n, np.int64), (np.arange(n) % 2).astype(np.int32)
    rng = default_rng(SEED, threads=1)
    strata_kernel(scales)(out, strata, rng._stream.source, 0, None)

    assert np.array_equal(out[::2], default_rng(SEED).discrete_laplace(2.0**43, n)[::2])
    assert np.array_equal(out[1::2], default_rng(SEED).discrete_laplace(3.0, n)[1::2])


def test_scales_differ_as_epsilons_do():
    """The mean magnitude in each stratum is sensitivity / epsilon; a mutant 2 % too small is caught."""
    m, n = mechanism(epsilon={"low": 1, "high": "0.2"}), 800_000
    codes = np.arange(n) % 2
    noise = m.add_noise(np.zeros(n), pd.Categorical.from_codes(codes, ["low", "high"]), rng=default_rng(SEED))
    for place, b in ((0, 1.0), (1, 5.0)):
        sample = np.abs(noise[codes == place])
        accept(moment("mean of abs(noise) / b", sample / b, absolute_power_moments(1)))
        reject(moment("mean of abs(noise) / b", sample / b * 0.98, absolute_power_moments(1)))


@pytest.mark.parametrize(
    "as_strata",
    [
        list,
        lambda names: np.array(names, object),
        pd.Series,
        lambda names: pd.Series(names, dtype="category"),
        lambda names: pd.Categorical(names, categories=["unused", "e", "d", "c", "b", "a"]),
        lambda names: pd.Series(names, dtype="string[pyarrow]"),
    ],
)
def test_kinds_of_strata(as_strata):
    """Lists, arrays, Series and categories name the same strata."""
    names = some_strata(100).tolist()
    wanted = mechanism().add_noise(np.zeros(100), np.array(names), rng=default_rng(SEED))

    assert same(mechanism().add_noise(np.zeros(100), as_strata(names), rng=default_rng(SEED)), wanted)


def test_kinds_of_values():
    """A Series stays one, a number a number, two dimensions two; layouts, threads and places do not matter."""
    m = mechanism()
    series = pd.Series([1.0, 2.0], index=[5, 6], name="x")
    noisy = m.add_noise(series, ["a", "b"], rng=default_rng(SEED))
    assert list(noisy.index) == [5, 6]
    assert noisy.name == "x"
    assert isinstance(m.add_noise(1.0, "a"), float)
    assert m.add_noise([], []).shape == (0,)
    strata, x = some_strata(300_000), np.zeros(300_000)
    wanted = m.add_noise(x, strata, rng=default_rng(SEED, threads=1))
    assert same(m.add_noise(x, strata, rng=default_rng(SEED, threads=2)), wanted)
    table = np.zeros((500, 1200))[:, ::2]
    assert same(m.add_noise(table, strata.reshape(500, 600), rng=default_rng(SEED)).ravel(), wanted)
    narrow = m.add_noise(table.astype(np.float32), strata.reshape(500, 600), rng=default_rng(SEED))
    assert same(narrow.ravel(), wanted.astype(np.float32))
    later = default_rng(SEED)
    later.seek(100)
    assert same(m.add_noise(x[100:], strata[100:], rng=later), wanted[100:])
    x[3] = np.nan
    with_missing = m.add_noise(x, strata, out=x, rng=default_rng(SEED), clamp=(-1e9, 1e9))
    assert with_missing is x
    assert np.isnan(x[3])
    assert same(np.delete(x, 3), np.delete(wanted, 3))


def test_what_people_spend():
    """One stratum costs the largest epsilon, two the two largest, all of them the sum; that is what is charged."""
    epsilons = {"x": "0.5", "y": 1, "z": "0.3"}
    asked = {k: mechanism(epsilon=epsilons, strata_per_person=k).epsilon_asked for k in (1, 2, 3, None)}

    assert asked == {1: 1, 2: Fraction(3, 2), 3: Fraction(9, 5), None: Fraction(9, 5)}
    m = mechanism(epsilon=epsilons, strata_per_person=2)
    assert m.spent() == m.privacy_loss(1)[0] <= Fraction(3, 2)
    assert m.spent(1) == m.stratum("y").epsilon == m.privacy_loss(1)[0] - m.stratum("x").epsilon
    assert m.privacy_loss(0) == (0, 0)
    assert mechanism(epsilon=epsilons).strata_per_person == 3


def test_privacy_loss_is_that_of_the_mass():
    """For each stratum log P(k) / P(k - d) of the discrete law is at most the loss told, up to the lattice's d."""
    m = StratifiedLaplaceMechanism(epsilon={"x": "0.5", "y": 2}, sensitivity=3, changed=2, granularity=1)
    for name in m.strata:
        t = Fraction(m.stratum(name).lattice.t)
        assert m.stratum(name).lattice.sensitivity == 4
        for d in range(5):
            worst = max((abs(k) - abs(k - d)) / t for k in range(-20, 21))
            assert worst <= m.stratum(name).epsilon <= m.stratum(name).epsilon_asked
    assert m.stratum("x").lattice.exponent == m.stratum("y").lattice.exponent == 0


def test_mechanisms_are_values():
    """Equal parameters make equal mechanisms, which pickle, print and stay as they are."""
    m = mechanism(strata_per_person=2)
    assert pickle.loads(pickle.dumps(m)) == m == mechanism(strata_per_person=2)
    assert hash(m) == hash(mechanism(strata_per_person=2))
    assert m != mechanism(strata_per_person=1)
    assert repr(m).startswith("StratifiedLaplaceMechanism(epsilon={'a': 2.0, 'b': 1.0, 'c': 0.5")
    with pytest.raises(AttributeError, match="immutable"):
        m.strata = ()
    with pytest.raises(TypeError):
        m.epsilon["a"] = 3
    assert m.for_length(9) is m
    assert mechanism(changed=None).for_length(9).changed == 9
    assert m.scale == {name: m.stratum(name).scale for name in BANDS}
    assert m.variance["d"] == m.mse["d"] == m.std["d"] ** 2
    assert m.interval("0.95")["e"] == m.stratum("e").interval("0.95")


def test_epsilon_from_a_wanted_accuracy():
    """In each stratum the noise is as small as wanted, with an epsilon that is needed but for 1e-5 of it."""
    wanted = {"small": "0.5", "large": 40}
    found = StratifiedLaplaceMechanism.epsilon_for(sensitivity=2, std=wanted, changed=1)
    m = mechanism(epsilon=found, sensitivity=2)
    for name, std in wanted.items():
        assert m.std[name] <= float(std) < m.std[name] * 1.00001
    halves = StratifiedLaplaceMechanism.epsilon_for(sensitivity=2, half_width=wanted, confidence="0.9", changed=1)
    m = mechanism(epsilon=halves, sensitivity=2)
    assert m.interval("0.9")["large"] <= 40 < m.interval("0.9")["large"] * 1.00001
    for names, match in (
        ({}, "got neither"),
        ({"std": wanted, "half_width": wanted}, "got both"),
        ({"std": 3}, "map each"),
    ):
        with pytest.raises(TypeError, match=match):
            StratifiedLaplaceMechanism.epsilon_for(sensitivity=1, **names)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"epsilon": {}}, ValueError, "epsilon must name at least one stratum, got none"),
        ({"epsilon": 1}, TypeError, "epsilon must map each stratum to its epsilon, got 1"),
        ({"epsilon": {"a": 1, "b": 0}}, ValueError, "epsilon must be finite and > 0, got 0 for stratum 'b'"),
        ({"epsilon": {"a": "x"}}, TypeError, "epsilon must be a number .* got 'x' for stratum 'a'"),
        ({"epsilon": {1.5: 1}}, TypeError, "epsilon must name strata by text or ints, got 1.5"),
        ({"epsilon": {True: 1}}, TypeError, "epsilon must name strata by text or ints, got True"),
        ({"epsilon": {"a": 1, "b": 1e-10}}, ValueError, r"must not differ by more than 2\*\*30 .* got 1e-10 to 1"),
        ({"strata_per_person": 0}, ValueError, "strata_per_person must be >= 1, got 0"),
        ({"changed": 10**13}, OverflowError, r"below 2\*\*43 steps"),
        ({"granularity": 3}, ValueError, "granularity must be a power of two"),
        ({"sensitivity": 0}, ValueError, "sensitivity must be finite and > 0, got 0"),
    ],
)
def test_refused_parameters(changes, kind, message):
    """Parameters that make no sense are refused by name, rule and value."""
    with pytest.raises(kind, match=message):
        mechanism(**changes)


@pytest.mark.parametrize(
    ("values", "strata", "kind", "message"),
    [
        ([1.0, 2.0], ["a", "z"], ValueError, r"strata\[1\] must be one of \['a', 'b', 'c', 'd', 'e'\], got 'z'"),
        ([1.0, 2.0], ["a", None], ValueError, r"strata\[1\] must be one of .* got None"),
        ([1.0, 2.0], ["a", np.nan], ValueError, r"strata\[1\] must be one of .* got"),
        ([1.0, 2.0], pd.Categorical(["a", None]), ValueError, r"strata\[1\] must be one of .* got a missing value"),
        ([1.0, 2.0], ["a"], ValueError, r"strata must have the shape of values, \(2,\), got \(1,\)"),
        ([1.0, 2.0], "a", ValueError, r"strata must have the shape of values, \(2,\), got \(\)"),
        ([[1.0], [2.0]], [["a"], ["z"]], ValueError, r"strata\[1, 0\] must be one of"),
        ([1.0, np.inf], ["a", "b"], ValueError, r"values\[1\] must be finite or NaN"),
        (["x"], ["a"], TypeError, "values must be real numbers"),
        (
            pd.Series([1.0, 2.0]),
            pd.Series(["a", "b"], index=[1, 0]),
            ValueError,
            "strata must have the index of values",
        ),
    ],
)
def test_refused_values(values, strata, kind, message):
    """Unknown, missing and misshapen strata are refused before a word is drawn."""
    rng = default_rng(SEED)
    with pytest.raises(kind, match=message):
        mechanism().add_noise(values, strata, rng=rng)
    assert rng.position == 0


def test_an_int_is_not_its_text():
    """Stratum 1 is not stratum "1", nor True."""
    m = mechanism(epsilon={1: 1, "1": 2})
    assert m.stratum(1).epsilon_asked == 1
    assert m.stratum("1").epsilon_asked == 2
    with pytest.raises(ValueError, match="stratum must be one of"):
        m.stratum(True)
    with pytest.raises(ValueError, match=r"strata\[0\] must be one of"):
        mechanism(epsilon={1: 1}).add_noise([0.0], [True])


def test_seeded_noise_warns():
    """A generator whose noise can be drawn again is told of, at the caller's line."""
    with pytest.warns(SeededNoiseWarning) as caught:
        mechanism().add_noise(0.0, "a", rng=default_rng(1))
    assert caught[0].filename == __file__


def test_one_stratum_is_the_laplace_mechanism():
    """With one stratum noise and lattice are those of LaplaceMechanism."""
    plain = LaplaceMechanism(epsilon="0.3", sensitivity="2.5")
    m = StratifiedLaplaceMechanism(epsilon={"all": "0.3"}, sensitivity="2.5")
    x = np.linspace(0, 1, 1000)
    assert m.lattice == plain.lattice
    assert same(m.add_noise(x, ["all"] * 1000, rng=default_rng(SEED)), plain.add_noise(x, rng=default_rng(SEED)))
