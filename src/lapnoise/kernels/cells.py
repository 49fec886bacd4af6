"""Values counted by the cell of a histogram that they lie in."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._jit import device, kernel

__all__ = ["ROOM", "count_cells", "count_even_cells", "fill_cells"]

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


@device
def _add_up(counts: Any, found: Any) -> None:
    """Count in four rows by turns: one alone waits for its own last store where neighbours share a cell."""
    even = found.size & -4
    a, b, c, d = counts[0], counts[1], counts[2], counts[3]
    for i in range(0, even, 4):
        a[np.uint64(found[i])] += np.int64(1)
        b[np.uint64(found[i + 1])] += np.int64(1)
        c[np.uint64(found[i + 2])] += np.int64(1)
        d[np.uint64(found[i + 3])] += np.int64(1)
    for i in range(even, found.size):
        a[np.uint64(found[i])] += np.int64(1)


@kernel
def count_cells(counts: Any, values: Any, thresholds: Any, room: Any) -> None:
    """Add to the four rows counts[:, k] how many values have k thresholds at or below them.

    ``room`` is an int64 array of ROOM.
    """
    for start in range(0, values.size, ROOM):
        part = values[start : start + ROOM]
        found = room[: part.size]
        _find(found, part, thresholds)
        _add_up(counts, found)


@kernel
def count_even_cells(counts: Any, values: Any, thresholds: Any, first: float, steps: float, room: Any) -> None:
    """Do the same for thresholds whose number can be guessed: (x - first) steps, rounded down, is 0 to 2 too few.

    ``thresholds`` has two NaN behind the last one, which nothing reaches.
    """
    most = np.float64(thresholds.size - 2)
    low, high = thresholds[:-1], thresholds[1:]
    for start in range(0, values.size, ROOM):
        part = values[start : start + ROOM]
        found = room[: part.size]
        for i in range(part.size):
            x = part[i]
            guess = (x - first) * steps
            guess = guess if guess > 0.0 else 0.0  # NaN too
            k = np.uint64(
                np.int64(guess if guess < most else most)
            )  # an unsigned index needs no test for negative ones
            reached = np.int64(1 if low[k] <= x else 0) + np.int64(1 if high[k] <= x else 0)
            found[i] = np.int64(k) + reached
        _add_up(counts, found)


@kernel
def fill_cells(out: Any, values: Any, thresholds: Any) -> None:
    """Write how many thresholds are at or below each value to ``out`` (int64)."""
    for start in range(0, values.size, ROOM):
        part = values[start : start + ROOM]
        _find(out[start : start + part.size], part, thresholds)
