"""Who is compared, as one table: each name makes a call that draws n values of Laplace(1, 2).

Location and scale are neither 0 nor 1, so that nobody gets away without the scaling. A peer that is not installed is
left out; `missing` says which.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapnoise
from bench.timing import cores

__all__ = [
    "CONTENDERS",
    "LOC",
    "MKL_GENERATORS",
    "PEERS",
    "SCALE",
    "Contender",
    "available",
    "correct",
    "lapnoise_name",
    "missing",
    "mkl_name",
    "moments_agree",
]

LOC = 1.0
SCALE = 2.0

PEERS = ("mkl_random", "torch", "jax")

MKL_GENERATORS = (
    "MCG59",
    "SFMT19937",
    "MCG31",
    "R250",
    "MT19937",
    "MT2203",
    "MRG32K3A",
    "ARS5",
    "PHILOX4X32X10",
    "WH",
)
"""The generators of MKL that a seed determines."""

Call = Callable[[], Any]


@dataclass(frozen=True)
class Contender:
    """One way to draw.

    Attributes
    ----------
    make : callable
        Takes n; returns a call without arguments that makes n draws and returns them as something array-like.
    dtype : str
        "float64" or "float32".
    threads : int or None
        1, or None for all cores.
    allocates : bool
        Whether each call makes a new array. Where False, the same array is written again.
    words : float
        64-bit words a draw; 0 where that is not known.
    module : str
        What must be installed.
    """

    make: Callable[[int], Call]
    dtype: str = "float64"
    threads: int | None = 1
    allocates: bool = True
    words: float = 0.0
    module: str = "numpy"


def _lapnoise(rounds: int, threads: int | None, kind: str, method: str, in_out: bool) -> Contender:
    def make(n: int) -> Call:
        rng = lapnoise.default_rng(1, rounds=rounds, threads=threads)
        if in_out:
            out = np.empty(n, kind)
            return functools.partial(rng.laplace, LOC, SCALE, n, dtype=out.dtype.type, out=out, method=method)
        return functools.partial(rng.laplace, LOC, SCALE, n, dtype=np.dtype(kind).type, method=method)

    words = (1.0 if kind == "float64" else 0.5) * (1 if method == "inverse" else 2)
    return Contender(make, kind, threads, not in_out, words)


def lapnoise_name(
    rounds: int = 12, threads: int | None = 1, kind: str = "float64", method: str = "inverse", in_out: bool = False
) -> str:
    """Return the name under which a way to call lapnoise stands in the table."""
    parts = [f"lapnoise r{rounds}"]
    parts += ["float32"] if kind == "float32" else []
    parts += ["exponential difference"] if method != "inverse" else []
    parts += ["all cores"] if threads is None else []
    parts += ["out="] if in_out else []
    return ", ".join(parts)


def _generator(n: int) -> Call:
    return functools.partial(np.random.Generator(np.random.PCG64(1)).laplace, LOC, SCALE, n)


def _generator32(n: int) -> Call:
    generator = np.random.Generator(np.random.PCG64(1))
    return lambda: generator.laplace(LOC, SCALE, n).astype(np.float32)


def _legacy(n: int) -> Call:
    return functools.partial(np.random.RandomState(1).laplace, LOC, SCALE, n)


def _formula(n: int) -> Call:
    generator = np.random.Generator(np.random.PCG64(1))

    def call() -> NDArray[np.float64]:
        u = generator.random(n) - 0.5
        return LOC - SCALE * np.sign(u) * np.log1p(-2.0 * np.abs(u))

    return call


def _formula_in_place(n: int) -> Call:
    generator = np.random.Generator(np.random.PCG64(1))
    u, x = np.empty(n), np.empty(n)

    def call() -> NDArray[np.float64]:
        generator.random(out=u)
        np.subtract(u, 0.5, out=u)
        np.abs(u, out=x)
        np.multiply(x, -2.0, out=x)
        np.log1p(x, out=x)
        np.multiply(x, -SCALE, out=x)
        np.copysign(x, u, out=x)
        return np.add(x, LOC, out=x)

    return call


def _mkl(generator: str, n: int) -> Call:
    mkl_random = _imported("mkl_random")
    return functools.partial(mkl_random.MKLRandomState(1, brng=generator).laplace, LOC, SCALE, n)


def mkl_name(generator: str) -> str:
    """Return the name of a generator of MKL in the table."""
    return f"mkl_random {generator}"


def _torch(kind: str, n: int) -> Call:
    torch = _imported("torch")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    number = getattr(torch, kind)
    laplace = torch.distributions.Laplace(torch.tensor(LOC, dtype=number), torch.tensor(SCALE, dtype=number))
    return functools.partial(laplace.sample, (n,))


def _jax(kind: str, n: int) -> Call:
    jax = _imported("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)

    def draw(key: Any) -> Any:
        following, own = jax.random.split(key)
        return following, LOC + SCALE * jax.random.laplace(own, (n,), dtype=kind)

    jitted = jax.jit(draw)
    state = [jax.random.key(1)]

    def call() -> Any:
        state[0], draws = jitted(state[0])
        return draws.block_until_ready()

    return call


CONTENDERS: dict[str, Contender] = {
    "numpy Generator(PCG64)": Contender(_generator),
    "numpy legacy": Contender(_legacy),
    "numpy formula": Contender(_formula),
    "numpy formula, out=": Contender(_formula_in_place, allocates=False),
    "numpy Generator(PCG64), astype(float32)": Contender(_generator32, "float32"),
    **{mkl_name(name): Contender(functools.partial(_mkl, name), module="mkl_random") for name in MKL_GENERATORS},
    "torch": Contender(functools.partial(_torch, "float64"), module="torch"),
    "torch, float32": Contender(functools.partial(_torch, "float32"), "float32", module="torch"),
    "jax": Contender(functools.partial(_jax, "float64"), module="jax"),
    "jax, float32": Contender(functools.partial(_jax, "float32"), "float32", module="jax"),
    **{
        lapnoise_name(rounds, threads, kind, method, in_out): _lapnoise(rounds, threads, kind, method, in_out)
        for kind in ("float64", "float32")
        for method in ("inverse", "exponential_difference")
        for threads in (1, None)
        for rounds in (8, 12, 20)
        for in_out in (False, True)
    },
}


def available(name: str) -> bool:
    """Return whether what a contender needs is installed."""
    return importlib.util.find_spec(CONTENDERS[name].module) is not None


def missing() -> list[str]:
    """Return the peers that are not installed."""
    return [peer for peer in PEERS if importlib.util.find_spec(peer) is None]


def correct(name: str, n: int = 200_000) -> bool:
    """Return whether a contender's draws are finite floats of its dtype with the moments of Laplace(1, 2)."""
    contender = CONTENDERS[name]
    with cores(contender.threads):
        draws = np.asarray(contender.make(n)())
    return draws.shape == (n,) and draws.dtype == contender.dtype and moments_agree(draws, LOC, SCALE)


def moments_agree(draws: NDArray[Any], loc: float, scale: float) -> bool:
    """Return whether mean, mean magnitude and variance of draws are within six standard errors of Laplace's.

    At n = 200,000 a right sampler fails with a probability of some 1e-8, and a scale wrong by 3 % is always seen.
    """
    centred = (draws.astype(np.float64) - loc) / scale
    n = centred.size
    errors = [
        (float(centred.mean()), math.sqrt(2 / n)),
        (float(np.abs(centred).mean()) - 1.0, math.sqrt(1 / n)),
        (float((centred**2).mean()) - 2.0, math.sqrt(20 / n)),
    ]
    return bool(np.isfinite(centred).all()) and all(abs(error) < 6 * unit for error, unit in errors)


def _imported(name: str) -> Any:
    # Peers may warn about each other at import, and pytest turns warnings into errors.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)
