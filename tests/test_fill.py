"""Arrays of any layout, filled by any number of threads in blocks of any size: the draws are the same."""

import itertools
import tracemalloc

import numpy as np
import pytest
from bitwise import same

from lapnoise import _fill, _word_source, default_rng

F32, F64 = np.float32, np.float64
DIFFERENCE = "exponential_difference"
SHAPE = (37, 53)
SIZE = 37 * 53
ROW, COLUMN = np.arange(53.0), np.linspace(0.5, 2.0, 37)[:, None]

DRAWS = {
    "words": lambda rng: rng.words(SIZE),
    "laplace": lambda rng: rng.laplace(1.0, 2.0, SHAPE),
    "laplace by arrays": lambda rng: rng.laplace(ROW, COLUMN),
    "laplace32": lambda rng: rng.laplace(1.0, 2.0, SIZE, dtype=F32),
    "laplace32 by arrays": lambda rng: rng.laplace(ROW, COLUMN, dtype=F32),
    "difference": lambda rng: rng.laplace(1.0, 2.0, SIZE, method=DIFFERENCE),
    "difference by arrays": lambda rng: rng.laplace(ROW, 2.0, SHAPE, method=DIFFERENCE),
    "difference32": lambda rng: rng.laplace(1.0, 2.0, SIZE, dtype=F32, method=DIFFERENCE),
    "exponential": lambda rng: rng.exponential(2.0, SIZE),
    "exponential32": lambda rng: rng.exponential(ROW, SHAPE, dtype=F32),
    "log_laplace": lambda rng: np.stack(rng.log_laplace(2.0, SIZE)),
    "log_laplace by arrays": lambda rng: np.stack(rng.log_laplace(ROW, SHAPE)),
    "bounded_laplace": lambda rng: rng.bounded_laplace(0.0, 2.0, -1.0, 3.0, SIZE),
    "bounded_laplace by arrays": lambda rng: rng.bounded_laplace(ROW, COLUMN, -1.0, 60.0),
    "reversed": lambda rng: rng.add_laplace(np.arange(float(SIZE))[::-1], 2.0),
    "Fortran order": lambda rng: rng.add_laplace(np.ones(SHAPE, F32, order="F"), 2.0),
}


def drawn(draw, threads):
    rng = default_rng(3, threads=threads)
    rng.seek(77)
    return draw(rng)


@pytest.fixture(scope="module")
def expected():
    """Draws made on one thread in blocks of the usual size."""
    return {name: drawn(draw, 1) for name, draw in DRAWS.items()}


@pytest.fixture
def cut(monkeypatch):
    """Return a function that sets the sizes of blocks and buffers, and sends every array to the threads."""

    def set_sizes(block, buffer):
        monkeypatch.setattr(_fill, "BLOCK", block)
        monkeypatch.setattr(_fill, "BUFFER", buffer)
        monkeypatch.setattr(_fill, "SERIAL_BELOW", 0)
        monkeypatch.setattr(_word_source, "SERIAL_BELOW", 0)

    return set_sizes


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("block", "buffer"), [(1, 513), (7, 1), (128, 5), (129, 16), (1000, 77), (4096, 1)])
def test_draws_do_not_depend_on_threads_blocks_or_buffers(expected, cut, threads, block, buffer):
    """Every method gives the same draws on 1, 2, 3 and 8 threads, whatever the sizes of blocks and buffers."""
    cut(block, buffer)
    for name, draw in DRAWS.items():
        assert same(drawn(draw, threads), expected[name]), name


@pytest.mark.parametrize(
    "n", [1, _fill.SERIAL_BELOW, _fill.SERIAL_BELOW + 1, _fill.BLOCK, _fill.BLOCK + 1, 2 * _fill.BLOCK + 513, 10**6 + 3]
)
def test_draws_do_not_depend_on_threads_at_the_usual_sizes(n):
    """Around the real sizes of blocks 1, 2, 3 and 8 threads give the same draws in both dtypes and in both ways."""
    for dtype, method in itertools.product((F64, F32), ("inverse", DIFFERENCE)):
        one = default_rng(3, threads=1).laplace(1.0, 2.0, n, dtype=dtype, method=method)
        for threads in (2, 3, 8):
            assert same(default_rng(3, threads=threads).laplace(1.0, 2.0, n, dtype=dtype, method=method), one)


@pytest.mark.parametrize("dtype", [F64, F32])
def test_strided_arrays_larger_than_a_block(dtype):
    """Arrays that need buffers and several blocks get the draws of a contiguous array."""
    values = np.arange(_fill.BLOCK + 2 * _fill.BUFFER + 3, dtype=dtype)
    expected = default_rng(3, threads=1).add_laplace(values, 2.0)
    spread = np.repeat(values, 2)
    assert same(default_rng(3, threads=3).add_laplace(spread[::2], 2.0), expected)
    assert default_rng(3, threads=3).add_laplace(spread[::2], 2.0, out=spread[::2]).base is spread
    assert same(spread[::2], expected)
    assert same(spread[1::2], values)


N = 600  # values in every view below, but for the smallest
ROOM = 8 * 5 * N


def views(dtype):
    """Return ways to look at bytes as floats, by name."""
    width = np.dtype(dtype).itemsize
    packed = np.dtype([("tag", "u1"), ("x", dtype), ("y", dtype)])
    found = {
        "every second": lambda parent: parent.view(dtype)[: 2 * N : 2],
        "every third, backwards": lambda parent: parent.view(dtype)[3 * N - 1 :: -3],
        "reversed": lambda parent: parent.view(dtype)[N - 1 :: -1],
        "column": lambda parent: parent.view(dtype)[: 3 * N].reshape(N, 3)[:, 1],
        "field": lambda parent: parent[: packed.itemsize * N].view(packed)["x"],
        "Fortran order": lambda parent: parent.view(dtype)[:N].reshape((20, 30), order="F"),
        "axes moved": lambda parent: parent.view(dtype)[:N].reshape(5, 6, 20).transpose(2, 0, 1),
        "rows backwards": lambda parent: parent.view(dtype)[: 4 * N].reshape(40, 60)[::-2, ::2],
        "new axis": lambda parent: parent.view(dtype)[: 2 * N : 2][:, None, None],
        "one row": lambda parent: parent.view(dtype)[: 2 * N : 2][None],
        "0-d": lambda parent: parent.view(dtype)[3:4].reshape(()),
        "empty": lambda parent: parent.view(dtype)[:0],
        "empty and strided": lambda parent: parent.view(dtype)[: 4 * N].reshape(N, 4)[:, 2:2],
    }
    for k in range(2 * width):
        found[f"byte {k}"] = lambda parent, k=k: np.ndarray((N,), dtype, parent, offset=k)
    for k in range(17):
        found[f"element {k}"] = lambda parent, k=k: parent.view(dtype)[k : k + N]
    return found


EVERY_VIEW = [(dtype, name) for dtype in (F64, F32) for name in views(dtype)]
every_view = pytest.mark.parametrize(
    ("dtype", "view"), EVERY_VIEW, ids=lambda x: x if isinstance(x, str) else x.__name__
)
in_pieces = pytest.mark.parametrize("pieces", [False, True], ids=["whole", "in pieces"])


def parent_of(view, values=None):
    """Return bytes that hold a pattern, with ``values`` where the view looks."""
    parent = np.arange(ROOM, dtype=np.uint8)
    if values is not None:
        view(parent)[...] = values
    return parent


def values_for(shape, dtype):
    return np.random.default_rng(1).normal(size=shape).astype(dtype)


@every_view
@in_pieces
def test_inputs_of_any_layout(cut, dtype, view, pieces):
    """Values and scales of any layout, writeable or not, count in C order; they are not changed nor given back."""
    if pieces:
        cut(64, 17)
    look = views(dtype)[view]
    shape = look(parent_of(look)).shape
    values, scale = values_for(shape, dtype), np.abs(values_for(shape, dtype)) + 1
    expected = default_rng(3, threads=1).add_laplace(values, scale)
    value_bytes, scale_bytes = parent_of(look, values), parent_of(look, scale)
    before = value_bytes.tobytes(), scale_bytes.tobytes()
    for writeable in (True, False):
        value_bytes.flags.writeable = scale_bytes.flags.writeable = writeable
        given = look(value_bytes)
        got = default_rng(3, threads=3).add_laplace(given, look(scale_bytes))
        assert same(got, expected)
        assert not np.shares_memory(got, given)
        drawn = default_rng(3, threads=3).laplace(given, look(scale_bytes), dtype=dtype)
        assert same(np.asarray(drawn, dtype), expected)
    assert (value_bytes.tobytes(), scale_bytes.tobytes()) == before


@every_view
@in_pieces
def test_outputs_of_any_layout(cut, dtype, view, pieces):
    """``out`` of any layout is written in C order and returned, and no byte beside it changes."""
    if pieces:
        cut(64, 17)
    look = views(dtype)[view]
    shape = look(parent_of(look)).shape
    values = values_for(shape, dtype)
    for method in ("inverse", DIFFERENCE):
        parent = parent_of(look)
        out = look(parent)
        assert default_rng(3, threads=3).laplace(values, 2.0, dtype=dtype, out=out, method=method) is out
        noisy = default_rng(3, threads=1).laplace(values, 2.0, dtype=dtype, method=method)
        assert parent.tobytes() == parent_of(look, noisy).tobytes()
    parent = parent_of(look)
    default_rng(3, threads=3).exponential(2.0, dtype=dtype, out=look(parent))
    drawn = default_rng(3, threads=1).exponential(2.0, shape, dtype=dtype)
    assert parent.tobytes() == parent_of(look, drawn).tobytes()


@every_view
@in_pieces
def test_in_place_for_any_layout(cut, dtype, view, pieces):
    """``out=values`` adds noise to just the selected places of the array behind a view."""
    if pieces:
        cut(64, 17)
    look = views(dtype)[view]
    values = values_for(look(parent_of(look)).shape, dtype)
    for scale in (2.0, np.abs(values) + 1):
        for method in ("inverse", DIFFERENCE):
            parent = parent_of(look, values)
            given = look(parent)
            assert default_rng(3, threads=3).add_laplace(given, scale, out=given, method=method) is given
            noisy = default_rng(3, threads=1).add_laplace(values, scale, method=method)
            assert parent.tobytes() == parent_of(look, noisy).tobytes()


@in_pieces
@pytest.mark.parametrize("dtype", [F64, F32])
def test_overlapping_arrays(cut, dtype, pieces):
    """Values and scales that overlap ``out`` count as they were before the call."""
    if pieces:
        cut(64, 17)
    base = np.abs(values_for(1000, dtype)) + 1

    def check(out, values, scale):
        expected = default_rng(3, threads=1).add_laplace(np.array(values), np.array(scale))
        default_rng(3, threads=3).add_laplace(values, scale, out=out)
        assert same(out, expected)

    for shift in (1, 7, 500):
        a = base.copy()
        check(a[shift:], a[:-shift], 2.0)
        a = base.copy()
        check(a[:-shift], a[shift:], 2.0)
    a = base.copy()
    check(a[::-1], a, 2.0)
    a = base.copy()
    check(a, a[::-1], a)
    a = base.copy()
    check(a, dtype(0), a)
    a = base.copy()
    check(a[1:], a[1:], a[:-1])
    a = base.copy()
    check(a[::2], a[:500], a[500:])
    a = base.copy().reshape(20, 50)
    check(a, a[3], a[:, :1])
    a = base.copy()[:900].reshape(30, 30)
    check(a, a.T, 2.0)
    a, expected = base.copy(), default_rng(3).exponential(base, dtype=dtype)
    assert same(default_rng(3).exponential(a, dtype=dtype, out=a), expected)


def test_values_of_another_type_over_the_same_memory():
    """Integers in the memory that ``out`` writes to are read before it is written."""
    out = np.zeros(1000)
    integers = out.view(np.int64)
    integers[:] = np.arange(1000)
    expected = default_rng(3).add_laplace(np.arange(1000), 2.0)
    assert same(default_rng(3).add_laplace(integers, 2.0, out=out), expected)


@pytest.mark.parametrize("name", [">f8", ">f4", ">i4", ">u2"])
def test_inputs_of_the_other_byte_order(name):
    """Big-endian values and scales count like native ones, and big-endian float32 is float32 too."""
    values = np.arange(1, 1001).astype(name)
    native = values.astype(values.dtype.newbyteorder("="))
    expected = default_rng(3).add_laplace(native, native)
    assert same(default_rng(3).add_laplace(values, values), expected)
    assert same(default_rng(3).laplace(values, values, dtype=expected.dtype), expected)
    if values.dtype.kind == "f":
        with pytest.raises(TypeError, match=rf"out must have dtype float\d\d, got {name}"):
            default_rng(3).add_laplace(values, 1.0, out=values)


def test_repeated_inputs():
    """A broadcast view gets a draw for every element, none of them shared."""
    got = default_rng(3).add_laplace(np.broadcast_to(np.arange(3.0), (500, 3)), np.broadcast_to(2.0, (500, 3)))
    assert same(got, np.arange(3.0) + default_rng(3).laplace(0, 2, (500, 3)))
    assert np.unique(got - np.arange(3.0)).size == 1500


@pytest.mark.parametrize("dtype", [F64, F32])
def test_files_in_memory(tmp_path, dtype):
    """Memory-mapped files are read, also when opened for reading only, and written in place."""
    path = tmp_path / "values.npy"
    values = values_for((100, 7), dtype)
    np.save(path, values)
    before = path.read_bytes()
    expected = default_rng(3).add_laplace(values, 2.0)
    read_only = np.load(path, mmap_mode="r")
    got = default_rng(3).add_laplace(read_only, 2.0)
    assert same(got, expected)
    assert not isinstance(got, np.memmap)
    with pytest.raises(ValueError, match="out must be writeable, got a read-only array"):
        default_rng(3).add_laplace(read_only, 2.0, out=read_only)
    assert path.read_bytes() == before
    writeable = np.load(path, mmap_mode="r+")
    assert default_rng(3).add_laplace(writeable, 2.0, out=writeable) is writeable
    writeable.flush()
    assert same(np.load(path), expected)


def test_other_owners_of_memory():
    """Objects with a buffer and immutable bytes are read where they lie."""
    raw = np.arange(100.0).tobytes()
    expected = default_rng(3).add_laplace(np.arange(100.0), 2.0)
    for values in (np.frombuffer(raw), memoryview(np.arange(100.0)), np.rec.array([(x, 1) for x in range(100)]).f0):
        assert same(default_rng(3).add_laplace(values, 2.0), expected)
    assert raw == np.arange(100.0).tobytes()


def _peak(call):
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", [F64, F32])
def test_no_copy_of_the_whole_is_made(dtype):
    """With ``out`` a call needs less than 1 MiB however long its arrays are, in place, strided or of another type."""
    n = 2_000_000
    values, spread, scales = np.zeros(n, dtype), np.zeros(2 * n, dtype)[::2], np.ones(n, dtype)
    integers, flags = np.zeros(n, np.int32), np.zeros(n, bool)
    rng = default_rng(3, threads=2)
    assert _peak(lambda: rng.laplace(0.0, 2.0, dtype=dtype, out=values)) < 2**20
    assert _peak(lambda: rng.add_laplace(values, 2.0, out=values)) < 2**20
    assert _peak(lambda: rng.add_laplace(spread, scales, out=spread)) < 2**20
    assert _peak(lambda: rng.laplace(integers, scales, dtype=dtype, out=values)) < 2**20
    assert _peak(lambda: rng.exponential(scales, dtype=dtype, out=values)) < 2**20
    if dtype is F64:
        assert _peak(lambda: rng.add_laplace(flags, 2.0, out=values)) < 2**20


def test_shapes_beyond_32_bits():
    """Shapes are worked out in 64 bits: more than 2^31 values are compared with ``out``, not wrapped."""
    giant = np.broadcast_to(0.0, (2**20, 2**12))
    with pytest.raises(
        ValueError, match=r"arguments must broadcast to shape \(3,\), got loc of shape \(1048576, 4096\)"
    ):
        default_rng(3).laplace(giant, 1.0, out=np.zeros(3))
