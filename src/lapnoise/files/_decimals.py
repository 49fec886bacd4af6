"""Decimal texts on a lattice: each is rounded half up as what it says, not as the float nearest to it.

A sensitivity bounds how far the numbers in a file can move. Read as floats, two of them could end up a step of the
lattice further apart than that, so the decimal itself decides. The kernel `read_points` settles decimals of up to 19
digits; what it leaves open (more digits, extreme exponents) goes through fractions, one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_05UP, Context
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapnoise import lattice
from lapnoise.files._cells import Absent, Cells, number_in

__all__ = ["Points", "exact_value", "nearest_points"]

_LATTICE_POINTS = 2.0**52

# A tie between two points of a lattice of floats is a multiple of 2^-1075 below 2^1024: at most 1384 digits, the last
# of them no later than 1075 places behind the point. This rounding moves nothing onto a tie or across one, for it cuts
# at a later place and leaves a last digit other than 0 and 5 there if anything was dropped.
_CUT = Context(prec=1500, rounding=ROUND_05UP, Emin=-400, Emax=400, traps=[])


@dataclass(frozen=True, slots=True)
class Points:
    """Lattice points as base + steps r.

    Attributes
    ----------
    base : ndarray of float64
        0 below 2^52 r, else a float near to the decimal, which is a lattice point; NaN where a cell is missing.
    steps : ndarray of int64
        At most 2^52 in magnitude.
    states : ndarray of uint8
        MISSING where a cell is missing, else READ, as in `lapnoise.kernels.cell_numbers`.
    open : dict of int to Fraction
        Indices of the points that have no such form, and the numbers themselves; their steps are 0.
    """

    base: NDArray[np.float64]
    steps: NDArray[np.int64]
    states: NDArray[np.uint8]
    open: dict[int, Fraction]

    @property
    def missing(self) -> NDArray[np.bool_] | None:
        """Which cells are missing; None where none is."""
        from lapnoise.files import _csv_kernels as kernels

        missing = self.states == kernels.MISSING
        return missing if missing.any() else None


def nearest_points(cells: Cells, absent: Absent, exponent: int, *, bounded: bool = False) -> Points:
    """Return the points of the lattice of r = 2^exponent to which the decimals in cells are rounded, half up.

    Parameters
    ----------
    cells
        Numbers and missing cells.
    absent
        What missing cells say.
    exponent
        From -1074 to 1023.
    bounded
        Whether the largest float stands for what is beyond it.

    Raises
    ------
    BadCellError
        At the first cell that is neither.
    """
    from lapnoise.files import _csv_kernels as kernels

    base, steps = np.empty(cells.size), np.empty(cells.size, np.int64)
    states = np.empty(cells.size, np.uint8)
    half = exponent // 2
    factors = np.array([math.ldexp(1.0, -half), math.ldexp(1.0, half - exponent)])
    still_open = kernels.read_points(
        *cells.arguments,
        *absent.arrays,
        exponent,
        factors,
        kernels.float_powers(),
        base,
        steps,
        states,
    )
    without_form = {}
    for i in np.flatnonzero(states == kernels.OPEN).tolist() if still_open else ():
        text = number_in(cells, i, absent, bounded=bounded)
        states[i] = kernels.MISSING if text is None else kernels.READ
        base[i], steps[i] = math.nan, 0
        if text is not None:
            base[i], whole = _in_fractions(text, exponent)
            if abs(whole) <= _LATTICE_POINTS:
                steps[i] = whole
            else:
                without_form[i] = exact_value(text)
    return Points(base, steps, states, without_form)


def _in_fractions(text: bytes, exponent: int) -> tuple[float, int]:
    """Return base and steps of the point for a decimal; the steps may be many."""
    near = float(text)
    base = near if abs(Fraction(near)) >= Fraction(2) ** (exponent + 52) else 0.0
    whole = lattice.round_half_up(exact_value(text), exponent)
    return base, whole - lattice.round_half_up(Fraction(base), exponent)


def exact_value(text: bytes) -> Fraction:
    """Return what the text of a number says, exactly unless it has more than 1500 digits.

    Beyond them, and further than 1899 places behind the point, digits are replaced by one that leaves the number on its
    side of every tie: what is returned is rounded to the same lattice point.
    """
    return Fraction(_CUT.create_decimal(text.decode("ascii")))
