"""Kernels that reject whole attempts, on words of a test's choosing instead of a stream's."""

import itertools
from collections.abc import Iterator
from functools import cache

import numba
import numpy as np
from mutants import mutant
from numba.core import cgutils, types
from numba.extending import intrinsic

from lapnoise.kernels.attempts import ATTEMPT_ROOM, ATTEMPT_STREAMS, ROLES

jit = numba.njit(error_model="numpy", nogil=True)

STEP = 977
"""How far the tables move from one attempt to the next."""


def word(table: np.ndarray, position: int, attempt: int) -> int:
    """Return the word of an attempt at a position: tables go round."""
    return int(table[(position + STEP * attempt) % table.size])


def words_of(table: np.ndarray, position: int, attempt: int) -> Iterator[int]:
    """Yield that word, and further words that differ from place to place."""
    yield word(table, position, attempt)
    for depth in itertools.count():
        yield (0x9E3779B97F4A7C15 * (position + 7 * attempt + 31 * depth + 1)) % (1 << 64)


@intrinsic
def _table(typingctx, address):
    """Return a pointer to the words at an address."""

    def emit(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), emit


@cache
def filling(module_name: str, function: str, *changes: tuple[str, str]):
    """Return ``fill(out, *parameters, pending, tables)`` made of a kernel's source, role i taking words from table i.

    Tables have one size. Their addresses travel in the place of the key.
    """
    imported = "kernel\nfrom lapnoise.bits"
    made = mutant(module_name, (imported, f"device as {imported}"), *changes)
    base = np.uint64(ATTEMPT_STREAMS)
    roles = np.uint64(ROLES)

    @jit
    def refill(words, source, position, wanted, draw_words):
        skip = position & 127
        count = min(512 - skip, wanted)
        attempt, role = divmod(source[4] - base, roles)
        size = np.int64(source[3])
        table = numba.carray(_table(source[np.int64(role)]), size, np.uint64)
        for i in range(count):
            words[skip + i] = table[(position + i + STEP * np.int64(attempt)) % size]
        return skip, count

    made.refill = refill
    kernel = getattr(made, function)

    @jit
    def run(out, parameters, room, pending, source):
        return kernel(out, *(*parameters, source, 0, room, pending))

    def fill(out, *given):
        *parameters, pending, tables = given
        source = np.zeros(6, np.uint64)
        source[: len(tables)] = [table.ctypes.data for table in tables]
        source[3] = tables[0].size
        return run(out, tuple(parameters), np.empty(ATTEMPT_ROOM, np.uint64), pending, source)

    return fill
