"""Privacy budgets that cannot be overspent."""

from __future__ import annotations

from lapnoise.ledger._amounts import Amount
from lapnoise.ledger._chain import Head
from lapnoise.ledger._composition import Composition
from lapnoise.ledger._entry import LedgerEntry
from lapnoise.ledger._verification import Verification
from lapnoise.ledger.privacy_ledger import PrivacyLedger

__all__ = ["Amount", "Composition", "Head", "LedgerEntry", "PrivacyLedger", "Verification"]
