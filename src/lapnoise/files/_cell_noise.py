"""One mechanism's noise for all cells of a file or table, which arrive piece by piece and in any order."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _release, lattice
from lapnoise._check import FLOAT32, FLOAT64, INT64, noise_terms
from lapnoise.files._cells import INFINITE, MISSING_CELL, BadCellError
from lapnoise.files._decimals import Points
from lapnoise.files._terms import FileMechanism, Terms
from lapnoise.generator import Generator
from lapnoise.mechanisms import BoundedLaplaceMechanism

__all__ = ["CellNoise", "Noised", "Place", "output_dtype", "widened", "word_of"]

COLUMN_SHIFT = 42
"""log2 of the words that each noised column has: cell i of noised column j takes the word 2^42 j + i."""

_MOST_STEPS = 1 << 52
"""Up to here steps are exact as floats, and none of them goes beyond a point that is as far away."""

_LARGEST_INTEGER = 2**63 - 1
_LARGEST_FLOAT = Fraction(sys.float_info.max)


class Place(NamedTuple):
    """Where a piece of a column lies.

    Attributes
    ----------
    column : int
        Which of the noised columns, counted from 0 in file order.
    first : int
        Number of its first cell in the column, from 0.
    """

    column: int
    first: int


class Noised(NamedTuple):
    """Noisy values, and which of them are missing (None: none that a mask would tell)."""

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None


class CellNoise:
    """Noise on one lattice: a word for each cell, whose place is known before it is drawn.

    Parameters
    ----------
    mechanism
        Bound to the number of cells.
    terms
        What else was asked.
    columns
        Names of the noised columns, in file order; one empty name for an array.
    rng
        Where the noise comes from.
    origin
        Word of the stream that the first cell of the first column takes.
    """

    def __init__(
        self, mechanism: FileMechanism, terms: Terms, columns: Sequence[str], rng: Generator, origin: int = 0
    ) -> None:
        self.mechanism: Any = mechanism
        self.whole = terms.whole
        self.local = terms.local
        self.fill = terms.fill
        self._clamp = terms.clamp
        self._clip = [terms.bounds_of(name) for name in columns]
        self._rng = rng
        self._origin = origin

    def add(
        self,
        values: NDArray[Any],
        place: Place,
        missing: NDArray[np.bool_] | None = None,
        strata: tuple[NDArray[Any], Sequence[int]] | None = None,
    ) -> Noised:
        """Return numbers with noise: float32 as float32, float64 and integers as float64; as int64 if discrete.

        Parameters
        ----------
        values
            float32, float64 or integers of any width and byte order.
        place
            Where they lie.
        missing
            Which of them are missing, whatever the value; NaN is missing too.
        strata
            A code for each value, and for each code the place of its stratum.

        Raises
        ------
        BadCellError
            At an infinite value where nothing bounds it, and at a missing one where each row is a person.
        """
        native = widened(values)
        out = output_dtype(values.dtype, whole=self.whole)
        limits = noise_terms.cell_limits(self._clip[place.column], self._clamp, self.fill, native.dtype, out)
        if native.dtype.kind == "f":
            absent = np.isnan(native)
            missing = absent if missing is None else missing | absent
        if missing is not None and not missing.any():
            missing = None
        if missing is not None:
            self._refuse_missing(missing)
            native = np.where(missing, native.dtype.type(0 if limits.fill is None else limits.fill), native)
            missing = missing if limits.fill is None else None
        if limits.clip is not None:
            native = np.clip(native, *map(native.dtype.type, limits.clip))
        elif (infinite := _release.find_infinite(native)) >= 0:
            raise BadCellError(infinite, INFINITE)
        noised = np.empty(native.shape, out)
        self.mechanism._add(self._generator(place), native, noised, *(strata or ()))
        if limits.clamp is not None:
            np.clip(noised, *limits.clamp, out=noised)
        return Noised(self._blanked(noised, missing), missing)

    def is_bounded(self, column: int) -> bool:
        """Return whether values of a noised column are clipped to bounds."""
        return self._clip[column] is not None

    @property
    def exponent(self) -> int:
        """Binary exponent of the lattice's granularity."""
        return int(self.mechanism.lattice.exponent)

    def add_to_points(
        self, points: Points, place: Place, strata: tuple[NDArray[Any], Sequence[int]] | None = None
    ) -> Noised:
        """Return the float64 that the mechanism makes of decimals, which are given as points of its lattice.

        Parameters
        ----------
        points
            What decimals were rounded to; changed here.
        place, strata
            As in `add`.
        """
        exponent, largest = self.exponent, sys.float_info.max
        absent: NDArray[np.bool_] | None = points.missing
        if absent is not None:
            self._refuse_missing(absent)
        values = _Decimals(points, exponent)
        if absent is not None:
            values.put(absent, self.fill or Fraction(0))
            absent = absent if self.fill is None else None
        bounds = self._clip[place.column]
        if bounds is not None:
            values.clip(*bounds)
        if isinstance(self.mechanism, BoundedLaplaceMechanism):
            noised = self._add_bounded(self.mechanism, values, place)
        else:
            generator = self._generator(place)
            steps = np.empty(points.steps.shape, np.int64)
            self.mechanism._add_steps(generator, points.steps, steps, *(strata or ()))
            with np.errstate(over="ignore"):
                # Nothing but the sum is rounded here, except in the cells that are made anew below.
                noised = points.base + np.ldexp(steps.astype(np.float64), exponent)
            np.clip(noised, -largest, largest, out=noised)
            for i in {*points.open, *np.flatnonzero(np.abs(steps) > _MOST_STEPS).tolist()}:
                noise = int(steps[i]) - int(points.steps[i])
                if abs(int(steps[i])) == _LARGEST_INTEGER:
                    noise = _release.step_at(self._rng, self._origin + word_of(place) + i, self.mechanism.lattice.t)
                noised[i] = lattice.release(values.exactly(i), noise, exponent, largest)
        limits = noise_terms.cell_limits(None, self._clamp, None, FLOAT64, FLOAT64)
        if limits.clamp is not None:
            np.clip(noised, *limits.clamp, out=noised)
        return Noised(self._blanked(noised, absent), absent)

    def _add_bounded(self, mechanism: BoundedLaplaceMechanism, values: _Decimals, place: Place) -> NDArray[np.float64]:
        points, exponent = values.points, mechanism.lattice.exponent
        noised = np.empty(points.steps.shape, np.float64)
        mechanism._add(self._generator(place), np.ldexp(points.steps.astype(np.float64), exponent), noised)
        for i in {*points.open, *np.flatnonzero(points.base).tolist()}:
            # Beyond 2^52 steps a decimal may lie between the floats of its size.
            generator = self._generator(Place(place.column, place.first + i))
            noised[i] = mechanism._released(generator, values.exactly(i))
        return noised

    def _generator(self, place: Place) -> Generator:
        return self._rng._at(self._origin + word_of(place))

    def _refuse_missing(self, missing: NDArray[np.bool_]) -> None:
        if self.local and self.fill is None:
            raise BadCellError(int(np.argmax(missing)), MISSING_CELL)

    def _blanked(self, noised: NDArray[Any], missing: NDArray[np.bool_] | None) -> NDArray[Any]:
        if missing is not None:
            noised[missing] = np.nan if noised.dtype.kind == "f" else 0
        return noised


class _Decimals:
    """Decimals on a lattice, and what they say exactly where a point cannot."""

    def __init__(self, points: Points, exponent: int) -> None:
        self.points = points
        self._exponent = exponent

    def exactly(self, i: int) -> Fraction:
        """Return the point at an index, or the number itself where it has no such form."""
        if i in self.points.open:
            return self.points.open[i]
        r = Fraction(2) ** self._exponent
        return Fraction(float(self.points.base[i])) + int(self.points.steps[i]) * r

    def put(self, chosen: NDArray[np.bool_], value: Fraction) -> None:
        """Put one number in several places."""
        points = self.points
        base, steps, has_form = _nearest_point(value, self._exponent)
        points.base[chosen], points.steps[chosen] = base, steps
        for i in points.open.keys() & set(np.flatnonzero(chosen).tolist()) if has_form else ():
            del points.open[i]
        if not has_form:
            points.open.update(dict.fromkeys(np.flatnonzero(chosen).tolist(), value))

    def clip(self, low: Fraction, high: Fraction) -> None:
        """Take each to the bounds; rounding half up is monotone, so bounds and values may be rounded first."""
        points = self.points
        with np.errstate(over="ignore"):
            near = points.base + np.ldexp(points.steps.astype(np.float64), self._exponent)
        # What is a float away from a bound is on the same side of it as the float nearest to it.
        first, last = (float(min(max(bound, -_LARGEST_FLOAT), _LARGEST_FLOAT)) for bound in (low, high))
        before_first, behind_last = math.nextafter(first, -math.inf), math.nextafter(last, math.inf)
        below, above = near < before_first, near > behind_last
        inside = (near > math.nextafter(first, math.inf)) & (near < math.nextafter(last, -math.inf))
        doubtful = ~(below | above | inside)
        for i in {*points.open, *np.flatnonzero(doubtful).tolist()}:
            value = self.exactly(i)
            below[i], above[i] = value < low, value > high
        self.put(below, low)
        self.put(above, high)


def word_of(place: Place) -> int:
    """Return which word a cell takes, counted from that of the first cell of the first column."""
    return (place.column << COLUMN_SHIFT) + place.first


def _nearest_point(value: Fraction, exponent: int) -> tuple[float, int, bool]:
    """Return the lattice point nearest to a value as base + steps r, and whether it has such a form.

    The base is 0 up to 2^52 steps. Where what is left beside a float is more than 2^52 steps, there is no such form.
    """
    steps = lattice.round_half_up(value, exponent)
    if abs(steps) <= _MOST_STEPS:
        return 0.0, steps, True
    point = steps * Fraction(2) ** exponent
    base = float(min(max(point, -_LARGEST_FLOAT), _LARGEST_FLOAT))
    rest = (point - Fraction(base)) / Fraction(2) ** exponent
    if rest.denominator == 1 and abs(rest) <= _MOST_STEPS:
        return base, int(rest), True
    return base, 0, False


def output_dtype(given: np.dtype[Any], *, whole: bool) -> np.dtype[Any]:
    """Return the dtype of noisy values: int64 if discrete, float32 for float32, float64 for all others."""
    return INT64 if whole else FLOAT32 if given.newbyteorder("=") == FLOAT32 else FLOAT64


def widened(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in this machine's byte order, integers as int64 or uint64."""
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    if native.dtype.kind == "f" or native.dtype == np.uint64:
        return native
    return native.astype(np.int64, copy=False)
