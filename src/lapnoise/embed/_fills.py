"""Whole arrays of draws, for jitted code."""

from __future__ import annotations

from typing import Any

from numba import carray
from numba.core import types

from lapnoise._jit import device, overload
from lapnoise.embed._guards import require_draws, require_law, require_parameter, require_place
from lapnoise.embed._types import (
    PENDING_ROOM,
    place_of,
    scratch_words,
    stack_of_integers,
    typed_floats,
    typed_integers,
    typed_law,
    typed_source,
)
from lapnoise.kernels.batches import SCRATCH_WORDS
from lapnoise.kernels.discrete_laplace import FAST_LIMIT
from lapnoise.kernels.discrete_laplace import fill_discrete_laplace as _fill_discrete
from lapnoise.kernels.discrete_laplace import fill_discrete_laplace_wide as _fill_discrete_wide
from lapnoise.kernels.laplace import fill_exponential as _fill_exponential
from lapnoise.kernels.laplace import fill_laplace as _fill_laplace
from lapnoise.kernels.laplace_float32 import fill_exponential32 as _fill_exponential32
from lapnoise.kernels.laplace_float32 import fill_laplace32 as _fill_laplace32

__all__ = ["add_laplace", "fill_discrete_laplace", "fill_exponential", "fill_laplace"]


@device
def fill_laplace(out: Any, loc: Any, scale: Any, source: Any, position: Any) -> None:
    """Write draws of Laplace(loc, scale) to ``out``, as `Generator.laplace` makes them at a position.

    Parameters
    ----------
    out : array of float64 or float32, one-dimensional
        float64 takes a word a draw, float32 half a word.
    loc : float, or array like ``out``
    scale : float, or array like ``out``
        Finite, >= 0 and not -0.0.
    source, position
        As in `fill_words`; in float32 too the position counts words.

    Raises
    ------
    ValueError, OverflowError
        As in `Generator.laplace`, before a word is made; ``out`` is NaN then, because in `prange` Numba may lose an
        exception.

    Notes
    -----
    ``out`` must not overlap ``loc`` or ``scale``, unless it is the very array that ``loc`` is.
    """
    typed_floats(out)
    typed_source(source)
    first = place_of(position)
    centre, b = require_parameter(loc, out), require_parameter(scale, out)
    require_draws(out, scale, source, first)
    _run_laplace(out, centre, b, source, first)


@device
def add_laplace(values: Any, scale: Any, source: Any, position: Any) -> None:
    """Add Laplace noise to ``values`` in place, as `Generator.add_laplace` does at a position; see `fill_laplace`."""
    typed_floats(values)
    typed_source(source)
    first = place_of(position)
    b = require_parameter(scale, values)
    require_draws(values, scale, source, first)
    _run_laplace(values, None, b, source, first)


@device
def fill_exponential(out: Any, scale: Any, source: Any, position: Any) -> None:
    """Write draws of Exponential(scale) to ``out``: the magnitudes of `fill_laplace` about 0."""
    typed_floats(out)
    typed_source(source)
    first = place_of(position)
    b = require_parameter(scale, out)
    require_draws(out, scale, source, first)
    _run_exponential(out, b, source, first)


@device
def fill_discrete_laplace(out: Any, law: Any, source: Any, position: Any, undecided: Any) -> int:
    """Write exact discrete Laplace draws to ``out``, as `Generator.discrete_laplace` makes them at a position.

    Parameters
    ----------
    out : array of int64, one-dimensional
    law : array of float64, shape (5,)
        What `discrete_law` returned.
    source, position
        As in `fill_words`.
    undecided : array of int64, one-dimensional
        Gets the indices of draws that their word does not decide, as many as it has room for; they hold 0. Of n draws
        some n (t 2^-57 + 2^-49) are.

    Returns
    -------
    int
        How many are undecided, room or not. `finish` makes them: ``out[where] = finish(law, source, position + where)``
        with ``where = undecided[:count]``.
    """
    typed_integers(out)
    typed_integers(undecided)
    typed_law(law)
    typed_source(source)
    first = place_of(position)
    require_place(source, first, out.size)
    require_law(law)
    scratch = carray(scratch_words(), SCRATCH_WORDS)
    pending = carray(stack_of_integers(), PENDING_ROOM)
    done, left_open = 0, 0
    while done < out.size:
        if law[0] <= FAST_LIMIT:
            count = _fill_discrete(out[done:], law, source, first + done, scratch, pending)
        else:
            count = _fill_discrete_wide(out[done:], law, source, first + done, scratch, pending)
        for k in range(pending[0]):
            where = done + pending[k + 1]
            out[where] = 0
            if left_open < undecided.size:
                undecided[left_open] = where
            left_open += 1
        done += count
    return left_open


def _run_laplace(out: Any, loc: Any, scale: Any, source: Any, first: int) -> None:
    raise TypeError("only jitted code calls this")


@overload(_run_laplace)
def _run_laplace_typed(out: Any, loc: Any, scale: Any, source: Any, first: int) -> Any:
    if out.dtype == types.float64:
        return lambda out, loc, scale, source, first: _fill_laplace(
            out, loc, scale, source, first, carray(scratch_words(), SCRATCH_WORDS)
        )
    return lambda out, loc, scale, source, first: _fill_laplace32(
        out, loc, scale, source, 2 * first, carray(scratch_words(), SCRATCH_WORDS)
    )


def _run_exponential(out: Any, scale: Any, source: Any, first: int) -> None:
    raise TypeError("only jitted code calls this")


@overload(_run_exponential)
def _run_exponential_typed(out: Any, scale: Any, source: Any, first: int) -> Any:
    if out.dtype == types.float64:
        return lambda out, scale, source, first: _fill_exponential(
            out, scale, source, first, carray(scratch_words(), SCRATCH_WORDS)
        )
    return lambda out, scale, source, first: _fill_exponential32(
        out, scale, source, 2 * first, carray(scratch_words(), SCRATCH_WORDS)
    )
