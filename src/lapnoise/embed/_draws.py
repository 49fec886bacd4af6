"""The draw that a word makes, for jitted code."""

from __future__ import annotations

from typing import Any

import numpy as np

from lapnoise._intrinsics import fma64
from lapnoise._jit import device
from lapnoise.embed._guards import require_law
from lapnoise.embed._types import half_word_of, typed_law, word_of
from lapnoise.embed._words import word_at
from lapnoise.kernels.discrete_laplace import FAST_LIMIT
from lapnoise.kernels.laplace import signed
from lapnoise.kernels.laplace_float32 import signed32
from lapnoise.kernels.log import negative_log, negative_log32, ratio, ratio32
from lapnoise.kernels.refined import magnitude_from_word
from lapnoise.kernels.uniform import open01_from_half_word, open01_from_word

__all__ = [
    "discrete_laplace_from_word",
    "exponential_from_word",
    "laplace_at",
    "laplace_from_half_word",
    "laplace_from_word",
]


@device
def laplace_from_word(word: Any) -> Any:
    """Return the standard Laplace draw, float64, that a word makes.

    Parameters
    ----------
    word : uint64
        Bit 0 is the sign, the others make u = (2 j + 1) 2^-64 and the magnitude -log(u), within 2 ulp, from 2^-64 to
        44.4.

    Notes
    -----
    ``loc + scale * laplace_from_word(w)`` is what `Generator.laplace` makes of the word, bit for bit, unless the loop
    is compiled with ``fastmath``. A loop over words is compiled to vector instructions.
    """
    bits = word_of(word)
    e, f = open01_from_word(bits)
    return signed(negative_log(e, f, ratio(f)), bits)


@device
def exponential_from_word(word: Any) -> Any:
    """Return the standard exponential draw, float64, that a word makes: the magnitude of `laplace_from_word`."""
    e, f = open01_from_word(word_of(word))
    return negative_log(e, f, ratio(f))


@device
def laplace_from_half_word(half_word: Any) -> Any:
    """Return the standard Laplace draw, float32, that half a word makes.

    Parameters
    ----------
    half_word : uint32
        `Generator.laplace` takes the lower half of a word first: ``words.view(np.uint32)`` holds them in order. The
        magnitude reaches from 2^-32 to 22.2.
    """
    bits = half_word_of(half_word)
    e, f = open01_from_half_word(bits)
    return signed32(negative_log32(e, f, ratio32(f)), bits)


@device
def discrete_laplace_from_word(word: Any, law: Any) -> Any:
    """Return (draw, decided): the exact discrete Laplace draw that a word makes, int64, where the word decides it.

    Parameters
    ----------
    word : uint64
    law : array of float64, shape (5,)
        What `discrete_law` returned.

    Returns
    -------
    draw : int64
        0 where it is not decided.
    decided : bool
        False with a probability of some t 2^-57 + 2^-49. Then `finish` makes the draw of the word's place, with
        further words; taking another word instead would change the distribution.
    """
    typed_law(law)
    bits = word_of(word)
    require_law(law)
    t, kappa, slack = law[0], law[1], law[3]
    y = fma64(t, exponential_from_word(bits), kappa)
    m = np.floor(y)
    fraction = y - m
    certain = t <= FAST_LIMIT and y <= law[4] and fraction <= 1.0 - slack and (fraction >= slack or m == 0.0)
    magnitude, decided = np.int64(m) if certain else np.int64(0), certain
    if not certain:
        magnitude, decided = magnitude_from_word(bits, t, kappa, law[2])
    draw = magnitude if decided else np.int64(0)
    return (-draw if bits & np.uint64(1) else draw), decided


@device
def laplace_at(source: Any, position: Any) -> Any:
    """Return the standard Laplace draw at a position: ``laplace_from_word(word_at(source, position))``."""
    return laplace_from_word(word_at(source, position))
