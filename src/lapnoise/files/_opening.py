"""What is read and what is written, opened: files, directories, standard streams, each by its format."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lapnoise.files._contents import Format
from lapnoise.files._csv import CsvFile
from lapnoise.files._directory import ParquetDirectory
from lapnoise.files._directory_source import DirectorySource
from lapnoise.files._directory_target import DirectoryTarget, refuse_unsafe_directory
from lapnoise.files._ipc import ArrowFile
from lapnoise.files._npy import NpyFile
from lapnoise.files._parquet import ParquetFile
from lapnoise.files._source import Source
from lapnoise.files._streams import STANDARD, StandardOutput
from lapnoise.files._target import Output, Target, refuse_unsafe_target
from lapnoise.files._terms import Terms

__all__ = ["format_of", "opened"]


def opened(
    stack: ExitStack, source: Path, target: Path, kind: str, *, digest: bool, force: bool
) -> tuple[Source | DirectorySource, Callable[[], Output | DirectoryTarget]]:
    """Open a source until the stack is left, and return it, and what makes the target, which was found safe."""
    if kind == "parquet" and source.is_dir():
        directory = stack.enter_context(DirectorySource(source, digest=digest))
        refuse_unsafe_directory(target, source, force=force)
        return directory, lambda: DirectoryTarget(target, force=force)
    file = stack.enter_context(Source(source, digest=digest))
    if str(target) == STANDARD:
        return file, StandardOutput
    refuse_unsafe_target(target, source, force=force)
    return file, lambda: Target(target, force=force)


def format_of(
    kind: str,
    source: Source | DirectorySource,
    terms: Terms,
    *,
    columns: tuple[str, ...] | None,
    **csv: Any,
) -> Format:
    """Return the format that reads a source; ``csv`` are the options of `CsvFile`."""
    if isinstance(source, DirectorySource):
        return ParquetDirectory(source, terms, columns=columns)
    if kind == "csv":
        return CsvFile(source, terms, columns=columns, **csv)
    if kind == "npy":
        return NpyFile(source, terms)
    if kind == "parquet":
        return ParquetFile(source, terms, columns=columns)
    return ArrowFile(source, terms, columns=columns)
