"""Errors against epsilon: what was measured, the band it should lie in, and the line of theory."""

from __future__ import annotations

from typing import Any

from lapnoise._check import picture_arguments
from lapnoise.evaluate.plots._axes import GREY, PALE, STYLES, axes_for, grid

__all__ = ["sweep"]

FEW = 8
WIDTH = 1.15
"""How far theory and band of a single epsilon reach to either side, as a factor."""

BELOW = 3.0
"""By this factor the axis goes below the least number where one is 0, which has no place on it."""


def sweep(result: Any, ax: Any = None) -> Any:
    """Draw each curve of an experiment against epsilon, both on logarithmic axes.

    Parameters
    ----------
    result : Experiment, QueryErrors, or anything else with ``curves``
    ax : Axes, optional

    Returns
    -------
    Axes
        Markers are what was measured, lines are theory. What is 0 stands on the lower edge of the axis, and the legend
        says so.
    """
    curves = picture_arguments.curves(result)
    ax = axes_for(ax)
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    statistics = [statistic for curve in curves for _, statistic in curve.points]
    sizes = [size for one in statistics for size in (one.measured, one.theory, one.low, one.high)]
    positive = [size for size in sizes if size > 0]
    edge = min(positive, default=1.0) / BELOW
    handles = [_drawn(ax, curve, STYLES[number % len(STYLES)], edge) for number, curve in enumerate(curves)]
    handles.append(Line2D([], [], color=GREY, label="theory"))
    level = getattr(result, "level", None)
    held = "" if level is None else f", holds each {float(level):.5g} of the time"
    handles.append(Patch(color=PALE, label=f"band{held}"))
    ax.set_xscale("log")
    ax.set_yscale("log")
    if len(positive) < len(sizes):
        ax.set_ylim(bottom=edge)
        handles.append(Line2D([], [], color="none", label="the lower edge is 0"))
    _ticks(ax, sorted({epsilon for curve in curves for epsilon, _ in curve.points}))
    ax.set_xlabel("epsilon, of all releases together" if getattr(result, "composed", ()) else "epsilon")
    ax.set_ylabel(curves[0].name if len(curves) == 1 else curves[0].statistic)
    grid(ax)
    if len(curves) == 1:
        ax.legend(handles=handles, loc="upper right", fontsize="small", framealpha=0.9)
    else:
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3, "frameon": False}
        ax.legend(handles=handles, fontsize="small", **above)
    return ax


def _drawn(ax: Any, curve: Any, style: tuple[str, str, str], edge: float) -> Any:
    """Draw one curve, and return its markers."""
    colour, marker, line = style
    points = sorted(curve.points, key=lambda point: point[0])
    epsilons = [epsilon for epsilon, _ in points]
    measured, theory, low, high = (
        [max(getattr(one, name), edge) for _, one in points] for name in ("measured", "theory", "low", "high")
    )
    about = epsilons
    if len(set(epsilons)) == 1:  # of one point there is neither a line nor an area
        about = [epsilons[0] / WIDTH, epsilons[0] * WIDTH]
        theory, low, high = theory[:1] * 2, low[:1] * 2, high[:1] * 2
        ax.set_xlim(epsilons[0] / WIDTH**6, epsilons[0] * WIDTH**6)
    ax.fill_between(about, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(about, theory, line, color=colour, linewidth=1.4)
    (marks,) = ax.plot(epsilons, measured, marker, color=colour, markersize=7, label=curve.name, clip_on=False)
    marks.set_markerfacecolor("none")  # what lies beneath is seen
    marks.set_markeredgewidth(1.6)
    return marks


def _ticks(ax: Any, epsilons: list[float]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    if len(epsilons) <= FEW:
        ax.set_xticks(epsilons, [f"{epsilon:.3g}" for epsilon in epsilons])
        ax.xaxis.set_minor_locator(NullLocator())
    low, high = ax.get_ylim()
    if high < 1000 * low:
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
