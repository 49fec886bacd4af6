"""The laws of noise that pictures compare draws with, and draws of it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check import picture_arguments
from lapnoise.errors import SeededNoiseWarning
from lapnoise.evaluate._statistics import CONTINUOUS_FROM, Moments, discrete_law, square_moments
from lapnoise.generator import default_rng
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)

__all__ = ["NoiseLaw", "draw_noise", "fitted", "law_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NoiseLaw:
    """The law of one coordinate's noise, symmetric about 0.

    Attributes
    ----------
    name : str
    on_integers : bool
    density : callable
        Density, or mass at an integer.
    tail : callable
        P(X > x) for x >= 0.
    magnitude : callable
        The x >= 0 that X passes with this probability, at most 1/2; on integers the least such.
    scale : float
        As the mechanism has it.
    unit : float
        X / unit is a number of size 1, or somewhat more.
    squares : Moments
        Of (X / unit)^2.
    """

    name: str
    on_integers: bool
    density: Callable[[Floats], Floats]
    tail: Callable[[Floats], Floats]
    magnitude: Callable[[Floats], Floats]
    scale: float
    unit: float
    squares: Moments

    def cdf(self, x: Floats) -> Floats:
        """Return P(X <= x)."""
        # Of integers P(X < x) = P(X > -x) wants the next one above x.
        above = -np.floor(x) - 1 if self.on_integers else -x
        return np.where(x < 0, self.tail(np.maximum(above, 0)), 1 - self.tail(np.maximum(x, 0)))

    def quantile(self, p: Floats) -> Floats:
        """Return the least x with P(X <= x) >= p."""
        if self.on_integers:
            k = np.where(p < 0.5, -self.magnitude(np.minimum(p, 0.5)), self.magnitude(np.minimum(1 - p, 0.5)))
            return np.where(self.cdf(k) < p, k + 1, k)
        return np.where(p < 0.5, -self.magnitude(np.minimum(p, 0.5)), self.magnitude(np.minimum(1 - p, 0.5)))


def law_of(mechanism: Any) -> NoiseLaw:
    """Return the law of a mechanism's noise: of a bounded one for a value in the middle of its domain."""
    single = _for_one(mechanism)
    picture_arguments.noise_scale(single.scale)
    if isinstance(single, GaussianMechanism):
        return _gaussian(single.scale)
    if isinstance(single, DiscreteLaplaceMechanism):
        return _discrete(float(single.lattice.t))
    if isinstance(single, TruncatedLaplaceMechanism):
        return _laplace("truncated Laplace", single.scale, single.bound)
    if isinstance(single, BoundedLaplaceMechanism):
        return _laplace("bounded Laplace, middle of the domain", single.scale, float(single.high - single.low) / 2)
    return _laplace("Laplace", single.scale)


def fitted(noise: Floats) -> NoiseLaw:
    """Return the Laplace law whose mean magnitude is that of the draws."""
    return _laplace("Laplace, scale fitted", float(np.mean(np.abs(noise))))


def draw_noise(mechanism: Any, n: int, seed: int | None) -> Floats:
    """Return n draws of a mechanism's noise on one coordinate each: of nobody's data, so that there is no cost."""
    single = _for_one(mechanism)
    rng = default_rng(seed, rounds=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        if isinstance(single, BoundedLaplaceMechanism):
            middle = float((single.low + single.high) / 2)
            return np.asarray(single.add_noise(np.full(n, middle), rng=rng) - middle, np.float64)
        kind = np.int64 if isinstance(single, DiscreteLaplaceMechanism) else np.float64
        return np.asarray(single.add_noise(np.zeros(n, kind), rng=rng), np.float64)


def _for_one(mechanism: Any) -> Any:
    if not isinstance(
        mechanism,
        LaplaceMechanism
        | DiscreteLaplaceMechanism
        | GaussianMechanism
        | TruncatedLaplaceMechanism
        | BoundedLaplaceMechanism,
    ):
        picture_arguments.no_law(mechanism)
    return mechanism.for_length(1)


def _laplace(name: str, b: float, reach: float = math.inf) -> NoiseLaw:
    """Return the Laplace law of scale b, conditioned on abs(x) <= reach."""
    from scipy.special import gammainc

    picture_arguments.noise_scale(b)
    a = reach / b
    rest, whole = math.exp(-a), -math.expm1(-a)
    # Of an exponential variate below a, E x^k = k! P(k + 1, a) / P(1, a), P the regularised incomplete gamma function.
    raw = [math.factorial(k) * float(gammainc(k + 1, a)) / whole for k in (2, 4, 6, 8)]

    def density(x: Floats) -> Floats:
        return np.where(np.abs(x) <= reach, np.exp(-np.abs(x) / b) / (2 * b * whole), 0.0)

    def tail(x: Floats) -> Floats:
        return (np.exp(-np.minimum(x / b, a)) - rest) / (2 * whole)

    return NoiseLaw(name, False, density, tail, lambda p: -b * np.log(2 * p * whole + rest), b, b, Moments.of(raw))


def _discrete(t: float) -> NoiseLaw:
    q, rest = math.exp(-1.0 / t), -math.expm1(-1.0 / t)
    if t < CONTINUOUS_FROM:
        unit, squares = 1.0, discrete_law(t).powers[2]
    else:
        unit, squares = t, square_moments(1)

    def magnitude(p: Floats) -> Floats:
        # P(X > k) = q^(k + 1) / (1 + q) <= p
        return np.maximum(np.ceil(-t * np.log(p * (1 + q)) - 1), 0)

    return NoiseLaw(
        "discrete Laplace",
        True,
        lambda k: np.exp(-np.abs(k) / t) * rest / (1 + q),
        lambda k: np.exp(-(np.floor(k) + 1) / t) / (1 + q),
        magnitude,
        t,
        unit,
        squares,
    )


def _gaussian(sigma: float) -> NoiseLaw:
    from scipy.special import ndtr, ndtri

    return NoiseLaw(
        "Gaussian",
        False,
        lambda x: np.exp(-0.5 * (x / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi)),
        lambda x: np.asarray(ndtr(-x / sigma)),
        lambda p: -sigma * ndtri(p),
        sigma,
        sigma,
        Moments.of([1.0, 3.0, 15.0, 105.0]),
    )
