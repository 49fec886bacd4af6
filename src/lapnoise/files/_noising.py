"""One run: everything is checked first, then noise is drawn and the target written."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from lapnoise import _check
from lapnoise._check import file_arguments
from lapnoise._version import __version__
from lapnoise.errors import InputDataError, SeededNoiseWarning
from lapnoise.files._cell_noise import CellNoise
from lapnoise.files._charge import Charge
from lapnoise.files._contents import Contents, Format
from lapnoise.files._csv import CsvFile
from lapnoise.files._npy import NpyFile
from lapnoise.files._receipt import COST, SEEDED, Receipt, exact_text, nearest_float
from lapnoise.files._source import Source
from lapnoise.files._target import Target, refuse_unsafe_target
from lapnoise.generator import Generator, default_rng
from lapnoise.mechanisms import DiscreteLaplaceMechanism, LaplaceMechanism

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
        self,
        source: Source,
        target: Path,
        file: Format,
        contents: Contents,
        plan: Receipt,
        cell_noise: CellNoise,
        charge: Charge | None,
        *,
        force: bool,
    ) -> None:
        self.plan = plan
        self._source = source
        self._target = target
        self._file = file
        self._contents = contents
        self._cell_noise = cell_noise
        self._charge = charge
        self._force = force

    def run(self, progress: Progress | None = None) -> Receipt:
        """Draw the noise, write the target and return the receipt."""
        start = time.perf_counter()
        contents, unit = self._contents, self._file.unit
        total = contents.rows if unit == "rows" else contents.cells
        with Target(self._target, force=self._force) as target:
            try:
                self._file.noise(target, self._cell_noise, _counter(progress, "noise", unit, total))
            except InputDataError:
                # The first reading found nothing wrong.
                raise InputDataError("the source changed while it was being read; nothing was written") from None
            self._source.verify_unchanged()
            if self._charge is not None:
                self._charge.record()
        seconds = self.plan.elapsed_seconds + time.perf_counter() - start
        return replace(self.plan, dry_run=False, target_sha256=target.sha256, elapsed_seconds=seconds)


@contextmanager
def prepared(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    epsilon: Any,
    sensitivity: Any,
    mechanism: Any,
    changed: Any,
    columns: Any,
    seed: Any,
    force: bool,
    format: str | None,
    delimiter: str | None,
    missing: Any,
    progress: Progress | None,
    threads: int | None,
    charge: Charge | None,
) -> Iterator[Noising]:
    """Check everything, then keep the source open for the run; arguments as in :func:`lapnoise.files.add_noise`."""
    start = time.perf_counter()
    name = file_arguments.mechanism(mechanism)
    asked = _mechanism(name, epsilon, sensitivity, changed)
    names, absent = file_arguments.columns(columns), file_arguments.missing(missing)
    separator = None if delimiter is None else file_arguments.delimiter(delimiter)
    source_path, target_path = Path(source), Path(target)
    file_arguments.source(source_path)
    kind = file_arguments.file_format(format, source_path.suffix)
    file_arguments.target_format(target_path.suffix, kind)
    if kind == "npy" and (names is not None or separator is not None):
        raise ValueError("columns and delimiter apply to CSV files only, got an NPY file")
    rng = _generator(seed, threads)
    with Source(source_path) as opened:
        refuse_unsafe_target(target_path, source_path, force=force)
        if charge is not None:
            charge.refuse_target(target_path)
        whole = name == "discrete-laplace"
        file: Format = (
            NpyFile(opened, whole=whole)
            if kind == "npy"
            else CsvFile(opened, columns=names, delimiter=separator, missing=absent, whole=whole)
        )
        if charge is not None:
            file.check_header()
            opened.rewind()
            # The contents are data: whether they can be noised is an answer about them, and costs what the noise does.
            charge.reserve(asked, f"{os.fspath(source)} -> {os.fspath(target)}", seeded=seed is not None)
        contents = file.check(_counter(progress, "check", file.unit, None))
        opened.rewind()
        # All cells have one lattice, which depends on their number alone.
        most_changed = max(contents.cells, 1) if changed is None else int(changed)
        release = _mechanism(name, epsilon, sensitivity, most_changed)
        plan = Receipt(
            version=__version__,
            source=os.fspath(source),
            target=os.fspath(target),
            format=kind,
            columns=contents.columns,
            rows=contents.rows,
            cells_noised=contents.cells - contents.missing,
            cells_missing=contents.missing,
            epsilon=exact_text(asked.epsilon_asked, epsilon),
            epsilon_float=nearest_float(asked.epsilon_asked),
            epsilon_attained=exact_text(release.epsilon),
            epsilon_attained_float=nearest_float(release.epsilon),
            sensitivity=exact_text(asked.sensitivity, sensitivity),
            sensitivity_float=nearest_float(asked.sensitivity),
            changed=most_changed,
            scale=nearest_float(Fraction(release.lattice.t) * release.lattice.granularity),
            granularity=float(release.granularity),
            cost=COST,
            mechanism=name,
            generator="chacha20",
            seeded=seed is not None,
            hardened=True,
            warning=None if seed is None else SEEDED,
            dry_run=True,
            ledger=None if charge is None else charge.name,
            ledger_entry=None if charge is None else charge.entry,
            target_sha256=None,
            elapsed_seconds=time.perf_counter() - start,
        )
        cell_noise = CellNoise(release.lattice, rng, whole=whole)
        yield Noising(opened, target_path, file, contents, plan, cell_noise, charge, force=force)


def _mechanism(
    name: str, epsilon: Any, sensitivity: Any, changed: int | None
) -> LaplaceMechanism | DiscreteLaplaceMechanism:
    if name == "discrete-laplace":
        if changed is not None:
            _check.count("changed", changed, least=1)
        return DiscreteLaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity)
    mechanism = LaplaceMechanism(epsilon=epsilon, sensitivity=sensitivity, changed=changed)
    mechanism.verify_floats()
    return mechanism


def _generator(seed: Any, threads: int | None) -> Generator:
    rng = default_rng(seed, rounds=20, threads=threads)
    if seed is not None:
        warnings.warn(SEEDED, SeededNoiseWarning, stacklevel=2)
    return rng


def _counter(progress: Progress | None, stage: str, unit: str, total: int | None) -> Callable[[int], None]:
    def done(count: int) -> None:
        if progress is not None:
            progress(stage, unit, count, total)

    return done
