"""The kernels by name and dtype. Importing it imports Numba, so `generator` does so at the first draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise import _jit  # noqa: F401 # before what imports Numba itself: only it explains why Numba is missing
from lapnoise.bits.chacha_lanes import copy_words as words
from lapnoise.kernels.bounded_laplace import fill_bounded_laplace as bounded_laplace
from lapnoise.kernels.laplace import fill_difference, fill_exponential, fill_laplace
from lapnoise.kernels.laplace_float32 import fill_difference32, fill_exponential32, fill_laplace32
from lapnoise.kernels.log_laplace import fill_log_laplace as log_laplace

__all__ = ["bounded_laplace", "difference", "exponential", "laplace", "log_laplace", "words"]

_FLOAT64 = np.dtype(np.float64)
_FLOAT32 = np.dtype(np.float32)

laplace: dict[np.dtype[Any], Any] = {_FLOAT64: fill_laplace, _FLOAT32: fill_laplace32}
difference: dict[np.dtype[Any], Any] = {_FLOAT64: fill_difference, _FLOAT32: fill_difference32}
exponential: dict[np.dtype[Any], Any] = {_FLOAT64: fill_exponential, _FLOAT32: fill_exponential32}
