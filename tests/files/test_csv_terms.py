"""CSV: rows that are persons, bounds, strata, and mechanisms other than Laplace, on decimals as they stand."""

import math
from fractions import Fraction

import file_oracle
import numpy as np
import pytest

import lapnoise
from lapnoise import lattice
from lapnoise.errors import InputDataError, LapnoiseWarning, SeededNoiseWarning
from lapnoise.files import add_noise

SEED = 7


def noised(tmp_path, text, **options):
    """Return what comes out, line by line, and the receipt."""
    (tmp_path / "s.csv").write_text(text)
    with pytest.warns(SeededNoiseWarning):
        receipt = add_noise(tmp_path / "s.csv", tmp_path / "t.csv", seed=SEED, force=True, **options)
    return (tmp_path / "t.csv").read_text().splitlines(), receipt


def refusal(tmp_path, text, kind=InputDataError, **options):
    (tmp_path / "s.csv").write_text(text)
    (tmp_path / "t.csv").unlink(missing_ok=True)
    with pytest.raises(kind) as caught:
        add_noise(tmp_path / "s.csv", tmp_path / "t.csv", **options)
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.csv"]
    return str(caught.value)


def released(mechanism, number, place=0, stratum=None):
    """Return what a mechanism makes of an exact number at a place of the seed's stream."""
    law = mechanism if stratum is None else mechanism.stratum(stratum)
    step = file_oracle.step_at(law.lattice.t, place)
    return lattice.release(Fraction(number), step, mechanism.lattice.exponent)


def by_mechanism(mechanism, values):
    with pytest.warns(SeededNoiseWarning):
        return mechanism.add_noise(np.asarray(values), rng=lapnoise.default_rng(SEED, rounds=20))


def test_rows_that_are_persons(tmp_path):
    """Decimals are clipped to the bounds, whose widths add up to the sensitivity."""
    text = "a,x,y\nu,0.1,5\nv,-3,11.5\nw,0.7,1e3\n"
    lines, receipt = noised(
        tmp_path, text, columns=["x", "y"], local=True, epsilon=1, clip={"x": (0, "0.5"), "y": (4, 10)}
    )
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=Fraction(13, 2), changed=2)
    x = [released(mechanism, value, i) for i, value in enumerate(["0.1", "0", "0.5"])]
    y = [released(mechanism, value, (1 << 42) + i) for i, value in enumerate([5, 10, 10])]
    assert lines == ["a,x,y", *(f"{a},{x[i]!r},{y[i]!r}" for i, a in enumerate("uvw"))]
    assert (receipt.sensitivity, receipt.changed, receipt.local) == ("13/2", 2, True)
    assert receipt.clip == {"x": [0.0, 0.5], "y": [4.0, 10.0]}


@pytest.mark.parametrize("columns", [["x"], None])
def test_persons_may_not_be_missing(tmp_path, columns):
    text = 'a,x\nu,1\nv,\nw,"NA"\n'
    options = {"columns": columns, "local": True, "epsilon": 1, "clip": (0, 10)}
    message = refusal(tmp_path, text, **options)
    assert message == (
        "data row 2 (line 3), column 'x' has a missing cell, where a finite number must stand; "
        "fill says what such a cell counts as (--fill)"
    )
    lines, receipt = noised(tmp_path, text, fill="2.5", **options)
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=10, changed=1)
    assert lines == [
        "a,x",
        f"u,{released(mechanism, 1)!r}",
        f"v,{released(mechanism, '2.5', 1)!r}",
        f"w,{released(mechanism, '2.5', 2)!r}",
    ]
    assert (receipt.cells_noised, receipt.cells_missing, receipt.fill) == (3, 0, 2.5)


@pytest.mark.parametrize(("low", "high"), [(0, 10), ("0.3", "1e9"), (-(10**12), 10**12), (Fraction(1, 3), 7)])
def test_bounds_on_decimals(tmp_path, low, high):
    """Also where bounds are no floats, or further away than 2^52 steps of the lattice, and beside every bound."""
    digits = "4503599627370497"
    numbers = [
        "-1e300",
        "1e300",
        "0.2999999999999999999999",
        "0.30000000000000000000001",
        "5",
        "0.33333333333333333334",
    ]
    numbers += [f"{digits}e-{k}" for k in (3, 6, 15)] + ["1000000000.0000000000001", "999999999.99999999999", "0", "-0"]
    lines, _ = noised(tmp_path, "x\n" + "\n".join(numbers) + "\n", epsilon=1, sensitivity=1, clip=(low, high))
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1, changed=len(numbers))
    expected = []
    for i, text in enumerate(numbers):
        clipped = min(max(Fraction(text), Fraction(low)), Fraction(high))
        expected.append(repr(released(mechanism, clipped, i)))
    assert lines[1:] == expected


def test_integers_clipped_and_filled(tmp_path):
    text = 'n\n5\n-9223372036854775808\n""\n99\n'
    lines, _ = noised(tmp_path, text, mechanism="discrete-laplace", local=True, epsilon=1, clip=(0, 10), fill=3)
    draws = [file_oracle.step_at(10.0, i) for i in range(4)]
    assert lines[1:] == [f"{5 + draws[0]}", f"{draws[1]}", f"{3 + draws[2]}", f"{10 + draws[3]}"]
    message = refusal(
        tmp_path, text, ValueError, mechanism="discrete-laplace", local=True, epsilon=1, clip=(0, 10), fill="2.5"
    )
    assert message == "fill must be an integer for integers, got 2.5"


def test_infinite_cells_are_taken_to_the_bounds(tmp_path):
    """With bounds, as in other formats, and numbers beyond the floats too; columns without bounds refuse them."""
    text = "x,y\ninf,1\n-Infinity,2\n1e400,3\n-1e400,4\n"
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1, changed=4)
    lines, _ = noised(tmp_path, text, columns="x", epsilon=1, sensitivity=1, clip={"x": (-3, 5)})
    expected = [released(mechanism, value, i) for i, value in enumerate([5, -3, 5, -3])]
    assert [line.split(",")[0] for line in lines[1:]] == list(map(repr, expected))
    message = refusal(tmp_path, text, columns=["x", "y"], epsilon=1, sensitivity=1, clip={"y": (-3, 5)})
    assert message == (
        "data row 1 (line 2), column 'x' has an infinite number, where a finite number or a missing cell must stand; "
        "clip bounds such values (--clip)"
    )
    text = "n\ninf\n-inf\n99999999999999999999\n-9223372036854775809\n"
    lines, _ = noised(tmp_path, text, mechanism="discrete-laplace", epsilon=1, sensitivity=1, clip=(-3, 5))
    assert [int(line) for line in lines[1:]] == [
        value + file_oracle.step_at(1.0, i) for i, value in enumerate([5, -3, 5, -3])
    ]


def test_gaussian_and_bounded_noise_on_decimals(tmp_path):
    """Where decimals are floats, a file holds what the mechanism makes of these."""
    values = np.random.default_rng(3).normal(50, 30, 300).round(3) * 0.5
    text = "x\n" + "".join(f"{value!r}\n" for value in values.tolist())
    exact = [math.floor(Fraction(repr(value)) * 2**20) / 2**20 for value in values.tolist()]
    text = "x\n" + "".join(f"{value!r}\n" for value in exact)
    lines, receipt = noised(tmp_path, text, mechanism="gaussian", epsilon=1, delta="1e-6", sensitivity=1)
    mechanism = lapnoise.GaussianMechanism(epsilon=1, delta="1e-6", sensitivity=1, changed=300)
    assert list(map(float, lines[1:])) == by_mechanism(mechanism, exact).tolist()
    assert receipt.delta == "1/1000000"
    lines, _ = noised(tmp_path, text, mechanism="bounded-laplace", epsilon=1, sensitivity=1, clip=(20, 60))
    mechanism = lapnoise.BoundedLaplaceMechanism(epsilon=1, sensitivity=1, low=20, high=60, changed=300)
    assert list(map(float, lines[1:])) == by_mechanism(mechanism, exact).tolist()


def test_bounded_noise_beyond_2_to_the_52_steps(tmp_path):
    """A domain far from 0: a decimal between two floats counts as what it says."""
    numbers = ["1000000000000.00003", "1000000000005.5", "2e12", "-1"]
    options = {"mechanism": "bounded-laplace", "epsilon": 5000, "sensitivity": 1, "clip": (10**12, 10**12 + 10)}
    lines, receipt = noised(tmp_path, "x\n" + "\n".join(numbers) + "\n", **options)
    got = list(map(float, lines[1:]))
    assert receipt.scale < 0.001
    assert np.abs(np.array(got) - [10**12, 10**12 + 5.5, 10**12 + 10, 10**12]).max() < 0.02
    assert all(10**12 <= value <= 10**12 + 10 for value in got)
    mechanism = lapnoise.BoundedLaplaceMechanism(epsilon=5000, sensitivity=1, low=10**12, high=10**12 + 10, changed=4)
    with pytest.warns(SeededNoiseWarning):
        exact = mechanism.add_noise(np.array([10**12 + 5.5]), rng=_at(1))
    assert got[1] == exact[0]


def _at(position):
    rng = lapnoise.default_rng(SEED, rounds=20)
    rng.seek(position)
    return rng


@pytest.mark.parametrize("name", ["gaussian", "stratified"])
def test_bounds_between_floats_keep_the_law(tmp_path, name):
    """A bound that is no float is not cut to 64 bits of steps: noise has the scale of its own mechanism and stratum.

    The tie between two floats lies half a scale above the bound, so that P(result > tie) = exp(-1/2) / 2, or erfc / 2.
    """
    n = 4000
    common = {"sensitivity": 1, "changed": 1}
    if name == "gaussian":
        options = {"mechanism": "gaussian", "epsilon": 1, "delta": "1e-5", **common}
        mechanism = lapnoise.GaussianMechanism(epsilon=1, delta="1e-5", **common)
        scale, p = mechanism.lattice.t, math.erfc(0.5 / 2**0.5) / 2
    else:
        options = {"epsilon_by": {"a": "1e6", "b": 1}, "strata": "s", **common}
        mechanism = lapnoise.StratifiedLaplaceMechanism(epsilon={"a": "1e6", "b": 1}, **common)
        scale, p = mechanism.stratum("b").lattice.t, math.exp(-0.5) / 2
    exponent = mechanism.lattice.exponent
    tie = Fraction(2) ** (116 + exponent) + (2**63) * Fraction(2) ** exponent
    high = tie - int(scale) // 2 * Fraction(2) ** exponent
    lines, _ = noised(tmp_path, "v,s\n" + f"{10**60},b\n" * n, columns="v", clip=(0, high), **options)
    above = sum(Fraction(float(line.split(",")[0])) > tie for line in lines[1:])
    # The seed is fixed; six deviations have a chance of 2e-9.
    assert abs(above - n * p) < 6 * (n * p * (1 - p)) ** 0.5


@pytest.mark.parametrize(("low", "high"), [("-1e400", "1e400"), (0, "1e30"), ("-1e30", "1e30"), ("0.1", "1e300")])
def test_far_bounds_and_fills(tmp_path, low, high):
    """Whatever bounds are given as, results are the exact sums of clipped numbers and noise, and no warning comes."""
    numbers = ["5", "1e29", "-7", "", "1e305", "123456789012345678901234567890.5"]
    lines, _ = noised(
        tmp_path,
        "x,k\n" + ",\n".join(numbers) + ",\n",
        columns="x",
        epsilon=1,
        sensitivity=1,
        clip=(low, high),
        fill="1e29",
    )
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1, changed=len(numbers))
    expected = []
    for i, text in enumerate(numbers):
        clipped = min(max(Fraction(text or "1e29"), Fraction(low)), Fraction(high))
        expected.append(repr(min(released(mechanism, clipped, i), 1.7976931348623157e308)))
    assert [line.split(",")[0] for line in lines[1:]] == expected


def test_bounds_by_column_need_columns(tmp_path):
    message = refusal(tmp_path, "x\n1\n", ValueError, epsilon=1, sensitivity=1, clip={"x": (0, 1)})
    assert message == "columns must be given where clip has bounds for each column by name"


def test_encodings_that_hide_delimiters(tmp_path):
    for encoding in ("gbk", "big5", "shift_jis", "utf-16"):
        with pytest.raises(ValueError, match="encoding must keep ASCII bytes for ASCII characters alone"):
            add_noise("s.csv", tmp_path / "u.csv", encoding=encoding, epsilon=1, sensitivity=1)


def test_strata(tmp_path):
    """Each row has the noise of its stratum, all on one lattice; the stratum's column is published as it is."""
    text = 'x,band\n1.5,low\n2.25," high "\n,low\n3,"low"\n'
    options = {"mechanism": "stratified", "strata": "band", "sensitivity": 1, "epsilon_by": {"low": 1, "high": "0.2"}}
    lines, receipt = noised(tmp_path, text, **options)
    mechanism = lapnoise.StratifiedLaplaceMechanism(epsilon={"low": 1, "high": "0.2"}, sensitivity=1, changed=4)
    values = [
        released(mechanism, "1.5", 0, "low"),
        released(mechanism, "2.25", 1, "high"),
        released(mechanism, 3, 3, "low"),
    ]
    assert lines == ["x,band", f"{values[0]!r},low", f'{values[1]!r}," high "', ",low", f'{values[2]!r},"low"']
    assert (receipt.strata, receipt.epsilon, receipt.columns) == ("band", "6/5", ("x",))
    assert receipt.scale_by_stratum == dict(mechanism.scale)
    _, receipt = noised(tmp_path, text, columns="x", strata_per_person=1, **options)
    assert receipt.epsilon == "1"
    options = {**options, "local": True, "clip": (0, 10), "fill": 0}
    del options["sensitivity"]
    _, receipt = noised(tmp_path, text, columns="x", strata_public=True, **options)
    assert (receipt.epsilon, receipt.changed, receipt.sensitivity) == ("1", 1, "10")
    message = refusal(tmp_path, text, ValueError, columns="x", **options)
    assert message.startswith("strata_public must be True where local is True and there are strata")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "x,band\n1,low\n2,secret\n",
            {},
            "data row 2 (line 3), column 'band' has an unknown stratum, where one of the strata that were given must "
            "stand",
        ),
        (
            "x,band\n1,\n",
            {},
            "data row 1 (line 2), column 'band' has no stratum, where one of the strata that were given must stand",
        ),
        ("x,y\n1,low\n", {}, "strata must name a column of the source, got 'band'; there are: 'x', 'y'"),
        (
            "x,band\n1,low\n",
            {"columns": ["x", "band"]},
            "strata must be another column than those that are noised, got 'band'",
        ),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_strata_that_are_refused(tmp_path, text, options, message, named):
    options = {"columns": ["x"], **options} if named or "columns" in options else options
    got = refusal(
        tmp_path,
        text,
        (InputDataError, ValueError),
        mechanism="stratified",
        strata="band",
        sensitivity=1,
        epsilon_by={"low": 1},
        **options,
    )
    assert got == message


def test_a_file_without_a_header(tmp_path):
    lines, receipt = noised(tmp_path, "\ufeff1.5,a\n2,b\n", header=False, epsilon=1, sensitivity=1)
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1, changed=2)
    assert lines == [f"\ufeff{released(mechanism, '1.5')!r},a", f"{released(mechanism, 2, 1)!r},b"]
    assert (receipt.rows, receipt.columns) == (2, ("1",))
    lines, receipt = noised(tmp_path, "7,1\n", header=False, columns="2", epsilon=1, sensitivity=1)
    assert (lines[0][:2], receipt.rows) == ("7,", 1)
    message = refusal(tmp_path, "7,1\n", ValueError, header=False, columns="3", epsilon=1, sensitivity=1)
    assert message == "columns must name columns of the source, got '3'; there are: 'column 1', 'column 2'"


def test_names_in_another_encoding(tmp_path):
    (tmp_path / "s.csv").write_bytes("größe,b\n1,ü\n".encode("latin-1"))
    receipt = add_noise(
        tmp_path / "s.csv", tmp_path / "t.csv", columns="größe", encoding="latin-1", epsilon=1, sensitivity=1
    )
    assert receipt.columns == ("größe",)
    assert (tmp_path / "t.csv").read_bytes().startswith("größe,b\n".encode("latin-1"))
    assert (tmp_path / "t.csv").read_bytes().endswith("ü\n".encode("latin-1"))
    for encoding in ("utf-16", "cp037"):
        with pytest.raises(ValueError, match="encoding must keep ASCII bytes for ASCII characters alone, got"):
            add_noise(tmp_path / "s.csv", tmp_path / "u.csv", encoding=encoding, epsilon=1, sensitivity=1)
    with pytest.raises(ValueError, match="encoding must be one that Python knows, got 'klingon'"):
        add_noise(tmp_path / "s.csv", tmp_path / "u.csv", encoding="klingon", epsilon=1, sensitivity=1)


def test_a_header_that_may_be_data_warns(tmp_path):
    (tmp_path / "s.csv").write_text("1,2\n3,4\n")
    with pytest.warns(LapnoiseWarning, match="line 1 is taken for the header"):
        add_noise(tmp_path / "s.csv", tmp_path / "t.csv", columns="2", epsilon=1, sensitivity=1)
