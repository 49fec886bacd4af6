"""Entries as people read them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from lapnoise.ledger._amounts import Amount, from_text
from lapnoise.ledger._chain import CHARGES, Row

__all__ = ["LedgerEntry", "entries_of", "entry_of"]


class LedgerEntry(NamedTuple):
    """One charge.

    Attributes
    ----------
    number : int
        Its place in the ledger; results take places too.
    time : str
        When it was charged, in UTC.
    kind : str
        "spend", "parallel" or "release".
    label : str
        What it was for.
    epsilon, delta : Fraction
        What it cost.
    state : str
        "charged"; for a release "reserved" until its noise was drawn and recorded, then "released".
    request_id : str or None
        Of a release that can be asked for again.
    private : bool
        False where the noise came from a seed, so that it protects nobody.
    details : dict
        What else is known: the mechanism and its parameters, shapes and dtypes, the parts.
    hash : str
        Covers this entry and all before it.
    """

    number: int
    time: str
    kind: str
    label: str
    epsilon: Fraction
    delta: Fraction
    state: str
    request_id: str | None
    private: bool
    details: dict[str, Any]
    hash: str

    @property
    def cost(self) -> Amount:
        """Epsilon and delta."""
        return Amount(self.epsilon, self.delta)

    @property
    def rho(self) -> Fraction | None:
        """Cost in zero-concentrated differential privacy, where the mechanism told one."""
        return from_text(self.details["rho"]) if "rho" in self.details else None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as a dictionary that ``json`` can write."""
        return {**self._asdict(), **self.cost.to_dict()}


def entry_of(row: Row, cost: Amount, *, released: bool = False) -> LedgerEntry:
    """Return a charge from its row."""
    details = {} if row.details == "{}" else json.loads(row.details)
    state = "charged" if row.kind != "release" else "released" if released else "reserved"
    private = details.get("private", True)
    return LedgerEntry(*row[:4], *cost, state, row.request_id, private, details, row.hash)


def entries_of(rows: Iterable[Row]) -> list[LedgerEntry]:
    """Return the charges among rows."""
    rows = list(rows)
    done = {json.loads(row.details)["of"] for row in rows if row.kind == "result"}
    return [
        entry_of(row, Amount(from_text(row.epsilon), from_text(row.delta)), released=row.number in done)
        for row in rows
        if row.kind in CHARGES
    ]
