"""The kernels as C functions, called by ctypes, cffi, Cython, SciPy and compiled C: the draws are Generator's."""

import ctypes
import re
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import fresh_process
import numpy as np
import pytest
import scipy.ndimage
from bitwise import same

import lapnoise
from lapnoise.embed import capi, jit

SEED = 8
END = 2**62
F32, F64, I64, U64 = np.float32, np.float64, np.int64, np.uint64
C_PROGRAM = Path(__file__).parent / "data" / "embedded.c"

HEADER = (Path(capi.include()) / "lapnoise.h").read_text()
TYPEDEF = re.compile(r"typedef (\w+) \(\*lapnoise_(\w+)_t\)\(([^)]*)\);")
FUNCTIONS = [name for name in capi.__all__ if isinstance(getattr(capi, name), capi.CFunction)]

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def generator(position=0):
    rng = lapnoise.default_rng(SEED)
    rng.seek(position)
    return rng


@pytest.fixture
def source():
    return jit.reserve(generator(), 0)[0]


def pointer(array):
    """Return the pointer that a function's ctypes form takes."""
    kinds = {F64: ctypes.c_double, F32: ctypes.c_float, I64: ctypes.c_int64, U64: ctypes.c_uint64}
    return array.ctypes.data_as(ctypes.POINTER(kinds[array.dtype.type]))


def call(name, *arguments):
    """Call a function with arrays as pointers."""
    given = [pointer(a) if isinstance(a, np.ndarray) else a for a in arguments]
    return getattr(capi, name).ctypes(*given)


def c_name(kind):
    """Return how the header writes a ctypes type."""
    if kind is ctypes.c_void_p:
        return "void *"
    if hasattr(kind, "contents"):
        return c_name(kind._type_) + " *"
    sizes = {"l": "int", "q": "int", "i": "int", "L": "uint", "Q": "uint", "I": "uint"}
    code = kind._type_
    if code in sizes:
        return f"{sizes[code]}{8 * ctypes.sizeof(kind)}_t"
    return {"d": "double", "f": "float"}[code]


def test_the_header_declares_what_there_is():
    """Each function stands in the header with the types by which it is compiled, and nothing else stands there."""
    declared = {}
    for result, name, arguments in TYPEDEF.findall(HEADER):
        kinds = [re.sub(r"\s*\w+$", "", one.replace("const ", "").strip()) for one in arguments.split(",")]
        declared[name] = (result, [one.replace("intptr_t", "int64_t").strip() for one in kinds])
    assert set(declared) == set(FUNCTIONS)
    for name in FUNCTIONS:
        function = getattr(capi, name).ctypes
        expected = (c_name(function.restype), [c_name(kind) for kind in function.argtypes])
        assert (declared[name][0].replace("int", "int32_t") if declared[name][0] == "int" else declared[name][0]) == (
            expected[0]
        )
        assert [one.replace(" *", "*") for one in declared[name][1]] == [one.replace(" *", "*") for one in expected[1]]


def test_the_codes_are_the_headers():
    """The numbers of the header are those that the functions return."""
    codes = dict(re.findall(r"LAPNOISE_(\w+) = (-?\d+)", HEADER))
    assert {name: int(code) for name, code in codes.items()} == {
        name: getattr(capi, name)
        for name in ("OK", "NULL", "MISALIGNED", "LENGTH", "SOURCE", "POSITION", "SCALE", "LAW")
    }


@pytest.mark.parametrize("n", [0, 1, 129, 1_001])
@pytest.mark.parametrize("position", [0, 77, END - 2_000])
def test_draws(source, n, position):
    """Each function writes the bits that Generator draws at the position."""
    words, double, single = np.zeros(n, U64), np.zeros(n), np.zeros(n, F32)
    assert call("fill_words", words, n, source, position) == 0
    assert np.array_equal(words, generator(position).words(n))
    assert call("fill_laplace", double, n, 1.5, 3.0, source, position) == 0
    assert same(double, generator(position).laplace(1.5, 3.0, n))
    assert call("add_laplace", double, n, 2.0, source, position) == 0
    assert same(double, generator(position).add_laplace(generator(position).laplace(1.5, 3.0, n), 2.0))
    assert call("fill_exponential", double, n, 3.0, source, position) == 0
    assert same(double, generator(position).exponential(3.0, n))
    assert call("fill_laplace32", single, n, 1.5, 3.0, source, position) == 0
    drawn = generator(position).laplace(1.5, 3.0, n, dtype=F32)
    assert same(single, drawn)
    assert call("add_laplace32", single, n, 2.0, source, position) == 0
    assert same(single, generator(position).add_laplace(drawn, 2.0))
    assert call("fill_exponential32", single, n, 3.0, source, position) == 0
    assert same(single, generator(position).exponential(3.0, n, dtype=F32))


def test_draws_of_words():
    """The functions of one word give Generator's standard draws."""
    words = generator().words(100)
    draws = [capi.laplace_from_word.ctypes(word) for word in words.tolist()]
    assert same(np.array(draws), generator().laplace(0.0, 1.0, 100))
    assert same(np.array([capi.exponential_from_word.ctypes(w) for w in words.tolist()]), np.abs(draws))
    halves = [capi.laplace_from_half_word.ctypes(half) for half in words.view(np.uint32).tolist()]
    assert same(np.array(halves, F32), generator().laplace(0.0, 1.0, 200, dtype=F32))


@pytest.mark.parametrize("t", [0.0, 20.5, 2.0**57])
def test_discrete_draws(source, t):
    """Exact draws are Generator's once those that are left over are finished."""
    law = capi.discrete_law(t)
    out, undecided = np.empty(1_000, I64), np.empty(300, I64)
    count = call("fill_discrete_laplace", out, out.size, law, source, 5, undecided, undecided.size)
    where = undecided[:count]
    assert not out[where].any()
    out[where] = capi.finish(law, source, 5 + where)
    assert np.array_equal(out, generator(5).discrete_laplace(t, 1_000))
    assert (count > 10) == (t == 2.0**57)


def test_a_cursor_gives_words_to_its_end():
    """next_word gives the reserved words one by one, and then LAPNOISE_POSITION."""
    rng = generator(120)
    state, word = capi.cursor(rng, 200), np.zeros(1, U64)
    found = []
    for _ in range(200):
        assert call("next_word", state, word) == capi.OK
        found.append(word[0])
    assert np.array_equal(found, generator(120).words(200))
    assert rng.position == 320
    assert call("next_word", state, word) == call("next_word", state, word) == capi.POSITION


REFUSED = {
    "fill_words": lambda p, s: ("fill_words", p["out"], p["n"], s, p["position"]),
    "fill_laplace": lambda p, s: ("fill_laplace", p["out"], p["n"], 0.0, p["scale"], s, p["position"]),
    "add_laplace": lambda p, s: ("add_laplace", p["out"], p["n"], p["scale"], s, p["position"]),
    "fill_exponential": lambda p, s: ("fill_exponential", p["out"], p["n"], p["scale"], s, p["position"]),
    "fill_laplace32": lambda p, s: ("fill_laplace32", p["out"], p["n"], 0.0, p["scale"], s, p["position"]),
    "add_laplace32": lambda p, s: ("add_laplace32", p["out"], p["n"], p["scale"], s, p["position"]),
    "fill_exponential32": lambda p, s: ("fill_exponential32", p["out"], p["n"], p["scale"], s, p["position"]),
    "fill_discrete_laplace": lambda p, s: (
        *("fill_discrete_laplace", p["out"], p["n"], p["law"], s, p["position"], p["undecided"], p["room"]),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(source, name):
    """Null and misaligned pointers, negative lengths, bad sources, places and scales give a code and write nothing."""
    function = getattr(capi, name).ctypes
    size = ctypes.sizeof(function.argtypes[0]._type_)
    memory = np.full(4, 7, U64)
    law, undecided = capi.discrete_law(3.0), np.empty(3, I64)
    fine = {"out": memory.ctypes.data, "n": 3, "scale": 1.0, "position": 0, "room": 3}
    fine |= {"law": law.ctypes.data, "undecided": undecided.ctypes.data}
    nothing = source * 0
    nine_rounds = source.copy()
    nine_rounds[5] = 9
    words = 3 if size == 8 else 2
    tried = [
        ({"out": 0}, source, capi.NULL),
        ({"out": memory.ctypes.data + size // 2}, source, capi.MISALIGNED),
        ({"n": -1}, source, capi.LENGTH),
        ({"n": -(2**63)}, source, capi.LENGTH),
        ({}, None, capi.NULL),
        ({}, source.ctypes.data + 4, capi.MISALIGNED),
        ({}, nothing, capi.SOURCE),
        ({}, nine_rounds, capi.SOURCE),
        ({"position": -1}, source, capi.POSITION),
        ({"position": END - words + 1}, source, capi.POSITION),
        ({"position": 2**63 - 1}, source, capi.POSITION),
        ({"n": 2**63 - 1}, source, capi.LENGTH),
        ({"n": 2**60 + 1}, source, capi.LENGTH),
        ({"n": 2**60, "position": END - 1000}, source, capi.POSITION),
    ]
    if name not in ("fill_words", "fill_discrete_laplace"):
        bad = [-1.0, -0.0, np.nan, np.inf, -np.inf, 4.1e306 if size == 8 else 1.5e37]
        tried += [({"scale": scale}, source, capi.SCALE) for scale in bad]
    if name == "fill_discrete_laplace":
        laws = [np.array([t, *law[1:]]) for t in (-1.0, np.nan, 2.0**58)]
        tried += [({"law": one.ctypes.data}, source, capi.LAW) for one in laws]
        tried += [({"law": 0}, source, capi.NULL), ({"undecided": 0}, source, capi.NULL)]
        tried += [({"law": law.ctypes.data + 4}, source, capi.MISALIGNED), ({"room": -1}, source, capi.LENGTH)]

    def found(changes, origin):
        _, *arguments = REFUSED[name](fine | changes, origin.ctypes.data if isinstance(origin, np.ndarray) else origin)
        pairs = zip(arguments, function.argtypes, strict=True)
        return function(*[ctypes.cast(v or 0, kind) if hasattr(kind, "contents") else v for v, kind in pairs])

    for changes, origin, code in tried:
        assert found(changes, origin) == code, changes
    assert np.array_equal(memory, [7, 7, 7, 7])
    assert found({"n": 0}, source) == capi.OK


def test_next_word_refuses():
    """A cursor that is null, misaligned or none is told by a code."""
    word = np.zeros(1, U64)
    cursor = capi.cursor(generator(), 1)
    kind = ctypes.POINTER(ctypes.c_uint64)
    function = capi.next_word.ctypes
    good = pointer(word)
    assert function(ctypes.cast(0, kind), good) == function(pointer(cursor), ctypes.cast(0, kind)) == capi.NULL
    assert function(ctypes.cast(cursor.ctypes.data + 4, kind), good) == capi.MISALIGNED
    assert function(pointer(np.zeros(136, U64)), good) == capi.SOURCE
    assert word[0] == 0


def test_scipy_filters_lines():
    """generic_filter1d adds Generator's noise to an image, line by line, with a margin too, and ends with its words."""
    image = np.arange(35.0).reshape(5, 7)
    for size in (1, 3):
        rng = generator(9)
        noise = capi.line_noise(rng, 2.0, image.size)
        assert rng.position == 9 + image.size
        noisy = scipy.ndimage.generic_filter1d(image, noise, filter_size=size)
        assert same(noisy, generator(9).add_laplace(image, 2.0))
        with pytest.raises(RuntimeError, match="line processing function"):
            scipy.ndimage.generic_filter1d(image, noise, filter_size=size)


def test_line_noise_refuses():
    """The scale and the number of words are checked before a word is reserved."""
    rng = generator()
    with pytest.raises(ValueError, match=r"^scale must be finite and >= 0, and not -0\.0, got -2\.0$"):
        capi.line_noise(rng, -2.0, 5)
    with pytest.raises(TypeError, match=r"^scale must be one number, got an array of shape \(1,\)$"):
        capi.line_noise(rng, [1.0], 5)
    with pytest.raises(ValueError, match=r"^words must be >= 0, got -5$"):
        capi.line_noise(rng, 2.0, -5)
    assert rng.position == 0


def test_filter_line_refuses():
    """Null and misaligned pointers, bad lengths and bad states are refused by 0, and move nothing."""
    line, out = np.full(8, 7.0), np.full(8, 7.0)
    good = (ctypes.c_uint64 * 9)(*jit.reserve(generator(), 8)[0].tolist(), 0, 8)
    good[8] = int(np.float64(2.0).view(U64))
    double = ctypes.POINTER(ctypes.c_double)

    def found(one=line.ctypes.data, n=8, two=out.ctypes.data, out_n=8, state=None, **changes):
        words = (ctypes.c_uint64 * 9)(*good)
        for place, value in changes.items():
            words[int(place[1:])] = value
        where = ctypes.addressof(words) if state is None else state
        code = capi.filter_line.ctypes(ctypes.cast(one, double), n, ctypes.cast(two, double), out_n, where)
        return code, words[6]

    bad_scale = int(np.float64(-2.0).view(U64))
    for refused in (
        *({"one": 0}, {"two": 0}, {"one": line.ctypes.data + 4}, {"two": out.ctypes.data + 1}, {"n": -8, "out_n": -8}),
        *(
            {"n": 7},
            {"out_n": 9, "n": 9},
            {"_5": 0},
            {"_5": 7},
            {"_8": bad_scale},
            {"_7": 7},
            {"_6": 2**63, "_7": 2**63 + 8},
        ),
    ):
        code, place = found(**refused)
        assert code == 0, refused
        assert place == refused.get("_6", 0)
    assert found(state=0)[0] == 0
    assert (out == 7.0).all()
    assert found() == (1, 8)
    assert same(out, generator().add_laplace(line, 2.0))


def test_a_function_tells_what_it_is():
    """help() shows the docstring and the types, and a call goes by ctypes."""
    assert capi.fill_laplace.__doc__ == "Write draws of Laplace(loc, scale)."
    assert "CPointer(float64), int64, float64, float64" in repr(capi.fill_laplace)
    assert capi.laplace_from_word(5) == capi.laplace_from_word.ctypes(5)


@pytest.mark.parametrize("name", ["fill_laplace", "fill_discrete_laplace"])
def test_no_memory_is_asked_for(name):
    """No function asks for an array, which could be refused: it would return as if it had drawn."""
    function = getattr(capi, name)._uncompiled()
    function.compile()
    assert "define" in function.inspect_llvm()
    assert "NRT_MemInfo_alloc" not in function.inspect_llvm()


def test_cffi(source):
    """Cffi parses the declarations, and calls a function by its address."""
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef(capi.declarations())
    fill = ffi.cast("lapnoise_fill_laplace_t", capi.fill_laplace.address)
    out = np.empty(500)
    code = fill(
        *(ffi.from_buffer("double[]", out, require_writable=True), out.size, 0.0, 2.0),
        *(ffi.from_buffer("uint64_t[]", source), 3),
    )
    assert code == ffi.typeof("enum lapnoise_code").relements["LAPNOISE_OK"]
    assert same(out, generator(3).laplace(0.0, 2.0, 500))


@needs_compiler
def test_a_c_program(tmp_path, source):
    """Compiled C fills a buffer through the functions, in pieces and draw by draw; the compiler warns of nothing."""
    library = tmp_path / "embedded.so"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, f"-I{capi.include()}", "-o", library, C_PROGRAM, "-lm"], check=True)
    program = ctypes.CDLL(str(library))
    out = np.empty(100_000)
    address = ctypes.c_void_p
    program.fill_in_pieces.restype = ctypes.c_double
    mean = program.fill_in_pieces(
        *(
            address(capi.fill_laplace.address),
            address(capi.fill_words.address),
            address(capi.laplace_from_word.address),
        ),
        *(address(out.ctypes.data), ctypes.c_int64(out.size), address(source.ctypes.data), ctypes.c_int64(17)),
    )
    assert same(out, generator(17).laplace(1.0, 2.0, out.size))
    assert mean == pytest.approx(np.abs(out - 1.0).mean(), rel=1e-12)

    steps = program.steps_to_leave
    steps.restype = ctypes.c_int64
    functions = address(capi.next_word.address), address(capi.laplace_from_word.address)
    walk = np.abs(np.cumsum(generator().laplace(0.0, 1.0, 10_000)))
    expected = int(np.flatnonzero(walk >= 10.0)[0]) + 1
    assert steps(*functions, address(capi.cursor(generator(), expected).ctypes.data)) == expected
    assert steps(*functions, address(capi.cursor(generator(), expected - 1).ctypes.data)) == capi.POSITION


@needs_compiler
def test_cython(tmp_path):
    """A Cython module includes the header, casts an address, and draws without Python's lock."""
    pytest.importorskip("Cython")
    module = tmp_path / "noisy_module.pyx"
    module.write_text(
        textwrap.dedent(
            """
            # cython: language_level=3
            from libc.stdint cimport int64_t, intptr_t, uint64_t

            cdef extern from "lapnoise.h":
                ctypedef int64_t (*lapnoise_add_laplace_t)(double *, int64_t, double, const uint64_t *, int64_t) nogil

            from lapnoise.embed import capi

            cdef lapnoise_add_laplace_t add = <lapnoise_add_laplace_t><intptr_t>capi.add_laplace.address

            def noisy(double[::1] values, double scale, const uint64_t[::1] source, int64_t position):
                cdef int64_t code
                with nogil:
                    code = add(&values[0], values.shape[0], scale, &source[0], position)
                return code
            """
        )
    )
    subprocess.run([sys.executable, "-m", "cython", "-3", str(module)], check=True)
    target = module.with_name("noisy_module" + sysconfig.get_config_var("EXT_SUFFIX"))
    include = [f"-I{sysconfig.get_path('include')}", f"-I{capi.include()}"]
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", *include, module.with_suffix(".c"), "-o", target], check=True)
    script = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import lapnoise, noisy_module, numpy as np
    from lapnoise.embed import capi
    x = np.arange(50.0)
    source, position = capi.reserve(lapnoise.default_rng(8), 50)
    print(noisy_module.noisy(x, 2.0, source, position), x.tobytes().hex())
    """
    code, drawn = fresh_process.run(script, tmp_path).split()
    assert code == "0"
    assert drawn == generator().add_laplace(np.arange(50.0), 2.0).tobytes().hex()


def test_threads_share_a_function(source):
    """Threads that call one function at once, without Python's lock, each write their part of one stretch."""
    from concurrent.futures import ThreadPoolExecutor

    out = np.empty(200_000)
    parts = range(0, out.size, 10_000)
    fill = capi.fill_laplace.ctypes

    def run(start):
        piece = out[start : start + 10_000]
        return fill(pointer(piece), piece.size, 0.0, 1.0, pointer(source), start)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(run, parts)) == {0}
    assert same(out, generator().laplace(0.0, 1.0, out.size))


def test_functions_are_found_in_the_cache(tmp_path):
    """A second process loads the code that the first one compiled."""
    script = """
    from lapnoise.embed import capi
    capi.fill_laplace.address
    print(capi.fill_laplace._compiled.cache_hits)
    """
    runs = [fresh_process.run(script, NUMBA_CACHE_DIR=tmp_path / "cache").strip() for _ in range(2)]
    assert runs == ["0", "1"]
