"""Rows of one person bounded to m of them, by rules in which neither the order of rows nor other persons matter.

What a person contributes is a function of that person's own id and rows, so that a neighbouring data set differs in one
term alone, and each rule keeps this term within what m rows could be.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._canonical import EXACT_FLOATS, RoundedFloatError, UnfitError, canonical, text
from lapnoise.queries._batches import dimensions, is_batched, missing, read

__all__ = ["Persons", "digest", "identify", "kept_rows", "rows_counted", "summed_steps", "verify"]

_LOW_BITS = 26
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Persons(NamedTuple):
    """Whose each row is.

    Attributes
    ----------
    codes : ndarray of intp
        The person's place in ``ids``; -1 where the id is missing, and then the row is no one's and not counted.
    ids : ndarray
        Each id once.
    """

    codes: NDArray[np.intp]
    ids: NDArray[Any]


def verify(person: Any, values: Any) -> None:
    """Refuse ids that are not one for each row of a single array."""
    if person is None:
        return
    _check.single_batch(is_batched(values) or is_batched(person))
    _check.one_dimension("person", dimensions(person))
    _check.persons(len(person), len(values))
    _check.same_index("person", person, values)


def identify(person: Any) -> Persons:
    """Return whose each row is."""
    batch = read(person, numbers=False)
    codes = np.full(batch.length, -1, np.intp)
    parts = []
    for rows, ids in batch.parts:
        _check.person_kind(ids.dtype)
        lost = missing(ids)
        known = np.ones(ids.size, np.bool_) if lost is None else ~lost
        there = np.flatnonzero(known) if rows is None else rows[known]
        parts.append((there, _told_apart(there, ids[known])))
    if not parts:
        return Persons(codes, np.empty(0, np.int64))
    where = np.concatenate([rows for rows, _ in parts])
    kinds = {ids.dtype.kind for _, ids in parts}
    if kinds == {"O"} or len(kinds) > 1:
        numbers: dict[Any, int] = {}
        entries = [canonical(entry) for _, ids in parts for entry in ids.tolist()]
        codes[where] = [numbers.setdefault(entry, len(numbers)) for entry in entries]
        return Persons(codes, np.fromiter(numbers, object, len(numbers)))
    unique, inverse = np.unique(np.concatenate([ids for _, ids in parts]), return_inverse=True)
    codes[where] = inverse.reshape(-1)
    return Persons(codes, unique)


def _told_apart(rows: NDArray[np.intp], ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids, objects in canonical form; refuse those that another row's being missing could have made one."""
    if ids.dtype.kind == "f":
        rounded = (np.abs(ids) >= np.float64(EXACT_FLOATS)) & (np.abs(ids) < np.inf)
        if rounded.any():
            _check.fit(f"person[{rows[np.argmax(rounded)]}]", RoundedFloatError("a float of 2**53 or more in size"))
    if ids.dtype.kind != "O":
        return ids
    found = np.empty(ids.size, object)
    for i, entry in enumerate(ids.tolist()):
        try:
            found[i] = canonical(entry)
        except UnfitError as unfit:
            _check.fit(f"person[{rows[i]}]", unfit)
    return found


def rows_counted(codes: NDArray[np.intp], m: int) -> int:
    """Return how many rows count: of each person's rows min(rows, m)."""
    return int(np.minimum(np.bincount(codes), m).sum()) if codes.size else 0


def summed_steps(codes: NDArray[np.intp], steps: NDArray[np.int64], m: int) -> int:
    """Return the sum of steps in which a person with c > m rows counts with m times their mean, rounded half up.

    With steps between two whole numbers the term lies between m times these: rounding is monotone and keeps them.
    """
    order = np.argsort(codes, kind="stable")
    persons, starts, rows = np.unique(codes[order], return_index=True, return_counts=True)
    if not persons.size:
        return 0
    ordered = steps[order]
    # Halves, so that no sum of them leaves the int64: steps are below 2^51.
    high = np.add.reduceat(ordered >> _LOW_BITS, starts)
    low = np.add.reduceat(ordered & ((1 << _LOW_BITS) - 1), starts)
    many = rows > m
    total = (int(high[~many].sum()) << _LOW_BITS) + int(low[~many].sum())
    for upper, lower, c in zip(high[many].tolist(), low[many].tolist(), rows[many].tolist(), strict=True):
        total += (2 * m * ((upper << _LOW_BITS) + lower) + c) // (2 * c)
    return total


def kept_rows(
    persons: NDArray[np.intp],
    ids: NDArray[Any],
    cells: NDArray[np.intp],
    cell_keys: NDArray[np.uint64],
    m: int,
) -> NDArray[np.intp]:
    """Return m rows of each person with more, and all rows of the others.

    Row j among the rows of one person in one cell has a rank that is a hash of (id, cell, j); the least m ranks are
    kept. So what is kept depends on the person's id and cells alone, and falls on all cells alike.

    Parameters
    ----------
    persons, cells : ndarray of intp, shape (rows,)
        Places in ``ids`` and in ``cell_keys``.
    ids : ndarray
    cell_keys : ndarray of uint64
        What names a cell whatever the other data are. Where two are alike, the lesser cell comes first: so the order of
        cells must be theirs too.
    m : int
    """
    if not persons.size or np.bincount(persons).max() <= m:
        return np.arange(persons.size)
    order = np.lexsort((cells, persons))
    who, cell = persons[order], cells[order]
    begins = np.concatenate(([True], (who[1:] != who[:-1]) | (cell[1:] != cell[:-1])))
    j = _place_in_run(begins)
    rank = _mixed(digest(ids)[who] ^ _mixed(cell_keys[cell] ^ _mixed(j.astype(np.uint64))))
    by_rank = np.lexsort((j, cell_keys[cell], rank, who))
    begins = np.concatenate(([True], who[by_rank][1:] != who[by_rank][:-1]))
    kept: NDArray[np.intp] = order[by_rank[_place_in_run(begins) < m]]
    return kept


def digest(entries: NDArray[Any] | Iterable[Any]) -> NDArray[np.uint64]:
    """Return 64 bits for each entry, a function of its canonical form: whole numbers themselves, a hash of the others.

    Not of its type: one missing id turns a pandas column of integers into floats, and must not change what is kept of
    the others.
    """
    if isinstance(entries, np.ndarray) and entries.dtype.kind in "iub":
        return entries.astype(np.int64 if entries.dtype.kind == "i" else np.uint64).view(np.uint64)
    listed = entries.tolist() if isinstance(entries, np.ndarray) else entries
    return np.array([_digest_of(entry) for entry in listed], np.uint64)


def _digest_of(entry: Any) -> int:
    key = canonical(entry)
    if isinstance(key, int):
        return key % (1 << 64)
    content = text(key).encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _place_in_run(begins: NDArray[np.bool_]) -> NDArray[np.intp]:
    place = np.arange(begins.size)
    found: NDArray[np.intp] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return found


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return SplitMix64's output function, a bijection (Steele, Lea and Flood 2014)."""
    x = x + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * _MIX1
    x = (x ^ (x >> np.uint64(27))) * _MIX2
    return x ^ (x >> np.uint64(31))
