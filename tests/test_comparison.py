"""The mechanisms side by side: each row is what the mechanism says of itself, at one guarantee."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from lapnoise import GaussianMechanism, LaplaceMechanism, TruncatedLaplaceMechanism, evaluate
from lapnoise.cli import main

NAMES = ["Laplace", "discrete Laplace", "Laplace, clipped", "bounded Laplace", "truncated Laplace", "Gaussian"]


def test_rows_are_what_mechanisms_say():
    """Sensitivities follow from the coordinates, and each row shows its mechanism's own statistics."""
    rows = {row.mechanism: row for row in evaluate.compare(epsilon="0.5", delta="1e-5", sensitivity=3, coordinates=4)}
    laplace = LaplaceMechanism(epsilon="0.5", sensitivity=12, changed=4)
    gaussian = GaussianMechanism(epsilon="0.5", delta="1e-5", sensitivity=6, changed=4)
    truncated = TruncatedLaplaceMechanism(epsilon="0.5", delta="1e-5", sensitivity=12, changed=4)

    assert list(rows) == NAMES
    for name, mechanism in (("Laplace", laplace), ("Gaussian", gaussian), ("truncated Laplace", truncated)):
        assert (rows[name].scale, rows[name].error) == (mechanism.scale, math.sqrt(mechanism.mse))
        assert rows[name].half_width == mechanism.interval("0.95")
    assert {row.epsilon for row in rows.values()} == {Fraction(1, 2)}
    assert [rows[name].delta for name in NAMES] == [0, 0, 0, 0, Fraction(1, 10**5), Fraction(1, 10**5)]
    assert [rows[name].largest for name in NAMES] == [math.inf, math.inf, 100, 100, truncated.bound, math.inf]


def test_what_the_guide_says_of_them():
    """For one coordinate Laplace noise is the least and bounded noise more; for 64 the Gaussian's is the least."""
    one = {row.mechanism: row.error for row in evaluate.compare(epsilon=1)}
    many = {row.mechanism: row.error for row in evaluate.compare(epsilon=1, coordinates=64, high=10**6)}

    assert one["discrete Laplace"] < one["Laplace"] < one["bounded Laplace"] < one["Gaussian"]
    assert many["Gaussian"] < many["truncated Laplace"] <= many["Laplace"]


@pytest.mark.parametrize(("coordinates", "high"), [(1, 100), (8, 100), (64, 100), (30, 100), (20, 100), (1, 1)])
def test_clipped_noise_at_its_worst(coordinates, high):
    """Error and half-width of clipped noise are those of the worst of 2,001 values, by integrals of the density."""
    rows = {row.mechanism: row for row in evaluate.compare(epsilon=1, coordinates=coordinates, high=high)}
    got, b = rows["Laplace, clipped"], float(coordinates)
    x = np.linspace(0.0, high, 2001)

    def beyond(h):
        return 0.5 * math.exp(-h / b) * ((x > h).astype(float) + (high - x > h))

    def squares(a):
        below = integrate.quad(lambda y: y**2 * math.exp(-y / b) / (2 * b), 0, a, points=[min(a, b)], limit=200)[0]
        return below + a**2 * math.exp(-a / b) / 2

    some = x[::100]
    worst = max(squares(a) + squares(high - a) for a in some)
    assert got.error**2 >= worst * (1 - 1e-6)
    assert got.error**2 <= worst * 1.02
    h = got.half_width
    assert (beyond(h * 1.000001) <= 0.05 + 1e-6).all()
    assert (beyond(h * 0.999) > 0.05 - 1e-3).any()
    assert got.error <= rows["Laplace"].error * (1 + 1e-9)
    assert got.error < rows["bounded Laplace"].error or coordinates == 1


def test_without_a_delta():
    """With a delta of 0 what needs one is left out."""
    assert [row.mechanism for row in evaluate.compare(epsilon=1, delta=0)] == NAMES[:4]


def test_the_command(capsys):
    """The command prints the rows, for people and for machines; a bad amount is a usage error."""
    assert main(["compare", "--epsilon", "1/3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["comparison"]
    assert [row["mechanism"] for row in rows] == NAMES
    assert rows[0]["epsilon"] == "1/3"
    assert rows[0]["error"] == evaluate.compare(epsilon="1/3")[0].error
    assert rows[0]["largest_error"] is None
    assert main(["compare", "--epsilon", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["Laplace", "1", "0", "1", "1.414", "2.996", "none"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "0"], "epsilon must be finite and > 0, got '0'"),
        (["--epsilon", "1", "--delta", "1"], "delta must be at least 0 and less than 1, got '1'"),
        (["--epsilon", "1", "--low", "5", "--high", "5"], "low must be less than high"),
        (["--epsilon", "1", "--sensitivity", "101"], "sensitivity must be at most high - low"),
        (["--epsilon", "1", "--sensitivity", "nan"], "sensitivity must be finite and > 0, got 'nan'"),
    ],
)
def test_refused(arguments, message, capsys):
    """What is refused is named, with the exit code of a usage error."""
    assert main(["compare", *arguments]) == 2
    assert message in capsys.readouterr().err
