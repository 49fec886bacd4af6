"""A folder in whatever file system Spark writes to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lapnoise import _check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Place"]


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
        settings = session._jsparkSession.sessionState().newHadoopConf()
        self._folder: Any = session._jvm.org.apache.hadoop.fs.Path(self.path)
        self._system: Any = self._folder.getFileSystem(settings)

    def verify_new(self) -> None:
        """Refuse what is there already."""
        _check.new_path(self.path, bool(self._system.exists(self._folder)))

    def remove(self) -> None:
        """Remove the folder and all in it."""
        self._system.delete(self._folder, True)
