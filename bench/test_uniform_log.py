"""From words to draws: the two loops of a fill, each over one batch in L1, beside NumPy's logarithm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.conftest import Clock
from bench.contenders import LOC, SCALE
from bench.stages import STAGE_DRAWS, batch_of_words, stage_calls

BATCH = batch_of_words()


def _expected(kind: str) -> NDArray[np.float64]:
    """Return Laplace(LOC, SCALE) from the words of the batch, by the C library's logarithm."""
    words = BATCH if kind == "float64" else BATCH.view(np.uint32)
    unit = 2.0**-64 if kind == "float64" else 2.0**-32
    magnitude = np.array([-math.log((int(word) | 1) * unit) for word in words])
    expected: NDArray[np.float64] = LOC + np.where(words & words.dtype.type(1), -SCALE, SCALE) * magnitude
    return expected


@pytest.mark.parametrize(("kind", "stage"), [(kind, stage) for kind in STAGE_DRAWS for stage in stage_calls(kind)])
def test_stage(clock: Clock, kind: str, stage: str) -> None:
    calls = stage_calls(kind)
    last = list(calls.values())[-1]

    # The C library's uniform is rounded near 1, so small draws may differ by that much.
    tolerance = 1e-15 if kind == "float64" else 1e-6
    correct = np.allclose(last(), _expected(kind), rtol=tolerance, atol=4 * tolerance)
    words = 1.0 if kind == "float64" else 0.5
    clock(calls[stage], group=f"uniform and log-{kind}", draws=STAGE_DRAWS[kind], words=words, correct=correct)


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_numpy_log(clock: Clock, kind: str) -> None:
    n = STAGE_DRAWS[kind]  # so that times in a group compare
    uniform = np.random.default_rng(1).random(n, dtype=np.dtype(kind).type)
    out = np.empty_like(uniform)

    correct = bool(np.isfinite(np.log(uniform)).all())
    clock(lambda: np.log(uniform, out=out), group=f"uniform and log-{kind}", draws=n, correct=correct)
