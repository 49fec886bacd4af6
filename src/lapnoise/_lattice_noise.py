"""Exact noise added to arrays on a lattice: which kernel serves which type, and what stands behind each of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _jit, lattice  # noqa: F401 # _jit before what imports Numba itself: it explains its absence
from lapnoise._exact_noise import exact_draw, exact_steps, law, resolving
from lapnoise.kernels.discrete_laplace import FAST_LIMIT
from lapnoise.kernels.lattice_noise import (
    add_integer_noise,
    add_lattice_noise,
    add_lattice_noise32,
    add_lattice_noise_to_integers,
    find_infinite,
)

__all__ = [
    "at_whole_words",
    "factors",
    "find_infinite",
    "float_kernel",
    "integer_kernel",
    "integer_sum_kernel",
    "rounded_once",
    "value_at",
]

FLOAT32 = np.dtype(np.float32)
LARGEST_INTEGER = 2**63 - 1

Kernel = Callable[..., None]


def float_kernel(on: lattice.Lattice, kind: np.dtype[Any]) -> Kernel:
    """Return a kernel that adds noise to floats of this dtype: ``kernel(out, values, source, position, scratch)``.

    Each draw takes a whole word; where ``kind`` is float32 ``position`` counts half words, as in all its kernels.
    """
    largest = float(np.finfo(kind).max)

    def store(i: int, noise: int, out: NDArray[Any], values: Any) -> None:
        x = value_at(i, out, values)
        out[i] = x if math.isnan(x) else rounded_once(Fraction(x), noise, on.exponent, largest, kind)

    if on.t > FAST_LIMIT:
        return at_whole_words(_wide(on.t, store), kind)
    numbers, steps = law(on.t), factors(on.exponent)
    bulk = add_lattice_noise32 if kind == FLOAT32 else add_lattice_noise

    def add(out: Any, values: Any, source: Any, position: int, scratch: Any, pending: Any) -> int:
        return bulk(out, values, numbers, steps, source, position, scratch, pending)

    run = resolving(add, _draw(on.t), store)
    return at_whole_words(run, kind)


def integer_kernel(on: lattice.Lattice, unsigned: bool) -> Kernel:
    """Return a kernel that adds noise to int64 values (uint64 seen as int64 where ``unsigned``), giving float64."""
    largest = float(np.finfo(np.float64).max)

    def store(i: int, noise: int, out: NDArray[Any], values: Any) -> None:
        out[i] = lattice.release(Fraction(_integer_at(i, out, values, unsigned)), noise, on.exponent, largest)

    if on.t > FAST_LIMIT:
        return _wide(on.t, store)
    numbers, steps = law(on.t), factors(on.exponent)

    def add(out: Any, values: Any, source: Any, position: int, scratch: Any, pending: Any) -> int:
        return add_lattice_noise_to_integers(
            out, values, numbers, steps, on.exponent, unsigned, source, position, scratch, pending
        )

    return resolving(add, _draw(on.t), store)


def integer_sum_kernel(t: float, unsigned: bool) -> Kernel:
    """Return a kernel that adds noise to integers, giving int64; the sum saturates at plus or minus 2^63 - 1."""

    def store(i: int, noise: int, out: NDArray[np.int64], values: Any) -> None:
        total = _integer_at(i, out, values, unsigned) + noise
        out[i] = min(max(total, -LARGEST_INTEGER), LARGEST_INTEGER)

    if t > FAST_LIMIT:
        return _wide(t, store)
    numbers = law(t)

    def add(out: Any, values: Any, source: Any, position: int, scratch: Any, pending: Any) -> int:
        return add_integer_noise(out, values, numbers, unsigned, source, position, scratch, pending)

    return resolving(add, _draw(t), store)


def _draw(t: float) -> Callable[..., int]:
    """Return what ``resolving`` asks for the exact noise of one element: its word's draw by the last tier."""
    return lambda _i, source, position, _values: exact_draw(t, source, position)


def _wide(t: float, store: Callable[..., None]) -> Kernel:
    """Return a kernel for t beyond the fast tier: compiled noise, and sums in Python integers, some 3 us each."""

    def run(out: NDArray[Any], values: Any, source: Any, position: int, scratch: Any) -> None:
        for i, noise in enumerate(exact_steps(out.size, t, source, position)):
            store(i, noise, out, values)

    return run


def at_whole_words(kernel: Kernel, kind: np.dtype[Any]) -> Kernel:
    """Return the kernel for places in the units of ``_fill``: half words where draws are float32."""
    if kind != FLOAT32:
        return kernel

    def run(*arguments: Any) -> None:
        *others, position, scratch = arguments
        kernel(*others, position // 2, scratch)

    return run


def factors(exponent: int) -> NDArray[np.float64]:
    """Return 1/r and r, each as two factors that are floats."""
    half = exponent // 2
    return np.array([math.ldexp(1.0, k) for k in (-half, half - exponent, half, exponent - half)])


def value_at(i: int, out: NDArray[Any], values: Any) -> float:
    return float(out[i] if values is None else values[i] if isinstance(values, np.ndarray) else values)


def _integer_at(i: int, out: NDArray[Any], values: Any, unsigned: bool) -> int:
    value = int(out[i] if values is None else values[i])
    return value % (1 << 64) if unsigned else value


def rounded_once(value: Fraction, noise: int, exponent: int, largest: float, kind: np.dtype[Any]) -> Any:
    if kind != FLOAT32:
        return lattice.release(value, noise, exponent, largest)
    total = (lattice.round_half_up(value, exponent) + noise) * Fraction(2) ** exponent
    return _to_float32(total)


def _to_float32(value: Fraction) -> np.float32:
    """Round a fraction to float32 once: to a float64 by rounding to odd, then to float32."""
    limit = Fraction(float(np.finfo(np.float32).max))
    value = min(max(value, -limit), limit)
    near = float(value)
    if Fraction(near) != value and not np.float64(near).view(np.uint64) & np.uint64(1):
        near = math.nextafter(near, math.inf if value > Fraction(near) else -math.inf)
    return np.float32(near) + np.float32(0.0)  # never -0.0
