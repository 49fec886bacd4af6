"""Values rounded to the lattice points of a domain, and lattice points turned into floats of the domain.

The domain is [low, high] in steps of the granularity r, both within plus or minus 2^62, so that every step is an int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._jit import kernel
from lapnoise.kernels.batches import location
from lapnoise.kernels.lattice_noise import odd, rounded_shift, steps_of

__all__ = ["integers_to_domain", "points_to_floats", "points_to_floats32", "values_to_domain"]

_MOST = 2.0**62


@kernel
def values_to_domain(centre: Any, values: Any, target: Any, low: int, high: int, steps: Any) -> None:
    """Write the floats, rounded half up to steps and clamped to the domain, to ``centre`` (int64); NaN becomes low.

    ``values`` is an array, a number, or None for ``target``.
    """
    scales = (steps[0], steps[1])
    for i in range(centre.size):
        rounded, _ = steps_of(np.float64(location(values, target, i)), scales)
        if rounded >= _MOST:
            centre[i] = high
        elif rounded > -_MOST:
            centre[i] = min(max(np.int64(rounded), low), high)
        else:  # NaN too
            centre[i] = low


@kernel
def integers_to_domain(centre: Any, values: Any, low: int, high: int, first: int, last: int, shift: int) -> None:
    """Do the same for int64 values; ``shift`` is the exponent of r.

    ``first`` and ``last`` are the least and the greatest integer strictly inside the domain, cut to 64 bits: between
    them a shift to the left stays within 2^62.
    """
    for i in range(centre.size):
        x = values[i]
        if x < first:
            centre[i] = low
        elif x > last:
            centre[i] = high
        elif shift <= 0:
            centre[i] = x << np.int64(min(-shift, 62))  # beyond 62 only 0 is inside
        else:
            centre[i] = min(max(rounded_shift(x, shift, False), low), high)


@kernel
def points_to_floats(out: Any, values: Any, points: Any, steps: Any, least: float, most: float) -> None:
    """Write each point's multiple of r, rounded once to float64 and cut to [least, most], to ``out``; NaN stays NaN."""
    r1, r2 = steps[2], steps[3]
    for i in range(out.size):
        x = location(values, out, i)
        nearest = (np.float64(points[i]) * r1) * r2
        out[i] = min(max(nearest, least), most) if x == x else x


@kernel
def points_to_floats32(out: Any, values: Any, points: Any, steps: Any, least: float, most: float) -> None:
    """Do the same in float32."""
    r1, r2 = steps[2], steps[3]
    for i in range(out.size):
        x = location(values, out, i)
        high = np.float64(points[i])
        low = np.float64(points[i] - np.int64(high))
        nearest = (odd(high, low) * r1) * r2
        # What is cut to floats of the kind stays there when it is rounded.
        out[i] = np.float32(min(max(nearest, least), most)) + np.float32(0.0) if x == x else x
