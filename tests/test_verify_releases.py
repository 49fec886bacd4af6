"""Verification of releases and places: every mechanism passes as it is, and broken ones fail where they are broken."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_oracles import draw

from lapnoise import (
    _conditional_noise,
    _exact_noise,
    _gaussian_noise,
    _kernel_table,
    _lattice_noise,
    default_rng,
)
from lapnoise._check import FLOAT32, FLOAT64
from lapnoise._word_source import WordSource
from lapnoise.bits.chacha import stream_word
from lapnoise.bits.entropy import Key
from lapnoise.evaluate import _distributions, _exact_oracle, _guarantees, _places, _reading_copy, _releases
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
    _additive,
    _on_floats,
    discrete_laplace,
)

MECHANISMS = [
    "LaplaceMechanism",
    "DiscreteLaplaceMechanism",
    "GaussianMechanism",
    "GaussianMechanism on integers",
    "TruncatedLaplaceMechanism",
    "BoundedLaplaceMechanism, wide",
    "BoundedLaplaceMechanism, narrow",
]


def failed(checks):
    """Return what failed as (tested, measure), and where to look."""
    broken = [check for check in checks if not check.passed]
    return [(check.tested, check.measure) for check in broken], {check.look for check in broken}


def releases(count=8):
    return failed(_releases.release_checks(default_rng(3), count))


def places(count=8):
    return failed(_places.place_checks(default_rng(3), count))


def of(lines, name):
    return [line for line in lines if line[0].endswith(f"by {name}")]


def test_as_they_are():
    """Every mechanism passes on every type that it takes, and so do draws far out, in the tail and of children."""
    checks = list(_releases.release_checks(default_rng(1), 30))
    assert failed(checks) == ([], set())
    assert failed(_places.place_checks(default_rng(1), 30)) == ([], set())
    assert failed(_guarantees.guarantee_checks()) == ([], set())
    for name in MECHANISMS:
        kinds = (
            ("int64", "uint64")
            if "Discrete" in name or "integers" in name
            else ("float64", "float32", "int64", "uint64")
        )
        tested = [check.tested for check in checks if check.tested.endswith(f"by {name}")]
        assert [f"30 values of {kind} by {name}" in tested for kind in kinds] == [True] * len(kinds)
        assert f"30 values about word 2^32 by {name}" in tested


def test_the_words_are_those_of_the_cipher():
    """Words by place, kept blocks and all, are those of the reading copy of the cipher, in every stream."""
    source = default_rng(7, rounds=20)._stream.source
    words = _reading_copy.Words.of(source)
    for place in (0, 1, 127, 128, 1 << 32, (1 << 61) + 5):
        assert words.at(place) == stream_word(words.key, place, 0, 20)
        assert words.at(place, (1 << 64) - 1) == stream_word(words.key, place, (1 << 64) - 1, 20)


def test_draws_are_those_of_the_oracle():
    """Discrete draws of these words are the suite's own oracle's, also where one word does not decide."""
    words = _reading_copy.Words.of(default_rng(8)._stream.source)
    taken = []
    for t in (3.0, 2.0**57):
        for place in range(60):

            def more(depth, place=place):
                taken.append(place)
                return words.at(place, (1 << 63) + depth)

            assert _reading_copy.laplace_step(words, place, t) == draw(Fraction(t), words.at(place), more)
    assert taken


def test_the_tail_places():
    """Places in the tail hold halves of 0 or 1, the deepest draws of float32; as a word one passes 22 in float64."""
    words = _reading_copy.Words.of(default_rng(0)._stream.source)
    smallest = [min(words.at(place) & 0xFFFFFFFF, words.at(place) >> 32) for place in _places.TAIL_PLACES]
    assert smallest == [0, 0, 1]
    assert abs(default_rng(0)._at(_places.TAIL_PLACES[1]).laplace()) == pytest.approx(22.33, abs=0.01)


# Broken mechanisms.


@pytest.mark.parametrize("factor", [0.9, 0.0])
def test_mutant_gaussian_sigma(monkeypatch, factor):
    """Gaussian noise of a wrong sigma, or next to none, is seen by its releases alone, and by its distribution."""
    kernel = _gaussian_noise.gaussian_kernel
    monkeypatch.setattr(_gaussian_noise, "gaussian_kernel", lambda sigma: kernel(sigma * factor or 1.0))
    lines, look = releases()
    assert {tested.split("by ")[1] for tested, _ in lines} == {"GaussianMechanism", "GaussianMechanism on integers"}
    assert any("the release path of this mechanism" in one for one in look)
    shown = [one.judged(1e-8) for one in _distributions.distributions(default_rng(3), 20_000)]
    lines, look = failed(shown)
    assert {tested for tested, _ in lines} == {"20,000 of GaussianMechanism, epsilon 1, delta 1e-6"}
    assert look == {_distributions.MECHANISM}


def test_mutant_conditioned_scale(monkeypatch):
    """Bounded and truncated noise at half the scale is seen by releases and distributions, and nothing else is."""
    interval = _conditional_noise.Interval
    monkeypatch.setattr(_conditional_noise, "Interval", lambda t, low, high: interval(t / 2, low, high))
    lines, _ = releases()
    assert {tested.split("by ")[1] for tested, _ in lines} == {*MECHANISMS[4:]}
    shown = [one.judged(1e-8) for one in _distributions.distributions(default_rng(3), 20_000)]
    lines, _ = failed(shown)
    assert {tested.split(" of ")[1].split(",")[0] for tested, _ in lines} == {
        "TruncatedLaplaceMechanism",
        "BoundedLaplaceMechanism",
    }


# Broken releases.


def generators(monkeypatch, replacement):
    for module in (_additive, _on_floats, discrete_laplace):
        monkeypatch.setattr(module, "generator_for", replacement)


def test_mutant_one_key(monkeypatch):
    """Every release under one key is seen for each mechanism, with the keys as the place to look."""
    kept = default_rng(rounds=20)

    def same(rng, threads, *, stacklevel=3):
        if rng is None:
            kept._stream.position = 0
        return kept if rng is None else rng

    generators(monkeypatch, same)
    lines, look = releases()
    assert lines == [
        (f"two releases of 8 values by {name}", "keys or results that are the same") for name in MECHANISMS
    ]
    assert look == {_releases.KEY_LOOK}


def test_mutant_eight_rounds(monkeypatch):
    """Releases by ChaCha8 are seen for each mechanism."""
    generators(monkeypatch, lambda rng, threads, **_: default_rng(rounds=8, threads=threads) if rng is None else rng)
    lines, look = releases()
    assert lines == [(f"two releases of 8 values by {name}", "weak, repeatable or used keys") for name in MECHANISMS]
    assert look == {_releases.KEY_LOOK}


def test_mutant_half_of_the_noise(monkeypatch):
    """An ``add_noise`` that gives half of the noise is seen on every type, but not by what it calls."""
    add_noise = _on_floats.FloatMechanism.add_noise

    def half(self, values, **given):
        noisy = add_noise(self, values, **given)
        return noisy - (noisy - values) / 2 if noisy.dtype.kind == "f" else noisy

    monkeypatch.setattr(_on_floats.FloatMechanism, "add_noise", half)
    lines, _ = releases()
    found = {tested.split(" by ")[1] for tested, _ in lines}
    assert found == {name for name in MECHANISMS if "Discrete" not in name and "integers" not in name}
    assert {f"8 values of {kind} by LaplaceMechanism" for kind in ("float64", "float32", "int64", "uint64")} <= {
        tested for tested, _ in lines
    }


@pytest.mark.parametrize(("kernel", "types"), [("float_kernel", ["float32"]), ("integer_kernel", ["int64", "uint64"])])
def test_mutant_types(monkeypatch, kernel, types):
    """Half the noise on values of one type is seen on that type, and only there."""
    made = getattr(_lattice_noise, kernel)

    def broken(on, kind):
        run = made(on, kind)

        def half(out, values, *others):
            before = np.array(out if values is None else values)
            run(out, values, *others)
            out[:] = before + (out - before) / 2

        return half if kind in (FLOAT32, True, False) else run

    monkeypatch.setattr(_lattice_noise, kernel, broken)
    lines, look = releases()
    assert lines == [(f"8 values of {kind} by LaplaceMechanism", "results that differ") for kind in types]
    assert look == {_releases.NOISE_LOOK}


def test_mutant_changed_ignored(monkeypatch):
    """A vector on the lattice of one number is seen, and the lattice is the first place to look."""
    monkeypatch.setattr(_on_floats.FloatMechanism, "_bound", lambda self, array: self)
    lines, _ = releases()
    floats = [name for name in MECHANISMS if "Discrete" not in name and "integers" not in name]
    for name in floats:
        assert of(lines, name)[0] == (f"two releases of 8 values by {name}", "lattices of other lengths")
    assert not of(lines, "DiscreteLaplaceMechanism")


@pytest.mark.parametrize(
    "kind", [LaplaceMechanism, GaussianMechanism, TruncatedLaplaceMechanism, BoundedLaplaceMechanism]
)
def test_mutant_for_length(monkeypatch, kind):
    """A mechanism that takes 1,000 coordinates for one costs more than was asked, which its scale shows."""
    monkeypatch.setattr(kind, "for_length", lambda self, n: type(self)(**{**self._parameters(), "changed": 1}))
    lines, look = failed(_guarantees.guarantee_checks())
    assert [tested.split(",")[0] for tested, _ in lines] == [kind.__name__] * 2
    assert "calibration" in look.pop()


# Broken places and keys.


@pytest.mark.parametrize("bits", [32, 20])
def test_mutant_places_wrap(monkeypatch, bits):
    """Draws whose places wrap, so that they repeat, are seen far out, under fresh keys."""
    for kind, kernel in list(_kernel_table.laplace.items()):

        def wrapped(*arguments, kernel=kernel):
            *others, position, scratch = arguments
            kernel(*others, int(position) & ((1 << bits) - 1), scratch)

        monkeypatch.setitem(_kernel_table.laplace, kind, wrapped)
    lines, look = places()
    assert ("8 of laplace, float64, far out, a fresh key", "differ") in lines
    assert ("16 of laplace, float32, about word 2^32, a fresh key", "differ") in lines
    assert _places.PLACE_LOOK in look


@pytest.mark.parametrize(("kind", "most", "tails"), [(FLOAT32, 13, [1, 2, 3]), (FLOAT64, 21, [2])])
def test_mutant_tail_cut(monkeypatch, kind, most, tails):
    """A tail cut off where a million draws hold one such, or none, is seen at the places in the tail."""
    kernel = _kernel_table.laplace[kind]

    def cut(out, *others):
        kernel(out, *others)
        np.clip(out, -most, most, out=out)

    monkeypatch.setitem(_kernel_table.laplace, kind, cut)
    lines, look = places()
    assert [tested[-19:] for tested, _ in lines] == [f"about tail {k} of seed 0"[-19:] for k in tails]
    assert look == {_places.TAIL_LOOK}


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("spawned", lambda derive: lambda key, count: derive(key, 0)),
        ("child", lambda derive: lambda key, labels: derive(key, [])),
    ],
)
def test_mutant_keys(monkeypatch, name, broken):
    """Generators spawned, or made by label, that share a key are seen by their words."""
    monkeypatch.setattr(Key, name, broken(getattr(Key, name)))
    lines, look = places()
    assert lines == [("words of spawned generators, and of children", "differ")]
    assert look == {_places.KEY_LOOK}


def test_mutant_seek(monkeypatch):
    """A place that is one word off after seek is seen."""
    seek = WordSource.seek
    monkeypatch.setattr(WordSource, "seek", lambda self, position: seek(self, position + 1))
    lines, look = places()
    assert lines == [("8 draws after seek, at once and one by one", "differ")]
    assert look == {_places.SEEK_LOOK}


def test_mutant_further_words(monkeypatch):
    """Further words that are a neighbour's are seen where one word does not decide: at the largest scale."""

    def neighbours(source, position):
        for depth in range(9):
            yield _exact_noise.word_of_stream(source, position + 1 + depth, 0)

    monkeypatch.setattr(_exact_noise, "further_words", neighbours)
    lines, look = failed(_exact_oracle.exact_oracle(default_rng(3), 500, 5))
    assert lines == [("500 random words, scale 2^57", "draws that differ")]
    assert look == {_exact_oracle.LOOK}


def test_nearest_floats():
    """Sums are rounded once: to float32 too, ties to even, which twice rounded would go astray."""
    tie = 1 + Fraction(1, 1 << 24)
    assert _releases._nearest(tie, FLOAT32, None) == 1.0
    assert _releases._nearest(tie + Fraction(1, 1 << 80), FLOAT32, None) == 1 + 2.0**-23
    assert _releases._nearest(tie - Fraction(1, 1 << 80), FLOAT32, None) == 1.0
    assert _releases._nearest(1 + Fraction(3, 1 << 24), FLOAT32, None) == 1 + 2.0**-22
    assert _releases._nearest(Fraction(5), FLOAT64, (Fraction(-1), Fraction(1))) == 1.0
    assert math.copysign(1, _releases._nearest(Fraction(0), FLOAT64, None)) == 1


def test_constants():
    """Scales that distributions are held to are those of the mechanisms, but for the lattice."""
    gaussian = GaussianMechanism(epsilon=1, delta="1e-6", sensitivity=1, changed=1)
    assert gaussian.scale == pytest.approx(_distributions.GAUSSIAN_SIGMA, rel=1e-6)
    for width, scale in _distributions.BOUNDED_SCALES:
        bounded = BoundedLaplaceMechanism(epsilon=1, sensitivity=1, low=0, high=width, changed=1)
        assert bounded.scale == pytest.approx(scale, rel=1e-7)
