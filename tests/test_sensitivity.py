"""Sensitivities of common queries: the table, brute force over all neighbours of small data, and lower bounds."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from lapnoise import DiscreteLaplaceMechanism, GaussianMechanism, LaplaceMechanism, _check
from lapnoise.sensitivity import Sensitivity, bounded_mean, bounded_sum, count, empirical, histogram, variance

THIRD = Fraction(1, 3)


def largest(query, pairs):
    """Return (l1, l2 squared, linf, changed), the largest over pairs, of a query that gives a tuple of numbers."""
    found = [Fraction(0)] * 4
    for one, other in pairs:
        moved = [abs(a - b) for a, b in zip(query(one), query(other), strict=True)]
        seen = [sum(moved), sum(x * x for x in moved), max(moved), sum(x > 0 for x in moved)]
        found = [max(a, Fraction(b)) for a, b in zip(found, seen, strict=True)]
    return tuple(found)


def pairs_of_rows(domain, m, neighbours, others=1, least=1):
    """Yield neighbouring data sets: ``others`` rows that stay, and ``least`` to m rows of one person that change."""
    persons = [rows for k in range(least, m + 1) for rows in itertools.combinations_with_replacement(domain, k)]
    for rest in itertools.product(domain, repeat=others):
        for rows in persons:
            if neighbours == "add-remove":
                yield rest + rows, rest
            else:
                for instead in persons:
                    yield rest + rows, rest + instead


def exact(s):
    """Return what `largest` returns, of a Sensitivity."""
    return s.l1, s.l2_squared, s.linf, Fraction(s.changed)


@pytest.mark.parametrize(
    ("low", "high", "add_remove", "replace"), [(-10, 3, 10, 13), (0, 5, 5, 5), (5, 10, 10, 5), (-7, -2, 7, 5)]
)
def test_table_of_sums(low, high, add_remove, replace):
    """A sum moves by the larger bound when a row comes or goes, and by the width when it is replaced."""
    assert bounded_sum(low, high).l1 == add_remove
    assert bounded_sum(low, high, neighbours="replace").l1 == replace


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("bounds", [(-10, 3), (0, 5), (5, 10), (-7, -2)])
def test_sums_by_brute_force(bounds, neighbours, m):
    """No neighbours differ by more, and some by as much, in every norm."""
    pairs = pairs_of_rows(sorted({*bounds, sum(bounds) // 2}), m, neighbours)

    s = bounded_sum(*bounds, neighbours=neighbours, max_contributions=m)
    assert exact(s) == largest(lambda rows: (sum(rows),), pairs)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_counts_by_brute_force(neighbours, m):
    """A count of the rows that satisfy something moves by m under both relations."""
    pairs = pairs_of_rows((0, 1), m, neighbours)

    s = count(neighbours=neighbours, max_contributions=m)
    assert exact(s) == largest(lambda rows: (sum(rows),), pairs)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_histograms_by_brute_force(neighbours, m):
    """All m rows may lie in one cell or in m, and leave for one other or m others: every norm is attained."""
    cells = range(2 * m)
    pairs = pairs_of_rows(cells, m, neighbours, others=0, least=m)

    s = histogram(neighbours=neighbours, max_contributions=m)
    assert exact(s) == largest(lambda rows: [rows.count(cell) for cell in cells], pairs)


def test_histograms_of_three_records():
    """Over all neighbours among three records in three cells: 1 when one comes, 2 and sqrt(2) when one moves."""
    data = list(itertools.product(range(3), repeat=3))
    counted = lambda rows: [rows.count(cell) for cell in range(3)]  # noqa: E731
    replaced = [(a, b) for a in data for b in data if sum(x != y for x, y in zip(a, b, strict=True)) == 1]

    assert largest(counted, [(a, a[:2]) for a in data]) == (1, 1, 1, 1) == exact(histogram())
    assert largest(counted, replaced) == (2, 2, 1, 2) == exact(histogram(neighbours="replace"))
    assert histogram(neighbours="replace").l2 == math.sqrt(2)


def replaced_rows(domain, n, m):
    """Yield data sets of n rows that differ in at most m."""
    for rows in itertools.combinations_with_replacement(domain, n):
        for kept in set(itertools.combinations(rows, n - m)):
            for instead in itertools.combinations_with_replacement(domain, m):
                yield rows, kept + instead


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_means_and_variances_by_brute_force(n, m):
    """With a public n no neighbours differ by more, and some by as much, for both divisors of the variance."""
    low, high = -2, 4
    pairs = list(replaced_rows((low, 0, 1, high), n, min(m, n)))

    assert bounded_mean(low, high, n, max_contributions=m).l1 == largest(lambda rows: (sum(rows),), pairs)[0] / n
    # n times the sum of squared deviations, in integers.
    squares = largest(lambda rows: (n * sum(x * x for x in rows) - sum(rows) ** 2,), pairs)[0] / n
    for ddof in (0, 1):
        assert variance(low, high, n, ddof=ddof, max_contributions=m).l1 == squares / (n - ddof)


def test_formulas_of_means_and_variances():
    """The formulas for one row a person."""
    assert bounded_mean(0, 5, 100).l1 == Fraction(1, 20)
    assert variance(0, 5, 10).l1 == Fraction(25 * 9, 100)
    assert variance(0, 5, 10, ddof=1).l1 == Fraction(25, 10)
    assert bounded_mean(0.1, 0.3, 7).l1 == (Fraction(0.3) - Fraction(0.1)) / 7


@pytest.mark.parametrize("query", [bounded_mean, variance])
def test_add_remove_is_refused_where_n_is_public(query):
    """A mean or variance over a public n refuses add-remove, which the sensitivity would not hold for."""
    with pytest.raises(ValueError, match=r"neighbours must be 'replace' for a .* over a public number of rows"):
        query(0, 5, 100, neighbours="add-remove")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: count(neighbours="bounded"), "neighbours must be 'add-remove' or 'replace', got 'bounded'"),
        (lambda: count(max_contributions=0), "max_contributions must be >= 1, got 0"),
        (lambda: bounded_sum(1, 1), "low must be less than high, got low 1 and high 1"),
        (lambda: bounded_sum(0, 0), "low must be less than high"),
        (lambda: bounded_sum(math.nan, 1), "low must be finite, got nan"),
        (lambda: bounded_sum(-math.inf, 1), "low must be finite, got -inf"),
        (lambda: bounded_mean(0, 1, 0), "n must be >= 1, got 0"),
        (lambda: variance(0, 1, 1), "n must be >= 2, got 1"),
        (lambda: variance(0, 1, 5, ddof=2), "ddof must be 0 or 1, got 2"),
        (lambda: Sensitivity(0, 1, 1, 1), "l1 must be finite and > 0, got 0"),
        (lambda: Sensitivity(1, 1, 1, 0), "changed must be >= 1, got 0"),
    ],
)
def test_refusals(call, message):
    """Wrong arguments are refused with the name, the rule and the value."""
    with pytest.raises(ValueError, match=message):
        call()


def test_what_a_sensitivity_is():
    """It is immutable, compares and pickles by value, unpacks, and shows its norms."""
    s = histogram(neighbours="replace", max_contributions=2)
    l1, l2, linf, changed = s

    assert (l1, linf, changed) == (4, 2, 4)
    assert Fraction(l2) ** 2 >= 8 > Fraction(math.nextafter(l2, 0)) ** 2
    assert pickle.loads(pickle.dumps(s)) == s == histogram(neighbours="replace", max_contributions=2)
    assert hash(s) == hash(pickle.loads(pickle.dumps(s)))
    assert s != histogram(max_contributions=2)
    assert repr(s) == "Sensitivity(l1=4, l2=2.82843, linf=2, changed=4)"
    assert Sensitivity(12, 6, 3, 4).l2 == 6
    with pytest.raises(AttributeError):
        s.l1 = 1


@pytest.mark.parametrize("square", [Fraction(2), THIRD, Fraction(10**40 + 1), Fraction(1, 10**300), Fraction(3, 7)])
def test_roots_are_rounded_up(square):
    """l2 is a float whose square is not below, and whose neighbour's is."""
    root = Sensitivity._exact(Fraction(1), square, Fraction(1), 1).l2

    assert Fraction(root) ** 2 >= square > Fraction(math.nextafter(root, 0)) ** 2


def test_mechanisms_take_a_sensitivity():
    """The Laplace mechanisms take its L1 and never its L2 norm, and the lattice counts what it says is changed."""
    s = Sensitivity(12, 6, 3, 4)

    assert LaplaceMechanism(epsilon=1, sensitivity=s) == LaplaceMechanism(epsilon=1, sensitivity=12, changed=4)
    assert LaplaceMechanism(epsilon=1, sensitivity=s, changed=9).changed == 9
    assert LaplaceMechanism(epsilon=1, sensitivity=12).changed is None
    assert DiscreteLaplaceMechanism(epsilon="0.5", sensitivity=s).scale == 24.0
    assert LaplaceMechanism(epsilon="0.5", sensitivity=count(max_contributions=3)).scale == 6.0
    assert _check.l2_sensitivity(s) == 36  # squares, of which there are exact ones
    assert _check.l2_sensitivity(histogram(neighbours="replace")) == 2
    assert _check.l2_sensitivity(0.1) == Fraction(0.1) ** 2
    gaussian = GaussianMechanism(epsilon=1, delta="1e-6", sensitivity=s)
    assert gaussian == GaussianMechanism(epsilon=1, delta="1e-6", sensitivity=6, changed=4)


def test_empirical_bounds_from_below():
    """It finds the sensitivity where a pair attains it, in each norm, and less where none does."""
    data = list(itertools.product(range(3), repeat=3))
    replaced = [(a, b) for a in data for b in data if sum(x != y for x, y in zip(a, b, strict=True)) == 1]
    for counted in (
        lambda rows: [rows.count(cell) for cell in range(3)],
        lambda rows: np.bincount(rows, minlength=3),
        lambda rows: {cell: rows.count(cell) for cell in rows},
        lambda rows: pd.Series(rows).value_counts(),
    ):
        found = empirical(counted, replaced)
        assert exact(found) == exact(histogram(neighbours="replace"))
        assert found.lower_bound
        assert "lower_bound=True" in repr(found)
    assert empirical(sum, [([1, 2], [1, 2, 5]), ([1], [])]).l1 == 5
    assert empirical(sum, iter([([0.1], []), ([0.25], [])])).l1 == Fraction(1, 4)
    assert exact(empirical(len, [([1], [2])])) == (0, 0, 0, 0)


def test_a_lower_bound_is_no_sensitivity():
    """Mechanisms refuse it and say what it is; its number can be handed over knowingly."""
    found = empirical(sum, [([3], [])])
    for make in (LaplaceMechanism, DiscreteLaplaceMechanism):
        with pytest.raises(
            ValueError, match="sensitivity must bound every pair of neighbouring data sets, got the lower"
        ):
            make(epsilon=1, sensitivity=found)
        assert make(epsilon=1, sensitivity=found.l1).scale == 3
    with pytest.raises(ValueError, match="got the lower bound"):
        _check.l2_sensitivity(found)


@pytest.mark.parametrize(
    ("results", "error", "message"),
    [
        ((math.nan, 1.0), ValueError, "a result of query must be finite, got nan"),
        (([1.0, math.inf], [1.0, 1.0]), ValueError, "a result of query must be finite, got inf"),
        (({"a": math.nan}, {}), ValueError, "must be finite"),
        (([1.0], [1.0, 2.0]), ValueError, r"query must give one shape for both of a pair, got \(1,\) and \(2,\)"),
        (("a", "b"), TypeError, "a result of query must be a number"),
    ],
)
def test_empirical_refusals(results, error, message):
    """NaN, infinities, other kinds and arrays of two shapes are refused."""
    with pytest.raises(error, match=message):
        empirical(lambda i: results[i], [(0, 1)])


def test_empirical_needs_pairs():
    """Without pairs there is nothing to say."""
    with pytest.raises(ValueError, match="pairs must hold at least one pair"):
        empirical(sum, [])
