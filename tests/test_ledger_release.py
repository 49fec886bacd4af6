"""Releases through a ledger: the charge first, then the noise, then the record; and requests that come again."""

import json
import shutil
import sqlite3
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from ledger_stub import Stub

import lapnoise
from lapnoise import (
    BoundedLaplaceMechanism,
    BudgetExhaustedError,
    DiscreteLaplaceMechanism,
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    LedgerDamagedError,
    PermuteAndFlipMechanism,
    PlanarLaplaceMechanism,
    PrivacyLedger,
    RequestRefusedError,
    SeededNoiseWarning,
    StratifiedLaplaceMechanism,
    TruncatedLaplaceMechanism,
)
from lapnoise.ledger import _release

LAPLACE = LaplaceMechanism(epsilon="0.25", sensitivity=1)
DISCRETE = DiscreteLaplaceMechanism(epsilon="1/4", sensitivity=1)


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    return PrivacyLedger(1, path=None if request.param == "memory" else tmp_path / "budget.db")


def bits(result):
    """Return everything about a result that could differ."""
    if isinstance(result, pd.Series):
        return (
            "Series",
            str(result.dtype),
            list(result.index),
            result.name,
            result.isna().tolist(),
            result.dropna().tolist(),
        )
    if isinstance(result, np.ma.MaskedArray):
        return "masked", result.dtype, result.mask.tolist(), result.compressed().tobytes()
    if isinstance(result, np.ndarray):
        return "array", result.dtype.str, result.shape, result.tobytes()
    return type(result), result.hex() if isinstance(result, float) else result


VALUES = {
    "float": 3.5,
    "int": 7,
    "numpy scalar": np.float64(2.5),
    "float32 scalar": np.float32(2.5),
    "list": [1.0, 2.0],
    "array": np.arange(6.0).reshape(2, 3),
    "float32": np.arange(4, dtype=np.float32),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "0-d": np.array(4.0),
    "empty": np.zeros((0, 2)),
    "NaN": np.array([1.0, np.nan]),
    "masked": np.ma.MaskedArray([1.0, 2.0, 3.0], mask=[False, True, False]),
    "Series": pd.Series([1.0, 2.0], index=["x", "y"], name="n"),
    "nullable": pd.Series([1, None, 3], dtype="Int64"),
    "arrow": pd.Series([1.5, None], dtype="double[pyarrow]"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_request_that_comes_again_gets_the_same_bits(ledger, kind):
    """A request id returns the stored result bit for bit, in the form of the values, and costs nothing again."""
    first = ledger.release(LAPLACE, VALUES[kind], label="a", request_id="r")
    head = ledger.head
    again = ledger.release(LaplaceMechanism(epsilon=0.25, sensitivity=1.0), VALUES[kind], label="a", request_id="r")
    assert bits(again) == bits(first)
    assert type(again) is type(first)
    assert ledger.head == head
    assert ledger.spent.epsilon == Fraction(1, 4)
    others = [ledger.release(LAPLACE, VALUES[kind], label="a", request_id=name) for name in "stu"]
    assert np.size(first) == 0 or any(bits(other) != bits(first) for other in others)
    assert ledger.verify().ok


def test_another_process_gets_the_same_bits(tmp_path):
    """The result is in the file, for whoever opens it."""
    path = tmp_path / "a.db"
    first = PrivacyLedger(1, path=path).release(DISCRETE, [5, 6, 7], label="a", request_id="r")
    again = PrivacyLedger.open(path).release(DISCRETE, [5, 6, 7], label="a", request_id="r")
    assert bits(first) == bits(again)
    assert first.dtype == np.int64


def test_a_kept_result_is_returned_when_nothing_is_left():
    """An exhausted budget does not keep a result back that was paid for."""
    ledger = PrivacyLedger("0.25")
    first = ledger.release(DISCRETE, 5, label="a", request_id="r")
    assert ledger.remaining == (0, 0)
    assert ledger.release(DISCRETE, 5, label="a", request_id="r") == first


def test_what_a_release_leaves(ledger):
    """The entry says what was asked, of what shape; it holds no value, and no result unless one is kept."""
    values = np.array([123456.75, 765432.25])
    noisy = ledger.release(LAPLACE, values, label="pay", data_version="2026-03")
    (entry,) = ledger.entries()
    assert (entry.label, entry.epsilon, entry.state, entry.private) == ("pay", Fraction(1, 4), "released", True)
    details = dict(entry.details)
    assert len(details.pop("fingerprint")) == 64
    assert float.fromhex(details.pop("steps")) == LAPLACE.lattice.t
    assert details == {
        "mechanism": "LaplaceMechanism",
        "version": lapnoise.__version__,
        "parameters": {"epsilon": "1/4", "sensitivity": "1", "changed": None, "granularity": None},
        "private": True,
        "inputs": [["ndarray", [2], "float64"]],
        "options": {},
        "data_version": "2026-03",
    }
    with ledger._account._store.transaction(write=False) as book:
        told = json.dumps(book.rows())
        assert book.content(1) is None
    for number in (*values, *noisy):
        assert str(number) not in told


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": LaplaceMechanism(epsilon="0.2500001", sensitivity=1)},
        {"mechanism": LaplaceMechanism(epsilon="0.25", sensitivity=2)},
        {"mechanism": LaplaceMechanism(epsilon="0.25", sensitivity=1, changed=2)},
        {"mechanism": LaplaceMechanism(epsilon="0.25", sensitivity=1, granularity=2**-22)},
        {"mechanism": DISCRETE, "values": np.array([1, 2])},
        {"values": np.array([1.0])},
        {"values": np.array([[1.0, 2.0]])},
        {"values": [[1.0], [2.0]]},
        {"values": np.array([1, 2])},
        {"values": np.array([1.0, 2.0], dtype=np.float32)},
        {"values": [1.0, 2.0]},
        {"label": "b"},
        {"data_version": "2"},
        {"data_version": None},
        {"clamp": (0, 2)},
    ],
    ids=lambda change: "-".join(map(str, change)),
)
def test_another_fingerprint_is_refused(change):
    """The same id with any other parameter, form, label or version is refused; values alone make no difference."""
    ledger = PrivacyLedger(1)
    asked = {"mechanism": LAPLACE, "values": np.array([1.0, 2.0]), "label": "a", "data_version": "1", "clamp": (0, 1)}

    def release(mechanism, values, **options):
        return ledger.release(mechanism, values, request_id="r", **options)

    first = release(**asked)
    head = ledger.head
    with pytest.raises(RequestRefusedError, match="'r' was charged before for something else, as entry 1"):
        release(**{**asked, **change})
    assert bits(release(**{**asked, "values": np.array([8.0, 9.0])})) == bits(first)
    assert ledger.head == head


def test_another_version_is_refused(ledger, monkeypatch):
    """A result of another version of the library is not returned for this one's."""
    ledger.release(LAPLACE, 1.0, label="a", request_id="r")
    monkeypatch.setattr(_release, "__version__", "0.0.0")
    with pytest.raises(RequestRefusedError, match="version"):
        ledger.release(LAPLACE, 1.0, label="a", request_id="r")


def test_what_does_not_fit_is_not_computed(ledger):
    """Without budget the mechanism is never called."""
    stub = Stub()
    for _ in range(4):
        ledger.release(stub, 1.0, label="a")
    with pytest.raises(BudgetExhaustedError, match="epsilon 1/4 was asked, epsilon 0 is left of epsilon 1"):
        ledger.release(stub, 1.0, label="a")
    assert stub.calls == 4


def test_the_charge_comes_before_the_noise(ledger):
    """When the mechanism looks at values, the charge is there already, reserved."""
    seen = []
    stub = Stub(lambda values: seen.append((ledger.spent.epsilon, ledger.entries()[0].state)) or 1.0)
    ledger.release(stub, 1.0, label="a")
    assert seen == [(Fraction(1, 4), "reserved")]
    assert ledger.entries()[0].state == "released"


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, MemoryError])
def test_nothing_is_refunded(ledger, failure):
    """When the noise fails the charge stays, the error says so, and the request is refused from then on."""

    def fail(values):
        raise failure("bad")

    with pytest.raises(failure) as raised:
        ledger.release(Stub(fail), 1.0, label="a", request_id="r")
    assert raised.value.__notes__ == ["epsilon 1/4 was charged for this before, as entry 1 of the ledger, and stays so"]
    assert ledger.remaining.epsilon == Fraction(3, 4)
    assert ledger.entries()[0].state == "reserved"
    fine = Stub()
    with pytest.raises(RequestRefusedError, match="'r' was charged before, as entry 1, and has no result"):
        ledger.release(fine, 1.0, label="a", request_id="r")
    assert fine.calls == 0
    assert ledger.verify().ok


def test_an_infinite_value_costs(ledger):
    """That a value is infinite is an answer about the data: the charge stands."""
    with pytest.raises(ValueError, match="values must be finite or NaN"):
        ledger.release(LAPLACE, np.inf, label="a")
    assert ledger.spent.epsilon == Fraction(1, 4)


@pytest.mark.parametrize(
    ("mechanism", "values", "options", "kind"),
    [
        (LAPLACE, ["a"], {}, TypeError),
        (LAPLACE, np.array([1 + 1j]), {}, TypeError),
        (LAPLACE, [[1.0], [1.0, 2.0]], {}, ValueError),
        (LAPLACE, np.zeros(2, np.float16), {}, TypeError),
        (LAPLACE, [1.0], {"clamp": (1, 0)}, ValueError),
        (LAPLACE, [1.0], {"clamp": 1}, TypeError),
        (LAPLACE, np.zeros(2), {"out": np.zeros(3)}, ValueError),
        (LAPLACE, np.zeros(2), {"out": np.zeros(2, np.float32)}, TypeError),
        (LAPLACE, [1.0], {"rng": np.random.default_rng(1)}, TypeError),
        (LAPLACE, [1.0], {"threads": 0}, ValueError),
        (LAPLACE, [1.0], {"nonsense": 0}, TypeError),
        (LaplaceMechanism(epsilon=0.25, sensitivity="1e400"), [1.0], {}, OverflowError),
        (DISCRETE, [1.5], {}, TypeError),
        (DISCRETE, [1], {"clamp": (0.5, 2)}, TypeError),
        (DISCRETE, [1], {"out": np.zeros(1)}, TypeError),
        (DISCRETE, [1], {"rng": 7}, TypeError),
        (LAPLACE, [1.0], {"request_id": ""}, ValueError),
        (LAPLACE, [1.0], {"request_id": 7}, TypeError),
        (LAPLACE, [1.0], {"data_version": 7}, TypeError),
        (LAPLACE, np.zeros(2), {"request_id": "r", "out": np.zeros(2)}, ValueError),
        (LAPLACE, np.broadcast_to(0.0, 2**21 + 1), {"request_id": "r"}, ValueError),
        (LAPLACE, np.broadcast_to(np.float32(0), 2**22 + 1), {"request_id": "r"}, ValueError),
        (LaplaceMechanism, [1.0], {}, TypeError),
        ("laplace", [1.0], {}, TypeError),
        (None, [1.0], {}, TypeError),
    ],
)
def test_what_can_be_checked_without_values_costs_nothing(mechanism, values, options, kind):
    """Parameters, dtypes, shapes and the size of a result to be kept are checked before the charge."""
    ledger = PrivacyLedger(1)
    with pytest.raises(kind):
        ledger.release(mechanism, values, label="a", **options)
    assert ledger.head.length == 0


def test_a_measure_that_does_not_fit_costs_nothing():
    """A measure is public, so one that only permute-and-flip refuses is refused before the charge as well."""
    ledger = PrivacyLedger(1)
    weighted = {"measure": [1, 0.5], "label": "a"}
    with pytest.raises(ValueError, match=r"measure\[1\] must be 0 or 1 in permute-and-flip.*got 0.5"):
        ledger.release(PermuteAndFlipMechanism(epsilon=0.25, sensitivity=1), ["x", "y"], [0, 1], **weighted)
    assert ledger.head.length == 0
    assert ledger.release(ExponentialMechanism(epsilon=0.25, sensitivity=1), ["x", "y"], [0, 1], **weighted) in {
        "x",
        "y",
    }
    assert ledger.spent.epsilon == Fraction(1, 4)


def test_the_largest_result_that_is_kept(ledger):
    """Sixteen MiB are kept, and known from the shape."""
    stub = Stub(lambda values: np.asarray(values))
    ledger.release(stub, np.zeros(2**21), label="a", request_id="r")
    assert ledger.release(stub, np.zeros(2**21), label="a", request_id="r").nbytes == 2**24
    assert stub.calls == 1


def test_a_seeded_generator_marks_the_entry(ledger):
    """Noise that can be drawn again costs the same and is marked as protecting nobody."""
    with pytest.warns(SeededNoiseWarning):
        noisy = ledger.release(DISCRETE, 5, label="a", rng=lapnoise.default_rng(7))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        assert noisy == DISCRETE.add_noise(5, rng=lapnoise.default_rng(7))
    ledger.release(DISCRETE, 5, label="a", rng=lapnoise.default_rng())
    assert [entry.private for entry in ledger.entries()] == [False, True]


def test_delta_and_rho_are_charged_and_kept(tmp_path):
    """A mechanism's delta is charged beside its epsilon, and its rho is kept."""
    ledger = PrivacyLedger(1, "1e-5", tmp_path / "a.db")
    ledger.release(Stub(delta=1e-6, rho=Fraction(1, 100)), 1.0, label="a")
    (entry,) = ledger.entries()
    assert (entry.cost, entry.rho) == ((Fraction(1, 4), Fraction(1, 10**6)), Fraction(1, 100))
    ledger.release(Stub(delta=1e-6, delta_asked=Fraction(9, 10**6)), 1.0, label="a")
    assert ledger.remaining == (Fraction(1, 2), 0)


REAL = {
    "Gaussian": (GaussianMechanism(epsilon="0.1", delta="1e-7", sensitivity=1), (np.zeros(3),)),
    "whole Gaussian": (GaussianMechanism(epsilon="0.1", delta="1e-7", sensitivity=1, integers=True), ([1, 2],)),
    "bounded": (BoundedLaplaceMechanism(epsilon="0.1", sensitivity=1, low=0, high=9), (np.zeros(3, np.float32),)),
    "truncated": (TruncatedLaplaceMechanism(epsilon="0.1", delta="1e-7", sensitivity=1), (3.0,)),
    "stratified": (
        StratifiedLaplaceMechanism(epsilon={"a": "0.04", "b": "0.06"}, sensitivity=1),
        (np.zeros(2), ["a", "b"]),
    ),
    "planar": (PlanarLaplaceMechanism(epsilon="0.001", radius=100), (np.zeros((4, 2)),)),
    "exponential": (ExponentialMechanism(epsilon="0.1", sensitivity=1), (["x", "y"], [1, 2])),
    "permute and flip": (PermuteAndFlipMechanism(epsilon="0.1", sensitivity=1), (["x", "y"], [1.0, 2.0])),
}


@pytest.mark.parametrize("name", REAL)
def test_every_mechanism_is_charged_and_kept(tmp_path, name):
    """Each costs the epsilon and delta it was asked for, once for a request, whose result comes back bit for bit."""
    mechanism, inputs = REAL[name]
    ledger = PrivacyLedger(1, "1e-6", tmp_path / "budget.db")
    first = ledger.release(mechanism, *inputs, label="a", request_id="r")
    again = ledger.release(mechanism, *inputs, label="a", request_id="r")

    assert type(first) is type(again)
    assert np.array_equal(first, again)
    assert getattr(first, "dtype", None) == getattr(again, "dtype", None)
    assert ledger.spent == (Fraction(1, 10), getattr(mechanism, "delta", 0))


@pytest.mark.parametrize("name", REAL)
def test_no_mechanism_is_charged_for_what_cannot_be(ledger, name):
    """Types, shapes and options that do not fit are refused before the charge, by each of them."""
    mechanism, inputs = REAL[name]
    for bad, options in (
        ((*inputs, 1, 2), {}),
        (inputs, {"rng": 7}),
        (inputs, {"threads": 0}),
        (inputs, {"nonsense": 1}),
        ((*(["a"] * 5 for _ in inputs[:-1]), ["x"] * 5), {}),
    ):
        with pytest.raises((TypeError, ValueError)):
            ledger.release(mechanism, *bad, label="a", **options)
    assert ledger.head.length == 0


def test_a_place_needs_a_radius(ledger):
    """Planar noise has a cost only within a radius."""
    with pytest.raises(ValueError, match="radius must be given"):
        ledger.release(PlanarLaplaceMechanism(epsilon="0.001"), np.zeros((1, 2)), label="a")
    assert ledger.head.length == 0


class Choosing:
    """A mechanism that selects the last candidate."""

    epsilon_asked = Fraction(1, 4)

    def __init__(self):
        self.calls = 0

    def _parameters(self):
        return {"epsilon": self.epsilon_asked, "weights": {"b": [1, 2.5], "a": None}, "table": np.arange(3)}

    def select(self, candidates, scores, measure=None):
        self.calls += 1
        return candidates[len(candidates) - 1]


@pytest.mark.parametrize("chosen", ["z", 3, 0.1, True, None, np.str_("z"), np.int64(3)], ids=repr)
def test_a_selection_that_comes_again_is_the_same(chosen):
    """Selected candidates are kept by value, with their type."""
    ledger = PrivacyLedger(1)
    mechanism = Choosing()
    asked = [["a", chosen], np.array([1.0, 2.0])]
    first = ledger.release(mechanism, *asked, label="a", request_id="r", measure=[1, 2])
    again = ledger.release(mechanism, *asked, label="a", request_id="r", measure=[1, 2])
    assert mechanism.calls == 1
    assert (again, type(again)) == (first, type(first)) == (chosen, type(chosen))


def test_lists_are_told_apart_by_their_shape(ledger):
    """A list of two rows of one is not a list of two, nor of two rows of two."""
    first = ledger.release(LAPLACE, [[1.0], [2.0]], label="a", request_id="r")
    for other in ([1.0, 2.0], [[1.0, 1.0], [2.0, 2.0]], [[[1.0]], [[2.0]]], [[1.0]]):
        with pytest.raises(RequestRefusedError, match="differs in inputs"):
            ledger.release(LAPLACE, other, label="a", request_id="r")
    assert bits(ledger.release(LAPLACE, [[8.0], [9.0]], label="a", request_id="r")) == bits(first)


@pytest.mark.parametrize(
    ("option", "one", "same", "other"),
    [
        ("measure", [1, 2, 3], np.array([1, 2, 3]), [100, 1, 1]),
        ("exclude", [1], np.array([1]), [0]),
        ("exclude", [True, False, False], np.array([True, False, False]), [False, False, True]),
    ],
    ids=["measure", "indices", "mask"],
)
def test_public_options_are_told_apart_by_value(ledger, option, one, same, other):
    """The same request with another measure, or with others excluded, is refused; as a list or array it is the same."""
    mechanism = ExponentialMechanism(epsilon="0.25", sensitivity=1)

    def release(value):
        chosen = {option: value}
        return ledger.release(mechanism, ["a", "b", "c"], [9.0, 0.0, 0.0], label="a", request_id="r", **chosen)

    first = release(one)
    assert release(same) == first
    for changed in (other, None):
        with pytest.raises(RequestRefusedError, match="differs in options"):
            release(changed)


def test_candidates_of_several_shapes(ledger):
    """Candidates may be anything where none is kept."""
    assert ledger.release(Choosing(), ["a", [1, 2]], [1.0, 2.0], label="a") == [1, 2]


def test_candidates_that_cannot_be_kept(ledger):
    """With a request id candidates must be text or numbers, which is checked before the charge."""
    with pytest.raises(TypeError, match="candidates must be text or numbers where there is a request_id, got a list"):
        ledger.release(Choosing(), ["a", []], [1.0, 2.0], label="a", request_id="r")
    assert ledger.head.length == 0
    assert ledger.release(Choosing(), ["a", []], [1.0, 2.0], label="a") == []


def test_a_result_that_nobody_recorded_is_not_returned(tmp_path):
    """Bytes that are put beside a request without a result are no result: the chain does not vouch for them."""
    ledger = PrivacyLedger(1, path=tmp_path / "a.db")
    ledger.release(Stub(), 1.0, label="other")

    def fail(values):
        raise ValueError

    with pytest.raises(ValueError, match="entry 3 of the ledger"):
        ledger.release(Stub(fail), 1.0, label="a", request_id="r")
    for recorded in (1, 2, 3):
        place = shutil.copy(tmp_path / "a.db", tmp_path / f"{recorded}.db")
        with sqlite3.connect(place) as other:
            other.execute("INSERT INTO results VALUES (3, ?, ?)", (recorded, _release.pack(5.0)))
        other.close()
        with pytest.raises(RequestRefusedError, match="'r' was charged before, as entry 3, and has no result"):
            PrivacyLedger.open(place).release(Stub(), 1.0, label="a", request_id="r")


def test_a_result_that_was_changed_is_found(tmp_path):
    """A stored result that was changed behind the triggers no longer fits its digest."""
    path = tmp_path / "a.db"
    ledger = PrivacyLedger(1, path=path)
    ledger.release(DISCRETE, 5, label="a", request_id="r")
    with sqlite3.connect(path) as other:
        other.execute("DROP TRIGGER results_stay")
        other.execute("UPDATE results SET content = x'00'")
    other.close()
    assert ledger.verify().problems == ("results_stay is missing", "the result of entry 1 was changed or is missing")
    with pytest.raises(LedgerDamagedError, match="results_stay is missing"):
        PrivacyLedger.open(path)


def test_a_refused_request_names_what_differs(ledger):
    """Candidates and strata are public and belong to a request; the refusal names what is otherwise than before."""
    choose, by_stratum = REAL["exponential"][0], REAL["stratified"][0]
    ledger.release(choose, ["x", "y"], [1, 2], label="a", request_id="r")
    ledger.release(by_stratum, np.zeros(2), ["a", "b"], label="a", request_id="s")
    ledger.release(LAPLACE, [1.0], label="a", request_id="t")
    for call, names in (
        (lambda: ledger.release(choose, ["x", "z"], [1, 2], label="a", request_id="r"), "public"),
        (lambda: ledger.release(by_stratum, np.zeros(2), ["a", "a"], label="a", request_id="s"), "public"),
        (lambda: ledger.release(LAPLACE, np.zeros(1), label="a", request_id="t"), "inputs"),
        (lambda: ledger.release(LAPLACE, [1.0], label="b", request_id="t", clamp=(0, 1)), "options, label"),
        (lambda: ledger.release(LAPLACE, [1.0], label="a", request_id="t", data_version="2"), "data_version"),
    ):
        with pytest.raises(RequestRefusedError, match=f"as entry [0-9]+, which differs in {names}$"):
            call()
    assert ledger.release(choose, ["x", "y"], [9, 0], label="a", request_id="r") in ("x", "y")


def test_memory_is_no_path():
    """SQLite's name for memory is refused, since it would make a file of that name."""
    with pytest.raises(ValueError, match="path must be the path of a file, got ':memory:'"):
        PrivacyLedger(1, path=":memory:")
