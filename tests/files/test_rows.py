"""Rows of a CSV file: what is split joins to the same bytes, and the cells are those that Python's csv module sees."""

import csv
import io
from pathlib import Path

import csv_oracle
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lapnoise.errors import InputDataError
from lapnoise.files import _rows
from lapnoise.files._cells import content
from lapnoise.files._rows import RowReader
from lapnoise.files._source import Source

QUOTES = [b'"', b"'", b"%", b"^", b"\0"]


def read(path: Path, data: bytes, delimiter: bytes = b",", quote: bytes = b'"', block_bytes: int = 1 << 20):
    """Return head, header and blocks, with all cells marked, of a file with these bytes."""
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch, Source(path) as source:
        patch.setattr(_rows, "BLOCK_BYTES", block_bytes)
        reader = RowReader(source, delimiter, quote)
        return reader.head, reader.header, list(reader.blocks(range(len(reader.header))))


def bytes_of(blocks) -> bytes:
    return b"".join(block.cells.data[block.start : block.stop].tobytes() for block in blocks)


def cells_in(blocks) -> list[bytes]:
    return [block.cells[i] for block in blocks for i in range(block.cells.size)]


def cells_of(path: Path, data: bytes, **options):
    _, header, blocks = read(path, data, **options)
    cells = cells_in(blocks)
    assert len(cells) == sum(block.rows for block in blocks) * len(header)
    return [cells[i : i + len(header)] for i in range(0, len(cells), len(header))]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("rows") / "source.csv"


plain_cells = st.text(st.sampled_from('ab1 "é.\t'), max_size=4).filter(lambda text: not text.startswith('"'))
quoted_cells = st.text(st.sampled_from('a",;\n\r é'), max_size=5).map(lambda text: '"' + text.replace('"', '""') + '"')
row_ends = st.sampled_from(["\n", "\r\n"])


def swapped(text: str, quote: bytes) -> str:
    """Return a text in which a quote and the usual one have changed places."""
    return text.translate({ord('"'): quote.decode(), ord(quote): '"'})


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
@given(files(), st.sampled_from([1, 2, 3, 7, 64, 1 << 20]), st.sampled_from(QUOTES[:-1]))
@example(('x,y\n"a""",1\n"""b""",2\n', 2), 5, b'"')
@example(('x\n""\n\n"a\n"\n', 1), 1, b"'")
def test_bytes_and_cells_survive(path, file, block_bytes, quote):
    text, width = file
    text = swapped(text, quote)
    data = text.encode()
    head, header, blocks = read(path, data, quote=quote, block_bytes=block_bytes)
    assert head + bytes_of(blocks) == data
    got = [content(cell, quote) for cell in cells_in(blocks)]
    rows = list(csv.reader(io.StringIO(text, newline=""), quotechar=quote.decode()))
    # The csv module gives a row without cells for an empty line, which in a file of one column is an empty cell.
    expected = [cell.strip(" \t\r\n").encode() for row in rows[1:] for cell in (row or [""])]
    assert got == expected
    assert len(header) == width


@settings(max_examples=500, deadline=None)
@given(
    st.text(st.sampled_from('ab",,\n\n\r '), max_size=25) | st.text(st.sampled_from('a",\n'), min_size=30, max_size=90),
    st.integers(1, 3),
    st.sampled_from([1, 2, 5, 33, 1 << 20]),
    st.sampled_from(QUOTES),
)
@example('"a\r\n', 1, 1, b'"')
@example('"a"\r', 1, 1, b"'")
@example('"a""\n', 2, 2, b"%")
def test_any_bytes_are_split_as_the_pattern_splits_them(path, text, width, block_bytes, quote):
    """Whatever follows a header: the same rows, or the same trouble first."""
    head = ",".join("xyz"[:width]) + "\n"
    text = text if quote == b"\0" else swapped(text, quote)
    expected = csv_oracle.rows_of(text.encode(), b",", width, quote)
    if isinstance(expected, str):
        with pytest.raises(InputDataError, match=expected):
            read(path, (head + text).encode(), quote=quote, block_bytes=block_bytes)
    else:
        assert cells_of(path, (head + text).encode(), quote=quote, block_bytes=block_bytes) == expected


def test_columns_that_are_not_marked_are_passed_over(path):
    data = b'a,b,c,d\n1,"2,2",3,4\n5,"6\n",7,8\n\n9,,"",0'
    path.write_bytes(data)
    for columns in ([0], [1, 3], [2], [0, 1, 2, 3]):
        with Source(path) as source:
            blocks = list(RowReader(source, b",", b'"').blocks(columns))
        rows = [[b"1", b'"2,2"', b"3", b"4"], [b"5", b'"6\n"', b"7", b"8"], [b"9", b"", b'""', b"0"]]
        assert cells_in(blocks) == [row[column] for row in rows for column in columns]
        (block,) = blocks
        assert [block.line_of(i * len(columns)) for i in range(3)] == [2, 3 + (columns[0] > 1), 6]
        assert bytes_of(blocks) == data[8:]
        for place, column in enumerate(columns):
            marked = block.column(place, len(columns))
            assert [marked[i] for i in range(3)] == [row[column] for row in rows]


def test_blocks_have_room_for_so_many_cells(path, monkeypatch):
    monkeypatch.setattr(_rows, "_MOST_CELLS", 4)
    data = b"x,y\n" + b"".join(b"%d,%d\n\n" % (i, -i) for i in range(21))
    head, _, blocks = read(path, data)
    assert [block.rows for block in blocks] == [2] * 10 + [1]
    assert [(block.first_row, block.first_line) for block in blocks] == [(2 * i + 1, 4 * i + 2) for i in range(11)]
    assert head + bytes_of(blocks) == data


def test_quotes_inside_a_cell_are_text(path):
    assert cells_of(path, b'x,y\n5" disk,a"b"c\n"q"r",2\n') == [[b'5" disk', b'a"b"c'], [b'"q"r"', b"2"]]
    assert content(b'"q"r"', b'"') == b'qr"'


def test_byte_order_mark_is_no_part_of_the_first_name(path):
    for block_bytes in (1, 2, 3, 64):
        head, header, _ = read(path, b'\xef\xbb\xbf"x",y\n1,2\n', block_bytes=block_bytes)
        assert (head, header) == (b'\xef\xbb\xbf"x",y\n', [b'"x"', b"y"])


def test_empty_lines_are_kept_and_are_no_rows_of_several_columns(path):
    data = b"x,y\n\n1,2\r\n\r\n\n3,4\n\n"
    for block_bytes in (1, 4, 64):
        head, _, blocks = read(path, data, block_bytes=block_bytes)
        assert head + bytes_of(blocks) == data
        assert cells_in(blocks) == [b"1", b"2", b"3", b"4"]


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


def test_every_quote(path):
    """Each works in the header and behind it, whatever it means in a pattern."""
    quotes = [bytes([code]) for code in range(1, 128)]
    for quote in (byte for byte in quotes if not (byte.isalnum() or byte.isspace() or byte in b",.+-_")):
        data = b"Qx,QQ\nxQ,y\nQ1,1Q,aQ\nQQQcQ,Q\nQ\n".replace(b"Q", quote)
        head, header, blocks = read(path, data, quote=quote, block_bytes=3)
        assert head + bytes_of(blocks) == data
        names = [content(cell, quote) for cell in header]
        assert names == [b"x," + quote + b"\nx", b"y"]
        assert [content(cell, quote) for cell in cells_in(blocks)] == [b"1,1", b"a" + quote, quote + b"c", b""]


def test_no_quotes(path):
    rows = [[b'"1', b'2"'], [b'"', b'""'], [b'a"', b"'"]]
    assert cells_of(path, b'"x,y"\n"1,2"\n",""\na",\'\n', quote=b"\0") == rows
    assert cells_of(path, b'"x,y"\n"1,2"\n",""\na",\'', quote=b"\0", block_bytes=1) == rows
    with pytest.raises(InputDataError, match=r"data row 1 \(line 2\) has 3 fields, the header has 2"):
        read(path, b'x,y\n"1,2",3\n', quote=b"\0")
