"""Exact noise from a generator onto arrays: what mechanisms and files call once their arguments are checked.

Numba is imported inside the functions, at the first noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check import FLOAT32, INT64
from lapnoise._fill import separate
from lapnoise._word_source import WordSource

if TYPE_CHECKING:
    from lapnoise.lattice import Lattice
    from lapnoise.planar_lattice import PlanarLattice

__all__ = [
    "add_drawn_integer_noise",
    "add_drawn_noise",
    "add_integer_noise",
    "add_lattice_noise",
    "add_planar_noise",
    "add_stratified_noise",
    "find_infinite",
    "run_on_values",
    "step_at",
    "steps",
]


def add_lattice_noise(rng: WordSource, values: NDArray[Any], out: NDArray[Any], on: Lattice) -> None:
    """Write values, rounded half up to a lattice, + exact noise to ``out``, float64 or float32; one word a value.

    ``values`` are float64 (float32 for a float32 ``out``), integers or bool, and may be ``out`` itself.
    """
    from lapnoise import _lattice_noise

    if values.dtype.kind == "f":
        halves = 2 if out.dtype == FLOAT32 else 1  # a whole word a draw, in the units of _fill
        rng._fill(_lattice_noise.float_kernel(on, out.dtype), [out], [separate(values, out)], halves)
    else:
        integers, unsigned = _as_int64(values)
        rng._fill(_lattice_noise.integer_kernel(on, unsigned), [out], [separate(integers, out)], kind=INT64)


def add_drawn_noise(
    rng: WordSource,
    values: NDArray[Any],
    out: NDArray[Any],
    exponent: int,
    draw: Callable[..., None],
    parameters: Sequence[NDArray[Any]] = (),
) -> None:
    """Write values, rounded half up to the lattice of granularity 2^exponent, + drawn steps to ``out``.

    ``draw(steps, *parameters, source, position, scratch)`` fills int64 arrays with the noise, one place of the stream a
    value. ``parameters`` have the shape of the values. Types are those of `add_lattice_noise`.
    """
    from lapnoise import _attempts

    def floats(kind: np.dtype[Any]) -> Callable[..., None]:
        return _attempts.to_floats(draw, exponent, kind)

    def integers(unsigned: bool) -> Callable[..., None]:
        return _attempts.to_integers(draw, exponent, unsigned)

    run_on_values(rng, values, out, floats, integers, parameters)


def run_on_values(
    rng: WordSource,
    values: NDArray[Any],
    out: NDArray[Any],
    floats: Callable[[np.dtype[Any]], Callable[..., None]],
    integers: Callable[[bool], Callable[..., None]],
    parameters: Sequence[NDArray[Any]] = (),
) -> None:
    """Write to ``out`` what a kernel makes of values: ``kernel(out, values, *parameters, source, position, scratch)``.

    ``floats`` returns that for a dtype, ``integers`` that for int64 values, or uint64 seen as int64. Types are those of
    `add_lattice_noise`; ``parameters`` have the shape of the values.
    """
    others = [p.dtype for p in parameters]
    if values.dtype.kind == "f":
        halves = 2 if out.dtype == FLOAT32 else 1
        rng._fill(floats(out.dtype), [out], [separate(values, out), *parameters], halves, [out.dtype, *others])
    else:
        whole, unsigned = _as_int64(values)
        rng._fill(integers(unsigned), [out], [separate(whole, out), *parameters], kind=[INT64, *others])


def add_stratified_noise(
    rng: WordSource,
    values: NDArray[Any],
    out: NDArray[Any],
    exponent: int,
    scales: Sequence[float],
    strata: NDArray[Any],
) -> None:
    """Do the same with exact discrete Laplace noise of scale ``scales[strata[i]]`` on value i."""
    from lapnoise import _strata_noise

    add_drawn_noise(rng, values, out, exponent, _strata_noise.strata_kernel(scales), [strata])


def add_drawn_integer_noise(
    rng: WordSource,
    values: NDArray[Any],
    out: NDArray[np.int64],
    draw: Callable[..., None],
    parameters: Sequence[NDArray[Any]] = (),
) -> None:
    """Write integers + drawn steps to ``out``, one place of the stream a value; sums saturate."""
    from lapnoise import _attempts

    integers, unsigned = _as_int64(values)
    kinds = [INT64, *(parameter.dtype for parameter in parameters)]
    rng._fill(_attempts.to_integer_sums(draw, unsigned), [out], [separate(integers, out), *parameters], kind=kinds)


def add_integer_noise(rng: WordSource, values: NDArray[Any], out: NDArray[np.int64], t: float) -> None:
    """Write integers + exact discrete Laplace noise of scale t to ``out``; one word a value."""
    from lapnoise import _lattice_noise

    integers, unsigned = _as_int64(values)
    rng._fill(_lattice_noise.integer_sum_kernel(t, unsigned), [out], [separate(integers, out)])


def add_planar_noise(rng: WordSource, points: NDArray[Any], out: NDArray[Any], on: PlanarLattice) -> None:
    """Write points, both coordinates rounded half up to a lattice, + exact noise to ``out``; one place a point.

    Coordinates lie along the last axis. ``points`` may be ``out`` itself; where one coordinate is NaN both become NaN.
    """
    from lapnoise import _planar_noise

    pair = _planar_noise.COMPLEX64 if out.dtype == FLOAT32 else _planar_noise.COMPLEX128
    given = np.ascontiguousarray(points, out.dtype).view(pair)[..., 0]
    target = out if out.flags.c_contiguous and out.flags.aligned else np.empty(out.shape, out.dtype)
    noisy = target.view(pair)[..., 0]
    missing = np.isnan(given)
    rng._fill(_planar_noise.planar_kernel(on, pair), [noisy], [separate(given, noisy)])
    noisy[missing] = complex(np.nan, np.nan)
    if target is not out:
        out[...] = target


def steps(rng: WordSource, n: int, t: float) -> list[int]:
    """Return n exact discrete Laplace draws of scale t as Python ints, beyond 64 bits too."""
    from lapnoise import _exact_noise

    start = rng._stream.reserve(n)
    drawn: list[int] = _exact_noise.exact_steps(n, t, rng._stream.source, start)
    return drawn


def step_at(rng: WordSource, position: int, t: float) -> int:
    """Return the exact draw of scale t at a position, which does not move."""
    from lapnoise import _exact_noise

    return _exact_noise.exact_draw(t, rng._stream.source, position)


def find_infinite(values: NDArray[Any]) -> int:
    """Return the index in C order of the first infinite value, or -1."""
    if values.dtype.kind != "f" or values.size == 0:
        return -1
    if values.flags.c_contiguous and values.flags.aligned and values.dtype.isnative:
        from lapnoise import _lattice_noise

        return int(_lattice_noise.find_infinite(values.reshape(-1)))
    infinite = np.flatnonzero(np.isinf(values))
    return int(infinite[0]) if infinite.size else -1


def _as_int64(values: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """Return integers, uint64 seen as int64, and whether it was uint64."""
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        return values.astype(np.uint64, copy=False).view(np.int64), True
    return values, False
