"""What floats give away: which outputs of value + NumPy's Laplace noise are reachable from which value, and ours.

NumPy turns one of 2^53 uniform numbers into noise by a logarithm, and adds it. Of the floats about any output only
some can come from one value, and others from another [1]_: an output tells which value it was. Lattice points are
all reachable from every value.

References
----------
.. [1] I. Mironov, "On significance of the least significant bits for differential privacy", CCS 2012.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from lapnoise._check import audit_arguments, picture_arguments
from lapnoise.evaluate.plots._axes import BLUE, GREY, PALE, VERMILION, axes_for
from lapnoise.mechanisms import LaplaceMechanism

__all__ = ["lattice_close_up", "reachable"]

SHOWN = 48
PLACE = 0.3
"""Where the close-up begins, in scales beyond the first input."""

UNIT = 2.0**-53
PAD = 64
"""Words tried on either side of the one that an inverse in floats finds, which is off by a few."""


def lattice_close_up(ax: Any = None, *, mechanism: LaplaceMechanism | None = None, inputs: Any = None) -> Any:
    """Draw which of 48 neighbouring outputs can come from either of two inputs, with NumPy's noise and with ours.

    Parameters
    ----------
    ax : Axes, optional
    mechanism : LaplaceMechanism, optional
        Epsilon 1 and sensitivity 1 unless given; NumPy's noise has its scale.
    inputs : (float, float), optional
        0 and the sensitivity unless given.

    Returns
    -------
    Axes
        Four rows of steps: of neighbouring floats, and of points of the lattice. An output that one input alone
        reaches is a diamond: whoever sees it knows the input.
    """
    if mechanism is None:
        mechanism = LaplaceMechanism(epsilon=1, sensitivity=1)
    elif not isinstance(mechanism, LaplaceMechanism):
        picture_arguments.no_law(mechanism)
    single = mechanism.for_length(1)
    picture_arguments.noise_scale(single.scale)
    ends = audit_arguments.inputs(inputs, single.sensitivity, Fraction(0))
    ax = axes_for(ax, (7.6, 3.6))
    start = ends[0] + PLACE * single.scale
    floats = _neighbours(start)
    theirs = [reachable(one, single.scale, floats) for one in ends]
    every = set(range(SHOWN))  # of a lattice no point has probability 0, whatever the input
    alone = 0
    rows: list[tuple[str, set[int], set[int]]] = []
    for one, own, other in ((ends[0], theirs[0], theirs[1]), (ends[1], theirs[1], theirs[0])):
        rows.append((f"{one:.12g} + NumPy's noise", own, other))
        alone += len(own - other)
    rows += [(f"{one:.12g} + our noise", every, every) for one in ends]
    for row, (_, own, other) in enumerate(rows):
        for found, marker, colour, size in (
            (every - own, ".", PALE, 4),
            (own & other, "o", BLUE, 5),
            (own - other, "D", VERMILION, 6),
        ):
            steps = sorted(found)
            ax.plot(steps, [-row] * len(steps), marker, color=colour, markersize=size, linestyle="none", clip_on=False)
    from matplotlib.lines import Line2D

    legend = [("o", BLUE, "both inputs reach it"), ("D", VERMILION, "one alone: it gives the input away")]
    legend.append((".", PALE, "no output"))
    handles = [Line2D([], [], marker=m, color=c, linestyle="none", label=text) for m, c, text in legend]
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize="small", frameon=False)
    ax.axhline(-1.5, color=GREY, linewidth=0.6)
    ax.set_yticks([0, -1, -2, -3], [name for name, _, _ in rows])
    ax.set_ylim(-3.5, 0.5)
    ax.set_xlim(-1, SHOWN)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    step, exponent = math.log2(math.ulp(start)), single.lattice.exponent
    ax.set_xlabel(
        f"steps from {start:.3g}: above the line of $2^{{{step:.0f}}}$, each a float;\n"
        f"below it of $2^{{{exponent}}}$, each a point of the lattice"
    )
    told = f"of {SHOWN} neighbouring outputs {alone} give the input away\nwith NumPy's noise, none with ours"
    ax.set_title(told, fontsize="medium", pad=24)
    return ax


def reachable(value: float, scale: float, floats: list[float]) -> set[int]:
    """Return the places of those floats that value + NumPy's Laplace noise can be."""
    places = {one: place for place, one in enumerate(floats)}
    found = set()
    # One by one: from a value far from 0 millions of words lead to each float.
    for one in floats:
        for k in _words(one - value, scale):
            place = places.get(numpy_laplace(k, value, scale))
            if place is not None:
                found.add(place)
    return found


def numpy_laplace(k: int, loc: float, scale: float) -> float:
    """Return what `numpy.random.Generator.laplace` makes of the uniform number k 2^-53, 0 < k < 2^53."""
    u = k * UNIT
    if u >= 0.5:
        return loc - scale * math.log(2.0 - u - u)
    return loc + scale * math.log(u + u)


def _words(noise: float, scale: float) -> range:
    """Return the k in the middle of those that give this noise, and some on either side."""
    tail = 0.5 * math.exp(-abs(noise) / scale)
    middle = int((tail if noise < 0 else 1.0 - tail) / UNIT)
    return range(max(middle - PAD, 1), min(middle + PAD, (1 << 53) - 1) + 1)


def _neighbours(start: float) -> list[float]:
    floats = [start]
    while len(floats) < SHOWN:
        floats.append(math.nextafter(floats[-1], math.inf))
    return floats
