"""Errors of any mechanism on one number against epsilon; `lapnoise.evaluate.experiment` has more on Laplace's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lapnoise.evaluate._sums import Term, mean_band
from lapnoise.evaluate.experiments import LEVEL, Curve, Experiment, Statistic, experiment
from lapnoise.evaluate.plots._laws import NoiseLaw, draw_noise, law_of
from lapnoise.evaluate.reporting._named import made
from lapnoise.evaluate.verification import FALSE_ALARM

__all__ = ["DRAWS", "MechanismErrors", "astray", "errors_of"]

DRAWS = 10_000


@dataclass(frozen=True)
class MechanismErrors:
    """Root mean squared errors of a mechanism.

    Attributes
    ----------
    n : int
        Errors drawn at each epsilon.
    level : Fraction
        Probability that each lies in its band.
    seed : int or None
    curves : tuple of Curve
        One, over the epsilons.
    """

    n: int
    level: Fraction
    seed: int | None
    curves: tuple[Curve, ...]


def errors_of(
    name: str,
    epsilons: Sequence[Fraction],
    delta: Fraction,
    sensitivity: Fraction,
    domain: tuple[Any, Any],
    changed: int,
    seed: int | None,
) -> Experiment | MechanismErrors:
    """Return errors at each epsilon: of a bounded mechanism, of a value in the middle of its domain."""
    if name == "laplace" and changed == 1:
        return experiment(epsilons, sensitivity=sensitivity, n=DRAWS, seed=seed)
    points = []
    for epsilon in epsilons:
        mechanism = made(name, epsilon, delta, sensitivity, *domain, changed)
        law = law_of(mechanism)
        errors = draw_noise(mechanism, DRAWS, seed) / law.unit
        measured = math.sqrt(float(np.mean(errors**2))) * law.unit
        theory = math.sqrt(law.squares.mean) * law.unit
        points.append((float(epsilon), Statistic(measured, theory, *_band(law, float(1 - LEVEL)))))
    return MechanismErrors(DRAWS, LEVEL, seed, (Curve("root mean squared error", tuple(points)),))


def astray(
    errors: Experiment | MechanismErrors,
    name: str,
    epsilons: Sequence[Fraction],
    delta: Fraction,
    sensitivity: Fraction,
    domain: tuple[Any, Any],
    changed: int,
) -> tuple[Fraction, ...]:
    """Return the epsilons whose errors lie where those of right noise lie at none, but once in a million pages.

    Each has an equal part of that rate (Bonferroni).
    """
    if isinstance(errors, Experiment):
        sizes = [math.sqrt(row.mse.measured) for row in errors.rows]
    else:
        sizes = [one.measured for _, one in errors.curves[0].points]
    found = []
    for epsilon, size in zip(epsilons, sizes, strict=True):
        low, high = _band(law_of(made(name, epsilon, delta, sensitivity, *domain, changed)), FALSE_ALARM / len(sizes))
        if not low <= size <= high:
            found.append(epsilon)
    return tuple(found)


def _band(law: NoiseLaw, alpha: float) -> tuple[float, float]:
    """Return what the root mean squared error of the draws lies between, but with probability alpha."""
    squares = Term(law.squares, lambda v: 2 * law.tail(np.sqrt(v) * law.unit), whole=law.on_integers)
    low, high = (math.sqrt(max(end, 0.0)) * law.unit for end in mean_band(squares, DRAWS, alpha))
    return low, high
