"""Verifying: whether the sampler does on this machine what it claims, and what recorded noise shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from lapnoise import _check
from lapnoise._check import experiment_arguments
from lapnoise.evaluate._checks import Check, Statistic, exact
from lapnoise.generator import default_rng

__all__ = ["Check", "Verification", "verify", "verify_noise"]

FALSE_ALARM = 1e-6
UNEXPECTED_LOOK = "whatever raised the error; `lapnoise doctor` says what is installed"


class Extent(NamedTuple):
    """How much is tested: words of the cipher, exact draws at each scale, boundaries, values, and draws of each law."""

    words: int
    oracle: int
    boundaries: int
    values: int
    draws: int


QUICK, FULL = Extent(128, 500, 40, 40, 1_000_000), Extent(25_600, 200_000, 15_000, 2_000, 5_000_000)


@dataclass(frozen=True)
class Verification:
    """What was tested, and whether it passed.

    Attributes
    ----------
    checks : tuple of Check
        In their order, each with its own rate of false alarms.
    false_alarm : float
        How often any one of a right sampler's checks fails, at most.
    """

    checks: tuple[Check, ...]
    false_alarm: float

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def look(self) -> tuple[str, ...]:
        """Where to look, once for each place, in the order of the checks: an early failure may explain later ones."""
        return tuple(dict.fromkeys(place for check in self.failed for place in check.look.split("\n")))


def verify(
    *,
    full: bool = False,
    false_alarm: float = FALSE_ALARM,
    seed: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Test the installed sampler on this machine.

    Known answers, places in the stream, exact noise and releases of every mechanism against integer arithmetic,
    distributions, threads and forks, guarantees and budget arithmetic.

    Parameters
    ----------
    full : bool, optional
        Take minutes instead of seconds, with five times as many draws and hundreds of times as many words.
    false_alarm : float, optional
        How often a right sampler may fail, in all; each statistical check gets an equal part (Bonferroni).
    seed : int, optional
        Of the words that are drawn for it; by default the key is the operating system's, so that no two runs test the
        same words.
    progress : callable, optional
        Called with what is tested next.

    Returns
    -------
    Verification

    Notes
    -----
    With a scale 1 % off the mean magnitude of 1,000,000 draws is 10 standard errors off, and less than 6 are allowed;
    with ``full`` 0.5 % is as far off. What no statistic sees, the exact oracle and the words about boundaries are for.

    Examples
    --------
    >>> from lapnoise import evaluate
    >>> evaluate.verify().passed  # doctest: +SKIP
    True
    """
    from lapnoise.evaluate._budgets import budget_checks
    from lapnoise.evaluate._distributions import distributions
    from lapnoise.evaluate._exact_oracle import exact_oracle
    from lapnoise.evaluate._guarantees import guarantee_checks
    from lapnoise.evaluate._known_answers import known_answers
    from lapnoise.evaluate._places import place_checks
    from lapnoise.evaluate._processes import fork_check, thread_checks
    from lapnoise.evaluate._releases import release_checks

    alpha = experiment_arguments.false_alarm(false_alarm)
    extent = FULL if _check.flag("full", full) else QUICK
    rng = default_rng(seed)
    parts: dict[str, Callable[[], Iterable[Check | Statistic]]] = {
        "words": lambda: known_answers(rng, extent.words),
        "places": lambda: place_checks(rng, extent.values),
        "exact noise": lambda: exact_oracle(rng, extent.oracle, extent.boundaries),
        "release": lambda: release_checks(rng, extent.values),
        "distribution": lambda: distributions(rng, extent.draws),
        "threads": thread_checks,
        "fork": fork_check,
        "guarantee": guarantee_checks,
        "budget": lambda: budget_checks(rng),
    }
    found: list[Check | Statistic] = []
    for subject, part in parts.items():
        if progress is not None:
            progress(subject)
        found += _all_of(subject, part)
    return _judged(found, alpha)


def verify_noise(
    noise: Any,
    *,
    epsilon: Any,
    sensitivity: Any,
    mechanism: str = "laplace",
    false_alarm: float = FALSE_ALARM,
) -> Verification:
    """Test recorded noise, the differences between released and true values, against what it is said to be.

    Parameters
    ----------
    noise : array_like
        At least 100 differences, in the order of release.
    epsilon, sensitivity : float, str, Decimal or Fraction
        What is claimed: Laplace noise of scale sensitivity / epsilon, each difference by itself.
    mechanism : {"laplace", "discrete-laplace"}, optional
        Whether the noise is on the reals, or on the integers.
    false_alarm : float, optional
        As in `verify`.

    Returns
    -------
    Verification
        ``look`` says which epsilon, or which sensitivity, the noise would fit instead.
    """
    from lapnoise.evaluate._recorded_noise import recorded_noise

    claimed, delta1 = _check.epsilon(epsilon), _check.sensitivity(sensitivity)
    differences = experiment_arguments.recorded_noise(noise)
    discrete = experiment_arguments.is_discrete(mechanism)
    scale = delta1 / claimed
    experiment_arguments.squares(float(scale) if scale < Fraction(10) ** 300 else 1e300)
    alpha = experiment_arguments.false_alarm(false_alarm)
    # Squares beyond the floats are infinite, which passes nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        return _judged(list(recorded_noise(differences, claimed, delta1, discrete)), alpha)


def _all_of(subject: str, part: Callable[[], Iterable[Check | Statistic]]) -> Iterator[Check | Statistic]:
    try:
        yield from part()
    except Exception as error:  # a sampler that raises has failed, and the other parts still have something to say
        look = " ".join(f"{UNEXPECTED_LOOK}: {type(error).__name__}: {error}".split())
        yield exact(subject, "the tests of this part run to their end", "errors", 1, look)


def _judged(found: list[Check | Statistic], alpha: float) -> Verification:
    statistics = sum(isinstance(one, Statistic) for one in found)
    each = alpha / max(statistics, 1)
    checks = tuple(one.judged(each) if isinstance(one, Statistic) else one for one in found)
    return Verification(checks, alpha if statistics else 0.0)
