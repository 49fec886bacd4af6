"""One mechanism's noise for all cells of a file, which arrive piece by piece."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _release, lattice
from lapnoise.files._decimals import exact_value, nearest_points
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

    def add_to_decimals(self, values: NDArray[np.float64], cells: Sequence[bytes]) -> NDArray[np.float64]:
        """Return what the mechanism makes of the decimals in cells, ``values`` being the floats nearest to them.

        Missing cells are NaN in ``values``, take their word, and stay NaN. Where a decimal is a float, the result is
        that of `add`, bit for bit.
        """
        on, largest = self._on, sys.float_info.max
        start = self._rng.position
        points = nearest_points(values, cells, on.exponent)
        steps = np.empty(values.shape, np.int64)
        _release.add_integer_noise(self._rng, points.steps, steps, on.t)
        with np.errstate(over="ignore"):
            # Nothing but the sum is rounded here, except in the cells that are made anew below.
            noised: NDArray[np.float64] = points.base + np.ldexp(steps.astype(np.float64), on.exponent)
        np.clip(noised, -largest, largest, out=noised)
        wide = np.flatnonzero((np.abs(steps) > _MOST_STEPS) & ~np.isnan(values))
        for i in {*points.open, *wide.tolist()}:
            step = _release.step_at(self._rng, start + i, on.t)
            noised[i] = lattice.release(exact_value(cells[i]), step, on.exponent, largest)
        return noised
