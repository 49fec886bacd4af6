"""The truncated Laplace mechanism: noise that never passes a bound, at the price of a delta."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from lapnoise import _check, _release, conditional_law
from lapnoise import lattice as lattices
from lapnoise._numbers import fraction_up
from lapnoise.exact_conditional import tail_bound, truncation
from lapnoise.generator import Generator
from lapnoise.mechanisms._additive import as_float
from lapnoise.mechanisms._on_floats import FloatMechanism
from lapnoise.mechanisms._planning import least_epsilon

__all__ = ["TruncatedLaplaceMechanism"]


class TruncatedLaplaceMechanism(FloatMechanism):
    """Add Laplace noise conditioned on abs(noise) <= bound, exactly, on a lattice that depends on parameters alone.

    The *noise* is bounded: results lie within ``bound`` of their value as it is rounded to the lattice.
    `BoundedLaplaceMechanism` bounds the results instead, and ``clamp`` of `LaplaceMechanism.add_noise` cuts them off
    afterwards.

    Parameters
    ----------
    epsilon : float, str, Decimal or Fraction
        Privacy budget, finite and > 0. A float counts as it prints: 0.1 is one tenth.
    delta : float, str, Decimal or Fraction
        Between 0 and 1, neither included; read as it prints. Bounded noise has no guarantee without one.
    sensitivity : float, str, Decimal, Fraction or Sensitivity
        L1 sensitivity of the whole released vector, finite and > 0; a float counts at its exact value.
    changed : int, optional
        How many coordinates one record can change at most. None means 1 for a single value and the length for an array.
    granularity : float or Fraction, optional
        A power of two to use instead of the one that is chosen, as in `LaplaceMechanism`.

    Attributes
    ----------
    epsilon_asked, epsilon : Fraction
        What a ledger charges, and what is attained: at most that.
    delta, delta_attained : Fraction
        The same for delta; the latter is exact but for the rounding up of a last bit.
    bound : float
        The largest absolute value of the noise; a multiple of the granularity.
    scale, std, variance, mse : float
        Of the noise on its lattice, for ``changed`` or 1; `for_length` binds another length. ``scale`` is that of the
        Laplace law before it is cut.

    Notes
    -----
    (epsilon, delta)-differential privacy for the distribution that is sampled: P(k) is proportional to exp(-abs(k) / t)
    on abs(k) <= A. Inside both supports the ratio of two shifted laws is at most exp(Δ_lat / t); what one of them puts
    outside the other's support is delta, and of all shifts by Δ_lat in L1 norm that of a single coordinate puts most
    there. A is the least with which that mass is at most delta.

    Away from lattices, with b = Δ / epsilon, the bound is b ln(1 + (exp(epsilon) - 1) / (2 delta)).

    References
    ----------
    Q. Geng, W. Ding, R. Guo, S. Kumar, "Truncated Laplacian mechanism for approximate differential privacy", 2018
    (arXiv 1810.00877), definition 3 and theorem 1.

    Examples
    --------
    >>> import lapnoise
    >>> m = lapnoise.TruncatedLaplaceMechanism(epsilon=1, delta=1e-5, sensitivity=1)
    >>> round(m.bound, 4)
    11.3611
    """

    __slots__ = ("_most", "delta", "delta_attained")

    _most: int
    delta: Fraction
    delta_attained: Fraction

    def __init__(
        self, *, epsilon: Any, delta: Any, sensitivity: Any, changed: int | None = None, granularity: Any = None
    ) -> None:
        asked = _check.epsilon(epsilon)
        mass = _check.positive_delta(
            delta, "LaplaceMechanism needs none, and BoundedLaplaceMechanism keeps results in a domain without"
        )
        delta1 = _check.sensitivity(sensitivity)
        bound = _check.changed(changed, sensitivity)
        exponent = None if granularity is None else _check.granularity(granularity)
        chosen = lattices.choose(asked, delta1, bound or 1, exponent)
        most, attained = truncation(chosen.t, chosen.sensitivity, mass)
        self._set(epsilon_asked=asked, sensitivity=delta1, changed=bound, _exponent=exponent, lattice=chosen)
        self._set(delta=mass, delta_attained=attained, _most=most)

    def _parameters(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon_asked,
            "delta": self.delta,
            "sensitivity": self.sensitivity,
            "changed": self.changed,
            "granularity": self._granularity_asked,
        }

    @property
    def bound(self) -> float:
        """The largest absolute value of the noise, A r; inf beyond the floats."""
        return fraction_up(self._most * self.lattice.granularity)

    @property
    def std(self) -> float:
        """Standard deviation of the noise on its lattice, that of the truncated law."""
        _, square = conditional_law.mean_and_square(self.lattice.t, self._most, self._most)
        return as_float(conditional_law.root(square) * self.lattice.granularity)

    def _quantile_in_steps(self, tail: Fraction) -> int:
        return conditional_law.quantile(self.lattice.t, self._most, self._most, 1 - tail)

    @classmethod
    def epsilon_for(
        cls,
        *,
        delta: Any,
        sensitivity: Any,
        std: Any = None,
        half_width: Any = None,
        confidence: Any = None,
        changed: int | None = None,
    ) -> Fraction:
        """Return the least epsilon, to 12 digits, with which the noise is as small as is wanted.

        Parameters
        ----------
        delta, sensitivity, changed
            As for the mechanism.
        std, half_width, confidence
            As in `LaplaceMechanism.epsilon_for`.
        """
        goal = _check.accuracy(std, half_width, confidence)
        return least_epsilon(
            lambda epsilon: cls(epsilon=epsilon, delta=delta, sensitivity=sensitivity, changed=changed), goal
        )

    def privacy_loss(self, distance: Any) -> tuple[Fraction, Fraction]:
        """Return (epsilon, delta) for two vectors whose L1 distance is at most ``distance``.

        Parameters
        ----------
        distance : float, str, Decimal or Fraction
            At least 0, at its exact value.
        """
        steps = self._steps_apart(distance)
        if steps == 0:
            return Fraction(0), Fraction(0)
        mass = tail_bound(self.lattice.t, self._most, steps)
        if steps <= self.lattice.sensitivity:
            mass = min(mass, self.delta_attained)
        return steps / Fraction(self.lattice.t), mass

    def _add(self, generator: Generator, values: NDArray[Any], target: NDArray[Any]) -> None:
        from lapnoise import _conditional_noise as noise

        on, exponent = noise.Interval(self.lattice.t, -self._most, self._most), self.lattice.exponent
        _release.run_on_values(
            generator,
            values,
            target,
            lambda kind: noise.truncated_floats(on, exponent, kind),
            lambda unsigned: noise.truncated_integers(on, exponent, unsigned),
        )
