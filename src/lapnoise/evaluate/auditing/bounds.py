"""What counts of an event prove: bounds on its probability, and on the epsilon of two inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["FALSE_ALARM", "clopper_pearson", "epsilon_at_least"]

FALSE_ALARM = 1e-6
"""The chance that an audit shows more than the epsilon that a mechanism keeps, at most."""


def clopper_pearson(hits: Any, trials: int, error: float) -> tuple[Any, Any]:
    """Return the ends of an interval that holds the probability of a hit, each wrong with chance error / 2 at most.

    Parameters
    ----------
    hits : int or array of ints
        From 0 to ``trials``.
    trials : int
        Independent ones.
    error : float
        The chance that the probability lies outside, at most.

    References
    ----------
    C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits", Biometrika 26 (1934).
    """
    from scipy.special import betainccinv, betaincinv

    k = np.asarray(hits, np.float64)
    # The quantiles of Beta(k, n - k + 1) and Beta(k + 1, n - k), which have no first or last parameter of 0.
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), trials - k + 1, error / 2), 0.0)
    high = np.where(k < trials, betainccinv(k + 1, np.maximum(trials - k, 1), error / 2), 1.0)
    return low[()], high[()]


def epsilon_at_least(hits: Any, others: Any, trials: int, delta: float = 0.0, error: float = FALSE_ALARM) -> Any:
    """Return a lower bound for epsilon from the counts of one event among the outputs of two inputs; -inf for none.

    P(S) <= exp(epsilon) P'(S) + delta, so that epsilon is at least ln((P(S) - delta) / P'(S)). The bound exceeds
    epsilon with chance ``error`` at most, if the event was not chosen by these counts.

    Parameters
    ----------
    hits, others : int or array of ints
        Outputs in the event, among ``trials`` of one input and among as many of the other.
    """
    surely = clopper_pearson(hits, trials, error)[0] - delta
    with np.errstate(divide="ignore"):
        return (np.log(np.maximum(surely, 0.0)) - np.log(clopper_pearson(others, trials, error)[1]))[()]
