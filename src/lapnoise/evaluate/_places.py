"""Places and keys: draws far into a stream, in its deepest tail, after `seek` and one by one; keys derived."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise.evaluate._checks import Check, exact
from lapnoise.evaluate._reading_copy import Words, laplace_magnitude, laplace_step
from lapnoise.generator import Generator, default_rng

__all__ = ["place_checks"]

SUBJECT = "places"
PLACE_LOOK = "places in the stream: a draw must be made of the word at its own place, beyond 32 bits too (kernels)"
TAIL_LOOK = "the tail: a draw of a very small uniform must reach as far as its logarithm, and not be cut off"
SEEK_LOOK = "`Generator.seek`, and draws one by one (`_single`): the next draw must be that of the place"
KEY_LOOK = "keys of `spawn` and `child` (`bits.entropy`): generators that share a key repeat each other's noise"

TAIL_PLACES = (
    (1 << 32) + 1_639_888_351,
    (1 << 32) + 2_906_987_726,
    (1 << 32) + 3_332_192_329,
)
"""Words of seed 0 whose halves are 0 or 1 in one of 3 billion: in float32 magnitudes of 22.18, the largest there is.

The second as a whole word gives 22.33 in float64. They were found by looking at 3.8e9 words.
"""

AROUND = 6
ULPS = 3
"""Draws lie within 2 units in the last place; one more is for the unit's being that of either number."""


def place_checks(rng: Generator, count: int) -> Iterator[Check]:
    """Yield checks of draws at so many places under a fresh key, at places in the tail, and of keys derived."""
    fresh = default_rng()
    for place, about in (((1 << 32) - count // 2, "about word 2^32"), (int(rng.words(1)[0]) >> 3, "far out")):
        yield from _drawn(fresh, place, count, f"{about}, a fresh key", PLACE_LOOK)
    for k, place in enumerate(TAIL_PLACES, 1):
        yield from _drawn(default_rng(0), place - AROUND, 2 * AROUND, f"about tail {k} of seed 0", TAIL_LOOK)
    yield exact(SUBJECT, f"{count} draws after seek, at once and one by one", "differ", _sought(count), SEEK_LOOK)
    yield exact(SUBJECT, "words of spawned generators, and of children", "differ", _derived(), KEY_LOOK)


def _drawn(rng: Generator, start: int, count: int, about: str, look: str) -> Iterator[Check]:
    words = Words.of(rng._stream.source)
    bits = [words.at(start + i) for i in range(count)]
    halves = [bit >> shift & 0xFFFFFFFF for bit in bits for shift in (0, 32)]
    both = np.float64, np.float32
    expected: list[NDArray[Any]] = [
        np.array([_signed(bit, size) for bit in of], kind)
        for of, size, kind in zip((bits, halves), (64, 32), both, strict=True)
    ]
    drawn = [rng._at(start).laplace(0.0, 1.0, one.size, dtype=one.dtype.type) for one in expected]
    for kind, got, want in zip(("float64", "float32"), drawn, expected, strict=True):
        yield exact(SUBJECT, f"{want.size} of laplace, {kind}, {about}", "differ", _apart(got, want), look)
    # log(u2 / u1) of two neighbours.
    sizes = [laplace_magnitude(bit, 64) for bit in bits]
    want = np.array([a - b for a, b in zip(sizes[::2], sizes[1::2], strict=True)])
    got = rng._at(start).laplace(0.0, 1.0, count // 2, method="exponential_difference")
    wrong = int(np.count_nonzero(~(np.abs(got - want) <= 1e-13)))
    yield exact(SUBJECT, f"{count // 2} differences of exponentials, {about}", "differ", wrong, look)
    steps = [laplace_step(words, start + i, 1000.0) for i in range(count)]
    wrong = sum(a != b for a, b in zip(rng._at(start).discrete_laplace(1000.0, count).tolist(), steps, strict=True))
    yield exact(SUBJECT, f"{count} of discrete_laplace, {about}", "differ", wrong, look)


def _sought(count: int) -> int:
    rng = default_rng(1)
    whole = rng.laplace(0.0, 1.0, 2 * count)
    rng.seek(count)
    at_once = rng.laplace(0.0, 1.0, count)
    rng.seek(count // 2)
    one_by_one = np.array([rng.laplace() for _ in range(count)])
    words = Words.of(rng._stream.source)
    rng.seek(1 << 40)
    wrong = sum(int(word != words.at((1 << 40) + i)) for i, word in enumerate(rng.words(4).tolist()))
    wrong += int(np.count_nonzero(at_once != whole[count:]))
    return wrong + int(np.count_nonzero(one_by_one != whole[count // 2 : count // 2 + count]))


def _derived() -> int:
    """Return how many words are not those of keys that BLAKE2b gives: RFC 7693, with label or number as message."""
    parent = default_rng(0)
    spawned = parent.spawn(2) + parent.spawn(1)
    children = [parent.child("a"), parent.child(1, b"b")]
    messages = [(b"lapnoise spawn", number.to_bytes(8, "little")) for number in range(3)]
    messages.append((b"lapnoise child", _length(1) + b"s" + _length(1) + b"a"))
    messages.append((b"lapnoise child", _length(2) + b"i" + _length(1) + b"\1" + b"b" + _length(1) + b"b"))
    secret = parent._stream.source[:4].astype("<u8").tobytes()
    wrong = 0
    for generator, (kind, message) in zip([*spawned, *children], messages, strict=True):
        key = hashlib.blake2b(message, digest_size=32, key=secret, person=kind).digest()
        words = Words(tuple(np.frombuffer(key, "<u4").tolist()), 0, 12)
        wrong += sum(int(word != words.at(i)) for i, word in enumerate(generator.words(4).tolist()))
    return wrong


def _length(n: int) -> bytes:
    return n.to_bytes(8, "little")


def _signed(bits: int, size: int) -> float:
    magnitude = laplace_magnitude(bits, size)
    return -magnitude if bits & 1 else magnitude


def _apart(got: NDArray[Any], want: NDArray[Any]) -> int:
    """Return how many draws are farther from what they should be than rounding allows; NaN is."""
    return int(np.count_nonzero(~(np.abs(got - want) <= ULPS * np.spacing(np.abs(want)))))
