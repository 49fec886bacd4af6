"""Private statistics of a frame: rows are bounded and added up where they are, and the sums get noise once.

What a task returns are exact integers, which add up to the same whatever rows lie together. With ids of persons all
rows of a person are brought to one partition first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lapnoise import _check
from lapnoise._cluster_queries import Partial, answered
from lapnoise._record_batches import sample
from lapnoise.dask._collections import frame_of
from lapnoise.dask._partitions import arrow_types, typed_array
from lapnoise.queries import _batches
from lapnoise.queries._count import Count
from lapnoise.queries._histogram import Histogram, HistogramResult
from lapnoise.queries._mean import Mean
from lapnoise.queries._result import QueryResult
from lapnoise.queries._sum import Sum

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from dask.dataframe import DataFrame

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
    rows = Rows.of(df, column, person, numbers=None)
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
        Where all rows of a person lie in one partition.
    columns : tuple of (str or None, DataType)
        The column and its Arrow type, and that of persons; a column without a name is 1 in every row.
    there : bool
        Whether the column is 1 wherever it is not null.
    """

    frame: DataFrame
    columns: tuple[tuple[str | None, pa.DataType], ...]
    there: bool

    @property
    def kind(self) -> pa.DataType:
        """The Arrow type of the column."""
        return self.columns[0][1]

    @classmethod
    def of(cls, df: Any, column: str | None, person: str | None, *, numbers: bool | None) -> Rows:
        """Return columns of a frame, checked; with ``numbers=None`` only whether they are null matters."""
        import pyarrow as pa

        frame = frame_of(df)
        present = list(frame.columns)
        wanted = () if column is None and numbers is None else (_check.one_column_name("column", column, present),)
        ids = () if person is None else (_check.one_column_name("person", person, present),)
        there = False
        columns: list[tuple[str | None, pa.DataType]] = [(None, pa.int64())]
        for name, (kind, told) in arrow_types(frame, wanted).items():
            there = numbers is None and (pa.types.is_null(kind) or told == "object")
            if pa.types.is_null(kind) and not there:
                _check.plain_type(name, told)
            try:
                _batches.verify(pa.array([], kind), numbers=bool(numbers))
            except TypeError:
                _check.number_type(name, told)
            columns = [(name, pa.int64() if there else kind)]
        for name, (kind, told) in arrow_types(frame, ids).items():
            if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                _check.person_type(name, told)
            columns.append((name, kind))
        found = frame[list(dict.fromkeys([*wanted, *ids]) or present[:1])]
        if ids:
            found = found.dropna(subset=list(ids)).shuffle(on=list(ids))
        return cls(found, tuple(columns), there)

    def parts(self, query: Any) -> list[Any]:
        """Return what a query counts in each partition."""
        import pandas as pd

        task = Partial(query, self.kind, self.columns[1][1] if len(self.columns) > 1 else None)
        query.exact(iter([sample(self.kind, missing=False)]), None)  # compiled here before a task needs it
        meta = pd.DataFrame({"part": pd.Series([], dtype=object)})
        counting = Counting(task, self.columns, self.there)
        found = self.frame.map_partitions(counting.run, meta=meta, clear_divisions=True).compute()
        return [task.read(part) for part in found["part"]]


class Counting(NamedTuple):
    """What a task does with a partition; attributes as of `Rows`."""

    task: Partial
    columns: tuple[tuple[str | None, pa.DataType], ...]
    there: bool

    def run(self, partition: pd.DataFrame) -> pd.DataFrame:
        """Return one row: what the rows of a partition count together."""
        import pandas as pd
        import pyarrow as pa

        arrays = [self._array(partition, *column, self.there and k == 0) for k, column in enumerate(self.columns)]
        batch = pa.RecordBatch.from_arrays(arrays, [f"c{k}" for k in range(len(arrays))])
        return pd.DataFrame({"part": pd.Series([self.task.counted([batch])], dtype=object)})

    def _array(self, partition: pd.DataFrame, name: str | None, kind: pa.DataType, there: bool) -> pa.Array:
        import pyarrow as pa

        if name is not None and not there:
            return typed_array(name, partition[name], kind)
        missing = None if name is None else partition[name].isna().to_numpy(bool)
        return pa.array(np.ones(len(partition), np.int64), mask=missing)
