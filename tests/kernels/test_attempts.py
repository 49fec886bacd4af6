"""The certified coin and the words of attempts: bounds computed again, words beside the edge, streams of their own."""

import itertools
import math
from fractions import Fraction
from functools import cache, partial

import numba
import numpy as np
import pytest
from adversarial import adversarial_words
from exact_oracles import draw, key_of
from from_words import magnitudes
from mpmath import mp, mpf
from mutants import mutant

from lapnoise import _attempts, default_rng, exact
from lapnoise.bits.chacha import stream_word
from lapnoise.kernels import attempts
from lapnoise.kernels.discrete_gaussian import COIN_ERROR

jit = numba.njit(error_model="numpy", nogil=True)
EPS0 = 2.0**-53
ENERGIES = [1e-12, 1e-3, 0.5, 0.7, 1.0, 2.0, 5.5, 9.5, 9.999, 10.0, 10.001, 10.5, 10.999, 11.0, 11.001, 12.5, 30.0]


@cache
def verdicts(module):
    """Return what the coin makes of arrays of energies, for one x and one error."""
    coin = module.coin

    @jit
    def run(energy, x, error):
        out = np.empty(energy.size, np.int64)
        for i in range(energy.size):
            out[i] = coin(energy[i], x, error)
        return out

    return run


def words_beside(x: float) -> np.ndarray:
    """Return words whose cells lie at exp(-x) and up to 2^20 cells away, and some far away."""
    with mp.workprec(200):
        j = int(mp.floor(mp.exp(-mpf(x)) * 2**63))
    near = [j + s * d for s in (-1, 1) for d in [*range(40), *(2**k for k in range(6, 50))]]
    return np.array([2 * j for j in near if 0 <= j < 2**63] + adversarial_words()[::40], np.uint64)


def true_verdict(x: float, word: int) -> int:
    """Return 1 or 0 where all U of the word's cell are on one side of exp(-x), and -1 elsewhere."""

    def no_more():
        raise LookupError
        yield

    try:
        return int(exact.coin(partial(exact.ratio, Fraction(x)), word >> 1, no_more()))
    except LookupError:
        return -1


def wrong(module, x: float, error: float = COIN_ERROR) -> int:
    """Return how many verdicts about words beside exp(-x) are certain and not true."""
    words = words_beside(x)
    got = verdicts(module)(magnitudes(words), x, error)
    return sum(1 for w, v in zip(words.tolist(), got.tolist(), strict=True) if v >= 0 and v != true_verdict(x, w))


@pytest.mark.parametrize("x", ENERGIES)
def test_the_coin_is_certain_only_where_it_is_right(x):
    """Beside exp(-x), cell by cell, no certain verdict is wrong, and far away all verdicts are certain."""
    words = words_beside(x)
    got = verdicts(attempts)(magnitudes(words), x, COIN_ERROR)

    assert wrong(attempts, x) == 0
    assert ({0, 1} if x < 11 else {0}) <= set(got.tolist())
    if x < 10:
        doubt = np.abs(magnitudes(words) - x)[got == -1]
        assert doubt.size == 0 or doubt.max() <= 1.1 * COIN_ERROR or magnitudes(words)[got == -1].min() > 11


def test_mutants_of_the_coin_are_caught():
    """A coin without its margin, or with sides exchanged in the tail, is wrong about some of these words."""
    for change in (("energy > x + error", "energy > x - error"), ("energy < x - error", "energy < x + error")):
        made = mutant("lapnoise.kernels.attempts", change)
        assert sum(wrong(made, x) for x in ENERGIES) > 0
    tail = mutant("lapnoise.kernels.attempts", ("1 if x < TAIL_ENERGY - 1.0 else -1", "1"))
    assert sum(wrong(tail, x) for x in ENERGIES) > 0
    rare = mutant("lapnoise.kernels.attempts", ("0 if energy < TAIL_ENERGY - 1.0 else -1", "1"))
    assert sum(wrong(rare, x) for x in ENERGIES) > 0
    assert sum(wrong(attempts, x, COIN_ERROR / 64) for x in ENERGIES) > 0


def test_error_of_the_energy_from_its_derivation():
    """The logarithm's 20.4 and the cell's 29.4 units of 2^-53 lie within ``energy_error`` with 15 % to spare.

    Both are computed again: the first is seen on adversarial words, the second is the largest cell with E <= 11.
    """
    cell = math.exp(11.0) * (1 + 2.0**-39) / 2.0**64 / EPS0
    words = [w for w in adversarial_words() if (w | 1) / 2**64 > math.exp(-11)]
    got = magnitudes(words)
    with mp.workprec(150):
        errors = [abs(mpf(e) + mp.log(mpf(w | 1) / 2**64)) / EPS0 for e, w in zip(got.tolist(), words, strict=True)]

    assert 29.2 < cell < 29.4
    assert max(errors) < 20.4
    assert (20.4 + cell) * 1.15 < attempts.energy_error / EPS0
    assert attempts.energy_error / 2 < (20.4 + cell) * EPS0


def test_words_of_attempts_have_streams_of_their_own():
    """Attempt a takes in role i word p of stream 2^62 + 4 a + i, further ones from 2^63 + d 2^40 on: all distinct."""
    source = default_rng(3)._stream.source.copy()
    source[4] = 5
    key = key_of(source)
    seen = set()
    for attempt, role in itertools.product((0, 1, 2, 50), range(4)):
        got = list(itertools.islice(_attempts.attempt_words(source, 1000, attempt, role), 3))
        first = 5 + (1 << 62) + 4 * attempt + role
        streams = [first, first + (1 << 63), first + (1 << 63) + (1 << 40)]
        assert got == [stream_word(key, 1000, s, 12) for s in streams]
        seen |= set(got)
    assert len(seen) == 48
    assert stream_word(key, 1000, 5, 12) not in seen


def test_open_attempt():
    """The compiled source of an attempt differs from the stream's in its id alone, which wraps at 2^64."""

    @jit
    def run(own, source, attempt, role):
        attempts.open_attempt(own, source, attempt, role)

    source = default_rng(3)._stream.source.copy()
    for own_id, attempt, role in ((0, 0, 0), (7, 3, 2), (2**64 - 3, 0, 1)):
        source[4] = own_id
        own = np.zeros(6, np.uint64)
        run(own, source, attempt, role)
        assert own[[0, 1, 2, 3, 5]].tolist() == source[[0, 1, 2, 3, 5]].tolist()
        assert int(own[4]) == (own_id + 2**62 + 4 * attempt + role) % 2**64


def test_rooms_do_not_overlap():
    """The parts of the work space have the sizes that are told, and share no memory."""

    @jit
    def run(room):
        return attempts.attempt_rooms(room)

    room = np.zeros(attempts.ATTEMPT_ROOM, np.uint64)
    parts = run(room)

    assert [part.size for part in parts] == [6, 640, 640, 6 * 512, 2 * 512]
    assert [part.dtype.kind for part in parts] == ["u", "u", "u", "f", "i"]
    for i, part in enumerate(parts):
        part.view(np.uint64)[:] = i + 1
    assert all(np.all(part.view(np.uint64) == i + 1) for i, part in enumerate(parts))


@pytest.mark.parametrize("t", [Fraction(1, 3), Fraction(3), Fraction(2**30 + 1, 2)])
def test_candidates(t):
    """A candidate is the discrete Laplace draw of its words, by an oracle of mpmath's."""
    words = [0, 1, 2, 3, 2**64 - 1, 2**63, *adversarial_words()[::400]]
    for w in words:
        assert _attempts.candidate(t, iter([w, *range(5, 100)])) == draw(t, w, lambda depth: depth + 5)


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(25, 2), Fraction(50)])
def test_accepts(x):
    """A coin of exp(-x) compares U with it, bit by bit, and takes as many words as that needs."""
    with mp.workprec(400):
        edge = int(mp.floor(mp.exp(-mpf(x.numerator) / x.denominator) * 2**191)) if x else 1 << 191
    for bits in [edge - 1, edge + 1, edge - 2**100, edge + 2**140, 1, 2**191 - 1]:
        if not 0 <= bits < 2**191:
            continue
        words = iter([(bits >> 128) << 1, (bits >> 64) % 2**64, bits % 2**64, *[2**63] * 10])
        if x == 0 and bits == 2**191 - 1:
            assert _attempts.accepts(partial(exact.ratio, x), words)
            continue
        assert _attempts.accepts(partial(exact.ratio, x), words) == (bits < edge)
