"""`python -m bench.report`: one table, from one run, of what lapnoise costs and how that compares.

Everything is timed warm, with contenders taking turns (`bench.timing`), after each was seen to draw the right
distribution. Compiling has rows of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.environment import INSIDE, rerun

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return the exit status: 1 where a contender drew a wrong distribution."""
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", metavar="PART", nargs="*", help="parts by name, such as gaussian; all without one")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller arrays, to see that it runs")
    parser.add_argument("--large", action="store_true", help="also 1e9 draws, where 10 GiB of memory are free")
    parser.add_argument("--cpu", choices=("host", "avx2"), default="host", help="avx2: use nothing wider")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write rows and machine to a file")
    options = parser.parse_args(arguments)
    if INSIDE not in os.environ:
        given = [name for name in ("quick", "large") if getattr(options, name)]
        passed = [f"--{name}" for name in given] + (["--json", str(options.json)] if options.json else [])
        passed += options.parts
        return rerun("bench.report", passed, options.cpu)
    return _report(options, Path(os.environ[INSIDE]))


def _report(options: argparse.Namespace, cache: Path) -> int:
    from bench import (
        sections,
        sections_bits,
        sections_evaluate,
        sections_files,
        sections_lattice,
        sections_ledger,
        sections_mechanisms,
        sections_spark,
    )
    from bench.contenders import missing
    from bench.machine import OthersLoad, describe
    from bench.rows import Row, printed
    from bench.timing import keep_freed_memory

    plan = sections.Plan.of(options.quick, options.large, cache)
    every = (*sections.SECTIONS, *sections_lattice.LATTICE_SECTIONS, *sections_mechanisms.MECHANISM_SECTIONS)
    every += (*sections_ledger.LEDGER_SECTIONS, *sections_files.FILE_SECTIONS, *sections_spark.SPARK_SECTIONS)
    every += (*sections_evaluate.EVALUATE_SECTIONS, *sections_bits.BIT_SECTIONS)
    chosen = [
        section for section in every if not options.parts or section.__name__.removeprefix("rows_") in options.parts
    ]

    def take() -> Iterator[Row]:
        for section in chosen:
            print(f"{section.__name__.removeprefix('rows_').replace('_', ' ')} ...", file=sys.stderr, flush=True)
            yield from section(plan)

    keep_freed_memory()
    machine = describe()
    others = OthersLoad()
    rows = list(take())
    share = others.share()
    machine["other processes"] = "not known" if share is None else f"{share:.2f} cores busy on average during the run"
    wrong = sections.wrong()
    for key, value in machine.items():
        print(f"{key + ':':<20}{value}")
    peers = (*missing(), *sections_lattice.missing_libraries(), *sections_mechanisms.missing_peers())
    for peer in (*peers, *sections_bits.missing_bits()):
        print(f"skipped:            {peer} is not installed")
    print(f"checked:            {'draws of all contenders' if not wrong else 'WRONG DRAWS from ' + ', '.join(wrong)}")
    print(f"run:                {'quick' if options.quick else 'full'}; ns are per draw, or per element\n")
    print(printed(rows))
    if options.json:
        content = {"machine": machine, "quick": options.quick, "wrong": wrong, "rows": [row.as_json() for row in rows]}
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
