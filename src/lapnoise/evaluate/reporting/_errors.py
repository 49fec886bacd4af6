"""Errors of any mechanism on one number against epsilon; `lapnoise.evaluate.experiment` has more on Laplace's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lapnoise.evaluate._sums import mean_band
from lapnoise.evaluate.experiments import LEVEL, Curve, Experiment, Statistic, experiment
from lapnoise.evaluate.plots._laws import draw_noise, law_of
from lapnoise.evaluate.reporting._named import made

__all__ = ["DRAWS", "MechanismErrors", "errors_of"]

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
    seed: int | None,
) -> Experiment | MechanismErrors:
    """Return errors at each epsilon: of a bounded mechanism, of a value in the middle of its domain."""
    if name == "laplace":
        return experiment(epsilons, sensitivity=sensitivity, n=DRAWS, seed=seed)
    points = []
    for epsilon in epsilons:
        mechanism = made(name, epsilon, delta, sensitivity, *domain)
        law = law_of(mechanism)
        errors = draw_noise(mechanism, DRAWS, seed) / law.unit
        low, high = (max(end, 0.0) for end in mean_band(law.squares, DRAWS, float(1 - LEVEL)))
        sizes = (math.sqrt(square) * law.unit for square in (float(np.mean(errors**2)), law.squares.mean, low, high))
        points.append((float(epsilon), Statistic(*sizes)))
    return MechanismErrors(DRAWS, LEVEL, seed, (Curve("root mean squared error", tuple(points)),))
