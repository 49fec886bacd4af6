"""Which events an audit chooses where the law of the noise is known: on draws, and so by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise.evaluate.auditing.bounds import FALSE_ALARM, clopper_pearson
from lapnoise.evaluate.auditing.events import SHARES, Floats, counts_of_events
from lapnoise.evaluate.auditing.search import SUSPICION, preferred

__all__ = ["LAPLACE", "NORMAL", "Choices", "Law", "choices"]

CHOICES = 300
"""Choices that are drawn. What an event finds differs by 0.1 or so from one to another, and its mean by 0.006."""

TABLE = 400


class Law(NamedTuple):
    """A law of noise, symmetric about 0: the probability of what is at most x, and its inverse."""

    below: Callable[[Floats], Floats]
    quantile: Callable[[Floats], Floats]


class Choices(NamedTuple):
    """Events as they are chosen: half-lines and intervals of an output.

    Attributes
    ----------
    sides : ndarray of ints
        The input that gives each more often.
    ends : ndarray, shape (n, 2)
        Above the first, at most the second.
    shares : ndarray
        How often each is chosen.
    """

    sides: NDArray[np.int64]
    ends: Floats
    shares: Floats

    def probabilities(self, law: Law, apart: float) -> tuple[Floats, Floats]:
        """Return the probabilities of each for the input that gives it more often, and for the other, so far apart."""
        own = self.ends - apart * self.sides[:, None]
        other = self.ends - apart * (1 - self.sides[:, None])
        return _between(law, own), _between(law, other)


def choices(law: Law, apart: float, size: int, epsilon: float, delta: float) -> Choices:
    """Return what is chosen among the outputs of two inputs that lie so far apart, ``size`` of each.

    Counts between thresholds are drawn, and an event is taken by them as `lapnoise.evaluate.auditing.search.choose`
    takes it.
    """
    usual = law.quantile(SHARES[(SHARES > 0.0) & (SHARES < 1.0)])
    thresholds = np.unique(np.concatenate([usual, usual + apart]))
    chance = np.random.default_rng(0)
    counts = [counts_of_events(_below(law.below(thresholds - shift), size, chance), size) for shift in (0.0, apart)]
    hits, others = np.concatenate(counts, axis=-1), np.concatenate(counts[::-1], axis=-1)
    likely, suspect = (_shown(hits, others, size, delta, error) for error in (FALSE_ALARM, SUSPICION))
    places = preferred(likely, suspect > epsilon)
    chosen, times = np.unique(places, return_counts=True)
    sides, events = np.divmod(chosen, counts[0].shape[1])
    open_end = np.full(thresholds.size, np.inf)
    above = np.concatenate([-open_end, thresholds, thresholds[:-1]])
    most = np.concatenate([thresholds, open_end, thresholds[1:]])
    return Choices(sides, np.column_stack([above, most])[events], times / CHOICES)


def _below(probabilities: Floats, size: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """Draw how many outputs are at most each threshold, `CHOICES` times."""
    cells = np.diff(np.concatenate([[0.0], probabilities, [1.0]]))
    return np.cumsum(chance.multinomial(size, cells, CHOICES), axis=1)[:, :-1]


def _shown(hits: Any, others: Any, size: int, delta: float, error: float) -> Floats:
    """Return bounds as `lapnoise.evaluate.auditing.bounds.epsilon_at_least` does, to 1e-4, by a table."""
    few = np.arange(min(TABLE, size))
    counts = np.unique(np.concatenate([few, np.geomspace(few.size, size, TABLE).astype(np.int64)]))
    low, high = clopper_pearson(counts, size, error)
    with np.errstate(divide="ignore"):
        surely = np.log(np.maximum(np.interp(hits, counts, low) - delta, 0.0))
    return np.asarray(surely - np.log(np.interp(others, counts, high)))


def _between(law: Law, ends: Floats) -> Floats:
    return law.below(ends[:, 1]) - law.below(ends[:, 0])


def _laplace_below(x: Floats) -> Floats:
    tail = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0, tail, 1.0 - tail)


def _laplace_quantile(p: Floats) -> Floats:
    return np.where(p < 0.5, 1.0, -1.0) * np.log(2.0 * np.minimum(p, 1.0 - p))


def _normal_below(x: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(x))


def _normal_quantile(p: Floats) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(p))


LAPLACE = Law(_laplace_below, _laplace_quantile)
NORMAL = Law(_normal_below, _normal_quantile)
