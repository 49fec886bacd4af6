"""Mechanisms by the names and calls of diffprivlib, with exact noise."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

from lapnoise import _check, conditional_law
from lapnoise import lattice as lattices
from lapnoise._check import FLOAT64
from lapnoise.exact_conditional import log_slack
from lapnoise.generator import Generator, default_rng
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)

__all__ = [
    "Gaussian",
    "GaussianAnalytic",
    "GaussianDiscrete",
    "Geometric",
    "GeometricTruncated",
    "Laplace",
    "LaplaceBoundedDomain",
    "LaplaceBoundedNoise",
    "LaplaceTruncated",
    "OneNumber",
    "generator_for",
]


class OneNumber:
    """A mechanism that is asked for one number at a time.

    ``mechanism`` is the one of this library that does the work: it takes arrays, and a ledger takes it.
    """

    mechanism: Any

    def __init__(self, mechanism: Any, random_state: Any) -> None:
        self.mechanism = mechanism
        self._rng = generator_for(random_state)

    def randomise(self, value: Any) -> Any:
        """Return the value with noise: a float, or an int from a mechanism on integers.

        Raises
        ------
        TypeError
            If it is not one number.
        ValueError
            If it is infinite.
        """
        _check.one_number(value)
        return float(self.mechanism.add_noise(value, rng=self._rng))

    def bias(self, value: Any) -> float:
        """Return the mean of the results for this value less the value."""
        _check.one_number(value)
        return 0.0

    def variance(self, value: Any) -> float:
        """Return the variance of the results for this value."""
        _check.one_number(value)
        return float(self.mechanism.variance)

    def mse(self, value: Any) -> float:
        """Return the mean squared distance of the results from this value."""
        return self.variance(value) + self.bias(value) ** 2

    def copy(self) -> Self:
        """Return a copy."""
        return copy.copy(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.mechanism!r})"


class Laplace(OneNumber):
    """`LaplaceMechanism` as ``diffprivlib.mechanisms.Laplace``.

    Parameters
    ----------
    epsilon : float, str, Decimal or Fraction
        Finite and > 0, read as it prints.
    delta : float, str, Decimal or Fraction, optional
        In [0, 1). It buys a pure loss of epsilon - ln(1 - delta), as in diffprivlib; ``mechanism.epsilon`` tells that.
    sensitivity : float, str, Decimal, Fraction or Sensitivity
        Finite and > 0, at its exact value: how far one record can move the value. Where one record moves several values
        that are randomised one by one, a `lapnoise.sensitivity.Sensitivity` says how many.
    random_state : None, int or lapnoise.Generator, optional
        None draws under a fresh key from the operating system at every call. An int gives a repeatable generator, which
        protects nobody and warns. NumPy's generators are refused.

    Notes
    -----
    P(S) <= exp(epsilon) P'(S) / (1 - delta) gives P(S) <= exp(epsilon) P'(S) + delta.

    References
    ----------
    N. Holohan, D. Leith, O. Mason, "Differential privacy in metric spaces", Information Sciences 305 (2015), for delta.

    Examples
    --------
    >>> from lapnoise.embed.diffprivlib import Laplace
    >>> Laplace(epsilon=0.5, sensitivity=1).variance(0)
    8.0
    """

    mechanism: LaplaceMechanism

    def __init__(self, *, epsilon: Any, delta: Any = 0.0, sensitivity: Any, random_state: Any = None) -> None:
        pure = _check.epsilon(epsilon) + log_slack(_check.delta(delta))
        super().__init__(LaplaceMechanism(epsilon=pure, sensitivity=sensitivity), random_state)


class LaplaceTruncated(Laplace):
    """`Laplace`, its results cut off at ``lower`` and ``upper`` afterwards: post-processing, which costs no privacy.

    Parameters
    ----------
    epsilon, delta, sensitivity, random_state
        As in `Laplace`.
    lower, upper : float
        Public, lower <= upper; infinities leave a side open. The value itself is not cut off before it gets its noise.

    Notes
    -----
    ``bias`` and ``variance`` are those of continuous Laplace noise of the mechanism's scale b, cut off; the lattice, of
    granularity at most 2^-24 b, moves a result by half a step.
    """

    def __init__(
        self, *, epsilon: Any, delta: Any = 0.0, sensitivity: Any, lower: Any, upper: Any, random_state: Any = None
    ) -> None:
        self._clamp = _check.clamp((lower, upper), FLOAT64)
        super().__init__(epsilon=epsilon, delta=delta, sensitivity=sensitivity, random_state=random_state)

    def randomise(self, value: Any) -> float:
        """Return the value with noise, within the bounds."""
        _check.one_number(value)
        return float(self.mechanism.add_noise(value, rng=self._rng, clamp=self._clamp))

    def bias(self, value: Any) -> float:
        """Return the mean of the results for this value less the value."""
        above, below = self._room(value)
        return _excess(below, self.mechanism.scale) - _excess(above, self.mechanism.scale)

    def variance(self, value: Any) -> float:
        """Return the variance of the results for this value."""
        above, below = self._room(value)
        b = self.mechanism.scale
        return _square_below(above, b) + _square_below(below, b) - 2.0 * b * b - self.bias(value) ** 2

    def _room(self, value: Any) -> tuple[float, float]:
        _check.one_number(value)
        low, high = self._clamp
        return high - float(value), float(value) - low


class LaplaceBoundedDomain(OneNumber):
    """`BoundedLaplaceMechanism` as ``diffprivlib.mechanisms.LaplaceBoundedDomain``: results conditioned on a domain.

    Parameters
    ----------
    epsilon, delta, sensitivity, random_state
        As in `Laplace`.
    lower, upper : float
        Ends of the domain, public and finite, lower < upper. A value outside counts as the nearer end.
    """

    mechanism: BoundedLaplaceMechanism

    def __init__(
        self, *, epsilon: Any, delta: Any = 0.0, sensitivity: Any, lower: Any, upper: Any, random_state: Any = None
    ) -> None:
        mechanism = BoundedLaplaceMechanism(
            epsilon=epsilon, delta=delta, sensitivity=sensitivity, low=lower, high=upper
        )
        super().__init__(mechanism, random_state)

    def bias(self, value: Any) -> float:
        """Return the mean of the results for this value less the value."""
        return self.mechanism.bias(value)

    def variance(self, value: Any) -> float:
        """Return the variance of the results for this value."""
        _check.one_number(value)
        m = self.mechanism
        first, last = m._first, m._last
        centre = min(max(lattices.round_half_up(_check.location(value), m.lattice.exponent), first), last)
        mean, square = conditional_law.mean_and_square(m.lattice.t, centre - first, last - centre)
        return float((square - mean * mean) * m.lattice.granularity**2)


class LaplaceBoundedNoise(OneNumber):
    """`TruncatedLaplaceMechanism` as ``diffprivlib.mechanisms.LaplaceBoundedNoise``: noise that never passes a bound.

    Parameters
    ----------
    epsilon, sensitivity, random_state
        As in `Laplace`.
    delta : float, str, Decimal or Fraction
        Between 0 and 1.
    """

    mechanism: TruncatedLaplaceMechanism

    def __init__(self, *, epsilon: Any, delta: Any, sensitivity: Any, random_state: Any = None) -> None:
        super().__init__(TruncatedLaplaceMechanism(epsilon=epsilon, delta=delta, sensitivity=sensitivity), random_state)


class _OneInteger(OneNumber):
    """A mechanism that is asked for one integer at a time."""

    _clamp: tuple[int, int] | None = None

    def randomise(self, value: Any) -> int:
        """Return the integer with noise."""
        _check.one_integer(value)
        return int(self.mechanism.add_noise(int(value), rng=self._rng, clamp=self._clamp))


class Geometric(_OneInteger):
    """`DiscreteLaplaceMechanism` as ``diffprivlib.mechanisms.Geometric``.

    Parameters
    ----------
    epsilon, random_state
        As in `Laplace`.
    sensitivity : float, str, Decimal, Fraction or Sensitivity, optional
        Finite and > 0.
    """

    mechanism: DiscreteLaplaceMechanism

    def __init__(self, *, epsilon: Any, sensitivity: Any = 1, random_state: Any = None) -> None:
        super().__init__(DiscreteLaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity), random_state)


class GeometricTruncated(Geometric):
    """`Geometric`, its results cut off at ``lower`` and ``upper`` afterwards.

    Parameters
    ----------
    epsilon, sensitivity, random_state
        As in `Geometric`.
    lower, upper : int
        Public, lower <= upper; float infinities leave a side open.
    """

    def __init__(self, *, epsilon: Any, sensitivity: Any = 1, lower: Any, upper: Any, random_state: Any = None) -> None:
        self._clamp = _check.integer_clamp((lower, upper))
        super().__init__(epsilon=epsilon, sensitivity=sensitivity, random_state=random_state)

    def bias(self, value: Any) -> float:
        """Raise NotImplementedError, as in diffprivlib."""
        _check.no_moments(self)

    def variance(self, value: Any) -> float:
        """Raise NotImplementedError, as in diffprivlib."""
        _check.no_moments(self)


class Gaussian(OneNumber):
    """`GaussianMechanism` as ``diffprivlib.mechanisms.Gaussian``.

    Parameters
    ----------
    epsilon, sensitivity, random_state
        As in `Laplace`; the sensitivity counts in L2 norm.
    delta : float, str, Decimal or Fraction
        Between 0 and 1.
    """

    mechanism: GaussianMechanism

    def __init__(self, *, epsilon: Any, delta: Any, sensitivity: Any, random_state: Any = None) -> None:
        super().__init__(GaussianMechanism(epsilon=epsilon, delta=delta, sensitivity=sensitivity), random_state)


class GaussianAnalytic(Gaussian):
    """`Gaussian` under the name of ``diffprivlib.mechanisms.GaussianAnalytic``: it is calibrated as closely itself."""


class GaussianDiscrete(_OneInteger):
    """`GaussianMechanism` on integers as ``diffprivlib.mechanisms.GaussianDiscrete``.

    Parameters
    ----------
    epsilon, delta, random_state
        As in `Gaussian`.
    sensitivity : float, str, Decimal, Fraction or Sensitivity, optional
        Finite and > 0.
    """

    mechanism: GaussianMechanism

    def __init__(self, *, epsilon: Any, delta: Any, sensitivity: Any = 1, random_state: Any = None) -> None:
        mechanism = GaussianMechanism(epsilon=epsilon, delta=delta, sensitivity=sensitivity, integers=True)
        super().__init__(mechanism, random_state)


def generator_for(random_state: Any) -> Generator | None:
    """Return the generator that a ``random_state`` names; None for noise under the operating system's keys."""
    if random_state is None or isinstance(random_state, Generator):
        return random_state
    return default_rng(_check.random_state(random_state), rounds=20)


def _excess(room: float, b: float) -> float:
    """Return E max(X - room, 0) of Laplace noise X: the integral of its upper tail."""
    return b / 2.0 * math.exp(-room / b) if room >= 0.0 else b / 2.0 * math.exp(room / b) - room


def _square_below(room: float, b: float) -> float:
    """Return b^2 + the integral of 2 x P(X > x) for x from 0 to ``room``: twice b^2 where there is no end to it.

    X cut off at -below and above has the mean square _square_below(above) + _square_below(below) - 2 b^2.
    """
    if room == math.inf:
        return 2.0 * b * b
    if room >= 0.0:
        return 2.0 * b * b - math.exp(-room / b) * (b * room + b * b)
    return room * room + math.exp(room / b) * (b * b - b * room)
