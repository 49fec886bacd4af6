"""The bound behind exact noise, computed from its parts (docs/exact-sampling.md, section 3)."""

import math
from fractions import Fraction

from mpmath import mp, mpf

from lapnoise.kernels import log
from lapnoise.kernels.discrete_laplace import TAIL

EPS0 = 2.0**-53
FIT = 4.61e-18
"""How far the polynomial is off, as a part of the logarithm."""
CONSTANT = 0.75
"""What the bound has beside t: half a unit for rounding kappa < 1/2 as a part of y, a quarter for kappa itself."""
LOGARITHM = ("f", "s T", "fit", "LN2", "-e LN2 - f", "E")
"""The parts that bound the error of E, which the others take up."""


def derived() -> dict[str, float]:
    """Return the parts of the bound on abs(y - y_true), in units of t 2^-53, for E <= 11."""
    half, most = math.sqrt(0.5) - 1, math.sqrt(2) - 1
    s_most = max(abs(f / (2 + f)) for f in (half, most))
    z_most = s_most**2
    one = 1 + EPS0
    s_relative = (one**2 - 1) / EPS0
    z_relative = (one * (1 + s_relative * EPS0) ** 2 - 1) / EPS0
    coefficients = [getattr(log, f"_C{k}") for k in range(7)]
    p_most = sum(c * z_most**k for k, c in enumerate(coefficients))
    p_sensitive = sum(k * c * z_most**k for k, c in enumerate(coefficients)) / p_most
    # The last fma of P rounds once; what was rounded before it is multiplied by z, and by z^2 half of it.
    p_relative = 1 + 3 * z_most + p_sensitive * z_relative
    t_most = max(most - z_most * p_most, -half + z_most * p_most)
    t_error = z_most * p_most * (z_relative + p_relative) + 0.25
    e_most = math.ceil(TAIL / math.log(2))
    with mp.workprec(200):
        ln2_error = float(abs(mpf(log._LN2) - mp.log(2)) / EPS0)
    return {
        "f": max(abs(f) / (1 + f) for f in (half, most)),
        "s T": s_most * t_error + t_most * s_relative * s_most,
        "fit": FIT * math.log(2) / 2 / EPS0,
        "LN2": ln2_error * e_most,
        "-e LN2 - f": 2.0**-50 / EPS0 if e_most * math.log(2) + most < 16 else math.inf,
        "E": 2.0**-50 / EPS0 if TAIL < 16 else math.inf,
        "cell": math.exp(TAIL) * (1 + 2.0**-39) / 2.0**64 / EPS0,
        "y": TAIL,
    }


def too_small(slack, t: float) -> bool:
    """Return whether a certificate is smaller than the derived bound, or leaves it less than a quarter to spare."""
    bound = Fraction(sum(derived().values())) * Fraction(t) * Fraction(EPS0) + Fraction(CONSTANT * EPS0)
    return Fraction(slack(t)) < bound * Fraction(5, 4)
