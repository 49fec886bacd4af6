"""Libraries that publish as contenders, value by value as they do it, and our mechanism beside them."""

from __future__ import annotations

import functools

import numpy as np

import lapnoise
from bench.contender import LOC, SCALE, Call, Contender, imported

__all__ = ["LIBRARIES", "MECHANISM"]

MECHANISM = "lapnoise LaplaceMechanism"


def _opendp(kind: str, n: int, loc: float = LOC, scale: float = SCALE) -> Call:
    dp = imported("opendp.prelude")
    dp.enable_features("contrib")
    number = {"float64": "f64", "float32": "f32"}[kind]
    domain = dp.vector_domain(dp.atom_domain(T=number, nan=False))
    measurement = dp.m.make_laplace(domain, dp.l1_distance(T=number), scale=scale)
    values = [loc] * n
    return lambda: np.array(measurement(values), kind)


def _pydp(n: int, loc: float = LOC, scale: float = SCALE) -> Call:
    numerical = imported("pydp.algorithms.numerical_mechanisms")
    mechanism = numerical.LaplaceMechanism(epsilon=1.0, sensitivity=scale)
    return lambda: np.array([mechanism.add_noise(loc) for _ in range(n)])


def _diffprivlib(n: int, loc: float = LOC, scale: float = SCALE) -> Call:
    mechanism = imported("diffprivlib.mechanisms").Laplace(epsilon=1.0, sensitivity=scale)
    return lambda: np.array([mechanism.randomise(loc) for _ in range(n)])


def _mechanism(kind: str, threads: int | None, n: int, loc: float = LOC, scale: float = SCALE) -> Call:
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=scale, changed=1)
    values = np.full(n, loc, kind)
    return functools.partial(mechanism.add_noise, values, rng=lapnoise.default_rng(rounds=20, threads=threads))


def _ours(kind: str, threads: int | None) -> Contender:
    return Contender(functools.partial(_mechanism, kind, threads), kind, threads, module="lapnoise")


LIBRARIES = {
    "OpenDP": Contender(functools.partial(_opendp, "float64"), module="opendp", slow=True),
    "OpenDP, float32": Contender(functools.partial(_opendp, "float32"), "float32", module="opendp", slow=True),
    "PyDP (Google)": Contender(_pydp, module="pydp", slow=True),
    "diffprivlib": Contender(_diffprivlib, module="diffprivlib", slow=True),
    MECHANISM: _ours("float64", 1),
    f"{MECHANISM}, all cores": _ours("float64", None),
    f"{MECHANISM}, float32": _ours("float32", 1),
    f"{MECHANISM}, float32, all cores": _ours("float32", None),
}
