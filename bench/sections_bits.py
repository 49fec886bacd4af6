"""The report's part on bits for NumPy: its distributions over ChaCha's words, beside other generators of bits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

import lapnoise
from bench.rows import Row, plain, speed
from bench.sections import MILLION, Plan
from bench.timing import Timed, interleave

__all__ = ["BIT_SECTIONS"]

REFERENCE = "numpy PCG64"

DRAWS: dict[str, Callable[[np.random.Generator], Any]] = {
    "bit_generator.random_raw(n)": lambda rng: functools.partial(rng.bit_generator.random_raw, MILLION),
    "random(n)": lambda rng: functools.partial(rng.random, MILLION),
    "standard_normal(n)": lambda rng: functools.partial(rng.standard_normal, MILLION),
    "laplace(0, 1, n)": lambda rng: functools.partial(rng.laplace, 0.0, 1.0, MILLION),
    "integers(0, 1000, n)": lambda rng: functools.partial(rng.integers, 0, 1000, MILLION),
}


def rows_bits(plan: Plan) -> Iterator[Row]:
    """Compare NumPy's draws over each generator of bits, a million at a time and one by one."""
    for name, make in DRAWS.items():
        yield from _rows(f"Generator(bits).{name}, n = 1,000,000", make, MILLION, plan)
    yield from _rows("Generator(bits).random(), one draw a call", lambda rng: rng.random, 1, plan)


def _rows(group: str, make: Callable[[np.random.Generator], Any], draws: int, plan: Plan) -> Iterator[Row]:
    tasks = [Timed(name, make(np.random.Generator(bits)), draws) for name, bits in _bit_generators().items()]
    measured = interleave(tasks, plan.repeats)
    reference = measured[REFERENCE]
    yield plain(group, REFERENCE, reference)
    for task in tasks[1:]:
        yield speed(group, task.name, measured[task.name], (REFERENCE, reference))


def _bit_generators() -> dict[str, Any]:
    """Return fresh generators of bits by name, the reference first; no peer where randomgen is not installed."""
    found: dict[str, Any] = {REFERENCE: np.random.PCG64(1), "numpy Philox": np.random.Philox(1)}
    found |= {f"ChaChaBits r{rounds}": lapnoise.ChaChaBits(1, rounds=rounds) for rounds in (8, 12, 20)}
    if find_spec("randomgen"):
        import randomgen

        found |= {f"randomgen ChaCha r{rounds}": randomgen.ChaCha(1, rounds=rounds) for rounds in (8, 12, 20)}
        found["randomgen AESCounter"] = randomgen.AESCounter(1)
    return found


BIT_SECTIONS = (rows_bits,)
