"""What a query returns: the noisy value, what it cost, and how far off it may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from lapnoise import _check, exact
from lapnoise.mechanisms import DiscreteLaplaceMechanism, LaplaceMechanism

__all__ = ["LARGEST", "QueryResult", "charge"]

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, repr=False, eq=False)
class QueryResult:
    """A noisy value and what is known about it from parameters and the value alone.

    Attributes
    ----------
    value : int, float, ndarray of int64 or dict
        The released result. Counts are signed: noise can take them below 0.
    epsilon, delta : Fraction
        What the query was asked to cost, and what a ledger is charged.
    scale : float
        b of the Laplace noise on the value, or on each of its cells; for a mean over a private number of rows, of the
        noise on each of the two sums behind it.
    standard_error : float
        Standard deviation of the noise; for a mean over a private number of rows an estimate from the noisy sums.
    mechanism : LaplaceMechanism or DiscreteLaplaceMechanism
        The law of the noise, on the value times ``rows``.
    rows : int
        The public number of rows that a mean is divided by, else 1.
    rounding : float
        How far rounding of the rows to the lattice moves a mean at most; 0 for what is not a mean.
    """

    value: Any
    epsilon: Fraction
    delta: Fraction
    scale: float
    standard_error: float
    mechanism: LaplaceMechanism | DiscreteLaplaceMechanism
    rows: int = field(default=1, kw_only=True)
    rounding: float = field(default=0.0, kw_only=True)

    def interval(self, level: Any) -> Any:
        """Return (low, high) that holds the exact result of the bounded rows with at least this probability.

        For a sum that of the rows as they are rounded to the lattice, each by half its granularity at most: some
        2^-41 of the scale, or 2^-50 of the larger bound where that is more.

        Parameters
        ----------
        level : float, str, Decimal or Fraction
            Between 0 and 1, read as it prints; of each cell by itself in a histogram.

        Returns
        -------
        (low, high) or dict of (low, high)
            Numbers, or arrays for a histogram with edges.
        """
        h = self._half_width(level)
        if isinstance(self.value, dict):
            return {key: (value - h, value + h) for key, value in self.value.items()}
        return self.value - h, self.value + h

    def _half_width(self, level: Any) -> float:
        if isinstance(self.mechanism, DiscreteLaplaceMechanism):
            return exact.quantile_magnitude(Fraction(self.mechanism.lattice.t), 1 - _check.level(level))
        return self.mechanism.interval(level) / self.rows + self.rounding

    def __repr__(self) -> str:
        cells = isinstance(self.value, np.ndarray | dict)
        value = repr(self.value)
        if cells and len(self.value) > _FEW:
            value = f"{len(self.value)} noisy counts"
        elif isinstance(self.value, np.ndarray):
            value = repr(self.value.tolist())
        delta = f", delta={_short(self.delta)}" if self.delta else ""
        return f"{type(self).__name__}({value} ± {self.standard_error:.4g}, epsilon={_short(self.epsilon)}{delta})"


_FEW = 20


def _short(amount: Fraction) -> str:
    try:
        return f"{float(amount):.4g}"
    except OverflowError:
        return str(amount)


def charge(ledger: Any, epsilon: Fraction, delta: Fraction, label: str) -> None:
    """Charge a ledger, if there is one, before a value is read."""
    if ledger is not None:
        ledger.spend(epsilon, delta=delta, label=label)
