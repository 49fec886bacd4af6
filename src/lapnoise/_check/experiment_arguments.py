"""The arguments of experiments and verifications: lists of epsilon, scales whose squares are floats, recorded noise."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _numbers
from lapnoise._check._amounts import epsilon
from lapnoise._check._arrays import floats
from lapnoise._check._rules import amount, count, listed, shown

__all__ = [
    "answers",
    "cells",
    "column_format",
    "column_of",
    "epsilons",
    "false_alarm",
    "is_discrete",
    "one_column",
    "recorded_format",
    "recorded_noise",
    "repeats",
    "squares",
    "whole",
]

LEAST_RECORDED = 100
LEAST_FALSE_ALARM = 1e-12


def epsilons(value: Any) -> list[Fraction]:
    """Return the epsilons of a sweep: at least one, each finite, > 0 and there once."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"epsilons must be a sequence of numbers, got {shown(value)}")
    read = [epsilon(one, "every one of epsilons") for one in value]
    if not read:
        raise ValueError("epsilons must hold one at least, got none")
    if len(set(read)) < len(read):
        raise ValueError(f"epsilons must hold each once, got {shown(value)}")
    return read


def squares(scale: float) -> None:
    """Refuse a scale whose square, or that of a large draw, is no normal float."""
    if not 1e-140 <= scale <= 1e140:
        raise OverflowError(
            f"sensitivity / epsilon must lie between 1e-140 and 1e140, so that squared errors are floats, got {scale!r}"
        )


def answers(asked: list[Fraction], low: float, high: float) -> None:
    """Refuse bounds and epsilons of which some query's noise has a scale whose square is no normal float."""
    # Counts, sums and means: what one person changes in each.
    widths = [Fraction(1), max(abs(Fraction(low)), abs(Fraction(high))), Fraction(high) - Fraction(low)]
    for spent in asked:
        for width in widths:
            if not Fraction(10) ** -140 <= width / spent <= Fraction(10) ** 140:
                raise OverflowError(
                    "sensitivity / epsilon of every query must lie between 1e-140 and 1e140, so that squared errors "
                    f"are floats, got low {low!r}, high {high!r} and epsilon {_numbers.as_text(spent)}"
                )


def cells(low: float, high: float, bins: Any) -> NDArray[np.float64]:
    """Return the edges of so many cells of equal width; they must differ as floats."""
    number = count("bins", bins, least=1)
    edges = np.linspace(low, high, number + 1)
    if not (np.diff(edges) > 0).all():
        raise ValueError(f"bins must have edges that differ as floats between {low!r} and {high!r}, got {number}")
    return edges


def whole(name: str, value: Any) -> int:
    """Return a whole number, also where it is written as 1e6."""
    return int(amount(name, value, _numbers.as_stored, "a whole number", lambda number: number.denominator == 1))


def column_format(suffix: str, column: Any) -> str:
    """Return the format of a file of data, by its suffix; an array has no columns to choose from."""
    found = {".csv": "csv", ".tsv": "csv", ".npy": "npy"}.get(suffix.lower())
    if found is None:
        raise ValueError(f"data must be a file that ends in .csv, .tsv or .npy, got suffix {suffix!r}")
    if found == "npy" and column is not None:
        raise ValueError(f"column applies to CSV files only, got {shown(column)} for an NPY file")
    return found


def recorded_format(path: Path) -> None:
    """Refuse a file of recorded differences that is called otherwise than an array is."""
    if path.suffix.lower() != ".npy":
        raise ValueError(f"noise must be an NPY file, got {str(path)!r}")


def column_of(name: str | None, names: list[str]) -> str:
    """Return the name of a column; some column must be named."""
    if name is None:
        raise ValueError(f"column must name one of {listed(names)}, got none")
    return name.strip()


def repeats(name: str, value: Any) -> int:
    """Return how often something is drawn, which must be twice at least for a standard deviation."""
    return count(name, value, least=2)


def false_alarm(value: Any) -> float:
    """Return a rate of false alarms, in [1e-12, 1/2): beyond that distributions of statistics are not known."""
    if isinstance(value, bool) or not isinstance(value, float | int) or not LEAST_FALSE_ALARM <= value < 0.5:
        raise ValueError(f"false_alarm must be at least {LEAST_FALSE_ALARM:g} and less than 1/2, got {shown(value)}")
    return float(value)


def is_discrete(mechanism: Any) -> bool:
    """Return whether recorded noise is said to be on the integers."""
    if mechanism not in ("laplace", "discrete-laplace"):
        raise ValueError(f"mechanism must be 'laplace' or 'discrete-laplace', got {shown(mechanism)}")
    return bool(mechanism == "discrete-laplace")


def one_column(value: Any) -> NDArray[np.float64]:
    """Return a column of real numbers, missing ones as NaN, of which one at least is there."""
    column = floats(value)
    if column.ndim != 1:
        raise ValueError(f"values must be one column, got an array of {column.ndim} dimensions")
    if not np.count_nonzero(~np.isnan(column)):
        raise ValueError("values must hold one number at least, got none")
    return column


def recorded_noise(value: Any) -> NDArray[np.float64]:
    """Return recorded differences as finite floats, enough of them to judge a distribution by."""
    array = floats(value).reshape(-1)
    if array.size < LEAST_RECORDED:
        raise ValueError(f"noise must hold at least {LEAST_RECORDED} differences, got {array.size}")
    if not np.isfinite(array).all():
        wrong = int(np.count_nonzero(~np.isfinite(array)))
        raise ValueError(f"noise must be finite, got {wrong} of {array.size} that are missing, NaN or infinite")
    return array
