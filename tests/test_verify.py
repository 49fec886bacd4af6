"""Verification passes the sampler that is installed, and fails broken ones on the lines that are theirs."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from exact_oracles import boundary_cell, draw
from scipy import stats as distributions
from stats import absolute_power_moments, moment, signed_moments

from lapnoise import (
    _exact_noise,
    _kernel_table,
    _lattice_noise,
    _word_source,
    budget,
    default_rng,
    evaluate,
    lattice,
)
from lapnoise._check import FLOAT64
from lapnoise._threads import available_threads
from lapnoise.bits.stream import STREAM_VERSION
from lapnoise.cli import main
from lapnoise.evaluate import (
    _budgets,
    _distributions,
    _exact_oracle,
    _known_answers,
    _processes,
    _recorded_noise,
    _statistics,
    verification,
)
from lapnoise.ledger._memory import MemoryStore

SUBJECTS = [
    *("words", "places", "exact noise", "release", "distribution", "threads", "fork", "guarantee", "budget"),
]


@pytest.fixture(scope="module")
def right():
    """Return what is found of the sampler as it is."""
    return evaluate.verify(seed=1)


def test_the_sampler_passes(right):
    """Every check of the sampler that is installed passes, and each subject has some."""
    assert [check for check in right.checks if not check.passed] == []
    assert right.passed
    assert list(dict.fromkeys(check.subject for check in right.checks)) == SUBJECTS
    assert right.look == ()


def test_false_alarms_are_shared(right):
    """Statistical checks have equal parts of the false alarms, in all the rate that is stated; exact ones have none."""
    rates = [check.false_alarm for check in right.checks]
    assert sum(rates) == pytest.approx(1e-6, rel=1e-12)
    assert len(set(rates)) == 2
    statistical = [check for check in right.checks if check.subject == "distribution"]
    assert {check.false_alarm for check in statistical} == {1e-6 / len(statistical)}
    assert all(check.threshold == 0 for check in right.checks if check.subject != "distribution")
    assert len({(check.tested, check.measure) for check in right.checks}) == len(right.checks)


def test_thresholds(right):
    """Distances, counts and signs pass their thresholds at the rate that is stated."""
    by_measure = {check.measure: check for check in right.checks if check.subject == "distribution"}
    alpha = by_measure["mean, standard errors off"].false_alarm
    distance = by_measure["Kolmogorov-Smirnov distance"]
    assert distributions.kstwo.sf(distance.threshold, 200_000) == pytest.approx(alpha, rel=1e-6)
    assert distributions.chi2.sf(by_measure["chi-square, 19 cells"].threshold, 18) == pytest.approx(alpha, rel=1e-9)
    # A count that fair coins pass with at most alpha, and one less that they pass with more.
    n = 1_000_000
    critical = _statistics.fair_signs(n, 0)[1](alpha)
    most = (n + round(critical * math.sqrt(n))) / 2
    assert 2 * distributions.binom.sf(most, n, 0.5) <= alpha < 2 * distributions.binom.sf(most - 1, n, 0.5)
    near = by_measure["neighbours' correlation, standard errors"]
    assert 2 * distributions.norm.sf(near.threshold) == pytest.approx(alpha / 3.18, rel=1e-9)


def test_moments_as_in_the_suite():
    """Standardised means and their critical values are those of the suite's own checks, at its rate of false alarms."""
    sample = default_rng(3).laplace(0.0, 1.0, 50_000)
    law = _statistics.continuous_law()
    got = {one.measure: one for one in _distributions.judged_by("a", sample, law, "b", "c")}
    for name, expected in (
        ("mean", moment("mean", sample, signed_moments())),
        ("mean magnitude", moment("magnitude", np.abs(sample), absolute_power_moments(1))),
        ("mean square", moment("square", sample**2, absolute_power_moments(2))),
    ):
        one = got[f"{name}, standard errors off"]
        assert one.value == pytest.approx(expected.statistic, rel=1e-9)
        assert one.critical(1e-9) == pytest.approx(expected.critical, rel=1e-9)
    whole = distributions.kstest(sample, law.cdf).statistic
    assert got["Kolmogorov-Smirnov distance"].value == pytest.approx(whole, rel=1e-12)


def test_recorded_draws():
    """Digests belong to this version of the stream; the discrete draws among them are the oracle's."""
    assert STREAM_VERSION == 1
    drawn = dict(_known_answers.known_draws())
    assert list(drawn) == list(_known_answers.DIGESTS)
    words = default_rng(0).words(300).tolist()
    for name, t in (("discrete Laplace, scale 3", 3), ("discrete Laplace, scale 2^40", 2**40)):
        got = drawn[name][:300].tolist()
        # Words that the oracle needs more of are left to tests of the tiers.
        expected = [draw(Fraction(t), word, iter([0] * 50)) for word in words]
        assert sum(a != b for a, b in zip(got, expected, strict=True)) <= 1


@pytest.mark.parametrize("t", _exact_oracle.BOUNDARY_SCALES)
def test_words_lie_about_boundaries(t):
    """Cells of boundaries are those of intervals with many more bits, and the words take both sides of each."""
    scale = Fraction(t)
    for m in (1, 2, math.floor(t), math.floor(3 * t), math.floor(9 * t)):
        cell = _exact_oracle.boundary_cell(scale, m)
        assert cell == boundary_cell(scale, m, 63)
        sides = [_exact_oracle.arithmetic.magnitude(scale, cell + d, iter([0] * 9)) for d in (-(1 << 16), 1 << 16)]
        assert sides[0] >= m > sides[1]


# Broken samplers. Exit code 1, the lines that are theirs, and where to look.


@pytest.fixture
def failing(monkeypatch, capsys):
    """Return what runs the command and gives the failed lines as (subject, tested, measure), and where to look."""
    monkeypatch.setattr(_processes, "fork_check", list)

    def run(*arguments):
        assert main(["verify", "--seed", "1", "--json", *arguments]) == 1
        found = json.loads(capsys.readouterr().out)
        assert not found["passed"]
        failed = [check for check in found["checks"] if not check["passed"]]
        lines = [(check["subject"], check["tested"], check["measure"]) for check in failed]
        return lines, " ".join(check["look"] for check in failed)

    return run


def subjects(lines):
    return {subject for subject, _, _ in lines}


def test_mutant_scale_two_percent_small(failing, monkeypatch):
    """Noise of mechanisms with a scale 2 % small is seen by its magnitude; the generator's own lines pass."""
    monkeypatch.setattr(_lattice_noise, "law", lambda t: _exact_noise.law(0.98 * t))
    lines, look = failing()
    for epsilon in ("epsilon 1, sensitivity 1", "epsilon 0.05, sensitivity 3"):
        tested = f"1,000,000 of LaplaceMechanism, {epsilon}"
        assert ("distribution", tested, "mean magnitude, standard errors off") in lines
        assert ("distribution", tested, "mean square, standard errors off") in lines
        assert ("distribution", tested, "mean, standard errors off") not in lines
    assert not [line for line in lines if "of laplace" in line[1] or "discrete_laplace" in line[1]]
    assert subjects(lines) == {"words", "exact noise", "release", "distribution"}
    assert "sensitivity / epsilon" in look


def test_mutant_epsilon_twice_what_was_asked(failing, monkeypatch):
    """A scale worked out from twice the epsilon is seen by magnitudes, and by the epsilon attained."""
    choose = lattice.choose
    monkeypatch.setattr(lattice, "choose", lambda epsilon, *others: choose(2 * epsilon, *others))
    lines, look = failing()
    assert ("budget", _tested("budget", lines), "mechanisms beyond") in lines
    tested = "1,000,000 of LaplaceMechanism, epsilon 1, sensitivity 1"
    assert ("distribution", tested, "Kolmogorov-Smirnov distance") in lines
    assert "the sensitivity and the epsilon that the mechanism has" in look


def test_mutant_sign_bias(failing, monkeypatch):
    """One minus sign in fifty lost is seen by the signs and the mean."""
    kernel = _kernel_table.laplace[FLOAT64]

    def biased(out, *others):
        kernel(out, *others)
        out[::50] = abs(out[::50])

    monkeypatch.setitem(_kernel_table.laplace, FLOAT64, biased)
    lines, look = failing()
    for scale in ("1", "1e-300", "1e+300"):
        tested = f"1,000,000 of laplace, scale {scale}"
        assert ("distribution", tested, "signs, standard errors off") in lines
        assert ("distribution", tested, "mean, standard errors off") in lines
        assert ("distribution", tested, "mean magnitude, standard errors off") not in lines
    assert ("words", "4096 recorded draws: laplace, float64", "digests that differ") in lines
    assert "the map from words to draws" in look


def test_mutant_word_order(failing, monkeypatch):
    """Neighbouring words exchanged are seen by the vectors and by the words of seed 0."""
    kernel = _kernel_table.words

    def exchanged(out, *others):
        kernel(out, *others)
        pairs = out[: out.size // 2 * 2].reshape(-1, 2)
        pairs[:] = pairs[:, ::-1].copy()

    monkeypatch.setattr(_kernel_table, "words", exchanged)
    lines, look = failing()
    assert {tested for subject, tested, _ in lines if subject == "words"} == {
        "published block of ChaCha8",
        "published block of ChaCha12",
        "published block of ChaCha20",
        "block of RFC 8439, section 2.3.2",
        *(f"128 words, places and keys at random, {rounds} rounds" for rounds in (8, 12, 20)),
        "first 64 words of seed 0, in order",
    }
    assert "the words of the cipher" in look


def test_mutant_threads(failing, monkeypatch):
    """Blocks that begin one word late on several threads are seen by the comparison with one thread."""
    fill = _word_source.fill

    def late(kernel, outs, parameters, source, start, units, threads, kind=None):
        fill(kernel, outs, parameters, source, start + (threads > 1), units, threads, kind)

    monkeypatch.setattr(_word_source, "fill", late)
    lines, look = failing()
    names = ("laplace", "laplace, float32", "discrete_laplace", "LaplaceMechanism")
    many = max(2, available_threads())
    expected = [("threads", f"398,216 of {name}, 1 against {many} threads", "draws that differ") for name in names]
    assert set(lines) >= set(expected)
    assert subjects(lines) == {"threads"}
    assert "the thread pool" in look


def test_mutant_ledger_that_forgets(failing, monkeypatch):
    """A ledger that keeps no charge is seen by its sum and by the release that it grants."""
    monkeypatch.setattr(MemoryStore, "append", lambda *others: None)
    lines, look = failing()
    assert lines == [
        ("budget", "10 releases at epsilon 0.1 spend 1, in memory", "epsilon off"),
        ("budget", "an eleventh release is refused, in memory", "epsilon granted too much"),
    ]
    assert "can be spent again" in look


def test_mutant_split_in_floats(failing, monkeypatch):
    """Parts in floating point are seen by their sum."""
    split = budget.split
    monkeypatch.setattr(budget, "split", lambda *a, **k: [Fraction(float(part)) for part in split(*a, **k)])
    lines, _ = failing()
    assert lines == [("budget", "510 parts of splits sum to the wholes", "epsilon off")]


def test_mutant_certificate_too_small(failing, monkeypatch):
    """A fast tier that accepts everything is seen against integer arithmetic, on words about boundaries."""
    monkeypatch.setattr(_exact_noise, "certificate", lambda t: 0.0)
    lines, look = failing()
    assert ("exact noise", "680 words about boundaries, scale 2^30", "draws that differ") in lines
    assert ("exact noise", "680 words about boundaries, scale 2^43", "draws that differ") in lines
    assert "integer arithmetic" in look


def test_mutant_sampler_that_raises(failing, monkeypatch):
    """A part that cannot run is a failure of its own, and the other parts are tested all the same."""
    monkeypatch.setattr(_known_answers, "known_draws", lambda: 1 / 0)
    lines, look = failing()
    assert lines == [("words", "the tests of this part run to their end", "errors")]
    assert "ZeroDivisionError" in look


def test_mutant_fork(monkeypatch):
    """A generator that does not notice a fork repeats its parent's words in the child; the check says so."""
    blind = "import lapnoise.bits.stream\nlapnoise.bits.stream.Stream.enter = lambda self: None\n"
    script = _processes.FORK_SCRIPT.replace("import lapnoise\n", f"import lapnoise\n{blind}", 1)
    monkeypatch.setattr(_processes, "FORK_SCRIPT", script)
    found = {check.tested: check for check in _processes.fork_check()}
    assert not found["words under the system's key, parent and child"].passed
    assert found["words under the system's key, parent and child"].statistic == 32
    assert found["noise under the system's key, parent and child"].passed
    assert not found["a seeded generator draws in the parent alone"].passed
    monkeypatch.setattr(_processes, "FORK_SCRIPT", "raise ValueError('broken')")
    (broken,) = _processes.fork_check()
    assert not broken.passed
    assert broken.look.endswith("it said: ValueError: broken")


def test_nan_fails():
    """A statistic that is no number passes nothing."""
    assert not _processes.exact("a", "b", "c", math.nan, "d").passed


def _tested(subject, lines):
    return next(tested for found, tested, _ in lines if found == subject)


# Recorded noise.


def recorded(noise, **changes):
    given = {"epsilon": "0.5", "sensitivity": 1, **changes}
    found = evaluate.verify_noise(noise, **given)
    return {check.measure.split(",")[0] for check in found.failed}, " ".join(found.look)


NOISE = default_rng(9).laplace(0.0, 2.0, 1_000_000)


def test_right_noise_passes():
    """Noise of the scale that is claimed passes, on the reals and on the integers."""
    assert recorded(NOISE) == (set(), "")
    counts = default_rng(9).discrete_laplace(2.0, 100_000)
    assert recorded(counts, mechanism="discrete-laplace") == (set(), "")
    noise = default_rng(9).laplace(0.0, 2.0, 100)
    assert recorded(noise) == (set(), "")


def test_wrong_scale_says_which_it_would_be():
    """A scale 2 % small, or half, is found, and the epsilon and the sensitivity told that it would fit."""
    failed, look = recorded(0.98 * NOISE)
    assert failed >= {"mean magnitude", "mean square"}
    assert "mean" not in failed
    failed, look = recorded(NOISE / 2)
    size = float(np.abs(NOISE).mean()) / 2
    told = (
        f"sensitivity or epsilon: this is noise of scale {size:.4g}, as of epsilon {1 / size:.4g} at sensitivity 1, "
        f"or of sensitivity {size / 2:.4g} at epsilon 0.5"
    )
    assert look.startswith(told)
    assert size == pytest.approx(1, abs=0.005)
    failed, look = recorded(default_rng(9).discrete_laplace(1.0, 100_000), mechanism="discrete-laplace")
    assert "Kolmogorov-Smirnov distance" in failed
    scale = float(look.split("noise of scale ")[1].split(",")[0])
    assert scale == pytest.approx(1, abs=0.02)


def test_clipped_results_are_biased():
    """Results cut at zero are found by the mean and the signs."""
    failed, look = recorded(np.maximum(NOISE, -1.0))
    assert failed >= {"mean", "Kolmogorov-Smirnov distance"}
    assert "a bias: results clipped" in look


def test_an_average_of_releases():
    """The mean of four releases, scaled to the same deviation, is found by its shape: epsilon was used four times."""
    averaged = NOISE.reshape(-1, 4).sum(axis=1) / 2
    failed, look = recorded(averaged)
    assert "Kolmogorov-Smirnov distance" in failed
    assert "epsilon reused" in look


@pytest.mark.parametrize("n", [100, 3000])
@pytest.mark.parametrize("mechanism", ["laplace", "discrete-laplace"])
def test_false_alarms_are_as_rare_as_stated(n, mechanism):
    """Of 300 right samples, small ones too, at most the share that is stated fails, but for one chance in 1e9."""
    rng = default_rng(11)
    draw = rng.laplace if mechanism == "laplace" else lambda loc, scale, n: rng.discrete_laplace(scale, n)
    alarms = 0
    for _ in range(300):
        noise = draw(0.0, 2.0, n)
        found = evaluate.verify_noise(noise, epsilon="0.5", sensitivity=1, mechanism=mechanism, false_alarm=0.05)
        alarms += not found.passed
    assert alarms <= distributions.binom.isf(1e-9, 300, 0.05)
    assert alarms > 0


def test_noise_used_twice():
    """Draws that stand twice in a row are found by the correlation of neighbours."""
    failed, look = recorded(np.repeat(NOISE[:100_000], 2))
    assert "neighbours' correlation" in failed
    assert "epsilon reused" in look


def test_no_noise():
    """Released values that are the true ones are found, and it is said that there is no noise."""
    failed, look = recorded(np.zeros(1000))
    assert failed >= {"mean magnitude", "mean square", "Kolmogorov-Smirnov distance"}
    assert "there is none" in look


def test_fractions_among_counts():
    """Noise that is claimed to be whole and is not is found exactly."""
    failed, _ = recorded(NOISE[:1000], mechanism="discrete-laplace")
    assert "differences that are not whole" in failed
    assert _recorded_noise.SUBJECT == "recorded noise"


@pytest.mark.parametrize(
    ("noise", "changes", "message"),
    [
        (np.zeros(99), {}, "noise must hold at least 100 differences, got 99"),
        ([math.nan] * 100, {}, "noise must be finite, got 100 of 100"),
        (np.ma.array(np.ones(100), mask=np.arange(100) < 7), {}, "noise must be finite, got 7 of 100 that are missing"),
        (np.zeros(100), {"epsilon": 0}, "epsilon must be finite and > 0"),
        (np.zeros(100), {"sensitivity": -1}, "sensitivity must be finite and > 0"),
        (np.zeros(100), {"mechanism": "gaussian"}, "mechanism must be 'laplace' or 'discrete-laplace'"),
        (np.zeros(100), {"false_alarm": 1}, "false_alarm must be at least 1e-12 and less than 1/2"),
    ],
)
def test_refused(noise, changes, message):
    """What is refused is named."""
    with pytest.raises((TypeError, ValueError), match=message):
        recorded(noise, **changes)


# The command.


def test_the_command(capsys, monkeypatch):
    """Each line has what was tested, the statistic, its threshold, and the rate of false alarms."""
    monkeypatch.setattr(verification, "QUICK", verification.Extent(64, 20, 5, 4, 20_000))
    monkeypatch.setattr(_processes, "fork_check", list)
    assert main(["verify", "--quick", "--seed", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["subject", "tested", "statistic", "is", "at", "most", "false", "alarms"]
    assert lines[1].split()[:4] == ["ok", "words", "published", "block"]
    assert lines[-1] == "222 checks passed; a right sampler fails one run in 1,000,000"
    monkeypatch.setattr(verification, "FULL", verification.Extent(64, 21, 5, 4, 20_000))
    assert main(["verify", "--full", "--seed", "2"]) == 0
    assert "ok  exact noise   21 random words, scale 0.3" in capsys.readouterr().out
    assert main(["verify", "--seed", "2", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(MemoryStore, "append", lambda *others: None)
    assert main(["verify", "--seed", "2", "--quiet"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["FAILED", "FAILED"]
    assert lines[3] == "2 of 222 checks FAILED. Look here, in this order:"
    assert lines[4] == f"  {_budgets.LEDGER_LOOK}"


def test_the_command_on_recorded_noise(tmp_path, capsys):
    """Differences in a file are judged against the claim: exit code 0 or 1, and where to look."""
    path = tmp_path / "noise.npy"
    np.save(path, NOISE[:100_000])
    claim = ["verify", "--noise", str(path), "--sensitivity", "1", "--epsilon"]
    assert main([*claim, "0.5"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("8 checks passed")
    assert main([*claim, "1", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["passed"]
    assert "sensitivity or epsilon: this is noise of scale " in found["checks"][2]["look"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--epsilon", "1"], 2, "--epsilon needs --noise"),
        (["--noise", "x.npy"], 2, "--noise needs --epsilon"),
        (["--noise", "x.npy", "--epsilon", "1", "--sensitivity", "1", "--seed", "1"], 2, "--seed do not go with"),
        (["--noise", "x.npy", "--epsilon", "1", "--sensitivity", "1"], 2, "noise cannot be read: 'x.npy'"),
        (["--noise", "x.csv", "--epsilon", "1", "--sensitivity", "1"], 2, "noise must be an NPY file"),
        (["--false-alarm", "1e-300"], 2, "false_alarm must be at least 1e-12"),
        (["--false-alarm", "0"], 2, "false_alarm must be at least 1e-12"),
    ],
)
def test_the_command_refuses(arguments, code, message, capsys):
    """Bad input is named, with the exit code of its kind."""
    assert main(["verify", *arguments]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (b"not an array", "the file does not begin as an NPY file does"),
        (b"", "the file does not begin as an NPY file does"),
        (np.zeros(99), "the array cannot be used: noise must hold at least 100 differences, got 99"),
        (np.array([1.0] * 200 + [math.nan]), "the array cannot be used: noise must be finite, got 1 of 201"),
        (np.zeros(200, np.float16), "the array must be of float32, float64 or integers, got float16"),
    ],
)
def test_bad_files(noise, message, tmp_path, capsys):
    """A file that is no array, or none of finite numbers, is bad input data; the file is named."""
    path = tmp_path / "noise.npy"
    if isinstance(noise, bytes):
        path.write_bytes(noise)
    else:
        np.save(path, noise)
    assert main(["verify", "--noise", str(path), "--epsilon", "1", "--sensitivity", "1"]) == 3
    assert capsys.readouterr().err.startswith(f"lapnoise: {path}: {message}")


def test_json_has_no_infinities(tmp_path, capsys):
    """Statistics that are no floats are null, and pass nothing."""
    path = tmp_path / "noise.npy"
    np.save(path, NOISE[:1000] * 1e307)
    assert main(["verify", "--noise", str(path), "--epsilon", "1", "--sensitivity", "1", "--json"]) == 1
    printed = capsys.readouterr()
    found = json.loads(printed.out, parse_constant=lambda constant: pytest.fail(constant))
    assert printed.err == ""
    by_measure = {check["measure"]: check for check in found["checks"]}
    square = by_measure["mean square, standard errors off"]
    assert (square["statistic"], square["passed"]) == (None, False)
    assert f"this is noise of scale {np.abs(NOISE[:1000]).mean() * 1e307:.4g}" in square["look"]


def test_places_are_told_once():
    """Where to look is told place by place, each once; whole numbers are explained by the mechanism on integers."""
    noise = default_rng(9).discrete_laplace(2.0, 100_000).astype(np.float64)
    look = evaluate.verify_noise(noise, epsilon="0.5", sensitivity=1).look
    assert look[0] == "the mechanism: all differences are whole; perhaps --mechanism discrete-laplace"
    scale, epsilon = (
        float(look[1].split(word)[1].split()[0].strip(",")) for word in ("noise of scale ", "of epsilon ")
    )
    assert (scale, epsilon) == pytest.approx((2.0, 0.5), rel=0.01)
    assert look[2].startswith("the shape: ")
    assert len(look) == 3
    look = evaluate.verify_noise(NOISE / 2, epsilon="0.5", sensitivity=1).look
    assert [place.split(":")[0] for place in look] == ["sensitivity or epsilon", "the shape"]
