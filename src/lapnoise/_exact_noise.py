"""The three tiers of exact noise put together: kernels for bulk, integers for the few draws they leave open.

A draw that its first word does not decide takes further words from streams of their own, at its own position: word d
of the draw at position p is word p of stream id + 2^63 + d. So no draw depends on whether a neighbour needed more.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _jit, exact  # noqa: F401 # _jit before what imports Numba itself: it explains its absence
from lapnoise.bits.chacha_lanes import BATCH_WORDS, WORD_ROOM, copy_words
from lapnoise.kernels.batches import SCRATCH_WORDS
from lapnoise.kernels.discrete_laplace import (
    FAST_LIMIT,
    TAIL,
    certificate,
    fill_discrete_laplace,
    fill_discrete_laplace_each,
    fill_discrete_laplace_wide,
)
from lapnoise.kernels.refined import pair_from_enclosure
from lapnoise.lattice import LARGEST_T

__all__ = [
    "EXTENSION_STREAMS",
    "discrete_kernel",
    "discrete_kernel_each",
    "exact_draw",
    "exact_steps",
    "further_words",
    "kappa_pair",
    "law",
    "resolving",
    "store_saturated",
    "word_of_stream",
]

EXTENSION_STREAMS = 1 << 63
"""Stream ids from here on hold further words; those below hold draws."""

_KAPPA_BITS = 192
_STEPS_BLOCK = 1 << 16
_PENDING_ROOM = WORD_ROOM + BATCH_WORDS + 1


@functools.lru_cache(maxsize=1024)
def kappa_pair(t: float) -> tuple[float, float]:
    """Return kappa = t ln(2 / (1 + exp(-1/t))) as two floats, to a relative 2^-100."""
    if t == 0.0:
        return 0.0, 0.0
    scale = Fraction(t)
    bits = _KAPPA_BITS + max(0, scale.denominator.bit_length() - scale.numerator.bit_length())
    return pair_from_enclosure(exact.kappa(scale, bits), bits)


def law(t: float) -> NDArray[np.float64]:
    """Return what kernels take of a discrete Laplace distribution of scale t <= 2^57."""
    kappa_high, kappa_low = kappa_pair(t)
    return np.array([t, kappa_high, kappa_low, certificate(t), t * TAIL])


def exact_draw(t: float, source: NDArray[np.uint64], position: int) -> int:
    """Return the draw at a position, sign included, by the last tier alone."""
    if t == 0.0:
        return 0
    word = word_of_stream(source, position, 0)
    magnitude = exact.magnitude(Fraction(t), word >> 1, further_words(source, position))
    return -magnitude if word & 1 else magnitude


def resolving(kernel: Callable[..., int], draw: Callable[..., int], store: Callable[..., None]) -> Callable[..., None]:
    """Return a kernel for ``_fill.fill`` that leaves nothing undecided.

    Parameters
    ----------
    kernel : callable
        ``kernel(out, *parameters, source, position, scratch, pending) -> done``.
    draw : callable
        ``draw(i, source, position, *parameters)``: the exact noise of element i, whose word is at ``position``.
    store : callable
        ``store(i, noise, out, *parameters)`` writes the result of element i.
    """

    def run(out: NDArray[Any], *rest: Any) -> None:
        *parameters, source, position, scratch = rest
        pending = np.zeros(_PENDING_ROOM, np.int64)
        done = 0
        while done < out.size or out.size == 0:  # an empty call only compiles
            tail = out[done:] if done else out
            tails = [p[done:] if done and isinstance(p, np.ndarray) else p for p in parameters]
            pending[0] = 0
            try:
                count = kernel(tail, *tails, source, position + done, scratch, pending)
                for i in pending[1 : 1 + int(pending[0])].tolist():
                    store(i, draw(i, source, position + done + i, *tails), tail, *tails)
            except BaseException:
                # Until they are resolved, values stand there without noise; an array of the caller's must not keep
                # them.
                if tails and tails[0] is not None:
                    tail[pending[1 : 1 + int(pending[0])]] = 0
                raise
            done += count
            if out.size == 0:
                return

    return run


def discrete_kernel(t: float) -> Callable[..., None]:
    """Return a kernel that fills int64 arrays with exact discrete Laplace noise of scale t."""
    numbers = law(t)
    bulk = fill_discrete_laplace if t <= FAST_LIMIT else fill_discrete_laplace_wide

    def fill(out: Any, source: Any, position: int, scratch: Any, pending: Any) -> int:
        return bulk(out, numbers, source, position, scratch, pending)

    return resolving(fill, lambda _i, source, position: exact_draw(t, source, position), store_saturated)


def discrete_kernel_each() -> Callable[..., None]:
    """Return a kernel that fills int64 arrays, given a float64 array with the scale of each draw."""

    def fill(out: Any, t: Any, source: Any, position: int, scratch: Any, pending: Any) -> int:
        scales, which = np.unique(t, return_inverse=True)
        pairs = np.array([kappa_pair(float(scale)) for scale in scales])
        high, low = pairs[which, 0], pairs[which, 1]
        return fill_discrete_laplace_each(out, t, high, low, source, position, scratch, pending)

    return resolving(fill, lambda i, source, position, t: exact_draw(float(t[i]), source, position), store_saturated)


def exact_steps(n: int, t: float, source: NDArray[np.uint64], position: int) -> list[int]:
    """Return n draws of scale t as Python ints, however many bits they have."""
    if t > LARGEST_T:
        return [exact_draw(t, source, position + i) for i in range(n)]
    numbers = law(t)
    steps: list[int] = []
    out = np.empty(min(n, _STEPS_BLOCK), np.int64)
    pending = np.empty(_PENDING_ROOM, np.int64)
    scratch = np.empty(SCRATCH_WORDS, np.uint64)
    while len(steps) < n:
        place = position + len(steps)
        part = out[: n - len(steps)]
        done = fill_discrete_laplace_wide(part, numbers, source, place, scratch, pending)
        drawn = part[:done].tolist()
        for i in pending[1 : 1 + int(pending[0])].tolist():
            drawn[i] = exact_draw(t, source, place + i)
        steps += drawn
    return steps


def store_saturated(i: int, noise: int, out: NDArray[np.int64], *_: Any) -> None:
    out[i] = min(max(noise, -(2**63 - 1)), 2**63 - 1)


def further_words(source: NDArray[np.uint64], position: int) -> Iterator[int]:
    """Yield the words that extend the one at a position."""
    for depth in itertools.count():
        yield word_of_stream(source, position, EXTENSION_STREAMS + depth)


def word_of_stream(source: NDArray[np.uint64], position: int, offset: int) -> int:
    """Return the word at a position of the stream whose id is that of the source + ``offset``."""
    if offset:
        source = source.copy()
        source[4] = np.uint64((int(source[4]) + offset) % (1 << 64))
    out = np.empty(1, np.uint64)
    copy_words(out, source, position, np.empty(WORD_ROOM, np.uint64))
    return int(out[0])
