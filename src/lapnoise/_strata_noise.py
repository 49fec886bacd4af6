"""Exact noise of several scales: the table of laws, and what stands behind the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lapnoise import _jit  # noqa: F401 # before what imports Numba itself: it explains its absence
from lapnoise._exact_noise import exact_draw, law, resolving, store_saturated
from lapnoise.kernels.strata import STRATA_ROOM, fill_discrete_laplace_strata

__all__ = ["strata_kernel"]


def strata_kernel(scales: Sequence[float]) -> Callable[..., None]:
    """Return a kernel that fills int64 arrays, given an array of strata: ``fill(out, strata, source, position, ...)``.

    Parameters
    ----------
    scales : sequence of float
        t of each stratum, which draws name by its place here.
    """
    laws = np.array([law(t) for t in scales])

    def fill(out: Any, strata: Any, source: Any, position: int, _scratch: Any, pending: Any) -> int:
        room = np.empty(STRATA_ROOM, np.uint64)
        return fill_discrete_laplace_strata(out, strata, laws, source, position, room, pending)

    def draw(i: int, source: Any, position: int, strata: Any) -> int:
        return exact_draw(scales[int(strata[i])], source, position)

    return resolving(fill, draw, store_saturated)
