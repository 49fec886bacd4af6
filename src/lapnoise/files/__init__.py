"""Noise over files that need not fit in memory: CSV, NPY, Parquet and Arrow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapnoise.files._charge import Charge
from lapnoise.files._noising import Progress, prepared
from lapnoise.files._receipt import Receipt

if TYPE_CHECKING:
    from numpy.random import SeedSequence

    from lapnoise.ledger import PrivacyLedger
    from lapnoise.mechanisms._mechanism import Mechanism
    from lapnoise.sensitivity import Sensitivity

    Amount = float | str | Decimal | Fraction
    Pair = tuple[Amount, Amount]

__all__ = ["MISSING", "Progress", "Receipt", "add_noise"]

MISSING = ("", "NA", "NaN", "nan", "null", "None")
"""What a missing cell of a CSV file says, unless told otherwise."""


def add_noise(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    mechanism: str | Mechanism | None = None,
    epsilon: Amount | None = None,
    sensitivity: Amount | Sensitivity | None = None,
    delta: Amount | None = None,
    changed: int | None = None,
    columns: str | Iterable[str] | None = None,
    local: bool = False,
    clip: Pair | Mapping[str, Pair] | None = None,
    clamp: Pair | None = None,
    fill: Amount | None = None,
    strata: str | None = None,
    epsilon_by: Mapping[Any, Amount] | None = None,
    strata_public: bool = False,
    strata_per_person: int | None = None,
    seed: int | Iterable[int] | SeedSequence | None = None,
    force: bool = False,
    dry_run: bool = False,
    format: str | None = None,
    delimiter: str | None = None,
    quote: str | None = '"',
    missing: Iterable[str] = MISSING,
    header: bool = True,
    encoding: str = "utf-8",
    digest_source: bool = False,
    progress: Progress | None = None,
    threads: int | None = None,
    ledger: PrivacyLedger | str | os.PathLike[str] | None = None,
) -> Receipt:
    """Add a mechanism's noise, exact on a lattice, to numbers in a file, and write them to another file.

    The source is never written. The target appears whole or not at all. Memory does not grow with the file; reading,
    noise and writing overlap on all cores.

    Parameters
    ----------
    source
        A regular file whose name ends in ``.csv``, ``.tsv`` (tabs), ``.npy``, ``.parquet``, ``.arrow`` or ``.feather``
        (version 2), or any when ``format`` is given; "-" for CSV from standard input; or a directory with Parquet files
        at any depth, which are one table in the order of their paths. Names that begin with "_" or "." are left out
        there.
    target
        The file to write, or the directory where the source is one. The directory it lies in must exist. "-" writes CSV
        to standard output, once all of it is there.
    mechanism
        None means "stratified" where there are strata, else "laplace"; "discrete-laplace" for integers, which become
        int64; "gaussian"; "bounded-laplace", whose domain is ``clip``; or a mechanism of such a kind with its
        parameters.
    epsilon, delta
        Privacy cost of the whole file, or with ``local`` to each person; floats count as they print. Delta is for
        "gaussian" and "bounded-laplace".
    sensitivity
        L1 sensitivity (for "gaussian" the L2 one) of the vector of *all* noised cells: the most by which one person's
        data can change the sum of their absolute differences. It is not the bound of a single cell when one person
        reaches several.
    changed
        How many cells one person can change at most. None means all cells of the noised columns, missing ones included.
        A smaller number makes the granularity coarser and, in files of 100,000 cells and more, the run some tenth
        faster; the scale depends on it by a thousandth at most.
    columns
        Names of the columns of a table to be noised. May be left out when exactly one is numeric.
    local
        Whether each row is one person, who pays epsilon. Sensitivity is then the sum of the widths of ``clip`` over the
        noised columns (for "gaussian" the root of the sum of their squares), and missing cells are refused unless there
        is a ``fill``: that a person's value is missing would show.
    clip
        (low, high), or such a pair for each column by name: public bounds that values are clipped to *before* noise.
        Without them infinite values are refused.
    clamp
        (low, high) that noisy values are clipped to *afterwards*, at no cost.
    fill
        What a missing cell counts as, which is then noised; None leaves it missing.
    strata
        Name of the column that tells the stratum of a row, for "stratified". Strata are public.
    epsilon_by
        Epsilon of each stratum.
    strata_public
        Must be True where each row is a person with a stratum, which is published as it is.
    strata_per_person
        As in `lapnoise.StratifiedLaplaceMechanism`.
    seed
        None takes a key from the operating system. Anything else makes the noise repeatable, for tests; the noise
        then protects nobody.
    force
        Whether an existing target is replaced.
    dry_run
        Whether to check everything and write nothing.
    format
        "csv", "npy", "parquet" or "arrow"; None goes by the name of the source.
    delimiter
        The delimiter of a CSV file; None means a tab for ``.tsv`` and a comma otherwise.
    quote
        The character that quotes cells of a CSV file, and stands twice for one inside of them; None where no cell is
        quoted.
    missing
        What missing cells of a CSV file say; they stay as they are. NaN is the missing value of an NPY file, and both
        nulls and NaN are missing in Parquet and Arrow.
    header, encoding
        Whether the first row of a CSV file has names (without, columns are called 1, 2, ...), and how these are
        encoded. Other bytes pass through.
    digest_source
        Whether the receipt has the SHA-256 of the source, by which who knows all rows but one could find the last.
    progress
        Called as ``progress(stage, unit, done, total)`` with stage "check" or "noise", unit "rows" or "values", and
        ``total`` None while it is unknown.
    threads
        Threads that draw; None uses the cores that the process may use.
    ledger
        A `lapnoise.PrivacyLedger`, or the path of one that exists, which is charged epsilon after parameters, header
        and target were checked and before any value is read. The charge stands when the contents turn out bad; a dry
        run charges nothing, and refuses what would not fit.

    Returns
    -------
    Receipt
        What was done and what it cost.

    Raises
    ------
    TypeError, ValueError, OverflowError
        When an argument breaks a rule, columns are unknown or must be named, or the target is the source.
    OSError
        When the source cannot be opened.
    InputDataError
        When the contents cannot be noised: a cell of a noised column that is no finite number, rows of unequal
        length, an array or column of other types than float32, float64 and integers, a number that is no integer of 64
        bits where noise is discrete, a missing cell where each row is a person, an unknown stratum, a truncated file,
        and the like. Row and column are named, the value is not shown.
    OutputError
        When the target exists, or cannot be written.
    BudgetExhaustedError
        When the ledger has less left than epsilon; nothing is written.
    LedgerError
        When the ledger cannot answer; nothing is written.

    Warns
    -----
    SeededNoiseWarning
        When there is a seed.
    LapnoiseWarning
        When the only numeric column was taken and another one holds numbers and text.

    Notes
    -----
    Columns of a CSV file that are not named keep their bytes, and so do delimiter, byte order mark, encoding and line
    ends; encodings must keep ASCII bytes for ASCII characters. Noised cells get the shortest text that reads back as
    the same float64, without quotes. Parquet and Arrow keep other columns value for value, with nulls, types and
    metadata; statistics are made anew. float32 and float64 stay what they are, integers become float64, or int64 with
    discrete noise.

    Every number is rounded half up to a multiple of the granularity, a power of two that depends on the parameters and
    ``changed`` alone, and gets exact noise in multiples of it; the sum is rounded once to a float. A decimal in a CSV
    file is rounded as what it says, not as the float nearest to it, and an integer never passes through a float. So
    floating-point attacks find nothing, and the whole file costs exactly what the receipt says. A sum beyond the
    largest float becomes the largest float, and beyond 2**63 - 1 that.

    A CSV file is read twice, since its number of rows decides the granularity, and checked before noise is drawn; other
    files say in their headers how many rows there are and are read once.

    Noise is drawn with 20 rounds of ChaCha: cell i of noised column j takes word 2^42 j + i of the stream (of an array:
    value i in C order word i), missing ones included, so that the result does not depend on how the file is read.

    Examples
    --------
    >>> import lapnoise.files
    >>> receipt = lapnoise.files.add_noise(
    ...     "us_population_2000.csv", "noisy.csv", epsilon=0.5, sensitivity=1
    ... )  # doctest: +SKIP
    >>> receipt.columns, receipt.granularity  # doctest: +SKIP
    (('people',), 1.4901161193847656e-08)
    """
    with prepared(
        source,
        target,
        mechanism=mechanism,
        epsilon=epsilon,
        sensitivity=sensitivity,
        delta=delta,
        changed=changed,
        local=local,
        clip=clip,
        clamp=clamp,
        fill=fill,
        strata=strata,
        epsilon_by=epsilon_by,
        strata_public=strata_public,
        strata_per_person=strata_per_person,
        columns=columns,
        seed=seed,
        force=force,
        dry_run=dry_run,
        format=format,
        delimiter=delimiter,
        quote=quote,
        missing=missing,
        header=header,
        encoding=encoding,
        digest_source=digest_source,
        progress=progress,
        threads=threads,
        charge=None if ledger is None else Charge(ledger, dry_run=dry_run),
    ) as noising:
        return noising.plan if dry_run else noising.run(progress)
