"""Bands of sums: they miss as often as is said, exactly so where the distribution of the sum is known."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats as distributions

from lapnoise import default_rng, evaluate
from lapnoise.evaluate import _reuse, _statistics, _sums
from lapnoise.evaluate.reporting import _errors

LEVELS = (1e-3, 1e-6, 2e-9)


def power(mass, n, size):
    """Return the first ``size`` probabilities of a sum of n terms, by repeated squaring in long doubles."""
    result, base = np.zeros(size, np.longdouble), np.zeros(size, np.longdouble)
    result[0], base[: mass.size] = 1, mass[:size]
    while n:
        if n & 1:
            result = np.convolve(result, base)[:size]
        base, n = np.convolve(base, base)[:size], n >> 1
    return result


def shares(below, above, alpha):
    """Assert that neither side misses more often than alpha / 2, and neither by far less often than it could."""
    assert below <= alpha / 2 * 1.001
    assert above <= alpha / 2 * 1.001


@pytest.mark.parametrize("alpha", LEVELS)
@pytest.mark.parametrize("n", [100, 500, 3000, 1_000_000])
def test_magnitudes_of_laplace_noise(n, alpha):
    """Sums of magnitudes of Laplace noise are gamma variates: the band misses with alpha / 2 on either side."""
    low, high = _sums.sum_band(_statistics.continuous_law().terms[1], n, alpha)
    assert distributions.gamma.cdf(low, n) == pytest.approx(alpha / 2, rel=0.02)
    assert distributions.gamma.sf(high, n) == pytest.approx(alpha / 2, rel=0.02)


@pytest.mark.parametrize("alpha", LEVELS)
@pytest.mark.parametrize("n", [5, 100, 5000])
def test_squares_of_gaussian_noise(n, alpha):
    """Sums of squares of normal variates are chi-square; with few terms the band is on the wide side."""
    low, high = _sums.sum_band(_statistics.normal_law().terms[2], n, alpha)
    rates = distributions.chi2.cdf(low, n), distributions.chi2.sf(high, n)
    shares(*rates, alpha)
    assert rates[1] > 0.9 * alpha / 2
    if n > 5:
        assert rates[0] > 0.9 * alpha / 2


@pytest.mark.parametrize("alpha", LEVELS)
@pytest.mark.parametrize("epsilon", [0.2, 1, 3, 5, 7, 10])
def test_magnitudes_on_integers(epsilon, alpha):
    """Magnitudes of discrete noise are a coin and a geometric variate, so their sums are known: no side misses more.

    (1 - q) / (1 + q) (1 + 2 q z / (1 - q z)) = (1 + q z) / (1 + q) (1 - q) / (1 - q z).
    """
    q = math.exp(-epsilon)
    for n in (100, 1000, 10_000):
        low, high = _sums.sum_band(_statistics.discrete_law(1 / epsilon).terms[1], n, alpha)
        coins = np.arange(n + 1)
        weights = distributions.binom.pmf(coins, n, q / (1 + q))

        def above(k, n=n, coins=coins, weights=weights):
            return float(weights @ distributions.nbinom.sf(k - coins, n, 1 - q))

        below = float(weights @ distributions.nbinom.cdf(low - 1 - coins, n, 1 - q))
        slack = 1.02 if n * q > 20 else 1.0  # of the expansion, where it is used
        assert below <= slack * alpha / 2
        assert above(high) <= slack * alpha / 2
        assert above(high - 1) > 0.9 * alpha / 2 or high == 0  # one less would be too few
        assert low == int(low)
        assert high == int(high)


@pytest.mark.parametrize("epsilon", [2, 3, 5, 8, 10])
def test_squares_on_integers(epsilon):
    """Bands of mean squared errors of counts hold what convolution says they do, at the level of experiments."""
    q = math.exp(-epsilon)
    for n in (20, 200):
        size = 3000
        mass = np.zeros(size, np.longdouble)
        for k in range(1, 54):
            mass[k * k] = 2 * q**k * (1 - q) / (1 + q)
        mass[0] = 1 - mass.sum()
        exactly = power(mass, n, size)
        low, high = (round(end * n) for end in _sums.mean_band(_statistics.discrete_law(1 / epsilon).terms[2], n, 1e-3))
        assert 0 <= low <= high
        assert float(exactly[:low].sum()) <= 5e-4
        assert 1 - float(exactly[: high + 1].sum()) <= 5e-4
        assert 1 - float(exactly[:high].sum()) > 5e-4 or high == 0


def test_squares_of_few_laplace_variates():
    """Of 40,000 samples of 100, as many mean squares lie above the band of one in 1,000 as should."""
    low, high = _sums.mean_band(_statistics.continuous_law().terms[2], 100, 2e-3)
    means = np.mean(default_rng(5).laplace(0, 1, (40_000, 100)) ** 2, axis=1)
    for outside in (int((means > high).sum()), int((means < low).sum())):
        # 40 are expected; this many but once in 1e9.
        assert distributions.binom.isf(1 - 1e-9, 40_000, 1e-3) <= outside
        assert outside <= distributions.binom.isf(1e-9, 40_000, 1e-3)


@pytest.mark.parametrize("releases", [2, 7])
def test_means_of_releases(releases):
    """Tails of means of k variates are those of their density, and agree with draws."""
    signed, squares = _statistics.averaged_terms(releases)
    x = np.linspace(0, 3, 7)
    k = np.arange(200_001) / 200_001 * 60 - 30
    density = np.exp(-np.abs(k)) / 2
    spectrum = np.fft.rfft(density / density.sum()) ** releases
    shifted = np.fft.irfft(spectrum, k.size)
    at = (np.arange(k.size) * (60 / 200_001) - 30 * releases) % 60
    at = np.where(at > 30, at - 60, at)
    for v in x.tolist():
        assert float(signed.exceeds(np.array([v]))[0]) == pytest.approx(shifted[at > releases * v].sum(), abs=2e-4)
    assert float(squares.exceeds(np.array([4.0]))[0]) == pytest.approx(2 * float(signed.exceeds(np.array([2.0]))[0]))


def test_the_expansion_and_the_distribution_agree(monkeypatch):
    """Where both can be had, at the number of terms from which the expansion is taken, they differ by little."""
    for term in (*_statistics.continuous_law().terms, *_statistics.discrete_law(1.0).terms):
        n = 60_000
        expanded = _sums.sum_band(term, n, 1e-8)
        worked_out = _sums._transformed(term, n, 1e-8)
        error = term.moments.deviation * math.sqrt(n)
        for one, other in zip(expanded, worked_out, strict=True):
            assert (one - other) / error == pytest.approx(0, abs=0.03)


def test_beyond_the_transform():
    """Bands for rates that no transform tells from its rounding are wider than those before, and hold."""
    term = _statistics.continuous_law().terms[1]
    low, high = _sums.sum_band(term, 100, 1e-14)
    before = _sums.sum_band(term, 100, 1e-10)
    assert low < before[0] < before[1] < high
    assert distributions.gamma.cdf(low, 100) < 5e-15
    assert distributions.gamma.sf(high, 100) < 5e-15


@pytest.mark.parametrize("epsilon", [8, 40, 200, 400, 800, 5000])
def test_next_to_no_noise(epsilon):
    """Where all noise is 0 but rarely, or with a chance that is no float, bands are narrow and nothing breaks down."""
    for term in _statistics.discrete_law(1 / epsilon).terms:
        low, high = _sums.mean_band(term, 200, 1e-3)
        assert (low, high) == (0.0 if not term.signed else low, high)
        assert high <= 2 / 200
        assert high == 0 or epsilon == 8


@pytest.mark.parametrize("epsilon", [3, 5, 7, 10, 1000])
def test_right_counts_pass(epsilon):
    """Right noise on counts is passed at moderate and at large epsilon, and noise of half the epsilon is not."""
    for n in (100, 1000, 10_000):
        noise = default_rng(3).discrete_laplace(1 / epsilon, n)
        found = evaluate.verify_noise(noise, epsilon=epsilon, sensitivity=1, mechanism="discrete-laplace")
        assert found.passed, found.failed
    wide = default_rng(3).discrete_laplace(2 / epsilon, 10_000)
    if epsilon <= 10:
        found = evaluate.verify_noise(wide, epsilon=epsilon, sensitivity=1, mechanism="discrete-laplace")
        assert not found.passed


@pytest.mark.parametrize("epsilon", [8, 10, 20, 600])
def test_bands_of_queries(epsilon):
    """Errors of counts and cells lie in bands that are in order, and hold the most likely of all errors: none."""
    found = evaluate.query_errors([1.0, 5.0, 9.0], 0, 10, epsilons=[epsilon], n=200, seed=1)
    for row in found.rows:
        assert 0 <= row.rmse.low <= row.rmse.high
        assert math.isfinite(row.rmse.high)
        assert row.rmse.within
        if row.query in ("count", "histogram"):
            assert row.rmse.low == 0


def test_bands_of_reports():
    """Of 400 pages on counts at epsilon 12 all bands but some hold their error; before, none did at some epsilon."""
    missed = 0
    for seed in range(200):
        found = _errors.errors_of("discrete-laplace", [Fraction(12)], Fraction(0), Fraction(1), (None, None), 1, seed)
        ((_, one),) = found.curves[0].points
        assert one.low <= one.high
        missed += not one.within
    assert missed <= distributions.binom.isf(1e-9, 200, 1e-3)


def test_errors_astray():
    """Errors of right noise are not astray, and those of noise that is a tenth too small are, of each mechanism."""
    for name, delta, domain in (
        ("laplace", Fraction(0), (None, None)),
        ("discrete-laplace", Fraction(0), (None, None)),
        ("gaussian", Fraction(1, 10**6), (None, None)),
        ("truncated-laplace", Fraction(1, 1000), (None, None)),
        ("bounded-laplace", Fraction(0), (0, 30)),
    ):
        given = (delta, Fraction(1), domain, 1)
        errors = _errors.errors_of(name, [Fraction(1)], *given, 1)
        assert _errors.astray(errors, name, [Fraction(1)], *given) == ()
        assert _errors.astray(errors, name, [Fraction(9, 10)], *given) == (Fraction(9, 10),)


# Noise used again.


@pytest.mark.parametrize("n", [200, 10_000])
def test_noise_used_again(n):
    """Copies are found at any distance and in any order, and with the sign turned; right noise is not."""
    noise = default_rng(4).laplace(0.0, 1.0, n)
    half = noise[: n // 2]
    order = np.random.default_rng(1).permutation(n)
    for again in (
        np.concatenate([half, half]),
        np.concatenate([half, -half]),
        half.reshape(-1, 2).repeat(2, axis=0).reshape(-1)[:n],
        np.concatenate([half, half])[order],
    ):
        found = evaluate.verify_noise(again, epsilon=1, sensitivity=1)
        measures = {check.measure for check in found.failed}
        assert "magnitudes that were there before" in measures
        assert "epsilon reused" in " ".join(found.look)
    assert evaluate.verify_noise(noise, epsilon=1, sensitivity=1).passed
    whole = evaluate.verify_noise(
        np.concatenate([half, half]) * 1e6 // 1, epsilon=1, sensitivity=10**6, mechanism="discrete-laplace"
    )
    assert "magnitudes that were there before" in {check.measure for check in whole.failed}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("value", [0.0, 0.1, 50_000.1, 1e9])
def test_lattices_are_no_copies(kind, value):
    """Differences that coincide because results lie on a lattice, or are float32, are not taken for copies."""
    from lapnoise import LaplaceMechanism

    values = np.full(20_000, value, kind)
    noisy = LaplaceMechanism(epsilon="0.001", sensitivity=1, changed=1).add_noise(values)
    again, critical = _reuse.repeats(noisy.astype(np.float64) - values, 1000.0)
    assert again <= critical(1e-6)


def test_correlation_at_a_distance():
    """Noise that is half an earlier one is found by its correlation alone, and small samples stay below by far."""
    noise = default_rng(4).laplace(0.0, 1.0, 10_000)
    noise[5000:] = 0.5 * noise[:5000] + 0.5 * noise[5000:]
    scores = 2 * _statistics.continuous_law().cdf(noise) - 1
    off, critical = _reuse.correlation(scores)
    assert off > critical(1e-9)
    shown = [_reuse.correlation(default_rng(s).words(100) / 2.0**63 - 1) for s in range(300)]
    assert sum(off > critical(0.05) for off, critical in shown) <= distributions.binom.isf(1e-9, 300, 0.05)
    assert _reuse.correlation(np.zeros(100))[0] == 0.0


def test_random_signs():
    """Weighted sums of three and of twenty signs pass the critical value with at most the rate that is stated."""
    for n in (3, 10, 16):
        signs = 2 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1) - 1
        for weights in (np.ones(n), np.arange(1, n + 1), 0.5 ** np.arange(n)):
            sums = np.abs(signs @ weights) / np.linalg.norm(weights)
            for alpha in (0.5, 0.1, 1e-2, 1e-3):
                assert np.mean(sums > _statistics.random_signs(alpha)) <= alpha
