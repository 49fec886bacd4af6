"""What README and the guide show runs, and the tables in them are what the commands print."""

import re
import shlex
from pathlib import Path

import pytest
import spark_cluster

from lapnoise.cli import main

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "docs/guide.md", "docs/auditing.md", "docs/experiments.md"]

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"<!-- (lapnoise [^\n]*?) -->\n(?:```text\n)?(.*?)(?:```\n)?<!-- end -->", re.DOTALL)


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
    test_code_runs("docs/spark.md", capsys)


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
