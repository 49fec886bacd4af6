"""Mechanisms by the name that a report has for them: how each is made, what it is called, and what it guarantees."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from lapnoise._check import audit_arguments
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)

__all__ = ["NAMED", "Named", "made"]

PURE = (
    "Pure differential privacy: whatever set of results is looked at, its probability on one data set is at most "
    "exp(epsilon) times that on any neighbouring one."
)
WITH_DELTA = (
    "(epsilon, delta)-differential privacy: whatever set of results is looked at, its probability on one data set is "
    "at most exp(epsilon) times that on any neighbouring one, plus delta."
)


class Named(NamedTuple):
    """A mechanism that there is a report of.

    Attributes
    ----------
    title : str
        What it is called.
    kind : type
    norm : str
        In which the sensitivity is measured.
    promise : str
        What is guaranteed, with a delta of 0 where it may be.
    needs_delta, needs_domain : bool
    """

    title: str
    kind: Callable[..., Any]
    norm: str
    promise: str
    needs_delta: bool = False
    needs_domain: bool = False


NAMED = {
    "laplace": Named("Laplace mechanism", LaplaceMechanism, "L1", PURE),
    "discrete-laplace": Named("discrete Laplace mechanism", DiscreteLaplaceMechanism, "L1", PURE),
    "gaussian": Named("Gaussian mechanism", GaussianMechanism, "L2", WITH_DELTA, needs_delta=True),
    "truncated-laplace": Named(
        "truncated Laplace mechanism", TruncatedLaplaceMechanism, "L1", WITH_DELTA, needs_delta=True
    ),
    "bounded-laplace": Named("bounded Laplace mechanism", BoundedLaplaceMechanism, "L1", PURE, needs_domain=True),
}


def made(
    name: str, epsilon: Fraction, delta: Fraction, sensitivity: Fraction, low: Any, high: Any, changed: int = 1
) -> Any:
    """Return the mechanism of that name for so many changed coordinates; low and high are of its domain, if any."""
    about = NAMED[name]
    given: dict[str, Any] = {"epsilon": epsilon, "sensitivity": sensitivity}
    if about.needs_delta:
        audit_arguments.missing_terms(name, "delta", delta)
    if about.needs_domain:
        audit_arguments.missing_terms(name, "low and high", low, high)
        given |= {"low": low, "high": high}
    elif not about.needs_delta:
        audit_arguments.no_delta(delta, name)
    if delta:
        given["delta"] = delta
    return about.kind(**given) if name == "discrete-laplace" else about.kind(**given, changed=changed)
