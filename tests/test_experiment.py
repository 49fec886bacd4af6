"""Experiments: statistics are those of the draws, theory is the mechanism's, and bands hold what they say."""

import csv
import io
import json
import math
import re
import sys
import tracemalloc
import warnings
from fractions import Fraction
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import matplotlib
import numpy as np
import pytest
from exact_oracles import probability
from stats import absolute_power_moments, accept, count

from lapnoise import LaplaceMechanism, default_rng, evaluate, queries
from lapnoise.cli import main
from lapnoise.errors import InputDataError, SeededNoiseWarning
from lapnoise.evaluate import _accumulation, _matplotlib, _picture, _statistics, _sums
from lapnoise.evaluate._column import read_column

AIRPORTS = str(Path(__file__).parents[1] / "examples" / "california_airports.csv")


def drawn(seed, row, rows, epsilon, sensitivity, n, releases=1):
    """Return the errors of one row of an experiment, drawn at once through the public mechanism."""
    rng = default_rng(seed, rounds=20).spawn(rows)[row]
    mechanism = LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity, changed=1)
    with pytest.warns(SeededNoiseWarning):
        return sum(mechanism.add_noise(np.zeros(n), rng=rng) for _ in range(releases)) / releases


def same(got, errors):
    """Assert that statistics are NumPy's of the errors, but for the rounding of sums."""
    size = np.abs(errors).mean()
    assert got.mean.measured == pytest.approx(errors.mean(), abs=1e-12 * size, rel=0)
    assert got.std.measured == pytest.approx(errors.std(ddof=1), rel=1e-12)
    assert got.mse.measured == pytest.approx(np.mean(errors**2), rel=1e-12)


def test_defaults():
    """Four epsilons at sensitivity 1 with 10,000 errors each; theory is the mechanism's, sqrt(2) b and 2 b^2."""
    result = evaluate.experiment(seed=1)

    assert [row.epsilon for row in result.rows] == [Fraction(1, 10), Fraction(1, 2), 1, 2]
    assert [row.scale for row in result.rows] == [10.0, 2.0, 1.0, 0.5]
    assert (result.n, result.sensitivity, result.level, result.composed) == (10_000, 1, Fraction(999, 1000), ())
    for i, row in enumerate(result.rows):
        mechanism = LaplaceMechanism(epsilon=row.epsilon, sensitivity=1)
        assert (row.std.theory, row.mse.theory) == pytest.approx((mechanism.std, mechanism.mse), rel=1e-15)
        assert row.std.theory == pytest.approx(math.sqrt(2) * row.scale, rel=1e-13)
        assert row.mean.theory == 0
        assert row.total_epsilon == row.epsilon
        same(row, drawn(1, i, 4, row.epsilon, 1, 10_000))
        assert row.mean.within
        assert row.std.within
        assert row.mse.within


def test_blocks_waves_and_threads(monkeypatch):
    """However errors are cut into blocks and waves, and whoever draws them, their statistics are those of all."""
    n, errors = 70_003, drawn(2, 0, 1, "0.3", 5, 70_003)
    whole = evaluate.experiment(["0.3"], sensitivity=5, n=n, seed=2, threads=1).rows
    same(whole[0], errors)
    assert evaluate.experiment(["0.3"], sensitivity=5, n=n, seed=2, threads=3).rows == whole
    monkeypatch.setattr(_accumulation, "BLOCK", 1 << 10)
    monkeypatch.setattr(_accumulation, "WAVE", 7)
    seen = []
    cut = evaluate.experiment(["0.3"], sensitivity=5, n=n, seed=2, progress=lambda *told: seen.append(told))
    same(cut.rows[0], errors)
    assert seen == [(min(n, k * 7 << 10), n) for k in range(1, 11)]


def test_memory_does_not_grow():
    """Thirty times as many errors take no more memory than some blocks."""
    evaluate.experiment([1], n=1 << 17, seed=1, threads=2)
    tracemalloc.start()
    evaluate.experiment([1], n=1 << 22, seed=1, threads=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * _accumulation.BLOCK * 6
    assert peak > 8 * _accumulation.BLOCK


def test_what_releases_cost():
    """Means of k releases: theory is std / sqrt(k), totals are exact, and the draws are those of k releases."""
    result = evaluate.experiment(["1/3"], releases=5, n=4000, seed=3)
    plans = [(row.epsilon, row.releases, row.total_epsilon) for row in result.composed]
    third = Fraction(1, 3)

    assert plans == [(third / 5, 5, third), (5 * third, 1, 5 * third), (third, 5, 5 * third)]
    for i, row in enumerate(result.composed, 1):
        mechanism = LaplaceMechanism(epsilon=row.epsilon, sensitivity=1)
        assert row.std.theory == pytest.approx(mechanism.std / math.sqrt(row.releases), rel=1e-15)
        same(row, drawn(3, i, 4, row.epsilon, 1, 4000, row.releases))
        assert row.mse.within
    single, means = result.curves
    assert (single.name, means.name) == ("one release", "mean of 5 releases")
    assert [spent for spent, _ in single.points] == pytest.approx([1 / 3, 5 / 3])
    assert [spent for spent, _ in means.points] == pytest.approx([1 / 3, 5 / 3])
    assert means.points[1][1] == result.composed[2].std
    split, once, each = result.composed
    assert split.std.theory == pytest.approx(math.sqrt(5) * result.rows[0].std.theory, rel=1e-9)
    assert each.std.theory == pytest.approx(math.sqrt(5) * once.std.theory, rel=1e-9)


def test_halving_epsilon():
    """For every epsilon whose half is there: standard deviation doubles, mean squared error quadruples."""
    found = evaluate.experiment(n=100_000, seed=4).halvings
    assert [(halving.epsilon, halving.half) for halving in found] == [(1, Fraction(1, 2)), (2, 1)]
    for halving in found:
        assert halving.std.theory == pytest.approx(2, rel=1e-12)
        assert halving.mse.theory == pytest.approx(4, rel=1e-12)
        assert halving.std.within
        assert halving.mse.within
        assert halving.mse.high < 4.3
        assert halving.mse.measured == pytest.approx(halving.std.measured**2, rel=1e-3)


def test_bands_by_standard_errors():
    """For many errors bands are what standard errors say: b sqrt(2 / n), b^2 sqrt(20 / n), of five means b^2 / 5."""
    n = 10**8
    z = _sums.normal_quantile(1e-3)
    assert z == pytest.approx(3.2905267, rel=1e-7)
    low, high = _sums.mean_band(_statistics.continuous_law().terms[2], n, 1e-3)
    assert (high - low) / 2 == pytest.approx(z * math.sqrt(20 / n), rel=1e-4)
    assert (high + low) / 2 == pytest.approx(2, rel=1e-5)


def test_bands_hold():
    """Of 800 runs with 2,000 errors each a tenth lies outside bands of level 0.9, for each statistic."""
    outside = {"mean": 0, "std": 0, "mse": 0}
    for seed in range(200):
        for row in evaluate.experiment(n=2000, level="0.9", seed=seed, threads=1).rows:
            for name in outside:
                outside[name] += not getattr(row, name).within
    for name, hits in outside.items():
        accept(count(f"{name} outside its band", hits, 800, 0.1))


@pytest.mark.parametrize("k", [1, 2, 7])
def test_moments_of_squares(k):
    """Moments of the square of a mean of k variates are those that the powers of their sum give, exactly."""
    raw = [Fraction(math.factorial(j) if j % 2 == 0 else 0) for j in range(9)]
    total = [Fraction(j == 0) for j in range(9)]
    for _ in range(k):
        total = [sum(math.comb(j, i) * total[i] * raw[j - i] for i in range(j + 1)) for j in range(9)]
    means = [float(total[j] / k**j) for j in (2, 4, 6, 8)]
    got = _statistics.square_moments(k)
    assert got.mean == pytest.approx(means[0], rel=1e-12)
    assert got.deviation**2 == pytest.approx(means[1] - means[0] ** 2, rel=1e-12)
    third = means[2] - 3 * means[0] * means[1] + 2 * means[0] ** 3
    assert got.skewness == pytest.approx(third / got.deviation**3, rel=1e-9)
    if k == 1:
        expected = absolute_power_moments(2)
        assert got.kurtosis == pytest.approx(expected.kurtosis, rel=1e-9)


@pytest.mark.parametrize("t", [0.3, 1.0, 50.0])
def test_the_discrete_law(t):
    """Distribution function and moments are sums of exact probabilities."""
    law = _statistics.discrete_law(t)
    reach = math.ceil(60 * t) + 2
    mass = np.array([float(probability(Fraction(t), k)) for k in range(-reach, reach + 1)])
    k = np.arange(-reach, reach + 1, dtype=np.float64)
    assert law.cdf(k) == pytest.approx(np.cumsum(mass), abs=1e-14)
    assert law.below(k) == pytest.approx(np.cumsum(mass) - mass, abs=1e-14)
    for power, got in enumerate((law.powers[1], law.powers[2]), 1):
        mean = float(np.sum(mass * np.abs(k) ** power))
        square = float(np.sum(mass * np.abs(k) ** (2 * power)))
        assert got.mean == pytest.approx(mean, rel=1e-12)
        assert got.deviation == pytest.approx(math.sqrt(square - mean**2), rel=1e-11)
    assert law.powers[0].deviation == pytest.approx(law.powers[2].mean ** 0.5, rel=1e-14)


def test_from_where_moments_are_continuous():
    """At the scale where moments are taken from the continuous law the two agree to 1e-7."""
    t = _statistics.CONTINUOUS_FROM
    below, above = _statistics.discrete_law(math.nextafter(t, 0)), _statistics.discrete_law(t)
    for one, other in zip(below.powers, above.powers, strict=True):
        assert (one.mean, one.deviation) == pytest.approx((other.mean, other.deviation), rel=1e-7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be >= 2, got 0"),
        ({"n": 1}, "n must be >= 2, got 1"),
        ({"epsilons": []}, "epsilons must hold one at least, got none"),
        ({"epsilons": [1, "1.0"]}, "epsilons must hold each once"),
        ({"epsilons": [1, -1]}, "every one of epsilons must be finite and > 0, got -1"),
        ({"epsilons": "0.1,1"}, "epsilons must be a sequence of numbers, got '0.1,1'"),
        ({"epsilons": 1}, "epsilons must be a sequence of numbers, got 1"),
        ({"epsilons": [1], "releases": 0}, "releases must be >= 1, got 0"),
        ({"epsilons": ["1e-200"]}, "sensitivity / epsilon must lie between 1e-140 and 1e140"),
        ({"level": 1}, "level must be between 0 and 1, got 1"),
    ],
)
def test_refused(arguments, message):
    """What is refused is named, with its rule."""
    with pytest.raises((TypeError, ValueError, OverflowError), match=message):
        evaluate.experiment(**arguments)


# Queries on real data.


def test_query_errors_are_answers_minus_truth():
    """Errors are those of the public queries, in their order, against the bounded values that are there."""
    column = np.array([1.0, 2.5, np.nan, 40.0, 7.0, -3.0])
    found = evaluate.query_errors(column, 0, 10, epsilons=[1], n=50, bins=4, seed=6).rows
    rng = default_rng(6, rounds=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        counts = [queries.private_count(column, epsilon=1, rng=rng).value - 5 for _ in range(50)]
        sums = [queries.private_sum(column, 0, 10, epsilon=1, rng=rng).value - 20.5 for _ in range(50)]
        means = [queries.private_mean(column, 0, 10, epsilon=1, rng=rng).value - 4.1 for _ in range(50)]
        edges = [0, 2.5, 5, 7.5, 10]
        cells = [queries.private_histogram(column, edges=edges, epsilon=1, rng=rng).value for _ in range(50)]

    assert [row.query for row in found] == ["count", "sum", "mean", "histogram"]
    for row, errors in zip(found, (counts, sums, means, np.array(cells) - [1, 1, 1, 0]), strict=True):
        assert row.bias == pytest.approx(np.mean(errors), rel=1e-9)
        assert row.rmse.measured == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-9)
    assert [row.bounding for row in found] == pytest.approx([0, 20.5 - 47.5, 4.1 - 9.5, 3 - 5], rel=1e-12)
    assert found[0].relative == pytest.approx(found[0].rmse.measured / 5)
    assert found[3].relative == pytest.approx(found[3].rmse.measured / 1.25)


def test_query_errors_against_theory():
    """On airports of California each root mean squared error lies in its band about theory, at every epsilon."""
    latitudes = read_column(AIRPORTS, "latitude")
    found = evaluate.query_errors(latitudes, 32, 42, n=1000, seed=7, level="0.99999")
    assert len(found.rows) == 16
    assert all(row.rmse.within for row in found.rows)
    mean = found.rows[8]
    off = float(latitudes.mean()) - 37
    assert mean.scale == 100.0
    assert mean.rmse.theory == pytest.approx(100 / 205 * math.sqrt(1 + 4 * off**2 / 100), rel=1e-12)
    assert found.rows[0].rmse.theory == queries.private_count(latitudes, epsilon="0.1").standard_error
    assert [len(curve.points) for curve in found.curves] == [4, 4, 4, 4]


def test_columns(tmp_path):
    """Columns come from CSV by name and from NPY as they are; what is wrong is told by row and column, not by value."""
    path = tmp_path / "a.csv"
    path.write_text('x,"y z"\n1,2.5\n2,NA\n\n3,-1e3\n')
    assert read_column(path, "y z")[[0, 2]].tolist() == [2.5, -1000.0]
    assert math.isnan(read_column(path, "y z")[1])
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3))
    assert read_column(tmp_path / "a.npy", None).tolist() == [0, 1, 2, 3, 4, 5]
    path.write_text("x,y\n1,2\n4,secret\n")
    with pytest.raises(InputDataError, match=r"^data row 2 \(line 3\), column 'y' has text, where a finite number"):
        read_column(path, "y")
    path.write_text("x,y\n1\n")
    with pytest.raises(InputDataError, match=r"^data row 1 \(line 2\) has 1 field, the header has 2$"):
        read_column(path, "y")
    with pytest.raises(InputDataError, match=r"^column 'z' must be in the header once"):
        read_column(path, "z")
    np.save(tmp_path / "b.npy", np.array(["a"]))
    with pytest.raises(InputDataError, match="must be of float32, float64 or integers, got <U1"):
        read_column(tmp_path / "b.npy", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('age\n1\n"2\n3\n', r"line 3 opens a quote that is never closed"),
        ("age\n1_000\n", r"data row 1 \(line 2\), column 'age' has text"),
        ("age\n1\n\u0661\u0662\n", r"data row 2 \(line 3\), column 'age' has text"),
        ("age\n1e999\n", r"data row 1 \(line 2\), column 'age' has a number beyond the largest float"),
        ("age\n-Infinity\n", r"data row 1 \(line 2\), column 'age' has an infinite number"),
        ("age\n", r"column 'age' cannot be used: values must hold one number at least, got none"),
        ("age\nNA\n\n", r"column 'age' cannot be used: values must hold one number at least, got none"),
        ("", r"the file is empty; a CSV file needs a header"),
        ("age,age\n1,2\n", r"column 'age' must be in the header once, which has 'age', 'age'"),
        ("7,size\n1,2\n", r"column 'age' must be in the header once, which has 'column 1', 'size'"),
        ("age\n\0\n", r"line 2 has a NUL byte"),
    ],
)
@pytest.mark.parametrize("command", ["experiment", "report"])
def test_data_are_read_as_noise_reads_them(command, text, message, tmp_path, capsys):
    """What `lapnoise noise` refuses in a CSV file is refused here, with file and place, as bad data."""
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    given = ["--data", str(path), "--column", "age", "--low", "0", "--high", "10"]
    assert main([command, *([str(tmp_path / "x.html")] if command == "report" else []), *given]) == 3
    assert re.match(f"lapnoise: {re.escape(str(path))}: {message}", capsys.readouterr().err)


def test_decimals_are_those_of_the_file(tmp_path):
    """Cells in quotes, with white space and signs, count as the nearest float; so do arrays in any order of memory."""
    path = tmp_path / "a.tsv"
    path.write_text('\ufeffx\tage\na\t" +1.50 "\nb\t0.1e-3\nc\tnull\n', encoding="utf-8")
    assert read_column(path, " age ")[:2].tolist() == [1.5, 1e-4]
    assert math.isnan(read_column(path, "age")[2])
    np.save(tmp_path / "a.npy", np.asfortranarray(np.arange(6.0).reshape(2, 3)).astype(">f8"))
    assert read_column(tmp_path / "a.npy", None).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("empty", "the file does not begin as an NPY file does"),
        ("archive", "the file does not begin as an NPY file does"),
        ("half", "the array must be of float32, float64 or integers, got float16"),
        ("short", "the file ends early"),
        ("long", "the file has bytes after its array"),
        ("infinite", "flat index 1 has an infinite number, where a number or NaN must stand"),
        ("nothing", "the array cannot be used: values must hold one number at least, got none"),
    ],
)
def test_broken_arrays(name, message, tmp_path, capsys):
    """An NPY file that is none, or has no numbers, is bad data."""
    path = tmp_path / "a.npy"
    np.save(
        path, {"half": np.ones(3, np.float16), "infinite": [1, math.inf], "nothing": [math.nan]}.get(name, [1.0, 2])
    )
    if name == "archive":
        with path.open("wb") as file:
            np.savez(file, x=np.ones(3))
    whole = path.read_bytes()
    path.write_bytes({"empty": b"", "short": whole[:-1], "long": whole + b"1"}.get(name, whole))
    assert main(["experiment", "--data", str(path), "--low", "0", "--high", "10"]) == 3
    assert capsys.readouterr().err.startswith(f"lapnoise: {path}: {message}")


def test_masked_and_null_values_are_missing():
    """What lies beneath a mask or a null is never read."""
    seen = np.array([1.0, 5.0, 9.0, math.nan])
    hidden = np.ma.array([1.0, 5.0, 9.0, 1e6], mask=[False, False, False, True])
    pandas = pytest.importorskip("pandas")
    nulls = pandas.Series([1, 5, 9, None], dtype="Int64")
    expected = evaluate.query_errors(seen, 0, 10, epsilons=[1], n=2, seed=1)
    assert evaluate.query_errors(hidden, 0, 10, epsilons=[1], n=2, seed=1) == expected
    assert evaluate.query_errors(nulls, 0, 10, epsilons=[1], n=2, seed=1) == expected


def test_sums_beyond_the_floats(tmp_path, capsys):
    """Where the sum of the values is beyond the floats what bounding changed is infinite, and null in JSON."""
    found = evaluate.query_errors([1.0, 1e308, 1e308], 0, 10, epsilons=[1], n=2).rows
    assert [row.bounding for row in found] == [0.0, -math.inf, pytest.approx(-1e308 / 3 * 2), -2.0]
    assert math.isnan(evaluate.query_errors([1, math.inf, -math.inf], 0, 10, epsilons=[1], n=2).rows[1].bounding)
    path = tmp_path / "a.npy"
    np.save(path, [1.0, 1e308, 1e308])
    assert main(["experiment", "--data", str(path), "--low", "0", "--high", "10", "--n", "2", "--json"]) == 0

    def refuse(constant):
        raise AssertionError(constant)

    rows = json.loads(capsys.readouterr().out, parse_constant=refuse)["rows"]
    assert [row["bounding"] for row in rows if row["query"] == "sum"] == [None] * 4


def test_errors_of_noise_of_any_size():
    """At a tiny epsilon the law of counts is the continuous one: nothing overflows."""
    count, *_ = evaluate.query_errors([1.0, 2.0], 0, 10, epsilons=["1e-50"], n=2, seed=1).rows
    assert count.rmse.theory == pytest.approx(math.sqrt(2) * 1e50)


def test_query_arguments():
    """Bounds, cells and columns that cannot be are refused."""
    for column, low, high, message in (
        ([1.0], 2, 1, "low must be less than high"),
        ([[1.0]], 0, 1, "values must be one column"),
        ([math.nan], 0, 1, "values must hold one number at least"),
        ([1.0], -1e308, 1e308, "sensitivity / epsilon of every query must lie between 1e-140 and 1e140"),
        ([1.0], 1, 1 + 2**-52, "bins must have edges that differ as floats between 1.0 and 1.0000000000000002, got 10"),
    ):
        with pytest.raises((ValueError, OverflowError), match=message):
            evaluate.query_errors(column, low, high)
    with pytest.raises(OverflowError, match=r"got low 0\.0, high 10\.0 and epsilon 1e-300"):
        evaluate.query_errors([1.0], 0, 10, epsilons=["1e-300"])


# The command.


def test_the_command(capsys):
    """The table, JSON and CSV show the same numbers, and the halvings."""
    assert main(["experiment", "--seed", "1", "--json"]) == 0
    got = json.loads(capsys.readouterr().out)
    expected = evaluate.experiment(seed=1)
    assert [row["std"]["measured"] for row in got["rows"]] == [row.std.measured for row in expected.rows]
    assert (got["rows"][0]["epsilon"], got["rows"][0]["epsilon_exact"]) == (0.1, "1/10")
    assert got["halvings"][1]["mse"]["measured"] == expected.halvings[1].mse.measured
    assert main(["experiment", "--seed", "1", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [float(row["mse"]) for row in rows] == [row.mse.measured for row in expected.rows]
    assert rows[3]["scale"] == "0.5"
    assert [(row["table"], row["epsilon"]) for row in rows] == [("rows", text) for text in ("0.1", "0.5", "1.0", "2.0")]
    assert main(["experiment", "--epsilon", "1/3", "--n", "1e2", "--releases", "2", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["table"] for row in rows] == ["rows", "composed", "composed", "composed"]
    assert [float(row["total_epsilon"]) for row in rows] == [1 / 3, 1 / 3, 2 / 3, 2 / 3]
    assert "/" not in "".join(map("".join, (row.values() for row in rows)))
    assert main(["experiment", "--seed", "1", "--releases", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "errors of 10,000 releases for each row, sensitivity 1; bands hold 0.999 of all, each by itself"
    assert lines[2].split()[:2] == ["0.1", "10"]
    assert lines[6].startswith("halving epsilon from 1 to 1/2: std times 2.")
    assert len(lines) == 22


def test_the_command_on_data(capsys):
    """Queries on a file are told, with the warning that this tells the true answers."""
    command = ["experiment", "--data", AIRPORTS, "--column", "latitude", "--low", "32", "--high", "42", "--n", "20"]
    assert main([*command, "--json", "--seed", "2"]) == 0
    printed = capsys.readouterr()
    assert "for planning, not for publishing" in printed.err
    rows = json.loads(printed.out)["rows"]
    assert [(row["query"], row["epsilon"]) for row in rows[:5]] == [
        ("count", 0.1), ("count", 0.5), ("count", 1.0), ("count", 2.0), ("sum", 0.1),
    ]  # fmt: skip
    assert main([*command, "--seed", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["query", "epsilon"]
    assert main([*command, "--csv"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("query,epsilon,scale,bias,rmse,rmse_theory,")
    notes = [row["note"] for row in csv.DictReader(io.StringIO(printed))]
    assert notes == ["computed from the true answers, which it tells: for planning, not for publishing"] * 16


def test_a_picture_of_data_says_so(tmp_path):
    """What is drawn of real data carries the note that it tells true answers; what is drawn of none does not."""
    queries_path, drawn_path = tmp_path / "queries.svg", tmp_path / "drawn.svg"
    found = evaluate.query_errors([1.0, 5.0, 9.0], 0, 10, epsilons=[1, 2], n=20, seed=1)
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        _picture.save_sweep(found, str(queries_path), False)
        _picture.save_sweep(evaluate.experiment(n=20, seed=1), str(drawn_path), False)
    assert found.note in queries_path.read_text(encoding="utf-8")
    assert "true answers" not in drawn_path.read_text(encoding="utf-8")


def test_levels_near_one(capsys):
    """A level is not shown as one."""
    for level, shown in (("0.9999999", "0.9999999"), ("0.99999999999", "1 - 1e-11"), ("0.5", "0.5")):
        assert main(["experiment", "--seed", "1", "--n", "50", "--level", level]) == 0
        assert f"bands hold {shown} of all" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--n", "0"], 2, "n must be >= 2, got 0"),
        (["--n", "1"], 2, "n must be >= 2, got 1"),
        (["--n", "1.5"], 2, "n must be a whole number, got '1.5'"),
        (
            ["--data", "x.txt", "--low", "1", "--high", "2"],
            2,
            "data must be a file that ends in .csv, .tsv or .npy, got",
        ),
        (
            ["--data", "x.parquet", "--low", "1", "--high", "2"],
            2,
            "data must be a file that ends in .csv, .tsv or .npy",
        ),
        (["--data", "x.npy", "--column", "a", "--low", "1", "--high", "2"], 2, "column applies to CSV files only"),
        (["--plot", "/proc/x.png"], 2, "target must be a file that can appear at once, got '/proc/x.png'"),
        (["--epsilon", ","], 2, "epsilons must hold one at least"),
        (["--epsilon", "1,two"], 2, "every one of epsilons must be a number"),
        (["--json", "--csv"], 2, "--json and --csv"),
        (["--column", "x"], 2, "--column needs --data"),
        (["--data", AIRPORTS, "--column", "latitude", "--low", "1"], 2, "--data needs --high"),
        (["--data", AIRPORTS, "--column", "latitude", "--low", "1", "--high", "2", "--releases", "2"], 2, "--releases"),
        (["--data", AIRPORTS, "--low", "1", "--high", "2"], 2, "column must name one of 'iata'"),
        (
            ["--data", AIRPORTS, "--column", "city", "--low", "1", "--high", "2"],
            3,
            "data row 1 (line 2), column 'city'",
        ),
        (["--data", "nowhere.csv", "--column", "x", "--low", "1", "--high", "2"], 2, "cannot be read: 'nowhere.csv'"),
        (["--plot", "x.gif"], 2, "plot must be a file that ends in .png, .svg, .pdf"),
    ],
)
def test_the_command_refuses(arguments, code, message, capsys):
    """Bad input is named, with the exit code of its kind."""
    assert main(["experiment", *arguments]) == code
    assert message in capsys.readouterr().err


@pytest.fixture
def painter(monkeypatch):
    """Stand in for matplotlib and for the pictures: what would be drawn is kept, and a file has a few bytes."""
    seen = []

    class Figure:
        def __init__(self, **options):
            pass

        def add_subplot(self):
            return "axes"

        def savefig(self, file, **options):
            file.write(f"a picture as {options['format']}".encode())

    library, figure, plots = ModuleType("matplotlib"), ModuleType("matplotlib.figure"), ModuleType("plots")
    library.__spec__ = ModuleSpec("matplotlib", None)
    figure.Figure = Figure
    plots.sweep = lambda result, *, ax: seen.append((result, ax))
    monkeypatch.setitem(sys.modules, "matplotlib", library)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", figure)
    monkeypatch.setitem(sys.modules, "lapnoise.evaluate.plots", plots)
    monkeypatch.setattr(evaluate, "plots", plots, raising=False)
    return seen


def test_the_plot(painter, tmp_path, capsys):
    """A picture of the result appears whole; one that is there needs --force."""
    path = tmp_path / "sweep.png"
    assert main(["experiment", "--seed", "1", "--plot", str(path)]) == 0
    assert path.read_bytes() == b"a picture as png"
    ((result, axes),) = painter
    assert axes == "axes"
    assert result == evaluate.experiment(seed=1)
    assert [epsilon for epsilon, _ in result.curves[0].points] == [0.1, 0.5, 1.0, 2.0]
    path.write_text("mine")
    assert main(["experiment", "--plot", str(path)]) == 4
    assert "target exists" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main(["experiment", "--plot", str(path), "--force"]) == 0
    assert path.read_bytes() == b"a picture as png"
    assert main(["experiment", "--plot", str(tmp_path / "no" / "x.png")]) == 4
    assert len(painter) == 2


def test_without_matplotlib(monkeypatch, tmp_path, capsys):
    """Where matplotlib is absent the extra is named, before anything is drawn."""
    monkeypatch.setattr(_matplotlib, "find_spec", lambda name: None)
    monkeypatch.setattr(evaluate, "experiment", None)
    assert main(["experiment", "--plot", str(tmp_path / "x.png")]) == 1
    assert "pip install 'lapnoise[plots]'" in capsys.readouterr().err
