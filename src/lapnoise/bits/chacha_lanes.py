"""Sixteen ChaCha blocks side by side in vector registers: the same words as ``bits.chacha``, some 1,000 times faster.

They are sixteen blocks in a row of one stream, or, for keyed noise, the blocks at sixteen places of a caller's choice.

LLVM splits the sixteen lanes into whatever the machine has: one AVX-512 register, two of AVX2, four of SSE2 or NEON.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, errors, types

from lapnoise._jit import device, intrinsic, kernel
from lapnoise.bits.chacha import COLUMNS_AND_DIAGONALS, CONSTANTS, ROTATIONS

__all__ = [
    "BATCH_WORDS",
    "GROUP_WORDS",
    "LANES",
    "SOURCE_WORDS",
    "WORD_ROOM",
    "copy_words",
    "refill",
    "word_of_group",
    "write_first_words",
    "write_group",
    "write_two_groups",
]

LANES = 16
"""Blocks that are made side by side."""

GROUP_WORDS = 128
"""64-bit words in one group of sixteen blocks."""

BATCH_WORDS = 512
"""Words that a kernel makes and uses up at a time: 4 KiB, so that they and what is made of them stay in L1."""

WORD_ROOM = BATCH_WORDS + GROUP_WORDS
"""Words of scratch that ``refill`` may write: a batch that starts inside a group touches one group more."""

SOURCE_WORDS = 6
"""Length of a source array: the key in four words, the stream id, and half the number of rounds."""

_WORD32 = ir.IntType(32)
_WORD64 = ir.IntType(64)
_LANES = ir.VectorType(_WORD32, LANES)
_PAIRS = ir.VectorType(_WORD32, 2 * LANES)
_WEAVE = ir.Constant(_PAIRS, [k // 2 + LANES * (k % 2) for k in range(2 * LANES)])
_EVEN_AND_ODD = tuple(ir.Constant(_LANES, list(range(k, 2 * LANES, 2))) for k in (0, 1))


@intrinsic
def write_group(typingctx: Any, words: Any, start: Any, source: Any, group: Any) -> Any:
    """Write the 128 words of a group to ``words[start:]``."""
    _verify_source(source)
    return types.void(words, types.int64, source, types.uint64), _writing(1)


@intrinsic
def write_two_groups(typingctx: Any, words: Any, start: Any, source: Any, group: Any) -> Any:
    """Write the 256 words of a group and the next one to ``words[start:]``.

    Each operation waits for the one before it, so that one group leaves half of the vector units idle where both states
    fit into registers (AVX-512: 0.62 against 0.99 ns a word at 20 rounds). Elsewhere (AVX2: 2.07 against 1.98) they are
    made one after the other.
    """
    _verify_source(source)
    return types.void(words, types.int64, source, types.uint64), _writing(2)


def _verify_source(source: Any) -> None:
    # It is read by its address: a strided one, or one of another type, would be other words.
    if not isinstance(source, types.Array) or source.dtype != types.uint64 or source.ndim != 1 or source.layout != "C":
        raise errors.TypingError(f"source must be a contiguous array of uint64, got {source}")


def _writing(groups: int) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words_array = context.make_array(signature.args[0])(context, builder, arguments[0])
        source_array = context.make_array(signature.args[2])(context, builder, arguments[2])
        words = builder.gep(words_array.data, [arguments[1]])
        features = context.codegen().magic_tuple()[-1]
        together = groups if "+avx512f" in features else 1
        for k in range(0, groups, together):
            group = builder.add(arguments[3], ir.Constant(_WORD64, k))
            place = builder.gep(words, [_index(k * GROUP_WORDS)])
            _emit_groups(builder, source_array.data, group, place, together)
        return context.get_dummy_value()

    return emit


@intrinsic
def word_of_group(typingctx: Any, source: Any, group: Any, place: Any) -> Any:
    """Return the word at a place, 0 to 127, of a group, which is made on the stack for it alone."""
    _verify_source(source)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source_array = context.make_array(signature.args[0])(context, builder, arguments[0])
        words = cgutils.alloca_once(builder, _WORD64, size=GROUP_WORDS)
        _emit_groups(builder, source_array.data, arguments[1], words, 1)
        return builder.load(builder.gep(words, [arguments[2]]), align=8)

    return types.uint64(source, types.uint64, types.int64), emit


def _emit_groups(builder: Any, source: Any, group: Any, words: Any, groups: int) -> None:
    _align_stack(builder)
    numbers = [builder.add(group, ir.Constant(_WORD64, k)) for k in range(groups)]
    firsts = [_state(builder, source, _places_in_stream(builder, source, number)) for number in numbers]
    lasts = _emit_rounds(builder, firsts, _half_rounds(builder, source))
    target = builder.bitcast(words, _LANES.as_pointer())
    for k in range(groups):
        for i in range(16):
            # A slice of words need not lie on a register's boundary, so the store claims no more than a word's.
            made = builder.add(lasts[k][i], firsts[k][i])
            builder.store(made, builder.gep(target, [_index(16 * k + i)]), align=8)


@intrinsic
def write_first_words(typingctx: Any, words: Any, start: Any, source: Any, low: Any, high: Any, first: Any) -> Any:
    """Write the first 64 bits of each of sixteen blocks to ``words[start:]``.

    Lane i makes the block whose state words 12 and 13 are ``low[first + i]``, and 14 and 15 ``high[first + i]``; the
    stream id of the source is not looked at.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words_array, source_array, low_array, high_array = (
            context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 3, 4)
        )
        _align_stack(builder)
        places = [
            half
            for array in (low_array, high_array)
            for half in _split_halves(builder, builder.gep(array.data, [arguments[5]]))
        ]
        first_state = _state(builder, source_array.data, places)
        (last,) = _emit_rounds(builder, [first_state], _half_rounds(builder, source_array.data))
        halves = [builder.add(last[i], first_state[i]) for i in (0, 1)]
        woven = builder.shuffle_vector(*halves, _WEAVE)
        target = builder.bitcast(builder.gep(words_array.data, [arguments[1]]), _PAIRS.as_pointer())
        builder.store(woven, target, align=8)
        return context.get_dummy_value()

    return types.void(words, types.int64, source, low, high, types.int64), emit


def _split_halves(builder: Any, words: Any) -> list[Any]:
    """Return the low and the high halves of sixteen 64-bit words in memory."""
    pairs = builder.load(builder.bitcast(words, _PAIRS.as_pointer()), align=8)
    undefined = ir.Constant(_PAIRS, ir.Undefined)
    return [builder.shuffle_vector(pairs, undefined, places) for places in _EVEN_AND_ODD]


def _state(builder: Any, source: Any, places: list[Any]) -> list[Any]:
    half_words = builder.bitcast(source, _WORD32.as_pointer())
    key = [builder.load(builder.gep(half_words, [_index(i)]), align=4) for i in range(8)]
    return [*(_constant(word) for word in CONSTANTS), *(_spread(builder, word) for word in key), *places]


def _half_rounds(builder: Any, source: Any) -> Any:
    return builder.load(builder.gep(source, [_index(5)]), align=8)


def _places_in_stream(builder: Any, source: Any, group: Any) -> list[Any]:
    half_words = builder.bitcast(source, _WORD32.as_pointer())
    stream = [builder.load(builder.gep(half_words, [_index(i)]), align=4) for i in (8, 9)]
    # 16 times a group's number ends in four zero bits, so adding a lane's number never carries into the high half.
    block = builder.shl(group, ir.Constant(_WORD64, 4))
    block_low = builder.trunc(block, _WORD32)
    block_high = builder.trunc(builder.lshr(block, ir.Constant(_WORD64, 32)), _WORD32)
    return [
        builder.add(_spread(builder, block_low), ir.Constant(_LANES, list(range(LANES)))),
        _spread(builder, block_high),
        *(_spread(builder, half) for half in stream),
    ]


def _emit_rounds(builder: Any, firsts: list[list[Any]], half_rounds: Any) -> list[list[Any]]:
    """Return what the rounds make of each state, going through all of them step by step together."""
    before = builder.block
    loop = builder.append_basic_block("double_round")
    after = builder.append_basic_block("rounds_done")
    builder.branch(loop)
    builder.position_at_end(loop)
    left = builder.phi(_WORD64)
    left.add_incoming(half_rounds, before)
    entering = [[builder.phi(_LANES) for _ in range(16)] for _ in firsts]
    states = [list(state) for state in entering]
    for layer in COLUMNS_AND_DIAGONALS:
        for turn in (0, 2):
            # All quarter rounds of all states step by step together, not one after the other: with registers short
            # (AVX2) this order spills less, 0.80 against 0.93 ns a word at 8 rounds.
            for a, b, _, _ in layer:
                for x in states:
                    x[a] = builder.add(x[a], x[b])
            for a, _, _, d in layer:
                for x in states:
                    x[d] = _rotate(builder, builder.xor(x[d], x[a]), ROTATIONS[turn])
            for _, _, c, d in layer:
                for x in states:
                    x[c] = builder.add(x[c], x[d])
            for _, b, c, _ in layer:
                for x in states:
                    x[b] = _rotate(builder, builder.xor(x[b], x[c]), ROTATIONS[turn + 1])
    for phis, first, last in zip(entering, firsts, states, strict=True):
        for phi, start, end in zip(phis, first, last, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(end, loop)
    still = builder.sub(left, ir.Constant(_WORD64, 1))
    left.add_incoming(still, loop)
    builder.cbranch(builder.icmp_unsigned("!=", still, ir.Constant(_WORD64, 0)), loop, after)
    builder.position_at_end(after)
    return states


def _align_stack(builder: Any) -> None:
    """Make the enclosing function align its stack to a cache line, by a slot that an empty piece of assembly pins.

    Where registers are short (AVX2) half the state lives on the stack; whether a spilled register straddled two lines
    was luck of the call: 0.80 to 1.50 ns a word (8 rounds) in processes alike.
    """
    slot = cgutils.alloca_once(builder, _WORD64)
    slot.align = 64
    builder.asm(ir.FunctionType(ir.VoidType(), [_WORD64.as_pointer()]), "", "r", [slot], True)


def _rotate(builder: Any, value: Any, count: int) -> Any:
    signature = ir.FunctionType(_LANES, [_LANES] * 3)
    funnel_shift = cgutils.get_or_insert_function(builder.module, signature, f"llvm.fshl.v{LANES}i32")
    return builder.call(funnel_shift, [value, value, _constant(count)])


def _spread(builder: Any, word: Any) -> Any:
    undefined = ir.Constant(_LANES, ir.Undefined)
    single = builder.insert_element(undefined, word, ir.Constant(_WORD32, 0))
    return builder.shuffle_vector(single, undefined, ir.Constant(_LANES, [0] * LANES))


def _constant(word: int) -> Any:
    return ir.Constant(_LANES, [word] * LANES)


def _index(i: int) -> Any:
    return ir.Constant(_WORD64, i)


@device
def refill(words: Any, source: Any, position: int, wanted: int, draw_words: int) -> Any:
    """Write the next batch of the stream to ``words`` and return (skip, count).

    Afterwards ``words[skip : skip + count]`` are the words from ``position`` on, with 1 <= count <= wanted. A batch
    ends at a group's end, so that the next one wastes nothing; only where that would cut a draw of two words in half
    (``draw_words`` = 2 from an odd position) each batch makes a group more.

    Requires ``words`` of WORD_ROOM entries, and ``wanted`` >= 1 and a multiple of ``draw_words`` (1 or 2).
    """
    group = position >> 7
    skip = position & 127
    room = BATCH_WORDS - skip
    if room & (draw_words - 1):
        room = BATCH_WORDS
    count = min(room, wanted)
    groups = (skip + count + GROUP_WORDS - 1) >> 7
    for i in range(0, groups - 1, 2):
        write_two_groups(words, i * GROUP_WORDS, source, np.uint64(group + i))
    if groups & 1:
        write_group(words, (groups - 1) * GROUP_WORDS, source, np.uint64(group + groups - 1))
    return skip, count


@kernel
def copy_words(out: Any, source: Any, position: int, scratch: Any) -> None:
    """Write the words from ``position`` on to ``out`` (uint64)."""
    words = scratch[:WORD_ROOM]
    done = 0
    while done < out.size:
        skip, count = refill(words, source, position + done, out.size - done, 1)
        # Assigning slice to slice takes 0.63 against 0.43 ns a word (8 rounds), and its ValueError 1.3 s to compile.
        batch = words[skip : skip + count]
        target = out[done : done + count]
        for i in range(count):
            target[i] = batch[i]
        done += count
