"""Noise inside other people's programs: jitted loops, C, NumPy's distributions, names and objects of other libraries.

Importing it imports none of its modules, and none of those libraries is imported before it is needed.
"""

from __future__ import annotations

from typing import Any

__all__ = ["capi", "diffprivlib", "jit", "numpy_bits", "numpy_random", "opendp", "tensors"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in __all__:
        return import_module(f"lapnoise.embed.{name}")
    raise AttributeError(f"module 'lapnoise.embed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
