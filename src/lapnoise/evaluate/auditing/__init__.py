"""A black-box audit: the least epsilon that outputs of two neighbouring inputs prove."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from lapnoise import _check
from lapnoise._check import audit_arguments
from lapnoise._numbers import fraction_down
from lapnoise.evaluate.auditing.bounds import FALSE_ALARM, epsilon_at_least
from lapnoise.evaluate.auditing.events import features
from lapnoise.evaluate.auditing.search import choose, count
from lapnoise.evaluate.auditing.statistical_power import Power, audit_power
from lapnoise.evaluate.auditing.subjects import subject
from lapnoise.evaluate.auditing.terms import settle

__all__ = ["Audit", "audit"]

CHOICE_SHARE = 4
"""One draw in so many serves to choose the event. The bound hangs on the others, and a good event shows in fewer."""


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    mechanism : str
        What was audited.
    epsilon, delta : Fraction
        What is claimed.
    inputs : tuple of float
        The two neighbours.
    draws, chosen_on, counted : int
        Outputs of each input: all, those that the event was chosen on, and those that it was counted among.
    event : str
        The event in words.
    more, less : float
        The input that gives it more often, and the other.
    hits, others : int
        Outputs of ``more`` and of ``less`` in the event, each among ``counted``.
    shown : float
        The epsilon that the counts prove, at least; 0 where they prove none.
    false_alarm : float
        The chance that this exceeds the epsilon of a mechanism that keeps (epsilon, delta), at most.
    power : Power
        What an audit of this size finds.
    """

    mechanism: str
    epsilon: Fraction
    delta: Fraction
    inputs: tuple[float, float]
    draws: int
    chosen_on: int
    counted: int
    event: str
    more: float
    less: float
    hits: int
    others: int
    shown: float
    false_alarm: float
    power: Power

    @property
    def violated(self) -> bool:
        """Whether more is shown than what is claimed."""
        return Fraction(self.shown) > self.epsilon

    @property
    def verdict(self) -> str:
        """One line: what is claimed, what is shown, and whether the two agree."""
        claimed = f"epsilon claimed {fraction_down(self.epsilon):g}"
        with_delta = f" with delta {float(self.delta):g}" if self.delta else ""
        agrees = "violated" if self.violated else "consistent"
        return f"{claimed}{with_delta}, shown at least {self.shown:.4g}: {agrees}"


def audit(
    mechanism: Any,
    *,
    epsilon: Any,
    delta: Any = None,
    sensitivity: Any = None,
    low: Any = None,
    high: Any = None,
    inputs: tuple[Any, Any] | None = None,
    draws: Any = 1_000_000,
    seed: int | None = None,
    progress: Callable[[str, str, int, int | None], None] | None = None,
) -> Audit:
    """Bound epsilon from below by what outputs of two neighbouring inputs show, whatever made them.

    Parameters
    ----------
    mechanism : str, callable or mechanism
        "laplace", "discrete-laplace", "gaussian", "bounded-laplace" or "truncated-laplace": made with the parameters
        below. "numpy-laplace": what NumPy draws, added to the value, which an audit finds. Else a mechanism, or a
        callable, or "module:function": called as ``function(values)``, ``function(values, seed=n)`` if it has a
        parameter of that name, with a one-dimensional float64 array of equal values. It returns as many numbers, one
        release of each value, independent of one another.
    epsilon : float, str, Decimal or Fraction
        What is claimed.
    delta : float, str, Decimal or Fraction, optional
        What is claimed beside it; 0 unless given. A mechanism has its own, and no other is taken.
    sensitivity : float, str, Decimal or Fraction, optional
        How far neighbours lie apart at most; 1 unless given. A mechanism has its own, and no other is taken.
    low, high : float, str, Decimal or Fraction, optional
        Domain, for "bounded-laplace". A mechanism has its own, and no other is taken.
    inputs : (float, float), optional
        Two neighbours; 0 and the sensitivity unless given (on integers the largest one that it allows), or ``low`` and
        that far above it. Other inputs can show more: try some.
    draws : int
        Outputs of each input, at least 1,000. A quarter is used to choose the event. Memory does not grow with it.
    seed : int, optional
        Repeats an audit; None draws as releases do.
    progress : callable, optional
        Called as ``progress(stage, unit, done, total)``.

    Returns
    -------
    Audit

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these, or "module:function" cannot be imported; nothing is drawn then.
    InputDataError
        If the callable fails, exits, or returns another shape, NaN, masked values, or numbers that float64 rounds; or
        repeats its outputs from call to call, or from input to input, or draws one noise for a whole call, as far as
        that shows.

    Notes
    -----
    For every event S, P(S) <= exp(epsilon) P'(S) + delta. On a quarter of the outputs the event is chosen that shows
    most: value, distance from an input, place of the lowest set bit, zeros that end the significand, sign of zero, or
    any of the 64 bits, at most or above a threshold or between two; frequent values alone. Its counts among the other
    outputs bound both probabilities (Clopper and Pearson), and so epsilon, which they overstate once in a million
    audits at most: one event is tested.

    A mechanism that is consistent is not thereby proved: `Audit.power` tells what was looked for, and an event of other
    kinds, or too rare, is never seen.

    References
    ----------
    Z. Ding, Y. Wang, G. Wang, D. Zhang, D. Kifer, "Detecting violations of differential privacy", CCS 2018, for events
    chosen on other data. B. Bichsel, S. Steffen, I. Bogunovic, M. Vechev, "DP-Sniper", S&P 2021, for bits as features.

    Examples
    --------
    >>> from lapnoise import evaluate
    >>> evaluate.audit("laplace", epsilon=1, draws=100_000, seed=1).violated
    False
    >>> evaluate.audit("numpy-laplace", epsilon=1, draws=100_000, seed=1).violated
    True
    """
    claim: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "sensitivity": sensitivity}
    terms = settle(mechanism, **claim, low=low, high=high, inputs=inputs, seed=seed)
    size = audit_arguments.draws(draws)
    if seed is not None:
        audit_arguments.seed_number(seed)
        _check.seed(seed)
    audited = subject(mechanism, terms)
    report = progress or (lambda *_: None)

    choosing = size // CHOICE_SHARE
    counting = size - choosing
    pair, allowed = terms.inputs, float(terms.delta)
    claimed = fraction_down(terms.epsilon), allowed
    event, side = choose(audited.draw, choosing, partial(features, inputs=pair), *claimed, report)
    counts = count(audited.draw, counting, event, report)
    hits, others = counts[side], counts[1 - side]
    shown = max(0.0, float(epsilon_at_least(hits, others, counting, allowed)))
    size_finds = audit_power(*claimed, choosing, counting, laplace=audited.laplace, gaussian=audited.gaussian)
    return Audit(
        mechanism=audited.name,
        epsilon=terms.epsilon,
        delta=terms.delta,
        inputs=pair,
        draws=size,
        chosen_on=choosing,
        counted=counting,
        event=str(event),
        more=pair[side],
        less=pair[1 - side],
        hits=hits,
        others=others,
        shown=shown,
        false_alarm=FALSE_ALARM,
        power=size_finds,
    )
