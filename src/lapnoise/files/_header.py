"""The header of a CSV file, without Numba: a name that is not in it is told at once.

Cells are those that `lapnoise.kernels.csv_scan` describes. Rows behind the header are left to it.
"""

from __future__ import annotations

import re
from typing import NoReturn

from lapnoise.errors import InputDataError

__all__ = ["first_row", "refuse_bare_return", "refuse_open_quote"]


def first_row(
    buffer: bytes, start: int, delimiter: bytes, quote: bytes, at_end: bool
) -> tuple[list[bytes] | None, int]:
    """Return the cells of the row that begins at ``start`` and where it ends; no cells when it does not end.

    Raises
    ------
    InputDataError
        When a carriage return stands without a line feed, or a quote is open at the end of the file.
    """
    plain = rb"[^%s\r\n]*+" % re.escape(delimiter)
    # The last choice is a quote that is not closed in what was read; possessive repeats keep the search linear.
    cell = rb"Q[^Q]*+(?:QQ[^Q]*+)*+Q%s|(?!Q)%s|(?P<open>Q[\s\S]*+)" % (plain, plain)
    cell = cell.replace(b"Q", re.escape(quote))
    pattern = re.compile(rb"(?P<cell>%s)(?P<separator>%s|\r?\n|\r|\Z)" % (cell, re.escape(delimiter)))
    cells = []
    place = start
    while (match := pattern.match(buffer, place)) is not None:
        cells.append(match["cell"])
        place = match.end()
        if match["separator"][-1:] == b"\n":
            return cells, place
        if not match["separator"]:
            if at_end and match["open"] is not None:
                refuse_open_quote(buffer.count(b"\n", 0, match.start()) + 1)
            break
        # At the end of what was read it may be half of a CRLF.
        if match["separator"] == b"\r" and (at_end or place < len(buffer)):
            refuse_bare_return(buffer.count(b"\n", 0, place) + 1)
    return (cells, place) if at_end else (None, start)


def refuse_open_quote(line: int) -> NoReturn:
    """Say that a quote has no end."""
    raise InputDataError(f"line {line} opens a quote that is never closed")


def refuse_bare_return(line: int) -> NoReturn:
    """Say that a line has the one half of a line end."""
    raise InputDataError(
        f"line {line} has a carriage return without a line feed; rows must end with LF or CRLF "
        "(a carriage return inside a cell needs quotes)"
    )
