"""Noise inside other people's code: the names that other libraries use, with the draws and the mechanisms of this one.

None of those libraries is imported before it is needed.
"""

from __future__ import annotations

from typing import Any

__all__ = ["diffprivlib", "numpy_random", "opendp", "tensors"]

_SUBMODULES = ("diffprivlib", "numpy_random", "opendp", "tensors")


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"lapnoise.embed.{name}")
    raise AttributeError(f"module 'lapnoise.embed' has no attribute {name!r}")
