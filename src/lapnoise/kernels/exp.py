"""exp(-x) and 1 - exp(-x) without the C library, whose last bits differ between machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import fma64
from lapnoise._jit import device
from lapnoise.kernels.powers import inverse_power

__all__ = ["decay"]

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.6931471805599453
_LN2_LOW = 2.3190468138462996e-17  # ln 2 - _LN2_HIGH
_BIAS = np.int64(1023)
_SHIFT = np.uint64(52)
_FARTHEST = 700.0  # exp(-700) = 1e-304; beside 2^-65, the least that it is ever added to, it is nothing


@device
def decay(x: Any) -> Any:
    """Return (exp(-x), 1 - exp(-x)) for x >= 0, infinity included, each within a relative 1e-15 (the first to x = 700).

    With k = round(x / ln 2) and r = x - k ln 2, exp(-x) = 2^-k (1 + p) and 1 - exp(-x) = (1 - 2^-k) - 2^-k p, where
    p = exp(-r) - 1 by its Taylor series; for k = 0 the second is -p, so nothing cancels.
    """
    x = min(x, _FARTHEST)
    k = np.floor(fma64(x, _LOG2_E, 0.5))
    r = fma64(k, _LN2_LOW, fma64(k, _LN2_HIGH, -x))
    # |r| <= 0.347: the first term left out, r^15 / 15!, is below 1e-19.
    p = 1.0 / 87178291200.0
    p = fma64(p, r, 1.0 / 6227020800.0)
    p = fma64(p, r, 1.0 / 479001600.0)
    p = fma64(p, r, 1.0 / 39916800.0)
    p = fma64(p, r, 1.0 / 3628800.0)
    p = fma64(p, r, 1.0 / 362880.0)
    p = fma64(p, r, 1.0 / 40320.0)
    p = fma64(p, r, 1.0 / 5040.0)
    p = fma64(p, r, 1.0 / 720.0)
    p = fma64(p, r, 1.0 / 120.0)
    p = fma64(p, r, 1.0 / 24.0)
    p = fma64(p, r, 1.0 / 6.0)
    p = fma64(p, r, 0.5)
    p = fma64(p, r * r, r)
    power = inverse_power(np.uint64(_BIAS + np.int64(k)) << _SHIFT)
    return fma64(power, p, power), fma64(-power, p, 1.0 - power)
