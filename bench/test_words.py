"""Words: the ChaCha stream by rounds, beside NumPy's generators and the operating system's own."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest

import lapnoise
from bench.conftest import Clock
from bench.stages import copy_call

SIZES = (10_000, 1_000_000)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rounds", [8, 12, 20])
def test_chacha(clock: Clock, rounds: int, n: int) -> None:
    call = copy_call(rounds, n)
    stream = lapnoise.default_rng(1, rounds=rounds)

    clock(call, group=f"words-{n}", draws=n, words=1, correct=np.array_equal(call(), stream.words(n)))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rounds", [8, 12, 20])
def test_chacha_all_cores(clock: Clock, rounds: int, n: int) -> None:
    stream = lapnoise.default_rng(1, rounds=rounds)
    expected = lapnoise.default_rng(1, rounds=rounds, threads=1).words(n)

    correct = np.array_equal(stream.words(n), expected)
    clock(lambda: stream.words(n), group=f"words-{n}", draws=n, words=1, threads=None, correct=correct)


def _raw(generator: np.random.BitGenerator) -> Callable[[int], Callable[[], object]]:
    return lambda n: lambda: generator.random_raw(n)


PEERS: dict[str, Callable[[int], Callable[[], object]]] = {
    "numpy PCG64": _raw(np.random.PCG64(1)),
    "numpy SFC64": _raw(np.random.SFC64(1)),
    "numpy Philox": _raw(np.random.Philox(1)),
    "operating system": lambda n: lambda: np.frombuffer(os.urandom(8 * n), np.uint64),
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", PEERS)
def test_peer(clock: Clock, name: str, n: int) -> None:
    call = PEERS[name](n)
    words = np.asarray(call())

    # Half the bits of n words are set, within six standard errors of sqrt(64 n) / 2.
    ones = int(np.unpackbits(words.view(np.uint8)).sum())
    clock(call, group=f"words-{n}", draws=n, words=1, correct=abs(ones - 32 * n) < 6 * 4 * n**0.5)
