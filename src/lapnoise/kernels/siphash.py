"""SipHash-2-4 with 128 bits of output, over one message a row, column by column.

A message is a sequence of 64-bit words, little-endian, and its hash is that of its bytes. The state of each row stands
in an array between the columns, so that a row's key may have any number of parts of any type.

References
----------
.. [1] J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2; the output of 128
   bits is that of the authors' reference implementation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import address_of, load_word
from lapnoise._jit import device, kernel

__all__ = ["STATE_ROWS", "absorb_bytes", "absorb_integers", "finish", "start"]

STATE_ROWS = 5
"""Rows of a state array: v0 to v3 of [1]_, and the number of bytes so far."""

# The text "somepseudorandomlygeneratedbytes" as four big-endian words.
_C0, _C1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
_C2, _C3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
_WIDE_START = np.uint64(0xEE)
_WIDE_FIRST = np.uint64(0xEE)
_WIDE_SECOND = np.uint64(0xDD)
_LENGTH_SHIFT = np.uint64(56)
_WORD_BYTES = np.uint64(8)
_EIGHT = np.uint64(8)
_TAG_SHIFT = np.uint64(8)
_SHIFTS = tuple((np.uint64(n), np.uint64(64 - n)) for n in (13, 16, 17, 21, 32))
(_L13, _R13), (_L16, _R16), (_L17, _R17), (_L21, _R21), (_L32, _R32) = _SHIFTS


@device
def _round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    v0 = v0 + v1
    v2 = v2 + v3
    v1 = ((v1 << _L13) | (v1 >> _R13)) ^ v0
    v3 = ((v3 << _L16) | (v3 >> _R16)) ^ v2
    v0 = (v0 << _L32) | (v0 >> _R32)
    v2 = v2 + v1
    v0 = v0 + v3
    v1 = ((v1 << _L17) | (v1 >> _R17)) ^ v2
    v3 = ((v3 << _L21) | (v3 >> _R21)) ^ v0
    v2 = (v2 << _L32) | (v2 >> _R32)
    return v0, v1, v2, v3


@device
def _compress(v0: Any, v1: Any, v2: Any, v3: Any, word: Any) -> Any:
    v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ word, v1, v2, v3


@device
def _four_rounds(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return _round(v0, v1, v2, v3)


@kernel
def start(state: Any, key: Any) -> None:
    """Begin a message in every column of a state array (uint64, STATE_ROWS rows); ``key`` is two uint64 words."""
    k0, k1 = key[0], key[1]
    for i in range(state.shape[1]):
        state[0, i] = k0 ^ _C0
        state[1, i] = k1 ^ _C1 ^ _WIDE_START
        state[2, i] = k0 ^ _C2
        state[3, i] = k1 ^ _C3
        state[4, i] = np.uint64(0)


@kernel
def absorb_integers(state: Any, values: Any, tag: int, tag_below_zero: int) -> None:
    """Append two words to each message: a tag, by the sign of an int64, and the integer itself."""
    v0s, v1s, v2s, v3s, lengths = state[0], state[1], state[2], state[3], state[4]
    usual, below = np.uint64(tag), np.uint64(tag_below_zero)
    for i in range(values.size):
        value = values[i]
        header = below if value < 0 else usual
        v0, v1, v2, v3 = _compress(v0s[i], v1s[i], v2s[i], v3s[i], header)
        v0, v1, v2, v3 = _compress(v0, v1, v2, v3, np.uint64(value))
        v0s[i], v1s[i], v2s[i], v3s[i] = v0, v1, v2, v3
        lengths[i] += _WORD_BYTES + _WORD_BYTES


@kernel
def absorb_bytes(state: Any, offsets: Any, data: Any, tag: int) -> None:
    """Append to each message a word of tag and length, and the bytes of its row, with zeros up to a whole word.

    Row i is ``data[offsets[i] : offsets[i + 1]]``, data uint8 and offsets int64.
    """
    text = address_of(data)
    for i in range(offsets.size - 1):
        at, end = offsets[i], offsets[i + 1]
        header = np.uint64(tag) | np.uint64(end - at) << _TAG_SHIFT
        v0, v1, v2, v3 = _compress(state[0, i], state[1, i], state[2, i], state[3, i], header)
        words = np.uint64(1)
        while at < end:
            left = end - at
            if at + 8 <= data.size:
                word = load_word(text, np.int64(at))
                if left < 8:
                    word &= (np.uint64(1) << (_EIGHT * np.uint64(left))) - np.uint64(1)
            else:  # the last bytes of the data, behind which nothing may be read
                word = np.uint64(0)
                for k in range(min(left, 8)):
                    word |= np.uint64(data[at + k]) << (_EIGHT * np.uint64(k))
            v0, v1, v2, v3 = _compress(v0, v1, v2, v3, word)
            words += np.uint64(1)
            at += 8
        state[0, i], state[1, i], state[2, i], state[3, i] = v0, v1, v2, v3
        state[4, i] += _WORD_BYTES * words


@kernel
def finish(state: Any, out: Any) -> None:
    """End the messages, and write the hash of each to a row of ``out`` (uint64, two columns)."""
    v0s, v1s, v2s, v3s, lengths = state[0], state[1], state[2], state[3], state[4]
    for i in range(out.shape[0]):
        v0, v1, v2, v3 = _compress(v0s[i], v1s[i], v2s[i], v3s[i], lengths[i] << _LENGTH_SHIFT)
        v0, v1, v2, v3 = _four_rounds(v0, v1, v2 ^ _WIDE_FIRST, v3)
        v0s[i] = v0 ^ v1 ^ v2 ^ v3
        v0, v1, v2, v3 = _four_rounds(v0, v1 ^ _WIDE_SECOND, v2, v3)
        v1s[i] = v0 ^ v1 ^ v2 ^ v3
    for i in range(out.shape[0]):  # apart, since among stores two words apart nothing vectorises: 9.5 against 2 ns
        out[i, 0] = v0s[i]
        out[i, 1] = v1s[i]
