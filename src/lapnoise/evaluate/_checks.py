"""What a verification is made of: statistics, each beside the largest value that a right sampler shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Check", "Statistic", "exact"]


@dataclass(frozen=True)
class Check:
    """One thing that was tested.

    Attributes
    ----------
    subject : str
        "words", "places", "exact noise", "release", "distribution", "threads", "fork", "guarantee", "budget" or
        "recorded noise".
    tested : str
        What was tested.
    measure : str
        What the statistic is.
    statistic, threshold : float
        It passes where the statistic is at most the threshold.
    false_alarm : float
        How often a right sampler fails it; 0 where it is exact.
    look : str
        Where to look if it fails: one place a line.
    """

    subject: str
    tested: str
    measure: str
    statistic: float
    threshold: float
    false_alarm: float
    look: str

    @property
    def passed(self) -> bool:
        """Whether the statistic is at most the threshold; NaN is not."""
        return self.statistic <= self.threshold


@dataclass(frozen=True)
class Statistic:
    """A check whose threshold waits for its share of the false alarms."""

    subject: str
    tested: str
    measure: str
    value: float
    critical: Callable[[float], float]
    look: str

    def judged(self, false_alarm: float) -> Check:
        """Return the check at this rate of false alarms."""
        threshold = self.critical(false_alarm)
        return Check(self.subject, self.tested, self.measure, self.value, threshold, false_alarm, self.look)


def exact(subject: str, tested: str, measure: str, count: float, look: str) -> Check:
    """Return a check of something that must be 0."""
    return Check(subject, tested, measure, float(count), 0.0, 0.0, look)
