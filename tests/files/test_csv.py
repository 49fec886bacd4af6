"""CSV files noised: which bytes change, to what, and what is refused."""

import bz2
import csv
import gzip
import io
import lzma
import math
from fractions import Fraction
from pathlib import Path

import exact_oracles
import file_oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapnoise
from lapnoise.errors import InputDataError, LapnoiseWarning, SeededNoiseWarning
from lapnoise.files import _rows, add_noise

EXAMPLE = Path(__file__).parents[2] / "examples" / "us_population_2000.csv"


def noised(folder: Path, data: bytes | str, name: str = "source.csv", **options) -> bytes:
    """Return the bytes that come out, with seed 7, epsilon 0.5 and sensitivity 1."""
    source, target = folder / name, folder / f"target{Path(name).suffix}"
    source.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.warns(SeededNoiseWarning):
        add_noise(source, target, **{"epsilon": 0.5, "sensitivity": 1, "seed": 7, "force": True, **options})
    assert source.read_bytes() == (data.encode() if isinstance(data, str) else data)
    return target.read_bytes()


def noise(cells: int, changed: int | None = None, columns: int = 1) -> list[file_oracle.Draw]:
    return file_oracle.draws(cells, 0.5, 1, changed, columns)


def added(value: str | float, draw: file_oracle.Draw) -> str:
    return repr(file_oracle.released(value, draw))


def test_shipped_example(tmp_path):
    with EXAMPLE.open(newline="") as file:
        rows = list(csv.reader(file))
    expected = [",".join(rows[0])]
    for (band, sex, people), draw in zip(rows[1:], noise(len(rows) - 1), strict=True):
        expected.append(f"{band},{sex},{added(people, draw)}")
    assert noised(tmp_path, EXAMPLE.read_bytes()) == ("\n".join(expected) + "\n").encode()


def test_columns_not_named_keep_their_bytes(tmp_path):
    # C-01: identifiers beyond 2**53 beside blanks; leading zeros, trailing zeros, dates, and the two kinds of empty.
    text = (
        "id,code,price,day,note,n\n"
        '1577134800018226901,007,1.50,2000-01-02,,1\n,0x1F,1e3,02.01.2000,"",2\n'
        '9007199254740993,1_0,NaN," a, b",x""y,3\n'
    )
    a, b, c = noise(3)
    expected = (
        "id,code,price,day,note,n\n"
        f'1577134800018226901,007,1.50,2000-01-02,,{added(1, a)}\n,0x1F,1e3,02.01.2000,"",{added(2, b)}\n'
        f'9007199254740993,1_0,NaN," a, b",x""y,{added(3, c)}\n'
    )
    assert noised(tmp_path, text, columns=["n"]).decode() == expected


def test_each_column_has_its_words_in_file_order(tmp_path):
    draws = noise(4, columns=2)
    expected = f"a,x,b\n{added(1, draws[0])},u,{added(2, draws[1])}\n{added(3, draws[2])},v,{added(4, draws[3])}\n"
    for columns in (["a", "b"], ["b", "a"], ("b ", " a")):
        assert noised(tmp_path, "a,x,b\n1,u,2\n3,v,4\n", columns=columns).decode() == expected


def test_missing_cells_stay_and_take_their_word(tmp_path):
    draws = noise(4)
    text = 'a,n\nx,1\ny,\nz,"NA"\nw,4\n'
    expected = f'a,n\nx,{added(1, draws[0])}\ny,\nz,"NA"\nw,{added(4, draws[3])}\n'
    assert noised(tmp_path, text).decode() == expected


def test_missing_tokens_can_be_chosen(tmp_path):
    draws = noise(2)
    assert noised(tmp_path, "n\n*\n1\n", missing=["*"]).decode() == f"n\n*\n{added(1, draws[1])}\n"


def test_empty_cells_are_refused_when_they_do_not_count_as_missing(tmp_path):
    got = refusal(tmp_path, "n,a\n1,x\n,y\n", InputDataError, columns="n", missing=["*"])
    assert got.startswith("data row 2 (line 3), column 'n' has an empty cell")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_last_line_and_byte_order_mark(tmp_path, end, last, mark):
    a, b = noise(2)
    text = end.join(["a,n", "x,1", "y,2"]) + end * last
    expected = end.join(["a,n", f"x,{added(1, a)}", f"y,{added(2, b)}"]) + end * last
    assert noised(tmp_path, mark + text.encode()) == mark + expected.encode()


def test_each_row_keeps_its_own_line_end_and_empty_lines_stay(tmp_path):
    a, b, c = noise(3)
    assert (
        noised(tmp_path, b"n,a\r\n1,x\n\n2,y\r\n3,z\n\r\n")
        == f"n,a\r\n{added(1, a)},x\n\n{added(2, b)},y\r\n{added(3, c)},z\n\r\n".encode()
    )


def test_other_encodings_pass_through(tmp_path):
    (draw,) = noise(1)
    text = "straße,größe\n€ü,1\n"
    assert noised(tmp_path, text.encode("cp1252"), columns=["gr\udcf6\udcdfe"]) == (
        f"straße,größe\n€ü,{added(1, draw)}\n".encode("cp1252")
    )
    assert noised(tmp_path, text, columns=["größe"]) == f"straße,größe\n€ü,{added(1, draw)}\n".encode()


def test_tabs_and_other_delimiters(tmp_path):
    (draw,) = noise(1)
    assert noised(tmp_path, "a\tn\n1,5\t2\n", name="s.tsv").decode() == f"a\tn\n1,5\t{added(2, draw)}\n"
    assert noised(tmp_path, "a;n\n1,5;2\n", delimiter=";").decode() == f"a;n\n1,5;{added(2, draw)}\n"
    assert noised(tmp_path, "a|n\nb|2\n", name="s.txt", format="csv", delimiter="|").decode() == (
        f"a|n\nb|{added(2, draw)}\n"
    )


def test_noisy_numbers_have_no_quotes(tmp_path):
    """Some writers quote negative numbers alone, or missing cells: what a cell said must not show in its quotes."""
    a, b = noise(2)
    assert noised(tmp_path, 'n,a\n"1","x"\n 2 ,y\n').decode() == f'n,a\n{added(1, a)},"x"\n{added(2, b)},y\n'


@pytest.mark.parametrize("mechanism", ["laplace", "discrete-laplace"])
def test_missing_cells_that_are_filled_cannot_be_told(tmp_path, mechanism):
    """As pandas writes a missing number where it quotes all that is no number."""
    options = {"mechanism": mechanism, "sensitivity": None, "local": True, "clip": (0, 10), "fill": 5}
    missing = noised(tmp_path, 'a,n\nx,1\ny,""\nz,"NA"\nw,\n', **options)
    assert missing == noised(tmp_path, "a,n\nx,1\ny,5\nz,5\nw,5\n", **options)


def test_other_quotes(tmp_path):
    """The quote that is given quotes cells and names; the usual one is then a character like others."""
    a, b, c = noise(3)
    text = "'it''s, a','n\nn'\n'x,\n\"','1'\n\"y, 2 \nz''\"\",'NA'\n"
    expected = f"'it''s, a','n\nn'\n'x,\n\"',{added(1, a)}\n\"y,{added(2, b)}\nz''\"\",'NA'\n"
    for columns in (["n\nn"], None):
        assert noised(tmp_path, text, quote="'", columns=columns).decode() == expected
    text, expected = "n|m\n$$|'\n$a$$b$|\"\n$3$|$|$", f"n|m\n$$|'\n$a$$b$|\"\n{added(3, c)}|$|$"
    assert noised(tmp_path, text, quote="$", delimiter="|", missing=["", "a$b"], columns="n").decode() == expected


def test_other_quotes_around_integers(tmp_path):
    draws = [file_oracle.step_at(2.0, i) for i in range(3)]
    got = noised(tmp_path, "'n'\n'7'\n''\n-7", quote="'", mechanism="discrete-laplace").decode()
    assert got == f"'n'\n{7 + draws[0]}\n''\n{-7 + draws[2]}"


def test_no_quotes(tmp_path):
    a, b = noise(2)
    text, expected = '"a,n\n"x,1\ny"", 2 ', f'"a,n\n"x,{added(1, a)}\ny"",{added(2, b)}'
    assert noised(tmp_path, text, quote=None).decode() == expected
    assert noised(tmp_path, text, quote=None, columns="n").decode() == expected
    assert noised(tmp_path, '"n"\n1\n2', quote=None, columns='"n"').decode() == f'"n"\n{added(1, a)}\n{added(2, b)}'


@pytest.mark.parametrize("quote", ["'", None])
def test_numbers_in_quotes_that_are_none_are_text(tmp_path, quote):
    got = refusal(tmp_path, 'a,n\nx,1\ny,"5"\n', InputDataError, columns="n", quote=quote)
    assert got == (
        "data row 2 (line 3), column 'n' has text, where a finite number or a missing cell must stand "
        "(decimal commas, thousands separators and units are not read)"
    )
    (tmp_path / "s.csv").write_text('m,n\n1,"5"\n2,"6"\n')
    with pytest.warns(LapnoiseWarning, match=r"left without noise: column 'n' has numbers but also text at data row 1"):
        receipt = add_noise(tmp_path / "s.csv", tmp_path / "t.csv", epsilon=1, sensitivity=1, quote=quote)
    assert receipt.columns == ("m",)


def test_a_quote_is_no_delimiter_that_was_forgotten(tmp_path):
    (draw,) = noise(1)
    assert noised(tmp_path, "|n|\n|1|\n", quote="|").decode() == f"|n|\n{added(1, draw)}\n"
    got = refusal(tmp_path / "new", "|n|;|m|\n|1|;|2|\n", InputDataError, quote="|")
    assert got.endswith("with ';' in it and no ','; give the delimiter (--delimiter ';')")


@pytest.mark.parametrize("changed", [1, 3, 10**6])
def test_changed_fixes_the_lattice(tmp_path, changed):
    a, b = noise(2, changed)
    assert noised(tmp_path, "n\n1\n2.5\n", changed=changed).decode() == f"n\n{added(1, a)}\n{added('2.5', b)}\n"


def test_discrete_noise_writes_integers(tmp_path):
    draws = [file_oracle.step_at(2.0, file_oracle.position(i, 2)) for i in range(8)]
    text = 'a,n,m\nx,1,007\n"y",,-5\nz,"12", +3 \nw,NA,0\n'
    got = noised(tmp_path, text, columns=["m", "n"], mechanism="discrete-laplace").decode()
    assert got == (
        f'a,n,m\nx,{1 + draws[0]},{7 + draws[1]}\n"y",,{-5 + draws[3]}\n'
        f"z,{12 + draws[4]},{3 + draws[5]}\nw,NA,{draws[7]}\n"
    )
    assert noised(tmp_path, text, columns=["m", "n"], mechanism="discrete-laplace", changed=2).decode() == got


def test_discrete_sums_saturate_and_are_exact(tmp_path):
    values = [2**63 - 1, -(2**63), 2**60 + 128, 2**60 + 129] * 5
    draws = [file_oracle.step_at(2.0, i) for i in range(20)]
    expected = [exact_oracles.integer_sum(value, draw) for value, draw in zip(values, draws, strict=True)]
    assert {2**63 - 1, -(2**63 - 1)} < set(expected)
    got = noised(tmp_path, "n\n" + "".join(f"{value}\n" for value in values), mechanism="discrete-laplace")
    assert [int(line) for line in got.split()[1:]] == expected


def test_discrete_result_does_not_depend_on_block_size(tmp_path, monkeypatch):
    text = "a,m,n\n" + "".join(f'"x{i}",{i},{"" if i % 7 == 0 else -i}\n' for i in range(300))
    options = {"columns": ["m", "n"], "mechanism": "discrete-laplace"}
    expected = noised(tmp_path, text, **options)
    for block_bytes in (1, 17, 4096):
        monkeypatch.setattr(_rows, "BLOCK_BYTES", block_bytes)
        assert noised(tmp_path, text, **options) == expected


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("1.0", "a number that is no integer"),
        ("5.", "a number that is no integer"),
        ("1e3", "a number that is no integer"),
        ("9223372036854775808", "an integer of more than 64 bits"),
        ("secret", "text"),
        ("1_000", "text"),
        ("inf", "an infinite number"),
    ],
)
@pytest.mark.parametrize("columns", [["n"], None])
def test_discrete_noise_takes_integers_only(tmp_path, cell, kind, columns):
    text = f"a,n\nx,1\ny,{cell}\nz,3.5\n"
    place = "data row 2 (line 3), column 'n'"
    got = refusal(tmp_path, text, InputDataError, columns=columns, mechanism="discrete-laplace")
    if columns is None and kind in ("text", "an infinite number"):
        expected = f"no column is numeric throughout: column 'n' has numbers but also {kind} at {place}"
    else:
        expected = f"{place} has {kind}, where an integer of 64 bits or a missing cell must stand"
    assert got.startswith(expected)


def test_a_column_of_decimals_counts_as_numeric_for_discrete_noise_too(tmp_path):
    got = refusal(tmp_path, "m,n\n1,1.5\n", ValueError, mechanism="discrete-laplace")
    assert got == "columns must be given, since 2 columns are numeric: 'm', 'n'"


def test_header_only(tmp_path):
    for text in ("a,n\n", "a,n", "a,n\r\n\r\n"):
        assert noised(tmp_path, text) == text.encode()
        assert noised(tmp_path, text, columns="n") == text.encode()


def test_named_column_with_missing_cells_only(tmp_path):
    assert noised(tmp_path, "a,n\nx,\ny,NA\n", columns="n") == b"a,n\nx,\ny,NA\n"


def test_sum_beyond_the_largest_float_saturates(tmp_path):
    largest = repr(math.nextafter(math.inf, 0))
    source, target = tmp_path / "s.csv", tmp_path / "t.csv"
    source.write_text("n\n" + f"{largest}\n-{largest}\n" * 50)
    add_noise(source, target, epsilon=1, sensitivity=3e306)
    got = np.loadtxt(target, skiprows=1)
    assert np.isfinite(got).all()
    assert np.count_nonzero(np.abs(got) == float(largest)) > 10


raw_cells = st.text(st.sampled_from('ab1 "é.'), max_size=4).filter(lambda text: not text.startswith('"')) | st.text(
    st.sampled_from('a",\n\r é'), max_size=5
).map(lambda text: '"' + text.replace('"', '""') + '"')
numbers = st.sampled_from(["0", "12", '"7"', "-1.5", " 3", "1e2", "", "NA", '""'])


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(raw_cells, numbers, raw_cells, numbers, st.sampled_from(["\n", "\r\n"])), max_size=6),
    block_bytes=st.sampled_from([1, 5, 32, 1 << 20]),
    quote=st.sampled_from(['"', "'", "%"]),
)
def test_all_other_bytes_survive_whatever_is_in_the_file(tmp_path_factory, rows, block_bytes, quote):
    folder = tmp_path_factory.mktemp("property")
    draws = iter(noise(2 * len(rows), columns=2) if rows else [])
    text, expected = "a,m,b,n\n", "a,m,b,n\n"
    for a, m, b, n, end in rows:
        text += f"{a},{m},{b},{n}{end}"
        changed = []
        for cell in (m, n):
            draw, bare = next(draws), cell.strip('"')
            number = cell if bare in ("", "NA") else added(bare, draw)
            changed.append(number)
        expected += f"{a},{changed[0]},{b},{changed[1]}{end}"
    text, expected = text.replace('"', quote), expected.replace('"', quote)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_rows, "BLOCK_BYTES", block_bytes)
        got = noised(folder, text, columns=["m", "n"], quote=quote).decode()
    assert got == expected
    seen = [list(csv.reader(io.StringIO(part, newline=""), quotechar=quote)) for part in (text, got)]
    assert [[row[0], row[2]] for row in seen[0]] == [[row[0], row[2]] for row in seen[1]]


def test_result_does_not_depend_on_block_size_or_threads(tmp_path, monkeypatch):
    long = ".123456789123456789123456789"  # beyond the kernels
    text = "a,m,n\n" + "".join(f'"x{i}",{i}{long * (i % 5 == 0)},{"" if i % 7 == 0 else i / 8}\n' for i in range(500))
    expected = noised(tmp_path, text, columns=["m", "n"])
    for block_bytes in (1, 17, 4096):
        monkeypatch.setattr(_rows, "BLOCK_BYTES", block_bytes)
        for threads in (1, 2, 5):
            assert noised(tmp_path, text, columns=["m", "n"], threads=threads) == expected


def test_without_a_seed_every_run_differs(tmp_path):
    source = tmp_path / "s.csv"
    source.write_text("n\n" + "0\n" * 20)
    for name in ("a.csv", "b.csv"):
        assert not add_noise(source, tmp_path / name, epsilon=1, sensitivity=1).seeded
    a, b = ((tmp_path / name).read_text().split()[1:] for name in ("a.csv", "b.csv"))
    assert len(a) == len(b) == 20
    assert a != b


def refusal(folder: Path, text: str | bytes, kind: type[Exception], name: str = "s.csv", **options) -> str:
    folder.mkdir(exist_ok=True)
    source = folder / name
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(kind) as caught:
        add_noise(source, folder / "t.csv", epsilon=1, sensitivity=1, **options)
    assert sorted(folder.iterdir()) == [source]
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a,n\nx,1\ny,secret\n", "data row 2 (line 3), column 'n' has text"),
        ('a,n\n"x\nx",1\n\ny,secret\n', "data row 2 (line 5), column 'n' has text"),
        ("a,n\nx,1\ny,inf\n", "data row 2 (line 3), column 'n' has an infinite number"),
        ("a,n\nx,1\ny,1e400\n", "data row 2 (line 3), column 'n' has a number beyond the largest float"),
    ],
)
@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_bad_cells_are_named_and_not_shown(tmp_path, monkeypatch, text, place, block_bytes):
    monkeypatch.setattr(_rows, "BLOCK_BYTES", block_bytes)
    got = refusal(tmp_path, text, InputDataError, columns=["n"])
    assert got.startswith(f"{place}, where a finite number or a missing cell must stand")
    assert got.endswith(("must stand", "are not read)", "; clip bounds such values (--clip)"))


def test_columns_must_be_named_when_several_are_numeric(tmp_path):
    got = refusal(tmp_path, "a,m,b,n\nx,1,y,2\n", ValueError)
    assert got == "columns must be given, since 2 columns are numeric: 'm', 'n'"


def test_columns_must_be_named_when_none_is_numeric(tmp_path):
    got = refusal(tmp_path, "a,b\nx,y\n", ValueError)
    assert got == "columns must be given, since no column is numeric; there are: 'a', 'b'"


def test_a_column_that_is_almost_numeric_is_bad_input(tmp_path):
    got = refusal(tmp_path, "a,n\nx,1\ny,<5\n", InputDataError)
    assert (
        got
        == "no column is numeric throughout: column 'n' has numbers but also text at data row 2 (line 3), column 'n'"
    )


def test_a_second_column_that_is_almost_numeric_does_not_pass_unseen(tmp_path):
    (tmp_path / "s.csv").write_text("m,n\n1,1\n2,<5\n")
    with pytest.warns(LapnoiseWarning, match=r"left without noise: column 'n' has numbers but also text at data row 2"):
        receipt = add_noise(tmp_path / "s.csv", tmp_path / "t.csv", epsilon=1, sensitivity=1)
    assert receipt.columns == ("m",)


def test_unknown_columns(tmp_path):
    got = refusal(tmp_path, "a,n\nx,1\n", ValueError, columns=["n", "b", "c"])
    assert got == "columns must name columns of the source, got 'b', 'c'; there are: 'a', 'n'"


ADVICE = "; name the columns to be noised (--columns)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b,a\n1,2,3\n",
            "columns 1 and 3 have the same name in the header" + ADVICE,
        ),
        (
            'a," a"\n1,2\n',
            "columns 1 and 2 have the same name in the header" + ADVICE,
        ),
        ("a,,b\n1,2,3\n", "column 2 has no name in the header" + ADVICE),
        ('a," "\n1,2\n', "column 2 has no name in the header" + ADVICE),
        ("\na,b\n1,2\n", "column 1 has no name in the header" + ADVICE),
        (
            "a\tn\nx\t1\n",
            r"the header has a single field, with '\t' in it and no ','; give the delimiter (--delimiter '\t')",
        ),
        (
            "a;n\nx;1\n",
            "the header has a single field, with ';' in it and no ','; give the delimiter (--delimiter ';')",
        ),
        ("1,2\n3,4\n", "the header has numbers only, so line 1 is data; a CSV file needs a header"),
    ],
)
def test_headers_that_are_refused(tmp_path, text, message):
    assert refusal(tmp_path, text, InputDataError) == message


def test_what_lies_behind_the_header_is_looked_at_after_the_charge(tmp_path, monkeypatch):
    """A NUL byte, and every row, are data: what is said of them costs what the noise does."""
    ledger, charged = lapnoise.PrivacyLedger(3), [1]
    plain = _rows.RowReader.blocks

    def blocks(self, columns):
        assert ledger.spent.epsilon == charged[-1]
        return plain(self, columns)

    monkeypatch.setattr(_rows.RowReader, "blocks", blocks)
    options = {"columns": "n", "epsilon": 1, "sensitivity": 1, "ledger": ledger}
    (tmp_path / "s.csv").write_text("a,n\nx,1\n")
    add_noise(tmp_path / "s.csv", tmp_path / "t.csv", **options)
    for text in ("a,n\nx,\0\n", "a,n\nx,secret\n"):
        charged.append(len(charged) + 1)
        (tmp_path / "s.csv").write_text(text)
        with pytest.raises(InputDataError):
            add_noise(tmp_path / "s.csv", tmp_path / "u.csv", **options)
    assert ledger.spent.epsilon == 3


def test_values_of_a_row_that_was_taken_for_a_header_are_not_shown(tmp_path):
    got = refusal(tmp_path, "x,39725303\ny,40747962\n", ValueError, columns="people")
    assert got == "columns must name columns of the source, got 'people'; there are: 'x', 'column 2'"


def test_names_that_nobody_asks_for_may_be_missing_or_repeated(tmp_path):
    """As pandas writes an index, and spreadsheets what they like; a name that is asked for must be there once."""
    (draw,) = noise(1)
    assert noised(tmp_path, ",a,a,n\n0,x,y,5\n", columns="n").decode() == f",a,a,n\n0,x,y,{added(5, draw)}\n"
    got = refusal(tmp_path / "new", ",a,a,n\n0,1,2,5\n", InputDataError, columns=["a", "n"])
    assert got == "columns 2 and 3 have the same name in the header: 'a'"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (gzip.compress(b"a,n\nx,1\n"), "gzip, by its first bytes; decompress it first"),
        (bz2.compress(b"a,n\nx,1\n" * 1000), "bzip2, by its first bytes; decompress it first"),
        (lzma.compress(b"a,n\nx,1\n"), "xz, by its first bytes; decompress it first"),
        (b"PAR1\0\0\0", "Parquet, by its first bytes"),
        (b"\x93NUMPY\1\0v\0", "NPY, by its first bytes"),
    ],
)
def test_files_of_other_formats_are_told(tmp_path, data, name):
    assert refusal(tmp_path, data, InputDataError, columns="n") == f"the file is no CSV file but {name}"


def test_a_first_row_of_data_is_not_published_for_a_header(tmp_path):
    got = refusal(tmp_path, "x,1\ny,2\n", InputDataError)
    assert got.startswith("column 2 has a number for its name, so line 1 may be data")


def test_numbers_as_names_are_fine_when_they_are_given(tmp_path):
    a, b = noise(2)
    expected = f"2000,2001\n{added(1, a)},2\n{added(3, b)},4\n"
    with pytest.warns(LapnoiseWarning, match="line 1 is taken for the header, with numbers in it, and published"):
        assert noised(tmp_path, "2000,2001\n1,2\n3,4\n", columns="2000").decode() == expected


def test_scale_is_rounded_up(tmp_path):
    (tmp_path / "s.csv").write_text("n\n1\n")
    receipt = add_noise(tmp_path / "s.csv", tmp_path / "t.csv", epsilon=0.3, sensitivity=1)
    assert Fraction(receipt.scale) >= Fraction(10, 3) > Fraction(math.nextafter(receipt.scale, 0))
    assert Fraction(receipt.scale) * Fraction(receipt.epsilon_attained) == 1
    assert Fraction(receipt.epsilon_attained) <= Fraction(receipt.epsilon) == Fraction(3, 10)
