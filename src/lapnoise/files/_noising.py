"""One run: everything that can be is checked first, then noise is drawn and the target written."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lapnoise import _check
from lapnoise._check import file_arguments, noise_terms
from lapnoise._threads import available_threads
from lapnoise._version import __version__
from lapnoise.errors import InputDataError, SeededNoiseWarning
from lapnoise.files._cell_noise import CellNoise
from lapnoise.files._charge import Charge
from lapnoise.files._contents import Contents, Format
from lapnoise.files._directory_source import DirectorySource
from lapnoise.files._directory_target import DirectoryTarget
from lapnoise.files._opening import format_of, opened
from lapnoise.files._receipt import SEEDED, Receipt, described, exact_text, law_of, nearest_float
from lapnoise.files._source import Source
from lapnoise.files._streams import STANDARD
from lapnoise.files._target import Output
from lapnoise.files._terms import FileMechanism, Terms, terms
from lapnoise.generator import default_rng

__all__ = ["Noising", "Progress", "prepared"]

Progress = Callable[[str, str, int, int | None], None]
"""Called as ``progress(stage, unit, done, total)``: stage "check" or "noise", unit "rows" or "values"."""


@dataclass
class Noising:
    """A run that was checked and only needs to be done; made by :func:`prepared`.

    Attributes
    ----------
    plan
        The receipt of a dry run.
    """

    plan: Receipt
    _source: Source | DirectorySource
    _target: Output | DirectoryTarget
    _file: Format
    _contents: Contents
    _cell_noise: CellNoise
    _charge: Charge | None
    _threads: int
    _read_before: bool

    def run(self, progress: Progress | None = None) -> Receipt:
        """Draw the noise, write the target and return the receipt."""
        start = time.perf_counter()
        contents, unit = self._contents, self._file.unit
        total = contents.rows if unit == "rows" else contents.cells
        done = _counter(progress, "noise", unit, total)
        with self._target as target:
            try:
                found = self._file.noise(target, self._cell_noise, done, self._threads)
            except InputDataError:
                if not self._read_before:
                    raise
                # The first reading found nothing wrong.
                raise InputDataError("the source changed while it was being read; nothing was written") from None
            self._source.verify_unchanged()
            if found.cells != contents.cells:
                raise InputDataError("the source changed while it was being read; nothing was written")
            if self._charge is not None:
                self._charge.record()
        return replace(
            self.plan,
            dry_run=False,
            rows=found.rows,
            cells_noised=found.cells - found.missing,
            cells_missing=found.missing,
            source_sha256=self._source.sha256,
            target_sha256=target.sha256,
            finished=_now(),
            elapsed_seconds=self.plan.elapsed_seconds + time.perf_counter() - start,
        )


@contextmanager
def prepared(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    columns: Any,
    seed: Any,
    force: bool,
    dry_run: bool,
    format: str | None,
    delimiter: str | None,
    quote: str | None,
    missing: Any,
    header: Any,
    encoding: Any,
    digest_source: Any,
    progress: Progress | None,
    threads: int | None,
    charge: Charge | None,
    **noise: Any,
) -> Iterator[Noising]:
    """Check what can be checked, then keep the source open for the run; arguments as in `lapnoise.files.add_noise`."""
    start = time.perf_counter()
    file_arguments.progress(progress)
    names = file_arguments.columns(columns)
    asked = terms(**noise, columns=names)
    if names is None and isinstance(asked.clip, Mapping):
        noise_terms.columns_for_bounds()
    csv = file_arguments.csv_options(delimiter, quote, missing, header, encoding)
    source_path, target_path = Path(source), Path(target)
    kind = file_arguments.file_format(
        format,
        source_path.suffix,
        directory=source_path.is_dir(),
        stream=STANDARD in map(str, (source_path, target_path)),
    )
    file_arguments.target_format(target_path.suffix, kind)
    if kind == "npy":
        file_arguments.no_columns(names, csv["delimiter"], asked.strata, asked.clip)
    elif kind != "csv":
        file_arguments.no_delimiter(csv["delimiter"], kind)
    digest = _check.flag("digest_source", digest_source)
    rng = default_rng(seed, rounds=20, threads=threads)
    if seed is not None:
        warnings.warn(SEEDED, SeededNoiseWarning, stacklevel=2)
    with ExitStack() as stack:
        origin, written = opened(stack, source_path, target_path, kind, digest=digest, force=force)
        if charge is not None:
            charge.refuse_target(target_path)
        file = format_of(kind, origin, asked, columns=names, **csv)
        header = file.check_header()
        mechanism = asked.mechanism(header.columns, header.cells_per_row)
        if charge is not None:
            # The contents are data: whether they can be noised is an answer about them, and costs what the noise does.
            charge.reserve(mechanism, f"{os.fspath(source)} -> {os.fspath(target)}", seeded=seed is not None)
        contents = header.contents
        read_before = dry_run or contents is None
        origin.read_twice = read_before
        if contents is None or dry_run:
            origin.rewind()
            contents = file.check(_counter(progress, "check", file.unit, None))
        origin.rewind()
        # All cells have one lattice, which depends on their number alone.
        release = asked.for_cells(mechanism, contents.cells)
        plan = _plan(asked, mechanism, release, contents)
        yield Noising(
            plan=replace(
                plan,
                source=os.fspath(source),
                target=os.fspath(target),
                format=kind,
                missing=_texts(csv["missing"]) if kind == "csv" else None,
                seeded=seed is not None,
                warning=None if seed is None else SEEDED,
                ledger=None if charge is None else charge.name,
                ledger_entry=None if charge is None else charge.entry,
                elapsed_seconds=time.perf_counter() - start,
            ),
            _source=origin,
            _target=written(),
            _file=file,
            _contents=contents,
            _cell_noise=CellNoise(release, asked, contents.columns or ("",), rng),
            _charge=charge,
            _threads=threads or available_threads(),
            _read_before=read_before,
        )


def _plan(asked: Terms, mechanism: FileMechanism, release: FileMechanism, contents: Contents) -> Receipt:
    """Return what can be said of a run before it: everything but names, charge and time."""
    return Receipt(
        version=__version__,
        source="",
        target="",
        format="",
        columns=contents.columns,
        types=contents.types,
        rows=contents.rows,
        cells_noised=contents.cells - contents.missing,
        cells_missing=contents.missing,
        local=asked.local,
        clip=described(asked.clip),
        clamp=described(asked.clamp),
        fill=described(asked.fill),
        strata=asked.strata,
        missing=None,
        epsilon=exact_text(mechanism.epsilon_asked, asked.epsilon_given),
        epsilon_float=nearest_float(mechanism.epsilon_asked),
        sensitivity=exact_text(mechanism.sensitivity, asked.sensitivity_given),
        sensitivity_float=nearest_float(mechanism.sensitivity),
        changed=_changed(asked, release, contents),
        **law_of(release),
        cost=asked.cost(),
        mechanism=asked.name,
        generator="chacha20",
        seeded=False,
        hardened=True,
        warning=None,
        dry_run=True,
        ledger=None,
        ledger_entry=None,
        source_sha256=None,
        target_sha256=None,
        finished=_now(),
        elapsed_seconds=0.0,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _texts(missing: frozenset[bytes]) -> tuple[str, ...]:
    return tuple(sorted(text.decode("utf-8", "surrogateescape") for text in missing))


def _changed(asked: Terms, release: FileMechanism, contents: Contents) -> int:
    if asked.local:
        return contents.cells // max(contents.rows, 1)
    return asked.changed or getattr(release, "changed", None) or max(contents.cells, 1)


def _counter(progress: Progress | None, stage: str, unit: str, total: int | None) -> Callable[[int], None]:
    def done(count: int) -> None:
        if progress is not None:
            progress(stage, unit, count, total)

    return done
