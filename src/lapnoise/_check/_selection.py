"""What selecting mechanisms take: candidates, scores, and what is known of candidates in advance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check._arrays import FLOAT64, number_or_array
from lapnoise._check._rules import shown
from lapnoise._containers import is_series, unwrap

__all__ = ["candidates", "eligible", "finite_scores", "measure", "monotonic", "scores", "zero_or_one"]

_EXACT = 1 << 53


def monotonic(value: Any) -> bool:
    """Return a bool."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"monotonic must be True or False, got {shown(value)}")
    return bool(value)


def candidates(value: Any, n: int) -> Any:
    """Return candidates, of which there is one for each score, as something that an index picks from by place."""
    if isinstance(value, Mapping | str | bytes) or not (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
        raise TypeError(
            f"candidates must be a sequence (list, tuple, range, array, Series), got {type(value).__name__}"
        )
    if type(value).__name__ == "DataFrame":
        raise TypeError("candidates must be a sequence, got a DataFrame: give its index or a column")
    if len(value) != n:
        raise ValueError(f"candidates must be as many as scores, got {len(value)} candidates and {n} scores")
    return value.iloc if is_series(value) else value


def scores(value: Any) -> NDArray[Any]:
    """Return scores as one-dimensional int64, uint64 or float64; integers keep all their digits."""
    array = _one_dimension("scores", value)
    if array.dtype.kind == "f":
        return np.ascontiguousarray(array, FLOAT64)
    wide = array.dtype.kind == "u" and array.dtype.itemsize == 8
    return np.ascontiguousarray(array, np.uint64 if wide else np.int64)


def finite_scores(array: NDArray[Any], allowed: NDArray[np.bool_] | None) -> None:
    """Refuse NaN, and infinities but in candidates that are ruled out; the message names the place alone."""
    if array.dtype.kind != "f":
        return
    wrong = ~np.isfinite(array)
    if not wrong.any():
        return
    if allowed is not None:
        wrong &= allowed | np.isnan(array)
    if wrong.any():
        raise ValueError(
            f"scores[{int(np.argmax(wrong))}] must be finite, got NaN or an infinity: a score of -inf that depends on "
            "data costs infinite epsilon; rule a candidate out in advance by exclude, or by measure 0"
        )


def measure(value: Any, n: int) -> NDArray[np.float64]:
    """Return the measure of each candidate as float64: finite, >= 0, not all zero."""
    array = _one_dimension("measure", value)
    if array.size != n:
        raise ValueError(f"measure must have one entry for each score, got {array.size} and {n} scores")
    if array.dtype.kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > _EXACT:
        raise ValueError("measure must not hold integers beyond 2**53, which a float would round")
    made = np.ascontiguousarray(array, FLOAT64)
    wrong = ~((made >= 0.0) & (made < np.inf))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"measure[{i}] must be finite and >= 0, got {shown(made[i].item())}")
    return made


def zero_or_one(array: NDArray[np.float64]) -> None:
    """Refuse a measure where only 0 and 1 have a meaning."""
    wrong = (array != 0.0) & (array != 1.0)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"measure[{i}] must be 0 or 1 in permute-and-flip, which knows no other measure, got "
            f"{shown(array[i].item())}"
        )


def eligible(measure: NDArray[np.float64] | None, exclude: Any, n: int) -> NDArray[np.bool_] | None:
    """Return which candidates may win, one at least, by their measure and ``exclude``; None for all."""
    if n == 0:
        raise ValueError("scores must not be empty, got no candidate")
    if measure is None and exclude is None:
        return None
    allowed = np.ones(n, np.bool_) if measure is None else measure > 0.0
    if exclude is not None:
        allowed &= ~_excluded(exclude, n)
    if not allowed.any():
        raise ValueError(f"exclude and measure must leave a candidate, got none of {n} left")
    return allowed


def _excluded(exclude: Any, n: int) -> NDArray[np.bool_]:
    array = np.asarray(exclude)
    if array.ndim != 1:
        raise ValueError(f"exclude must be a mask or indices in one dimension, got shape {array.shape}")
    if array.dtype.kind == "b":
        if array.size != n:
            raise ValueError(f"exclude must have one entry for each score, got {array.size} and {n} scores")
        return array
    made = np.zeros(n, np.bool_)
    if array.size == 0:
        return made
    if array.dtype.kind not in "iu":
        raise TypeError(f"exclude must be a mask of bools or indices, got dtype {array.dtype}")
    wrong = (array >= n) | (array < 0)
    if wrong.any():
        raise ValueError(f"exclude must hold indices from 0 to {n - 1}, got {int(array[int(np.argmax(wrong))])}")
    made[array.astype(np.int64)] = True
    return made


def _one_dimension(name: str, value: Any) -> NDArray[Any]:
    if is_series(value):
        missing = value.isna().to_numpy()
        if missing.any():  # which may stand as 0 among integers
            raise ValueError(f"{name}[{int(np.argmax(missing))}] must be finite, got a missing value")
        value = unwrap(value)[0]
    array = number_or_array(name, value)
    if not isinstance(array, np.ndarray) or array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {np.shape(array)}")
    if isinstance(value, list | tuple) and array.dtype.kind == "f":
        for i, entry in enumerate(value):
            if isinstance(entry, int | np.integer) and abs(int(entry)) > _EXACT:
                raise TypeError(
                    f"{name}[{i}] must not be an integer beyond 2**53 among other numbers, which would round it to a "
                    "float: give an integer array"
                )
    return array
