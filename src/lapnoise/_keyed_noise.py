"""Exact noise of cells: the words of a row that its first one does not settle, and which kernels serve which type.

Word w of a cell is 64-bit word w % 8 of a block of ChaCha20 at the place of the cell. Block 0 is made under the key of
the column, and block n, which hardly any cell needs, under a key that is derived from that one and n.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _jit, lattice  # noqa: F401 # _jit before what imports Numba itself: it explains its absence
from lapnoise._attempts import candidate
from lapnoise._exact_noise import law
from lapnoise._lattice_noise import FLOAT32, LARGEST_INTEGER, factors, rounded_once
from lapnoise.bits.chacha import block
from lapnoise.bits.chacha_lanes import BATCH_WORDS, WORD_ROOM
from lapnoise.kernels.batches import SCRATCH_WORDS
from lapnoise.kernels.discrete_laplace import FAST_LIMIT
from lapnoise.kernels.keyed_noise import fill_keyed_laplace, fill_keyed_laplace_wide, place_floats, place_integers
from lapnoise.kernels.lattice_sum import add_steps, add_steps32, add_steps_saturating, add_steps_to_integers

__all__ = ["ROUNDS", "add_to_floats", "add_to_integers", "cell_draw", "cell_words", "source_of", "sum_integers"]

ROUNDS = 20

Words = NDArray[np.uint64]

_FURTHER = b"lapnoise further"
_WORDS = 8
_BLOCK = 1 << 13
"""Rows between two passes: 192 KiB of places and steps, which stay in L2."""


def source_of(key: bytes) -> NDArray[np.uint64]:
    """Return what kernels take of the 32 bytes of a key."""
    return np.array([*np.frombuffer(key, "<u8"), 0, ROUNDS // 2], np.uint64)


def cell_words(key: bytes, low: int, high: int) -> Iterator[int]:
    """Yield the words of the cell at a place."""
    for number in itertools.count():
        own = key if number == 0 else _further_key(key, number)
        halves = block(np.frombuffer(own, "<u4").tolist(), low, high, ROUNDS)
        for k in range(_WORDS):
            yield halves[2 * k + 1] << 32 | halves[2 * k]


def _further_key(key: bytes, number: int) -> bytes:
    return hashlib.blake2b(number.to_bytes(8, "little"), digest_size=len(key), key=key, person=_FURTHER).digest()


def cell_draw(t: float, key: bytes, low: int, high: int) -> int:
    """Return the noise of the cell at a place by the last tier alone, sign included."""
    return candidate(Fraction(t), cell_words(key, low, high))


def add_to_floats(out: NDArray[Any], values: NDArray[Any], identities: Words, key: bytes, on: lattice.Lattice) -> None:
    """Write values, rounded half up to a lattice, + the noise of their cells to ``out``, of the dtype of the values."""
    steps = factors(on.exponent)
    sums = add_steps32 if out.dtype == FLOAT32 else add_steps
    largest = float(np.finfo(out.dtype).max)

    def place(low: Any, high: Any, rows: Any, given: Any) -> None:
        place_floats(low, high, rows, given, steps)

    def add(target: Any, given: Any, noise: Any) -> None:
        sums(target, given, noise, steps)

    def store(i: int, noise: int, target: NDArray[Any], given: NDArray[Any]) -> None:
        x = float(given[i])
        target[i] = x if math.isnan(x) else rounded_once(Fraction(x), noise, on.exponent, largest, out.dtype)

    _run(out, values, identities, key, on.t, place, add, store)


def add_to_integers(
    out: NDArray[np.float64],
    values: NDArray[np.int64],
    identities: Words,
    key: bytes,
    on: lattice.Lattice,
    unsigned: bool,
) -> None:
    """Do the same for int64 values, or uint64 seen as int64 where ``unsigned``, giving float64."""
    steps = factors(on.exponent)
    largest = float(np.finfo(np.float64).max)

    def add(target: Any, given: Any, noise: Any) -> None:
        add_steps_to_integers(target, given, noise, steps, on.exponent, unsigned)

    def store(i: int, noise: int, target: NDArray[Any], given: NDArray[Any]) -> None:
        target[i] = lattice.release(Fraction(_integer(given[i], unsigned)), noise, on.exponent, largest)

    _run(out, values, identities, key, on.t, _placing_integers(on.exponent, unsigned), add, store)


def sum_integers(
    out: NDArray[np.int64],
    values: NDArray[np.int64],
    identities: Words,
    key: bytes,
    t: float,
    unsigned: bool,
) -> None:
    """Write such integers + the noise of their cells, of scale t, to ``out``; sums saturate at +-(2^63 - 1)."""

    def add(target: Any, given: Any, noise: Any) -> None:
        add_steps_saturating(target, given, noise, unsigned)

    def store(i: int, noise: int, target: NDArray[Any], given: NDArray[Any]) -> None:
        target[i] = min(max(_integer(given[i], unsigned) + noise, -LARGEST_INTEGER), LARGEST_INTEGER)

    _run(out, values, identities, key, t, _placing_integers(0, unsigned), add, store)


def _placing_integers(exponent: int, unsigned: bool) -> Callable[..., None]:
    steps = factors(exponent)

    def place(low: Any, high: Any, rows: Any, given: Any) -> None:
        place_integers(low, high, rows, given, steps, exponent, unsigned)

    return place


def _integer(value: Any, unsigned: bool) -> int:
    return int(value) % (1 << 64) if unsigned else int(value)


def _run(
    out: NDArray[Any],
    values: NDArray[Any],
    identities: Words,
    key: bytes,
    t: float,
    place: Callable[..., None],
    add: Callable[..., None],
    store: Callable[..., None],
) -> None:
    """Write values with noise to ``out`` block by block.

    ``place(low, high, identities, values)`` writes the places of cells, ``add(out, values, noise)`` adds noise of less
    than 2^52 steps, and ``store(i, noise, out, values)`` adds that of one row, however large.
    """
    draw = _Drawing(t, key)
    rows = min(out.size, _BLOCK)
    room = np.empty((2, rows), np.uint64)
    noise = np.empty(rows, np.int64)
    for first in range(0, out.size, _BLOCK):
        block_of = slice(first, first + _BLOCK)
        target, given = out[block_of], values[block_of]
        low, high, steps = room[0, : target.size], room[1, : target.size], noise[: target.size]
        place(low, high, identities[block_of], given)
        alone = draw.fill(steps, low, high)
        if not draw.wide:
            add(target, given, steps)
        for i, exact in alone:
            store(i, exact, target, given)


class _Drawing:
    """The noise of a column's cells: by kernels, and one by one what they leave open.

    Attributes
    ----------
    wide : bool
        Whether noise may pass 2^52 steps, so that every sum is made in Python integers, some 3 us each.
    """

    def __init__(self, t: float, key: bytes) -> None:
        self.wide = t > FAST_LIMIT
        self._t, self._key = t, key
        self._source = source_of(key)
        self._law = law(t) if t <= lattice.LARGEST_T else None
        self._scratch = np.empty(SCRATCH_WORDS, np.uint64)
        self._pending = np.zeros(WORD_ROOM + BATCH_WORDS + 1, np.int64)

    def fill(self, steps: NDArray[np.int64], low: Words, high: Words) -> list[tuple[int, int]]:
        """Write the noise to ``steps``; return row and noise of those that are to be added one by one."""
        rows = range(steps.size) if self._law is None else self._fill_most(steps, low, high)
        exact = {i: cell_draw(self._t, self._key, int(low[i]), int(high[i])) for i in rows}
        if self.wide and self._law is not None:
            exact = {**dict(enumerate(steps.tolist())), **exact}
        return list(exact.items())

    def _fill_most(self, steps: NDArray[np.int64], low: Words, high: Words) -> list[int]:
        kernel = fill_keyed_laplace_wide if self.wide else fill_keyed_laplace
        pending = self._pending
        open_rows: list[int] = []
        done = 0
        while done < steps.size:
            count = kernel(steps[done:], low[done:], high[done:], self._law, self._source, self._scratch, pending)
            open_rows += [done + i for i in pending[1 : 1 + int(pending[0])].tolist()]
            done += count
        return open_rows
