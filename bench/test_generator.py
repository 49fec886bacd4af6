"""Generator: calls as users make them, beside all peers that are installed."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import lapnoise
from bench.conftest import Clock
from bench.contender import trouble
from bench.contenders import CONTENDERS, LOC, SCALE, available, correct, moments_agree
from bench.timing import cores

SIZES = (10, 10_000, 1_000_000)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", CONTENDERS)
def test_contender(clock: Clock, name: str, n: int) -> None:
    if not available(name):
        pytest.skip(f"{CONTENDERS[name].module} {trouble(CONTENDERS[name].module)}")
    if CONTENDERS[name].slow and n > 10_000:
        pytest.skip("a draw takes microseconds")
    contender = CONTENDERS[name]
    with cores(contender.threads):
        call = contender.make(n)

    clock(
        call,
        group=f"generator-{n}-{contender.dtype}",
        draws=n,
        words=contender.words,
        threads=contender.threads,
        correct=_correct(name),
    )


_correct = functools.cache(correct)


@pytest.mark.parametrize("name", ["lapnoise", "numpy"])
def test_scalar_call(clock: Clock, name: str) -> None:
    rng = lapnoise.default_rng(1) if name == "lapnoise" else np.random.Generator(np.random.PCG64(1))
    draws = np.array([rng.laplace(LOC, SCALE) for _ in range(10_000)])

    call = functools.partial(rng.laplace, LOC, SCALE)
    clock(call, group="generator-scalar", words=1, correct=moments_agree(draws, LOC, SCALE))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("threads", [1, None])
@pytest.mark.parametrize("layout", ["in place", "array scale", "strided, in place"])
def test_layout(clock: Clock, layout: str, threads: int | None, n: int) -> None:
    with cores(threads):
        rng = lapnoise.default_rng(1, threads=threads)
        values = np.zeros(2 * n)[::2] if layout.startswith("strided") else np.zeros(n)
        scale = np.full(n, SCALE) if layout == "array scale" else SCALE
        call = functools.partial(rng.add_laplace, values, scale, out=values)
        call()

    # Ten draws tell nothing: the long ones do.
    right = moments_agree(values, 0.0, SCALE) if n > 10 else bool(np.isfinite(values).all())
    clock(call, group=f"generator-{n}-float64", draws=n, words=1, threads=threads, correct=right)
