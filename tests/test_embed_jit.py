"""Device functions in a user's jitted code: the words and draws of Generator, bit for bit, in any order of places."""

import pickle
import textwrap
from pathlib import Path

import fresh_process
import numba
import numpy as np
import pytest
from bitwise import same
from exact_words import UNDECIDED, boundary_words, law, wrong
from kernels.test_assembly import assembly, packed_arithmetic, widest, x86_with_fma

import lapnoise
from lapnoise.embed import jit

SEED = 20_261
END = 2**62
F32, F64 = np.float32, np.float64


def generator(rounds=12, position=0):
    rng = lapnoise.default_rng(SEED, rounds=rounds)
    rng.seek(position)
    return rng


@numba.njit
def words_at(out, source, position):
    for i in range(out.size):
        out[i] = jit.word_at(source, position + i)


@numba.njit
def fill_words(out, source, position):
    jit.fill_words(out, source, position)


@numba.njit
def fill(out, loc, scale, source, position):
    jit.fill_laplace(out, loc, scale, source, position)


@numba.njit
def add(values, scale, source, position):
    jit.add_laplace(values, scale, source, position)


@numba.njit
def fill_exponential(out, scale, source, position):
    jit.fill_exponential(out, scale, source, position)


@numba.njit
def fill_discrete(out, law, source, position, undecided):
    return jit.fill_discrete_laplace(out, law, source, position, undecided)


@numba.njit
def transform(words, loc, scale):
    out = np.empty(words.size)
    for i in range(words.size):
        out[i] = loc + scale * jit.laplace_from_word(words[i])
    return out


@numba.njit
def transform32(half_words, loc, scale):
    out = np.empty(half_words.size, np.float32)
    for i in range(half_words.size):
        out[i] = loc + scale * jit.laplace_from_half_word(half_words[i])
    return out


@numba.njit
def magnitudes(words):
    out = np.empty(words.size)
    for i in range(words.size):
        out[i] = jit.exponential_from_word(words[i])
    return out


@numba.njit
def discrete(words, law):
    out, decided = np.empty(words.size, np.int64), np.empty(words.size, np.bool_)
    for i in range(words.size):
        out[i], decided[i] = jit.discrete_laplace_from_word(words[i], law)
    return out, decided


@numba.njit
def take(cursor, n):
    out = np.empty(n, np.uint64)
    for i in range(n):
        out[i] = jit.next_word(cursor)
    return out


@numba.njit(parallel=True)
def shuffled(x, scale, source, position):
    for i in numba.prange(x.size):
        k = x.size - 1 - i
        x[k] += scale * jit.laplace_at(source, position + k)


@pytest.mark.parametrize("rounds", [8, 12, 20])
@pytest.mark.parametrize("position", [0, 1, 127, 128, 5_003, END - 300])
def test_words(rounds, position):
    """By place, by buffer and one after the other come the words of the stream; reserving moves the generator on."""
    rng = generator(rounds, position)
    expected = generator(rounds, position).words(300)
    source, start = jit.reserve(rng, 300)
    assert (start, rng.position) == (position, position + 300)
    out = np.zeros((2, 300), np.uint64)
    words_at(out[0], source, start)
    fill_words(out[1], source, start)
    assert np.array_equal(out, [expected, expected])
    assert np.array_equal(take(jit.cursor(generator(rounds, position), 300), 300), expected)
    assert jit.word_at(source, start + 299) == expected[299]


@pytest.mark.parametrize("kind", [F64, F32])
@pytest.mark.parametrize("position", [0, 77])
@pytest.mark.parametrize("n", [0, 1, 2, 127, 1_501])
def test_fills_are_those_of_generator(kind, position, n):
    """Whole fills give Generator's bits: numbers and arrays, both dtypes, odd lengths."""
    source, _ = jit.reserve(generator(), 0)
    scales, locs = np.linspace(0, 3, n).astype(kind), np.linspace(-5, 5, n).astype(kind)
    out = np.empty(n, kind)
    for loc, scale in ((0.0, 1.0), (2.5, 3), (locs, scales), (0, scales), (locs, 0.0)):
        fill(out, loc, scale, source, position)
        assert same(out, generator(position=position).laplace(loc, scale, n, dtype=kind))
        fill_exponential(out, scale, source, position)
        assert same(out, generator(position=position).exponential(scale, n, dtype=kind))
        values = locs.copy()
        add(values, scale, source, position)
        assert same(values, generator(position=position).add_laplace(locs, scale))


def test_strided_arrays():
    """Every second entry is as good as an array of its own, and the others stay as they are."""
    source, _ = jit.reserve(generator(), 0)
    out = np.zeros(400)
    fill(out[::2], 1.0, 2.0, source, 5)
    assert same(out[::2].copy(), generator(position=5).laplace(1.0, 2.0, 200))
    assert not out[1::2].any()


def test_a_word_makes_generators_draw():
    """Loc + scale times the standard draw of a word is Generator's draw there, and the exponential its magnitude."""
    words = generator().words(3_000)
    for loc, scale in ((0.0, 1.0), (1.0, 2.0), (-1e300, 3e299), (0.1, 1e-300), (0.0, 5e-324)):
        assert same(transform(words, loc, scale), generator().laplace(loc, scale, words.size))
    assert same(magnitudes(words), generator().exponential(1.0, words.size))
    halves = words.view(np.uint32)
    assert same(transform32(halves, F32(1), F32(3)), generator().laplace(1, 3, halves.size, dtype=F32))


def test_ends_of_the_uniform():
    """The words at both ends give the largest and the least magnitude, of the sign that bit 0 tells."""
    words = np.array([0, 1, 2**64 - 2, 2**64 - 1], np.uint64)
    assert same(transform(words, 0.0, 1.0), np.array([64 * np.log(2), -64 * np.log(2), 2.0**-64, -(2.0**-64)]))
    halves = np.array([0, 1, 2**32 - 2, 2**32 - 1], np.uint32)
    largest = F32(32 * np.log(2))
    least = F32(2.0**-32)
    assert same(transform32(halves, F32(0), F32(1)), np.array([largest, -largest, least, -least], F32))


@pytest.mark.parametrize("t", [0.0, 0.01, 1.0, 1000.5, 2.0**43, 2.0**44, 2.0**57])
@pytest.mark.parametrize("position", [0, 333])
def test_discrete(t, position):
    """Draws of whole fills and of single words, the open ones finished, are Generator's."""
    n = 2_000
    source, _ = jit.reserve(generator(), 0)
    numbers = jit.discrete_law(t)
    expected = generator(position=position).discrete_laplace(t, n)
    out, undecided = np.empty(n, np.int64), np.empty(n, np.int64)
    count = fill_discrete(out, numbers, source, position, undecided)
    where = undecided[:count]
    assert not out[where].any()
    out[where] = jit.finish(numbers, source, position + where)
    assert np.array_equal(out, expected)
    single, decided = discrete(generator(position=position).words(n), numbers)
    assert np.array_equal(np.flatnonzero(~decided), where)
    assert np.array_equal(single[decided], expected[decided])
    assert not single[~decided].any()
    # At 2^57 a cell of 2^-63 is as wide as 1/64 step where U is near 1, and wider elsewhere: some 6 % stay open.
    assert count == 0 if t <= 1000.5 else count < 0.2 * n
    assert t < 2.0**57 or count > 0.02 * n


def test_discrete_draws_left_over_are_counted():
    """Where there is room for three undecided draws the first three are told, and the number of all."""
    source, _ = jit.reserve(generator(), 0)
    law = jit.discrete_law(2.0**57)
    out, every, three = np.empty(2_000, np.int64), np.empty(2_000, np.int64), np.full(4, -7)
    count = fill_discrete(out, law, source, 0, every)
    assert fill_discrete(out, law, source, 0, three[:3]) == count > 3
    assert np.array_equal(three, [*every[:3], -7])


@pytest.mark.parametrize("t", [0.37, 5.0, 1e6])
def test_discrete_words_at_boundaries(t):
    """Words beside every step of the distribution give the exact integer, or none."""
    words, at, distance = boundary_words(t, 100, seed=3)
    found, decided = discrete(words, jit.discrete_law(t))
    assert decided.mean() > 0.4
    assert wrong(np.where(decided, np.abs(found), UNDECIDED), at, distance) == 0
    # A law whose kappa is off by a few cells must be seen.
    found, decided = discrete(words, law(t, kappa=law(t)[1] + 2.0**-40 * t))
    assert wrong(np.where(decided, np.abs(found), UNDECIDED), at, distance) > 0


def test_any_order_of_places():
    """A parallel loop that takes its draws from the last to the first adds Generator's noise."""
    rng = generator()
    rng.words(11)
    source, position = jit.reserve(rng, 5_000)
    x = np.arange(5_000.0)
    shuffled(x, 2.0, source, position)
    assert same(x, generator(position=11).add_laplace(np.arange(5_000.0), 2.0))


def test_reserved_words_are_given_out_once():
    """What is reserved is passed over by the draws that follow, and by the next reservation."""
    rng = generator()
    source, first = jit.reserve(rng, 10)
    again, second = jit.reserve(rng, 5)
    assert (first, second, rng.position) == (0, 10, 15)
    assert np.array_equal(source, again)
    assert np.array_equal(rng.words(3), generator(position=15).words(3))
    source[:] = 0
    assert np.array_equal(rng.words(3), generator(position=18).words(3))


def test_a_cursor_ends():
    """A cursor gives as many words as were reserved, and refuses more, however it was moved there."""
    cursor = jit.cursor(generator(position=120), 20)
    assert np.array_equal(take(cursor, 20), generator(position=120).words(20))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^cursor must be reserved for all words .* it ends at 140$"):
            take(cursor, 1)
    with pytest.raises(ValueError, match=r"^cursor must be an array as cursor\(\) returns it, got 6 words$"):
        take(np.zeros(6, np.uint64), 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: fill(np.empty(5), 0.0, -1.0, s, 0), "scale must be finite and >= 0, and not -0.0, got -1.0"),
        (lambda s: fill(np.empty(5), 0.0, -0.0, s, 0), "scale must be finite and >= 0, and not -0.0, got -0.0"),
        (lambda s: fill(np.empty(5), 0.0, np.nan, s, 0), "scale must be finite and >= 0, and not -0.0, got nan"),
        (lambda s: fill(np.empty(5), 0.0, np.inf, s, 0), "scale must be finite and >= 0, and not -0.0, got inf"),
        (
            lambda s: fill(np.empty(2), 0.0, np.array([1.0, -2.0]), s, 0),
            "scale must be finite and >= 0, and not -0.0, got -2.0",
        ),
        (
            lambda s: fill(np.empty(5, F32), 0.0, 1e-60, s, 0),
            "scale must be finite and >= 0, and neither -0.0 nor rounded to 0, got 1e-60",
        ),
        (lambda s: add(np.empty(5), -1, s, 0), "scale must be finite and >= 0, and not -0.0, got -1.0"),
        (lambda s: fill_exponential(np.empty(5), -1.0, s, 0), "scale must be finite and >= 0, and not -0.0, got -1.0"),
        (lambda s: fill(np.empty(5), 0.0, np.ones(4), s, 0), "loc and scale must have out's length 5, got 4"),
        (lambda s: fill(np.empty(5), np.ones(6), 1.0, s, 0), "loc and scale must have out's length 5, got 6"),
        (lambda s: fill(np.empty(5), 0.0, 1.0, s, -1), "position must be from 0 to 2**62 - 5, the words taken, got -1"),
        (
            lambda s: fill(np.empty(5), 0.0, 1.0, s, END - 4),
            f"position must be from 0 to 2**62 - 5, the words taken, got {END - 4}",
        ),
        (
            lambda s: fill(np.empty(5, F32), 0.0, 1.0, s, END - 2),
            f"position must be from 0 to 2**62 - 3, the words taken, got {END - 2}",
        ),
        (
            lambda s: words_at(np.empty(2, np.uint64), s, END - 1),
            f"position must be from 0 to 2**62 - 1, the words taken, got {END}",
        ),
        (
            lambda s: fill_words(np.empty(2, np.uint64), s, 2**63 - 1),
            f"position must be from 0 to 2**62 - 2, the words taken, got {2**63 - 1}",
        ),
        (
            lambda s: fill_words(np.empty(2, np.uint64), s[:5], 0),
            "source must be an array of 6 words, as reserve returns it, got 5 words",
        ),
        (
            lambda s: fill_words(np.empty(2, np.uint64), s * 0, 0),
            "source must be an array as reserve returns it, got one whose last word is 0: no half of 8, 12 or 20",
        ),
        (
            lambda s: fill_discrete(np.empty(2, np.int64), np.ones(4), s, 0, np.empty(2, np.int64)),
            "law must be an array as discrete_law returns it, got 4 numbers",
        ),
        (
            lambda s: fill_discrete(np.empty(2, np.int64), -LAW, s, 0, np.empty(2, np.int64)),
            "law must begin with a scale from 0 to 2**57, as discrete_law returns it, got -1.0",
        ),
        (
            lambda s: discrete(np.empty(2, np.uint64), np.full(5, 2.0**58)),
            f"law must begin with a scale from 0 to 2**57, as discrete_law returns it, got {2.0**58}",
        ),
    ],
)
def test_refusals_in_jitted_code(call, message):
    """What is out of range in jitted code raises a ValueError that names the parameter, the rule and the value."""
    source, _ = jit.reserve(generator(), 0)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 # the message is compared whole
        call(source)
    assert str(caught.value) == message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


def test_a_refused_array_is_nan():
    """Whatever is refused leaves NaN, so that a lost exception cannot leave values without noise."""
    source, _ = jit.reserve(generator(), 0)
    wrong = ((np.array([1.0, 1.0, -1.0]), 0), (1.0, END), (np.ones(2), 0), (-1.0, 0))
    for scale, position in wrong:
        case = scale, source, position
        for call, arguments in ((fill, (0.0, *case)), (add, case), (fill_exponential, case)):
            out = np.full(3, 7.0)
            with pytest.raises(ValueError, match=r"must "):
                call(out, *arguments)
            assert np.isnan(out).all()


@numba.njit(parallel=True)
def rows_with_noise(x, scales, source, position):
    for i in numba.prange(x.shape[0]):
        jit.add_laplace(x[i], scales[i], source, position + i * x.shape[1])


@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_a_refused_row_of_a_parallel_loop_is_nan(layer):
    """Whether Numba hands the error on or loses it, the refused row is NaN; `verify` tells it before."""
    script = """
    import numpy as np, lapnoise, test_embed_jit
    from lapnoise.embed import jit
    source, position = jit.reserve(lapnoise.default_rng(1), 1_000)
    for bad in range(0, 100, 7):
        x, scales = np.zeros((100, 10)), np.ones(100)
        scales[bad] = -1.0
        try:
            test_embed_jit.rows_with_noise(x, scales, source, position)
        except SystemError:
            pass
        assert np.isnan(x[bad]).all()
        try:
            jit.verify(source, position, 1_000, scales)
        except ValueError as error:
            assert str(error).startswith(f"scale[{bad}] must be finite and >= 0")
        else:
            raise AssertionError("not refused")
    print("done")
    """
    path = str(Path(__file__).parent)
    source = f"import sys; sys.path.insert(0, {path!r})\n" + textwrap.dedent(script)
    assert fresh_process.run(source, NUMBA_THREADING_LAYER=layer, timeout=200).strip() == "done"


def test_verify_refuses_what_loops_would():
    """Verify looks at the source, the stretch and the scales, in the dtype of the draws."""
    source, _ = jit.reserve(generator(), 0)
    jit.verify(source, END - 5, 5, [1.0, 0.0])
    for arguments, error, message in (
        ((source[:5], 0, 1), TypeError, r"^source must be an array of 6 uint64"),
        ((source, END - 5, 6), ValueError, rf"^position must be from 0 to {END - 6}, got {END - 5}$"),
        ((source, -1, 6), ValueError, r"^position must be from 0 to"),
        ((source, 0, -1), ValueError, r"^words must be >= 0, got -1$"),
        ((source, 0, 1, [1.0, np.nan]), ValueError, r"^scale\[1\] must be finite"),
        ((source, 0, 1, 1e38, F32), OverflowError, r"^scale must be at most"),
    ):
        with pytest.raises(error, match=message):
            jit.verify(*arguments)


@pytest.mark.parametrize(("kind", "largest"), [(F64, 4.0e306), (F32, 1.6e37)])
def test_scales_that_overflow(kind, largest):
    """A scale with which a draw could pass the largest float is an OverflowError, alone and in an array."""
    source, _ = jit.reserve(generator(), 0)
    out = np.empty(2, kind)
    for scale in (largest, np.array([1, largest], kind)):
        with pytest.raises(OverflowError, match=r"^scale must be at most .*, got .*: a draw could overflow$"):
            fill(out, 0.0, scale, source, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: fill_words(np.empty(2, np.uint64), s, 1.0), "position must be an integer, got float64"),
        (lambda s: transform(np.ones(2), 0.0, 1.0), "word must be a uint64, got float64"),
        (lambda s: fill(np.empty((2, 2)), 0.0, 1.0, s, 0), "one-dimensional array of float64 or float32"),
        (lambda s: fill(np.empty(2, int), 0.0, 1.0, s, 0), "one-dimensional array of float64 or float32"),
        (lambda s: fill(frozen(np.empty(2)), 0.0, 1.0, s, 0), "float64 or float32, not read-only, got"),
        (lambda s: fill_words(np.empty((2, 2), np.uint64), s, 0), "out must be a one-dimensional array of uint64"),
        (lambda s: fill_words(np.empty(2, np.int64), s, 0), "out must be a one-dimensional array of uint64"),
        (
            lambda s: fill_words(np.empty(2, np.uint64), np.stack([s, s], 1)[:, 0], 0),
            "source must be a contiguous array",
        ),
        (lambda s: fill_words(np.empty(2, np.uint64), s.astype(np.uint32), 0), "source must be a contiguous array"),
        (
            lambda s: words_at(np.empty(2, np.uint64), s.view(np.int64), 0),
            "source must be a contiguous array of uint64",
        ),
        (
            lambda s: fill_discrete(np.empty((2, 2), np.int64), LAW, s, 0, SOME),
            "out must be a one-dimensional array of",
        ),
        (
            lambda s: fill_discrete(np.empty(2, np.int32), LAW, s, 0, SOME),
            "one-dimensional array of int64",
        ),
        (
            lambda s: fill_discrete(SOME, LAW, s, 0, np.empty(2, np.int32)),
            "one-dimensional array of int64",
        ),
        (lambda s: fill_discrete(SOME, np.ones((5, 2))[:, 0], s, 0, SOME), "law must be a contiguous array of float64"),
        (
            lambda s: take(np.stack([jit.cursor(generator(), 1)] * 2, 1)[:, 0], 1),
            "cursor must be a contiguous",
        ),
        (
            lambda s: take(frozen(jit.cursor(generator(), 1)), 1),
            "cursor must be a contiguous array",
        ),
        (lambda s: take(np.zeros(136, np.uint8), 1), "cursor must be a contiguous array"),
        (lambda s: transform(np.ones(2, np.uint32), 0.0, 1.0), "word must be a uint64, got uint32"),
        (lambda s: transform32(np.ones(2, np.uint64), F32(0), F32(1)), "half_word must be a uint32, as in words.view"),
        (lambda s: fill(np.empty(2), 0.0, np.ones(2, F32), s, 0), "loc and scale must be numbers or arrays like out"),
    ],
)
def test_refusals_at_compile_time(call, message):
    """Arguments of a wrong type keep the user's function from compiling, and Numba's error says which."""
    source, _ = jit.reserve(generator(), 0)
    with pytest.raises(numba.core.errors.TypingError) as caught:
        call(source)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: jit.reserve(7, 1), TypeError, "rng must be a lapnoise Generator"),
        (lambda s: jit.reserve(None, 1), TypeError, "rng must be a lapnoise Generator, got None"),
        (lambda s: jit.reserve(generator(), -1), ValueError, "words must be >= 0, got -1"),
        (lambda s: jit.reserve(generator(), 1.0), TypeError, "words must be an int, got 1.0"),
        (lambda s: jit.cursor(generator(), True), TypeError, "words must be an int, got True"),
        (lambda s: jit.reserve(generator(position=END), 1), OverflowError, "the stream ends at word 2**62"),
        (lambda s: jit.discrete_law(-1), ValueError, "scale must be finite and >= 0, and not -0.0, got -1.0"),
        (lambda s: jit.discrete_law(2.0**58), OverflowError, "scale must be at most 2**57 for discrete noise"),
        (lambda s: jit.discrete_law([1.0, 2.0]), TypeError, "scale must be one number, got an array of shape (2,)"),
        (lambda s: jit.finish(s, s, [0]), TypeError, "law must be an array of 5 float64, as discrete_law returns it"),
        (lambda s: jit.finish(LAW, LAW, [0]), TypeError, "source must be an array of 6 uint64, as reserve returns it"),
        (lambda s: jit.finish(LAW, s * 0, [0]), ValueError, "source must end in half of 8, 12 or 20"),
        (lambda s: jit.finish(LAW, np.repeat(s, 2)[::2], [0]), TypeError, "source must be an array of 6 uint64"),
        (lambda s: jit.finish(LAW * -1, s, [0]), ValueError, "law must begin with a scale from 0 to 2**57"),
        (lambda s: jit.finish(LAW * np.nan, s, [0]), ValueError, "law must begin with a scale from 0 to 2**57"),
        (lambda s: jit.finish(LAW, s, [0.5]), TypeError, "positions must be ints, got dtype float64"),
        (lambda s: jit.finish(LAW, s, [3, -1]), ValueError, f"positions must be from 0 to {END - 1}, got -1"),
        (lambda s: jit.finish(LAW, s, END), ValueError, f"positions must be from 0 to {END - 1}, got {END}"),
    ],
)
def test_refusals_in_python(call, error, message):
    """What is handed over from Python is checked there."""
    source, _ = jit.reserve(generator(), 0)
    with pytest.raises(error) as caught:
        call(source)
    assert str(caught.value).startswith(message)


LAW = jit.discrete_law(1.0)
SOME = np.empty(2, np.int64)


def frozen(array):
    array.flags.writeable = False
    return array


def test_finish_keeps_the_shape():
    """Finish takes places of any shape, none too, and its draws are Generator's wherever they were decided."""
    source, _ = jit.reserve(generator(), 0)
    law = jit.discrete_law(10.0)
    expected = generator().discrete_laplace(10.0, 6)
    assert np.array_equal(jit.finish(law, source, np.arange(6).reshape(2, 3)), expected.reshape(2, 3))
    assert jit.finish(law, source, []).shape == (0,)
    assert jit.finish(law, source, 4) == expected[4]


def test_an_error_on_the_calling_thread_is_told():
    """On the calling thread Numba wraps the refusal in a SystemError, whose cause it is."""
    source, _ = jit.reserve(generator(), 0)
    with pytest.raises(SystemError) as caught:
        shuffled(np.zeros(20), 1.0, source, END - 10)  # the last draws come first
    assert str(caught.value.__cause__).startswith("position must be from 0 to 2**62 - 1, the words taken, got ")


@x86_with_fma
@pytest.mark.parametrize("name", ["transform", "transform32", "magnitudes"])
def test_a_users_loop_is_vectorised(name):
    """In a loop compiled with Numba's defaults the draws of words come in full registers, without a call."""
    function = {"transform": transform, "transform32": transform32, "magnitudes": magnitudes}[name]
    arguments = {"transform": (0.0, 1.0), "transform32": (F32(0), F32(1)), "magnitudes": ()}[name]
    words = np.arange(8, dtype=np.uint32 if name == "transform32" else np.uint64)
    signature = tuple(map(numba.typeof, (words, *arguments)))
    counts, registers, calls = packed_arithmetic(assembly(function.py_func, signature))
    assert counts["fma"] >= (4 if name == "transform32" else 8)
    assert counts["division"] >= 1
    assert registers & widest()
    assert not calls


def test_a_users_cached_kernel_is_found_again(tmp_path):
    """A user's function with cache=True, in a file of its own, is loaded in the next process and draws the same."""
    (tmp_path / "mine.py").write_text(
        textwrap.dedent(
            """
            import numba, numpy as np
            from lapnoise.embed import jit

            @numba.njit(cache=True)
            def noisy(x, source, position):
                jit.add_laplace(x, 2.0, source, position)
                for i in range(x.size):
                    x[i] += jit.laplace_at(source, position + x.size + i)
            """
        )
    )
    script = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import lapnoise, mine, numpy as np
    from lapnoise.embed import jit
    x = np.zeros(10)
    mine.noisy(x, *jit.reserve(lapnoise.default_rng(20261), 20))
    print(x.tobytes().hex(), sum(mine.noisy.stats.cache_hits.values()))
    """
    runs = [fresh_process.run(script, tmp_path, NUMBA_CACHE_DIR=tmp_path / "cache").split() for _ in range(2)]
    rng = generator()
    expected = rng.laplace(0.0, 2.0, 10)
    expected += rng.laplace(0.0, 1.0, 10)
    assert runs == [[expected.tobytes().hex(), "0"], [expected.tobytes().hex(), "1"]]


def test_reserving_after_a_fork():
    """In a forked child a seeded generator refuses to reserve, and one of the operating system has another key."""
    script = """
    import os, lapnoise
    from lapnoise.embed import jit
    seeded, fresh = lapnoise.default_rng(7), lapnoise.default_rng()
    jit.reserve(seeded, 1)
    before, _ = jit.reserve(fresh, 1)
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            jit.reserve(seeded, 1)
            answer = "reserved"
        except RuntimeError as error:
            answer = str(error).split(",")[0]
        source, position = jit.reserve(fresh, 1)
        answer += f"|{position}|{(source == before).tolist()}"
        os.write(tell, answer.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    print(os.read(told, 1000).decode())
    """
    answer, position, equal = fresh_process.run(script).strip().split("|")
    assert answer == "this generator was seeded before the process forked"
    assert position == "1"
    # Stream id and rounds are the same; that a word of a fresh key is too has a chance of 2^-62.
    assert equal == "[False, False, False, False, True, True]"
