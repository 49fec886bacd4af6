"""NPY: noise on every value of one array, whose shape, order and float type stay."""

from __future__ import annotations

import io
import math
import mmap
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from lapnoise._check import noise_terms
from lapnoise.errors import InputDataError
from lapnoise.files._cell_noise import CellNoise, Noised, Place, output_dtype
from lapnoise.files._cells import INFINITE, MISSING_CELL, BadCellError
from lapnoise.files._contents import Contents, Done, Header, advice_for
from lapnoise.files._overlap import in_order
from lapnoise.files._source import Source
from lapnoise.files._target import Target
from lapnoise.files._terms import Terms

__all__ = ["CHUNK_VALUES", "MAPPED_VALUES", "NpyFile", "read_header", "refuse_rest"]

CHUNK_VALUES = 1 << 15
"""How many values are read at a time, without effect on the result; 256 KiB stay in the cache, and on the heap."""

MAPPED_VALUES = 1 << 22
"""The same for arrays in Fortran order, where every chunk touches a part of every column."""


class NpyFile:
    """An NPY file, versions 1 to 3 of the format, of real numbers.

    float32 and float64 stay what they are, byte order included. Integers become float64, the exact sum rounded once;
    with discrete noise they become int64.

    Parameters
    ----------
    source
        The file.
    terms
        What is asked of the noise.
    """

    unit = "values"

    def __init__(self, source: Source, terms: Terms) -> None:
        self._source = source
        self._terms = terms
        self._whole = terms.whole
        self._shape: tuple[int, ...] = ()
        self._fortran = False
        self._dtype: np.dtype[Any] = np.dtype(np.float64)
        self._offset = 0

    def check_header(self) -> Header:
        """Read the header alone, and refuse shapes and types that cannot be noised."""
        self._read_header()
        noise_terms.cell_limits(
            self._terms.bounds_of(""), self._terms.clamp, self._terms.fill, _read_as(self._dtype), self._target_dtype
        )
        return Header((), math.prod(self._shape[1:]), self._contents(0))

    def check(self, done: Done) -> Contents:
        """Read the whole file, refuse what cannot be noised, and say what is there."""
        self._read_header()
        missing = start = 0
        for values in self._chunks():
            if values.dtype.kind == "f":
                infinite = np.flatnonzero(np.isinf(values)) if self._terms.clip is None else np.zeros(0)
                absent = np.flatnonzero(np.isnan(values))
                if infinite.size:
                    self._refuse(start + int(infinite[0]), INFINITE)
                if absent.size and self._terms.local and self._terms.fill is None:
                    self._refuse(start + int(absent[0]), MISSING_CELL)
                missing += absent.size if self._terms.fill is None else 0
            start += values.size
            done(start)
        self._refuse_rest()
        return self._contents(missing)

    def noise(self, target: Target, cell_noise: CellNoise, done: Done, threads: int) -> Contents:
        """Read the whole file and write it with noise; places in the released vector follow C order."""
        self._read_header()
        header = self._header_for_target()
        target.write(header)
        if self._needs_map:
            return self._noise_mapped(target, len(header), cell_noise, done)

        def noised(chunk: tuple[int, NDArray[Any]]) -> Noised:
            start, values = chunk
            try:
                return cell_noise.add(values, Place(0, start))
            except BadCellError as error:
                self._refuse(start + error.index, error.kind)

        starts = range(0, self._size, CHUNK_VALUES)
        missing = total = 0
        # Reading takes a tenth of what writing and the digest take, so that it needs no thread of its own.
        for values, absent in in_order(zip(starts, self._chunks(), strict=True), noised, threads):
            target.write(values.astype(self._target_dtype, copy=False))
            total += values.size
            missing += 0 if absent is None else int(np.count_nonzero(absent))
            done(total)
        self._refuse_rest()
        return self._contents(missing)

    def _contents(self, missing: int) -> Contents:
        rows = self._shape[0] if self._shape else 1
        types = (f"{self._dtype.name} -> {self._target_dtype.name}",)
        return Contents((), types, rows, self._size, missing)

    @property
    def _size(self) -> int:
        return math.prod(self._shape)

    @property
    def _needs_map(self) -> bool:
        # With at most one axis longer than 1 both orders are the same.
        return self._fortran and self._size > 0 and sum(length > 1 for length in self._shape) > 1

    @property
    def _target_dtype(self) -> np.dtype[Any]:
        return self._dtype if self._dtype.kind == "f" else output_dtype(self._dtype, whole=self._whole)

    def _read_header(self) -> None:
        self._shape, self._fortran, self._dtype = read_header(self._source)
        if self._whole and self._dtype.kind == "f":
            raise InputDataError(f"the array must be of integers for discrete noise, got {self._dtype.name}")
        self._offset = self._source.tell()

    def _header_for_target(self) -> bytes:
        buffer = io.BytesIO()
        npy_format.write_array_header_1_0(
            buffer,
            {
                "descr": npy_format.dtype_to_descr(self._target_dtype),
                "fortran_order": self._fortran,
                "shape": self._shape,
            },
        )
        return buffer.getvalue()

    def _chunks(self) -> Iterator[NDArray[Any]]:
        width = self._dtype.itemsize
        for start in range(0, self._size, CHUNK_VALUES):
            count = min(CHUNK_VALUES, self._size - start)
            data = self._source.read(count * width)
            if len(data) < count * width:
                raise InputDataError("the file ends early")
            yield np.frombuffer(data, self._dtype)

    def _refuse(self, place: int, kind: str) -> NoReturn:
        index = np.unravel_index(place, self._shape, order="F" if self._fortran else "C")
        shown = ", ".join(str(int(i)) for i in index)
        flat = int(np.ravel_multi_index(index, self._shape)) if index else 0
        wanted = "a number" if self._terms.local else "a finite number or NaN"
        advice = advice_for(kind)
        raise InputDataError(f"index ({shown}), flat index {flat}, has {kind}, where {wanted} must stand{advice}")

    def _refuse_rest(self) -> None:
        refuse_rest(self._source)

    def _noise_mapped(self, target: Target, offset: int, cell_noise: CellNoise, done: Done) -> Contents:
        source_map = mmap.mmap(self._source.fileno(), 0, access=mmap.ACCESS_READ)
        target_map = target.append_mapped(self._size * self._target_dtype.itemsize)
        read: NDArray[Any] = np.ndarray(self._shape, self._dtype, source_map, self._offset, order="F")
        written: NDArray[Any] = np.ndarray(self._shape, self._target_dtype, target_map, offset, order="F")
        missing = 0
        for start in range(0, self._size, MAPPED_VALUES):
            # A flat iterator walks in C order whatever the order in memory.
            try:
                noisy, absent = cell_noise.add(read.flat[start : start + MAPPED_VALUES], Place(0, start))
            except BadCellError as error:
                index = np.unravel_index(start + error.index, self._shape)
                self._refuse(int(np.ravel_multi_index(index, self._shape, order="F")), error.kind)
            written.flat[start : start + MAPPED_VALUES] = noisy
            missing += 0 if absent is None else int(np.count_nonzero(absent))
            # Gives the pages back, so that memory does not grow with the file; what was written stays in the file.
            if hasattr(mmap, "MADV_DONTNEED"):
                source_map.madvise(mmap.MADV_DONTNEED)
                target_map.madvise(mmap.MADV_DONTNEED)
            done(start + noisy.size)
        if self._source.size != self._offset + self._size * self._dtype.itemsize:
            raise InputDataError("the file has bytes after its array")
        self._source.digest_whole()
        target.digest_map(target_map)
        return self._contents(missing)


def read_header(source: Source) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an NPY file and return shape, whether the order is Fortran's, and dtype.

    Raises
    ------
    InputDataError
        If the file is no NPY file of float32, float64 or integers, or shorter than its header says.
    """
    try:
        version = npy_format.read_magic(source)
    except ValueError:
        raise InputDataError("the file does not begin as an NPY file does") from None
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise InputDataError(f"the file has version {version[0]}.{version[1]} of the NPY format; 1 to 3 are read")
    # Version 3 differs from 2 in the encoding of field names alone, and records are refused.
    read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    try:
        shape, fortran, dtype = read(source)
    except (ValueError, TypeError, SyntaxError):
        raise InputDataError("the header of the NPY file cannot be read") from None
    kind, width = dtype.kind, dtype.itemsize
    if not (kind in "iu" or (kind == "f" and width in (4, 8))):
        name = "records" if kind == "V" else str(dtype)
        raise InputDataError(f"the array must be of float32, float64 or integers, got {name}")
    expected = source.tell() + math.prod(shape) * width
    if min(shape, default=0) < 0 or source.size < expected:
        raise InputDataError(f"the file ends early: it has {source.size} bytes, its header promises {expected}")
    return shape, fortran, dtype


def refuse_rest(source: Source) -> None:
    """Refuse bytes behind an array."""
    if source.read(1):
        raise InputDataError("the file has bytes after its array")


def _read_as(kind: np.dtype[Any]) -> np.dtype[Any]:
    return kind.newbyteorder("=") if kind.kind == "f" or kind.itemsize == 8 else np.dtype(np.int64)
