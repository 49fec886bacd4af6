"""Who is compared, as one table: each name makes a call that draws n values of Laplace(1, 2).

A peer that is not installed is left out; `skipped` says which. `enter` adds a sampler of one's own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapnoise
from bench.contender import LOC, SCALE, TROUBLES, Call, Contender, imported, trouble
from bench.contenders_libraries import LIBRARIES
from bench.contenders_numba import NUMBA
from bench.contenders_words import WORDS
from bench.timing import all_cores, cores

__all__ = [
    "CONTENDERS",
    "LOC",
    "MKL_GENERATORS",
    "PEERS",
    "SCALE",
    "Contender",
    "available",
    "correct",
    "enter",
    "entered",
    "lapnoise_name",
    "mkl_name",
    "moments_agree",
    "skipped",
]

PEERS = {
    "mkl_random": "mkl_random",
    "torch": "torch",
    "jax": "jax",
    "randomgen": "randomgen",
    "opendp": "opendp",
    "pydp": "python-dp",
    "diffprivlib": "diffprivlib",
}
"""The module that a peer is imported as, and the name that it is installed by."""

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


def _lapnoise(rounds: int, threads: int | None, kind: str, method: str, in_out: bool) -> Contender:
    def make(n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
        rng = lapnoise.default_rng(1, rounds=rounds, threads=threads)
        if in_out:
            out = np.empty(n, kind)
            return functools.partial(rng.laplace, loc, scale, n, dtype=out.dtype.type, out=out, method=method)
        return functools.partial(rng.laplace, loc, scale, n, dtype=np.dtype(kind).type, method=method)

    words = (1.0 if kind == "float64" else 0.5) * (1 if method == "inverse" else 2)
    return Contender(make, kind, threads, not in_out, words, "lapnoise", array=True)


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


def _generator(n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
    return functools.partial(np.random.Generator(np.random.PCG64(1)).laplace, loc, scale, n)


def _generator32(n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
    generator = np.random.Generator(np.random.PCG64(1))
    return lambda: generator.laplace(loc, scale, n).astype(np.float32)


def _legacy(n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
    return functools.partial(np.random.RandomState(1).laplace, loc, scale, n)


def _formula(n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
    generator = np.random.Generator(np.random.PCG64(1))

    def call() -> Any:
        u = generator.random(n) - 0.5
        return loc - scale * np.sign(u) * np.log1p(-2.0 * np.abs(u))

    return call


def _formula_in_place(n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
    generator = np.random.Generator(np.random.PCG64(1))
    u, x = np.empty(n), np.empty(n)

    def call() -> NDArray[np.float64]:
        generator.random(out=u)
        np.subtract(u, 0.5, out=u)
        np.abs(u, out=x)
        np.multiply(x, -2.0, out=x)
        np.log1p(x, out=x)
        np.multiply(x, -scale, out=x)
        np.copysign(x, u, out=x)
        return np.add(x, loc, out=x)

    return call


def _mkl(generator: str, n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
    mkl_random = imported("mkl_random")
    # Given an array and a size as well, mkl_random 1.5.0 crashes the process a little later.
    size = (n,) if np.isscalar(scale) else ()
    return functools.partial(mkl_random.MKLRandomState(1, brng=generator).laplace, loc, scale, *size)


def mkl_name(generator: str) -> str:
    """Return the name of a generator of MKL in the table."""
    return f"mkl_random {generator}"


def _torch(kind: str, threads: int | None, n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
    torch = imported("torch")
    torch.set_num_threads(threads or all_cores())  # of the whole process: no others may be timed in turns with this
    torch.manual_seed(1)
    number = getattr(torch, kind)
    scales = torch.as_tensor(scale, dtype=number)
    laplace = torch.distributions.Laplace(torch.tensor(loc, dtype=number), scales)
    return functools.partial(laplace.sample, () if scales.ndim else (n,))


def _jax(kind: str, n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
    jax = imported("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    given = () if np.isscalar(scale) else (jax.numpy.asarray(scale),)

    def draw(key: Any, scales: Any = scale) -> Any:
        following, own = jax.random.split(key)
        return following, loc + scales * jax.random.laplace(own, (n,), dtype=kind)

    jitted = jax.jit(draw)
    state = [jax.random.key(1)]

    def call() -> Any:
        state[0], draws = jitted(state[0], *given)
        return draws.block_until_ready()

    return call


def _torch_contender(kind: str, threads: int | None) -> Contender:
    return Contender(functools.partial(_torch, kind, threads), kind, threads, module="torch", array=True)


CONTENDERS: dict[str, Contender] = {
    "numpy Generator(PCG64)": Contender(_generator, array=True),
    "numpy legacy": Contender(_legacy, array=True),
    "numpy formula": Contender(_formula, array=True),
    "numpy formula, out=": Contender(_formula_in_place, allocates=False, array=True),
    "numpy Generator(PCG64), astype(float32)": Contender(_generator32, "float32", array=True),
    **NUMBA,
    **WORDS,
    **{
        mkl_name(name): Contender(functools.partial(_mkl, name), module="mkl_random", array=True)
        for name in MKL_GENERATORS
    },
    "torch": _torch_contender("float64", 1),
    "torch, all cores": _torch_contender("float64", None),
    "torch, float32": _torch_contender("float32", 1),
    "torch, float32, all cores": _torch_contender("float32", None),
    "jax": Contender(functools.partial(_jax, "float64"), module="jax", array=True),
    "jax, float32": Contender(functools.partial(_jax, "float32"), "float32", module="jax", array=True),
    **LIBRARIES,
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
    """Return whether what a contender needs is installed, and can be imported."""
    return not trouble(CONTENDERS[name].module)


def skipped() -> list[str]:
    """Return a line for each peer that is left out, with the reason as far as a run has met one."""
    lines = [f"{name} is not installed" for module, name in PEERS.items() if find_spec(module) is None]
    return lines + [f"{module} {why}" for module, why in TROUBLES.items() if f"{PEERS.get(module)} {why}" not in lines]


def enter(name: str, draw: Callable[[int], Any], dtype: str = "float64", origin: str = "code") -> None:
    """Enter a sampler of one's own, which is compared, checked and drawn like all others.

    Parameters
    ----------
    name : str
        What it is called in tables; another than those of `CONTENDERS`.
    draw : callable
        Takes n and returns an array of n draws of Laplace(1, 2).
    dtype : {"float64", "float32"}
        What the array is of.
    origin : str
        "module:function", by which a process of its own finds it; without, its start is not timed.

    Raises
    ------
    ValueError
        If the name is taken or the dtype another.

    Notes
    -----
    It is entered in this process. `bench.report` measures in one of its own, which finds samplers by
    ``--sampler module:function`` alone.
    """
    if name in CONTENDERS:
        raise ValueError(f"name must be a new one, got {name!r}")
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}")
    CONTENDERS[name] = Contender(lambda n: functools.partial(draw, n), dtype, origin=origin)


def entered(dtype: str) -> list[str]:
    """Return the samplers that were entered and draw in this dtype."""
    return [name for name, contender in CONTENDERS.items() if contender.origin and contender.dtype == dtype]


def correct(name: str, n: int | None = None, scale: Any = SCALE) -> bool:
    """Return whether a contender's draws are finite floats of its dtype with the moments of Laplace(1, 2).

    ``n`` is 200,000, or 20,000 for one that takes microseconds a draw. ``scale`` may be an array of that many twos.
    """
    contender = CONTENDERS[name]
    n = n or (20_000 if contender.slow else 200_000)
    given = () if np.isscalar(scale) else (LOC, scale)
    with cores(contender.threads):
        draws = np.asarray(contender.make(n, *given)())
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
