"""The statistical checks themselves: critical values against published ones, and false alarms at their rate."""

import math

import numpy as np
import pytest
from scipy import stats as distributions
from stats import (
    ALPHA,
    MISS,
    absolute_power_moments,
    anderson_darling,
    anderson_darling_critical,
    anderson_darling_tail,
    kolmogorov_smirnov,
    laplace_cdf,
    laplace_log_cdf,
    laplace_log_sf,
    signed_moments,
)


@pytest.mark.parametrize(
    ("z", "expected"),
    # T. W. Anderson, D. A. Darling, "A test of goodness of fit", JASA 49 (1954): 10, 5 and 1 %; G. Marsaglia, J.
    # Marsaglia, "Evaluating the Anderson-Darling distribution", J. Stat. Softw. 9 (2004): 1 % to eleven digits.
    [(1.933, 0.1), (2.492, 0.05), (3.857, 0.01), (3.8781250216, 0.01)],
)
def test_anderson_darling_tail_against_published_points(z, expected):
    """The tail of the Anderson-Darling statistic agrees with published percentage points to their digits."""
    assert anderson_darling_tail(z) == pytest.approx(expected, rel=1e-9 if z == 3.8781250216 else 0.03)


def test_anderson_darling_critical_values():
    """The critical value leaves its rate, and nears that of the tail's leading term, sqrt(3) P(chi^2 > 2 z)."""
    for alpha in (1e-3, MISS, ALPHA):
        assert anderson_darling_tail(anderson_darling_critical(alpha)) == pytest.approx(alpha, rel=1e-6)
    leading = distributions.chi2.isf(ALPHA / math.sqrt(3), 1) / 2
    assert anderson_darling_critical(ALPHA) == pytest.approx(leading, rel=2e-3)


def test_moments_of_laplace():
    """Standard errors of the four moments are sqrt(2), 1, sqrt(20) and sqrt(39744), over sqrt(n)."""
    assert signed_moments().deviation == math.sqrt(2)
    assert [absolute_power_moments(k).mean for k in (1, 2, 4)] == [1, 2, 24]
    assert [absolute_power_moments(k).deviation for k in (1, 2, 4)] == [1, math.sqrt(20), math.sqrt(39744)]


def test_false_alarms_have_their_rate():
    """At a rate of 1 % KS and AD reject 1 % of 400 right samples, drawn by NumPy, give or take 5 standard errors."""
    chance = np.random.default_rng(1)
    false = np.zeros(2)
    for _ in range(400):
        x = chance.laplace(size=2000)
        false[0] += kolmogorov_smirnov(x, laplace_cdf).statistic > distributions.kstwo.isf(0.01, 2000)
        false[1] += anderson_darling(x, laplace_log_cdf, laplace_log_sf).statistic > anderson_darling_critical(0.01)

    assert (np.abs(false - 4) <= 5 * math.sqrt(400 * 0.01 * 0.99)).all()
