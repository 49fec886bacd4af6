"""Mutants of the noise, each with one fault, that the checks of test_statistics must reject."""

import math

import numpy as np
import pytest
from from_words import laplace_draws
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
    tail,
)
from stats import (
    absolute_power_moments,
    chi_square,
    count,
    kolmogorov_smirnov,
    moment,
    reject,
)

from lapnoise import default_rng
from lapnoise._fill import BLOCK


@pytest.fixture(scope="module")
def draws() -> np.ndarray:
    """Return standard draws."""
    return many_draws()


def test_mutant_scale_one_percent_more(draws):
    """A scale 1 % too large or too small is rejected by the mean magnitude."""
    for factor in (1.01, 0.99):
        reject(moment("mean magnitude", factor * np.abs(draws), absolute_power_moments(1)))


def test_mutant_scale_four_percent_more(draws):
    """A scale 4 % off is rejected by the distribution functions as well."""
    for factor in (1.04, 0.96):
        for check in laplace_distribution(factor * draws[:SOME]):
            reject(check)


def test_mutant_one_sign_in_a_hundred_lost(draws):
    """One minus sign in a hundred lost is rejected by the balance of signs and by sign against magnitude."""
    mutant = draws.copy()
    mutant[::100] = np.abs(mutant[::100])
    reject(count("plus signs", int(np.sum(mutant > 0)), mutant.size, 0.5))
    reject(sign_and_magnitude(mutant))


def test_mutant_sign_tied_to_magnitude(draws):
    """A sign that leans by 2 % towards plus for large draws and minus for small ones balances, and is rejected."""
    mutant = np.abs(draws)
    plus = default_rng(211).exponential(1.0, draws.size) < np.where(mutant > math.log(2), 0.7133, 0.6733)
    mutant = np.where(plus, mutant, -mutant)
    reject(sign_and_magnitude(mutant))


def test_mutant_tail_of_53_bits():
    """Uniforms of 53 bits, whose tail ends at 36.7 b, are rejected by the law beyond 30 b.

    So are uniforms of 32 bits, by what is missing beyond 20 b.
    """

    def coarse(words, bits):
        kept = words >> np.uint64(64 - bits)
        return -np.log((kept.astype(np.float64) + 0.5) * 2.0**-bits) * np.where(words & np.uint64(1), -1.0, 1.0)

    words = forced_words(13, SOME)
    assert np.abs(coarse(words, 53)).max() < 37.5
    assert all(check.statistic <= check.critical for check in tail(laplace_draws(words), 51 * math.log(2), 36)[::2])
    reject(tail(coarse(words, 53), 51 * math.log(2), 36)[1])
    reject(tail(coarse(forced_words(36, SOME), 32), 28 * math.log(2), 20)[0])


def test_mutant_words_shared_between_blocks(draws):
    """Two blocks, lanes or neighbours that share one word in twenty are rejected by their correlation."""
    blocks = draws.reshape(16, BLOCK).copy()
    blocks[3, ::20] = blocks[11, ::20]
    reject(columns("blocks", np.ascontiguousarray(blocks.T).ravel(), 16)[0])
    lanes = draws.reshape(-1, 128).copy()
    lanes[::10, 17] = lanes[::10, 90]
    reject(columns("places", lanes.ravel(), 128)[0])
    neighbours = draws.copy()
    neighbours[5::20] = neighbours[2:-3:20][: neighbours[5::20].size]
    for check in serial(neighbours):
        reject(check)


def test_mutant_wrong_fourth_moment(draws):
    """A normal variate of the same variance, and a Laplace one cut at 7 b, are rejected by moments and by AD."""
    normal = np.random.default_rng(3).normal(0, math.sqrt(2), MANY)
    reject(laplace_moments(normal)[3])
    reject(laplace_distribution(normal[:SOME])[1])
    reject(laplace_moments(np.clip(draws, -7, 7))[3])


def test_mutant_low_bits():
    """Float32 noise cast to float64, and a mantissa whose last bit is stuck, are rejected by the low bits."""
    x = np.abs(default_rng(207).laplace(0.0, 1.0, SOME))
    for mutant in (x.astype(np.float32).astype(np.float64), (x.view(np.uint64) | np.uint64(1)).view(np.float64)):
        bits = mutant.view(np.uint64) & np.uint64(255)
        reject(chi_square("last eight bits", np.bincount(bits.astype(np.int64), minlength=256), np.full(256, 1 / 256)))


def test_mutant_bounded_by_clipping():
    """Clipping to an interval, or mirroring at its ends, is rejected where conditioning is asked for."""
    x = default_rng(204).laplace(0.0, 1.0, SOME)
    below, _ = conditioned(-1.0, 1.0)
    reject(kolmogorov_smirnov(np.clip(x, -1, 1), below))
    reject(kolmogorov_smirnov(np.abs((x + 1) % 4 - 2) - 1, below))
