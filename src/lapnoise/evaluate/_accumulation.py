"""Errors of a mechanism, drawn and summed up in blocks: however many there are, memory does not grow.

A block's sum and sum of squares are taken while its draws are in the cache. Their rounding is at most 2^-37 of the sum
of magnitudes and of squares, however it comes about, and 2^-53 a wave is added: far below what n draws can tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lapnoise._threads import run_blocks
from lapnoise.generator import Generator

__all__ = ["BLOCK", "Progress", "mean_and_square"]

BLOCK = 1 << 16
"""Draws of a block: 512 KiB, which stay in the second cache while three loops pass over them."""

WAVE = 256
"""Blocks between two reports of progress."""

Progress = Callable[[int], None]


def mean_and_square(
    mechanism: Any, generator: Generator, n: int, releases: int, threads: int, progress: Progress
) -> tuple[float, float]:
    """Return the mean and the mean square of n errors, each the mean of so many releases of the number 0.

    The draws are a function of the generator's key and place alone: release j of number i takes the word n j + i.
    ``progress`` is told how many numbers are done.
    """
    start = generator._stream.reserve(n * releases)
    first = second = 0.0
    one = np.zeros(1)
    mechanism._add(generator._at(start), one, one)  # kernels compile on the calling thread
    for done in range(0, n, WAVE * BLOCK):
        size = min(n - done, WAVE * BLOCK)
        blocks = -(-size // BLOCK)
        sums = np.empty((blocks, 2))

        def work(i: int, done: int = done, sums: Any = sums) -> None:
            begin = done + i * BLOCK
            errors = np.zeros(min(BLOCK, n - begin))
            for j in range(releases):
                # In place: the noises add up, exactly, on the lattice.
                mechanism._add(generator._at(start + n * j + begin), errors, errors)
            sums[i] = np.add.reduce(errors), np.einsum("i,i->", errors, errors)

        run_blocks(work, blocks, threads)
        first = math.fsum([first, *sums[:, 0].tolist()])
        second = math.fsum([second, *sums[:, 1].tolist()])
        progress(done + size)
    return first / n / releases, second / n / releases**2
