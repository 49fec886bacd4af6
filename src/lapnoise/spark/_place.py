"""A folder in whatever file system Spark writes to, which appears whole: it is written beside and moves in."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapnoise import _check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Place"]

_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


class Place:
    """A folder that a release is written to.

    Parameters
    ----------
    session : SparkSession
        Whose settings say how to reach it.
    path : str or path-like
        As Spark takes it.
    """

    def __init__(self, session: SparkSession, path: str | os.PathLike[str]) -> None:
        self.path = _check.name("path", os.fspath(path) if isinstance(path, os.PathLike) else path)
        _check.path_without_patterns(self.path)
        _check.classic_session(hasattr(session, "_jsparkSession"))
        self._jvm: Any = session._jvm
        self._settings: Any = session._jsparkSession.sessionState().newHadoopConf()
        given = self._jvm.org.apache.hadoop.fs.Path(self.path)
        self._system: Any = given.getFileSystem(self._settings)
        self._folder: Any = self._system.makeQualified(given)

    def verify_new(self) -> None:
        """Refuse what is there already."""
        _check.new_path(self.path, self._there())

    @contextlib.contextmanager
    def attempt(self) -> Iterator[str]:
        """Yield the path of a folder beside the place that nobody else has; it moves to the place in the end, at once.

        Where anything fails, or the place was taken meanwhile, the folder goes with all in it, and the place stays as
        it is.
        """
        name = f".{self._folder.getName()}.{uuid.uuid4().hex}"
        beside = self._jvm.org.apache.hadoop.fs.Path(self._folder.getParent(), name)
        try:
            yield str(beside.toString())
            self._publish(beside)
        finally:
            self._system.delete(beside, True)

    def _there(self) -> bool:
        return bool(self._system.exists(self._folder))

    def _local(self) -> bool:
        return bool(self._folder.toUri().getScheme() == "file")

    def _publish(self, beside: Any) -> None:
        _check.place_not_taken(self.path, not self._there())
        moved = self._moved(beside)
        # Some file systems move a folder into one that is there.
        inside = self._jvm.org.apache.hadoop.fs.Path(self._folder, beside.getName())
        if self._system.exists(inside):
            self._system.delete(inside, True)
            moved = False
        _check.place_not_taken(self.path, moved)

    def _moved(self, beside: Any) -> bool:
        """Return whether a folder moved to the place, where nothing may be."""
        from py4j.protocol import Py4JJavaError

        if self._local():  # Hadoop would copy into a folder that appears in between
            try:
                Path(beside.toUri().getPath()).rename(self._folder.toUri().getPath())
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
                return False
            return True
        hadoop = self._jvm.org.apache.hadoop.fs
        try:
            context = hadoop.FileContext.getFileContext(self._folder.toUri(), self._settings)
        except Py4JJavaError:  # a file system that only the older interface knows
            return bool(self._system.rename(beside, self._folder))
        from pyspark import SparkContext

        gateway: Any = SparkContext._gateway
        never_over = gateway.new_array(getattr(hadoop, "Options$Rename"), 0)
        try:
            context.rename(beside, self._folder, never_over)
        except Py4JJavaError as error:
            if "FileAlreadyExistsException" not in str(error.java_exception.getClass().getName()):
                raise
            return False
        return True
