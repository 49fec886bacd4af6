"""The steps of the sampler, each as a loop of its own over one batch in L1: what a draw's time is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapnoise
from bench.contenders import LOC, SCALE
from lapnoise._fill import scratch
from lapnoise._jit import kernel
from lapnoise.bits.chacha_lanes import BATCH_WORDS, WORD_ROOM, copy_words, refill
from lapnoise.kernels.laplace import decompose, signed
from lapnoise.kernels.laplace_float32 import decompose32, signed32
from lapnoise.kernels.log import negative_log, negative_log32
from lapnoise.kernels.uniform import open01_from_word

__all__ = ["PASSES", "STAGE_DRAWS", "batch_of_words", "copy_call", "refill_call", "source_of", "stage_calls"]

PASSES = 200
"""Passes over the same batch in a call, so that the call itself weighs nothing."""

STAGE_DRAWS = {"float64": PASSES * BATCH_WORDS, "float32": 2 * PASSES * BATCH_WORDS}
"""Draws that a call of a stage stands for."""


@kernel
def repeat_refill(words: Any, source: Any, passes: int) -> None:
    """Make one batch of words after another in the same place, as every kernel does."""
    for i in range(passes):
        refill(words, source, i * BATCH_WORDS, BATCH_WORDS, 1)


@kernel
def repeat_uniform(words: Any, e: Any, f: Any, passes: int) -> None:
    """Turn words into exponent and excess, without the division."""
    for _ in range(passes):
        for i in range(words.size):
            exponent, excess = open01_from_word(words[i])
            e[i] = exponent
            f[i] = excess


@kernel
def repeat_decompose(words: Any, e: Any, f: Any, s: Any, passes: int) -> None:
    """Run the first loop of ``fill_laplace``: words to exponent, excess and ratio."""
    for _ in range(passes):
        decompose(words, e, f, s)


@kernel
def repeat_log(words: Any, e: Any, f: Any, s: Any, out: Any, loc: float, scale: float, passes: int) -> None:
    """Run the second loop of ``fill_laplace``: logarithm, scale, sign and location."""
    for _ in range(passes):
        for i in range(words.size):
            out[i] = loc + signed(scale * negative_log(e[i], f[i], s[i]), words[i])


@kernel
def repeat_decompose32(halves: Any, e: Any, f: Any, s: Any, passes: int) -> None:
    """Run the first loop of ``fill_laplace32``."""
    for _ in range(passes):
        decompose32(halves, e, f, s)


@kernel
def repeat_log32(halves: Any, e: Any, f: Any, s: Any, out: Any, loc: Any, scale: Any, passes: int) -> None:
    """Run the second loop of ``fill_laplace32``."""
    for _ in range(passes):
        for i in range(halves.size):
            out[i] = loc + signed32(scale * negative_log32(e[i], f[i], s[i]), halves[i])


def source_of(rounds: int) -> NDArray[np.uint64]:
    """Return the key, stream id and rounds that a kernel takes, for seed 1."""
    return lapnoise.default_rng(1, rounds=rounds)._stream.source


def refill_call(rounds: int) -> Callable[[], None]:
    """Return a call that makes the words of as many batches as a stage goes through."""
    words, source = np.empty(WORD_ROOM, np.uint64), source_of(rounds)

    def call() -> None:
        repeat_refill(words, source, PASSES)

    return call


def copy_call(rounds: int, n: int) -> Callable[[], NDArray[np.uint64]]:
    """Return a call that writes n words of the stream to one array and returns it."""
    out, source, room = np.empty(n, np.uint64), source_of(rounds), scratch()

    def call() -> NDArray[np.uint64]:
        copy_words(out, source, 0, room)
        return out

    return call


def batch_of_words() -> NDArray[np.uint64]:
    """Return the words of one batch."""
    return copy_call(12, BATCH_WORDS)()


def stage_calls(kind: str) -> dict[str, Callable[[], Any]]:
    """Return the loops between words and draws by name; the last returns the draws of its batch."""
    words: NDArray[Any] = batch_of_words() if kind == "float64" else batch_of_words().view(np.uint32)
    e, f, s, out = (np.empty(words.size, kind) for _ in range(4))
    loc, scale = np.dtype(kind).type(LOC), np.dtype(kind).type(SCALE)
    first, second = (repeat_decompose, repeat_log) if kind == "float64" else (repeat_decompose32, repeat_log32)

    def uniform() -> None:
        repeat_uniform(words, e, f, PASSES)

    def take_apart() -> None:
        first(words, e, f, s, PASSES)

    def logarithm() -> NDArray[Any]:
        second(words, e, f, s, out, loc, scale, PASSES)
        return out

    take_apart()
    calls: dict[str, Callable[[], Any]] = {"word to uniform": uniform} if kind == "float64" else {}
    return calls | {"word to uniform and ratio": take_apart, "logarithm, scale, sign, location": logarithm}
