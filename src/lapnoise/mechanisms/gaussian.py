"""The Gaussian mechanism on a lattice: discrete Gaussian noise that is exact, and calibrated as what it is."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check, _release
from lapnoise._check import INT64
from lapnoise._numbers import SquareRoot
from lapnoise.exact_gaussian import least_magnitude, variance_of
from lapnoise.exact_normal import root_up
from lapnoise.generator import Generator
from lapnoise.lattice import Lattice
from lapnoise.mechanisms._gaussian_calibration import (
    LARGEST_SIGMA,
    Reach,
    choose_exponent,
    delta_bound,
    least_sigma,
    reach,
)
from lapnoise.mechanisms._on_floats import FloatMechanism
from lapnoise.mechanisms._planning import least_epsilon

__all__ = ["GaussianMechanism"]


class GaussianMechanism(FloatMechanism):
    """Add discrete Gaussian noise, exactly, on a lattice that no value can be told from.

    Each value is rounded half up to a multiple of a power of two, the granularity, that depends on the parameters
    alone; the noise is the granularity times an exact discrete Gaussian variate, P(k) proportional to
    exp(-k^2 / (2 sigma^2)); the sum is rounded once.

    Parameters
    ----------
    epsilon, delta : float, str, Decimal or Fraction
        Privacy budget: epsilon finite and > 0, delta between 0 and 1. A float counts as it prints.
    sensitivity : float, str, Decimal, Fraction or Sensitivity
        L2 sensitivity of the whole released vector, finite and > 0; a float counts at its exact value. Of an object
        with an attribute ``l2_squared`` the square root of that, exactly.
    changed : int, optional
        How many coordinates one record can change at most. None means 1 for a single value and the length for an array.
    granularity : float or Fraction, optional
        A power of two to use instead of the one that is chosen: with it log2(scale / granularity) is 24 to 43, the
        least at which rounding costs at most 2^-20 of the scale.
    integers : bool, optional
        True releases integers: integers in, int64 out, granularity 1, nothing rounded. Only sums saturate, at plus or
        minus 2^63 - 1.

    Attributes
    ----------
    epsilon_asked, epsilon : Fraction
        Both what was asked: what the rounding up of the noise gains shows in delta.
    delta, delta_attained : Fraction
        What a ledger charges, and what is proved for that epsilon: at most that.
    sensitivity, l2_squared : Fraction
        Δ2, rounded up by a relative 2^-80 at most where it is not rational, and its square, exactly.
    scale : float
        sigma, for ``changed`` or 1; `for_length` binds another length. ``std`` is that of the discrete law, and less
        where sigma is below two steps.

    Notes
    -----
    (epsilon, delta) differential privacy for the distribution that is sampled, in every direction of change: see
    docs/exact-sampling.md. Sensitivity in steps is below Δ2 / r + sqrt(changed), and Δ2 for integers. With a generator
    keyed by the operating system it rests on ChaCha20.

    References
    ----------
    C. Canonne, G. Kamath, T. Steinke, "The Discrete Gaussian for Differential Privacy", 2020 (arXiv 2004.00010).
    B. Balle, Y. Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018, theorem 8.

    Examples
    --------
    >>> import lapnoise
    >>> m = lapnoise.GaussianMechanism(epsilon=1, delta="1e-5", sensitivity=1)
    >>> round(m.scale, 5)
    3.73063
    """

    __slots__ = ("_reach", "delta", "delta_attained", "integers", "l2_squared")

    delta: Fraction
    delta_attained: Fraction
    integers: bool
    l2_squared: Fraction
    _reach: Reach

    def __init__(
        self,
        *,
        epsilon: Any,
        delta: Any,
        sensitivity: Any,
        changed: int | None = None,
        granularity: Any = None,
        integers: bool = False,
    ) -> None:
        asked = _check.epsilon(epsilon)
        target = _check.gaussian_delta(delta)
        square = _check.l2_sensitivity(sensitivity)
        bound = _check.changed(changed, sensitivity)
        whole = _check.flag("integers", integers)
        if whole:
            _check.no_granularity(granularity)
        given = None if granularity is None else _check.granularity(granularity)
        exponent = choose_exponent(asked, target, square, bound or 1) if given is None and not whole else given or 0
        within = _reach(square, bound, exponent, whole)
        if whole:
            within = within._replace(square=max(within.square, Fraction(1)))  # what changes at all changes by 1
        sigma, attained = least_sigma(asked, target, within)
        if sigma > LARGEST_SIGMA:
            _check.too_many_steps(sigma, LARGEST_SIGMA)
        self._set(
            epsilon_asked=asked,
            delta=target,
            delta_attained=attained,
            sensitivity=root_up(square),
            l2_squared=square,
            changed=bound,
            integers=whole,
            lattice=Lattice(exponent, math.ceil(root_up(within.square)), sigma),
            _exponent=given,
            _reach=within,
        )

    def _parameters(self) -> dict[str, Any]:
        rational = self.sensitivity**2 == self.l2_squared
        return {
            "epsilon": self.epsilon_asked,
            "delta": self.delta,
            "sensitivity": self.sensitivity if rational else SquareRoot(self.l2_squared),
            "changed": self.changed,
            "granularity": self._granularity_asked,
            "integers": self.integers,
        }

    @property
    def epsilon(self) -> Fraction:
        """Epsilon, as asked; what is attained of delta is ``delta_attained``."""
        return self.epsilon_asked

    @property
    def rho(self) -> Fraction:
        """D^2 / (2 sigma^2), at most: the release is rho-zero-concentrated private (Canonne et al., theorem 4)."""
        return self._reach.square / (2 * Fraction(self.lattice.t) ** 2)

    @property
    def scale(self) -> float:
        """Sigma of the noise, in the units of the values."""
        return super().scale

    @property
    def std(self) -> float:
        """Standard deviation of the noise on its lattice: sigma, and less where that is below two steps."""
        return super().std

    @property
    def variance(self) -> float:
        """Variance of the noise on its lattice; sigma^2 from two steps on."""
        return self.std * self.std

    @classmethod
    def epsilon_for(
        cls,
        *,
        sensitivity: Any,
        delta: Any,
        std: Any = None,
        half_width: Any = None,
        confidence: Any = None,
        changed: int | None = None,
        integers: bool = False,
    ) -> Fraction:
        """Return the least epsilon, to 12 digits, with which the noise is as small as is wanted.

        Parameters
        ----------
        sensitivity, delta, changed, integers
            As for the mechanism.
        std, half_width, confidence
            As in `LaplaceMechanism.epsilon_for`.

        Examples
        --------
        >>> import lapnoise
        >>> round(float(lapnoise.GaussianMechanism.epsilon_for(sensitivity=1, delta="1e-5", std=3.73063)), 5)
        1.0
        """
        goal = _check.accuracy(std, half_width, confidence)

        def make(epsilon: Fraction) -> GaussianMechanism:
            return cls(epsilon=epsilon, delta=delta, sensitivity=sensitivity, changed=changed, integers=integers)

        return least_epsilon(make, goal)

    def privacy_loss(self, distance: Any, *, epsilon: Any = None) -> tuple[Fraction, Fraction]:
        """Return (epsilon, delta) for two vectors whose L2 distance is at most ``distance``; delta is an upper bound.

        Parameters
        ----------
        distance : float, str, Decimal, Fraction or Sensitivity
            At least 0, at its exact value.
        epsilon : float, str, Decimal or Fraction, optional
            The epsilon for which delta is wanted; None means that of the mechanism.
        """
        square = _check.l2_distance(distance)
        at = self.epsilon_asked if epsilon is None else _check.epsilon(epsilon)
        if square == 0:
            return Fraction(0), Fraction(0)
        within = _reach(square, self.changed, self.lattice.exponent, self.integers)
        return at, delta_bound(float(self.lattice.t), within, at)

    def _std_in_steps(self) -> float:
        return math.sqrt(variance_of(self.lattice.t))

    def _quantile_in_steps(self, tail: Fraction) -> int:
        return least_magnitude(self.lattice.t, tail)

    def _accepted(self, data: Any) -> tuple[NDArray[Any], np.dtype[Any]]:
        return (_check.integer_values(data), INT64) if self.integers else super()._accepted(data)

    def _limits(self, clamp: Any, kind: np.dtype[Any]) -> tuple[Any, Any]:
        return _check.integer_clamp(clamp) if self.integers else super()._limits(clamp, kind)

    def _add(self, generator: Generator, values: NDArray[Any], target: NDArray[Any]) -> None:
        from lapnoise._gaussian_noise import gaussian_kernel

        draw = gaussian_kernel(self.lattice.t)
        if self.integers:
            _release.add_drawn_integer_noise(generator, values, target, draw)
        else:
            _release.add_drawn_noise(generator, values, target, self.lattice.exponent, draw)

    def _add_steps(self, generator: Generator, steps: NDArray[np.int64], target: NDArray[np.int64]) -> None:
        from lapnoise._gaussian_noise import gaussian_kernel

        _release.add_drawn_integer_noise(generator, steps, target, gaussian_kernel(self.lattice.t))


def _reach(square: Fraction, changed: int | None, exponent: int, integers: bool) -> Reach:
    return Reach(square, changed or 1) if integers else reach(square, changed or 1, exponent)
