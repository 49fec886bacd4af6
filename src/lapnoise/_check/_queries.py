"""The arguments of queries, of sensitivities and of budgets that are split."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from numbers import Number
from typing import Any, NoReturn

import numpy as np

from lapnoise import _numbers
from lapnoise._canonical import RoundedFloatError, UnfitError, canonical, is_missing
from lapnoise._check._amounts import sensitivity
from lapnoise._check._rules import amount, count, positive_amount, shown
from lapnoise._containers import is_series

__all__ = [
    "Statistic",
    "batch",
    "categories",
    "cells",
    "comparable_categories",
    "ddof",
    "edges",
    "fit",
    "label",
    "ledger",
    "mean_neighbours",
    "neighbours",
    "no_mask_of_rows",
    "norm",
    "numeric",
    "one_column",
    "one_dimension",
    "pairs_seen",
    "parts",
    "person_kind",
    "persons",
    "replace_only",
    "same_index",
    "same_keys",
    "sensitivities",
    "single_batch",
    "split_rule",
    "split_weights",
    "statistic",
]

NEIGHBOURS = ("add-remove", "replace")

Statistic = dict[Any, Fraction]


def neighbours(value: Any) -> str:
    """Return a relation between neighbouring data sets."""
    if value not in NEIGHBOURS:
        raise ValueError(f"neighbours must be 'add-remove' or 'replace', got {shown(value)}")
    return str(value)


def replace_only(value: Any, query: str, advice: str) -> None:
    """Refuse add-remove where the number of rows must be public."""
    if neighbours(value) != "replace":
        raise ValueError(
            f"neighbours must be 'replace' for a {query} over a public number of rows, got {shown(value)}: {advice}"
        )


def mean_neighbours(value: Any, n: int | None) -> str:
    """Return the relation for a mean: by default the one that suits whether n is public."""
    if value is None:
        return "add-remove" if n is None else "replace"
    if n is not None:
        replace_only(value, "mean", "leave n out, and the number of rows is private too")
    return neighbours(value)


def norm(name: str, value: Any) -> Fraction:
    """Return a bound on a norm at its exact stored value; it must be finite and > 0."""
    return positive_amount(name, value, _numbers.as_stored)


def split_weights(value: Any) -> list[Fraction]:
    """Return weights as the exact numbers that their texts show; each finite and > 0."""
    return _amounts("weights", value, lambda name, weight: positive_amount(name, weight, _numbers.as_printed))


def sensitivities(value: Any) -> list[Fraction]:
    """Return sensitivities at their exact values; each finite and > 0."""
    return _amounts("sensitivities", value, lambda name, entry: sensitivity(entry, name))


def _amounts(name: str, value: Any, read: Callable[[str, Any], Fraction]) -> list[Fraction]:
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a sequence of numbers, got {shown(value)}")
    found = [read(f"{name}[{i}]", entry) for i, entry in enumerate(value)]
    if not found:
        raise ValueError(f"{name} must hold at least one number, got none")
    return found


def statistic(result: Any) -> Statistic:
    """Return what a query gave, a number, an array or a dict-like, as exact numbers by place or key."""
    if hasattr(result, "keys") and hasattr(result, "items"):
        entries = dict(result.items())
    else:
        array = np.asarray(result, dtype=object)
        entries = {where or "value": entry for where, entry in np.ndenumerate(array)}
    return {key: _finite_entry(entry) for key, entry in entries.items()}


def _finite_entry(entry: Any) -> Fraction:
    return amount("a result of query", entry, _numbers.as_stored, "finite", lambda _: True)


def same_keys(one: Any, other: Any) -> None:
    """Refuse two results of a query that are arrays of different shapes."""
    if not hasattr(one, "keys") and np.shape(one) != np.shape(other):
        raise ValueError(f"query must give one shape for both of a pair, got {np.shape(one)} and {np.shape(other)}")


def pairs_seen(number: int) -> None:
    """Refuse an empty collection of pairs."""
    if number == 0:
        raise ValueError("pairs must hold at least one pair of neighbouring data sets, got none")


def ledger(value: Any) -> None:
    """Refuse what cannot be charged."""
    if value is not None and not callable(getattr(value, "spend", None)):
        raise TypeError(f"ledger must have a method spend, got {shown(value)}")


def label(value: Any, otherwise: str) -> str:
    """Return the label of a charge."""
    if value is None:
        return otherwise
    if not isinstance(value, str):
        raise TypeError(f"label must be text, got {shown(value)}")
    return value


def cells(edges: Any, categories: Any, delta: Any) -> None:
    """Refuse a histogram that has not exactly one of edges, categories and delta."""
    given = [
        name for name, value in (("edges", edges), ("categories", categories), ("delta", delta)) if value is not None
    ]
    if len(given) != 1:
        told = " and ".join(given) or "none"
        raise ValueError(
            f"edges, categories or delta (for categories that are not known in advance) must be given, one of the "
            f"three, got {told}"
        )


def edges(value: Any) -> list[Fraction | float]:
    """Return the edges of a histogram at their exact values, rising; the outer ones may be infinite."""
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise TypeError(f"edges must be a sequence of numbers, got {shown(value)}")
    given = list(value)
    found: list[Fraction | float] = []
    for i, entry in enumerate(given):
        outer = i in (0, len(given) - 1) and isinstance(entry, float | np.floating) and math.isinf(entry)
        found.append(
            float(entry) if outer else amount(f"edges[{i}]", entry, _numbers.as_stored, "finite", lambda _: True)
        )
    if len(found) < 2:
        raise ValueError(f"edges must be at least two numbers, got {len(found)}")
    for i in range(1, len(found)):
        if not found[i - 1] < found[i]:
            raise ValueError(f"edges must rise, got {shown(given[i - 1])} before {shown(given[i])}")
    return found


def categories(value: Any) -> list[Any]:
    """Return the categories of a histogram, each once; none of them missing."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"categories must be a sequence, got {shown(value)}")
    found = value.tolist() if isinstance(value, np.ndarray) and value.dtype.kind not in "mM" else list(value)
    if not found:
        raise ValueError("categories must hold at least one category, got none")
    seen = set()
    for i, entry in enumerate(found):
        if is_missing(entry):
            raise ValueError(f"categories[{i}] must be a value, got {shown(entry)}: missing values are never counted")
        try:
            key = canonical(entry)
        except UnfitError as unfit:
            fit(f"categories[{i}]", unfit)
        if key in seen:
            raise ValueError(f"categories must hold each category once, got {shown(entry)} twice")
        seen.add(key)
    return found


def fit(place: str, unfit: UnfitError) -> NoReturn:
    """Refuse a category or an id without a canonical form."""
    if isinstance(unfit, RoundedFloatError):
        raise ValueError(
            f"{place} must be an integer or a float below 2**53 in size, got {unfit}: integers that a missing row made "
            "floats may be rounded, and several of them one; give a nullable integer type, or text"
        ) from None
    raise TypeError(
        f"{place} must be a number, text, bytes, a date, a duration, a UUID or a tuple of these, got {unfit}: give its "
        "text"
    ) from None


def comparable_categories(names: list[Any], kind: Any) -> None:
    """Refuse categories of which none can equal a value of this dtype, so that all would count nothing."""
    if not isinstance(kind, np.dtype) or kind.kind not in "iufM":
        return
    fits = np.datetime64 | datetime.date if kind.kind == "M" else Number
    if not any(isinstance(name, fits) for name in names):
        raise TypeError(
            f"categories must be of the type of the values, dtype {kind}, got only {type(names[0]).__name__}"
        )


def one_column(name: str, value: Any, ndim: int) -> None:
    """Refuse what is not a column of rows."""
    if type(value).__name__ == "DataFrame":
        raise TypeError(f"{name} must be one column, got a DataFrame: give one of its columns")
    if ndim == 0:
        raise TypeError(f"{name} must be a column of rows (an array, a list, a Series), got {type(value).__name__}")
    one_dimension(name, ndim)


def one_dimension(name: str, ndim: int) -> None:
    """Refuse an array that is not a column of rows."""
    if ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, one entry a row, got {ndim} dimensions")


def batch(value: Any, fits: bool) -> None:
    """Refuse batches that are no columns: an iterable of tuples is one of rows, whose cells would count."""
    if not fits:
        raise TypeError(
            "values must be a column, or an iterable of columns (arrays, lists, Series, Arrow arrays) as batches, got "
            f"an iterable of {type(value).__name__}"
        )


def same_index(name: str, value: Any, values: Any) -> None:
    """Refuse a Series whose rows are labelled otherwise than those of the values, which are paired by place."""
    if is_series(value) and is_series(values) and not value.index.equals(values.index):
        raise ValueError(f"{name} must have the index of values, got another one: align the two first")


def no_mask_of_rows(kind: Any) -> None:
    """Refuse to count booleans, of which True and False would both count."""
    if str(kind) in ("bool", "boolean", "bool[pyarrow]"):
        raise TypeError(
            f"values must be the rows to count, got dtype {kind}, of which False would count too: select rows first "
            "(values[mask]), or sum the mask with private_sum(mask, 0, 1)"
        )


def numeric(kind: Any) -> None:
    """Refuse a type that holds no real numbers."""
    if not isinstance(kind, np.dtype) or kind.kind not in "fiub":
        raise TypeError(f"values must be real numbers, got dtype {kind}")


def single_batch(batched: bool) -> None:
    """Refuse batches where rows of one person may lie in several."""
    if batched:
        raise TypeError("values must be one array where person is given, got an iterable of batches")


def persons(ids: int, rows: int) -> None:
    """Refuse ids that do not belong to the rows one by one."""
    if ids != rows:
        raise ValueError(f"person must have one id for each of the {rows} rows, got {ids}")


def person_kind(kind: np.dtype[Any]) -> None:
    """Refuse a dtype that names nobody."""
    if kind.kind not in "iubSUOf":
        raise TypeError(f"person must be integers or text, got dtype {kind}")


def split_rule(**given: Any) -> str:
    """Return the name of the one argument that is not None."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise TypeError(f"split takes exactly one of {', '.join(given)}, got {' and '.join(named) or 'none'}")
    return named[0]


def parts(value: Any) -> int:
    """Return a number of parts."""
    return count("parts", value, least=1)


def ddof(value: Any) -> int:
    """Return ddof, 0 or 1."""
    if isinstance(value, bool) or value not in (0, 1):
        raise ValueError(f"ddof must be 0 or 1, got {shown(value)}")
    return int(value)
