"""Laplace noise inside other people's programs: their jitted loops, their C code, NumPy's distributions.

Importing it imports none of its modules; each brings Numba along when it is first used.
"""

from __future__ import annotations

from typing import Any

__all__ = ["capi", "jit"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in __all__:
        return import_module(f"lapnoise.embed.{name}")
    raise AttributeError(f"module 'lapnoise.embed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
