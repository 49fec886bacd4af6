"""What can be audited: mechanisms by name, NumPy's noise, and any callable; each as a source of outputs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lapnoise._check import audit_arguments
from lapnoise.errors import InputDataError, SeededNoiseWarning
from lapnoise.evaluate.auditing.search import Draw
from lapnoise.generator import default_rng
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)

__all__ = ["NAMES", "Subject", "Terms", "on_integers", "subject"]

LAPLACE = ("laplace", "discrete-laplace", "truncated-laplace", "numpy-laplace")
NAMES = ("laplace", "discrete-laplace", "gaussian", "bounded-laplace", "truncated-laplace", "numpy-laplace")
"""What can be named; the last is no mechanism of ours, and breaks what it promises."""

_ON_FLOATS = (LaplaceMechanism, GaussianMechanism, BoundedLaplaceMechanism, TruncatedLaplaceMechanism)


@dataclass(frozen=True)
class Terms:
    """What is claimed, and how it is looked at.

    Attributes
    ----------
    epsilon, delta, sensitivity : Fraction
    low, high : object or None
        Of a bounded mechanism, as given.
    inputs : tuple of float
        Two neighbours.
    seed : int or None
    """

    epsilon: Fraction
    delta: Fraction
    sensitivity: Fraction
    low: Any
    high: Any
    inputs: tuple[float, float]
    seed: int | None


@dataclass(frozen=True)
class Subject:
    """What is audited.

    Attributes
    ----------
    name : str
    draw : callable
        ``draw(side, size)`` returns outputs of input ``side``, 0 or 1.
    laplace, gaussian : float or None
        What `lapnoise.evaluate.auditing.statistical_power.audit_power` has to know of its noise.
    """

    name: str
    draw: Draw
    laplace: float | None = None
    gaussian: float | None = None


def subject(mechanism: Any, terms: Terms) -> Subject:
    """Return what draws from a mechanism by name, a mechanism, a callable, or one named ``module:function``."""
    if isinstance(mechanism, str) and mechanism in NAMES:
        return _named(mechanism, terms)
    if isinstance(mechanism, (*_ON_FLOATS, DiscreteLaplaceMechanism)):
        kind = type(mechanism).__name__
        audit_arguments.no_domain(terms.low, terms.high, kind)
        integers = isinstance(mechanism, DiscreteLaplaceMechanism)
        # Each value is a release of its own.
        return Subject(kind, _drawing(kind, mechanism if integers else mechanism.for_length(1), terms, integers))
    name = mechanism if isinstance(mechanism, str) else getattr(mechanism, "__qualname__", type(mechanism).__name__)
    if not callable(mechanism):
        audit_arguments.subject_name(mechanism, NAMES)
        mechanism = audit_arguments.imported(mechanism)
    audit_arguments.no_domain(terms.low, terms.high, name)
    return Subject(name, _calling(name, mechanism, terms))


def on_integers(mechanism: Any) -> bool:
    """Return whether a mechanism, or that of a name, takes integers."""
    return isinstance(mechanism, DiscreteLaplaceMechanism) or (
        isinstance(mechanism, str) and mechanism == "discrete-laplace"
    )


def _named(name: str, terms: Terms) -> Subject:
    if name != "bounded-laplace":
        audit_arguments.no_domain(terms.low, terms.high, name)
    shared: dict[str, Any] = {"epsilon": terms.epsilon, "sensitivity": terms.sensitivity}
    apart = abs(Fraction(terms.inputs[1]) - Fraction(terms.inputs[0]))
    laplace = float(apart / terms.sensitivity) if name in LAPLACE else None
    gaussian = None
    mechanism: Any
    if name in ("laplace", "discrete-laplace", "numpy-laplace"):
        audit_arguments.no_delta(terms.delta, name)
    if name == "numpy-laplace":
        return Subject(name, _numpy_laplace(terms), laplace)
    if name == "laplace":
        mechanism = LaplaceMechanism(**shared, changed=1)
    elif name == "discrete-laplace":
        mechanism = DiscreteLaplaceMechanism(**shared)
    elif name == "gaussian":
        audit_arguments.missing_terms(name, "delta", terms.delta)
        mechanism = GaussianMechanism(**shared, delta=terms.delta, changed=1)
        gaussian = float(apart) / mechanism.scale
    elif name == "truncated-laplace":
        audit_arguments.missing_terms(name, "delta", terms.delta)
        mechanism = TruncatedLaplaceMechanism(**shared, delta=terms.delta, changed=1)
    else:
        audit_arguments.missing_terms(name, "low and high", terms.low, terms.high)
        mechanism = BoundedLaplaceMechanism(**shared, delta=terms.delta, low=terms.low, high=terms.high, changed=1)
    return Subject(name, _drawing(name, mechanism, terms, name == "discrete-laplace"), laplace, gaussian)


def _drawing(name: str, mechanism: Any, terms: Terms, integers: bool) -> Draw:
    values: tuple[Any, Any] = audit_arguments.whole_inputs(terms.inputs, name) if integers else terms.inputs
    kind = np.int64 if integers else np.float64
    # Without a seed each block has a fresh key, as releases have.
    rng = None if terms.seed is None else default_rng(terms.seed, rounds=20)

    def draw(side: int, size: int) -> Any:
        with warnings.catch_warnings():
            # Nobody's data are behind the inputs, so that there is nothing to protect.
            warnings.simplefilter("ignore", SeededNoiseWarning)
            noisy = mechanism.add_noise(np.full(size, values[side], kind), rng=rng)
        # Integers beyond 2^53 are rounded: post-processing, of which the bound holds as well.
        return np.ascontiguousarray(noisy, np.float64)

    return draw


def _numpy_laplace(terms: Terms) -> Draw:
    scale = audit_arguments.float_scale(terms.sensitivity, terms.epsilon, "numpy-laplace")
    chance = np.random.default_rng(terms.seed)

    def draw(side: int, size: int) -> Any:
        return terms.inputs[side] + chance.laplace(0.0, scale, size)

    return draw


def _calling(name: str, function: Callable[..., Any], terms: Terms) -> Draw:
    seeds = np.random.SeedSequence(terms.seed)
    seeded = _takes_seed(function)

    def draw(side: int, size: int) -> Any:
        values = np.full(size, terms.inputs[side])
        given = {"seed": int(seeds.spawn(1)[0].generate_state(1, np.uint64)[0] >> np.uint64(1))} if seeded else {}
        try:
            returned = function(values, **given)
        except (Exception, SystemExit) as error:  # sys.exit(0) is no answer either
            kind = type(error).__name__
            raise InputDataError(f"{name} failed on values of {terms.inputs[side]!r}: {kind}: {error}") from error
        return audit_arguments.outputs(returned, size, name)

    return draw


def _takes_seed(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C, and silent about it
        return False
    return "seed" in parameters
