"""The lattice that exact noise lives on, chosen from parameters alone, in exact rational arithmetic.

Values are rounded half up to multiples of the granularity r, a power of two, and the noise is r times a discrete
Laplace variate of scale t. With i the rounded value in units of r, a change of one record moves i by at most

    Δ_lat = ceil(Δ / r) + s - 1

in L1 norm, where Δ bounds the L1 distance of the values and s the number of coordinates that change: rounding half up
is monotone and commutes with shifts by r, so a coordinate that moves by d moves by at most ceil(d / r) steps. Then X
with P(X = k) proportional to exp(-abs(k) / t) gives epsilon = Δ_lat / t, exactly.

References
----------
.. [1] "Secure Noise Generation", Google differential privacy library, 2020, proposition 1, for one coordinate.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from lapnoise._numbers import fraction_up

__all__ = [
    "LARGEST_T",
    "LEAST_EXPONENT",
    "MOST_EXPONENT",
    "Lattice",
    "choose",
    "floor_log2",
    "release",
    "round_half_up",
    "whole_numbers",
]

LEAST_EXPONENT = -1074
MOST_EXPONENT = 1023
"""Powers of two that are floats: granularities on which a float release can lie."""

LARGEST_T = 2.0**57
"""Largest scale in lattice units for compiled kernels: P(abs(X) >= 2^64) is exp(-128) there.

Beyond it t is a Python int, and noise is drawn in Python integers, some 200 us each and
more for t beyond 2^200.
"""

LEAST_BITS, USUAL_BITS, MOST_BITS = 24, 40, 56
"""log2(b / r): at least, at most where rounding costs little, and the most that compiled kernels serve (t < 2^57)."""

NEGLIGIBLE = Fraction(1, 1 << 20)
NOTICEABLE = Fraction(1, 1000)


class Lattice(NamedTuple):
    """A granularity and the scale of the noise on it.

    Attributes
    ----------
    exponent : int
        g, so that the granularity is r = 2^g.
    sensitivity : int
        Δ_lat, the L1 sensitivity of the rounded values in steps of r.
    t : float or int
        Scale of the discrete Laplace noise in steps of r; an exact number, rounded up from Δ_lat / epsilon. An int
        beyond 2^57.
    """

    exponent: int
    sensitivity: int
    t: float

    @property
    def granularity(self) -> Fraction:
        """r, exactly."""
        return Fraction(2) ** self.exponent

    @property
    def epsilon(self) -> Fraction:
        """What is attained: Δ_lat / t, never above what was asked."""
        return self.sensitivity / Fraction(self.t)


def choose(epsilon: Fraction, sensitivity: Fraction, changed: int, exponent: int | None = None) -> Lattice:
    """Return the lattice for these parameters; no value, length or dtype of the data enters.

    Parameters
    ----------
    epsilon : Fraction
        Privacy budget asked for, > 0.
    sensitivity : Fraction
        L1 sensitivity Δ of the values, > 0.
    changed : int
        s, the number of coordinates that one record can change, >= 1.
    exponent : int, optional
        g of a granularity that was asked for. None takes the coarsest one that costs at most 2^-20 of epsilon, with
        24 <= log2 t <= 40; where that costs more than a thousandth of epsilon, the coarsest that does not.
    """
    if exponent is not None:
        return _at(epsilon, sensitivity, changed, exponent)
    base = floor_log2(sensitivity / epsilon)
    if _cost(_at(epsilon, sensitivity, changed, base - USUAL_BITS), sensitivity) > NOTICEABLE:
        candidates, bound = range(USUAL_BITS + 1, MOST_BITS + 1), NOTICEABLE
    else:
        candidates, bound = range(LEAST_BITS, USUAL_BITS + 1), NEGLIGIBLE
    for bits in candidates:
        lattice = _at(epsilon, sensitivity, changed, base - bits)
        if _cost(lattice, sensitivity) <= bound:
            return lattice
    if bound == NEGLIGIBLE:
        return lattice
    # So small an epsilon, or so many coordinates, that a step of b 2^-56 outweighs the sensitivity: s r / Δ bounds the
    # cost.
    return _at(epsilon, sensitivity, changed, floor_log2(NOTICEABLE * sensitivity / changed))


def round_half_up(value: Fraction, exponent: int) -> int:
    """Return floor(value / 2^exponent + 1/2)."""
    # In integers, since every operation on fractions looks for a common divisor.
    numerator, denominator = value.numerator, value.denominator
    if exponent >= 0:
        denominator <<= exponent
    else:
        numerator <<= -exponent
    return (2 * numerator + denominator) // (2 * denominator)


def whole_numbers(epsilon: Fraction, sensitivity: Fraction) -> Lattice:
    """Return the lattice of the integers, on which integers need no rounding: t is Δ / epsilon, rounded up.

    Its ``sensitivity`` is rounded up to a whole number of steps; what is attained for Δ itself is Δ / t.
    """
    return Lattice(0, math.ceil(sensitivity), _scale_up(sensitivity / epsilon))


def release(value: Fraction, noise: int, exponent: int, largest: float = math.inf) -> float:
    """Return (value rounded half up to the lattice + noise r), rounded once to a float and saturated at ``largest``.

    The reference for the compiled sums, and what they are replaced by where noise needs more than 64 bits.
    """
    steps = round_half_up(value, exponent) + noise
    exact = steps * Fraction(2) ** exponent
    try:
        nearest = float(exact)
    except OverflowError:
        nearest = math.inf if steps > 0 else -math.inf
    return min(max(nearest, -largest), largest)


def _at(epsilon: Fraction, sensitivity: Fraction, changed: int, exponent: int) -> Lattice:
    exponent = max(exponent, LEAST_EXPONENT)  # no float is finer
    steps = math.ceil(sensitivity / Fraction(2) ** exponent) + changed - 1
    return Lattice(exponent, steps, _scale_up(steps / epsilon))


def _scale_up(t: Fraction) -> float:
    """Return the least float64 that is not below t, or the least int where t is beyond the kernels."""
    return fraction_up(t) if t <= LARGEST_T else math.ceil(t)


def _cost(lattice: Lattice, sensitivity: Fraction) -> Fraction:
    """Return by what part the rounding raises the noise: Δ_lat r / Δ - 1."""
    return lattice.sensitivity * lattice.granularity / sensitivity - 1


def floor_log2(x: Fraction) -> int:
    """Return the largest g with 2^g <= x."""
    g = x.numerator.bit_length() - x.denominator.bit_length()
    return g if Fraction(2) ** g <= x else g - 1
