"""PlanarLaplaceMechanism: exact noise on the square lattice, its guarantee, and points on the globe."""

import itertools
import math
import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from bitwise import same
from chosen_words import filling, word, words_of
from exact_oracles import draw, half_up, key_of, lattice_sum
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from mutants import mutant
from scipy import special
from stats import accept, anderson_darling, chi_square, kolmogorov_smirnov, reject

from lapnoise import PlanarLaplaceMechanism, SeededNoiseWarning, _planar_noise, default_rng, planar_lattice
from lapnoise._exact_noise import law
from lapnoise._planar_noise import COMPLEX128, exact_draw, excess, planar_kernel
from lapnoise.bits.chacha import stream_word
from lapnoise.kernels import planar_laplace
from lapnoise.kernels.attempts import energy_error
from lapnoise.kernels.discrete_laplace import FAST_LIMIT
from lapnoise.mechanisms._sphere import EARTH_RADIUS, ROUNDING, project, stretch, unproject
from lapnoise.planar_lattice import SQRT2, PlanarLattice

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

SEED = 29
STEADY = settings(max_examples=100, deadline=None, derandomize=True)
SOURCE = default_rng(SEED)._stream.source
LATTICES = [
    planar_lattice.choose(Fraction(7, 10), None, 0),
    planar_lattice.choose(Fraction(5), None, 0),
    planar_lattice.choose(Fraction(1, 300), Fraction(200)),
    planar_lattice.choose(Fraction(1, 10**9), Fraction(1, 100)),
]
"""alpha 0.7 and 5, one as it is usually chosen, and the finest, t about 2^41."""


@cache
def drawn(on: PlanarLattice, n: int, seed: int = SEED, start: int = 0) -> np.ndarray:
    """Return n draws of the kernel in steps, as complex numbers."""
    out = np.empty(n, np.complex128)
    planar_kernel(on._replace(exponent=0), COMPLEX128)(out, np.zeros(n, complex), source(seed), start, None)
    return out


def source(seed: int) -> np.ndarray:
    """Return the source of a seed's stream."""
    return default_rng(seed)._stream.source


def probability(alpha: float, z: complex, total: mpf) -> float:
    """Return exp(-alpha ||z||) / total."""
    return float(mp.exp(-mpf(alpha) * mp.sqrt(mpf(int(z.real) ** 2 + int(z.imag) ** 2))) / total)


@cache
def mass(alpha: float) -> mpf:
    """Return the sum of exp(-alpha ||z||) over the lattice, term by term to 1e-20 of it."""
    last = math.ceil(60 / alpha)
    with mp.workprec(80):
        ring = [mp.exp(-mpf(alpha) * x) for x in range(1, last)]
        quarter = mp.fsum(
            mp.exp(-mpf(alpha) * mp.sqrt(x * x + y * y)) for x in range(1, last) for y in range(1, last - x // 2)
        )
        return 1 + 4 * mp.fsum(ring) + 4 * quarter


# The draw.


def oracle(on: PlanarLattice, seed: int, position: int) -> tuple[int, int]:
    """Return the draw at a position from its definition: the plain cipher's words, mpmath at 400 bits."""
    key = key_of(source(seed))
    attempt = -1
    while True:
        attempt += 1

        def words(role, attempt=attempt):
            stream = (1 << 62) + 4 * attempt + role
            further = (stream_word(key, position, stream + (1 << 63) + (depth << 40), 12) for depth in range(9))
            return stream_word(key, position, stream, 12), list(further)

        (word_x, more_x), (word_y, more_y), (word, _) = words(0), words(2), words(1)
        x = draw(Fraction(on.t), word_x, more_x.__getitem__)
        y = draw(Fraction(on.t), word_y, more_y.__getitem__)
        with mp.workprec(400):
            threshold = mp.exp((abs(x) + abs(y)) / mpf(on.t) - mpf(on.alpha) * mp.sqrt(mpf(x * x + y * y)))
            cell = mp.floor(mp.ldexp(threshold, 63))
        assert int(cell) != word >> 1 or (x, y) == (0, 0), "more bits would be needed"
        if word >> 1 < cell:
            return x, y


@pytest.mark.parametrize("on", LATTICES, ids=lambda on: f"alpha={on.alpha:.3g}")
def test_kernel_reference_and_oracle(on):
    """The kernel, the loop in integers and an oracle from the definitions give the same draws, place by place."""
    got = drawn(on, 5000)

    for i in [*range(150), 511, 512, 1023, 4999]:
        assert exact_draw(on, SOURCE, i) == (got[i].real, got[i].imag)
    for i in range(25):
        assert oracle(on, SEED, i) == (got[i].real, got[i].imag)
    assert not np.signbit(got.view(np.float64)[got.view(np.float64) == 0]).any()


def test_doubtful_attempts_are_resolved(monkeypatch):
    """Where the coin's margin is so wide that most attempts are in doubt, the same draws come out."""
    import numba

    on = LATTICES[0]
    wide = mutant(
        "lapnoise.kernels.planar_laplace",
        ("import device, kernel\n", "import device, device as kernel\n"),
        ("SLACK = energy_error + 160.0 * 2.0**-53", "SLACK = 0.3"),
        ("FARTHEST = 22.0", "FARTHEST = 3.0"),
    )
    fill = wide.fill_planar_laplace
    open_draws = []

    @numba.njit(error_model="numpy")
    def run(out, law, alpha, source, position, room, pending):
        return fill(out, law, alpha, source, position, room, pending)

    def counted(out, law, alpha, source, position, room, pending):
        done = run(out, law, alpha, source, position, room, pending)
        open_draws.append(int(pending[0]))
        return done

    wanted = drawn(on, 1500)
    monkeypatch.setattr("lapnoise._planar_noise.fill_planar_laplace", counted)
    assert same(drawn.__wrapped__(on, 1500), wanted)
    assert sum(open_draws) > 500


@cache
def tables(on: PlanarLattice) -> list[np.ndarray]:
    """Return words of proposals, and between them coins' words whose cells hold the threshold or lie beside it."""
    chance = default_rng(37)
    first, third = (chance.words(600).tolist() for _ in range(2))
    second = []
    for i in range(len(first)):
        x, y = (draw(Fraction(on.t), words[i], further(i, 0)) for words in (first, third))
        beside = (0, 0, 0, 9, -300, *(s * 10**k for s in (-1, 1) for k in (4, 7, 9, 12)))[i % 13]
        second.append(2 * min(max(int(mp.floor(threshold(on, x, y))) + beside, 0), 2**63 - 1))
    return [np.array(words, np.uint64) for words in (first, second, third)]


def further(place: int, attempt: int):
    """Return depth -> the further word of an attempt at a place, those of `words_of`."""
    words = list(itertools.islice(words_of(np.zeros(1, np.uint64), place, attempt), 1, 12))
    return words.__getitem__


def threshold(on: PlanarLattice, x: int, y: int) -> mpf:
    """Return 2^63 times the chance that these proposals are kept."""
    with mp.workprec(400):
        root = mp.sqrt(mpf(x * x + y * y))
        return mp.ldexp(mp.exp((abs(x) + abs(y)) / mpf(on.t) - mpf(on.alpha) * root), 63)


def reference(on: PlanarLattice, place: int) -> complex:
    """Return the draw that the words of the tables make, every coin decided by as many bits as it takes."""
    first, second, third = tables(on)
    for attempt in itertools.count():
        more = further(place, attempt)
        x, y = (draw(Fraction(on.t), word(words, place, attempt), more) for words in (first, third))
        with mp.workprec(400):
            uniform = (
                mpf(word(second, place, attempt) >> 1) + mp.ldexp(mpf(more(0)), -64) + mp.ldexp(mpf(more(1)), -128)
            )
            if uniform < threshold(on, x, y):
                return complex(x, y)
    raise AssertionError


def compare(on: PlanarLattice, *changes: tuple[str, str]) -> tuple[int, list[int]]:
    """Return how many draws of the kernel from these words are wrong, and which are left open."""
    fill = filling(
        "lapnoise.kernels.planar_laplace",
        "fill_planar_laplace",
        ("law: Any, alpha: float, source: Any", "law: Any, source: Any"),
        ("    inverse_t = 1.0 / law[0]\n", "    inverse_t, alpha = 1.0 / law[0], law[5]\n"),
        *changes,
    )
    out, pending = np.zeros(512, complex), np.zeros(1153, np.int64)
    assert fill(out, np.append(law(on.t), on.alpha), pending, tables(on)) == 512
    left = pending[1 : 1 + pending[0]].tolist()
    return sum(out[i] != reference(on, i) for i in range(512) if i not in left), left


@pytest.mark.parametrize("on", LATTICES[::2], ids=lambda on: f"alpha={on.alpha:.3g}")
def test_words_beside_the_edge(on, monkeypatch):
    """Where coins' words lie at the threshold what the kernel decides is right, and the integers decide the rest."""
    wrong, left = compare(on)
    assert wrong == 0
    assert 100 < len(left) < 400

    def attempt_words(_source, place, attempt, role):
        return words_of(tables(on)[role], place, attempt)

    monkeypatch.setattr(_planar_noise, "attempt_words", attempt_words)
    assert [exact_draw(on, SOURCE, i) for i in left] == [(z.real, z.imag) for z in (reference(on, i) for i in left)]


@pytest.mark.parametrize("change", [("elif heads == 0:", "elif heads <= 0:"), ("excess, SLACK)", "excess, 0.0)")])
def test_mutants_on_words_beside_the_edge(change):
    """A kernel that draws attempts in doubt again, and one that leaves no coin in doubt, are caught."""
    assert compare(LATTICES[0], change)[0] > 50


@pytest.mark.parametrize("on", LATTICES[::2], ids=lambda on: f"alpha={on.alpha:.3g}")
def test_any_split_gives_the_same_draws(on):
    """A draw depends on its place alone: pieces of any length, and one place by seek, agree."""
    whole = drawn(on, 5000)

    for start, size in ((0, 1), (1, 700), (127, 2), (511, 1026), (4000, 1000)):
        assert same(drawn(on, size, start=start), whole[start : start + size])
    rng = default_rng(SEED)
    m = PlanarLaplaceMechanism(epsilon="0.7", granularity=1)
    assert same(m.add_noise(np.zeros((300, 2)), rng=rng), drawn(m.lattice, 300).view(np.float64).reshape(300, 2))
    assert rng.position == 300
    rng.seek(170)
    assert same(m.add_noise(np.zeros(2), rng=rng), drawn(m.lattice, 171)[170:].view(np.float64))


def test_threads():
    """Threads and blocks change nothing."""
    m = PlanarLaplaceMechanism(epsilon=1, radius=5)
    points = np.random.default_rng(1).normal(size=(150_000, 2))
    one, two = (m.add_noise(points, rng=default_rng(SEED, threads=k)) for k in (1, 2))
    assert same(one, two)


@pytest.mark.parametrize("alpha", ["0.7", "2.3"])
def test_law(alpha):
    """Cells of the lattice have the probabilities of the law, the four quadrants alike; a part in a hundred is seen."""
    on = planar_lattice.choose(Fraction(alpha), None, 0)
    n = 1_000_000
    cells, p = law_cells(on.alpha, n)
    accept(chi_square(f"planar law, alpha {alpha}", counts(drawn(on, n), cells), p))


def law_cells(alpha: float, n: int) -> tuple[list[complex], list[float]]:
    """Return the cells that are expected 100 times at least, and their probabilities with that of all others."""
    total = mass(alpha)
    cells = [complex(x, y) for x in range(-25, 26) for y in range(-25, 26)]
    wanted = {z: probability(alpha, z, total) for z in cells}
    kept = [z for z in cells if wanted[z] * n >= 100]
    p = [wanted[z] for z in kept]
    return kept, [*p, 1 - math.fsum(p)]


def counts(sample: np.ndarray, cells: list[complex]) -> list[int]:
    """Return how often each cell occurs, and how often none of them."""
    found = dict(zip(*(part.tolist() for part in np.unique(sample, return_counts=True)), strict=True))
    got = [found.get(z, 0) for z in cells]
    return [*got, sample.size - sum(got)]


@pytest.mark.parametrize(
    ("scale", "keep"),
    [(1 / 0.7, lambda excess: np.exp(-np.maximum(excess, 0))), (1.01 * math.sqrt(2) / 0.7, np.ones_like)],
    ids=["t too small for its bound", "acceptance omitted"],
)
def test_law_mutants(scale, keep):
    """Proposals that do not lie above the law, and proposals that are all kept, are caught."""
    chance = np.random.default_rng(3)
    n, p = 1_500_000, -math.expm1(-1 / scale)
    x, y = (chance.geometric(p, n) - chance.geometric(p, n) for _ in range(2))
    excess = 0.7 * np.hypot(x, y) - (abs(x) + abs(y)) / scale
    sample = (x + 1j * y)[chance.random(n) < keep(excess)]
    cells, probabilities = law_cells(0.7, sample.size)
    reject(chi_square("mutant", counts(sample, cells), probabilities))


def test_radius_and_angle():
    """At a fine granularity the radius is Gamma(2), and the angle uniform and independent of it.

    A scale that is 1 % off, and a plane stretched by 15 % in one direction, are rejected.
    """
    on = LATTICES[2]
    n = 300_000
    noise = drawn(on, n)
    radius = np.abs(noise) * on.alpha
    angle = (np.angle(noise) / (2 * math.pi)) % 1

    def log_cdf(r):
        return np.log(special.gammainc(2, r))

    def log_sf(r):
        return np.log1p(r) - r

    accept(anderson_darling(radius, log_cdf, log_sf))
    reject(anderson_darling(radius * 1.01, log_cdf, log_sf))
    accept(kolmogorov_smirnov(angle, lambda u: u))
    accept(kolmogorov_smirnov((angle + special.gammainc(2, radius)) % 1, lambda u: u))
    reject(kolmogorov_smirnov((np.angle(noise.real + 1.15j * noise.imag) / (2 * math.pi)) % 1, lambda u: u))


# The certificate.


def test_the_margin_covers_the_derivation():
    """The coin's margin is at least the sum of the roundings of its sides at the farthest proposals."""
    farthest = planar_laplace.FARTHEST * (1 + 2**-50)
    root = math.sqrt(2) * farthest  # alpha ||z|| <= alpha (abs(x) + abs(y)), alpha t <= sqrt(2) (1 + 2^-52)
    roundings = 3 * root + farthest + (root - farthest)
    assert roundings < 125
    assert planar_laplace.SLACK - energy_error >= roundings * 2.0**-53
    assert planar_lattice.MOST_T == FAST_LIMIT


@pytest.mark.parametrize("on", LATTICES, ids=lambda on: f"alpha={on.alpha:.3g}")
def test_error_of_the_excess(on):
    """What the kernel computes as alpha ||z|| - (abs(x) + abs(y)) / t stays within its share of the margin."""
    chance = np.random.default_rng(5)
    inverse = 1.0 / on.t
    for _ in range(2000):
        x, y = (round(on.t * chance.exponential(5.0) * chance.choice([1.0, 1e-3])) for _ in range(2))
        if (x + y) * inverse > planar_laplace.FARTHEST:
            continue
        square = float(Fraction(y * y) + Fraction(x * x)) if x * x + y * y < 2**53 else float(x) * x + float(y) * y
        got = on.alpha * math.sqrt(square) - (x + y) * inverse
        low, high = excess(on, x, y)(120)
        assert high - low <= 3
        assert abs(Fraction(got) - Fraction(low, 1 << 120)) < (planar_laplace.SLACK - energy_error) + 2.0**-100


def test_excess_at_zero_and_on_the_diagonal():
    """The enclosure never drops below 0: at z = 0 the coin always shows heads, on the diagonal nearly always."""
    on = LATTICES[0]
    assert excess(on, 0, 0)(80) == (0, 1)
    low, high = excess(on, 5, -5)(80)
    assert 0 <= low <= high < 2**34


# The lattice and the guarantee.


@pytest.mark.parametrize("radius", [None, "200", "0.001", Fraction(1, 3)])
@pytest.mark.parametrize("epsilon", ["0.01", "1/7", "3", "1e-20", "1e20"])
def test_lattice(epsilon, radius):
    """Alpha is the largest float with the guarantee, t the least one above sqrt(2) / alpha; neither can be bettered."""
    asked = Fraction(epsilon)
    within = None if radius is None else Fraction(radius)
    if within is not None and asked * within < 2.0**-40:
        return
    on = planar_lattice.choose(asked, within)
    alpha, t, r = Fraction(on.alpha), Fraction(on.t), on.granularity
    above = Fraction(math.nextafter(on.alpha, math.inf))

    assert (t * alpha) ** 2 >= 2 > (Fraction(math.nextafter(on.t, 0)) * alpha) ** 2
    if within is None:
        assert alpha <= asked * r < above
        assert 2.0**-25 < asked * r <= 2.0**-24
    else:
        assert alpha * (within / r + SQRT2) <= asked * within < above * (within / r + SQRT2)
        assert on.epsilon >= asked * (1 - Fraction(1, 1 << 20)) or asked * r < 2.0**-39
    assert SQRT2**2 > 2 > (SQRT2 - Fraction(1, 1 << 128)) ** 2


def test_the_loss_at_the_radius_is_what_is_charged():
    """With a radius the loss at that distance is at most epsilon radius, exactly, whatever the granularity."""
    for radius in (200, "0.1", Fraction(22, 7)):
        for granularity in (None, 1, 64.0, Fraction(1, 1024)):
            m = PlanarLaplaceMechanism(epsilon="0.3", radius=radius, granularity=granularity)
            loss, delta = m.privacy_loss(Fraction(radius))
            assert m.epsilon_asked == Fraction(3, 10) * Fraction(radius)
            assert m.epsilon_asked * (1 - Fraction(1, 2**50)) < loss <= m.epsilon_asked
            assert delta == 0
    assert m.privacy_loss(0) == (0, 0)
    free = PlanarLaplaceMechanism(epsilon="0.3")
    assert free.privacy_loss(50)[0] <= Fraction(3, 10) * (50 + SQRT2 * Fraction(free.granularity))


@pytest.mark.parametrize("granularity", [1, 4])
def test_metric_inequality(granularity):
    """Over all pairs of a small grid and all results, the exact probabilities differ by no more than the loss allows.

    Without the sqrt(2) for the rounding some pair would break it.
    """
    m = PlanarLaplaceMechanism(epsilon="0.6", granularity=granularity)
    alpha, r = m.lattice.alpha, m.granularity
    places = [(Fraction(a, 4) * Fraction(r), Fraction(b, 4) * Fraction(r)) for a in range(-3, 4) for b in range(-3, 4)]
    exponent = m.lattice.exponent
    rounded = np.array([[half_up(x, exponent) for x in place] for place in places])
    results = np.array(list(itertools.product(range(-8, 9), repeat=2)))
    log_p = -alpha * np.linalg.norm(results[None] - rounded[:, None], axis=2)  # the constant is the same for all
    worst = (log_p[:, None] - log_p[None]).max(axis=2)
    bare = 0
    for i, j in itertools.combinations(range(len(places)), 2):
        apart = math.hypot(*(float(a - b) for a, b in zip(places[i], places[j], strict=True)))
        loss = max(worst[i, j], worst[j, i])
        assert loss <= float(m.privacy_loss(Fraction(apart))[0]) + 1e-12
        bare += loss > float(m.epsilon) * apart + 1e-12

    assert bare > 0


# Points.


@pytest.mark.parametrize("exponent", [-30, 0, 5])
def test_sums(exponent):
    """Coordinates are rounded half up to the lattice, exact noise is added, and the sum is rounded once."""
    m = PlanarLaplaceMechanism(
        epsilon=Fraction(1, 2**20) / Fraction(2) ** exponent, granularity=Fraction(2) ** exponent
    )
    values = [0.0, -0.0, 0.5, 1e-9, -2.75, 16.0, -16.0, 1e6 + 0.1, 1e17, -1e300, 1.7e308, 48.0]
    noise = drawn(m.lattice, 6).view(np.float64)
    for kind in (np.float64, np.float32):
        given = np.array([v for v in values if abs(v) < 1e38 or kind == np.float64] * 2, kind)[:12]
        got = m.add_noise(given.reshape(6, 2), rng=default_rng(SEED))
        wanted = [lattice_sum(Fraction(float(v)), int(k), exponent, kind) for v, k in zip(given, noise, strict=True)]
        assert same(got, np.array(wanted, kind).reshape(6, 2))


def test_layouts():
    """Neither layout, nor width, nor place changes which noise a point gets; in place writes there and nowhere else."""
    m = PlanarLaplaceMechanism(epsilon="0.7", granularity=1)
    points = np.arange(400.0).reshape(200, 2)
    wanted = m.add_noise(points, rng=default_rng(SEED))

    assert same(wanted, points + drawn(m.lattice, 200).view(np.float64).reshape(200, 2))
    for other in (np.asfortranarray(points), points.astype(np.int16), points.astype(">f8"), points.tolist()):
        assert same(m.add_noise(other, rng=default_rng(SEED)), wanted)
        out = np.zeros((200, 4))[:, ::2]
        assert m.add_noise(other, out=out, rng=default_rng(SEED)) is out
        assert same(out, wanted)
        assert not out.base[:, 1::2].any()
    assert same(m.add_noise(points.reshape(20, 10, 2), rng=default_rng(SEED)), wanted.reshape(20, 10, 2))
    assert same(m.add_noise(points[0], rng=default_rng(SEED)), wanted[0])
    before = points.copy()
    assert not np.shares_memory(m.add_noise(points), points)
    assert same(points, before)
    memory = np.concatenate([points, points[:1]])
    assert m.add_noise(memory[:-1], out=memory[:-1], rng=default_rng(SEED)) is not None
    assert same(memory, np.concatenate([wanted, points[:1]]))
    memory = np.concatenate([points, points[:1]])
    assert same(m.add_noise(memory[:-1], out=memory[1:], rng=default_rng(SEED)), wanted)
    assert m.add_noise(np.empty((0, 2))).shape == (0, 2)


def test_missing_coordinates():
    """NaN in one coordinate makes both NaN and touches nothing else; every point takes its place in the stream."""
    m = PlanarLaplaceMechanism(epsilon="0.7", granularity=1)
    points = np.zeros((4, 2))
    points[1, 0] = points[2, 1] = math.nan
    rng = default_rng(SEED)
    got = m.add_noise(points, rng=rng)

    assert np.isnan(got).tolist() == [[False] * 2, [True] * 2, [True] * 2, [False] * 2]
    assert got[[0, 3]].tolist() == drawn(m.lattice, 4).view(np.float64).reshape(4, 2)[[0, 3]].tolist()
    assert rng.position == 4
    masked = m.add_noise(np.ma.MaskedArray([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 0], [1, 1]]))
    assert masked.mask.tolist() == [[False, False], [True, True]]


def test_wrong_points_are_refused():
    """Shapes, types and infinities are refused before a word is drawn; messages name the place and no value."""
    m = PlanarLaplaceMechanism(epsilon=1)
    rng = default_rng(SEED)
    for points in (1.0, [1.0], [[1.0, 2.0, 3.0]], np.zeros((2, 0))):
        with pytest.raises(ValueError, match=r"^points must have shape \(2,\), \(n, 2\) or \(\.\.\., 2\), got"):
            m.add_noise(points, rng=rng)
    for points in (["a", "b"], [1j, 2], [True, False], np.zeros((1, 2), np.float16)):
        with pytest.raises(TypeError, match="must be real numbers"):
            m.add_noise(points, rng=rng)
    with pytest.raises(ValueError, match=r"^values\[0, 1\] must be finite or NaN, got an infinity"):
        m.add_noise([[1.0, -math.inf]], rng=rng)
    with pytest.raises(ValueError, match=r"^points\[1\] must be within 2\*\*53 metres of 0, got more$"):
        m.add_noise([0, 2**53 + 1], rng=rng)
    with pytest.raises(ValueError, match="out must have shape"):
        m.add_noise([[1.0, 2.0]], out=np.zeros(2), rng=rng)
    with pytest.raises(TypeError, match="rng must be a lapnoise Generator"):
        m.add_noise([1.0, 2.0], rng=np.random.default_rng(1))
    assert rng.position == 0


def test_generators():
    """A seeded generator warns at the caller's line; without one noise never comes again."""
    m = PlanarLaplaceMechanism(epsilon=1, origin=(0, 0))
    with pytest.warns(SeededNoiseWarning) as caught:
        m.add_noise([0.0, 0.0], rng=default_rng(1))
    assert caught[0].filename == __file__
    with pytest.warns(SeededNoiseWarning) as caught:
        m.add_noise_degrees(0.0, 0.0, rng=default_rng(1))
    assert caught[0].filename == __file__
    assert len({m.add_noise(np.zeros((50, 2))).tobytes() for _ in range(4)}) == 4


# Parameters.


def test_parameters():
    """Amounts are read exactly; mechanisms compare, hash, pickle and print by their parameters, and never change."""
    m = PlanarLaplaceMechanism(epsilon=0.1, radius=200, origin=(51.5, -0.125))
    same_one = PlanarLaplaceMechanism(epsilon="1/10", radius=Fraction(200), origin=(51.5, -0.125))

    assert m == same_one
    assert hash(m) == hash(same_one)
    assert m != PlanarLaplaceMechanism(epsilon=0.1, radius=200)
    assert pickle.loads(pickle.dumps(m)) == m
    assert repr(m) == "PlanarLaplaceMechanism(epsilon=0.1, radius=200.0, origin=(51.5, -0.125), reach=1000000.0)"
    far = PlanarLaplaceMechanism(epsilon=0.1, radius=200, origin=(51.5, -0.125), reach="2e6")
    assert far != m
    assert pickle.loads(pickle.dumps(far)) == far
    assert far.reach == 2_000_000
    assert far.epsilon < m.epsilon
    assert m.epsilon_asked == 20
    assert Fraction(1, 10) * (1 - Fraction(1, 2**20)) < m.epsilon * stretch(m.reach) < Fraction(1, 10)
    with pytest.raises(AttributeError, match="immutable"):
        m.radius = 3
    fixed = PlanarLaplaceMechanism(epsilon=1, granularity=0.25)
    assert fixed.granularity == 0.25
    assert pickle.loads(pickle.dumps(fixed)).lattice == fixed.lattice


def test_wrong_parameters():
    """Each parameter outside its range is refused with its name, the rule and the value."""
    for bad in (0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"^epsilon must be finite and > 0, got"):
            PlanarLaplaceMechanism(epsilon=bad)
        with pytest.raises(ValueError, match=r"^radius must be finite and > 0, got"):
            PlanarLaplaceMechanism(epsilon=1, radius=bad)
    for bad in (True, 1j, "far"):
        with pytest.raises(TypeError, match=r"^radius must be a number"):
            PlanarLaplaceMechanism(epsilon=1, radius=bad)
    with pytest.raises(ValueError, match=r"^granularity must be a power of two"):
        PlanarLaplaceMechanism(epsilon=1, granularity=3)
    for bad in ((91, 0), (0, 361), (0, -181), (math.nan, 0), (0, math.inf)):
        with pytest.raises(ValueError, match=r"^origin must be \(latitude, longitude\) in degrees"):
            PlanarLaplaceMechanism(epsilon=1, origin=bad)
    for bad in (3, "ab", (1, 2, 3), ([1.0], 2)):
        with pytest.raises(TypeError, match=r"^origin must be"):
            PlanarLaplaceMechanism(epsilon=1, origin=bad)
    for bad in (0, -1, 5_000_001, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"^reach must be > 0 and at most 5000000 metres, got"):
            PlanarLaplaceMechanism(epsilon=1, origin=(0, 0), reach=bad)
    with pytest.raises(TypeError, match=r"^reach must be a number"):
        PlanarLaplaceMechanism(epsilon=1, origin=(0, 0), reach="far")
    with pytest.raises(ValueError, match=r"^origin must be given with reach, which is a distance from it, got None$"):
        PlanarLaplaceMechanism(epsilon=1, reach=100)
    for bad in ({"radius": 1e-13}, {"granularity": 2.0**-50}):
        with pytest.raises(ValueError, match=r"^granularity and radius must leave the noise at most 2\*\*43 steps"):
            PlanarLaplaceMechanism(epsilon=1, **bad)
    with pytest.raises(OverflowError, match="granularity must be a float"):
        PlanarLaplaceMechanism(epsilon="1e-400")
    with pytest.raises(TypeError):
        PlanarLaplaceMechanism(0.1)


def test_a_budget_needs_a_radius():
    """Without a radius there is no amount to charge."""
    with pytest.raises(ValueError, match=r"^radius must be given to charge a budget, which costs epsilon times radius"):
        PlanarLaplaceMechanism(epsilon=1).epsilon_asked  # noqa: B018


@pytest.mark.parametrize("level", ["1e-300", "1e-20", "1e-9", "0.1", "0.5", "0.95", "0.999999", "0.9999999999999"])
def test_interval(level):
    """The radius is that of Lambert's W, -(W(-(1 - level) / e) + 1) / epsilon on its branch -1, at 700 digits."""
    m = PlanarLaplaceMechanism(epsilon="0.02", radius=100)
    with mp.workdps(700):
        h = -(mp.lambertw((mpf(level) - 1) / mp.e, -1).real + 1)
        assert abs((1 + h) * mp.exp(-h) - 1 + mpf(level)) < mpf(10) ** -650
        wanted = h * m.epsilon.denominator / m.epsilon.numerator
    assert m.interval(level) == pytest.approx(float(wanted), rel=1e-13)


def test_statistics():
    """The moments are those of the law, and on a coarse lattice near those of the sums over it."""
    m = PlanarLaplaceMechanism(epsilon="0.25", granularity=1)
    assert m.scale == 4.0
    assert m.mean_distance == 8.0
    assert m.std == pytest.approx(math.sqrt(48))
    assert m.variance == pytest.approx(48)
    total = mass(0.25)
    reach = range(-250, 251)
    x, y = np.meshgrid(reach, reach)
    p = np.exp(-0.25 * np.hypot(x, y)) / float(total)
    # By Poisson's summation the lattice changes sums by a part of some alpha^3 / 27.
    assert float(total) == pytest.approx(2 * math.pi * 16, rel=1e-3)
    assert (p * x * x).sum() == pytest.approx(m.variance, rel=1e-3)
    assert (p * np.hypot(x, y)).sum() == pytest.approx(m.mean_distance, rel=1e-3)


def test_epsilon_for():
    """The epsilon found reaches the accuracy, and a last digit less does not."""
    make = PlanarLaplaceMechanism
    for goal in ({"std": 100}, {"half_width": 500, "confidence": "0.95"}):
        for more in ({}, {"radius": 50}, {"radius": 50, "origin": (0, 0), "reach": 3_000_000}):
            found = make.epsilon_for(**goal, **more)
            less = found * (1 - Fraction(1, 10**11))
            if "std" in goal:
                got = [make(epsilon=e, **more).std for e in (found, less)]
                assert got[0] <= 100 < got[1]
            else:
                got = [make(epsilon=e, **more).interval("0.95") for e in (found, less)]
                assert got[0] <= 500 < got[1]
    with pytest.raises(TypeError, match="std or half_width must be given"):
        make.epsilon_for()


# The globe.

LATITUDES, LONGITUDES = st.floats(-90, 90), st.floats(-180, 180)
REACH, HALF_TURN = 1e6, math.pi * EARTH_RADIUS
ORIGINS = [(0.0, 0.0), (90.0, 0.0), (-90.0, 30.0), (0.0, 180.0), (47.0, 8.0), (-33.9, -180.0), (60.0, 359.5)]


def unit(latitude, longitude) -> np.ndarray:
    """Return the unit vector of a place."""
    phi, lam = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi) * np.ones_like(lam)], axis=-1)


def great_circle(a, b):
    """Return the distance of two unit vectors on the sphere in metres, accurate at every angle."""
    return EARTH_RADIUS * 2 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))


@STEADY
@given(LATITUDES, LONGITUDES, LATITUDES, LONGITUDES)
def test_projection_round_trip(lat, lon, lat0, lon0):
    """Going there and back returns to the place within the reach; what is moved to within is moved once.

    The distance from the origin is kept, or what it is moved to.
    """
    for reach in (1e-3, REACH, 5e6):
        point = project(np.array(lat), np.array(lon), (lat0, lon0), reach)
        back = unproject(point, (lat0, lon0))
        distance = great_circle(unit(lat, lon), unit(lat0, lon0))

        assert np.hypot(*point) == pytest.approx(min(distance, reach, HALF_TURN - distance), rel=1e-12, abs=1e-6)
        if distance <= reach:
            assert great_circle(unit(*back), unit(lat, lon)) < 1e-6
        assert project(*back, (lat0, lon0), reach) == pytest.approx(point, abs=1e-6)
        assert -90 <= back[0] <= 90
        assert -180 <= back[1] < 180


@settings(max_examples=300, deadline=None, derandomize=True)
@given(LATITUDES, st.floats(-180, 360), LATITUDES, st.floats(-180, 360), st.sampled_from([1.0, REACH, 5e6]))
def test_error_of_the_projection(lat, lon, lat0, lon0, reach):
    """Floats come within 5e-8 m of the projection, in 50 digits and without a case for places beyond the reach."""
    with mp.workdps(50):
        phi, lam, phi0, lam0 = (mp.radians(mpf(angle)) for angle in (lat, lon, lat0, lon0))
        east = mp.cos(phi) * mp.sin(lam - lam0)
        north = mp.cos(phi0) * mp.sin(phi) - mp.sin(phi0) * mp.cos(phi) * mp.cos(lam - lam0)
        up = mp.sin(phi0) * mp.sin(phi) + mp.cos(phi0) * mp.cos(phi) * mp.cos(lam - lam0)
        radius, side = mpf(EARTH_RADIUS), mp.hypot(east, north)
        distance = radius * mp.atan2(side, up)
        share = min(distance, reach, mp.pi * radius - distance) / side if side else mpf(0)
        wanted = [float(share * east), float(share * north)]
    got = project(np.array(lat), np.array(lon), (lat0, lon0), reach)

    assert math.dist(got, wanted) < 5e-8 == float(ROUNDING) / 20


def test_projection_of_known_places():
    """A degree north is a degree of the sphere; east of the pole is where the longitude says; the origin is 0."""
    degree = math.radians(1) * EARTH_RADIUS
    assert project(np.array(46.0), np.array(7.0), (45.0, 7.0), REACH) == pytest.approx([0, degree], abs=1e-8)
    assert project(np.array(0.0), np.array(-179.0), (0.0, 179.0), REACH) == pytest.approx([2 * degree, 0], abs=1e-8)
    assert project(np.array(89.0), np.array(90.0), (90.0, 0.0), REACH) == pytest.approx([degree, 0], abs=1e-8)
    assert project(np.array(45.0), np.array(7.0), (45.0, 7.0), REACH).tolist() == [0.0, 0.0]
    for lon, wanted in ((60.0, REACH), (100.0, REACH), (-150.0, -REACH), (179.0, degree), (180.0, 0.0)):
        assert project(np.array(0.0), np.array(lon), (0.0, 0.0), REACH) == pytest.approx([wanted, 0], abs=1e-8)
    metre = project(np.array(51.5), np.array(-0.12 + 1e-9), (51.5, -0.12), REACH)
    assert metre[0] == pytest.approx(math.radians(1e-9) * EARTH_RADIUS * math.cos(math.radians(51.5)), rel=1e-4)


@STEADY
@given(st.data())
def test_distortion(data):
    """Two places anywhere keep their distance up to the factor (D / R) / sin(D / R), and none grows less within D."""
    reach = data.draw(st.floats(1.0, 5e6))
    origin = (data.draw(LATITUDES), data.draw(LONGITUDES))
    lat, lon = (np.array([data.draw(part), data.draw(part)]) for part in (LATITUDES, LONGITUDES))
    a, b = unit(lat, lon)
    on_sphere, in_plane = great_circle(a, b), math.dist(*project(lat, lon, origin, reach))

    assert in_plane <= on_sphere * float(stretch(Fraction(reach))) + 1e-6
    if all(great_circle(place, unit(*origin)) <= reach for place in (a, b)):
        assert on_sphere <= in_plane + 1e-6


@pytest.mark.parametrize("reach", [1, 10**6, 5 * 10**6])
def test_stretch(reach):
    """The factor is an upper bound, by less than a millionth."""
    with mp.workdps(50):
        angle = mpf(reach) / mpf(EARTH_RADIUS)
        exact = angle / mp.sin(angle)
        got = stretch(Fraction(reach))
        assert exact <= mpf(got.numerator) / got.denominator < exact * (1 + mpf(10) ** -6)


# The loss on the ground.


@cache
def neighbours(origin: tuple[float, float], apart: float, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of unit vectors this far apart, in every direction, at many distances from the origin."""
    half = HALF_TURN / 2
    away = [
        0,
        1,
        apart / 2,
        reach / 2,
        reach - apart,
        reach - apart / 2,
        reach,
        reach + 1,
        3 * reach / 2,
        half - 50,
        half,
    ]
    away = np.array([*away, *(HALF_TURN - d for d in away[:9])]) / EARTH_RADIUS
    away, azimuth, heading = np.meshgrid(away, np.linspace(0, 6.2, 12), np.linspace(0, math.pi, 9), indexing="ij")
    centre, east = unit(*origin), unit(0.0, origin[1] + 90.0)
    ray = np.sin(azimuth)[..., None] * east + np.cos(azimuth)[..., None] * np.cross(centre, east)
    here = np.cos(away)[..., None] * centre + np.sin(away)[..., None] * ray
    onward = np.cos(away)[..., None] * ray - np.sin(away)[..., None] * centre
    aside = np.cross(here, onward)
    along = np.cos(heading)[..., None] * onward + np.sin(heading)[..., None] * aside
    angle = apart / EARTH_RADIUS
    return here.reshape(-1, 3), (math.cos(angle) * here + math.sin(angle) * along).reshape(-1, 3)


def angles(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return latitudes and longitudes in degrees of unit vectors."""
    x, y, z = vectors.T
    return np.degrees(np.arctan2(z, np.hypot(x, y))), np.degrees(np.arctan2(y, x))


def losses(m: PlanarLaplaceMechanism, first, second, projection=project) -> np.ndarray:
    """Return the losses of pairs of places in degrees, exact but for roundings: results far out attain them."""
    points = [projection(*map(np.asarray, place), m.origin, float(m.reach)) for place in (first, second)]
    one, two = (np.floor(p / m.granularity + 0.5) for p in points)
    return m.lattice.alpha * np.hypot(*(one - two).T)


def unfolded():
    """Return a projection that moves places to the nearest point of the disc without folding the sphere."""
    return mutant("lapnoise.mechanisms._sphere", ("np.abs(up)", "up")).project


@pytest.mark.parametrize("reach", [1000, 10**6, 5 * 10**6])
@pytest.mark.parametrize("origin", ORIGINS)
def test_no_pair_of_places_loses_more_than_is_charged(origin, reach):
    """At and beyond the reach, at poles, antimeridian and antipode, near places lose what is stated, charged at most.

    At the reach they lose nearly that, so that without the factor for the stretch it would be more.
    """
    m = PlanarLaplaceMechanism(epsilon="0.01", radius=200, origin=origin, reach=reach)
    bare = PlanarLaplaceMechanism(epsilon="0.01", radius=200)
    slack = 1e-7  # degrees are floats: the pairs are not quite as far apart as was asked
    for apart in (0.0, 1e-7, 0.01, 5.0, 200.0 - 1e-7):
        lost = losses(m, *map(angles, neighbours(origin, apart, reach))).max()
        assert lost <= m.privacy_loss(Fraction(apart + slack))[0] <= m.epsilon_asked
    assert lost > 0.99999 * float(m.epsilon_asked)
    if reach >= 10**6:
        assert lost * bare.lattice.alpha / m.lattice.alpha > float(m.epsilon_asked)
    assert losses(m, *map(angles, neighbours(origin, 199.0, reach)), unfolded()).max() > 5


@pytest.mark.parametrize("reach", [1000, 10**6, 5 * 10**6])
def test_no_pair_of_far_places_loses_more_than_is_stated(reach):
    """Over places anywhere on the globe, at any distance, losses are at most those stated."""
    m = PlanarLaplaceMechanism(epsilon="1e-6", radius=100_000, origin=(47.0, 8.0), reach=reach)
    chance = np.random.default_rng(9)
    first, second = (v / np.linalg.norm(v, axis=1)[:, None] for v in chance.normal(size=(2, 200_000, 3)))
    second[:100_000] = first[:100_000] + 0.1 * second[:100_000]
    second /= np.linalg.norm(second, axis=1)[:, None]
    apart = great_circle(first, second) + 1e-7
    stated = m.lattice.alpha * (float(stretch(m.reach)) * (apart + 1e-6) / m.granularity + math.sqrt(2))
    assert stated[7] == pytest.approx(float(m.privacy_loss(apart[7])[0]), rel=1e-12)

    assert (losses(m, angles(first), angles(second)) <= stated * (1 + 1e-12)).all()


@pytest.mark.parametrize("longitude", [0.0, 8.99, 9.0, 100.0, 150.0, 179.0, 179.9999, 180.0])
def test_losses_of_places_far_from_the_origin(longitude):
    """Two places 178 m apart at any longitude lose at most the 2 that are charged within 200 m."""
    m = PlanarLaplaceMechanism(epsilon="0.01", radius=200, origin=(0, 0))
    first, second = ([[0.0008], [longitude]], [[-0.0008], [longitude]])

    assert m.epsilon_asked == 2
    assert 1.7 < losses(m, first, second)[0] < 2 if longitude <= 9 else losses(m, first, second)[0] < 1.8
    if longitude >= 179:
        assert losses(m, first, second, unfolded())[0] > 10


def test_places_beyond_the_reach_are_moved():
    """What is published of a place beyond the reach is next to where it is moved to; none is refused."""
    m = PlanarLaplaceMechanism(epsilon=1e300, origin=(0, 0), reach=500_000)
    edge = math.degrees(500_000 / EARTH_RADIUS)
    lon = np.array([1.0, 4.0, 5.0, 90.0, 175.0, 176.0, 180.0, -178.5, -100.0])
    got = m.add_noise_degrees(np.zeros(9), lon)

    assert got[0].tolist() == [0.0] * 9
    assert got[1] == pytest.approx([1, 4, edge, edge, edge, 4, 0, -1.5, -edge], abs=2e-9)


def test_degrees():
    """Degrees are projected about the origin, get the noise of their points, and come back."""
    m = PlanarLaplaceMechanism(epsilon="0.001", radius=1000, origin=(47.0, 8.0))
    lat, lon = np.array([47.0, 46.5, np.nan, 47.1]), np.array([8.0, 7.5, 8.0, 8.2])
    got = m.add_noise_degrees(lat, lon, rng=default_rng(SEED))
    noisy = m.add_noise(project(lat, lon, m.origin, REACH), rng=default_rng(SEED))
    back = project(*got, m.origin, REACH)

    assert np.isnan(got[0]).tolist() == np.isnan(got[1]).tolist() == [False, False, True, False]
    assert np.nanmax(np.abs(back - noisy)) < 1e-4
    assert all((part.round(9) == part)[[0, 1, 3]].all() for part in got)
    one = m.add_noise_degrees(47.0, 8.0, rng=default_rng(SEED))
    assert one == (got[0][0], got[1][0])
    assert [type(part) for part in one] == [float, float]
    around = [m.add_noise_degrees(47.0, lon, rng=default_rng(SEED)) for lon in (-20.0, 340.0)]
    assert around[0] == around[1]
    series = pd.Series(lat, index=[4, 3, 2, 1], name="lat")
    named = m.add_noise_degrees(series, lon, rng=default_rng(SEED))
    assert named[0].index.tolist() == [4, 3, 2, 1]
    assert same(named[0].to_numpy(), got[0])


def test_degrees_at_the_ends_of_the_map():
    """At the poles, over the antimeridian and with noise of many turns around the earth results stay in range."""
    for origin in ((90.0, 0.0), (-90.0, 30.0), (0.0, 180.0), (0.0, -180.0)):
        for epsilon in ("1e-5", "1e-8", "1e-200"):
            m = PlanarLaplaceMechanism(epsilon=epsilon, origin=origin)
            lat, lon = m.add_noise_degrees(np.full(2000, origin[0]), np.full(2000, origin[1]), rng=default_rng(SEED))
            assert (np.abs(lat) <= 90).all()
            assert ((lon >= -180) & (lon < 180)).all()
            assert not np.signbit(np.concatenate([lat, lon])[np.concatenate([lat, lon]) == 0]).any()
    still = PlanarLaplaceMechanism(epsilon="1e300", origin=(0, 179))
    for lon in (180.0, -180.0, 179.9999999999):
        assert still.add_noise_degrees(0.0, lon) == (0.0, -180.0)
    zero = PlanarLaplaceMechanism(epsilon="1e300", origin=(0, 0)).add_noise_degrees(-0.0, -0.0)
    assert zero == (0.0, 0.0)
    assert not np.signbit(zero).any()


def test_wrong_degrees_are_refused():
    """Places off the map, shapes that differ and a missing origin are refused before anything is drawn."""
    m = PlanarLaplaceMechanism(epsilon=1, origin=(0, 0))
    rng = default_rng(SEED)
    for lat, place in (([0.0, 90.5], r"latitude\[1\]"), (-91, "latitude"), (math.inf, "latitude")):
        with pytest.raises(ValueError, match=f"^{place} must be from -90 to 90 degrees or NaN, got another$"):
            m.add_noise_degrees(lat, np.zeros(np.shape(lat)), rng=rng)
    for lon in (-181, 360.5, -math.inf):
        with pytest.raises(ValueError, match=r"^longitude must be from -180 to 360 degrees or NaN, got another$"):
            m.add_noise_degrees(0, lon, rng=rng)
    with pytest.raises(ValueError, match=r"latitude and longitude must have one shape, got \(2,\) and \(\)"):
        m.add_noise_degrees([1.0, 2.0], 3.0, rng=rng)
    with pytest.raises(TypeError, match="latitude must be real numbers"):
        m.add_noise_degrees("north", 3.0, rng=rng)
    with pytest.raises(ValueError, match=r"^origin must be given to add noise to degrees, a public"):
        PlanarLaplaceMechanism(epsilon=1).add_noise_degrees(0.0, 0.0, rng=rng)
    assert rng.position == 0
