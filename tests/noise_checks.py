"""What the draws are checked for, each as one or several of the checks of stats.py on standard draws.

One function a property, so that right draws and mutants meet the same check.
"""

import math

import numpy as np
from stats import (
    absolute_power_moments,
    anderson_darling,
    centred_ranks,
    chi_square,
    correlations,
    count,
    exponential_cdf,
    kolmogorov_smirnov,
    laplace_cdf,
    laplace_log_cdf,
    laplace_log_sf,
    moment,
    signed_moments,
)

from lapnoise import default_rng

MANY = 1 << 21
SOME = 1 << 20


def standard(draws, loc: float = 0.0, scale: float = 1.0) -> np.ndarray:
    """Return draws in standard form, as float64."""
    return (np.asarray(draws, np.float64) - loc) / scale


def many_draws() -> np.ndarray:
    """Return standard draws for the checks of independence, and for mutants to be made of."""
    return default_rng(101, threads=1).laplace(0.0, 1.0, MANY)


def laplace_moments(x: np.ndarray) -> list:
    """Check mean, mean magnitude, variance and fourth moment of standard draws."""
    size = np.abs(x)
    return [
        moment("mean", x, signed_moments()),
        moment("mean magnitude", size, absolute_power_moments(1)),
        moment("variance", size**2, absolute_power_moments(2)),
        moment("fourth moment", size**4, absolute_power_moments(4)),
    ]


def laplace_distribution(x: np.ndarray) -> list:
    """Check the distribution function of standard draws, in the middle and in the tails."""
    return [kolmogorov_smirnov(x, laplace_cdf), anderson_darling(x, laplace_log_cdf, laplace_log_sf)]


def conditioned(low: float, high: float):
    """Return P(X <= x) and P(X > x) of a standard Laplace variate conditioned on [low, high].

    Where the interval lies in one tail both are taken from the nearer end, so that they keep their digits.
    """
    if low >= 0:
        whole = -math.expm1(low - high)

        def below(x):
            return -np.expm1(low - x) / whole

        def above(x):
            return np.exp(low - x) * -np.expm1(x - high) / whole
    elif high <= 0:
        mirrored_below, mirrored_above = conditioned(-high, -low)

        def below(x):
            return mirrored_above(-x)

        def above(x):
            return mirrored_below(-x)
    else:
        bottom, top = laplace_cdf(np.array([low, high]))

        def below(x):
            return (laplace_cdf(x) - bottom) / (top - bottom)

        def above(x):
            return (top - laplace_cdf(x)) / (top - bottom)

    return below, above


def sign_and_magnitude(x: np.ndarray):
    """Count draws in 16 equally likely cells of magnitude, for either sign."""
    edges = -np.log1p(-np.arange(1, 16) / 16)
    cell = np.searchsorted(edges, np.abs(x))
    return chi_square("sign by magnitude", np.bincount(cell + 16 * (x < 0), minlength=32), np.full(32, 1 / 32))


def serial(x: np.ndarray) -> list:
    """Check correlations of ranks, of ranks of magnitudes and of signs at lags 1 to 16."""
    made = []
    for name, y in (
        ("ranks", centred_ranks(laplace_cdf(x))),
        ("magnitudes", centred_ranks(exponential_cdf(np.abs(x)))),
        ("signs", np.sign(x)),
    ):
        n = y.size - 16
        made.append(correlations(f"{name} at lags 1 to 16", [y[:n] @ y[lag : lag + n] / n for lag in range(1, 17)], n))
    return made


def columns(name: str, x: np.ndarray, width: int) -> list:
    """Check draws by their place modulo ``width``: sums of each column, and correlations between columns."""
    rows = x[: x.size // width * width].reshape(-1, width)
    made = []
    for kind, y in (("ranks", centred_ranks(laplace_cdf(rows))), ("signs", np.sign(rows))):
        n = y.shape[0]
        products = (y.T @ y / n)[np.triu_indices(width, 1)]
        made.append(correlations(f"{kind} of {name}", products, n))
        made.append(correlations(f"means of {kind} of {name}", y.mean(axis=0), n))
    return made


def forced_words(m: int, size: int) -> np.ndarray:
    """Return random words below 2^m."""
    return default_rng(208, threads=1).words(size) >> np.uint64(64 - m)


def tail(x: np.ndarray, start: float, beyond: float) -> list:
    """Check draws known to lie beyond ``start``: how many pass ``beyond``, their law, and the balance of signs."""
    excess = np.abs(x) - start
    hits = int(np.sum(excess > beyond - start))
    return [
        count(f"draws beyond {beyond} b", hits, x.size, math.exp(start - beyond)),
        kolmogorov_smirnov(excess, exponential_cdf),
        count("plus signs", int(np.sum(x > 0)), x.size, 0.5),
    ]
