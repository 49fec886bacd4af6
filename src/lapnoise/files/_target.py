"""The file that is written: whole, or not there at all."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import mmap
import os
import re
import secrets
import stat
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lapnoise.errors import OutputError
from lapnoise.files._digest import Digest
from lapnoise.files._flush import Flusher

__all__ = [
    "Appearing",
    "Output",
    "Target",
    "is_same_file",
    "lock",
    "output_error",
    "prefix",
    "refuse_unsafe_target",
    "sync_directory",
]

MARK = ".lapnoise-"
"""What the name of every temporary has in it: ``.<target><MARK><16 hexadecimal digits>``."""

_LONGEST_NAME = 200


def refuse_unsafe_target(path: Path, source: Path, *, force: bool, stream: bool = True) -> None:
    """Refuse a target that would destroy something, or that cannot be made, before anything is drawn.

    Parameters
    ----------
    path
        The target.
    source
        The file that is read; the target must not be the same file under any name.
    force
        Whether an existing regular file may be replaced.
    stream
        Whether standard output can be a target instead, which a message then says.

    Raises
    ------
    ValueError
        When target and source are one file.
    OutputError
        When the target exists (without ``force``), is no regular file, or its directory is missing or not writable.
    """
    if Path(os.path.abspath(path)).parts[1:2] in (("dev",), ("proc",)):  # noqa: PTH100 # links kept
        instead = ", or '-' for standard output" if stream else ""
        raise ValueError(f"target must be a file that can appear at once{instead}, got {str(path)!r}")
    with contextlib.suppress(OSError):
        if path.samefile(source):
            raise ValueError(f"target must not be the source, got {str(path)!r} for both")
    if os.path.lexists(path):
        if not force:
            raise OutputError(f"target exists: {str(path)!r}; it is replaced only with force (--force)")
        # A rename would put a file in the place of a pipe or a device.
        if path.exists() and not path.is_file():
            raise OutputError(f"target must be a regular file to be replaced, got {str(path)!r}")
    directory = Path(os.path.realpath(path)).parent
    if not directory.is_dir():
        raise OutputError(f"directory of the target does not exist: {str(directory)!r}")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise OutputError(f"directory of the target is not writable: {str(directory)!r}")


class Appearing:
    """Something that appears only when the ``with`` block ends without an exception.

    Until then there is a temporary, which is removed on every exception, KeyboardInterrupt included.
    """

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def __enter__(self) -> Self:
        try:
            self._create()
        except OSError as error:
            raise output_error(self._shown, error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            with contextlib.suppress(OSError):
                self._discard()

    def _create(self) -> None:
        """Make the temporary."""
        raise NotImplementedError

    def _commit(self) -> None:
        """Let it appear."""
        raise NotImplementedError

    def _discard(self) -> None:
        """Remove what is left of the temporary."""
        raise NotImplementedError


class Output(Appearing):
    """Bytes that appear somewhere."""

    def __init__(self, shown: str) -> None:
        super().__init__(shown)
        self._digest = Digest()
        self._flusher = Flusher()
        self._fd = -1

    @property
    def sha256(self) -> str:
        """Digest of the bytes written so far, in hexadecimal."""
        return self._digest.hexdigest()

    def write(self, data: bytes | memoryview | NDArray[Any]) -> None:
        """Append bytes, or those of a contiguous array, which is not changed afterwards."""
        rest = memoryview(data.reshape(-1).view(np.uint8).data if isinstance(data, np.ndarray) else data)
        size = len(rest)
        self._digest.update(rest)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            self._flusher.written(self._fd, size)
        except OSError as error:
            raise output_error(self._shown, error) from None

    def _discard(self) -> None:
        self._digest.close()
        with contextlib.suppress(OSError):
            self._flusher.close()


class Target(Output):
    """A file that appears under its name whole or not at all.

    The temporary stands beside it, so that the last step is one rename or link within a file system. What a killed run
    left behind is removed by the next run for the same target; a lock on the temporary tells it from that of a live
    run.

    Parameters
    ----------
    path
        The name under which the file appears. A symbolic link is followed.
    force
        Whether an existing file is replaced. Without it, a file that appears while this one is being written stays.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        super().__init__(str(path))
        self.path = Path(os.path.realpath(path))
        self._force = force
        self._temporary = self.path

    def append_mapped(self, size: int) -> mmap.mmap:
        """Append ``size`` bytes and return the whole file as a memory map, to be filled and then given to `digest_map`.

        The bytes are reserved on the disk, since a disk that is full would end the process at a write to the map.
        """
        try:
            start = os.lseek(self._fd, 0, os.SEEK_END)
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._fd, start, size)
            else:
                for offset in range(0, size, 1 << 20):
                    os.pwrite(self._fd, bytes(min(1 << 20, size - offset)), start + offset)
            return mmap.mmap(self._fd, start + size, access=mmap.ACCESS_WRITE)
        except OSError as error:
            raise output_error(self._shown, error) from None

    def digest_map(self, filled: mmap.mmap) -> None:
        """Compute the digest anew, after the file was filled through its memory map."""
        filled.flush()
        self._digest = Digest()
        offset = 0
        while data := os.pread(self._fd, 1 << 20, offset):
            self._digest.update(data)
            offset += len(data)

    def _create(self) -> None:
        _remove_stale(self.path)
        while True:
            self._temporary = self.path.with_name(prefix(self.path.name) + secrets.token_hex(8))
            self._fd = os.open(self._temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            # Another run may have taken the new file for a dead run's before the lock was held; then a new one is made.
            if lock(self._fd) is not False and is_same_file(self._temporary, self._fd):
                break
            os.close(self._fd)
        if self._force and self.path.exists():
            with contextlib.suppress(OSError):
                os.fchmod(self._fd, stat.S_IMODE(self.path.stat().st_mode))

    def _commit(self) -> None:
        try:
            self._flusher.close()
            os.fsync(self._fd)
            if self._force:
                self._temporary.replace(self.path)
            else:
                self._publish_new()
        except FileExistsError:
            raise OutputError(
                f"target appeared while it was being written: {self._shown!r}; it was left as it is"
            ) from None
        except OSError as error:
            raise output_error(self._shown, error) from None
        sync_directory(self.path.parent)

    def _discard(self) -> None:
        super()._discard()
        with contextlib.suppress(OSError):
            self._temporary.unlink()
        os.close(self._fd)

    def _publish_new(self) -> None:
        # A link fails when the name exists, which no portable rename does.
        try:
            os.link(self._temporary, self.path)
        except FileExistsError:
            raise
        except OSError:
            # File systems without hard links: the moment between look and rename is the price.
            if os.path.lexists(self.path):
                raise FileExistsError from None
            self._temporary.rename(self.path)


def prefix(name: str) -> str:
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}{MARK}"


def _remove_stale(path: Path) -> None:
    pattern = re.compile(re.escape(prefix(path.name)) + "[0-9a-f]{16}")
    for candidate in [entry for entry in path.parent.iterdir() if pattern.fullmatch(entry.name)]:
        with contextlib.suppress(OSError):
            fd = os.open(candidate, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if lock(fd):
                    candidate.unlink()
            finally:
                os.close(fd)


def lock(fd: int) -> bool | None:
    """Return True when the lock was taken, False when another process holds it, None when there are no locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_same_file(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def sync_directory(directory: Path) -> None:
    # Some file systems refuse to sync a directory; the file itself is whole then all the same.
    with contextlib.suppress(OSError):
        fd = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def output_error(path: Path | str, error: OSError) -> OutputError:
    """Return the error that says why a target could not be written."""
    return OutputError(f"target could not be written: {str(path)!r}: {error.strerror or type(error).__name__}")
