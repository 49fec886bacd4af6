"""What the compiler makes of the hot kernels: packed arithmetic in vector registers, and no call to a library."""

import ast
import platform
import re
from collections import Counter
from pathlib import Path

import fresh_process
import numba
import numpy as np
import pytest
from llvmlite import binding
from numba import types

import lapnoise
from lapnoise import _jit
from lapnoise.bits.chacha_lanes import copy_words
from lapnoise.kernels.bounded_laplace import fill_bounded_laplace
from lapnoise.kernels.bounded_sums import sum_steps
from lapnoise.kernels.cell_numbers import check_decimals, read_integers
from lapnoise.kernels.cells import count_even_cells
from lapnoise.kernels.conditional_laplace import fill_conditional_laplace, fill_uniform_conditioned
from lapnoise.kernels.csv_scan import scan_rows, write_numbers
from lapnoise.kernels.decimals import read_points
from lapnoise.kernels.discrete_gaussian import fill_discrete_gaussian
from lapnoise.kernels.keyed_noise import fill_keyed_laplace, fill_keyed_laplace_wide, place_floats, place_integers
from lapnoise.kernels.laplace import fill_difference, fill_exponential, fill_laplace
from lapnoise.kernels.laplace_float32 import fill_difference32, fill_exponential32, fill_laplace32
from lapnoise.kernels.lattice_sum import add_steps, add_steps32
from lapnoise.kernels.log_laplace import fill_log_laplace
from lapnoise.kernels.planar_laplace import fill_planar_laplace
from lapnoise.kernels.selection import fill_exponential_bounds, fill_flip_bounds
from lapnoise.kernels.siphash import absorb_bytes, absorb_integers, finish
from lapnoise.kernels.strata import fill_discrete_laplace_strata

PACKAGE = Path(lapnoise.__file__).parent

WORDS = types.Array(types.uint64, 1, "C")
F64, F32 = types.float64, types.float32
A64, A32, A8 = (types.Array(kind, 1, "C") for kind in (F64, F32, types.int8))
C128, I64 = (types.Array(kind, 1, "C") for kind in (types.complex128, types.int64))
STREAM = (WORDS, types.int64, WORDS)
INT, U64 = types.int64, types.uint64
W2 = types.Array(types.uint64, 2, "C")
CODES, TABLE = types.Array(types.int8, 1, "C"), types.Array(types.float64, 2, "C")

# Kernel, signature, and the least number of packed fma and division instructions that its arithmetic needs: a logarithm
# of a uniform takes 8 fma and one division (float32: 4), one of a ratio 12 (float32: 8).
VECTORISED = {
    "laplace": (fill_laplace, (A64, F64, F64, *STREAM), 8),
    "laplace, arrays": (fill_laplace, (A64, A64, A64, *STREAM), 8),
    "laplace, array of scales": (fill_laplace, (A64, F64, A64, *STREAM), 8),
    "laplace, in place": (fill_laplace, (A64, types.none, F64, *STREAM), 8),
    "exponential": (fill_exponential, (A64, F64, *STREAM), 8),
    "difference": (fill_difference, (A64, F64, F64, *STREAM), 12),
    "difference, in place": (fill_difference, (A64, types.none, F64, *STREAM), 12),
    "log_laplace": (fill_log_laplace, (A64, A8, F64, *STREAM), 16),
    "laplace, float32": (fill_laplace32, (A32, F32, F32, *STREAM), 4),
    "laplace, float32, in place": (fill_laplace32, (A32, types.none, F32, *STREAM), 4),
    "exponential, float32": (fill_exponential32, (A32, F32, *STREAM), 4),
    "difference, float32": (fill_difference32, (A32, F32, F32, *STREAM), 8),
    "gaussian": (fill_discrete_gaussian, (I64, A64, *STREAM, I64), 8),
    "strata": (fill_discrete_laplace_strata, (I64, CODES, TABLE, *STREAM, I64), 8),
    "keyed": (fill_keyed_laplace, (I64, WORDS, WORDS, A64, WORDS, WORDS, I64), 8),
    "exponential selection": (fill_exponential_bounds, (A64, A64, A64, *STREAM), 16),
    "permute and flip": (fill_flip_bounds, (A64, A64, A64, *STREAM), 8),
}
OTHERS = {
    "words": (copy_words, (WORDS, *STREAM)),
    "bounded_laplace": (fill_bounded_laplace, (A64, F64, F64, F64, F64, *STREAM)),
    "conditional": (fill_conditional_laplace, (I64, I64, INT, INT, A64, *STREAM, I64)),
    "uniform, conditioned": (fill_uniform_conditioned, (I64, I64, INT, U64, U64, F64, *STREAM, I64)),
    "sums of steps": (sum_steps, (A64, F64, F64, F64, F64)),
    "drawn steps": (add_steps, (A64, A64, I64, A64)),
    "drawn steps, float32": (add_steps32, (A32, A32, I64, A64)),
    "cells": (count_even_cells, (types.Array(types.int64, 2, "C"), A64, A64, F64, F64, I64)),
    "keyed, wide": (fill_keyed_laplace_wide, (I64, WORDS, WORDS, A64, WORDS, WORDS, I64)),
    "places of floats": (place_floats, (WORDS, WORDS, W2, A64, A64)),
    "places of integers": (place_integers, (WORDS, WORDS, W2, I64, A64, INT, types.boolean)),
    "planar_laplace": (fill_planar_laplace, (C128, A64, F64, *STREAM, I64)),
}

BYTES, FROZEN = types.Array(types.uint8, 1, "C"), types.Array(types.uint8, 1, "C", readonly=True)
I32, FLAGS = types.Array(types.int32, 1, "C"), types.Array(types.boolean, 1, "C")
PLACES, ABSENT = (FROZEN, I32, I32, types.uint8), (FROZEN, I64, FLAGS)
BYTEWISE = {
    "check decimals": (check_decimals, (*PLACES, *ABSENT, BYTES)),
    "read points": (read_points, (*PLACES, *ABSENT, INT, A64, A64, A64, I64, BYTES)),
    "read integers": (read_integers, (*PLACES, *ABSENT, I64, BYTES)),
    "write floats": (write_numbers, (BYTES, FROZEN, INT, INT, I32, I32, BYTES, A64, WORDS)),
    "write integers": (write_numbers, (BYTES, FROZEN, INT, INT, I32, I32, BYTES, I64, WORDS)),
}
SCAN = (scan_rows, (FROZEN, INT, INT, types.boolean, types.uint8, types.uint8, FLAGS, INT, I32, I32))

LIBRARY = re.compile(
    r"\b_*(?:svml_\w+|(?:log|log1p|log2|log10|exp|exp2|expm1|pow|fma|fmod|floor|ceil|rint|round|ldexp|frexp|sqrt)[fl]?)\b"
)
PACKED_FMA = re.compile(r"^vfn?m(?:add|sub)\w*p[sd]$")
PACKED_DIVISION = re.compile(r"^vdivp[sd]$")


def machine_has(*features: str) -> bool:
    """Return whether Numba compiles for these features: the host's, or those of NUMBA_CPU_FEATURES."""
    if numba.config.CPU_FEATURES is not None:
        return {f"+{feature}" for feature in features} <= set(numba.config.CPU_FEATURES.split(","))
    found = binding.get_host_cpu_features()
    return all(found.get(feature, False) for feature in features)


x86_with_fma = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64") or not machine_has("avx2", "fma"),
    reason="reads x86 assembly, and without AVX2 and fma bits hold but speed does not",
)


def assembly(function, signature, **flags) -> str:
    """Compile a function for a signature, without the cache (cached code has no text), and return its assembly."""
    dispatcher = numba.njit(function, **flags)
    dispatcher.compile(signature)
    return dispatcher.inspect_asm(dispatcher.signatures[0])


def assembly_of(kernel, signature) -> str:
    """Return the assembly of one of our kernels, compiled with its own flags."""
    flags = {name: kernel.targetoptions[name] for name in ("nogil", "error_model")}
    return assembly(kernel.py_func, signature, **flags)


def innermost_loops(text: str) -> list[list[tuple[str, str]]]:
    """Return the blocks that jump back to their own label, as lists of (instruction, operands)."""
    loops = []
    label, body = "", []
    for line in text.splitlines():
        found = re.match(r"^(\.?\w+):", line)
        if found:
            label, body = found.group(1), []
            continue
        parts = line.split("#")[0].split(None, 1)
        if not parts or parts[0].startswith("."):
            continue
        instruction, operands = parts[0], parts[1].strip() if len(parts) > 1 else ""
        body.append((instruction, operands))
        if instruction.startswith("j") and operands == label:
            loops.append(body)
            body = []
    return loops


def packed_arithmetic(text: str) -> tuple[Counter, set[str], list[str]]:
    """Count packed fma and divisions in innermost loops, and name their registers and what these loops call."""
    counts, registers, calls = Counter(), set(), []
    for loop in innermost_loops(text):
        before = counts.total()
        for instruction, operands in loop:
            for kind, pattern in (("fma", PACKED_FMA), ("division", PACKED_DIVISION)):
                if pattern.match(instruction):
                    counts[kind] += 1
                    registers |= set(re.findall(r"%([xyz])mm", operands))
        if counts.total() > before:
            calls += [operands for instruction, operands in loop if instruction.startswith("call")]
    return counts, registers, calls


def library_calls(text: str) -> set[str]:
    """Return the names of mathematical library functions that the code refers to."""
    operands = " ".join(re.findall(r"^\s+(?:call\w*|jmp\w*|mov\w*|lea\w*)\s+(.*)$", text, re.MULTILINE))
    return set(LIBRARY.findall(operands))


def widest() -> set[str]:
    """Return the registers that full width may mean here; LLVM prefers 256 bits on some machines with 512."""
    return {"y", "z"} if machine_has("avx512f") else {"y"}


@x86_with_fma
@pytest.mark.parametrize("name", VECTORISED)
def test_hot_loops_are_packed(name):
    """The loops of a kernel have their fma and its division in full registers, and call nothing."""
    kernel, signature, least = VECTORISED[name]
    text = assembly_of(kernel, signature)
    counts, registers, calls = packed_arithmetic(text)

    assert counts["fma"] >= least
    assert counts["division"] >= 1
    assert registers & widest()
    assert calls == []
    assert library_calls(text) == set()


@x86_with_fma
@pytest.mark.parametrize("name", OTHERS)
def test_other_kernels_call_no_library(name):
    """Words and conditioned noise are made without the C library, whose last bits differ between machines."""
    assert library_calls(assembly_of(*OTHERS[name])) == set()


@x86_with_fma
@pytest.mark.parametrize(
    ("kernel", "groups"),
    [(OTHERS["words"], [1, 2] if machine_has("avx512f") else [1, 1, 1]), (VECTORISED["keyed"][:2], [1, 1])],
    ids=["words", "keyed"],
)
def test_cipher_rounds_are_packed(kernel, groups):
    """The double round is a loop of 32 additions and 32 exclusive ors a group, of full registers, with no call.

    Words are made of two groups at once where both fit into registers, and of one where their number is odd; keyed
    noise has the loop twice, for whole groups of rows and for the last one. With AVX2 a group takes 32 registers.
    """
    rounds = [
        loop
        for loop in innermost_loops(assembly_of(*kernel))
        if Counter(instruction for instruction, _ in loop)["vpaddd"] >= 32
    ]

    counted = [Counter(re.sub("(?<=vpxor)[dq]$", "", instruction) for instruction, _ in body) for body in rounds]
    least = min(names["vpaddd"] for names in counted)
    assert least >= 32
    assert sorted(names["vpaddd"] / least for names in counted) == groups
    for body, names in zip(rounds, counted, strict=True):
        assert names["vpxor"] > 0.9 * names["vpaddd"]  # the compiler may join one with a rotation
        assert {r for _, operands in body for r in re.findall(r"%([xyz])mm", operands)} & widest()
        assert not any(instruction.startswith("call") for instruction, _ in body)


HASHING = {
    "integers": (absorb_integers, (W2, I64, INT, INT), 16),
    "end": (finish, (W2, W2), 36),
}
"""Kernels of SipHash, and the additions in their 4 and 10 rounds; the output does not need all of the last four."""


@x86_with_fma
@pytest.mark.parametrize("name", HASHING)
def test_hash_rounds_are_packed(name):
    """SipHash of integers adds several rows at a time in full registers, and calls nothing."""
    kernel, signature, least = HASHING[name]
    loops = innermost_loops(assembly_of(kernel, signature))
    most = max(loops, key=lambda loop: Counter(instruction for instruction, _ in loop)["vpaddq"])

    assert Counter(instruction for instruction, _ in most)["vpaddq"] >= least
    assert {r for _, operands in most for r in re.findall(r"%([xyz])mm", operands)} & widest()
    assert not any(instruction.startswith("call") for instruction, _ in most)


@x86_with_fma
def test_hash_of_bytes_calls_nothing():
    """Rows of bytes are hashed one after the other, with no call in a loop."""
    loops = innermost_loops(assembly_of(absorb_bytes, (W2, I64, types.Array(types.uint8, 1, "C"), INT)))

    assert loops
    assert not any(instruction.startswith("call") for loop in loops for instruction, _ in loop)


def body(text: str) -> str:
    """Return the kernel itself, without what hands it the arguments of a Python call."""
    return text.split("\n_ZN7cpython")[0]


@x86_with_fma
@pytest.mark.parametrize("name", BYTEWISE)
def test_cells_are_read_and_written_without_a_call(name):
    """Numba counts references to arrays that are handed on, two calls a cell, so that addresses are."""
    text = assembly_of(*BYTEWISE[name])
    call = re.compile(r"^\s+call.*$", re.MULTILINE)
    assert call.findall(text)  # by what hands arguments over
    assert call.findall(body(text)) == []


@x86_with_fma
def test_cells_are_found_in_vector_registers():
    """The loops that look for the end of a cell compare 32 bytes at a time and call nothing."""
    loops = innermost_loops(body(assembly_of(*SCAN)))
    searching = [loop for loop in loops if any(instruction == "vpcmpeqb" for instruction, _ in loop)]
    assert searching
    assert not any(instruction.startswith("call") for loop in loops for instruction, _ in loop)
    for loop in searching:
        assert all("%ymm" in operands for instruction, operands in loop if instruction == "vpcmpeqb")


def fill_by_library(out, words):
    for i in range(out.size):
        out[i] = -np.log((np.float64(words[i]) + 0.5) / 18446744073709551616.0)


def fill_by_division(out, words):
    for i in range(out.size):
        out[i] = 1.0 / np.float64(words[i])


@x86_with_fma
def test_mutant_with_a_library_logarithm_is_caught():
    """A kernel that takes np.log is caught by name, and has no packed fma."""
    text = assembly(fill_by_library, (A64, WORDS), nogil=True, error_model="numpy")
    counts, _, _ = packed_arithmetic(text)

    assert library_calls(text) & {"log", "__svml_log8_mask", "__svml_log8", "__svml_log4"}
    assert counts["fma"] == 0


@x86_with_fma
def test_mutant_with_checked_division_is_caught():
    """A division that Numba checks for zero is not packed; the same loop without the check is."""
    checked, unchecked = (
        packed_arithmetic(assembly(fill_by_division, (A64, WORDS), error_model=model)) for model in ("python", "numpy")
    )

    assert checked[0]["division"] == 0
    assert unchecked[0]["division"] >= 1


def flag_sites(source: str, name: str = "<text>") -> list[str]:
    """Return where a module names one of Numba's decorators or flags, or imports a decorator from Numba."""
    decorators = {"jit", "njit", "vectorize", "guvectorize", "cfunc", "stencil", "prange", "generated_jit"}
    flags = {"fastmath", "nogil", "error_model", "forceinline", "parallel", "boundscheck", "nopython"}
    sites = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg in flags:
            found = node.arg
        elif isinstance(node, ast.Attribute) and node.attr in decorators:
            found = node.attr
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
            found = next(
                (alias.name for alias in node.names if alias.name in decorators | {"intrinsic", "overload"}), ""
            )
        elif isinstance(node, ast.Dict):
            found = next((k.value for k in node.keys if isinstance(k, ast.Constant) and k.value in flags), "")
        else:
            continue
        if found:
            sites.append(f"{name}:{getattr(node, 'lineno', 0)} {found}")
    return sites


MODULES = sorted(PACKAGE.rglob("*.py"))


def test_only_one_module_names_flags():
    """Every flag and decorator of Numba stands in _jit.py, with its reason, and nowhere else."""
    sites = {path.name: flag_sites(path.read_text(), path.name) for path in MODULES}

    assert len(MODULES) > 20
    assert sites.pop("_jit.py")
    assert [site for found in sites.values() for site in found] == []


def test_nothing_uses_fastmath():
    """N-32: every kernel says that it wants no fastmath; one that said nothing would take the flag of its caller."""
    for kernel, *_ in (*VECTORISED.values(), *OTHERS.values()):
        assert kernel.targetoptions["fastmath"] is False
        assert kernel.targetoptions["forceinline"] is False
    for name in ("device", "overload", "CFunction"):
        assert re.search(rf"(?:def|class) {name}\b.*?_(?:CALLED|INLINED)", (PACKAGE / "_jit.py").read_text(), re.DOTALL)
    assert (_jit._CALLED["fastmath"], _jit._INLINED["fastmath"]) == (False, False)


def test_a_callers_fastmath_stays_with_the_caller(tmp_path):
    """With an empty cache and callers with fastmath first, draws there, later and in the next process stay the same."""
    script = """
    import hashlib, numba, numpy as np, sys, lapnoise
    from lapnoise.embed import capi, jit

    law = jit.discrete_law(2.0**50)
    source, position = jit.reserve(lapnoise.default_rng(7), 0)

    def draws(words, out, law, source):
        for i in range(words.size):
            out[i], _ = jit.discrete_laplace_from_word(words[i], law)
        values = np.empty(words.size)
        jit.fill_laplace(values, 1.0, 3.0, source, 0)
        for i in range(words.size):
            values[i] = jit.laplace_from_word(words[i]) + 0.0 * values[i]
        return values

    def refused(out, source):
        jit.fill_laplace(out, 0.0, np.nan, source, 0)

    words = lapnoise.default_rng(7).words(20_000)
    found = []
    for options in ({"fastmath": True, "forceinline": True}, {}) if sys.argv[1] == "fast" else ({},):
        out = np.empty(words.size, np.int64)
        values = numba.njit(**options)(draws)(words, out, law, source)
        found.append(out.tobytes() + values.tobytes())
        try:
            numba.njit(**options)(refused)(np.empty(3), source)
            found.append(b"not refused")
        except ValueError:
            pass
    found.append(lapnoise.default_rng(7).laplace(1.0, 3.0, 20_000).tobytes())
    found.append(lapnoise.default_rng(7).discrete_laplace(2.0**50, 20_000).tobytes())
    found.append(lapnoise.default_rng(7).bounded_laplace(0.0, 1.0, -1.0, 1.0, 20_000).tobytes())
    print(*dict.fromkeys(hashlib.sha256(one).hexdigest() for one in found))
    """
    runs = [
        fresh_process.run(script, how, NUMBA_CACHE_DIR=tmp_path / cache, timeout=120)
        for how, cache in (("plain", "clean"), ("fast", "used"), ("plain", "used"))
    ]
    assert runs[0] == runs[1] == runs[2]
    assert len(runs[0].split()) == 4


@pytest.mark.parametrize(
    "text",
    [
        "import numba\n@numba.njit(fastmath=True)\ndef f(x):\n    return x\n",
        "from numba import njit\n",
        "from numba.extending import overload\n",
        "options = {'fastmath': True}\n",
        "def f(kernel):\n    return kernel(parallel=True)\n",
    ],
)
def test_mutants_that_name_flags_are_caught(text):
    """A decorator, an import, a keyword or a table of options outside of _jit.py is seen."""
    assert flag_sites(text)
