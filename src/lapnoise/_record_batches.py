"""Noise on columns of Arrow record batches, one batch at a time: what a task on a cluster does with its rows.

Objects here are what is shipped to tasks. They hold the keys of one release, of its rows and of its columns each, and
never the secret that these come from.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check, _row_keys
from lapnoise._arrow_keys import from_arrow, values_and_mask
from lapnoise._keyed_release import KeyedColumn, KeyedRelease, KeyedRows
from lapnoise.generator import Generator, default_rng
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    TruncatedLaplaceMechanism,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DRAWN",
    "DrawnBatches",
    "KeyedBatches",
    "column_kinds",
    "draw",
    "keyed_batches",
    "result_types",
    "sample",
    "task_generator",
]

DRAWN = (
    LaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    BoundedLaplaceMechanism,
    TruncatedLaplaceMechanism,
)
"""Mechanisms whose noise may be drawn for one column after the other."""

Noise = Callable[[NDArray[Any], NDArray[np.bool_] | None], NDArray[Any]]


class KeyedBatches(NamedTuple):
    """Keyed noise on the columns of a table.

    Attributes
    ----------
    rows : KeyedRows
        What tells rows apart.
    key_columns : tuple of str
        The columns of a row's key, in order.
    columns : tuple of (str, KeyedColumn)
        The columns that get noise.
    """

    rows: KeyedRows
    key_columns: tuple[str, ...]
    columns: tuple[tuple[str, KeyedColumn], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that get noise."""
        return tuple(name for name, _ in self.columns)

    @property
    def mechanism(self) -> LaplaceMechanism | DiscreteLaplaceMechanism:
        """What noise they get."""
        return self.columns[0][1].mechanism

    def noised(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with noise."""
        identities = self.rows.identities([from_arrow(name, batch.column(name)) for name in self.key_columns])

        def noise_of(column: KeyedColumn) -> Noise:
            return lambda values, mask: column.add_noise(values, identities, mask)

        return _replaced(batch, {name: noise_of(column) for name, column in self.columns})

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with noise."""
        return map(self.noised, batches)


class DrawnBatches(NamedTuple):
    """Noise that each call of `run` draws anew.

    Attributes
    ----------
    mechanism
        One of ``DRAWN``, for the length of all columns together.
    names : tuple of str
        The columns that get noise.
    """

    mechanism: Any
    names: tuple[str, ...]

    def noised(self, batch: pa.RecordBatch, rng: Generator) -> pa.RecordBatch:
        """Return a batch with noise."""

        def noise(values: NDArray[Any], mask: NDArray[np.bool_] | None) -> NDArray[Any]:
            return draw(self.mechanism, values, mask, rng)

        return _replaced(batch, dict.fromkeys(self.names, noise))

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with noise, under a fresh key from the operating system."""
        rng = task_generator()
        return (self.noised(batch, rng) for batch in batches)


def keyed_batches(
    release: KeyedRelease, mechanism: Any, columns: Iterable[str], key_columns: Iterable[str]
) -> KeyedBatches:
    """Return the noise of a release on columns; the order in which key columns are named does not matter."""
    named = tuple((name, release.column(mechanism, name)) for name in columns)
    return KeyedBatches(release.rows(), tuple(sorted(key_columns)), named)


def task_generator() -> Generator:
    """Return what one task draws from: ChaCha20 under a fresh key, on the task's own thread."""
    return default_rng(rounds=20, threads=1)


def draw(mechanism: Any, values: NDArray[Any], mask: NDArray[np.bool_] | None, rng: Generator) -> NDArray[Any]:
    """Return values with noise; where they are missing the result means nothing."""
    if mask is not None:
        values = values.copy()
        values[mask] = 0
    found: NDArray[Any] = mechanism.add_noise(values, rng=rng)
    return found


def result_types(
    batches: KeyedBatches | DrawnBatches, types: Mapping[str, tuple[pa.DataType, str]]
) -> dict[str, pa.DataType]:
    """Check the types of columns, compile what the noise needs, and return the types of the noised columns.

    ``types`` has the Arrow type of every column that is named, and what a message calls it; that of nulls stands for
    types that are never taken. Compiled here, kernels lie in Numba's cache before a task looks for them.
    """
    whole = isinstance(batches.mechanism, DiscreteLaplaceMechanism) or getattr(batches.mechanism, "integers", False)
    for name in batches.names:
        _verify_numbers(name, *types[name], whole)
    import pyarrow as pa

    for name in batches.key_columns if isinstance(batches, KeyedBatches) else ():
        if pa.types.is_null(types[name][0]):
            _check.key_type(name, f"type {types[name][1]}")
        from_arrow(name, pa.array([], types[name][0]))
    schema = pa.schema([pa.field(name, kind) for name, (kind, _) in types.items()])
    for missing in (False, True):  # what has missing values is copied first, which makes it another type for Numba
        given = pa.RecordBatch.from_arrays(
            [sample(kind, missing and name in batches.names) for name, (kind, _) in types.items()], schema=schema
        )
        noised = next(iter(batches.run([given])))
    return {name: noised.column(name).type for name in batches.names}


def column_kinds(names: Iterable[str], types: Mapping[str, tuple[pa.DataType, str]]) -> dict[str, str]:
    """Return the kind of each column, of numbers or of a key: what it is to noise, whatever its width and layout.

    Under another kind a column has other noise, so that a ledger must know it.
    """
    import pyarrow as pa

    def kind_of(name: str) -> str:
        found = types[name][0]
        if pa.types.is_floating(found):
            return "float32" if pa.types.is_float32(found) else "float64"
        return _row_keys.kind(from_arrow(name, pa.array([], found)))

    return {name: kind_of(name) for name in names}


def _verify_numbers(name: str, kind: pa.DataType, told: str, whole: bool) -> None:
    import pyarrow as pa

    floats = pa.types.is_float32(kind) or pa.types.is_float64(kind)
    if not (pa.types.is_integer(kind) or (floats and not whole)):
        _check.noised_type(name, told, whole)


def sample(kind: pa.DataType, missing: bool) -> pa.Array:
    """Return a value, or a value and none."""
    import pyarrow as pa

    moment = datetime.datetime(1970, 1, 1)
    if pa.types.is_temporal(kind):
        value: Any = moment.date() if pa.types.is_date(kind) else moment
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        value = 0
    elif pa.types.is_boolean(kind):
        value = False
    elif pa.types.is_decimal(kind):
        value = decimal.Decimal(0)
    else:
        value = "0" if "string" in str(kind) else b"0"
    return pa.array([value, None if missing else value], kind)


def _replaced(batch: pa.RecordBatch, noise: Mapping[str, Noise]) -> pa.RecordBatch:
    """Return a batch with other columns in the place of some; nulls, other columns and their order stay."""
    import pyarrow as pa

    arrays, fields = list(batch.columns), list(batch.schema)
    for name, add in noise.items():
        i = batch.schema.get_field_index(name)
        values, mask = values_and_mask(batch.column(i))
        try:
            noisy = add(values, mask)
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}") from None
        arrays[i] = pa.array(noisy, mask=mask, from_pandas=False)
        fields[i] = fields[i].with_type(arrays[i].type)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, batch.schema.metadata))
