"""Rows and cells of CSV bytes by a regular expression, and cells for what reads them."""

import re

import numpy as np

from lapnoise.files import MISSING
from lapnoise.files._cells import Absent, Cells

ABSENT = Absent(frozenset(text.encode() for text in MISSING), b'"')


def cells_from(texts: list[bytes], quote: bytes = b'"') -> Cells:
    """Return these cells, as they would stand in a file of one column with an end of quotes behind it."""
    bounds = np.cumsum([0, *(len(text) + 1 for text in texts)], dtype=np.int32)
    data = np.frombuffer(b"".join(text + b"\n" for text in texts) + quote * 32, np.uint8)
    return Cells(data, bounds[:-1].copy(), bounds[1:] - np.int32(1), quote)


def rows_of(data: bytes, delimiter: bytes, width: int, quote: bytes = b'"') -> list[list[bytes]] | str:
    """Return the rows behind a header of this width, or what is wrong with the first that is wrong."""
    mark = re.escape(quote)
    plain = rb"[^%s\r\n]*+" % re.escape(delimiter)
    whole = rb"%b[^%b]*+(?:%b%b[^%b]*+)*+%b" % ((mark,) * 6)
    cell = rb"%b%b|(?!%b)%b|%b[\s\S]*+" % (whole, plain, mark, plain, mark)
    pattern = re.compile(rb"(%s)(%s|\r?\n|\r|\Z)" % (cell, re.escape(delimiter)))
    rows, row, place = [], [], 0
    while place < len(data) or row:
        match = pattern.match(data, place)
        text, separator = match.groups()
        place = match.end()
        if text[:1] == quote and not re.match(whole, text):
            return "opens a quote"
        if separator == b"\r":
            return "carriage return"
        row.append(text)
        if separator == delimiter:
            continue
        if not (row == [b""] and width > 1 and separator):
            if len(row) != width:
                return f"has {len(row)} field"
            rows.append(row)
        row = []
    return rows
