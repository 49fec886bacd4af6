"""The exponential mechanism: one of many candidates, with a probability that grows exponentially with its score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise.mechanisms._selecting import SelectingMechanism

__all__ = ["ExponentialMechanism"]


class ExponentialMechanism(SelectingMechanism):
    """Select candidate i with probability proportional to m_i exp(epsilon score_i / (2 sensitivity)), exactly.

    Parameters
    ----------
    epsilon : float, str, Decimal or Fraction
        Privacy budget, finite and > 0. A float counts as it prints.
    sensitivity : float, str, Decimal, Fraction or Sensitivity
        The most by which any one score can change between neighbouring data sets, finite and > 0.
    monotonic : bool, optional
        Whether a change of one record moves all scores in one direction, as counts do when a record is added. The
        factor 2 is then not needed, and the same epsilon selects better.

    Attributes
    ----------
    epsilon_asked, epsilon : Fraction
        What a ledger charges, and what is attained: the same.

    Notes
    -----
    Pure differential privacy for the distribution that is sampled. Scores are rounded half up to multiples of a power
    of two that is at most 2^-40 of the sensitivity, and at most 1, so integers stay as they are; exact differences
    decide, however large scores are. Each candidate gets the key E exp(x) / m, with E a unit exponential, x = epsilon
    (best score - score) / (2 sensitivity) and m its measure, and the least key wins: the least of independent
    exponentials of rates m exp(-x) is that of candidate i with probability m_i exp(-x_i) over their sum. Keys are
    compared through bounds that are certain, and in exact arithmetic with further bits where those overlap.

    References
    ----------
    F. McSherry, K. Talwar, "Mechanism design via differential privacy", FOCS 2007, section 3.

    Examples
    --------
    >>> import lapnoise
    >>> m = lapnoise.ExponentialMechanism(epsilon=1, sensitivity=1)
    >>> m.probabilities([0, -5000, -5000], measure=[0, 1, 3]).tolist()
    [0.0, 0.25, 0.75]
    """

    __slots__ = ()

    _logarithmic = True

    def probabilities(self, scores: Any, *, measure: Any = None, exclude: Any = None) -> NDArray[np.float64]:
        """Return the probability of each candidate, within 1e-12; a function of the data, not a release.

        Parameters
        ----------
        scores, measure, exclude
            As in `select`.

        Returns
        -------
        ndarray of float64 of shape (n,)
        """
        field = self._field(scores, measure, exclude)
        x = field.offsets(self._lattice)
        # The measures are in x already, so that not all weights can vanish.
        weights = np.exp(x.min() - x)
        if field.eligible is not None:
            weights[~field.eligible] = 0.0
        result: NDArray[np.float64] = weights / weights.sum()
        return result
