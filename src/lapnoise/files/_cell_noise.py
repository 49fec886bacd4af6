"""One mechanism's noise for all cells of a file, which arrive piece by piece."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _release, lattice
from lapnoise.files._decimals import Points
from lapnoise.generator import Generator

__all__ = ["CellNoise"]

_MOST_STEPS = 1 << 52
"""Up to here steps are exact as floats, and none of them goes beyond a point that is as far away."""


class CellNoise:
    """Noise on one lattice from one generator: a word for each cell, in the order in which cells are given.

    Parameters
    ----------
    on : Lattice
        That of the mechanism, fixed before the first cell is seen.
    rng : Generator
        Where the noise comes from.
    whole : bool
        Whether the mechanism is discrete: integers in, 64-bit integers out.
    """

    def __init__(self, on: lattice.Lattice, rng: Generator, *, whole: bool) -> None:
        self._on = on
        self._rng = rng
        self._whole = whole

    def add(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return numbers with noise: float32 as float32, float64 and integers as float64; as int64 if discrete."""
        native = values.astype(values.dtype.newbyteorder("="), copy=False)
        if self._whole:
            integers = np.empty(values.shape, np.int64)
            _release.add_integer_noise(self._rng, native, integers, self._on.t)
            return integers
        noised = np.empty(values.shape, np.float32 if native.dtype == np.float32 else np.float64)
        _release.add_lattice_noise(self._rng, native, noised, self._on)
        return noised

    @property
    def exponent(self) -> int:
        """Binary exponent of the lattice's granularity."""
        return self._on.exponent

    def reserve(self, cells: int) -> int:
        """Set aside the next places in the stream, one a cell, and return the first."""
        return self._rng._stream.reserve(cells)

    def add_to_points(self, points: Points, first: int) -> NDArray[np.float64]:
        """Return what the mechanism makes of decimals that were rounded to its lattice, the first word at ``first``.

        Missing cells stay NaN. Where a decimal is a float, the result is that of `add`, bit for bit.
        """
        on, largest = self._on, sys.float_info.max
        steps = self.add_to_integers(points.steps, first)
        with np.errstate(over="ignore"):
            # Nothing but the sum is rounded here, except in the cells that are made anew below.
            noised: NDArray[np.float64] = points.base + np.ldexp(steps.astype(np.float64), on.exponent)
        np.clip(noised, -largest, largest, out=noised)
        wide = np.flatnonzero((np.abs(steps) > _MOST_STEPS) & ~np.isnan(points.base))
        for i in {*points.open, *wide.tolist()}:
            step = _release.step_at(self._rng, first + i, on.t)
            noised[i] = lattice.release(points.exact_value(i), step, on.exponent, largest)
        return noised

    def add_to_integers(self, values: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return integers with noise, the first word at ``first``; sums saturate."""
        noised = np.empty(values.size, np.int64)
        _release.add_integer_noise_at(self._rng, values, noised, self._on.t, first)
        return noised
