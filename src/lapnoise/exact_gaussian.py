"""Sums of the discrete Gaussian in integers: its tails, its quantiles, and the delta of a shift in one coordinate.

w(k) = exp(-k^2 / (2 sigma^2)), and P(X = k) = w(k) / Z.

References
----------
.. [1] C. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential Privacy", 2020 (arXiv 2004.00010),
   theorem 7 for the delta of one coordinate, corollary 9 for the tail.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from statistics import NormalDist

from lapnoise import exact
from lapnoise.exact import Enclosure
from lapnoise.exact_normal import FARTHEST, NOTHING, bits_of, mills, pi, root_down

__all__ = ["SHORT", "exceeding", "least_magnitude", "shift_delta", "smoothing_loss", "variance_of"]

SHORT = 32
"""Up to this sigma sums are taken term by term."""

_ENOUGH_BITS = 64


def shift_delta(variance: Fraction, epsilon: Fraction, shift: int) -> tuple[Fraction, Fraction]:
    """Enclose the delta(epsilon) of X and X + shift, shift >= 1 an integer and variance = sigma^2.

    p(k) exceeds exp(epsilon) p(k - shift) where k < c = shift / 2 - sigma^2 epsilon / shift. So with m the largest
    integer below c, delta = P(X >= -m) - exp(epsilon) P(X >= shift - m).
    """
    m = math.ceil(Fraction(shift, 2) - variance * epsilon / shift) - 1
    head = Fraction(m * m) / (2 * variance) if m < 0 else Fraction(0)
    if head > FARTHEST:
        return Fraction(0), NOTHING  # P(X >= k) <= exp(-k^2 / (2 sigma^2)) [1]_
    first = shift - m
    other = Fraction(first * first) / (2 * variance) - epsilon  # at least m^2 / (2 sigma^2)
    p = 128 + bits_of(head)
    while True:
        whole = _weight(variance, p)
        if m > 0:
            rest = _tail(m + 1, variance, Fraction((m + 1) ** 2) / (2 * variance), p)
            near = whole[0] - rest[1], whole[1] - rest[0]
        else:
            near = _tail(-m, variance, head, p)
        far = _tail(first, variance, other, p)
        low, high = near[0] - far[1], near[1] - far[0]
        if low > 0 and (high - low) << _ENOUGH_BITS < low:
            return Fraction(low, whole[1]), Fraction(high, whole[0])
        p *= 2


def least_magnitude(sigma: float, tail: Fraction) -> int:
    """Return the least m with P(abs(X) > m) <= tail, 0 < tail < 1; above SHORT, the least for which that is proved.

    There the sum over k > m is replaced by an integral with its correction, which leaves open some sigma^-3 of all
    levels.
    """
    half = float(tail / 2)
    z = -NormalDist().inv_cdf(half) if half > 1e-300 else math.sqrt(2.0 * math.log(2.0) * (1 + _bits_below(tail)))
    guess = max(int(z * sigma), 0)

    def enough(m: int) -> bool:
        return m >= 0 and exceeding(sigma, m) <= tail

    low, high, step = guess - 1, guess, 1
    while not enough(high):
        low, high, step = high, high + step, 2 * step
    while enough(low):
        low, high, step = low - step, low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _bits_below(x: Fraction) -> int:
    """Return about -log2(x)."""
    return x.denominator.bit_length() - x.numerator.bit_length()


def variance_of(sigma: float) -> float:
    """Return the variance of X: sigma^2, but for a relative 1e-30 from sigma = 2 on, and less below."""
    if sigma >= 2.0:
        return sigma * sigma
    weights = [(k * k, math.exp(-0.5 * (k / sigma) ** 2)) for k in range(1, 80)]
    return 2 * math.fsum(k2 * w for k2, w in weights) / (1 + 2 * math.fsum(w for _, w in weights))


@functools.lru_cache(maxsize=64)
def smoothing_loss(square: Fraction, wide: bool) -> Fraction:
    """Return an upper bound on kappa, so that smoothing changes no probability by more than a factor exp(+-kappa).

    X is normal of variance sigma^2 - s^2, s^2 being ``square``, and becomes Y = k with probability w(k - X) / rho(X),
    w(x) = exp(-x^2 / (2 s^2)) and rho(X) their sum. By Poisson's summation rho(X) = sqrt(2 pi) s (1 + g(X)) with

        g(x) = 2 sum of exp(-2 pi^2 s^2 m^2) cos(2 pi m x) over m >= 1,    abs(g) <= eta = g(0).

    P(Y = k) is E 1 / (1 + g) times the normal density of variance sigma^2 at k, X being normal there, of variance
    tau^2 = s^2 (1 - s^2 / sigma^2). So kappa = ln(1 + eta) - ln(1 - eta) always. Where ``wide``, sigma^2 >= 4 s^2, the
    cosines average out: abs(E g) <= alpha = 2 sum of exp(-2 pi^2 (s^2 + tau^2) m^2), so that by Jensen's inequality and
    1 / (1 + g) = 1 - g + g^2 / (1 + g)

        1 / (1 + alpha) <= E 1 / (1 + g) <= 1 + alpha + eta^2 / (1 - eta),

    and the discrete law is the density over 1 to 1 + alpha.
    """
    p = 64 + bits_of(40 * square)
    circle = Fraction(pi(p)[0], 1 << p)
    exponent = 2 * circle * circle * square
    q = Fraction(exact.exp_negative(exponent, p)[1], 1 << p)
    eta = 2 * q / (1 - q)  # q^(m^2) <= q^m
    if wide:
        q = Fraction(exact.exp_negative(exponent * Fraction(7, 4), p)[1], 1 << p)
        alpha = 2 * q / (1 - q)
        loss = 2 * alpha + eta * eta / (1 - eta)  # ln(1 + x) <= x
    else:
        loss = 2 * eta / (1 - eta)
    shift = 40 + _bits_below(loss)  # so few bits that what is made of it stays short
    return Fraction(math.ceil(loss * (1 << shift)), 1 << shift)


def _tail(first: int, variance: Fraction, head: Fraction, p: int) -> Enclosure:
    """Enclose the sum of exp(-head - (k^2 - first^2) / (2 variance)) over k >= first >= 0."""
    term_low, term_high = exact.exp_negative(head, p)
    ratio_low, ratio_high = exact.exp_negative((2 * first + 1) / (2 * variance), p)
    decay_low, decay_high = exact.exp_negative(1 / variance, p)
    low = high = 0
    while term_high > 1:
        low, high = low + term_low, high + term_high
        term_low, term_high = term_low * ratio_low >> p, (term_high * ratio_high >> p) + 1
        ratio_low, ratio_high = ratio_low * decay_low >> p, (ratio_high * decay_high >> p) + 1
        if ratio_high <= 1:  # what is left is below two units
            return low, high + 2 * term_high + 2
    # Ratios fall, so what is left is below a geometric series.
    return low, high + (term_high << p) // ((1 << p) - ratio_high) + 1


@functools.lru_cache(maxsize=64)
def _weight(variance: Fraction, p: int) -> Enclosure:
    """Enclose Z."""
    low, high = _tail(1, variance, 1 / (2 * variance), p)
    return (1 << p) + 2 * low, (1 << p) + 2 * high


def exceeding(sigma: float, m: int) -> Fraction:
    """Return an upper bound on P(abs(X) > m), m >= 0."""
    exactly = Fraction(sigma)
    variance = exactly * exactly
    if sigma <= SHORT:
        head = (m + 1) ** 2 / (2 * variance)
        p = 192 + bits_of(head)
        return Fraction(2 * _tail(m + 1, variance, head, p)[1], _weight(variance, p)[0])
    # Euler and Maclaurin about the midpoints: the sum of f over k > m is the integral from m + 1/2 on, and
    # f'(m + 1/2) / 24, within max abs(B_3) / 3! = sqrt(3) / 216 of the variation of f''. At y = (m + 1/2) / sigma it is
    # (y^2 - 1) exp(-y^2 / 2) / sigma^2 from y = sqrt(3) on, and 1.9 / sigma^2 < 9 exp(-y^2 / 2) / sigma^2 before.
    y = (m + Fraction(1, 2)) / exactly
    p = 192
    variation = (y * y - 1 if y * y >= 3 else Fraction(9)) / variance
    sum_over_density = (
        exactly * Fraction(mills(y, p)[1], 1 << p) - y / (24 * exactly) + Fraction(81, 10_000) * variation
    )
    p = 192 + bits_of(y * y / 2)
    density = Fraction(exact.exp_negative(y * y / 2, p)[1], 1 << p)
    root = root_down(2 * Fraction(pi(p)[0], 1 << p))
    return 2 * density * sum_over_density / (exactly * root)  # Z >= sigma sqrt(2 pi)
