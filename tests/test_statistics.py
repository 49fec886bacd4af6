"""The law of the draws, with the error rates that stats.py states; test_statistics_mutants has what must be rejected.

Sizes are chosen for the faults: at 2^21 draws an error of 0.75 % in the scale, of 0.4 % in the balance of signs and, in
the fourth moment, of 6 % are missed with a probability of 1e-6 at most; at 2^20 draws a distance of 0.0059 from the
distribution function.
"""

import math

import numpy as np
import pytest
from from_words import difference_draws, laplace_draws, laplace_draws32
from noise_checks import (
    MANY,
    SOME,
    columns,
    conditioned,
    forced_words,
    laplace_distribution,
    laplace_moments,
    many_draws,
    serial,
    sign_and_magnitude,
    standard,
    tail,
)
from stats import (
    absolute_power_moments,
    accept,
    anderson_darling,
    chi_square,
    correlations,
    count,
    exponential_cdf,
    exponential_log_cdf,
    exponential_log_sf,
    kolmogorov_smirnov,
    laplace_cdf,
    moment,
)

from lapnoise import default_rng
from lapnoise._fill import BLOCK

KINDS = [(method, dtype) for method in ("inverse", "exponential_difference") for dtype in (np.float64, np.float32)]
# Scales: one, not dyadic, large beside loc, and small beside it.
PARAMETERS = [(0.0, 1.0), (0.0, 0.3), (-5.0, 700.0), (1000.0, 17.25)]


@pytest.fixture(scope="module")
def draws() -> np.ndarray:
    """Return standard draws."""
    return many_draws()


# The law.


@pytest.mark.parametrize(("loc", "scale"), PARAMETERS)
@pytest.mark.parametrize(("method", "dtype"), KINDS)
def test_laplace(method, dtype, loc, scale):
    """Both methods in both types have the distribution function and the moments of Laplace(loc, scale)."""
    generator = default_rng([201, PARAMETERS.index((loc, scale))])
    x = standard(generator.laplace(loc, scale, MANY, method=method, dtype=dtype), loc, scale)
    for check in laplace_distribution(x[:SOME]) + laplace_moments(x):
        accept(check)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1.0, 0.3, 700.0, 2.0**-40])
def test_exponential(dtype, scale):
    """Exponential draws have the distribution function and the moments of their law."""
    x = standard(default_rng([202, int(scale * 10)]).exponential(scale, MANY, dtype=dtype), 0.0, scale)
    accept(kolmogorov_smirnov(x[:SOME], exponential_cdf))
    accept(anderson_darling(x[:SOME], exponential_log_cdf, exponential_log_sf))
    for order in (1, 2, 4):
        accept(moment(f"moment {order}", x**order, absolute_power_moments(order)))


@pytest.mark.parametrize("log_scale", [-1e4, 0.0, 1e6])
def test_log_laplace(log_scale):
    """Log-domain draws far beyond the floats are exponential in magnitude and even in sign."""
    drawn = default_rng(203).log_laplace(log_scale, SOME)
    # ln b + ln E is rounded to the last place of ln b, 1e-10 at most.
    x = np.exp(drawn.log_abs - log_scale)
    accept(kolmogorov_smirnov(x, exponential_cdf))
    accept(moment("mean magnitude", x, absolute_power_moments(1)))
    accept(count("plus signs", int(np.sum(drawn.sign == 1)), SOME, 0.5))
    assert set(np.unique(drawn.sign)) == {-1, 1}


INTERVALS = [
    (0.0, 1.0, -1.0, 1.0),
    (0.0, 0.3, -0.1, 2.0),
    (5.0, 2.0, 4.5, math.inf),
    (0.0, 1.0, 30.0, 31.5),
    (0.0, 1.7, 900.0, math.inf),
    (3.0, 2.0, -400.0, -390.0),
]


@pytest.mark.parametrize(("loc", "scale", "low", "high"), INTERVALS)
def test_bounded_laplace(loc, scale, low, high):
    """Conditioned draws have the conditioned distribution function, in a far tail too, and stay inside."""
    drawn = default_rng(204).bounded_laplace(loc, scale, low, high, SOME)
    x = standard(drawn, loc, scale)
    below, above = conditioned((low - loc) / scale, (high - loc) / scale)
    accept(kolmogorov_smirnov(x, below))
    # A draw that is rounded onto an end would have a logarithm of 0; it belongs to the middle of its last step.
    tiny = 2.0**-54

    def log_below(x):
        return np.log(np.maximum(below(x), tiny))

    def log_above(x):
        return np.log(np.maximum(above(x), tiny))

    accept(anderson_darling(x, log_below, log_above))
    assert low <= drawn.min() <= drawn.max() <= high


# Independence.


def test_sign_is_independent_of_magnitude(draws):
    """The 32 cells of sign and magnitude are equally likely, which covers the balance of signs."""
    accept(sign_and_magnitude(draws))
    accept(count("plus signs", int(np.sum(draws > 0)), draws.size, 0.5))


@pytest.mark.parametrize(("method", "dtype"), KINDS)
def test_neighbours_are_independent(method, dtype):
    """Draws are uncorrelated with the sixteen after them, in value, magnitude and sign."""
    for check in serial(default_rng(205).laplace(0.0, 1.0, MANY, method=method, dtype=dtype).astype(np.float64)):
        accept(check)


@pytest.mark.parametrize("width", [2, 8, 128, 512])
def test_lanes_are_independent(draws, width):
    """Places in a lane pair, a row, a group and a batch have mean 0 and no correlation with each other."""
    for check in columns(f"places modulo {width}", draws, width):
        accept(check)


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_are_independent(threads):
    """Blocks that are given to threads have no draws in common, and no correlation place by place."""
    x = default_rng(206, threads=threads).laplace(0.0, 1.0, 8 * BLOCK)
    # Each block is a column, so that equal places of two blocks meet.
    for check in columns("blocks", np.ascontiguousarray(x.reshape(8, BLOCK).T).ravel(), 8):
        accept(check)
    words = default_rng(206, threads=threads).words(4 * BLOCK)
    assert words.size == 1 << 19
    # Among 2^19 random words two are equal with probability 2^38 / 2^65 = 7e-9, as eight checks have false alarms.
    assert np.unique(words).size == words.size


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_low_bits_of_draws_are_uniform(dtype):
    """The last eight bits of mantissas take every value equally often, where the words resolve every float.

    Below 2^-10 (float32: 2^-6) the lattice of u is coarser than the floats; above 4 that of float32 is as well.
    """
    x = np.abs(default_rng(207).laplace(0.0, 1.0, MANY, dtype=dtype))
    least, most, kind = (2.0**-10, 40.0, np.uint64) if dtype is np.float64 else (2.0**-6, 4.0, np.uint32)
    bits = x[(x >= least) & (x < most)].view(kind) & kind(255)
    accept(chi_square("last eight bits", np.bincount(bits.astype(np.int64), minlength=256), np.full(256, 1 / 256)))
    # The last bit goes with neither the sign nor the draw's place.
    signed = default_rng(207).laplace(0.0, 1.0, MANY, dtype=dtype)
    last = (signed.view(kind) & kind(1)).astype(np.float64) * 2 - 1
    middle = (np.abs(signed) >= least) & (np.abs(signed) < most)
    accept(correlations("last bit and sign", [float(np.mean((last * np.sign(signed))[middle]))], int(middle.sum())))


# Tails, by importance: words forced below 2^m make u < 2^(m - 64), and beyond (64 - m) ln 2 the law is exponential.


@pytest.mark.parametrize(("beyond", "m"), [(10, 50), (20, 36), (30, 21)])
def test_tail_of_float64(beyond, m):
    """Beyond 10, 20 and 30 b there is as much mass as there should be: 4.5e-5, 2.1e-9 and 9.4e-14 of all draws.

    An error of 1 % in that mass is missed with probability 1e-6 at most.
    """
    start = (64 - m) * math.log(2)
    assert beyond - math.log(2) < start <= beyond
    for check in tail(laplace_draws(forced_words(m, SOME)), start, beyond):
        accept(check)


@pytest.mark.parametrize(("beyond", "m"), [(10, 18), (14, 12)])
def test_tail_of_float32(beyond, m):
    """In float32 the mass beyond 10 and 14 b is right: 4.5e-5 and 8.3e-7 of all draws."""
    start = (32 - m) * math.log(2)
    half_words = (default_rng(209).words(SOME) >> np.uint64(64 - m)).astype(np.uint32)
    x = standard(laplace_draws32(half_words))
    for check in tail(x, start, beyond)[::2]:
        accept(check)


def test_end_of_the_tail_cell_by_cell():
    """The last 2^11 cells give each its own magnitude, down to 64 ln 2, so the mass beyond 36.7 b is there in full."""
    cells = np.arange(1 << 11, dtype=np.uint64)
    got = laplace_draws(cells << np.uint64(1))

    assert np.unique(got).size == cells.size
    assert np.array_equal(got, -np.sort(-got))
    assert np.array_equal(np.rint(np.exp(64 * math.log(2) - got)), 2 * cells + 1)


@pytest.mark.parametrize(("beyond", "m"), [(10, 50), (20, 36), (30, 21)])
def test_tail_of_the_difference(beyond, m):
    """With the first uniform forced below 2^(m - 64) and the second free, E1 - E2 passes ``beyond`` as it should.

    E1 = start + E with E standard exponential, so P(E1 - E2 > beyond) = exp(start - beyond) / 2.
    """
    start = (64 - m) * math.log(2)
    x = difference_draws(forced_words(m, SOME), default_rng(210).words(SOME))
    accept(count(f"draws beyond {beyond} b", int(np.sum(x > beyond)), SOME, math.exp(start - beyond) / 2))
    accept(kolmogorov_smirnov(x - start, laplace_cdf))
