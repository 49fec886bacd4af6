"""A report: one page about a mechanism, to be attached to what was released with it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._check import audit_arguments, experiment_arguments, report_arguments
from lapnoise.evaluate._matplotlib import verify_matplotlib
from lapnoise.evaluate.auditing import Audit, audit
from lapnoise.evaluate.comparison import Comparison, compare
from lapnoise.evaluate.experiments import Experiment
from lapnoise.evaluate.plots._laws import draw_noise
from lapnoise.evaluate.query_experiments import QueryErrors, query_errors
from lapnoise.evaluate.reporting._errors import MechanismErrors, astray, errors_of
from lapnoise.evaluate.reporting._named import NAMED, made
from lapnoise.evaluate.verification import Verification, verify
from lapnoise.files._target import Target, refuse_unsafe_target
from lapnoise.lattice import LARGEST_T

__all__ = ["MechanismErrors", "Report", "report", "verify_page"]

DRAWS, AUDITED = 200_000, 1_000_000
SLOW_DRAWS = 10_000
"""Of noise whose scale in steps is beyond compiled kernels: 200 us a draw, for the page as for the audit."""

STEPS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
ANSWERS_STEPS = STEPS[1:4]
USUAL_DELTA = Fraction(1, 10**6)
ON_BOUNDS = ("Laplace, clipped", "bounded Laplace")
ROWS_ASKED = 10**7
"""Rows that all answers to one query at one epsilon go over, at most: some seconds in all."""


@dataclass(frozen=True)
class Report:
    """What a page is made of.

    Attributes
    ----------
    title : str
    name : str
        Of the mechanism: "laplace", "discrete-laplace", "gaussian", "truncated-laplace" or "bounded-laplace".
    mechanism : LaplaceMechanism or another
        For numbers of which one record changes ``changed``.
    changed : int
        How many of the released numbers one record changes, at most.
    delta : Fraction
        Asked for; 0 where there is none.
    comparison : tuple of Comparison
        The mechanisms side by side; those with bounds are there where bounds were given.
    noise : ndarray
        Draws of the mechanism's noise, made for the pictures.
    errors : Experiment or MechanismErrors
        Errors against epsilon.
    astray : tuple of Fraction
        The epsilons at which they are what errors of right noise are at none, but in one of a million pages.
    audit : Audit
    verification : Verification
    answers : QueryErrors or None
        Errors of queries on the data, computed from the true answers; None without data.
    column : str or None
        What the data are called.
    made : datetime
        When, in UTC.
    """

    title: str
    name: str
    mechanism: Any
    changed: int
    delta: Fraction
    comparison: tuple[Comparison, ...]
    noise: NDArray[np.float64] = field(repr=False, compare=False)
    errors: Experiment | MechanismErrors
    astray: tuple[Fraction, ...]
    audit: Audit
    verification: Verification
    answers: QueryErrors | None
    column: str | None
    made: datetime.datetime = field(compare=False)

    @property
    def sound(self) -> bool:
        """Whether every check of the sampler passed, the audit agrees with the claim and no error is astray."""
        return self.verification.passed and not self.audit.violated and not self.astray

    def html(self) -> str:
        """Return the page: HTML5 that asks for nothing from elsewhere."""
        from lapnoise.evaluate.reporting._page import written

        return written(self)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page to a file, which appears whole or not at all.

        Parameters
        ----------
        path : str or Path
            A name that ends in .html or .htm.
        force : bool, optional
            Whether an existing file is replaced.

        Raises
        ------
        OutputError
            If the file exists, without ``force``, or cannot be written.
        """
        target_path = verify_page(path, force)
        text = self.html()
        with Target(target_path, force=force) as target:
            target.write(text.encode("utf-8"))


def verify_page(path: str | Path, force: bool) -> Path:
    """Refuse, before anything is drawn, a page that could not be made; return its path.

    Raises
    ------
    ImportError
        If matplotlib is absent.
    ValueError
        If the file's name does not end as a page's does.
    OutputError
        If the file exists, without ``force``, or its directory does not.
    """
    target = report_arguments.page_name(path)
    verify_matplotlib()
    # No source is read: the target is compared with a name that is no file.
    refuse_unsafe_target(target, target / "none", force=force, stream=False)
    return target


def report(
    *,
    mechanism: str = "laplace",
    epsilon: Any = 1,
    sensitivity: Any = 1,
    delta: Any = 0,
    changed: Any = 1,
    low: Any = None,
    high: Any = None,
    data: Any = None,
    column: str | None = None,
    title: str | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Gather what is to be said of a mechanism: noise, errors, comparison, audit and a verification of the sampler.

    That takes some seconds. Nothing of it is a release, and without ``data`` all of it may be published.

    Parameters
    ----------
    mechanism : {"laplace", "discrete-laplace", "gaussian", "truncated-laplace", "bounded-laplace"}, optional
    epsilon, sensitivity : float, str, Decimal or Fraction, optional
        Of the release; the sensitivity in the norm that the mechanism takes.
    delta : float, str, Decimal or Fraction, optional
        For "gaussian" and "truncated-laplace", which need one, and "bounded-laplace".
    changed : int, optional
        How many of the released numbers one record can change at most: of a vector its length, if nothing less is
        known. Scale and granularity depend on it, but those of "discrete-laplace", which rounds nothing.
    low, high : float, str, Decimal or Fraction, optional
        Public bounds: the domain of "bounded-laplace", and those of the data.
    data : array_like or Series, optional
        A column, of which errors of private queries are computed. **They tell the true answers**, and so does a page
        with them.
    column : str, optional
        What the data are called.
    title : str, optional
        Of the page.
    seed : int, optional
        For the same draws again; by default every key is the operating system's.
    progress : callable, optional
        Called with what is done next.

    Returns
    -------
    Report
        ``save("report.html")`` writes the page.

    Raises
    ------
    ImportError
        If matplotlib is absent.
    ValueError, TypeError, OverflowError
        If an argument is none of these; the message names it.

    Examples
    --------
    >>> from lapnoise import evaluate
    >>> evaluate.report(epsilon="0.5").save("report.html")  # doctest: +SKIP
    """
    verify_matplotlib()
    name = report_arguments.mechanism_name(mechanism, tuple(NAMED))
    spent, small, delta1 = _check.epsilon(epsilon), _check.delta(delta), _check.sensitivity(sensitivity)
    called, heading = report_arguments.column_name(column), report_arguments.title(title)
    report_arguments.ratio(delta1, spent)
    report_arguments.data_bounds(data, low, high)
    report_arguments.both_bounds(low, high)
    bounds = None if low is None else _check.bounds(low, high)
    asked = [spent * step for step in ANSWERS_STEPS]
    if data is not None and bounds is not None:
        experiment_arguments.answers(asked, *map(float, bounds))
    if bounds is not None and bounds[1] - bounds[0] < delta1:
        bounds = None  # those of the data, which say nothing of the numbers that are released
    values = None if data is None else experiment_arguments.one_column(data)
    domain: tuple[Any, Any] = (low, high) if NAMED[name].needs_domain else (None, None)
    coordinates = _check.count("changed", changed, least=1)
    chosen = made(name, spent, small, delta1, *domain, coordinates)
    inputs = audit_arguments.whole_neighbours(delta1) if name == "discrete-laplace" else None

    def tell(stage: str) -> None:
        if progress is not None:
            progress(stage)

    slow = chosen.lattice.t > LARGEST_T
    tell("noise and errors")
    noise = draw_noise(chosen, SLOW_DRAWS if slow else DRAWS, seed)
    epsilons = [spent * step for step in STEPS]
    errors = errors_of(name, epsilons, small, delta1, domain, coordinates, seed)
    off = astray(errors, name, epsilons, small, delta1, domain, coordinates)
    beside = _compared(spent, small or USUAL_DELTA, delta1, bounds)
    answers = None
    if values is not None:
        tell("errors on the data")
        n = max(20, min(200, ROWS_ASKED // values.size))
        answers = query_errors(values, low, high, epsilons=asked, n=n, seed=seed)
    tell("audit")
    terms: dict[str, Any] = {"low": domain[0], "high": domain[1], "inputs": inputs, "seed": seed}
    terms["draws"] = SLOW_DRAWS if slow else AUDITED
    subject = name
    if coordinates > 1 and name != "discrete-laplace":  # to which the number of coordinates makes no difference
        subject = chosen
        if domain[0] is not None:  # it has them, and neighbours lie at the lower end, as they do by name
            terms |= {"low": None, "high": None, "inputs": (chosen.low, min(chosen.low + delta1, chosen.high))}
    audited = audit(subject, epsilon=spent, delta=small, sensitivity=delta1, **terms)
    tell("verification")
    return Report(
        heading or f"Release with the {NAMED[name].title}",
        name,
        chosen,
        coordinates,
        small,
        beside,
        noise,
        errors,
        off,
        audited,
        verify(seed=seed),
        answers,
        called,
        datetime.datetime.now(datetime.UTC),
    )


def _compared(
    epsilon: Fraction, delta: Fraction, sensitivity: Fraction, bounds: tuple[Fraction, Fraction] | None
) -> tuple[Comparison, ...]:
    # Without bounds a width far beyond the noise stands in, and what depends on it is left out.
    low, high = (Fraction(0), 100 * sensitivity) if bounds is None else bounds
    rows = compare(epsilon=epsilon, delta=delta, sensitivity=sensitivity, low=low, high=high)
    return tuple(row for row in rows if bounds is not None or row.mechanism not in ON_BOUNDS)
