"""Attacks on floating-point noise: each must succeed on textbook noise or on a named mutant, and find nothing here.

Membership (Mironov 2012), precision (Haney et al. 2022), the sign of zero, and a black-box audit that bounds epsilon
from below by counts of two neighbouring inputs (Clopper and Pearson 1934). A bound above epsilon has probability 1e-6
for a mechanism that keeps it; every audit chooses its event on other draws than it counts, so one event is tested.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from auditing import MANY, audit
from exact_oracles import boundary
from mpmath import mp, mpf

from lapnoise import DiscreteLaplaceMechanism, LaplaceMechanism, default_rng
from lapnoise.evaluate.auditing.bounds import FALSE_ALARM, clopper_pearson, epsilon_at_least
from lapnoise.evaluate.auditing.events import lowest_bits, values
from lapnoise.exact import magnitude

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")


# Textbook noise.


def numpy_noise(x: float, b: float, size: int, seed: int) -> np.ndarray:
    """Return x + Laplace noise as NumPy draws it: by inversion of a 53-bit uniform."""
    return np.random.default_rng(seed).laplace(x, b, size)


def full_range_noise(x: float, b: float, size: int, seed: int) -> np.ndarray:
    """Return x + Laplace noise by inversion of a uniform that has all the bits of a float."""
    chance = np.random.default_rng(seed)
    u = (chance.integers(0, 2**52, size) + 2.0**52) * 2.0**-53 * 0.5 ** (chance.geometric(0.5, size) - 1)
    return x + np.where(chance.random(size) < 0.5, -1, 1) * -b * np.log(u)


def four_uniforms(x: float, b: float, size: int, seed: int) -> np.ndarray:
    """Return x + Laplace noise of four uniforms (Holohan and Braghin 2021), as diffprivlib draws it."""
    u = np.random.default_rng(seed).random((4, size))
    return x + b * (np.log(1 - u[0]) * np.cos(np.pi * u[1]) + np.log(1 - u[2]) * np.cos(np.pi * u[3]))


def exact_noise(x: float, b: float, size: int, seed: int) -> np.ndarray:
    """Return x + noise of the mechanism, of the same scale."""
    m = LaplaceMechanism(epsilon=Fraction(1) / Fraction(b), sensitivity=1, changed=1)
    return m.add_noise(np.full(size, x), rng=default_rng(seed))


# R1: membership.


def reachable(y: np.ndarray, x: float, b: float) -> np.ndarray:
    """Return which outputs NumPy's formula can make of x: by inverting it and running it on the uniforms nearby."""
    found = []
    for value in y.tolist():
        z = (value - x) / b
        u = 1 - math.exp(-z) / 2 if z >= 0 else math.exp(z) / 2
        near = (j * 2.0**-53 for j in range(round(u * 2**53) - 3, round(u * 2**53) + 4) if 0 < j < 2**53)
        found.append(any((x - b * math.log(2 - v - v) if v >= 0.5 else x + b * math.log(v + v)) == value for v in near))
    return np.array(found)


@pytest.mark.parametrize("b", [1.0, 10.0, 100.0])
def test_membership(b):
    """Whether the formula can make an output of the other input tells NumPy's inputs apart, and none of ours.

    At 2,000 outputs a side NumPy's epsilon is shown to be above 4, whatever epsilon = 1 / b promises.
    """
    size = 2000
    for noise, vulnerable in ((numpy_noise, True), (exact_noise, False)):
        zero, one = noise(0.0, b, size, 11), noise(1.0, b, size, 12)
        hits, others = int(np.sum(~reachable(zero, 1.0, b))), int(np.sum(~reachable(one, 1.0, b)))
        bound = epsilon_at_least(hits, others, size)
        if vulnerable:
            assert reachable(zero, 0.0, b).mean() > 0.99
            assert hits / size > 0.7
            assert others / size < 0.01
            assert bound > 4
        else:
            assert bound <= 1 / b


def words_for(t: Fraction, steps: int) -> tuple[int, list[int]]:
    """Return the first 63 bits and further words of a uniform whose magnitude is ``steps``: the middle of its range."""
    with mp.workprec(900):
        least = boundary(t, steps + 1, 800)
        u = (least + (mpf(1) if steps == 0 else boundary(t, steps, 800))) / 2
        bits = int(mp.floor(mp.ldexp(u, 63 + 64 * 9)))
    return bits >> 64 * 9, [bits >> 64 * k & (2**64 - 1) for k in range(8, -1, -1)]


@pytest.mark.parametrize("b", [1.0, 10.0, 100.0])
def test_every_output_is_reachable(b):
    """Every output of either input is a multiple of r, and some words make it of the other input: shown one by one."""
    m = LaplaceMechanism(epsilon=Fraction(1) / Fraction(b), sensitivity=1, changed=1)
    t, r = Fraction(m.lattice.t), Fraction(m.granularity)
    for x, other in ((0.0, 1.0), (1.0, 0.0), (2.0**-20, 3.0)):
        for y in exact_noise(x, b, 100, 13).tolist():
            steps = Fraction(y) / r - Fraction(other) / r
            assert steps.denominator == 1
            first, further = words_for(t, abs(int(steps)))
            assert magnitude(t, first, iter(further)) == abs(steps)


# R5: precision.


@pytest.mark.parametrize("noise", [numpy_noise, full_range_noise, four_uniforms])
@pytest.mark.parametrize("b", [1.0, 10.0])
def test_precision_attack_on_textbook_noise(noise, b):
    """Outputs of 1 never have a bit below 2^-53, outputs of 0 do: one in fifty or more tells, for certain."""
    size = 20_000
    zero, one = lowest_bits(noise(0.0, b, size, 21)), lowest_bits(noise(1.0, b, size, 22))
    assert np.mean(zero < -53) > 0.005
    assert np.mean(one < -53) == 0
    assert epsilon_at_least(int(np.sum(zero < -53)), int(np.sum(one < -53)), size) > 1.5


VALUES = [0.0, -0.0, 2.0**-20, 1.0, 3.0, 1 / 3, 2.0**30, -(2.0**30) - 0.1]


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("b", [0.5, 1.0, 10.0])
def test_precision_attack(b, kind):
    """No output has a bit below r, whatever the value; in float32 the grid is the same, rounded once."""
    m = LaplaceMechanism(epsilon=Fraction(1) / Fraction(b), sensitivity=1, changed=1)
    for seed, x in enumerate(VALUES):
        y = m.add_noise(np.full(20_000, x, kind), rng=default_rng(seed))
        assert y.dtype == kind
        assert lowest_bits(y.astype(np.float64)).min() >= m.lattice.exponent
        assert not np.signbit(y[y == 0]).any()


@pytest.mark.parametrize("x", [0.0, 2.0**-20, 1.0, 3.0, 2.0**20])
def test_low_bits_tell_nothing(x):
    """The last bit of the number of steps, and how many zeros end it, are those of any other value.

    With probability 1e-6 a share is off by more than its interval; a difference of 0.5 % is seen.
    """
    m = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)
    steps = (m.add_noise(np.full(MANY, x), rng=default_rng(31)) / m.granularity).astype(np.int64)
    for zeros in range(5):
        low, high = clopper_pearson(int(np.sum(steps % 2**zeros == 0)), MANY, FALSE_ALARM)
        assert low <= 2.0**-zeros <= high
        assert high - low < 0.006


# R2: lattice invariants.


@pytest.mark.parametrize("sensitivity", [0.1, 1 / 3, 1.0, 1e-300, 1e290])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2**50), Fraction(1, 3), Fraction(1), Fraction(2**40)])
@pytest.mark.parametrize("changed", [1, 2, 1000])
def test_outputs_are_multiples_of_the_granularity(sensitivity, epsilon, changed):
    """Outputs are whole multiples of a power of two that the parameters fix, and 0.0 and -0.0 have the same outputs."""
    m = LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity, changed=changed)
    r = Fraction(m.granularity)
    assert m.epsilon <= epsilon
    assert -(-Fraction(sensitivity) // r) + changed - 1 <= epsilon * Fraction(m.lattice.t)
    x = np.array([0.0, -0.0, sensitivity, -sensitivity / 3, 5 * sensitivity, 1e-310] * 5)
    y = m.add_noise(x, rng=default_rng(41))
    assert all((Fraction(v) / r).denominator == 1 for v in y.tolist())
    assert not np.signbit(y[y == 0]).any()
    zeros = [m.add_noise(np.full(200, zero), rng=default_rng(42)) for zero in (0.0, -0.0)]
    assert zeros[0].tobytes() == zeros[1].tobytes()


def test_mutant_that_keeps_the_sign_of_zero():
    """Signed noise added as floats shows -0.0 for the value -0.0 alone; the mechanism never shows it."""
    t1 = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1, granularity=1.0)
    size = np.random.default_rng(43).exponential(size=MANY)
    noise = np.copysign(np.floor(size + 0.37), np.where(np.arange(MANY) % 2, -1.0, 1.0))
    mutant = [int(np.sum(np.signbit(x + noise) & (x + noise == 0))) for x in (-0.0, 1.0)]
    assert mutant[0] > 0.1 * MANY
    assert mutant[1] == 0
    assert epsilon_at_least(*mutant, MANY) > 8
    for x in (0.0, -0.0, 1.0):
        y = t1.add_noise(np.full(MANY, x), rng=default_rng(44))
        assert np.sum(y == 0) > 0.1 * MANY
        assert not np.signbit(y[y == 0]).any()


# R9: audits.


def releasing(kind=np.float64, **parameters):
    """Return the sampler of a Laplace mechanism for ``audit``."""
    m = LaplaceMechanism(**{"sensitivity": 1, "changed": 1, **parameters})
    return lambda x, size, seed: m.add_noise(np.full(size, x, kind), rng=default_rng(seed)).astype(np.float64)


def counting(**parameters):
    """Return the sampler of a discrete Laplace mechanism for ``audit``."""
    m = DiscreteLaplaceMechanism(**{"sensitivity": 1, **parameters})
    return lambda x, size, seed: m.add_noise(np.full(size, int(x)), rng=default_rng(seed)).astype(np.float64)


AUDITS = {
    "0 and 1": (1.0, releasing(epsilon=1), 0.0, 1.0),
    "-0 and -1": (1.0, releasing(epsilon=1), -0.0, -1.0),
    "huge": (1.0, releasing(epsilon=1), 1e15, 1e15 + 1),
    "thirds": (1.0, releasing(epsilon=1), 1 / 3, 4 / 3),
    "float32": (1.0, releasing(epsilon=1, kind=np.float32), 0.0, 1.0),
    "ties": (1.0, releasing(epsilon=1, granularity=1.0), 0.5, 1.5),
    "coarse": (1.0, releasing(epsilon=1, granularity=0.25), 0.125, 1.125),
    "small epsilon": (0.1, releasing(epsilon="0.1"), 0.0, 1.0),
    "counts": (1.0, counting(epsilon=1), 0, 1),
    "large counts": (1.0, counting(epsilon=1, sensitivity=5), 2**52, 2**52 + 5),
}


@pytest.mark.parametrize("name", AUDITS)
def test_audit(name):
    """At a million outputs a side no event shows more than epsilon, and the best shows nine tenths of it.

    At an epsilon of 0.1 counts are uncertain by 1 %, so half of it has to do.
    """
    epsilon, make, x, neighbour = AUDITS[name]
    bound = audit(make, x, neighbour)
    assert bound <= epsilon
    assert bound >= (0.9 if epsilon == 1 else 0.5) * epsilon


def test_audit_of_a_vector():
    """Two coordinates that cross a step each show epsilon = 2 / t, which the lattice sensitivity of 2 steps allows for.

    The mutant with one step more for a vector, as for a scalar, shows twice its epsilon.
    """
    apart = 0.25  # each coordinate by 1/8, from just below a tie of r = 1 to it
    sound = LaplaceMechanism(epsilon=1, sensitivity=apart, changed=2, granularity=1.0)
    mutant = LaplaceMechanism(epsilon=1, sensitivity=apart, changed=1, granularity=1.0)
    assert sound.lattice.sensitivity == 2
    assert mutant.lattice.sensitivity == 1

    def pairs(m):
        return lambda x, size, seed: m.add_noise(np.full((size, 2), x), rng=default_rng(seed)).max(axis=1)

    assert 0.9 < audit(pairs(sound), 0.375, 0.5) <= 1
    assert audit(pairs(mutant), 0.375, 0.5) > 1.8


# Mutants that an audit has to catch at epsilon = 1.


def discrete(t: float, size: int, seed: int) -> np.ndarray:
    """Return exact integer noise."""
    return default_rng(seed).discrete_laplace(t, size).astype(np.float64)


def zero_twice(x: float, size: int, seed: int) -> np.ndarray:
    """Add a signed geometric variate at scale 1, whose two zeros are both kept."""
    chance = np.random.default_rng(seed)
    return x + np.where(chance.random(size) < 0.5, -1, 1) * np.floor(chance.exponential(size=size))


def biased_signs(x: float, size: int, seed: int) -> np.ndarray:
    """Add noise that is positive 55 times in 100."""
    chance = np.random.default_rng(seed)
    return x + np.where(chance.random(size) < 0.55, 1, -1) * np.abs(discrete(1.0, size, seed))


def half_even(x: float, size: int, seed: int) -> np.ndarray:
    """Round half to even, for which one step of sensitivity is not enough."""
    return np.rint(x) + discrete(1.0, size, seed)


def no_bump(x: float, size: int, seed: int) -> np.ndarray:
    """Round to whole numbers, and take the sensitivity of 1.5 as if that cost nothing."""
    return np.floor(x + 0.5) + discrete(1.5, size, seed)


def cut_tail(x: float, size: int, seed: int) -> np.ndarray:
    """Cut the noise at seven scales."""
    return x + np.clip(discrete(1.0, size, seed), -7, 7)


def cut_noise_before_the_sum(x: float, size: int, seed: int) -> np.ndarray:
    """Let the noise saturate, and not the sum: an atom at x + limit."""
    return x + np.minimum(np.abs(discrete(1.0, size, seed)), 3) * np.where(np.arange(size) % 2, 1, -1)


MUTANTS = [
    (releasing(epsilon="1.25"), 0.0, 1.0, 1.15),
    (zero_twice, 0.0, 1.0, 1.6),
    (biased_signs, 0.0, 1.0, 1.03),
    (half_even, 0.5, 1.5, 1.9),
    (no_bump, 0.0, 1.5, 1.25),
    (cut_tail, 0.0, 1.0, 1.5),
    (cut_noise_before_the_sum, 0.0, 1.0, 5.0),
    (lambda x, size, seed: numpy_noise(x, 1.0, size, seed), 0.0, 1.0, 5.0),
    (lambda x, size, seed: four_uniforms(x, 1.0, size, seed), 0.0, 1.0, 5.0),
    (lambda x, size, seed: full_range_noise(x, 1.0, size, seed), 0.0, 1.0, 5.0),
]
NAMES = ["scale x 0.8", "zero twice", "biased signs", "half even", "no bump", "cut tail", "cut noise"]


@pytest.mark.parametrize(
    ("make", "x", "neighbour", "shown"), MUTANTS, ids=[*NAMES, "NumPy", "four uniforms", "full range"]
)
def test_mutants_are_audited(make, x, neighbour, shown):
    """Each mutant, promised an epsilon of 1, shows at least so much more at a million outputs a side."""
    assert audit(make, x, neighbour) > shown


@pytest.mark.slow
def test_fine_audit():
    """At ten million outputs a side half-lines show 0.99 of epsilon, and a scale of 0.98 shows too much. Some 20 s."""
    assert 0.99 < audit(releasing(epsilon=1), 0.0, 1.0, 10 * MANY, values) <= 1
    assert audit(releasing(epsilon=1 / Fraction("0.98")), 0.0, 1.0, 10 * MANY, values) > 1
