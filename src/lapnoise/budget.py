"""A budget split among several releases, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lapnoise import _check

__all__ = ["split"]


def split(total: Any, *, parts: Any = None, weights: Any = None, sensitivities: Any = None) -> list[Fraction]:
    """Return exact parts of an epsilon whose sum is the epsilon, exactly; one of the three rules is given.

    Parameters
    ----------
    total : float, str, Decimal or Fraction
        Epsilon to split, finite and > 0. A float counts as it prints: 0.1 is one tenth.
    parts : int, optional
        So many equal parts.
    weights : sequence of float, str, Decimal or Fraction, optional
        Parts in these proportions, each finite and > 0 (a part of 0 would be no budget); floats count as they print.
    sensitivities : sequence of float, str, Decimal, Fraction or Sensitivity, optional
        Parts in proportion to L1 sensitivities, so that all releases get noise of one scale.

    Returns
    -------
    list of Fraction

    Notes
    -----
    With ``sensitivities`` the releases together are one Laplace mechanism on the vector of all results, whose L1
    sensitivity is their sum: its scale is the sum over epsilon, and each part is a sensitivity over that scale
    (Dwork, McSherry, Nissim and Smith, "Calibrating noise to sensitivity in private data analysis", TCC 2006,
    section 3). It is also the split with the smallest largest scale.

    Examples
    --------
    >>> from lapnoise import budget
    >>> budget.split("1", parts=3)
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    >>> budget.split(0.3, weights=[1, 2])
    [Fraction(1, 10), Fraction(1, 5)]
    """
    whole = _check.epsilon(total, "total")
    rule = _check.split_rule(parts=parts, weights=weights, sensitivities=sensitivities)
    if rule == "parts":
        shares = [Fraction(1)] * _check.parts(parts)
    else:
        shares = _check.split_weights(weights) if rule == "weights" else _check.sensitivities(sensitivities)
    sum_of_shares = sum(shares)
    return [whole * share / sum_of_shares for share in shares]
