"""The arguments of an audit: what is audited, two inputs, how many draws, and what a callable returned."""

from __future__ import annotations

import importlib
import math
from collections.abc import Collection
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapnoise import _numbers
from lapnoise._check._rules import amount, pair, shown
from lapnoise.errors import InputDataError

__all__ = [
    "draws",
    "end",
    "float_scale",
    "imported",
    "inputs",
    "missing_terms",
    "no_delta",
    "no_domain",
    "one_for_all",
    "outputs",
    "own",
    "repeated",
    "seed_number",
    "subject_name",
    "told_apart",
    "whole_inputs",
    "whole_neighbours",
]

LEAST_DRAWS = 1_000


def subject_name(value: Any, names: Collection[str]) -> None:
    """Refuse what is neither one of the names, nor ``module:function``, nor callable."""
    known = ", ".join(names)
    if not isinstance(value, str):
        raise TypeError(
            f"mechanism must be one of {known}, or module:function, or a callable, or a mechanism that adds noise to "
            f"numbers, got {shown(value)}"
        )
    module, colon, function = value.partition(":")
    if not (colon and all(module.split(".")) and function):
        raise ValueError(f"mechanism must be one of {known}, or module:function, got {shown(value)}")


def imported(text: str) -> Any:
    """Return the callable that ``module:function`` names; function may be a path of attributes."""
    module, _, path = text.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"mechanism must be one that can be imported, got {shown(text)}: {error}") from error
    except (Exception, SystemExit) as error:
        kind = type(error).__name__
        raise ValueError(f"mechanism must be one that can be imported, got {shown(text)}: {kind} in it") from error
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise ValueError(
                f"mechanism must be one that can be imported, got {shown(text)}: no {name!r} there"
            ) from None
    if not callable(found):
        raise TypeError(f"mechanism must name a callable, got {shown(text)}, which is a {type(found).__name__}")
    return found


def draws(value: Any) -> int:
    """Return a number of draws, also where it is written as 1e6."""
    rule = f"a whole number of at least {LEAST_DRAWS}"
    return int(amount("draws", value, _numbers.as_stored, rule, lambda n: n.denominator == 1 and n >= LEAST_DRAWS))


def seed_number(value: Any) -> None:
    """Refuse a seed that is no number, since a run is repeated by writing it down."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"seed must be an int or None, got {shown(value)}")


def inputs(value: Any, sensitivity: Fraction, start: Fraction) -> tuple[float, float]:
    """Return two different floats at most the sensitivity apart; None means ``start`` and one that far from it.

    0.1 and 1.1 are 1 apart, as they print; of their floats, which are farther apart, the second gives way.
    """
    one, other = (start, start + sensitivity) if value is None else pair("inputs", value, "one, other")
    exact = [amount("inputs", part, _numbers.as_printed, "finite", lambda amount: True) for part in (one, other)]
    first, second = _nearest(exact[0], one), _nearest(exact[1], other)
    if abs(exact[1] - exact[0]) > sensitivity:
        raise ValueError(f"inputs must be at most the sensitivity apart, got {first!r} and {second!r}")
    while abs(Fraction(second) - Fraction(first)) > sensitivity:
        second = math.nextafter(second, first)
    if repr(first) == repr(second):
        raise ValueError(f"inputs must differ, got {first!r} twice")
    return first, second


def _nearest(exact: Fraction, given: Any) -> float:
    try:
        number = float(exact)
    except OverflowError:
        raise ValueError(f"inputs must be floats, got {shown(given)}") from None
    return -0.0 if number == 0.0 and str(given).strip().startswith("-") else number


def whole_inputs(values: tuple[float, float], name: str) -> tuple[int, int]:
    """Return inputs of a mechanism on integers."""
    for value in values:
        if not value.is_integer() or abs(value) > 2.0**53:
            raise ValueError(f"inputs must be integers of at most 2**53 for {name}, got {value!r}")
    return int(values[0]), int(values[1])


def own(name: str, given: Fraction | None, of_its_own: Fraction, kind: str) -> Fraction:
    """Return what a mechanism has; refuse anything else that was given beside it."""
    if given is not None and given != of_its_own:
        theirs, its = _numbers.as_text(given), _numbers.as_text(of_its_own)
        raise ValueError(f"{name} must be that of the {kind}, {its}, or left out, got {theirs}")
    return of_its_own


def end(name: str, value: Any) -> Fraction | None:
    """Return an end of a domain at its exact stored value; None for none."""
    return None if value is None else amount(name, value, _numbers.as_stored, "finite", lambda amount: True)


def told_apart(values: tuple[float, float], low: Fraction, high: Fraction) -> None:
    """Refuse inputs that a domain makes one of: both at an end, or beyond it."""
    one, other = (min(max(Fraction(value), low), high) for value in values)
    if one == other:
        raise ValueError(
            f"inputs must differ within low and high, {_numbers.as_text(low)} and {_numbers.as_text(high)}, "
            f"got {values[0]!r} and {values[1]!r}"
        )


def whole_neighbours(sensitivity: Fraction) -> tuple[int, int]:
    """Return two integers as far apart as a sensitivity allows; one below 1 allows none."""
    if sensitivity < 1:
        raise ValueError(
            f"sensitivity must be at least 1 for discrete-laplace, got {_numbers.as_text(sensitivity)}: integers that "
            "differ are 1 apart"
        )
    return 0, sensitivity.numerator // sensitivity.denominator


def float_scale(sensitivity: Fraction, epsilon: Fraction, name: str) -> float:
    """Return sensitivity / epsilon as a float, which it must be for what draws in floats."""
    scale = sensitivity / epsilon
    if not Fraction(10) ** -300 <= scale <= Fraction(10) ** 300:
        raise OverflowError(
            f"sensitivity / epsilon must lie between 1e-300 and 1e300 for {name}, got sensitivity "
            f"{_numbers.as_text(sensitivity)} and epsilon {_numbers.as_text(epsilon)}"
        )
    return float(scale)


def no_domain(low: Any, high: Any, name: str) -> None:
    """Refuse bounds for what has none."""
    if low is not None or high is not None:
        raise ValueError(f"low and high apply to bounded-laplace only, got them for {name}")


def no_delta(delta: Fraction, name: str) -> None:
    """Refuse a delta for a mechanism that claims none."""
    if delta:
        raise ValueError(f"delta must be 0 for {name}, which claims none, got {_numbers.as_text(delta)}")


def missing_terms(name: str, needed: str, *given: Any) -> None:
    """Refuse a mechanism without the parameters that it needs beside epsilon and sensitivity."""
    if any(term is None or (term == 0 and needed == "delta") for term in given):
        raise ValueError(f"{name} needs {needed}")


def outputs(value: Any, size: int, name: str) -> NDArray[np.float64]:
    """Return what a callable made of ``size`` values as contiguous float64, each of them exactly."""
    if np.ma.is_masked(value):
        raise InputDataError(f"{name} must return a number for each value, got masked ones")
    array = np.asarray(value)
    if array.shape != (size,):
        raise InputDataError(f"{name} must return an array of the shape of its values, ({size},), got {array.shape}")
    if array.dtype.kind not in "fiub":
        raise InputDataError(f"{name} must return numbers, got dtype {array.dtype}")
    with np.errstate(over="ignore"):
        floats = np.ascontiguousarray(array, np.float64)
    if np.isnan(floats).any():
        raise InputDataError(f"{name} must not return NaN")
    if not _kept(value, array, floats):
        raise InputDataError(
            f"{name} must return numbers that float64 holds exactly, got {array.dtype} that it rounds: return how far "
            "they are from a constant"
        )
    return floats


def repeated(name: str) -> NoReturn:
    """Refuse a callable that repeats itself."""
    raise InputDataError(
        f"{name} must draw anew at every call: its outputs of two calls are large and small at the same places"
    )


def one_for_all(name: str) -> NoReturn:
    """Refuse a callable that draws once for all values."""
    raise InputDataError(
        f"{name} must draw for each value: the outputs of a call are all the same, and those of another call others"
    )


def _kept(value: Any, array: NDArray[Any], floats: NDArray[np.float64]) -> bool:
    """Return whether no number was rounded to a float: an audit looks at single bits."""
    if isinstance(value, list | tuple):  # of which NumPy rounds integers among floats
        return bool(list(value) == floats.tolist())
    if array.dtype.kind == "f":
        return array.dtype.itemsize <= 8 or bool((floats == array).all())
    large = np.abs(floats) >= 2.0**53
    # Python compares integers with floats exactly.
    return array.dtype.kind == "b" or bool(array[large].tolist() == floats[large].tolist())
