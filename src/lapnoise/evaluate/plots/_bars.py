"""Times of the benches as bars."""

from __future__ import annotations

from typing import Any

from lapnoise._check import picture_arguments
from lapnoise.evaluate.plots._axes import BLUE, INK, PALE, axes_for, grid

__all__ = ["bench"]

PEERS = (
    *("numpy", "numba", "mkl_random", "randomgen", "torch", "jax", "scipy", "diffprivlib", "opendp", "pydp"),
    *("pandas", "pyarrow", "polars"),
)
WIDE = 60.0
"""From this ratio of the longest bar to the shortest on the axis is logarithmic."""


def bench(rows: Any, ax: Any = None, *, group: str | None = None) -> Any:
    """Draw times of one group of benches as bars, ours apart from those of others.

    Parameters
    ----------
    rows : path, dict or sequence
        The file that ``python -m bench.report --json FILE`` wrote, what was read from it, or rows.
    ax : Axes, optional
    group : str, optional
        The heading of the group; the first unless given. Only rows in ns are drawn.

    Returns
    -------
    Axes
        Bars from the top in the order of the rows, each with its number, and the spread where there is one.

    Raises
    ------
    InputDataError
        If there are no such rows.
    """
    timed = picture_arguments.bench_rows(rows)
    chosen = picture_arguments.bench_group(group, timed)
    shown = [row for row in timed if row["group"] == chosen]
    ax = axes_for(ax, (7.2, 0.9 + 0.34 * len(shown)))
    values = [float(row["value"]) for row in shown]
    largest = max(values)
    logarithmic = largest > WIDE * min(values)
    for place, (row, value) in enumerate(zip(shown, values, strict=True)):
        theirs = str(row["what"]).lower().startswith(PEERS)
        spread = float(row.get("spread") or 0.0) * value
        # Hatched as well as grey: in print the two colours are close.
        style = {"color": PALE, "hatch": "///", "edgecolor": INK} if theirs else {"color": BLUE, "edgecolor": INK}
        ax.barh(place, value, height=0.68, linewidth=0.5, xerr=spread or None, ecolor=INK, capsize=2, **style)
        end = value + spread
        ax.annotate(_number(value), (end, place), (4, 0), textcoords="offset points", va="center", fontsize="small")
    ax.set_yticks(range(len(shown)), [_label(row) for row in shown], fontsize="small")
    ax.set_ylim(len(shown) - 0.4, -1.6)  # from the top, below a line for the legend
    if logarithmic:
        ax.set_xscale("log")
        ax.set_xlim(min(values) / 2, largest * 3)
    else:
        ax.set_xlim(0, largest * 1.15)
    ax.set_xlabel("ns a draw, or an element" + (" (logarithmic)" if logarithmic else ""))
    ax.set_title(chosen, fontsize="medium", loc="left")
    from matplotlib.patches import Patch

    grid(ax, "x")
    kinds = [Patch(facecolor=BLUE, edgecolor=INK, label="lapnoise")]
    kinds.append(Patch(facecolor=PALE, edgecolor=INK, hatch="///", label="others"))
    ax.legend(handles=kinds, loc="upper right", ncols=2, fontsize="small", frameon=False)
    return ax


def _label(row: dict[str, Any]) -> str:
    what, threads = str(row["what"]), row.get("threads", 0)
    if row.get("draws"):
        what += f", {row['draws']:,} draws"
    if threads is None and "all cores" not in what:
        return f"{what}, all cores"
    return what


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"
