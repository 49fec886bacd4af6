"""Numba's own samplers as contenders."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from bench.contender import LOC, SCALE, Call, Contender, imported

__all__ = ["NUMBA"]


def _own(n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
    loops = imported("bench.numba_loops")
    loops.start(1)
    return functools.partial(loops.fill if np.isscalar(scale) else loops.fill_scales, n, loc, scale)


def _from_generator(n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
    loops = imported("bench.numba_loops")
    generator = np.random.Generator(np.random.PCG64(1))
    fill = loops.fill_from if np.isscalar(scale) else loops.fill_from_scales
    return functools.partial(fill, generator, n, loc, scale)


NUMBA = {
    "numba np.random": Contender(_own, module="numba", array=True),
    "numba Generator(PCG64)": Contender(_from_generator, module="numba", array=True),
}
