"""What the numbers were measured on, and the environment in which a machine does without AVX-512."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.contenders import PEERS
from bench.environment import CPU
from bench.timing import all_cores, cores

__all__ = ["OthersLoad", "available_memory", "avx2_environment", "clock", "describe"]

BESIDE = ("mkl", "jaxlib", "scikit-learn", "matplotlib")
"""What peers compute with, or need in some versions only."""

_SIMD = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512vl", "avx512bw", "neon", "asimd", "sve")


def describe() -> dict[str, str]:
    """Return the machine and the versions, by the name of the line that shows them."""
    import llvmlite.binding as llvm
    import numba

    flags = set(_cpuinfo("flags").split() or _cpuinfo("Features").split())
    limited = os.environ.get(CPU) == "avx2"
    return {
        "processor": _cpuinfo("model name") or platform.processor() or platform.machine(),
        "cores given": f"{all_cores()} of {os.cpu_count()}",
        "clock under load": f"{clock():.2f} GHz",
        "vector flags": " ".join(flag for flag in _SIMD if flag in flags) or "not known",
        "compiled for": f"{numba.config.CPU_NAME or llvm.get_host_cpu_name()}"
        + (" and AVX2 at most (--cpu avx2, peers too)" if limited else ""),
        "memory": f"{_memory('MemTotal') / 2**30:.0f} GiB",
        "system": platform.platform(aliased=True, terse=True),
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "numba", "llvmlite", *PEERS.values(), *BESIDE)},
    }


class OthersLoad:
    """How busy other processes keep the machine, from this object's making on: what may have disturbed a run."""

    def __init__(self) -> None:
        self._busy = self._others()
        self._started = time.monotonic()

    def share(self) -> float | None:
        """Return the cores that others used on average, or None where the system does not tell."""
        busy = self._others()
        if busy is None or self._busy is None:
            return None
        return max(0.0, busy - self._busy) / (time.monotonic() - self._started)

    @staticmethod
    def _others() -> float | None:
        try:
            fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        except OSError:
            return None
        user, nice, system, _, _, irq, softirq, steal = (int(field) for field in fields[:8])
        return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def version(name: str) -> str:
    """Return the version of an installed distribution."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def available_memory() -> int:
    """Return the bytes that can be taken without swapping; 0 where that is not known."""
    return _memory("MemAvailable")


def clock() -> float:
    """Return the clock rate under load in GHz, from a chain of multiplications (3 cycles) and xors (1 cycle)."""
    import numba

    @numba.njit  # type: ignore[untyped-decorator]
    def chain(x: Any, steps: int) -> Any:
        for _ in range(steps):
            x = (x * np.uint64(6364136223846793005)) ^ (x >> np.uint64(29))
        return x

    chain(np.uint64(1), 1)
    steps = 5_000_000
    rates = []
    with cores(1):
        for _ in range(9):
            start = time.perf_counter()
            chain(np.uint64(1), steps)
            rates.append(4 * steps / (time.perf_counter() - start) / 1e9)
    return statistics.median(rates)


def avx2_environment() -> dict[str, str]:
    """Return environment variables under which Numba and the peers use AVX2 and nothing wider.

    What an AVX-512 machine gives then is what its cores would give without the wider registers; a processor that never
    had them may also be slower in everything else.
    """
    features = "sse sse2 sse3 ssse3 sse4.1 sse4.2 avx avx2 fma bmi bmi2 popcnt lzcnt"
    return {
        "NUMBA_CPU_NAME": "znver3",
        "NUMBA_CPU_FEATURES": ",".join(f"+{feature}" for feature in features.split()),
        "NPY_DISABLE_CPU_FEATURES": " ".join(_wide_numpy_features()),
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    }


def _wide_numpy_features() -> list[str]:
    umath: Any = importlib.import_module("numpy._core._multiarray_umath")

    return [
        feature
        for feature in umath.__cpu_dispatch__
        if (feature.startswith("AVX512") or feature == "X86_V4") and umath.__cpu_features__.get(feature)
    ]


def _cpuinfo(key: str) -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    found = re.search(rf"^{key}\s*:\s*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _memory(key: str) -> int:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return 0
    found = re.search(rf"^{key}:\s*(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0
