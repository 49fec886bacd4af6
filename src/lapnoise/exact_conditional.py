"""Privacy of discrete Laplace noise conditioned on an interval, enclosed in integers as in ``exact``.

With q = exp(-1/t), the law about a centre i of the points 0, ..., W is P(k) = q^abs(k - i) / C(i), and

    C(i) = (1 + q - q^(i + 1) - q^(W - i + 1)) / (1 - q).

The loss between centres that lie d steps apart is largest where one of them is an end:

    g(d) = d / t + ln(C(d) / C(0)),    C(d) / C(0) = 1 + q (1 - q^d) (1 - q^(W - d)) / (1 - q^(W + 1)).

g is concave, so D steps that are split among s coordinates cost most where they are split evenly. Noise cut to
abs(k) <= A instead leaves a shift by d a tail mass as delta. Proofs: docs/exact-sampling.md.

References
----------
.. [1] N. Holohan, S. Antonatos, S. Braghin, P. Mac Aonghusa, "The bounded Laplace mechanism in differential privacy",
   2018 (arXiv 1808.10410), for one coordinate and a continuous domain.
.. [2] Q. Geng, W. Ding, R. Guo, S. Kumar, "Truncated Laplacian mechanism for approximate differential privacy", 2018
   (arXiv 1810.00877).
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import NamedTuple

from lapnoise import exact
from lapnoise._numbers import fraction_up
from lapnoise.exact import Enclosure
from lapnoise.lattice import LARGEST_T

__all__ = [
    "Calibrated",
    "bounded_loss",
    "bounded_scale",
    "log_slack",
    "tail_bound",
    "tail_mass",
    "truncation",
]

FAR = Fraction(10) ** 290
FAR_TAIL = 2_000  # nats
"""Numbers up to here and down to their reciprocals are floats with room for another factor."""

_PRECISION = 96


class Calibrated(NamedTuple):
    """A scale in steps, and an upper bound of the loss that it gives."""

    t: float
    loss: Fraction


@functools.lru_cache(maxsize=256)
def bounded_scale(epsilon: Fraction, width: int, steps: int, coordinates: int) -> Calibrated:
    """Return the scale t with which ``bounded_loss`` is at most epsilon, and that loss.

    t is the least such but for a relative 2^-41: the equation is solved in floats, raised by 2^-42, and what that gives
    is verified.
    """
    steps = min(steps, width * coordinates)
    solved = _factor(epsilon, width, steps, coordinates)
    # Twice the scale of a Laplace mechanism always suffices, since C(d) <= C(0) exp(d / t).
    for factor, margin in ((solved, 2.0**-42), (solved, 2.0**-30), (2.0, 2.0**-42)):
        wanted = steps / epsilon * Fraction(factor) * (1 + Fraction(margin))
        t = fraction_up(wanted) if wanted <= LARGEST_T else math.ceil(wanted)
        loss = bounded_loss(t, width, steps, coordinates)
        if loss <= epsilon:
            return Calibrated(t, loss)
    raise AssertionError("twice the scale of the Laplace mechanism suffices")


def bounded_loss(t: float, width: int, steps: int, coordinates: int) -> Fraction:
    """Return an upper bound, within a relative 2^-80, of the loss of ``steps`` split among coordinates of width W."""
    steps = min(steps, width * coordinates)
    if steps == 0:
        return Fraction(0)
    scale = Fraction(t)
    # The loss is at least steps / t.
    p = _PRECISION + coordinates.bit_length() + _bits(scale / steps)
    each, more = divmod(steps, coordinates)
    total = (coordinates - more) * _one_coordinate(scale, width, each, p)[1]
    if more:
        total += more * _one_coordinate(scale, width, each + 1, p)[1]
    return Fraction(total, 1 << p)


def log_slack(delta: Fraction) -> Fraction:
    """Return a lower bound of -ln(1 - delta): a pure loss of epsilon - ln(1 - delta) gives (epsilon, delta)."""
    if delta < Fraction(1, 1 << 40):  # what the series leaves out is below a relative 2^-81
        return delta + delta * delta / 2
    p = _PRECISION + _bits(1 / delta)
    return Fraction(exact.negative_log(1 - delta, p)[0], 1 << p)


def truncation(t: float, steps: int, delta: Fraction) -> tuple[int, Fraction]:
    """Return the least A >= ``steps`` with which ``tail_mass`` of that shift is at most delta, and the mass.

    With delta < 1/2 no smaller A would do: a shift by more than A leaves at least half of the mass.
    """
    scale = Fraction(t)
    # delta itself is exact, so it is its logarithm's size that costs bits.
    p = _PRECISION + 2 * (_bits(scale) + _bits(scale / steps)) + _bits(1 / delta).bit_length()
    one = 1 << p
    q = exact.exp_negative(1 / scale, p)[0]
    shifted = exact.exp_negative(steps / scale, p)[0]
    y = delta * Fraction(one + q, one) / (1 - (1 - 2 * delta) * Fraction(shifted, one))
    reach = math.floor(scale * Fraction(exact.negative_log(y, p)[0], one)) if y < 1 else 0
    most = steps + max(0, reach - 1)
    while (mass := tail_mass(t, most, steps)) > delta:
        most += 1
    return most, mass


def tail_mass(t: float, most: int, shift: int) -> Fraction:
    """Return an upper bound of P(X + shift > A) for noise conditioned on abs(X) <= A = ``most``.

    That is the delta of a shift, of one coordinate or split among several, beside the epsilon of shift / t.
    """
    if shift == 0:
        return Fraction(0)
    if shift > 2 * most:
        return Fraction(1)
    scale = Fraction(t)
    if shift > most + 1:
        low, _, p = _tail(scale, most, 2 * most + 1 - shift)
        return 1 - Fraction(low, 1 << p)
    _, high, p = _tail(scale, most, shift)
    return min(Fraction(high, 1 << p), Fraction(1))


def tail_bound(t: float, most: int, shift: int) -> Fraction:
    """Return `tail_mass`, or far out in the tail, where that takes seconds, a power of two above it.

    1 + q - 2 q^(A + 1) is at least 1 - q^d for 1 <= d <= A, so the mass is at most q^(A - d + 1) <= 2^(-1.44 nats).
    """
    nats = Fraction(most + 1 - shift) / Fraction(t)
    if 1 <= shift <= most and nats > FAR_TAIL:
        return Fraction(1, 1 << min(math.floor(nats * Fraction(36, 25)), 1 << 20))
    return tail_mass(t, most, shift)


def _tail(scale: Fraction, most: int, shift: int) -> tuple[int, int, int]:
    """Enclose q^(A - d + 1) (1 - q^d) / (1 + q - 2 q^(A + 1)) for d <= A + 1; the third number is the precision."""
    # About exp(-(A - d) / t) / t, or less where d is small beside t.
    nats = (most + 1 - shift) / scale
    p = _PRECISION + 2 * _bits(scale) + math.ceil(Fraction(3, 2) * nats)
    one = 1 << p
    far = exact.exp_negative(Fraction(most + 1 - shift) / scale, p)
    own = exact.exp_negative(shift / scale, p)
    q = exact.exp_negative(1 / scale, p)
    beyond = exact.exp_negative((most + 1) / scale, p)
    below = (one + q[0] - 2 * beyond[1], one + q[1] - 2 * beyond[0])
    low = far[0] * (one - own[1]) // below[1]
    return low, -(-far[1] * (one - own[0]) // below[0]), p


def _one_coordinate(scale: Fraction, width: int, steps: int, p: int) -> Enclosure:
    """Enclose g(steps) in units of 2^-p."""
    if steps == 0:
        return 0, 0
    linear = exact.ratio(steps / scale, p)
    if steps == width:
        return linear
    inner = p + 2 * _bits(scale) + 8  # 1 - q^m is at least 1 / (2 t), or 1/2
    one = 1 << inner
    q = exact.exp_negative(1 / scale, inner)
    moved, left, whole = (_complement(m / scale, inner) for m in (steps, width - steps, width + 1))
    low = q[0] * moved[0] * left[0] // (whole[1] << inner)
    high = -(-q[1] * moved[1] * left[1] // (whole[0] << inner))
    raised_low = exact.negative_log(Fraction(one + low, one), p)
    raised_high = exact.negative_log(Fraction(one + high, one), p)
    return linear[0] - raised_low[1], linear[1] - raised_high[0]


def _complement(x: Fraction, p: int) -> Enclosure:
    """Enclose 1 - exp(-x)."""
    low, high = exact.exp_negative(x, p)
    return (1 << p) - high, (1 << p) - low


def _factor(epsilon: Fraction, width: int, steps: int, coordinates: int) -> float:
    """Return u, in [1, 2], so that t = u steps / epsilon makes the loss epsilon, to some 50 bits."""
    each, more = divmod(steps, coordinates)
    if epsilon > FAR or epsilon / steps < 1 / FAR:
        return 2.0
    unit, whole, target = float(epsilon / steps), float(min(epsilon * width / steps, FAR)), float(epsilon)

    def gain(d: int, u: float) -> float:
        moved, left = d * (unit / u), whole / u - d * (unit / u)
        share = math.expm1(-moved) * math.expm1(-left) / -math.expm1(-(whole + unit) / u)
        return math.log1p(math.exp(-unit / u) * share)

    def excess(u: float) -> float:
        """Return by how much the loss passes epsilon: steps / t is epsilon / u."""
        gained = (coordinates - more) * gain(each, u) + (more * gain(each + 1, u) if more else 0.0)
        return target / u + gained - target

    low, high = 1.0, 2.0
    for _ in range(54):
        middle = 0.5 * (low + high)
        if excess(middle) > 0.0:
            low = middle
        else:
            high = middle
    return high


def _bits(x: Fraction) -> int:
    """Return about log2 x, or 0 where x is below 1."""
    return max(0, x.numerator.bit_length() - x.denominator.bit_length() + 1)
