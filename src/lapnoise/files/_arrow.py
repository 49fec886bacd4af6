"""Tables as Arrow has them: which columns are noised, and what comes of the schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapnoise._arrow_metadata import adapted_metadata
from lapnoise._check import listed, noise_terms
from lapnoise.errors import InputDataError
from lapnoise.files._cell_noise import output_dtype
from lapnoise.files._contents import Contents, Header
from lapnoise.files._strata import StrataCodes
from lapnoise.files._terms import Terms

__all__ = ["Layout", "header_of", "layout_of", "pyarrow", "shown_type"]

_EXTENSION = b"ARROW:extension:name"
"""What a field says of its type where pyarrow does not know that: its numbers may mean anything."""


def pyarrow() -> Any:
    """Return the module `pyarrow`, with its submodules for Parquet, IPC and computing."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet and Arrow files need pyarrow: pip install 'lapnoise[arrow]'") from None
    return pyarrow


@dataclass(frozen=True)
class Layout:
    """What is noised in a table.

    Attributes
    ----------
    source, target
        The schemas, of `pyarrow`.
    noised
        Places of the noised columns in the schema, ascending.
    names
        Their names, stripped.
    types
        The type of each in the source and in the target.
    strata, codes
        Place of the column that tells strata, and the codes of these; None without.
    """

    source: Any
    target: Any
    noised: tuple[int, ...]
    names: tuple[str, ...]
    types: tuple[str, ...]
    strata: int | None
    codes: StrataCodes | None

    def read_names(self) -> list[str]:
        """Return the names of the columns that a check reads."""
        return [self.source.field(place).name for place in {*self.noised, self.strata} if place is not None]

    def noised_names(self) -> set[str]:
        """Return the names of the noised columns as they are in the schema."""
        return {self.source.field(place).name for place in self.noised}

    def contents(self, rows: int, missing: int) -> Contents:
        """Return what a table of so many rows holds."""
        return Contents(self.names, self.types, rows, rows * len(self.names), missing)


def layout_of(schema: Any, terms: Terms, asked: tuple[str, ...] | None) -> Layout:
    """Return what is noised in a table with this schema, and refuse what cannot be.

    Parameters
    ----------
    schema
        Of `pyarrow`.
    terms
        What is asked of the noise.
    asked
        Names of the columns, or None for the only numeric one.
    """
    try:
        names = [field.name.strip() for field in schema]
    except UnicodeDecodeError:
        raise InputDataError("the schema has a name of a column that is no UTF-8") from None
    _refuse_duplicates(names)
    strata = None if terms.strata is None else _place_of_strata(schema, names, terms.strata)
    noised = _only_numeric(schema, names, strata) if asked is None else _places(names, asked)
    if strata in noised:
        raise ValueError(f"strata must be another column than those that are noised, got {terms.strata!r}")
    target, types = schema, []
    for place in noised:
        field = schema.field(place)
        dtype = _dtype(field)
        if dtype is None or (terms.whole and dtype.kind == "f"):
            wanted = "integers of 8 to 64 bits" if terms.whole else "float32, float64 or integers of 8 to 64 bits"
            raise InputDataError(f"column {names[place]!r} is of type {shown_type(field)}, where {wanted} must stand")
        out = output_dtype(dtype, whole=terms.whole)
        read_as = dtype if dtype.kind == "f" or dtype.itemsize == 8 else np.dtype(np.int64)
        noise_terms.cell_limits(terms.bounds_of(names[place]), terms.clamp, terms.fill, read_as, out)
        target = target.set(place, field.with_type(pyarrow().from_numpy_dtype(out)))
        types.append(f"{dtype.name} -> {out.name}")
    changed = {schema.field(place).name: target.field(place).type for place in noised}
    target = target.with_metadata(adapted_metadata(schema.metadata, changed))
    chosen = tuple(names[place] for place in noised)
    codes = None
    if strata is not None:
        codes = StrataCodes(getattr(terms.mechanism(chosen, len(chosen)), "strata", ()))
    return Layout(schema, target, noised, chosen, tuple(types), strata, codes)


def shown_type(field: Any) -> str:
    """Return how a message calls the type of a field."""
    extension = (field.metadata or {}).get(_EXTENSION)
    return str(field.type) if extension is None else f"extension<{extension.decode('utf-8', 'replace')}>"


def header_of(layout: Layout, rows: int) -> Header:
    """Return what the metadata of a table tell, which is all but the number of missing cells."""
    return Header(layout.names, len(layout.names), layout.contents(rows, 0))


def _refuse_duplicates(names: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if name in seen:
            raise InputDataError(f"columns {seen[name]} and {number} have the same name in the schema: {name!r}")
        seen[name] = number


def _places(names: Sequence[str], asked: tuple[str, ...]) -> tuple[int, ...]:
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise ValueError(f"columns must name columns of the source, got {listed(unknown)}; there are: {listed(names)}")
    return tuple(sorted(names.index(name) for name in asked))


def _only_numeric(schema: Any, names: Sequence[str], strata: int | None) -> tuple[int, ...]:
    # What cannot be noised is a number all the same: beside it, none is the only one.
    numeric = [place for place in range(len(names)) if place != strata and _is_number(schema.field(place).type)]
    if len(numeric) > 1:
        found = listed([names[place] for place in numeric])
        raise ValueError(f"columns must be given, since {len(numeric)} columns are numeric: {found}")
    if not numeric:
        raise ValueError(f"columns must be given, since no column is numeric; there are: {listed(names)}")
    return tuple(numeric)


def _place_of_strata(schema: Any, names: Sequence[str], asked: str) -> int:
    if asked not in names:
        raise ValueError(f"strata must name a column of the source, got {asked!r}; there are: {listed(names)}")
    place = names.index(asked)
    types = pyarrow().types
    kind = schema.field(place).type
    labels = kind.value_type if types.is_dictionary(kind) else kind
    is_text = types.is_string(labels) or types.is_large_string(labels) or str(labels) == "string_view"
    if not (is_text or types.is_integer(labels)):
        raise InputDataError(f"column {asked!r} is of type {kind}, where text or integers must stand for strata")
    return place


def _dtype(field: Any) -> np.dtype[Any] | None:
    """Return the dtype of numbers that can be noised."""
    types, kind = pyarrow().types, field.type
    if _EXTENSION in (field.metadata or {}):
        return None
    if types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind):
        found: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return found
    return None


def _is_number(kind: Any) -> bool:
    types = pyarrow().types
    if types.is_dictionary(kind):
        return _is_number(kind.value_type)
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))
