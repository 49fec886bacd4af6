"""Keyed noise on columns of a frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lapnoise import _check
from lapnoise._cluster_charge import KeyedCharge
from lapnoise._keyed_release import KeyedRelease
from lapnoise._record_batches import column_kinds, keyed_batches
from lapnoise.spark._columns import arrow_types, mapped, noised_schema, verify_keys
from lapnoise.spark._repeatable import verify_repeatable
from lapnoise.spark._session import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lapnoise.ledger import PrivacyLedger
    from lapnoise.mechanisms import DiscreteLaplaceMechanism, LaplaceMechanism

__all__ = ["add_noise"]


def add_noise(
    df: DataFrame,
    columns: str | Iterable[str],
    *,
    mechanism: LaplaceMechanism | DiscreteLaplaceMechanism,
    release_id: str,
    key_columns: str | Iterable[str],
    secret: bytes,
    assume_unique: bool = False,
    assume_repeatable: bool = False,
    ledger: PrivacyLedger | None = None,
    data_version: str | None = None,
    label: str | None = None,
) -> DataFrame:
    """Return a lazy frame with keyed noise on columns: the same bytes whenever and wherever it is computed.

    Noise is a function of the secret, the release id, every parameter of the mechanism, the name of the column, the key
    of the row and the value on its lattice. So retries, speculation, another number of partitions, another batch
    size, a shuffled input and several actions give the same numbers, as long as Spark makes the same keys and values,
    to the last bit, each time it computes them.

    Parameters
    ----------
    df : DataFrame
        Not a stream.
    columns : str or iterable of str
        Columns of byte, short, int, long, float or double. Float stays float, integers become double, and long with the
        discrete mechanism. Nulls and NaN stay; other columns, their order and whether they may be null too.
    mechanism : LaplaceMechanism or DiscreteLaplaceMechanism
        All noised cells form one vector: its sensitivity is the L1 sensitivity of them all. The Laplace mechanism must
        have ``changed``, how many of these cells one person can change, or be bound by ``for_length``.
    release_id : str
        What this release is called. Other data, and another release of the same data, take another id.
    key_columns : str or iterable of str
        Columns that tell every row from all others: integers, bool, date, timestamp, string or binary. They are taken
        in the order of their names, so that the order in which they are given does not matter; they are not noised.
        They must come from the data: numbers that Spark gives out, as ``monotonically_increasing_id`` or ``uuid`` do,
        are others each time, and so would be the noise. They are refused where the plan shows them, in keys and in
        ``columns``, behind a cache too; Spark Connect shows no plan.
    secret : bytes
        At least 32 bytes, such as those of ``secrets.token_bytes(32)``. Who has it and the result has the data.
        Executors get keys that are made from it for this release and these columns alone.
    assume_unique : bool, optional
        Whether to trust that keys do not repeat. By default one job at the call counts them. Rows with one key get
        equal noise where their values are equal, which shows that they are.
    assume_repeatable : bool, optional
        Whether to trust that keys and values come out identical whenever they are computed although the plan has what
        depends on the order of rows: sums and averages of floats, ``first``, lists, window functions, limits, samples,
        functions of groups. A value that moves by its last bit gets other noise, for one charge. By default these are
        refused: write the frame first and read it back, or sum integers or decimals. What no plan shows, such as a
        function in Python, an RDD or a local checkpoint, is trusted always.
    ledger : PrivacyLedger, optional
        Charged once for each release id, from whatever process.
    data_version : str, optional
        What you call the state of the data; the ledger refuses a charged id with another one.
    label : str, optional
        Name of the charge; the release id by default.

    Returns
    -------
    DataFrame
        Nothing is computed but the check of keys.

    Raises
    ------
    TypeError, ValueError
        Where an argument, a type or a key breaks a rule; nothing is charged then. With ``assume_unique`` a null key
        fails when its row is computed, and an infinite value always does.
    BudgetExhaustedError
        If the charge does not fit.
    RequestRefusedError
        If the release id was charged for anything else: other parameters, columns or keys, other kinds of these
        (text of an integer, float of a double), another ``data_version``, label or secret.

    Notes
    -----
    The same id on data that have changed shows which cells have: the others repeat. That is outside of the guarantee.

    Examples
    --------
    >>> from lapnoise import LaplaceMechanism, spark
    >>> noisy = spark.add_noise(
    ...     table,
    ...     "income",
    ...     mechanism=LaplaceMechanism(epsilon=1, sensitivity=100, changed=1),
    ...     release_id="2024-q1",
    ...     key_columns="id",
    ...     secret=secret,
    ... )  # doctest: +SKIP
    """
    frame = frame_of(df)
    named = KeyedRelease(secret, release_id)
    noised = _check.column_names("columns", columns, frame.columns)
    keys = _check.column_names("key_columns", key_columns, frame.columns)
    _check.no_keys_noised(noised, keys)
    trusted = _check.flag("assume_repeatable", assume_repeatable)
    batches = keyed_batches(named, mechanism, noised, keys)
    charge = KeyedCharge(ledger, named, data_version, label)
    schema = noised_schema(frame, batches, keys)
    verify_repeatable(frame, keys, noised, trusted)
    if not _check.flag("assume_unique", assume_unique):
        verify_keys(frame, batches.key_columns)
    types = arrow_types(frame, [*noised, *keys])
    noisy = mapped(frame, batches, schema)  # refuses types that Spark does not hand over
    charge.make(mechanism, column_kinds(noised, types), column_kinds(keys, types))
    return noisy
