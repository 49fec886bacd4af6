"""Noise used twice, at any distance or in any order: correlations of recorded noise, and magnitudes that come again."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lapnoise.evaluate._statistics import random_signs

__all__ = ["correlation", "repeats"]

MOST_LAGGED = 1 << 24
"""Differences that are compared with those before them at every distance: 2 GB."""

FINEST = 2.0**-20
"""Noise is taken to lie on points no closer than this part of its scale, in units of which results may be rounded.

Mechanisms have 2^24 steps in a scale; what is released in float32 has 2^23 to 2^20 in magnitudes up to 8 scales.
"""

Critical = Callable[[float], float]


def correlation(scores: NDArray[np.float64]) -> tuple[float, Critical]:
    """Return the largest correlation of symmetric scores at any distance, in standard errors, and its critical value.

    Given the sizes, signs are fair coins, and so are products of the signs at a distance, which form chains and no
    circle. So at each distance abs(sum of s_i s_j) over the root of the sum of (s_i s_j)^2 has the tails that random
    signs have; distances share the false alarms.
    """
    from scipy.fft import next_fast_len

    taken = scores[:MOST_LAGGED]
    size = next_fast_len(2 * taken.size, real=True)

    def lagged(values: NDArray[np.float64]) -> NDArray[np.float64]:
        spectrum = np.fft.rfft(values, size)
        return np.fft.irfft(spectrum * np.conj(spectrum), size)[1 : taken.size]

    sums, squares = lagged(taken), lagged(taken * taken)
    # Where all products are 0 nothing is left of either but rounding, some 1e-16 of the whole.
    there = squares > 1e-9 * max(float(taken @ taken), 1.0)
    off = np.abs(sums[there]) / np.sqrt(squares[there])
    return float(off.max(initial=0.0)), lambda alpha: random_signs(alpha / (taken.size - 1))


def repeats(noise: NDArray[np.float64], scale: float) -> tuple[int, Critical]:
    """Return how many differences have the magnitude of an earlier one, and the critical value of that.

    Of those whose lowest set bit is 2^j magnitudes are odd multiples of 2^j, so that each has a probability of at most
    1 - exp(-2^(j + 1) / b), and of at most `FINEST` where values themselves have lower bits than the noise. The i-th of
    them repeats an earlier one with at most i - 1 times that, whatever came before. Sums of independent events with
    such probabilities exceed any number above their mean by at most the probability of a binomial law of that mean
    (Hoeffding 1956).
    """
    from scipy.stats import binom

    sizes = np.abs(noise)
    again = noise.size - np.unique(sizes).size
    fractions, exponents = np.frexp(sizes)
    digits = np.ldexp(fractions, 53).astype(np.int64)
    lowest = np.ldexp((digits & -digits).astype(np.float64), exponents - 53)
    mean = 0.0
    for step, count in zip(*np.unique(lowest, return_counts=True), strict=True):
        each = 1.0 if step == 0.0 else max(-math.expm1(-2.0 * float(step) / scale), FINEST)
        # min(1, i each) summed over 0 <= i < count.
        full = min(int(count), math.floor(1 / each) + 1)
        mean += each * full * (full - 1) / 2 + int(count) - full

    def critical(alpha: float) -> float:
        most = float(binom.isf(alpha, noise.size, min(mean / noise.size, 1.0)))
        return max(most, math.ceil(mean) + 1.0)

    return int(again), critical
