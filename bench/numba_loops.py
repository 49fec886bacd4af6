"""What a user of Numba would write: loops over its own samplers. Importing this imports Numba."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["fill", "fill_from", "fill_from_scales", "fill_scales", "start"]


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def start(seed: int) -> None:
    """Seed Numba's own generator, which is not NumPy's."""
    np.random.seed(seed)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def fill(n: int, loc: float, scale: float) -> Any:
    """Draw by Numba's ``np.random.laplace``, a Mersenne twister of its own in each thread."""
    out = np.empty(n)
    for i in range(n):
        out[i] = np.random.laplace(loc, scale)
    return out


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def fill_scales(n: int, loc: float, scale: Any) -> Any:
    """Do the same with a scale for each draw."""
    out = np.empty(n)
    for i in range(n):
        out[i] = np.random.laplace(loc, scale[i])
    return out


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def fill_from(generator: Any, n: int, loc: float, scale: float) -> Any:
    """Draw by a NumPy generator that was handed over; Numba has its own code for its ``laplace``."""
    out = np.empty(n)
    for i in range(n):
        out[i] = generator.laplace(loc, scale)
    return out


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def fill_from_scales(generator: Any, n: int, loc: float, scale: Any) -> Any:
    """Do the same with a scale for each draw."""
    out = np.empty(n)
    for i in range(n):
        out[i] = generator.laplace(loc, scale[i])
    return out
