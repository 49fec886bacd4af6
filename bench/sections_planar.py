"""The report's part on noise in the plane: exact planar Laplace noise beside the usual recipe in floats."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapnoise
from bench.rows import Row, plain, speed
from bench.sections import Plan
from bench.timing import Timed, interleave

__all__ = ["rows_planar"]

POINTS = 100_000
EPSILON = 0.01


def rows_planar(plan: Plan) -> Iterator[Row]:
    """Compare exact noise added to points with a radius by Lambert's W and a uniform angle, in NumPy and SciPy."""
    group = f"{POINTS:,} points in the plane + planar Laplace noise"
    points, out = np.zeros((POINTS, 2)), np.empty((POINTS, 2))
    theirs = np.random.Generator(np.random.PCG64(1))
    mechanism = lapnoise.PlanarLaplaceMechanism(epsilon=str(EPSILON), radius=200)
    reference = "numpy, scipy lambertw"
    tasks = [Timed(reference, functools.partial(_by_lambert_w, points, theirs), POINTS)]
    for rounds, threads in ((12, 1), (20, 1), (20, None)):
        rng = lapnoise.default_rng(rounds=rounds, threads=threads)
        call = functools.partial(mechanism.add_noise, points, out=out, rng=rng)
        name = f"PlanarLaplaceMechanism{'' if rounds == 20 else f' r{rounds}'}{'' if threads else ', all cores'}"
        tasks.append(Timed(name, call, POINTS, threads))
    measured = interleave(tasks, plan.repeats)
    yield plain(group, reference, measured[reference])
    for task in tasks[1:]:
        yield speed(group, task.name, measured[task.name], (reference, measured[reference]), task.threads)


def _by_lambert_w(points: NDArray[np.float64], chance: np.random.Generator) -> Any:
    """Return points with noise as in Andrés et al. 2013, section 4.2, rounded to nothing."""
    from scipy.special import lambertw

    n = len(points)
    radius = -(lambertw((chance.random(n) - 1.0) / math.e, -1).real + 1.0) / EPSILON
    angle = 2.0 * math.pi * chance.random(n)
    return points + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
