"""What noised files must hold, in fractions: the lattice of a mechanism, the exact draws of a seed, and their sums."""

import functools
from fractions import Fraction
from typing import NamedTuple

import exact_oracles
import numpy as np

from lapnoise import LaplaceMechanism, default_rng
from lapnoise._exact_noise import exact_draw
from lapnoise.lattice import Lattice

SEED = 7


class Draw(NamedTuple):
    """The noise of one cell: steps on a lattice."""

    lattice: Lattice
    step: int


@functools.cache
def step_at(t: float, position: int, seed: int = SEED) -> int:
    """Return the exact draw of scale t at a position of a seed's stream, by the last tier alone."""
    return exact_draw(t, default_rng(seed, rounds=20)._stream.source, position)


def position(cell: int, columns: int) -> int:
    """Return the word of a cell, numbered row by row: each noised column has 2^42 words of its own."""
    row, column = divmod(cell, columns)
    return (column << 42) + row


def draws(cells: int, epsilon, sensitivity, changed: int | None = None, columns: int = 1) -> list[Draw]:
    """Return the noise of each of so many cells of a file, row by row, on the lattice for them or for ``changed``."""
    lattice = LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity, changed=changed or max(cells, 1)).lattice
    return [Draw(lattice, step_at(lattice.t, position(cell, columns))) for cell in range(cells)]


def released(value, draw: Draw, kind: type = np.float64) -> float:
    """Return an exact value (a Fraction, an int, a float, or decimal text) with noise, rounded once."""
    return float(exact_oracles.lattice_sum(Fraction(value), draw.step, draw.lattice.exponent, kind))
