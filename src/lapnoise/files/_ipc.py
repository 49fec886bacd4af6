"""Arrow IPC files, which Feather version 2 is too: noise in some columns, read through a memory map.

Where the target's record batches end follows from the source's own, from types, and from the lengths of text and lists
in published columns. The map has a price: a
source that someone else shortens during a run ends the process (SIGBUS), and leaves no target. Reading into memory
instead would need as much of it as a record batch takes, which may be the whole file.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

from lapnoise.errors import InputDataError
from lapnoise.files._arrow import Layout, header_of, layout_of, pyarrow
from lapnoise.files._arrow_streams import TargetStream
from lapnoise.files._batches import Piece, add_noise, missing_cells, piece_rows
from lapnoise.files._cell_noise import CellNoise
from lapnoise.files._contents import Contents, Done, Header
from lapnoise.files._ipc_messages import batch_messages
from lapnoise.files._row_bytes import bytes_of
from lapnoise.files._source import Source
from lapnoise.files._target import Target
from lapnoise.files._terms import Terms

__all__ = ["ArrowFile"]

_MAGIC = b"ARROW1"
_OTHERS = {
    b"FEA1": "of Feather version 1; only version 2 is read",
    b"\xff\xff\xff\xff": "a stream; only files are read",
}


class ArrowFile:
    """An Arrow IPC file whose named columns are noised.

    A record batch that is not compressed may have any size. One that is gets decompressed as a whole.

    Parameters
    ----------
    source
        The file.
    terms
        What is asked of the noise.
    columns
        Names of the columns, or None for the only numeric one.
    """

    unit = "rows"

    def __init__(self, source: Source, terms: Terms, *, columns: tuple[str, ...] | None) -> None:
        self._source = source
        self._terms = terms
        self._asked = columns
        self._codec: str | None = None
        self._rows = 0
        self._layout: Layout

    def check_header(self) -> Header:
        """Read the schema and the sizes of record batches, and refuse names and types that cannot be noised."""
        _, data = self._map()
        reader = self._reader(data)
        self._layout = layout_of(reader.schema, self._terms, self._asked)
        messages = list(batch_messages(data))
        if len(messages) != reader.num_record_batches:
            raise InputDataError("the footer of the Arrow file does not tell the record batches that are there")
        self._codec = messages[0].codec if messages else None
        self._rows = sum(message.rows for message in messages)
        return header_of(self._layout, self._rows)

    def check(self, done: Done) -> Contents:
        """Read the noised columns, refuse what cannot be noised, and say what is there."""
        mapped, data = self._map()
        names = self._layout.read_names()
        rows = missing = 0
        for batch, _ in self._slices(self._reader(data, names)):
            missing += missing_cells(Piece(batch, 0, "", rows, rows, False), self._layout, self._terms)
            rows += batch.num_rows
            _give_back(mapped)
            done(rows)
        return self._layout.contents(rows, missing)

    def noise(self, target: Target, cell_noise: CellNoise, done: Done, threads: int) -> Contents:
        """Read the whole file once and write it with noise."""
        mapped, data = self._map()
        reader = self._reader(data)
        stream = TargetStream(target)
        options = pyarrow().ipc.IpcWriteOptions(compression=self._codec, use_threads=threads > 1)
        notes = {"metadata": reader.metadata} if getattr(reader, "metadata", None) else {}
        rows = missing = 0
        with ExitStack() as unwound:
            writer = pyarrow().ipc.new_file(stream, self._layout.target, options=options, **notes)
            unwound.callback(writer.close)
            unwound.callback(stream.abandon)
            noised = unwound.enter_context(closing(add_noise(self._pieces(reader), self._layout, cell_noise, threads)))
            for piece, absent in noised:
                writer.write_batch(piece.batch)
                missing += absent
                rows += piece.batch.num_rows
                _give_back(mapped)
                done(rows)
            writer.close()
            stream.close()
        self._source.digest_whole()
        return self._layout.contents(rows, missing)

    def _pieces(self, reader: Any) -> Iterator[Piece]:
        row = 0
        for batch, ends_batch in self._slices(reader):
            yield Piece(_compact(batch), 0, "", row, row, ends_batch)
            row += batch.num_rows

    def _slices(self, reader: Any) -> Iterator[tuple[Any, bool]]:
        arrow = pyarrow()
        for number in range(reader.num_record_batches):
            try:
                batch = reader.get_batch(number)
                # Each slice becomes a record batch of the target, whose length must tell nothing of noised columns.
                rows = piece_rows(bytes_of(batch) / max(batch.num_rows, 1))
                for start in range(0, batch.num_rows, rows):
                    piece = batch.slice(start, rows)
                    # Bytes are taken as they are, so that lengths and places in them must be looked at.
                    piece.validate(full=True)
                    yield piece, start + rows >= batch.num_rows
            except (arrow.ArrowException, OSError, ValueError, IndexError, TypeError, NotImplementedError) as error:
                if isinstance(error, InputDataError):
                    raise
                raise InputDataError(
                    f"record batch {number + 1} of {reader.num_record_batches} cannot be read: the file is damaged"
                ) from None

    def _map(self) -> tuple[mmap.mmap, Any]:
        size = self._source.size
        if not size:
            raise InputDataError("the file is empty")
        mapped = mmap.mmap(self._source.fileno(), 0, access=mmap.ACCESS_READ)
        for start, what in _OTHERS.items():
            if mapped[: len(start)] == start:
                raise InputDataError(f"the file is {what}")
        if mapped[: len(_MAGIC)] != _MAGIC:
            raise InputDataError("the file does not begin as an Arrow file does")
        if mapped[-len(_MAGIC) :] != _MAGIC:
            raise InputDataError("the file ends early: it does not end as an Arrow file does")
        return mapped, pyarrow().py_buffer(mapped)

    def _reader(self, data: Any, names: list[str] | None = None) -> Any:
        arrow = pyarrow()
        try:
            reader = arrow.ipc.open_file(arrow.BufferReader(data))
            if names is None:
                return reader
            fields = sorted(reader.schema.get_field_index(name) for name in names)
            return arrow.ipc.open_file(
                arrow.BufferReader(data), options=arrow.ipc.IpcReadOptions(included_fields=fields)
            )
        except (arrow.ArrowException, OSError, ValueError, NotImplementedError):
            raise InputDataError("the footer of the Arrow file cannot be read: the file is damaged") from None


def _give_back(mapped: mmap.mmap) -> None:
    # The pages of what was read are no longer needed, and memory does not grow with the file.
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _compact(batch: Any) -> Any:
    """Return a batch whose views hold its own text alone: a slice would be written with that of the whole file."""
    return pyarrow().RecordBatch.from_arrays([_compacted(column) for column in batch.columns], schema=batch.schema)


def _compacted(array: Any) -> Any:
    arrow, kind = pyarrow(), array.type
    if not _has_views(kind):
        return array
    mask = array.is_null() if array.null_count else None
    if arrow.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        children = [_compacted(array.field(i)) for i in range(kind.num_fields)]
        return arrow.StructArray.from_arrays(children, fields=fields, mask=mask)
    if arrow.types.is_list(kind) or arrow.types.is_large_list(kind):
        offsets = array.offsets
        first, end = offsets[0].as_py(), offsets[-1].as_py()
        made = arrow.ListArray if arrow.types.is_list(kind) else arrow.LargeListArray
        elements = _compacted(array.values.slice(first, end - first))
        return made.from_arrays(arrow.compute.subtract(offsets, offsets[0]), elements, type=kind, mask=mask)
    return array.cast(arrow.large_string() if str(kind) == "string_view" else arrow.large_binary()).cast(kind)


def _has_views(kind: Any) -> bool:
    """Return whether there are views that `_compacted` can reach: in lists and structs, but not in maps."""
    types = pyarrow().types
    if types.is_struct(kind):
        return any(_has_views(kind.field(i).type) for i in range(kind.num_fields))
    if types.is_list(kind) or types.is_large_list(kind):
        return _has_views(kind.value_type)
    return str(kind) in ("string_view", "binary_view")
