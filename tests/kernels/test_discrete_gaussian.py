"""The sampler of discrete Gaussian noise: it equals the loop in integers, on any words, and its law is exact."""

import math
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from adversarial import adversarial_words
from chosen_words import filling, word, words_of
from mpmath import mp, mpf
from stats import Moments, accept, chi_square, moment, reject

from lapnoise import _attempts, default_rng, exact
from lapnoise._exact_noise import word_of_stream
from lapnoise._fill import scratch
from lapnoise._gaussian_noise import exact_gaussian_draw, gaussian_kernel, gaussian_law
from lapnoise.kernels.attempts import energy_error
from lapnoise.kernels.discrete_gaussian import COIN_ERROR
from lapnoise.kernels.discrete_laplace import FAST_LIMIT

SOURCE = default_rng(23)._stream.source
SIGMAS = [1e-3, 0.1, 0.3, 1.0, 3.73063, 50.0, 1000.0, 2.0**24 + 0.5, 2.0**30 / 3, 2.0**40, FAST_LIMIT]
KERNEL = ("lapnoise.kernels.discrete_gaussian", "fill_discrete_gaussian")


def drawn(sigma: float, size: int, place: int = 0) -> np.ndarray:
    """Return draws of the kernel."""
    out = np.empty(size, np.int64)
    gaussian_kernel(sigma)(out, SOURCE, place, scratch())
    return out


@pytest.mark.parametrize("sigma", SIGMAS)
def test_draws_are_those_of_the_reference(sigma):
    """Draws from all over a stream are those of the loop in Python integers."""
    got = drawn(sigma, 5000, 200)
    for i in [*range(25), *range(1000, 1010), 4998, 4999]:
        assert got[i] == exact_gaussian_draw(sigma, SOURCE, 200 + i)


@pytest.mark.parametrize("sigma", [0.3, 3.73063, 2.0**40])
def test_draws_depend_on_their_place_alone(sigma):
    """Any split of a run, at the ends of batches and inside, gives the same draws; a draw can be made alone."""
    whole = drawn(sigma, 3000)
    for start, size in ((0, 1), (1, 127), (128, 512), (511, 513), (700, 1), (1027, 1500), (2999, 1)):
        assert np.array_equal(drawn(sigma, size, start), whole[start : start + size])
    assert drawn(sigma, 0).size == 0


def test_the_word_at_the_place_itself_stays_unused():
    """No draw is a function of the words of the stream's own number: another stream with other words may take them."""
    taken = {word_of_stream(SOURCE, 3, (1 << 62) + 4 * a + role) for a in range(5) for role in range(2)}
    assert len(taken) == 10
    assert word_of_stream(SOURCE, 3, 0) not in taken


@cache
def tables(sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Return candidates' words, and beside them coins' words whose cells lie at and next to exp(-x)."""
    t = Fraction(sigma)
    chance = default_rng(29)
    first = [*chance.words(700).tolist(), *(int(w) >> 9 for w in chance.words(200)), *adversarial_words()[::50]]
    second = []
    for i, w in enumerate(first):
        size = abs(_attempts.candidate(t, words_of(np.array([w], np.uint64), i, 0)))
        x = (size - t) ** 2 / (2 * t * t)
        with mp.workprec(200):
            edge = int(mp.floor(mp.exp(-mpf(x.numerator) / x.denominator) * 2**63)) if x < 60 else 0
        beside = (0, 9, -300, *(s * 10**k for s in (-1, 1) for k in (6, 7, 8, 9, 10, 12)))[i % 15]
        second.append(2 * min(max(edge + beside, 0), 2**63 - 1))
    return np.array(first, np.uint64), np.array(second, np.uint64)


def reference(sigma: float, place: int, first: np.ndarray, second: np.ndarray) -> int:
    """Return the draw that these words make, by rejection in fractions."""
    t = Fraction(sigma)
    for attempt in range(1000):
        made = _attempts.candidate(t, words_of(first, place, attempt))
        x = (abs(made) - t) ** 2 / (2 * t * t)
        if _attempts.accepts(partial(exact.ratio, x), words_of(second, place, attempt)):
            return made
    raise AssertionError("no attempt is accepted")


def compare(sigma: float, *changes: tuple[str, str]) -> tuple[int, int]:
    """Return how many draws from words beside the edge are wrong, and how many are left open."""
    first, second = tables(sigma)
    fill = filling(*KERNEL, *changes)
    out, pending = np.zeros(512, np.int64), np.zeros(1153, np.int64)
    done = fill(out, gaussian_law(sigma), pending, [first, second])
    left = set(pending[1 : 1 + pending[0]].tolist())
    assert done == 512
    wrong = sum(1 for i in range(done) if i not in left and out[i] != reference(sigma, i, first, second))
    return wrong, len(left)


@pytest.mark.parametrize("sigma", [0.3, 3.73063, 2.0**24 + 0.5, 2.0**42])
def test_words_beside_the_edge(sigma):
    """Where coins' words lie at exp(-x), what is not left open is right; some are left open, not all."""
    wrong, left = compare(sigma)
    assert wrong == 0
    assert 0 < left < 400


def test_mutants_on_words_beside_the_edge():
    """Without the bound on the errors, or without the sign, draws are wrong."""
    assert compare(2.0**24 + 0.5, ("coin(energy[i], f[i], COIN_ERROR)", "coin(energy[i], f[i], 0.0)"))[0] > 0
    assert (
        compare(3.73063, ("target[place] = np.int64(signed(m[i], first[i]))", "target[place] = np.int64(m[i])"))[0] > 0
    )


def test_error_of_x_from_its_derivation():
    """Three roundings, squared, and one more, of x <= 11, and the energy's error: COIN_ERROR has a tenth to spare."""
    eps0 = 2.0**-53
    one = Fraction(eps0) + 1
    relative = float((one**3) ** 2 * one - 1)
    needed = energy_error + 11.0 * (relative + 1e-30)

    assert 7.0 <= relative / eps0 < 7.01
    assert needed + 0.1 * 77 * eps0 <= COIN_ERROR
    assert 1.3 * needed > COIN_ERROR
    worst = 0.0
    for sigma in SIGMAS[3:]:
        inverse = 1.0 / sigma
        for m in [0.0, 1.0, 2.0, *(math.floor(sigma * k / 7) for k in range(40))]:
            zf = (m - sigma) * inverse
            got = 0.5 * (zf * zf)
            true = (Fraction(m) - Fraction(sigma)) ** 2 / (2 * Fraction(sigma) ** 2)
            if got <= 11:
                worst = max(worst, float(abs(Fraction(got) - true)))
    assert worst <= 11 * relative


def law_of(sigma: float, reach: int) -> np.ndarray:
    """Return P(X = -reach), ..., P(X = reach), both ends with all that lies beyond."""
    k = np.arange(-reach - 60 - int(20 * sigma), reach + 61 + int(20 * sigma))
    w = np.exp(-0.5 * (k / sigma) ** 2)
    w /= w.sum()
    inner = w[np.abs(k) <= reach].copy()
    inner[0] += w[k < -reach].sum()
    inner[-1] += w[k > reach].sum()
    return inner


def counts(x: np.ndarray, reach: int) -> np.ndarray:
    """Return how often each integer was drawn, the ends with all that lies beyond."""
    return np.bincount(np.clip(x, -reach, reach) + reach, minlength=2 * reach + 1)


@pytest.mark.parametrize(("sigma", "reach"), [(0.4, 1), (1.0, 3), (2.5, 9), (11.3, 38)])
def test_law_of_narrow_noise(sigma, reach):
    """A million draws have the probabilities exp(-k^2 / (2 sigma^2)) / Z; a sigma 2 % small is refused."""
    x = drawn(sigma, 1_000_000)
    accept(chi_square("law", counts(x, reach), law_of(sigma, reach)))
    reject(chi_square("sigma 2 % too small", counts(x, reach), law_of(sigma / 0.98, reach)))


@pytest.mark.parametrize("sigma", [2.0**24 + 0.5, FAST_LIMIT])
def test_law_of_wide_noise(sigma):
    """The mean of X^2 / sigma^2 is 1, and cells are hit as by the normal law; a sigma 2 % small is refused."""
    x = drawn(sigma, 1_000_000) / sigma
    square = Moments(1.0, math.sqrt(2.0), math.sqrt(8.0), 12.0)
    accept(moment("variance", x**2, square))
    reject(moment("sigma 2 % too small", (0.98 * x) ** 2, square))
    cells = np.searchsorted([-2.5, -1.5, -0.7, -0.2, 0.2, 0.7, 1.5, 2.5], x)
    edges = np.array([-math.inf, -2.5, -1.5, -0.7, -0.2, 0.2, 0.7, 1.5, 2.5, math.inf])
    cdf = np.array([0.5 * math.erfc(-e / math.sqrt(2)) for e in edges])
    accept(chi_square("cells", np.bincount(cells, minlength=9), np.diff(cdf)))


def test_mutant_that_accepts_every_candidate():
    """Without the coin the noise is discrete Laplace, and the check of the law sees it."""
    first = default_rng(31).words(1 << 15)
    fill = filling(*KERNEL, ("COIN_ERROR) if m[i] >= 0.0 else -1", "COIN_ERROR) * 0 + 1"))
    out, pending = np.zeros(first.size, np.int64), np.zeros(1153, np.int64)
    assert fill(out, gaussian_law(2.5), pending, [first, first]) == out.size
    reject(chi_square("law", counts(out, 6), law_of(2.5, 6)))


GOLDEN = {
    0.7: [0, -1, 0, 0, 0, 0, 0, 1],
    3.0: [-2, 0, 2, -2, 0, 1, 1, 6],
    2.0**24 + 0.5: [6564685, 1387719, 10256469, -10274923, 812517, 6930717, 4383025, 31297727],
}
"""The first draws of seed 0, by sigma."""


def test_golden_draws():
    """The map from words to draws is part of what STREAM_VERSION numbers: these draws stay."""
    out = np.empty(8, np.int64)
    for sigma, expected in GOLDEN.items():
        gaussian_kernel(sigma)(out, default_rng(0)._stream.source, 0, scratch())
        assert out.tolist() == expected


def test_chosen_words_go_round():
    """The tables of the tests above give other words to other attempts."""
    table = np.arange(2000, dtype=np.uint64)
    assert [word(table, 5, a) for a in range(4)] == [5, 982, 1959, 936]
