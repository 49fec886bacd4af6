"""One run: everything is checked first, then noise is drawn and the target written."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._version import __version__
from lapnoise.errors import InputDataError, SeededNoiseWarning
from lapnoise.files import _arguments
from lapnoise.files._contents import Contents, Format
from lapnoise.files._csv import CsvFile
from lapnoise.files._npy import NpyFile
from lapnoise.files._receipt import COST, NOT_HARDENED, SEEDED, Receipt, exact_text, nearest_float
from lapnoise.files._source import Source
from lapnoise.files._target import Target, refuse_unsafe_target

__all__ = ["Noising", "Progress", "prepared"]

Progress = Callable[[str, str, int, int | None], None]
"""Called as ``progress(stage, unit, done, total)``: stage "check" or "noise", unit "rows" or "values"."""


class Noising:
    """A run that was checked and only needs to be done; made by :func:`prepared`.

    Attributes
    ----------
    plan
        The receipt of a dry run.
    """

    def __init__(
        self, source: Source, target: Path, file: Format, contents: Contents, plan: Receipt, rng: Any, *, force: bool
    ) -> None:
        self.plan = plan
        self._source = source
        self._target = target
        self._file = file
        self._contents = contents
        self._rng = rng
        self._force = force

    def run(self, progress: Progress | None = None) -> Receipt:
        """Draw the noise, write the target and return the receipt."""
        start = time.perf_counter()
        contents, unit = self._contents, self._file.unit
        total = contents.rows if unit == "rows" else contents.cells
        with Target(self._target, force=self._force) as target:
            try:
                self._file.noise(target, self._add_noise, _counter(progress, "noise", unit, total))
            except InputDataError:
                # The first reading found nothing wrong.
                raise InputDataError("the source changed while it was being read; nothing was written") from None
            self._source.verify_unchanged()
        seconds = self.plan.elapsed_seconds + time.perf_counter() - start
        return replace(self.plan, dry_run=False, target_sha256=target.sha256, elapsed_seconds=seconds)

    def _add_noise(self, values: NDArray[Any]) -> None:
        self._rng.add_laplace(values, self.plan.scale, out=values)
        # A finite cell near the largest float must not become infinite in the target.
        limit = np.finfo(values.dtype).max
        np.clip(values, -limit, limit, out=values)


@contextmanager
def prepared(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    epsilon: Any,
    sensitivity: Any,
    columns: Any,
    seed: Any,
    force: bool,
    format: str | None,
    delimiter: str | None,
    missing: Any,
    progress: Progress | None,
    threads: int | None,
) -> Iterator[Noising]:
    """Check everything, then keep the source open for the run; arguments as in :func:`lapnoise.files.add_noise`."""
    start = time.perf_counter()
    cost, bound = _check.epsilon(epsilon), _check.sensitivity(sensitivity)
    _arguments.scale_for(cost, bound)
    names, absent = _arguments.columns(columns), _arguments.missing(missing)
    separator = None if delimiter is None else _arguments.delimiter(delimiter)
    source_path, target_path = Path(source), Path(target)
    kind = _arguments.file_format(format, source_path.suffix)
    _arguments.target_format(target_path.suffix, kind)
    if kind == "npy" and (names is not None or separator is not None):
        raise ValueError("columns and delimiter apply to CSV files only, got an NPY file")
    rng = _generator(seed, threads)
    with Source(source_path) as opened:
        refuse_unsafe_target(target_path, source_path, force=force)
        file: Format = (
            NpyFile(opened) if kind == "npy" else CsvFile(opened, columns=names, delimiter=separator, missing=absent)
        )
        contents = file.check(_counter(progress, "check", file.unit, None))
        opened.rewind()
        plan = Receipt(
            version=__version__,
            source=os.fspath(source),
            target=os.fspath(target),
            format=kind,
            columns=contents.columns,
            rows=contents.rows,
            cells_noised=contents.cells - contents.missing,
            cells_missing=contents.missing,
            epsilon=exact_text(cost, epsilon),
            epsilon_float=nearest_float(cost),
            sensitivity=exact_text(bound, sensitivity),
            sensitivity_float=nearest_float(bound),
            scale=_arguments.scale_for(cost, bound, float32=contents.float32),
            cost=COST,
            mechanism="laplace",
            generator="chacha20",
            seeded=seed is not None,
            hardened=False,
            warning=NOT_HARDENED if seed is None else f"{SEEDED} {NOT_HARDENED}",
            dry_run=True,
            target_sha256=None,
            elapsed_seconds=time.perf_counter() - start,
        )
        yield Noising(opened, target_path, file, contents, plan, rng, force=force)


def _generator(seed: Any, threads: int | None) -> Any:
    # Here and not above, so that what is refused before it never waits for the import.
    from lapnoise.generator import default_rng

    rng = default_rng(seed, rounds=20, threads=threads)
    if seed is not None:
        warnings.warn(SEEDED, SeededNoiseWarning, stacklevel=2)
    return rng


def _counter(progress: Progress | None, stage: str, unit: str, total: int | None) -> Callable[[int], None]:
    def done(count: int) -> None:
        if progress is not None:
            progress(stage, unit, count, total)

    return done
