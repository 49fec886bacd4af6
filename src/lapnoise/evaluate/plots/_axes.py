"""Axes to draw on, and the colours, lines and markers of all pictures."""

from __future__ import annotations

from typing import Any

from lapnoise._check import picture_arguments
from lapnoise.evaluate._matplotlib import verify_matplotlib

__all__ = ["BLUE", "GREY", "INK", "PALE", "STYLES", "VERMILION", "axes_for", "grid"]

INK, GREY, PALE = "#222222", "#767676", "#d9d9d9"
BLUE, VERMILION = "#0072b2", "#d55e00"
"""Two of the eight colours of Okabe and Ito; in grey the second is the lighter one."""

STYLES = ((BLUE, "o", "-"), (VERMILION, "s", "--"), ("#009e73", "^", "-."), ("#cc79a7", "D", ":"))
"""Colour, marker and line of each curve."""


def axes_for(ax: Any, size: tuple[float, float] = (6.4, 4.4)) -> Any:
    """Return the Axes that were given, or those of a new Figure of this size in inches.

    Raises
    ------
    ImportError
        If matplotlib is absent.
    TypeError
        If ``ax`` is something else.
    """
    verify_matplotlib()
    if ax is not None:
        return picture_arguments.axes(ax)
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained").add_subplot()


def grid(ax: Any, axis: str = "both") -> None:
    """Lay thin lines behind everything else."""
    ax.grid(visible=True, which="major", axis=axis, color=PALE, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
