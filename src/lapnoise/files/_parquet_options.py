"""How a Parquet file was written, as far as it can be written so again."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from lapnoise.errors import InputDataError
from lapnoise.files._arrow import Layout, pyarrow

__all__ = ["writer_options"]

_NEWEST = "2.6"
_VERSIONS = ("1.0", "2.4", _NEWEST)

_PLAIN_INTEGERS = ("Int(bitWidth=32, isSigned=true)", "Int(bitWidth=64, isSigned=true)")
"""What these add to a physical type of integers is nothing, and not every writer adds it."""

_USUAL_CODEC = "snappy"
"""For noised columns where there are no others, whose codec they would have."""


def writer_options(metadata: Any, layout: Layout) -> dict[str, Any]:
    """Return arguments for `pyarrow.parquet.ParquetWriter` that keep types, codecs and dictionaries of the source.

    Those of the noised columns are not looked at: a writer may have chosen them by the values.

    Parameters
    ----------
    metadata
        Of the source, of `pyarrow.parquet`.
    layout
        What is noised.

    Raises
    ------
    InputDataError
        When a column of the source is of a type that cannot be written as Parquet.
    """
    wanted = _leaves(metadata.schema)
    chosen, paths = _of_types(metadata, layout, wanted)
    codecs, dictionaries = {}, []
    noised = layout.noised_names()
    if not metadata.num_row_groups or len(paths) != len(wanted):
        return {**chosen, "use_dictionary": [path for path in paths if path not in noised] or False}
    for number, path in enumerate(paths):
        if path in noised:
            continue
        chunk = metadata.row_group(0).column(number)
        codecs[path] = _codec(chunk.compression)
        if any("DICTIONARY" in encoding for encoding in chunk.encodings):
            dictionaries.append(path)
    usual = next(iter(codecs.values()), _USUAL_CODEC)
    codecs |= dict.fromkeys(noised, usual)
    return {**chosen, "compression": codecs, "use_dictionary": dictionaries or False}


def _codec(name: str) -> str:
    codec = "none" if name == "UNCOMPRESSED" else name.lower()
    return codec if codec == "none" or pyarrow().Codec.is_available(codec) else "zstd"


def _of_types(metadata: Any, layout: Layout, wanted: list[tuple[str, str, str]]) -> tuple[dict[str, Any], list[str]]:
    """Return options under which columns have the types that they have in the source, and the columns' paths then."""
    noised = layout.noised_names()
    fallback = None
    for options in _candidates(metadata, wanted):
        written = io.BytesIO()
        try:
            pyarrow().parquet.ParquetWriter(written, layout.target, **options).close()
        except (pyarrow().ArrowException, NotImplementedError):
            continue
        leaves = _leaves(pyarrow().parquet.read_metadata(pyarrow().BufferReader(written.getvalue())).schema)
        # The newest version has all types.
        fallback = (options, [path for path, _, _ in leaves])
        same = len(leaves) == len(wanted) and all(
            one[1:] == other[1:] or one[0] in noised for one, other in zip(leaves, wanted, strict=True)
        )
        if same:
            return options, [path for path, _, _ in leaves]
    if fallback is None:
        raise InputDataError("the file has a column of a type that pyarrow cannot write as Parquet")
    return fallback


def _candidates(metadata: Any, wanted: list[tuple[str, str, str]]) -> Iterator[dict[str, Any]]:
    common: dict[str, Any] = {
        # The names of lists' elements are those of the source.
        "use_compliant_nested_type": False,
        "use_deprecated_int96_timestamps": any(physical == "INT96" for _, physical, _ in wanted),
    }
    if any(logical.startswith("Decimal") and physical in ("INT32", "INT64") for _, physical, logical in wanted):
        common["store_decimal_as_integer"] = True
    for version in dict.fromkeys((metadata.format_version, _NEWEST)):
        if version in _VERSIONS:
            yield {**common, "version": version}


def _leaves(schema: Any) -> list[tuple[str, str, str]]:
    columns = [schema.column(number) for number in range(len(schema.names))]
    logical = [str(column.logical_type) for column in columns]
    return [
        (column.path, column.physical_type, "None" if kind in _PLAIN_INTEGERS else kind)
        for column, kind in zip(columns, logical, strict=True)
    ]
