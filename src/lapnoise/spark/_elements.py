"""Noise on RDDs of numbers, some ten thousand elements at a time."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._cluster_charge import DrawnCharge, KeyedCharge
from lapnoise._keyed_release import KeyedColumn, KeyedRelease, KeyedRows
from lapnoise._record_batches import DRAWN, draw, task_generator
from lapnoise._row_keys import KeyColumn, from_numpy, kind
from lapnoise.mechanisms import DiscreteLaplaceMechanism
from lapnoise.queries import _batches
from lapnoise.spark._place import Place
from lapnoise.spark._session import rdd_of
from lapnoise.spark._written import write_once

if TYPE_CHECKING:
    from pyspark import RDD

    from lapnoise.ledger import PrivacyLedger

__all__ = ["parallel_noise"]

BATCH = 10_000

COLUMN = "value"
"""What the numbers of an RDD are called where a column has its name."""


def parallel_noise(
    rdd: RDD[Any],
    *,
    mechanism: Any,
    path: str | os.PathLike[str] | None = None,
    release_id: str | None = None,
    secret: bytes | None = None,
    assume_unique: bool = False,
    ledger: PrivacyLedger | None = None,
    data_version: str | None = None,
    label: str | None = None,
) -> RDD[Any]:
    """Return an RDD of numbers with noise, drawn once and written to ``path``, or keyed.

    Parameters
    ----------
    rdd : RDD
        With ``path`` numbers; else pairs (key, number), whose keys are integers, text, bytes, or tuples of these. None
        and NaN are missing numbers and become NaN; a discrete mechanism refuses them. Keys and numbers must come out
        identical whenever they are computed, else noise is drawn anew: an RDD shows nothing by which that is seen, and
        sums of floats after a shuffle do not, nor do places in a partition.
    mechanism : mechanism
        As in `release` with ``path``, else as in `add_noise`.
    path : str or path-like, optional
        A folder that does not exist yet. Noise is drawn once and written there as text that reads back exactly.
    release_id : str, optional
        As in `add_noise`, together with
    secret : bytes, optional
        At least 32 bytes.
    assume_unique, ledger, data_version, label
        As in `add_noise` and `release`. The job that counts keys tells the ledger of what kinds their parts are; with
        ``assume_unique`` it does not know, and keys of another kind under one id are noise that is drawn anew.

    Returns
    -------
    RDD
        Floats, ints with a discrete mechanism: read from ``path``, in the order of ``rdd``. Without one a lazy RDD of
        pairs (key, noisy number). The noise of a pair is that of `add_noise` on a column ``value`` with one key column
        for each part of the key.
    """
    given = rdd_of(rdd)
    if _check.one_mode(path, release_id, secret):
        return _keyed(given, mechanism, release_id, secret, assume_unique, ledger, data_version, label)
    _check.drawn_mechanism(mechanism, DRAWN)
    from pyspark.sql import SparkSession

    place = Place(SparkSession.builder.getOrCreate(), path)  # type: ignore[arg-type]
    for element in given.take(1):
        _check.number_element(element, whole=_is_whole(mechanism))
    named = "spark.parallel_noise" if label is None else label
    number = int if _is_whole(mechanism) else float

    def read(folder: str) -> RDD[Any]:
        # A pattern is listed in the order of names; a folder in whatever order its file system has.
        files = f"{folder}/part-*" if given.getNumPartitions() else folder
        return given.context.textFile(files).map(number)

    def write(bound: Any, folder: str) -> None:
        given.mapPartitions(DrawnNumbers(bound).run).map(repr).saveAsTextFile(folder)

    def count_written(folder: str) -> int:
        # Where there is no file Hadoop takes a folder with such a name for a hidden one.
        return read(folder).count() if given.getNumPartitions() else 0

    write_once(place, mechanism, (COLUMN,), DrawnCharge(ledger, named, data_version), given.count, write, count_written)
    return read(place.path)


def _keyed(
    rdd: RDD[Any],
    mechanism: Any,
    release_id: Any,
    secret: Any,
    assume_unique: bool,
    ledger: Any,
    data_version: Any,
    label: Any,
) -> RDD[Any]:
    release = KeyedRelease(secret, release_id)
    pairs = KeyedPairs(release.rows(), release.column(mechanism, COLUMN))
    charge = KeyedCharge(ledger, release, data_version, label)
    kinds = "trusted"
    if not _check.flag("assume_unique", assume_unique):
        repeated, kinds = _keys_of(rdd, pairs)
        _check.no_repeated_keys(repeated, ["key"])
    charge.make(mechanism, {COLUMN: "number"}, {"key": kinds}, "pairs")
    return rdd.mapPartitions(pairs.run)


class DrawnNumbers(NamedTuple):
    """Noise that each call of `run` draws anew."""

    mechanism: Any

    def run(self, elements: Iterable[Any]) -> Iterator[float | int]:
        """Yield numbers with noise, under a fresh key from the operating system."""
        rng = task_generator()
        for batch in _split(elements):
            yield from _noised(batch, self.mechanism, lambda values, _: draw(self.mechanism, values, None, rng))


class KeyedPairs(NamedTuple):
    """Keyed noise on pairs."""

    rows: KeyedRows
    column: KeyedColumn

    def run(self, elements: Iterable[Any]) -> Iterator[tuple[Any, float | int]]:
        """Yield pairs with noise."""
        for batch in _split(elements):
            keys, numbers = _apart(batch)
            identities = self.identities(keys)

            def add(values: NDArray[Any], rows: Any, known: NDArray[np.uint64] = identities) -> NDArray[Any]:
                return self.column.add_noise(values, np.ascontiguousarray(known[rows]))

            yield from zip(keys, _noised(numbers, self.column.mechanism, add), strict=True)

    def identities(self, keys: Sequence[Any]) -> NDArray[np.uint64]:
        """Return the identities of rows with these keys."""
        return self.rows.identities(self.columns(keys))

    def columns(self, keys: Sequence[Any]) -> list[KeyColumn]:
        """Return the parts of these keys."""
        parts = [key if isinstance(key, tuple) else (key,) for key in keys]
        _check.keys_of_one_kind(set(map(len, parts)))
        # As objects: NumPy would make text of numbers beside text, and numbers of True beside numbers.
        columns = [np.fromiter(column, object, len(parts)) for column in zip(*parts, strict=True)]
        return [from_numpy(f"key[{i}]", column) for i, column in enumerate(columns)]


def _split(elements: Iterable[Any]) -> Iterator[list[Any]]:
    remaining = iter(elements)
    while batch := list(itertools.islice(remaining, BATCH)):
        yield batch


def _apart(batch: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return keys and numbers."""
    _check.pairs(all(isinstance(pair, tuple) and len(pair) == 2 for pair in batch))
    return [key for key, _ in batch], [number for _, number in batch]


def _noised(numbers: list[Any], mechanism: Any, add: Any) -> list[float | int]:
    """Return numbers with what ``add(values, rows)`` gives for arrays of them; integers and floats apart."""
    whole = _is_whole(mechanism)
    out = np.full(len(numbers), 0 if whole else math.nan, np.int64 if whole else np.float64)
    there = 0
    for rows, values in _batches.read(numbers, numbers=True).parts:
        out[slice(None) if rows is None else rows] = add(values, slice(None) if rows is None else rows)
        there += values.size
    if whole:
        _check.no_missing_numbers(there == len(numbers))
    found: list[float | int] = out.tolist()
    return found


def _is_whole(mechanism: Any) -> bool:
    return isinstance(mechanism, DiscreteLaplaceMechanism) or getattr(mechanism, "integers", False)


def _keys_of(rdd: RDD[Any], pairs: KeyedPairs) -> tuple[bool, str]:
    """Return whether several rows have one key, and of what kinds the parts of keys are.

    One job over identities of 16 bytes a row, and a text for each batch.
    """
    parts = max(1, rdd.getNumPartitions())

    def spread(elements: Iterable[Any]) -> Iterator[tuple[int, bytes | str]]:
        for batch in _split(elements):
            columns = pairs.columns(_apart(batch)[0])
            yield 0, ", ".join(map(kind, columns))
            found = pairs.rows.identities(columns)
            target = found[:, 0] % np.uint64(parts)
            for number in np.unique(target):
                yield int(number), found[target == number].tobytes()

    def gathered(given: Iterable[bytes | str]) -> Iterator[bool | str]:
        kinds, blobs = set(), []
        for part in given:
            if isinstance(part, str):
                kinds.add(part)
            else:
                blobs.append(part)
        yield from kinds
        found = np.frombuffer(b"".join(blobs), np.uint64).reshape(-1, 2)
        yield len(np.unique(found, axis=0)) < len(found)

    found = rdd.mapPartitions(spread).partitionBy(parts, int).values().mapPartitions(gathered).collect()
    kinds = "; ".join(sorted(entry for entry in found if isinstance(entry, str)))
    return any(entry is True for entry in found), kinds
