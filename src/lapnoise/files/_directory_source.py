"""A directory that is read: Parquet files that are one table, at any depth."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from lapnoise.errors import InputDataError
from lapnoise.files._source import Source

__all__ = ["DirectorySource", "digest_of_files", "parquet_files"]

_TABLE_LOGS = ("_delta_log", ".hoodie")
"""With these, not every file that is there belongs to the table."""


class _Stamp(NamedTuple):
    path: str
    size: int
    changed: int


def parquet_files(directory: Path) -> list[str]:
    """Return the relative paths of all Parquet files below a directory, sorted by their bytes.

    Names that begin with "_" or "." are left out, with all that is below them.

    Raises
    ------
    InputDataError
        When there is anything else, or the directory is one of a table format that says itself which files count.
    """
    found: list[str] = []
    _collect(directory, "", found)
    return sorted(found, key=os.fsencode)


def _collect(directory: Path, prefix: str, found: list[str]) -> None:
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        path = prefix + entry.name
        if entry.name in _TABLE_LOGS:
            raise InputDataError(f"the directory has {path!r}: of such a table not all files count; export it first")
        if entry.name.startswith(("_", ".")):
            continue
        if entry.is_dir(follow_symlinks=False):
            _collect(Path(entry.path), f"{path}/", found)
        elif entry.is_file() and entry.name.lower().endswith(".parquet"):
            found.append(path)
        else:
            raise InputDataError(f"the directory has {path!r}, which is no Parquet file (.parquet)")


def digest_of_files(files: Sequence[tuple[str, str]]) -> str:
    r"""Return the SHA-256 of the lines that ``sha256sum`` prints for files, given with their digests.

    The lines are ``<digest>  <relative path>\n``, sorted by the bytes of the path; names with a backslash or a line end
    are written as ``sha256sum`` writes them.
    """
    digest = hashlib.sha256()
    for path, hexadecimal in sorted(files, key=lambda file: os.fsencode(file[0])):
        name = os.fsencode(path)
        escaped = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
        digest.update((b"\\" if escaped != name else b"") + hexadecimal.encode() + b"  " + escaped + b"\n")
    return digest.hexdigest()


class DirectorySource:
    """A directory of Parquet files, which can tell whether it changed since it was first looked at.

    Parameters
    ----------
    path
        The directory.
    digest
        Whether to compute a digest of the files: that of `digest_of_files`.

    Attributes
    ----------
    read_twice
        As of a `Source`; lengths and times of change tell here in any case.

    Raises
    ------
    InputDataError
        When there are no Parquet files, or there is anything else.
    """

    def __init__(self, path: Path, *, digest: bool = False) -> None:
        self.path = path
        self.files = parquet_files(path)
        if not self.files:
            raise InputDataError("the directory has no Parquet files")
        self._stamps = self._look()
        self.read_twice = True
        self._digest = digest
        self._digests: dict[str, str] = {}

    @property
    def sha256(self) -> str | None:
        """Digest of all files in hexadecimal; None where it was not asked for."""
        return digest_of_files(list(self._digests.items())) if self._digest else None

    def open(self, file: str) -> Source:
        """Return one of the files, opened for reading."""
        try:
            return Source(self.path / file, digest=self._digest)
        except FileNotFoundError:
            raise InputDataError(f"the source changed while it was being read: {file!r} is no longer there") from None

    def digest_file(self, file: str, source: Source) -> None:
        """Read one of the files from its start, where a digest is asked for."""
        source.digest_whole()
        if source.sha256 is not None:
            self._digests[file] = source.sha256

    def rewind(self) -> None:
        """Do nothing: each reading opens the files anew."""

    def verify_unchanged(self) -> None:
        """Raise InputDataError unless the same files are there, with the same lengths and times of change."""
        try:
            same = parquet_files(self.path) == self.files and self._look() == self._stamps
        except (OSError, InputDataError):
            same = False
        if not same:
            raise InputDataError("the source changed while it was being read; nothing was written")

    def _look(self) -> list[_Stamp]:
        stamps = []
        for file in self.files:
            status = (self.path / file).stat()
            if not stat.S_ISREG(status.st_mode):
                raise InputDataError(f"the directory has {file!r}, which is no regular file")
            stamps.append(_Stamp(file, status.st_size, status.st_mtime_ns))
        return stamps

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: no file is open between readings."""
