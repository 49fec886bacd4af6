"""The tiers of exact noise on words of a test's choosing, and the fast tier cut off from what stands behind it.

The wrappers are made of the device functions that the kernels use. `fast_tier` and `fast_values` are made of the same
source with one line changed, so that they show what the tier accepts and what it computes.
"""

import math
import random
from fractions import Fraction
from functools import cache

import numba
import numpy as np
from exact_oracles import boundary_cell
from mutants import mutant

from lapnoise import _exact_noise, exact
from lapnoise.kernels import discrete_laplace, refined, uniform
from lapnoise.kernels.log import negative_log, ratio

jit = numba.njit(error_model="numpy", nogil=True)

UNDECIDED = -1


STEPS = sorted({0, *(s * d for k in range(21) for d in (1 << k,) for s in (-1, 1))})
"""Distances from the cell that holds a boundary, in cells."""


@cache
def boundary_words(t: float, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return words about boundaries, the m of each, and the distance of each in cells."""
    chance = random.Random(seed)
    exact = Fraction(t)
    words, at, distance = [], [], []
    for _ in range(count):
        e = chance.choice((chance.uniform(0.0, 11.2), chance.uniform(0.0, 1.5), math.exp(chance.uniform(-20.0, 2.4))))
        m = max(1, math.floor(exact * Fraction(e)))
        cell = boundary_cell(exact, m, 63)
        for d in STEPS:
            if 0 < cell + d < 1 << 63:
                words.append((cell + d) << 1 | chance.getrandbits(1))
                at.append(m)
                distance.append(d)
    return np.array(words, np.uint64), np.array(at, np.int64), np.array(distance, np.int64)


def wrong(found: np.ndarray, at: np.ndarray, distance: np.ndarray) -> int:
    """Return how many words about boundaries were decided where they must not be, or decided on the wrong side."""
    decided = found != UNDECIDED
    return int(np.sum(decided & ((distance == 0) | ((distance < 0) & (found < at)) | ((distance > 0) & (found >= at)))))


def law(t: float, **changes: float) -> np.ndarray:
    """Return the law array of the kernels, with entries kappa, kappa_low, slack or farthest changed."""
    made = _exact_noise.law(t).copy()
    places = {"kappa": 1, "kappa_low": 2, "slack": 3, "farthest": 4}
    for name, value in changes.items():
        made[places[name]] = value
    return made


def magnitudes(words, numbers: np.ndarray) -> np.ndarray:
    """Return what the first two tiers make of words, as int64; -1 where they leave a draw undecided."""
    return _run(discrete_laplace.magnitudes)(np.asarray(words, np.uint64), numbers).astype(np.int64)


def fast_tier(words, numbers: np.ndarray) -> np.ndarray:
    """Return what the fast tier accepts, as int64; -1 where it does not."""
    return _run(_fast_only().magnitudes)(np.asarray(words, np.uint64), numbers).astype(np.int64)


def fast_values(words, numbers: np.ndarray) -> np.ndarray:
    """Return y = fl(t E + kappa) of the fast tier, accepted or not."""
    return _run(_values_only().magnitudes)(np.asarray(words, np.uint64), numbers)


def refined_tier(words, t: float) -> np.ndarray:
    """Return what the refined tier decides, as int64; -1 where it leaves a draw undecided."""
    high, low = _exact_noise.kappa_pair(t)
    return _refined(np.asarray(words, np.uint64), t, high, low)


def refined_logs(odd) -> tuple[np.ndarray, np.ndarray]:
    """Return -log(odd 2^-64) of odd integers as pairs of floats."""
    return _refined_logs(np.asarray(odd, np.uint64))


def log_error(words) -> np.ndarray:
    """Return E + ln u of each word in units of 2^-53, the true logarithm taken from the refined tier."""
    return _log_error(np.asarray(words, np.uint64))


def all_tiers(words, t: float, further) -> np.ndarray:
    """Return the magnitudes of words by all tiers as Python ints; further(i, depth) are the words after word i."""
    found = magnitudes(words, law(t)) if t <= discrete_laplace.FAST_LIMIT else refined_tier(words, t)
    whole = found.astype(object)
    for i in np.flatnonzero(found == UNDECIDED).tolist():
        more = (further(i, depth) for depth in range(100))
        whole[i] = exact.magnitude(Fraction(t), int(words[i]) >> 1, more)
    return whole


def without_kernels(*changes: tuple[str, str]):
    """Return a mutant of kernels/discrete_laplace.py; its kernels become device functions, which need no file."""
    return mutant(
        "lapnoise.kernels.discrete_laplace", ("import device, kernel\n", "import device, device as kernel\n"), *changes
    )


@cache
def _fast_only():
    return without_kernels(("= magnitude_from_word(batch[i], t, kappa, law[2])", "= 0, False"))


@cache
def _values_only():
    return without_kernels(("e[i] = m if good else _UNDECIDED", "e[i] = y"))


@cache
def _run(tier):
    @jit
    def run(words, numbers):
        e, f, s = np.empty(words.size), np.empty(words.size), np.empty(words.size)
        pending = np.zeros(words.size + 1, np.int64)
        tier(words, numbers, e, f, s, pending, 0)
        return e

    return run


@jit
def _refined(words, t, high, low):
    out = np.empty(words.size, np.int64)
    for i in range(words.size):
        m, decided = refined.magnitude_from_word(words[i], t, high, low)
        out[i] = m if decided else UNDECIDED
    return out


@jit
def _refined_logs(odd):
    high, low = np.empty(odd.size), np.empty(odd.size)
    for i in range(odd.size):
        high[i], low[i] = refined.refined_log(odd[i])
    return high, low


@jit
def _log_error(words):
    out = np.empty(words.size)
    for i in range(words.size):
        e, f = uniform.open01_from_word(words[i])
        high, low = refined.refined_log(words[i] | np.uint64(1))
        out[i] = ((negative_log(e, f, ratio(f)) - high) - low) * 2.0**53
    return out
