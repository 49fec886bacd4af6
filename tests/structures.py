"""How files of tables are divided and stored: what must not follow from a noised column."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def structure(path: Path) -> list:
    """Return what a reader sees of a Parquet or Arrow file without its values; sizes too where it has no codec."""
    if path.is_dir():
        return [(file.relative_to(path), structure(file)) for file in sorted(path.rglob("*.parquet"))]
    if path.suffix == ".parquet":
        metadata = pq.read_metadata(path)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        return [
            (group.num_rows, [_chunk(group.column(number)) for number in range(metadata.num_columns)])
            for group in groups
        ]
    reader = pa.ipc.open_file(path)
    batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
    return [
        (batch.num_rows, [[buffer and buffer.size for buffer in column.buffers()] for column in batch.columns])
        for batch in batches
    ]


def rows_of(found: list) -> list[int]:
    """Return how many rows the row groups or record batches of a structure have."""
    return [rows for rows, _ in found]


def _chunk(chunk) -> tuple:
    sizes = (chunk.total_uncompressed_size, chunk.total_compressed_size) if chunk.compression == "UNCOMPRESSED" else ()
    statistics = chunk.statistics and (chunk.statistics.has_min_max, chunk.statistics.null_count)
    return chunk.compression, chunk.encodings, chunk.has_dictionary_page, chunk.num_values, statistics, sizes
