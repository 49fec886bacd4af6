"""What an adversary reads off an output: each feature is one number, each event a half-line or an interval of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "SHARES",
    "Event",
    "Feature",
    "Floats",
    "counts_of_events",
    "features",
    "lowest_bits",
    "trailing_zeros",
    "values",
]

Floats = NDArray[np.float64]

NO_BIT = 2000
"""The exponent of the lowest set bit of 0, above that of every other float."""

_FRACTION = np.uint64(2**52 - 1)
_HIDDEN = np.uint64(2**52)

_TAILS = np.concatenate([[0.0], *([10.0**k, 10.0**k * 3] for k in range(-7, -1))])
SHARES = np.concatenate([_TAILS, np.arange(1, 40) / 40, 1.0 - _TAILS])
"""Quantiles of the outputs that become thresholds."""

_MOST_WHOLE = 200

_MOST_SINGLE = 100
_OFTEN = 10
"""Of each input the values that come most often are events of their own, where they come ten times at least."""


@dataclass(frozen=True, eq=False)
class Feature:
    """A number for each output, and what it is compared with.

    Attributes
    ----------
    measure : callable
        Maps outputs, float64, to an array of numbers.
    words : callable
        ``words(above, most)`` says what it means that the number is above the one and at most the other; None for an
        end that is open.
    thresholds : ndarray
        In ascending order, each once.
    """

    measure: Callable[[Floats], NDArray[Any]]
    words: Callable[[Any, Any], str]
    thresholds: NDArray[Any]

    def count(self, outputs: Floats) -> NDArray[np.int64]:
        """Return for each threshold how many outputs are at most that."""
        measured = self.measure(outputs)
        if self.thresholds.size <= 2:
            return np.array([np.count_nonzero(measured <= threshold) for threshold in self.thresholds], np.int64)
        places = np.searchsorted(self.thresholds, measured)
        return np.cumsum(np.bincount(places, minlength=self.thresholds.size + 1)[:-1])

    @property
    def events(self) -> int:
        """How many events it has: at most each threshold, above each, and between neighbours."""
        return 3 * self.thresholds.size - 1

    def event(self, place: int) -> Event:
        """Return the event that `counts_of_events` counts at a place."""
        ends, size = self.thresholds, self.thresholds.size
        if place < size:
            return Event(self, None, ends[place])
        if place < 2 * size:
            return Event(self, ends[place - size], None)
        return Event(self, *ends[place - 2 * size : place - 2 * size + 2])


@dataclass(frozen=True)
class Event:
    """A set of outputs: those whose feature is above a threshold, at most a threshold, or between two neighbours."""

    feature: Feature
    above: Any
    most: Any

    def count(self, outputs: Floats) -> int:
        """Return how many outputs belong to it."""
        measured = self.feature.measure(outputs)
        within = outputs.size if self.most is None else np.count_nonzero(measured <= self.most)
        return int(within if self.above is None else within - np.count_nonzero(measured <= self.above))

    def __str__(self) -> str:
        return self.feature.words(self.above, self.most)


def counts_of_events(below: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the counts of all events of a feature, from those of what is at most each threshold, in the last axis.

    First of what is at most each threshold, then above each, then between neighbours.
    """
    return np.concatenate([below, size - below, np.diff(below, axis=-1)], axis=-1)


def features(pilots: tuple[Floats, Floats], inputs: tuple[float, float]) -> list[Feature]:
    """Return what is looked at, with thresholds from some outputs of each input.

    Value, distance from either input, place of the lowest set bit, zeros that end the significand, the sign of zero,
    and each of the 64 bits.
    """
    distances = [partial(_distance, point) for point in inputs]
    low = [lowest_bits(pilot) for pilot in pilots]
    zeros = [trailing_zeros(pilot) for pilot in pilots]
    return [
        *values(pilots),
        *(
            Feature(distance, partial(_distance_words, point), _thresholds([distance(pilot) for pilot in pilots]))
            for distance, point in zip(distances, inputs, strict=True)
        ),
        Feature(lowest_bits, _lowest_words, _whole_thresholds(low)),
        Feature(trailing_zeros, _zeros_words, _whole_thresholds(zeros)),
        Feature(_signed_zero, _signed_zero_words, np.array([-1, 0])),
        *(Feature(partial(_bit, np.uint64(k)), partial(_bit_words, k), np.array([0])) for k in range(64)),
    ]


def values(pilots: tuple[Floats, Floats]) -> list[Feature]:
    """Return the value alone, with thresholds from far in one tail to far in the other, and round frequent values."""
    single = np.concatenate([_frequent(pilot) for pilot in pilots])
    ends = np.concatenate([_thresholds(pilots), single, np.nextafter(single, -np.inf)])
    return [Feature(_value, _value_words, np.unique(ends))]


def lowest_bits(outputs: Floats) -> NDArray[np.int64]:
    """Return the exponent of the lowest set bit of each float, `NO_BIT` for 0."""
    zeros, exponents = _significands(outputs)
    return np.where(outputs == 0.0, NO_BIT, exponents + zeros)


def trailing_zeros(outputs: Floats) -> NDArray[np.int64]:
    """Return how many zeros end the 53 bits of each significand, 53 for 0."""
    return _significands(outputs)[0]


def _significands(outputs: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the zeros that end each significand, a whole number of 53 bits, and the exponent of its unit."""
    patterns = outputs.view(np.uint64)
    exponents = (patterns >> np.uint64(52) & np.uint64(2047)).astype(np.int64)
    significands = patterns & _FRACTION | np.where(exponents > 0, _HIDDEN, np.uint64(0))
    alone = significands & (~significands + np.uint64(1))
    zeros = np.where(alone > 0, np.frexp(alone.astype(np.float64))[1].astype(np.int64) - 1, 53)
    return zeros, np.maximum(exponents, 1) - 1075


def _thresholds(measured: Any) -> Floats:
    quantiles = [np.quantile(each, SHARES, method="nearest") for each in measured]
    ends = [(each.min(), each.max()) for each in measured]
    # An event beyond all outputs of one input, where only the other has some.
    beyond = [np.nextafter(least, -np.inf) for least, _ in ends]
    return np.unique(np.concatenate([*quantiles, beyond, [most for _, most in ends]]))


def _frequent(outputs: Floats) -> Floats:
    """Return the values that come most often."""
    found, times = np.unique(outputs, return_counts=True)
    often = times >= _OFTEN
    found, times = found[often], times[often]
    return found[np.argsort(-times, kind="stable")[:_MOST_SINGLE]]


def _whole_thresholds(measured: Any) -> NDArray[np.int64]:
    every = np.unique(np.concatenate([np.unique(each) for each in measured]))
    return every[:: -(-every.size // _MOST_WHOLE)]


def _value(outputs: Floats) -> Floats:
    return outputs


def _value_words(above: Any, most: Any) -> str:
    return _between("output", above, most)


def _between(subject: str, above: Any, most: Any) -> str:
    if above is None:
        return f"{subject} <= {most:.6g}"
    if most is None:
        return f"{subject} > {above:.6g}"
    if np.nextafter(above, np.inf) == most:
        return f"{subject} = {most:.6g}"
    return f"{subject} in ({above:.6g}, {most:.6g}]"


def _distance(point: float, outputs: Floats) -> Floats:
    return np.abs(outputs - point)


def _distance_words(point: float, above: Any, most: Any) -> str:
    if (above, most) in ((None, 0.0), (0.0, None)):
        return f"output {'=' if above is None else 'other than'} {point:.6g}"
    return _between(f"distance of the output from {point:.6g}", above, most)


def _lowest_words(above: Any, most: Any) -> str:
    if above is None:
        return "any output" if most == NO_BIT else f"lowest set bit at most 2^{most}"
    if most is None and above == NO_BIT:
        return "no output"
    if most is None or most == NO_BIT:
        return f"lowest set bit above 2^{above}, or 0"
    return f"lowest set bit 2^{most}" if most - above == 1 else f"lowest set bit above 2^{above}, at most 2^{most}"


def _zeros_words(above: Any, most: Any) -> str:
    if above is None:
        return f"significand ends in at most {most} zeros"
    if most is None:
        return f"significand ends in more than {above} zeros"
    return (
        f"significand ends in {most} zeros" if most - above == 1 else f"significand ends in {above + 1} to {most} zeros"
    )


def _signed_zero(outputs: Floats) -> Floats:
    return np.where(outputs == 0.0, np.copysign(1.0, outputs), 0.0)


def _signed_zero_words(above: Any, most: Any) -> str:
    if above is None:
        return "output is -0.0" if most < 0 else "output is anything but +0.0"
    if most is None:
        return "output is anything but -0.0" if above < 0 else "output is +0.0"
    return "output is anything but a zero"


def _bit(place: np.uint64, outputs: Floats) -> NDArray[np.uint64]:
    return outputs.view(np.uint64) >> place & np.uint64(1)


def _bit_words(place: int, above: Any, most: Any) -> str:
    return f"{'sign bit' if place == 63 else f'bit {place}'} of the float is {0 if above is None else 1}"
