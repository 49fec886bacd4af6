"""Exact discrete Gaussian noise: the kernel put together with the loop in Python integers that it must agree with."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _attempts, exact
from lapnoise._exact_noise import law
from lapnoise.kernels.discrete_gaussian import fill_discrete_gaussian

__all__ = ["exact_gaussian_draw", "gaussian_kernel", "gaussian_law"]


def gaussian_law(sigma: float) -> NDArray[np.float64]:
    """Return what the kernel takes of a discrete Gaussian of parameter sigma."""
    return np.append(law(sigma), 1.0 / sigma)


def exact_gaussian_draw(sigma: float, source: NDArray[np.uint64], position: int) -> int:
    """Return the draw at a position by integer arithmetic alone: the first attempt that is accepted."""
    t = Fraction(sigma)
    for attempt in itertools.count():
        made = _attempts.candidate(t, _attempts.attempt_words(source, position, attempt, 0))
        x = (abs(made) - t) ** 2 / (2 * t * t)
        if _attempts.accepts(functools.partial(exact.ratio, x), _attempts.attempt_words(source, position, attempt, 1)):
            break
    return made


def gaussian_kernel(sigma: float) -> Callable[..., None]:
    """Return a kernel that fills int64 arrays: ``draw(out, source, position, scratch)``, sigma <= FAST_LIMIT."""
    numbers = gaussian_law(sigma)

    def fill(out: Any, source: Any, position: int, room: Any, pending: Any) -> int:
        return fill_discrete_gaussian(out, numbers, source, position, room, pending)

    return _attempts.drawing(fill, lambda _i, source, position: exact_gaussian_draw(sigma, source, position))
