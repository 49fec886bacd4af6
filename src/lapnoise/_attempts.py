"""Exact noise that rejects whole attempts: from kernels to draws without any doubt left, and onto values.

The reference for every such sampler is a loop in Python integers over the words of each attempt; where a kernel cannot
certify an attempt of a draw, that loop makes the draw anew from its first attempt, with the same words.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _jit, exact, lattice  # noqa: F401 # _jit before what imports Numba itself: it explains its absence
from lapnoise._exact_noise import EXTENSION_STREAMS, resolving, store_saturated, word_of_stream
from lapnoise._lattice_noise import at_whole_words, factors, rounded_once, value_at
from lapnoise.kernels.attempts import ATTEMPT_ROOM, ATTEMPT_STREAMS, ROLES
from lapnoise.kernels.lattice_sum import add_steps, add_steps32, add_steps_saturating, add_steps_to_integers

__all__ = ["accepts", "attempt_words", "candidate", "drawing", "to_floats", "to_integer_sums", "to_integers"]

Kernel = Callable[..., None]

_FURTHER_SHIFT = 40
_BLOCK = 1 << 15
"""Draws between two passes: 256 KiB of steps, which stay in L2. With 2^12 the calls cost half as much as the draws."""

FLOAT32 = np.dtype(np.float32)


def attempt_words(source: NDArray[np.uint64], position: int, attempt: int, role: int) -> Iterator[int]:
    """Yield the word of an attempt in a role, and then its further words."""
    stream = ATTEMPT_STREAMS + ROLES * attempt + role
    yield word_of_stream(source, position, stream)
    for depth in itertools.count():
        yield word_of_stream(source, position, stream + EXTENSION_STREAMS + (depth << _FURTHER_SHIFT))


def candidate(t: Fraction, words: Iterator[int]) -> int:
    """Return the discrete Laplace draw of scale t that these words make, sign included."""
    word = next(words)
    magnitude = exact.magnitude(t, word >> 1, words)
    return -magnitude if word & 1 else magnitude


def accepts(x: Callable[[int], exact.Enclosure], words: Iterator[int]) -> bool:
    """Return whether a coin that shows heads with probability exp(-x) does, by these words; x(p) encloses x."""
    return exact.coin(x, next(words) >> 1, words)


def drawing(kernel: Callable[..., int], draw: Callable[..., int]) -> Kernel:
    """Return a kernel that fills int64 arrays with noise: ``fill(out, *parameters, source, position, scratch)``.

    Parameters
    ----------
    kernel : callable
        ``kernel(out, *parameters, source, position, room, pending) -> done``, ``room`` of ATTEMPT_ROOM entries.
    draw : callable
        ``draw(i, source, position, *parameters)``: the exact noise of element i, whose place is ``position``.
    """

    def with_room(out: Any, *rest: Any) -> int:
        *parameters, source, position, _scratch, pending = rest
        return kernel(out, *parameters, source, position, np.empty(ATTEMPT_ROOM, np.uint64), pending)

    return resolving(with_room, draw, store_saturated)


def to_floats(draw: Kernel, exponent: int, kind: np.dtype[Any]) -> Kernel:
    """Return a kernel that adds drawn steps to floats: ``run(out, values, *parameters, source, position, scratch)``.

    ``draw(steps, *parameters, source, position, scratch)`` fills int64 arrays; steps beyond 2^52 are added in Python
    integers.
    """
    steps = factors(exponent)
    add = add_steps32 if kind == FLOAT32 else add_steps
    largest = float(np.finfo(kind).max)

    def run(out: NDArray[Any], values: Any, *rest: Any) -> None:
        *parameters, source, position, scratch = rest
        noise = np.empty(min(out.size, _BLOCK), np.int64)
        for start in range(0, max(out.size, 1), _BLOCK):
            target = out[start : start + _BLOCK]
            given = values[start : start + _BLOCK] if isinstance(values, np.ndarray) else values
            drawn = noise[: target.size]
            draw(drawn, *_cut(parameters, start), source, position + start, scratch)
            wide = _beyond_floats(drawn)
            before = {i: value_at(i, target, given) for i in wide}
            add(target, given, drawn, steps)
            for i, x in before.items():
                if not math.isnan(x):
                    target[i] = rounded_once(Fraction(x), int(drawn[i]), exponent, largest, kind)

    return at_whole_words(run, kind)


def to_integers(draw: Kernel, exponent: int, unsigned: bool) -> Kernel:
    """Do the same for int64 values (uint64 seen as int64 where ``unsigned``), giving float64."""
    steps = factors(exponent)
    largest = float(np.finfo(np.float64).max)

    def run(out: NDArray[Any], values: Any, *rest: Any) -> None:
        *parameters, source, position, scratch = rest
        noise = np.empty(min(out.size, _BLOCK), np.int64)
        for start in range(0, max(out.size, 1), _BLOCK):
            target = out[start : start + _BLOCK]
            given = values[start : start + _BLOCK]
            drawn = noise[: target.size]
            draw(drawn, *_cut(parameters, start), source, position + start, scratch)
            add_steps_to_integers(target, given, drawn, steps, exponent, unsigned)
            for i in _beyond_floats(drawn):
                x = int(given[i]) % (1 << 64) if unsigned else int(given[i])
                target[i] = lattice.release(Fraction(x), int(drawn[i]), exponent, largest)

    return run


def _cut(parameters: list[Any], start: int) -> list[Any]:
    return [p[start : start + _BLOCK] if isinstance(p, np.ndarray) else p for p in parameters]


def to_integer_sums(draw: Kernel, unsigned: bool) -> Kernel:
    """Do the same for such integers, giving int64: whole sums, which saturate at plus or minus 2^63 - 1."""

    def run(out: NDArray[Any], values: Any, *rest: Any) -> None:
        *parameters, source, position, scratch = rest
        noise = np.empty(min(out.size, _BLOCK), np.int64)
        for start in range(0, max(out.size, 1), _BLOCK):
            target = out[start : start + _BLOCK]
            given = target if values is None else values[start : start + _BLOCK]
            drawn = noise[: target.size]
            draw(drawn, *_cut(parameters, start), source, position + start, scratch)
            add_steps_saturating(target, given, drawn, unsigned)

    return run


def _beyond_floats(drawn: NDArray[np.int64]) -> list[int]:
    if drawn.size and (int(drawn.max()) > 1 << 52 or int(drawn.min()) < -(1 << 52)):
        return np.flatnonzero(np.abs(drawn) > 1 << 52).tolist()
    return []
