"""Sums of bounded values, exactly: each record becomes a whole number of lattice steps, and these are added."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import lattice as lattices
from lapnoise._threads import available_threads, run_blocks
from lapnoise.queries._batches import Batch

__all__ = ["Bounds", "choose", "steps", "total"]

NOISE_BITS = 40
"""log2(scale / granularity): with 24 the rounding of 1e9 rows could bias a sum by 30 times the scale."""

COST_BITS = 10
"""log2(sensitivity / granularity) at least, so that rounded bounds cost less than a thousandth of epsilon."""

VALUE_BITS = 49
"""log2(largest bound / granularity) at most, near the precision of the floats themselves."""

BLOCK = 1 << 17
SERIAL_BELOW = 1 << 18
_EXACT_FLOATS = 1 << 53


class Bounds(NamedTuple):
    """Bounds on a lattice of granularity 2^exponent, in steps: a record counts as one of least, ..., most."""

    exponent: int
    least: int
    most: int

    def nearest_zero(self) -> int:
        """Return the record nearest to 0."""
        return min(max(0, self.least), self.most)


def choose(low: Fraction, high: Fraction, sensitivity: Fraction, epsilon: Fraction) -> Bounds:
    """Return the bounds, rounded half up to a lattice that depends on parameters alone.

    Rounding half up is monotone, so a value clipped to the bounds and rounded lies between the rounded bounds. These
    differ, even where the bounds themselves are closer than floats of their size can tell.
    """
    finest = lattices.floor_log2(max(abs(low), abs(high))) - VALUE_BITS
    usual = lattices.floor_log2(sensitivity / epsilon) - NOISE_BITS
    affordable = lattices.floor_log2(sensitivity) - COST_BITS
    exponent = max(min(usual, affordable), finest, lattices.LEAST_EXPONENT)
    least, most = lattices.round_half_up(low, exponent), lattices.round_half_up(high, exponent)
    return Bounds(exponent, least, max(most, least + 1))


def total(batch: Batch, on: Bounds) -> tuple[int, int]:
    """Return the sum of the records in steps, exactly, and their number, without those that are missing."""
    sums = [_total(values, on) for _, values in batch.parts]
    return sum(steps for steps, _ in sums), sum(rows for _, rows in sums)


def steps(batch: Batch, on: Bounds) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the steps of every row, 0 for missing ones, and which rows are there."""
    from lapnoise.kernels.bounded_sums import fill_steps

    found = np.zeros(batch.length, np.int64)
    there = np.zeros(batch.length, np.bool_)
    for rows, values in batch.parts:
        floats, inverse = _as_floats(values, on)
        out = np.empty(floats.size, np.int64)
        fill_steps(out, floats, *inverse, float(on.least), float(on.most))
        known = floats == floats
        where = np.flatnonzero(known) if rows is None else rows[known]
        found[where], there[where] = out[known], True
    return found, there


def _total(values: NDArray[Any], on: Bounds) -> tuple[int, int]:
    from lapnoise.kernels.bounded_sums import sum_steps

    found: list[tuple[int, int, int]] = []

    def work(block: int) -> None:
        floats, inverse = _as_floats(values[block * BLOCK : (block + 1) * BLOCK], on)
        found.append(sum_steps(floats, *inverse, float(on.least), float(on.most)))

    blocks = -(-values.size // BLOCK)
    if values.size >= SERIAL_BELOW:
        sum_steps(np.empty(0), 1.0, 1.0, 0.0, 0.0)  # compiled on this thread
        run_blocks(work, blocks, available_threads())
    else:
        run_blocks(work, blocks, 1)
    missing = sum(int(block[2]) for block in found)
    sums = sum((int(block[0]) << 32) + int(block[1]) for block in found)
    return sums - missing * on.least, values.size - missing


def _as_floats(values: NDArray[Any], on: Bounds) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Return values as contiguous floats, without rounding an integer, and 1/r as two factors.

    A long integer is clipped to plus or minus 2^53 where the bounds lie within; where they do not the granularity is
    at least 2^4, and the integer is rounded half up by shifts: what is returned are steps.
    """
    half = on.exponent // 2
    inverse = math.ldexp(1.0, -half), math.ldexp(1.0, half - on.exponent)
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        native = values.astype(np.dtype(values.dtype.kind + "8"), copy=False)
        if max(abs(on.least), abs(on.most)) * Fraction(2) ** on.exponent <= _EXACT_FLOATS:
            lowest = 0 if native.dtype.kind == "u" else -_EXACT_FLOATS
            return np.clip(native, lowest, _EXACT_FLOATS).astype(np.float64), inverse
        if on.exponent > 64:
            return np.zeros(values.size), (1.0, 1.0)
        # floor(x / 2^g + 1/2) = (floor(x / 2^(g - 1)) + 1) >> 1.
        doubled = native >> native.dtype.type(on.exponent - 1)
        rounded = (doubled + native.dtype.type(1)) >> native.dtype.type(1)
        lowest = max(on.least, 0 if native.dtype.kind == "u" else on.least)
        return np.clip(rounded, lowest, max(on.most, lowest)).astype(np.float64), (1.0, 1.0)
    with np.errstate(over="ignore"):  # of a long double, which becomes an infinity
        return np.ascontiguousarray(values, np.float64), inverse
