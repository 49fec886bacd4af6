"""The sampler of several scales on words beside its decisions: it decides what the plain sampler does, and no more."""

from functools import cache

import numpy as np
import pytest
from derivations import EPS0, too_small
from exact_words import UNDECIDED, boundary_words, fast_tier, jit, law, magnitudes, wrong
from mutants import mutant

from lapnoise.kernels import strata
from lapnoise.kernels.discrete_laplace import FAST_LIMIT, certificate

SCALES = (0.1, 1 / 3, 3.0, 50.0, 2.0**30 + 2.0**-22, 2.0**40, FAST_LIMIT)
FAST_ALONE = ("= magnitude_from_word(batch[i], law[0], law[1], law[2])", "= 0, False")


@cache
def words_of_all() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return words about the steps of every scale, mixed; the stratum, the step and the distance in cells of each."""
    found = [boundary_words(t, 60, 7) for t in SCALES]
    which = np.repeat(np.arange(len(SCALES), dtype=np.int32), [words.size for words, _, _ in found])
    order = np.random.default_rng(2).permutation(which.size)
    words, at, distance = (np.concatenate(parts)[order] for parts in zip(*found, strict=True))
    return words, which[order], at, distance


@cache
def _kernel(*changes: tuple[str, str]):
    """Return ``run(out, strata, laws, words, room, pending)``, the kernel on words of a test's choosing."""
    made = mutant("lapnoise.kernels.strata", ("import kernel\n", "import device as kernel\n"), *changes)

    @jit
    def refill(words, source, position, wanted, draw_words):
        count = min(512, wanted)
        words[:count] = source[position : position + count]
        return 0, count

    made.refill = refill
    fill = made.fill_discrete_laplace_strata

    @jit
    def run(out, which, laws, words, room, pending):
        return fill(out, which, laws, words, 0, room, pending)

    return run


def decided(*changes: tuple[str, str]) -> np.ndarray:
    """Return the magnitudes that the kernel makes of these words, UNDECIDED where it leaves them open; signs hold."""
    words, which, _, _ = words_of_all()
    laws = np.array([law(t) for t in SCALES])
    out, pending = np.zeros(words.size, np.int64), np.zeros(words.size + 642, np.int64)
    room = np.empty(strata.STRATA_ROOM, np.uint64)
    assert _kernel(*changes)(out, which, laws, words, room, pending) == words.size
    assert np.array_equal(out < 0, (words & np.uint64(1) == 1) & (out != 0))
    found = np.abs(out)
    found[pending[1 : 1 + pending[0]]] = UNDECIDED
    return found


def plain(tier) -> np.ndarray:
    """Return what a tier of the plain sampler makes of these words."""
    words, which, _, _ = words_of_all()
    found = np.empty(words.size, np.int64)
    for i, t in enumerate(SCALES):
        found[which == i] = tier(words[which == i], law(t))
    return found


@pytest.mark.parametrize(("tier", "changes"), [(fast_tier, (FAST_ALONE,)), (magnitudes, ())], ids=["fast", "both"])
def test_decisions_are_those_of_the_plain_sampler(tier, changes):
    """At steps of the magnitude the same words are decided, none wrongly, and the others are left open."""
    _, _, at, distance = words_of_all()
    found = decided(*changes)

    assert wrong(found, at, distance) == 0
    assert np.array_equal(found, plain(tier))
    assert 100 < np.sum(found == UNDECIDED) < found.size - 100


MUTANTS = {
    "8 units": ("_SLACK = 80.0 * 2.0**-53\n", "_SLACK = 8.0 * 2.0**-53\n"),
    "no least slack": ("_LEAST_SLACK = 2.0**-50", "_LEAST_SLACK = 0.0"),
    "no tail": ("y <= t[i] * TAIL", "True"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_that_decide_more(name):
    """A smaller certificate decides words that the plain sampler does not; one of 8 units decides some wrongly.

    Without the least slack no word would be: where t is small enough to need it, no step has E <= 11.
    """
    _, _, at, distance = words_of_all()
    found = decided(FAST_ALONE, MUTANTS[name])

    assert not np.array_equal(found, plain(fast_tier))
    assert (wrong(found, at, distance) > 0) == (name == "8 units")


@pytest.mark.parametrize("t", [1e-300, 1e-3, *SCALES])
def test_certificate_of_a_row(t):
    """A row's certificate is the plain sampler's, which has a quarter to spare beside its derivation."""

    def slack(t: float) -> float:
        return t * strata._SLACK + strata._LEAST_SLACK

    assert slack(t) == certificate(t)
    assert not too_small(slack, t)
    assert too_small(lambda t: t * 8 * EPS0, t)
    assert t > 0.01 or too_small(lambda t: t * strata._SLACK, t)
