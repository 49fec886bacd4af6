"""What the mechanisms that release floats on a lattice share: how values come in and results go out."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check, _release
from lapnoise import lattice as lattices
from lapnoise._check import FLOAT32, FLOAT64
from lapnoise._containers import unwrap
from lapnoise.generator import Generator
from lapnoise.mechanisms._additive import AdditiveMechanism, generator_for, verify_generator

__all__ = ["FloatMechanism"]


class FloatMechanism(AdditiveMechanism):
    """A mechanism on floats, whose parameters include ``changed``: how many coordinates one record can change."""

    __slots__ = ("_exponent", "changed")

    _exponent: int | None
    changed: int | None

    @property
    def _granularity_asked(self) -> Fraction | None:
        """The granularity that was given, or None where the parameters choose it."""
        return None if self._exponent is None else Fraction(2) ** self._exponent

    def for_length(self, n: int) -> Self:
        """Return the mechanism for vectors of n coordinates, all of which one record may change.

        Where ``changed`` was given it stays. Values that arrive in pieces take this one for the length of them all, so
        that all pieces share a lattice.
        """
        length = _check.count("n", n, least=1)
        return self if self.changed is not None else type(self)(**{**self._parameters(), "changed": length})

    def _steps_apart(self, distance: Any) -> int:
        """Return how many steps apart, in L1 norm, values come to lie that differ by this much, at most."""
        exact = _check.distance(distance)
        return math.ceil(exact / self.lattice.granularity) + (self.changed or 1) - 1 if exact else 0

    def verify_floats(self) -> None:
        """Raise OverflowError where scale or granularity is beyond the floats, so that `add_noise` would refuse."""
        _check.float_release(self.scale, self.lattice.exponent, lattices.MOST_EXPONENT)

    def add_noise(
        self,
        values: Any,
        *,
        out: NDArray[Any] | None = None,
        rng: Any = None,
        clamp: tuple[float, float] | None = None,
        threads: int | None = None,
    ) -> Any:
        """Return the values with noise.

        Parameters
        ----------
        values : float, array_like, masked array, pandas or polars Series, Arrow Array or ChunkedArray
            float32 gives float32; float64, integers and bool give float64; 64-bit integers never pass through a float.
            NaN stays NaN and touches nothing else; missing values stay missing. Whole tables go to
            `lapnoise.tables.add_noise`.
        out : ndarray, optional
            Array to write to and return; ``out=values`` works in place.
        rng : Generator, optional
            None draws from ChaCha20 under a fresh key from the operating system. A seeded generator warns.
        clamp : (float, float), optional
            Clip the noisy values to [low, high]. That is post-processing: it costs no privacy and biases.
        threads : int, optional
            Threads at most, where ``rng`` is None.

        Returns
        -------
        float, ndarray, masked array, Series, Array or ChunkedArray
            The same kind as ``values``; multiples of the granularity, rounded to the dtype, never -0.0.

        Raises
        ------
        ValueError
            If a value is infinite, or the arguments do not fit; nothing is drawn then.
        OverflowError
            If the granularity is no float.
        TypeError
            If values are not real numbers.
        """
        array, target, bound, finish = self._prepare(values, out, clamp)
        bound._add(generator_for(rng, threads), array, target)
        return finish()

    def verify_inputs(
        self, values: Any, *, out: Any = None, rng: Any = None, clamp: Any = None, threads: Any = None
    ) -> None:
        """Refuse what `add_noise` would refuse, as far as that depends on dtypes, shapes and options: not on values."""
        self._inputs(unwrap(values)[0], out, clamp)
        verify_generator(rng, threads)

    def _add(self, generator: Generator, values: NDArray[Any], target: NDArray[Any]) -> None:
        """Write values with noise to the target, everything being checked."""
        raise NotImplementedError

    def _prepare(
        self, values: Any, out: NDArray[Any] | None, clamp: tuple[float, float] | None
    ) -> tuple[NDArray[Any], NDArray[Any], Self, Callable[[], Any]]:
        """Check what `add_noise` takes; return values, target, the mechanism for them, and what gives the result."""
        data, rewrap = unwrap(values)
        array, given, kind, bounds, bound = self._inputs(data, out, clamp)
        target = np.empty(array.shape, kind) if given is None else given
        _refuse_infinite(array)

        def finish() -> Any:
            if bounds is not None:
                np.clip(target, *bounds, out=target)
            return out if out is not None else rewrap(target)

        return array, target, bound, finish

    def _inputs(
        self, data: Any, out: Any, clamp: Any
    ) -> tuple[NDArray[Any], NDArray[Any] | None, np.dtype[Any], tuple[Any, Any] | None, Self]:
        """Return values, output, dtype of the result, bounds of clamping and the mechanism for these values."""
        array, kind = self._accepted(data)
        given = None if out is None else _check.output(out, kind, array.shape)
        bounds = None if clamp is None else self._limits(clamp, kind)
        bound = self._bound(array)
        bound.verify_floats()
        return array, given, kind, bounds, bound

    def _accepted(self, data: Any) -> tuple[NDArray[Any], np.dtype[Any]]:
        """Return the values as an array, and the dtype of what comes out."""
        array = _check.values(data)
        return array, FLOAT32 if array.dtype.newbyteorder("=") == FLOAT32 else FLOAT64

    def _limits(self, clamp: Any, kind: np.dtype[Any]) -> tuple[Any, Any]:
        """Return the ends of a clamp as numbers of that dtype."""
        return _check.clamp(clamp, kind)

    def _bound(self, array: NDArray[Any]) -> Self:
        """Return the mechanism for these values: that of their number, unless ``changed`` was given."""
        return self if self.changed is not None or array.size <= 1 else self.for_length(array.size)


def _refuse_infinite(array: NDArray[Any]) -> None:
    where = _release.find_infinite(array)
    if where >= 0:
        _check.infinite_value(np.unravel_index(where, array.shape))
