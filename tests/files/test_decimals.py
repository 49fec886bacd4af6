"""Decimals on a lattice: a CSV cell is rounded as what it says, and the sum with its noise is rounded once."""

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import exact_oracles
import file_oracle
import numpy as np
import pytest
from csv_oracle import ABSENT, cells_from
from hypothesis import given, settings
from hypothesis import strategies as st

from lapnoise import LaplaceMechanism, default_rng
from lapnoise.errors import SeededNoiseWarning
from lapnoise.files import _decimals, _rows, add_noise
from lapnoise.files._decimals import exact_value, nearest_points

LARGEST = math.nextafter(math.inf, 0)


def value_of(cell: bytes) -> Fraction:
    return Fraction(cell.decode().strip('" '))


def assert_nearest(cells: list[bytes], exponent: int) -> None:
    """Compare with fractions; only points beyond 2^102 r may have no form that can be compared."""
    points = nearest_points(cells_from(cells), ABSENT, exponent)
    for i, cell in enumerate(cells):
        if i in points.open:
            assert abs(value_of(cell)) > Fraction(2) ** (exponent + 102)
        else:
            got = Fraction(points.base[i]) / Fraction(2) ** exponent + int(points.steps[i])
            assert got == exact_oracles.half_up(value_of(cell), exponent), (cell, exponent)
            assert abs(int(points.steps[i])) <= 2**52


def in_decimal(value: Fraction, digits: int = 2500) -> Decimal:
    with localcontext() as context:
        context.prec = digits
        return Decimal(value.numerator) / Decimal(value.denominator)


def beside(tie: Decimal) -> list[bytes]:
    """Return a tie, its neighbours at many places, and shorter decimals near it."""
    with localcontext() as context:
        context.prec = 2600
        last = tie.as_tuple().exponent
        shifts = [Decimal(1).scaleb(last - places) for places in (0, 1, 3, 30)]
        near = [tie, *(tie + shift for shift in shifts), *(tie - shift for shift in shifts)]
        texts = [form(number) for number in near for form in (lambda n: format(n, "f"), str)]
        texts += [format(tie, f".{digits}f") for digits in (1, 2, 6, 12)]
        texts += [format(tie, f".{digits}e") for digits in (5, 15, 16, 17, 20)]
    return [text.encode() for text in texts]


def random_cell(chance: random.Random) -> bytes:
    sign = chance.choice(["", "-", "+"])
    whole = chance.randrange(10 ** chance.randrange(1, 19))
    part = chance.randrange(10 ** chance.randrange(1, 12))
    text = chance.choice(
        [
            f"{sign}{whole}",
            f"{sign}{whole % 10**11}.{part}",
            f"{sign}{whole % 10**6}.{part:018}",
            repr(chance.uniform(-1, 1) * 10.0 ** chance.randrange(-20, 20)),
            f"{sign}{part}e{chance.randrange(-30, 25)}",
            f"{sign}{chance.randrange(10 ** chance.randrange(1, 40))}",
            f"{sign}.{part}",
            f"{whole}.",
            f" {whole}.5 ",
            f'"{sign}{whole}.25"',
        ]
    )
    return text.encode()


@pytest.mark.parametrize("exponent", [-1074, -1060, -700, -120, *range(-66, 12, 3), 64, 70, 300, 971])
def test_points_are_those_of_fractions(exponent):
    chance = random.Random(exponent)
    cells = [random_cell(chance) for _ in range(300)]
    for bits in range(1, 62, 3):
        tie = Fraction(2 * chance.getrandbits(bits) + 1) * Fraction(2) ** (exponent - 1)
        cells += beside(in_decimal(chance.choice([-1, 1]) * tie))
    assert_nearest([cell for cell in cells if abs(value_of(cell)) <= LARGEST], exponent)


def test_few_cells_take_fractions(monkeypatch):
    """Ordinary decimals, also of 17 digits, are settled without a fraction, on the lattice of a million cells too."""
    monkeypatch.setattr(_decimals, "exact_value", None)
    chance = random.Random(1)
    cells = [f"{chance.uniform(-1e6, 1e6):.{digits}f}".encode() for digits in (0, 1, 2, 6, 9) for _ in range(1000)]
    cells += [repr(chance.uniform(-1e6, 1e6)).encode() for _ in range(1000)]
    cells += [b'"%s"' % cell for cell in cells[:1000]] + [b" %s " % cell for cell in cells[:1000]]
    for exponent in (-23, -39):
        assert_nearest(cells, exponent)


@given(
    st.lists(
        st.tuples(st.integers(-(10**18), 10**18), st.integers(0, 25), st.integers(-12, 12)),
        min_size=1,
        max_size=20,
    ),
    st.integers(-60, 10),
)
@settings(max_examples=200, deadline=None)
def test_points_of_any_decimals(parts, exponent):
    cells = [f"{Decimal(digits).scaleb(-places):f}".encode() for digits, places, _ in parts]
    cells += [f"{digits}e{power - places}".encode() for digits, places, power in parts]
    assert_nearest(cells, exponent)


def test_a_float_would_be_rounded_to_another_step():
    """The decimals above are not settled by their floats: this one lies just below a half, its float upon it."""
    exponent, cell = -2, b"0.12499999999999999999999"
    assert float(cell) == 0.125
    points = nearest_points(cells_from([cell, b"0.125"]), ABSENT, exponent)
    assert points.steps.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (b"1e-999999999", 0),
        (b"-1e-999999999", 0),
        (b"1e-99999999999999999999", 0),
        (b"0e99999999999999999999", 0),
        (b"0." + b"0" * 100_000 + b"1", 0),
        (b"2.4703282292062327e-324", 0),  # just below 2^-1075
        (b"2.4703282292062328e-324", 1),
        (b"-2.4703282292062328e-324", -1),
        (b"0.125" + b"0" * 1600 + b"1", 1),
        (b"0.124" + b"9" * 1600, 0),
        (b"-0.125" + b"0" * 1600 + b"1", -1),
        (b"-0.125", 0),  # half up
    ],
)
def test_absurd_exponents_and_digits(cell, expected):
    exponent = -2 if b"12" in cell[:6] else -1074
    points = nearest_points(cells_from([cell]), ABSENT, exponent)
    assert (points.steps.tolist(), points.open) == ([expected], {})
    assert exact_value(cell).denominator.bit_length() < 7000


def noised(folder, cells: list[bytes], epsilon, sensitivity, changed: int | None = None) -> list[str]:
    source, target = folder / "s.csv", folder / "t.csv"
    source.write_bytes(b"n\n" + b"".join(cell + b"\n" for cell in cells))
    with pytest.warns(SeededNoiseWarning):
        add_noise(
            source, target, epsilon=epsilon, sensitivity=sensitivity, changed=changed, columns="n", seed=7, force=True
        )
    return target.read_text().splitlines()[1:]


# Scales of 2^24 and 2^40 steps, beyond the fast tier, beyond exact floats, and beyond 2^57, where integers have no
# bound; the finest lattice, and coarse ones.
PARAMETERS = [
    ("0.5", 1, 1),
    ("0.5", 1, 10**6),
    ("0.5", 100, 10**6),
    ("1e-6", 1, 10**6),
    ("1e-8", 1, 10**6),
    ("1e-9", "0.01", 10**6),
    ("1e-15", 1, 1000),
    ("1e-30", 1, 10**6),
    ("1e20", "1e-300", 5),
    ("1e-3", "1e300", 5),
    (1, "1e15", None),
]


@pytest.mark.parametrize(("epsilon", "sensitivity", "changed"), PARAMETERS)
def test_cells_are_the_sums_in_fractions(tmp_path, epsilon, sensitivity, changed):
    chance = random.Random(str(epsilon))
    lattice = LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity, changed=changed or 200).lattice
    cells = [random_cell(chance) for _ in range(60)]
    cells += [f"{chance.uniform(-1, 1) * 10 ** chance.randrange(1, 12):.2f}".encode() for _ in range(60)]
    cells += [b"1.7976931348623157e308", b"-1.7976931348623157e308", b"1e300", b"-12345678901234567890.5", b"-0"]
    for bits in (3, 20, 40, 52, 53, 60):
        tie = Fraction(2 * chance.getrandbits(bits) + 1) * lattice.granularity / 2
        if tie < LARGEST / 2:
            cells += beside(in_decimal(tie))[:6]
    # Beyond 2^104 r too, where noise decides only beside the middle between two floats.
    for x in (float(lattice.granularity) * 2.0**power * 1.375 for power in (55, 70, 104, 110)):
        if x < LARGEST / 2:
            middle = Fraction(x) + Fraction(math.ulp(x)) / 2
            cells += [str(in_decimal(middle + k * lattice.granularity)).encode() for k in (0, -1, 3)]
    cells = (cells * 2)[:200]
    draws = file_oracle.draws(200, epsilon, sensitivity, changed)
    expected = [repr(file_oracle.released(value_of(cell), draw)) for cell, draw in zip(cells, draws, strict=True)]
    assert noised(tmp_path, cells, epsilon, sensitivity, changed) == expected


def test_integers_beyond_the_floats_stay_apart(tmp_path):
    """2^60 + 128 and 2^60 + 129 are one step of r = 1 apart, their floats 256 or none."""
    pair = [str(2**60 + 128).encode(), str(2**60 + 129).encode()]
    assert float(pair[0]) != float(pair[1])
    r = 2.0**6  # Δ / ε = 2^30
    for cells in (pair, pair[::-1]):
        draws = file_oracle.draws(2, 1, 2**30, 1)
        assert draws[0].lattice.granularity == r
        expected = [file_oracle.released(int(cell), draw) for cell, draw in zip(cells, draws, strict=True)]
        assert noised(tmp_path, cells, 1, 2**30, 1) == [repr(value) for value in expected]
    points = nearest_points(cells_from(pair), ABSENT, 0)
    one, two = (Fraction(base) + int(step) for base, step in zip(points.base, points.steps, strict=True))
    assert (one, two) == (2**60 + 128, 2**60 + 129)


@pytest.mark.parametrize(("epsilon", "sensitivity", "changed"), PARAMETERS)
def test_decimals_that_are_floats_give_what_the_mechanism_gives(tmp_path, epsilon, sensitivity, changed):
    chance = np.random.default_rng(2)
    values = chance.normal(0, 1, 300) * 10.0 ** chance.integers(-3, 16, 300)
    values[::7] = np.rint(values[::7])
    # All digits, so that each text says the float itself.
    cells = [format(Decimal(value), "f").encode() for value in values.tolist()]
    mechanism = LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity, changed=changed)
    with pytest.warns(SeededNoiseWarning):
        expected = mechanism.add_noise(values, rng=default_rng(7, rounds=20))
    assert noised(tmp_path, cells, epsilon, sensitivity, changed) == [repr(value) for value in expected.tolist()]


@pytest.mark.parametrize(("epsilon", "sensitivity", "changed"), [PARAMETERS[1], PARAMETERS[4], PARAMETERS[6]])
def test_blocks_do_not_matter(tmp_path, monkeypatch, epsilon, sensitivity, changed):
    chance = random.Random(3)
    cells = [random_cell(chance) if i % 5 else b"NA" for i in range(100)]
    expected = noised(tmp_path, cells, epsilon, sensitivity, changed)
    for block_bytes in (1, 100, 1000):
        monkeypatch.setattr(_rows, "BLOCK_BYTES", block_bytes)
        assert noised(tmp_path, cells, epsilon, sensitivity, changed) == expected


@pytest.mark.parametrize(("epsilon", "sensitivity", "changed"), PARAMETERS[:4])
def test_every_cell_is_a_multiple_of_the_granularity(tmp_path, epsilon, sensitivity, changed):
    source = tmp_path / "s.csv"
    chance = random.Random(4)
    source.write_text("n\n" + "".join(f"{chance.uniform(-1e5, 1e5):.3f}\n" for _ in range(2000)))
    receipt = add_noise(source, tmp_path / "t.csv", epsilon=epsilon, sensitivity=sensitivity, changed=changed)
    steps = [Fraction(float(x)) / Fraction(receipt.granularity) for x in (tmp_path / "t.csv").read_text().split()[1:]]
    assert all(step.denominator == 1 for step in steps)
    assert "-0.0" not in (tmp_path / "t.csv").read_text().split()
