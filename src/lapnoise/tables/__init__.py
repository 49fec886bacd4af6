"""Noise on columns of tables in memory: DataFrames of pandas and polars, tables and record batches of Arrow."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from lapnoise import _check
from lapnoise.files._cell_noise import CellNoise, Place, word_of
from lapnoise.files._charge import Charge
from lapnoise.files._terms import terms
from lapnoise.mechanisms._additive import generator_for
from lapnoise.tables._kinds import frame_of
from lapnoise.tables._noising import choose, noise_columns, read_strata

if TYPE_CHECKING:
    from lapnoise.generator import Generator
    from lapnoise.ledger import PrivacyLedger
    from lapnoise.mechanisms._mechanism import Mechanism
    from lapnoise.sensitivity import Sensitivity

    Amount = float | str | Decimal | Fraction
    Pair = tuple[Amount, Amount]

__all__ = ["add_noise"]

Table = TypeVar("Table")


def add_noise(
    table: Table,
    *,
    mechanism: str | Mechanism | None = None,
    epsilon: Amount | None = None,
    sensitivity: Amount | Sensitivity | None = None,
    delta: Amount | None = None,
    changed: int | None = None,
    columns: Hashable | Iterable[Hashable] | None = None,
    local: bool = False,
    clip: Pair | Mapping[str, Pair] | None = None,
    clamp: Pair | None = None,
    fill: Amount | None = None,
    strata: str | None = None,
    epsilon_by: Mapping[Any, Amount] | None = None,
    strata_public: bool = False,
    strata_per_person: int | None = None,
    rng: Generator | None = None,
    ledger: PrivacyLedger | str | os.PathLike[str] | None = None,
    label: str | None = None,
) -> Table:
    """Return a table with a mechanism's noise in some columns; the table given is never changed.

    Parameters
    ----------
    table : DataFrame of pandas or polars, pyarrow Table or RecordBatch
        Where the numbers are. A LazyFrame must be collected first.
    mechanism
        "laplace", "discrete-laplace", "gaussian", "bounded-laplace" or "stratified", or a mechanism of such a kind with
        its parameters; the discrete one takes integers, which become int64. None means "stratified" where there are
        strata, else "laplace".
    epsilon, delta
        Privacy cost of the whole table, or with ``local`` to each person; floats count as they print.
    sensitivity
        L1 sensitivity of the vector of *all* noised cells, for "gaussian" the L2 sensitivity: not the bound of a single
        cell when one person reaches several.
    changed
        How many cells one person can change at most. None means all cells of the noised columns, missing ones included.
    columns
        Names of the columns to be noised, integers or float32 or float64. May be left out when exactly one is numeric.
    local
        Whether each row is one person, who pays epsilon. Sensitivity is then the sum of the widths of ``clip`` over the
        noised columns, and missing cells are refused unless there is a ``fill``.
    clip
        (low, high), or such a pair for each column by name: public bounds that values are clipped to *before* noise.
    clamp
        (low, high) that noisy values are clipped to *afterwards*, at no cost.
    fill
        What a missing cell counts as; None leaves it missing.
    strata
        Name of the column of text, integers or categories that tells the stratum of a row, by its text.
    epsilon_by
        Epsilon of each stratum.
    strata_public
        Must be True where each row is a person with a stratum: that is published as it is.
    strata_per_person
        As in `lapnoise.StratifiedLaplaceMechanism`.
    rng
        As in `lapnoise.LaplaceMechanism.add_noise`: None draws under a fresh key from the operating system, a seeded
        generator warns. It moves behind the last word that was used.
    ledger
        A `lapnoise.PrivacyLedger`, or the path of one that exists, which is charged after parameters, names and types
        were checked and before any value is looked at. The charge stands when values turn out bad.
    label
        Of the charge; "tables.add_noise" unless given.

    Returns
    -------
    DataFrame, Table or RecordBatch
        Of the kind of ``table``: order of rows and columns, index, metadata, nulls and all other columns as they were,
        the latter shared where the library allows it. float32 stays float32; float64 and integers become float64, in
        the family that the column's type belongs to (NumPy's, pandas' nullable ones, Arrow's).

    Raises
    ------
    TypeError
        When this is no such table, or a column's type cannot be noised.
    ValueError, OverflowError
        When an argument breaks a rule, or columns are unknown, not unique or must be named.
    InputDataError
        When a value cannot be noised: an infinite one without ``clip``, a missing one with ``local`` and no ``fill``.
        The message names row position (from 0) and column.
    BudgetExhaustedError, LedgerError
        When the ledger has less left, or cannot answer; nothing is drawn.

    Warns
    -----
    SeededNoiseWarning
        When the noise of the generator can be drawn again.

    Notes
    -----
    The number and order of rows, missing cells and all other columns are published as they are.

    Cell i of noised column j takes word 2^42 j + i of the stream, counted from the generator's position; so the numbers
    are those that `lapnoise.files.add_noise` writes with the same seed, ``default_rng(seed, rounds=20)``, and do not
    depend on the kind of table, its chunks, or threads.

    Examples
    --------
    >>> import pandas, lapnoise
    >>> table = pandas.DataFrame({"age": ["0-9", "10-19"], "people": [39_725_303, 40_747_962]})
    >>> noisy = lapnoise.tables.add_noise(table, epsilon="0.5", sensitivity=1)
    >>> str(noisy["people"].dtype), bool(abs(noisy["people"] - table["people"]).max() < 1000)
    ('float64', True)
    """
    frame = frame_of(table)
    asked = terms(
        mechanism=mechanism,
        epsilon=epsilon,
        delta=delta,
        sensitivity=sensitivity,
        changed=changed,
        local=local,
        clip=clip,
        clamp=clamp,
        fill=fill,
        strata=strata,
        epsilon_by=epsilon_by,
        strata_public=strata_public,
        strata_per_person=strata_per_person,
        columns=None,
    )
    chosen = choose(frame, asked, columns, strata)
    charged = asked.mechanism(chosen.names, len(chosen.names))
    named = _check.label(label, "tables.add_noise")
    generator = generator_for(rng, None)
    charge = None if ledger is None else Charge(ledger, dry_run=False)
    if charge is not None:
        # Values are data: whether they can be noised is an answer about them, and costs what the noise does.
        told = [type(table).__name__, [frame.rows, len(chosen.names)]]
        charge.reserve(charged, named, seeded=generator.repeatable, inputs=told)
    told_strata = read_strata(frame, chosen, getattr(charged, "strata", ()))
    # All cells have one lattice, which depends on their number alone.
    release = asked.for_cells(charged, frame.rows * len(chosen.names))
    # As a draw would, so that no later one gives out these words again.
    origin = generator._stream.reserve(word_of(Place(len(chosen.names) - 1, frame.rows)))
    cell_noise = CellNoise(release, asked, chosen.names, generator, origin)
    threads = generator._resolved_threads or generator._count()
    noised = noise_columns(frame, chosen, cell_noise, told_strata, threads)
    made: Table = frame.with_columns(noised)
    if charge is not None:
        charge.record()
    return made
