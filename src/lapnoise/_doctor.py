"""What lapnoise runs on: the facts that a report of a fault needs."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lapnoise import _threads
from lapnoise._version import __version__

__all__ = ["examine"]

EXTRAS = ("pandas", "polars", "pyarrow", "pyspark", "dask", "dp-accounting", "matplotlib")
WORDS = 64


def examine() -> dict[str, Any]:
    """Return versions, processor, threads, kernel cache, optional packages and the first words of a known stream.

    Returns
    -------
    dict
        Ready for ``json``. Drawing the words compiles or loads a kernel, so that a broken installation shows here.
        ``known_words`` are the first eight words of ``default_rng(0)`` in hexadecimal, the same on every machine;
        ``self_test`` says whether kernels agree with their references in plain Python.
    """
    import llvmlite.binding as llvm

    from lapnoise.generator import default_rng
    from lapnoise.kernels.laplace import fill_laplace

    words = [f"{int(word):016x}" for word in default_rng(0).words(8)]
    kernel: Any = fill_laplace
    cache = kernel.stats.cache_path
    return {
        "lapnoise": __version__,
        "python": platform.python_version(),
        **{name: _version_of(name) for name in ("numpy", "numba", "llvmlite", "scipy")},
        "platform": platform.platform(),
        "cpu": llvm.get_host_cpu_name(),
        "cpu_features": sorted(name for name, present in llvm.get_host_cpu_features().items() if present),
        "threads": _threads.available_threads(),
        "cache_directory": cache,
        "cache_writable": cache is not None and _is_writable(Path(cache)),
        "extras": {name: _version_of(name) for name in EXTRAS},
        "known_words": words,
        "self_test": _self_test(),
    }


def _self_test() -> str:
    """Compare kernels with their references in plain Python: 64 words, and 64 exact draws at each of three scales."""
    from lapnoise._exact_noise import exact_draw
    from lapnoise.bits.chacha import stream_word
    from lapnoise.generator import default_rng

    rng = default_rng(0)
    key = [int(half) for half in rng._stream.source[:4].view("<u4")]
    expected = [stream_word(key, position, 0, 12) for position in range(WORDS)]
    if default_rng(0).words(WORDS).tolist() != expected:
        return "DIFFERENT words: this installation draws something else than lapnoise"
    for t in (0.5, 3.0, 2.0**30):
        drawn = default_rng(0).discrete_laplace(t, WORDS).tolist()
        if drawn != [exact_draw(t, rng._stream.source, position) for position in range(WORDS)]:
            return f"DIFFERENT exact draws at scale {t!r}: the compiled tiers do not agree with integer arithmetic"
    return "as expected"


def _version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _is_writable(directory: Path) -> bool:
    # The directory is made at the first compilation; until then its nearest existing parent decides.
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    return directory.is_dir() and os.access(directory, os.W_OK | os.X_OK)
