"""What an Arrow IPC file says of its record batches that pyarrow does not tell: rows and compression.

Footer and messages are flatbuffers. A table in one begins with the distance back to a list of its fields' places.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from lapnoise.errors import InputDataError

__all__ = ["BatchMessage", "batch_messages"]

_CONTINUATION = 0xFFFFFFFF
_END_BYTES = 10
"""Behind the footer stand its length and the magic."""

_BLOCKS, _BLOCK_BYTES = 3, 24
_HEADER, _LENGTH, _COMPRESSION, _CODEC = 2, 0, 3, 0
_CODECS = ("lz4", "zstd")


class BatchMessage(NamedTuple):
    """One record batch: its rows, and the codec of its buffers ("lz4", "zstd" or None)."""

    rows: int
    codec: str | None


def batch_messages(data: Any) -> Iterator[BatchMessage]:
    """Yield what is told of each record batch of an IPC file, given as a buffer, in order."""
    view = memoryview(data).cast("B")
    try:
        (size,) = struct.unpack_from("<i", view, len(view) - _END_BYTES)
        footer = view[len(view) - _END_BYTES - size : len(view) - _END_BYTES]
        field = _field(footer, _reference(footer, 0), _BLOCKS)
        if not field:
            return
        blocks = _reference(footer, field)
        (count,) = struct.unpack_from("<I", footer, blocks)
        for number in range(count):
            (offset,) = struct.unpack_from("<q", footer, blocks + 4 + number * _BLOCK_BYTES)
            yield _batch(view[offset:])
    except (struct.error, IndexError):
        raise InputDataError("the footer of the Arrow file cannot be read: the file is damaged") from None


def _batch(data: memoryview) -> BatchMessage:
    # Files from before version 0.15 have no continuation mark.
    metadata = data[8:] if struct.unpack_from("<I", data)[0] == _CONTINUATION else data[4:]
    header = _reference(metadata, _field(metadata, _reference(metadata, 0), _HEADER))
    length = _field(metadata, header, _LENGTH)
    rows = struct.unpack_from("<q", metadata, length)[0] if length else 0
    compression = _field(metadata, header, _COMPRESSION)
    if not compression:
        return BatchMessage(rows, None)
    codec = _field(metadata, _reference(metadata, compression), _CODEC)
    return BatchMessage(rows, _CODECS[metadata[codec] if codec else 0])


def _field(data: memoryview, table: int, number: int) -> int:
    """Return where a field of a table lies, 0 where it has its default."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, vtable)
    place = 4 + 2 * number
    if place >= size:
        return 0
    (offset,) = struct.unpack_from("<H", data, vtable + place)
    return table + offset if offset else 0


def _reference(data: memoryview, place: int) -> int:
    return int(place + struct.unpack_from("<I", data, place)[0])
