"""The examples run, and what they claim about privacy holds."""

import re
import runpy
from pathlib import Path

import numpy as np
import spark_cluster

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_cloaking(capsys):
    """The example prints each place beside the truth, two areas, and an epsilon that is the sum of its parts."""
    runpy.run_path(str(EXAMPLES / "cloaking.py"), run_name="__main__")
    printed = capsys.readouterr().out.splitlines()

    assert len(printed) == 8
    assert [line.split()[0] for line in printed[1:5]] == ["SFO", "LAX", "FAT", "MRY"]
    assert "true   37.6190  -122.3748  published" in printed[1]
    # 200 km from the truth has a probability of 41 exp(-40).
    assert all(float(line.split()[-3]) < 200 for line in printed[1:5])
    assert re.search(r"with 10 airports, at no cost: [0-9.]+ km; the true place is (inside|outside)$", printed[5])
    assert re.search(r": (10|20|40|80|160|320) km, which in truth holds \d+; without privacy", printed[6])
    assert printed[7].startswith(
        "Epsilon spent by each of the four who show a place: 3 (2 for the place, 1 for the area)"
    )


def run(name, capsys):
    """Return what an example prints."""
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_income_bands(capsys):
    """Each band's mean error is near its scale, 1 / epsilon, and what is charged is the largest epsilon."""
    printed = run("income_bands.py", capsys)
    bands = re.findall(r"^(.{24}) +([0-9.]+) +([0-9.]+) +([0-9.]+)$", printed, re.MULTILINE)

    assert [float(epsilon) for _, epsilon, _, _ in bands] == [1, 1, 1, 0.5, 0.05]
    for _, epsilon, scale, error in bands:
        assert float(scale) == 1 / float(epsilon)
        # P(the mean of 52 magnitudes is below 0.3 scales or above 2.5) < exp(-26), by Chernoff's bound.
        assert 0.3 < float(error) / float(scale) < 2.5
    assert printed.rstrip().endswith("charged: 1")


def test_bulk_flights(capsys, monkeypatch):
    """Both files are noised in one column alone, and a mean over all rows is near the truth."""
    monkeypatch.setattr("sys.argv", ["bulk_flights.py"])
    printed = run("bulk_flights.py", capsys).splitlines()

    assert [line.split(":")[0].strip() for line in printed] == ["parquet", "csv"]
    for line in printed:
        assert "336,776 rows, noise of scale 660 on each" in line
        assert line.endswith("other columns are as they were")
        noisy, truth = (float(x) for x in re.search(r"mean delay (\S+) minutes, in truth (\S+);", line).groups())
        # The mean of n draws of scale b is beyond 9 b / sqrt(n) with a chance below 1e-9.
        assert abs(noisy - truth) < 9 * 660 / 336_776**0.5
        assert truth == 12.30


def test_flights(capsys):
    """Each answer is near the truth that is printed beside it, by what its epsilon allows but for a chance of 1e-9."""
    printed = run("flights.py", capsys)
    answers = [float(x.replace(",", "")) for x in re.findall(r"^.{20} *(-?[0-9,.]+)   truth", printed, re.MULTILINE)]
    truths = [float(x.replace(",", "")) for x in re.findall(r"truth +(-?[0-9,.]+)", printed)]

    assert len(answers) == len(truths) == 9
    for answer, truth, scale in zip(answers, truths, [7, 0.01, 100 * 5000 * 3.5, *[7] * 5, 1], strict=True):
        assert abs(answer - truth) <= 24 * scale
    assert truths[0] == 328_521
    assert printed.rstrip().endswith("spent in all: epsilon 1")


def test_duckdb_flights(capsys):
    """Each carrier's noisy mean is near the truth, by 8 standard errors but for a chance of 2e-9 in all."""
    printed = run("duckdb_flights.py", capsys)
    row = r"^(..) +([0-9,]+) flights   noisy +(-?[0-9.]+)   truth +(-?[0-9.]+)   standard error +([0-9.]+)$"
    rows = re.findall(row, printed, re.MULTILINE)

    assert len(rows) == 16
    assert sum(int(count.replace(",", "")) for _, count, _, _, _ in rows) == 336_776
    assert (rows[0][0], rows[0][3]) == ("UA", "11.96")
    for _, count, noisy, truth, error in rows:
        assert abs(float(error) - 660 * (2 / int(count.replace(",", ""))) ** 0.5) < 0.01
        # By Chernoff's bound for a sum of Laplace variates, 8e-11 where there are 32 of them, and less for more.
        assert abs(float(noisy) - float(truth)) < 8 * float(error) + 0.1
    assert printed.rstrip().endswith("spent by each flight: epsilon 1")


def test_user_kernel(capsys):
    """Both kernels of the example draw Generator's bits, and their errors are of the size of the scale."""
    printed = run("user_kernel.py", capsys)
    assert printed.count("Generator's, bit for bit: True") == printed.count("Generator's bits: True") == 1
    mean, scale = map(float, re.search(r"mean error ([0-9.]+), scale ([0-9.]+)", printed).groups())
    # The mean magnitude of 1,000 draws is beyond 2 (1 +- 6 / sqrt(1000)) with a chance below 1e-8.
    assert abs(mean - scale) < scale * 6 / 1_000**0.5


def test_monte_carlo(capsys):
    """The mean of the largest of five magnitudes is within six standard errors of b (1 + 1/2 + ... + 1/5)."""
    printed = run("monte_carlo.py", capsys)
    found = re.search(r"largest error of 5 counts: ([0-9.]+) \+- ([0-9.]+), theory ([0-9.]+)", printed)
    worst, error, theory = map(float, found.groups())
    assert theory == round(2 * (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5), 4)
    assert 0.002 < error < 0.003
    assert abs(worst - theory) < 6 * error
    assert re.search(r"stays the largest in 72\.\d\d % of trials", printed)


@spark_cluster.java
def test_spark_flights(capsys):
    """Two actions and another partitioning hash alike, both means are near the truth, and the id is charged once."""
    printed = run("spark_flights.py", capsys)
    digests = re.findall(r"^(?:delays,|in 13).* ([0-9a-f]{16})$", printed, re.MULTILINE)
    means = re.findall(r"^(?:mean of|private mean).* (-?[0-9.]+)   truth +(-?[0-9.]+)$", printed, re.MULTILINE)

    assert len(digests) == 3
    assert len(set(digests)) == 1
    (noisy, truth), (private, same) = means
    assert truth == same == "11.8279"
    assert abs(float(noisy) - float(truth)) < 6 * 280 * 2**0.5 / 328_521**0.5
    assert abs(float(private) - float(truth)) <= 24 * 840 / 328_521
    assert re.findall(r"^charged +([0-9.]+) +(.+)$", printed, re.MULTILINE) == [
        ("0.75", "delays of 2013"),
        ("0.25", "private_mean"),
    ]
    assert printed.rstrip().endswith("spent in all: epsilon 1")


def test_cloaking_scores_have_sensitivity_one():
    """Whoever is removed, or moved to the centre or far away, changes no score by more than 1; some change by 1."""
    example = runpy.run_path(str(EXAMPLES / "cloaking.py"))
    _, people = example["read_places"]()
    centre = (37.6, -122.4)
    before = np.array(example["scores"](people, centre))
    changes = set()
    for i in range(len(people)):
        others = np.delete(people, i, axis=0)
        for neighbour in (others, np.vstack([others, [centre]]), np.vstack([others, [(0.0, 0.0)]])):
            changes.add(int(np.abs(np.array(example["scores"](neighbour, centre)) - before).max()))

    assert max(changes) == 1
