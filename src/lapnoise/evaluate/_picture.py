"""The picture of a sweep in a file, which appears whole or not at all; what draws it is an extra."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from lapnoise.errors import OutputError
from lapnoise.evaluate._matplotlib import verify_matplotlib
from lapnoise.evaluate.query_experiments import QueryErrors
from lapnoise.files._target import Target, refuse_unsafe_target

__all__ = ["save_sweep", "verify_picture"]

SUFFIXES = (".png", ".svg", ".pdf")


def verify_picture(path: str, force: bool) -> None:
    """Refuse, before anything is drawn, a picture that could not be made.

    Raises
    ------
    ImportError
        If matplotlib is absent.
    ValueError
        If the file's name has none of the suffixes known.
    OutputError
        If the file exists, without ``force``, or its directory does not.
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise ValueError(f"plot must be a file that ends in {', '.join(SUFFIXES)}, got {path!r}")
    verify_matplotlib()
    # No source is read: the target is compared with a name that is no file.
    refuse_unsafe_target(target, target / "none", force=force, stream=False)


def save_sweep(result: Any, path: str, force: bool) -> None:
    """Draw errors against epsilon, with the line of theory, into a file."""
    from matplotlib.figure import Figure

    from lapnoise.evaluate import plots

    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    plots.sweep(result, ax=figure.add_subplot())
    if isinstance(result, QueryErrors):
        figure.supxlabel(result.note, fontsize="small")  # a file goes farther than what was printed beside it
    drawn = io.BytesIO()
    try:
        figure.savefig(drawn, format=Path(path).suffix[1:].lower(), dpi=200)
    except OSError as error:  # of fonts, not of the target
        raise OutputError(f"picture could not be drawn: {error}") from None
    with Target(Path(path), force=force) as target:
        target.write(drawn.getvalue())
