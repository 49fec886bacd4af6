"""A column of numbers read from a CSV file, or an array from an NPY file, as ``lapnoise noise`` reads them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check import experiment_arguments, file_arguments, listed
from lapnoise.errors import InputDataError
from lapnoise.files import MISSING
from lapnoise.files._cells import INFINITE, Absent, BadCellError, check_numbers, content, is_number
from lapnoise.files._npy import read_header, refuse_rest
from lapnoise.files._rows import RowReader
from lapnoise.files._source import Source

__all__ = ["read_column", "read_noise"]

QUOTE = b'"'


def read_column(path: str | Path, name: str | None) -> NDArray[Any]:
    """Return the numbers of a column, missing ones as NaN, of which one at least is there.

    Parameters
    ----------
    path : str or Path
        A CSV file with a header (.csv, .tsv) or an NPY file, whose values count in C order.
    name : str or None
        Name of the column; None for an NPY file.

    Raises
    ------
    InputDataError
        If the file is none that ``lapnoise noise`` would read: there is no such column, a cell is no finite number, a
        quote is never closed; row and column are named. Or if it has no number at all.
    OSError
        If the file cannot be read.
    ValueError
        If its name ends in none of these, or no column is named.
    """
    kind = experiment_arguments.column_format(Path(path).suffix, name)
    with Source(Path(path)) as source:
        numbers = _array(source) if kind == "npy" else _cells(source, name)
    called = "the array" if kind == "npy" else f"column {name!r}"
    if numbers.dtype.kind == "f":
        infinite = np.flatnonzero(np.isinf(numbers))
        if infinite.size:
            raise InputDataError(f"flat index {infinite[0]} has {INFINITE}, where a number or NaN must stand")
    return _judged(called, experiment_arguments.one_column, numbers)


def read_noise(path: str | Path) -> NDArray[np.float64]:
    """Return recorded differences from an NPY file; errors as of `read_column`, and where they are too few to judge."""
    experiment_arguments.recorded_format(Path(path))
    with Source(Path(path)) as source:
        numbers = _array(source)
    return _judged("the array", experiment_arguments.recorded_noise, numbers)


def _judged(called: str, check: Callable[[Any], NDArray[np.float64]], numbers: NDArray[Any]) -> NDArray[np.float64]:
    try:
        return check(numbers)
    except ValueError as error:
        raise InputDataError(f"{called} cannot be used: {error}") from None


def _array(source: Source) -> NDArray[Any]:
    shape, fortran, dtype = read_header(source)
    size = math.prod(shape)
    array = np.frombuffer(source.read(size * dtype.itemsize), dtype)
    refuse_rest(source)
    return array.reshape(shape, order="F" if fortran else "C").reshape(-1).astype(dtype.newbyteorder("="), copy=False)


def _cells(source: Source, name: str | None) -> NDArray[np.float64]:
    reader = RowReader(source, b"\t" if source.path.suffix.lower() == ".tsv" else b",", QUOTE)
    names = [content(cell, QUOTE).decode("utf-8", "surrogateescape") for cell in reader.header]
    # A number may be a value of a row that was taken for a header.
    told = [
        f"column {i}" if is_number(cell.encode("utf-8", "surrogateescape")) else cell for i, cell in enumerate(names, 1)
    ]
    wanted = experiment_arguments.column_of(name, told)
    if names.count(wanted) != 1:
        raise InputDataError(f"column {wanted!r} must be in the header once, which has {listed(told)}")
    absent = Absent(file_arguments.missing(MISSING), QUOTE)
    numbers: list[float] = []
    for block in reader.blocks([names.index(wanted)]):
        cells = block.cells
        try:
            check_numbers(cells, absent)
        except BadCellError as error:
            place = f"data row {block.first_row + error.index} (line {block.line_of(error.index)}), column {wanted!r}"
            raise InputDataError(
                f"{place} has {error.kind}, where a finite number or a missing cell must stand"
            ) from None
        # The bytes of the block at once: seven times as fast as each cell through NumPy.
        data, first = cells.data[block.start : block.stop].tobytes(), block.start
        places = zip((cells.starts - first).tolist(), (cells.ends - first).tolist(), strict=True)
        texts = (content(data[start:end], QUOTE) for start, end in places)
        numbers += [math.nan if text in absent.texts else float(text) for text in texts]
    return np.array(numbers, np.float64)
