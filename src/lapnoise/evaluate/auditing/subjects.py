"""What can be audited: mechanisms by name, NumPy's noise, and any callable; each as a source of outputs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapnoise._check import audit_arguments
from lapnoise.errors import InputDataError, SeededNoiseWarning
from lapnoise.evaluate.auditing.repetition import watched
from lapnoise.evaluate.auditing.search import Draw
from lapnoise.evaluate.auditing.terms import MECHANISMS, NAMES, Terms, on_integers
from lapnoise.generator import default_rng
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)

__all__ = ["Subject", "subject"]


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
    if isinstance(mechanism, MECHANISMS):
        # Each value is a release of its own.
        return _adding(type(mechanism).__name__, mechanism.for_length(1), terms)
    name = mechanism if isinstance(mechanism, str) else getattr(mechanism, "__qualname__", type(mechanism).__name__)
    if not callable(mechanism):
        audit_arguments.subject_name(mechanism, NAMES)
        mechanism = audit_arguments.imported(mechanism)
    audit_arguments.no_domain(terms.low, terms.high, name)
    return Subject(name, watched(_calling(name, mechanism, terms), name))


def _named(name: str, terms: Terms) -> Subject:
    if name != "bounded-laplace":
        audit_arguments.no_domain(terms.low, terms.high, name)
    if name in ("laplace", "discrete-laplace", "numpy-laplace"):
        audit_arguments.no_delta(terms.delta, name)
    if name == "numpy-laplace":
        return Subject(name, _numpy_laplace(terms), laplace=float(terms.apart / terms.sensitivity))
    shared: dict[str, Any] = {"epsilon": terms.epsilon, "sensitivity": terms.sensitivity}
    if name == "discrete-laplace":
        return _adding(name, DiscreteLaplaceMechanism(**shared), terms)
    shared["changed"] = 1
    if name == "laplace":
        return _adding(name, LaplaceMechanism(**shared), terms)
    if name == "bounded-laplace":
        audit_arguments.missing_terms(name, "low and high", terms.low, terms.high)
        shared |= {"low": terms.low, "high": terms.high}
        return _adding(name, BoundedLaplaceMechanism(**shared, delta=terms.delta), terms)
    audit_arguments.missing_terms(name, "delta", terms.delta)
    kind = GaussianMechanism if name == "gaussian" else TruncatedLaplaceMechanism
    return _adding(name, kind(**shared, delta=terms.delta), terms)


def _adding(name: str, mechanism: Any, terms: Terms) -> Subject:
    laplace = gaussian = None
    if isinstance(mechanism, LaplaceMechanism | DiscreteLaplaceMechanism | TruncatedLaplaceMechanism):
        laplace = float(terms.apart / terms.sensitivity)
    elif isinstance(mechanism, GaussianMechanism):
        gaussian = float(terms.apart) / _asked_for(mechanism, terms).scale
    return Subject(name, _drawing(name, mechanism, terms, on_integers(mechanism)), laplace, gaussian)


def _asked_for(mechanism: GaussianMechanism, terms: Terms) -> GaussianMechanism:
    """Return the mechanism with the noise that the claim asks for."""
    if mechanism.epsilon == terms.epsilon:
        return mechanism
    shared: dict[str, Any] = {"changed": mechanism.changed, "integers": mechanism.integers}
    return GaussianMechanism(epsilon=terms.epsilon, delta=terms.delta, sensitivity=terms.sensitivity, **shared)


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
