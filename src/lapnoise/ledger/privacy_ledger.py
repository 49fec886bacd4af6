"""A privacy budget that cannot be overspent: in memory, or in a file that many processes share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, Self

from lapnoise import _check
from lapnoise._check import ledger_arguments
from lapnoise.ledger._account import Account, left
from lapnoise.ledger._amounts import Amount
from lapnoise.ledger._chain import Head, encode
from lapnoise.ledger._composition import Composition, composed, parallel_cost
from lapnoise.ledger._entry import LedgerEntry, entries_of, entry_of
from lapnoise.ledger._release import pack, prepare, unpack
from lapnoise.ledger._verification import Verification

__all__ = ["PrivacyLedger"]

Number = float | str | Decimal | Fraction

_ZERO = Fraction(0)


class PrivacyLedger:
    """Count what releases cost against a total, exactly, and refuse what does not fit.

    Amounts are exact rationals; a float counts as it prints, so that ten times 0.1 is 1. Costs add up (sequential
    composition), epsilon and delta each, and a charge fits when both sums are at most the totals. Nothing is ever
    refunded.

    Parameters
    ----------
    total_epsilon : float, str, Decimal or Fraction
        The budget, finite and > 0.
    total_delta : float, str, Decimal or Fraction
        Its delta, in [0, 1).
    path : str or path-like, optional
        A file to keep the ledger in, which is made where it is not there; else its totals must be these. None keeps
        it in the memory of this process, which forks of the process may not spend from.
    timeout : float
        Seconds to wait for other processes that use the file.

    Attributes
    ----------
    total : Amount
        (epsilon, delta) of the budget.
    path : Path or None
        The file.

    Raises
    ------
    LedgerUnavailableError
        If the file cannot be made, locked, read or written.
    LedgerDamagedError
        If it is not a ledger, is damaged, or was made by a newer version.

    Notes
    -----
    A file is a SQLite database with a rollback journal. A charge is one immediate transaction that is on the disk, as
    far as the disk tells the truth, before `spend` returns; entries form a chain of SHA-256 hashes. Several threads and
    processes may use one ledger, and a connection never crosses a fork.

    Examples
    --------
    >>> import lapnoise
    >>> ledger = lapnoise.PrivacyLedger(1)
    >>> entry = ledger.spend(0.1, label="count of rows")
    >>> ledger.remaining.epsilon
    Fraction(9, 10)
    """

    def __init__(
        self,
        total_epsilon: Number,
        total_delta: Number = 0,
        path: str | os.PathLike[str] | None = None,
        *,
        timeout: float = 30.0,
    ) -> None:
        total = Amount(ledger_arguments.total_epsilon(total_epsilon), ledger_arguments.total_delta(total_delta))
        seconds = ledger_arguments.timeout(timeout)
        self._account = Account.made(total, None if path is None else ledger_arguments.ledger_path(path), seconds)
        ledger_arguments.totals(str(self.path), total, self.total)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, expected_head: Head | str | None = None, timeout: float = 30.0
    ) -> Self:
        """Open the ledger in an existing file.

        Parameters
        ----------
        path : str or path-like
            The file.
        expected_head : Head or str, optional
            A `head` that was kept elsewhere: an older copy of the file, or another history, is refused then.
        timeout : float
            Seconds to wait for other processes.

        Raises
        ------
        LedgerUnavailableError
            If there is no file, or it cannot be locked or read.
        LedgerDamagedError
            If it is not a ledger, is damaged, was made by a newer version, or did not go on from the expected head.
        """
        head = None if expected_head is None else Head(*ledger_arguments.ledger_head(expected_head))
        ledger = cls.__new__(cls)
        place, seconds = ledger_arguments.ledger_path(path), ledger_arguments.timeout(timeout)
        ledger._account = Account.opened(place, seconds, head)
        return ledger

    @property
    def total(self) -> Amount:
        """The budget."""
        return self._account.terms.total

    @property
    def path(self) -> Path | None:
        """The file, None in memory."""
        return self._account.path

    @property
    def spent(self) -> Amount:
        """What was charged so far, exactly."""
        return self._account.state().spent

    @property
    def remaining(self) -> Amount:
        """What is left, exactly."""
        return left(self.total, self._account.state().spent)

    @property
    def head(self) -> Head:
        """Where the ledger stands, as (count, hash): kept elsewhere, it tells an older copy of the file from this."""
        state = self._account.state()
        return Head(state.length, state.hash)

    def can_spend(self, epsilon: Number, delta: Number = 0) -> bool:
        """Return whether a charge would fit now. Another one may come first: `spend` decides."""
        return self._account.fits(_cost(epsilon, delta))

    def spend(self, epsilon: Number, delta: Number = 0, label: str = "") -> LedgerEntry:
        """Charge, for a release that is made afterwards.

        Parameters
        ----------
        epsilon : float, str, Decimal or Fraction
            Finite and > 0.
        delta : float, str, Decimal or Fraction
            In [0, 1).
        label : str
            What it is for.

        Returns
        -------
        LedgerEntry
            The charge, which is on the disk where the ledger has a file.

        Raises
        ------
        ValueError
            If an amount has more than 4096 bits above or below the line, or makes a denominator of the sum that has
            more than 8192 bits longer and is no decimal.
        BudgetExhaustedError
            If it does not fit; nothing is charged then.
        LedgerUnavailableError, LedgerDamagedError
            If the ledger cannot answer, or is used inside another use of it, by a signal handler or a finalizer:
            nothing may be released then.
        """
        cost, told = _cost(epsilon, delta), ledger_arguments.text("label", label)
        return entry_of(self._account.charge("spend", told, cost, "{}"), cost)

    def parallel(
        self,
        label: str,
        *,
        neighbours: str,
        parts: Mapping[str, Any] | Iterable[tuple[str, Any]],
        max_parts: int | None = 1,
        members: Mapping[str, Iterable[Any]] | None = None,
    ) -> LedgerEntry:
        """Charge once for releases about disjoint parts of the data, such as regions.

        Parameters
        ----------
        label : str
            What it is for.
        neighbours : {"add-remove", "replace"}
            "add-remove": a person is there or not. "replace": a person's data change, perhaps from one part to another.
        parts : mapping or pairs
            The name of each part, and epsilon or (epsilon, delta) that is spent on it. They are named before the data
            are read; a part that turns out empty counts.
        max_parts : int or None
            In how many parts one person can be. None: in all.
        members : mapping, optional
            The ids of those in each part, by its name. They are looked at after the charge, which stands, and refused
            where one is in more than ``max_parts`` parts.

        Returns
        -------
        LedgerEntry
            The charge. Add-remove: the sum over the ``max_parts`` largest, so for one part per person the maximum.
            Replace: over twice as many, so for one part per person the two largest. Epsilon and delta each.

        Notes
        -----
        A person who moves from one part to another is gone from the first and new in the second. So with "replace"
        each part's cost must hold both where a person in it is replaced and where one is added or removed. A count
        calibrated for one relation seldom costs the same in the other: a sum of values in [100, 101] changes by 1 when
        a person is replaced and by 101 when one leaves. State the larger of the two costs of each part. A release that
        has epsilon where a person is added or removed has at most 2 epsilon where one is replaced (with delta, delta
        times 1 + exp(epsilon)): for parts that are known by that alone, state that much for the ``max_parts`` largest,
        so that twice the largest is charged at least.

        Raises
        ------
        BudgetExhaustedError
            If it does not fit.
        ValueError
            If parts have one name, or members are in too many of them.

        References
        ----------
        F. McSherry, "Privacy integrated queries", SIGMOD 2009, theorem 4.
        """
        told, relation = ledger_arguments.text("label", label), ledger_arguments.neighbours(neighbours)
        named = ledger_arguments.parts(parts)
        most = None if max_parts is None else _check.count("max_parts", max_parts, least=1)
        cost = parallel_cost([Amount(epsilon, delta) for _, epsilon, delta in named], relation, most)
        shown = [[name, str(Amount(epsilon, delta))] for name, epsilon, delta in named]
        details = encode({"neighbours": relation, "parts": shown, "max_parts": most})
        row = self._account.charge("parallel", told, cost, details)
        if members is not None:
            ledger_arguments.disjoint(members, [name for name, _, _ in named], most)
        return entry_of(row, cost)

    def release(
        self,
        mechanism: Any,
        *inputs: Any,
        label: str,
        request_id: str | None = None,
        data_version: str | None = None,
        **options: Any,
    ) -> Any:
        """Charge what a mechanism was asked to cost, then draw its noise, then record that.

        Parameters
        ----------
        mechanism
            A mechanism with ``add_noise`` or ``select``.
        *inputs
            What that takes: values, or candidates and scores.
        label : str
            What the release is.
        request_id : str, optional
            Under which the result is kept, as it is published: asked for again it is returned bit for bit, and nothing
            is charged. At most 16 MiB.
        data_version : str, optional
            What the caller calls the state of the data. The ledger sees no values, so that it notices changed data
            only by this.
        **options
            Further options of the mechanism, such as ``clamp``.

        Returns
        -------
        object
            What the mechanism returns.

        Raises
        ------
        TypeError, ValueError
            If parameters, dtypes or shapes do not fit: before the charge. If values do not, such as an infinite one:
            after it, and the charge stands, since the refusal tells something about the data.
        BudgetExhaustedError
            If it does not fit.
        RequestRefusedError
            If the request id was charged before for something else, or its result was never recorded.
        LedgerUnavailableError, LedgerDamagedError
            If the ledger cannot answer; nothing is returned then.
        """
        told, key = ledger_arguments.text("label", label), ledger_arguments.optional_text("request_id", request_id)
        version = ledger_arguments.optional_text("data_version", data_version)
        request = prepare(mechanism, inputs, label=told, request_id=key, data_version=version, options=options)
        kept, number = self._account.reserve(told, request.cost, request.details, key)
        if kept is not None:
            return unpack(kept, request.method, inputs)
        try:
            result = getattr(mechanism, request.method)(*inputs, **options)
            content = None if key is None else pack(result)
        except BaseException as error:
            error.add_note(f"{request.cost} was charged for this before, as entry {number} of the ledger, and stays so")
            raise
        self._account.record(number, told, content)
        return result

    def entries(self) -> list[LedgerEntry]:
        """Return all charges in order."""
        return entries_of(self._account.rows())

    def composition(self, delta: Number, *, accounting: bool = False) -> Composition:
        """Return what all charges cost together for one delta, by the simple sum and by tighter theorems.

        The ledger grants by the simple sum alone. The others hold for releases whose parameters did not depend on
        results of earlier ones.

        Parameters
        ----------
        delta : float, str, Decimal or Fraction
            Between 0 and 1.
        accounting : bool
            Whether to compose privacy loss distributions too, by the package dp-accounting: the extra ``accounting``.
        """
        return composed(self.entries(), ledger_arguments.positive_delta(delta), accounting=accounting)

    def verify(self, expected_head: Head | str | None = None) -> Verification:
        """Recompute the chain and all sums, and say what is wrong.

        Parameters
        ----------
        expected_head : Head or str, optional
            A `head` that was kept elsewhere.
        """
        head = None if expected_head is None else Head(*ledger_arguments.ledger_head(expected_head))
        return self._account.verified(head)

    def __repr__(self) -> str:
        place = "in memory" if self.path is None else f"in {str(self.path)!r}"
        return f"<PrivacyLedger of {self.total} {place}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            _refuse_copy()
        return _reopened, (type(self), str(self.path), *self._account.seen)

    def __copy__(self) -> NoReturn:
        _refuse_copy()

    def __deepcopy__(self, memo: Any) -> NoReturn:
        _refuse_copy()


def _cost(epsilon: Any, delta: Any) -> Amount:
    # Most charges have no delta, and reading one takes as long as reading epsilon.
    return Amount(_check.epsilon(epsilon), _ZERO if delta == 0 and type(delta) is int else _check.delta(delta))


def _reopened(kind: type[PrivacyLedger], path: str, seen: Head, timeout: float) -> PrivacyLedger:
    return kind.open(path, expected_head=seen, timeout=timeout)


def _refuse_copy() -> NoReturn:
    raise TypeError("a ledger cannot be copied, since a copy would be a second budget: give it a path to share it")
