"""Mechanisms by the names and calls of diffprivlib, with exact noise."""

from __future__ import annotations

from typing import Any

from lapnoise import _check, conditional_law
from lapnoise import lattice as lattices
from lapnoise.embed._clipped_moments import clipped_bias, clipped_variance
from lapnoise.embed._one_number import OneInteger, OneNumber, WithEnds
from lapnoise.exact_conditional import log_slack
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)
from lapnoise.mechanisms._additive import as_float

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
]


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
        asked, allowed = _check.epsilon(epsilon), _check.delta(delta)
        pure = asked + log_slack(allowed)
        super().__init__(LaplaceMechanism(epsilon=pure, sensitivity=sensitivity), random_state)
        self._epsilon, self._delta = asked, allowed


class LaplaceTruncated(WithEnds, Laplace):
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
        self._ends = _check.real_ends(lower, upper)
        super().__init__(epsilon=epsilon, delta=delta, sensitivity=sensitivity, random_state=random_state)

    def randomise(self, value: Any) -> float:
        """Return the value with noise, within the bounds."""
        _check.one_number(value)
        return float(self.mechanism.add_noise(value, rng=self._rng, clamp=self._ends))

    def bias(self, value: Any) -> float:
        """Return the mean of the results for this value less the value."""
        _check.one_number(value)
        return clipped_bias(float(value), *self._ends, self.mechanism.scale)

    def variance(self, value: Any) -> float:
        """Return the variance of the results for this value."""
        _check.one_number(value)
        return clipped_variance(float(value), *self._ends, self.mechanism.scale)


class LaplaceBoundedDomain(WithEnds, OneNumber):
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
        low, high = _check.domain_ends(lower, upper)
        mechanism = BoundedLaplaceMechanism(epsilon=epsilon, delta=delta, sensitivity=sensitivity, low=low, high=high)
        super().__init__(mechanism, random_state)
        self._ends = as_float(low), as_float(high)

    def effective_epsilon(self) -> float | None:
        """Return the sensitivity over the scale, the epsilon of Laplace noise as wide; None where delta is not 0."""
        return None if self._delta else self.sensitivity / self.mechanism.scale

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


class Geometric(OneInteger):
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


class GeometricTruncated(WithEnds, Geometric):
    """`Geometric`, its results cut off at ``lower`` and ``upper`` afterwards.

    Parameters
    ----------
    epsilon, sensitivity, random_state
        As in `Geometric`.
    lower, upper : int
        Public, lower <= upper; float infinities leave a side open.
    """

    def __init__(self, *, epsilon: Any, sensitivity: Any = 1, lower: Any, upper: Any, random_state: Any = None) -> None:
        self._clamp = _check.whole_ends(lower, upper)
        self._ends = lower, upper
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


class GaussianDiscrete(OneInteger):
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
