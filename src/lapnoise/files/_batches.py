"""Noise in record batches: the pieces in which tables are read."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapnoise._arrow_values import values_and_missing
from lapnoise.errors import InputDataError
from lapnoise.files._arrow import Layout, pyarrow
from lapnoise.files._cell_noise import CellNoise, Place
from lapnoise.files._cells import INFINITE, MISSING_CELL, BadCellError
from lapnoise.files._contents import advice_for
from lapnoise.files._overlap import in_order, read_ahead
from lapnoise.files._strata import MISSING_STRATUM, UNKNOWN_STRATUM
from lapnoise.files._terms import Terms

__all__ = ["MOST_PIECE_BYTES", "Piece", "add_noise", "missing_cells", "piece_rows"]

PIECE_ROWS = 1 << 16
"""How many rows are read at a time, without effect on the noise."""

MOST_PIECE_BYTES = 1 << 23
"""Rows with a great many columns, or long ones, are read in smaller pieces."""

_LEAST_PIECE_ROWS = 1 << 8


class Piece(NamedTuple):
    """Rows that are noised together.

    Attributes
    ----------
    batch
        A record batch of `pyarrow`.
    part : int
        Which of several files it is from.
    shown : str
        How a message calls that file; empty where there is one alone.
    first_row : int
        Number of its first row in that file, from 0.
    first_cell : int
        The same in all files together.
    ends_group : bool
        Whether it is the last of a row group.
    """

    batch: Any
    part: int
    shown: str
    first_row: int
    first_cell: int
    ends_group: bool


def piece_rows(bytes_per_row: float) -> int:
    """Return how many rows of this size make a piece."""
    return int(min(PIECE_ROWS, max(_LEAST_PIECE_ROWS, MOST_PIECE_BYTES / max(bytes_per_row, 1.0))))


def add_noise(
    pieces: Iterable[Piece], layout: Layout, cell_noise: CellNoise, threads: int
) -> Generator[tuple[Piece, int], None, None]:
    """Yield each piece with noise, and how many cells of it are missing, while others are read and worked on."""

    def noised(piece: Piece) -> tuple[Piece, int]:
        return _noised(piece, layout, cell_noise)

    with read_ahead(pieces, threads) as read:
        yield from in_order(read, noised, threads)


def missing_cells(piece: Piece, layout: Layout, terms: Terms) -> int:
    """Return how many noised cells of a piece stay missing, and refuse what cannot be noised.

    Of the source's columns the piece may have those alone that are read for a check.
    """
    _strata(piece, layout)
    total = 0
    for place, name in zip(layout.noised, layout.names, strict=True):
        column = piece.batch.column(piece.batch.schema.get_field_index(layout.source.field(place).name))
        values, missing = values_and_missing(column)
        if values.dtype.kind == "f":
            infinite = np.isinf(values) if missing is None else np.isinf(values) & ~missing
            if terms.bounds_of(name) is None and infinite.any():
                _refuse(piece, name, BadCellError(int(np.argmax(infinite)), INFINITE), local=terms.local)
            absent = np.isnan(values)
            missing = absent if missing is None else missing | absent
        if missing is not None and terms.fill is None:
            if terms.local and missing.any():
                _refuse(piece, name, BadCellError(int(np.argmax(missing)), MISSING_CELL), local=True)
            total += int(np.count_nonzero(missing))
    return total


def _noised(piece: Piece, layout: Layout, cell_noise: CellNoise) -> tuple[Piece, int]:
    columns = list(piece.batch.columns)
    strata = _strata(piece, layout)
    total = 0
    for number, (place, name) in enumerate(zip(layout.noised, layout.names, strict=True)):
        values, missing = values_and_missing(columns[place])
        try:
            noised = cell_noise.add(values, Place(number, piece.first_cell), missing, strata)
        except BadCellError as error:
            _refuse(piece, name, error, local=cell_noise.local)
        total += 0 if noised.missing is None else int(np.count_nonzero(noised.missing))
        # Of what is missing then, NaN stays a value.
        valid = None if missing is None or noised.missing is None else columns[place].is_valid().buffers()[1]
        buffers = [valid, pyarrow().py_buffer(noised.values)]
        columns[place] = pyarrow().Array.from_buffers(layout.target.field(place).type, len(values), buffers)
    return piece._replace(batch=pyarrow().RecordBatch.from_arrays(columns, schema=layout.target)), total


def _strata(piece: Piece, layout: Layout) -> tuple[NDArray[Any], list[int]] | None:
    if layout.strata is None or layout.codes is None:
        return None
    name = layout.source.field(layout.strata).name
    column = piece.batch.column(piece.batch.schema.get_field_index(name))
    if not pyarrow().types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chosen, missing = values_and_missing(column.indices)
    chosen = chosen.astype(np.int64, copy=False)
    try:
        codes = layout.codes.codes(
            _labels(column.dictionary), chosen if missing is None else np.where(missing, -1, chosen)
        )
    except BadCellError as error:
        _refuse(piece, name.strip(), error, local=False)
    return codes, layout.codes.places


def _labels(values: Any) -> list[Any]:
    try:
        return list(values.to_pylist())
    except UnicodeDecodeError:
        # Not every writer sees to it that text is UTF-8; what is not is no stratum's name.
        data = values.cast(pyarrow().large_binary()).to_pylist()
        return [None if label is None else label.decode("utf-8", "surrogateescape") for label in data]


def _refuse(piece: Piece, name: str, error: BadCellError, *, local: bool) -> NoReturn:
    if error.kind in (MISSING_STRATUM, UNKNOWN_STRATUM):
        wanted = "one of the strata that were given"
    else:
        wanted = "a number" if local else "a finite number or a missing cell"
    where = f"{piece.shown}row {piece.first_row + error.index + 1}, column {name!r}"
    raise InputDataError(f"{where} has {error.kind}, where {wanted} must stand{advice_for(error.kind)}")
