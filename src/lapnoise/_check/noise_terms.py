"""What is asked of the noise on a table or an array: mechanism, bounds, filling, strata."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

import numpy as np

from lapnoise import _numbers
from lapnoise._check._amounts import bounds
from lapnoise._check._arrays import INT64, integer_clamp
from lapnoise._check._arrays import clamp as clamp_to_floats
from lapnoise._check._domains import floats_inside
from lapnoise._check._rules import amount, pair, shown

__all__ = [
    "CellLimits",
    "cell_limits",
    "clamp",
    "clip",
    "clipped_columns",
    "columns_for_bounds",
    "consistent",
    "fill",
    "fill_within",
    "mechanism",
    "strata",
    "strata_names",
]

Bounds = tuple[Fraction, Fraction]


def mechanism(value: Any, by_name: Mapping[str, type]) -> tuple[str, Any]:
    """Return the name of a mechanism, and the mechanism itself where one was given instead of a name."""
    if isinstance(value, str) and value in by_name:
        return value, None
    for name, kind in by_name.items():
        if type(value) is kind:
            return name, value
    raise ValueError(
        f"mechanism must be one of {', '.join(map(repr, by_name))} or a mechanism of such a kind, got {shown(value)}"
    )


def consistent(name: str, asked: Mapping[str, Any], *, given: bool, local: bool, clip: Any, public: bool) -> None:
    """Refuse parameters that a mechanism does not take, and those that are missing."""
    present = {key for key, value in asked.items() if value is not None}
    if public and name != "stratified":
        raise ValueError("strata_public must be left out where there are no strata")
    if given:
        if local:
            raise ValueError("mechanism must be a name where local is True, since the bounds give the sensitivity")
        _refuse(present, "where mechanism is given with its parameters")
        return
    needed = {"epsilon_by"} if name == "stratified" else {"epsilon"}
    allowed = {"strata_per_person"} if name == "stratified" else set()
    if name == "gaussian":
        needed.add("delta")
    if name == "bounded-laplace":
        allowed.add("delta")
    if local:
        _refuse(present & {"sensitivity", "changed", "strata_per_person"}, "where local is True: the bounds give it")
        if clip is None:
            raise ValueError("clip must be given where local is True: without bounds a row could change by any amount")
        if name == "stratified" and not public:
            raise ValueError(
                "strata_public must be True where local is True and there are strata: the stratum of a row is "
                "published as it is"
            )
    else:
        needed.add("sensitivity")
        allowed.add("changed")
    if name == "bounded-laplace" and not isinstance(clip, tuple):
        raise ValueError("clip must be one pair (low, high) for mechanism 'bounded-laplace': the domain of its results")
    _refuse(present - needed - allowed, f"for mechanism {name!r}")
    for key in sorted(needed - present):
        raise ValueError(f"{key} must be given for mechanism {name!r}")


def _refuse(names: set[str], where: str) -> None:
    for name in sorted(names):
        raise ValueError(f"{name} must be left out {where}")


def clip(value: Any) -> Bounds | dict[str, Bounds] | None:
    """Return bounds on data at their exact stored values: one pair, or one for each name of a column."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        if not value or not all(isinstance(name, str) and name.strip() for name in value):
            raise TypeError(f"clip must map names of columns to pairs (low, high), got {shown(value)}")
        return {name.strip(): _bounds(entry, f"clip[{name!r}]") for name, entry in value.items()}
    return _bounds(value, "clip")


def _bounds(value: Any, name: str) -> Bounds:
    try:
        return bounds(*pair(name, value))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def columns_for_bounds() -> NoReturn:
    """Refuse bounds by column where the columns are not named."""
    raise ValueError("columns must be given where clip has bounds for each column by name")


def clipped_columns(bounds: Mapping[str, Bounds], columns: Iterable[str], *, every: bool) -> None:
    """Refuse bounds for columns that are not noised, and where ``every`` is True, columns without bounds."""
    names = tuple(columns)
    for name in bounds:
        if names and name not in names:
            raise ValueError(f"clip must name noised columns only, got {name!r}")
    for name in names if every else ():
        if name not in bounds:
            raise ValueError(
                f"clip must have bounds for every noised column where local is True, got none for {name!r}"
            )


def clamp(value: Any) -> tuple[Any, Any]:
    """Return what results are clipped to after noise, two numbers."""
    low, high = (_number("clamp", entry) for entry in pair("clamp", value))
    clamp_to_floats((float(low), float(high)), np.dtype(np.float64))
    return low, high


def _number(name: str, value: Any) -> Any:
    """Return a number, read from text where it is text."""
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        raise TypeError(f"{name} must be a number, got {value!r}") from None


def fill(value: Any) -> Fraction:
    """Return what a missing cell counts as, at its exact stored value; finite, and not beyond the floats."""
    largest = Fraction(float(np.finfo(np.float64).max))
    return amount("fill", value, _numbers.as_stored, "finite", lambda read: abs(read) <= largest)


def fill_within(value: Fraction, limits: Bounds | Mapping[str, Bounds] | None) -> None:
    """Refuse a fill outside of bounds."""
    for low, high in [] if limits is None else list(limits.values()) if isinstance(limits, Mapping) else [limits]:
        if not low <= value <= high:
            raise ValueError(f"fill must lie within the bounds of clip, got {shown(float(value))}")


def strata(value: Any, *, needed: bool) -> str | None:
    """Return the name of the column that tells strata."""
    if needed and value is None:
        raise ValueError("strata must be given for mechanism 'stratified': the column that tells the stratum of a row")
    if not needed and value is not None:
        raise ValueError("strata must be left out unless mechanism is 'stratified'")
    if value is not None and not (isinstance(value, str) and value.strip()):
        raise TypeError(f"strata must be the name of a column (text), got {shown(value)}")
    return None if value is None else value.strip()


def strata_names(names: Iterable[Any]) -> list[str]:
    """Return names of strata as text, by which labels in a file are told."""
    texts = [str(name) for name in names]
    for text in texts:
        if texts.count(text) > 1:
            raise ValueError(f"strata must differ as text, got {text!r} twice")
    return texts


class CellLimits(NamedTuple):
    """Bounds, filling and clamping of one column, as numbers of its dtypes.

    Attributes
    ----------
    clip : tuple or None
        Least and greatest value of the input's dtype (int64 or uint64 for integers) within the bounds.
    clamp : tuple or None
        The same of the output's dtype.
    fill : int, float or None
        What a missing cell counts as.
    """

    clip: tuple[Any, Any] | None
    clamp: tuple[Any, Any] | None
    fill: Any


def cell_limits(
    clip: Bounds | None, clamp: tuple[Any, Any] | None, fill: Fraction | None, kind: np.dtype[Any], out: np.dtype[Any]
) -> CellLimits:
    """Return the limits of a column of dtype ``kind`` that is released as ``out``."""
    after = None if clamp is None else integer_clamp(clamp) if out == INT64 else clamp_to_floats(clamp, out)
    if kind.kind == "f":
        inside = None if clip is None else floats_inside(*clip, kind)
        return CellLimits(inside, after, None if fill is None else _fill_of(fill, kind))
    if fill is not None and fill.denominator != 1:
        raise ValueError(f"fill must be an integer for integers, got {float(fill)!r}")
    least, most = (0, 2**64 - 1) if kind == np.uint64 else (-(2**63), 2**63 - 1)
    if fill is not None and not least <= fill <= most:
        raise ValueError(f"fill must be an integer of {kind}, got {shown(int(fill))}")
    if clip is None:
        return CellLimits(None, after, None if fill is None else int(fill))
    low, high = max(math.ceil(clip[0]), least), min(math.floor(clip[1]), most)
    if low > high:
        raise ValueError(
            f"clip must have an integer of {kind} between its bounds, got {float(clip[0])!r} and {float(clip[1])!r}"
        )
    return CellLimits((low, high), after, None if fill is None else int(fill))


def _fill_of(fill: Fraction, kind: np.dtype[Any]) -> float:
    """Return what a missing cell counts as in a column of floats, finite there too."""
    with np.errstate(over="ignore"):
        near = kind.type(float(fill))
    if not np.isfinite(near):
        raise ValueError(f"fill must be a finite {kind}, got {shown(float(fill))}")
    return float(near)
