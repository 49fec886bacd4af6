"""One mechanism's noise for all cells of a file or table, which arrive piece by piece and in any order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _release, lattice
from lapnoise._check import FLOAT32, FLOAT64, INT64, file_arguments
from lapnoise.files._decimals import Points
from lapnoise.files._terms import FileMechanism, Terms
from lapnoise.generator import Generator
from lapnoise.mechanisms import BoundedLaplaceMechanism

__all__ = ["BadValueError", "CellNoise", "Noised", "Place", "output_dtype"]

COLUMN_SHIFT = 42
"""log2 of the words that each noised column has: cell i of noised column j takes the word 2^42 j + i."""

_MOST_STEPS = 1 << 52
"""Up to here steps are exact as floats, and none of them goes beyond a point that is as far away."""

_LARGEST_INTEGER = 2**63 - 1


class BadValueError(Exception):
    """A value that cannot be noised.

    Attributes
    ----------
    index
        Its place among the values that were given.
    kind
        What it is, as a phrase for a message; never what it says, which is data.
    """

    def __init__(self, index: int, kind: str) -> None:
        super().__init__(f"value {index}: {kind}")
        self.index = index
        self.kind = kind


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
    """

    def __init__(self, mechanism: FileMechanism, terms: Terms, columns: Sequence[str], rng: Generator) -> None:
        self.mechanism: Any = mechanism
        self.whole = terms.whole
        self.local = terms.local
        self.fill = terms.fill
        self._clamp = terms.clamp
        self._clip = [terms.bounds_of(name) for name in columns]
        self._rng = rng

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
        BadValueError
            At an infinite value where nothing bounds it, and at a missing one where each row is a person.
        """
        native = _widened(values)
        out = output_dtype(values.dtype, whole=self.whole)
        limits = file_arguments.cell_limits(self._clip[place.column], self._clamp, self.fill, native.dtype, out)
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
            raise BadValueError(infinite, "an infinite number")
        noised = np.empty(native.shape, out)
        self.mechanism._add(self._generator(place), native, noised, *(strata or ()))
        if limits.clamp is not None:
            np.clip(noised, *limits.clamp, out=noised)
        return Noised(self._blanked(noised, missing), missing)

    def add_to_points(
        self,
        points: Points,
        exact: Callable[[int], Fraction],
        place: Place,
        missing: NDArray[np.bool_],
        strata: tuple[NDArray[Any], Sequence[int]] | None = None,
    ) -> Noised:
        """Return the float64 that the mechanism makes of decimals, which are given as points of its lattice.

        Parameters
        ----------
        points
            What decimals were rounded to; changed here.
        exact
            Returns what the decimal at an index says.
        place, missing, strata
            As in `add`; all of ``missing`` are told.
        """
        exponent, largest = self.mechanism.lattice.exponent, sys.float_info.max
        absent: NDArray[np.bool_] | None = missing if missing.any() else None
        if absent is not None:
            self._refuse_missing(absent)
            base, step = (0.0, 0) if self.fill is None else _nearest_point(self.fill, exponent)
            points.base[absent], points.steps[absent] = base, step
            absent = absent if self.fill is None else None
        bounds = self._clip[place.column]
        values = _Decimals(points, exact, exponent, missing)
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
                    noise = _release.step_at(self._rng, _word(place) + i, self.mechanism.lattice.t)
                noised[i] = lattice.release(values.exactly(i), noise, exponent, largest)
        limits = file_arguments.cell_limits(None, self._clamp, None, FLOAT64, FLOAT64)
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
        return self._rng._at(_word(place))

    def _refuse_missing(self, missing: NDArray[np.bool_]) -> None:
        if self.local and self.fill is None:
            raise BadValueError(int(np.argmax(missing)), "a missing cell")

    def _blanked(self, noised: NDArray[Any], missing: NDArray[np.bool_] | None) -> NDArray[Any]:
        if missing is not None:
            noised[missing] = np.nan if noised.dtype.kind == "f" else 0
        return noised


class _Decimals:
    """Decimals on a lattice, and what they say exactly where a point cannot."""

    def __init__(
        self, points: Points, exact: Callable[[int], Fraction], exponent: int, missing: NDArray[np.bool_]
    ) -> None:
        self.points = points
        self._exact = exact
        self._exponent = exponent
        self._missing = missing

    def exactly(self, i: int) -> Fraction:
        """Return the point at an index, or the decimal itself where that is not known."""
        if i in self.points.open and not self._missing[i]:
            return self._exact(i)
        r = Fraction(2) ** self._exponent
        return Fraction(float(self.points.base[i])) + int(self.points.steps[i]) * r

    def clip(self, low: Fraction, high: Fraction) -> None:
        """Take each to the bounds; rounding half up is monotone, so bounds and values may be rounded first."""
        points = self.points
        least, most = _nearest_point(low, self._exponent), _nearest_point(high, self._exponent)
        near = points.base + np.ldexp(points.steps.astype(np.float64), self._exponent)
        # What is a float away from a bound is on the same side of it as the float nearest to it.
        below, above = near < np.nextafter(float(low), -np.inf), near > np.nextafter(float(high), np.inf)
        inside = (near > np.nextafter(float(low), np.inf)) & (near < np.nextafter(float(high), -np.inf))
        doubtful = {*points.open, *np.flatnonzero(~(below | above | inside)).tolist()}
        for chosen, (base, steps) in ((below, least), (above, most)):
            points.base[chosen], points.steps[chosen] = base, steps
        for i in doubtful:
            value = self.exactly(i)
            if not low <= value <= high:
                points.base[i], points.steps[i] = least if value < low else most
                if i in points.open:
                    points.open.remove(i)


def _word(place: Place) -> int:
    return (place.column << COLUMN_SHIFT) + place.first


def _nearest_point(value: Fraction, exponent: int) -> tuple[float, int]:
    """Return the lattice point nearest to a value as base + steps r; base is 0 up to 2^52 steps."""
    steps = lattice.round_half_up(value, exponent)
    if abs(steps) <= _MOST_STEPS:
        return 0.0, steps
    r = Fraction(2) ** exponent
    base = float(steps * r)
    return base, steps - int(Fraction(base) / r)


def output_dtype(given: np.dtype[Any], *, whole: bool) -> np.dtype[Any]:
    """Return the dtype of noisy values: int64 if discrete, float32 for float32, float64 for all others."""
    return INT64 if whole else FLOAT32 if given.newbyteorder("=") == FLOAT32 else FLOAT64


def _widened(values: NDArray[Any]) -> NDArray[Any]:
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    if native.dtype.kind == "f" or native.dtype == np.uint64:
        return native
    return native.astype(np.int64, copy=False)
