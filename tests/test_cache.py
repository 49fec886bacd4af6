"""The kernels' cache on disk: it is used, it is never stale, and everything works without it."""

import json
import shutil
import textwrap
import zipfile
from pathlib import Path

import fresh_process
import pytest

from lapnoise import default_rng

EXPECTED = [*default_rng(7).laplace(size=3).tolist(), default_rng(7).laplace()]

DRAW = """
import json, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import lapnoise
    rng = lapnoise.default_rng(7)
    drawn = rng.laplace(size=3).tolist()
    rng.seek(0)
    drawn.append(rng.laplace())
own = [w for w in told if issubclass(w.category, lapnoise.LapnoiseWarning)]
print(json.dumps([drawn, [f"{w.category.__name__}: {w.message}" for w in own], lapnoise.__file__]))
"""

COUNT = """
from lapnoise._kernel_table import laplace
kernels = laplace.values()
hits = sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels)
misses = sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels)
print(json.dumps([hits, misses]))
"""
LOADED, COMPILED = [1, 0], [0, 1]


def files_under(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def package(tmp_path):
    """Return a folder that holds a copy of the package's sources, to be changed at will."""
    folder = tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    shutil.copytree(fresh_process.SOURCE / "lapnoise", folder / "lapnoise", ignore=ignored)
    return folder


@pytest.fixture
def plain_file(tmp_path):
    """Return a regular file: no path below it can be made, not even by the superuser."""
    path = tmp_path / "plain file"
    path.write_text("")
    return path


def close(package):
    """Put a file where each folder would have its __pycache__, as a read-only installation has none."""
    for folder in [package / "lapnoise", *(package / "lapnoise").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("")


def zipped(package, name):
    path = package.parent / name
    with zipfile.ZipFile(path, "w") as archive:
        for file in files_under(package):
            archive.write(file, file.relative_to(package))
    return path


def draw(package, script=DRAW, **changes):
    """Draw in a fresh process, and return the draws, the warnings and what further lines say."""
    first, *rest = fresh_process.run(script, source=package, **changes).splitlines()
    drawn, told, home = json.loads(first)
    assert home.startswith(str(package))
    return drawn, told, *map(json.loads, rest)


def assert_one_warning(told):
    assert len(told) == 1
    assert told[0].startswith("UncachedKernelsWarning: compiled kernels cannot be kept")
    assert "set NUMBA_CACHE_DIR" in told[0]


def test_without_any_folder_to_write_to(package, plain_file):
    """With no home, a read-only package and no cache directory, draws come with one warning that names the remedy."""
    close(package)
    drawn, told = draw(package, HOME=plain_file / "home", XDG_CACHE_HOME=None, NUMBA_CACHE_DIR=None)
    assert drawn == EXPECTED
    assert_one_warning(told)


def test_with_a_cache_directory_that_cannot_be_made(package, plain_file):
    """A NUMBA_CACHE_DIR that cannot be written to is no obstacle either, nor is a script from standard input."""
    close(package)
    nowhere = {"HOME": plain_file, "XDG_CACHE_HOME": plain_file, "NUMBA_CACHE_DIR": plain_file / "cache"}
    printed = fresh_process.run(Path("-"), source=package, stdin=DRAW, **nowhere)
    drawn, told, _ = json.loads(printed)
    assert drawn == EXPECTED
    assert_one_warning(told)


@pytest.mark.parametrize("name", ["package.zip", "package.egg"])
def test_inside_an_archive(package, plain_file, tmp_path, name):
    """Imported from an archive the package draws, with the one warning where nothing can be kept, and else none."""
    archive = zipped(package, name)
    drawn, told = draw(archive, HOME=plain_file, XDG_CACHE_HOME=plain_file / "x", NUMBA_CACHE_DIR=None)
    assert drawn == EXPECTED
    assert_one_warning(told)
    if name.endswith(".zip"):
        drawn, told = draw(archive, HOME=tmp_path / "home", XDG_CACHE_HOME=tmp_path / "cache", NUMBA_CACHE_DIR=None)
        assert (drawn, told) == (EXPECTED, [])
        assert files_under(tmp_path / "cache")


def test_the_second_process_compiles_nothing(package, tmp_path):
    """A process that finds a warm cache loads every kernel from it, and writes nothing."""
    cache = tmp_path / "cache"
    assert draw(package, DRAW + COUNT, NUMBA_CACHE_DIR=cache) == (EXPECTED, [], COMPILED)
    before = {path: path.stat().st_mtime_ns for path in files_under(cache)}
    assert draw(package, DRAW + COUNT, NUMBA_CACHE_DIR=cache) == (EXPECTED, [], LOADED)
    assert {path: path.stat().st_mtime_ns for path in files_under(cache)} == before
    assert not files_under(package / "lapnoise" / "__pycache__")


def test_importing_writes_no_cache(package, tmp_path):
    """Neither the import nor making a generator compiles or keeps anything."""
    cache = tmp_path / "cache"
    script = (
        "import lapnoise; lapnoise.default_rng(7).child('a').spawn(2); lapnoise.Generator; lapnoise.SignedLog(1, 0.0)"
    )
    fresh_process.run(script, source=package, NUMBA_CACHE_DIR=cache)
    assert not cache.exists()
    assert all(path.suffix not in (".nbi", ".nbc") for path in files_under(package))


REDEFINITIONS = {
    "kernels/log.py": "@device\ndef negative_log(e, f, s):\n    return f * f",
    "kernels/uniform.py": "@device\ndef open01_from_word(word):\n    return -1.0, 0.25",
    "bits/chacha.py": "ROTATIONS = (16, 12, 8, 9)",
}


def test_an_edit_to_a_callee_is_seen(package, tmp_path):
    """After an edit to code that a kernel only calls, the next process draws by the new code, from the same cache.

    Undone, the old draws are back, and nothing is compiled for them.
    """
    cache = tmp_path / "cache"
    assert draw(package, DRAW + COUNT, NUMBA_CACHE_DIR=cache) == (EXPECTED, [], COMPILED)
    for file, redefinition in REDEFINITIONS.items():
        path = package / "lapnoise" / file
        before = path.read_text()
        path.write_text(f"{before}\n\n{redefinition}\n")
        drawn, told, counts = draw(package, DRAW + COUNT, NUMBA_CACHE_DIR=cache)
        assert not set(drawn) & set(EXPECTED)
        assert (told, counts) == ([], COMPILED)
        path.write_text(before)
    assert draw(package, DRAW + COUNT, NUMBA_CACHE_DIR=cache) == (EXPECTED, [], LOADED)


def test_a_new_version_is_another_cache(package, tmp_path):
    """The version is part of the stamp, so that an upgrade never meets the code of an older one."""
    script = "from lapnoise._jit import package_digest; print(package_digest())"
    path = package / "lapnoise" / "_version.py"
    before, source = fresh_process.run(script, source=package), path.read_text()
    path.write_text(source.replace('__version__ = "', '__version__ = "9.'))
    assert fresh_process.run(script, source=package) != before
    path.write_text(source)
    assert fresh_process.run(script, source=package) == before


def test_processes_that_compile_at_once(package, tmp_path):
    """Processes that fill one empty cache at the same time all draw right, and so does the next from what they left."""
    cache = tmp_path / "cache"
    running = [fresh_process.start(DRAW, source=package, NUMBA_CACHE_DIR=cache) for _ in range(3)]
    for process in running:
        assert json.loads(fresh_process.finish(process))[:2] == [EXPECTED, []]
    assert draw(package, DRAW + COUNT, NUMBA_CACHE_DIR=cache) == (EXPECTED, [], LOADED)


SIGNATURES = {
    "numbers": "rng.laplace(5.0, 1.0, 3)",
    "array": "rng.laplace(np.full(3, 5.0), 1.0)",
    "in place": "rng.add_laplace(values, 1.0, out=values)",
}

MEET = """
import pathlib, sys, time
import numpy as np
from numba.core import caching
import lapnoise

name, others, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
save = caching.IndexDataCacheFile._save_index

def save_with_others(self, overloads):
    # Every process has read the index by now, and none has written it.
    (folder / name).write_text("")
    end = time.monotonic() + 30
    while len(list(folder.iterdir())) < others and time.monotonic() < end:
        time.sleep(0.001)
    save(self, overloads)

caching.IndexDataCacheFile._save_index = save_with_others
rng, values = lapnoise.default_rng(7), np.full(3, 5.0)
print(eval(sys.argv[4]).tolist())
"""


def test_signatures_that_are_compiled_at_once_stay_apart(package, tmp_path):
    """Processes that read the index of an empty cache together and add unlike signatures leave no mixture behind.

    Numba numbers data files by that index; one number for two signatures gave the next process a kernel for other
    arguments, whose noise was garbage.
    """
    cache, meeting = tmp_path / "cache", tmp_path / "meeting"
    meeting.mkdir()
    expected = f"{(5.0 + default_rng(7).laplace(size=3)).tolist()}\n"
    running = [
        fresh_process.start(MEET, name, len(SIGNATURES), meeting, code, source=package, NUMBA_CACHE_DIR=cache)
        for name, code in SIGNATURES.items()
    ]
    assert [fresh_process.finish(process) for process in running] == [expected] * len(running)
    assert len(files_under(meeting)) == len(SIGNATURES)
    script = "import numpy as np, lapnoise"
    for code in SIGNATURES.values():
        script += f"\nrng, values = lapnoise.default_rng(7), np.full(3, 5.0)\nprint({code}.tolist())"
    assert fresh_process.run(script, source=package, NUMBA_CACHE_DIR=cache) == expected * len(SIGNATURES)


ATTEMPTS = """
import json
import lapnoise
rng = lapnoise.default_rng(7)
told = []
for draw in (rng.laplace, lambda: rng.laplace(size=3), lambda: rng.words(1), lambda: rng.add_laplace([1.0], 1.0),
             rng.log_laplace, rng.exponential, lambda: rng.bounded_laplace(0.0, 1.0, 0.0, 1.0), rng.laplace):
    try:
        told.append(repr(draw()))
    except Exception as error:
        told.append(f"{type(error).__name__}: {error}")
print(json.dumps([sorted(set(told)), rng.position, rng.child("a").position]))
"""


def test_without_the_compiler():
    """With NUMBA_DISABLE_JIT the import works, and every draw says in one sentence why it cannot, and takes nothing."""
    (told,), position, child = json.loads(fresh_process.run(ATTEMPTS, NUMBA_DISABLE_JIT=1))
    assert told.startswith("RuntimeError: lapnoise cannot draw with NUMBA_DISABLE_JIT set, because ")
    assert told.endswith("unset NUMBA_DISABLE_JIT")
    assert position == child == 0


@pytest.mark.parametrize("missing", [("numba",), ("numba", "llvmlite")], ids=" and ".join)
def test_without_numba(missing):
    """Where Numba cannot be imported the first draw and every later one says so and what to do, and takes nothing."""
    block = f"""
    import sys

    class Blocker:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in {missing!r}:
                raise ImportError(f"Numba needs NumPy 2.3 or less: {{name}}")

    sys.meta_path.insert(0, Blocker())
    """
    script = textwrap.dedent(block) + ATTEMPTS
    (told,), position, child = json.loads(fresh_process.run(script))
    assert told.startswith(
        "ImportError: lapnoise draws with Numba, which could not be imported (Numba needs NumPy 2.3 or"
    )
    assert "pip install --upgrade numba numpy" in told
    assert position == child == 0


@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("left", [b"", b"\x80\x05 no pickle at all"])
def test_a_damaged_cache_counts_as_none(package, tmp_path, kind, left):
    """Cache files that were cut short or overwritten are compiled anew, with one warning; the draws are right."""
    cache = tmp_path / "cache"
    assert draw(package, NUMBA_CACHE_DIR=cache) == (EXPECTED, [])
    damaged = list(cache.rglob(kind))
    for path in damaged:
        path.write_bytes(left)
    drawn, told = draw(package, NUMBA_CACHE_DIR=cache)
    assert damaged
    assert drawn == EXPECTED
    assert_one_warning(told)


def test_a_cache_that_is_lost_while_the_process_runs(package, tmp_path):
    """A cache directory that turns into a file after the import of the kernels does not stop the first draw."""
    cache = tmp_path / "cache"
    script = f"""
import shutil, pathlib, lapnoise._kernel_table
shutil.rmtree({str(cache)!r}); pathlib.Path({str(cache)!r}).write_text("")
"""
    drawn, told = draw(package, script + DRAW, NUMBA_CACHE_DIR=cache)
    assert drawn == EXPECTED
    assert_one_warning(told)
