"""From the options of ``lapnoise noise`` to the arguments of the run, and from its receipt to lines for a person."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import click

from lapnoise._console import printable, say, tell, tell_json

if TYPE_CHECKING:
    from lapnoise.files import Receipt

__all__ = ["noise_options", "print_receipt"]


def noise_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of `lapnoise.files.add_noise` for the options as Click gives them.

    Raises
    ------
    click.UsageError
        Where options contradict one another.
    """
    options = dict(given)
    clip_columns, epsilon_by = options.pop("clip_column"), options.pop("epsilon_by")
    if clip_columns and options["clip"]:
        raise click.UsageError("--clip and --clip-column cannot be given together")
    if clip_columns:
        options["clip"] = {name: (low, high) for name, low, high in clip_columns}
        if len(options["clip"]) < len(clip_columns):
            raise click.UsageError("--clip-column must name each column once")
    options["clip"] = options["clip"] or None
    options["clamp"] = options["clamp"] or None
    options["epsilon_by"] = _by_stratum(epsilon_by)
    stratified = options["strata"] is not None or options["epsilon_by"] is not None
    if options["mechanism"] not in (None, "stratified") and stratified:
        raise click.UsageError("--strata and --epsilon-by are for stratified noise: leave --mechanism out")
    if options["epsilon_by"] is not None and options["strata"] is None:
        raise click.UsageError("--epsilon-by needs --strata, the column that tells the stratum of a row")
    if options["epsilon"] is None and not stratified:
        raise click.UsageError("Missing option '--epsilon'.")
    if options["sensitivity"] is None and not options["local"]:
        raise click.UsageError("Missing option '--sensitivity'.")
    options["columns"] = _names(options["columns"]) if options["columns"] else None
    delimiter = options["delimiter"]
    options["delimiter"] = {"tab": "\t", r"\t": "\t"}.get(delimiter or "", delimiter)
    options["quote"] = None if options["quote"] == "none" else options["quote"]
    options["header"] = not options.pop("no_header")
    options["format"] = options.pop("file_format")
    if not options["missing"]:
        from lapnoise.files import MISSING

        options["missing"] = MISSING
    return options


def print_receipt(receipt: Receipt, *, as_json: bool, quiet: bool) -> None:
    """Print a receipt: one JSON object on stdout, or lines on stderr; those of a dry run on stdout."""
    if as_json:
        tell_json(receipt.to_dict())
        return
    if quiet:
        return
    columns = f" in {', '.join(receipt.columns)}" if receipt.columns else ""
    types = f" ({', '.join(dict.fromkeys(receipt.types))})" if receipt.dry_run else ""
    subject = "each row" if receipt.local else "the whole file"
    by_stratum = receipt.scale_by_stratum
    scale = (
        ", ".join(f"{_rounded(value)} in {name}" for name, value in by_stratum.items())
        if by_stratum
        else _rounded(receipt.scale)
    )
    cells = "1 cell" if receipt.changed == 1 else f"{receipt.changed} cells"
    of = f", for who is in {receipt.strata_per_person} of {len(by_stratum)} strata" if by_stratum else ""
    delta = "" if receipt.delta == "0" else f" and delta {receipt.delta}"
    source = "standard input" if receipt.source == "-" else receipt.source
    target = "standard output" if receipt.target == "-" else receipt.target
    lines = [
        f"{source} -> {target}: {receipt.cells_noised} cells{columns}{types} "
        f"{'would be ' if receipt.dry_run else ''}noised, {receipt.cells_missing} missing, {receipt.rows} rows",
        f"{receipt.mechanism} noise of scale {scale} in steps of {_rounded(receipt.granularity)}, "
        f"for sensitivity {receipt.sensitivity} and at most {cells} changed by one person",
        f"{subject} costs epsilon {receipt.epsilon} (attained: {_rounded(receipt.epsilon_attained_float)}){delta}{of}",
        receipt.cost,
    ]
    for line in lines:
        if receipt.dry_run:
            tell(printable(line))
        else:
            say(line)


def _names(columns: tuple[str, ...]) -> list[str]:
    return [name for text in columns for name in _parted(text)]


def _by_stratum(texts: tuple[str, ...]) -> dict[str, str] | None:
    by_stratum: dict[str, str] = {}
    for part in (part for text in texts for part in _parted(text)):
        name, equals, epsilon = part.rpartition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"--epsilon-by must be NAME=E,NAME=E, got {part!r}")
        if name.strip() in by_stratum:
            raise click.UsageError(f"--epsilon-by must name each stratum once, got {name.strip()!r} twice")
        by_stratum[name.strip()] = epsilon.strip()
    return by_stratum or None


def _parted(text: str) -> list[str]:
    return next(csv.reader([text], skipinitialspace=True), [""])


def _rounded(value: float | None) -> str:
    return "beyond the floats" if value is None else f"{value:.9g}"
