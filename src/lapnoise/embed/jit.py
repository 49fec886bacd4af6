"""Device functions: the noise of `Generator`, bit for bit, inside loops that users compile with Numba themselves.

`reserve` takes a stretch of words from a Generator; the functions below, which jitted code calls (and Python may), make
draws of them, each addressed by its place, so that loops may run in any order and on any number of threads:

    source, position = jit.reserve(rng, x.size)

    @numba.njit(parallel=True)
    def twice_with_noise(x, scale, source, position):
        out = np.full(x.size, np.nan)  # never in place: where prange loses an exception, no noise is drawn
        for i in numba.prange(x.size):
            out[i] = 2.0 * x[i] + scale * jit.laplace_at(source, position + i)
        return out

Fastest are `fill_words` into a buffer of some hundred words and `laplace_from_word` in a loop over it, which is
compiled to vector instructions: 1.2 ns a draw. One at a time, `next_word` costs 4 and `laplace_at`, by its place, 100.

In some versions of Numba uint64 + int64 is float64, which loses words. A position that comes out as a float is refused.
"""

from __future__ import annotations

from lapnoise.embed._draws import (
    discrete_laplace_from_word,
    exponential_from_word,
    laplace_at,
    laplace_from_half_word,
    laplace_from_word,
)
from lapnoise.embed._fills import add_laplace, fill_discrete_laplace, fill_exponential, fill_laplace
from lapnoise.embed._sources import discrete_law, finish, reserve, verify
from lapnoise.embed._words import cursor, fill_words, next_word, word_at

__all__ = [
    "add_laplace",
    "cursor",
    "discrete_laplace_from_word",
    "discrete_law",
    "exponential_from_word",
    "fill_discrete_laplace",
    "fill_exponential",
    "fill_laplace",
    "fill_words",
    "finish",
    "laplace_at",
    "laplace_from_half_word",
    "laplace_from_word",
    "next_word",
    "reserve",
    "verify",
    "word_at",
]
