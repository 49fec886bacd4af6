"""Single machine operations that Python cannot spell, for use in jitted code."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from lapnoise._jit import intrinsic

__all__ = [
    "bits_from_float32",
    "bits_from_float64",
    "float32_from_bits",
    "float64_from_bits",
    "fma32",
    "fma64",
    "leading_zeros",
    "word_at",
]


@intrinsic
def float64_from_bits(typingctx: Any, bits: Any) -> Any:
    """Reinterpret a uint64 as a float64."""
    return types.float64(types.uint64), _bitcast(ir.DoubleType())


@intrinsic
def bits_from_float64(typingctx: Any, value: Any) -> Any:
    """Reinterpret a float64 as a uint64."""
    return types.uint64(types.float64), _bitcast(ir.IntType(64))


@intrinsic
def float32_from_bits(typingctx: Any, bits: Any) -> Any:
    """Reinterpret a uint32 as a float32."""
    return types.float32(types.uint32), _bitcast(ir.FloatType())


@intrinsic
def bits_from_float32(typingctx: Any, value: Any) -> Any:
    """Reinterpret a float32 as a uint32."""
    return types.uint32(types.float32), _bitcast(ir.IntType(32))


@intrinsic
def fma64(typingctx: Any, x: Any, y: Any, z: Any) -> Any:
    """Return x y + z, rounded once, on every machine (in software where the processor has no such instruction)."""
    return types.float64(types.float64, types.float64, types.float64), _fma(ir.DoubleType(), "llvm.fma.f64")


@intrinsic
def fma32(typingctx: Any, x: Any, y: Any, z: Any) -> Any:
    """Return x y + z in float32, rounded once, on every machine."""
    return types.float32(types.float32, types.float32, types.float32), _fma(ir.FloatType(), "llvm.fma.f32")


@intrinsic
def leading_zeros(typingctx: Any, word: Any) -> Any:
    """Return the number of zero bits above the highest one of a uint64 > 0, as uint64."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), emit


@intrinsic
def word_at(typingctx: Any, data: Any, place: Any) -> Any:
    """Return the eight bytes at a place of a uint8 array as a uint64, on whatever boundary they lie."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        word = ir.IntType(64)
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), word.as_pointer())
        return builder.load(address, align=1)

    return types.uint64(data, types.int64), emit


def _bitcast(target: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], target)

    return emit


def _fma(number: Any, name: str) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(number, [number] * 3), name)
        return builder.call(function, arguments)

    return emit
