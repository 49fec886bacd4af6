"""Composition of privacy loss distributions by the package dp-accounting: the extra ``accounting``.

Each entry is replaced by a pair of distributions that is at least as easy to tell apart, but for Gaussian noise, which
is taken for continuous.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from lapnoise._numbers import fraction_up
from lapnoise.ledger._entry import LedgerEntry

__all__ = ["accounted", "laplace_epsilon"]

_INTERVAL = 1e-4
"""Grid of the privacy loss. Losses are rounded up to it, so that the result is never too small."""

_FINE = 1024.0
"""Scale in lattice steps from which discrete Laplace noise counts as Laplace noise, with some 2e-7 added to epsilon."""


def accounted(entries: Sequence[LedgerEntry], delta: Fraction) -> float:
    """Return epsilon of all entries together for ``delta``."""
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError:
        raise ImportError("accounting needs dp-accounting: install the extra, lapnoise[accounting]") from None
    if not entries:
        return 0.0
    total: Any = None
    for (kind, *numbers), times in Counter(map(_law, entries)).items():
        if kind == "laplace":
            one = privacy_loss_distribution.from_laplace_mechanism(
                1 / numbers[0], value_discretization_interval=_INTERVAL
            )
        elif kind == "gaussian":
            one = privacy_loss_distribution.from_gaussian_mechanism(numbers[0], value_discretization_interval=_INTERVAL)
        else:
            parameters = common.DifferentialPrivacyParameters(*numbers)
            one = privacy_loss_distribution.from_privacy_parameters(parameters, _INTERVAL)
        several = one.self_compose(times) if times > 1 else one
        total = several if total is None else total.compose(several)
    return float(total.get_epsilon_for_delta(float(delta) * (1 - 1e-12)))


def _law(entry: LedgerEntry) -> tuple[str, *tuple[float, ...]]:
    if entry.rho is not None:
        return ("gaussian", math.sqrt(0.5 / fraction_up(entry.rho)))  # rho = sensitivity^2 / (2 sigma^2)
    epsilon = fraction_up(entry.epsilon)
    steps = float.fromhex(entry.details.get("steps", "0x0p+0"))
    if steps < _FINE or entry.delta:
        return ("any", epsilon, fraction_up(entry.delta))
    return ("laplace", laplace_epsilon(epsilon, steps))


def laplace_epsilon(epsilon: float, steps: float) -> float:
    """Return the epsilon of Laplace noise that tells no less than discrete noise of scale ``steps`` and ``epsilon``.

    Discrete Laplace noise of scale t that is moved by epsilon t steps has, where the loss may be e, a delta of at most
    1 - sech(1 / (2 t)) exp((e - epsilon) / 2); that of Laplace noise is 1 - exp((e - epsilon) / 2). So epsilon + 2 ln
    cosh(1 / (2 t)) suffices. Both are log-concave: a vector that is moved in several coordinates is told apart no
    better than one coordinate that is moved by their sum.
    """
    return math.nextafter(epsilon + 2 * math.log(math.cosh(0.5 / steps)) * (1 + 1e-12), math.inf)
