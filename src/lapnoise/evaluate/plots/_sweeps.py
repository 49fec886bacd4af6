"""Errors against epsilon: what was measured, the band it should lie in, and the line of theory."""

from __future__ import annotations

from typing import Any

from lapnoise._check import picture_arguments
from lapnoise.evaluate.plots._axes import GREY, PALE, STYLES, axes_for, grid

__all__ = ["sweep"]

FEW = 8


def sweep(result: Any, ax: Any = None) -> Any:
    """Draw each curve of an experiment against epsilon, both on logarithmic axes.

    Parameters
    ----------
    result : Experiment, QueryErrors, or anything else with ``curves``
    ax : Axes, optional

    Returns
    -------
    Axes
        Markers are what was measured, lines are theory.
    """
    curves = picture_arguments.curves(result)
    ax = axes_for(ax)
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    handles = []
    for number, curve in enumerate(curves):
        colour, marker, line = STYLES[number % len(STYLES)]
        points = sorted(curve.points, key=lambda point: point[0])
        epsilons = [epsilon for epsilon, _ in points]
        statistics = [statistic for _, statistic in points]
        low, high = [one.low for one in statistics], [one.high for one in statistics]
        ax.fill_between(epsilons, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.plot(epsilons, [one.theory for one in statistics], line, color=colour, linewidth=1.4)
        (measured,) = ax.plot(
            epsilons, [one.measured for one in statistics], marker, color=colour, markersize=7, label=curve.name
        )
        measured.set_markerfacecolor("none")  # what lies beneath is seen
        measured.set_markeredgewidth(1.6)
        handles.append(measured)
    handles.append(Line2D([], [], color=GREY, label="theory"))
    level = getattr(result, "level", None)
    held = "" if level is None else f", holds each {float(level):.5g} of the time"
    handles.append(Patch(color=PALE, label=f"band{held}"))
    ax.set_xscale("log")
    ax.set_yscale("log")
    epsilons = sorted({epsilon for curve in curves for epsilon, _ in curve.points})
    if len(epsilons) <= FEW:
        ax.set_xticks(epsilons, [f"{epsilon:.3g}" for epsilon in epsilons])
        ax.xaxis.set_minor_locator(NullLocator())
    low, high = ax.get_ylim()
    if high < 1000 * low:
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("epsilon")
    ax.set_ylabel(curves[0].name if len(curves) == 1 else "root mean squared error")
    grid(ax)
    if len(curves) == 1:
        ax.legend(handles=handles, loc="upper right", fontsize="small", framealpha=0.9)
    else:
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3, "frameon": False}
        ax.legend(handles=handles, fontsize="small", **above)
    return ax
