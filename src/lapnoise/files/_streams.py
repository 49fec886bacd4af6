"""Standard input and output: spooled, so that a source can be read twice and a target appears whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from typing import IO

from lapnoise.files._target import Output, output_error

__all__ = ["STANDARD", "StandardOutput", "standard_input"]

STANDARD = "-"
"""What stands for standard input as a source, and for standard output as a target."""

_COPIED_BYTES = 1 << 20


def standard_input() -> IO[bytes]:
    """Return standard input as a file at its beginning, which nobody else can open and which ends with the process."""
    spool = tempfile.TemporaryFile()  # noqa: SIM115 # closed by who takes it
    shutil.copyfileobj(sys.stdin.buffer, spool, _COPIED_BYTES)
    spool.seek(0)
    return spool


class StandardOutput(Output):
    """Bytes that go to standard output once all of them are there."""

    def __init__(self) -> None:
        super().__init__("standard output")

    def _create(self) -> None:
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 # closed at the end of the with block
        self._fd = self._spool.fileno()

    def _commit(self) -> None:
        try:
            if sys.stdout is None:  # closed before the process began
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            self._spool.seek(0)
            shutil.copyfileobj(self._spool, sys.stdout.buffer, _COPIED_BYTES)
            sys.stdout.buffer.flush()
        except OSError as error:
            raise output_error(self._shown, error) from None

    def _discard(self) -> None:
        super()._discard()
        self._spool.close()
