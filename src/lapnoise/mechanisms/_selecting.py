"""What the mechanisms that select a candidate by its score share: parameters, checks, and the way to a winner."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check, _scores
from lapnoise.generator import Generator
from lapnoise.mechanisms._additive import generator_for, verify_generator
from lapnoise.mechanisms._mechanism import Mechanism

__all__ = ["Field", "SelectingMechanism", "winner"]


class Field:
    """Candidates as numbers: their scores, their measures, and which of them may win.

    Parameters
    ----------
    scores, measure, exclude
        As in `SelectingMechanism.select`.
    """

    def __init__(self, scores: Any, measure: Any, exclude: Any) -> None:
        self.scores = _check.scores(scores)
        n = self.scores.size
        self.measure = None if measure is None else _check.measure(measure, n)
        self.eligible = _check.eligible(self.measure, exclude, n)
        _check.finite_scores(self.scores, self.eligible)
        if self.eligible is not None and not self.eligible.all():
            # Scores of candidates that are ruled out may be anything; the greatest is sought among the others.
            self.scores = np.where(self.eligible, self.scores, self.scores[self.eligible].max())

    def offsets(self, on: _scores.ScoreLattice) -> NDArray[np.float64]:
        """Return x - ln m of each candidate, x its penalty and m its measure; FAR where it may not win."""
        x = _scores.penalties(self.scores, on)
        if self.measure is not None:
            with np.errstate(divide="ignore"):
                x -= np.log(self.measure)
            np.minimum(x, _scores.FAR, out=x)
        if self.eligible is not None:
            x[~self.eligible] = _scores.FAR
        return x

    def exactly(self, i: int, on: _scores.ScoreLattice) -> tuple[Fraction, Fraction]:
        """Return penalty and measure of candidate i."""
        steps = on.steps(self.scores.max().item()) - on.steps(self.scores[i].item())
        return steps * on.rate, Fraction(1 if self.measure is None else self.measure[i].item())


class SelectingMechanism(Mechanism):
    """An immutable set of parameters, and the exact selection that follows from them."""

    __slots__ = ("_lattice", "epsilon_asked", "monotonic", "sensitivity")

    _public_inputs = (0,)
    _logarithmic: ClassVar[bool]

    epsilon_asked: Fraction
    sensitivity: Fraction
    monotonic: bool
    _lattice: _scores.ScoreLattice

    def __init__(self, *, epsilon: Any, sensitivity: Any, monotonic: bool = False) -> None:
        asked = _check.epsilon(epsilon)
        most = _check.score_sensitivity(sensitivity)
        together = _check.monotonic(monotonic)
        chosen = _scores.choose(asked, most, together)
        self._set(epsilon_asked=asked, sensitivity=most, monotonic=together, _lattice=chosen)

    def _parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon_asked, "sensitivity": self.sensitivity, "monotonic": self.monotonic}

    @property
    def epsilon(self) -> Fraction:
        """Epsilon attained, exactly: what was asked."""
        return self.epsilon_asked

    def privacy_loss(self, distance: Any) -> tuple[Fraction, Fraction]:
        """Return (epsilon, delta) for two data sets between which no score differs by more than ``distance``, exactly.

        Parameters
        ----------
        distance : float, str, Decimal or Fraction
            At least 0, at its exact value. Where the mechanism is monotonic, all scores must change in one direction.

        Returns
        -------
        (Fraction, Fraction)
            delta is 0.
        """
        steps = self._lattice.steps_up(_check.distance(distance))
        return steps * self._lattice.rate * (1 if self.monotonic else 2), Fraction(0)

    def select(
        self,
        candidates: Any,
        scores: Any,
        *,
        measure: Any = None,
        exclude: Any = None,
        rng: Any = None,
        threads: int | None = None,
    ) -> Any:
        """Return one of the candidates, a better one with a higher probability.

        Parameters
        ----------
        candidates : sequence of length n
            Public: a list, tuple, range, array or Series of anything.
        scores : array_like of shape (n,)
            How good each candidate is, a function of the data; integers of any width or floats, finite. 64-bit
            integers never pass through a float.
        measure : array_like of shape (n,), optional
            Public weight of each candidate, finite, >= 0, not all 0; 0 rules it out.
        exclude : array_like, optional
            Candidates that are ruled out in advance: a mask of n bools, or indices. That must not depend on data.
        rng : Generator, optional
            None draws from ChaCha20 under a fresh key from the operating system. A seeded generator warns.
        threads : int, optional
            Threads at most, where ``rng`` is None.

        Returns
        -------
        object
            The element of ``candidates`` that won. Each candidate takes one word, whether it can win or not.

        Raises
        ------
        ValueError
            If a score is NaN or infinite, lengths differ, or no candidate is left; nothing is drawn then.
        TypeError
            If scores are not real numbers, or candidates no sequence.
        """
        field = self._field(scores, measure, exclude)
        chosen_from = _check.candidates(candidates, field.scores.size)
        return chosen_from[winner(self, generator_for(rng, threads), field)]

    def verify_inputs(
        self,
        candidates: Any,
        scores: Any,
        *,
        measure: Any = None,
        exclude: Any = None,
        rng: Any = None,
        threads: int | None = None,
    ) -> None:
        """Refuse what `select` would refuse, as far as that does not depend on the scores themselves."""
        n = _check.scores(scores).size
        weights = None if measure is None else _check.measure(measure, n)
        if weights is not None:
            self._verify_measure(weights)
        _check.eligible(weights, exclude, n)
        _check.candidates(candidates, n)
        verify_generator(rng, threads)

    def _field(self, scores: Any, measure: Any, exclude: Any) -> Field:
        field = Field(scores, measure, exclude)
        if field.measure is not None:
            self._verify_measure(field.measure)
        return field

    def _verify_measure(self, measure: NDArray[np.float64]) -> None:
        """Refuse a measure that is one, but that this mechanism does not select under; the base takes them all."""


def winner(mechanism: SelectingMechanism, rng: Generator, field: Field) -> int:
    """Return the place of the candidate that a mechanism selects; takes one word of ``rng`` a candidate."""
    from lapnoise import _selection

    on = mechanism._lattice
    offsets = field.offsets(on)
    return _selection.least(rng, offsets, field.eligible, mechanism._logarithmic, lambda i: field.exactly(i, on))
