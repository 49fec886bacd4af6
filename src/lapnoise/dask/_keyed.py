"""Keyed noise on columns of a frame, and on the elements of an array."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lapnoise import _check
from lapnoise._cluster_charge import KeyedCharge
from lapnoise._keyed_release import KeyedRelease
from lapnoise._record_batches import column_kinds, keyed_batches
from lapnoise.dask._blocks import ELEMENT, INDEX, KeyedBlock, noised_dtype
from lapnoise.dask._collections import array_or_none, frame_of
from lapnoise.dask._partitions import Partition, arrow_types, noised_meta, verify_keys

if TYPE_CHECKING:
    from dask.array import Array

    from lapnoise.ledger import PrivacyLedger
    from lapnoise.mechanisms import DiscreteLaplaceMechanism, LaplaceMechanism

__all__ = ["add_noise"]


def add_noise(
    data: Any,
    columns: str | Iterable[str] | None = None,
    *,
    mechanism: LaplaceMechanism | DiscreteLaplaceMechanism,
    release_id: str,
    key_columns: str | Iterable[str] | None = None,
    secret: bytes,
    assume_unique: bool = False,
    ledger: PrivacyLedger | None = None,
    data_version: str | None = None,
    label: str | None = None,
) -> Any:
    """Return a lazy frame or array with keyed noise: the same bytes whenever and wherever it is computed.

    Noise is a function of the secret, the release id, every parameter of the mechanism, the name of the column, the key
    of the row and the value on its lattice. So retries, lost workers, another number of partitions or other chunks, a
    shuffled input and several computations give the same numbers; and so does `lapnoise.spark` for the same keys.

    Parameters
    ----------
    data : dask.dataframe.DataFrame or dask.array.Array
        A frame of pandas partitions, or an array of NumPy blocks whose shape is known.
    columns : str or iterable of str
        Of a frame: columns of integers, float or double, as NumPy, pandas or Arrow hold them, and so they are returned.
        Float stays float, integers become double, and int64 with the discrete mechanism. Nulls and NaN stay; other
        columns, their order and the index too. All elements of an array get noise, by the same rules.
    mechanism : LaplaceMechanism or DiscreteLaplaceMechanism
        All noised cells form one vector: its sensitivity is the L1 sensitivity of them all. The Laplace mechanism must
        have ``changed``, how many of these cells one person can change, or be bound by ``for_length``.
    release_id : str
        What this release is called. Other data, and another release of the same data, take another id.
    key_columns : str or iterable of str
        Of a frame: columns that tell every row from all others: integers, bool, dates, times, text or binary; of
        objects all entries are of one of these types, and times all have a zone or none does. They are taken in the
        order of their names, so that the order in which they are given does not matter; they are not noised. They must
        come from the data. The key of an array's element is its place in the whole array, counted in C order, whatever
        the chunks are; its noise is that of a column ``value`` with that key.
    secret : bytes
        At least 32 bytes, such as those of ``secrets.token_bytes(32)``. Who has it and the result has the data. Tasks
        get keys that are made from it for this release and these columns alone.
    assume_unique : bool, optional
        Whether to trust that keys of rows do not repeat and are of one type. By default one computation at the call
        sees to both. Rows with one key get equal noise where their values are equal, which shows that they are. Keys of
        two types are never one key; but a time without a zone is that of UTC.
    ledger : PrivacyLedger, optional
        Charged once for each release id, from whatever process.
    data_version : str, optional
        What you call the state of the data; the ledger refuses a charged id with another one.
    label : str, optional
        Name of the charge; the release id by default.

    Returns
    -------
    dask.dataframe.DataFrame or dask.array.Array
        Nothing is computed but the check of keys.

    Raises
    ------
    TypeError, ValueError
        Where an argument, a type or a key breaks a rule; nothing is charged then. With ``assume_unique`` a null key,
        and keys of two types in one partition, fail when they are computed, and an infinite value always does.
    BudgetExhaustedError
        If the charge does not fit.
    RequestRefusedError
        If the release id was charged for anything else: other parameters, columns or keys, other kinds of these
        (text of an integer, float of a double), another ``data_version``, label or secret. Objects as keys are one
        kind, whatever they are.

    Notes
    -----
    The same id on data that have changed shows which cells have: the others repeat. That is outside of the guarantee.

    Examples
    --------
    >>> from lapnoise import LaplaceMechanism, dask
    >>> noisy = dask.add_noise(
    ...     table,
    ...     "income",
    ...     mechanism=LaplaceMechanism(epsilon=1, sensitivity=100, changed=1),
    ...     release_id="2024-q1",
    ...     key_columns="id",
    ...     secret=secret,
    ... )  # doctest: +SKIP
    """
    array = array_or_none(data)
    if array is not None:
        _check.no_columns(columns, key_columns)
        return _noised_array(array, mechanism, KeyedRelease(secret, release_id), ledger, data_version, label)
    frame = frame_of(data)
    named = KeyedRelease(secret, release_id)
    noised = _check.column_names("columns", columns, list(frame.columns))
    keys = _check.column_names("key_columns", key_columns, list(frame.columns))
    _check.no_keys_noised(noised, keys)
    batches = keyed_batches(named, mechanism, noised, keys)
    charge = KeyedCharge(ledger, named, data_version, label)
    meta = noised_meta(frame, batches)
    if not _check.flag("assume_unique", assume_unique):
        verify_keys(frame, batches)
    types = arrow_types(frame, [*noised, *keys])
    # What objects are is known where the rows are.
    told = {name: "objects" if types[name][1] == "object" else kind for name, kind in column_kinds(keys, types).items()}
    charge.make(mechanism, column_kinds(noised, types), told)
    return frame.map_partitions(Partition(batches).noised, meta=meta)


def _noised_array(
    array: Array, mechanism: Any, release: KeyedRelease, ledger: Any, data_version: Any, label: Any
) -> Array:
    import numpy as np

    batches = keyed_batches(release, mechanism, [ELEMENT], [INDEX])
    charge = KeyedCharge(ledger, release, data_version, label)
    kind = noised_dtype(array, batches)
    block = KeyedBlock(batches, array.shape)
    told = array.dtype.newbyteorder("=").name if array.dtype.kind == "f" else "integer"
    # Under another shape elements have other places, and so another draw: the ledger refuses that.
    charge.make(mechanism, {ELEMENT: told}, {f"{INDEX} in {array.shape}": "integer"}, "array")
    return array.map_blocks(block.noised, dtype=kind, meta=np.empty((0,) * array.ndim, kind))
