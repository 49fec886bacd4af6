"""Refusals: each names the parameter, the rule and the value, and takes no word."""

import math

import numpy as np
import pytest

from lapnoise import SignedLog, default_rng

F32, F64 = np.float32, np.float64
NEGATIVE_NAN = math.copysign(math.nan, -1.0)

CALLS_WITH_SCALE = {
    "laplace": lambda rng, scale, size=None: rng.laplace(0.0, scale, size),
    "laplace32": lambda rng, scale, size=None: rng.laplace(0.0, scale, size, dtype=F32),
    "difference": lambda rng, scale, size=None: rng.laplace(0.0, scale, size, method="exponential_difference"),
    "exponential": lambda rng, scale, size=None: rng.exponential(scale, size),
    "add_laplace": lambda rng, scale, size=None: rng.add_laplace(0.0, scale),
    "in place": lambda rng, scale, size=None: rng.add_laplace(np.zeros((2, 3)), scale, out=np.zeros((2, 3))),
    "bounded_laplace": lambda rng, scale, size=None: rng.bounded_laplace(0.0, scale, -1.0, 1.0, size),
}

every_call = pytest.mark.parametrize("call", CALLS_WITH_SCALE.values(), ids=CALLS_WITH_SCALE)


@pytest.fixture
def rng():
    """Give a generator in the middle of a group of draws, and verify that its position is the same afterwards."""
    generator = default_rng(1)
    generator.seek(5)
    generator.laplace()
    yield generator
    assert generator.position == 6


@every_call
@pytest.mark.parametrize(
    ("scale", "shown"),
    [
        (-1.0, "-1.0"),
        (-1, "-1.0"),
        (-1e-300, "-1e-300"),
        (-5e-324, "-5e-324"),
        (-0.0, "-0.0"),
        (math.nan, "nan"),
        (NEGATIVE_NAN, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (np.float32(-2), "-2.0"),
        (np.array(-3.0), "-3.0"),
    ],
    ids=repr,
)
def test_scale_number(rng, call, scale, shown):
    """A scale that is negative, -0.0, NaN of either sign or infinite is refused."""
    with pytest.raises(ValueError, match=rf"^scale must be finite and >= 0, and not -0\.0, got {shown}$"):
        call(rng, scale)


@every_call
@pytest.mark.parametrize("bad", [-1.0, -1e-300, -0.0, math.nan, NEGATIVE_NAN, math.inf, -math.inf])
@pytest.mark.parametrize("place", [(0, 0), (0, 2), (1, 1)])
def test_scale_element(rng, call, bad, place):
    """One bad element refuses the whole call, and the message says where it stands."""
    for order, dtype in (("C", F64), ("F", F64), ("C", ">f8")):
        scale = np.ones((2, 3), dtype, order=order)
        scale[place] = bad
        index = rf"\[{place[0]}, {place[1]}\]"
        with pytest.raises(ValueError, match=rf"^scale{index} must be finite and >= 0, and not -0\.0, got {bad!r}$"):
            call(rng, scale, (2, 3))


def test_first_bad_element_of_a_long_scale(rng):
    """In long arrays, strided or not, the first bad element in C order is named."""
    scale = np.ones(200_000)
    scale[[70_001, 130_000]] = -2.0, -3.0
    with pytest.raises(ValueError, match=r"^scale\[70001\] must be finite and >= 0, and not -0\.0, got -2\.0$"):
        rng.laplace(0.0, scale)
    with pytest.raises(ValueError, match=r"^scale\[35000\] must be .*, got -3\.0$"):
        rng.laplace(0.0, scale[130_000 - 35_000 * 2 :: 2])


def test_nothing_is_written_on_refusal(rng):
    """``out`` is as before when a call is refused."""
    out = np.full(3, 7.0)
    with pytest.raises(ValueError, match=r"^scale\[2\] must be finite"):
        rng.laplace(0.0, [1.0, 1.0, -1.0], out=out)
    assert out.tolist() == [7.0, 7.0, 7.0]


@every_call
@pytest.mark.parametrize(
    ("scale", "found"),
    [
        (None, "object"),
        ("1", "<U1"),
        (b"1", r"\|S1"),
        (1j, "complex128"),
        (True, "bool"),
        (np.True_, "bool"),
        ([True, False], "bool"),
        (np.float16(1), "float16"),
        (np.longdouble(1), np.dtype(np.longdouble).name),
        (np.array([1, None]), "object"),
        (np.array([1], "m8[s]"), r"timedelta64\[s\]"),
    ],
    ids=repr,
)
def test_scale_of_other_types(rng, call, scale, found):
    """A scale that is no real number, bool included, is refused with its type."""
    with pytest.raises(TypeError, match=rf"^scale must be real numbers.*, got dtype {found}$"):
        call(rng, scale)


def test_too_large_scale(rng):
    """A scale with which a draw could overflow raises OverflowError that points to log_laplace; the limit does not."""
    limits = {F64: float(np.finfo(F64).max) / 45, F32: float(np.finfo(F32).max) / 23}
    for dtype, limit in limits.items():
        for scale in (
            math.nextafter(limit, math.inf),
            limit * 2,
            np.array([1.0, limit * 2]),
            np.full((2, 2), limit * 2),
        ):
            with pytest.raises(
                OverflowError, match=rf"^scale.* must be at most .* for {np.dtype(dtype)}, got .*log_lap"
            ):
                rng.laplace(0.0, scale, dtype=dtype)
            with pytest.raises(
                OverflowError, match=rf"^scale.* must be at most .* for {np.dtype(dtype)}, got .*log_lap"
            ):
                rng.exponential(scale, dtype=dtype)
            with pytest.raises(
                OverflowError, match=rf"^scale.* must be at most .* for {np.dtype(dtype)}, got .*log_lap"
            ):
                rng.add_laplace(dtype(1), scale)
        assert math.isfinite(default_rng(1).laplace(0.0, limit, dtype=dtype))
        assert np.isfinite(default_rng(1).laplace(0.0, [limit, limit], dtype=dtype)).all()
    with pytest.raises(OverflowError, match="log_laplace"):
        rng.bounded_laplace(0.0, 1e307, -1.0, 1.0)
    with pytest.raises(OverflowError, match=r"^scale must fit in a float64, got 1000"):
        rng.laplace(0.0, 10**400)


def test_scale_that_float32_would_lose(rng):
    """A positive scale that float32 rounds to 0 is refused; the least that it keeps is not."""
    for scale in (1e-46, 5e-324, [1.0, 1e-46]):
        with pytest.raises(
            ValueError, match=r"^scale.* must be 0 or at least 1\.4013e-45 for float32, got .*: it would ro"
        ):
            rng.laplace(0.0, scale, dtype=F32)
    assert default_rng(1).laplace(0.0, 1.5e-45, dtype=F32, size=1000).any()


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (np.float16(1), "float16"),
        (np.ones(3, np.float16), "float16"),
        (np.ones(3, np.longdouble), np.dtype(np.longdouble).name),
        (1j, "complex128"),
        (np.ones(3, np.complex64), "complex64"),
        ("1.0", "<U3"),
        (["1", "2"], "<U1"),
        (None, "object"),
        ([1, None], "object"),
        (np.array([1.0], object), "object"),
        (np.array([], object), "object"),
        (10**400, "object"),
        (np.array(["2020-01-01"], "M8[D]"), r"datetime64\[D\]"),
        (np.zeros(2, "f8,i4"), r"\[\('f0', '<f8'\), \('f1', '<i4'\)\]"),
    ],
    ids=repr,
)
def test_values_of_other_types(rng, values, found):
    """Noise is added to integers, bool, float32 and float64, and to nothing else."""
    with pytest.raises(TypeError, match=rf"^values must be real numbers \(.*\), got dtype {found}$"):
        rng.add_laplace(values, 1.0)
    if not isinstance(values, int):
        with pytest.raises(TypeError, match=rf"^loc must be real numbers \(.*\), got dtype {found}$"):
            rng.laplace(values, 1.0)


def test_ragged_lists(rng):
    """Rows of different length are refused by name."""
    with pytest.raises(ValueError, match=r"^values must be a number or a regular array, got rows of unequal length$"):
        rng.add_laplace([[1.0], [1.0, 2.0]], 1.0)
    with pytest.raises(ValueError, match=r"^scale must be a number or a regular array, got "):
        rng.laplace(0.0, [[1.0], [1.0, 2.0]])


def test_loc_beyond_the_floats(rng):
    """An integer that no float64 holds is refused."""
    with pytest.raises(OverflowError, match=r"^loc must fit in a float64, got 1000"):
        rng.laplace(10**400, 1.0)


@pytest.mark.parametrize(
    "dtype", [np.float16, np.longdouble, int, bool, complex, None, "x", ">f8", object, "f8,f8"], ids=repr
)
def test_dtype(rng, dtype):
    """Types of the result other than float64 and float32 in native order are refused."""
    for draw in (rng.laplace, rng.exponential):
        with pytest.raises(TypeError, match=r"^dtype must be float64 or float32, got "):
            draw(dtype=dtype)


@pytest.mark.parametrize("method", ["Inverse", "", None, 0, b"inverse", "ziggurat"], ids=repr)
def test_method(rng, method):
    """Unknown methods are refused; the message lists the two."""
    with pytest.raises(ValueError, match=rf'^method must be "inverse" or "exponential_difference", got {method!r}$'):
        rng.laplace(method=method)
    with pytest.raises(ValueError, match=rf'^method must be "inverse" or "exponential_difference", got {method!r}$'):
        rng.add_laplace(np.zeros(3), 1.0, method=method)


@pytest.mark.parametrize(
    ("size", "error"),
    [
        (-1, ValueError),
        ((2, -1), ValueError),
        (np.int64(-1), ValueError),
        (1.0, TypeError),
        ((2, 1.0), TypeError),
        (True, TypeError),
        ((2, True), TypeError),
        ("3", TypeError),
        (np.array([1.0]), TypeError),
        (np.array(2.0), TypeError),
        ({}, TypeError),
    ],
    ids=repr,
)
def test_size(rng, size, error):
    """A size holds ints >= 0."""
    rule = r"^size must be an int, got " if error is TypeError else r"^size must be >= 0, got (-1|np\.int64\(-1\))$"
    for draw in (rng.laplace, rng.exponential, rng.log_laplace):
        with pytest.raises(error, match=rule):
            draw(size=size)
    with pytest.raises(error, match=rule):
        rng.bounded_laplace(0.0, 1.0, 0.0, 1.0, size=size)


def test_shapes_that_do_not_broadcast(rng):
    """The message names each array parameter with its shape, and the shape asked for."""
    three, four = np.ones(3), np.ones(4)
    told = r"loc of shape \(3,\) and scale of shape \(4,\)$"
    with pytest.raises(ValueError, match=rf"^arguments must broadcast, got {told}"):
        rng.laplace(three, four)
    with pytest.raises(ValueError, match=rf"^arguments must broadcast to shape \(12,\), got {told}"):
        rng.laplace(three, four, 12)
    with pytest.raises(
        ValueError, match=r"^arguments must broadcast, got values of shape \(3,\) and scale of shape \(4,\)$"
    ):
        rng.add_laplace(three, four)
    with pytest.raises(ValueError, match=r"^arguments must broadcast to shape \(1,\), got scale of shape \(3,\)$"):
        rng.exponential(three, 1)
    with pytest.raises(ValueError, match=r"^arguments must broadcast to shape \(\), got log_scale of shape \(3,\)$"):
        rng.log_laplace(three, ())
    with pytest.raises(
        ValueError, match=r"^arguments must broadcast, got low of shape \(3,\) and high of shape \(4,\)$"
    ):
        rng.bounded_laplace(0.0, 1.0, three, four)
    with pytest.raises(ValueError, match=r"^arguments must broadcast, got loc of .* scale of .* low of .* high of "):
        rng.bounded_laplace(four, three, 0 * three, 0 * three)


@pytest.mark.parametrize("shrunk", [(10, 1), (1, 10), (10,), (), (0, 10), (9, 10)])
def test_size_never_shrinks(rng, shrunk):
    """A size smaller than the shape of the parameters is refused, not cut."""
    with pytest.raises(ValueError, match=r"^arguments must broadcast to shape .*, got loc of shape \(10, 10\)$"):
        rng.laplace(np.zeros((10, 10)), 1.0, shrunk)
    with pytest.raises(ValueError, match=r"^arguments must broadcast to shape .*, got loc of shape \(10, 10\)$"):
        rng.laplace(np.zeros((10, 10)), 1.0, out=np.zeros(shrunk))


def test_out(rng):
    """``out`` is an array of the right type and shape, writeable, that repeats no memory."""
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    repeating = np.lib.stride_tricks.as_strided(np.zeros(3), (2, 3), (0, 8))
    refusals = [
        ([0.0] * 3, TypeError, r"^out must be a numpy array, got list$"),
        (bytearray(24), TypeError, r"^out must be a numpy array, got bytearray$"),
        (0.0, TypeError, r"^out must be a numpy array, got float$"),
        (np.zeros(3, F32), TypeError, r"^out must have dtype float64, got float32$"),
        (np.zeros(3, int), TypeError, r"^out must have dtype float64, got int64$"),
        (np.zeros(3, ">f8"), TypeError, r"^out must have dtype float64, got >f8$"),
        (frozen, ValueError, r"^out must be writeable, got a read-only array$"),
        (np.broadcast_to(0.0, 3), ValueError, r"^out must be writeable, got a read-only array$"),
        (
            np.zeros(4),
            ValueError,
            r"^arguments must broadcast to shape \(4,\), got (loc|values|scale) of shape \(3,\)$",
        ),
        (repeating, ValueError, r"^out must not repeat its own memory, got strides \(0, 8\) for shape \(2, 3\)$"),
    ]
    for out, error, rule in refusals:
        with pytest.raises(error, match=rule):
            rng.laplace(np.zeros(3), 1.0, out=out)
        with pytest.raises(error, match=rule):
            rng.add_laplace(np.zeros(3), 1.0, out=out)
        with pytest.raises(error, match=rule):
            rng.exponential(np.ones(3), out=out)
    with pytest.raises(TypeError, match=r"^out must have dtype float32, got float64$"):
        rng.laplace(dtype=F32, out=np.zeros(3))
    with pytest.raises(TypeError, match=r"^out must have dtype float32, got float64$"):
        rng.add_laplace(np.zeros(3, F32), 1.0, out=np.zeros(3))


def test_out_and_size_must_agree(rng):
    """``out`` and ``size`` together name one shape."""
    for size, shape in ((4, "4,"), ((), ""), ((1, 3), "1, 3"), ((3, 1), "3, 1")):
        with pytest.raises(ValueError, match=rf"^out must have shape \({shape}\), got \(3,\)$"):
            rng.laplace(size=size, out=np.zeros(3))
        with pytest.raises(ValueError, match=rf"^out must have shape \({shape}\), got \(3,\)$"):
            rng.exponential(size=size, out=np.zeros(3))
    agreed = np.zeros(3)
    assert default_rng(1).laplace(size=3, out=agreed) is agreed


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_log_scale(rng, bad):
    """Ln b is a finite number."""
    with pytest.raises(ValueError, match=rf"^log_scale must be finite, got {bad!r}$"):
        rng.log_laplace(bad)
    with pytest.raises(ValueError, match=r"^log_scale must be finite, got array\("):
        rng.log_laplace([0.0, bad])
    with pytest.raises(TypeError, match=r"^log_scale must be real numbers, got dtype bool$"):
        rng.log_laplace(True)


def test_interval(rng):
    """Bounds are ordered, not NaN, and leave a point; loc is finite."""
    refusals = [
        ((0.0, 1.0, 1.0, 0.0), r"^low must be <= high, got low 1\.0 and high 0\.0$"),
        ((0.0, 1.0, [0.0, 1.0], [1.0, 0.5]), r"^low must be <= high, got low array\("),
        ((0.0, 1.0, math.nan, 1.0), r"^low must not be NaN or inf, got nan$"),
        ((0.0, 1.0, 0.0, math.nan), r"^high must not be NaN or -inf, got nan$"),
        ((0.0, 1.0, math.inf, math.inf), r"^low must not be NaN or inf, got inf$"),
        ((0.0, 1.0, -math.inf, -math.inf), r"^high must not be NaN or -inf, got -inf$"),
        ((math.nan, 1.0, 0.0, 1.0), r"^loc must be finite, got nan$"),
        ((math.inf, 1.0, 0.0, 1.0), r"^loc must be finite, got inf$"),
    ]
    for arguments, rule in refusals:
        with pytest.raises(ValueError, match=rule):
            rng.bounded_laplace(*arguments)
    for arguments, name in (((True, 1, 0, 1), "loc"), ((0, 1, None, 1), "low"), ((0, 1, 0, "1"), "high")):
        with pytest.raises(TypeError, match=rf"^{name} must be real numbers"):
            rng.bounded_laplace(*arguments)


@pytest.mark.parametrize("value", [math.nan, math.inf, [1.0, -math.inf], "1", None, True, 1j], ids=repr)
def test_addend_of_a_signed_log(value):
    """Only finite real numbers can be added in the log domain."""
    with pytest.raises((TypeError, ValueError), match=r"^value must be (finite|real numbers.*), got "):
        SignedLog(1, 0.0).add(value)


def test_arrays_that_do_not_fit_in_memory(rng):
    """Where there is no memory for the result no word is taken."""
    for draw in (
        lambda n: rng.laplace(size=n),
        rng.words,
        lambda n: rng.log_laplace(size=n),
        lambda n: rng.exponential(1.0, n),
    ):
        with pytest.raises(MemoryError):
            draw(2**56)


def test_messages_stay_short(rng):
    """However large a bad value, its message is one line of moderate length."""
    with pytest.raises(ValueError, match=r"\.\.\.$") as caught:
        rng.log_laplace(np.full((100, 100), math.nan))
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)
