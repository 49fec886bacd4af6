"""What the mechanisms that add discrete Laplace noise share: their lattice, and the statistics of the noise on it."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

from lapnoise import _check, exact
from lapnoise import lattice as lattices
from lapnoise._numbers import fraction_up
from lapnoise.errors import SeededNoiseWarning
from lapnoise.generator import Generator, default_rng
from lapnoise.mechanisms._mechanism import Mechanism

__all__ = ["AdditiveMechanism", "as_float", "generator_for", "verify_generator"]


class AdditiveMechanism(Mechanism):
    """An immutable set of parameters, and the exact noise that follows from them."""

    __slots__ = ("epsilon_asked", "lattice", "sensitivity")

    epsilon_asked: Fraction
    sensitivity: Fraction
    lattice: lattices.Lattice

    @property
    def epsilon(self) -> Fraction:
        """Epsilon attained, exactly; never above ``epsilon_asked``."""
        return self.lattice.epsilon

    @property
    def granularity(self) -> float | Fraction:
        """r, the power of two of which every result is a multiple; a Fraction where it is no float."""
        exponent = self.lattice.exponent
        if lattices.LEAST_EXPONENT <= exponent <= lattices.MOST_EXPONENT:
            return math.ldexp(1.0, exponent)
        return self.lattice.granularity

    @property
    def scale(self) -> float:
        """Scale b of the noise, t r; inf beyond the floats, where ``log_scale`` still tells it."""
        return as_float(Fraction(self.lattice.t) * self.lattice.granularity)

    @property
    def log_scale(self) -> float:
        """Natural logarithm of the scale, also where the scale is beyond the floats."""
        return math.log(self.lattice.t) + self.lattice.exponent * math.log(2.0)

    @property
    def std(self) -> float:
        """Standard deviation of the noise on its lattice, r / (sqrt(2) sinh(1 / (2 t))); near sqrt(2) b."""
        t = self.lattice.t
        if t > lattices.LARGEST_T:
            return math.sqrt(2.0) * self.scale  # sinh(x) is x within 1e-35
        return as_float(Fraction(self._std_in_steps()) * self.lattice.granularity)

    @property
    def variance(self) -> float:
        """Variance of the noise on its lattice; near 2 b^2."""
        return self.std * self.std

    @property
    def mse(self) -> float:
        """Mean squared error of a released value on the lattice: the variance, since the noise is unbiased."""
        return self.variance

    def interval(self, level: Any) -> float:
        """Return the half-width h, the least multiple of the granularity with P(abs(noise) <= h) >= level.

        Parameters
        ----------
        level : float, str, Decimal or Fraction
            Between 0 and 1, read as it prints.
        """
        tail = 1 - _check.level(level)
        return fraction_up(self._quantile_in_steps(tail) * self.lattice.granularity)

    def _std_in_steps(self) -> float:
        # P(k) ~ q^abs(k) has variance 2 q / (1 - q)^2 = 1 / (2 sinh(1 / (2 t))^2).
        x = 0.5 / self.lattice.t
        return math.sqrt(0.5) / math.sinh(x) if x < 700.0 else 0.0

    def _quantile_in_steps(self, tail: Fraction) -> int:
        """Return the least m with P(abs(noise) <= m steps) >= 1 - tail."""
        return exact.quantile_magnitude(Fraction(self.lattice.t), tail)


def generator_for(rng: Any, threads: Any, *, stacklevel: int = 3) -> Generator:
    """Return the generator that was handed over, or a fresh one: ChaCha20 keyed by the operating system.

    A warning names the line from which the caller was called, or one ``stacklevel`` further up.

    Warns
    -----
    SeededNoiseWarning
        If the noise of the generator can be drawn again.
    """
    if rng is None:
        return default_rng(rounds=20, threads=threads)
    _check.generator(rng, Generator)
    if rng.repeatable:
        warnings.warn(
            "noise from a seeded generator, one moved by seek, or a child by label can be drawn again, "
            "and drawn twice it protects nobody",
            SeededNoiseWarning,
            stacklevel=stacklevel,
        )
    return rng  # type: ignore[no-any-return]


def verify_generator(rng: Any, threads: Any) -> None:
    """Refuse what `generator_for` would refuse."""
    if rng is not None:
        _check.generator(rng, Generator)
    elif threads is not None:
        _check.threads(threads)


def as_float(value: Fraction) -> float:
    """Return the nearest float; inf beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
