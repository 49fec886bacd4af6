"""From a kernel to arrays of any layout: blocks, threads and buffers. The result depends on none of the three.

A kernel fills a contiguous run of draws from a place in the stream. Where every array is contiguous it gets slices of
them; otherwise NumPy's iterator copies pieces in C order through small buffers, so that memory stays bounded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._threads import run_blocks

__all__ = ["SERIAL_BELOW", "fill", "scratch", "separate"]

BLOCK = 1 << 17
"""Draws that a thread takes at a time: 1 MiB of float64, some 100 us of work."""

BUFFER = 1 << 13
"""Draws a buffer holds where arrays are not contiguous: 64 KiB an operand, which stays in L2."""

SERIAL_BELOW = 1 << 16
"""With fewer draws than this (60 us) waking another thread costs more than it gains."""

Parameter = float | NDArray[Any] | None
Kernel = Callable[..., None]

_local = threading.local()


def scratch() -> NDArray[np.uint64]:
    """Return this thread's work space for kernels, 17 KiB."""
    try:
        return _local.scratch  # type: ignore[no-any-return]
    except AttributeError:
        from lapnoise.kernels.batches import SCRATCH_WORDS

        _local.scratch = np.empty(SCRATCH_WORDS, np.uint64)
        return _local.scratch  # type: ignore[no-any-return]


def fill(
    kernel: Kernel,
    outs: Sequence[NDArray[Any]],
    parameters: Sequence[Parameter],
    source: NDArray[np.uint64],
    start: int,
    units: int,
    threads: int,
    kind: np.dtype[Any] | Sequence[np.dtype[Any]] | None = None,
) -> None:
    """Fill ``outs`` with draws in C order.

    Parameters
    ----------
    kernel : callable
        ``kernel(*outs, *parameters, source, start, scratch)`` on contiguous one-dimensional arrays.
    outs : sequence of ndarray
        Arrays of one shape, written to; parameters take the dtype of the first.
    parameters : sequence of float, ndarray or None
        Numbers, arrays that broadcast to that shape, or None for what stands in the first of ``outs``.
    source : ndarray of uint64
        Key, stream id and rounds.
    start : int
        Place of the first draw, in the kernel's units.
    units : int
        Units that a draw takes: words for float64 kernels, half words for float32 ones.
    threads : int
        Threads to use at most.
    kind : dtype or sequence of dtypes, optional
        What array parameters are converted to; None means the dtype of the first of ``outs``.
    """
    first = outs[0]
    size = first.size
    kinds = list(kind) if isinstance(kind, Sequence) else [kind or first.dtype] * len(parameters)
    given: list[Any] = []
    flat = all(_is_flat(out, first, out.dtype) for out in outs)
    for parameter, needed in zip(parameters, kinds, strict=True):
        if isinstance(parameter, np.ndarray):
            flat = flat and _is_flat(parameter, first, needed)
            given.append(parameter)
        else:
            given.append(parameter if needed == np.float64 or parameter is None else _as_kind(parameter, needed))
    if not flat:
        _fill_buffered(kernel, outs, given, source, start, units, threads, kinds)
        return
    arrays = [_flatten(p) for p in (*outs, *given)]
    if threads == 1:
        kernel(*arrays, source, start, scratch())
        return

    def run(piece: slice) -> None:
        pieces = [p[piece] if isinstance(p, np.ndarray) else p for p in arrays]
        kernel(*pieces, source, start + piece.start * units, scratch())

    run(slice(0, 0))  # kernels compile on the calling thread
    run_blocks(lambda i: run(slice(i * BLOCK, (i + 1) * BLOCK)), -(-size // BLOCK), threads)


def separate(parameter: float | NDArray[Any], out: NDArray[Any]) -> Parameter:
    """Return None if ``parameter`` is ``out`` itself, a copy if they may share memory, else the parameter as it is."""
    if not isinstance(parameter, np.ndarray) or not np.may_share_memory(parameter, out):
        return parameter
    same = (
        parameter.dtype == out.dtype
        and parameter.shape == out.shape
        and parameter.strides == out.strides
        and parameter.__array_interface__["data"][0] == out.__array_interface__["data"][0]
    )
    return None if same else parameter.copy()


def _fill_buffered(
    kernel: Kernel,
    outs: Sequence[NDArray[Any]],
    parameters: Sequence[Parameter],
    source: NDArray[np.uint64],
    start: int,
    units: int,
    threads: int,
    kinds: Sequence[np.dtype[Any]],
) -> None:
    arrays = [i for i, p in enumerate(parameters) if isinstance(p, np.ndarray)]
    in_place = any(p is None for p in parameters)
    operands = [*outs, *(p for p in parameters if isinstance(p, np.ndarray))]
    write: list[Any] = ["readwrite" if in_place else "writeonly", "aligned", "contig", "nbo"]
    read: list[Any] = ["readonly", "aligned", "contig", "nbo"]
    operand_flags = [write] * len(outs) + [read] * len(arrays)
    dtypes = [out.dtype for out in outs] + [kinds[i] for i in arrays]

    def block(i: int) -> None:
        iterator = np.nditer(
            operands,
            flags=["external_loop", "buffered", "ranged", "delay_bufalloc"],
            op_flags=operand_flags,
            op_dtypes=dtypes,
            order="C",
            casting="same_kind",
            buffersize=BUFFER,
        )
        with iterator:
            iterator.iterrange = (i * BLOCK, min((i + 1) * BLOCK, outs[0].size))  # type: ignore[misc] # it can be set
            iterator.reset()
            place = start + i * BLOCK * units
            for chunk in iterator:
                pieces: tuple[Any, ...] = chunk if len(operands) > 1 else (chunk,)
                given = list(parameters)
                for k, piece in zip(arrays, pieces[len(outs) :], strict=True):
                    given[k] = piece
                kernel(*pieces[: len(outs)], *given, source, place, scratch())
                place += pieces[0].size * units

    blocks = -(-outs[0].size // BLOCK)
    if blocks:
        block(0)  # kernels compile on the calling thread
        run_blocks(lambda i: block(i + 1), blocks - 1, threads)


def _as_kind(number: float, kind: np.dtype[Any]) -> Any:
    with np.errstate(over="ignore"):  # beyond float32 it is an infinity, as it would be in an array
        return kind.type(number)


def _is_flat(array: NDArray[Any], like: NDArray[Any], kind: np.dtype[Any]) -> bool:
    flags = array.flags
    return bool(array.dtype == kind and flags.c_contiguous and flags.aligned and array.shape == like.shape)


def _flatten(parameter: Any) -> Any:
    return parameter.reshape(-1) if isinstance(parameter, np.ndarray) and parameter.ndim != 1 else parameter
