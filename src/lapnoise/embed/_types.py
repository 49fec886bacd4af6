"""What arrays and words jitted callers may hand over: told when their function is compiled, at no cost when it runs.

Sources, laws and cursors are read by their addresses, so that a strided one, or one of another type, would be other
words. The tests are intrinsics, since of an array that goes through a function which may raise Numba counts the
references.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.core.types.misc import CPointer

from lapnoise._jit import intrinsic
from lapnoise.kernels.batches import SCRATCH_WORDS

__all__ = [
    "PENDING_ROOM",
    "half_word_of",
    "place_of",
    "scratch_words",
    "stack_of_integers",
    "typed_cursor",
    "typed_floats",
    "typed_integers",
    "typed_law",
    "typed_source",
    "typed_words",
    "word_of",
]

PENDING_ROOM = 1_280
"""Draws that a fill of discrete noise may leave open before it hands them over: two batches."""


def _nothing(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return context.get_dummy_value()


def _verify(name: str, array: Any, dtypes: tuple[Any, ...], *, written: bool, contiguous: bool) -> Any:
    """Return the typing of a test that an array passes, or refuse it."""
    fits = isinstance(array, types.Array) and array.ndim == 1 and array.dtype in dtypes
    if not fits or (written and not array.mutable) or (contiguous and array.layout != "C"):
        kind = " or ".join(str(dtype) for dtype in dtypes)
        text = "contiguous " if contiguous else "one-dimensional "
        raise errors.TypingError(f"{name} must be a {text}array of {kind}{', not read-only' * written}, got {array}")
    return types.void(array), _nothing


@intrinsic
def typed_words(typingctx: Any, out: Any) -> Any:
    """Refuse what words cannot be written to."""
    return _verify("out", out, (types.uint64,), written=True, contiguous=False)


@intrinsic
def typed_integers(typingctx: Any, out: Any) -> Any:
    """Refuse what integers cannot be written to."""
    return _verify("out", out, (types.int64,), written=True, contiguous=False)


@intrinsic
def typed_floats(typingctx: Any, out: Any) -> Any:
    """Refuse what draws cannot be written to."""
    return _verify("out", out, (types.float64, types.float32), written=True, contiguous=False)


@intrinsic
def typed_source(typingctx: Any, source: Any) -> Any:
    """Refuse what cannot be a source."""
    return _verify("source", source, (types.uint64,), written=False, contiguous=True)


@intrinsic
def typed_law(typingctx: Any, law: Any) -> Any:
    """Refuse what cannot be a law."""
    return _verify("law", law, (types.float64,), written=False, contiguous=True)


@intrinsic
def typed_cursor(typingctx: Any, cursor: Any) -> Any:
    """Refuse what cannot be a cursor."""
    return _verify("cursor", cursor, (types.uint64,), written=True, contiguous=True)


@intrinsic
def place_of(typingctx: Any, position: Any) -> Any:
    """Return a position as int64, and refuse what is no integer."""
    if not isinstance(position, types.Integer):
        raise errors.TypingError(
            f"position must be an integer, got {position} (uint64 + int64 is float64 in some Numbas: cast one)"
        )
    return types.int64(position), _cast


@intrinsic
def word_of(typingctx: Any, word: Any) -> Any:
    """Return a word as uint64, and refuse those of other than 64 bits."""
    if _bits(word) != 64:
        raise errors.TypingError(f"word must be a uint64, got {word}")
    return types.uint64(word), _cast


@intrinsic
def half_word_of(typingctx: Any, half_word: Any) -> Any:
    """Return half a word as uint32, and refuse those of other than 32 bits."""
    if _bits(half_word) != 32:
        raise errors.TypingError(f"half_word must be a uint32, as in words.view(np.uint32), got {half_word}")
    return types.uint32(half_word), _cast


def _bits(number: Any) -> Any:
    return getattr(number, "bitwidth", 0) if isinstance(number, types.Integer) else 0


def _cast(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return context.cast(builder, arguments[0], signature.args[0], signature.return_type)


@intrinsic
def scratch_words(typingctx: Any) -> Any:
    """Return SCRATCH_WORDS words on the stack, 17 KiB: memory that cannot be refused."""
    return CPointer(types.uint64)(), _on_stack(SCRATCH_WORDS)


@intrinsic
def stack_of_integers(typingctx: Any) -> Any:
    """Return PENDING_ROOM int64 on the stack, 10 KiB."""
    return CPointer(types.int64)(), _on_stack(PENDING_ROOM)


def _on_stack(words: int) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # At the function's entry: a loop that draws takes the same room again.
        slot = cgutils.alloca_once(builder, ir.IntType(64), size=words)
        slot.align = 64
        return slot

    return emit
