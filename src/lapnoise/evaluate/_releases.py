"""Releases as anyone makes them: ``add_noise`` of every mechanism against integer arithmetic on words made again."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import lattice
from lapnoise.errors import SeededNoiseWarning
from lapnoise.evaluate._checks import Check, exact
from lapnoise.evaluate._reading_copy import Words, conditioned_step, gaussian_step, laplace_step
from lapnoise.generator import Generator, default_rng
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)

__all__ = ["release_checks"]

SUBJECT = "release"
KEY_LOOK = "keys: a release without `rng` must draw by 20 rounds under a fresh key (`generator_for`, `Key.from_os`)"
LATTICE_LOOK = (
    "the lattice of a vector: that of as many changed coordinates as it has, else epsilon is missed (`_bound`, "
    "`for_length`)"
)
NOISE_LOOK = (
    "the release path of this mechanism and type: scale, noise, the sum and its rounding, or which words a draw takes; "
    "first the sampler itself, if its own lines failed too"
)
PLACE_LOOK = "places in the stream: noise far into it is not that of its words, so it may repeat"

KINDS = (np.float64, np.float32, np.int64, np.uint64)
FAR = 1 << 32
"""Half of the values of a release lie on either side of this word: places beyond 32 bits must not wrap."""


class Release(NamedTuple):
    """A mechanism, what it is called, and its draws made again.

    Attributes
    ----------
    name : str
    mechanism : FloatMechanism or DiscreteLaplaceMechanism
        For any number of coordinates.
    kinds : tuple of dtypes
        What it takes.
    draw : callable
        ``draw(mechanism, words, place, value)``: the result in steps of the lattice of that mechanism.
    """

    name: str
    mechanism: Any
    kinds: tuple[type[np.generic], ...]
    draw: Callable[[Any, Words, int, Fraction], int]


def _rounded(mechanism: Any, value: Fraction) -> int:
    return lattice.round_half_up(value, mechanism.lattice.exponent)


def _laplace(mechanism: Any, words: Words, place: int, value: Fraction) -> int:
    return _rounded(mechanism, value) + laplace_step(words, place, mechanism.lattice.t)


def _gaussian(mechanism: Any, words: Words, place: int, value: Fraction) -> int:
    return _rounded(mechanism, value) + gaussian_step(words, place, mechanism.lattice.t)


def _truncated(mechanism: Any, words: Words, place: int, value: Fraction) -> int:
    most = mechanism._most
    return _rounded(mechanism, value) + conditioned_step(words, place, mechanism.lattice.t, 0, -most, most)


def _bounded(mechanism: Any, words: Words, place: int, value: Fraction) -> int:
    low, high = mechanism._first, mechanism._last
    centre = min(max(_rounded(mechanism, value), low), high)
    return conditioned_step(words, place, mechanism.lattice.t, centre, low, high)


def _releases() -> Iterator[Release]:
    yield Release("LaplaceMechanism", LaplaceMechanism(epsilon="0.7", sensitivity=1), KINDS, _laplace)
    discrete = DiscreteLaplaceMechanism(epsilon="0.01", sensitivity=1)
    yield Release("DiscreteLaplaceMechanism", discrete, KINDS[2:], _laplace)
    gaussian: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "sensitivity": 1}
    yield Release("GaussianMechanism", GaussianMechanism(**gaussian), KINDS, _gaussian)
    on_integers = GaussianMechanism(**gaussian, integers=True)
    yield Release("GaussianMechanism on integers", on_integers, KINDS[2:], _gaussian)
    truncated = TruncatedLaplaceMechanism(epsilon=1, delta="0.1", sensitivity=1)
    yield Release("TruncatedLaplaceMechanism", truncated, KINDS, _truncated)
    for about, width in (("wide", 1 << 20), ("narrow", 1)):
        bounded = BoundedLaplaceMechanism(epsilon="0.7", sensitivity=1, low=-width, high=width)
        yield Release(f"BoundedLaplaceMechanism, {about}", bounded, KINDS, _bounded)


def release_checks(rng: Generator, count: int) -> Iterator[Check]:
    """Yield checks of releases of so many values by every mechanism: keys, lattices, noise and places."""
    for release in _releases():
        seen: list[Any] = []
        watched = _watched(release.mechanism, seen)
        alike = np.zeros(count, release.kinds[0])
        pair = [watched.add_noise(alike) for _ in range(2)]
        same = int(np.array_equal(*pair)) + int(seen[0].words.key == seen[1].words.key)
        tested = f"two releases of {count} values by {release.name}"
        yield exact(SUBJECT, tested, "keys or results that are the same", same, KEY_LOOK)
        weak = sum(one.words.rounds != 20 or one.repeatable or one.place for one in seen)
        yield exact(SUBJECT, tested, "weak, repeatable or used keys", weak, KEY_LOOK)
        bound = _for_length(release.mechanism, count)
        wrong = sum(one.lattice != bound.lattice for one in seen)
        yield exact(SUBJECT, tested, "lattices of other lengths", wrong, LATTICE_LOOK)
        for kind in release.kinds:
            values = _values(rng, count, np.dtype(kind))
            seen.clear()
            noisy = watched.add_noise(values)
            wrong = _differing(release, bound, values, noisy, seen[0])
            tested = f"{count} values of {np.dtype(kind).name} by {release.name}"
            yield exact(SUBJECT, tested, "results that differ", wrong, NOISE_LOOK)
        for far, about in ((FAR - count // 2, "about word 2^32"), (int(rng.words(1)[0]) >> 3, "at a place at random")):
            seen.clear()
            values = _values(rng, count, np.dtype(release.kinds[0]))
            noisy = _released_far(watched, values, far)
            wrong = _differing(release, bound, values, noisy, seen[0]) + (seen[0].place != far)
            tested = f"{count} values {about} by {release.name}"
            yield exact(SUBJECT, tested, "results that differ", wrong, PLACE_LOOK)


class _Seen(NamedTuple):
    """What a release drew from: words, place, whether they can be drawn again, and the lattice that it used."""

    words: Words
    place: int
    repeatable: bool
    lattice: lattice.Lattice


def _watched(mechanism: Any, seen: list[_Seen]) -> Any:
    """Return the same mechanism, whose releases tell what they draw from."""
    kind = type(mechanism)

    def _add(self: Any, generator: Generator, values: Any, target: Any) -> None:
        words = Words.of(generator._stream.source)
        seen.append(_Seen(words, generator.position, generator.repeatable, self.lattice))
        kind._add(self, generator, values, target)

    watched = type(kind.__name__, (kind,), {"__slots__": (), "_add": _add})
    return watched(**mechanism._parameters())


def _released_far(mechanism: Any, values: NDArray[Any], place: int) -> NDArray[Any]:
    generator = default_rng()
    generator.seek(place)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)  # nobody's values
        noisy: NDArray[Any] = mechanism.add_noise(values, rng=generator)
    return noisy


def _for_length(mechanism: Any, n: int) -> Any:
    """Return the mechanism of which all coordinates change, made anew."""
    parameters = mechanism._parameters()
    return type(mechanism)(**({**parameters, "changed": n} if "changed" in parameters else parameters))


def _differing(release: Release, bound: Any, values: NDArray[Any], noisy: NDArray[Any], seen: _Seen) -> int:
    ends = (bound.low, bound.high) if isinstance(bound, BoundedLaplaceMechanism) else None
    wrong = 0
    for i, (value, got) in enumerate(zip(values.tolist(), noisy.tolist(), strict=True)):
        steps = release.draw(bound, seen.words, seen.place + i, Fraction(value))
        expected = steps * Fraction(2) ** bound.lattice.exponent
        if noisy.dtype.kind == "i":
            wrong += got != min(max(steps, 1 - (1 << 63)), (1 << 63) - 1)
        else:
            wrong += got != _nearest(expected, noisy.dtype, ends)
    return wrong


def _nearest(value: Fraction, kind: np.dtype[Any], ends: tuple[Fraction, Fraction] | None) -> float:
    """Return the float of this type that is nearest, of two the even one; within the ends, where there are some."""
    if kind == np.float64:
        near = float(value)
    else:
        # What lies between two neighbours of float32 is compared with their middle, which is a float64.
        first = np.float32(float(value))
        others = (np.nextafter(first, np.float32(end)) for end in (-math.inf, math.inf))
        candidates = sorted(map(float, (first, *others)), key=lambda one: (abs(Fraction(one) - value), _odd(one)))
        near = candidates[0]
    if ends is not None:  # of the domain of the tests, whose ends are floats of both types
        near = min(max(near, float(ends[0])), float(ends[1]))
    return near


def _odd(value: float) -> int:
    return int(np.float32(value).view(np.uint32)) & 1


def _values(rng: Generator, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return values of all sizes, from far below the scale of the noise to far above; of integers up to the ends."""
    words = rng.words(count)
    if kind.kind == "f":
        # The exponent from one end of the word, the digits from the other.
        exponents = (words % np.uint64(60)).astype(np.int64) - 30
        return np.ldexp((words >> np.uint64(11)).astype(np.float64) * 2.0**-53 - 0.5, exponents).astype(kind)
    shifted: NDArray[Any] = words >> (words % np.uint64(64))
    return shifted.astype(kind) if kind.kind == "u" else shifted.view(np.int64)
