"""Exact noise in the plane put together: a kernel for bulk, integers for the few draws it leaves open, and the sum.

A point of the plane is a complex number here: one place of the stream belongs to one point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _jit, exact  # noqa: F401 # _jit before what imports Numba itself: it explains its absence
from lapnoise._attempts import accepts, attempt_words, candidate
from lapnoise._exact_noise import law, resolving
from lapnoise._lattice_noise import factors
from lapnoise.kernels.attempts import ATTEMPT_ROOM
from lapnoise.kernels.lattice_sum import add_steps, add_steps32
from lapnoise.kernels.planar_laplace import COIN_ROLE, X_ROLE, Y_ROLE, fill_planar_laplace
from lapnoise.planar_lattice import PlanarLattice

__all__ = ["COMPLEX64", "COMPLEX128", "exact_draw", "excess", "planar_kernel"]

COMPLEX64, COMPLEX128 = np.dtype(np.complex64), np.dtype(np.complex128)

_BLOCK = 1 << 11
"""Points between two passes: 32 KiB of steps."""


def planar_kernel(on: PlanarLattice, kind: np.dtype[Any]) -> Callable[..., None]:
    """Return a kernel that adds noise to points of this dtype: ``kernel(out, points, source, position, scratch)``.

    Coordinates are rounded half up to the lattice; the sums are rounded once, to float32 where ``kind`` is complex64.
    ``points`` is an array or None for ``out`` itself.
    """
    numbers, steps = law(on.t), factors(on.exponent)
    add, part = (add_steps32, np.float32) if kind == COMPLEX64 else (add_steps, np.float64)

    def bulk(out: Any, source: Any, position: int, _scratch: Any, pending: Any) -> int:
        room = np.empty(ATTEMPT_ROOM, np.uint64)
        return fill_planar_laplace(out, numbers, on.alpha, source, position, room, pending)

    def alone(_i: int, source: Any, position: int) -> Any:
        return exact_draw(on, source, position)

    draw = resolving(bulk, alone, _store)

    def run(out: NDArray[Any], points: Any, source: Any, position: int, scratch: Any) -> None:
        noise = np.empty(min(out.size, _BLOCK), np.complex128)
        for start in range(0, max(out.size, 1), _BLOCK):
            target = out[start : start + _BLOCK]
            given = None if points is None else points[start : start + _BLOCK].view(part)
            drawn = noise[: target.size]
            draw(drawn, source, position + start, scratch)
            add(target.view(part), given, drawn.view(np.float64), steps)

    return run


def exact_draw(on: PlanarLattice, source: NDArray[np.uint64], position: int) -> tuple[int, int]:
    """Return the draw at a position, attempt by attempt in integers."""
    t = Fraction(on.t)
    attempt = 0
    while True:
        x = candidate(t, attempt_words(source, position, attempt, X_ROLE))
        y = candidate(t, attempt_words(source, position, attempt, Y_ROLE))
        if accepts(excess(on, x, y), attempt_words(source, position, attempt, COIN_ROLE)):
            return x, y
        attempt += 1


def excess(on: PlanarLattice, x: int, y: int) -> Callable[[int], exact.Enclosure]:
    """Return p -> an enclosure of alpha ||z|| - (abs(x) + abs(y)) / t >= 0 in units of 2^-p."""
    square = Fraction(on.alpha) ** 2 * (x * x + y * y)
    subtracted = (abs(x) + abs(y)) / Fraction(on.t)

    def enclosure(p: int) -> exact.Enclosure:
        root = math.isqrt((square.numerator << 2 * p) // square.denominator)
        low, high = exact.ratio(subtracted, p)
        return max(root - high, 0), root + 1 - low

    return enclosure


def _store(i: int, noise: tuple[int, int], out: NDArray[np.complex128]) -> None:
    out[i] = complex(*noise)
