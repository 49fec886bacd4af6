"""Laplace noise at memory speed from cryptographic randomness.

Importing this package imports neither Numba nor SciPy and compiles nothing; kernels load at the first draw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lapnoise._version import __version__

if TYPE_CHECKING:
    from lapnoise.bits.stream import STREAM_VERSION
    from lapnoise.errors import (
        InputDataError,
        LapnoiseError,
        LapnoiseWarning,
        OutputError,
        SeededNoiseWarning,
        UncachedKernelsWarning,
        UnsafeFloatNoiseWarning,
    )
    from lapnoise.generator import Generator, default_rng
    from lapnoise.signed_log import SignedLog

__all__ = [
    "STREAM_VERSION",
    "Generator",
    "InputDataError",
    "LapnoiseError",
    "LapnoiseWarning",
    "OutputError",
    "SeededNoiseWarning",
    "SignedLog",
    "UncachedKernelsWarning",
    "UnsafeFloatNoiseWarning",
    "__version__",
    "default_rng",
    "files",
]

_HOMES = {
    "STREAM_VERSION": "lapnoise.bits.stream",
    "Generator": "lapnoise.generator",
    "default_rng": "lapnoise.generator",
    "SignedLog": "lapnoise.signed_log",
    "InputDataError": "lapnoise.errors",
    "LapnoiseError": "lapnoise.errors",
    "LapnoiseWarning": "lapnoise.errors",
    "OutputError": "lapnoise.errors",
    "SeededNoiseWarning": "lapnoise.errors",
    "UncachedKernelsWarning": "lapnoise.errors",
    "UnsafeFloatNoiseWarning": "lapnoise.errors",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name == "files":
        return import_module("lapnoise.files")
    raise AttributeError(f"module 'lapnoise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
