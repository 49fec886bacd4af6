"""Splits of a budget: exact parts, in the proportions asked, that sum to the whole."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapnoise import LaplaceMechanism, sensitivity
from lapnoise.budget import split

amounts = st.one_of(
    st.floats(1e-300, 1e300),
    st.fractions(Fraction(1, 10**9), 10**9),
    st.decimals("1e-20", "1e20", places=22),
    st.integers(1, 10**30),
    st.sampled_from(["0.1", "1/3", "1e-9"]),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(total=amounts, weights=st.lists(amounts, min_size=1, max_size=12))
def test_weights(total, weights):
    """Parts in proportion to weights sum to the whole exactly, floats counting as they print."""
    as_printed = [Fraction(repr(w)) if isinstance(w, float) else Fraction(w) for w in weights]
    whole = Fraction(repr(total)) if isinstance(total, float) else Fraction(total)
    parts = split(total, weights=weights)

    assert sum(parts) == whole
    assert all(part / whole == w / sum(as_printed) for part, w in zip(parts, as_printed, strict=True))
    assert all(type(part) is Fraction for part in parts)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(total=amounts, parts=st.integers(1, 500))
def test_equal_parts(total, parts):
    """Equal parts are equal and sum to the whole, exactly."""
    found = split(total, parts=parts)

    assert len(found) == parts
    assert len(set(found)) == 1
    assert sum(found) == (Fraction(repr(total)) if isinstance(total, float) else Fraction(total))


def test_sensitivities_give_one_scale():
    """Parts in proportion to sensitivities give every release noise of one scale, the sum of them over epsilon."""
    several = [sensitivity.count(), sensitivity.histogram(neighbours="replace"), 5, 0.5, "1/2"]
    parts = split("0.3", sensitivities=several)

    assert parts == [Fraction(3, 10) * Fraction(d) / 9 for d in (1, 2, 5, Fraction(1, 2), Fraction(1, 2))]
    assert sum(parts) == Fraction(3, 10)
    scales = {Fraction(s.l1 if hasattr(s, "l1") else s) / part for s, part in zip(several, parts, strict=True)}
    assert scales == {Fraction(30)}
    assert LaplaceMechanism(epsilon=parts[2], sensitivity=5, changed=1).scale == 30.0


def test_floats_count_as_they_print():
    """A tenth is a tenth: three of them make 0.3, which binary floats do not."""
    assert split(0.3, parts=3) == [Fraction(1, 10)] * 3
    assert split(1, weights=[0.1, 0.2, Decimal("0.7")]) == [Fraction(1, 10), Fraction(1, 5), Fraction(7, 10)]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "split takes exactly one of parts, weights, sensitivities, got none"),
        ({"parts": 2, "weights": [1]}, TypeError, "got parts and weights"),
        ({"parts": 0}, ValueError, "parts must be >= 1, got 0"),
        ({"parts": 2.0}, TypeError, "parts must be an int, got 2.0"),
        ({"weights": []}, ValueError, "weights must hold at least one number, got none"),
        ({"weights": [1, 0]}, ValueError, r"weights\[1\] must be finite and > 0, got 0"),
        ({"weights": [1, -1]}, ValueError, r"weights\[1\] must be finite and > 0, got -1"),
        ({"weights": [float("inf")]}, ValueError, r"weights\[0\] must be finite and > 0, got inf"),
        ({"weights": "12"}, TypeError, "weights must be a sequence of numbers, got '12'"),
        ({"weights": 3}, TypeError, "weights must be a sequence of numbers, got 3"),
        ({"sensitivities": [1, 0]}, ValueError, r"sensitivities\[1\] must be finite and > 0, got 0"),
        (
            {"sensitivities": [sensitivity.empirical(len, [([1], [])])]},
            ValueError,
            r"sensitivities\[0\] must bound every pair",
        ),
    ],
)
def test_refusals(arguments, error, message):
    """One rule at a time, and no part of nothing."""
    with pytest.raises(error, match=message):
        split(1, **arguments)


@pytest.mark.parametrize("total", [0, -1, float("nan"), float("inf")])
def test_the_whole_is_an_epsilon(total):
    """What is split is finite and positive."""
    with pytest.raises(ValueError, match="total must be finite and > 0"):
        split(total, parts=2)
