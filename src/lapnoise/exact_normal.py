"""Enclosures of the normal distribution in integers, and the delta of Gaussian noise from them.

Everything is made of Mills' ratio M(x) = Q(x) / phi(x), Q being the upper tail of the standard normal and phi its
density: no tail is too small for it, and delta, a difference of two tails, becomes a difference of two numbers near 1.
Enclosures are those of ``exact``: two integers in units of 2^-p.

References
----------
.. [1] B. Balle, Y. Wang, "Improving the Gaussian mechanism for differential privacy: analytical calibration and optimal
   denoising", ICML 2018, theorem 8.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from lapnoise import exact
from lapnoise.exact import Enclosure

__all__ = [
    "FARTHEST",
    "FARTHEST_GAIN",
    "NOTHING",
    "bits_of",
    "delta_over_density",
    "gaussian_delta",
    "mills",
    "pi",
    "root_down",
    "root_of",
    "root_up",
]

NOTHING = Fraction(1, 1 << 7000)
"""What is said of a delta below exp(-5000)."""

FARTHEST = 5000
"""Exponents beyond this are not worked out."""

FARTHEST_GAIN = 40
"""Beyond this a delta is called 1."""

_SERIES = 6
_LOG2_E = 1.4427
_ENOUGH_BITS = 64


def gaussian_delta(u: Fraction, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose delta(epsilon) of two normal laws of deviation 1 whose means differ by u > 0.

    It is Phi(a) - exp(epsilon) Phi(b) with a = u/2 - epsilon/u and b = a - u [1]_. As exp(epsilon) phi(b) = phi(a),
    that is phi(a) (M(-a) - M(-b)).
    """
    a = u / 2 - epsilon / u
    if a < 0 and a * a > 2 * FARTHEST:
        return Fraction(0), NOTHING  # Phi(a) <= exp(-a^2 / 2) / 2
    if a > FARTHEST_GAIN:
        return Fraction(0), Fraction(1)
    least, most = delta_over_density(u, epsilon)
    exponent = a * a / 2
    p = 128 + bits_of(exponent)
    density = exact.exp_negative(exponent, p)
    root = root_of((2 * pi(p)[0], 2 * pi(p)[1]), p)
    return least * Fraction(density[0], root[1]), most * Fraction(density[1], root[0])


def delta_over_density(u: Fraction, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose M(-a) - M(-b): delta as a part of phi(a), which is the derivative of delta in u; a <= FARTHEST_GAIN."""
    a = u / 2 - epsilon / u
    p = 128
    while True:
        near, far = mills(-a, p), mills(u - a, p)
        low, high = near[0] - far[1], near[1] - far[0]
        if low > 0 and (high - low) << _ENOUGH_BITS < low:
            return Fraction(low, 1 << p), Fraction(high, 1 << p)
        p *= 2


def mills(x: Fraction, p: int) -> Enclosure:
    """Enclose Mills' ratio of x in units of 2^-p.

    Up to abs(x) = 6 it is sqrt(pi / 2) exp(x^2 / 2) - (x + x^3 / 3 + x^5 / (3 5) + ...); beyond, the continued fraction
    1 / (x + 1 / (x + 2 / (x + ...))), or sqrt(2 pi) exp(x^2 / 2) - M(-x) where x is negative.
    """
    if x > _SERIES:
        return _continued_fraction(x, p)
    square = x * x
    q = p + bits_of(square) + 32
    low, high = exact.exp_negative(square / 2, q)
    growth = (1 << 2 * q) // high, -((-1 << 2 * q) // low)
    circle = pi(q)
    if x < -_SERIES:
        root = root_of((2 * circle[0], 2 * circle[1]), q)
        other = _continued_fraction(-x, q)
        low, high = (growth[0] * root[0] >> q) - other[1], (growth[1] * root[1] >> q) + 1 - other[0]
    else:
        root = root_of((circle[0] // 2, circle[1] // 2 + 1), q)
        odd = _odd_series(abs(x), q)
        if x < 0:
            odd = -odd[1], -odd[0]
        low, high = (growth[0] * root[0] >> q) - odd[1], (growth[1] * root[1] >> q) + 1 - odd[0]
    return low >> q - p, (high >> q - p) + 1


@functools.lru_cache(maxsize=64)
def pi(p: int) -> Enclosure:
    """Enclose pi = 16 atan(1/5) - 4 atan(1/239) (Machin)."""
    a, b = _atan_inverse(5, p + 8), _atan_inverse(239, p + 8)
    return (16 * a[0] - 4 * b[1]) >> 8, ((16 * a[1] - 4 * b[0]) >> 8) + 1


def root_of(x: Enclosure, p: int) -> Enclosure:
    """Enclose the square root of what is enclosed, in units of 2^-p."""
    return math.isqrt(x[0] << p), math.isqrt(x[1] << p) + 1


def root_up(x: Fraction) -> Fraction:
    """Return the square root of x >= 0 where it is rational, and else a number above it by a relative 2^-80 at most."""
    whole = math.isqrt(x.numerator), math.isqrt(x.denominator)
    if whole[0] ** 2 == x.numerator and whole[1] ** 2 == x.denominator:
        return Fraction(*whole)
    shift = 84 + max(0, x.denominator.bit_length() - x.numerator.bit_length()) // 2
    return Fraction(math.isqrt((x.numerator << 2 * shift) // x.denominator) + 1, 1 << shift)


def root_down(x: Fraction) -> Fraction:
    """Return a number below the square root of x > 0 by a relative 2^-80 at most."""
    return 1 / root_up(1 / x)


def bits_of(exponent: Fraction) -> int:
    """Return about how many bits exp(exponent) has, >= 0."""
    return math.ceil(float(exponent) * _LOG2_E) + 1


def _odd_series(x: Fraction, q: int) -> Enclosure:
    """Enclose x + x^3 / 3 + x^5 / (3 5) + ..., 0 <= x <= 6."""
    low, high = term_low, term_high = exact.ratio(x, q)
    square = exact.ratio(x * x, q)
    k = 1
    # Once 2 k + 1 passes 2 x^2 each term is less than half of the one before, and all that follow less than it.
    while term_high > 2 or (2 * k + 1) << q < 2 * square[1]:
        term_low = (term_low * square[0] >> q) // (2 * k + 1)
        term_high = ((term_high * square[1] >> q) + 1) // (2 * k + 1) + 1
        low, high = low + term_low, high + term_high
        k += 1
    return low, high + term_high + 2


def _continued_fraction(x: Fraction, p: int) -> Enclosure:
    """Enclose Mills' ratio of x > 0: a tail of the fraction from level n on lies between x and x + (n + 1) / x."""
    q = p + 16
    # Its error falls as exp(-2 x sqrt(2 n)), and while n is small against x^2 as n! / x^(2 n).
    near = min(float(x), 1e6)
    n = 8 + math.ceil((0.4 * q / near) ** 2 + 0.5 * q / math.log2(near))
    low, high = exact.ratio(x, q)
    add_low, add_high = low, high
    high += ((n + 1) << 2 * q) // low + 1
    for k in range(n, 0, -1):
        top = k << 2 * q
        low, high = add_low + top // high, add_high + top // low + 1
    one = 1 << 2 * q
    return one // high >> q - p, (one // low >> q - p) + 1


def _atan_inverse(n: int, p: int) -> Enclosure:
    """Enclose atan(1 / n), its terms in units of 2^-(p + 16)."""
    power = (1 << p + 16) // n
    total, k = 0, 0
    while power:
        total += (-1) ** k * (power // (2 * k + 1))
        power //= n * n
        k += 1
    error = 2 * k + 2  # each term is cut twice, and the first that is left out is below one unit
    return (total - error) >> 16, ((total + error) >> 16) + 1
