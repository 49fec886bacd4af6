"""Known answers: published vectors of the cipher, words against the reading copy, draws against recorded digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise.bits.chacha import block, stream_word
from lapnoise.bits.entropy import Key
from lapnoise.bits.stream import Stream
from lapnoise.evaluate._checks import Check, exact
from lapnoise.generator import Generator, default_rng
from lapnoise.mechanisms import LaplaceMechanism

__all__ = ["DIGESTS", "known_answers", "known_draws"]

SUBJECT = "words"
WORDS_LOOK = (
    "the words of the cipher: a stale or foreign kernel cache (`lapnoise doctor` names it; remove it and run again), "
    "else Numba or llvmlite on this processor"
)
DRAWS_LOOK = (
    "the map from words to draws, if the words above are right: kernels, their cache, or a changed stream version"
)

# RFC 8439, section 2.3.2: key 00 01 ... 1f, counter 1, nonce 000000090000004a00000000, 20 rounds. Its counter has 32
# bits; the first word of its nonce is here the upper half of the counter, the others are the stream id.
_RFC_KEY = tuple(int.from_bytes(bytes(range(4 * i, 4 * i + 4)), "little") for i in range(8))
_RFC_COUNTER, _RFC_STREAM = 0x09000000 << 32 | 1, 0x4A000000
_RFC_BLOCK = bytes.fromhex(
    "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
    "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
)
# J. Strombergson, draft-strombergson-chacha-test-vectors-01 (2013), TC1: key, IV and counter 0.
_ZERO_BLOCKS = {
    8: "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e"
    "984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42",
    12: "9bf49a6a0755f953811fce125f2683d50429c3bb49e074147e0089a52eae155f"
    "0564f879d27ae3c02ce82834acfa8c793a629f2ca0de6919610be82f411326be",
    20: "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
}

DIGESTS = {
    "laplace, float64": "9d58563f0adcc225f8b30a06aec44c0ed36f326be3fe811bfcefbee1aa80715b",
    "laplace, float32": "5467efc9fce250b741fedcbaec8a475260916f28385a24befece00a3539cab4e",
    "laplace, exponential difference": "fe79dc0ae90ee0ee59241a2428fe852d0bd386251a8b147cab11a6fcc842dc18",
    "discrete Laplace, scale 3": "02c1cd0cf210eb848741ca01ef8e2e744a89c65e8876c25cecc6ee470d556c59",
    "discrete Laplace, scale 2^40": "5a6447a553fa8b3b11b4f5987acdd068fd87c571740acc998d91df7803d50d46",
    "LaplaceMechanism, epsilon 1": "7f98b387d3acad911d0ca60ccaffe4e28536f61b51cf7716fa9bb1d686ce50c0",
}
"""SHA-256 of the first 4,096 draws of seed 0 for stream version 1, the same on every machine."""

DRAWS = 4096


def known_answers(rng: Generator, random_words: int) -> Iterator[Check]:
    """Yield checks of vectors, of words at random places under random keys, and of recorded draws."""
    for rounds, answer in _ZERO_BLOCKS.items():
        wrong = _differing(_compiled_block((0,) * 8, 0, 0, rounds), bytes.fromhex(answer))
        yield exact(SUBJECT, f"published block of ChaCha{rounds}", "bytes that differ", wrong, WORDS_LOOK)
    wrong = _differing(_compiled_block(_RFC_KEY, _RFC_COUNTER, _RFC_STREAM, 20), _RFC_BLOCK)
    yield exact(SUBJECT, "block of RFC 8439, section 2.3.2", "bytes that differ", wrong, WORDS_LOOK)
    for rounds in (8, 12, 20):
        count = _random_words(rng, rounds, random_words)
        tested = f"{random_words} words, places and keys at random, {rounds} rounds"
        yield exact(SUBJECT, tested, "words that differ", count, WORDS_LOOK)
    first = default_rng(0).words(64).tolist()
    key = [int(half) for half in default_rng(0)._stream.source[:4].view("<u4")]
    count = sum(word != stream_word(key, place, 0, 12) for place, word in enumerate(first))
    yield exact(SUBJECT, "first 64 words of seed 0, in order", "words that differ", count, WORDS_LOOK)
    for name, draws in known_draws():
        found = hashlib.sha256(np.ascontiguousarray(draws).view(np.uint8).tobytes()).hexdigest()
        tested = f"{DRAWS} recorded draws: {name}"
        yield exact(SUBJECT, tested, "digests that differ", found != DIGESTS[name], DRAWS_LOOK)


def known_draws() -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the draws of which digests are recorded."""
    yield "laplace, float64", default_rng(0).laplace(0.0, 1.0, DRAWS)
    yield "laplace, float32", default_rng(0).laplace(0.0, 1.0, DRAWS, dtype=np.float32)
    difference = default_rng(0).laplace(0.0, 1.0, DRAWS, method="exponential_difference")
    yield "laplace, exponential difference", difference
    yield "discrete Laplace, scale 3", default_rng(0).discrete_laplace(3.0, DRAWS)
    yield "discrete Laplace, scale 2^40", default_rng(0).discrete_laplace(2.0**40, DRAWS)
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)
    noisy = np.arange(DRAWS, dtype=np.float64)
    mechanism._add(default_rng(0), noisy, noisy)
    yield "LaplaceMechanism, epsilon 1", noisy


def _random_words(rng: Generator, rounds: int, count: int) -> int:
    """Return how many words, of a fresh key each 64, differ from those of the reading copy."""
    wrong = 0
    for _ in range(0, count, 64):
        key = Key(rng.words(4).tobytes(), seeded=True)
        stream = Stream(key, rounds, int(rng.words(1)[0]))
        halves = [int(half) for half in stream.source[:4].view("<u4")]
        start = int(rng.words(1)[0]) >> 3
        words = Generator(stream)._at(start).words(min(count, 64)).tolist()
        expected = (stream_word(halves, start + i, stream.stream_id, rounds) for i in range(len(words)))
        wrong += sum(a != b for a, b in zip(words, expected, strict=True))
    return wrong


def _compiled_block(key: tuple[int, ...], counter: int, stream_id: int, rounds: int) -> bytes:
    """Return a block as the compiled cipher makes it, which interleaves sixteen of them."""
    from lapnoise import _kernel_table
    from lapnoise.kernels.batches import SCRATCH_WORDS

    source = np.empty(6, np.uint64)
    source[:4] = np.array(key, np.uint32).view(np.uint64)
    source[4], source[5] = stream_id, rounds // 2
    group, lane = divmod(counter, 16)
    words = np.empty(128, np.uint64)
    _kernel_table.words(words, source, 128 * group, np.empty(SCRATCH_WORDS, np.uint64))
    mine = words[lane // 2 :: 8].copy().view(np.uint32)[lane % 2 :: 2]
    if block(key, counter, stream_id, rounds) != mine.tolist():
        return b""  # no block at all, so that every byte differs
    return mine.tobytes()


def _differing(found: bytes, expected: bytes) -> int:
    return sum(a != b for a, b in zip(found, expected, strict=True)) if found else len(expected)
