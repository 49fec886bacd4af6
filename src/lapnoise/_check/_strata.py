"""Strata: their strengths, and which stratum each value belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapnoise._check._amounts import epsilon as one_epsilon
from lapnoise._check._rules import shown

_MOST_CODES = 1 << 12

__all__ = [
    "MOST_STRATA_RATIO",
    "accuracy_by_stratum",
    "epsilon_by_stratum",
    "strata_on_lattice",
    "stratum",
    "stratum_codes",
]

MOST_STRATA_RATIO = 1 << 30
"""Between the largest and the least epsilon of strata that share a lattice."""


def epsilon_by_stratum(value: Any) -> dict[Any, Fraction]:
    """Return a mapping from strata (text or ints) to epsilons, read as they print."""
    if not isinstance(value, Mapping):
        raise TypeError(f"epsilon must map each stratum to its epsilon, got {shown(value)}")
    if not value:
        raise ValueError("epsilon must name at least one stratum, got none")
    for name in value:
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise TypeError(f"epsilon must name strata by text or ints, got {shown(name)}")
    amounts: dict[Any, Fraction] = {}
    for name, amount in value.items():
        try:
            amounts[name] = one_epsilon(amount)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error} for stratum {shown(name)}") from None
    least, most = min(amounts.values()), max(amounts.values())
    if most > least * MOST_STRATA_RATIO:
        raise ValueError(
            "epsilon must not differ by more than 2**30 between strata, which share a lattice, got "
            f"{float(least):g} to {float(most):g}"
        )
    return amounts


def accuracy_by_stratum(std: Any, half_width: Any) -> Mapping[Any, Any]:
    """Return the mapping from strata to what is wanted there: standard deviations or half-widths, and not both."""
    if (std is None) == (half_width is None):
        given = "neither" if std is None else "both"
        raise TypeError(f"std or half_width must be given, and not both, got {given}")
    name, wanted = ("std", std) if half_width is None else ("half_width", half_width)
    if not isinstance(wanted, Mapping):
        raise TypeError(f"{name} must map each stratum to what is wanted there, got {shown(wanted)}")
    return wanted


def strata_on_lattice(t: float, most: float) -> None:
    """Refuse strata so different, or values so many, that no lattice serves all of them."""
    if t > most:
        raise OverflowError(
            "epsilon, changed and granularity must leave every scale below 2**43 steps of the lattice, "
            f"got {float(t):g}"
        )


def stratum(value: Any, names: tuple[Any, ...]) -> Any:
    """Return the name of one of the strata."""
    if not any(type(value) is type(name) and value == name for name in names):
        raise ValueError(f"stratum must be one of {shown(list(names))}, got {shown(value)}")
    return value


def stratum_codes(
    strata: Any, names: tuple[Any, ...], shape: tuple[int, ...]
) -> tuple[NDArray[np.signedinteger[Any]], list[int]]:
    """Return for each value the code of its stratum, and for each code the place of that stratum among ``names``.

    Codes are int8 or int32; a place is 0 where no value has the code. Categories and small integers are codes already,
    so that nothing is looked up value by value. Strata are public and may be shown.
    """
    labels, codes = _distinct(strata)
    if codes.shape != shape:
        raise ValueError(f"strata must have the shape of values, {shape}, got {codes.shape}")
    places = {(type(name), name): place for place, name in enumerate(names)}
    found = [places.get((type(label), label), -1) if isinstance(label, str | int) else -1 for label in labels]
    if codes.size and int(codes.min()) < 0:
        _unknown(codes, -1, "a missing value", names)
    for code, place in enumerate(found):
        if place < 0 and (codes == code).any():  # an unknown category that no value has does no harm
            _unknown(codes, code, shown(labels[code]), names)
    kind = np.int8 if len(labels) <= 1 << 7 else np.int32
    return codes.astype(kind, copy=False), [max(place, 0) for place in found] or [0]


def _unknown(codes: NDArray[Any], code: int, label: str, names: tuple[Any, ...]) -> NoReturn:
    at = ", ".join(str(int(k)) for k in np.argwhere(codes == code)[0])
    where = f"strata[{at}]" if at else "strata"
    raise ValueError(f"{where} must be one of {shown(list(names))}, got {label}")


def _distinct(strata: Any) -> tuple[list[Any], NDArray[Any]]:
    """Return different labels, and for each value the place of its label among them, -1 where it is missing."""
    categorical = getattr(strata, "cat", strata)  # of pandas, in a Series or bare
    if hasattr(categorical, "categories") and hasattr(categorical, "codes"):
        return list(categorical.categories), np.asarray(categorical.codes)
    array = np.asarray(strata)
    if array.dtype.kind in "iu" and array.size:
        least, most = int(array.min()), int(array.max())
        if most - least < _MOST_CODES:
            codes = array if least == 0 else array - array.dtype.type(least)
            return list(range(least, most + 1)), codes
    if array.dtype.kind in "iuU":
        names, codes = np.unique(array, return_inverse=True)
        return names.tolist(), codes.reshape(array.shape)
    known: dict[Any, int] = {}
    labels: list[Any] = []
    found = []
    for label in array.reshape(-1).tolist():
        code = known.setdefault((type(label), label) if isinstance(label, str | int) else repr(label), len(labels))
        if code == len(labels):
            labels.append(label)
        found.append(code)
    return labels, np.array(found, np.int64).reshape(array.shape)
