"""Whole steps that were drawn before, added to values on a lattice; the sums are those of ``kernels.lattice_noise``.

Noise that needs several attempts is drawn into a buffer of integers first, and added in a pass of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._jit import kernel
from lapnoise.kernels.batches import location
from lapnoise.kernels.lattice_noise import (
    LARGEST,
    LARGEST32,
    lower_half,
    odd,
    rounded_shift,
    saturated,
    saturating_sum,
    steps_of,
    sum_of_three,
    upper_half,
)
from lapnoise.kernels.refined import two_sum

__all__ = ["add_steps", "add_steps32", "add_steps_saturating", "add_steps_to_integers"]


@kernel
def add_steps(out: Any, values: Any, noise: Any, steps: Any) -> None:
    """Write values + noise r to ``out`` (float64); ``values`` is an array, a number, or None for ``out`` itself.

    Requires abs(noise) <= 2^52, so that a sum of steps is a float.
    """
    inverse1, inverse2, r1, r2 = steps[0], steps[1], steps[2], steps[3]
    for i in range(out.size):
        x = location(values, out, i)
        k = np.float64(noise[i])
        rounded, huge = steps_of(x, (inverse1, inverse2))
        near = ((rounded + k) * r1) * r2
        far = x + (k * r1) * r2
        out[i] = saturated(far if huge else near, LARGEST)


@kernel
def add_steps32(out: Any, values: Any, noise: Any, steps: Any) -> None:
    """Do the same in float32: the exact sum is rounded once, to float32."""
    inverse1, inverse2, r1, r2 = steps[0], steps[1], steps[2], steps[3]
    for i in range(out.size):
        x = np.float64(location(values, out, i))
        k = np.float64(noise[i])
        rounded, huge = steps_of(x, (inverse1, inverse2))
        near = ((rounded + k) * r1) * r2
        total, error = two_sum(x, (k * r1) * r2)
        far = odd(total, error)
        # A negative sum below the least float32 would become -0.0.
        out[i] = np.float32(saturated(far if huge else near, LARGEST32)) + np.float32(0.0)


@kernel
def add_steps_to_integers(out: Any, values: Any, noise: Any, steps: Any, shift: int, unsigned: bool) -> None:
    """Do the same for int64 values (uint64 seen as int64 where ``unsigned``), giving float64.

    ``shift`` is the exponent of r.
    """
    r1, r2 = steps[2], steps[3]
    for i in range(out.size):
        x = values[i]
        k = np.float64(noise[i])
        if shift <= 0:
            out[i] = sum_of_three(upper_half(x, unsigned), lower_half(x), (k * r1) * r2)
        else:
            steps_of_x = rounded_shift(x, shift, unsigned)
            total = sum_of_three(upper_half(steps_of_x, unsigned), lower_half(steps_of_x), k)
            out[i] = saturated((total * r1) * r2, LARGEST)


@kernel
def add_steps_saturating(out: Any, values: Any, noise: Any, unsigned: bool) -> None:
    """Write values + noise to ``out`` (int64) for such integers, r being 1; the sum saturates at +-(2^63 - 1)."""
    for i in range(out.size):
        out[i] = saturating_sum(values[i], noise[i], unsigned)
