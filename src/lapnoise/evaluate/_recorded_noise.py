"""Noise that somebody recorded, against what it is said to be; and what it would be instead."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapnoise.evaluate._checks import Check, Statistic, exact
from lapnoise.evaluate._distributions import judged_by
from lapnoise.evaluate._reuse import correlation, repeats
from lapnoise.evaluate._statistics import continuous_law, discrete_law

__all__ = ["recorded_noise"]

SUBJECT = "recorded noise"
MEAN_LOOK = (
    "a bias: results clipped or made non-negative after noise, rounding to one side, or other true values than those "
    "that were noised"
)
WHOLE_LOOK = "the mechanism: all differences are whole; perhaps --mechanism discrete-laplace"
SHAPE_LOOK = (
    "the shape: an average of several releases (epsilon reused), another noise than Laplace, or draws of several "
    "scales mixed together"
)
SIGN_LOOK = "the signs: a sampler whose sign is no fair bit, or results clipped to one side"
REUSE_LOOK = "dependence: one draw used for several values, or noise used again (epsilon reused)"
REPEAT_LOOK = f"{REUSE_LOOK}; or results that were rounded after noise"


def recorded_noise(
    noise: NDArray[np.float64], epsilon: Fraction, sensitivity: Fraction, discrete: bool
) -> Iterator[Check | Statistic]:
    """Yield statistics of the noise beside the law of scale sensitivity / epsilon, each with where to look."""
    scale = float(sensitivity / epsilon)
    # Beyond 2^53 all floats are whole.
    whole = bool((noise == np.floor(noise)).all()) and 0 < float(np.abs(noise).max()) < 2.0**53
    size_look = _size_look(noise, float(epsilon), float(sensitivity), discrete or whole)
    if whole and not discrete:
        size_look = f"{WHOLE_LOOK}\n{size_look}"
    looks = {
        "Kolmogorov-Smirnov distance": f"{size_look}\n{SHAPE_LOOK}",
        "mean, standard errors off": MEAN_LOOK,
        "mean magnitude, standard errors off": size_look,
        "mean square, standard errors off": f"{size_look}\n{SHAPE_LOOK}",
        "signs, standard errors off": SIGN_LOOK,
    }
    law = discrete_law(scale) if discrete else continuous_law()
    sample = noise if discrete else noise / scale
    name = "discrete Laplace" if discrete else "Laplace"
    tested = f"{noise.size:,} differences against {name} noise of scale {scale:g}"
    for statistic in judged_by(tested, sample, law, SUBJECT, ""):
        yield replace(statistic, look=looks.get(statistic.measure, REUSE_LOOK))
    scores = law.cdf(sample) + law.below(sample) - 1.0
    measure = "correlation at any distance, standard errors"
    yield Statistic(SUBJECT, tested, measure, *correlation(scores), REUSE_LOOK)
    yield Statistic(SUBJECT, tested, "magnitudes that were there before", *repeats(noise, scale), REPEAT_LOOK)
    if discrete:
        fractions = int(np.count_nonzero(noise != np.floor(noise)))
        look = "the mechanism: discrete noise on integers is whole; perhaps --mechanism laplace"
        yield exact(SUBJECT, tested, "differences that are not whole", fractions, look)


def _size_look(noise: NDArray[np.float64], epsilon: float, sensitivity: float, whole: bool) -> str:
    """Say of which epsilon and of which sensitivity noise of this size would be."""
    largest = float(np.abs(noise).max())
    if largest == 0.0:
        return "the noise: there is none"
    size = largest * float(np.abs(noise / largest).mean())  # of numbers whose sum is beyond the floats too
    # E abs(k) = 1 / sinh(1 / t) on the integers.
    scale = 1.0 / math.asinh(1.0 / size) if whole else size
    return (
        f"sensitivity or epsilon: this is noise of scale {scale:.4g}, as of epsilon {sensitivity / scale:.4g} at "
        f"sensitivity {sensitivity:g}, or of sensitivity {scale * epsilon:.4g} at epsilon {epsilon:g}"
    )
