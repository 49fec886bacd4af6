"""Which cell of a histogram each row lies in, and how many rows each cell holds, exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._canonical import RoundedFloatError, UnfitError, canonical, is_rounded, text
from lapnoise._numbers import fraction_up
from lapnoise._threads import available_threads, run_blocks
from lapnoise.queries import _batches
from lapnoise.queries._batches import Batch

__all__ = ["Edges", "cells_of_categories", "sorted_categories"]

Edge = Fraction | float

BLOCK = 1 << 17
SERIAL_BELOW = 1 << 18


class Edges:
    """Cells [e_i, e_i+1), the last one closed, compared exactly whatever the type of the values."""

    def __init__(self, edges: list[Edge]) -> None:
        self.edges = edges
        self.cells = len(edges) - 1

    def counts(self, batch: Batch) -> NDArray[np.int64]:
        """Return how many rows lie in each cell."""
        total = np.zeros(self.cells + 2, np.int64)
        for _, values in batch.parts:
            total += self._counts(values)
        return total[1:-1]

    def rows(self, batch: Batch) -> NDArray[np.intp]:
        """Return the cell of each row, -1 where it lies in none."""
        from lapnoise.kernels.cells import fill_cells

        found = np.full(batch.length, -1, np.intp)
        for rows, values in batch.parts:
            kind = _wide(values)
            thresholds, always = self._thresholds(kind)
            cell = np.zeros(values.size, np.int64)
            if thresholds.size:
                fill_cells(cell, _as_kind(values, kind), thresholds)
            cell += always - 1
            cell[cell >= self.cells] = -1
            found[slice(None) if rows is None else rows] = cell
        return found

    def _counts(self, values: NDArray[Any]) -> NDArray[np.int64]:
        from lapnoise.kernels.cells import ROOM, count_cells, count_even_cells

        kind = _wide(values)
        thresholds, always = self._thresholds(kind)
        guess = _guess(thresholds)
        total = np.zeros(self.cells + 2, np.int64)
        if not thresholds.size:
            total[always] = values.size
            return total
        found: list[NDArray[np.int64]] = []

        def work(block: int) -> None:
            native = _as_kind(values[block * BLOCK : (block + 1) * BLOCK], kind)
            counts = np.zeros((4, total.size), np.int64)
            room = np.empty(ROOM, np.int64)
            if guess is None:
                count_cells(counts[:, always:], native, thresholds, room)
            else:
                count_even_cells(counts, native, *guess, room)
            found.append(counts.sum(axis=0))

        threads = 1
        if values.size >= SERIAL_BELOW:
            work(0)  # compiled on this thread
            found.clear()
            threads = available_threads()
        run_blocks(work, -(-values.size // BLOCK), threads)
        return sum(found, total)

    def _thresholds(self, kind: np.dtype[Any]) -> tuple[NDArray[Any], int]:
        """Return thresholds of this type, and how many thresholds every value reaches.

        A value x lies in cell k where k + 1 thresholds are at most x: e_i <= x, and for the last edge e < x.
        """
        if kind.kind == "f":
            floats = [_float_up(edge) for edge in self.edges[:-1]]
            last = _float_up(self.edges[-1])
            if last < math.inf:
                floats.append(math.nextafter(last, math.inf) if Fraction(last) == self.edges[-1] else last)
            return np.array(floats), 0
        least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        wanted = [_whole(edge, math.ceil) for edge in self.edges[:-1]] + [_whole(self.edges[-1], _next_whole)]
        inside = [threshold for threshold in wanted if least < threshold <= most]
        return np.array(inside, kind), sum(threshold <= least for threshold in wanted)


def _wide(values: NDArray[Any]) -> np.dtype[Any]:
    return np.dtype(np.float64 if values.dtype.kind == "f" else np.uint64 if values.dtype.kind == "u" else np.int64)


def _as_kind(values: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore"):  # of a long double, which becomes an infinity
        return np.ascontiguousarray(values, kind)


def _guess(thresholds: NDArray[Any]) -> tuple[NDArray[np.float64], float, float] | None:
    """Return what `count_even_cells` takes, where its guess is right for every value, else None.

    The guess rises with x, since each of its operations does. So for x from t_k on and below t_{k+1} it lies between
    those for t_k and for the float before t_{k+1}, and it is right where these are k - 1 at least and k + 1 at most.
    """
    n = thresholds.size
    if thresholds.dtype.kind != "f" or n < 3 or not np.isfinite(thresholds).all():
        return None
    first, last = float(thresholds[0]), float(thresholds[-1])
    steps = (n - 1) / (last - first)  # Python's floats overflow without a warning
    if not 0.0 < steps < math.inf:
        return None
    at = np.floor((thresholds - first) * steps)
    before = np.floor((np.nextafter(thresholds[1:], -math.inf) - first) * steps)
    k = np.arange(n)
    if (at < k - 1).any() or (before > k[:-1] + 1).any():
        return None
    return np.append(thresholds, [math.nan, math.nan]), first, steps


def _float_up(edge: Edge) -> float:
    return edge if isinstance(edge, float) else fraction_up(edge)


def _whole(edge: Edge, rounded: Any) -> Any:
    return edge if isinstance(edge, float) else rounded(edge)


def _next_whole(edge: Fraction) -> int:
    return math.floor(edge) + 1


def cells_of_categories(batch: Batch, places: dict[Any, int], grow: bool) -> NDArray[np.intp]:
    """Return the place of each row's category; -1 for missing rows and, unless ``places`` may grow, for others.

    ``places`` are by canonical form.
    """
    found = np.full(batch.length, -1, np.intp)
    for rows, values in batch.parts:
        lost = _batches.missing(values)
        known = np.ones(values.size, np.bool_) if lost is None else ~lost
        where = np.flatnonzero(known) if rows is None else rows[known]
        if values.dtype.kind == "O":
            found[where] = _places(values[known].tolist(), places, grow, where.__getitem__)
        else:
            unique, inverse = np.unique(values[known], return_inverse=True)
            inverse = inverse.reshape(-1)
            listed = list(unique) if unique.dtype.kind in "mM" else unique.tolist()
            row_of = partial(_first_row, where, inverse)
            found[where] = np.array(_places(listed, places, grow, row_of), np.intp)[inverse]
    return found


def _first_row(where: NDArray[np.intp], inverse: NDArray[np.intp], place: int) -> int:
    return int(where[np.flatnonzero(inverse == place)[0]])


def _places(entries: list[Any], places: dict[Any, int], grow: bool, row_of: Callable[[int], int]) -> list[int]:
    # Rows of a type that no given category is of lie in none; so do large floats, unless one could be a given integer.
    told_apart = grow or any(map(is_rounded, places))
    found = []
    for i, entry in enumerate(entries):
        try:
            key = canonical(entry)
        except UnfitError as unfit:
            if grow or (told_apart and isinstance(unfit, RoundedFloatError)):
                _check.fit(f"values[{row_of(i)}]", unfit)
            found.append(-1)
            continue
        found.append(places.setdefault(key, len(places)) if grow else places.get(key, -1))
    return found


def sorted_categories(found: Iterable[Any]) -> list[Any]:
    """Return canonical categories in an order that depends on which they are alone: numbers, text, then others."""

    def place(entry: Any) -> tuple[int, Any, str]:
        if isinstance(entry, int | float | Fraction):
            return 0, entry, ""
        return (1, 0, entry) if isinstance(entry, str) else (2, 0, text(entry))

    return sorted(found, key=place)
