"""The arguments of tables in memory: the table itself, names of its columns, and their types."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from lapnoise._check._rules import listed, shown
from lapnoise.errors import InputDataError

__all__ = [
    "columns",
    "named_columns",
    "no_table",
    "not_collected",
    "only_numeric_column",
    "strata_by_text",
    "strata_column",
    "strata_type",
    "unknown_stratum",
    "value_type",
]


def no_table(value: Any) -> NoReturn:
    """Refuse what is no table of a kind that is known."""
    raise TypeError(
        "table must be a pandas or polars DataFrame, or a pyarrow Table or RecordBatch (single columns go to add_noise "
        f"of a mechanism), got {type(value).__name__}"
    )


def not_collected(value: Any) -> NoReturn:
    """Refuse a plan of a table, which could be run again on other data."""
    raise TypeError(f"table must be collected first (table.collect()), got a {type(value).__name__}")


def columns(value: Any) -> list[Hashable] | None:
    """Return the names of columns, each once; a single text is one name. None stays None."""
    if value is None:
        return None
    names: list[Any] = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if not names:
        raise ValueError("columns must name at least one column, got none")
    if not all(isinstance(name, Hashable) and name is not None for name in names):
        raise TypeError(f"columns must be names of columns, got {shown(value)}")
    if len(set(names)) < len(names):
        raise ValueError(f"columns must name each column once, got {shown(value)}")
    return names


def named_columns(asked: Collection[Hashable], names: Sequence[Any], what: str = "columns") -> list[int]:
    """Return where the columns with these names are, in table order; refuse unknown and repeated ones."""
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise ValueError(f"{what} must name columns of the table, got {listed(unknown)}; there are: {listed(names)}")
    for name in asked:
        if (count := sum(other == name for other in names)) > 1:
            raise ValueError(f"{what} must name columns that are there once, got {name!r}, which {count} columns have")
    return sorted(list(names).index(name) for name in asked)


def only_numeric_column(numeric: Sequence[int], names: Sequence[Any]) -> list[int]:
    """Return the only numeric column; refuse where there is none or a choice."""
    if len(numeric) == 1:
        return list(numeric)
    if numeric:
        found = listed([names[i] for i in numeric])
        raise ValueError(f"columns must be given, since {len(numeric)} columns are numeric: {found}")
    raise ValueError(f"columns must be given, since no column is numeric; there are: {listed(names)}")


def value_type(name: Any, kind: str, dtype: np.dtype[Any] | None, *, whole: bool) -> np.dtype[Any]:
    """Return the dtype of a column to be noised; refuse other types by their name."""
    if dtype is None:
        raise TypeError(f"column {name!r} must hold real numbers (integers, float32 or float64), got dtype {kind}")
    if whole and dtype.kind == "f":
        raise TypeError(f"column {name!r} must hold integers for discrete noise, got dtype {kind}")
    return dtype


def strata_column(place: int, chosen: Collection[int], name: Any) -> None:
    """Refuse to noise what tells the strata."""
    if place in chosen:
        raise ValueError(f"columns must not name the column that tells strata, got {name!r}")


def strata_type(name: Any, kind: str, fits: bool) -> None:
    """Refuse a column of strata whose entries have no text of their own."""
    if not fits:
        raise TypeError(f"column {name!r} must hold text, integers or categories to tell strata, got dtype {kind}")


def strata_by_text(strata: Iterable[Any]) -> dict[str, int]:
    """Return the place of each stratum by its name as text; refuse those that share a text."""
    listed = list(strata)
    places = {str(stratum): place for place, stratum in enumerate(listed)}
    if len(places) < len(listed):
        raise ValueError(f"strata must differ as text, got {shown(listed)}")
    return places


def unknown_stratum(row: int, name: Any, strata: Iterable[str]) -> NoReturn:
    """Refuse a row whose stratum is not among those named."""
    raise InputDataError(
        f"row position {row}, column {name!r} must be one of {shown(list(strata))}, got another or a missing one"
    )
