"""Pictures: what their lines, bars, marks and words say."""

import json
import math
from fractions import Fraction
from pathlib import Path

import fresh_process
import matplotlib.figure
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy import stats

import lapnoise
from lapnoise import evaluate
from lapnoise.errors import InputDataError
from lapnoise.evaluate import _matplotlib, plots
from lapnoise.evaluate.experiments import Curve, Statistic
from lapnoise.evaluate.plots import _diagram, _holes, _laws

LAPLACE = lapnoise.LaplaceMechanism(epsilon="0.5", sensitivity=1)
INTEGERS = lapnoise.DiscreteLaplaceMechanism(epsilon="0.5", sensitivity=1)
GAUSSIAN = lapnoise.GaussianMechanism(epsilon=1, delta="1e-6", sensitivity=1)
TRUNCATED = lapnoise.TruncatedLaplaceMechanism(epsilon=1, delta="1e-3", sensitivity=1)
BOUNDED = lapnoise.BoundedLaplaceMechanism(epsilon=1, sensitivity=1, low=10, high=20)
MECHANISMS = [LAPLACE, INTEGERS, GAUSSIAN, TRUNCATED, BOUNDED]

ROWS = [
    {"group": "draws", "what": "numpy Generator", "value": 12.5, "unit": "ns", "threads": 1, "spread": 0.01},
    {"group": "draws", "what": "lapnoise r12", "value": 1.25, "unit": "ns", "threads": None, "spread": None},
    {"group": "draws", "what": "import", "value": 0.5, "unit": "s", "threads": 1, "spread": None},
    {"group": "others", "what": "lapnoise r8", "value": 0.5, "unit": "ns", "threads": 1, "spread": None},
    {"group": "others", "what": "OpenDP", "value": 16000.0, "unit": "ns", "threads": 1, "spread": None},
]


@pytest.fixture
def two():
    """Two Axes of one figure, so that a function that draws on the wrong ones is seen."""
    return matplotlib.figure.Figure().subplots(1, 2)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def expected_law(mechanism):
    """Return the law of SciPy's of a mechanism's noise, and its reach."""
    if mechanism is INTEGERS:
        return stats.dlaplace(0.5), math.inf
    if mechanism is GAUSSIAN:
        return stats.norm(0, mechanism.scale), math.inf
    reach = {id(TRUNCATED): TRUNCATED.bound, id(BOUNDED): 5.0}.get(id(mechanism), math.inf)
    return stats.laplace(0, mechanism.scale), reach


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_laws(mechanism):
    """The laws that pictures use are SciPy's, conditioned on what bounds them, with the mechanism's own deviation."""
    law = _laws.law_of(mechanism)
    base, reach = expected_law(mechanism)
    whole = base.cdf(reach) - base.cdf(-reach)
    x = np.arange(-20.0, 21.0) if law.on_integers else np.linspace(-min(reach, 30), min(reach, 30), 41)
    mass = base.pmf(x) if law.on_integers else base.pdf(x) / whole
    np.testing.assert_allclose(law.density(x), mass, rtol=1e-9)
    np.testing.assert_allclose(law.cdf(x), (base.cdf(x) - base.cdf(-reach)) / whole, rtol=1e-9, atol=1e-15)
    p = np.array([1e-6, 0.01, 0.3, 0.5, 0.51, 0.9, 1 - 1e-6])
    quantiles = base.ppf(base.cdf(-reach) + p * whole)
    np.testing.assert_allclose(law.quantile(p), quantiles, rtol=1e-9, atol=1e-12)
    if mechanism is not BOUNDED:  # whose std is that of the worst value
        assert math.sqrt(law.squares.mean) * law.unit == pytest.approx(mechanism.std, rel=1e-6)
    if reach < math.inf:
        assert law.density(np.array([1.01 * reach])) == 0
        square = law.squares.mean * law.unit**2
        grid = np.linspace(-reach, reach, 200_001)
        assert square == pytest.approx(np.trapezoid(grid**2 * base.pdf(grid) / whole, grid), rel=1e-6)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_density(mechanism, two):
    """Bars are the histogram of the draws, the line is the density, and nearly every bar is in its band."""
    n = 50_000
    ax = plots.density(mechanism, two[1], n=n, seed=3)
    assert ax is two[1]
    assert not two[0].has_data()
    draws = _laws.draw_noise(mechanism, n, 3)
    heights, edges, _ = ax.patches[0].get_data()
    expected, _ = np.histogram(draws, edges)
    widths = np.diff(edges)
    np.testing.assert_allclose(heights * n * widths, expected, atol=1e-6)
    assert expected.sum() == n
    high, _, low = ax.patches[2].get_data()
    assert np.mean((heights <= high) & ((heights >= low) | (low <= 0.51 / (n * widths[0])))) > 0.95
    (line,) = [one for one in ax.lines if one.get_label().startswith(_laws.law_of(mechanism).name)]
    base, reach = expected_law(mechanism)
    x, y = line.get_data()
    mass = base.pmf(x) if mechanism is INTEGERS else base.pdf(x) / (base.cdf(reach) - base.cdf(-reach))
    np.testing.assert_allclose(y, mass, rtol=1e-9)
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == ("probability" if mechanism is INTEGERS else "density")
    assert legend(ax)[0] == "50,000 draws"
    assert legend(ax)[2].endswith(f"scale {mechanism.for_length(1).scale:.4g}")


def test_density_of_many_integers_has_no_bar_between_two():
    """Bars over integers hold equally many each, so that none stands out."""
    ax = plots.density(lapnoise.DiscreteLaplaceMechanism(epsilon="0.01", sensitivity=1), n=10_000, seed=1)
    _, edges, _ = ax.patches[0].get_data()
    (width,) = set(np.diff(edges))
    assert width == int(width) > 1
    assert np.all(edges % 1 == 0.5) or np.all(edges % 1 == 0)


@pytest.mark.parametrize("epsilon", ["1e-6", "1e-12", "1e-100"])
def test_density_of_integers_of_any_size(epsilon):
    """However wide the noise on integers is, its line has some thousand points, and its law and band hold."""
    mechanism = lapnoise.DiscreteLaplaceMechanism(epsilon=epsilon, sensitivity=1)
    law = _laws.law_of(mechanism)
    t = 1 / float(epsilon)
    k = np.rint(np.array([0.0, 1.0, -3.0]) * t)
    np.testing.assert_allclose(law.density(k), np.exp(-np.abs(k) / t) / (2 * t), rtol=1e-6)
    assert math.sqrt(law.squares.mean) * law.unit == pytest.approx(math.sqrt(2) * t, rel=1e-6)
    if epsilon == "1e-100":  # whose results saturate
        return
    ax = plots.density(mechanism, n=2000, seed=1)
    x = ax.lines[0].get_xdata()
    assert x.size <= 1001
    assert (x == np.rint(x)).all()
    assert legend(ax)[2] == f"discrete Laplace, scale {t:.4g}"
    heights, _, _ = ax.patches[0].get_data()
    high, _, _ = ax.patches[2].get_data()
    assert np.mean(heights <= high) > 0.95


def test_density_of_an_outlier():
    """One draw far out is counted and not shown; where the law is another one all draws are."""
    draws = lapnoise.default_rng(1).laplace(0.0, 2.0, 10_000)
    draws[7] = 1e9
    ax = plots.density(draws, mechanism=LAPLACE)
    assert legend(ax)[0] == "10,000 draws, 1 beyond the axis"
    assert ax.get_xlim()[1] < 60
    wrong = plots.density(draws[8:] * 1000, mechanism=LAPLACE)
    assert legend(wrong)[0] == "9,992 draws"
    assert wrong.get_xlim()[1] > 1000 * np.abs(draws[8:]).max()


def test_density_of_few_draws_is_not_cut():
    """The axis reaches above the tallest bar and the band."""
    ax = plots.density(lapnoise.default_rng(2).laplace(0.0, 2.0, 100), mechanism=LAPLACE)
    heights, _, _ = ax.patches[0].get_data()
    high, _, _ = ax.patches[2].get_data()
    assert ax.get_ylim()[1] > max(heights.max(), high.max())


def test_draws_of_anywhere():
    """Draws are held against the law that they are said to have, or against the Laplace law that fits them."""
    draws = lapnoise.default_rng(1).laplace(0.0, 3.0, 10_000)
    assert legend(plots.density(draws))[2] == f"Laplace, scale fitted, scale {np.abs(draws).mean():.4g}"
    assert legend(plots.density(draws, mechanism=LAPLACE))[2] == "Laplace, scale 2"
    x, y = plots.quantiles(draws, mechanism=LAPLACE).lines[1].get_data()
    assert y[-1] == draws.max()
    assert y[0] == draws.min()
    slope = np.polyfit(x[20:-20], y[20:-20], 1)[0]
    assert slope == pytest.approx(1.5, rel=0.05)  # the noise has scale 3, the law 2


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_quantiles(mechanism, two):
    """Points are ordered draws against quantiles of the law, on the line of equal quantiles and within the band."""
    n = 20_000
    ax = plots.quantiles(mechanism, two[0], n=n, seed=5)
    assert ax is two[0]
    ordered = np.sort(_laws.draw_noise(mechanism, n, 5))
    x, y = ax.lines[1].get_data()
    ranks = np.searchsorted(ordered, y) + 1
    assert (y[0], y[-1]) == (ordered[0], ordered[-1])
    base, reach = expected_law(mechanism)
    if mechanism is not INTEGERS:  # of integers many draws are equal
        whole = base.cdf(reach) - base.cdf(-reach)
        np.testing.assert_allclose(x, base.ppf(base.cdf(-reach) + (ranks - 0.5) / n * whole), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(*ax.lines[0].get_data())
    band = ax.collections[0].get_paths()[0]
    assert np.mean([band.contains_point(point, radius=1e-6) for point in zip(x[5:-5], y[5:-5], strict=True)]) > 0.9


def test_sweep(two):
    """A curve has its theory as line, what was measured as markers and the band between, in the order of epsilon."""
    result = evaluate.experiment(["2", "0.1", 1], seed=1)
    ax = plots.sweep(result, two[1])
    assert ax is two[1]
    assert not two[0].has_data()
    rows = sorted(result.rows, key=lambda row: row.epsilon)
    theory, measured = ax.lines
    for line, name in ((theory, "theory"), (measured, "measured")):
        np.testing.assert_array_equal(line.get_xdata(), [0.1, 1.0, 2.0])
        np.testing.assert_array_equal(line.get_ydata(), [getattr(row.std, name) for row in rows])
    assert theory.get_linestyle() == "-"
    assert measured.get_linestyle() == "None"
    corners = ax.collections[0].get_paths()[0].vertices
    for row in rows:
        for end in (row.std.low, row.std.high):
            assert any(np.allclose(corner, (float(row.epsilon), end)) for corner in corners)
    assert legend(ax) == ["standard deviation", "theory", "band, holds each 0.999 of the time"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0.1", "1", "2"]


def test_sweep_of_queries():
    """Each query has a line, a marker and a colour of its own."""
    result = evaluate.query_errors([1.0, 5.0, 9.0] * 30, 0, 10, epsilons=[1, 2], n=5, seed=1)
    ax = plots.sweep(result)
    assert legend(ax)[:4] == ["private count", "private sum", "private mean", "private histogram"]
    theories, measured = ax.lines[::2], ax.lines[1::2]
    for line, marks, curve in zip(theories, measured, result.curves, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), [one.theory for _, one in curve.points])
        np.testing.assert_array_equal(marks.get_ydata(), [one.measured for _, one in curve.points])
        assert line.get_color() == marks.get_color()
    assert len({line.get_linestyle() for line in theories}) == 4
    assert len({marks.get_marker() for marks in measured}) == 4
    assert ax.get_ylabel() == "root mean squared error"


def test_sweep_of_anything_with_curves():
    """What has curves can be drawn; more epsilons than fit as ticks get those of the axis."""
    points = tuple((float(e), Statistic(1 / e, 1 / e, 0.9 / e, 1.1 / e)) for e in range(1, 12))

    class Result:
        curves = (Curve("error", points),)

    ax = plots.sweep(Result())
    assert legend(ax) == ["error", "theory", "band"]
    assert ax.get_ylabel() == "error"
    assert len(ax.get_xticks()) < 11


def test_sweep_of_one_epsilon():
    """Theory and band of a single epsilon reach to either side of it, so that they are seen."""
    result = evaluate.experiment([1], seed=1)
    ax = plots.sweep(result)
    theory, measured = ax.lines
    (row,) = result.rows
    left, right = theory.get_xdata()
    assert left < 1 < right
    assert list(theory.get_ydata()) == [row.std.theory] * 2
    assert list(measured.get_xdata()) == [1.0]
    box = ax.collections[0].get_datalim(ax.transData)
    assert (box.x0, box.x1) == pytest.approx((left, right))
    assert (box.y0, box.y1) == pytest.approx((row.std.low, row.std.high))
    assert ax.get_xlim()[0] < left
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1"]


def test_sweep_of_zeros():
    """What is 0 stands on the lower edge of the axis, and the legend says that this is 0."""
    points = ((1.0, Statistic(0.0, 0.02, 0.0, 0.5)), (2.0, Statistic(0.3, 0.3, 0.03, 0.6)))

    class Result:
        curves = (Curve("error", points),)

    ax = plots.sweep(Result())
    edge = ax.get_ylim()[0]
    assert edge == pytest.approx(0.02 / 3)
    assert list(ax.lines[1].get_ydata()) == pytest.approx([edge, 0.3])
    assert not ax.lines[1].get_clip_on()
    assert ax.collections[0].get_datalim(ax.transData).y0 == pytest.approx(edge)
    assert "the lower edge is 0" in legend(ax)


def test_sweep_of_compositions():
    """Means of several releases have a curve of their own, against what all of them spend."""
    result = evaluate.experiment([1, 2], releases=4, n=100, seed=1)
    ax = plots.sweep(result)
    assert legend(ax)[:2] == ["one release", "mean of 4 releases"]
    assert list(ax.lines[0].get_xdata()) == [1, 2, 4, 8]
    assert list(ax.lines[2].get_xdata()) == [1, 2, 4, 8]
    split, _, each = result.composed[:3]
    assert ax.lines[3].get_ydata()[0] == split.std.measured
    assert ax.lines[3].get_ydata()[2] == each.std.measured
    assert ax.get_ylabel() == "standard deviation"
    assert ax.get_xlabel() == "epsilon, of all releases together"


def test_numpys_noise_is_known():
    """What the close-up says of NumPy's noise is what NumPy draws, bit for bit."""
    bits = np.random.PCG64(7)
    words = bits.random_raw(20_000) >> np.uint64(11)
    drawn = np.random.Generator(np.random.PCG64(7)).laplace(1.0, 3.0, 20_000)
    assert [_holes.numpy_laplace(int(k), 1.0, 3.0) for k in words] == drawn.tolist()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_reachable_floats(value):
    """Those that the search finds are all there are: every word near them was tried, and each is what one gives."""
    floats = _holes._neighbours(0.3)
    found = _holes.reachable(value, 1.0, floats)
    tail = 0.5 * math.exp(-abs(0.3 - value))
    around = int((tail if value > 0.3 else 1 - tail) * 2**53)
    outputs = {_holes.numpy_laplace(k, value, 1.0) for k in range(around - 3000, around + 3000)}
    assert min(outputs) < floats[0]
    assert max(outputs) > floats[-1]
    assert found == {place for place, one in enumerate(floats) if one in outputs}
    assert 0 < len(found) < 24


@pytest.mark.parametrize(("value", "start"), [(1e4, 1e4 + 0.3), (-3000.0, -3000.2), (5.0, 5.3), (1e4, 1e4 - 9.0)])
def test_reachable_floats_far_from_zero(value, start):
    """Of all words about those that lead to the floats each that leads there is found, though few are tried."""
    floats = _holes._neighbours(start)
    ends = [_holes._words(one - value, 1.0) for one in (floats[0], floats[-1])]
    words = range(min(end.start for end in ends), max(end.stop for end in ends))
    outputs = {_holes.numpy_laplace(k, value, 1.0) for k in words}
    assert _holes.reachable(value, 1.0, floats) == {place for place, one in enumerate(floats) if one in outputs}


@pytest.mark.parametrize("value", [9735380, 10**15, 10**17])
def test_lattice_close_up_far_from_zero(value, monkeypatch):
    """Some thousand words are tried for each input, however many lead to each float; names have all digits."""
    tried = []
    numpy_laplace = _holes.numpy_laplace
    monkeypatch.setattr(_holes, "numpy_laplace", lambda *given: tried.append(1) or numpy_laplace(*given))
    mechanism = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=16)
    ax = plots.lattice_close_up(mechanism=mechanism, inputs=(value, value + 16))
    assert 0 < len(tried) <= 2 * 48 * 129
    if value == 9735380:
        names = [text.get_text() for text in ax.get_yticklabels()]
        assert names[:2] == ["9735380 + NumPy's noise", "9735396 + NumPy's noise"]
        assert " 0 give the input away" in ax.get_title()


@pytest.mark.parametrize("dpi", [72, 90, 100, 200])
def test_the_title_of_the_close_up_is_whole(dpi):
    """Title, legend and labels lie within the picture, however long the names of the rows are."""
    for mechanism in (None, lapnoise.LaplaceMechanism(epsilon=3, sensitivity=123456)):
        ax = plots.lattice_close_up(mechanism=mechanism)
        ax.figure.set_dpi(dpi)
        canvas = FigureCanvasAgg(ax.figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        for part in (ax.title, ax.get_legend(), ax.xaxis.label, *ax.get_yticklabels()):
            box = part.get_window_extent(renderer)
            assert box.x0 > 0
            assert box.x1 < canvas.get_width_height()[0]
            assert box.y0 > 0
            assert box.y1 < canvas.get_width_height()[1]


def test_lattice_close_up(two):
    """NumPy's rows have holes and outputs of one input alone; ours have neither."""
    ax = plots.lattice_close_up(two[0])
    assert ax is two[0]
    floats = _holes._neighbours(0.3)
    zero, one = (_holes.reachable(value, 1.0, floats) for value in (0.0, 1.0))
    marked = {(line.get_marker(), row): set(line.get_xdata()) for line in ax.lines for row in set(line.get_ydata())}
    assert marked["D", 0] == zero - one
    assert marked["D", -1] == one - zero
    assert marked["o", 0] == marked["o", -1] == zero & one
    assert marked[".", 0] == set(range(48)) - zero
    for row in (-2, -3):
        assert marked["o", row] == set(range(48))
        assert ("D", row) not in marked
        assert (".", row) not in marked
    alone = len(zero ^ one)
    assert alone > 5
    assert f"of 48 neighbouring outputs {alone} give the input away" in ax.get_title()
    assert [text.get_text() for text in ax.get_yticklabels()][1:3] == ["1 + NumPy's noise", "0 + our noise"]
    assert "$2^{-54}$" in ax.get_xlabel()
    assert "$2^{-24}$" in ax.get_xlabel()


def test_lattice_close_up_of_a_mechanism():
    """Scale, granularity and neighbours are those of the mechanism that is given."""
    ax = plots.lattice_close_up(mechanism=lapnoise.LaplaceMechanism(epsilon="0.1", sensitivity=3), inputs=(5, 2))
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["5 + NumPy's noise", "2 + NumPy's noise", "5 + our noise", "2 + our noise"]
    assert "steps from 14:" in ax.get_xlabel()
    assert "$2^{-20}$" in ax.get_xlabel()


def test_bench(two, tmp_path):
    """Bars have the times of a group, in their order, and others' look different from ours."""
    file = tmp_path / "bench.json"
    file.write_text(json.dumps({"machine": {}, "rows": ROWS}))
    ax = plots.bench(file, two[0])
    assert ax is two[0]
    bars = [patch for patch in ax.patches if patch.get_width() > 0]
    assert [bar.get_width() for bar in bars] == [12.5, 1.25]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["numpy Generator", "lapnoise r12, all cores"]
    assert [text.get_text() for text in ax.texts] == ["12.50", "1.25"]
    assert [bool(bar.get_hatch()) for bar in bars] == [True, False]
    assert bars[0].get_facecolor() != bars[1].get_facecolor()
    assert (ax.get_title(loc="left"), ax.get_xscale()) == ("draws", "linear")
    other = plots.bench(ROWS, group="others")
    assert [patch.get_width() for patch in other.patches] == [0.5, 16000.0]
    assert other.get_xscale() == "log"
    assert [text.get_text() for text in other.texts] == ["0.50", "16,000"]
    assert plots.bench({"rows": ROWS}).get_title(loc="left") == "draws"
    sized = plots.bench([{**ROWS[0], "what": "randomgen ChaCha8", "draws": 1000}])
    assert [text.get_text() for text in sized.get_yticklabels()] == ["randomgen ChaCha8, 1,000 draws"]
    assert sized.patches[0].get_hatch()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "there must be rows in ns"),
        ({"machine": {}}, "there must be a list of rows"),
        ("text", None),
        ([{"group": "a"}], "row 1 must have group, what, value and unit"),
        ([{**ROWS[0], "value": math.nan}], "row 1 must have a value that is finite and > 0"),
        ([ROWS[0], {**ROWS[0], "value": "fast"}], "row 2 must have a value that is finite and > 0"),
    ],
)
def test_bench_refuses(rows, message, tmp_path):
    """What is no result of the benches is refused; the row is named."""
    if message is None:
        rows, message = tmp_path / "x.json", "the file is no JSON"
        rows.write_text("ns,draws")
    with pytest.raises(InputDataError, match=message):
        plots.bench(rows)


def test_chain(two):
    """Every link has a box, in order, and an arrow to the next that ends at its edge."""
    ax = plots.chain(two[1])
    assert ax is two[1]
    boxes = [patch for patch in ax.patches if patch.get_label()]
    names = ["query", "sensitivity", "budget, ledger", "scale, lattice", "exact noise", "release", "post-processing"]
    assert [box.get_label() for box in boxes] == [link.name for link in _diagram.LINKS] == names
    arrows = [text for text in ax.texts if not text.get_text()]
    assert len(arrows) == len(boxes) - 1
    for arrow, box in zip(arrows, boxes[1:], strict=True):
        x, y = arrow.xy
        left, bottom = box.get_x(), box.get_y()
        assert left <= x <= left + box.get_width()
        assert bottom <= y <= bottom + box.get_height()
    words = [text.get_text() for text in ax.texts]
    assert set(names) <= set(words)
    assert len(legend(ax)) == 4


def test_words_stay_in_their_boxes():
    """No word of the diagram reaches over the edge of its box."""
    ax = plots.chain()
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    boxes = [patch.get_window_extent(renderer) for patch in ax.patches]
    for text in [text for text in ax.texts if text.get_text()]:
        extent = text.get_window_extent(renderer)
        assert any(box.x0 < extent.x0 and extent.x1 < box.x1 for box in boxes if box.y0 < extent.y0 < box.y1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plots.density([1.0, 2.0]), ValueError, "noise must hold at least 100 draws, or be a mechanism, got 2"),
        (lambda: plots.density([math.inf] * 100), ValueError, "noise must be finite, got 100 of 100"),
        (lambda: plots.density([0.0] * 100), ValueError, "noise must not be 0 throughout"),
        (lambda: plots.density([1.0] * 100, mechanism="laplace"), TypeError, "mechanism must be one that adds noise"),
        (
            lambda: plots.density(lapnoise.ExponentialMechanism(epsilon=1, sensitivity=1)),
            TypeError,
            "mechanism must be one that adds noise",
        ),
        (
            lambda: plots.density(np.ma.array(np.ones(200), mask=np.arange(200) < 3)),
            ValueError,
            "noise must be finite, got 3 of 200 that are missing",
        ),
        (
            lambda: plots.density(LAPLACE, mechanism=GAUSSIAN),
            ValueError,
            "mechanism must be left out where noise is a mechanism itself",
        ),
        (lambda: plots.quantiles(LAPLACE, n=99), ValueError, "n must be an int from 100"),
        (lambda: plots.quantiles(LAPLACE, n=1e4), ValueError, "n must be an int from 100"),
        (lambda: plots.quantiles(LAPLACE, "axes"), TypeError, "ax must be Axes of matplotlib, or None, got 'axes'"),
        (lambda: plots.sweep(3), TypeError, "result must have curves"),
        (lambda: plots.lattice_close_up(mechanism=GAUSSIAN), TypeError, "mechanism must be one that adds noise"),
        (lambda: plots.lattice_close_up(inputs=(0, 2)), ValueError, "inputs must be at most the sensitivity apart"),
        (lambda: plots.bench(ROWS, group="x"), ValueError, "group must be one of 'draws', 'others', got 'x'"),
        (
            lambda: plots.density(lapnoise.LaplaceMechanism(epsilon=1, sensitivity=Fraction(10) ** 200)),
            OverflowError,
            "scale must lie between",
        ),
    ],
)
def test_refused(call, error, message):
    """Bad input is named, with the rule."""
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.density(LAPLACE),
        lambda: plots.quantiles(LAPLACE),
        lambda: plots.sweep(evaluate.experiment(n=2, seed=1)),
        plots.lattice_close_up,
        lambda: plots.bench(ROWS),
        plots.chain,
    ],
)
def test_without_matplotlib(draw, monkeypatch):
    """Where matplotlib is absent every picture names the extra."""
    monkeypatch.setattr(_matplotlib, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'lapnoise\[plots\]'"):
        draw()


def test_no_window_and_no_state():
    """Importing pictures brings no matplotlib along, drawing them no pyplot."""
    printed = fresh_process.run(
        "import sys\n"
        "from lapnoise.evaluate import plots\n"
        "before = 'matplotlib' in sys.modules\n"
        "plots.chain().figure.savefig('/dev/null', format='svg')\n"
        "print(before, 'matplotlib.pyplot' in sys.modules)\n"
    )
    assert printed == "False False\n"


def test_the_picture_of_an_experiment(tmp_path):
    """The command draws what `plots.sweep` draws, in each of its formats."""
    from lapnoise.cli import main

    for suffix, start in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        path = Path(tmp_path) / f"sweep{suffix}"
        assert main(["experiment", "--n", "100", "--seed", "1", "--plot", str(path)]) == 0
        assert path.read_bytes().startswith(start)
