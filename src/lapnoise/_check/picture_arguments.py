"""The arguments of pictures: axes, noise, results with curves, and rows of the benches."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check._arrays import floats
from lapnoise._check._rules import shown
from lapnoise.errors import InputDataError

__all__ = ["axes", "bench_group", "bench_rows", "curves", "drawn", "no_law", "no_second_law", "noise", "noise_scale"]

LEAST_NOISE = 100


def axes(value: Any) -> Any:
    """Return Axes of matplotlib."""
    if not (hasattr(value, "plot") and hasattr(value, "transAxes")):
        raise TypeError(f"ax must be Axes of matplotlib, or None, got {shown(value)}")
    return value


def noise(value: Any) -> NDArray[np.float64]:
    """Return draws of noise as finite floats, enough of them for a histogram."""
    array = floats(value).reshape(-1)
    if array.size < LEAST_NOISE:
        raise ValueError(f"noise must hold at least {LEAST_NOISE} draws, or be a mechanism, got {array.size}")
    if not np.isfinite(array).all():
        wrong = int(np.count_nonzero(~np.isfinite(array)))
        raise ValueError(f"noise must be finite, got {wrong} of {array.size} that are missing, NaN or infinite")
    if not array.any():
        raise ValueError("noise must not be 0 throughout")
    return array


def no_second_law(mechanism: Any) -> None:
    """Refuse to say what draws of a mechanism come from."""
    if mechanism is not None:
        raise ValueError(f"mechanism must be left out where noise is a mechanism itself, got {shown(mechanism)}")


def drawn(value: Any) -> int:
    """Return how many draws a picture is made of."""
    if isinstance(value, bool) or not isinstance(value, int) or not LEAST_NOISE <= value <= 10**8:
        raise ValueError(f"n must be an int from {LEAST_NOISE} to 100000000, got {shown(value)}")
    return value


def no_law(value: Any) -> None:
    """Refuse what is no mechanism that adds noise to numbers."""
    raise TypeError(f"mechanism must be one that adds noise to numbers, of one law for all of them, got {shown(value)}")


def noise_scale(scale: float) -> None:
    """Refuse a scale of which a picture cannot be drawn in floats."""
    if not 1e-140 <= scale <= 1e140:
        raise OverflowError(f"scale must lie between 1e-140 and 1e140 for a picture, got {scale!r}")


def curves(result: Any) -> tuple[Any, ...]:
    """Return the curves of a result, of which each has a point."""
    found = getattr(result, "curves", None)
    if not isinstance(found, tuple) or not found or not all(curve.points for curve in found):
        raise TypeError(f"result must have curves, as those of experiment and query_errors have, got {shown(result)}")
    return found


def bench_rows(given: Any) -> list[dict[str, Any]]:
    """Return rows of the benches with time in ns, from rows, from what was read from JSON, or from its file.

    Raises
    ------
    InputDataError
        If a file holds no such rows.
    """
    read = given
    if isinstance(given, str | Path):
        try:
            read = json.loads(Path(given).read_text())
        except ValueError:
            raise InputDataError("the file is no JSON") from None
    if isinstance(read, Mapping):
        read = read.get("rows")
    if not isinstance(read, Sequence) or isinstance(read, str | bytes):
        raise InputDataError("there must be a list of rows, as `python -m bench.report --json FILE` writes it")
    rows = [_row(number, row) for number, row in enumerate(read, 1)]
    timed = [row for row in rows if row["unit"] == "ns"]
    if not timed:
        raise InputDataError("there must be rows in ns, got none")
    return timed


def _row(number: int, row: Any) -> dict[str, Any]:
    fields = row.as_json() if hasattr(row, "as_json") else row
    if not isinstance(fields, Mapping) or not {"group", "what", "value", "unit"} <= set(fields):
        raise InputDataError(f"row {number} must have group, what, value and unit")
    value = fields["value"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value > 0):
        raise InputDataError(f"row {number} must have a value that is finite and > 0")
    return dict(fields)


def bench_group(group: Any, rows: list[dict[str, Any]]) -> str:
    """Return the group to show: the one that is named, or the first."""
    names = list(dict.fromkeys(str(row["group"]) for row in rows))
    if group is None:
        return names[0]
    if group not in names:
        raise ValueError(f"group must be one of {', '.join(map(repr, names))}, got {shown(group)}")
    return str(group)
