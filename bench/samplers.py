"""A sampler of the user's own, which the command line names as "module:function"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from bench.contenders import CONTENDERS, correct, enter

__all__ = ["enter_named", "found", "verify_shown"]

TRIED = 1_000

SHOWING = {
    "float64": ("float64", "peers", "start_of_peers", "quality"),
    "float32": ("float32", "peers", "quality"),
}
"""The parts of the report that a sampler of a dtype appears in."""


def found(named: str) -> Callable[[int], Any]:
    """Return the function that "module:function" names.

    Raises
    ------
    ValueError
        If there is none; the message says what is wrong with the name.
    """
    module, colon, function = named.partition(":")
    if not (module and colon and function):
        raise ValueError(f"sampler must be given as module:function, got {named!r}")
    try:
        given = import_module(module)
    except Exception as error:  # whatever a module of somebody else does
        raise ValueError(f"sampler {named!r} cannot be imported: {type(error).__name__}: {error}") from None
    draw = getattr(given, function, None)
    if not callable(draw):
        raise ValueError(f"sampler {named!r}: module {module!r} has no function {function!r}")
    return draw  # type: ignore[no-any-return]


def enter_named(named: str) -> None:
    """Enter the sampler of this name, once its draws have the right shape, dtype and distribution.

    Raises
    ------
    ValueError
        If they have not.
    """
    draw = found(named)
    try:
        draws = np.asarray(draw(TRIED))
    except Exception as error:
        raise ValueError(f"sampler {named!r} failed at n={TRIED}: {type(error).__name__}: {error}") from None
    if draws.shape != (TRIED,):
        raise ValueError(f"sampler {named!r} must return an array of n draws, of shape ({TRIED},), got {draws.shape}")
    if draws.dtype not in (np.float64, np.float32):
        raise ValueError(f"sampler {named!r} must return float64 or float32, got {draws.dtype}")
    enter(named, draw, str(draws.dtype), origin=named)
    if not correct(named):
        raise ValueError(
            f"sampler {named!r} must draw Laplace(1, 2), with location 1 and scale 2; mean, mean magnitude or variance "
            "of its draws is more than six standard errors off"
        )


def verify_shown(named: str, parts: Sequence[str]) -> None:
    """Refuse parts of the report of which none would show this sampler, once it is entered; no parts are the usual.

    Raises
    ------
    ValueError
        If none would.
    """
    dtype = CONTENDERS[named].dtype
    if parts and not set(parts) & set(SHOWING[dtype]):
        raise ValueError(
            f"--sampler {named!r} draws {dtype} and appears in {', '.join(SHOWING[dtype])}: name one, or give --all"
        )
