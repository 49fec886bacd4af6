"""Which kind of table was given."""

from __future__ import annotations

import sys
from typing import Any

from lapnoise._check import table_arguments
from lapnoise.tables._arrow import ArrowFrame
from lapnoise.tables._frames import Frame
from lapnoise.tables._pandas import PandasFrame
from lapnoise.tables._polars import PolarsFrame

__all__ = ["frame_of"]


def frame_of(table: Any) -> Frame:
    """Return a table as a `Frame`; no library is imported for that, since a table's own is there."""
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(table, pandas.DataFrame):
        return PandasFrame(table, pandas)
    if polars is not None and isinstance(table, polars.DataFrame):
        return PolarsFrame(table, polars)
    if polars is not None and isinstance(table, polars.LazyFrame):
        table_arguments.not_collected(table)
    if pyarrow is not None and isinstance(table, pyarrow.Table | pyarrow.RecordBatch):
        return ArrowFrame(table, pyarrow)
    return table_arguments.no_table(table)
