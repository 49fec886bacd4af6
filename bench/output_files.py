"""The files that a run writes at its end, looked at before it begins."""

from __future__ import annotations

import os
from pathlib import Path

from lapnoise.evaluate._matplotlib import verify_matplotlib
from lapnoise.evaluate._picture import SUFFIXES

__all__ = ["verify_file", "verify_picture"]


def verify_file(option: str, path: Path) -> None:
    """Refuse a file that could not be written. One that exists is written anew.

    Raises
    ------
    ValueError
        If it is a directory, or in none, or may not be written.
    """
    if path.is_dir():
        raise ValueError(f"{option} must be a file, got the directory {str(path)!r}")
    if not path.parent.is_dir():
        raise ValueError(f"{option} must be a file in a directory that exists, got {str(path)!r}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{option} must be a file that can be written, got {str(path)!r}")


def verify_picture(path: Path) -> None:
    """Refuse a picture that could not be drawn, or not be written.

    Raises
    ------
    ImportError
        If matplotlib is absent.
    ValueError
        If the name has none of the suffixes known, and as `verify_file` does.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"--plot must be a file that ends in {', '.join(SUFFIXES)}, got {str(path)!r}")
    verify_file("--plot", path)
    verify_matplotlib()
