"""The picture of peers: curves, bars, and files of all kinds."""

import pytest
from bench import picture
from bench.contender import Contender
from bench_rows import peer_row

ROWS = [
    *(peer_row("numpy Generator(PCG64)", n, 20.0, 1.0) for n in (1, 1_000, 1_000_000)),
    *(peer_row("numpy Generator(PCG64)", n, 25.0, 1.0, threads=None) for n in (1, 1_000, 1_000_000)),
    *(peer_row("lapnoise r12", n, 20.0 / n**0.2, n**0.2) for n in (1, 1_000, 1_000_000)),
    peer_row("OpenDP", 1, 60_000.0, 1e-3),
    peer_row("OpenDP", 1_000, 16_000.0, 5e-4),
    peer_row("randomgen ChaCha8", 1_000_000, 40.0, 0.5),
    peer_row("lapnoise r12, float32", 1_000_000, 1.0, 20.0, dtype="float32"),
    peer_row("lapnoise r12", 1_000_000, 3.0, 9.0, scale="array"),
    peer_row("lapnoise r12", 100_000_000, 2.0, 9.5),
]


def test_curves_and_bars():
    """Curves have the times by size and bars the ratios at a million draws, or at the most that there were."""
    figure = picture.figure(ROWS, {"processor": "P"})
    upper, lower = figure.subfigs
    curves = {line.get_label(): line for line in upper.axes[0].lines}
    assert set(curves) == {"numpy Generator(PCG64)", "lapnoise r12", "OpenDP"}
    assert list(curves["numpy Generator(PCG64)"].get_ydata()) == [20.0, 20.0, 20.0]
    assert list(curves["lapnoise r12"].get_xdata()) == [1, 1_000, 1_000_000, 100_000_000]
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in curves.values()}) == 3
    assert [text.get_text() for text in upper.legends[0].get_texts()] == [
        "lapnoise r12",
        "numpy Generator(PCG64)",
        "OpenDP",
    ]
    bars = lower.axes[0]
    names = [text.get_text() for text in bars.get_yticklabels()]
    assert names == ["lapnoise r12", "numpy Generator(PCG64)", "randomgen ChaCha8", "OpenDP"]
    ends = [patch.get_x() + patch.get_width() for patch in bars.patches]
    assert ends == pytest.approx([10**1.2, 1.0, 0.5, 5e-4])
    assert [text.get_text() for text in bars.texts] == ["16x", "1x", "0.5x", "0.0005x at 1,000"]
    assert [bool(patch.get_hatch()) for patch in bars.patches] == [False, True, True, True]
    assert [text.get_text() for text in lower.axes[1].get_yticklabels()] == ["lapnoise r12"]
    assert upper._suptitle.get_text() == "Laplace noise, ns a draw: processor P"


def test_looks_differ():
    """No two contenders of one panel look the same, in colour or without it."""
    for kind in ("float32", ""):
        chosen = [look for name, look in picture.MAIN.items() if ("float32" in name) == bool(kind)]
        chosen += picture.OWN
        assert len(set(chosen)) == len(chosen)
        assert len({(marker, line) for _, marker, line in chosen}) == len(chosen)


def test_own_samplers_differ(monkeypatch):
    """Each sampler that was entered has a look of its own, the same in both panels."""
    monkeypatch.setattr(picture, "CONTENDERS", {})
    rows = [peer_row("numpy Generator(PCG64)")]
    for name, dtype in (("a", "float64"), ("b", "float32"), ("c", "float64")):
        picture.CONTENDERS[name] = Contender(lambda n: lambda: n, dtype, origin="code")
        rows.append(peer_row(name, dtype=dtype))
    panels = picture.figure(rows, {}).subfigs[0].axes
    looks = {
        line.get_label(): (line.get_marker(), line.get_linestyle())
        for panel in panels
        for line in panel.lines
        if line.get_label() in "abc"
    }
    assert list(looks) == ["a", "c", "b"]
    assert len(set(looks.values())) == 3
    assert len(set(picture.OWN)) == 16


def test_a_quick_run_is_said():
    """The title tells a quick run, with and without a machine."""
    title = "Laplace noise, ns a draw: processor P (a quick run: few sizes and repeats)"
    assert picture.figure(ROWS, {"processor": "P"}, True).subfigs[0]._suptitle.get_text() == title
    assert "quick" not in picture.figure(ROWS, {}).subfigs[0]._suptitle.get_text()


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")])
def test_files(suffix, start, tmp_path):
    """The picture appears as what its name says, in the place of one that was there."""
    file = tmp_path / f"x{suffix}"
    file.write_bytes(b"old")
    picture.draw(ROWS, file, {})
    assert file.read_bytes().startswith(start)
