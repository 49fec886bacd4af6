"""Charges of noise on tables in pieces: keyed noise once for each id of a release, drawn noise once for each draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lapnoise import _check
from lapnoise._check import ledger_arguments
from lapnoise._keyed_release import KeyedRelease
from lapnoise.ledger import PrivacyLedger
from lapnoise.ledger._release import describe

__all__ = ["DrawnCharge", "KeyedCharge"]


class KeyedCharge:
    """What a keyed release costs.

    Under an id that was charged, the same release costs nothing: it is the same noise. Anything else under it is
    refused: another mechanism, other columns or keys or kinds of these, another container, version of the data or
    label, and another secret or format too, under which noise would be new.

    Parameters
    ----------
    ledger : PrivacyLedger or None
        What is charged.
    release : KeyedRelease
        What the noise depends on beside mechanism and columns.
    data_version : str or None
        What the caller calls the state of the data.
    label : str or None
        What the release is; its id by default.
    """

    def __init__(self, ledger: Any, release: KeyedRelease, data_version: Any, label: Any) -> None:
        _check.keyed_ledger(ledger, PrivacyLedger)
        self._ledger = ledger
        self._release = release
        self._data_version = ledger_arguments.optional_text("data_version", data_version)
        self._label = ledger_arguments.text("label", release.release_id if label is None else label)

    def make(
        self, mechanism: Any, columns: Mapping[str, str], key_columns: Mapping[str, str], container: str = "table"
    ) -> None:
        """Charge, unless this very release was charged; RequestRefusedError where another one was.

        Columns and keys are given with their kinds: a cast of either is another draw.
        """
        if self._ledger is None:
            return
        told = {
            "inputs": ["keyed", container],
            "columns": sorted([name, kind] for name, kind in columns.items()),
            "key_columns": sorted([name, kind] for name, kind in key_columns.items()),
            "secret_check": self._release.check_value(),
            "data_version": self._data_version,
        }
        request = describe(mechanism, told, label=self._label, private=True)
        account = self._ledger._account
        account.charge_once(self._label, request.cost, request.details, self._release.release_id)


class DrawnCharge:
    """What a release costs whose noise is drawn.

    Parameters
    ----------
    ledger : PrivacyLedger or None
        What is charged.
    label : str
        What the release is.
    data_version : str or None
        What the caller calls the state of the data.
    """

    def __init__(self, ledger: Any, label: Any, data_version: Any) -> None:
        _check.keyed_ledger(ledger, PrivacyLedger)
        self._ledger = ledger
        self._data_version = ledger_arguments.optional_text("data_version", data_version)
        self._label = ledger_arguments.text("label", label)
        self._entry: int | None = None

    def make(self, mechanism: Any, columns: Sequence[str]) -> None:
        """Charge."""
        if self._ledger is None:
            return
        told = {"inputs": ["table"], "columns": sorted(columns), "data_version": self._data_version}
        request = describe(mechanism, told, label=self._label, private=True)
        self._entry = self._ledger._account.reserve(self._label, request.cost, request.details)[1]

    def record(self) -> None:
        """Record that the noise was drawn and is kept."""
        if self._entry is not None:
            self._ledger._account.record(self._entry, self._label, None)

    def note(self, error: BaseException) -> None:
        """Tell whoever reads of a failure that the charge stands."""
        if self._entry is not None:
            error.add_note(f"this was charged before, as entry {self._entry} of the ledger, and stays so")
