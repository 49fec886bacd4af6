"""The Laplace mechanism on a lattice: floats in, floats out, and noise that is exact."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check, _release
from lapnoise import lattice as lattices
from lapnoise.generator import Generator
from lapnoise.mechanisms._additive import generator_for
from lapnoise.mechanisms._on_floats import FloatMechanism
from lapnoise.mechanisms._planning import least_epsilon
from lapnoise.signed_log import SignedLog

__all__ = ["LaplaceMechanism"]


class LaplaceMechanism(FloatMechanism):
    """Add Laplace noise of scale sensitivity / epsilon, exactly, on a lattice that no value can be told from.

    Each value is rounded half up to a multiple of a power of two, the granularity, that depends on the parameters
    alone; the noise is the granularity times an exact discrete Laplace variate; the sum is rounded once.

    Parameters
    ----------
    epsilon : float, str, Decimal or Fraction
        Privacy budget, finite and > 0. A float counts as it prints: 0.1 is one tenth.
    sensitivity : float, str, Decimal, Fraction or Sensitivity
        L1 sensitivity of the whole released vector, finite and > 0; a float counts at its exact value.
    changed : int, optional
        How many coordinates one record can change at most. None means what a `lapnoise.sensitivity.Sensitivity` says,
        or else 1 for a single value and the length for an array.
    granularity : float or Fraction, optional
        A power of two to use instead of the one that is chosen: with it log2(scale / granularity) is 24 to 40, or up
        to 50 where the rounding would otherwise cost more than a thousandth of epsilon.

    Attributes
    ----------
    epsilon_asked, epsilon : Fraction
        What a ledger charges, and what is attained: at most that.
    scale, std, variance, mse : float
        Of the noise on its lattice, for ``changed`` or 1; `for_length` binds another length.

    Notes
    -----
    Pure differential privacy for the distribution that is sampled: epsilon = Δ_lat / t with Δ_lat = ceil(Δ / r) + s -
    1 and t the scale in steps of the granularity r, s the changed coordinates (`lapnoise.lattice`). With a generator
    keyed by the operating system it rests on ChaCha20.

    References
    ----------
    C. Dwork, F. McSherry, K. Nissim, A. Smith, "Calibrating noise to sensitivity in private data analysis", TCC 2006,
    section 3. I. Mironov, "On significance of the least significant bits for differential privacy", CCS 2012, for what
    a lattice is needed.

    Examples
    --------
    >>> import lapnoise
    >>> m = lapnoise.LaplaceMechanism(epsilon="0.5", sensitivity=1)
    >>> m.scale
    2.0
    """

    __slots__ = ()

    def __init__(self, *, epsilon: Any, sensitivity: Any, changed: int | None = None, granularity: Any = None) -> None:
        asked = _check.epsilon(epsilon)
        delta1 = _check.sensitivity(sensitivity)
        bound = _check.changed(changed, sensitivity)
        exponent = None if granularity is None else _check.granularity(granularity)
        chosen = lattices.choose(asked, delta1, bound or 1, exponent)
        self._set(epsilon_asked=asked, sensitivity=delta1, changed=bound, _exponent=exponent, lattice=chosen)

    def _parameters(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon_asked,
            "sensitivity": self.sensitivity,
            "changed": self.changed,
            "granularity": self._granularity_asked,
        }

    @classmethod
    def epsilon_for(
        cls,
        *,
        sensitivity: Any,
        std: Any = None,
        half_width: Any = None,
        confidence: Any = None,
        changed: int | None = None,
    ) -> Fraction:
        """Return the least epsilon, to 12 digits, with which the noise is as small as is wanted.

        Parameters
        ----------
        sensitivity, changed
            As for the mechanism.
        std : float, str, Decimal or Fraction
            Standard deviation wanted, or instead of it
        half_width, confidence : float, str, Decimal or Fraction
            abs(noise) <= half_width is wanted with probability ``confidence`` at least.

        Examples
        --------
        >>> import lapnoise
        >>> float(lapnoise.LaplaceMechanism.epsilon_for(sensitivity=1, half_width=10, confidence=0.95))
        0.29957322557
        """
        goal = _check.accuracy(std, half_width, confidence)
        return least_epsilon(lambda epsilon: cls(epsilon=epsilon, sensitivity=sensitivity, changed=changed), goal)

    def privacy_loss(self, distance: Any) -> tuple[Fraction, Fraction]:
        """Return (epsilon, delta) for two vectors whose L1 distance is at most ``distance``, exactly; delta is 0.

        Parameters
        ----------
        distance : float, str, Decimal or Fraction
            At least 0, at its exact value.
        """
        steps = self._steps_apart(distance)
        if steps == 0:
            return Fraction(0), Fraction(0)
        return steps / Fraction(self.lattice.t), Fraction(0)

    def _add(self, generator: Generator, values: NDArray[Any], target: NDArray[Any]) -> None:
        _release.add_lattice_noise(generator, values, target, self.lattice)

    def _add_steps(self, generator: Generator, steps: NDArray[np.int64], target: NDArray[np.int64]) -> None:
        _release.add_integer_noise(generator, steps, target, self.lattice.t)

    def add_log_noise(self, values: Any, *, rng: Any = None) -> SignedLog:
        """Return the values with noise as sign and logarithm, for scales and granularities beyond the floats too.

        The result is a function of the whole number of lattice steps alone. It takes some 200 us a value, and more for
        an epsilon below 1e-50.

        Parameters
        ----------
        values : float or array_like
            Finite numbers.
        rng : Generator, optional
            As in `add_noise`.

        Returns
        -------
        SignedLog
            sign and ln abs(n r), n = floor(value / r + 1/2) + noise; sign 0 and -inf where n is 0.
        """
        _check.no_mask("values", values)
        array = _check.values(values)
        _check.finite_values(array)
        bound = self._bound(array).lattice
        generator = generator_for(rng, None)
        steps = _release.steps(generator, array.size, bound.t)
        log_r = bound.exponent * math.log(2.0)
        sign = np.zeros(array.shape, np.int8)
        log_abs = np.full(array.shape, -math.inf)
        for i, (value, noise) in enumerate(zip(array.reshape(-1).tolist(), steps, strict=True)):
            n = lattices.round_half_up(Fraction(value), bound.exponent) + noise
            if n:
                sign.reshape(-1)[i] = 1 if n > 0 else -1
                log_abs.reshape(-1)[i] = math.log(abs(n)) + log_r
        return SignedLog(sign.item(), log_abs.item()) if np.ndim(values) == 0 else SignedLog(sign, log_abs)
