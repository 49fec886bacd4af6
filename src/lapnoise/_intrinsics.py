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
    "load_word",
    "multiply_wide",
    "store_word",
    "trailing_zeros",
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
def trailing_zeros(typingctx: Any, word: Any) -> Any:
    """Return the number of zero bits below the lowest one of a uint64, as uint64; 64 for 0."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), emit


@intrinsic
def multiply_wide(typingctx: Any, x: Any, y: Any) -> Any:
    """Return the high and the low word of the product of two uint64, 128 bits."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(factor, wide) for factor in arguments))
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)
        return context.make_tuple(builder, signature.return_type, (high, builder.trunc(product, word)))

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), emit


@intrinsic
def load_word(typingctx: Any, data: Any, start: Any) -> Any:
    """Return the eight bytes from ``data[start]`` on as a uint64, the first of them lowest; data are uint8."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, signature, arguments, ir.IntType(64)), align=1)

    return types.uint64(data, types.int64), emit


@intrinsic
def store_word(typingctx: Any, data: Any, start: Any, word: Any) -> Any:
    """Write a uint64 over the eight bytes from ``data[start]`` on, lowest byte first; data are uint8."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _place(context, builder, signature, arguments, ir.IntType(64)), align=1)
        return context.get_dummy_value()

    return types.void(data, types.int64, types.uint64), emit


def _place(context: Any, builder: Any, signature: Any, arguments: Any, kind: Any) -> Any:
    """Return a pointer to what lies from ``arguments[1]`` on in the bytes of the array ``arguments[0]``."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), kind.as_pointer())


def _bitcast(target: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], target)

    return emit


def _fma(number: Any, name: str) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(number, [number] * 3), name)
        return builder.call(function, arguments)

    return emit
