"""Noise: the kernels that fill an array, called as they are, on one thread."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from bench.conftest import Clock
from bench.contenders import LOC, SCALE, moments_agree
from bench.stages import source_of
from lapnoise import _kernel_table as table
from lapnoise._fill import scratch

SIZES = (10_000, 1_000_000)
FLOAT64, FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)

LAPLACE: dict[str, tuple[Any, np.dtype[Any], float]] = {
    "inverse": (table.laplace[FLOAT64], FLOAT64, 1.0),
    "exponential difference": (table.difference[FLOAT64], FLOAT64, 2.0),
    "inverse, float32": (table.laplace[FLOAT32], FLOAT32, 0.5),
    "exponential difference, float32": (table.difference[FLOAT32], FLOAT32, 1.0),
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rounds", [8, 12, 20])
@pytest.mark.parametrize("name", LAPLACE)
def test_laplace(clock: Clock, name: str, rounds: int, n: int) -> None:
    kernel, kind, words = LAPLACE[name]
    loc, scale = (LOC, SCALE) if kind == FLOAT64 else (kind.type(LOC), kind.type(SCALE))
    out = np.empty(n, kind)
    call = functools.partial(kernel, out, loc, scale, source_of(rounds), 0, scratch())
    call()

    clock(call, group=f"noise-{n}-{kind}", draws=n, words=words, correct=moments_agree(out, LOC, SCALE))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("given", ["in place", "array loc", "array scale"])
def test_arrays_given(clock: Clock, given: str, n: int) -> None:
    out, source, room = np.zeros(n), source_of(12), scratch()
    loc: Any = {"in place": None, "array loc": np.zeros(n), "array scale": 0.0}[given]
    scale: Any = np.full(n, SCALE) if given == "array scale" else SCALE
    call = functools.partial(table.laplace[FLOAT64], out, loc, scale, source, 0, room)
    call()

    clock(call, group=f"noise-{n}-float64", draws=n, words=1, correct=moments_agree(out, 0.0, SCALE))


@pytest.mark.parametrize("n", SIZES)
def test_exponential(clock: Clock, n: int) -> None:
    out, source = np.empty(n), source_of(12)
    call = functools.partial(table.exponential[FLOAT64], out, SCALE, source, 0, scratch())
    call()

    signs = np.where(np.arange(n) % 2, -1.0, 1.0)  # with alternating signs it has Laplace's moments
    correct = bool((out > 0).all()) and moments_agree(out * signs, 0.0, SCALE)
    clock(call, group=f"noise-{n}-float64", draws=n, words=1, correct=correct)


@pytest.mark.parametrize("n", SIZES)
def test_log_laplace(clock: Clock, n: int) -> None:
    log_abs, sign, source = np.empty(n), np.empty(n, np.int8), source_of(12)
    call = functools.partial(table.log_laplace, log_abs, sign, np.log(SCALE), source, 0, scratch())
    call()

    correct = moments_agree(sign * np.exp(log_abs), 0.0, SCALE)
    clock(call, group=f"noise-{n}-float64", draws=n, words=1, correct=correct)


@pytest.mark.parametrize("n", SIZES)
def test_bounded_laplace(clock: Clock, n: int) -> None:
    out, source = np.empty(n), source_of(12)
    call = functools.partial(table.bounded_laplace, out, LOC, SCALE, -1e3, 1e3, source, 0, scratch())
    call()

    # The bounds are 500 scales away, where they change nothing that moments could show.
    clock(call, group=f"noise-{n}-float64", draws=n, words=1, correct=moments_agree(out, LOC, SCALE))
