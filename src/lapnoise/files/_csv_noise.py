"""From a block of rows to the bytes of the target: numbers are read, get noise, and are written as text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise.errors import InputDataError
from lapnoise.files._cell_noise import CellNoise, Place
from lapnoise.files._cells import Absent, BadCellError, Cells, read_integers
from lapnoise.files._decimals import nearest_points
from lapnoise.files._rows import Block
from lapnoise.files._strata import StrataCodes

__all__ = ["Marked", "noised", "stratum_labels"]


class Marked(NamedTuple):
    """What the marked columns of a file are.

    Attributes
    ----------
    columns : tuple of int
        Their places in the header, ascending.
    noised : tuple of int
        Which of them are noised, by their place among the marked ones.
    strata : int or None
        Which of them tells strata, likewise.
    codes : StrataCodes or None
        The codes of these.
    """

    columns: tuple[int, ...]
    noised: tuple[int, ...]
    strata: int | None
    codes: StrataCodes | None


def noised(
    block: Block, marked: Marked, absent: Absent, cell_noise: CellNoise, encoding: str
) -> tuple[memoryview, int, int]:
    """Return the bytes of a block with noise, how many rows it has and how many noised cells are missing.

    Any thread may do so: where a cell stands in the stream of noise follows from its row and column.
    """
    from lapnoise.files import _csv_kernels as kernels

    count, cells = len(marked.columns), block.cells
    values = np.zeros(cells.size, np.int64 if cell_noise.whole else np.float64)
    states = np.full(cells.size, kernels.MISSING)  # what is missing keeps its bytes
    missing = 0
    try:
        strata = None
        if marked.strata is not None and marked.codes is not None:
            labels = stratum_labels(block.column(marked.strata, count), absent, encoding)
            strata = marked.codes.codes(labels), marked.codes.places
        for number, place in enumerate(marked.noised):
            column = slice(place, None, count)
            at = Place(number, block.first_row - 1)
            values[column], states[column] = _noised(block.column(place, count), absent, cell_noise, at, strata)
            missing += int(np.count_nonzero(states[column] == kernels.MISSING))
    except BadCellError:
        raise InputDataError("a cell changed") from None
    out = np.empty(block.stop - block.start + kernels.CELL_ROOM * cells.size + kernels.TEXT_ROOM, np.uint8)
    where = (cells.data, block.start, block.stop, cells.starts, cells.ends)
    size = kernels.write_numbers(out, *where, states, values, kernels.powers_of_ten())
    return out[:size].data, block.rows, missing


def stratum_labels(cells: Cells, absent: Absent, encoding: str) -> list[str | None]:
    """Return what cells say, None where they are missing."""
    texts = [cells.content(i) for i in range(cells.size)]
    return [None if text in absent.texts else text.decode(encoding, "surrogateescape") for text in texts]


def _noised(
    cells: Cells,
    absent: Absent,
    cell_noise: CellNoise,
    at: Place,
    strata: tuple[NDArray[np.signedinteger], list[int]] | None,
) -> tuple[NDArray[np.generic], NDArray[np.uint8]]:
    """Return noisy values of one column and the states of its cells."""
    from lapnoise.files import _csv_kernels as kernels

    bounded = cell_noise.is_bounded(at.column)
    if cell_noise.whole:
        integers, states = read_integers(cells, absent, bounded=bounded)
        result = cell_noise.add(integers, at, states == kernels.MISSING, strata)
    else:
        points = nearest_points(cells, absent, cell_noise.exponent, bounded=bounded)
        result, states = cell_noise.add_to_points(points, at, strata), points.states
    if result.missing is None:
        states[:] = kernels.READ
    return result.values, states
