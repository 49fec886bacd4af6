"""Scores on a lattice, and the penalties exp(-x) that selecting mechanisms make of them.

Scores are rounded half up to multiples of r = 2^g, which depends on the sensitivity Δ alone. Rounding half up is
monotone and commutes with shifts by r, so a score that moves by d moves by at most ceil(d / r) steps, and by at most
Δ_lat = ceil(Δ / r) in all. A candidate whose score lies d steps below the greatest has the penalty x = d rate. The
mechanisms need

    rate = epsilon / (2 Δ_lat), or epsilon / Δ_lat where all scores move in the same direction,

so that epsilon is attained exactly, on a lattice that costs at most 2^-40 of it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import lattice

__all__ = ["FAR", "ScoreLattice", "choose", "penalties"]

FAR = 2.0**60
"""Penalties are cut to this: no candidate with so large a one can win against the best one."""

_STEP_BITS = 40
_MOST_EXPONENT = 2000
"""Beyond 2^2000 one step of 2^-1074 is FAR, and below 2^-2000 all floats together are nothing."""

_LATTICE_POINTS = 2.0**52
_BLOCK = 1 << 14


class ScoreLattice(NamedTuple):
    """Where scores lie, and what a step costs.

    Attributes
    ----------
    exponent : int
        g, at most 0, so that integers are lattice points.
    sensitivity : int
        Δ_lat, in steps of r = 2^g.
    rate : Fraction
        Penalty of a step.
    """

    exponent: int
    sensitivity: int
    rate: Fraction

    def steps(self, score: Any) -> int:
        """Return a score, an int or a finite float, as a number of steps."""
        return lattice.round_half_up(Fraction(score), self.exponent)

    def steps_up(self, distance: Fraction) -> int:
        """Return how many steps a score moves at most that moves by ``distance``."""
        return math.ceil(distance / Fraction(2) ** self.exponent)


def choose(epsilon: Fraction, sensitivity: Fraction, monotonic: bool) -> ScoreLattice:
    """Return the lattice for these parameters; no score enters."""
    exponent = min(0, lattice.floor_log2(sensitivity) - _STEP_BITS)
    exponent = max(exponent, lattice.LEAST_EXPONENT)  # no float is finer
    steps = math.ceil(sensitivity / Fraction(2) ** exponent)
    return ScoreLattice(exponent, steps, epsilon / (steps if monotonic else 2 * steps))


def penalties(scores: NDArray[Any], on: ScoreLattice) -> NDArray[np.float64]:
    """Return x for each score, cut to FAR; of those below, each is within a relative 2^-50.

    ``scores`` are int64, uint64 or finite float64. The difference to the greatest is taken before anything is scaled:
    exactly between integers, and rounded once between floats.
    """
    out = np.empty(scores.size)
    first, second = _factors(on.rate / Fraction(2) ** on.exponent)
    # Scaled down before they are subtracted no two floats are too far apart; scaled up afterwards their difference
    # keeps all its bits.
    before, after = (first, 1.0) if first < 1.0 else (1.0, first)
    top = _rounded(scores.max(keepdims=True), on.exponent)
    with np.errstate(over="ignore", under="ignore"):
        # In blocks that stay in L2: over a million scores at once it takes three times as long.
        for start in range(0, scores.size, _BLOCK):
            part = _rounded(scores[start : start + _BLOCK], on.exponent)
            target = out[start : start + _BLOCK]
            if part.dtype.kind == "f":
                np.subtract(top * before, part * before, out=target)
            else:
                # Of 64-bit integers of one kind the difference modulo 2^64 is the difference.
                np.multiply(top.view(np.uint64) - part.view(np.uint64), before, out=target)
            target *= after
            target *= second
            np.minimum(target, FAR, out=target)
    return out


def _rounded(scores: NDArray[Any], exponent: int) -> NDArray[Any]:
    """Return scores rounded half up to multiples of 2^exponent; integers are such multiples."""
    if scores.dtype.kind != "f":
        return scores
    first = -exponent // 2
    up1, up2 = math.ldexp(1.0, first), math.ldexp(1.0, -exponent - first)
    down1, down2 = math.ldexp(1.0, -first), math.ldexp(1.0, exponent + first)
    huge = np.abs(scores) >= math.ldexp(_LATTICE_POINTS, exponent)  # a multiple already
    any_huge = huge.any()
    steps = (np.where(huge, 0.0, scores) if any_huge else scores) * up1
    steps *= up2
    floor = np.floor(steps)
    steps -= floor
    floor += steps >= 0.5
    floor *= down1
    floor *= down2
    return np.where(huge, scores, floor) if any_huge else floor


def _factors(rate: Fraction) -> tuple[float, float]:
    """Return two floats whose product is the penalty of a unit of score, within a relative 2^-53."""
    exponent = lattice.floor_log2(rate)
    if abs(exponent) > _MOST_EXPONENT:
        rate, exponent = Fraction(1), max(-_MOST_EXPONENT, min(exponent, _MOST_EXPONENT))
        first = exponent // 2
        return math.ldexp(1.0, first), math.ldexp(1.0, exponent - first)
    first = exponent // 2
    return math.ldexp(1.0, first), math.ldexp(float(rate / Fraction(2) ** exponent), exponent - first)
