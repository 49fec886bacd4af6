"""Decimal texts on a lattice: each is rounded half up as what it says, not as the float nearest to it.

A sensitivity bounds how far the numbers in a file can move. Read as floats, two of them could end up a step of the
lattice further apart than that, so the decimal itself decides. With r the step and x the float nearest to a decimal v:

- where x / r lies further than an ulp of itself from every half, x decides, since v lies within half an ulp of x;
- else floor(2 v / r) is found in 64-bit integers, by long division, for decimals of up to 18 digits;
- what is left goes through fractions, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_05UP, Context
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import lattice
from lapnoise.files._split import content

__all__ = ["Points", "exact_value", "nearest_points"]

_LATTICE_POINTS = 2.0**52
_WIDEST_GAP = 2.0**50
_MOST_DIGITS = 18  # any integer of so many fits in 64 bits, with room for a factor of two
_FEW_DIGITS = 15
_POWERS_OF_TEN = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.int64)

_DIGIT, _POINT, _SIGN = 1, 2, 3
_KIND = np.zeros(256, np.uint8)
_KIND[list(b"0123456789")] = _DIGIT
_KIND[list(b".")] = _POINT
_KIND[list(b"+-")] = _SIGN

# A tie between two points of a lattice of floats is a multiple of 2^-1075 below 2^1024: at most 1384 digits, the last
# of them no later than 1075 places behind the point. This rounding moves nothing onto a tie or across one, for it cuts
# at a later place and leaves a last digit other than 0 and 5 there if anything was dropped.
_CUT = Context(prec=1500, rounding=ROUND_05UP, Emin=-400, Emax=400, traps=[])


class Points(NamedTuple):
    """Lattice points as base + steps r.

    Attributes
    ----------
    base : ndarray of float64
        0 where abs(x / r) < 2^52, else x, which is a lattice point; NaN where a value is missing.
    steps : ndarray of int64
        At most 2^52 in magnitude.
    open : list of int
        Indices of the points that have no such form; their steps are 0.
    """

    base: NDArray[np.float64]
    steps: NDArray[np.int64]
    open: list[int]


def nearest_points(values: NDArray[np.float64], cells: Sequence[bytes], exponent: int) -> Points:
    """Return the points of the lattice of r = 2^exponent to which the decimals in cells are rounded, half up.

    Parameters
    ----------
    values : ndarray of float64
        One-dimensional: the float nearest to each decimal, NaN for a missing cell.
    cells : sequence of bytes
        The cells as they stand in the file, in the same order.
    exponent : int
        From -1074 to 1023.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        places = np.ldexp(values, -exponent)
        nearest = np.rint(places)  # to even in a tie, which is doubtful
        gaps = np.ldexp(np.spacing(np.abs(values)), -exponent)
        doubtful = np.abs(places - nearest) >= 0.5 - gaps
    far = np.abs(places) >= _LATTICE_POINTS
    near = ~(far | np.isnan(values))
    base = np.where(near, 0.0, values)
    steps = np.where(near, nearest, 0.0).astype(np.int64)
    unsure = np.flatnonzero(far | doubtful)
    if not unsure.size:
        return Points(base, steps, [])
    plain, doubled = _doubled_floors(values[unsure], [cells[i] for i in unsure.tolist()], exponent)
    plain &= gaps[unsure] <= _WIDEST_GAP
    beyond = (doubled - _doubled_steps(base[unsure], exponent)).view(np.int64)
    # floor(z + 1/2) = floor((floor(2 z) + 1) / 2)
    steps[unsure[plain]] = (beyond[plain] + 1) >> 1
    still_open = []
    for i in unsure[~plain].tolist():
        whole = lattice.round_half_up(exact_value(cells[i]), exponent)
        whole -= lattice.round_half_up(Fraction(base[i]), exponent)
        if abs(whole) <= _LATTICE_POINTS:
            steps[i] = whole
        else:
            steps[i] = 0
            still_open.append(i)
    return Points(base, steps, still_open)


def exact_value(cell: bytes) -> Fraction:
    """Return what a cell with a number says, exactly unless it has more than 1500 digits.

    Beyond them, and further than 1899 places behind the point, digits are replaced by one that leaves the number on its
    side of every tie: what is returned is rounded to the same lattice point.
    """
    return Fraction(_CUT.create_decimal(content(cell).decode("ascii")))


def _doubled_floors(
    values: NDArray[np.float64], cells: list[bytes], exponent: int
) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """Return which cells are plain decimals of up to 18 digits, and for those floor(2 v / r) modulo 2^64."""
    text = b"\n".join(cells)
    if b'"' in text or b" " in text:
        cells = list(map(content, cells))
        text = b"\n".join(cells)
    codes = np.frombuffer(text + b"\n", np.uint8)
    kinds = _KIND[codes]
    ends = np.flatnonzero(codes == ord("\n"))
    starts = np.concatenate(([0], ends[:-1] + 1))
    digits = np.add.reduceat(kinds == _DIGIT, starts, dtype=np.int64)
    others = np.add.reduceat(kinds == 0, starts, dtype=np.int64)
    points = np.flatnonzero(kinds == _POINT)
    decimals = np.zeros(ends.size, np.int64)
    owners = np.searchsorted(ends, points)
    decimals[owners] = ends[owners] - points - 1
    plain = (digits <= _MOST_DIGITS) & (others == 1)  # the line end
    powers = _POWERS_OF_TEN[np.where(plain, decimals, 0)]
    short = plain & (digits <= _FEW_DIGITS)
    # v = D / 10^f: x 10^f lies within D 2^-52 of D, which is less than a half.
    wholes = np.rint(np.where(short, values, 0.0) * powers).astype(np.int64)
    for i in np.flatnonzero(plain & ~short).tolist():
        wholes[i] = int(cells[i].replace(b".", b""))
    return plain, _divided(wholes, powers, 1 - exponent)


def _divided(numerators: NDArray[np.int64], denominators: NDArray[np.int64], shift: int) -> NDArray[np.uint64]:
    """Return floor(n 2^shift / d) modulo 2^64, d > 0."""
    quotients = numerators // denominators
    if shift <= 0:
        return (quotients >> min(-shift, 63)).view(np.uint64)
    rests = numerators - quotients * denominators
    result = quotients.view(np.uint64)
    room = 63 - int(denominators.max(initial=1)).bit_length()
    while shift:
        bits = min(room, shift)
        scaled = rests << bits
        quotients = scaled // denominators
        rests = scaled - quotients * denominators
        result = (result << np.uint64(bits)) + quotients.view(np.uint64)
        shift -= bits
    return result


def _doubled_steps(points: NDArray[np.float64], exponent: int) -> NDArray[np.uint64]:
    """Return 2 x / r modulo 2^64 for points of the lattice that are 0 or from 2^52 r to 2^116 r in magnitude."""
    mantissas, exponents = np.frexp(points)
    whole: Any = np.ldexp(mantissas, 53).astype(np.int64).view(np.uint64)
    shifts = exponents.astype(np.int64) - 53 + 1 - exponent
    return whole << np.clip(shifts, 0, 63).astype(np.uint64)  # type: ignore[no-any-return]
