"""The exact sampler on words of a caller's choosing, so that a check can place them where tiers could differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._jit import kernel
from lapnoise.kernels.discrete_laplace import magnitudes

__all__ = ["magnitudes_of_words"]


@kernel
def magnitudes_of_words(words: Any, law: Any, rooms: Any, pending: Any) -> None:
    """Write the magnitudes that the first two tiers make of words to ``rooms[0]``, -1 where they leave one undecided.

    ``rooms`` are three rows of float64 as long as the words, ``pending`` is int64 and one longer; t <= FAST_LIMIT.
    """
    pending[0] = np.int64(0)
    magnitudes(words, law, rooms[0], rooms[1], rooms[2], pending, 0)
