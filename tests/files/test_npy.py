"""NPY files noised: types, orders, shapes, and what is refused."""

from fractions import Fraction
from pathlib import Path

import exact_oracles
import file_oracle
import numpy as np
import pytest

from lapnoise import DiscreteLaplaceMechanism, LaplaceMechanism, default_rng
from lapnoise.errors import InputDataError, SeededNoiseWarning
from lapnoise.files import _npy, add_noise


def noised(folder: Path, array: np.ndarray, **options) -> np.ndarray:
    """Return what becomes of an array, with seed 7, epsilon 1 and sensitivity 2."""
    source, target = folder / "s.npy", folder / "t.npy"
    np.save(source, array)
    before = source.read_bytes()
    with pytest.warns(SeededNoiseWarning):
        add_noise(source, target, epsilon=1, sensitivity=2, seed=7, force=True, **options)
    assert source.read_bytes() == before
    return np.load(target)


def expected_for(array: np.ndarray, dtype: type = np.float64, changed: int | None = None) -> np.ndarray:
    """Return the sums in fractions, rounded once to this type; places follow C order."""
    draws = file_oracle.draws(array.size, 1, 2, changed)
    values = [Fraction(value) for value in array.ravel(order="C").tolist()]
    sums = [file_oracle.released(value, draw, dtype) for value, draw in zip(values, draws, strict=True)]
    return np.array(sums, dtype).reshape(array.shape)


@pytest.mark.parametrize("chunk", [2, 6, 1 << 17])
@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 5), (5, 1), (1, 5), (0, 3), (3, 1, 4), (2, 3, 5)])
def test_floats_stay_what_they_are(tmp_path, monkeypatch, shape, order, dtype, chunk):
    monkeypatch.setattr(_npy, "CHUNK_VALUES", chunk)
    monkeypatch.setattr(_npy, "MAPPED_VALUES", chunk)
    array = np.asarray(np.arange(np.prod(shape)).reshape(shape), dtype, order=order)
    got = noised(tmp_path, array)
    assert (got.dtype, got.shape) == (np.dtype(dtype), shape)
    assert got.flags.f_contiguous == array.flags.f_contiguous
    assert got.flags.c_contiguous == array.flags.c_contiguous
    working = np.float32 if dtype[1:] == "f4" else np.float64
    np.testing.assert_array_equal(got, expected_for(array, working))


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i2", ">u2", "<i4", "<u4", ">i8", "<u8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_integers_become_float64(tmp_path, dtype, order):
    array = np.asarray([[1, 2, 3], [100, np.iinfo(dtype).max, 0]], dtype, order=order)
    got = noised(tmp_path, array)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, expected_for(array))


def test_integers_never_pass_through_a_float(tmp_path):
    # 2^60 + 128 is halfway between two floats; both would be 256 apart, or the same.
    array = np.array([2**60 + 128, 2**60 + 129, -(2**63), 2**63 - 1], np.int64)
    np.testing.assert_array_equal(noised(tmp_path, array), expected_for(array))
    got = noised(tmp_path, array, mechanism="discrete-laplace")
    steps = [file_oracle.step_at(2.0, i) for i in range(4)]
    assert got.tolist() == [exact_oracles.integer_sum(x, step) for x, step in zip(array.tolist(), steps, strict=True)]


def test_nan_stays_and_takes_its_word(tmp_path):
    array = np.array([1.0, np.nan, 3.0])
    first, _, third = file_oracle.draws(3, 1, 2)
    expected = [file_oracle.released(1, first), np.nan, file_oracle.released(3, third)]
    np.testing.assert_array_equal(noised(tmp_path, array), expected)
    receipt = add_noise(tmp_path / "s.npy", tmp_path / "u.npy", epsilon=1, sensitivity=1)
    assert (receipt.rows, receipt.cells_noised, receipt.cells_missing, receipt.columns) == (3, 2, 1, ())


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("mechanism", "dtype"),
    [
        ("laplace", np.float32),
        ("laplace", np.float64),
        ("laplace", np.int32),
        ("discrete-laplace", np.int32),
        ("discrete-laplace", np.uint64),
    ],
)
def test_long_array_is_that_of_one_call(tmp_path, monkeypatch, mechanism, dtype, order):
    """However long the pieces are, the mechanism's own method gives the same array at once."""
    array = np.asarray(np.arange(300_000, dtype=dtype).reshape(300, 1000), order=order)
    kind = LaplaceMechanism if mechanism == "laplace" else DiscreteLaplaceMechanism
    with pytest.warns(SeededNoiseWarning):
        expected = kind(epsilon=1, sensitivity=2).add_noise(array, rng=default_rng(7, rounds=20))
    for chunk in (1 << 17, 99_991):
        monkeypatch.setattr(_npy, "CHUNK_VALUES", chunk)
        monkeypatch.setattr(_npy, "MAPPED_VALUES", chunk)
        got = noised(tmp_path, array, mechanism=mechanism)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("changed", [1, 3, 10**9])
def test_changed_fixes_the_lattice(tmp_path, changed):
    array = np.arange(12.0)
    np.testing.assert_array_equal(noised(tmp_path, array, changed=changed), expected_for(array, changed=changed))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_every_value_is_a_multiple_of_the_granularity(tmp_path, dtype):
    np.save(tmp_path / "s.npy", np.random.default_rng(1).normal(0, 1000, 5000).astype(dtype))
    receipt = add_noise(tmp_path / "s.npy", tmp_path / "t.npy", epsilon="0.1", sensitivity="0.7")
    steps = np.load(tmp_path / "t.npy").astype(np.float64) / receipt.granularity
    assert receipt.granularity == 2.0 ** round(np.log2(receipt.granularity))
    np.testing.assert_array_equal(steps, np.rint(steps))
    # A float32 near 1000 has multiples of 2^-14 only; with 64 bits half of all steps are odd.
    assert dtype == "f4" or 2250 < np.count_nonzero(steps % 2) < 2750  # beyond 7 standard deviations


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i2", ">u2", "<i4", "<u4", ">i8", "<u8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_discrete_noise_gives_integers(tmp_path, dtype, order):
    limits = np.iinfo(dtype)
    array = np.asarray([[1, 2, 3], [limits.min, limits.max, 0]], dtype, order=order)
    got = noised(tmp_path, array, mechanism="discrete-laplace")
    assert got.dtype == np.int64
    steps = [file_oracle.step_at(2.0, i) for i in range(array.size)]
    values = array.ravel(order="C").tolist()
    expected = [exact_oracles.integer_sum(x, step) for x, step in zip(values, steps, strict=True)]
    assert got.ravel(order="C").tolist() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_discrete_noise_takes_integers_only(tmp_path, dtype):
    np.save(tmp_path / "s.npy", np.zeros(3, dtype))
    message = refusal(tmp_path, mechanism="discrete-laplace")
    assert message == f"the array must be of integers for discrete noise, got {np.dtype(dtype)}"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sum_beyond_the_largest_float_saturates(tmp_path, dtype):
    largest = np.finfo(dtype).max
    np.save(tmp_path / "s.npy", np.array([largest, -largest] * 50, dtype))
    add_noise(tmp_path / "s.npy", tmp_path / "t.npy", epsilon=1, sensitivity=float(largest) / 50)
    got = np.load(tmp_path / "t.npy")
    assert np.isfinite(got).all()
    assert np.count_nonzero(np.abs(got) == largest) > 10


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_all_versions_of_the_format(tmp_path, version):
    array = np.arange(5.0)
    with (tmp_path / "v.npy").open("wb") as file:
        np.lib.format.write_array(file, array, version=version)
    with pytest.warns(SeededNoiseWarning):
        add_noise(tmp_path / "v.npy", tmp_path / "t.npy", epsilon=1, sensitivity=2, seed=7)
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), expected_for(array))


def refusal(folder: Path, kind: type[Exception] = InputDataError, **options) -> str:
    before = sorted(folder.iterdir())
    with pytest.raises(kind) as caught:
        add_noise(folder / "s.npy", folder / "t.npy", **{"epsilon": 1, "sensitivity": 1, **options})
    assert sorted(folder.iterdir()) == before
    return str(caught.value)


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (np.array([True]), "bool"),
        (np.array([1j]), "complex128"),
        (np.array([1], np.float16), "float16"),
        (np.array([1], np.longdouble), str(np.dtype(np.longdouble))),
        (np.array(["2000-01-01"], "datetime64[D]"), "datetime64[D]"),
        (np.array(["a"]), "<U1"),
        (np.array([{}], object), "object"),
        (np.zeros(2, [("é", "f8")]), "records"),
    ],
)
@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
def test_types_that_are_refused(tmp_path, array, name):
    np.save(tmp_path / "s.npy", array)
    assert refusal(tmp_path) == f"the array must be of float32, float64 or integers, got {name}"


@pytest.mark.parametrize("order", ["C", "F"])
def test_infinite_values_are_named_and_not_shown(tmp_path, monkeypatch, order):
    monkeypatch.setattr(_npy, "CHUNK_VALUES", 2)
    array = np.asarray(np.zeros((3, 4)), order=order)
    array[2, 1] = -np.inf
    np.save(tmp_path / "s.npy", array)
    assert refusal(tmp_path).startswith("index (2, 1), flat index 9, has an infinite number")


def test_infinite_number_without_axes(tmp_path):
    np.save(tmp_path / "s.npy", np.array(np.inf))
    assert refusal(tmp_path).startswith("index (), flat index 0, has an infinite number")


def test_broken_files(tmp_path):
    source = tmp_path / "s.npy"
    np.save(source, np.arange(10.0))
    data = source.read_bytes()
    for cut in (1, 8, 79, 80):
        source.write_bytes(data[:-cut])
        assert (
            refusal(tmp_path) == f"the file ends early: it has {len(data) - cut} bytes, its header promises {len(data)}"
        )
    source.write_bytes(data + b"x")
    assert refusal(tmp_path) == "the file has bytes after its array"
    for head in (b"", b"\x93NUM", b"a,b\n1,2\n"):
        source.write_bytes(head)
        assert refusal(tmp_path) == "the file does not begin as an NPY file does"
    source.write_bytes(data[:40])
    assert refusal(tmp_path) == "the header of the NPY file cannot be read"
    source.write_bytes(data[:6] + b"\x09" + data[7:])
    assert refusal(tmp_path) == "the file has version 9.0 of the NPY format; 1 to 3 are read"


def test_scale_beyond_float32_saturates(tmp_path):
    np.save(tmp_path / "s.npy", np.zeros(400, np.float32))
    largest = np.finfo(np.float32).max
    receipt = add_noise(tmp_path / "s.npy", tmp_path / "t.npy", epsilon=1, sensitivity=float(largest))
    got = np.abs(np.load(tmp_path / "t.npy"))
    assert np.isfinite(got).all()
    # P(abs(noise) > b) = 1 / e, so 147 of 400 are expected; beyond 7 standard deviations.
    assert 79 < np.count_nonzero(got == largest) < 215
    assert receipt.scale >= float(largest)


def test_scale_beyond_the_floats_is_refused_before_anything_is_made(tmp_path):
    np.save(tmp_path / "s.npy", np.zeros(3, np.float32))
    message = refusal(tmp_path, OverflowError, sensitivity="1e309")
    assert message.startswith("scale and granularity must be floats to release floats, got scale inf")
    assert refusal(tmp_path, OverflowError, sensitivity="1e309", changed=2) == message


@pytest.mark.parametrize("option", [{"columns": ["a"]}, {"delimiter": ","}])
def test_columns_and_delimiter_do_not_apply(tmp_path, option):
    np.save(tmp_path / "s.npy", np.zeros(3))
    assert refusal(tmp_path, ValueError, **option).startswith(
        "columns, strata, bounds by column and delimiter apply to tables only"
    )
