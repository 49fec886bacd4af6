"""The commands ``lapnoise ledger create``, ``show``, ``verify`` and ``export``."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lapnoise._console import ExitCode, guarded, printable, say, tell, tell_json
from lapnoise.errors import LedgerDamagedError, LedgerError

if TYPE_CHECKING:
    from lapnoise.ledger import LedgerEntry, PrivacyLedger

__all__ = ["ledger_commands"]

_existing = click.argument("path", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
_as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group("ledger")
def ledger_commands() -> None:
    """Budgets in files: make one, see what is left, verify it, list its entries."""


@ledger_commands.command()
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False))
@click.option("--epsilon", metavar="E", required=True, help="The whole budget, for instance 1 or 1/3.")
@click.option("--delta", metavar="D", default="0", show_default=True, help="Its delta.")
def create(path: str, epsilon: str, delta: str) -> int:
    """Make a ledger in a new FILE. An existing one is never touched."""

    def run() -> int:
        import os

        from lapnoise.ledger import PrivacyLedger

        if os.path.lexists(path):
            say(f"a file is there already: {path!r}; a budget is never replaced")
            return ExitCode.NO_OUTPUT
        ledger = PrivacyLedger(epsilon, delta, path)
        say(f"{path}: a ledger of {ledger.total}, of which {ledger.remaining} is left; head {ledger.head}")
        return ExitCode.DONE

    return _answered(run)


@ledger_commands.command()
@_existing
@_as_json
def show(path: str, as_json: bool) -> int:
    """Say what FILE was made with, what is spent, and what is left, exactly."""

    def run() -> int:
        from lapnoise.ledger import PrivacyLedger

        facts = _facts(PrivacyLedger.open(path), path)
        if as_json:
            tell_json(facts)
            return ExitCode.DONE
        for name in ("total", "spent", "remaining"):
            tell(f"{name}: {_told(facts[name])}")
        tell(f"entries: {facts['entries']}, of which {facts['reserved']} reserved without a result")
        for entry in facts["latest"]:
            told = f"  {entry['number']}: {entry['time']}, {entry['label']!r}, {_told(entry)}, {entry['state']}"
            tell(printable(told))
        for name, epsilon in facts.get("tighter", {}).items():
            tell(f"spent, by {name}: epsilon {epsilon:.9g} for delta {facts['total']['delta']}")
        tell(f"head: {facts['head']} (entries and recorded results, and their hash)")
        return ExitCode.DONE

    return _answered(run)


@ledger_commands.command()
@_existing
@click.option("--head", metavar="N:HASH", help="A head kept elsewhere, as `show` prints it: tells older copies.")
@_as_json
def verify(path: str, head: str | None, as_json: bool) -> int:
    """Recompute every hash and sum in FILE and say what is wrong. Exit code 3 if anything is."""

    def run() -> int:
        from lapnoise._check import ledger_arguments
        from lapnoise.ledger import Head
        from lapnoise.ledger._verification import verify_file

        expected = None if head is None else Head(*ledger_arguments.ledger_head(head))
        found = verify_file(ledger_arguments.ledger_path(path), 30.0, expected)
        if as_json:
            tell_json(
                {
                    "file": path,
                    "ok": found.ok,
                    "problems": list(found.problems),
                    "head": None if found.head is None else str(found.head),
                }
            )
        else:
            for problem in found.problems:
                say(f"{path}: {problem}")
            if found.ok:
                tell(printable(f"{path}: nothing is wrong; head {found.head}"))
        return ExitCode.DONE if found.ok else ExitCode.BAD_INPUT

    return _answered(run)


@ledger_commands.command()
@_existing
@click.option("--csv", "as_csv", is_flag=True, help="CSV, the default.")
@_as_json
def export(path: str, as_csv: bool, as_json: bool) -> int:
    """Print all entries of FILE, in order, on stdout."""
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")

    def run() -> int:
        from lapnoise.ledger import PrivacyLedger

        entries = [entry.to_dict() for entry in PrivacyLedger.open(path).entries()]
        if as_json:
            tell_json(entries)
            return ExitCode.DONE
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(_COLUMNS)
        table.writerows([_cell(entry[name]) for name in _COLUMNS] for entry in entries)
        tell(text.getvalue(), end="")
        return ExitCode.DONE

    return _answered(run)


_COLUMNS = (
    "number",
    "time",
    "kind",
    "label",
    "epsilon",
    "delta",
    "epsilon_float",
    "delta_float",
    "state",
    "request_id",
    "private",
    "details",
    "hash",
)


def _answered(run: Callable[[], int]) -> int:
    def answering() -> int:
        try:
            return run()
        except LedgerDamagedError as error:
            say(str(error))
            return ExitCode.BAD_INPUT
        except LedgerError as error:
            say(str(error))
            return ExitCode.NO_OUTPUT
        except (TypeError, ValueError) as error:
            say(str(error))
            return ExitCode.USAGE

    return guarded(answering)


def _facts(ledger: PrivacyLedger, path: str) -> dict[str, Any]:
    entries = ledger.entries()
    facts: dict[str, Any] = {
        "file": path,
        "total": ledger.total.to_dict(),
        "spent": ledger.spent.to_dict(),
        "remaining": ledger.remaining.to_dict(),
        "entries": len(entries),
        "reserved": sum(entry.state == "reserved" for entry in entries),
        "latest": [_latest(entry) for entry in entries[-_LATEST:]],
        "head": str(ledger.head),
    }
    if ledger.total.delta:
        found = ledger.composition(ledger.total.delta)
        facts["tighter"] = {"advanced composition": found.advanced, "zCDP": found.zcdp}
    return facts


def _latest(entry: LedgerEntry) -> dict[str, Any]:
    facts = entry.to_dict()
    return {name: facts[name] for name in ("number", "time", "label", *_AMOUNT, "state")}


def _told(amount: dict[str, Any]) -> str:
    texts = (
        f"{name} {amount[name]}" + (f" (about {amount[name + '_float']:.9g})" if len(amount[name]) > _SHORT else "")
        for name in ("epsilon", "delta")
    )
    return ", ".join(texts)


_AMOUNT = ("epsilon", "epsilon_float", "delta", "delta_float")
_LATEST = 10
_SHORT = 24


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if isinstance(value, dict) else value
