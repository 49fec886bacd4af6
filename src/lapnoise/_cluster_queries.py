"""Private statistics of tables in pieces: what each piece counts of a query, and the answer from all that they counted.

What a piece gives are exact integers, which add up to the same whatever rows lie together.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from lapnoise import _check
from lapnoise.mechanisms._additive import generator_for
from lapnoise.queries._histogram import Histogram
from lapnoise.queries._mean import Mean
from lapnoise.queries._result import charge

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Partial", "Pieces", "answered"]


Result = TypeVar("Result", covariant=True)


class Query(Protocol[Result]):
    """What is asked: of counts, sums, means and histograms one."""

    def released(self, exact: Any, rng: Any, /) -> Result:
        """Return the answer."""


class Pieces(Protocol):
    """Rows that lie in pieces."""

    def parts(self, query: Any) -> list[Any]:
        """Return what a query counts in each piece."""


def answered(query: Query[Result], rows: Pieces, name: str, *, rng: Any, ledger: Any, label: Any) -> Result:
    """Charge, count and return the answer to a query, of which ``name`` is the label by default."""
    asked: Any = query
    _check.ledger(ledger)
    named = _check.label(label, name)
    generator = generator_for(rng, None, stacklevel=4)
    charge(ledger, asked.epsilon, getattr(asked, "delta", Fraction(0)), named)
    return query.released(_merged(asked, rows.parts(asked)), generator)


def _merged(query: Any, parts: list[Any]) -> Any:
    """Return what all pieces count together."""
    if isinstance(query, Histogram):
        named = query.least is not None
        return query.merged(parts if named else (([], np.array(counts, np.int64)) for counts in parts))
    if isinstance(query, Mean):
        return sum(steps for steps, _ in parts), sum(counted for _, counted in parts)
    return sum(parts)


class Partial(NamedTuple):
    """What a task counts of a query.

    Attributes
    ----------
    query : Count, Sum, Mean or Histogram
        What is asked.
    kind : DataType
        The Arrow type of the column.
    person : DataType or None
        That of persons.
    """

    query: Any
    kind: pa.DataType
    person: pa.DataType | None

    def counted(self, batches: Iterable[pa.RecordBatch]) -> bytes:
        """Return what the rows of a piece count together; the second column is that of persons."""
        import pyarrow as pa

        if self.person is None:
            return self._written(self.query.exact((batch.column(0) for batch in batches), None))
        whole = list(batches)
        values = pa.chunked_array([batch.column(0) for batch in whole], self.kind)
        persons = pa.chunked_array([batch.column(1) for batch in whole], self.person)
        return self._written(self.query.exact(values, persons))

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one batch of one row with what `counted` returns."""
        import pyarrow as pa

        yield pa.RecordBatch.from_arrays([pa.array([self.counted(batches)], pa.binary())], ["part"])

    @property
    def _has_names(self) -> bool:
        return isinstance(self.query, Histogram) and self.query.least is not None

    def _written(self, exact: Any) -> bytes:
        """Return integers as decimal text, of any size; categories that only the data know as an engine would send."""
        if self._has_names:
            return pickle.dumps(exact)
        if isinstance(self.query, Histogram):
            exact = exact[1].tolist()
        return json.dumps(exact).encode()

    def read(self, part: bytes) -> Any:
        """Return what was written."""
        return pickle.loads(part) if self._has_names else json.loads(part)
