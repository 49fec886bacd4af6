"""Single machine operations that Python cannot spell, for use in jitted code."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.types.containers import UniTuple
from numba.core.types.misc import CPointer

from lapnoise._jit import intrinsic

__all__ = [
    "address_of",
    "address_of_pointer",
    "bits_from_float32",
    "bits_from_float64",
    "copy_block",
    "float32_from_bits",
    "float64_from_bits",
    "fma32",
    "fma64",
    "leading_zeros",
    "load_byte",
    "load_word",
    "matching_bytes",
    "multiply_wide",
    "pointer_to_words",
    "store_byte",
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
def address_of(typingctx: Any, array: Any) -> Any:
    """Return where the first entry of an array lies in memory.

    For functions that read or write single bytes in an inner loop. Of an array that is handed on Numba counts the
    references, with two atomic additions a call, and can leave that out only where the function called is simple.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), emit


@intrinsic
def address_of_pointer(typingctx: Any, pointer: Any) -> Any:
    """Return a pointer as an int64."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(arguments[0], ir.IntType(64))

    return types.int64(pointer), emit


@intrinsic
def pointer_to_words(typingctx: Any, address: Any) -> Any:
    """Return an address as a pointer to uint64."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())

    return CPointer(types.uint64)(types.int64), emit


@intrinsic
def load_byte(typingctx: Any, address: Any, place: Any) -> Any:
    """Return the uint8 that lies so many bytes behind an address."""
    return types.uint8(types.int64, types.int64), _load(ir.IntType(8))


@intrinsic
def load_word(typingctx: Any, address: Any, place: Any) -> Any:
    """Return the eight bytes that lie so many bytes behind an address as a uint64, the first of them lowest."""
    return types.uint64(types.int64, types.int64), _load(ir.IntType(64))


@intrinsic
def store_byte(typingctx: Any, address: Any, place: Any, byte: Any) -> Any:
    """Write a uint8 so many bytes behind an address."""
    return types.void(types.int64, types.int64, types.uint8), _store(ir.IntType(8))


@intrinsic
def store_word(typingctx: Any, address: Any, place: Any, word: Any) -> Any:
    """Write a uint64 over the eight bytes that lie so many bytes behind an address, lowest byte first."""
    return types.void(types.int64, types.int64, types.uint64), _store(ir.IntType(64))


@intrinsic
def copy_block(typingctx: Any, target: Any, place: Any, source: Any, start: Any) -> Any:
    """Copy 32 bytes from ``start`` bytes behind one address to ``place`` bytes behind another."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = builder.load(_place(builder, _BLOCK, *arguments[2:]), align=1)
        builder.store(block, _place(builder, _BLOCK, *arguments[:2]), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), emit


@intrinsic
def matching_bytes(typingctx: Any, address: Any, place: Any, a: Any, b: Any, c: Any) -> Any:
    """Return which of the 32 bytes that lie so many bytes behind an address is a, b or c, as bits of a uint64."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = builder.load(_place(builder, _BLOCK, *arguments[:2]), align=1)
        undefined = ir.Constant(_BLOCK, ir.Undefined)
        matches = None
        for byte in arguments[2:]:
            single = builder.insert_element(undefined, byte, ir.Constant(ir.IntType(32), 0))
            spread = builder.shuffle_vector(single, undefined, ir.Constant(ir.VectorType(ir.IntType(32), 32), [0] * 32))
            equal = builder.icmp_unsigned("==", block, spread)
            matches = equal if matches is None else builder.or_(matches, equal)
        return builder.zext(builder.bitcast(matches, ir.IntType(32)), ir.IntType(64))

    return types.uint64(types.int64, types.int64, types.uint8, types.uint8, types.uint8), emit


def _load(kind: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(builder, kind, *arguments), align=1)

    return emit


def _store(kind: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _place(builder, kind, *arguments[:2]), align=1)
        return context.get_dummy_value()

    return emit


def _place(builder: Any, kind: Any, address: Any, place: Any) -> Any:
    return builder.inttoptr(builder.add(address, place), kind.as_pointer())


def _bitcast(target: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], target)

    return emit


def _fma(number: Any, name: str) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(number, [number] * 3), name)
        return builder.call(function, arguments)

    return emit
