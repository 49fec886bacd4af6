"""The discrete Laplace, or geometric, mechanism: integers in, integers out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check, _release
from lapnoise import lattice as lattices
from lapnoise._check import INT64
from lapnoise._containers import unwrap
from lapnoise.generator import Generator
from lapnoise.mechanisms._additive import AdditiveMechanism, generator_for, verify_generator
from lapnoise.mechanisms._planning import least_epsilon

__all__ = ["DiscreteLaplaceMechanism"]


class DiscreteLaplaceMechanism(AdditiveMechanism):
    """Add exact discrete Laplace noise, P(k) proportional to exp(-abs(k) epsilon / sensitivity), to integers.

    Parameters
    ----------
    epsilon : float, str, Decimal or Fraction
        Privacy budget, finite and > 0. A float counts as it prints.
    sensitivity : float, str, Decimal, Fraction or Sensitivity
        L1 sensitivity of the whole released vector, finite and > 0.

    Notes
    -----
    Pure differential privacy, exactly for the distribution that is sampled: neither values nor noise are rounded, so
    the number of coordinates that change does not matter. Only the sum saturates, at plus or minus 2^63 - 1: cutting
    the noise itself would leave an atom that reveals the value.

    References
    ----------
    A. Ghosh, T. Roughgarden, M. Sundararajan, "Universally utility-maximizing privacy mechanisms", SIAM J. Comput. 41
    (2012).

    Examples
    --------
    >>> import lapnoise
    >>> lapnoise.DiscreteLaplaceMechanism(epsilon=1, sensitivity=1).granularity
    1.0
    """

    __slots__ = ()

    def __init__(self, *, epsilon: Any, sensitivity: Any) -> None:
        asked = _check.epsilon(epsilon)
        delta1 = _check.sensitivity(sensitivity)
        chosen = lattices.whole_numbers(asked, delta1)
        self._set(epsilon_asked=asked, sensitivity=delta1, lattice=chosen)

    def _parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon_asked, "sensitivity": self.sensitivity}

    @property
    def epsilon(self) -> Fraction:
        """Epsilon attained, exactly; never above ``epsilon_asked``."""
        return self.sensitivity / Fraction(self.lattice.t)

    @classmethod
    def epsilon_for(
        cls, *, sensitivity: Any, std: Any = None, half_width: Any = None, confidence: Any = None
    ) -> Fraction:
        """Return the least epsilon, to 12 digits, with which the noise is as small as is wanted.

        Parameters
        ----------
        sensitivity
            As for the mechanism.
        std, half_width, confidence
            As in `LaplaceMechanism.epsilon_for`. Noise of 0 in every case but a few is small too: below a standard
            deviation of 1 this is not sqrt(2) sensitivity / std.
        """
        goal = _check.accuracy(std, half_width, confidence)
        return least_epsilon(lambda epsilon: cls(epsilon=epsilon, sensitivity=sensitivity), goal)

    def for_length(self, n: int) -> DiscreteLaplaceMechanism:
        """Return the mechanism for vectors of n coordinates: this one, whatever n."""
        _check.count("n", n, least=1)
        return self

    def privacy_loss(self, distance: Any) -> tuple[Fraction, Fraction]:
        """Return (epsilon, delta) for two vectors whose L1 distance is ``distance``, exactly; delta is 0."""
        return _check.distance(distance) / Fraction(self.lattice.t), Fraction(0)

    def add_noise(
        self,
        values: Any,
        *,
        out: NDArray[Any] | None = None,
        rng: Any = None,
        clamp: tuple[int, int] | None = None,
        threads: int | None = None,
    ) -> Any:
        """Return the integers with noise.

        Parameters
        ----------
        values : int, array_like of ints, masked array or pandas Series
            Integers of any width, and bool.
        out : ndarray of int64, optional
            Array to write to and return; ``out=values`` works in place.
        rng, threads
            As in `LaplaceMechanism.add_noise`.
        clamp : (int, int), optional
            Clip the noisy integers to [low, high].

        Returns
        -------
        int, ndarray of int64, masked array or Series
            The same kind as ``values``.

        Raises
        ------
        TypeError
            If values are not integers.
        ValueError
            If the arguments do not fit; nothing is drawn then.
        """
        data, rewrap = unwrap(values)
        array = _check.integer_values(data)
        target = np.empty(array.shape, INT64) if out is None else _check.output(out, INT64, array.shape)
        bounds = None if clamp is None else _check.integer_clamp(clamp)
        self._add(generator_for(rng, threads), array, target)
        if bounds is not None:
            np.clip(target, *bounds, out=target)
        return out if out is not None else rewrap(target)

    def verify_inputs(
        self, values: Any, *, out: Any = None, rng: Any = None, clamp: Any = None, threads: Any = None
    ) -> None:
        """Refuse what `add_noise` would refuse, as far as that depends on dtypes, shapes and options: not on values."""
        array = _check.integer_values(unwrap(values)[0])
        if out is not None:
            _check.output(out, INT64, array.shape)
        if clamp is not None:
            _check.integer_clamp(clamp)
        verify_generator(rng, threads)

    def _add(self, generator: Generator, values: NDArray[Any], target: NDArray[np.int64]) -> None:
        _release.add_integer_noise(generator, values, target, self.lattice.t)
