"""Numbers as text: what the kernels write is what ``repr`` writes."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapnoise.kernels.shortest import TEXT_ROOM, format_floats, format_integers, powers_of_ten


def texts_of(values: np.ndarray) -> list[str]:
    out, ends = np.full(TEXT_ROOM * values.size, 120, np.uint8), np.zeros(values.size, np.int64)
    if values.dtype == np.float64:
        format_floats(out, ends, values, powers_of_ten())
    else:
        format_integers(out, ends, values)
    text = out.tobytes()[: ends[-1]].decode("ascii")
    return [text[start:end] for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]


def assert_like_repr(values) -> None:
    values = np.asarray(values)
    got, expected = texts_of(values), list(map(repr, values.tolist()))
    assert got == expected, next(pair for pair in zip(got, expected, strict=True) if pair[0] != pair[1])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1e16, "1e+16"),
        (9999999999999998.0, "9999999999999998.0"),
        (1e-4, "0.0001"),
        (1e-5, "1e-05"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (-1.2345678901234567e-100, "-1.2345678901234567e-100"),
        (2.0**-44, "5.684341886080802e-14"),
        (9007199254740993.0, "9007199254740992.0"),
        (123456.75, "123456.75"),
    ],
)
def test_known_texts(value, text):
    assert texts_of(np.array([value])) == [text]


@pytest.mark.parametrize("part", range(4))
def test_any_bit_pattern(part):
    """Half a million in each part, whatever their exponent."""
    bits = np.frombuffer(np.random.default_rng(1).bytes(8 << 19), np.uint64)
    values = bits.view(np.float64)
    assert_like_repr(values[np.isfinite(values)])


def test_ordinary_magnitudes():
    chance = np.random.default_rng(2)
    values = chance.normal(size=400_000) * 10.0 ** chance.integers(-8, 18, 400_000)
    assert_like_repr(values)
    assert_like_repr(np.round(values[:200_000], 2))
    assert_like_repr(chance.integers(-(2**53), 2**53, 200_000) * 2.0**-26)
    assert_like_repr(chance.integers(-(2**40), 2**40, 200_000) * 2.0**-3)


def test_powers_and_their_neighbours():
    centres = [math.ldexp(1.0, k) for k in range(-1074, 1024)] + [float(f"1e{k}") for k in range(-323, 309)]
    values = [
        f(x) for x in centres for f in (lambda x: x, lambda x: math.nextafter(x, 0), lambda x: math.nextafter(x, 9e999))
    ]
    values += [float(f"{digit}e{k}") for digit in (2, 3, 5, 9, 99, 12345) for k in range(-320, 300)]
    finite = [value for value in values if math.isfinite(value)]
    assert_like_repr(finite)
    assert_like_repr([-value for value in finite])


def test_subnormals_and_integers():
    assert_like_repr(np.arange(1, 20_000, dtype=np.uint64).view(np.float64))
    assert_like_repr((np.uint64(1 << 52) - np.arange(1, 20_000, dtype=np.uint64)).view(np.float64))
    assert_like_repr(np.arange(-20_000, 20_000).astype(np.float64))
    assert_like_repr(2.0**53 + 2 * np.arange(20_000))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
@settings(max_examples=300, deadline=None)
def test_floats(values):
    assert_like_repr(values)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
@settings(max_examples=200, deadline=None)
def test_integers(values):
    assert_like_repr(np.array(values, np.int64))


def test_integers_of_every_length():
    values = [sign * (10**k + d) for k in range(19) for d in (-1, 0, 1, 7) for sign in (-1, 1)]
    assert_like_repr(np.array([*values, 2**63 - 1, -(2**63), 2**62], np.int64))
    assert_like_repr(np.frombuffer(np.random.default_rng(3).bytes(8 << 17), np.int64))


def test_powers_of_ten_are_rounded_up():
    words = powers_of_ten().tolist()
    for i, k in enumerate(range(-292, 325)):
        scaled = words[2 * i] << 64 | words[2 * i + 1]
        assert scaled >> 127 == 1
        shift = (10**k).bit_length() - 128 if k >= 0 else -((10**-k - 1).bit_length() + 127)
        numerator = scaled * 10 ** max(-k, 0) << max(shift, 0)
        denominator_scaled = 10 ** max(k, 0) << max(-shift, 0)
        excess = numerator - denominator_scaled
        assert 0 <= excess < 10 ** max(-k, 0) << max(shift, 0)


def test_bytes_behind_the_room_stay():
    out, ends = np.full(2 * TEXT_ROOM, 120, np.uint8), np.zeros(1, np.int64)
    for value in (
        struct.unpack("<d", b"\x01" + bytes(7))[0],
        -1.2345678901234567e-100,
        123.456,
        -0.00012345678901234567,
    ):
        format_floats(out, ends, np.array([value]), powers_of_ten())
        assert set(out[TEXT_ROOM:].tolist()) == {120}
