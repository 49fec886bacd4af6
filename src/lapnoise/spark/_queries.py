"""Private statistics of a frame: rows are bounded and added up where they are, and the sums get noise on the driver.

What a task returns are exact integers, which add up to the same whatever rows lie together. With ids of persons all
rows of a person are brought to one partition first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from lapnoise import _check
from lapnoise._cluster_queries import Partial, answered
from lapnoise._record_batches import sample
from lapnoise.queries import _batches
from lapnoise.queries._count import Count
from lapnoise.queries._histogram import Histogram, HistogramResult
from lapnoise.queries._mean import Mean
from lapnoise.queries._result import QueryResult
from lapnoise.queries._sum import Sum
from lapnoise.spark._columns import arrow_types, selected
from lapnoise.spark._session import frame_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["private_count", "private_histogram", "private_mean", "private_sum"]


def private_count(
    df: DataFrame,
    column: str | None = None,
    *,
    epsilon: Any,
    neighbours: str = "add-remove",
    max_contributions: int = 1,
    person: str | None = None,
    rng: Any = None,
    ledger: Any = None,
    label: str | None = None,
) -> QueryResult:
    """Count rows, with exact discrete Laplace noise.

    Parameters
    ----------
    df : DataFrame
    column : str, optional
        Rows in which this one is null or NaN are not counted.
    person : str, optional
        Column of integers or text that says whose each row is. All rows of a person are brought to one partition.
    epsilon, neighbours, max_contributions, rng, ledger, label
        As in `lapnoise.queries.private_count`, and so are the result and, from one generator, its value.
    """
    query = Count.planned(epsilon, neighbours, max_contributions)
    rows = Rows.of(_counted(frame_of(df), column), column or _OWN, person, numbers=False)
    _check.no_mask_of_rows(rows.kind)
    return answered(query, rows, "private_count", rng=rng, ledger=ledger, label=label)


def private_sum(
    df: DataFrame,
    column: str,
    low: Any,
    high: Any,
    *,
    epsilon: Any,
    neighbours: str = "add-remove",
    max_contributions: int = 1,
    person: str | None = None,
    rng: Any = None,
    ledger: Any = None,
    label: str | None = None,
) -> QueryResult:
    """Add values clipped to [low, high], with exact Laplace noise on a lattice.

    Parameters
    ----------
    df : DataFrame
    column : str
        Numbers or booleans.
    low, high, epsilon, neighbours, max_contributions, rng, ledger, label
        As in `lapnoise.queries.private_sum`, and so are the result and, from one generator, its value.
    person : str, optional
        As in `private_count`.
    """
    query = Sum.planned(low, high, epsilon, neighbours, max_contributions, bounded=person is not None)
    rows = Rows.of(df, column, person, numbers=True)
    return answered(query, rows, "private_sum", rng=rng, ledger=ledger, label=label)


def private_mean(
    df: DataFrame,
    column: str,
    low: Any,
    high: Any,
    *,
    epsilon: Any,
    n: int | None = None,
    neighbours: str | None = None,
    max_contributions: int = 1,
    person: str | None = None,
    rng: Any = None,
    ledger: Any = None,
    label: str | None = None,
) -> QueryResult:
    """Average values clipped to [low, high], with exact Laplace noise on a lattice.

    Parameters
    ----------
    df : DataFrame
    column : str
        Numbers or booleans.
    low, high, epsilon, n, neighbours, max_contributions, rng, ledger, label
        As in `lapnoise.queries.private_mean`, and so are the result and, from one generator, its value.
    person : str, optional
        As in `private_count`.
    """
    query = Mean.planned(low, high, epsilon, n, neighbours, max_contributions)
    rows = Rows.of(df, column, person, numbers=True)
    return answered(query, rows, "private_mean", rng=rng, ledger=ledger, label=label)


def private_histogram(
    df: DataFrame,
    column: str,
    *,
    edges: Any = None,
    categories: Any = None,
    epsilon: Any,
    delta: Any = None,
    neighbours: str = "add-remove",
    max_contributions: int = 1,
    person: str | None = None,
    rng: Any = None,
    ledger: Any = None,
    label: str | None = None,
) -> HistogramResult:
    """Count rows by cell, with exact discrete Laplace noise on every count.

    Parameters
    ----------
    df : DataFrame
    column : str
        Numbers with ``edges``, else any type whose values can be told apart.
    edges, categories, epsilon, delta, neighbours, max_contributions, rng, ledger, label
        As in `lapnoise.queries.private_histogram`, and so are the result and, from one generator, its value.
    person : str, optional
        As in `private_count`.
    """
    query = Histogram.planned(edges, categories, epsilon, delta, neighbours, max_contributions)
    rows = Rows.of(df, column, person, numbers=query.limits is not None)
    return answered(query, rows, "private_histogram", rng=rng, ledger=ledger, label=label)


class Rows(NamedTuple):
    """What a query looks at.

    Attributes
    ----------
    frame : DataFrame
        The column, and that of persons.
    kind : DataType
        The Arrow type of the column.
    person : DataType or None
        That of persons.
    """

    frame: DataFrame
    kind: pa.DataType
    person: pa.DataType | None

    @classmethod
    def of(cls, df: Any, column: str, person: str | None, *, numbers: bool) -> Rows:
        """Return columns of a frame, checked."""
        import pyarrow as pa

        frame = frame_of(df)
        wanted = [_check.one_column_name("column", column, frame.columns)]
        ids = () if person is None else [_check.one_column_name("person", person, frame.columns)]
        types = arrow_types(frame, [*wanted, *ids])
        kind, told = types[wanted[0]]
        if pa.types.is_null(kind):
            _check.plain_type(wanted[0], told)
        try:
            _batches.verify(pa.array([], kind), numbers=numbers)
        except TypeError:
            _check.number_type(wanted[0], told)
        found = selected(frame, [*wanted, *ids])
        if not ids:
            return cls(found, kind, None)
        of_person, told = types[ids[0]]
        if not (pa.types.is_integer(of_person) or pa.types.is_string(of_person)):
            _check.person_type(ids[0], told)
        return cls(found.where(found["c1"].isNotNull()).repartition("c1"), kind, of_person)

    def parts(self, query: Any) -> list[Any]:
        """Return what a query counts in each partition."""
        task = Partial(query, self.kind, self.person)
        query.exact(iter([sample(self.kind, missing=False)]), None)  # compiled here before a task needs it
        found = self.frame.mapInArrow(task.run, "part binary").collect()
        return [task.read(bytes(row["part"])) for row in found]


_OWN = "lapnoise rows"


def _counted(frame: DataFrame, column: str | None) -> DataFrame:
    """Return a frame whose column to count has a plain type: of others only nulls matter."""
    import pyarrow as pa
    from pyspark.sql import functions

    if column is None:
        return frame.withColumn(_OWN, functions.lit(1))
    if frame.columns.count(column) != 1 or not pa.types.is_null(arrow_types(frame, [column])[column][0]):
        return frame
    numbered = frame.toDF(*(f"a{i}" for i in range(len(frame.columns))))
    own = f"a{frame.columns.index(column)}"
    there = functions.when(numbered[own].isNotNull(), 1)
    return numbered.withColumn(own, there).toDF(*frame.columns)
