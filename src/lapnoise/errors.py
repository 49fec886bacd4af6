"""Warnings and errors that lapnoise raises beside Python's own."""

from typing import Any

__all__ = [
    "BudgetExhaustedError",
    "InputDataError",
    "LapnoiseError",
    "LapnoiseWarning",
    "LedgerDamagedError",
    "LedgerError",
    "LedgerUnavailableError",
    "OutputError",
    "RequestRefusedError",
    "SeededNoiseWarning",
    "UncachedKernelsWarning",
    "UnsafeFloatNoiseWarning",
]


class LapnoiseError(Exception):
    """Base of the errors that belong to lapnoise alone."""


class InputDataError(LapnoiseError, ValueError):
    """The contents of a source do not have the form that was asked for; row and column are named, values never."""


class OutputError(LapnoiseError, OSError):
    """A target could not be written; nothing was left behind."""


class LedgerError(LapnoiseError):
    """A ledger did not grant a charge, or could not answer."""


class BudgetExhaustedError(LedgerError):
    """A charge is larger than what is left; nothing was charged.

    Attributes
    ----------
    asked, remaining : Amount
        What was asked for and what is left, exactly.
    """

    def __init__(self, message: str, asked: Any, remaining: Any) -> None:
        super().__init__(message, asked, remaining)
        self.asked = asked
        self.remaining = remaining

    def __str__(self) -> str:
        return str(self.args[0])


class RequestRefusedError(LedgerError):
    """A request id was charged before, for something else or without a result that could be returned."""


class LedgerUnavailableError(LedgerError):
    """The file of a ledger could not be locked, read or written: a full disk, a read-only folder, a long lock."""


class LedgerDamagedError(LedgerError):
    """A file is no ledger that this version can trust: not a ledger, newer, damaged, changed, or an older copy."""


class LapnoiseWarning(UserWarning):
    """Base of the warnings that belong to lapnoise alone."""


class SeededNoiseWarning(LapnoiseWarning):
    """Noise came from a seed: it can be drawn again by anyone who knows the seed, so it protects nobody."""


class UnsafeFloatNoiseWarning(LapnoiseWarning):
    """Noise was added in floating point, whose low bits can tell values apart (Mironov 2012)."""


class UncachedKernelsWarning(LapnoiseWarning):
    """Compiled kernels cannot be kept on disk, so every new process compiles them again."""
