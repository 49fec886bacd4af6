"""Draws against their law: histogram on a logarithmic axis, and quantiles against quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check import picture_arguments
from lapnoise.evaluate.plots._axes import BLUE, GREY, INK, PALE, VERMILION, axes_for, grid
from lapnoise.evaluate.plots._laws import NoiseLaw, draw_noise, fitted, law_of
from lapnoise.mechanisms._mechanism import Mechanism

__all__ = ["density", "quantiles"]

BINS = 101
POINTS = 1001
"""Of a line."""

RANKS = 181
ALPHA = 1e-3
"""A point of right noise is outside the band with this probability, each by itself."""


def density(noise: Any, ax: Any = None, *, mechanism: Any = None, n: int = 200_000, seed: int | None = None) -> Any:
    """Draw the histogram of noise on a logarithmic axis, with the density that it should have.

    Parameters
    ----------
    noise : mechanism or array_like
        What draws it, or at least 100 draws, differences between released and true values.
    ax : Axes, optional
    mechanism : optional
        What draws are said to come from; without it they are compared with the Laplace law of their mean magnitude.
        Left out where ``noise`` is a mechanism.
    n : int, optional
        Draws of a mechanism.
    seed : int, optional
        Of these draws.

    Returns
    -------
    Axes
        With the band that holds each bar of right noise 999 times in 1,000. Single draws far beyond the others, and
        beyond what the law has among as many, are counted in the legend and not shown.

    Examples
    --------
    >>> import lapnoise
    >>> from lapnoise.evaluate import plots
    >>> axes = plots.density(lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1))  # doctest: +SKIP
    """
    ax = axes_for(ax)
    draws, law = _subject(noise, mechanism, n, seed)
    edges = _edges(draws, law)
    widths = np.diff(edges)
    counts = np.histogram(draws, edges)[0]
    from scipy.stats import binom

    chance = np.clip(np.diff(law.cdf(edges)), 0, 1)
    low, high = (binom.ppf(p, draws.size, chance) / (draws.size * widths) for p in (ALPHA / 2, 1 - ALPHA / 2))
    floor = 0.5 / (draws.size * widths[0])
    bars = counts / (draws.size * widths)
    beyond = draws.size - int(counts.sum())
    rest = f", {beyond:,} beyond the axis" if beyond else ""
    ax.stairs(bars, edges, fill=True, color=PALE, label=f"{draws.size:,} draws{rest}")
    ax.stairs(bars, edges, color=INK, linewidth=0.8)
    ax.stairs(np.maximum(high, floor), edges, baseline=np.maximum(low, floor), fill=True, color=BLUE, alpha=0.3)
    ax.fill_between([], [], color=BLUE, alpha=0.3, label="holds each bar 999 times in 1,000")
    x = np.linspace(edges[0], edges[-1], POINTS)
    if law.on_integers:
        few = edges[-1] - edges[0] <= POINTS
        x = np.arange(np.ceil(edges[0]), edges[-1]) if few else np.unique(np.rint(x))
    y = law.density(x)
    # Few integers are shown one by one; the mass at an integer is the density about it.
    style = {"marker": "o", "markersize": 3} if law.on_integers and x.size <= BINS else {}
    ax.plot(x[y > 0], y[y > 0], color=VERMILION, linewidth=1.6, label=f"{law.name}, scale {law.scale:.4g}", **style)
    ax.set_yscale("log")
    top = float(max(y.max(), bars.max(), high.max()))
    ax.set_ylim(floor, top * (top / floor) ** 0.35)  # room for the legend
    ax.set_xlabel("noise")
    ax.set_ylabel("probability" if law.on_integers else "density")
    grid(ax)
    ax.legend(loc="upper right", fontsize="small", framealpha=0.9)
    return ax


def quantiles(noise: Any, ax: Any = None, *, mechanism: Any = None, n: int = 200_000, seed: int | None = None) -> Any:
    """Draw quantiles of noise against those of its law, tails included.

    Parameters
    ----------
    noise, ax, mechanism, n, seed
        As in `density`.

    Returns
    -------
    Axes
        With the band that holds each point of right noise 999 times in 1,000: ordered draws are beta variates taken
        through the quantiles of the law.
    """
    ax = axes_for(ax)
    draws, law = _subject(noise, mechanism, n, seed)
    ordered = np.sort(draws)
    size = ordered.size
    # Evenly spaced in ln(p / (1 - p)), so that the tails are as visible as the middle.
    spread = np.linspace(-np.log(2.0 * size), np.log(2.0 * size), RANKS)
    ranks = np.unique(np.clip(np.rint(size / (1 + np.exp(-spread)) + 0.5), 1, size)).astype(np.int64)
    from scipy.stats import beta

    theory = law.quantile((ranks - 0.5) / size)
    low, high = (law.quantile(beta.ppf(p, ranks, size + 1 - ranks)) for p in (ALPHA / 2, 1 - ALPHA / 2))
    ax.fill_between(theory, low, high, color=BLUE, alpha=0.3, linewidth=0, label="holds each point 999 times in 1,000")
    ends = [theory[0], theory[-1]]
    ax.plot(ends, ends, color=GREY, linestyle="--", linewidth=1, label="the same quantiles")
    ax.plot(theory, ordered[ranks - 1], "o", color=INK, markersize=2.5, label=f"{size:,} draws")
    ax.set_xlabel(f"quantile of the law ({law.name})")
    ax.set_ylabel("quantile of the draws")
    grid(ax)
    ax.legend(loc="upper left", fontsize="small", framealpha=0.9)
    return ax


def _subject(noise: Any, mechanism: Any, n: int, seed: int | None) -> tuple[NDArray[np.float64], NoiseLaw]:
    if isinstance(noise, Mechanism):
        picture_arguments.no_second_law(mechanism)
        law = law_of(noise)
        return draw_noise(noise, picture_arguments.drawn(n), seed), law
    draws = picture_arguments.noise(noise)
    return draws, fitted(draws) if mechanism is None else law_of(mechanism)


def _edges(draws: NDArray[np.float64], law: NoiseLaw) -> NDArray[np.float64]:
    sizes = np.abs(draws)
    # One draw in a hundred at most may be so far out that it is left out, and none of a right law but once in 1,000.
    likely = float(law.quantile(np.array([1 - 5e-4 / draws.size]))[0])
    reach = min(float(sizes.max()), max(likely, 4 * float(np.quantile(sizes, 0.99))))
    if not law.on_integers:
        return np.linspace(-reach, reach, BINS + 1)
    width = max(1, -(-int(2 * reach + 1) // BINS))
    side = -(-int(2 * reach + 1) // (2 * width))
    return np.asarray((np.arange(-side, side + 2) - 0.5) * width, np.float64)
