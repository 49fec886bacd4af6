"""Decimals that a kernel rounds: on either side of every half, and which of them it leaves open."""

import math
import random
from decimal import Decimal
from fractions import Fraction

import exact_oracles
import numpy as np
import pytest
from csv_oracle import ABSENT, cells_from

from lapnoise.kernels.cell_numbers import (
    MISSING,
    OPEN,
    READ,
    check_decimals,
    check_integers,
    find_number,
    read_integers,
)
from lapnoise.kernels.decimals import float_powers, read_points


def points_of(texts: list[bytes], exponent: int, quote: bytes = b'"'):
    """Return states and, where a point was found, how many steps it is."""
    cells = cells_from(texts, quote)
    base, steps, states = np.empty(cells.size), np.empty(cells.size, np.int64), np.empty(cells.size, np.uint8)
    half = exponent // 2
    factors = np.array([math.ldexp(1.0, -half), math.ldexp(1.0, half - exponent)])
    still_open = read_points(*cells.arguments, *ABSENT.arrays, exponent, factors, float_powers(), base, steps, states)
    assert still_open == np.count_nonzero(states == OPEN)
    step = Fraction(2) ** exponent
    found = [Fraction(base[i]) / step + int(steps[i]) if states[i] == READ else None for i in range(cells.size)]
    for i in np.flatnonzero(states == READ).tolist():
        assert abs(int(steps[i])) <= 2**52
        assert base[i] == 0 or abs(Fraction(base[i]) / step) >= 2**52
    return states.tolist(), found


def near(value: Fraction, digits: int, chance: random.Random) -> list[bytes]:
    """Return the two decimals of so many digits around a value > 0, in one of several forms."""
    power = math.floor(math.log10(value)) - digits + 1
    below = math.floor(value / Fraction(10) ** power)
    texts = []
    for number in (below, below + 1):
        form = chance.randrange(4)
        if form == 0 or not -22 < power <= 0:
            texts.append(f"{number}e{power}")
        elif form == 1:
            texts.append(
                f"{chance.choice(['', '+', '0', '000'])}{number // 10**-power}.{number % 10**-power:0{-power}d}"
            )
        elif form == 2:
            shown = str(number)
            texts.append(f"{shown[0]}.{shown[1:]}E{power + len(shown) - 1:+03d}")
        else:
            texts.append(f'"{number // 10**-power}.{number % 10**-power:0{-power}d}"')
        if chance.randrange(2):
            texts[-1] = texts[-1].replace('"', '"-', 1) if texts[-1][0] == '"' else f"-{texts[-1].lstrip('+')}"
    return [text.encode() for text in texts]


def value_of(text: bytes) -> Fraction:
    return Fraction(text.decode().strip('"'))


@pytest.mark.parametrize("exponent", [-200, *range(-60, 61, 5), 200])
def test_both_sides_of_every_half(exponent):
    """The nearest decimals of up to 19 digits beside ties, whose floats mostly lie upon them."""
    chance = random.Random(exponent)
    texts = []
    for _ in range(400):
        tie = Fraction(2 * chance.getrandbits(chance.randrange(1, 70)) + 1) * Fraction(2) ** (exponent - 1)
        texts += near(tie, chance.randrange(1, 20), chance)
    states, found = points_of(texts, exponent)
    decided = 0
    for text, state, point in zip(texts, states, found, strict=True):
        if state == READ:
            assert point == exact_oracles.half_up(value_of(text), exponent), (text, exponent)
            decided += 1
    # Others are long, or multiples of a large power of ten.
    assert decided > (0.85 if -60 <= exponent <= 0 else 0.3) * len(texts)


def test_ties_are_exact():
    for exponent in range(-16, 17):
        step = Fraction(2) ** exponent
        ties = [(2 * k + 1) * step / 2 for k in (0, 1, 2, 5, 1000, 12345)]
        texts = [f"{sign}{Decimal(float(tie)):f}".encode() for tie in ties for sign in ("", "-")]
        states, found = points_of(texts, exponent)
        assert states == [READ] * len(texts)
        assert found == [exact_oracles.half_up(value_of(text), exponent) for text in texts]


def test_a_word_that_is_shifted_out():
    """5 D = 2^64 - 1, so that v / r = 5 D / 2^65 lies just below a half."""
    assert points_of([b"3689348814741910323e1", b"-3689348814741910323e1"], 66) == ([READ, READ], [0, 0])


@pytest.mark.parametrize("exponent", [-39, -26, -3, 0, 7])
def test_ordinary_numbers_are_never_left_open(exponent):
    """Whatever ``repr`` and rounding to some places write, and 64-bit integers, far from and near to 2^52 steps."""
    chance = random.Random(exponent)
    texts = [repr(chance.uniform(-1, 1) * 10.0 ** chance.randrange(-8, 18)).encode() for _ in range(3000)]
    texts += [f"{chance.uniform(-1e6, 1e6):.{chance.randrange(12)}f}".encode() for _ in range(3000)]
    texts += [str(chance.getrandbits(chance.randrange(1, 64))).encode() for _ in range(1000)]
    texts += [f"{math.ldexp(1 + chance.uniform(-1e-9, 1e-9), exponent + 52):.0f}".encode() for _ in range(500)]
    states, found = points_of(texts, exponent)
    assert states == [READ] * len(texts)
    assert found == [exact_oracles.half_up(value_of(text), exponent) for text in texts]


@pytest.mark.parametrize(
    "text",
    [
        b"12345678901234567890",  # of 20 digits
        b"1e300",
        b"1e-291",
        b"12.345678901234567890",
        b"inf",
        b"nan1",
        b"1e",
        b"1e+",
        b"e1",
        b".",
        b"-",
        b"+.e1",
        b"1 2",
        b"1,",
        b"--1",
        b"0x1",
        b"1_0",
        b'"1',
        b'1"',
        b'""1""',
        b"\xb2",
        b"1:",
        b"/1",
    ],
)
def test_what_is_left_open(text):
    assert points_of([b"1", text, b"2"], 0) == ([READ, OPEN, READ], [1, None, 2])


def test_zeros_before_and_behind_do_not_count_as_digits():
    texts = [b"0" * 40 + b"12", b"0." + b"0" * 20 + b"1234567890123456789e25", b"1" + b"0" * 18, b"0" * 50, b"0e999999"]
    texts += [b"." + b"0" * 60 + b"5e61", b"-0.0", b"+0", b"1e0000000000000000000000001", b"5e-00001"]
    states, found = points_of(texts, -4)
    assert states == [READ] * len(texts)
    assert found == [exact_oracles.half_up(value_of(text), -4) for text in texts]


def test_a_cell_ends_where_it_ends():
    """Digits behind it belong to what comes next."""
    cells = cells_from([b"123456789012345"])
    for end in range(1, 15):
        values, states = np.empty(1, np.int64), np.empty(1, np.uint8)
        starts, ends = np.zeros(1, np.int32), np.array([end], np.int32)
        assert read_integers(cells.data, starts, ends, np.uint8(34), *ABSENT.arrays, values, states) == 0
        assert values[0] == int("123456789012345"[:end])


def test_integers_up_to_the_last_bit():
    texts = [
        b"9223372036854775807",
        b"-9223372036854775808",
        b"9223372036854775808",
        b"-9223372036854775809",
        b"00",
        b"NA",
    ]
    cells = cells_from([*texts, b"18446744073709551617", b"-0", b"1.0"])
    values, states = np.empty(cells.size, np.int64), np.empty(cells.size, np.uint8)
    assert read_integers(*cells.arguments, *ABSENT.arrays, values, states) == 4
    assert states.tolist() == [READ, READ, OPEN, OPEN, READ, MISSING, OPEN, READ, OPEN]
    assert values.tolist() == [2**63 - 1, -(2**63), 0, 0, 0, 0, 0, 0, 0]


def test_checks_see_what_reading_sees():
    texts = [b"1", b"", b"x", b"1e5", b"1e299", b"1e301", b"1" * 299, b"1" * 302, b"0." + b"1" * 400, b"0e9999999999"]
    cells = cells_from(texts)
    states = np.empty(cells.size, np.uint8)
    assert check_decimals(*cells.arguments, *ABSENT.arrays, states) == (1, 3)
    assert states.tolist() == [READ, MISSING, OPEN, READ, READ, OPEN, READ, OPEN, READ, READ]


def test_the_first_number_is_found():
    for texts, index in [([b"a", b"", b"7"], 2), ([b'" 7"', b"7"], 0), ([b'"7', b"x"], 0), ([b"a", b'"', b'""'], -1)]:
        for quote in (b'"', b"'", b"\0"):
            assert find_number(*cells_from(texts, quote).arguments) == index
    for quote, index in ((b"'", 0), (b'"', 1), (b"\0", 1)):
        assert find_number(*cells_from([b"'7'", b"7"], quote).arguments) == index


def test_quotes_are_what_the_caller_says():
    texts = [b"'1'", b'"1"', b"1", b"'NA'", b'"NA"', b"*1*"]
    for quote, expected in (
        (b"'", [READ, OPEN, READ, MISSING, OPEN, OPEN]),
        (b'"', [OPEN, READ, READ, OPEN, MISSING, OPEN]),
        (b"*", [OPEN, OPEN, READ, OPEN, OPEN, READ]),
        (b"\0", [OPEN, OPEN, READ, OPEN, OPEN, OPEN]),
    ):
        cells = cells_from(texts, quote)
        states, values = np.empty(6, np.uint8), np.empty(6, np.int64)
        missing = expected.count(MISSING)
        counts = (missing, expected.count(OPEN))
        for check in (check_decimals, check_integers):
            assert check(*cells.arguments, *ABSENT.arrays, states) == counts
            assert states.tolist() == expected
        assert read_integers(*cells.arguments, *ABSENT.arrays, values, states) == counts[1]
        assert states.tolist() == expected
        assert values.tolist() == [1 if state == READ else 0 for state in expected]
        assert points_of(texts, 0, quote)[0] == expected
