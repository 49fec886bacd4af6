"""ExponentialMechanism.select: the winner that the words say, bit for bit, with the probabilities of the definition."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import selection_oracles as oracle
from adversarial import adversarial_words
from exact_words import jit
from mpmath import mp, mpf
from mutants import mutant
from stats import accept, chi_square, reject

from lapnoise import ExponentialMechanism, PermuteAndFlipMechanism, SeededNoiseWarning, _exact_noise, default_rng
from lapnoise._scores import FAR
from lapnoise.kernels import selection

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

BOTH = pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlipMechanism])

MOST = float(np.finfo(np.float64).max)


def exact_winner(m, scores, rng, start: int, measure=None, exclude=()) -> int:
    """Return the winner of the words from ``start`` on, by its definition."""
    n = len(scores)
    source = rng._stream.source
    measures = [Fraction(1)] * n if measure is None else [Fraction(x) for x in measure]
    measures = [Fraction(0) if i in exclude else x for i, x in enumerate(measures)]
    r = Fraction(2) ** m._lattice.exponent
    steps = [math.floor(Fraction(s) / r + Fraction(1, 2)) if x else None for s, x in zip(scores, measures, strict=True)]
    best = max(s for s in steps if s is not None)
    penalties = [Fraction(0) if s is None else (best - s) * m._lattice.rate for s in steps]
    words = [_exact_noise.word_of_stream(source, start + i, 0) for i in range(n)]

    def further(i, depth):
        return _exact_noise.word_of_stream(source, start + i, _exact_noise.EXTENSION_STREAMS + depth)

    return oracle.winner(words, penalties, measures, type(m) is ExponentialMechanism, further)


CASES = [
    [3],
    [0, 0],
    [0.0, 1.0, 2.0, 0.5],
    [2**60 + 128, 2**60 + 129, 2**60 + 130],
    [MOST, MOST, -MOST, math.nextafter(MOST, 0)],
    [5e-324, 0.0, -5e-324],
    [-5.0] * 12,
    [0.1 * k for k in range(30)],
    [k % 7 for k in range(60)],
]


@BOTH
@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1, 1), ("1e-300", 1), ("1e300", 1), (0.3, 0.1), (2, MOST)])
@pytest.mark.parametrize("scores", CASES, ids=lambda scores: f"{len(scores)} from {scores[0]!r}")
def test_winners_are_the_oracles(kind, scores, epsilon, sensitivity):
    """Few and many candidates, huge, tiny and equal scores, tiny and huge epsilon, over consecutive selections."""
    m = kind(epsilon=epsilon, sensitivity=sensitivity)
    rng = default_rng(5)
    for _ in range(4):
        start = rng.position
        assert m.select(range(len(scores)), scores, rng=rng) == exact_winner(m, scores, rng, start)
        assert rng.position == start + len(scores)


@BOTH
def test_winner_among_thousands(kind):
    """With 3,000 equal or nearly equal candidates the winner is the oracle's."""
    m = kind(epsilon=1, sensitivity=1)
    for scores in ([0] * 3000, [(k % 97) / 50 for k in range(3000)]):
        assert m.select(range(3000), scores, rng=default_rng(6)) == exact_winner(m, scores, default_rng(6), 0)


def test_winners_with_measures():
    """Measures from the least to the largest float, zeros among them, beside scores that make up for them."""
    m = ExponentialMechanism(epsilon=2, sensitivity=1)
    rng = default_rng(7)
    for measure, scores in (
        ([5e-324, 1e-310, 1.0, 1e308], [1454, 1424, 709, 0]),
        ([0, 1, 3], [0, -5000, -5000]),
        ([0.5, 0.25, 0.125, 0, 1e-9], [0.0, 0.1, 0.2, 1e300, 20.0]),
        ([1, 2, 3, 4], [0, 0, 0, 0]),
    ):
        for _ in range(20):
            start = rng.position
            got = m.select(range(len(scores)), scores, measure=measure, rng=rng)
            assert got == exact_winner(m, scores, rng, start, measure)


@BOTH
def test_candidates_that_are_excluded(kind):
    """By mask, by indices or by measure 0: they never win, take their word, and may have infinite scores."""
    m = kind(epsilon=1, sensitivity=1)
    scores = [math.inf, 1.0, -math.inf, 1.5, 0.0]
    mask = np.array([True, False, True, False, False])
    for seed in range(40):
        found = {
            m.select(list("abcde"), scores, rng=default_rng(seed), **given)
            for given in ({"exclude": mask}, {"exclude": [0, 2]}, {"measure": (~mask).astype(float)})
        }
        finite = [0 if math.isinf(s) else s for s in scores]
        assert found == {"abcde"[exact_winner(m, finite, default_rng(seed), 0, exclude={0, 2})]}
    assert m.select(["only", "other"], [0, 10**15], exclude=[1], rng=default_rng(1)) == "only"
    assert m.probabilities(scores, exclude=mask)[[0, 2]].tolist() == [0.0, 0.0]
    assert m.probabilities(scores, exclude=mask).sum() == pytest.approx(1, abs=1e-12)


@BOTH
def test_bits_depend_on_key_and_position_alone(kind):
    """Threads and blocks change nothing, each candidate takes one word, and a place that is sought gives its winner."""
    m = kind(epsilon=1, sensitivity=1)
    n = 300_001
    scores = np.random.Generator(np.random.PCG64(1)).normal(size=n)
    winners = []
    for threads in (1, 2, 3):
        rng = default_rng(8, threads=threads)
        rng.seek(77)
        winners.append([m.select(range(n), scores, rng=rng) for _ in range(3)])
        assert rng.position == 77 + 3 * n
    assert winners[0] == winners[1] == winners[2]
    rng.seek(77 + n)
    assert m.select(range(n), scores, rng=rng) == winners[0][1]
    assert len(set(winners[0])) == 3


@BOTH
def test_kinds_of_scores_and_candidates(kind):
    """Every width of integers and floats, Series and tuples give one winner; the element itself comes back."""
    m = kind(epsilon=1, sensitivity=1)
    plain = [3, 0, 2, 1]
    wanted = m.select(range(4), plain, rng=default_rng(9))
    series = pd.Series(plain, index=list("wxyz"))
    forms = [np.array(plain, k) for k in "bBhHiIlLfd"]
    forms += [tuple(plain), series, series.astype("Int64"), series.astype("double[pyarrow]"), np.array(plain)[::1]]
    forms += [np.array([plain, plain]).T[:, 0], np.array(plain, ">i4")]
    for scores in forms:
        assert m.select(range(4), scores, rng=default_rng(9)) == wanted
    things = [object() for _ in plain]
    assert m.select(things, plain, rng=default_rng(9)) is things[wanted]
    assert m.select(series, plain, rng=default_rng(9)) == plain[wanted]
    assert m.select(np.array(plain) * 10, plain, rng=default_rng(9)) == plain[wanted] * 10


REFUSED = [
    (ValueError, "scores must not be empty", {"candidates": [], "scores": []}),
    (ValueError, "candidates must be as many as scores, got 3 candidates and 2", {"candidates": [1, 2, 3]}),
    (TypeError, "candidates must be a sequence", {"candidates": {1: 2, 3: 4}}),
    (TypeError, "candidates must be a sequence", {"candidates": iter([1, 2])}),
    (TypeError, "candidates must be a sequence", {"candidates": "ab"}),
    (ValueError, r"scores\[1\] must be finite", {"scores": [0.0, math.nan]}),
    (ValueError, r"scores\[1\] must be finite.*rule a candidate out in advance", {"scores": [0.0, -math.inf]}),
    (ValueError, r"scores\[0\] must be finite", {"scores": [math.inf, 0.0]}),
    (ValueError, r"scores\[0\] must be finite", {"scores": [math.nan, 0.0], "exclude": [0]}),
    (ValueError, r"scores\[1\] must be finite, got a missing", {"scores": pd.Series([1, None], dtype="Int64")}),
    (ValueError, "scores must have one dimension", {"scores": [[1, 2]]}),
    (ValueError, "scores must have one dimension", {"scores": 1.0}),
    (TypeError, "scores must be real numbers, got dtype bool", {"scores": [True, False]}),
    (TypeError, "scores must be real numbers", {"scores": ["a", "b"]}),
    (TypeError, "scores must be real numbers", {"scores": [2**70, 1]}),
    (TypeError, r"scores\[0\] must not be an integer beyond 2\*\*53", {"scores": [2**60 + 1, 0.5]}),
    (TypeError, "scores must not be masked", {"scores": np.ma.MaskedArray([1, 2], [0, 1])}),
    (ValueError, r"measure\[1\] must be finite and >= 0, got -1.0", {"measure": [1, -1]}),
    (ValueError, r"measure\[0\] must be finite and >= 0, got nan", {"measure": [math.nan, 1]}),
    (ValueError, r"measure\[0\] must be finite and >= 0, got inf", {"measure": [math.inf, 1]}),
    (ValueError, "measure must have one entry for each score", {"measure": [1]}),
    (ValueError, r"measure must not hold integers beyond 2\*\*53", {"measure": [2**53 + 1, 1]}),
    (ValueError, "must leave a candidate", {"measure": [0, 0]}),
    (ValueError, "must leave a candidate", {"exclude": [0, 1]}),
    (ValueError, "must leave a candidate", {"exclude": [True, True]}),
    (ValueError, "exclude must have one entry for each score", {"exclude": [True]}),
    (ValueError, "exclude must hold indices from 0 to 1, got 2", {"exclude": [2]}),
    (ValueError, "exclude must hold indices from 0 to 1, got -1", {"exclude": [-1]}),
    (TypeError, "exclude must be a mask of bools or indices", {"exclude": [0.0]}),
    (ValueError, "exclude must be a mask or indices", {"exclude": 0}),
    (TypeError, "rng must be", {"rng": np.random.PCG64(1)}),
]


@BOTH
@pytest.mark.parametrize(("error", "message", "given"), REFUSED, ids=lambda value: str(value)[:40])
def test_refusals(kind, error, message, given):
    """What does not fit is refused before a word is taken, by name, and scores are named by their place alone."""
    rng = default_rng(10)
    arguments = {"candidates": [1, 2], "scores": [0, 1], "rng": rng, **given}
    with pytest.raises(error, match=message):
        kind(epsilon=1, sensitivity=1).select(arguments.pop("candidates"), arguments.pop("scores"), **arguments)
    assert rng.position == 0


def test_seeded_generators_warn():
    """A selection that can be made again says so where it was called."""
    with pytest.warns(SeededNoiseWarning) as caught:
        ExponentialMechanism(epsilon=1, sensitivity=1).select([1, 2], [0, 0], rng=default_rng(1))
    assert caught[0].filename == __file__


# Probabilities.


def test_no_weight_vanishes():
    """Utilities 0, -5000 and -5000 with measures 0, 1 and 3 give 0, 1/4 and 3/4 (measures count before the shift)."""
    m = ExponentialMechanism(epsilon=2, sensitivity=1)
    assert m.probabilities([0, -5000, -5000], measure=[0, 1, 3]) == pytest.approx([0, 0.25, 0.75], abs=1e-12)


def test_the_factor_of_two():
    """At epsilon 2 ln 2 a score of 1 more doubles the probability, and makes it four times as large if monotonic."""
    scores = {"epsilon": 2 * math.log(2), "sensitivity": 1}
    plain = ExponentialMechanism(**scores).probabilities([0, 1])
    together = ExponentialMechanism(**scores, monotonic=True).probabilities([0, 1])
    assert plain[1] / plain[0] == pytest.approx(2, rel=1e-12)
    assert together[1] / together[0] == pytest.approx(4, rel=1e-12)


@pytest.mark.parametrize("scores", CASES, ids=lambda scores: f"{len(scores)} from {scores[0]!r}")
def test_probabilities_are_the_definitions(scores):
    """Each is m exp(-x) over the sum within 1e-12, in 700 bits, with and without measures."""
    for epsilon, sensitivity in ((1, 1), (0.01, 0.1), ("1e300", 1), ("1e-300", 3), (2, MOST)):
        m = ExponentialMechanism(epsilon=epsilon, sensitivity=sensitivity)
        steps = [m._lattice.steps(s) for s in scores]
        penalties = [(max(steps) - k) * m._lattice.rate for k in steps]
        penalties = [min(x, Fraction(10**9)) for x in penalties]  # mpmath has no larger exponents to spare
        for measure in (None, [k % 3 + 0.5 for k in range(len(scores))]):
            weights = [Fraction(1)] * len(scores) if measure is None else [Fraction(x) for x in measure]
            got = m.probabilities(scores, measure=measure)
            assert got == pytest.approx(oracle.softmax(penalties, weights), abs=1e-12)


def largest_loss(m, scores, moves) -> float:
    """Return the largest logarithm of a ratio of probabilities over shifts of the scores, either way."""
    before = m.probabilities(np.array(scores, float))
    worst = 0.0
    for move in moves:
        after = m.probabilities(np.array(scores, float) + move)
        worst = max(worst, float(np.abs(np.log(after / before)).max()))
    return worst


@BOTH
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_privacy_of_the_probabilities(kind, monotonic, epsilon):
    """No shift by the sensitivity moves a log probability by more than epsilon, and some move it by 0.9 epsilon."""
    m = kind(epsilon=epsilon, sensitivity=0.5, monotonic=monotonic)
    worst = 0.0
    grids = np.array(np.meshgrid(*[[-0.5, 0, 0.5]] * 4)).reshape(4, -1).T
    moves = [move for move in grids if not monotonic or (move >= 0).all() or (move <= 0).all()]
    for scores in ([0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 0, 30 / epsilon], [0, 20, 20, 20], [0.1, 0.2, 5, -3]):
        worst = max(worst, largest_loss(m, scores, moves))
    assert 0.9 * epsilon < worst <= epsilon + 1e-9


@BOTH
def test_mutant_of_the_factor_two(kind):
    """Without the factor 2 the same shifts cost nearly twice epsilon: the inequality above would not hold."""
    m = kind(epsilon=1, sensitivity=0.5, monotonic=True)
    moves = np.array([[0.5, 0.5, 0.5, -0.5], [-0.5, -0.5, -0.5, 0.5]])
    assert largest_loss(m, [0, 0, 0, 30], moves) > 1.9


@BOTH
def test_privacy_loss(kind):
    """It is epsilon at the sensitivity, linear in steps of the lattice, and 0 at 0; delta is 0."""
    for epsilon, sensitivity in (("0.3", 1), (1, 0.1), ("1/3", Fraction(1, 7)), ("1e300", 5e-324), (1, 2**90)):
        for monotonic in (False, True):
            m = kind(epsilon=epsilon, sensitivity=sensitivity, monotonic=monotonic)
            assert m.epsilon == m.epsilon_asked
            assert m.privacy_loss(sensitivity) == (m.epsilon, 0)
            assert m.privacy_loss(0) == (0, 0)
            assert m.privacy_loss(2 * m.sensitivity)[0] <= 2 * m.epsilon
    assert kind(epsilon=1, sensitivity=2).privacy_loss("0.5") == (Fraction(1, 4), 0)
    assert kind(epsilon=1, sensitivity=1).privacy_loss(Fraction(1, 3))[0] > Fraction(1, 3)
    with pytest.raises(ValueError, match="distance must be finite and >= 0"):
        kind(epsilon=1, sensitivity=1).privacy_loss(-1)


# Statistics.


def picks(m, scores, size: int, **given) -> np.ndarray:
    """Return how often each candidate is selected from a seed's words."""
    rng = default_rng(11)
    found = [m.select(range(len(scores)), scores, rng=rng, **given) for _ in range(size)]
    return np.bincount(found, minlength=len(scores))


@BOTH
@pytest.mark.parametrize("scores", [[0, 1], [0.0, 0.5, 1.0, 1.25], [0] * 10], ids=str)
def test_shares(kind, scores):
    """Over 20,000 selections each share is its probability; without the factor 2 it would not be."""
    m = kind(epsilon=2, sensitivity=1)
    counts = picks(m, scores, 20_000)
    accept(chi_square("shares", counts, m.probabilities(scores)))
    if len(set(scores)) > 1:
        mutant = kind(epsilon=2, sensitivity=1, monotonic=True)
        reject(chi_square("mutant", counts, mutant.probabilities(scores)))


def test_shares_with_measures():
    """Over 20,000 selections measures weigh as they should; weights not counted are seen."""
    m = ExponentialMechanism(epsilon=2, sensitivity=1)
    scores, measure = [0, -1, -1, 0], [1, 1, 3, 0]
    counts = picks(m, scores, 20_000, measure=measure)
    assert counts[3] == 0
    accept(chi_square("shares", counts[:3], m.probabilities(scores, measure=measure)[:3]))
    reject(chi_square("mutant", counts[:3], m.probabilities(scores[:3])))


# The certificate.


def bounds(words, offset, logarithmic: bool, module=selection):
    """Return the bounds that the kernels compute for words."""
    words = np.asarray(words, np.uint64)
    low, high, e, f, s = (np.empty(words.size) for _ in range(5))
    tier = module.exponential_bounds if logarithmic else module.flip_bounds
    offsets = np.full(words.size, offset)
    jit(lambda *arrays: tier(*arrays))(words, offsets, low, high, e, f, s)
    return low, high


@pytest.mark.parametrize("logarithmic", [True, False], ids=["exponential", "flip"])
@pytest.mark.parametrize("offset", [0.0, -744.4400719213812, 1e6 + 1 / 3, FAR])
def test_bounds_hold_for_the_whole_cell(logarithmic, offset):
    """Both ends of the cell of a word lie within the bounds, with half of the allowance to spare."""
    words = [*adversarial_words(), *default_rng(12).words(1000).tolist()]
    low, high = bounds(words, offset, logarithmic)
    slack = Fraction(selection.SLACK) + Fraction(selection.SLACK_PER_UNIT) * abs(Fraction(offset))
    unknown = 0
    with mp.workprec(300):
        for i, word in enumerate(words):
            ends = [oracle.true_key((word >> 1) + k, 63, Fraction(offset), Fraction(1), logarithmic) for k in (0, 1)]
            if math.isinf(low[i]):
                unknown += 1
                assert low[i] < 0 < high[i]
                continue
            spare = mpf(slack.numerator) / slack.denominator / 2
            assert mpf(low[i]) + spare <= min(ends) <= max(ends) <= mpf(high[i]) - spare
    assert unknown < len(words) / 10


def test_words_that_tell_nothing():
    """The cells at 0, and in the exponential mechanism those at 1 too, have no bounds; next to them there are some."""
    words = [0, 1, 2, 2**64 - 1, 2**64 - 2, 2**64 - 3, 2**64 - 64]
    for logarithmic, known in ((True, [0, 0, 1, 0, 0, 1, 1]), (False, [0, 0, 1, 1, 1, 1, 1])):
        low, _ = bounds(words, 0.0, logarithmic)
        assert np.isfinite(low).astype(int).tolist() == known


def derived_slack() -> tuple[Fraction, Fraction]:
    """Return what the errors sum to at most: a constant, and a part of the offset."""
    unit = Fraction(1, 1 << 53)
    most_log = 45  # abs(ln E), and E itself
    logarithms = 2 * 2 * unit + most_log * 4 * unit  # E's relative error, and 2 ulp of ln E or of E
    measure = 745 * 2 * 4 * unit  # 4 ulp of ln m
    # Sums round by a half ulp of at most abs(offset) + 45; x = offset + ln m has 2^-50 of itself.
    constant = logarithms + measure + most_log * 2 * unit + 745 * 8 * unit
    return constant, (8 + 2) * unit


def test_allowance_from_its_derivation():
    """The allowance is more than the derived error, four times at least in the constant and three per unit."""
    constant, per_unit = derived_slack()
    assert Fraction(selection.SLACK) >= 4 * constant
    assert Fraction(selection.SLACK_PER_UNIT) >= 3 * per_unit


@pytest.mark.parametrize(
    ("old", "new"),
    [("SLACK = 2.0**-36", "SLACK = 2.0**-41"), ("SLACK_PER_UNIT = 2.0**-48", "SLACK_PER_UNIT = 2.0**-52")],
)
def test_mutants_of_the_allowance(old, new):
    """An allowance that no draw shows to be too small is refused by the derivation."""
    changed = mutant(
        "lapnoise.kernels.selection", ("import device, kernel\n", "import device, device as kernel\n"), (old, new)
    )
    constant, per_unit = derived_slack()
    assert Fraction(changed.SLACK) < 4 * constant or Fraction(changed.SLACK_PER_UNIT) < 3 * per_unit


@BOTH
def test_open_decisions_take_further_words(kind, monkeypatch):
    """With an allowance that leaves every selection open the exact comparison finds the same winners."""
    m = kind(epsilon=1, sensitivity=1)
    scores = [0.0, 0.25, 0.5, 1.0, 3.0]
    plain = [m.select(range(5), scores, rng=default_rng(seed)) for seed in range(30)]

    def open_bounds(low, high, *_):
        low[:], high[:] = -1.0 - np.arange(low.size), 1.0 + np.arange(low.size)

    monkeypatch.setattr("lapnoise._selection.fill_exponential_bounds", open_bounds)
    monkeypatch.setattr("lapnoise._selection.fill_flip_bounds", open_bounds)
    assert [m.select(range(5), scores, rng=default_rng(seed)) for seed in range(30)] == plain
    assert len(set(plain)) > 2


# What they are.


@BOTH
def test_immutable_comparable_picklable(kind):
    """Equal parameters make equal mechanisms with one hash; they print as they are made, pickle, and do not change."""
    import copy
    import pickle

    m = kind(epsilon="0.1", sensitivity=2, monotonic=True)
    assert m == kind(epsilon=0.1, sensitivity=2.0, monotonic=True) == pickle.loads(pickle.dumps(m)) == copy.deepcopy(m)
    assert hash(m) == hash(kind(epsilon=0.1, sensitivity=2.0, monotonic=True))
    assert m not in (kind(epsilon=0.1, sensitivity=2), kind(epsilon=0.2, sensitivity=2, monotonic=True))
    assert repr(m) == f"{kind.__name__}(epsilon=0.1, sensitivity=2.0, monotonic=True)"
    for name in ("epsilon_asked", "monotonic", "other"):
        with pytest.raises(AttributeError, match="is immutable"):
            setattr(m, name, 1)
    with pytest.raises(AttributeError, match="is immutable"):
        del m.sensitivity
    with pytest.raises(TypeError, match="monotonic must be True or False, got 1"):
        kind(epsilon=1, sensitivity=1, monotonic=1)


@BOTH
@pytest.mark.parametrize("name", ["epsilon", "sensitivity"])
@pytest.mark.parametrize("bad", [0, -0.0, -1, math.nan, math.inf, -math.inf, "one", True, 1 + 0j, None], ids=repr)
def test_refused_parameters(kind, name, bad):
    """An epsilon or sensitivity that is no number, not finite or not > 0 is refused by name; none has a default."""
    with pytest.raises((ValueError, TypeError), match=rf"^{name} must be"):
        kind(**{"epsilon": 1, "sensitivity": 1, name: bad})
    with pytest.raises(TypeError, match=f"missing 1 required keyword-only argument: '{name}'"):
        kind(**{key: 1 for key in ("epsilon", "sensitivity") if key != name})
