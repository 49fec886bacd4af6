"""One ChaCha block in plain Python: the reading copy, against which the fast path is tested.

References
----------
.. [1] D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008, section 3.
.. [2] Y. Nir, A. Langley, RFC 8439, 2018, sections 2.1 to 2.3. It gives the counter one state word and the nonce three;
   here both have two, as in [1]_, so that a counter of 64 bits cannot wrap in use.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["COLUMNS_AND_DIAGONALS", "CONSTANTS", "ROTATIONS", "block", "stream_word"]

CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
"""The text "expand 32-byte k" as four little-endian words."""

COLUMNS_AND_DIAGONALS = (
    ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)),
    ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)),
)
"""State words that the four quarter rounds of a column round, then of a diagonal round, act on."""

ROTATIONS = (16, 12, 8, 7)

_MASK = 0xFFFFFFFF


def block(key: Sequence[int], counter: int, stream: int, rounds: int) -> list[int]:
    """Return the 16 output words of one block.

    Parameters
    ----------
    key : sequence of 8 ints
        The key as little-endian 32-bit words.
    counter : int
        Number of the block, 0 to 2^64 - 1; state words 12 (low half) and 13.
    stream : int
        Stream id, 0 to 2^64 - 1; state words 14 (low half) and 15.
    rounds : int
        8, 12 or 20.
    """
    state = [
        *CONSTANTS,
        *key,
        counter & _MASK,
        counter >> 32,
        stream & _MASK,
        stream >> 32,
    ]
    x = list(state)
    for _ in range(rounds // 2):
        for layer in COLUMNS_AND_DIAGONALS:
            for a, b, c, d in layer:
                _quarter_round(x, a, b, c, d)
    return [(end + start) & _MASK for end, start in zip(x, state, strict=True)]


def stream_word(key: Sequence[int], position: int, stream: int, rounds: int) -> int:
    """Return the 64-bit word at ``position`` of a stream.

    A group is 16 blocks side by side, 128 words of 64 bits. With g = position // 128 and i = position % 128 the low
    half is output word i // 8 of block 16 g + 2 (i % 8), and the high half the same word of the next block: the order
    in which 16 lanes of 32 bits lie in memory, so that the fast path stores its registers as they are.
    """
    group, i = divmod(position, 128)
    first = 16 * group + 2 * (i % 8)
    low = block(key, first, stream, rounds)[i // 8]
    high = block(key, first + 1, stream, rounds)[i // 8]
    return high << 32 | low


def _quarter_round(x: list[int], a: int, b: int, c: int, d: int) -> None:
    for turn in (0, 2):
        x[a] = (x[a] + x[b]) & _MASK
        x[d] = _rotate(x[d] ^ x[a], ROTATIONS[turn])
        x[c] = (x[c] + x[d]) & _MASK
        x[b] = _rotate(x[b] ^ x[c], ROTATIONS[turn + 1])


def _rotate(word: int, count: int) -> int:
    return (word << count | word >> 32 - count) & _MASK
