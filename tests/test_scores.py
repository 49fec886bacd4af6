"""Scores on their lattice: penalties are those of exact differences, whatever the scores are."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from lapnoise import _scores
from lapnoise._scores import FAR

MOST = float(np.finfo(np.float64).max)
TINY = 5e-324


def exact_penalties(scores, on) -> list[Fraction]:
    """Return x by its definition, in fractions."""
    r = Fraction(2) ** on.exponent
    steps = [math.floor(Fraction(score) / r + Fraction(1, 2)) for score in scores]
    return [(max(steps) - k) * on.rate for k in steps]


FLOATS = [
    [0.0, -0.0, 1.0, 0.5],
    [MOST, -MOST, 0.0, TINY, MOST / 2, math.nextafter(MOST, 0)],
    [-MOST, -MOST / 3],
    [TINY, 0.0, -TINY, 3 * TINY],
    [-1e308, 0.0, TINY, -TINY],
    [1e15 + 0.125, 1e15 + 0.25, 1e15],
    [0.1, 0.2, 0.3, 0.30000000000000004],
    [2.0**-41, 2.0**-41 * 0.9999999999999999, -(2.0**-41), 3 * 2.0**-41],
    [4503599627370495.5, 4503599627370496.0, 0.49999999999999994],
    [7.0],
]

PARAMETERS = [
    (Fraction(1), Fraction(1), False),
    (Fraction(1), Fraction(1), True),
    (Fraction(1, 10), Fraction(0.1), False),
    (Fraction(1, 3), Fraction(1, 3), False),
    (Fraction(1, 10**30), Fraction(7), False),
    (Fraction(10**30), Fraction(7), False),
    (Fraction(1), Fraction(TINY), False),
    (Fraction(1), Fraction(MOST), False),
    (Fraction(1, 10**3000), Fraction(10**3000), True),
    (Fraction(10**3000), Fraction(1, 10**3000), True),
    (Fraction(10**300), Fraction(10**300), True),
    (Fraction(1, 10**308), Fraction(TINY), False),
]


def close(got, wanted) -> bool:
    """Return whether penalties are exact ones within a relative 2^-50, or cut, or nothing beside 2^-1000."""
    tiny = Fraction(1, 1 << 900)
    return all(
        abs(Fraction(x) - min(true, Fraction(FAR))) <= true / 2**50 + tiny
        for x, true in zip(got.tolist(), wanted, strict=True)
    )


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("scores", FLOATS, ids=repr)
def test_penalties_of_floats(scores, parameters):
    """Ends of the floats, subnormals, ties of the rounding: each penalty is that of the exact lattice difference."""
    on = _scores.choose(*parameters)
    got = _scores.penalties(np.array(scores), on)
    assert close(got, exact_penalties(scores, on))
    assert got.min() == 0.0


def test_penalties_of_random_floats():
    """Scores of all magnitudes, in an array of several blocks."""
    chance = random.Random(3)
    scores = [chance.uniform(-1, 1) * 2.0 ** chance.randint(-60, 60) for _ in range(20_000)]
    on = _scores.choose(Fraction(1), Fraction(1), False)
    got = _scores.penalties(np.array(scores), on)
    kept = [scores.index(max(scores)), *range(0, len(scores), 20)]
    assert close(got[kept], exact_penalties([scores[i] for i in kept], on))


INTEGERS = [
    (np.int64, [2**60 + 128, 2**60 + 129, -(2**63), 2**63 - 1]),
    (np.int64, [2**60 + 128, 2**60 + 129]),
    (np.int64, [-(2**63), -(2**63) + 1]),
    (np.uint64, [2**64 - 1, 2**64 - 2, 0]),
    (np.uint64, [2**63, 2**63 - 1]),
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize(("kind", "scores"), INTEGERS, ids=repr)
def test_penalties_of_integers(kind, scores, parameters):
    """Of 64-bit integers the differences count, to the last unit."""
    on = _scores.choose(*parameters)
    assert close(_scores.penalties(np.array(scores, kind), on), exact_penalties(scores, on))


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_lattice_comes_from_parameters(parameters):
    """Integers are lattice points, Δ_lat is Δ over r rounded up, and epsilon is attained exactly."""
    epsilon, sensitivity, monotonic = parameters
    on = _scores.choose(*parameters)
    r = Fraction(2) ** on.exponent
    assert on.exponent <= 0
    assert on.sensitivity == math.ceil(sensitivity / r)
    assert on.rate * on.sensitivity * (1 if monotonic else 2) == epsilon
    assert sensitivity / r >= 1 << 40 or on.exponent == -1074
    assert on.steps(12345) * r == 12345


def test_rounding_moves_scores_by_no_more_than_it_says():
    """Two scores within a distance are within ceil(distance / r) steps, which some reach: half up, not half even."""
    on = _scores.ScoreLattice(-2, 4, Fraction(1))
    reached = 0
    for i in range(-64, 64):
        for d in range(20):
            a, b = Fraction(i, 32), Fraction(i + d, 32)
            apart = on.steps(b) - on.steps(a)
            assert 0 <= apart <= on.steps_up(Fraction(d, 32))
            reached += d > 0 and apart == on.steps_up(Fraction(d, 32))
    assert reached > 100
    assert [on.steps(Fraction(k, 8)) for k in (1, 3, -1, -3)] == [1, 2, 0, -1]
