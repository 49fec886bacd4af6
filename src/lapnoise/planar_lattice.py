"""The square lattice that exact noise in the plane lives on, chosen from parameters alone, in exact arithmetic.

Both coordinates of a point are rounded half up to multiples of the granularity r, a power of two, and the noise is r z
with P(z) proportional to exp(-alpha ||z||) over pairs z of integers. Rounding moves a coordinate by half a step at
most, and never by half a step down, so two points at distance d are less than d / r + sqrt(2) steps apart afterwards;
by the triangle inequality the probabilities of any result then differ by a factor of at most

    exp(alpha (d / r + sqrt(2))).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from lapnoise._numbers import fraction_down
from lapnoise.lattice import LEAST_EXPONENT, floor_log2

__all__ = ["MOST_T", "SQRT2", "PlanarLattice", "choose"]

SQRT2 = Fraction(math.isqrt(2 << 256) + 1, 1 << 128)
"""sqrt(2), rounded up at the 128th bit."""

LEAST_BITS, MOST_BITS = 24, 40
"""log2 of 1 / (epsilon r): usually, and at most where a small radius asks for a finer lattice."""

NEGLIGIBLE = Fraction(1, 1 << 20)

MOST_ALPHA = 1024
"""Beyond it every noise is 0 but for one chance in exp(1024), so nothing is gained by more."""

MOST_T = 2.0**43
"""Largest scale of the proposals: that of the compiled sampler's first tier."""


class PlanarLattice(NamedTuple):
    """A granularity and the law of the noise on it.

    Attributes
    ----------
    exponent : int
        g, so that the granularity is r = 2^g metres.
    alpha : float
        Loss for each step of r between two rounded points; an exact number, rounded down.
    t : float
        Scale, in steps, of the two discrete Laplace variates that are proposed: the least float with t alpha >=
        sqrt(2), so that the proposals lie above the law everywhere.
    """

    exponent: int
    alpha: float
    t: float

    @property
    def granularity(self) -> Fraction:
        """r, exactly."""
        return Fraction(2) ** self.exponent

    @property
    def epsilon(self) -> Fraction:
        """Loss for each metre, exactly: alpha / r."""
        return Fraction(self.alpha) / self.granularity


def choose(epsilon: Fraction, radius: Fraction | None, exponent: int | None = None) -> PlanarLattice:
    """Return the lattice for these parameters; no point of the data enters.

    Parameters
    ----------
    epsilon : Fraction
        Loss for each metre, > 0.
    radius : Fraction, optional
        Distance in metres at which the loss shall be at most epsilon radius, rounding included: alpha is then less
        than epsilon r, by the part sqrt(2) r / (radius + sqrt(2) r).
    exponent : int, optional
        g of a granularity that was asked for. None takes the coarsest one of 24 to 40 bits below 1 / epsilon with
        which that part is at most 2^-20.
    """
    if exponent is None:
        exponent = _usual_exponent(epsilon, radius)
    r = Fraction(2) ** exponent
    share = epsilon * r if radius is None else epsilon * r * radius / (radius + SQRT2 * r)
    alpha = fraction_down(min(share, Fraction(MOST_ALPHA)))
    return PlanarLattice(exponent, alpha, _proposal_scale(alpha))


def _usual_exponent(epsilon: Fraction, radius: Fraction | None) -> int:
    base = floor_log2(1 / epsilon)
    bits = LEAST_BITS
    if radius is not None:
        bits = min(max(bits, base - floor_log2(NEGLIGIBLE * radius / SQRT2)), MOST_BITS)
    return max(base - bits, LEAST_EXPONENT)


def _proposal_scale(alpha: float) -> float:
    """Return the least float t with t alpha >= sqrt(2); inf where alpha is 0 or there is none."""
    if alpha < 2.0**-1000:
        return math.inf
    t = math.sqrt(2.0) / alpha
    square = Fraction(alpha) ** 2
    while Fraction(t) ** 2 * square >= 2:
        t = math.nextafter(t, 0.0)
    while Fraction(t) ** 2 * square < 2:
        t = math.nextafter(t, math.inf)
    return t
