"""What is asked of the noise: rows that are persons, bounds, filling, and mechanisms other than Laplace."""

import hashlib
from fractions import Fraction

import numpy as np
import pytest

import lapnoise
from lapnoise._numbers import SquareRoot
from lapnoise.errors import InputDataError, SeededNoiseWarning
from lapnoise.files import add_noise

SEED = 11


def noised(tmp_path, values, **options):
    """Return what comes out of an NPY file, and the receipt."""
    np.save(tmp_path / "s.npy", values)
    with pytest.warns(SeededNoiseWarning):
        receipt = add_noise(tmp_path / "s.npy", tmp_path / "t.npy", seed=SEED, force=True, **options)
    return np.load(tmp_path / "t.npy"), receipt


def refused(tmp_path, values, kind=ValueError, **options):
    np.save(tmp_path / "s.npy", values)
    with pytest.raises(kind) as caught:
        add_noise(tmp_path / "s.npy", tmp_path / "t.npy", **options)
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.npy"]
    return str(caught.value)


def by_mechanism(mechanism, values, *others):
    with pytest.warns(SeededNoiseWarning):
        return mechanism.add_noise(values, *others, rng=lapnoise.default_rng(SEED, rounds=20))


VALUES = np.random.default_rng(5).normal(50, 40, 1000)
INTEGERS = np.random.default_rng(6).integers(-50, 200, 1000)


def test_each_mechanism_gives_its_own_noise(tmp_path):
    """A file holds what the mechanism for its number of cells makes of the values."""
    got, receipt = noised(tmp_path, VALUES, mechanism="gaussian", epsilon=1, delta="1e-6", sensitivity=2)
    mechanism = lapnoise.GaussianMechanism(epsilon=1, delta="1e-6", sensitivity=2, changed=1000)
    np.testing.assert_array_equal(got, by_mechanism(mechanism, VALUES))
    assert (receipt.mechanism, receipt.delta, receipt.sensitivity) == ("gaussian", "1/1000000", "2")
    assert receipt.scale == mechanism.scale
    assert Fraction(receipt.delta_attained) == mechanism.delta_attained
    assert "L2 sensitivity" in receipt.cost

    clip = (0, 100)
    got, receipt = noised(tmp_path, VALUES, mechanism="bounded-laplace", epsilon=1, sensitivity=1, clip=clip)
    mechanism = lapnoise.BoundedLaplaceMechanism(epsilon=1, sensitivity=1, low=0, high=100, changed=1000)
    np.testing.assert_array_equal(got, by_mechanism(mechanism, np.clip(VALUES, 0, 100)))
    assert (got.min() >= 0, got.max() <= 100, receipt.clip) == (True, True, [0.0, 100.0])

    got, receipt = noised(tmp_path, INTEGERS, mechanism="discrete-laplace", epsilon=1, sensitivity=1)
    np.testing.assert_array_equal(
        got, by_mechanism(lapnoise.DiscreteLaplaceMechanism(epsilon=1, sensitivity=1), INTEGERS)
    )
    assert (got.dtype, receipt.types) == (np.int64, ("int64 -> int64",))


def test_a_mechanism_can_be_handed_over(tmp_path):
    mechanism = lapnoise.LaplaceMechanism(epsilon="0.3", sensitivity=2, changed=3)
    got, receipt = noised(tmp_path, VALUES, mechanism=mechanism)
    np.testing.assert_array_equal(got, by_mechanism(mechanism, VALUES))
    assert (receipt.mechanism, receipt.epsilon, receipt.sensitivity, receipt.changed) == ("laplace", "3/10", "2", 3)
    unbound = lapnoise.LaplaceMechanism(epsilon="0.3", sensitivity=2)
    got, receipt = noised(tmp_path, VALUES, mechanism=unbound)
    np.testing.assert_array_equal(got, by_mechanism(unbound.for_length(1000), VALUES))
    assert receipt.changed == 1000
    whole = lapnoise.GaussianMechanism(epsilon=1, delta="1e-6", sensitivity=1, integers=True)
    got, _ = noised(tmp_path, INTEGERS, mechanism=whole)
    np.testing.assert_array_equal(got, by_mechanism(whole.for_length(1000), INTEGERS))


@pytest.mark.parametrize(
    ("name", "options", "klass", "parameters"),
    [
        ("laplace", {}, lapnoise.LaplaceMechanism, {"sensitivity": 300, "changed": 3}),
        # L2: sqrt(3 100^2)
        ("gaussian", {"delta": "1e-5"}, lapnoise.GaussianMechanism, {"delta": "1e-5", "changed": 3}),
        ("discrete-laplace", {}, lapnoise.DiscreteLaplaceMechanism, {"sensitivity": 300}),
        (
            "bounded-laplace",
            {},
            lapnoise.BoundedLaplaceMechanism,
            {"sensitivity": 300, "changed": 3, "low": 0, "high": 100},
        ),
    ],
)
def test_rows_that_are_persons(tmp_path, name, options, klass, parameters):
    """The bounds give the sensitivity: the sum of the widths of a row's cells, or its Euclidean norm."""
    values = (INTEGERS if name == "discrete-laplace" else VALUES)[:999].reshape(333, 3)
    got, receipt = noised(tmp_path, values, mechanism=name, epsilon=2, local=True, clip=(0, 100), **options)
    if name == "gaussian":
        parameters = {**parameters, "sensitivity": SquareRoot(Fraction(30000))}
    mechanism = klass(epsilon=2, **parameters)
    np.testing.assert_array_equal(got, by_mechanism(mechanism, np.clip(values, 0, 100)))
    assert (receipt.local, receipt.changed, receipt.epsilon) == (True, 3, "2")
    assert receipt.cost.startswith("Each row is one person, who pays epsilon")
    assert receipt.scale == mechanism.scale


def test_persons_may_not_be_missing(tmp_path):
    """A null mask is published as it is, which a person who is a row did not agree to."""
    values = VALUES.copy()
    values[[7, 9]] = np.nan
    options = {"epsilon": 1, "local": True, "clip": (0, 100)}
    message = refused(tmp_path, values, InputDataError, **options)
    assert message == (
        "index (7), flat index 7, has a missing cell, where a number must stand; "
        "fill says what such a cell counts as (--fill)"
    )
    assert refused(tmp_path, values, InputDataError, dry_run=True, **options) == message
    got, receipt = noised(tmp_path, values, fill=20, **options)
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=100, changed=1)
    np.testing.assert_array_equal(got, by_mechanism(mechanism, np.clip(np.nan_to_num(values, nan=20.0), 0, 100)))
    # How many were missing is not told either.
    assert (receipt.cells_noised, receipt.cells_missing, receipt.fill) == (1000, 0, 20.0)


def test_infinities_are_bounded_or_refused(tmp_path):
    values = np.array([1.0, np.inf, -np.inf, 5.0])
    message = refused(tmp_path, values, InputDataError, epsilon=1, sensitivity=1)
    assert message == (
        "index (1), flat index 1, has an infinite number, where a finite number or NaN must stand; "
        "clip bounds such values (--clip)"
    )
    got, _ = noised(tmp_path, values, epsilon=1, sensitivity=1, clip=(2, 4))
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1, changed=4)
    np.testing.assert_array_equal(got, by_mechanism(mechanism, np.array([2.0, 4.0, 2.0, 4.0])))


def test_bounds_lie_inside_of_what_was_asked(tmp_path):
    """Bounds that are no floats are taken inwards: float32 of 0.3 is above it."""
    got, _ = noised(tmp_path, np.full(100, 1.0, np.float32), epsilon="1e9", local=True, clip=(0, "0.3"))
    assert got.dtype == np.float32
    assert abs(float(got[0]) - float(np.nextafter(np.float32(0.3), np.float32(0)))) < 1e-7
    got, _ = noised(
        tmp_path, INTEGERS, mechanism="discrete-laplace", epsilon=1000, sensitivity=1, clip=("-0.5", "99.5")
    )
    np.testing.assert_array_equal(got, np.clip(INTEGERS, 0, 99))
    unsigned = np.array([0, 2**64 - 1, 2**63], np.uint64)
    got, _ = noised(tmp_path, unsigned, mechanism="discrete-laplace", epsilon=1000, sensitivity=1, clip=(-5, 2**62))
    np.testing.assert_array_equal(got, [0, 2**62, 2**62])


def test_clamping_comes_after_noise(tmp_path):
    got, receipt = noised(tmp_path, VALUES, epsilon=1, sensitivity=10, clamp=(0, 90))
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=10, changed=1000)
    np.testing.assert_array_equal(got, np.clip(by_mechanism(mechanism, VALUES), 0, 90))
    assert receipt.clamp == [0, 90]
    assert receipt.scale == mechanism.scale


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 1}, "sensitivity must be given for mechanism 'laplace'"),
        ({"epsilon": 1, "local": True}, "clip must be given where local is True"),
        ({"epsilon": 1, "local": True, "clip": (0, 1), "sensitivity": 1}, "sensitivity must be left out where local"),
        ({"epsilon": 1, "local": True, "clip": (0, 1), "changed": 1}, "changed must be left out where local"),
        ({"epsilon": 1, "sensitivity": 1, "clip": (2, 1)}, "clip: low must be less than high"),
        ({"epsilon": 1, "sensitivity": 1, "clip": (0, float("nan"))}, "clip: high must be finite"),
        ({"epsilon": 1, "sensitivity": 1, "clip": 3}, "clip must be a pair"),
        ({"epsilon": 1, "sensitivity": 1, "clamp": (2, 1)}, r"clamp must be two numbers \(low, high\)"),
        (
            {"epsilon": 1, "sensitivity": 1, "clip": (0, 1), "fill": 2},
            "fill must lie within the bounds of clip, got 2.0",
        ),
        ({"epsilon": 1, "sensitivity": 1, "fill": "nan"}, "fill must be finite"),
        ({"epsilon": 1, "sensitivity": 1, "delta": 0.1}, "delta must be left out for mechanism 'laplace'"),
        ({"epsilon": 1, "sensitivity": 1, "mechanism": "gaussian"}, "delta must be given for mechanism 'gaussian'"),
        ({"epsilon": 1, "sensitivity": 1, "mechanism": "bounded-laplace"}, r"clip must be one pair \(low, high\)"),
        (
            {"mechanism": "laplace", "epsilon": 1, "sensitivity": 1, "strata": "a"},
            "strata must be left out unless mechanism is 'stratified'",
        ),
        ({"sensitivity": 1, "mechanism": "stratified"}, "strata must be given for mechanism 'stratified'"),
        ({"mechanism": lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1), "epsilon": 1}, "epsilon must be left out"),
        (
            {"mechanism": lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1), "local": True, "clip": (0, 1)},
            "mechanism must be a name where local is True",
        ),
        ({"mechanism": lapnoise.ExponentialMechanism(epsilon=1, sensitivity=1)}, "mechanism must be one of"),
        (
            {"epsilon": 1, "sensitivity": 1, "clip": {"a": (0, 1)}},
            "columns must be given where clip has bounds for each",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path, options, message):
    np.save(tmp_path / "s.npy", VALUES)
    with pytest.raises((ValueError, TypeError), match=message):
        add_noise(tmp_path / "s.npy", tmp_path / "t.npy", **options)
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.npy"]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_pieces_and_threads_do_not_matter(tmp_path, monkeypatch, threads):
    from lapnoise.files import _npy

    values = np.random.default_rng(9).normal(size=(1001, 3)).astype(np.float32)
    expected, _ = noised(tmp_path, values, epsilon=1, sensitivity=1, threads=1)
    for chunk in (7, 1000, 4096):
        monkeypatch.setattr(_npy, "CHUNK_VALUES", chunk)
        got, _ = noised(tmp_path, values, epsilon=1, sensitivity=1, threads=threads)
        np.testing.assert_array_equal(got, expected)
    got, _ = noised(tmp_path, np.asfortranarray(values), epsilon=1, sensitivity=1, threads=threads)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (np.uint64, {"clip": (-10, 10), "fill": -5}, "fill must be an integer of uint64, got -5"),
        (np.int64, {"fill": 2**70}, "fill must be an integer of int64, got 1180591620717411303424"),
        (np.float32, {"fill": 1e300}, "fill must be a finite float32, got 1e+300"),
    ],
)
def test_a_fill_that_a_type_has_not_is_refused_before_the_charge(tmp_path, kind, options, message):
    np.save(tmp_path / "s.npy", np.zeros(3, kind))
    ledger = lapnoise.PrivacyLedger(1)
    with pytest.raises(ValueError, match=message.replace("+", ".")):
        add_noise(tmp_path / "s.npy", tmp_path / "t.npy", epsilon=1, sensitivity=1, ledger=ledger, **options)
    assert ledger.spent.epsilon == 0


def test_digest_of_an_array_in_fortran_order(tmp_path):
    np.save(tmp_path / "s.npy", np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    receipt = add_noise(tmp_path / "s.npy", tmp_path / "t.npy", epsilon=1, sensitivity=1, digest_source=True)
    assert receipt.source_sha256 == hashlib.sha256((tmp_path / "s.npy").read_bytes()).hexdigest()
    with (tmp_path / "s.npy").open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputDataError, match="the file has bytes after its array"):
        add_noise(tmp_path / "s.npy", tmp_path / "u.npy", epsilon=1, sensitivity=1)
