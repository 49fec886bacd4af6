"""Lines of the report's table, and how they print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.targets import TARGETS
from bench.timing import Measurement

__all__ = ["Row", "cost", "plain", "printed", "speed"]

_HEADINGS = ("what", "threads", "median", "spread", "against", "ratio", "target", "stretch", "verdict")


@dataclass(frozen=True)
class Row:
    """One line.

    Attributes
    ----------
    group : str
        Heading that the line stands under.
    what : str
        What was measured.
    value : float
        The median, in ``unit``.
    unit : str
        "ns" (per draw), "s" or "B".
    threads : int or None
        1, or None for all cores; 0 where it says nothing.
    spread : float or None
        Half the distance between the quartiles, relative to the median.
    against : str
        What it is compared with, with its number.
    ratio : float or None
        How many times faster, or how many times the cost.
    faster : bool
        Which of the two.
    target : str or None
        Name in ``bench.targets``.
    judged : float or None
        What the target is compared with; the ratio where None.
    reference_spread : float or None
        The spread of what it is compared with.
    repeats : int
        Those of it and of what it is compared with, whichever had fewer; 0 where that is not known.
    draws : int
        Draws a call, in the rows of peers; 0 in all others.
    dtype : str
        "float64" or "float32" there.
    scale : str
        "scalar" or "array" there.
    """

    group: str
    what: str
    value: float
    unit: str = "ns"
    threads: int | None = 0
    spread: float | None = None
    against: str = ""
    ratio: float | None = None
    faster: bool = True
    target: str | None = None
    judged: float | None = None
    reference_spread: float | None = None
    repeats: int = 0
    draws: int = 0
    dtype: str = ""
    scale: str = ""

    @property
    def verdict(self) -> str:
        """What the target says of it; empty without one."""
        if self.target is None:
            return ""
        judged = self.ratio if self.judged is None else self.judged
        return "" if judged is None else TARGETS[self.target].verdict(judged)

    def cells(self) -> tuple[str, ...]:
        """Return what stands in the columns."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}x" if self.faster else f"{self.ratio:.2f} times"
        target = TARGETS[self.target] if self.target else None
        return (
            self.what,
            "all" if self.threads is None else str(self.threads or ""),
            quantity(self.value, self.unit),
            "" if self.spread is None else f"{self.spread:.0%}",
            self.against,
            ratio,
            limit(target.bound, target.unit, target.at_least) if target else "",
            limit(target.stretch, target.unit, target.at_least) if target and target.stretch is not None else "",
            self.verdict,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the fields and the verdict."""
        return {**asdict(self), "verdict": self.verdict}


def plain(group: str, what: str, measured: Measurement, threads: int | None = 1) -> Row:
    """Return a row that is compared with nothing."""
    return Row(group, what, measured.ns, threads=threads, spread=measured.spread)


def speed(
    group: str,
    what: str,
    measured: Measurement,
    reference: tuple[str, Measurement],
    threads: int | None = 1,
    target: str | None = None,
) -> Row:
    """Return a row that says how many times faster something is than its reference."""
    name, theirs = reference
    against = f"{name}: {quantity(theirs.ns, 'ns')}"
    ratio = theirs.ns / measured.ns
    repeats, spreads = min(measured.repeats, theirs.repeats), (measured.spread, theirs.spread)
    return Row(
        group, what, measured.ns, "ns", threads, spreads[0], against, ratio, True, target, None, spreads[1], repeats
    )


def cost(
    group: str,
    what: str,
    measured: Measurement,
    reference: tuple[str, Measurement],
    threads: int | None = 1,
    target: str | None = None,
) -> Row:
    """Return a row that says how many times the cost of its reference something has."""
    name, theirs = reference
    against = f"{name}: {quantity(theirs.ns, 'ns')}"
    ratio = measured.ns / theirs.ns
    repeats, spreads = min(measured.repeats, theirs.repeats), (measured.spread, theirs.spread)
    return Row(
        group, what, measured.ns, "ns", threads, spreads[0], against, ratio, False, target, None, spreads[1], repeats
    )


def quantity(value: float, unit: str) -> str:
    """Return a number with three digits and its unit."""
    if unit == "s":
        return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms"
    if unit == "B":
        return f"{value / 2**20:.2f} MiB" if value >= 2**20 else f"{value / 2**10:.0f} KiB"
    return f"{value:.2f} ns" if value < 100 else f"{value:.0f} ns"


def limit(value: float, unit: str, at_least: bool) -> str:
    """Return a target as it stands in the table."""
    if unit == "x":
        return f"{value:g}x" if at_least else f"{value:g} times"
    return quantity(value, unit)


def printed(rows: Sequence[Row]) -> str:
    """Return all rows as one Markdown table with columns of even width."""
    lines: list[tuple[str, ...]] = [_HEADINGS]
    group = ""
    for row in rows:
        if row.group != group:
            group = row.group
            lines.append((f"**{group}**", *[""] * (len(_HEADINGS) - 1)))
        lines.append(row.cells())
    # A heading may be wider than the first column: it stands alone on its line.
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEADINGS))]
    texts = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |" for line in lines]
    texts.insert(1, "| " + " | ".join("-" * w for w in widths) + " |")
    return "\n".join(texts)
