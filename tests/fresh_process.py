"""Scripts in a process of their own, which find the package under test whatever directory they start in."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import lapnoise

SOURCE = Path(lapnoise.__file__).parents[1]
"""What has to be on the path for ``import lapnoise``."""


def environment(*, source=SOURCE, **changes):
    """Return this process's environment with the package first on the path; None takes a variable away."""
    variables = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1", **changes}
    return {name: str(value) for name, value in variables.items() if value is not None}


def start(script, *arguments, source=SOURCE, **changes):
    """Start a script, given as text or by its path, and return its Popen object."""
    given = [str(script)] if isinstance(script, Path) else ["-c", textwrap.dedent(script)]
    command = [sys.executable, *given, *map(str, arguments)]
    pipe = subprocess.PIPE
    variables = environment(source=source, **changes)
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=variables)


def finish(process, timeout=60, stdin=None):
    """Return what a started script printed; it must end with 0, in time."""
    try:
        printed, errors = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    if process.returncode:
        raise RuntimeError(f"the script ended with {process.returncode}:\n{errors}")
    return printed


def run(script, *arguments, timeout=60, stdin=None, source=SOURCE, **changes):
    """Run a script and return what it printed."""
    return finish(start(script, *arguments, source=source, **changes), timeout, stdin)
