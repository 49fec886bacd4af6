"""Fit the polynomials of kernels/log.py and print them; run once, with mpmath, whenever an interval or degree changes.

With s = f / (2 + f) and z = s^2 the logarithm is log(1 + f) = 2 atanh(s) = 2 s + s z P(z), where
P(z) = (2 atanh(s) / s - 2) / z = 2/3 + 2/5 z + 2/7 z^2 + ... is fitted on [0, z_max] (Chebyshev, nearly minimax).
"""

from __future__ import annotations

from mpmath import atanh, chebyfit, mp, mpf, sqrt

mp.prec = 240


def p(z: mpf) -> mpf:
    """Return P(z) to the working precision; its series where the closed form would cancel."""
    if z < mpf(2) ** -60:
        return mpf(2) / 3 + mpf(2) / 5 * z
    s = sqrt(z)
    return (2 * atanh(s) / s - 2) / z


def fit(name: str, s_max: mpf, degree: int) -> None:
    """Print the coefficients, lowest first, and the largest error relative to log(1 + f)."""
    z_max = s_max**2
    coefficients, error = chebyfit(p, [0, z_max], degree + 1, error=True)
    print(f"{name}: z_max = {float(z_max):.6f}, relative error <= {float(error * z_max / 2):.2e}")
    for c in reversed(coefficients):
        print(f"    {float(c)!r},")


narrow = (sqrt(2) - 1) / (sqrt(2) + 1)  # 1 + f in [sqrt(1/2), sqrt(2)]
# The exponent difference of two doubles misjudges the binary logarithm of their ratio by up to 0.0861.
wide_ratio = mpf(2) ** (mpf("0.5") + mpf("0.0861"))
wide = (wide_ratio - 1) / (wide_ratio + 1)
fit("NARROW (float64)", narrow, 6)
fit("WIDE (float64)", wide, 7)
fit("NARROW (float32)", narrow, 2)
fit("WIDE (float32)", wide, 3)
