"""The part on peers as one picture: time a draw by size, and how many times faster than NumPy's Generator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.contenders import CONTENDERS, lapnoise_name
from bench.contenders_libraries import MECHANISM
from bench.rows import Row
from bench.sections import NUMPY, NUMPY32
from lapnoise.evaluate.plots._axes import BLUE, GREY, INK, PALE, VERMILION, grid

__all__ = ["AT", "MAIN", "best_rows", "draw", "figure"]

AT = 1_000_000
"""Draws a call that bars show; where nobody has that many, the most that were timed."""

GREEN, PINK, ORANGE, SKY = "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
"""Four more of the eight colours of Okabe and Ito."""

MAIN: dict[str, tuple[str, str, str]] = {
    lapnoise_name(12): (BLUE, "o", "-"),
    lapnoise_name(12, None): (BLUE, "o", "--"),
    MECHANISM: (SKY, "D", "-"),
    lapnoise_name(12, kind="float32"): (BLUE, "o", "-"),
    lapnoise_name(12, None, "float32"): (BLUE, "o", "--"),
    f"{MECHANISM}, float32": (SKY, "D", "-"),
    NUMPY: (VERMILION, "s", "-"),
    NUMPY32: (VERMILION, "s", "-"),
    "numpy formula": (VERMILION, "x", ":"),
    "numba np.random": (INK, "+", "-."),
    "mkl_random MCG59": (GREEN, "^", "-"),
    "torch": (PINK, "v", "-"),
    "torch, float32": (PINK, "v", "-"),
    "jax": (ORANGE, "<", "-"),
    "jax, float32": (ORANGE, "<", "-"),
    "randomgen ChaCha20": (GREY, ">", "--"),
    "OpenDP": (INK, "P", ":"),
    "OpenDP, float32": (INK, "P", ":"),
    "PyDP (Google)": (GREEN, "X", ":"),
    "diffprivlib": (PINK, "*", ":"),
}
"""Colour, marker and line of the contenders that are drawn as curves; all others have bars only."""

OWN = tuple(("#000000", "hp1|"[i % 4], ("-", "--", "-.", ":")[(i + i // 4) % 4]) for i in range(16))
"""Those of samplers that were entered, one after the other."""


def draw(rows: Sequence[Row], path: Path, machine: Mapping[str, str], quick: bool = False) -> None:
    """Draw the rows of peers into a file."""
    figure(rows, machine, quick).savefig(path, format=path.suffix[1:].lower(), dpi=160)


def figure(rows: Sequence[Row], machine: Mapping[str, str], quick: bool = False) -> Any:
    """Return a Figure of matplotlib: for each dtype a panel with curves and one with bars, of one scale for all draws.

    Rows of an array of scales are in the table alone. ``quick`` says that the rows come from a quick run.
    """
    from matplotlib.figure import Figure

    # NumPy's Generator stands beside one thread and beside all cores; one of the two is enough here.
    first: dict[tuple[str, int], Row] = {}
    for row in rows:
        if row.draws and row.scale == "scalar":
            first.setdefault((row.what, row.draws), row)
    kinds = [kind for kind in ("float64", "float32") if any(row.dtype == kind for row in first.values())]
    shown = [[row for row in first.values() if row.dtype == kind] for kind in kinds]
    bars = [best_rows(rows) for rows in shown]
    lines = max(map(len, bars))
    heights = (5.8, 0.9 + 0.24 * lines)
    drawn = Figure(figsize=(12, sum(heights)), layout="constrained")
    parts: Any = drawn.subfigures(2, 1, height_ratios=heights)
    upper, lower = parts
    for ax, chosen, kind in zip(_row_of_axes(upper, len(kinds), "all"), shown, kinds, strict=True):
        _curves(ax, chosen, kind)
    # A contender looks the same in both panels, so that one legend does.
    handles = {
        label: handle for ax in upper.axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    below = {"loc": "outside lower center", "ncols": 5, "handlelength": 3}
    upper.legend(handles.values(), handles.keys(), fontsize="small", frameon=False, **below)
    for ax, chosen in zip(_row_of_axes(lower, len(kinds), "none"), bars, strict=True):
        _bars(ax, chosen, lines)
    where = ", ".join(f"{name} {machine[name]}" for name in ("processor", "compiled for") if name in machine)
    note = " (a quick run: few sizes and repeats)" if quick else ""
    upper.suptitle(f"Laplace noise, ns a draw{': ' if where else ''}{where}{note}", fontsize="medium")
    return drawn


def _row_of_axes(part: Any, columns: int, shared: str) -> Any:
    return part.subplots(1, columns, squeeze=False, sharey=shared)[0]


def best_rows(rows: Sequence[Row]) -> list[Row]:
    """Return for each contender its row at `AT` draws, or at the most below, the fastest first."""
    chosen: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.draws):
        if row.draws <= AT and row.ratio is not None:
            chosen[row.what] = row
    return sorted(chosen.values(), key=lambda row: -(row.ratio or 0.0))


def _curves(ax: Any, rows: Sequence[Row], kind: str) -> None:
    names = dict.fromkeys(row.what for row in rows)
    looks = {name: look for name, look in MAIN.items() if name in names}
    # By place among all that were entered, not in this panel: one legend does for both.
    own = [name for name in CONTENDERS if _entered(name)]
    looks |= {name: OWN[own.index(name) % len(OWN)] for name in names if _entered(name)}
    for name, (colour, marker, line) in looks.items():
        points = sorted((row.draws, row.value) for row in rows if row.what == name)
        width = 2.0 if name.startswith("lapnoise") or _entered(name) else 1.2
        sizes, values = zip(*points, strict=True)
        style = {"color": colour, "marker": marker, "linestyle": line, "linewidth": width}
        ax.plot(sizes, values, label=_short(name), markersize=5, markerfacecolor="white", **style)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("draws a call")
    ax.set_ylabel("ns a draw, the call included")
    ax.set_title(f"{kind}, one scale for all draws", fontsize="medium", loc="left")
    grid(ax)


def _bars(ax: Any, rows: Sequence[Row], lines: int) -> None:
    for place, row in enumerate(rows):
        ratio = row.ratio or 0.0
        if row.what.startswith("lapnoise"):
            style = {"color": BLUE, "edgecolor": INK}
        elif _entered(row.what):
            style = {"color": ORANGE, "hatch": "...", "edgecolor": INK}
        else:
            style = {"color": PALE, "hatch": "///", "edgecolor": INK}
        ax.barh(place, ratio - 1.0, left=1.0, height=0.7, linewidth=0.5, **style)
        note = f"{ratio:.2g}x" if ratio < 10 else f"{ratio:.0f}x"
        note += "" if row.draws == AT else f" at {row.draws:,}"
        # Outside the bar, which begins at 1 and goes to the left for whoever is slower.
        aside = {"xytext": (4, 0), "ha": "left"} if ratio >= 1 else {"xytext": (-4, 0), "ha": "right"}
        ax.annotate(note, (ratio, place), textcoords="offset points", va="center", fontsize="small", **aside)
    ax.set_yticks(range(len(rows)), [_short(row.what) for row in rows], fontsize="small")
    ax.set_ylim(lines - 0.4, -0.6)
    ax.set_xscale("log")
    ratios = [row.ratio or 1.0 for row in rows]
    span = max(10.0, max(ratios) / min(ratios))
    ax.set_xlim(min(ratios) / span**0.65, max(ratios) * span**0.15)  # room for the numbers
    ax.axvline(1.0, color=INK, linewidth=0.8)
    ax.set_xlabel(f"times as fast as NumPy's Generator, {AT:,} draws", fontsize="small")
    grid(ax, "x")


def _short(name: str) -> str:
    """Return a name without the dtype, which the panel says."""
    return name if _entered(name) else name.replace(", float32", "").replace(", astype(float32)", "")


def _entered(name: str) -> bool:
    return name in CONTENDERS and bool(CONTENDERS[name].origin)
