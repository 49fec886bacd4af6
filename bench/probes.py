"""What needs a process of its own: the time of an import, the first draw, and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.contenders import CONTENDERS

__all__ = [
    "bare_import",
    "draw_import",
    "extra_memory",
    "file_peak",
    "first_draw",
    "first_draws_of",
    "first_trivial_call",
]

_IMPORT = """
import time, numpy
start = time.perf_counter()
import lapnoise
{more}
print(time.perf_counter() - start)
"""

_FIRST_DRAW = """
import time, numpy, lapnoise
start = time.perf_counter()
lapnoise.default_rng(7).laplace(size=1000)
print(time.perf_counter() - start)
"""

_TRIVIAL_MODULE = """
import numba

@numba.njit(cache=True)
def fill(out, value):
    for i in range(out.size):
        out[i] = value
"""

_FIRST_TRIVIAL = """
import sys, time, numpy
sys.path.insert(0, {folder!r})
start = time.perf_counter()
import trivial
trivial.fill(numpy.empty(1000), 1.0)
print(time.perf_counter() - start)
"""

# The modules of the benches are imported off the clock: nobody who draws needs them.
_FIRST_DRAWS = """
import time
from importlib import import_module
start = time.perf_counter()
import numpy
import_module({module!r})
taken = time.perf_counter() - start
from bench import contenders, samplers
if {origin!r}:
    contenders.enter({name!r}, samplers.found({origin!r}), {dtype!r})
start = time.perf_counter()
contenders.CONTENDERS[{name!r}].make(1000)()
print(taken + time.perf_counter() - start)
"""

# The peak is set back before the second call where the kernel lets one (Linux); else it is the growth of the peak.
_MEMORY = """
import pathlib, resource, numpy as np, lapnoise

def status(key):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024

def peak():
    unit = 1 if {platform!r} == "darwin" else 1024
    return status("VmHWM") if linux else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

linux = {platform!r} == "linux"
rng = lapnoise.default_rng(7, threads=None)
values = np.zeros({n}, {kind!r})[{layout}]
rng.add_laplace(values, 1.0, out=values)
before = peak()
if linux:
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
rng.add_laplace(values, 1.0, out=values)
print(max(0, peak() - before))
"""

_FILE = """
import resource, sys
from lapnoise import files
files.add_noise({source!r}, {target!r}, epsilon=1, sensitivity=1, columns={columns!r}, force=True)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""

# A child begins with the peak of the process that it was forked from; this one has next to none.
_SMALL_PARENT = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', sys.argv[1]]).returncode)"


def bare_import() -> float:
    """Return the seconds that `import lapnoise` takes once NumPy is imported."""
    return _run(_IMPORT.format(more=""))


def draw_import() -> float:
    """Return the same with the generator's module imported too, as `from lapnoise import default_rng` does."""
    return _run(_IMPORT.format(more="lapnoise.default_rng"))


def first_draw(cache: Path | None) -> float:
    """Return the seconds from a generator's making to its first draws, Numba's import included.

    ``cache`` is the directory of compiled kernels; None takes an empty one, so that everything is compiled.
    """
    if cache is not None:
        return _run(_FIRST_DRAW, cache)
    with tempfile.TemporaryDirectory() as empty:
        return _run(_FIRST_DRAW, Path(empty))


def first_draws_of(name: str, cache: Path | None) -> float:
    """Return the seconds that a contender needs for its first 1,000 draws in a new process, NumPy's import included.

    ``cache`` is as in `first_draw`.
    """
    contender = CONTENDERS[name]
    code = _FIRST_DRAWS.format(module=contender.module, origin=contender.origin, name=name, dtype=contender.dtype)
    if cache is not None:
        return _run(code, cache)
    with tempfile.TemporaryDirectory() as empty:
        return _run(code, Path(empty))


def first_trivial_call(cache: Path) -> float:
    """Return the seconds of importing Numba and calling a trivial function that it finds compiled in ``cache``."""
    module = cache / "trivial.py"
    if not module.exists():
        module.write_text(_TRIVIAL_MODULE)
    return _run(_FIRST_TRIVIAL.format(folder=str(cache)), cache)


def extra_memory(n: int, kind: str = "float64", layout: str = ":") -> int:
    """Return the bytes by which resident memory rises in a second `add_laplace` in place, on all cores.

    ``layout`` is the slice that is taken of an array of ``n`` numbers, such as ``"::2"``.
    """
    return int(_run(_MEMORY.format(platform=sys.platform, n=n, kind=kind, layout=layout)))


def file_peak(source: Path, target: Path, columns: str | None) -> int:
    """Return the peak of resident memory of a process that does nothing but noise a file."""
    code = _FILE.format(source=str(source), target=str(target), columns=columns)
    return int(_run(f"import sys; sys.argv[1:] = [{code!r}]\n{_SMALL_PARENT}"))


def _run(code: str, cache: Path | None = None) -> float:
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a measuring process failed:\n{done.stderr}")
    return float(done.stdout)
