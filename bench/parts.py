"""All parts of the report by name, and which of them a run measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bench.rows import Row
from bench.sections import SECTIONS, Plan
from bench.sections_bits import BIT_SECTIONS
from bench.sections_embed import EMBED_SECTIONS
from bench.sections_evaluate import EVALUATE_SECTIONS
from bench.sections_files import FILE_SECTIONS
from bench.sections_lattice import LATTICE_SECTIONS
from bench.sections_ledger import LEDGER_SECTIONS
from bench.sections_mechanisms import MECHANISM_SECTIONS
from bench.sections_peers import PEER_SECTIONS
from bench.sections_spark import SPARK_SECTIONS

__all__ = ["QUALITY", "Section", "chosen_parts"]

Section = Callable[[Plan], Iterable[Row]]

QUALITY = "quality"
"""The part that gives a table of its own instead of rows."""

_USUAL: tuple[Section, ...] = (
    *SECTIONS,
    *LATTICE_SECTIONS,
    *MECHANISM_SECTIONS,
    *LEDGER_SECTIONS,
    *FILE_SECTIONS,
    *SPARK_SECTIONS,
    *EVALUATE_SECTIONS,
    *BIT_SECTIONS,
    *EMBED_SECTIONS,
)


def chosen_parts(names: Sequence[str], everything: bool) -> tuple[dict[str, Section], bool]:
    """Return the sections to measure by name, in the order of the table, and whether quality is looked at.

    Raises
    ------
    ValueError
        If a part is not known, or both parts and all are asked for.
    """
    usual = {section.__name__.removeprefix("rows_"): section for section in _USUAL}
    every = usual | {section.__name__.removeprefix("rows_"): section for section in PEER_SECTIONS}
    if everything and names:
        raise ValueError(f"PART cannot be given with --all, got {names[0]!r}")
    for name in names:
        if name not in every and name != QUALITY:
            raise ValueError(f"PART must be one of {', '.join([*every, QUALITY])}, got {name!r}")
    if names:
        return {name: section for name, section in every.items() if name in names}, QUALITY in names
    return every if everything else usual, everything
