"""What an adversary reads off an output: each feature is one number, each event one of its half-lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Event", "Feature", "Floats", "features", "half_lines", "lowest_bits", "trailing_zeros"]

Floats = NDArray[np.float64]

NO_BIT = 2000
"""The exponent of the lowest set bit of 0, above that of every other float."""

_FRACTION = np.uint64(2**52 - 1)
_HIDDEN = np.uint64(2**52)

_TAILS = np.concatenate([[0.0], *([10.0**k, 10.0**k * 3] for k in range(-7, -1))])
_SHARES = np.concatenate([_TAILS, np.arange(1, 40) / 40, 1.0 - _TAILS])

_MOST_WHOLE = 200


@dataclass(frozen=True, eq=False)
class Feature:
    """A number for each output, and what it is compared with.

    Attributes
    ----------
    measure : callable
        Maps outputs, float64, to an array of numbers.
    words : callable
        ``words(threshold, below)`` says what it means that the number is at most, or above, a threshold.
    thresholds : ndarray
        In ascending order, each once.
    """

    measure: Callable[[Floats], NDArray[Any]]
    words: Callable[[float, bool], str]
    thresholds: NDArray[Any]

    def count(self, outputs: Floats) -> NDArray[np.int64]:
        """Return for each threshold how many outputs are at most that."""
        measured = self.measure(outputs)
        if self.thresholds.size <= 2:
            return np.array([np.count_nonzero(measured <= threshold) for threshold in self.thresholds], np.int64)
        places = np.searchsorted(self.thresholds, measured)
        return np.cumsum(np.bincount(places, minlength=self.thresholds.size + 1)[:-1])


@dataclass(frozen=True)
class Event:
    """A set of outputs: those whose feature is at most a threshold, or above it."""

    feature: Feature
    threshold: Any
    below: bool

    def count(self, outputs: Floats) -> int:
        """Return how many outputs belong to it."""
        least = np.count_nonzero(self.feature.measure(outputs) <= self.threshold)
        return int(least if self.below else outputs.size - least)

    def __str__(self) -> str:
        return self.feature.words(float(self.threshold), self.below)


def features(pilots: tuple[Floats, Floats], inputs: tuple[float, float]) -> list[Feature]:
    """Return what is looked at, with thresholds from some outputs of each input.

    Value, distance from either input, place of the lowest set bit, zeros that end the significand, the sign of zero,
    and each of the 64 bits.
    """
    distances = [partial(_distance, point) for point in inputs]
    low = [lowest_bits(pilot) for pilot in pilots]
    zeros = [trailing_zeros(pilot) for pilot in pilots]
    return [
        *half_lines(pilots),
        *(
            Feature(distance, partial(_distance_words, point), _thresholds([distance(pilot) for pilot in pilots]))
            for distance, point in zip(distances, inputs, strict=True)
        ),
        Feature(lowest_bits, _lowest_words, _whole_thresholds(low)),
        Feature(trailing_zeros, _zeros_words, _whole_thresholds(zeros)),
        Feature(_signed_zero, _signed_zero_words, np.array([-1, 0])),
        *(Feature(partial(_bit, np.uint64(k)), partial(_bit_words, k), np.array([0])) for k in range(64)),
    ]


def half_lines(pilots: tuple[Floats, Floats]) -> list[Feature]:
    """Return the value alone, with thresholds from far in one tail to far in the other."""
    return [Feature(_value, _value_words, _thresholds(pilots))]


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
    quantiles = [np.quantile(each, _SHARES, method="nearest") for each in measured]
    ends = [(each.min(), each.max()) for each in measured]
    # An event beyond all outputs of one input, where only the other has some.
    beyond = [np.nextafter(least, -np.inf) for least, _ in ends]
    return np.unique(np.concatenate([*quantiles, beyond, [most for _, most in ends]]))


def _whole_thresholds(measured: Any) -> NDArray[np.int64]:
    every = np.unique(np.concatenate([np.unique(each) for each in measured]))
    return every[:: -(-every.size // _MOST_WHOLE)]


def _value(outputs: Floats) -> Floats:
    return outputs


def _value_words(threshold: float, below: bool) -> str:
    return f"output {'<=' if below else '>'} {threshold:.6g}"


def _distance(point: float, outputs: Floats) -> Floats:
    return np.abs(outputs - point)


def _distance_words(point: float, threshold: float, below: bool) -> str:
    if threshold == 0.0:
        return f"output {'=' if below else 'other than'} {point:g}"
    return f"distance of the output from {point:g} {'<=' if below else '>'} {threshold:.6g}"


def _lowest_words(threshold: float, below: bool) -> str:
    if threshold == NO_BIT:
        return "any output" if below else "no output"
    return f"lowest set bit {'at most' if below else 'above'} 2^{int(threshold)}{'' if below else ', or 0'}"


def _zeros_words(threshold: float, below: bool) -> str:
    return f"significand ends in {'at most' if below else 'more than'} {int(threshold)} zeros"


def _signed_zero(outputs: Floats) -> Floats:
    return np.where(outputs == 0.0, np.copysign(1.0, outputs), 0.0)


def _signed_zero_words(threshold: float, below: bool) -> str:
    if threshold < 0:
        return "output is -0.0" if below else "output is anything but -0.0"
    return "output is anything but +0.0" if below else "output is +0.0"


def _bit(place: np.uint64, outputs: Floats) -> NDArray[np.uint64]:
    return outputs.view(np.uint64) >> place & np.uint64(1)


def _bit_words(place: int, threshold: float, below: bool) -> str:
    return f"{'sign bit' if place == 63 else f'bit {place}'} of the float is {0 if below else 1}"
