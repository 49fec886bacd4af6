"""Exact discrete Laplace noise whose words belong to cells of a table, not to places in a stream.

The word of a cell is the first of the ChaCha block at a place of 128 bits: the identity of its row, exclusive or the
point of the lattice that its value was rounded to. That point is a float64, or for 64-bit integers the sum of two, so
that 5 as an integer, as a float32 and as a float64 is one point; the bits of the first float go to the low half of the
place, those of the second to the high half.

Places of different cells meet by chance alone: those of one row with two values never do, and for two rows the
identities, which are hashes under a secret key, would have to differ by what the points differ by, 2^-128. That holds
for row keys and values that were chosen without the key of the hash. Who knows it, as every task of the release does,
can choose them so that two cells have one word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import bits_from_float64
from lapnoise._jit import device, kernel
from lapnoise.bits.chacha_lanes import BATCH_WORDS, LANES, write_first_words
from lapnoise.kernels.batches import float64_rooms, word_room
from lapnoise.kernels.discrete_laplace import magnitudes
from lapnoise.kernels.laplace import signed
from lapnoise.kernels.lattice_noise import lower_half, rounded_shift, steps_of, upper_half
from lapnoise.kernels.refined import magnitude_from_word, two_sum

__all__ = ["fill_keyed_laplace", "fill_keyed_laplace_wide", "place_floats", "place_integers"]

_TAIL = BATCH_WORDS
"""Where in the room for words the places of the last, incomplete group are laid out."""


@kernel
def place_floats(low: Any, high: Any, identities: Any, values: Any, steps: Any) -> None:
    """Write the places of cells that hold floats; ``steps`` as in ``kernels.lattice_noise``."""
    scales = (steps[0], steps[1])
    r1, r2 = steps[2], steps[3]
    for i in range(values.size):
        x = np.float64(values[i])
        rounded, huge = steps_of(x, scales)
        point = x if huge else (rounded * r1) * r2
        low[i] = identities[i, 0] ^ bits_from_float64(point)
        high[i] = identities[i, 1]


@kernel
def place_integers(low: Any, high: Any, identities: Any, values: Any, steps: Any, shift: int, unsigned: bool) -> None:
    """Do the same for int64 values, or uint64 seen as int64 where ``unsigned``; ``shift`` is the exponent of r."""
    r1, r2 = steps[2], steps[3]
    for i in range(values.size):
        whole = rounded_shift(values[i], shift, unsigned) if shift > 0 else values[i]
        near, rest = two_sum(upper_half(whole, unsigned), lower_half(whole))
        if shift > 0:
            near, rest = (near * r1) * r2, (rest * r1) * r2
        low[i] = identities[i, 0] ^ bits_from_float64(near)
        high[i] = identities[i, 1] ^ bits_from_float64(rest)


@device
def _first_words(words: Any, low: Any, high: Any, source: Any, first: int, count: int) -> None:
    """Write the first words of ``count`` places to ``words``, which has WORD_ROOM entries; count <= BATCH_WORDS."""
    full = count & -LANES
    for k in range(0, full, LANES):
        write_first_words(words, k, source, low, high, first + k)
    if full < count:
        tail_low, tail_high = words[_TAIL : _TAIL + LANES], words[_TAIL + LANES : _TAIL + 2 * LANES]
        for i in range(LANES):
            k = min(full + i, count - 1)
            tail_low[i] = low[first + k]
            tail_high[i] = high[first + k]
        # A count of BATCH_WORDS has no tail, so that the group lies inside the batch.
        write_first_words(words, full, source, tail_low, tail_high, 0)


@kernel
def fill_keyed_laplace(out: Any, low: Any, high: Any, law: Any, source: Any, scratch: Any, pending: Any) -> int:
    """Write the noise at places to ``out`` (int64); return how much was made before ``pending`` was full."""
    words = word_room(scratch)
    e, f, s = float64_rooms(scratch)
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + words.size < pending.size:
        count = min(BATCH_WORDS, out.size - done)
        _first_words(words, low, high, source, done, count)
        batch = words[:count]
        magnitudes(batch, law, e, f, s, pending, done)
        target = out[done : done + count]
        for i in range(count):
            target[i] = np.int64(signed(max(e[i], 0.0), batch[i]))
        done += count
    return done


@kernel
def fill_keyed_laplace_wide(out: Any, low: Any, high: Any, law: Any, source: Any, scratch: Any, pending: Any) -> int:
    """Do the same for t beyond FAST_LIMIT, where every draw goes to the refined tier."""
    words = word_room(scratch)
    done = 0
    pending[0] = 0
    while done < out.size and pending[0] + words.size < pending.size:
        count = min(BATCH_WORDS, out.size - done)
        _first_words(words, low, high, source, done, count)
        for i in range(count):
            m, decided = magnitude_from_word(words[i], law[0], law[1], law[2])
            out[done + i] = -m if words[i] & np.uint64(1) else m
            if not decided:
                pending[0] += 1
                pending[pending[0]] = done + i
        done += count
    return done
