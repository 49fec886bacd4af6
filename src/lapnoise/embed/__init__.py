"""The words and the noise inside other people's code: NumPy's distributions, their own jitted functions, C."""

from __future__ import annotations

from typing import Any

__all__ = ["numpy_bits"]

_SUBMODULES = ("numpy_bits",)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"lapnoise.embed.{name}")
    raise AttributeError(f"module 'lapnoise.embed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
