"""Values counted by the cell of a histogram that they lie in."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._jit import device, kernel

__all__ = ["ROOM", "count_cells", "fill_cells"]

ROOM = 1 << 10
"""Values whose cells are found at a time: 8 KiB, which stays in L1."""

_FEW = 24  # with so many thresholds a comparison with each costs as much as a binary search: 3.5 ns a value


@device
def _find(out: Any, values: Any, thresholds: Any) -> None:
    """Write how many of the rising thresholds are at or below each value; 0 for NaN.

    Loops over values inside, so that they vectorise: a search a value mispredicts its branches, 13 ns with 11
    thresholds against 1.4.
    """
    out[:] = 0
    if thresholds.size <= _FEW:
        for j in range(thresholds.size):
            for i in range(values.size):
                out[i] += np.int64(1 if thresholds[j] <= values[i] else 0)
        return
    length = thresholds.size
    while length > 1:
        half = length >> 1
        for i in range(values.size):
            out[i] += half if thresholds[out[i] + half - 1] <= values[i] else 0
        length -= half
    for i in range(values.size):
        out[i] += 1 if thresholds[out[i]] <= values[i] else 0


@kernel
def count_cells(counts: Any, values: Any, thresholds: Any, room: Any) -> None:
    """Add to counts[k] how many values have k thresholds at or below them; ``room`` is an int64 array of ROOM."""
    for start in range(0, values.size, ROOM):
        part = values[start : start + ROOM]
        found = room[: part.size]
        _find(found, part, thresholds)
        for i in range(part.size):
            counts[found[i]] += np.int64(1)


@kernel
def fill_cells(out: Any, values: Any, thresholds: Any) -> None:
    """Write how many thresholds are at or below each value to ``out`` (int64)."""
    for start in range(0, values.size, ROOM):
        part = values[start : start + ROOM]
        _find(out[start : start + part.size], part, thresholds)
