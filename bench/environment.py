"""A fresh process with a cache of its own: what every bench command starts by making."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

__all__ = ["CPU", "INSIDE", "rerun"]

INSIDE = "LAPNOISE_BENCH_CACHE"
"""Set to the cache's directory in the process that measures."""

CPU = "LAPNOISE_BENCH_CPU"
"""Set to "host" or "avx2" there."""


def rerun(module: str, arguments: Sequence[str], cpu: str) -> int:
    """Run ``python -m module`` with an empty cache of compiled kernels, and return its exit status.

    Numba stamps a kernel with its own file only, so an old cache may hold old code. ``cpu`` is "host", or "avx2" for
    a process that uses no wider registers.
    """
    from bench.machine import avx2_environment  # imports NumPy, which this process needs for nothing else

    with tempfile.TemporaryDirectory(prefix="lapnoise-bench-") as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache, INSIDE: cache, CPU: cpu}
        if cpu == "avx2":
            environment |= avx2_environment()
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, env=environment, check=False).returncode
