"""The directory that is written: whole, or not there at all."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from lapnoise.errors import InputDataError, OutputError
from lapnoise.files._directory_source import digest_of_files, parquet_files
from lapnoise.files._target import Appearing, Target, is_same_file, lock, output_error, prefix, sync_directory

__all__ = ["DirectoryTarget", "refuse_unsafe_directory"]

_OLD = "old-"
"""Behind the prefix of temporaries: a directory that was set aside to be replaced."""


def refuse_unsafe_directory(path: Path, source: Path, *, force: bool) -> None:
    """Refuse a target that would destroy something, or that cannot be made, before anything is drawn.

    Parameters
    ----------
    path
        The target.
    source
        The directory that is read; neither may lie within the other.
    force
        Whether an existing directory of Parquet files may be replaced.

    Raises
    ------
    ValueError
        When one lies within the other.
    OutputError
        When the target exists (without ``force``), is no directory, holds other files than Parquet, or the directory
        it would lie in is missing or not writable.
    """
    there, here = Path(os.path.realpath(path)), Path(os.path.realpath(source))
    if there.is_relative_to(here) or here.is_relative_to(there):
        raise ValueError(f"target must lie outside of the source, and the source outside of it, got {str(path)!r}")
    if os.path.lexists(path):
        if not force:
            raise OutputError(f"target exists: {str(path)!r}; it is replaced only with force (--force)")
        if path.exists() and not path.is_dir():
            raise OutputError(f"target must be a directory to be replaced by one, got {str(path)!r}")
        try:
            if path.exists():
                parquet_files(path)
        except InputDataError as error:
            raise OutputError(f"target must be a directory of Parquet files to be replaced: {error}") from None
    directory = there.parent
    if not directory.is_dir():
        raise OutputError(f"directory of the target does not exist: {str(directory)!r}")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise OutputError(f"directory of the target is not writable: {str(directory)!r}")


class DirectoryTarget(Appearing):
    """A directory that appears under its name only when the ``with`` block ends without an exception.

    Until then the files stand in a temporary directory beside it, which one rename moves. It is removed on every
    exception. What a killed run left behind is removed by the next run for the same target, and a directory that it
    had set aside is put back; locks on them tell them from those of a live run.

    Parameters
    ----------
    path
        The name under which the directory appears. A symbolic link is followed.
    force
        Whether an existing directory is replaced.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        super().__init__(str(path))
        self.path = Path(os.path.realpath(path))
        self._force = force
        self._digests: list[tuple[str, str]] = []
        self._descriptors: list[int] = []
        self._temporary = self.path

    @property
    def sha256(self) -> str:
        """Digest of the files written so far: that of `lapnoise.files._directory_source.digest_of_files`."""
        return digest_of_files(self._digests)

    @contextlib.contextmanager
    def file(self, path: str) -> Iterator[Target]:
        """Give one of the files, to be written."""
        whole = self._temporary / path
        try:
            whole.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise output_error(self._shown, error) from None
        with Target(whole, force=False) as target:
            yield target
        self._digests.append((path, target.sha256))

    def _beside(self, mark: str = "") -> Path:
        return self.path.with_name(prefix(self.path.name) + mark + secrets.token_hex(8))

    def _create(self) -> None:
        self._clear_away()
        while True:
            temporary = self._beside()
            temporary.mkdir()
            self._temporary = temporary
            # Another run may have taken the new directory for a dead run's before the lock was held.
            with contextlib.suppress(FileNotFoundError):
                descriptor = os.open(temporary, os.O_RDONLY | os.O_DIRECTORY)
                if lock(descriptor) is not False and is_same_file(temporary, descriptor):
                    self._descriptors.append(descriptor)
                    break
                os.close(descriptor)
        if self._force and self.path.exists():
            with contextlib.suppress(OSError):
                temporary.chmod(stat.S_IMODE(self.path.stat().st_mode))

    def _discard(self) -> None:
        if self._temporary != self.path:
            shutil.rmtree(self._temporary, ignore_errors=True)
        for descriptor in self._descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _clear_away(self) -> None:
        pattern = re.compile(re.escape(prefix(self.path.name)) + f"({_OLD})?[0-9a-f]{{16}}")
        for entry in list(self.path.parent.iterdir()):
            found = pattern.fullmatch(entry.name)
            if found is None or not entry.is_dir() or entry.is_symlink():
                continue
            with contextlib.suppress(OSError):
                descriptor = os.open(entry, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    if lock(descriptor) and found[1] and not os.path.lexists(self.path):
                        entry.rename(self.path)
                    elif lock(descriptor):
                        shutil.rmtree(entry, ignore_errors=True)
                finally:
                    os.close(descriptor)

    def _commit(self) -> None:
        old = None
        try:
            for directory, _, _ in os.walk(self._temporary):
                sync_directory(Path(directory))
            if self._force and self.path.exists():
                old = self._beside(_OLD)
                descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
                self._descriptors.append(descriptor)
                lock(descriptor)
                self.path.rename(old)
            elif os.path.lexists(self.path):
                raise OutputError(f"target appeared while it was being written: {self._shown!r}; it was left as it is")
            try:
                self._temporary.rename(self.path)
            except OSError:
                if old is not None and not os.path.lexists(self.path):
                    old.rename(self.path)
                raise
        except OutputError:
            raise
        except OSError as error:
            raise output_error(self._shown, error) from None
        sync_directory(self.path.parent)
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)
