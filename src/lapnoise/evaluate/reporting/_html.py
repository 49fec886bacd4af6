"""Pieces of a page: tables, pictures and sections, with everything that is not markup escaped."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["escaped", "facts", "figure", "page", "paragraph", "section", "table", "warning"]

STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 58rem; padding: 1rem 1.2rem 3rem; background: #fff; color: #1a1a1a;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .6rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #bbb; padding-bottom: .2rem; }
p { max-width: 46rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: #444; padding-bottom: .3rem; }
th, td { padding: .25rem .7rem .25rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #ddd; }
thead th { border-bottom: 2px solid #888; }
.number { text-align: right; }
td.number { white-space: nowrap; }
figure { margin: .8rem 0; overflow-x: auto; }
img { max-width: 100%; height: auto; display: block; }
img.broad { width: 100%; min-width: 40rem; max-width: 52rem; }
figcaption { color: #444; font-size: .9rem; max-width: 46rem; }
.warning { border: 2px solid #a33b00; padding: .6rem .9rem; font-weight: 600; max-width: 46rem; }
footer { margin-top: 2.5rem; border-top: 1px solid #bbb; color: #444; font-size: .85rem; }
@media (max-width: 40rem) { body { padding: .6rem .7rem 2rem; } th, td { padding-right: .45rem; } }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; }
  .wide, figure { overflow: visible; }
  img.broad { min-width: 0; }
  table { font-size: 8pt; }
}
@page { margin: 16mm; }
""".strip()


BROAD = 700
"""Pictures of more pixels than this are moved sideways on a phone, where their words would be too small."""


def page(title: str, parts: Iterable[str]) -> str:
    """Return a whole page in HTML5, which asks for nothing from elsewhere."""
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def section(name: str, heading: str, *parts: str) -> str:
    """Return a section with an identifier to link to."""
    body = "\n".join(parts)
    return f'<section id="{escaped(name)}">\n<h2>{escaped(heading)}</h2>\n{body}\n</section>'


def paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escaped(text)}</p>"


def warning(text: str) -> str:
    """Return a paragraph that is seen first."""
    return f'<p class="warning" role="note">{escaped(text)}</p>'


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """Return a table; the first ``words`` columns hold words, the others numbers."""
    head = _row(header, words, "th", ' scope="col"')
    lines = [f"<caption>{escaped(caption)}</caption>", f"<thead>{head}</thead>", "<tbody>"]
    lines += [_row(row, words, "td") for row in rows]
    body = "\n".join([*lines, "</tbody>"])
    return f'<div class="wide"><table>\n{body}\n</table></div>'


def facts(caption: str, pairs: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and what they are."""
    rows = "\n".join(f'<tr><th scope="row">{escaped(name)}</th><td>{escaped(value)}</td></tr>' for name, value in pairs)
    told = f"<caption>{escaped(caption)}</caption>"
    return f'<div class="wide"><table>\n{told}\n<tbody>\n{rows}\n</tbody>\n</table></div>'


def figure(ax: Any, alternative: str, caption: str) -> str:
    """Return the figure of these Axes: lines that print at any size, within the page."""
    drawn = io.BytesIO()
    ax.figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    data = base64.b64encode(drawn.getvalue()).decode("ascii")
    width, height = (round(96 * inches) for inches in ax.figure.get_size_inches())
    broad = ' class="broad"' if width > BROAD else ""
    source = f'src="data:image/svg+xml;base64,{data}" alt="{escaped(alternative)}" width="{width}" height="{height}"'
    image = f"<img{broad} {source}>"
    return f"<figure>\n{image}\n<figcaption>{escaped(caption)}</figcaption>\n</figure>"


def _row(cells: Sequence[str], words: int, kind: str, scope: str = "") -> str:
    shown = []
    for place, cell in enumerate(cells):
        number = "" if place < words else ' class="number"'
        shown.append(f"<{kind}{scope}{number}>{escaped(cell)}</{kind}>")
    return f"<tr>{''.join(shown)}</tr>"


def escaped(text: str) -> str:
    """Return text as HTML."""
    # What is no character (a byte of a name that is no UTF-8, a control) has no place in a page.
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    kept = "".join(one if one.isprintable() else " " if one.isspace() else f"\\x{ord(one):02x}" for one in shown)
    return html.escape(kept, quote=True)
