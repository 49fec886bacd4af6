"""What several charges cost together: parallel parts, the simple sum, and the theorems that give less."""

import importlib.util
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_stub import Stub

import lapnoise
from lapnoise import BudgetExhaustedError, PrivacyLedger
from lapnoise._numbers import fraction_up
from lapnoise.ledger import Amount
from lapnoise.ledger._accounting import laplace_epsilon
from lapnoise.ledger._composition import advanced, parallel_cost, zcdp_epsilon

STRATA = {"a": 0.5, "b": 1, "c": "0.3"}


@pytest.mark.parametrize(
    ("neighbours", "most", "cost"),
    [
        ("add-remove", 1, "1"),
        ("add-remove", 2, "3/2"),
        ("add-remove", 3, "9/5"),
        ("add-remove", 7, "9/5"),
        ("add-remove", None, "9/5"),
        ("replace", 1, "3/2"),
        ("replace", 2, "9/5"),
        ("replace", None, "9/5"),
    ],
)
def test_what_parts_cost(neighbours, most, cost):
    """Disjoint parts cost the largest, or the two largest where a person can move; more where one is in several."""
    ledger = PrivacyLedger(2)
    entry = ledger.parallel("by region", neighbours=neighbours, parts=STRATA, max_parts=most)
    assert ledger.spent == entry.cost == (Fraction(cost), 0)
    assert (entry.kind, entry.label) == ("parallel", "by region")
    parts = [["a", "epsilon 1/2"], ["b", "epsilon 1"], ["c", "epsilon 3/10"]]
    assert entry.details == {"neighbours": neighbours, "max_parts": most, "parts": parts}
    assert ledger.entries() == [entry]


def test_epsilon_and_delta_of_parts_each(tmp_path):
    """The parts that cost most epsilon and most delta may be different ones."""
    ledger = PrivacyLedger(3, "1e-4", tmp_path / "a.db")
    parts = {"a": (1, "1e-6"), "b": (0.25, "3e-5"), "c": (0.5, 0)}
    assert ledger.parallel("a", neighbours="add-remove", parts=parts).cost == (1, Fraction(3, 10**5))
    assert ledger.parallel("b", neighbours="replace", parts=parts.items()).delta == Fraction(31, 10**6)
    with pytest.raises(BudgetExhaustedError):
        ledger.parallel("c", neighbours="replace", parts={"a": (0.1, "4e-5")})


def worst_loss(parts, neighbours, most):
    """Return the largest sum of part costs over all ways in which one person's change can touch parts."""
    places = [set(chosen) for k in range(most + 1) for chosen in itertools.combinations(range(len(parts)), k)]
    touched = places if neighbours == "add-remove" else [old | new for old in places for new in places]
    return max(sum((parts[k] for k in chosen), Fraction(0)) for chosen in touched)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    parts=st.lists(st.fractions(min_value=Fraction(1, 100), max_value=3), min_size=1, max_size=6),
    neighbours=st.sampled_from(["add-remove", "replace"]),
    most=st.integers(1, 7),
)
def test_what_parts_cost_by_brute_force(parts, neighbours, most):
    """The cost is the worst over every way in which one person can be, appear or move in the parts."""
    got = parallel_cost([Amount(part, part / 10) for part in parts], neighbours, most)
    expected = worst_loss(parts, neighbours, min(most, len(parts)))
    assert got == (expected, expected / 10)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"parts": {}}, ValueError, "parts must name at least one part"),
        ({"parts": [("a", 1), ("a", 1)]}, ValueError, r"parts must name each part once, got \['a', 'a'\]"),
        ({"parts": {1: 1}}, TypeError, "name of a part must be text, got 1"),
        ({"parts": ["a", "b"]}, TypeError, r"parts must be pairs \(name, cost\), got 'a'"),
        ({"parts": "ab"}, TypeError, "parts must map names to costs"),
        ({"parts": {"a": (1, 0, 0)}}, ValueError, "parts must cost epsilon or"),
        ({"parts": {"a": (1, 1)}}, ValueError, "delta must be at least 0 and less than 1, got 1"),
        ({"neighbours": "bounded"}, ValueError, "neighbours must be 'add-remove' or 'replace', got 'bounded'"),
        ({"max_parts": 0}, ValueError, "max_parts must be >= 1, got 0"),
        ({"max_parts": 1.0}, TypeError, "max_parts must be an int, got 1.0"),
    ],
)
def test_bad_parts(options, kind, message):
    """Parts without names, with one name twice or without costs are refused before the charge."""
    ledger = PrivacyLedger(2)
    with pytest.raises(kind, match=message):
        ledger.parallel("a", **{"neighbours": "add-remove", "parts": STRATA, **options})
    assert ledger.head.length == 0


def test_members_in_two_parts_are_found():
    """Where disjointness is claimed, a person in two parts is refused, unnamed; and what was charged stays."""
    members = {"a": np.array([1, 2, 2]), "b": ["3", 4], "c": {17, 2}}
    ledger = PrivacyLedger(10)
    with pytest.raises(ValueError, match=r"members must be in at most 1 part each, got one in 'a' and 'c'; the c"):
        ledger.parallel("a", neighbours="add-remove", parts=STRATA, members=members)
    assert ledger.spent.epsilon == 1
    ledger.parallel("b", neighbours="add-remove", parts=STRATA, members=members, max_parts=2)
    ledger.parallel("c", neighbours="add-remove", parts=STRATA, members=members, max_parts=None)
    ledger.parallel("d", neighbours="add-remove", parts=STRATA, members={**members, "c": [17]})
    with pytest.raises(ValueError, match="members must map the name of each part"):
        ledger.parallel("e", neighbours="add-remove", parts=STRATA, members={"a": []})


def test_advanced_composition():
    """A hundred releases of 0.1 at 1e-5 give 4.7985 + 1.0517 = 5.850 instead of 10; one gives its epsilon."""
    slack = Fraction(1, 10**5)
    expected = math.sqrt(200 * math.log(1e5)) * 0.1 + 100 * 0.1 * (math.exp(0.1) - 1)
    assert expected == pytest.approx(4.7985 + 1.0517, abs=1e-4)
    assert advanced([Fraction(1, 10)] * 100, slack) == pytest.approx(expected, rel=1e-14)
    assert advanced([Fraction(1, 10)], slack) == 0.1
    assert advanced([Fraction(10**9)] * 3, slack) == 3e9
    assert advanced([], slack) == 0.0


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    epsilons=st.lists(st.fractions(min_value=Fraction(1, 10**6), max_value=2), min_size=1, max_size=30),
    exponent=st.integers(1, 300),
)
def test_advanced_composition_is_rounded_up(epsilons, exponent):
    """The bound is the formula or the sum, whichever is less, from above within one rounding."""
    slack = Fraction(1, 10**exponent)
    with mpmath.workdps(60):
        exact = [mpmath.mpf(e.numerator) / e.denominator for e in epsilons]
        formula = mpmath.sqrt(2 * exponent * mpmath.log(10) * sum(e**2 for e in exact))
        formula += sum(e * mpmath.expm1(e) for e in exact)
        expected = min(formula, sum(exact))
        got = mpmath.mpf(advanced(epsilons, slack))
        assert expected <= got <= expected * (1 + mpmath.mpf(2) ** -51)


def best_bound(rho, log):
    """Return the least epsilon over all orders, by a search by thirds with mpmath, and the order."""

    def bound(x):
        order = 1 + mpmath.exp(x)
        return order * rho + (log + order * mpmath.log1p(-1 / order) - mpmath.log(order - 1)) / (order - 1)

    centre = mpmath.log(log / rho) / 2
    low, high = centre - 20, centre + 5
    for _ in range(250):
        third = (high - low) / 3
        low, high = (low, high - third) if bound(low + third) < bound(high - third) else (low + third, high)
    return bound(low), 1 + mpmath.exp(low)


@pytest.mark.parametrize("rho", ["1e-12", "0.001", "0.1", "1", "30", "1e6"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-40", "1e-1000"])
def test_zcdp(rho, delta):
    """Epsilon is the least over all orders, from above, and never more than rho + 2 sqrt(rho ln(1/delta))."""
    epsilon = zcdp_epsilon(Fraction(rho), Fraction(delta))
    with mpmath.workdps(60):
        exact, log = mpmath.mpf(rho), -mpmath.log(mpmath.mpf(delta))
        expected, order = best_bound(exact, log)
        # The delta of the bound at this order, as the paper has it.
        reached = mpmath.exp((order - 1) * (order * exact - expected)) / (order - 1) * (1 - 1 / order) ** order
        assert mpmath.almosteq(reached, mpmath.mpf(delta), 1e-40)
        assert max(expected, 0) <= epsilon <= max(expected * (1 + mpmath.mpf("1e-12")), 0)
        assert epsilon <= exact + 2 * mpmath.sqrt(exact * log)


def gaussian_delta(rho, epsilon):
    """Return the delta of the Gaussian mechanism that is exactly rho-zCDP (Balle and Wang 2018, theorem 8)."""
    ratio = mpmath.sqrt(2 * rho)  # sensitivity / sigma
    a, b = ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio
    return mpmath.ncdf(a) - mpmath.exp(epsilon) * mpmath.ncdf(b)


@pytest.mark.parametrize("rho", ["0.01", "0.5", "4"])
@pytest.mark.parametrize("delta", ["1e-5", "1e-9"])
def test_zcdp_holds_for_gaussian_noise(rho, delta):
    """The exact delta of Gaussian noise of that rho is below the one promised, and would not be at 0.7 epsilon."""
    epsilon = zcdp_epsilon(Fraction(rho), Fraction(delta))
    with mpmath.workdps(40):
        assert gaussian_delta(mpmath.mpf(rho), mpmath.mpf(epsilon)) < mpmath.mpf(delta)
        assert gaussian_delta(mpmath.mpf(rho), mpmath.mpf(epsilon) * mpmath.mpf("0.7")) > mpmath.mpf(delta)


def test_a_composition_is_reported_beside_the_sum():
    """The simple sum decides; the theorems are told beside it, each only where its delta suffices."""
    ledger = PrivacyLedger(100, "1e-3")
    for _ in range(50):
        ledger.spend("0.1")
    found = ledger.composition("1e-5")
    assert found.simple == (5, 0)
    assert found.delta == Fraction(1, 10**5)
    assert found.advanced == advanced([Fraction(1, 10)] * 50, Fraction(1, 10**5))
    assert found.zcdp == zcdp_epsilon(Fraction(50, 200), Fraction(1, 10**5))
    assert found.zcdp < found.advanced < 5
    assert found.accounting is None
    ledger.release(Stub(epsilon=1, delta="1e-5", rho=Fraction(1, 50)), 1.0, label="Gaussian")
    found = ledger.composition("1e-5")
    assert found.simple == (6, Fraction(1, 10**5))
    assert found.advanced == 6.0  # the whole delta is spent on the simple sum
    assert found.zcdp == zcdp_epsilon(Fraction(50, 200) + Fraction(1, 50), Fraction(1, 10**5))
    ledger.spend(1, "1e-4")
    assert ledger.composition("1e-5")[2:] == (None, None, None)
    found = ledger.composition("2e-4")
    rest = Fraction(2, 10**4) - Fraction(1, 10**4)
    assert found.zcdp == pytest.approx(1 + zcdp_epsilon(Fraction(27, 100), rest), rel=1e-15)
    assert found.advanced <= 7.0


def test_few_releases_cost_their_sum():
    """Where no theorem helps the sum is reported, and nothing costs nothing."""
    ledger = PrivacyLedger(10)
    assert ledger.composition("1e-9")[1:] == ((0, 0), 0.0, 0.0, None)
    ledger.spend(3)
    assert ledger.composition("1e-9")[1:] == ((3, 0), 3.0, 3.0, None)
    for bad in (0, 1, -1, math.nan):
        with pytest.raises(ValueError, match="delta must be between 0 and 1"):
            ledger.composition(bad)


@pytest.mark.parametrize("epsilon", ["1e60", "1e100", "1e300", "1e1200"])
def test_huge_releases_cost_their_sum(epsilon):
    """Where epsilon is beyond any use the sum is reported."""
    ledger = PrivacyLedger("1e1200")
    ledger.spend(epsilon)
    told = fraction_up(Fraction(epsilon))
    assert ledger.composition("1e-5") == (Fraction(1, 10**5), (Fraction(epsilon), 0), told, told, None)


@pytest.mark.parametrize("exponent", [118, 119, 150, 250])
def test_zcdp_of_huge_rho(exponent):
    """A rho that leaves no order above 1 costs rho + 2 sqrt(rho ln(1/delta)), which is rho to 50 digits."""
    rho = Fraction(10) ** exponent
    assert zcdp_epsilon(rho, Fraction(1, 10**5)) == pytest.approx(float(rho), rel=1e-15)


def test_accounting_names_its_extra(monkeypatch):
    """Without the package the error names the extra."""
    import sys

    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    ledger = PrivacyLedger(1)
    ledger.spend(1)
    with pytest.raises(ImportError, match=r"install the extra, lapnoise\[accounting\]"):
        ledger.composition("1e-5", accounting=True)


needs_accounting = pytest.mark.skipif(
    importlib.util.find_spec("dp_accounting") is None, reason="dp-accounting is not installed"
)


@needs_accounting
def test_accounting_of_laplace_noise():
    """Forty Laplace releases cost less than by any theorem, and no less than the exact delta of the pair allows."""
    mechanism = lapnoise.LaplaceMechanism(epsilon="0.1", sensitivity=1)
    ledger = PrivacyLedger(10)
    assert ledger.composition("1e-6", accounting=True).accounting == 0.0
    for _ in range(40):
        ledger.release(mechanism, 1.0, label="a")
    found = ledger.composition("1e-6", accounting=True)
    assert found.accounting < found.zcdp < found.advanced <= 4
    # One release at delta = 0 costs its epsilon, within the grid.
    single = PrivacyLedger(1)
    single.release(mechanism, 1.0, label="a")
    least = 0.1 + 2 * math.log1p(-1e-6)  # 1 - exp((e - epsilon) / 2) = delta
    assert least <= single.composition("1e-6", accounting=True).accounting <= 0.1 + 2e-4


@needs_accounting
def test_accounting_of_coarse_discrete_noise():
    """Discrete noise of few steps counts as any pure release does: three of 1 never cost more than 3."""
    ledger = PrivacyLedger(1000)
    for _ in range(3):
        ledger.release(lapnoise.DiscreteLaplaceMechanism(epsilon=1, sensitivity=1), 1, label="a")
    # Randomised response is the worst pair: only three truths in a row, of probability (e / (1 + e))^3, lose 3.
    truths = (math.e / (1 + math.e)) ** 3
    least = 3 + math.log1p(-1e-3 / truths)
    assert least <= ledger.composition("1e-3", accounting=True).accounting <= 3.0


@pytest.mark.parametrize("t", [0.5, 1.0, 3.0, 10.0, 1024.0])
@pytest.mark.parametrize("moved", [1, 2, 7])
def test_laplace_noise_that_stands_for_discrete_noise(t, moved):
    """At every loss the exact delta of discrete noise is at most that of the Laplace noise that stands for it."""
    epsilon = moved / t
    standing = laplace_epsilon(epsilon, t)
    q = math.exp(-1 / t)
    worst = -math.inf

    def at_most(m):
        return q**-m / (1 + q) if m < 0 else 1 - q ** (m + 1) / (1 + q)

    for loss in np.linspace(-epsilon, epsilon, 201):
        # The best event is that of being at most some m.
        exact = max(at_most(m) - math.exp(loss) * at_most(m - moved) for m in range(-moved - 1, 2 * moved + 2))
        allowed = 1 - math.exp((loss - standing) / 2)
        assert exact <= allowed + 1e-14
        worst = max(worst, exact - (1 - math.exp((loss - epsilon) / 2)))
    if t < 1000:
        assert worst > 1e-4  # without what is added, it would not be


@needs_accounting
def test_accounting_of_everything_else():
    """Gaussian releases count by their rho, others by their epsilon and delta."""
    ledger = PrivacyLedger(100, 0.5)
    for _ in range(10):
        ledger.release(Stub(epsilon=1, delta="1e-6", rho=Fraction(1, 200)), 1.0, label="Gaussian")
    found = ledger.composition("1e-5", accounting=True)
    with mpmath.workdps(30):
        reached = gaussian_delta(mpmath.mpf(10) / 200, mpmath.mpf(found.accounting))
    assert reached <= 1e-5 * (1 + 1e-6)
    assert found.accounting < found.zcdp
    ledger.spend(0.5, "1e-6")
    more = ledger.composition("1e-5", accounting=True)
    assert found.accounting < more.accounting < found.accounting + 0.52


@needs_accounting
def test_accounting_beyond_floats():
    """Where exp(epsilon) is no float the sum is reported, or nothing where its delta is too large."""
    ledger = PrivacyLedger(10**4, "0.5")
    ledger.spend(800)
    assert ledger.composition("1e-5", accounting=True).accounting == 800.0
