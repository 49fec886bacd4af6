"""What the messages of an Arrow IPC file say of record batches, which pyarrow does not tell: rows and compression.

A message is a flatbuffer. Its tables begin with the distance back to a list of the places of their fields.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from lapnoise.errors import InputDataError
from lapnoise.files._arrow import pyarrow

__all__ = ["BatchMessage", "batch_messages"]

_STREAM_START = 8
"""The stream of messages begins behind the magic and its padding."""

_HEADER, _LENGTH, _COMPRESSION, _CODEC = 2, 0, 3, 0
_CODECS = ("lz4", "zstd")


class BatchMessage(NamedTuple):
    """One record batch: its rows, and the codec of its buffers ("lz4", "zstd" or None)."""

    rows: int
    codec: str | None


def batch_messages(data: Any) -> Iterator[BatchMessage]:
    """Yield what is told of each record batch of an IPC file, given as a buffer of `pyarrow`, in order."""
    arrow = pyarrow()
    try:
        reader = arrow.ipc.MessageReader.open_stream(arrow.BufferReader(data.slice(_STREAM_START)))
        for message in reader:
            if message.type == "record batch":
                yield _batch(memoryview(message.metadata))
    except (arrow.ArrowException, OSError, ValueError, struct.error, IndexError):
        raise InputDataError("the messages of the Arrow file cannot be read: the file is damaged") from None


def _batch(metadata: memoryview) -> BatchMessage:
    (message,) = struct.unpack_from("<I", metadata)
    header = _reference(metadata, _field(metadata, message, _HEADER))
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
