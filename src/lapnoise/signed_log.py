"""Numbers as a sign and the logarithm of a magnitude, for noise beyond the floats."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check

__all__ = ["SignedLog"]

_LOG_LARGEST = math.log(np.finfo(np.float64).max)


class SignedLog(NamedTuple):
    """x as sign(x) and ln abs(x).

    Attributes
    ----------
    sign : ndarray of int8, or int
        -1, 0 or 1.
    log_abs : ndarray of float64, or float
        Natural logarithm of the magnitude; -inf where the sign is 0. An error of d here is a relative error of d in x.
    """

    sign: Any
    log_abs: Any

    def to_float(self) -> Any:
        """Return x as float64, a float for a single number.

        Raises
        ------
        OverflowError
            If a magnitude lies beyond the largest float; nothing is returned then. A magnitude below the least becomes
            0.
        """
        log_abs = np.asarray(self.log_abs, dtype=np.float64)
        # exp rounds log(max) itself up to infinity on some machines; the next float below is safe on all.
        if log_abs.size and float(log_abs.max()) >= _LOG_LARGEST:
            raise OverflowError(f"log_abs must be below {_LOG_LARGEST} to become a float, got {float(log_abs.max())!r}")
        result = np.asarray(self.sign) * np.exp(log_abs)
        return float(result) if result.ndim == 0 else result

    def add(self, value: Any) -> SignedLog:
        """Return x + value as a SignedLog.

        With M the larger and m the smaller logarithm of the two magnitudes, ln abs(x + value) is M + log1p(exp(m - M))
        for equal signs and M + log(-expm1(m - M)) for opposite ones: nothing overflows, and nothing cancels but what
        cancels in the numbers themselves.

        Parameters
        ----------
        value : float or array_like
            Finite numbers, of any shape that broadcasts with x.

        Raises
        ------
        ValueError
            If a value is NaN or infinite.
        """
        _check.no_signed_log(value, SignedLog)
        other = np.asarray(_check.finite("value", value), dtype=np.float64)
        own_sign = np.asarray(self.sign, dtype=np.int8)
        own_log = np.asarray(self.log_abs, dtype=np.float64)
        other_sign = np.sign(other).astype(np.int8)
        with np.errstate(divide="ignore"):
            other_log = np.log(np.abs(other))
        own_larger = own_log >= other_log
        larger = np.where(own_larger, own_log, other_log)
        with np.errstate(invalid="ignore"):
            difference = np.where(larger == -math.inf, 0.0, np.where(own_larger, other_log, own_log) - larger)
        alike = own_sign == other_sign
        with np.errstate(divide="ignore"):
            grown = np.log1p(np.exp(difference))
            # Below ln 2 expm1 keeps the digits, above it log1p does (Maechler 2012, "Accurately computing log(1 -
            # exp(-a))").
            near = np.log(-np.expm1(difference))
            far = np.log1p(-np.exp(np.minimum(difference, -math.log(2.0))))
        shrunk = np.where(difference > -math.log(2.0), near, far)
        untouched = (own_sign == 0) | (other_sign == 0)
        log_abs = larger + np.where(untouched, 0.0, np.where(alike, grown, shrunk))
        sign = np.where(log_abs == -math.inf, 0, np.where(own_larger, own_sign, other_sign))
        sign = np.where(untouched, own_sign + other_sign, sign).astype(np.int8)
        return _as_numbers(sign, log_abs)


def _as_numbers(sign: NDArray[np.int8], log_abs: NDArray[np.float64]) -> SignedLog:
    if log_abs.ndim == 0:
        return SignedLog(int(sign), float(log_abs))
    return SignedLog(sign, log_abs)
