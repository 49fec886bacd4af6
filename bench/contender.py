"""One way to draw Laplace(1, 2), and what it needs.

Location and scale are neither 0 nor 1, so that nobody gets away without the scaling.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["LOC", "SCALE", "TROUBLES", "Call", "Contender", "imported", "trouble"]

LOC = 1.0
SCALE = 2.0

Call = Callable[[], Any]


@dataclass(frozen=True)
class Contender:
    """One way to draw.

    Attributes
    ----------
    make : callable
        Takes n, and a location and a scale that are 1 and 2 unless given; returns a call without arguments that makes
        n draws and returns them as something array-like.
    dtype : str
        "float64" or "float32".
    threads : int or None
        1, or None for all cores.
    allocates : bool
        Whether each call makes a new array. Where False, the same array is written again.
    words : float
        64-bit words a draw; 0 where that is not known.
    module : str
        What must be installed.
    array : bool
        Whether an array of n scales can be given.
    slow : bool
        Whether a draw takes microseconds, so that fewer must do for a look at them.
    origin : str
        Where a sampler of the user's came from: "module:function", or "code". Empty for all others. Such a one draws
        Laplace(1, 2) and nothing else.
    """

    make: Callable[..., Call]
    dtype: str = "float64"
    threads: int | None = 1
    allocates: bool = True
    words: float = 0.0
    module: str = "numpy"
    array: bool = False
    slow: bool = False
    origin: str = ""


TROUBLES: dict[str, str] = {}
"""Why modules that a run tried cannot be used."""


def trouble(module: str) -> str:
    """Return why a module cannot be used, "is not installed" or what its import says; empty where it can."""
    if module not in TROUBLES and module not in _fine:
        why = _trouble(module)
        if why:
            TROUBLES[module] = why
        else:
            _fine.add(module)
    return TROUBLES.get(module, "")


_fine: set[str] = set()


def _trouble(module: str) -> str:
    try:
        if importlib.util.find_spec(module) is None:
            return "is not installed"
    except ModuleNotFoundError:  # of a package that the module would be in
        return "is not installed"
    try:
        imported(module)
    except Exception as error:  # diffprivlib with a scikit-learn that is too new; PyTorch with a library that is absent
        first = str(error).splitlines()[:1]
        return f"cannot be imported ({': '.join([type(error).__name__, *first])})"
    return ""


def imported(module: str) -> Any:
    """Import a peer, whatever it warns about: pytest turns warnings into errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(module)
