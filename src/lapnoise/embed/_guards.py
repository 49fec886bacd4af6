"""What jitted and C callers hand over is looked at once a call, before a word is made.

Jitted code learns of a refusal by an exception, C code by a number; the rules are the same ones, and stand here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import errors, types

from lapnoise._check import FLOAT32, FLOAT64, LARGEST_SCALE, LEAST_SCALE
from lapnoise._intrinsics import bits_from_float64
from lapnoise._jit import device, overload
from lapnoise.bits.chacha_lanes import SOURCE_WORDS
from lapnoise.bits.stream import MAX_POSITION
from lapnoise.kernels.discrete_laplace import LAW_SIZE
from lapnoise.lattice import LARGEST_T

__all__ = [
    "JittedValueError",
    "law_is_right",
    "require_draws",
    "require_law",
    "require_parameter",
    "require_place",
    "scale_is_right",
    "scale_is_right32",
    "source_is_right",
    "stretch_is_right",
]

# A jitted function takes numbers from its module, and none from a table.
_LARGEST_SCALE = LARGEST_SCALE[FLOAT64]
_LARGEST_SCALE32 = LARGEST_SCALE[FLOAT32]
_LEAST_SCALE32 = LEAST_SCALE[FLOAT32]


class JittedValueError(ValueError):
    """A ValueError raised in jitted code, where no text can be made: its message is put together when it is read."""

    def __str__(self) -> str:
        return _message(self.args)


class JittedOverflowError(OverflowError):
    """An OverflowError raised in jitted code."""

    def __str__(self) -> str:
        return _message(self.args)


def _message(arguments: tuple[Any, ...]) -> str:
    text, *values = arguments or ("",)
    return str(text).format(*values)


@device
def source_is_right(source: Any) -> Any:
    """Whether an array of at least six words ends in half of a number of rounds that ChaCha has here."""
    half_rounds = source[SOURCE_WORDS - 1]
    return half_rounds == 4 or half_rounds == 6 or half_rounds == 10


@device
def stretch_is_right(position: int, words: int) -> bool:
    """Whether words from a position on lie in the stream."""
    return position >= 0 and position <= MAX_POSITION - words


@device
def scale_is_right(scale: float) -> bool:
    """Whether a scale is from 0 to _LARGEST_SCALE, and not -0.0."""
    return scale <= _LARGEST_SCALE and (scale > 0.0 or bits_from_float64(scale) == 0)


@device
def scale_is_right32(scale: float) -> bool:
    """Whether a scale is 0, or from the least float32 to _LARGEST_SCALE32."""
    return scale <= _LARGEST_SCALE32 and (scale >= _LEAST_SCALE32 or bits_from_float64(scale) == 0)


@device
def _place_fits(source: Any, position: int, words: int) -> bool:
    """Whether an array is a source, and words from a position on lie in its stream."""
    return source.size >= SOURCE_WORDS and source_is_right(source) and stretch_is_right(position, words)


@device
def require_place(source: Any, position: int, words: int) -> None:
    """Refuse a source that is none, and words beyond the stream."""
    if _place_fits(source, position, words):
        return
    if source.size < SOURCE_WORDS:
        raise JittedValueError("source must be an array of 6 words, as reserve returns it, got {} words", source.size)
    if not source_is_right(source):
        raise JittedValueError(
            "source must be an array as reserve returns it, got one whose last word is {}: no half of 8, 12 or 20",
            source[SOURCE_WORDS - 1],
        )
    raise JittedValueError("position must be from 0 to 2**62 - {}, the words taken, got {}", words, position)


def _words_of(out: Any) -> int:
    """Return how many words the draws of an array take."""
    raise TypeError("only jitted code calls this")


@overload(_words_of)
def _words_of_typed(out: Any) -> Any:
    if out.dtype == types.float32:
        return lambda out: (out.size + 1) >> 1
    return lambda out: out.size


@device
def require_draws(out: Any, scale: Any, source: Any, position: int) -> None:
    """Refuse draws that cannot be made, over NaN.

    In `prange` Numba loses exceptions, and values without noise must not be left.
    """
    words = _words_of(out)
    if not (_place_fits(source, position, words) and _scales_fit(scale, out)):
        out[:] = np.nan
        require_place(source, position, words)
        _require_scale(scale, out)


@device
def require_law(law: Any) -> None:
    """Refuse an array that `discrete_law` did not make, as far as its length and its scale tell."""
    if law.size != LAW_SIZE:
        raise JittedValueError("law must be an array as discrete_law returns it, got {} numbers", law.size)
    if not law_is_right(law):
        raise JittedValueError(
            "law must begin with a scale from 0 to 2**57, as discrete_law returns it, got {}", law[0]
        )


@device
def law_is_right(law: Any) -> Any:
    """Whether an array of at least one number begins with a scale of discrete noise."""
    return law[0] >= 0.0 and law[0] <= LARGEST_T


def require_parameter(parameter: Any, out: Any) -> Any:
    """Return loc or scale as ``out`` needs it: a number of its dtype, or an array of its dtype and length."""
    raise TypeError("only jitted code calls this")


@overload(require_parameter)
def _require_parameter(parameter: Any, out: Any) -> Any:
    if isinstance(parameter, types.Array):
        if parameter.dtype != out.dtype or parameter.ndim != 1:
            raise errors.TypingError(f"loc and scale must be numbers or arrays like out ({out}), got {parameter}")

        def array(parameter: Any, out: Any) -> Any:
            if parameter.size != out.size:
                out[:] = np.nan
                raise JittedValueError("loc and scale must have out's length {}, got {}", out.size, parameter.size)
            return parameter

        return array
    if parameter == types.none:
        return lambda parameter, out: None
    if out.dtype == types.float64:
        return lambda parameter, out: np.float64(parameter)
    return lambda parameter, out: np.float32(parameter)


def _scales_fit(scale: Any, out: Any) -> bool:
    """Return whether a scale, or each of an array, is finite, >= 0, not -0.0, and small enough for ``out``'s dtype."""
    raise TypeError("only jitted code calls this")


@overload(_scales_fit)
def _scales_fit_typed(scale: Any, out: Any) -> Any:
    fits = scale_is_right32 if out.dtype == types.float32 else scale_is_right
    if not isinstance(scale, types.Array):
        return lambda scale, out: fits(np.float64(scale))

    def array(scale: Any, out: Any) -> bool:
        wrong = 0
        for i in range(scale.size):
            wrong += 0 if fits(np.float64(scale[i])) else 1
        return wrong == 0

    return array


def _require_scale(scale: Any, out: Any) -> None:
    """Refuse the first scale that does not fit."""
    raise TypeError("only jitted code calls this")


@overload(_require_scale)
def _require_scale_typed(scale: Any, out: Any) -> Any:
    require_one = _require_one32 if out.dtype == types.float32 else _require_one
    if not isinstance(scale, types.Array):
        return lambda scale, out: require_one(np.float64(scale))

    def array(scale: Any, out: Any) -> None:
        for i in range(scale.size):
            require_one(np.float64(scale[i]))

    return array


@device
def _require_one(scale: float) -> None:
    if not scale_is_right(scale):
        if scale > _LARGEST_SCALE and scale < np.inf:
            raise JittedOverflowError(
                "scale must be at most {:.6g}, got {}: a draw could overflow", _LARGEST_SCALE, scale
            )
        raise JittedValueError("scale must be finite and >= 0, and not -0.0, got {}", scale)


@device
def _require_one32(scale: float) -> None:
    if not scale_is_right32(scale):
        if scale > _LARGEST_SCALE32 and scale < np.inf:
            raise JittedOverflowError(
                "scale must be at most {:.6g} for float32, got {}: a draw could overflow", _LARGEST_SCALE32, scale
            )
        raise JittedValueError("scale must be finite and >= 0, and neither -0.0 nor rounded to 0, got {}", scale)
