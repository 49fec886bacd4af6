"""From a block of rows to the bytes of the target: numbers are read, get noise, and are written as text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise.errors import InputDataError
from lapnoise.files._cell_noise import CellNoise
from lapnoise.files._cells import Absent, BadCellError, read_integers
from lapnoise.files._decimals import nearest_points
from lapnoise.files._rows import Block

__all__ = ["noised"]


def noised(block: Block, absent: Absent, cell_noise: CellNoise, first: int, *, whole: bool) -> memoryview:
    """Return the bytes of a block with noise in its marked cells; any thread may do so.

    Parameters
    ----------
    block
        Rows that were found to be fine.
    absent
        What missing cells say.
    cell_noise
        The noise of the file.
    first
        Place of the first cell in the stream of noise. Each cell takes one place, a missing one too.
    whole
        Whether cells are integers of 64 bits, and stay such.
    """
    from lapnoise.files import _csv_kernels as kernels

    cells = block.cells
    values: NDArray[Any]
    try:
        if whole:
            integers, states = read_integers(cells, absent)
            values = cell_noise.add_to_integers(integers, first)
        else:
            points = nearest_points(cells, absent, cell_noise.exponent)
            values, states = cell_noise.add_to_points(points, first), points.states
    except BadCellError:
        raise InputDataError("a cell changed") from None
    out = np.empty(block.stop - block.start + kernels.CELL_ROOM * cells.size + kernels.TEXT_ROOM, np.uint8)
    place = (cells.data, block.start, block.stop, cells.starts, cells.ends)
    size = kernels.write_numbers(out, *place, states, values, kernels.powers_of_ten())
    return out[:size].data
