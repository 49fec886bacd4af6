"""The exact comparison of random keys: the contender whose bits say so wins, however many of them are needed."""

import itertools
import random
from fractions import Fraction

import pytest
import selection_oracles as oracle
from mpmath import mp, mpf

from lapnoise.exact_selection import Contender, winner

BOTH = pytest.mark.parametrize("logarithmic", [True, False], ids=["exponential", "flip"])

TOP = (1 << 63) - 1


def compared(words, penalties, measures, logarithmic, further) -> int:
    """Return the package's winner among contenders given by their words."""
    contenders = [
        Contender(word >> 1, map(further, itertools.repeat(i), itertools.count()), Fraction(x), Fraction(m))
        for i, (word, x, m) in enumerate(zip(words, penalties, measures, strict=True))
    ]
    return winner(contenders, logarithmic)


def table(seed: int):
    """Return further words that depend on contender and depth alone."""
    return lambda i, depth: random.Random(f"{seed} {i} {depth}").getrandbits(64)


@BOTH
def test_winner_is_the_oracles(logarithmic):
    """Random words, penalties and measures of all sizes, equal first words, and cells at both ends of (0, 1)."""
    chance = random.Random(1)
    decided_late = 0
    for case in range(200):
        n = chance.randint(1, 6)
        alike = chance.choice([0, 1, 2, TOP << 1, 1 << 63, chance.getrandbits(64)])
        words = [chance.choice([alike, chance.getrandbits(64), chance.getrandbits(64) >> 50]) for _ in range(n)]
        size = chance.choice([0, 1, Fraction(1, 3**40), Fraction(1, 7), 10**6])
        penalties = [size * chance.randint(0, 2) for _ in range(n)]
        scale = chance.choice([Fraction(1), Fraction(5, 10**324), Fraction(2) ** 1000]) if logarithmic else Fraction(1)
        measures = [scale * (chance.randint(1, 3) if logarithmic else 1) for _ in range(n)]
        further = table(case)
        got = compared(words, penalties, measures, logarithmic, further)
        assert got == oracle.winner(words, [Fraction(x) for x in penalties], measures, logarithmic, further)
        decided_late += n > 1 and len(set(words)) < n
    assert decided_late > 50


@BOTH
def test_winner_at_the_boundary(logarithmic):
    """A second word whose cell holds the point of equal keys is decided by further words, on either side of it."""
    chance = random.Random(2)
    seen = set()
    for case in range(60):
        first = chance.getrandbits(64) >> chance.choice([0, 0, 1, 8])
        x = Fraction(chance.randint(-20, 20), chance.choice([7, 1000, 10**9]))
        more = table(case)
        with mp.workprec(600):
            bits = (first >> 1) << 64 | more(0, 0)
            e = -mp.log((mpf(bits) + 0.5) / mpf(2) ** 127)
            shift = mpf(x.numerator) / x.denominator
            equal = e * mp.exp(-shift) if logarithmic else e + shift
            if not 0 < equal < 40:
                continue
            edge = int(mp.floor(mp.exp(-equal) * mpf(2) ** 127))
        for nudge in (-(1 << 40), -(1 << 20), 1 << 20, 1 << 40):
            point = edge + nudge
            words = [first, (point >> 64) << 1]
            further = lambda i, d, point=point, more=more: point % (1 << 64) if (i, d) == (1, 0) else more(i, d)  # noqa: E731
            # Both are moved up to have penalties of at least 0.
            penalties = [30 + Fraction(0), 30 + x]
            got = compared(words, penalties, [1, 1], logarithmic, further)
            assert got == oracle.winner(words, penalties, [Fraction(1)] * 2, logarithmic, further)
            # More of U is less of E, which is a smaller key here and a larger one in permute-and-flip.
            assert got == int((nudge > 0) == logarithmic)
            seen.add(got)
    assert seen == {0, 1}


@BOTH
def test_words_are_taken_only_where_they_decide(logarithmic):
    """One contender needs no further word, far ones none, and one that lost no more than the others made it take."""
    taken = [0, 0, 0]

    def further(i, _):
        taken[i] += 1
        return [1 << 63, 1, 12345][i]

    assert compared([8], [5], [1], logarithmic, further) == 0
    assert taken == [0, 0, 0]
    assert compared([1 << 63, 1 << 63, 1 << 63], [0, 0, 1000], [1, 1, 1], logarithmic, further) == int(not logarithmic)
    assert taken == [1, 1, 0]
