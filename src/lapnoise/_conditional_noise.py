"""Exact noise conditioned on an interval: which kernel serves which parameters, and what stands behind each of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _jit, exact, lattice  # noqa: F401 # _jit before what imports Numba itself: it explains its absence
from lapnoise._attempts import accepts, attempt_words, candidate, to_floats, to_integers
from lapnoise._exact_noise import law, resolving, store_saturated
from lapnoise._lattice_noise import at_whole_words, factors, rounded_once
from lapnoise.kernels.attempts import ATTEMPT_ROOM
from lapnoise.kernels.conditional_laplace import fill_conditional_laplace, fill_uniform_conditioned
from lapnoise.kernels.discrete_laplace import FAST_LIMIT
from lapnoise.kernels.domain import integers_to_domain, points_to_floats, points_to_floats32, values_to_domain

__all__ = [
    "Interval",
    "bounded_floats",
    "bounded_integers",
    "drawn",
    "interval_kernel",
    "truncated_floats",
    "truncated_integers",
]

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)

FARTHEST_STEP = 1 << 62
"""Kernels hold lattice points as int64; a draw of theirs reaches 44 t < 2^49 from its centre."""

_BLOCK = 1 << 12
"""Draws between two passes: 64 KiB of steps, which stay in L2 beside what is read and written."""

_LEAST64, _MOST64 = -(1 << 63), (1 << 63) - 1

Kernel = Callable[..., None]


class Interval(NamedTuple):
    """What discrete Laplace noise is conditioned on: P(k) ~ exp(-abs(k - c) / t) for low <= k <= high."""

    t: float
    low: int
    high: int

    @property
    def narrow(self) -> bool:
        """Whether candidates are uniform on the interval; both ways take as many words at high - low = t."""
        return self.high - self.low < self.t


def drawn(on: Interval, centre: int, source: NDArray[np.uint64], position: int) -> int:
    """Return the draw about a centre at a position, attempt by attempt in Python integers."""
    t = Fraction(on.t)
    points = on.high - on.low + 1
    words = -(-points.bit_length() // 64)
    whole = (1 << 64 * words) // points * points
    for attempt in itertools.count():
        first = attempt_words(source, position, attempt, 0)
        if not on.narrow:
            k = centre + candidate(t, first)
            if on.low <= k <= on.high:
                return k
            continue
        uniform = 0
        for _ in range(words):
            uniform = uniform << 64 | next(first)
        k = on.low + uniform % points
        x = abs(k - centre) / t
        if uniform < whole and _counts(x, attempt_words(source, position, attempt, 1)):
            return k
    raise AssertionError  # attempts have no end


def _counts(x: Fraction, words: Any) -> bool:
    return accepts(lambda p: exact.ratio(x, p), words)


def interval_kernel(on: Interval) -> Kernel:
    """Return a kernel that fills int64 arrays: ``kernel(out, centre, source, position, scratch)``, t <= FAST_LIMIT.

    ``centre`` is an int64 array or a number.
    """

    def draw(i: int, source: Any, position: int, centre: Any) -> int:
        return drawn(on, int(centre[i]) if isinstance(centre, np.ndarray) else centre, source, position)

    low, high = max(on.low, -FARTHEST_STEP), min(on.high, FARTHEST_STEP)
    if on.narrow:
        points = high - low + 1
        last = (1 << 64) // points * points - 1

        def run(out: Any, centre: Any, source: Any, position: int, _scratch: Any, pending: Any) -> int:
            room = np.empty(ATTEMPT_ROOM, np.uint64)
            return fill_uniform_conditioned(
                out, centre, low, np.uint64(points), np.uint64(last), float(on.t), source, position, room, pending
            )
    else:
        numbers = law(on.t)

        def run(out: Any, centre: Any, source: Any, position: int, _scratch: Any, pending: Any) -> int:
            room = np.empty(ATTEMPT_ROOM, np.uint64)
            return fill_conditional_laplace(out, centre, low, high, numbers, source, position, room, pending)

    return resolving(run, draw, store_saturated)


def truncated_floats(on: Interval, exponent: int, kind: np.dtype[Any]) -> Kernel:
    """Return a kernel that adds conditioned noise to floats: ``kernel(out, values, source, position, scratch)``."""
    if on.t > FAST_LIMIT:
        return at_whole_words(_slow(lambda i, s, p: i + drawn(on, 0, s, p), exponent, kind), kind)
    return to_floats(_about_zero(on), exponent, kind)


def truncated_integers(on: Interval, exponent: int, unsigned: bool) -> Kernel:
    """Do the same for int64 values (uint64 seen as int64 where ``unsigned``), giving float64."""
    if on.t > FAST_LIMIT:
        return _slow(lambda i, s, p: i + drawn(on, 0, s, p), exponent, FLOAT64, unsigned=unsigned)
    return to_integers(_about_zero(on), exponent, unsigned)


def bounded_floats(on: Interval, exponent: int, kind: np.dtype[Any], ends: tuple[float, float]) -> Kernel:
    """Return a kernel from floats to noisy points of a domain: ``kernel(out, values, source, position, scratch)``.

    ``ends`` are the least and the greatest float of this dtype in the domain, to which results are cut that rounding
    to a float would take out of it.
    """
    if _beyond_kernels(on):
        return at_whole_words(_slow(_within(on), exponent, kind, ends=ends), kind)
    noisy, steps = interval_kernel(on), factors(exponent)
    to_target = points_to_floats32 if kind == FLOAT32 else points_to_floats

    def run(out: NDArray[Any], values: Any, source: Any, position: int, scratch: Any) -> None:
        centre, points = np.empty((2, min(out.size, _BLOCK)), np.int64)
        for start in range(0, max(out.size, 1), _BLOCK):
            target = out[start : start + _BLOCK]
            given = values[start : start + _BLOCK] if isinstance(values, np.ndarray) else values
            about, found = centre[: target.size], points[: target.size]
            values_to_domain(about, given, target, on.low, on.high, steps)
            noisy(found, about, source, position + start, scratch)
            to_target(target, given, found, steps, *ends)

    return at_whole_words(run, kind)


def bounded_integers(on: Interval, exponent: int, unsigned: bool, ends: tuple[float, float]) -> Kernel:
    """Do the same for int64 values (uint64 seen as int64 where ``unsigned``), giving float64."""
    if _beyond_kernels(on):
        return _slow(_within(on), exponent, FLOAT64, unsigned=unsigned, ends=ends)
    noisy, steps = interval_kernel(on), factors(exponent)
    r = Fraction(2) ** exponent
    first = min(max(math.floor(on.low * r) + 1, _LEAST64), _MOST64)
    last = min(max(math.ceil(on.high * r) - 1, _LEAST64), _MOST64)

    def run(out: NDArray[Any], values: Any, source: Any, position: int, scratch: Any) -> None:
        centre, points = np.empty((2, min(out.size, _BLOCK)), np.int64)
        for start in range(0, max(out.size, 1), _BLOCK):
            target = out[start : start + _BLOCK]
            given = values[start : start + _BLOCK]
            about, found = centre[: target.size], points[: target.size]
            integers_to_domain(about, given, on.low, on.high, first, last, exponent)
            if unsigned:  # those from 2^63 on look negative
                for i in np.flatnonzero(given < 0).tolist():
                    step = lattice.round_half_up(Fraction(int(given[i]) % (1 << 64)), exponent)
                    about[i] = min(max(step, on.low), on.high)
            noisy(found, about, source, position + start, scratch)
            points_to_floats(target, 0.0, found, steps, *ends)

    return run


def _about_zero(on: Interval) -> Kernel:
    noise = interval_kernel(on)
    return lambda out, source, position, scratch: noise(out, 0, source, position, scratch)


def _beyond_kernels(on: Interval) -> bool:
    return on.t > FAST_LIMIT or max(-on.low, on.high) > FARTHEST_STEP


def _within(on: Interval) -> Callable[[int, Any, int], int]:
    return lambda i, source, position: drawn(on, min(max(i, on.low), on.high), source, position)


def _slow(
    release: Callable[[int, Any, int], int],
    exponent: int,
    kind: np.dtype[Any],
    unsigned: bool | None = None,
    ends: tuple[float, float] = (-math.inf, math.inf),
) -> Kernel:
    """Return a kernel beyond the compiled ones, in Python integers, some 100 us a value.

    ``release(i, source, position)`` makes of a value in steps the noisy one. ``unsigned`` is None for floats.
    """
    largest = float(np.finfo(kind).max)

    def run(out: NDArray[Any], values: Any, source: Any, position: int, scratch: Any) -> None:
        for place in range(out.size):
            given = out[place] if values is None else values[place] if isinstance(values, np.ndarray) else values
            if unsigned is None and math.isnan(given):
                out[place] = given
                continue
            x = (
                Fraction(float(given))
                if unsigned is None
                else Fraction(int(given) % (1 << 64) if unsigned else int(given))
            )
            step = release(lattice.round_half_up(x, exponent), source, position + place)
            nearest = rounded_once(step * Fraction(2) ** exponent, 0, exponent, largest, kind)
            out[place] = min(max(nearest, ends[0]), ends[1])

    return run
