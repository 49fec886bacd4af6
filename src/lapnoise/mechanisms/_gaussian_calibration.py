"""How much discrete Gaussian noise (epsilon, delta) takes, proved for the discrete law and every direction of change.

Let values in steps of the lattice change by an integer vector v of L2 norm at most D, of which n coordinates are not 0.

Smoothing. For s > 0 and sigma^2 = sigma1^2 + s^2, add continuous normal noise of deviation sigma1 and then round each
coordinate x to y with probability proportional to exp(-(y - x)^2 / (2 s^2)). What comes out has the law of discrete
Gaussian noise of parameter sigma but for a factor exp(+-kappa) a coordinate, kappa some exp(-4 pi^2 s^2) [1]_
(`exact_gaussian.smoothing_loss`). So the discrete mechanism is (epsilon, delta) private where the continuous one of
deviation sigma1 is (epsilon - 2 n kappa, delta exp(-n kappa)) private [2]_, in all directions alike. Coordinates that
stay drop out, and n <= D^2 since each that changes changes by 1 at least.

One coordinate. There delta is a difference of two tails of the discrete law [3]_; it does not fall as the shift grows,
because the best set is a half-line and its probability falls with the shift. So the largest shift stands for all.

References
----------
.. [1] D. Micciancio, M. Walter, "Gaussian sampling over the integers", CRYPTO 2017, for sums of discrete and continuous
   Gaussians.
.. [2] B. Balle, Y. Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018, theorem 8.
.. [3] C. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential Privacy", 2020 (arXiv 2004.00010),
   theorem 7.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from lapnoise._numbers import fraction_up
from lapnoise.exact_gaussian import SHORT, shift_delta, smoothing_loss
from lapnoise.exact_normal import FARTHEST_GAIN, delta_over_density, gaussian_delta, root_up
from lapnoise.lattice import LEAST_EXPONENT, floor_log2

__all__ = ["LARGEST_SIGMA", "Reach", "choose_exponent", "delta_bound", "largest_ratio", "least_sigma", "reach"]

LARGEST_SIGMA = 2.0**43
"""Largest sigma, in steps, that the kernel draws with."""

LEAST_BITS, MOST_BITS = 24, 42
"""log2(sigma / r): at least, and at most."""

NEGLIGIBLE = Fraction(1, 1 << 20)

MOST_EPSILON = 10**6
"""Beyond it no smaller sigma than smoothing gives is looked for on whole numbers."""

SMOOTHINGS = tuple(Fraction(k, 8) for k in (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 512))
"""The s^2 that are tried: kappa is 6e-4 for the least, and below 2^-3000 for the largest."""


class Reach(NamedTuple):
    """How far values on the lattice can change: D^2, and in how many coordinates at most."""

    square: Fraction
    changed: int

    @property
    def coordinates(self) -> int:
        """n, at most: each coordinate that changes changes by 1 at least."""
        return min(self.changed, math.floor(self.square))


def reach(l2_squared: Fraction, changed: int, exponent: int) -> Reach:
    """Return how far rounded values change whose L2 distance is at most the root of ``l2_squared``.

    Rounding half up moves each coordinate that changes by less than one step more or less, so by Minkowski's inequality
    they change by less than Δ2 / r + sqrt(changed). D^2 is the largest whole number below the square of that.
    """
    r = Fraction(2) ** exponent
    above = l2_squared / r**2 + 2 * root_up(l2_squared * changed) / r + changed
    return Reach(Fraction(math.ceil(above) - 1), changed)


def choose_exponent(epsilon: Fraction, delta: Fraction, l2_squared: Fraction, changed: int) -> int:
    """Return g of the coarsest granularity 2^g that costs at most 2^-20 of sigma, with 24 <= log2(sigma / r) <= 42.

    Where none does, it is the finest with which sigma stays within the kernel's limit, or the coarsest if none does.
    """
    ratio = largest_ratio(epsilon, delta)
    square = l2_squared / ratio**2
    base = floor_log2(square) // 2
    exponents = [max(base - bits, LEAST_EXPONENT) for bits in range(LEAST_BITS, MOST_BITS + 1)]
    for exponent in exponents:
        if changed * Fraction(4) ** exponent <= l2_squared * NEGLIGIBLE**2:
            return exponent
    for exponent in reversed(exponents):
        if reach(l2_squared, changed, exponent).square <= (ratio * Fraction(LARGEST_SIGMA)) ** 2 * Fraction(99, 100):
            return exponent
    return exponents[0]


def delta_bound(sigma: float, within: Reach, epsilon: Fraction) -> Fraction:
    """Return a delta for which noise of parameter sigma is (epsilon, delta) private within this reach."""
    n = within.coordinates
    if n == 0:
        return Fraction(0)
    variance = Fraction(sigma) ** 2
    if n == 1 and sigma <= SHORT:
        return min(shift_delta(variance, epsilon, math.isqrt(math.floor(within.square)))[1], Fraction(1))
    return min(_smoothed(variance, within, epsilon, square) for square in _smoothings(sigma, n, epsilon)[:2])


@functools.lru_cache(maxsize=4096)
def least_sigma(epsilon: Fraction, delta: Fraction, within: Reach) -> tuple[float, Fraction]:
    """Return the least sigma, to some 12 digits, that is proved (epsilon, delta) private, and the delta that it has.

    Where it would be beyond LARGEST_SIGMA the delta is 1.
    """
    n = within.coordinates
    ratio = largest_ratio(epsilon, delta)
    sigma = fraction_up(root_up(within.square) / ratio)
    if sigma > LARGEST_SIGMA:
        return sigma, Fraction(1)
    square = _smoothings(sigma, n, epsilon)[0]
    loss = n * smoothing_loss(square, sigma * sigma >= 3 * square)  # s^2 more is then 4 s^2
    if loss > min(epsilon, Fraction(1)) / 2**64:
        ratio = largest_ratio(epsilon - 2 * loss, delta * (1 - loss))
    sigma = fraction_up(root_up(within.square / ratio**2 + square))
    if n == 1 and sigma <= SHORT and epsilon <= MOST_EPSILON:
        sigma = _short_sigma(epsilon, delta, math.isqrt(math.floor(within.square)), sigma)
    step = 2.0**-44
    while (attained := delta_bound(sigma, within, epsilon)) > delta:
        sigma, step = sigma * (1 + step), 2 * step
    return sigma, attained


@functools.lru_cache(maxsize=4096)
def largest_ratio(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest u, to 13 digits and proved, with which continuous noise of deviation D / u is private.

    Newton's method on ln(delta), whose derivative in u is phi(a) / delta, begins below: zero-concentrated privacy with
    rho = u^2 / 2 gives a u that suffices, and delta <= u / sqrt(2 pi) another.
    """
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)
    wanted, root = float(epsilon), math.sqrt(-log_delta)
    u = max(math.sqrt(2.0) * wanted / (math.sqrt(wanted - log_delta) + root), 2.5 * float(delta))
    for _ in range(100):
        exactly = Fraction(u)
        a = exactly / 2 - epsilon / exactly
        if a > FARTHEST_GAIN:
            u /= 2
            continue
        over_density = float(delta_over_density(exactly, epsilon)[0])
        height = -0.5 * float(a) ** 2 - 0.5 * math.log(2 * math.pi) + math.log(over_density)
        step = (log_delta - height) * over_density
        u = min(max(u + step, u / 4), 4 * u)
        if abs(step) <= 2.0**-46 * u:
            break
    margin = 2.0**-46
    found = Fraction(u * (1 - margin))
    while gaussian_delta(found, epsilon)[1] > delta:
        margin *= 2
        found = Fraction(u * (1 - margin))
    return found


def _smoothed(variance: Fraction, within: Reach, epsilon: Fraction, square: Fraction) -> Fraction:
    """Return the delta that smoothing with s^2 = ``square`` proves."""
    loss = within.coordinates * smoothing_loss(square, variance >= 4 * square)
    if variance <= square or 2 * loss >= min(epsilon, Fraction(1)):
        return Fraction(1)
    u = root_up(within.square / (variance - square))
    # exp(loss) <= 1 / (1 - loss)
    return min(gaussian_delta(u, epsilon - 2 * loss)[1] / (1 - loss), Fraction(1))


def _smoothings(sigma: float, n: int, epsilon: Fraction) -> list[Fraction]:
    """Return the s^2, the cheapest first: s^2 / (2 sigma^2) of sigma is lost, and 2 n kappa of epsilon."""
    scale = min(float(epsilon), 1.0)

    def price(square: Fraction) -> float:
        loss = 2 * n * float(smoothing_loss(square, sigma * sigma >= 3 * square)) / scale
        return float(square) / (2 * sigma * sigma) + (loss if loss < 0.5 else math.inf)

    return sorted(SMOOTHINGS, key=price)


def _short_sigma(epsilon: Fraction, delta: Fraction, shift: int, enough: float) -> float:
    """Return about the least sigma for one coordinate that changes by ``shift``; ``enough`` is one that suffices."""
    wanted = math.log(delta.numerator) - math.log(delta.denominator)
    low, high = enough, enough
    while _log_delta(low, float(epsilon), shift) <= wanted and low > 1e-3:
        low, high = low / 2, low
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if _log_delta(middle, float(epsilon), shift) <= wanted:
            high = middle
        else:
            low = middle
    return high


def _log_delta(sigma: float, epsilon: float, shift: int) -> float:
    """Return ln of the delta of one coordinate in floats, summed as p(k) (1 - exp(epsilon) p(k - shift) / p(k))."""
    twice = 2.0 * sigma * sigma
    m = math.ceil(shift / 2 - sigma * sigma * epsilon / shift) - 1
    top = min(m, 0)
    k = m - np.arange(int(max(m, 0) + 40 * sigma) + 40, dtype=np.float64)
    gain = np.minimum(epsilon - (shift * shift - 2 * k * shift) / twice, 0.0)
    total = float(np.sum(np.exp((top * top - k * k) / twice) * -np.expm1(gain)))
    reach_of = np.arange(1, int(40 * sigma) + 2)
    weight = 1 + 2 * float(np.sum(np.exp(-reach_of * reach_of / twice)))
    return math.log(total) - top * top / twice - math.log(weight) if total > 0 else -math.inf
