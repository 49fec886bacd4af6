"""Whether there is matplotlib, which is an extra: only pictures need it."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["verify_matplotlib"]


def verify_matplotlib() -> None:
    """Raise ImportError, which names the extra, where matplotlib is absent."""
    if find_spec("matplotlib") is None:
        raise ImportError("pictures need matplotlib, which is the extra plots: pip install 'lapnoise[plots]'")
