"""Exact noise added to values: round each to the lattice, add whole steps, convert the sum once.

With r the granularity, a value x becomes i = floor(x / r + 1/2) and the result is (i + X) r, rounded once. X below
2^49 is exact in float64, and so is i + X where abs(x / r) < 2^52. Beyond that x is a lattice point itself, and the one
IEEE addition x + X r rounds the exact sum. Multiplying by r is exact, also among the subnormal numbers; beyond the
largest float the result saturates. No result is -0.0, because i never is.

r and 1 / r are each given as two factors, since the reciprocal of the least float is not a float.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import bits_from_float64, float64_from_bits
from lapnoise._jit import device, kernel
from lapnoise.bits.chacha_lanes import refill
from lapnoise.kernels.batches import float64_rooms, location, part, word_room
from lapnoise.kernels.discrete_laplace import magnitudes
from lapnoise.kernels.laplace import signed
from lapnoise.kernels.refined import two_sum

__all__ = [
    "add_integer_noise",
    "add_lattice_noise",
    "add_lattice_noise32",
    "add_lattice_noise_to_integers",
    "find_infinite",
    "lower_half",
    "odd",
    "rounded_shift",
    "saturated",
    "saturating_sum",
    "steps_of",
    "sum_of_three",
    "upper_half",
]

_LATTICE_POINTS = 2.0**52
LARGEST = float(np.finfo(np.float64).max)
LARGEST32 = float(np.finfo(np.float32).max)
_ONE = np.uint64(1)
_HALF_WORD = np.uint64(0xFFFFFFFF)
_HALF = 4294967296.0
_LARGEST_INTEGER = np.int64(2**63 - 1)


@device
def steps_of(x: Any, steps: Any) -> Any:
    """Return (i, whether x is too large to need rounding), steps being (1/r as two factors, r as two factors)."""
    y = (x * steps[0]) * steps[1]
    floor = np.floor(y)
    # floor(y + 1/2) would take 0.49999999999999994 to 1.
    return floor + (1.0 if y - floor >= 0.5 else 0.0), abs(y) >= _LATTICE_POINTS


@device
def odd(value: Any, error: Any) -> Any:
    """Round a sum to odd: if it is inexact and even, move it one unit toward the exact value.

    A sum so rounded can be rounded again to fewer bits as if it had been exact (Boldo and Melquiond 2008).
    """
    bits = bits_from_float64(value)
    outward = (error > 0.0) == (value > 0.0)
    moved = bits + _ONE if outward else bits - _ONE
    inexact = error != 0.0 and (bits & _ONE) == 0
    return float64_from_bits(moved if inexact else bits)


@device
def saturated(value: Any, largest: Any) -> Any:
    """Return the value, or the largest float of its sign where it lies beyond."""
    value = largest if value > largest else value  # min() would turn NaN into a number
    return -largest if value < -largest else value


@kernel
def add_lattice_noise(
    out: Any, values: Any, law: Any, steps: Any, source: Any, position: int, scratch: Any, pending: Any
) -> int:
    """Write values + exact noise to ``out`` (float64); ``values`` is an array, a number, or None for ``out`` itself.

    Returns how many were made before ``pending`` was full. Where a draw stays undecided ``out`` holds the value as it
    was.
    """
    words = word_room(scratch)
    e, f, s = float64_rooms(scratch)
    inverse1, inverse2, r1, r2 = steps[0], steps[1], steps[2], steps[3]
    scales = (inverse1, inverse2)
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + words.size < pending.size:
        skip, count = refill(words, source, position + done, out.size - done, 1)
        batch = words[skip : skip + count]
        before = pending[0]
        magnitudes(batch, law, e, f, s, pending, done)
        target = out[done : done + count]
        values_part = part(values, done, count)
        for k in range(before, pending[0]):
            f[k - before] = location(values_part, target, pending[k + 1] - done)
        for i in range(count):
            x = location(values_part, target, i)
            noise = signed(e[i], batch[i])
            rounded, huge = steps_of(x, scales)
            near = ((rounded + noise) * r1) * r2
            far = x + (noise * r1) * r2
            target[i] = saturated(far if huge else near, LARGEST)
        for k in range(before, pending[0]):
            target[pending[k + 1] - done] = f[k - before]
        done += count
    return done


@kernel
def add_lattice_noise32(
    out: Any, values: Any, law: Any, steps: Any, source: Any, position: int, scratch: Any, pending: Any
) -> int:
    """Do the same in float32: the exact sum is rounded once, to float32."""
    words = word_room(scratch)
    e, f, s = float64_rooms(scratch)
    inverse1, inverse2, r1, r2 = steps[0], steps[1], steps[2], steps[3]
    scales = (inverse1, inverse2)
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + words.size < pending.size:
        skip, count = refill(words, source, position + done, out.size - done, 1)
        batch = words[skip : skip + count]
        before = pending[0]
        magnitudes(batch, law, e, f, s, pending, done)
        target = out[done : done + count]
        values_part = part(values, done, count)
        for k in range(before, pending[0]):
            f[k - before] = np.float64(location(values_part, target, pending[k + 1] - done))
        for i in range(count):
            x = np.float64(location(values_part, target, i))
            noise = signed(e[i], batch[i])
            rounded, huge = steps_of(x, scales)
            near = ((rounded + noise) * r1) * r2
            total, error = two_sum(x, (noise * r1) * r2)
            far = odd(total, error)
            # A negative sum below the least float32 would become -0.0.
            target[i] = np.float32(saturated(far if huge else near, LARGEST32)) + np.float32(0.0)
        for k in range(before, pending[0]):
            target[pending[k + 1] - done] = np.float32(f[k - before])
        done += count
    return done


@kernel
def add_lattice_noise_to_integers(
    out: Any,
    values: Any,
    law: Any,
    steps: Any,
    shift: int,
    unsigned: bool,
    source: Any,
    position: int,
    scratch: Any,
    pending: Any,
) -> int:
    """Write values + exact noise to ``out`` (float64) for 64-bit integers, which never pass through a float unrounded.

    ``values`` is int64, or uint64 seen as int64 where ``unsigned``. ``shift`` is the exponent of r. Up to 0 every
    integer is a lattice point, and the sum of its two halves and the noise is rounded once; above, the integer is
    rounded half up by shifts.
    """
    words = word_room(scratch)
    e, f, s = float64_rooms(scratch)
    r1, r2 = steps[2], steps[3]
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + words.size < pending.size:
        skip, count = refill(words, source, position + done, out.size - done, 1)
        batch = words[skip : skip + count]
        magnitudes(batch, law, e, f, s, pending, done)
        for i in range(count):
            x = values[done + i]
            noise = signed(e[i], batch[i])
            if shift <= 0:
                out[done + i] = sum_of_three(upper_half(x, unsigned), lower_half(x), (noise * r1) * r2)
            else:
                # In halves here too: 2^64 - 1 at r = 2 becomes 2^63, which is no int64.
                steps_of_x = rounded_shift(x, shift, unsigned)
                total = sum_of_three(upper_half(steps_of_x, unsigned), lower_half(steps_of_x), noise)
                out[done + i] = saturated((total * r1) * r2, LARGEST)
        done += count
    return done


@kernel
def add_integer_noise(
    out: Any, values: Any, law: Any, unsigned: bool, source: Any, position: int, scratch: Any, pending: Any
) -> int:
    """Write values + exact noise to ``out`` (int64) for 64-bit integers; only the sum saturates, at +-(2^63 - 1)."""
    words = word_room(scratch)
    e, f, s = float64_rooms(scratch)
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + words.size < pending.size:
        skip, count = refill(words, source, position + done, out.size - done, 1)
        batch = words[skip : skip + count]
        magnitudes(batch, law, e, f, s, pending, done)
        target = out[done : done + count]
        values_part = part(values, done, count)
        for i in range(count):
            x = location(values_part, target, i)
            if e[i] >= 0.0:
                target[i] = saturating_sum(x, np.int64(signed(e[i], batch[i])), unsigned)
            else:
                target[i] = x
        done += count
    return done


@kernel
def find_infinite(values: Any) -> int:
    """Return the index of the first infinite value, or -1."""
    block = 4096
    for start in range(0, values.size, block):
        part_of = values[start : start + block]
        found = 0
        for i in range(part_of.size):
            found |= 1 if abs(part_of[i]) == np.inf else 0
        if found:
            for i in range(part_of.size):
                if abs(part_of[i]) == np.inf:
                    return start + i
    return -1


@device
def sum_of_three(a: Any, b: Any, c: Any) -> Any:
    """Return a + b + c rounded once (Boldo and Melquiond 2008, figure 5).

    The two smaller ones' error and the larger sum's are added with rounding to odd, so that the last addition rounds
    as if it had the exact sum.
    """
    high, low = two_sum(b, c)
    total, error = two_sum(a, high)
    rest, lost = two_sum(error, low)
    return total + odd(rest, lost)


@device
def upper_half(x: Any, unsigned: bool) -> Any:
    """Return floor(x / 2^32) 2^32 for a 64-bit integer, exactly."""
    return (np.float64(np.uint64(x) >> np.uint64(32)) if unsigned else np.float64(x >> np.int64(32))) * _HALF


@device
def lower_half(x: Any) -> Any:
    """Return what ``upper_half`` leaves of x."""
    return np.float64(np.uint64(x) & _HALF_WORD)


@device
def rounded_shift(x: Any, shift: Any, unsigned: bool) -> Any:
    """Return floor(x / 2^shift + 1/2) for shift >= 1: the bits kept, and the highest bit dropped added to them.

    2^63 comes out of an unsigned x as its bits.
    """
    if shift > 64:
        return np.int64(0)
    if unsigned:
        bits = np.uint64(x)
        kept = bits >> np.uint64(shift) if shift < 64 else np.uint64(0)
        return np.int64(kept + ((bits >> np.uint64(shift - 1)) & _ONE))
    if shift == 64:
        return np.int64(0)
    return (x >> np.int64(shift)) + ((x >> np.int64(shift - 1)) & np.int64(1))


@device
def saturating_sum(x: Any, noise: Any, unsigned: bool) -> Any:
    """Return x + noise, at most 2^63 - 1 and at least -(2^63 - 1); x is seen as int64 where ``unsigned``."""
    if unsigned and x < 0:
        # x stands for 2^63 + excess; the sum fits in an int64 exactly if excess + noise is negative.
        if noise >= 0:
            return _LARGEST_INTEGER
        below = (x & _LARGEST_INTEGER) + noise
        return _LARGEST_INTEGER + (below + np.int64(1)) if below < 0 else _LARGEST_INTEGER
    # Compared before it is added: an overflowing sum is undefined, and the compiler would drop a test of it.
    if noise >= 0:
        return _LARGEST_INTEGER if x > _LARGEST_INTEGER - noise else max(x + noise, -_LARGEST_INTEGER)
    return -_LARGEST_INTEGER if x < -_LARGEST_INTEGER - noise else x + noise
