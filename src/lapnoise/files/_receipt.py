"""What a run says about itself: enough to check it and what it cost, nothing that the data could be read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from lapnoise.files._terms import FileMechanism
from lapnoise.mechanisms import StratifiedLaplaceMechanism

__all__ = ["SEEDED", "Receipt", "described", "exact_text", "law_of", "nearest_float"]

SEEDED = "The noise came from a seed, so that it can be drawn again: it protects nobody."


@dataclass(frozen=True, slots=True)
class Receipt:
    """Record of one run of :func:`lapnoise.files.add_noise`.

    There is no digest of the source unless it was asked for: who knows all rows but one could find the last by trying.

    Attributes
    ----------
    version
        Version of lapnoise.
    source, target
        The paths as they were given.
    format
        "csv", "npy", "parquet" or "arrow".
    columns
        Noised columns in file order; empty for an array.
    types
        For each of them, or for the array, its type in the source and in the target.
    rows
        Data rows, or the length of an array's first axis.
    cells_noised, cells_missing
        Cells that got noise, and cells that were missing and stayed so.
    local
        Whether each row was taken for one person.
    clip, clamp
        Bounds that values were clipped to before noise, and results after it; None without.
    fill
        What a missing cell counted as; None where it stayed missing.
    strata
        The column that told strata; None without.
    epsilon_by, strata_per_person
        Epsilon of each stratum, as exact fractions, and in how many of them a person can be; None without strata.
    missing
        What counted as missing in a CSV file; None in other files.
    epsilon, epsilon_float
        Cost of the whole file, as it was asked for: as an exact fraction, and as the nearest float (None beyond the
        floats).
    epsilon_attained, epsilon_attained_float
        What the noise attains, likewise; never above epsilon.
    delta, delta_attained
        Delta that was asked for, and what is attained, as exact fractions.
    sensitivity, sensitivity_float
        L1 sensitivity (Gaussian noise: L2) of the vector of all noised cells, or of a row where it is one person.
    changed
        How many cells one person can change at most, as given or else all cells of the noised columns.
    scale
        The scale b of the noise: sensitivity / epsilon, and a little more for the rounding to multiples of the
        granularity (None beyond the floats). Its variance is 2 b**2. Of Gaussian noise: sigma. With strata: the
        largest.
    scale_by_stratum
        The scale in each stratum; None without.
    granularity
        The power of two of which every noised number is a multiple.
    cost
        What epsilon and sensitivity are about, in a sentence.
    mechanism
        "laplace": each number is rounded to a multiple of the granularity, and the noise is the granularity times
        exact discrete Laplace noise. "discrete-laplace": the same for integers, of granularity 1. "gaussian":
        exact discrete Gaussian noise on such a lattice. "bounded-laplace": Laplace noise conditioned on a result within
        ``clip``. "stratified": Laplace noise of a scale that depends on the stratum.
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
    source_sha256
        Digest of the source in hexadecimal, where it was asked for: such a receipt is to be kept like the data.
    target_sha256
        Digest of the target in hexadecimal; None for a dry run. Of a directory, source or target: the SHA-256 of the
        lines that ``sha256sum`` prints for its files, sorted by path: the digest, two blanks, the relative path.
    finished
        When the run ended, in UTC.
    elapsed_seconds
        Seconds that the run took.
    """

    version: str
    source: str
    target: str
    format: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: int
    cells_noised: int
    cells_missing: int
    local: bool
    clip: Any
    clamp: Any
    fill: Any
    strata: str | None
    epsilon_by: dict[str, str] | None
    strata_per_person: int | None
    missing: tuple[str, ...] | None
    epsilon: str
    epsilon_float: float | None
    epsilon_attained: str
    epsilon_attained_float: float | None
    delta: str
    delta_attained: str
    sensitivity: str
    sensitivity_float: float | None
    changed: int
    scale: float | None
    scale_by_stratum: dict[str, float | None] | None
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
    source_sha256: str | None
    target_sha256: str | None
    finished: str
    elapsed_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as a dictionary that ``json`` can write."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def law_of(mechanism: FileMechanism) -> dict[str, Any]:
    """Return what the fields of a receipt say of the noise: what it attains, its scale and its granularity."""
    by_stratum = epsilon_by = None
    if isinstance(mechanism, StratifiedLaplaceMechanism):
        attained = mechanism.spent()
        by_stratum = {str(name): _scale(mechanism.stratum(name)) for name in mechanism.strata}
        epsilon_by = {str(name): str(mechanism.stratum(name).epsilon_asked) for name in mechanism.strata}
    else:
        attained = mechanism.epsilon
    return {
        "epsilon_by": epsilon_by,
        "strata_per_person": getattr(mechanism, "strata_per_person", None),
        "epsilon_attained": exact_text(attained),
        "epsilon_attained_float": nearest_float(attained),
        "delta": exact_text(mechanism.delta),
        "delta_attained": exact_text(getattr(mechanism, "delta_attained", mechanism.delta)),
        "scale": _scale(mechanism) if by_stratum is None else max(by_stratum.values(), key=lambda scale: scale or 0.0),
        "scale_by_stratum": by_stratum,
        "granularity": float(mechanism.granularity),
    }


def _scale(mechanism: Any) -> float | None:
    return nearest_float(Fraction(mechanism.lattice.t) * mechanism.lattice.granularity)


def described(value: Any) -> Any:
    """Return exact amounts, pairs and mappings of them as JSON can write them: floats where these are exact."""
    if isinstance(value, Mapping):
        return {str(name): described(entry) for name, entry in value.items()}
    if isinstance(value, tuple):
        return [described(entry) for entry in value]
    if isinstance(value, Fraction):
        near = nearest_float(value)
        return near if near is not None and Fraction(near) == value else exact_text(value)
    return value


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
