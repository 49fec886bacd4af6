"""Experiments: what a mechanism's errors are, beside what theory says of them, over a range of epsilon."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapnoise import _check
from lapnoise._check import experiment_arguments
from lapnoise.evaluate._accumulation import mean_and_square
from lapnoise.evaluate._statistics import averaged_terms, square_moments
from lapnoise.evaluate._sums import mean_band, normal_quantile
from lapnoise.generator import default_rng
from lapnoise.mechanisms import LaplaceMechanism

__all__ = ["EPSILONS", "LEVEL", "Curve", "Experiment", "Halving", "Statistic", "SweepRow", "experiment"]

EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2))
LEVEL = Fraction(999, 1000)


@dataclass(frozen=True)
class Statistic:
    """What was measured, what theory says, and between what it lies with the experiment's confidence."""

    measured: float
    theory: float
    low: float
    high: float

    @property
    def within(self) -> bool:
        """Whether it lies there."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True)
class Curve:
    """A statistic against epsilon, for pictures.

    Attributes
    ----------
    name : str
        What it is.
    points : tuple of (float, Statistic)
        Epsilon that is spent in all, and the statistic there.
    statistic : str
        What the statistic is.
    """

    name: str
    points: tuple[tuple[float, Statistic], ...]
    statistic: str = "root mean squared error"


@dataclass(frozen=True)
class SweepRow:
    """Errors at one epsilon.

    Attributes
    ----------
    epsilon : Fraction
        What each release spends.
    releases : int
        How many releases of the same number are averaged; the error is that of their mean.
    total_epsilon : Fraction
        What they spend together.
    scale : float
        b of the noise of one release.
    mean, std, mse : Statistic
        Mean, standard deviation and mean square of the errors.
    """

    epsilon: Fraction
    releases: int
    total_epsilon: Fraction
    scale: float
    mean: Statistic
    std: Statistic
    mse: Statistic


@dataclass(frozen=True)
class Halving:
    """How many times standard deviation and mean squared error grow from one epsilon to half of it."""

    epsilon: Fraction
    half: Fraction
    std: Statistic
    mse: Statistic


@dataclass(frozen=True)
class Experiment:
    """Errors over a range of epsilon.

    Attributes
    ----------
    sensitivity : Fraction
        L1 sensitivity of the number that is released.
    n : int
        Errors drawn for each row.
    level : Fraction
        Probability that a statistic lies in its band, for each by itself.
    seed : int or None
        None: drawn under a key of the operating system's.
    rows : tuple of SweepRow
        One release at each epsilon.
    composed : tuple of SweepRow
        With ``releases`` k: for each epsilon once in k releases of epsilon / k, then k times epsilon in one release and
        in k releases.
    """

    sensitivity: Fraction
    n: int
    level: Fraction
    seed: int | None
    rows: tuple[SweepRow, ...]
    composed: tuple[SweepRow, ...]

    @property
    def curves(self) -> tuple[Curve, ...]:
        """Standard deviation of the errors against the epsilon that is spent, for pictures.

        With ``releases`` there are two: of single releases, and of means.
        """
        name = "standard deviation"
        if not self.composed:
            return (_curve(name, self.rows),)
        single = [row for row in (*self.rows, *self.composed) if row.releases == 1]
        means = [row for row in self.composed if row.releases > 1]
        return _curve("one release", single), _curve(f"mean of {means[0].releases} releases", means)

    @property
    def halvings(self) -> tuple[Halving, ...]:
        """For every epsilon of which the half is there too."""
        by_epsilon = {row.epsilon: row for row in self.rows}
        pairs = [(row, by_epsilon[row.epsilon / 2]) for row in self.rows if row.epsilon / 2 in by_epsilon]
        return tuple(self._halving(whole, half) for whole, half in pairs)

    def _halving(self, whole: SweepRow, half: SweepRow) -> Halving:
        squares = square_moments(1)
        # The logarithm of a ratio of two independent means, each of relative deviation sqrt(5 / n).
        reach = normal_quantile(float(1 - self.level)) * math.sqrt(2 / self.n) * squares.deviation / squares.mean

        def ratio(name: str, reach: float) -> Statistic:
            small, large = getattr(whole, name), getattr(half, name)
            theory = large.theory / small.theory
            return Statistic(
                large.measured / small.measured, theory, theory * math.exp(-reach), theory * math.exp(reach)
            )

        return Halving(whole.epsilon, half.epsilon, ratio("std", reach / 2), ratio("mse", reach))


def _curve(name: str, rows: Sequence[SweepRow]) -> Curve:
    return Curve(name, tuple((float(row.total_epsilon), row.std) for row in rows), "standard deviation")


def experiment(
    epsilons: Any = EPSILONS,
    *,
    sensitivity: Any = 1,
    n: int = 10_000,
    releases: int = 1,
    level: Any = LEVEL,
    seed: int | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Experiment:
    """Draw errors of the Laplace mechanism at each epsilon, and compare them with theory.

    Parameters
    ----------
    epsilons : sequence of float, str, Decimal or Fraction, optional
        What is spent, each finite and > 0.
    sensitivity : float, str, Decimal, Fraction or Sensitivity, optional
        L1 sensitivity of the number that is released.
    n : int, optional
        Errors for each epsilon, 2 at least; memory does not grow with it.
    releases : int, optional
        k. With more than 1, also the errors of means of k releases: at epsilon / k each, which spends epsilon, and at
        epsilon each, which spends k epsilon, beside one release that spends as much.
    level : float, str, Decimal or Fraction, optional
        Probability that each statistic lies in its band.
    seed : int, optional
        For errors that can be drawn again; by default the key is the operating system's.
    threads : int, optional
        Threads at most; by default the cores that this process may use. The draws do not depend on it.
    progress : callable, optional
        Called with the errors drawn so far, and with all there will be.

    Returns
    -------
    Experiment

    Raises
    ------
    ValueError, TypeError, OverflowError
        If an argument is none of these; the message names it.

    Notes
    -----
    Theory is what the mechanism says of the noise on its lattice, which is sqrt(2) b for the standard deviation and
    2 b^2 for the mean squared error within 1e-14. Bands are those of means of n terms, with two terms of the
    Cornish-Fisher expansion where n is large and from their distribution where it is not: b sqrt(2 / n) is the standard
    error of the mean, b^2 sqrt(20 / n) that of the mean square.

    Examples
    --------
    >>> from lapnoise import evaluate
    >>> [row.scale for row in evaluate.experiment(seed=1).rows]
    [10.0, 2.0, 1.0, 0.5]
    """
    asked = experiment_arguments.epsilons(epsilons)
    delta1 = _check.sensitivity(sensitivity)
    count, averaged = experiment_arguments.repeats("n", n), _check.count("releases", releases, least=1)
    confidence = _check.level(level)
    plans = [(epsilon, 1) for epsilon in asked]
    if averaged > 1:
        for epsilon in asked:
            plans += [(epsilon / averaged, averaged), (epsilon * averaged, 1), (epsilon, averaged)]
    mechanisms = [LaplaceMechanism(epsilon=epsilon, sensitivity=delta1, changed=1) for epsilon, _ in plans]
    for mechanism in mechanisms:
        experiment_arguments.squares(mechanism.scale)
    root = default_rng(seed, rounds=20, threads=threads)
    generators, cores = root.spawn(len(plans)), root._count()
    rows = []
    for i, ((epsilon, k), mechanism) in enumerate(zip(plans, mechanisms, strict=True)):
        tell = functools.partial(_tell, progress, i * count, len(plans) * count)
        mean, square = mean_and_square(mechanism, generators[i], count, k, cores, tell)
        rows.append(_row(mechanism, epsilon, k, count, mean, square, float(1 - confidence)))
    return Experiment(delta1, count, confidence, seed, tuple(rows[: len(asked)]), tuple(rows[len(asked) :]))


def _tell(progress: Callable[[int, int], None] | None, before: int, total: int, done: int) -> None:
    if progress is not None:
        progress(before + done, total)


def _row(
    mechanism: LaplaceMechanism, epsilon: Fraction, releases: int, n: int, mean: float, square: float, alpha: float
) -> SweepRow:
    deviation = mechanism.std / math.sqrt(releases)
    signed, squares = averaged_terms(releases)
    unit = deviation / signed.moments.deviation
    low, high = (unit * end for end in mean_band(signed, n, alpha))
    least, most = (max(unit**2 * end, 0.0) for end in mean_band(squares, n, alpha))
    std = math.sqrt(max(square - mean**2, 0.0) * n / (n - 1))
    return SweepRow(
        epsilon,
        releases,
        epsilon * releases,
        mechanism.scale,
        Statistic(mean, 0.0, low, high),
        Statistic(std, deviation, math.sqrt(least), math.sqrt(most)),
        Statistic(square, deviation**2, least, most),
    )
