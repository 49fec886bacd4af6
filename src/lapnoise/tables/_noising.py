"""All noised cells of a table, piece by piece on all cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check import noise_terms, table_arguments
from lapnoise.errors import InputDataError
from lapnoise.files._cell_noise import CellNoise, Noised, Place, output_dtype, widened
from lapnoise.files._cells import BadCellError
from lapnoise.files._contents import advice_for
from lapnoise.files._overlap import in_order
from lapnoise.files._terms import Terms
from lapnoise.tables._frames import Frame

__all__ = ["PIECE_VALUES", "Chosen", "choose", "noise_columns", "read_strata"]

PIECE_VALUES = 1 << 17
"""How many values are noised at a time, without effect on the result."""

Strata = tuple[NDArray[Any], Sequence[int]]


class Chosen:
    """Which columns of a table are noised, and which one tells strata.

    Attributes
    ----------
    columns
        Their numbers, in table order.
    names
        Their names.
    dtypes
        Of what is read from them.
    strata
        Number of the column that tells strata, or None.
    """

    def __init__(self, frame: Frame, columns: list[int], strata: int | None, *, whole: bool) -> None:
        self.columns = columns
        self.names: tuple[Any, ...] = tuple(frame.names[i] for i in columns)
        self.strata = strata
        self.dtypes = [
            table_arguments.value_type(frame.names[i], frame.type_of(i), frame.dtype_of(i), whole=whole)
            for i in columns
        ]


def choose(frame: Frame, terms: Terms, columns: Any, strata: Any) -> Chosen:
    """Find the columns, and refuse names, types and bounds that do not fit; no value is looked at."""
    asked = table_arguments.columns(columns)
    told = None if strata is None else table_arguments.named_columns([strata], frame.names, "strata")[0]
    if told is not None:
        table_arguments.strata_type(strata, frame.type_of(told), frame.tells_strata(told))
    if asked is None:
        numeric = [i for i in range(len(frame.names)) if i != told and frame.dtype_of(i) is not None]
        found = table_arguments.only_numeric_column(numeric, frame.names)
        # A name that two columns share does not say which of them was noised.
        table_arguments.named_columns([frame.names[i] for i in found], frame.names)
    else:
        found = table_arguments.named_columns(asked, frame.names)
    if told is not None:
        table_arguments.strata_column(told, found, strata)
    chosen = Chosen(frame, found, told, whole=terms.whole)
    for name, dtype in zip(chosen.names, chosen.dtypes, strict=True):
        read_as, out = widened(np.empty(0, dtype)).dtype, output_dtype(dtype, whole=terms.whole)
        noise_terms.cell_limits(terms.bounds_of(name), terms.clamp, terms.fill, read_as, out)
    return chosen


def read_strata(frame: Frame, chosen: Chosen, strata: Sequence[Any]) -> Strata | None:
    """Return the code of each row's stratum, and the strata that codes stand for; None without strata."""
    if chosen.strata is None:
        return None
    places = table_arguments.strata_by_text(strata)
    codes = frame.strata(chosen.strata, places)
    wrong = np.flatnonzero(codes < 0)
    if wrong.size:
        table_arguments.unknown_stratum(int(wrong[0]), frame.names[chosen.strata], places)
    # The kernel is compiled for these two types alone.
    return codes.astype(np.int8 if len(places) <= 1 << 7 else np.int32), range(len(places))


def noise_columns(
    frame: Frame, chosen: Chosen, cell_noise: CellNoise, strata: Strata | None, threads: int
) -> Mapping[int, Noised]:
    """Return the noisy numbers of each chosen column, and which of them are null."""
    rows = frame.rows
    values = [np.empty(rows, output_dtype(dtype, whole=cell_noise.whole)) for dtype in chosen.dtypes]
    nulls: list[NDArray[np.bool_] | None] = [None] * len(values)

    def noised(place: Place) -> tuple[Place, NDArray[np.bool_] | None]:
        number, start = place
        stop = min(start + PIECE_VALUES, rows)
        given, missing = frame.values(chosen.columns[number], start, stop)
        told = None if strata is None else (strata[0][start:stop], strata[1])
        try:
            noisy, absent = cell_noise.add(given, place, missing, told)
        except BadCellError as error:
            raise _refusal(start + error.index, chosen.names[number], error.kind, cell_noise) from None
        values[number][start:stop] = noisy
        return place, None if absent is None else missing  # what was NaN stays NaN and is no null

    for dtype in dict.fromkeys(chosen.dtypes):  # each has a kernel, which compiles at the first piece, here
        places = [
            Place(number, start)
            for number, other in enumerate(chosen.dtypes)
            if other == dtype
            for start in range(0, rows, PIECE_VALUES)
        ]
        for (number, start), missing in in_order(places, noised, min(threads, max(len(places) - 1, 1))):
            if missing is not None:
                mask = nulls[number]
                if mask is None:
                    mask = nulls[number] = np.zeros(rows, np.bool_)
                mask[start : start + PIECE_VALUES] = missing
    pairs = map(Noised, values, nulls)
    return dict(zip(chosen.columns, pairs, strict=True))


def _refusal(row: int, name: Any, kind: str, cell_noise: CellNoise) -> InputDataError:
    wanted = "a number" if cell_noise.local else "a finite number or a missing value"
    place, advice = f"row position {row}, column {name!r}", advice_for(kind)
    return InputDataError(f"{place} has {kind}, where {wanted} must stand{advice}")
