"""Decimal texts rounded to a lattice, half up, as what they say and not as the float nearest to them.

A decimal v = D 10^p, with D < 10^19 and abs(p) <= 290, is rounded half up to a multiple of r = 2^e as
what it says. Let u = 2^-53. x = fl(fl(D) fl(10^p)) takes three roundings, so that abs(v - x) is at most
((1 + u)^3 - 1) abs(v), below 4 u abs(x). y = x / r is exact, r being a power of two, unless it underflows, where its
error is nothing to 2^-52. So v / r lies within 4 u abs(y) = 2^-51 abs(y) of y. y - floor(y) is exact but for the
rounding of what lies near 1, at most u. Where it is further from 1/2 than 2^-51 abs(y) + 2^-52, both errors together do
not reach the half, and y decides.

Else floor(2 v / r) is found in integers, floor(v / r + 1/2) = floor((floor(2 v / r) + 1) / 2): 2 v / r is
D 5^p 2^(1 - e + p), and for p < 0 a long division by 5^-p < 2^63 brings in as many bits at a time as that leaves room
for.

From 2^52 steps on, y has no half to be compared with and steps may not fit in a float: the point is then told as x,
which is a multiple of r, and steps from there, floor((floor(2 v / r) - 2 x / r + 1) / 2). That difference is at most
2^-50 abs(y) + 1, so for abs(y) < 2^102 it is known from its lowest 64 bits, and the steps are at most 2^51 + 1.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._intrinsics import address_of, bits_from_float64, float64_from_bits, leading_zeros, load_word
from lapnoise._jit import device, kernel
from lapnoise.kernels.cell_numbers import MISSING, OPEN, READ, SHORT, bare, decimal, is_missing

__all__ = ["float_powers", "read_points"]

_MOST_POWER = 290
_MOST_FIVES = 27
_FIVES = np.array([5**k for k in range(_MOST_FIVES + 1)], np.uint64)
_U0, _U1 = np.uint64(0), np.uint64(1)
_FRACTION = np.uint64((1 << 52) - 1)


@functools.cache
def float_powers() -> NDArray[np.float64]:
    """Return the floats nearest to 10^-290 up to 10^290."""
    return np.array([float(f"1e{k}") for k in range(-_MOST_POWER, _MOST_POWER + 1)])


@device
def _doubled_floor(number: Any, power: Any, negative: Any, exponent: Any) -> Any:
    """Return whether floor(2 v / 2^exponent) could be found for v = number 10^power, and its lowest 64 bits."""
    if abs(power) > _MOST_FIVES:
        return False, _U0
    fives = _FIVES[np.uint64(abs(power))]
    divisor = _U1 if power > 0 else fives
    if power > 0:
        if number > np.uint64(0xFFFFFFFFFFFFFFFF) // fives:
            return False, _U0
        number *= fives
    shift = 1 - exponent + power
    floor = number // divisor
    rest = number - floor * divisor
    if shift <= -64:
        rest = _U1 if number != _U0 else _U0
        floor = _U0
    elif shift < 0:
        whole = floor >> np.uint64(-shift)
        if whole << np.uint64(-shift) != floor:
            rest = _U1
        floor = whole
    room: Any = np.int64(leading_zeros(divisor))
    while shift > 0:
        if rest == _U0:
            floor = floor << np.uint64(shift) if shift < 64 else _U0
            break
        bits = min(room, shift)
        scaled = rest << np.uint64(bits)
        quotient = scaled // divisor
        rest = scaled - quotient * divisor
        floor = (floor << np.uint64(bits)) + quotient
        shift -= bits
    if negative:
        floor = _U0 - floor - (_U1 if rest != _U0 else _U0)
    return True, floor


@device
def _doubled_steps(x: float, exponent: int) -> Any:
    """Return the lowest 64 bits of 2 x / 2^exponent for a normal x of at least 2^52 steps."""
    bits = bits_from_float64(x)
    mantissa = (bits & _FRACTION) | (_FRACTION + _U1)
    shift = np.int64((bits >> np.uint64(52)) & np.uint64(0x7FF)) - 1075 + 1 - exponent
    doubled = mantissa << np.uint64(shift) if shift < 64 else _U0
    return _U0 - doubled if bits >> np.uint64(63) else doubled


@device
def _point(number: Any, power: int, negative: Any, exponent: int, factors: Any, powers: Any) -> Any:
    """Return (found, base, steps) of the lattice point to which number 10^power is rounded."""
    x = np.float64(number) * float64_from_bits(
        load_word(powers, 8 * (max(-_MOST_POWER, min(power, _MOST_POWER)) + _MOST_POWER))
    )
    if negative:
        x = -x
    y = x * factors[0] * factors[1]
    below = np.floor(y)
    rest = y - below
    base = 0.0
    steps = np.int64(0)
    found = abs(power) <= _MOST_POWER and abs(y) < 2.0**102
    if found and abs(y) < 2.0**52 and abs(rest - 0.5) > abs(y) * 2.0**-51 + 2.0**-52:
        steps = np.int64(below) + (1 if rest > 0.5 else 0)
    elif found:
        doubled = _U0
        if abs(y) >= 2.0**52:
            base = x
            doubled = _doubled_steps(x, exponent)
        found, floor = _doubled_floor(number, power, negative, exponent)
        steps = (np.int64(floor - doubled) + 1) >> 1
    return found, base, steps


@kernel
def read_points(
    data: Any,
    starts: Any,
    ends: Any,
    quote: Any,
    texts: Any,
    bounds: Any,
    firsts: Any,
    exponent: int,
    factors: Any,
    powers: Any,
    base: Any,
    steps: Any,
    states: Any,
) -> int:
    """Round cells to the lattice of 2^exponent; return how many are open.

    Parameters
    ----------
    data, starts, ends, quote, texts, bounds, firsts
        As in `cell_numbers.check_decimals`.
    factors : ndarray of float64
        Two powers of two whose product is 2^-exponent.
    powers : ndarray of float64
        As `float_powers` returns them.
    base, steps, states : ndarrays of float64, int64 and uint8
        Written: the point is base + steps 2^exponent, and base is 0 below 2^52 steps; NaN and 0 in a missing cell.
    """
    text = address_of(data)
    scale, table = (factors[0], factors[1]), address_of(powers)
    absent = (address_of(texts), address_of(bounds), address_of(firsts), bounds.size - 1)
    still_open = 0
    for i in range(starts.size):
        start, end = bare(text, np.int64(starts[i]), np.int64(ends[i]), quote)
        base[i] = 0.0
        steps[i] = 0
        states[i] = READ
        if is_missing(text, start, end, absent):
            base[i] = np.nan
            states[i] = MISSING
            continue
        kind, negative, number, _, power = decimal(text, start, end)
        if kind == SHORT:
            found, base[i], steps[i] = _point(number, power, negative, exponent, scale, table)
        else:
            found = False
        if not found:
            states[i] = OPEN
            still_open += 1
    return still_open
