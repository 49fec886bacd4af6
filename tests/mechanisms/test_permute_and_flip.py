"""PermuteAndFlipMechanism: its probabilities are those of visiting candidates in every order.

What it shares with the exponential mechanism, the winners of given words above all, is tested there.
"""

import math

import numpy as np
import pytest
import selection_oracles as oracle
from stats import accept, chi_square, reject

from lapnoise import ExponentialMechanism, PermuteAndFlipMechanism, default_rng

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

SCORES = [
    [0],
    [0, 0],
    [0, 1],
    [0, 0.001, 5],
    [3, 1, 4, 1, 5],
    [0, 0, 0, -50],
    [-1e308, 0, 1e308],
    [0.5, 0.25, 0.125, 0, 0, -700],
    [1, 1, 1, 1, 1, 1],
    [2**60 + 128, 2**60 + 129],
]


@pytest.mark.parametrize("epsilon", [0.01, 1, 7, 1000])
@pytest.mark.parametrize("scores", SCORES, ids=str)
def test_probabilities_by_brute_force(scores, epsilon):
    """For up to six candidates they are the mean over all orders, within 1e-12, and relatively within 1e-9."""
    m = PermuteAndFlipMechanism(epsilon=epsilon, sensitivity=1)
    x = [(m._lattice.steps(max(scores)) - m._lattice.steps(s)) * m._lattice.rate for s in scores]
    wanted = oracle.permute_and_flip([math.exp(-min(each, 10**6)) for each in x])
    got = m.probabilities(scores)
    assert got == pytest.approx(wanted, abs=1e-12)
    assert got == pytest.approx(wanted, rel=1e-9, abs=1e-290)
    assert got.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 100, 10_001])
@pytest.mark.parametrize("gap", [0.0, 1e-6, 0.5, 3.0, 40.0])
def test_probabilities_of_one_better_candidate(n, gap):
    """One better and n equal candidates have a closed form, (1 - (1 - q)^(n + 1)) / ((n + 1) q) for the better one."""
    m = PermuteAndFlipMechanism(epsilon=2, sensitivity=1)
    q = math.exp(-float(m._lattice.steps(gap) * m._lattice.rate))
    better = -math.expm1((n + 1) * math.log1p(-q)) / ((n + 1) * q) if q < 1 else 1 / (n + 1)
    got = m.probabilities([gap] + [0.0] * n)
    assert got[0] == pytest.approx(better, abs=1e-12)
    assert got[1:] == pytest.approx((1 - better) / n, abs=1e-12)


def test_probabilities_sum_to_one():
    """With 100 to 20,000 candidates of all kinds the parts sum to 1."""
    chance = np.random.Generator(np.random.PCG64(1))
    for n, spread in ((100, 1.0), (3000, 100.0), (20_000, 0.01)):
        got = PermuteAndFlipMechanism(epsilon=1, sensitivity=1).probabilities(chance.normal(size=n) * spread)
        assert got.sum() == pytest.approx(1, abs=1e-12)
        assert got.min() >= 0


@pytest.mark.parametrize("scores", SCORES, ids=str)
def test_it_never_does_worse(scores):
    """Its expected shortfall is at most that of the exponential mechanism."""
    x = np.array([min(max(scores) - s, 1e300) for s in scores])
    for epsilon in (0.1, 1, 5):
        parts = [kind(epsilon=epsilon, sensitivity=1).probabilities(scores) for kind in KINDS]
        assert float(parts[0] @ x) <= float(parts[1] @ x) * (1 + 1e-9)


KINDS = (PermuteAndFlipMechanism, ExponentialMechanism)


def test_measures_are_zero_or_one():
    """A measure of 0 rules out and one of 1 changes nothing; any other is refused by its place."""
    m = PermuteAndFlipMechanism(epsilon=1, sensitivity=1)
    got = m.probabilities([5, 1, 2], measure=[0, 1, 1])
    assert got[0] == 0
    assert got[1:] == pytest.approx(m.probabilities([1, 2]), abs=1e-15)
    for call in (m.probabilities, lambda scores, measure: m.select("xy", scores, measure=measure)):
        with pytest.raises(ValueError, match=r"measure\[1\] must be 0 or 1 in permute-and-flip.*got 0.5"):
            call([0, 1], measure=[1, 0.5])


def test_it_is_not_the_exponential_mechanism():
    """20,000 selections have its shares, and not those of the exponential mechanism."""
    m = PermuteAndFlipMechanism(epsilon=2, sensitivity=1)
    rng = default_rng(21)
    counts = np.bincount([m.select(range(3), [0, 1, 1.5], rng=rng) for _ in range(20_000)])
    accept(chi_square("shares", counts, m.probabilities([0, 1, 1.5])))
    reject(chi_square("mutant", counts, ExponentialMechanism(epsilon=2, sensitivity=1).probabilities([0, 1, 1.5])))
