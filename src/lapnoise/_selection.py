"""A selection put together: bounds of all keys from a kernel, and integers for the few that they leave open.

The winner is a function of the words alone, and each candidate takes one: candidate i has the word at position p + i,
and, where its key cannot be told from another one's, further words from streams of its own at that position
(`_exact_noise`). Nothing is ever drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapnoise import _jit, exact_selection  # noqa: F401 # _jit before what imports Numba itself
from lapnoise._exact_noise import further_words, word_of_stream
from lapnoise._scores import FAR
from lapnoise._word_source import WordSource
from lapnoise.kernels.selection import fill_exponential_bounds, fill_flip_bounds

__all__ = ["least"]


def least(
    rng: WordSource,
    offsets: NDArray[np.float64],
    eligible: NDArray[np.bool_] | None,
    logarithmic: bool,
    exactly: Callable[[int], tuple[Fraction, Fraction]],
) -> int:
    """Return the index of the candidate with the least key; takes one word of ``rng`` a candidate.

    Parameters
    ----------
    rng : WordSource
        Where the words come from.
    offsets : ndarray
        x - ln m of each candidate in floats, cut to FAR.
    eligible : ndarray of bool, optional
        Which candidates may win, one at least; None for all.
    logarithmic : bool
        Keys are ln E + x - ln m; otherwise x - E.
    exactly : callable
        Gives (x, m) of a candidate as Fractions.
    """
    low, high = np.empty(offsets.size), np.empty(offsets.size)
    kernel = fill_exponential_bounds if logarithmic else fill_flip_bounds
    start = rng._fill(kernel, [low, high], [offsets])
    best = high.min()
    if best > FAR / 2:  # the upper bound of a penalty that was cut says nothing
        best = math.inf
    near = low <= best
    if eligible is not None:
        near &= eligible
    left = np.flatnonzero(near).tolist()
    if len(left) == 1:
        return left[0]
    source = rng._stream.source
    contenders = []
    for i in left:
        first = word_of_stream(source, start + i, 0) >> 1
        contenders.append(exact_selection.Contender(first, further_words(source, start + i), *exactly(i)))
    return left[exact_selection.winner(contenders, logarithmic)]
