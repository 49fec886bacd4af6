"""The only module that names Numba's flags, with the reason for each.

Importing it imports Numba, so modules above import kernels at the first draw and not before.

Flags
-----
nogil
    Kernels touch no Python object, so that the thread pool can run several at once.
error_model="numpy"
    The default model checks every division for zero and raises; the check keeps LLVM from vectorising the loop.
forceinline (device functions)
    A call in a hot loop keeps it from being vectorised. Inlined by LLVM and not by Numba, which compiles faster.
cache
    Compiled code is kept on disk. Numba stamps only a kernel's own file, so an edit to a function that it calls would
    be missed; here each kernel's qualified name carries a digest of the whole package, which names its cache files.

No kernel uses fastmath: it may drop the NaN and inf guards, and contraction makes results depend on the machine.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

from lapnoise._version import __version__
from lapnoise.errors import UncachedKernelsWarning

try:
    import numba
    from numba.extending import intrinsic as _intrinsic
    from numba.extending import overload as _overload
except ImportError as error:
    raise ImportError(
        f"lapnoise draws with Numba, which could not be imported ({error}); "
        "install a Numba that supports this NumPy, for instance: pip install --upgrade numba numpy"
    ) from error

__all__ = ["device", "intrinsic", "kernel", "overload"]

F = TypeVar("F", bound=Callable[..., Any])

if numba.config.DISABLE_JIT:
    raise RuntimeError(
        "lapnoise cannot draw with NUMBA_DISABLE_JIT set, because its kernels use LLVM vector types, which have no "
        "Python form; unset NUMBA_DISABLE_JIT"
    )
if sys.byteorder != "little":
    raise RuntimeError("lapnoise draws on little-endian machines only, because a stream's words are stored as they lie")


def kernel(function: F) -> F:
    """Compile a module-level function at its first call, cached on disk where that is possible."""
    function.__qualname__ = f"{function.__qualname__}_{package_digest()}"
    options = {"nogil": True, "error_model": "numpy"}
    try:
        compiled = numba.njit(function, cache=True, **options)
        _verify_writable(compiled.stats.cache_path)
    except (RuntimeError, OSError) as error:  # there is no directory that Numba may write to
        _warn_uncached(str(error))
        return numba.njit(function, **options)  # type: ignore[no-any-return]
    _separate_data_files(compiled)
    _survive_cache_failures(compiled)
    return compiled  # type: ignore[no-any-return]


def _verify_writable(directory: str) -> None:
    # Numba does this itself, but not for a package inside a zip archive.
    Path(directory).mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=directory).close()


def _separate_data_files(compiled: Any) -> None:
    """Give the compiled code of each signature a file name that no other process ever takes.

    Numba numbers these files by an index. Two processes that read it at the same time give one number to two
    signatures, and whoever loads the first one later gets the code of the second: other arguments, garbage for noise.
    """
    with contextlib.suppress(AttributeError):  # names of Numba's own, which another version may lack
        file = compiled._cache._cache_file
        stem = file._index_name.removesuffix(".nbi")
        file._data_name = lambda number: f"{stem}.{uuid.uuid4().hex}.nbc"


def _survive_cache_failures(compiled: Any) -> None:
    """Make a damaged cache file count as absent, and a full disk or a lost directory as a cache that keeps nothing."""
    with contextlib.suppress(AttributeError):  # names of Numba's own, which another version may lack
        cache = compiled._cache
        load, save = cache.load_overload, cache.save_overload

        def guarded_load(*arguments: Any) -> Any:
            try:
                return load(*arguments)
            except Exception as error:  # a damaged pickle raises whatever its bytes spell
                _warn_uncached(str(error))
                return None

        def guarded_save(*arguments: Any) -> None:
            try:
                save(*arguments)
            except Exception as error:  # among them EOFError: saving reads the index first
                _warn_uncached(str(error))

        cache.load_overload, cache.save_overload = guarded_load, guarded_save


def device(function: F) -> F:
    """Compile a function that is called from kernels only and vanishes into them."""
    return numba.njit(function, nogil=True, error_model="numpy", forceinline=True)  # type: ignore[no-any-return]


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that emits LLVM instructions itself."""
    return _intrinsic(function)  # type: ignore[no-any-return]


def overload(function: Callable[..., Any]) -> Callable[[F], F]:
    """Give a function one body for each set of argument types."""
    # strict compares annotations too, and a lambda has none.
    options = {"nogil": True, "error_model": "numpy", "forceinline": True}
    return _overload(function, jit_options=options, strict=False)  # type: ignore[no-any-return]


@functools.cache
def package_digest() -> str:
    """Return 16 hex digits that change with the version and with any source file of the package."""
    digest = hashlib.blake2b(__version__.encode(), digest_size=8)
    for path in _sources(resources.files("lapnoise")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources(folder: Traversable) -> list[Traversable]:
    found: list[Traversable] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            found += _sources(entry)
        elif entry.name.endswith(".py"):
            found.append(entry)
    return found


def _warn_uncached(reason: str) -> None:
    # Numba's sentence names the function; one warning a process says enough.
    if not _warned:
        _warned.append(reason)
        warnings.warn(
            "compiled kernels cannot be kept, so each process compiles them anew (a few seconds at the first draw); "
            "set NUMBA_CACHE_DIR to a directory that this process may write to",
            UncachedKernelsWarning,
            stacklevel=2,
        )


_warned: list[str] = []
