"""A natural logarithm without branches, tables or calls, in pieces that a loop over a batch can vectorise.

For x = 2^e (1 + f) with f in [sqrt(1/2) - 1, sqrt(2) - 1], and s = f / (2 + f), z = s^2,

    log x = e ln 2 + f - s (f - z P(z)),

since log(1 + f) = 2 atanh(s) = 2 s + s z P(z) and 2 s = f - s f. The leading term f is exact, and what is subtracted
from it is at most 0.2 of it: that is what keeps the error small. P is fitted by tools/fit_logarithm.py.

Error. On every (e, f) that ``kernels.uniform`` makes, the result lies within 2 ulp of -log(u) for the *exact* uniform
of the word, the rounding of f included (largest error seen on 1e8 words: 1.6 ulp).

References
----------
.. [1] P. T. P. Tang, "Table-driven implementation of the logarithm function in IEEE floating-point arithmetic", ACM
   TOMS 16 (1990) 378-400, for the form f - s (...) without a table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import (
    bits_from_float32,
    bits_from_float64,
    float32_from_bits,
    float64_from_bits,
    fma32,
    fma64,
)
from lapnoise._jit import device
from lapnoise.kernels.powers import CENTRE, RATIO_CENTRE, RATIO_CENTRE32, inverse_power, power, power32

__all__ = [
    "log_of_ratio",
    "log_of_ratio32",
    "log_positive",
    "negative_log",
    "negative_log32",
    "ratio",
    "ratio32",
]

_LN2 = 0.6931471805599453
_LN2F = np.float32(0.6931471805599453)

# P on z <= 0.029437: relative error of the logarithm below 4.7e-18 (0.04 ulp).
_C0 = 0.666666666666667
_C1 = 0.39999999999899505
_C2 = 0.28571428625975487
_C3 = 0.2222221113479508
_C4 = 0.18182889125261723
_C5 = 0.15331721600556042
_C6 = 0.14616449685043406

# P on z <= 0.040152, for the ratio of two uniforms: relative error below 5.3e-19.
_W0 = 0.6666666666666666
_W1 = 0.4000000000000801
_W2 = 0.2857142856724303
_W3 = 0.22222223053826456
_W4 = 0.18181737196978637
_W5 = 0.153888849415587
_W6 = 0.13209371494115216
_W7 = 0.1361161435410514

# The same for float32: relative errors below 2.8e-9 (0.05 ulp) and 8.3e-11.
_S0 = np.float32(0.6666668503957586)
_S1 = np.float32(0.3998878056602198)
_S2 = np.float32(0.2957994939197279)
_V0 = np.float32(0.6666666627115161)
_V1 = np.float32(0.40000314882813515)
_V2 = np.float32(0.28532441882299736)
_V3 = np.float32(0.23753401292470505)
_TWOF = np.float32(2.0)


@device
def ratio(f: Any) -> Any:
    """Return s = f / (2 + f) in float64."""
    return f / (2.0 + f)


@device
def negative_log(e: Any, f: Any, s: Any) -> Any:
    """Return -log(2^e (1 + f)) in float64, s being ``ratio(f)``."""
    z = s * s
    z2 = z * z
    # Estrin's scheme: the chain is 4 operations long instead of 6.
    high = fma64(z2, _C6, fma64(z, _C5, _C4))
    p = fma64(z2, fma64(z2, high, fma64(z, _C3, _C2)), fma64(z, _C1, _C0))
    return fma64(s, fma64(-z, p, f), fma64(-e, _LN2, -f))


@device
def log_positive(x: Any) -> Any:
    """Return log(x) for 2^-1022 <= x < 2^1022 within 2 ulp, or within 2e-16 where abs(log x) < 1/4."""
    power_bits, e = power(bits_from_float64(x) + CENTRE)
    f = x * inverse_power(power_bits) - 1.0
    return -negative_log(e, f, ratio(f))


@device
def log_of_ratio(high_a: Any, low_a: Any, high_b: Any, low_b: Any) -> Any:
    """Return log(a / b) in float64 for a = high_a + low_a and b alike, within 4 ulp, near a = b too.

    s = (a - 2^e b) / (a + 2^e b) takes one division; where e = 0 both differences of halves are exact, so that close
    a and b keep all their bits. Elsewhere each is rounded once, relative to a half, so the halves must carry no offset:
    with one, 3 2^-64 over 2^-64 would come out as 4.
    """
    a = high_a + low_a
    b = high_b + low_b
    power_bits, e = power(bits_from_float64(a) - bits_from_float64(b) + RATIO_CENTRE)
    c = float64_from_bits(power_bits)
    s = (fma64(-c, high_b, high_a) + fma64(-c, low_b, low_a)) / fma64(c, b, a)
    z = s * s
    z2 = z * z
    top = fma64(z2, fma64(z, _W7, _W6), fma64(z, _W5, _W4))
    p = fma64(z2, fma64(z2, top, fma64(z, _W3, _W2)), fma64(z, _W1, _W0))
    return fma64(e, _LN2, fma64(s * z, p, s + s))


@device
def ratio32(f: Any) -> Any:
    """Return s = f / (2 + f) in float32."""
    return f / (_TWOF + f)


@device
def negative_log32(e: Any, f: Any, s: Any) -> Any:
    """Return -log(2^e (1 + f)) in float32, s being ``ratio32(f)``."""
    z = s * s
    p = fma32(z, fma32(z, _S2, _S1), _S0)
    return fma32(s, fma32(-z, p, f), fma32(-e, _LN2F, -f))


@device
def log_of_ratio32(high_a: Any, low_a: Any, high_b: Any, low_b: Any) -> Any:
    """Return log(a / b) in float32; see ``log_of_ratio``."""
    a = high_a + low_a
    b = high_b + low_b
    difference = np.uint32(bits_from_float32(a) - bits_from_float32(b))
    power_bits, e = power32(np.uint32(difference + RATIO_CENTRE32))
    c = float32_from_bits(power_bits)
    s = (fma32(-c, high_b, high_a) + fma32(-c, low_b, low_a)) / fma32(c, b, a)
    z = s * s
    p = fma32(z, fma32(z, fma32(z, _V3, _V2), _V1), _V0)
    return fma32(e, _LN2F, fma32(s * z, p, s + s))
