"""The lattice of exact noise: soundness and tightness of its sensitivity, and its choice, all in exact rationals.

Brute force over small cases finds how far neighbours can be apart once they are rounded; mutants with another rounding,
another bump or a scale rounded to the nearest float fail the same checks.
"""

import inspect
import itertools
import math
from fractions import Fraction

import exact_oracles
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lapnoise import LaplaceMechanism, lattice
from lapnoise.lattice import Lattice, choose, release, round_half_up, whole_numbers

NEGLIGIBLE, NOTICEABLE = Fraction(1, 2**20), Fraction(1, 1000)


def sound(on: Lattice, epsilon: Fraction, sensitivity: Fraction, changed: int) -> bool:
    """Return whether noise on a lattice costs at most epsilon for vectors of this sensitivity."""
    steps = -(-sensitivity // on.granularity) + changed - 1
    return steps / Fraction(on.t) <= epsilon


def cost(sensitivity: Fraction, changed: int, exponent: int) -> Fraction:
    """Return by what part rounding to multiples of 2^exponent raises the noise."""
    r = Fraction(2) ** exponent
    return (-(-sensitivity // r) + changed - 1) * r / sensitivity - 1


def decimals(least: int, most: int) -> st.SearchStrategy[Fraction]:
    """Return numbers of up to 17 digits from 10^least to 10^most."""
    return st.builds(
        lambda digits, power: digits * Fraction(10) ** (power - 16),
        st.integers(10**16, 10**17),
        st.integers(least, most),
    )


positive_floats = st.floats(5e-324, 1.7e308).map(Fraction)
epsilons = st.one_of(decimals(-30, 6), st.fractions(Fraction(1, 1000), 100, max_denominator=10**6), decimals(-3, 1))
sensitivities = st.one_of(decimals(-20, 20), positive_floats, st.integers(1, 10**6).map(Fraction))
counts = st.one_of(st.just(1), st.integers(1, 1000), st.integers(1, 10**12))


# The choice.


@settings(max_examples=300, deadline=None, derandomize=True)
@given(epsilon=epsilons, sensitivity=sensitivities, changed=counts)
@example(epsilon=Fraction(1, 10), sensitivity=Fraction(1), changed=1)
@example(epsilon=Fraction(1, 10**17), sensitivity=Fraction(1), changed=1)
@example(epsilon=Fraction(1, 10**30), sensitivity=Fraction(0.1), changed=10**12)
@example(epsilon=Fraction(1, 10**400), sensitivity=Fraction(1), changed=3)
@example(epsilon=Fraction(10**400), sensitivity=Fraction(1), changed=3)
@example(epsilon=Fraction(1), sensitivity=Fraction(5e-324), changed=1)
@example(epsilon=Fraction(1, 3), sensitivity=Fraction(5e-324), changed=1000)
@example(epsilon=Fraction(10**9), sensitivity=Fraction(1e-310), changed=10**6)
@example(epsilon=Fraction(1, 1000), sensitivity=Fraction(10) ** 310, changed=1)
@example(epsilon=Fraction(1, 1000), sensitivity=Fraction(1000) * Fraction(0.1), changed=1000)
def test_choice(epsilon, sensitivity, changed):
    """What is attained is never above what was asked and within 2^-52 of it, with the coarsest r of the allowed cost.

    The cost is at most 2^-20, or log2(t) is 40 and the cost at most a thousandth, or log2(t) is above 40 and the cost
    would pass a thousandth with r twice as large. Only at the least float the lattice may be coarser than it should.
    """
    on = choose(epsilon, sensitivity, changed)

    assert sound(on, epsilon, sensitivity, changed)
    assert on.epsilon == on.sensitivity / Fraction(on.t) <= epsilon
    assert on.epsilon >= epsilon * (1 - Fraction(1, 2**52)) or on.t < 2.0**-1000
    assert on.sensitivity == -(-sensitivity // on.granularity) + changed - 1
    assert on.exponent >= lattice.LEAST_EXPONENT
    assert on.granularity == Fraction(2) ** on.exponent
    assert isinstance(on.t, float if on.t <= 2**57 else int)
    least = on.t - 1 if isinstance(on.t, int) else math.nextafter(on.t, 0.0)
    assert Fraction(least) < on.sensitivity / epsilon

    if on.exponent == lattice.LEAST_EXPONENT:
        return
    ratio = sensitivity / epsilon
    bits = next(b for b in itertools.count(24) if Fraction(2) ** (b + on.exponent + 1) > ratio)
    assert Fraction(2) ** (bits + on.exponent) <= ratio
    paid, coarser = cost(sensitivity, changed, on.exponent), cost(sensitivity, changed, on.exponent + 1)
    if bits <= 40:
        assert paid <= (NEGLIGIBLE if bits < 40 else NOTICEABLE)
        assert bits == 24 or coarser > NEGLIGIBLE
    else:
        assert paid <= NOTICEABLE
        # Beyond the compiled kernels the bound s r / Δ is used instead of the cost, which is less.
        assert coarser > NOTICEABLE or bits > lattice.MOST_BITS
        assert bits <= lattice.MOST_BITS or changed * on.granularity * 2 > NOTICEABLE * sensitivity


@pytest.mark.parametrize("epsilon", ["1", "0.1", "10", "1/3"])
@pytest.mark.parametrize("sensitivity", [1.0, 0.1, 3.0, 1e-300, 1e300, 12345.678])
def test_usual_parameters_have_24_to_40_bits(epsilon, sensitivity):
    """With up to a thousand coordinates and an epsilon of 0.1 or more log2(t) lies between 24 and 41."""
    for changed in (1, 2, 1000):
        on = choose(Fraction(epsilon), Fraction(sensitivity), changed)
        assert 2.0**24 <= on.t < 2.0**41


def test_data_do_not_enter():
    """The choice takes parameters alone."""
    assert list(inspect.signature(choose).parameters) == ["epsilon", "sensitivity", "changed", "exponent"]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(epsilon=epsilons, sensitivity=sensitivities, changed=counts, exponent=st.integers(-1074, 1023))
def test_granularity_that_was_asked_for(epsilon, sensitivity, changed, exponent):
    """A granularity that was asked for is used as it is, however coarse or fine, and is sound."""
    on = choose(epsilon, sensitivity, changed, exponent)

    assert on.exponent == exponent
    assert sound(on, epsilon, sensitivity, changed)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(epsilon=epsilons, sensitivity=sensitivities)
@example(epsilon=Fraction(1), sensitivity=Fraction(1, 2))
@example(epsilon=Fraction(1, 10**18), sensitivity=Fraction(1))
@example(epsilon=Fraction(10) ** 400, sensitivity=Fraction(1))
def test_whole_numbers(epsilon, sensitivity):
    """On integers t is the least float, beyond 2^57 the least int, that is not below Δ / epsilon."""
    on = whole_numbers(epsilon, sensitivity)

    assert on.exponent == 0
    assert sensitivity / Fraction(on.t) <= epsilon
    assert Fraction(on.t - 1 if isinstance(on.t, int) else math.nextafter(on.t, 0.0)) < sensitivity / epsilon
    assert isinstance(on.t, float if on.t <= 2**57 else int)
    assert on.sensitivity == -(-sensitivity // 1)


def test_mutants_of_the_scale():
    """A scale rounded to the nearest float, or down, costs too much in hundreds of cases, rounded up in none."""
    broken = {"up": 0, "nearest": 0, "down": 0}
    for k in range(1, 1001):
        epsilon, sensitivity = Fraction(k, 1000), Fraction(1)
        on = choose(epsilon, sensitivity, 1)
        exact = on.sensitivity / epsilon
        nearest = float(exact)
        down = nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)
        for name, t in (("up", on.t), ("nearest", nearest), ("down", down)):
            broken[name] += not sound(on._replace(t=t), epsilon, sensitivity, 1)
    assert broken["up"] == 0
    assert broken["nearest"] > 300
    assert broken["down"] > 600


# Rounding.

values = st.fractions(-1000, 1000, max_denominator=64) | st.floats(-1e300, 1e300).map(Fraction)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(value=values, exponent=st.integers(-1074, 1023), shift=st.integers(-10, 10))
def test_rounding(value, exponent, shift):
    """Rounding is half up: within half a step, ties upward, and it commutes with shifts by whole steps."""
    r = Fraction(2) ** exponent
    i = round_half_up(value, exponent)

    assert -r / 2 < i * r - value <= r / 2
    assert i == exact_oracles.half_up(value, exponent)
    assert round_half_up(value + shift * r, exponent) == i + shift


def test_ties_go_up():
    """Halves go up on both sides of 0, and the float below one half goes down."""
    halves = [Fraction(k, 2) for k in range(-5, 6, 2)]
    assert [round_half_up(x, 0) for x in halves] == [-2, -1, 0, 1, 2, 3]
    assert round_half_up(Fraction(0.49999999999999994), 0) == 0
    assert round_half_up(Fraction(0.49999999999999994) * 4, 2) == 0
    assert round_half_up(Fraction(-0.5), 0) == 0


FINE = 16
"""Steps of r in which brute force looks at values and distances."""


def movements(rounding, most: Fraction) -> list[int]:
    """Return, for each distance d / 16 up to ``most``, how far values that far apart can be once they are rounded."""
    places = [Fraction(k, FINE) for k in range(2 * FINE)]  # two steps, since half to even repeats after two
    distances = [Fraction(k, FINE) for k in range(math.floor(most * FINE) + 1)]
    return [max(abs(rounding(x + d) - rounding(x)) for x in places) for d in distances]


def farthest(rounding, sensitivity: Fraction, changed: int) -> int:
    """Return the largest L1 distance of rounded vectors that are ``sensitivity`` apart at most, by brute force."""
    moved = movements(rounding, sensitivity)
    units = len(moved) - 1
    best = [0] + [-math.inf] * units
    for _ in range(changed):  # best[k]: with distances that sum to k / 16 over the coordinates so far
        best = [max(best[k - d] + moved[d] for d in range(k + 1)) for k in range(units + 1)]
    return int(max(best))


def half_up(x: Fraction) -> int:
    return round_half_up(x, 0)


SMALL_SENSITIVITIES = [Fraction(1, 2), Fraction(1), Fraction(5, 4), Fraction(2), Fraction(5, 2), Fraction(4)]


@pytest.mark.parametrize("changed", [1, 2, 3])
@pytest.mark.parametrize("sensitivity", SMALL_SENSITIVITIES, ids=str)
def test_lattice_sensitivity_is_tight(sensitivity, changed):
    """Rounded neighbours are at most ceil(Δ / r) + s - 1 steps apart in L1 norm, and some are exactly that."""
    assert farthest(half_up, sensitivity, changed) == choose(Fraction(1), sensitivity, changed, 0).sensitivity


def test_brute_force_over_vectors():
    """The same holds for all pairs of vectors of two coordinates on a coarser grid, taken as they are."""
    grid = [Fraction(k, 4) for k in range(-4, 9)]
    rounded = {x: half_up(x) for x in grid}
    for sensitivity in (Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(3, 2)):
        worst = 0
        for x, y, a, b in itertools.product(grid, repeat=4):
            if abs(x - a) + abs(y - b) <= sensitivity:
                worst = max(worst, abs(rounded[x] - rounded[a]) + abs(rounded[y] - rounded[b]))
        assert worst == choose(Fraction(1), sensitivity, 2, 0).sensitivity


@pytest.mark.parametrize("rounding", [round, lambda x: math.trunc(x + Fraction(1, 2))], ids=["half even", "truncated"])
def test_mutants_of_rounding(rounding):
    """Half to even moves neighbours a step too far; neither it nor truncation commutes with shifts by r."""
    for sensitivity in (Fraction(1), Fraction(3)):
        allowed = choose(Fraction(1), sensitivity, 1, 0).sensitivity
        assert farthest(half_up, sensitivity, 1) == allowed
        if rounding is round:
            assert farthest(rounding, sensitivity, 1) == allowed + 1
    places = [Fraction(k, FINE) for k in range(-3 * FINE, 3 * FINE)]
    assert any(rounding(x + 1) != rounding(x) + 1 for x in places)
    assert all(half_up(x + 1) == half_up(x) + 1 for x in places)


@pytest.mark.parametrize("changed", [2, 3])
def test_mutant_with_one_bump(changed):
    """One step more for the whole vector, as for a scalar, is less than what some neighbours need."""
    for sensitivity in SMALL_SENSITIVITIES:
        one_bump = math.ceil(sensitivity)
        assert farthest(half_up, sensitivity, changed) > one_bump
    # A thousand cells that move by 0.1 each: what L1 + r allows, and what rounding can do.
    r, cells, each = Fraction(2) ** -24, 1000, Fraction(0.1)
    needed = cells * -(-each // r)
    assert needed > cells * each / r + 1
    assert needed <= choose(Fraction(1), cells * each, cells, -24).sensitivity


# Sums.


@settings(max_examples=300, deadline=None, derandomize=True)
@given(value=values, noise=st.integers(-(2**70), 2**70), exponent=st.integers(-1074, 1023))
@example(value=Fraction(0), noise=2**70, exponent=1023)
@example(value=Fraction(0), noise=-(2**70), exponent=1023)
@example(value=Fraction(1.7976931348623157e308), noise=1, exponent=970)
@example(value=Fraction(1, 2), noise=0, exponent=0)
@example(value=Fraction(2**53), noise=1, exponent=0)
@example(value=Fraction(0), noise=3, exponent=-1074)
def test_release(value, noise, exponent):
    """A release is the exact sum rounded once to a float, saturated at the largest."""
    got = release(value, noise, exponent, 1.7976931348623157e308)

    assert got == exact_oracles.lattice_sum(value, noise, exponent)
    assert math.copysign(1.0, got) == 1.0 or got != 0.0


def test_one_rounding_to_float():
    """The reference rounds half to even, to both widths, and saturates: points of which each is known."""
    rounded = exact_oracles.rounded_once
    assert rounded(Fraction(2**53 + 1)) == 2.0**53
    assert rounded(Fraction(2**53 + 3)) == 2.0**53 + 4
    assert rounded(Fraction(3, 2) * Fraction(2) ** -1074) == 2 * 5e-324
    assert rounded(Fraction(1, 2) * Fraction(2) ** -1074) == 0.0
    assert rounded(Fraction(10) ** 400) == 1.7976931348623157e308
    assert rounded(-(Fraction(10) ** 400), np.float32) == -float(np.finfo(np.float32).max)
    assert rounded(Fraction(2**24 + 1), np.float32) == 2.0**24
    assert rounded(Fraction(2**24 + 3), np.float32) == 2.0**24 + 4
    chance = np.random.default_rng(1)
    for x in chance.standard_normal(500) * 10.0 ** chance.integers(-45, 39, 500):
        assert rounded(Fraction(x)) == x
        assert rounded(Fraction(x) / 3) == float(Fraction(x) / 3)
        assert rounded(Fraction(x), np.float32) == float(np.float32(x))


# What mechanisms show of it.


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"),
    [("1e-17", 1), ("1e-30", 0.1), ("1e-400", 1), (1e-10, 5e-324), (1, 1e-310), (1e-3, 1.7e308), ("1e400", "1e310")],
)
@pytest.mark.parametrize("changed", [1, 7, 10**12])
def test_mechanisms_at_the_ends(epsilon, sensitivity, changed):
    """Tiny and huge budgets and sensitivities give mechanisms whose attained epsilon is at most what was asked."""
    m = LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity, changed=changed)

    assert sound(m.lattice, m.epsilon_asked, m.sensitivity, changed)
    assert 0 < m.epsilon <= m.epsilon_asked
    ratio = m.sensitivity / m.epsilon_asked
    assert m.log_scale > math.log(ratio.numerator) - math.log(ratio.denominator) - 1e-9
