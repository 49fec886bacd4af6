"""The two halves of an audit, on separate outputs: choosing an event, and counting it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise.evaluate.auditing.bounds import FALSE_ALARM, epsilon_at_least
from lapnoise.evaluate.auditing.events import Event, Feature, Floats, counts_of_events

__all__ = ["SUSPICION", "Choice", "Draw", "Progress", "choose", "count", "preferred"]

Draw = Callable[[int, int], Floats]
"""``draw(side, size)`` returns that many outputs of one of two inputs, side 0 or 1."""

Progress = Callable[[str, str, int, int | None], None]
"""``progress(stage, unit, done, total)``."""

BLOCK = 2**18
"""Outputs that are held at once, for each input."""

PILOT = 2**20
"""Outputs of each input at most that thresholds are taken from."""

SUSPICION = 1e-3
"""The error rate of the bounds by which an event is suspected of showing more than is claimed.

A bound is the sum of two, each off by 3.3 standard deviations, which is 4.4 of their difference, so that hardly any of
the events of a sound mechanism is suspected: some thousand, of which 150 or so are close to epsilon. No false alarm
hangs on it, since the choice has no part in what is counted.
"""


class Choice(NamedTuple):
    """An event, and the side whose outputs should fall into it more often."""

    event: Event
    side: int


def choose(
    draw: Draw,
    size: int,
    look: Callable[[tuple[Floats, Floats]], list[Feature]],
    epsilon: float,
    delta: float,
    progress: Progress,
) -> Choice:
    """Return the event that shows most among ``size`` outputs of each input.

    Bounds as they will be counted favour probable events, whose counts are the most certain; but events that are
    suspected of showing more than epsilon, be they rare, come first.

    Parameters
    ----------
    look : callable
        Makes features from some outputs of each input.
    epsilon, delta : float
        What is claimed.
    """
    blocks = _blocks(draw, size, "choose", progress)
    held = 0
    first = []
    for block in blocks:
        first.append(block)
        held += block[0].size
        if held >= PILOT:
            break
    found = look((np.concatenate([b[0] for b in first]), np.concatenate([b[1] for b in first])))
    below = [np.zeros((2, feature.thresholds.size), np.int64) for feature in found]
    while first:
        _tally(below, found, first.pop())
    for block in blocks:
        _tally(below, found, block)
    counts = np.concatenate([counts_of_events(each, size) for each in below], axis=1)
    hits, others = np.concatenate(list(counts)), np.concatenate(list(counts[::-1]))
    likely, suspect = (epsilon_at_least(hits, others, size, delta, error) for error in (FALSE_ALARM, SUSPICION))
    side, place = divmod(int(preferred(likely, suspect > epsilon)), counts.shape[1])
    for feature in found:
        if place < feature.events:
            break
        place -= feature.events
    return Choice(feature.event(place), side)


def count(draw: Draw, size: int, event: Event, progress: Progress) -> tuple[int, int]:
    """Return how many of ``size`` outputs of each input belong to an event."""
    counts = [0, 0]
    for block in _blocks(draw, size, "count", progress):
        for side, outputs in enumerate(block):
            counts[side] += event.count(outputs)
    return counts[0], counts[1]


def preferred(likely: NDArray[np.float64], suspected: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the place of the largest in the last axis, among the suspected ones where there are any."""
    some = suspected.any(axis=-1, keepdims=True)
    return np.asarray(np.where(suspected | ~some, likely, -np.inf).argmax(axis=-1))


def _tally(below: list[Any], found: list[Feature], block: tuple[Floats, Floats]) -> None:
    for counts, feature in zip(below, found, strict=True):
        for side, outputs in enumerate(block):
            counts[side] += feature.count(outputs)


def _blocks(draw: Draw, size: int, stage: str, progress: Progress) -> Iterator[tuple[Floats, Floats]]:
    for start in range(0, size, BLOCK):
        more = min(BLOCK, size - start)
        yield draw(0, more), draw(1, more)
        progress(stage, "draw", start + more, size)
