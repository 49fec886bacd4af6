"""The charge of a run to a ledger: after everything that can be checked without the data, before the data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lapnoise._check import file_arguments
from lapnoise.ledger import Amount, PrivacyLedger
from lapnoise.ledger._release import describe

__all__ = ["Charge"]


class Charge:
    """What one run costs, charged once.

    Parameters
    ----------
    ledger : PrivacyLedger, str or path-like
        The ledger, or the path of one that exists.
    dry_run : bool
        Whether to ask only if the cost would fit.
    """

    def __init__(self, ledger: PrivacyLedger | str | os.PathLike[str], *, dry_run: bool) -> None:
        self._ledger = ledger if isinstance(ledger, PrivacyLedger) else PrivacyLedger.open(ledger)
        self._dry_run = dry_run
        self._label = ""
        self._cost: Amount | None = None
        self.entry: int | None = None

    @property
    def name(self) -> str:
        """The path of the ledger."""
        return "in memory" if self._ledger.path is None else str(self._ledger.path)

    def refuse_target(self, target: Path) -> None:
        """Refuse to write the result over the ledger, or over what SQLite keeps beside it."""
        ledger = self._ledger.path
        if ledger is None:
            return
        beside = [ledger.with_name(ledger.name + suffix) for suffix in ("", "-journal", "-wal", "-shm", "-lock")]
        same = target.exists() and ledger.exists() and target.samefile(ledger)
        # A directory that is replaced would take along what lies in it.
        within = ledger.resolve().is_relative_to(target.resolve())
        file_arguments.not_the_ledger(
            target, same or within or target.absolute() in [path.absolute() for path in beside]
        )

    @property
    def told(self) -> str:
        """What was charged, and what is left."""
        cost, left = self._cost, self._ledger.remaining
        return f"{cost} was charged as entry {self.entry} of the ledger {self.name} and stays so; {left} is left"

    def reserve(self, mechanism: Any, label: str, *, seeded: bool, inputs: Sequence[Any] = ("file",)) -> None:
        """Charge what a mechanism was asked to cost; BudgetExhaustedError where it does not fit.

        ``inputs`` says what is noised, for the record, without values.
        """
        self._label = label.encode("utf-8", "backslashreplace").decode()
        request = describe(mechanism, {"inputs": list(inputs)}, label=self._label, private=not seeded)
        if self._dry_run:
            self._ledger._account.refuse_unless_fits(request.cost)
        else:
            self.entry = self._ledger._account.reserve(self._label, request.cost, request.details)[1]
            self._cost = request.cost

    def record(self) -> None:
        """Record that the noise was drawn."""
        if self.entry is not None:
            self._ledger._account.record(self.entry, self._label, None)
