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

fastmath=False
    It may drop the NaN and inf guards, and contraction makes results depend on the machine. Said aloud, because a
    function that does not say it takes the flag of whoever compiles it first, and keeps it in the cache for everybody.
forceinline=False (kernels)
    Inherited in the same way.
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
    from numba.core.ccallback import CFunc
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.sigutils import normalize_signature
    from numba.extending import intrinsic as _intrinsic
    from numba.extending import overload as _overload
except ImportError as error:
    raise ImportError(
        f"lapnoise draws with Numba, which could not be imported ({error}); "
        "install a Numba that supports this NumPy, for instance: pip install --upgrade numba numpy"
    ) from error

__all__ = ["CFunction", "c_function", "device", "intrinsic", "kernel", "overload"]

F = TypeVar("F", bound=Callable[..., Any])

if numba.config.DISABLE_JIT:
    raise RuntimeError(
        "lapnoise cannot draw with NUMBA_DISABLE_JIT set, because its kernels use LLVM vector types, which have no "
        "Python form; unset NUMBA_DISABLE_JIT"
    )
if sys.byteorder != "little":
    raise RuntimeError("lapnoise draws on little-endian machines only, because a stream's words are stored as they lie")


_CALLED = {"nogil": True, "error_model": "numpy", "fastmath": False, "forceinline": False}
_INLINED = {**_CALLED, "forceinline": True}


def kernel(function: F) -> F:
    """Compile a module-level function at its first call, cached on disk where that is possible."""
    function.__qualname__ = f"{function.__qualname__}_{package_digest()}"
    try:
        compiled = numba.njit(function, cache=True, **_CALLED)
        _verify_writable(compiled.stats.cache_path)
    except (RuntimeError, OSError) as error:  # there is no directory that Numba may write to
        _warn_uncached(str(error))
        return numba.njit(function, **_CALLED)  # type: ignore[no-any-return]
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


class CFunction:
    """A function that C can call: compiled when it is first asked for, and cached on disk where that is possible.

    Parameters
    ----------
    function : callable
        A module-level function.
    signature : str or Numba signature
        Types of the result and of the arguments.

    Notes
    -----
    An address is good for as long as this object lives. An error in C cannot be raised: the function must have none.
    """

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._function = function
        self._signature = signature
        self._compiled: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call it by ctypes."""
        return self.ctypes(*arguments)

    def __repr__(self) -> str:
        return f"<C function {self.__name__}, {self._signature}; .address and .ctypes>"

    @property
    def address(self) -> int:
        """Address of the machine code."""
        return self._callback().address  # type: ignore[no-any-return]

    @property
    def ctypes(self) -> Any:
        """The function as ctypes knows it; a call lets other threads of Python run."""
        return self._callback().ctypes

    def _callback(self) -> Any:
        with global_compiler_lock:  # two threads would compile twice, and the code of one be freed under its callers
            if self._compiled is None:
                callback = self._cached()
                callback.compile()
                self._compiled = callback
        return self._compiled

    def _cached(self) -> Any:
        callback = self._uncompiled()
        try:
            callback.enable_caching()
            _verify_writable(callback._cache.cache_path)
        except (RuntimeError, OSError) as error:
            _warn_uncached(str(error))
            return self._uncompiled()
        _separate_data_files(callback)
        _survive_cache_failures(callback)
        return callback

    def _uncompiled(self) -> Any:
        # numba.cfunc would compile at once, by the cache as it comes.
        return CFunc(self._function, normalize_signature(self._signature), locals={}, options=dict(_CALLED))


def c_function(signature: Any) -> Callable[[Callable[..., Any]], CFunction]:
    """Make a module-level function one that C can call; ``signature`` as in "float64(uint64, intp)"."""

    def made(function: Callable[..., Any]) -> CFunction:
        function.__qualname__ = f"{function.__qualname__}_{package_digest()}"
        return CFunction(function, signature)

    return made


def device(function: F) -> F:
    """Compile a function that is called from kernels only and vanishes into them."""
    return numba.njit(function, **_INLINED)  # type: ignore[no-any-return]


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that emits LLVM instructions itself."""
    return _intrinsic(function)  # type: ignore[no-any-return]


def overload(function: Callable[..., Any]) -> Callable[[F], F]:
    """Give a function one body for each set of argument types."""
    # strict compares annotations too, and a lambda has none.
    return _overload(function, jit_options=dict(_INLINED), strict=False)  # type: ignore[no-any-return]


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
