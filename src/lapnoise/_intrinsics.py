"""Single machine operations that Python cannot spell, for use in jitted code."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.types.containers import UniTuple

from lapnoise._jit import intrinsic

__all__ = [
    "bits_from_float32",
    "bits_from_float64",
    "copy_block",
    "float32_from_bits",
    "float64_from_bits",
    "fma32",
    "fma64",
    "leading_zeros",
    "load_word",
    "matching_bytes",
    "multiply_wide",
    "store_word",
    "trailing_zeros",
]

_BLOCK = ir.VectorType(ir.IntType(8), 32)


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

    return UniTuple(types.uint64, 2)(types.uint64, types.uint64), emit


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


@intrinsic
def copy_block(typingctx: Any, target: Any, place: Any, data: Any, start: Any) -> Any:
    """Write the 32 bytes from ``data[start]`` on over those from ``target[place]`` on; both are uint8."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = _place(context, builder, signature, arguments, _BLOCK, 2)
        builder.store(builder.load(source, align=1), _place(context, builder, signature, arguments, _BLOCK), align=1)
        return context.get_dummy_value()

    return types.void(target, types.int64, data, types.int64), emit


@intrinsic
def matching_bytes(typingctx: Any, data: Any, start: Any, a: Any, b: Any, c: Any) -> Any:
    """Return which of the 32 bytes from ``data[start]`` on is a, b or c, as bits of a uint64; data are uint8."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = builder.load(_place(context, builder, signature, arguments, _BLOCK), align=1)
        undefined = ir.Constant(_BLOCK, ir.Undefined)
        matches = None
        for byte in arguments[2:]:
            single = builder.insert_element(undefined, byte, ir.Constant(ir.IntType(32), 0))
            spread = builder.shuffle_vector(single, undefined, ir.Constant(ir.VectorType(ir.IntType(32), 32), [0] * 32))
            equal = builder.icmp_unsigned("==", block, spread)
            matches = equal if matches is None else builder.or_(matches, equal)
        return builder.zext(builder.bitcast(matches, ir.IntType(32)), ir.IntType(64))

    return types.uint64(data, types.int64, types.uint8, types.uint8, types.uint8), emit


def _place(context: Any, builder: Any, signature: Any, arguments: Any, kind: Any, at: int = 0) -> Any:
    """Return a pointer to what lies from ``arguments[at + 1]`` on in the bytes of the array ``arguments[at]``."""
    array = context.make_array(signature.args[at])(context, builder, arguments[at])
    return builder.bitcast(builder.gep(array.data, [arguments[at + 1]]), kind.as_pointer())


def _bitcast(target: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], target)

    return emit


def _fma(number: Any, name: str) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(number, [number] * 3), name)
        return builder.call(function, arguments)

    return emit
