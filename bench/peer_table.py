"""Rows of peers as tables with a column for each size, since one line a row would be hundreds."""

from __future__ import annotations

from collections.abc import Sequence

from bench.rows import Row

__all__ = ["peer_tables"]


def peer_tables(rows: Sequence[Row]) -> str:
    """Return one Markdown table for each group: ns a draw, and how many times faster than NumPy's Generator.

    For one draw that is the time of the call. What was not timed stays empty.
    """
    tables = []
    for group in dict.fromkeys(row.group for row in rows):
        chosen = {(row.what, row.draws): row for row in rows if row.group == group}
        sizes = sorted({draws for _, draws in chosen})
        names = list(dict.fromkeys(what for what, _ in chosen))
        lines: list[list[str]] = [[f"**{group}**", *(f"{n:,}" for n in sizes)]]
        lines += [[name, *(_cell(chosen.get((name, n))) for n in sizes)] for name in names]
        widths = [max(len(line[i]) for line in lines) for i in range(len(sizes) + 1)]
        texts = [
            "| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |" for line in lines
        ]
        texts.insert(1, "| " + " | ".join("-" * w for w in widths) + " |")
        tables.append("\n".join(texts))
    return "\n\n".join(tables)


def _cell(row: Row | None) -> str:
    if row is None or row.ratio is None:
        return ""
    ns = f"{row.value:.3g}" if row.value < 1000 else f"{row.value:,.0f}"
    return f"{ns} ({row.ratio:.3g}x)" if row.ratio >= 1e-3 else f"{ns} ({row.ratio:.1g}x)"
