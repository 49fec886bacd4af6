"""What a run says about itself: enough to check it and what it cost, nothing that the data could be read from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

__all__ = ["COST", "SEEDED", "Receipt", "exact_text", "nearest_float"]

SEEDED = "The noise came from a seed, so that it can be drawn again: it protects nobody."

COST = (
    "All noised cells form one released vector: sensitivity is the L1 sensitivity of that whole vector, and the whole "
    "file costs epsilon. Row count, order, missing cells and columns not named are published as they are."
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Record of one run of :func:`lapnoise.files.add_noise`.

    There is no digest of the source: who knows all rows but one could find the last by trying.

    Attributes
    ----------
    version
        Version of lapnoise.
    source, target
        The paths as they were given.
    format
        "csv" or "npy".
    columns
        Noised columns in file order; empty for an array.
    rows
        Data rows, or the length of an array's first axis.
    cells_noised, cells_missing
        Cells that got noise, and cells that were missing and stayed so.
    epsilon, epsilon_float
        Cost of the whole file, as it was asked for: as an exact fraction, and as the nearest float (None beyond the
        floats).
    epsilon_attained, epsilon_attained_float
        What the noise attains, likewise; never above epsilon.
    sensitivity, sensitivity_float
        L1 sensitivity of the vector of all noised cells, likewise.
    changed
        How many cells one person can change at most, as given or else all cells of the noised columns.
    scale
        The scale b of the noise: sensitivity / epsilon, and a little more for the rounding to multiples of the
        granularity (None beyond the floats). Its variance is 2 b**2.
    granularity
        The power of two of which every noised number is a multiple.
    cost
        What epsilon and sensitivity are about, in a sentence.
    mechanism
        "laplace": each number is rounded to a multiple of the granularity, and the noise is the granularity times
        exact discrete Laplace noise. "discrete-laplace": the same for integers, of granularity 1.
    generator
        "chacha20", with 20 rounds.
    seeded
        Whether the noise came from a seed. It can be drawn again then, and protects nobody.
    hardened
        Whether the noise withstands floating-point attacks: True.
    warning
        What ``seeded`` means, in a plain sentence; None without a seed.
    dry_run
        Whether nothing was drawn or written; the counts say what would have been.
    ledger, ledger_entry
        The ledger that was charged, and the number of the entry there; None without one, or for a dry run.
    target_sha256
        Digest of the target in hexadecimal; None for a dry run.
    elapsed_seconds
        Seconds that the run took.
    """

    version: str
    source: str
    target: str
    format: str
    columns: tuple[str, ...]
    rows: int
    cells_noised: int
    cells_missing: int
    epsilon: str
    epsilon_float: float | None
    epsilon_attained: str
    epsilon_attained_float: float | None
    sensitivity: str
    sensitivity_float: float | None
    changed: int
    scale: float | None
    granularity: float
    cost: str
    mechanism: str
    generator: str
    seeded: bool
    hardened: bool
    warning: str | None
    dry_run: bool
    ledger: str | None
    ledger_entry: int | None
    target_sha256: str | None
    elapsed_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as a dictionary that ``json`` can write."""
        return {**asdict(self), "columns": list(self.columns)}


def exact_text(amount: Fraction, asked: Any = None) -> str:
    """Return an amount as a fraction, or as it was asked when it has more digits than Python writes."""
    try:
        return str(amount)
    except ValueError:
        # Python refuses to write integers of more than 4300 digits; decimal writes them.
        return str(asked) if asked is not None else "/".join(map(str, map(Decimal, amount.as_integer_ratio())))


def nearest_float(amount: Fraction) -> float | None:
    """Return the float nearest to an amount, None beyond the floats."""
    try:
        return float(amount)
    except OverflowError:
        return None
