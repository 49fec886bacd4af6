"""A column of numbers read from a CSV file, or an array from an NPY file, for experiments on real data."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check import file_arguments
from lapnoise.errors import InputDataError
from lapnoise.files import MISSING

__all__ = ["read_column"]


def read_column(path: str | Path, name: str | None) -> NDArray[Any]:
    """Return the numbers of a column, missing ones as NaN.

    Parameters
    ----------
    path : str or Path
        A CSV file with a header (.csv, .tsv) or an NPY file, whose values count in C order.
    name : str or None
        Name of the column; None for an NPY file.

    Raises
    ------
    InputDataError
        If there is no such column, or a cell that is no number; row and column are named.
    OSError
        If the file cannot be read.
    ValueError
        If its name ends in none of these.
    """
    source = Path(path)
    kind = file_arguments.file_format(None, source.suffix, directory=False, stream=False)
    if kind == "npy":
        try:
            array = np.load(source, allow_pickle=False)
        except ValueError:
            raise InputDataError("the file is no array of numbers") from None
        if array.dtype.kind not in "fiub":
            raise InputDataError(f"the array must hold real numbers, got {array.dtype}")
        return np.asarray(array.reshape(-1))
    if kind != "csv":
        raise ValueError(f"data must be a CSV or NPY file, got suffix {source.suffix!r}")
    try:
        with source.open(newline="", encoding="utf-8-sig") as file:
            return _cells(csv.reader(file, delimiter="\t" if source.suffix.lower() == ".tsv" else ","), name)
    except UnicodeDecodeError:
        raise InputDataError("the file is not in UTF-8") from None
    except csv.Error as error:
        raise InputDataError(f"the file is no CSV: {error}") from None


def _cells(rows: Any, name: str | None) -> NDArray[np.float64]:
    header = [cell.strip() for cell in next(rows, [])]
    if name is None:
        raise ValueError(f"column must name one of {', '.join(map(repr, header))}, got none")
    if header.count(name.strip()) != 1:
        raise InputDataError(f"column {name!r} must be in the header once, which has {', '.join(map(repr, header))}")
    place = header.index(name.strip())
    numbers = []
    for number, row in enumerate(rows, 1):
        if not row:
            continue
        if len(row) != len(header):
            raise InputDataError(f"data row {number} has {len(row)} fields, the header has {len(header)}")
        cell = row[place].strip()
        try:
            numbers.append(float("nan") if cell in MISSING else float(cell))
        except ValueError:
            raise InputDataError(f"data row {number}, column {name!r}: not a number") from None
    return np.array(numbers, np.float64)
