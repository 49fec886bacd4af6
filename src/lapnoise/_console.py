"""What every command shares: exit codes, one-line messages, a progress bar, and an orderly end when told to stop."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TextIO

import click

from lapnoise.errors import LapnoiseWarning, OutputError

__all__ = [
    "ExitCode",
    "ProgressBar",
    "UnexpectedError",
    "finished",
    "guarded",
    "printable",
    "say",
    "show_warning",
    "tell",
    "tell_json",
]


class ExitCode:
    """What the process returns."""

    DONE = 0
    UNEXPECTED = 1
    USAGE = 2
    BAD_INPUT = 3
    NO_OUTPUT = 4
    REFUSED = 5
    INTERRUPTED = 130


class UnexpectedError(Exception):
    """An error that is no fault of the caller's; its cause is the error itself."""


def guarded(run: Callable[[], int]) -> int:
    """Run a command so that it ends with a code and one line, and unwinds when it is told to stop."""
    before = {}
    in_main_thread = threading.current_thread() is threading.main_thread()
    for number in (signal.SIGTERM, signal.SIGHUP) if in_main_thread else ():
        # A signal that the caller ignores, as nohup does, stays ignored.
        if signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        return run()
    except KeyboardInterrupt:
        say("interrupted")
        return ExitCode.INTERRUPTED
    except OutputError as error:
        # Who reads no further, as head does, need not be told.
        if not isinstance(error.__cause__, BrokenPipeError):
            say(str(error))
        return ExitCode.NO_OUTPUT
    except (ImportError, RuntimeError) as error:
        say(str(error))
        return ExitCode.UNEXPECTED
    except (Exception, SystemExit) as error:  # no code of others ends a command, with 0 perhaps
        say(_where(error.__cause__ if isinstance(error, UnexpectedError) and error.__cause__ else error))
        return ExitCode.UNEXPECTED
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _where(error: BaseException) -> str:
    # The message of an unknown error may hold a value of the data, so only its type and place are shown.
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
    return f"unexpected {type(error).__name__}{place}"


class ProgressBar:
    """A progress bar on stderr, one for each stage."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._stage = ""
        self._bar: Any = None

    def show(self, stage: str, unit: str, done: int, total: int | None) -> None:
        """Move the bar of a stage, which takes the place of that of the stage before."""
        if not self._shown:
            return
        if stage != self._stage:
            from tqdm import tqdm

            self.close()
            self._stage = stage
            # A terminal that does not tell its size has none, for tqdm.
            size = {} if shutil.get_terminal_size((0, 0)).columns else {"ncols": 80, "nrows": 24}
            self._bar = tqdm(
                total=total, desc=f"{stage:>5}", unit=f" {unit}", unit_scale=True, file=sys.stderr, leave=False, **size
            )
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def tell(text: str, *, end: str = "\n") -> None:
    """Print a text on standard output; raise OutputError where that cannot be done."""
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        click.echo(f"{text}{end}", nl=False)
    except OSError as error:
        raise OutputError(f"standard output could not be written: {error.strerror or type(error).__name__}") from error


def tell_json(value: Any) -> None:
    """Print one JSON value; numbers that JSON does not have, NaN and the infinities, become null."""
    tell(json.dumps(_without_nan(value), allow_nan=False))


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _without_nan(part) for name, part in value.items()}
    return [_without_nan(part) for part in value] if isinstance(value, list | tuple) else value


def finished(code: int) -> int:
    """Return the code to end with, once all that was printed is out; `ExitCode.NO_OUTPUT` where it is not."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        # What could not be written must not be tried again at the end of the process, which would then return 120.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.close()
        return ExitCode.NO_OUTPUT
    return code


def say(message: str) -> None:
    """Print one line on stderr."""
    click.echo(f"lapnoise: {' '.join(printable(message).split())}", err=True)


def printable(text: str) -> str:
    """Return text with escapes for the surrogates that stand for bytes of a path or name that is no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as one line; has the form of ``warnings.showwarning``."""
    prefix = "" if issubclass(category, LapnoiseWarning) else f"{category.__name__}: "
    say(f"warning: {prefix}{message}")
