"""The chain from a query to a release, as a diagram."""

from __future__ import annotations

from typing import Any, NamedTuple

from lapnoise.evaluate.plots._axes import GREY, INK, axes_for

__all__ = ["LINKS", "chain"]


class Link(NamedTuple):
    """One link: what it is, what happens there, and whose it is."""

    name: str
    told: str
    kind: str


KINDS = {
    "yours": ("#ffffff", "--", "yours to decide"),
    "counted": ("#f0e442", "-", "counted before anything is drawn"),
    "exact": ("#56b4e9", "-", "follows from parameters alone, exactly"),
    "free": ("#d9d9d9", ":", "costs no privacy"),
}
"""Fill, line and meaning of the kinds; in grey white, pale, middle and light, and the lines differ."""

LINKS = (
    Link("query", "count, sum,\nmean, histogram", "yours"),
    Link("sensitivity", "what one person\ncan change: Δ", "yours"),
    Link("budget, ledger", "ε charged,\nor refused", "counted"),
    Link("scale, lattice", "b = Δ / ε,\na power of two r", "exact"),
    Link("exact noise", "ChaCha20, key of the\noperating system", "exact"),
    Link("release", "steps of r added,\nrounded once", "exact"),
    Link("post-processing", "clamp, totals,\norder, publish", "free"),
)

IN_A_ROW = 4
WIDTH, HEIGHT, GAP, DROP = 2.3, 1.3, 0.55, 2.2


def chain(ax: Any = None) -> Any:
    """Draw the chain from a query to a release.

    Parameters
    ----------
    ax : Axes, optional

    Returns
    -------
    Axes
        Without ticks; a box for each link, and an arrow from each to the next.
    """
    ax = axes_for(ax, (8.6, 3.5))
    from matplotlib.patches import FancyBboxPatch, Patch

    for number, link in enumerate(LINKS):
        x, y = _corner(number)
        fill, line, _ = KINDS[link.kind]
        shape = FancyBboxPatch(
            (x, y),
            WIDTH,
            HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.15",
            facecolor=fill,
            edgecolor=INK,
            linestyle=line,
            label=link.name,
        )
        ax.add_patch(shape)
        middle = x + WIDTH / 2
        ax.text(middle, y + 0.98, link.name, ha="center", va="center", fontsize=10, fontweight="bold", color=INK)
        ax.text(middle, y + 0.42, link.told, ha="center", va="center", fontsize=8, color=INK)
    style = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    for number in range(len(LINKS) - 1):
        *bends, start, end = _way(number)
        if bends:
            ax.plot(*zip(*bends, start, strict=True), color=GREY, linewidth=1.4, solid_capstyle="butt")
        ax.annotate("", xy=end, xytext=start, arrowprops=style)
    legend = [Patch(facecolor=fill, edgecolor=INK, linestyle=line, label=text) for fill, line, text in KINDS.values()]
    ax.legend(handles=legend, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, fontsize=8, frameon=False)
    ax.set_xlim(-0.15, IN_A_ROW * (WIDTH + GAP) - GAP + 0.15)
    ax.set_ylim(-DROP - 0.15, HEIGHT + 0.15)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _corner(number: int) -> tuple[float, float]:
    """Return the lower left corner of a box: rows are read from the left."""
    row, place = divmod(number, IN_A_ROW)
    return place * (WIDTH + GAP), -row * DROP


def _way(number: int) -> list[tuple[float, float]]:
    """Return the corners of the way from a box to the next."""
    (x, y), (to_x, to_y) = _corner(number), _corner(number + 1)
    if y == to_y:
        return [(x + WIDTH, y + HEIGHT / 2), (to_x, to_y + HEIGHT / 2)]
    between = (y + to_y + HEIGHT) / 2
    start, end = x + WIDTH / 2, to_x + WIDTH / 2
    return [(start, y), (start, between), (end, between), (end, to_y + HEIGHT)]
