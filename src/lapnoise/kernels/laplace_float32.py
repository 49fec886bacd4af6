"""Laplace noise in float32: half a word a draw by inverse transform (low half first), a word for the difference.

``start`` counts half words of the stream, so that a pass over an array may be cut anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import bits_from_float32, float32_from_bits
from lapnoise._jit import device, kernel
from lapnoise.bits.chacha_lanes import refill
from lapnoise.kernels.batches import at, float32_rooms, location, part, word_room
from lapnoise.kernels.log import log_of_ratio32, negative_log32, ratio32
from lapnoise.kernels.uniform import halves32, open01_from_half_word

__all__ = ["decompose32", "fill_difference32", "fill_exponential32", "fill_laplace32", "half_words", "signed32"]

_SIGN_SHIFT = np.uint32(31)


@device
def signed32(magnitude: Any, half_word: Any) -> Any:
    """Give a magnitude >= 0 the sign that is bit 0 of the half word."""
    return float32_from_bits(bits_from_float32(magnitude) | np.uint32(half_word << _SIGN_SHIFT))


@device
def decompose32(halves: Any, e: Any, f: Any, s: Any) -> None:
    """Take each half word apart into the exponent, the excess and the ratio from which its logarithm is made."""
    for i in range(halves.size):
        exponent, excess = open01_from_half_word(halves[i])
        e[i] = exponent
        f[i] = excess
        s[i] = ratio32(excess)


@device
def half_words(words: Any, source: Any, start: int, wanted: int) -> Any:
    """Make the next batch of at most ``wanted`` half words, from half word ``start`` on; low halves come first."""
    odd = start & 1
    skip, count = refill(words, source, start >> 1, (wanted + odd + 1) >> 1, 1)
    return words[skip : skip + count].view(np.uint32)[odd : odd + wanted]


@kernel
def fill_laplace32(out: Any, loc: Any, scale: Any, source: Any, start: int, scratch: Any) -> None:
    """Write ``out.size`` float32 draws of Laplace(loc, scale), half a word a draw.

    The magnitude of a standard draw is -log(u), u = (2 j + 1) 2^-32 with j of 31 bits, from 2^-32 to 22.2.
    """
    words = word_room(scratch)
    e, f, s = float32_rooms(scratch)
    done = 0
    while done < out.size:
        batch = half_words(words, source, start + done, out.size - done)
        draws = batch.size
        decompose32(batch, e, f, s)
        target = out[done : done + draws]
        loc_part = part(loc, done, draws)
        scale_part = part(scale, done, draws)
        for i in range(draws):
            magnitude = at(scale_part, i) * negative_log32(e[i], f[i], s[i])
            target[i] = location(loc_part, target, i) + signed32(magnitude, batch[i])
        done += draws


@kernel
def fill_exponential32(out: Any, scale: Any, source: Any, start: int, scratch: Any) -> None:
    """Write ``out.size`` float32 draws of Exponential(scale): the magnitudes of ``fill_laplace32``."""
    words = word_room(scratch)
    e, f, s = float32_rooms(scratch)
    done = 0
    while done < out.size:
        batch = half_words(words, source, start + done, out.size - done)
        draws = batch.size
        decompose32(batch, e, f, s)
        target = out[done : done + draws]
        scale_part = part(scale, done, draws)
        for i in range(draws):
            target[i] = at(scale_part, i) * negative_log32(e[i], f[i], s[i])
        done += draws


@kernel
def fill_difference32(out: Any, loc: Any, scale: Any, source: Any, start: int, scratch: Any) -> None:
    """Write ``out.size`` float32 draws of Laplace(loc, scale) as scale log(u2 / u1), u1 from the low half of a word."""
    words = word_room(scratch)
    done = 0
    while done < out.size:
        skip, count = refill(words, source, (start >> 1) + done, out.size - done, 1)
        # Halves shifted out of whole words would leave AVX2 four lanes instead of eight: 1.9 against 1.4 ns.
        batch = words[skip : skip + count].view(np.uint32)
        target = out[done : done + count]
        loc_part = part(loc, done, count)
        scale_part = part(scale, done, count)
        for i in range(count):
            high1, low1 = halves32(batch[2 * i])
            high2, low2 = halves32(batch[2 * i + 1])
            target[i] = location(loc_part, target, i) + at(scale_part, i) * log_of_ratio32(high2, low2, high1, low1)
        done += count
