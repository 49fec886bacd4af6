"""Rows of a CSV file: what is split joins to the same bytes, and the cells are those that Python's csv module sees."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lapnoise.errors import InputDataError
from lapnoise.files import _rows
from lapnoise.files._rows import RowReader
from lapnoise.files._source import Source
from lapnoise.files._split import content


def read(path: Path, data: bytes, delimiter: bytes = b",", block_bytes: int = 1 << 20):
    """Return head, header and blocks of a file with these bytes."""
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch, Source(path) as source:
        patch.setattr(_rows, "BLOCK_BYTES", block_bytes)
        reader = RowReader(source, delimiter)
        return reader.head, reader.header, list(reader)


def cells_of(path: Path, data: bytes, **options):
    _, header, blocks = read(path, data, **options)
    cells = [cell for block in blocks for cell in block.cells]
    return [cells[i : i + len(header)] for i in range(0, len(cells), len(header))]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("rows") / "source.csv"


plain_cells = st.text(st.sampled_from('ab1 "é.\t'), max_size=4).filter(lambda text: not text.startswith('"'))
quoted_cells = st.text(st.sampled_from('a",;\n\r é'), max_size=5).map(lambda text: '"' + text.replace('"', '""') + '"')
row_ends = st.sampled_from(["\n", "\r\n"])


@st.composite
def files(draw: st.DrawFn) -> tuple[str, int]:
    """Draw a file with a header, of one to three columns, and its number of columns."""
    width = draw(st.integers(1, 3))
    rows = [["x", "y", "z"][:width]]
    regular = draw(st.booleans())
    end = draw(row_ends)
    cells = quoted_cells | plain_cells.filter(lambda text: not regular or '"' not in text)
    rows += draw(st.lists(st.lists(cells, min_size=width, max_size=width), max_size=4))
    text = "".join(",".join(row) + (end if regular else draw(row_ends)) for row in rows)
    if draw(st.booleans()) and rows[-1] != [""]:
        text = text.removesuffix("\n").removesuffix("\r")
    return text, width


@settings(max_examples=300, deadline=None)
@given(files(), st.sampled_from([1, 2, 3, 7, 64, 1 << 20]))
@example(('x,y\n"a""",1\n"""b""",2\n', 2), 5)
@example(('x\n""\n\n"a\n"\n', 1), 1)
def test_bytes_and_cells_survive(path, file, block_bytes):
    text, width = file
    data = text.encode()
    head, header, blocks = read(path, data, block_bytes=block_bytes)
    assert head + b"".join(block.joined() for block in blocks) == data
    got = [content(cell) for block in blocks for cell in block.cells]
    rows = list(csv.reader(io.StringIO(text, newline="")))
    # The csv module gives a row without cells for an empty line, which in a file of one column is an empty cell.
    expected = [cell.strip(" \t\r\n").encode() for row in rows[1:] for cell in (row or [""])]
    assert got == expected
    assert len(header) == width


@settings(max_examples=200, deadline=None)
@given(files())
def test_fast_and_careful_splitting_agree(path, file):
    text, _ = file
    expected = cells_of(path, text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_rows, "split_regular_rows", lambda *_, **__: None)
        assert cells_of(path, text.encode()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n1,2\n3,4\n",
        "x,y\r\n1,2\r\n3,4\r\n",
        'x,y\n"a,b",2\n"c\nd","4"\n',
        'x,y\r\n"a\r\nb",2\r\n',
        'x,y\n"a""b",2\n"",4',
        "x\n1\n\n2",
    ],
)
def test_regular_files_take_the_fast_path(path, text, monkeypatch):
    expected = cells_of(path, text.encode())
    calls = []
    careful = _rows.split_rows
    monkeypatch.setattr(_rows, "split_rows", lambda *arguments: calls.append(arguments) or careful(*arguments))
    assert cells_of(path, text.encode()) == expected
    assert calls == []


@pytest.mark.parametrize(
    "text", ['x,y\na"b,2\n', 'x,y\n"a"b,2\n', 'x,y\n"a" ,2\n', "x,y\n1,2\r\n3,4\n", "x,y\n1,2\n\n"]
)
def test_irregular_files_take_the_careful_path(path, text, monkeypatch):
    calls = []
    careful = _rows.split_rows
    monkeypatch.setattr(_rows, "split_rows", lambda *arguments: calls.append(arguments) or careful(*arguments))
    assert len(cells_of(path, text.encode())) == text.count(",") - 1
    assert len(calls) >= 1


def test_quotes_inside_a_cell_are_text(path):
    assert cells_of(path, b'x,y\n5" disk,a"b"c\n"q"r",2\n') == [[b'5" disk', b'a"b"c'], [b'"q"r"', b"2"]]
    assert content(b'"q"r"') == b'qr"'


def test_byte_order_mark_is_no_part_of_the_first_name(path):
    for block_bytes in (1, 2, 3, 64):
        head, header, _ = read(path, b'\xef\xbb\xbf"x",y\n1,2\n', block_bytes=block_bytes)
        assert (head, header) == (b'\xef\xbb\xbf"x",y\n', [b'"x"', b"y"])


def test_empty_lines_are_kept_and_are_no_rows_of_several_columns(path):
    data = b"x,y\n\n1,2\r\n\r\n\n3,4\n\n"
    for block_bytes in (1, 4, 64):
        head, _, blocks = read(path, data, block_bytes=block_bytes)
        assert head + b"".join(block.joined() for block in blocks) == data
        assert next(block.cells for block in blocks if block.cells)[:2] == [b"1", b"2"]
        assert sum(len(block.cells) for block in blocks) == 4


def test_empty_lines_are_empty_cells_of_one_column(path):
    assert cells_of(path, b"x\n\n1\n\n") == [[b""], [b"1"], [b""]]


@pytest.mark.parametrize("block_bytes", [1, 3, 1 << 20])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty; a CSV file needs a header"),
        (b"\xef\xbb\xbf", "empty but for a byte order mark"),
        (b"x,y\n1,2\n3\n", r"data row 2 \(line 3\) has 1 field, the header has 2"),
        (b"x,y\n1,2\n3,4,5\n", r"data row 2 \(line 3\) has 3 fields, the header has 2"),
        (b'x,y\n"1\n1",2\n\n3,4,5', r"data row 2 \(line 5\) has 3 fields, the header has 2"),
        (b"x,y\n1,2\n 3\n", r"data row 2 \(line 3\) has 1 field, the header has 2"),
        (b'x,y\n1,2\n"3,4\n5,6\n', "line 3 opens a quote that is never closed"),
        (b'x,"y\n1,2\n', "line 1 opens a quote that is never closed"),
        (b'x,y\n1,"a""', "line 2 opens a quote that is never closed"),
        (b"x,y\n1,2\r3,4\n", "line 2 has a carriage return without a line feed"),
        (b"x,y\n1,2\n3,4\r", "line 3 has a carriage return without a line feed"),
        (b"x,y\r1,2\r", "line 1 has a carriage return without a line feed"),
        (b"x,y\n1,2\n3,\0\n", "line 3 has a NUL byte"),
        ("x,y\n1,2\n".encode("utf-16"), "the file is UTF-16"),
    ],
)
def test_broken_files_are_refused(path, data, message, block_bytes):
    with pytest.raises(InputDataError, match=message):
        read(path, data, block_bytes=block_bytes)


def test_a_quote_that_is_never_closed_does_not_fill_the_memory(path, monkeypatch):
    monkeypatch.setattr(_rows, "MAX_RECORD_BYTES", 1000)
    with pytest.raises(InputDataError, match=r"row that begins on line 3 is longer than 1000 bytes; perhaps a quote"):
        read(path, b'x,y\n1,2\n"' + b"3,4\n" * 10_000, block_bytes=64)


def test_other_delimiters(path):
    assert cells_of(path, b"x|y\n1,5|2\n", delimiter=b"|") == [[b"1,5", b"2"]]
    assert cells_of(path, b"x\ty\n1\t\n", delimiter=b"\t") == [[b"1", b""]]
    assert cells_of(path, b"x^y\n1^]\n", delimiter=b"^") == [[b"1", b"]"]]
