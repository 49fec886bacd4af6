"""Parquet: noise in some columns of one file, or of many that are one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from lapnoise.errors import InputDataError
from lapnoise.files._arrow import Layout, header_of, layout_of, pyarrow
from lapnoise.files._arrow_streams import OpenFile, SourceStream, TargetStream
from lapnoise.files._batches import Piece, add_noise, missing_cells, piece_rows
from lapnoise.files._cell_noise import CellNoise
from lapnoise.files._contents import Contents, Done, Header
from lapnoise.files._parquet_options import writer_options
from lapnoise.files._row_groups import RowGroups
from lapnoise.files._source import Source
from lapnoise.files._target import Target
from lapnoise.files._terms import Terms

__all__ = ["ParquetFile", "parquet_batches", "parquet_reader", "parquet_writer"]

_BUFFER_BYTES = 1 << 19
_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"
_IS_ENCRYPTED = "the file is encrypted; only plain Parquet files are read"

_SIGNATURE_BYTES = 28
"""Behind a footer that is plain while columns are encrypted: pyarrow would end the process where it looks at those."""


class ParquetFile:
    """A Parquet file whose named columns are noised.

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
        self._layout: Layout

    def check_header(self) -> Header:
        """Read the footer alone, and refuse names and types that cannot be noised."""
        file = parquet_reader(self._source)
        self._layout = layout_of(file.schema_arrow, self._terms, self._asked)
        writer_options(file.metadata, self._layout)
        return header_of(self._layout, file.metadata.num_rows)

    def check(self, done: Done) -> Contents:
        """Read the noised columns, refuse what cannot be noised, and say what is there."""
        rows = missing = 0
        names = self._layout.read_names()
        for batch, _ in parquet_batches(parquet_reader(self._source), self._layout, names, threads=1):
            missing += missing_cells(Piece(batch, 0, "", rows, rows, False), self._layout, self._terms)
            rows += batch.num_rows
            done(rows)
        return self._layout.contents(rows, missing)

    def noise(self, target: Target, cell_noise: CellNoise, done: Done, threads: int) -> Contents:
        """Read the whole file once and write it with noise."""
        file = parquet_reader(self._source)
        rows = missing = 0
        with (
            closing(add_noise(self._pieces(file, threads), self._layout, cell_noise, threads)) as noised,
            parquet_writer(target, file.metadata, self._layout) as write,
        ):
            for piece, absent in noised:
                write(piece)
                missing += absent
                rows += piece.batch.num_rows
                done(rows)
        self._source.digest_whole()
        return self._layout.contents(rows, missing)

    def _pieces(self, file: Any, threads: int) -> Iterator[Piece]:
        row = 0
        for batch, ends_group in parquet_batches(file, self._layout, None, threads):
            yield Piece(batch, 0, "", row, row, ends_group)
            row += batch.num_rows


def parquet_reader(file: OpenFile, shown: str = "") -> Any:
    """Return a `pyarrow.parquet.ParquetFile` of an open file, of which only the footer was read.

    Parameters
    ----------
    file
        The file.
    shown
        What a message begins with.
    """
    _refuse_other_files(file, shown)
    arrow = pyarrow()
    try:
        # What is ahead of a reader in its row group is not fetched, so that a row group may be as large as it likes.
        found = arrow.parquet.ParquetFile(
            SourceStream(file), buffer_size=_BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
        )
        if any(found.schema.column(i).physical_type == "INT96" for i in range(len(found.schema.names))):
            # Spark's timestamps are of microseconds, and reach further than nanoseconds do.
            notes = found.metadata.metadata or {}
            unit = "us" if any(key.startswith(b"org.apache.spark") for key in notes) else "ns"
            found = arrow.parquet.ParquetFile(
                SourceStream(file),
                buffer_size=_BUFFER_BYTES,
                pre_buffer=False,
                page_checksum_verification=True,
                coerce_int96_timestamp_unit=unit,
            )
    except (arrow.ArrowException, OSError, ValueError, NotImplementedError) as error:
        raise _unreadable(error, shown, "the footer of the Parquet file") from None
    stream = SourceStream(file)
    stream.seek(file.size - 8)
    if int.from_bytes(stream.read(4), "little") == found.metadata.serialized_size + _SIGNATURE_BYTES:
        raise InputDataError(f"{shown}{_IS_ENCRYPTED}")
    return found


def parquet_batches(
    file: Any, layout: Layout, columns: list[str] | None, threads: int, shown: str = ""
) -> Iterator[tuple[Any, bool]]:
    """Yield record batches of a `pyarrow.parquet.ParquetFile`, and of each whether it ends a row group."""
    metadata, arrow = file.metadata, pyarrow()
    for group in range(metadata.num_row_groups):
        left = metadata.row_group(group).num_rows
        if not left:
            continue
        batches = file.iter_batches(
            piece_rows(_bytes_per_row(metadata, group, layout)), [group], columns, use_threads=threads > 1
        )
        while left > 0:
            try:
                batch = next(batches, None)
            except (arrow.ArrowException, OSError, ValueError, NotImplementedError) as error:
                raise _unreadable(error, shown, f"row group {group + 1} of {metadata.num_row_groups}") from None
            if batch is None:
                raise InputDataError(f"{shown}row group {group + 1} has fewer rows than the footer promises")
            left -= batch.num_rows
            yield batch, left <= 0


@contextmanager
def parquet_writer(target: Target, metadata: Any, layout: Layout) -> Iterator[Callable[[Piece], None]]:
    """Give a function that writes pieces to a target, in the row groups of the source where they are not large.

    Parameters
    ----------
    target
        What is written.
    metadata
        Of the source, whose codecs and dictionaries are kept where they tell nothing.
    layout
        What was noised.
    """
    stream = TargetStream(target)
    writer = pyarrow().parquet.ParquetWriter(stream, layout.target, **writer_options(metadata, layout))
    groups = RowGroups(layout.target)

    def write(piece: Piece) -> None:
        flush(groups.add(piece.batch, ends_group=piece.ends_group))

    def flush(tables: Iterator[Any]) -> None:
        try:
            for table in tables:
                writer.write_table(table, row_group_size=table.num_rows)
                del table
                # What pyarrow keeps for later would else come on top of the next row group.
                pyarrow().default_memory_pool().release_unused()
        except pyarrow().ArrowException:
            raise InputDataError("the file has values that pyarrow reads but cannot write as Parquet") from None

    with ExitStack() as unwound:
        unwound.callback(stream.abandon)
        yield write
        flush(groups.rest())
        writer.close()
        stream.close()


def _bytes_per_row(metadata: Any, group: int, layout: Layout) -> float:
    # Encoded bytes are few where values repeat, and 8 is what most values take in memory. Those of the noised columns
    # would tell how often their values do.
    noised = layout.noised_names()
    row_group = metadata.row_group(group)
    chunks = map(row_group.column, range(metadata.num_columns))
    published = sum(int(chunk.total_uncompressed_size) for chunk in chunks if chunk.path_in_schema not in noised)
    return max(published / int(row_group.num_rows) + 8.0 * len(noised), 8.0 * int(metadata.num_columns))


def _refuse_other_files(file: OpenFile, shown: str) -> None:
    stream = SourceStream(file)
    start = stream.read(4)
    stream.seek(max(file.size - 4, 0))
    end = stream.read(4)
    if not start:
        raise InputDataError(f"{shown}the file is empty")
    if _ENCRYPTED in (start, end):
        raise InputDataError(f"{shown}{_IS_ENCRYPTED}")
    if start != _MAGIC:
        raise InputDataError(f"{shown}the file does not begin as a Parquet file does")
    if end != _MAGIC or file.size < 12:
        raise InputDataError(f"{shown}the file ends early: it does not end as a Parquet file does")


def _unreadable(error: BaseException, shown: str, what: str) -> InputDataError:
    # The message of pyarrow may hold a value of the data.
    if "ncrypt" in str(error):
        return InputDataError(f"{shown}{_IS_ENCRYPTED}")
    if isinstance(error, NotImplementedError):
        return InputDataError(f"{shown}{what} is stored in a way that pyarrow cannot read")
    return InputDataError(f"{shown}{what} cannot be read: the file is damaged")
