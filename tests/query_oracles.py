"""References for queries, from their definitions in fractions, and small data sets that differ in one person."""

import itertools
import math
from fractions import Fraction

from exact_oracles import half_up

from lapnoise import default_rng
from lapnoise._exact_noise import exact_draw

SEED = 71


class Ledger:
    """A ledger that keeps what it was charged, and refuses beyond a total."""

    def __init__(self, total=10):
        self.total, self.charges = total, []

    def spend(self, epsilon, delta=0, label=None):
        if sum(charge[0] for charge in self.charges) + epsilon > self.total:
            raise RuntimeError("the budget is exhausted")
        self.charges.append((epsilon, delta, label))


def noise(t, n=1):
    """Return the first draws of the seed's stream, by the last tier alone."""
    source = default_rng(SEED)._stream.source
    return [exact_draw(t, source, i) for i in range(n)]


def is_missing(x):
    """Return whether a row is missing."""
    return x is None or x != x


def record(x, on):
    """Return a value in steps: clipped to the bounds of the lattice, rounded half up."""
    if isinstance(x, float) and math.isinf(x):
        return on.most if x > 0 else on.least
    return min(max(half_up(Fraction(x), on.exponent), on.least), on.most)


def sum_of_records(values, on):
    """Return the sum of the records of the rows that are not missing, in steps."""
    return sum(record(x, on) for x in values if not is_missing(x))


def neighbours_of(domain, m, relation, others=2):
    """Yield pairs of lists: rows that stay, and 1 to m rows of one person that come or are replaced."""
    persons = [rows for k in range(1, m + 1) for rows in itertools.combinations_with_replacement(domain, k)]
    for size in range(others + 1):
        for rest in itertools.combinations_with_replacement(domain, size):
            for rows in persons:
                if relation == "add-remove":
                    yield [*rest, *rows], list(rest)
                else:
                    yield from (([*rest, *rows], [*rest, *instead]) for instead in persons)


def persons_of(domain, ids, rows, relation):
    """Yield pairs of lists of (value, id): rows of two persons, those of the second come or are replaced."""
    sets = [list(c) for k in range(rows + 1) for c in itertools.combinations_with_replacement(domain, k)]
    for mine in sets:
        first = [(x, ids[0]) for x in mine]
        for theirs in sets:
            one = first + [(x, ids[1]) for x in theirs]
            if relation == "add-remove":
                yield one, first
            else:
                yield from ((one, first + [(x, ids[2]) for x in instead]) for instead in sets)
