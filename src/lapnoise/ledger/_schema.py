"""Tables and triggers of a ledger's file: rows can be added, in order, and nothing can be changed or taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["APPLICATION_ID", "FORMAT", "SCHEMA", "schema_problems"]

APPLICATION_ID = 0x4C61704C
"""The letters LapL, in the header of the file."""

FORMAT = 1
"""The ``user_version`` of the file; a larger one is refused."""

_TABLES = {
    "head": """CREATE TABLE head (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  identity TEXT NOT NULL,
  created TEXT NOT NULL,
  total_epsilon TEXT NOT NULL,
  total_delta TEXT NOT NULL,
  count INTEGER NOT NULL,
  spent_epsilon TEXT NOT NULL,
  spent_delta TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT""",
    "entries": """CREATE TABLE entries (
  number INTEGER PRIMARY KEY,
  time TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('spend', 'parallel', 'release', 'result')),
  label TEXT NOT NULL,
  epsilon TEXT NOT NULL,
  delta TEXT NOT NULL,
  request_id TEXT,
  details TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT""",
    "results": """CREATE TABLE results (
  number INTEGER PRIMARY KEY REFERENCES entries (number),
  recorded INTEGER NOT NULL REFERENCES entries (number),
  content BLOB NOT NULL
) STRICT""",
    "requests": "CREATE UNIQUE INDEX requests ON entries (request_id) WHERE request_id IS NOT NULL",
}


def _forbidding(name: str, event: str, table: str, when: str, message: str) -> str:
    return f"CREATE TRIGGER {name} BEFORE {event} ON {table} {when}BEGIN SELECT RAISE(ABORT, '{message}'); END"


# INSERT OR REPLACE deletes rows without a DELETE trigger, so each insertion is looked at too.
_TRIGGERS = {
    name: _forbidding(name, *rest)
    for name, *rest in (
        ("entries_stay", "UPDATE", "entries", "", "entries of a ledger cannot be changed"),
        ("entries_remain", "DELETE", "entries", "", "entries of a ledger cannot be deleted"),
        (
            "entries_follow",
            "INSERT",
            "entries",
            "WHEN NEW.number IS NOT (SELECT count + 1 FROM head) "
            "OR EXISTS (SELECT 1 FROM entries WHERE request_id = NEW.request_id) ",
            "entries of a ledger follow one another",
        ),
        ("results_stay", "UPDATE", "results", "", "results in a ledger cannot be changed"),
        ("results_remain", "DELETE", "results", "", "results in a ledger cannot be deleted"),
        (
            "results_are_new",
            "INSERT",
            "results",
            "WHEN EXISTS (SELECT 1 FROM results WHERE number = NEW.number) ",
            "results in a ledger cannot be changed",
        ),
        ("head_remains", "DELETE", "head", "", "the head of a ledger cannot be deleted"),
        (
            "head_is_one",
            "INSERT",
            "head",
            "WHEN EXISTS (SELECT 1 FROM head) ",
            "the head of a ledger cannot be replaced",
        ),
        (
            "head_moves_on",
            "UPDATE",
            "head",
            "WHEN NEW.one IS NOT OLD.one OR NEW.identity IS NOT OLD.identity OR NEW.created IS NOT OLD.created "
            "OR NEW.total_epsilon IS NOT OLD.total_epsilon OR NEW.total_delta IS NOT OLD.total_delta "
            "OR NEW.count IS NOT OLD.count + 1 "
            "OR NEW.hash IS NOT (SELECT hash FROM entries WHERE number = NEW.count) ",
            "the head of a ledger moves on with its entries, and its terms stay",
        ),
    )
}

SCHEMA = {**_TABLES, **_TRIGGERS}
"""The statement that makes each object, by its name."""


def schema_problems(connection: Connection) -> list[str]:
    """Return what is wrong with the kind, version, tables and triggers of an open file."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        return ["it is a SQLite file but not a ledger"]
    if version != FORMAT:
        return [f"it has format {version}, made by another version of lapnoise; this version reads format {FORMAT}"]
    found = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    problems = [f"{name} is missing" for name in SCHEMA if name not in found]
    problems += [f"{name} was altered" for name, sql in SCHEMA.items() if name in found and found[name] != sql]
    # ANALYZE, which anybody may run, adds tables of statistics; no other table can have such a name.
    more = [name for name in found if name not in SCHEMA and not name.startswith("sqlite_stat")]
    return problems + [f"{name} was added" for name in more]
