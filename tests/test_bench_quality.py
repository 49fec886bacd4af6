"""What the benches claim of samplers, against the samplers' arithmetic at its ends."""

import ctypes
import json
import math
import threading

import from_words
import numpy as np
import pytest
from bench import quality
from bench.contender import Contender
from bench.contenders import CONTENDERS
from bench.numba_loops import fill
from bench.quality import CLAIMS, LN2, Claim, Seen

CALLS = {
    "uint64": ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p),
    "uint32": ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p),
    "double": ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p),
}


class BitFunctions(ctypes.Structure):
    """NumPy's ``bitgen_t``."""

    _fields_ = (
        ("state", ctypes.c_void_p),
        ("next_uint64", CALLS["uint64"]),
        ("next_uint32", CALLS["uint32"]),
        ("next_double", CALLS["double"]),
        ("next_raw", CALLS["uint64"]),
    )


class Chosen:
    """A bit generator that gives chosen uniforms, one after the other."""

    def __init__(self, uniforms):
        given = iter(uniforms)
        none = CALLS["uint64"](lambda _: 0)
        double = CALLS["double"](lambda _: next(given))
        self.functions = BitFunctions(None, none, CALLS["uint32"](lambda _: 0), double, none)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.capsule = make(ctypes.addressof(self.functions), b"BitGenerator", None)
        self.lock = threading.Lock()


def test_numpy():
    """NumPy's sampler, given the uniforms at the ends and about 1/2, draws what is claimed and nothing beyond."""
    claim, u = CLAIMS["numpy Generator(PCG64)"], 2.0**-53
    chosen = [u, 1 - u, 0.5 - u, 0.5 + u, 0.5, 0.0, 0.75]
    draws = np.random.Generator(Chosen(chosen)).laplace(0.0, 1.0, 6)
    assert draws[0] == pytest.approx(-52 * LN2, rel=1e-15)
    assert draws[1] == pytest.approx(claim.largest, rel=1e-15)  # 2 - u is rounded to 1 there
    assert draws[2] == pytest.approx(-2 * claim.smallest)
    assert draws[3] == claim.smallest
    assert draws[4] == 0.0
    assert draws[5] == pytest.approx(LN2)  # the 0 was left out, and the next one taken
    assert claim.largest == pytest.approx(36.7368, abs=1e-4)
    assert not claim.beyond
    assert CLAIMS["numpy legacy"] == claim
    old, new = (kind(np.random.MT19937(5)) for kind in (np.random.RandomState, np.random.Generator))
    np.testing.assert_array_equal(old.laplace(0.0, 1.0, 1_000), new.laplace(0.0, 1.0, 1_000))


def test_formula():
    """The formula is infinite where NumPy's uniform is 0, and as claimed at the next one and about 1/2."""
    claim, u = CLAIMS["numpy formula"], np.array([2.0**-53, 1 - 2.0**-53, 0.5 + 2.0**-53]) - 0.5
    ends = -np.sign(u) * np.log1p(-2.0 * np.abs(u))
    assert ends[0] == -ends[1] == pytest.approx(-claim.largest, rel=1e-15)
    assert ends[2] == claim.smallest
    with np.errstate(divide="ignore"):
        assert np.log1p(-2.0 * np.abs(0.0 - 0.5)) == -math.inf
    assert claim.beyond.startswith("infinite")


def test_numba():
    """Numba's own sampler is infinite where its twister gives two zeros; with a NumPy generator it draws as NumPy."""
    from numba import _helperlib

    fill(1, 0.0, 1.0)
    state = _helperlib.rnd_get_np_state_ptr()
    before = _helperlib.rnd_get_state(state)
    _helperlib.rnd_set_state(state, (0, [0] * 624))
    drawn = fill(1, 0.0, 1.0)[0]
    _helperlib.rnd_set_state(state, before)
    assert drawn == -math.inf
    assert CLAIMS["numba np.random"].beyond.startswith("infinite")
    theirs, numpys = CONTENDERS["numba Generator(PCG64)"], CONTENDERS["numpy Generator(PCG64)"]
    np.testing.assert_array_equal(theirs.make(100, 0.0, 1.0)(), numpys.make(100, 0.0, 1.0)())


def torch_uniforms(kind, bits, k):
    """Return the uniforms that PyTorch makes from integers of so many bits."""
    eps = np.finfo(kind).eps
    low = eps - kind(1)
    return (k.astype(kind) * kind(2.0**-bits)) * (kind(1) - low) + low


def jax_uniforms(kind, bits, k):
    """Return the uniforms that JAX makes from integers of so many bits, k below 2^bits."""
    low = kind(-1) + np.finfo(kind).epsneg
    floats = kind(1) + k.astype(kind) * kind(2.0**-bits) - kind(1)
    return np.maximum(low, floats * (kind(1) - low) + low)


def ends_and_centre(bits):
    """Return the integers that give the ends and the middle."""
    middle = 2 ** (bits - 1)
    return np.array([*range(4), *range(middle - 4, middle + 5), *range(2**bits - 4, 2**bits)], np.uint64)


@pytest.mark.parametrize(
    ("name", "uniforms", "kind", "bits", "above"),
    [
        ("torch", torch_uniforms, np.float64, 53, 52 * LN2),
        ("torch, float32", torch_uniforms, np.float32, 24, 23 * LN2),
        ("jax", jax_uniforms, np.float64, 52, 35.638),
        ("jax, float32", jax_uniforms, np.float32, 23, 15.537),
    ],
)
def test_torch_and_jax(name, uniforms, kind, bits, above):
    """The uniforms of both, at all integers in float32 and at ends and middle in float64, reach what is claimed."""
    k = np.arange(2**bits, dtype=np.uint32) if kind == np.float32 else ends_and_centre(bits)
    u = uniforms(kind, bits, k)
    claim = CLAIMS[name]
    ends = -np.log1p(-np.abs(np.array([u.min(), u.max()], np.float64)))
    assert ends.max() == pytest.approx(claim.largest, rel=1e-6)
    assert ends[1] == pytest.approx(above, abs=1e-3)
    magnitudes = np.abs(u)
    assert magnitudes[magnitudes > 0].min() == claim.smallest


def test_ours():
    """Our kernels' arithmetic at the largest and smallest words gives the ends that are claimed."""
    claim, claim32 = CLAIMS["lapnoise r12"], CLAIMS["lapnoise r12, float32"]
    draws = from_words.laplace_draws([0, 1, 2**64 - 2, 2**64 - 1])
    assert draws[0] == -draws[1] == pytest.approx(claim.largest, rel=1e-15)
    assert draws[2] == -draws[3] == claim.smallest
    draws = from_words.laplace_draws32([0, 1, 2**32 - 2, 2**32 - 1])
    assert draws[0] == -draws[1] == pytest.approx(claim32.largest, rel=1e-6)
    assert draws[2] == -draws[3] == claim32.smallest


def test_our_mechanism():
    """The resolution that is claimed of the mechanism is its lattice."""
    import lapnoise

    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)
    assert CLAIMS["lapnoise LaplaceMechanism"].smallest == float(mechanism.granularity) / mechanism.scale


def test_everybody_else():
    """The remaining ends follow from the numbers that the table names."""
    assert CLAIMS["mkl_random MCG59"].largest == pytest.approx(-math.log(2.0**-59))
    assert CLAIMS["mkl_random ARS5"].largest == pytest.approx(-math.log(2.0**-32))
    assert -math.log(1 - 2.0**-32) == pytest.approx(CLAIMS["mkl_random ARS5"].smallest)
    assert CLAIMS["PyDP (Google)"].largest == 2.0**63 * CLAIMS["PyDP (Google)"].smallest
    assert CLAIMS["diffprivlib"].largest == pytest.approx(-2 * math.log1p(-(1 - 2.0**-53)))
    smallest = math.log(1 - 2.0**-53) * math.cos(math.pi * 0.5)
    assert -smallest == pytest.approx(CLAIMS["diffprivlib"].smallest, rel=0.1)
    assert set(CLAIMS) <= set(CONTENDERS)
    assert {name for name, claim in CLAIMS.items() if claim.exact} == {
        *("OpenDP", "OpenDP, float32", "lapnoise LaplaceMechanism", "lapnoise LaplaceMechanism, float32")
    }


def test_seen_in():
    """Ends, zeros and neighbours of the centre are counted over all parts."""
    parts = [np.array([0.0, -3.0, 2.0**-20, 2.0**-11]), np.array([5.0, -(2.0**-30), 2.0**-20, 2.0**-10, 0.0])]
    assert quality.seen_in(parts) == Seen(9, 5.0, 2.0**-30, 6, 4)
    assert quality.seen_in([np.zeros(3, np.float32)]) == Seen(3, 0.0, math.inf, 3, 1)


def test_contradictions(monkeypatch):
    """A draw beyond the largest or below the smallest that is claimed is found; one at either is not."""
    monkeypatch.setitem(CLAIMS, "torch", Claim(8.0, 2.0**-24, False, False, ""))
    at, above, below = (Seen(9, a, b, 0, 0) for a, b in ((8.0, 2.0**-24), (8.1, 1.0), (1.0, 2.0**-25)))
    assert quality.contradictions({"torch": at, "mine": above}) == []
    assert quality.contradictions({"torch": above}) == ["torch"]
    assert quality.contradictions({"torch": below}) == ["torch"]


@pytest.mark.parametrize(
    ("name", "largest"),
    [("mkl_random ARS5", -math.log(2.0**-1074)), ("numpy formula", math.inf), ("numba np.random", math.inf)],
)
def test_what_happens_beside(name, largest):
    """The value that happens rarely, as the claim says, is no contradiction; anything else beyond the largest is."""
    claim, beside = CLAIMS[name], Seen(9, largest, 1.0, 0, 0)
    assert claim.largest_beyond == largest
    assert quality.contradictions({name: beside}) == []
    for wrong in (claim.largest * 1.01, 743.0, 745.0):
        assert quality.contradictions({name: Seen(9, wrong, 1.0, 0, 0)}) == [name]
    assert quality.contradictions({name: Seen(9, largest, claim.smallest / 2, 0, 0)}) == [name]
    assert quality.contradictions({"numpy legacy": beside}) == ["numpy legacy"]
    assert {name for name, claim in CLAIMS.items() if claim.beyond} == {
        name for name, claim in CLAIMS.items() if claim.largest_beyond
    }


def test_look_at_a_coarse_sampler(monkeypatch):
    """A sampler on a grid of 2^-14 b shows fewer values near 0 than draws, and contradicts a claim that is coarser."""
    rng = np.random.default_rng(1)

    def make(n, loc, scale):
        return lambda: np.round(rng.laplace(loc, scale, n) * 2.0**14) / 2.0**14

    monkeypatch.setitem(CONTENDERS, "coarse", Contender(make))
    seen = quality.look("coarse", 2_000_000, 60.0)
    assert seen.draws == 2_000_000
    assert seen.smallest == 2.0**-14
    assert 29 <= seen.distinct <= 31 < seen.near
    monkeypatch.setitem(CLAIMS, "coarse", Claim(36.0, 2.0**-13, False, False, ""))
    assert quality.contradictions({"coarse": seen}) == ["coarse"]


def test_table_and_file():
    """The table has what is claimed beside what was seen, and the file has no infinity."""
    rare = Seen(100, math.inf, 2.0**-9, 3, 2)
    found = {"OpenDP": Seen(100, 4.0, 2.0**-9, 3, 2), "mine": Seen(100, 4.5, math.inf, 1, 1), "numba np.random": rare}
    lines = quality.quality_table(found).splitlines()
    claimed = "| OpenDP | no end | 2^-1074 | yes | yes | multiples of 2^-1074, in rational numbers; rounded once"
    assert lines[2] == claimed + " | 100 | 4.00 | 2^-9.0 | 2 of 3 |"
    assert lines[3] == "| mine |  |  |  |  |  | 100 | 4.50 | 0 | 1 of 1 |"
    assert len({line.count("|") for line in lines}) == 1
    opendp, mine, numba = quality.as_json(found)
    json.dumps([opendp, mine, numba], allow_nan=False)
    assert numba["claim"]["largest_beyond"] is numba["seen"]["largest"] is None
    assert opendp["claim"]["largest"] is None
    assert opendp["seen"]["near"] == 3
    assert mine["claim"] is None
