"""A folder that appears whole: attempts write beside it, each into a file of its own, and one of each part moves in."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lapnoise import _check

__all__ = ["Place"]


class Place:
    """A folder that a release is written to, in a file system that all workers share.

    Parameters
    ----------
    path : str or path-like
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        given = _check.name("path", os.fspath(path) if isinstance(path, os.PathLike) else path)
        _check.shared_folder(given)
        self.path = Path(given).absolute()
        self._beside = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex}")

    def verify_new(self) -> None:
        """Refuse what is there already, and a place in a folder that is not there."""
        _check.new_path(str(self.path), os.path.lexists(self.path))
        _check.folder_there(str(self.path.parent), self.path.parent.is_dir())

    @contextlib.contextmanager
    def attempts(self) -> Iterator[Path]:
        """Make a folder that attempts write to; in the end it goes with all in it.

        It gets another name first, so that attempts that still run find no folder to write to.
        """
        self._beside.mkdir()
        try:
            yield self._beside
        finally:
            shutil.rmtree(self._beside.rename(f"{self._beside}.removed"))

    def publish(self, files: Sequence[str], named: Callable[[int], str], **others: bytes) -> None:
        """Move the file of each part, and others with what they hold, to the path, all at once."""
        whole = self._beside / "whole"
        whole.mkdir()
        for number, file in enumerate(files):
            (self._beside / file).rename(whole / named(number))
        for name, content in others.items():
            (whole / name).write_bytes(content)
        self.verify_new()
        whole.rename(self.path)
