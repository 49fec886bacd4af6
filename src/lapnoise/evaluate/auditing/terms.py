"""What is claimed of a subject: as it was asked, as a mechanism says of itself, or as is usual."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapnoise import _check
from lapnoise._check import audit_arguments
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)

__all__ = ["MECHANISMS", "NAMES", "Terms", "on_integers", "settle"]

NAMES = ("laplace", "discrete-laplace", "gaussian", "bounded-laplace", "truncated-laplace", "numpy-laplace")
"""What can be named; the last is no mechanism of ours, and breaks what it promises."""

MECHANISMS = (
    LaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    BoundedLaplaceMechanism,
    TruncatedLaplaceMechanism,
)
"""What can be handed over as it is."""


@dataclass(frozen=True)
class Terms:
    """What is claimed, and how it is looked at.

    Attributes
    ----------
    epsilon, delta, sensitivity : Fraction
    low, high : object or None
        Of a bounded mechanism.
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

    @property
    def apart(self) -> Fraction:
        """How far the inputs lie apart."""
        return abs(Fraction(self.inputs[1]) - Fraction(self.inputs[0]))


def settle(
    mechanism: Any, *, epsilon: Any, delta: Any, sensitivity: Any, low: Any, high: Any, inputs: Any, seed: int | None
) -> Terms:
    """Return the terms of an audit; a mechanism has its own, beside which no others are taken.

    Epsilon alone is free: a mechanism that was made with another one is what an audit finds.
    """
    claimed = _check.epsilon(epsilon)
    allowed = None if delta is None else _check.delta(delta)
    apart = None if sensitivity is None else _check.sensitivity(sensitivity)
    if isinstance(mechanism, MECHANISMS):
        kind = type(mechanism).__name__
        allowed = audit_arguments.own("delta", allowed, mechanism.delta, kind)
        apart = audit_arguments.own("sensitivity", apart, mechanism.sensitivity, kind)
        if isinstance(mechanism, BoundedLaplaceMechanism):
            low = audit_arguments.own("low", audit_arguments.end("low", low), mechanism.low, kind)
            high = audit_arguments.own("high", audit_arguments.end("high", high), mechanism.high, kind)
        else:
            audit_arguments.no_domain(low, high, kind)
    apart = Fraction(1) if apart is None else apart
    domain = None if low is None or high is None else _check.bounds(low, high)
    start = Fraction(0) if domain is None else domain[0]
    if inputs is None:
        inputs = audit_arguments.whole_neighbours(apart) if on_integers(mechanism) else (start, start + apart)
    pair = audit_arguments.inputs(inputs, apart, start)
    if domain is not None:
        audit_arguments.told_apart(pair, *domain)
    return Terms(claimed, allowed or Fraction(0), apart, low, high, pair, seed)


def on_integers(mechanism: Any) -> bool:
    """Return whether a mechanism, or one of that name, takes integers."""
    if isinstance(mechanism, str):
        return mechanism == "discrete-laplace"
    whole = isinstance(mechanism, GaussianMechanism) and mechanism.integers
    return whole or isinstance(mechanism, DiscreteLaplaceMechanism)
