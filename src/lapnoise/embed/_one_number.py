"""What mechanisms by diffprivlib's names share: one number a call, and attributes by its names."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any, Self

from lapnoise import _check
from lapnoise.generator import Generator, default_rng
from lapnoise.mechanisms._additive import as_float

__all__ = ["OneInteger", "OneNumber", "WithEnds", "generator_for"]


class OneNumber:
    """A mechanism that is asked for one number at a time.

    ``mechanism`` is the one of this library that does the work: it takes arrays, and a ledger takes it. What was asked
    for stands in ``epsilon``, ``delta``, ``sensitivity`` and ``random_state``, which cannot be changed.
    """

    mechanism: Any

    def __init__(self, mechanism: Any, random_state: Any) -> None:
        self.mechanism = mechanism
        self._epsilon: Fraction = mechanism.epsilon_asked
        self._delta: Fraction = getattr(mechanism, "delta", Fraction(0))
        self._random_state = random_state
        self._rng = generator_for(random_state)

    @property
    def epsilon(self) -> float:
        """Epsilon as asked for."""
        return as_float(self._epsilon)

    @property
    def delta(self) -> float:
        """Delta as asked for, or 0 where there is none."""
        return as_float(self._delta)

    @property
    def sensitivity(self) -> float:
        """How far one record can move the value."""
        return as_float(self.mechanism.sensitivity)

    @property
    def random_state(self) -> Any:
        """What was given."""
        return self._random_state

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
        bias = self.bias(value)
        return self.variance(value) + bias * bias

    def copy(self) -> Self:
        """Return a copy."""
        return copy.copy(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.mechanism!r})"


class WithEnds:
    """What has ends ``lower`` and ``upper``, which cannot be changed."""

    _ends: tuple[Any, Any]

    @property
    def lower(self) -> Any:
        """The lower end."""
        return self._ends[0]

    @property
    def upper(self) -> Any:
        """The upper end."""
        return self._ends[1]


class OneInteger(OneNumber):
    """A mechanism that is asked for one integer at a time."""

    _clamp: tuple[int, int] | None = None

    def randomise(self, value: Any) -> int:
        """Return the integer with noise."""
        _check.one_integer(value)
        return int(self.mechanism.add_noise(int(value), rng=self._rng, clamp=self._clamp))


def generator_for(random_state: Any) -> Generator | None:
    """Return the generator that a ``random_state`` names; None for noise under the operating system's keys."""
    if random_state is None or isinstance(random_state, Generator):
        return random_state
    return default_rng(_check.random_state(random_state), rounds=20)
