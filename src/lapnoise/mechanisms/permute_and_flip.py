"""Permute-and-flip: a selection that never errs by more, in expectation, than the exponential mechanism."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise.mechanisms._selecting import SelectingMechanism

__all__ = ["PermuteAndFlipMechanism"]

_NODES = 40
_NEGLIGIBLE = 1e-19


class PermuteAndFlipMechanism(SelectingMechanism):
    """Select a candidate by permute-and-flip: its expected score is never below that of the exponential mechanism.

    The candidates are visited in random order, and each is taken with probability
    exp(-epsilon (best score - score) / (2 sensitivity)), until one is.

    Parameters
    ----------
    epsilon : float, str, Decimal or Fraction
        Privacy budget, finite and > 0. A float counts as it prints.
    sensitivity : float, str, Decimal, Fraction or Sensitivity
        The most by which any one score can change between neighbouring data sets, finite and > 0.
    monotonic : bool, optional
        Whether a change of one record moves all scores in one direction; the factor 2 is then not needed.

    Attributes
    ----------
    epsilon_asked, epsilon : Fraction
        What a ledger charges, and what is attained: the same.

    Notes
    -----
    Pure differential privacy for the distribution that is sampled. Nothing is permuted: the candidate whose score with
    exponential noise is greatest has the same distribution [2]_, so each takes one word. Rounding of scores and
    exactness are those of `ExponentialMechanism`. A measure can only be 0, which rules a candidate out, or 1.

    References
    ----------
    .. [1] R. McKenna, D. Sheldon, "Permute-and-Flip: A new mechanism for differentially private selection", NeurIPS
       2020.
    .. [2] Z. Ding, D. Kifer, S. M. Sayed Nouri, T. Steinke, Y. Wang, Y. Xiao, D. Zhang, "The permute-and-flip mechanism
       is identical to report-noisy-max with exponential noise", 2021 (arXiv 2105.07260).

    Examples
    --------
    >>> import lapnoise
    >>> m = lapnoise.PermuteAndFlipMechanism(epsilon=2, sensitivity=1)
    >>> m.probabilities([1, 1]).round(12).tolist()
    [0.5, 0.5]
    """

    __slots__ = ()

    _logarithmic = False

    def probabilities(self, scores: Any, *, measure: Any = None, exclude: Any = None) -> NDArray[np.float64]:
        """Return the probability of each candidate, within 1e-12; a function of the data, not a release.

        Parameters
        ----------
        scores, measure, exclude
            As in `select`.

        Returns
        -------
        ndarray of float64 of shape (n,)

        Notes
        -----
        With q = exp(-x) candidate i is reached, and taken, with probability q_i times the integral over t in [0, 1] of
        the product of 1 - q_j t over all j but i: t is its place in the random order. It takes some 100 ns to 10 us a
        candidate.
        """
        field = self._field(scores, measure, exclude)
        q = np.exp(-field.offsets(self._lattice))
        if field.eligible is not None:
            q[~field.eligible] = 0.0
        inside = np.zeros_like(q)
        total = float(q.sum())
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        # The product is at most exp(1 - t total). On panels that double from about 1 / total on it is so smooth that
        # Gauss's rule leaves nothing. They are powers of two, since 1 - q_j t may be 0 at the right end alone.
        left, right = 0.0, 0.5 ** math.ceil(math.log2(max(total, 1.0)))
        while left < 1.0 and math.exp(1.0 - left * total) > _NEGLIGIBLE:
            middle, half = (left + right) / 2, (right - left) / 2
            for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
                logs = np.log1p(-q * (middle + half * node))
                inside += weight * half * np.exp(logs.sum() - logs)
            left, right = right, 2 * right
        return q * inside

    def _verify_measure(self, measure: NDArray[np.float64]) -> None:
        _check.zero_or_one(measure)
