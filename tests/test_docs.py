"""What README and the docs show runs, their tables are what the commands print, and their links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest
import spark_cluster

from lapnoise.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [
    *("README.md", "docs/guide.md", "docs/choosing.md", "docs/ledger.md"),
    *("docs/auditing.md", "docs/experiments.md", "docs/dask.md", "docs/embedding.md", "docs/migrating.md"),
]
ON_SPARK = "docs/spark.md"
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
LARGEST_PICTURES = 200_000

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"<!-- (lapnoise [^\n]*?) -->\n(?:```text\n)?(.*?)(?:```\n)?<!-- end -->", re.DOTALL)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Let the pages run where the examples are, and where files that they write do no harm."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("page", PAGES)
def test_code_runs(page, capsys):
    """The blocks of a page, one after the other, run without a warning, and so do the checks within."""
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert capsys.readouterr().out


@spark_cluster.java
def test_the_page_on_spark_runs(capsys):
    """So do the blocks of the page on Spark, which start a session and end it."""
    test_code_runs(ON_SPARK, capsys)


def test_no_code_is_left_out():
    """Every page that shows Python is run."""
    pages = ["README.md", *(f"docs/{one.name}" for one in sorted((ROOT / "docs").glob("*.md")))]
    assert {page for page in pages if BLOCK.search((ROOT / page).read_text())} == {*PAGES, ON_SPARK}
    assert all(text.count("```python") == len(BLOCK.findall(text)) for text in map(_read, pages))


def test_links_lead_somewhere():
    """Links and pictures of all pages are there, README leads to every page, and no picture is there for nothing."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    links = {
        page: {(page.parent / link).resolve() for link in LINK.findall(page.read_text()) if ":" not in link}
        for page in pages
    }
    for page, targets in links.items():
        missing = [target for target in targets if not target.exists()]
        assert not missing, f"{page.name} links {missing}"
    assert set(pages[1:]) <= links[pages[0]]
    pictures = set((ROOT / "docs" / "pictures").glob("*.png"))
    assert pictures <= set().union(*links.values())
    assert 0 < sum(picture.stat().st_size for picture in pictures) < LARGEST_PICTURES


def test_pictures_are_drawn_by_the_script(tmp_path, monkeypatch):
    """The script that the docs name draws the pictures that are there."""
    script = ROOT / "docs" / "pictures" / "draw.py"
    names: dict[str, object] = {"__name__": "drawn", "__file__": str(script)}
    exec(compile(script.read_text(), str(script), "exec"), names)
    names["HERE"] = tmp_path
    names["main"]()
    assert {one.name for one in tmp_path.iterdir()} == {one.name for one in script.parent.glob("*.png")}


def _read(page):
    return (ROOT / page).read_text()


TABLES = [(command, table) for page in PAGES for command, table in TABLE.findall((ROOT / page).read_text())]


def test_there_are_tables():
    """The guide compares the mechanisms at one coordinate and at many, and there is an experiment."""
    assert len(TABLES) == 3


@pytest.mark.parametrize(("command", "table"), TABLES)
def test_tables_are_what_commands_print(command, table, capsys):
    """A table between marks that name a command is that command's output."""
    code = main(shlex.split(command)[1:])
    assert code == 0
    assert capsys.readouterr().out == table
