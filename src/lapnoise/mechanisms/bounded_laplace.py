"""The bounded Laplace mechanism: results that always lie in a domain, with noise that makes up for it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from lapnoise import _check, _release, conditional_law
from lapnoise import lattice as lattices
from lapnoise._check import FLOAT64
from lapnoise.exact_conditional import bounded_loss, bounded_scale, log_slack
from lapnoise.generator import Generator
from lapnoise.mechanisms._additive import as_float
from lapnoise.mechanisms._on_floats import FloatMechanism
from lapnoise.mechanisms._planning import least_epsilon

__all__ = ["BoundedLaplaceMechanism"]

RESOLUTION = 20
"""log2 of the steps that a domain has at least, where no granularity is given."""


class BoundedLaplaceMechanism(FloatMechanism):
    """Release values in [low, high]: Laplace noise conditioned on the result's lying there, exactly, on a lattice.

    Each value is rounded half up to a multiple of the granularity and clamped to the domain; the result is a lattice
    point k of the domain with chance proportional to exp(-abs(k - value) / scale). This is neither clipping, which
    leaves atoms at both ends (``clamp`` of `LaplaceMechanism.add_noise`), nor bounded noise
    (`TruncatedLaplaceMechanism`).

    Parameters
    ----------
    epsilon : float, str, Decimal or Fraction
        Privacy budget, finite and > 0. A float counts as it prints: 0.1 is one tenth.
    sensitivity : float, str, Decimal, Fraction or Sensitivity
        L1 sensitivity of the whole released vector, finite and > 0; a float counts at its exact value.
    low, high : float, str, Decimal or Fraction
        Ends of the domain, public, at their exact values; low < high.
    delta : float, str, Decimal or Fraction, optional
        In [0, 1), read as it prints. A delta allows a pure loss of epsilon - ln(1 - delta).
    changed : int, optional
        How many coordinates one record can change at most. None means 1 for a single value and the length for an array.
    granularity : float or Fraction, optional
        A power of two to use instead of the one that is chosen, which divides the domain into 2^20 steps at least.

    Attributes
    ----------
    epsilon_asked, epsilon : Fraction
        What a ledger charges, and what is attained: at most that.
    delta, low, high : Fraction
        As given.
    scale : float
        That of the noise before it is conditioned, for ``changed`` or 1; `for_length` binds another length.
    std, variance, mse : float
        The largest over all values: how a result spreads about its own mean, and about the value. `bias` tells the
        difference for one value.

    Notes
    -----
    Pure differential privacy for the distribution that is sampled where delta is 0. What is drawn again until it lies
    inside has a normalising constant that depends on the value, so the scale of a Laplace mechanism would not do: the
    loss of one coordinate that moves by d steps is g(d) = d / t + ln(C(d) / C(0)), C(d) being the constant for a value
    d steps from an end. g is concave, so a change that is split among several coordinates costs more, at most when
    split evenly, and t solves that equation; with many coordinates it tends to twice the scale of a Laplace mechanism.
    Where ``sensitivity`` is no less than high - low, and one coordinate changes, it is (high - low) / epsilon.

    P(S) <= exp(epsilon') P'(S) with epsilon' = epsilon - ln(1 - delta) means (1 - delta) P(S) <= exp(epsilon) P'(S),
    hence P(S) <= exp(epsilon) P'(S) + delta.

    References
    ----------
    N. Holohan, S. Antonatos, S. Braghin, P. Mac Aonghusa, "The bounded Laplace mechanism in differential privacy", 2018
    (arXiv 1808.10410), theorem 3.5, for one coordinate.

    Examples
    --------
    >>> import lapnoise
    >>> m = lapnoise.BoundedLaplaceMechanism(epsilon=1, sensitivity=1, low=0, high=10)
    >>> round(m.scale, 5)
    1.61156
    """

    __slots__ = ("_first", "_last", "_loss", "_slack", "delta", "high", "low")

    _first: int
    _last: int
    _loss: Fraction
    _slack: Fraction
    delta: Fraction
    low: Fraction
    high: Fraction

    def __init__(
        self,
        *,
        epsilon: Any,
        sensitivity: Any,
        low: Any,
        high: Any,
        delta: Any = 0.0,
        changed: int | None = None,
        granularity: Any = None,
    ) -> None:
        asked = _check.epsilon(epsilon)
        delta1 = _check.sensitivity(sensitivity)
        least, most = _check.bounds(low, high)
        allowed = _check.delta(delta)
        bound = _check.changed(changed, sensitivity)
        exponent = None if granularity is None else _check.granularity(granularity)
        coordinates = bound or 1
        slack = log_slack(allowed)
        moved = min(delta1, coordinates * (most - least))
        chosen = _exponent_for(asked + slack, moved, coordinates, most - least) if exponent is None else exponent
        first, last = _check.lattice_points(least, most, chosen)
        steps = math.ceil(moved / Fraction(2) ** chosen) + coordinates - 1
        steps = min(steps, coordinates * (last - first))
        t, loss = bounded_scale(asked + slack, last - first, steps, coordinates)
        self._set(epsilon_asked=asked, sensitivity=delta1, low=least, high=most, delta=allowed, changed=bound)
        self._set(_exponent=exponent, _first=first, _last=last, _loss=loss, _slack=slack)
        self._set(lattice=lattices.Lattice(chosen, steps, t))

    def _parameters(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon_asked,
            "sensitivity": self.sensitivity,
            "low": self.low,
            "high": self.high,
            "delta": self.delta,
            "changed": self.changed,
            "granularity": self._granularity_asked,
        }

    @property
    def epsilon(self) -> Fraction:
        """Epsilon attained, exact but for the rounding up of a last bit; never above ``epsilon_asked``."""
        return self._beside_delta(self._loss)

    @property
    def std(self) -> float:
        """Largest standard deviation that a result has about its own mean: of a value at an end, or in the middle."""
        spreads = (square - mean * mean for mean, square in self._worst_moments())
        return as_float(conditional_law.root(max(spreads)) * self.lattice.granularity)

    @property
    def mse(self) -> float:
        """Largest mean squared distance of a result from its value on the lattice, at an end or in the middle."""
        return as_float(max(square for _, square in self._worst_moments()) * self.lattice.granularity**2)

    def bias(self, value: Any) -> float:
        """Return the mean of the results for one value less that value, both on the lattice and in the domain.

        Parameters
        ----------
        value : float, str, Decimal or Fraction
            Finite, at its exact value.
        """
        step = lattices.round_half_up(_check.location(value), self.lattice.exponent)
        centre = min(max(step, self._first), self._last)
        mean, _ = conditional_law.mean_and_square(self.lattice.t, centre - self._first, self._last - centre)
        return as_float(mean * self.lattice.granularity)

    def interval(self, level: Any) -> float:
        """Return the half-width h, the least multiple of the granularity with P(abs(result - value) <= h) >= level.

        That holds for each value of the domain, taken to the lattice; at an end or in the middle no smaller h does.

        Parameters
        ----------
        level : float, str, Decimal or Fraction
            Between 0 and 1, read as it prints.
        """
        return super().interval(level)

    def _quantile_in_steps(self, tail: Fraction) -> int:
        return max(conditional_law.quantile(self.lattice.t, *sides, 1 - tail) for sides in self._worst_sides())

    def _worst_moments(self) -> list[tuple[Fraction, Fraction]]:
        return [conditional_law.mean_and_square(self.lattice.t, *sides) for sides in self._worst_sides()]

    def _worst_sides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        width = self._last - self._first
        return (0, width), (width // 2, width - width // 2)

    @classmethod
    def epsilon_for(
        cls,
        *,
        sensitivity: Any,
        low: Any,
        high: Any,
        delta: Any = 0.0,
        std: Any = None,
        half_width: Any = None,
        confidence: Any = None,
        changed: int | None = None,
    ) -> Fraction:
        """Return the least epsilon, to 12 digits, with which results are as accurate as is wanted for every value.

        Parameters
        ----------
        sensitivity, low, high, delta, changed
            As for the mechanism.
        std, half_width, confidence
            As in `LaplaceMechanism.epsilon_for`. What every epsilon reaches, since the domain is small, is refused.
        """
        goal = _check.accuracy(std, half_width, confidence)

        def make(epsilon: Fraction) -> BoundedLaplaceMechanism:
            return cls(epsilon=epsilon, sensitivity=sensitivity, low=low, high=high, delta=delta, changed=changed)

        return least_epsilon(make, goal)

    def privacy_loss(self, distance: Any) -> tuple[Fraction, Fraction]:
        """Return (epsilon, delta) for two vectors whose L1 distance is at most ``distance``; delta is that asked for.

        Parameters
        ----------
        distance : float, str, Decimal or Fraction
            At least 0, at its exact value.
        """
        steps = self._steps_apart(distance)
        if steps == 0:
            return Fraction(0), Fraction(0)
        loss = bounded_loss(self.lattice.t, self._last - self._first, steps, self.changed or 1)
        return self._beside_delta(loss), self.delta

    def _beside_delta(self, loss: Fraction) -> Fraction:
        return max(loss - self._slack, Fraction(0))

    def verify_floats(self) -> None:
        """Raise ValueError where the domain holds no float64, so that `add_noise` would refuse."""
        _check.floats_inside(self.low, self.high, FLOAT64)

    def _add(self, generator: Generator, values: NDArray[Any], target: NDArray[Any]) -> None:
        from lapnoise import _conditional_noise as noise

        on, exponent = noise.Interval(self.lattice.t, self._first, self._last), self.lattice.exponent
        ends = _check.floats_inside(self.low, self.high, target.dtype)
        _release.run_on_values(
            generator,
            values,
            target,
            lambda kind: noise.bounded_floats(on, exponent, kind, ends),
            lambda unsigned: noise.bounded_integers(on, exponent, unsigned, ends),
        )

    def _released(self, generator: Generator, value: Fraction) -> float:
        """Return what is released for a number that is known exactly, at the generator's place, which does not move."""
        from lapnoise import _conditional_noise as noise

        on, exponent = noise.Interval(self.lattice.t, self._first, self._last), self.lattice.exponent
        centre = min(max(lattices.round_half_up(value, exponent), self._first), self._last)
        point = noise.drawn(on, centre, generator._stream.source, generator.position)
        first, last = _check.floats_inside(self.low, self.high, FLOAT64)
        return min(max(lattices.release(point * Fraction(2) ** exponent, 0, exponent), first), last)


def _exponent_for(epsilon: Fraction, sensitivity: Fraction, coordinates: int, width: Fraction) -> int:
    """Return the exponent of the granularity: that of a Laplace mechanism, or less, so that the domain has room."""
    usual = lattices.choose(epsilon, sensitivity, coordinates).exponent
    floor = width.numerator.bit_length() - width.denominator.bit_length() - 1
    return max(min(usual, floor - RESOLUTION), lattices.LEAST_EXPONENT)
