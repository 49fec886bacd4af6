"""Noise on blocks of an array, whose elements are told apart by their place in the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._record_batches import DrawnBatches, KeyedBatches, draw, result_types, task_generator
from lapnoise._row_keys import from_numpy
from lapnoise.mechanisms import DiscreteLaplaceMechanism

if TYPE_CHECKING:
    from dask.array import Array

__all__ = ["ELEMENT", "INDEX", "DrawnBlock", "KeyedBlock", "noised_dtype"]

ELEMENT = "value"
"""What the elements of an array are called where a column has its name."""

INDEX = "index"
"""What their places are called where a key has its name."""

_PIECE = 1 << 18
"""Elements that get noise at a time, whose keys take 6 MiB."""


class KeyedBlock(NamedTuple):
    """Keyed noise on blocks.

    Attributes
    ----------
    batches : KeyedBatches
        The keys of one column.
    whole : tuple of int
        The shape of the whole array.
    """

    batches: KeyedBatches
    whole: tuple[int, ...]

    def noised(self, block: NDArray[Any], block_info: Any = None) -> NDArray[Any]:
        """Return a block with noise; ``block_info`` is dask's account of where it lies."""
        given = np.asarray(block).reshape(-1)
        places = _places([span[0] for span in block_info[0]["array-location"]], block.shape, self.whole)
        column = self.batches.columns[0][1]
        pieces = []
        for first in range(0, max(1, given.size), _PIECE):
            piece = slice(first, first + _PIECE)
            identities = self.batches.rows.identities([from_numpy(INDEX, places[piece])])
            pieces.append(column.add_noise(given[piece], identities))
        return np.concatenate(pieces).reshape(block.shape)


class DrawnBlock(NamedTuple):
    """Noise that each call of `noised` draws anew."""

    mechanism: Any

    def noised(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return a block with noise, under a fresh key from the operating system."""
        return draw(self.mechanism, np.asarray(block).reshape(-1), None, task_generator()).reshape(block.shape)


def noised_dtype(array: Array, batches: KeyedBatches | DrawnBatches) -> np.dtype[Any]:
    """Check the type of an array, compile what its noise needs, and return the type of the result."""
    import pyarrow as pa

    kind = array.dtype
    whole = isinstance(batches.mechanism, DiscreteLaplaceMechanism) or getattr(batches.mechanism, "integers", False)
    _check.noised_array(kind, whole)
    types = {ELEMENT: (pa.from_numpy_dtype(kind.newbyteorder("=")), str(kind)), INDEX: (pa.int64(), "int64")}
    found: np.dtype[Any] = np.dtype(result_types(batches, types)[ELEMENT].to_pandas_dtype())
    return found


def _places(first: list[int], shape: tuple[int, ...], whole: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the place of each element of a block in the whole array, counted in C order."""
    found = np.zeros((), np.int64)
    for axis, (start, count) in enumerate(zip(first, shape, strict=True)):
        steps = np.arange(start, start + count, dtype=np.int64)
        found = found[..., np.newaxis] * np.int64(whole[axis]) + steps
    return np.ascontiguousarray(found).reshape(-1)
