"""Whether Spark would make the same keys and values each time it computes them, as far as a plan shows it.

Keyed noise belongs to a key and a value: another key, or a sum whose last bit moved because blocks came in another
order, has noise of its own, and whoever sees several averages them. Spark calls such sums deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lapnoise import _check
from lapnoise.spark._columns import selected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["verify_repeatable"]

ORDERLESS = frozenset(
    {
        "Average",
        "BitAndAgg",
        "BitOrAgg",
        "BitXorAgg",
        "BoolAnd",
        "BoolOr",
        "Count",
        "CountIf",
        "Max",
        "Min",
        "Percentile",
        "PercentileCont",
        "PercentileDisc",
        "Sum",
    }
)
"""Aggregates whose result does not depend on the order of rows, but for sums of floats."""

OF_ORDER = frozenset(
    {
        "AggregateInPandas",
        "ArrowAggregate",
        "ArrowWindowPython",
        "CoGroup",
        "FlatMapCoGroupsInArrow",
        "FlatMapCoGroupsInPandas",
        "GlobalLimit",
        "LocalLimit",
        "MapGroups",
        "Offset",
        "Sample",
        "ScriptTransformation",
        "Tail",
        "Window",
        "WindowGroupLimit",
        "WindowInPandas",
    }
)
"""Steps of a plan that depend on the order of rows, or may."""


def verify_repeatable(
    frame: DataFrame, key_columns: Sequence[str], columns: Sequence[str], assume_repeatable: bool
) -> None:
    """Refuse keys and values that Spark may make anew each time that it computes them; no job runs.

    What the plan of these columns alone holds counts: other columns may be random. What is cached counts as what it was
    made from, since a cache may be lost.
    """
    names = [*key_columns, *columns]
    given = getattr(selected(frame, names), "_jdf", None)
    if given is None:  # a frame of Spark Connect has no plan here
        return
    optimizer: Any = frame.sparkSession._jsparkSession.sessionState().optimizer()
    plan = optimizer.execute(given.queryExecution().analyzed())
    _check.repeatable_columns(bool(plan.deterministic()), names)
    if not assume_repeatable:
        _check.orderless_plan(sorted(set(_of_order(plan))), names)


def _of_order(plan: Any) -> Iterator[str]:
    """Yield what depends on the order of rows in a plan, under its names in Spark."""
    plans = [plan]
    while plans:
        step = plans.pop()
        plans += [*_entries(step.children()), *_entries(step.subqueries())]
        name = step.getClass().getSimpleName()
        if name in OF_ORDER or name.startswith("FlatMapGroups"):
            yield name
        elif name == "Aggregate":
            for expression in _entries(step.aggregateExpressions()):
                yield from _aggregates(expression)


def _aggregates(expression: Any) -> Iterator[str]:
    expressions = [expression]
    while expressions:
        found = expressions.pop()
        if found.getClass().getSimpleName() != "AggregateExpression":
            expressions += _entries(found.children())
            continue
        function = found.aggregateFunction()
        name = function.getClass().getSimpleName()
        kind = function.dataType().simpleString()
        if name in ("Sum", "Average") and kind == "double":
            yield f"{name} of {kind}"
        elif name not in ORDERLESS:
            yield name


def _entries(sequence: Any) -> Iterator[Any]:
    remaining = sequence.iterator()
    while remaining.hasNext():
        yield remaining.next()
