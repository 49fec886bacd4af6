"""Budget arithmetic: releases add up, parts of a split sum to it, and no epsilon attained exceeds what was asked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from lapnoise import budget
from lapnoise.errors import BudgetExhaustedError
from lapnoise.evaluate._checks import Check, exact
from lapnoise.generator import Generator
from lapnoise.ledger import PrivacyLedger
from lapnoise.mechanisms import LaplaceMechanism

__all__ = ["budget_checks"]

SUBJECT = "budget"
LEDGER_LOOK = "the ledger: an epsilon that it does not count can be spent again; release through PrivacyLedger.release"
SPLIT_LOOK = "budget.split: parts must sum to the whole, exactly"
SCALE_LOOK = "the scale: sensitivity / epsilon, rounded up, on the lattice (`lattice.choose`)"


def budget_checks(rng: Generator) -> Iterator[Check]:
    """Yield checks in exact arithmetic, of ledgers in memory and in a file."""
    mechanism = LaplaceMechanism(epsilon="0.1", sensitivity=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.db"
        for place, ledger in (("in memory", PrivacyLedger(1)), ("in a file", PrivacyLedger(1, path=path))):
            for k in range(10):
                ledger.release(mechanism, np.zeros(2), label=f"release {k}")
            off = abs(ledger.spent.epsilon - 10 * mechanism.epsilon_asked) + abs(ledger.remaining.epsilon)
            tested = f"10 releases at epsilon 0.1 spend 1, {place}"
            yield exact(SUBJECT, tested, "epsilon off", float(off), LEDGER_LOOK)
            tested = f"an eleventh release is refused, {place}"
            yield exact(SUBJECT, tested, "epsilon granted too much", float(_granted(ledger, mechanism)), LEDGER_LOOK)
        off = abs(PrivacyLedger.open(path).spent.epsilon - 1)
        yield exact(SUBJECT, "a ledger's file opened again says 1", "epsilon off", float(off), LEDGER_LOOK)
    parts, off = 0, Fraction(0)
    for weights in rng.words(300).reshape(30, 10).tolist():
        total = Fraction(weights[0], weights[1] | 1)
        made = [*budget.split(total, weights=[w | 1 for w in weights]), *budget.split(total, parts=7)]
        parts, off = parts + len(made), off + abs(sum(made) - 2 * total)
    yield exact(SUBJECT, f"{parts} parts of splits sum to the wholes", "epsilon off", float(off), SPLIT_LOOK)
    over = sum(_attained_too_much(a, b) for a, b in rng.words(200).reshape(100, 2).tolist())
    tested = "epsilon attained by 100 mechanisms is within a thousandth of what was asked, and never more"
    yield exact(SUBJECT, tested, "mechanisms beyond", over, SCALE_LOOK)


def _granted(ledger: PrivacyLedger, mechanism: LaplaceMechanism) -> Fraction:
    before = ledger.spent.epsilon
    try:
        ledger.release(mechanism, 0.0, label="one too many")
    except BudgetExhaustedError:
        return abs(ledger.spent.epsilon - before)
    return mechanism.epsilon_asked


def _attained_too_much(a: int, b: int) -> bool:
    asked, sensitivity = Fraction(a >> 40 | 1, 1 << 20), Fraction(b >> 40 | 1, 1 << 12)
    mechanism = LaplaceMechanism(epsilon=asked, sensitivity=sensitivity, changed=1 + b % 7)
    # The loss at that distance, worked out from the steps of the lattice alone.
    steps = -(-sensitivity // mechanism.lattice.granularity) + b % 7
    loss = steps / Fraction(mechanism.lattice.t)
    return not asked * Fraction(999, 1000) <= loss <= asked
