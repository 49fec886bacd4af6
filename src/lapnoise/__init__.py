"""Laplace noise at memory speed from cryptographic randomness.

Importing this package imports neither Numba nor SciPy and compiles nothing; kernels load at the first draw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lapnoise._version import __version__

if TYPE_CHECKING:
    from lapnoise.bits.stream import STREAM_VERSION
    from lapnoise.embed.numpy_bits import ChaChaBits
    from lapnoise.errors import (
        BudgetExhaustedError,
        InputDataError,
        LapnoiseError,
        LapnoiseWarning,
        LedgerDamagedError,
        LedgerError,
        LedgerUnavailableError,
        OutputError,
        RequestRefusedError,
        SeededNoiseWarning,
        UncachedKernelsWarning,
        UnsafeFloatNoiseWarning,
    )
    from lapnoise.generator import Generator, default_rng
    from lapnoise.ledger import PrivacyLedger
    from lapnoise.mechanisms import (
        BoundedLaplaceMechanism,
        DiscreteLaplaceMechanism,
        ExponentialMechanism,
        GaussianMechanism,
        LaplaceMechanism,
        PermuteAndFlipMechanism,
        PlanarLaplaceMechanism,
        StratifiedLaplaceMechanism,
        TruncatedLaplaceMechanism,
    )
    from lapnoise.signed_log import SignedLog

__all__ = [
    "STREAM_VERSION",
    "BoundedLaplaceMechanism",
    "BudgetExhaustedError",
    "ChaChaBits",
    "DiscreteLaplaceMechanism",
    "ExponentialMechanism",
    "GaussianMechanism",
    "Generator",
    "InputDataError",
    "LaplaceMechanism",
    "LapnoiseError",
    "LapnoiseWarning",
    "LedgerDamagedError",
    "LedgerError",
    "LedgerUnavailableError",
    "OutputError",
    "PermuteAndFlipMechanism",
    "PlanarLaplaceMechanism",
    "PrivacyLedger",
    "RequestRefusedError",
    "SeededNoiseWarning",
    "SignedLog",
    "StratifiedLaplaceMechanism",
    "TruncatedLaplaceMechanism",
    "UncachedKernelsWarning",
    "UnsafeFloatNoiseWarning",
    "__version__",
    "budget",
    "dask",
    "default_rng",
    "embed",
    "evaluate",
    "files",
    "mechanisms",
    "postprocess",
    "queries",
    "sensitivity",
    "spark",
    "tables",
]

_HOMES = {
    "STREAM_VERSION": "lapnoise.bits.stream",
    "Generator": "lapnoise.generator",
    "default_rng": "lapnoise.generator",
    "SignedLog": "lapnoise.signed_log",
    "ChaChaBits": "lapnoise.embed.numpy_bits",
    "BoundedLaplaceMechanism": "lapnoise.mechanisms",
    "DiscreteLaplaceMechanism": "lapnoise.mechanisms",
    "ExponentialMechanism": "lapnoise.mechanisms",
    "GaussianMechanism": "lapnoise.mechanisms",
    "LaplaceMechanism": "lapnoise.mechanisms",
    "PermuteAndFlipMechanism": "lapnoise.mechanisms",
    "PlanarLaplaceMechanism": "lapnoise.mechanisms",
    "StratifiedLaplaceMechanism": "lapnoise.mechanisms",
    "TruncatedLaplaceMechanism": "lapnoise.mechanisms",
    "PrivacyLedger": "lapnoise.ledger",
    "BudgetExhaustedError": "lapnoise.errors",
    "InputDataError": "lapnoise.errors",
    "LapnoiseError": "lapnoise.errors",
    "LapnoiseWarning": "lapnoise.errors",
    "LedgerDamagedError": "lapnoise.errors",
    "LedgerError": "lapnoise.errors",
    "LedgerUnavailableError": "lapnoise.errors",
    "OutputError": "lapnoise.errors",
    "RequestRefusedError": "lapnoise.errors",
    "SeededNoiseWarning": "lapnoise.errors",
    "UncachedKernelsWarning": "lapnoise.errors",
    "UnsafeFloatNoiseWarning": "lapnoise.errors",
}

_SUBMODULES = (
    "budget",
    "dask",
    "embed",
    "evaluate",
    "files",
    "mechanisms",
    "postprocess",
    "queries",
    "sensitivity",
    "spark",
    "tables",
)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return import_module(f"lapnoise.{name}")
    raise AttributeError(f"module 'lapnoise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
