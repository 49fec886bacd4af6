"""The bounds behind exact noise: each part computed again, and measured on words that come close to it.

What no feasible number of draws can see, a certificate that is too small by a tenth, is refused here by its derivation
(docs/exact-sampling.md, section 3).
"""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from adversarial import adversarial_words
from derivations import EPS0, FIT, LOGARITHM, derived, too_small
from exact_words import UNDECIDED, fast_tier, fast_values, jit, law, log_error, refined_logs
from mpmath import mp, mpf
from mutants import mutant
from stats import accept, count, reject

from lapnoise import _exact_noise, default_rng
from lapnoise.kernels import log, refined
from lapnoise.kernels.discrete_laplace import FAST_LIMIT, TAIL, certificate


def test_fit_of_the_logarithm():
    """P(z) stays within 4.61e-18 of its function, relative to the logarithm, all over its range."""
    coefficients = [Fraction(getattr(log, f"_C{k}")) for k in range(7)]
    worst = mpf(0)
    with mp.workprec(160):
        for i in range(1, 4001):
            s = mpf("0.171573") * i / 4000
            z = s * s
            fitted = 2 * s + s * z * sum((mpf(c.numerator) / c.denominator * z**k for k, c in enumerate(coefficients)))
            worst = max(worst, abs(fitted / (2 * mp.atanh(s)) - 1))
    assert worst <= FIT


def test_certificate_from_its_derivation():
    """The parts sum to at most 60.8 t 2^-53, as the documentation has it, and 80 leaves a margin of 19."""
    parts = derived()
    logarithm = sum(parts[name] for name in LOGARITHM)

    assert logarithm <= 20.4
    assert parts["cell"] <= 29.4
    assert 55 < sum(parts.values()) <= 60.8
    for t in (1e-300, 1e-3, 1 / 3, 1.0, 3.0, 2.0**24 + 1, 2.0**30, 2.0**40, FAST_LIMIT):
        assert not too_small(certificate, t)


@pytest.mark.parametrize("part", [1 / 8, 1 / 2, 0.75, 0.9])
def test_mutant_with_a_smaller_certificate(part):
    """A certificate of 0.9 of its size, which no word shows to be wrong, is refused by the derivation."""
    assert all(too_small(lambda t: certificate(t) * part, t) for t in (2.0**24, FAST_LIMIT))


def test_numbers_of_a_law():
    """A law holds t, kappa, the certificate and the end of the tier, as the derivation takes them."""
    for t in (0.3, 3.0, 2.0**30, FAST_LIMIT):
        made = _exact_noise.law(t)
        assert made.tolist() == [t, *_exact_noise.kappa_pair(t), certificate(t), t * 11.0]


def test_errors_stay_within_the_derived_bound():
    """Over 3e7 words the logarithm's error stays below 20.4 2^-53, and reaches 0.8 of it: the bound is not idle.

    The true logarithm is the refined tier's, whose error is 2^-19 of this unit; the worst is computed again by mpmath.
    """
    words = default_rng(41).words(1 << 22)
    worst = 0.0
    for shift in (0, 2, 4, 6, 8, 10, 12):
        small = words >> np.uint64(shift)
        small = small[small >= np.uint64(math.ceil(2.0**64 * math.exp(-TAIL)))]
        error = np.abs(log_error(small))
        at = int(small[error.argmax()])
        got, most = fast_values([at], law(1.0, kappa=0.0))[0], float(error.max())
        with mp.workprec(200):
            true = float(abs(mpf(got) + mp.log(mpf(at | 1) / 2**64)) * 2**53)
        assert true == pytest.approx(most, rel=1e-5)
        worst = max(worst, most)
    assert 0.8 * 20.4 < worst < 20.4


@pytest.mark.parametrize("t", [1e-3, 1 / 3, 1.0, 3.0, 50.0, 12345.678, 2.0**24, 2.0**30, 2.0**36, 2.0**40, FAST_LIMIT])
def test_values_stay_within_the_derived_bound(t):
    """abs(y - y_true) at both ends of the cell stays below 60.8 t 2^-53 + 0.75 2^-53 for words up to E = 11.

    The 200 worst of 2^20 words, by a sum in extended precision, are computed again by mpmath; with small U the cell
    alone makes up half of the bound, so that two fifths of it are reached.
    """
    words = default_rng(42).words(1 << 20) >> np.uint64(10)
    words = words[words >= np.uint64(math.ceil(2.0**64 * math.exp(-TAIL)))]
    y = fast_values(words, law(t))
    high, low = refined_logs(words | np.uint64(1))
    kappa_high, kappa_low = _exact_noise.kappa_pair(t)
    rough = np.abs(((y - np.longdouble(t) * high) - kappa_high) - np.longdouble(t) * low - kappa_low)
    rough += t / (words >> np.uint64(1)).astype(np.float64) / 2
    worst = 0.0
    for i in np.argsort(rough)[-200:].tolist():
        j = int(words[i]) >> 1
        with mp.workprec(250):
            kappa = mpf(t) * mp.log(2 / (1 + mp.exp(-1 / mpf(t))))
            ends = [mpf(t) * -mp.log(mpf(edge) / 2**63) + kappa for edge in (j, j + 1)]
            worst = max(worst, *(float(abs(mpf(float(y[i])) - end) * 2**53) for end in ends))
    bound = 60.8 * t + 0.75

    assert worst < bound
    assert worst > 0.4 * bound or t < 1


# How often the fast tier is left.


MEAN_STEP = sum(2.0 ** (k + 1) * (math.exp(-(2.0**k)) - math.exp(-(2.0 ** (k + 1)))) for k in range(-60, 6))
"""Mean step of the floats about y in units of t 2^-53, 2^(1 + floor(log2 E)): one more is refused than 2 slack."""


def leaving(found: np.ndarray, t: float, name: str):
    """Check the number of words that left the fast tier, 160 t 2^-53 and a step by distance, and exp(-11) by size.

    ``detects`` is an error of that share.
    """
    near = 2 * certificate(t) + MEAN_STEP * t * EPS0
    share = near + math.exp(-TAIL) * (1 - near)
    return count(name, int(np.sum(found == UNDECIDED)), found.size, share)


@pytest.mark.parametrize(("bits", "size"), [(24, 1 << 24), (30, 1 << 24), (36, 1 << 22), (40, 1 << 22), (43, 1 << 20)])
def test_share_that_leaves_the_fast_tier(bits, size):
    """The share of words that leave is what was predicted, 160 t 2^-53 + exp(-11) and 0.9 % of the former.

    An error of 2e-5 is seen at log2 t = 24 and 30, of 2e-4 at 36, of 4 % of the share at 40 and of 3 % at 43. A
    certificate a tenth larger is refused from 40 on, one of twice the size at 36.
    """
    t = 2.0**bits
    words = default_rng([51, bits]).words(size)
    accept(leaving(fast_tier(words, law(t)), t, f"left at 2^{bits}"))
    if bits >= 36:
        more = certificate(t) * (1.1 if bits >= 40 else 2)
        reject(leaving(fast_tier(words, law(t, slack=more)), t, "mutant"))


# The refined tier's logarithm.


def test_refined_logarithm():
    """Its error stays below 2^-76, the derived bound, on 20,000 random words and 5,000 adversarial ones.

    The decision allows 2^-70.
    """
    chance = random.Random(6)
    odd = [word | 1 for word in adversarial_words()]
    odd += [(chance.getrandbits(64) >> chance.choice((0, 0, 0, 1, 7, 20, 40, 63))) | 1 for _ in range(20_000)]
    # About the ends of the table's cells, where atanh's argument is largest.
    odd += [((c << 56) + d) | 1 for c in range(128, 256) for d in (-1, 0, 1, 1 << 55) if (c << 56) + d < 1 << 64]
    high, low = refined_logs(odd)
    worst = 0.0
    with mp.workprec(200):
        unit = 64 * mp.log(2)
        for v, h, x in zip(odd, high.tolist(), low.tolist(), strict=True):
            worst = max(worst, float(abs(mpf(h) + mpf(x) - (unit - mp.log(v)))))

    assert worst < 2.0**-76
    assert refined.LOG_ERROR >= 4 * 2.0**-72
    assert refined.FLOOR_ERROR >= 2.0**-51


def test_mutant_of_the_refined_logarithm():
    """Without the series' term in s^7 the error passes 2^-72."""
    shorter = mutant("lapnoise.kernels.refined", ("fma64(z, 2.0 / 7.0, 2.0 / 5.0)", "2.0 / 5.0")).refined_log

    @jit
    def run(odd):
        out = np.empty((odd.size, 2))
        for i in range(odd.size):
            out[i] = shorter(odd[i])
        return out

    odd = np.array([(c << 56) | 1 for c in range(129, 256)], np.uint64)
    with mp.workprec(200):
        worst = max(
            float(abs(mpf(h) + mpf(x) - (64 * mp.log(2) - mp.log(int(v)))))
            for v, (h, x) in zip(odd, run(odd).tolist(), strict=True)
        )
    assert worst > 2.0**-72


def test_cell_within_its_reach():
    """ln((2 j + 1) / (2 j)), how far a cell reaches from its middle, is below 1 / (2 j) for every j."""
    with mp.workprec(300):
        for j in [*range(1, 200), *((1 << k) + 1 for k in range(8, 63))]:
            assert mp.log1p(mpf(1) / (2 * j)) < mpf(1) / (2 * j)
            assert -mp.log1p(mpf(-1) / (2 * j + 2)) < mpf(1) / (2 * j)
