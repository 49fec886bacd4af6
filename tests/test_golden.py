"""Golden streams: draws of known seeds, the same on every machine, with and without fma and wide registers.

Value stability is exact here: kernels call no C library, use explicit fma and never reorder, so no tolerance is needed.
"""

import importlib.util
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite import binding

import lapnoise

DATA = Path(__file__).parent / "data"
GOLDEN = json.loads((DATA / "golden.json").read_text())

HASWELL = "+64bit,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3"

# Prints the draws, then whether the kernel that drew most of them has fma and 256-bit registers in it.
SHOW = """
import json, sys
sys.path.insert(0, sys.argv[1])
import make_golden
from lapnoise.kernels.laplace import fill_laplace
drawn = make_golden.collect()
code = "".join(fill_laplace.inspect_asm().values())
json.dump([drawn, "vfmadd" in code or "fmla" in code, "ymm" in code, "zmm" in code], sys.stdout)
"""


def maker():
    """Return tests/data/make_golden.py as a module."""
    spec = importlib.util.spec_from_file_location("make_golden", DATA / "make_golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def start(cache: Path, cpu: str, features: str) -> subprocess.Popen:
    """Begin to draw in a process of its own that compiles for another processor."""
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": cpu,
        "NUMBA_CPU_FEATURES": features,
        "NUMBA_CACHE_DIR": str(cache),
        "PYTHONPATH": str(Path(lapnoise.__file__).parents[1]),
    }
    return subprocess.Popen(
        [sys.executable, "-c", SHOW, str(DATA)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen) -> list:
    """Return what a process printed."""
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return json.loads(out)


def has(*features: str) -> bool:
    """Return whether this machine has these features."""
    found = binding.get_host_cpu_features()
    return all(found.get(feature, False) for feature in features)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Start both processes at once and end them whatever happens: each compiles for some seconds."""
    running = {"generic": start(tmp_path_factory.mktemp("generic"), "generic", "")}
    if has("avx2", "fma", "bmi2", "f16c", "lzcnt", "movbe"):
        running["haswell"] = start(tmp_path_factory.mktemp("haswell"), "haswell", HASWELL)
    yield running
    for process in running.values():
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_golden_streams():
    """Words, draws and digests of known seeds are those of STREAM_VERSION, in the file and in the package."""
    got = maker().collect()

    assert GOLDEN["stream_version"] == lapnoise.STREAM_VERSION
    for part in ("words", "draws", "digests"):
        assert GOLDEN[part] == got[part]


def test_golden_streams_without_fma_and_wide_registers(elsewhere):
    """A process that compiles for a generic processor, with fma in software, draws the same bits."""
    got, fma, ymm, zmm = finish(elsewhere["generic"])

    assert got == GOLDEN
    if platform.machine() in ("x86_64", "AMD64"):
        assert [fma, ymm, zmm] == [False, False, False]


def test_golden_streams_with_avx2(elsewhere):
    """A process that compiles for AVX2 and fma without AVX-512 draws the same bits."""
    if "haswell" not in elsewhere:
        pytest.skip("this machine has no AVX2 with fma")
    got, fma, ymm, zmm = finish(elsewhere["haswell"])

    assert got == GOLDEN
    assert [fma, ymm, zmm] == [True, True, False]


def test_golden_file_is_not_overwritten(monkeypatch, tmp_path, capsys):
    """The file is written anew only where its STREAM_VERSION is not the package's."""
    make_golden = maker()
    copy = tmp_path / "golden.json"
    monkeypatch.setattr(make_golden, "GOLDEN", copy)
    monkeypatch.setattr(make_golden, "collect", lambda: {"stream_version": lapnoise.STREAM_VERSION})

    copy.write_text(json.dumps({"stream_version": lapnoise.STREAM_VERSION, "old": True}))
    assert make_golden.main([]) == 1
    assert "old" in json.loads(copy.read_text())
    assert "draws change with it only" in capsys.readouterr().err
    copy.write_text(json.dumps({"stream_version": lapnoise.STREAM_VERSION - 1, "old": True}))
    assert make_golden.main([]) == 0
    assert "old" not in json.loads(copy.read_text())
