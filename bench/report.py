"""`python -m bench.report`: one table, from one run, of what lapnoise costs and how that compares.

Everything is timed warm, with contenders taking turns (`bench.timing`), after each was seen to draw the right
distribution. Compiling has rows of its own. `--all` adds every peer at every size, and what a draw of each is worth.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.environment import INSIDE, rerun
from bench.output_files import verify_file, verify_picture

if TYPE_CHECKING:
    from bench.parts import Section
    from bench.quality import Seen
    from bench.rows import Row
    from bench.sections import Plan

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return the exit status: 1 where a contender drew a wrong distribution, 2 for a bad argument."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser()
    options = parser.parse_args(given)
    try:
        _verify_files(options)
    except (ValueError, ImportError) as error:
        parser.error(str(error))
    if INSIDE not in os.environ:
        lost = _lost(options.sampler)
        if lost:
            parser.error(
                f"the run measures in a process of its own, which does not have {', '.join(map(repr, lost))}, entered "
                "here in code: put the function into a module, and give --sampler module:function"
            )
        return rerun("bench.report", given, options.cpu)
    from bench.parts import chosen_parts
    from bench.samplers import enter_named, verify_shown

    try:
        sections, quality = chosen_parts(options.parts, options.all)
        for named in options.sampler:
            enter_named(named)
            verify_shown(named, options.parts)
    except ValueError as error:
        parser.error(str(error))
    return _report(options, sections, quality, Path(os.environ[INSIDE]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", metavar="PART", nargs="*", help="parts by name, such as gaussian; all usual without")
    parser.add_argument("--all", action="store_true", help="also the parts peers, start_of_peers and quality")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller arrays, to see that it runs")
    parser.add_argument("--large", action="store_true", help="also 1e9 draws, where 10 GiB of memory are free")
    parser.add_argument("--cpu", choices=("host", "avx2"), default="host", help="avx2: use nothing wider")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write rows and machine to a file")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="also draw the part peers: .png, .svg or .pdf")
    parser.add_argument(
        "--sampler",
        metavar="MODULE:FUNCTION",
        action="append",
        default=[],
        help="also compare this one: function(n) returns an array of n draws of Laplace(1, 2)",
    )
    return parser


def _lost(samplers: Sequence[str]) -> list[str]:
    """Return what was entered in this process, but for what the process that measures enters too."""
    loaded = sys.modules.get("bench.contenders")
    everybody = {} if loaded is None else loaded.CONTENDERS
    return [name for name, contender in everybody.items() if contender.origin and name not in samplers]


def _verify_files(options: argparse.Namespace) -> None:
    if options.json is not None:
        verify_file("--json", options.json)
    if options.plot is not None:
        if not (options.all or "peers" in options.parts):
            raise ValueError("--plot draws the part peers: name it, or give --all")
        verify_picture(options.plot)


def _report(options: argparse.Namespace, sections: dict[str, Section], quality: bool, cache: Path) -> int:
    from bench.contenders import skipped
    from bench.machine import OthersLoad, describe
    from bench.picture import draw
    from bench.quality import as_json, contradictions, quality_table
    from bench.rows import printed
    from bench.sections import Plan, note_wrong, wrong
    from bench.sections_peers import not_timed
    from bench.timing import keep_freed_memory

    plan = Plan.of(options.quick, options.large, cache)
    keep_freed_memory()
    machine = describe()
    others = OthersLoad()
    rows = list(_rows(sections, plan))
    seen = _seen(plan) if quality else {}
    share = others.share()
    machine["other processes"] = "not known" if share is None else f"{share:.2f} cores busy on average during the run"
    for name in contradictions(seen):
        note_wrong(name)
    for key, value in machine.items():
        print(f"{key + ':':<20}{value}")
    for line in skipped():
        print(f"skipped:            {line}")
    for line in not_timed():
        print(f"not timed:          {line}")
    print(f"checked:            {'WRONG DRAWS from ' + ', '.join(wrong()) if wrong() else 'draws of all contenders'}")
    print(f"run:                {'quick' if options.quick else 'full'}; ns are per draw, or per element\n")
    usual = [row for row in rows if not row.draws]
    if usual:
        print(printed(usual))
    _print_peers([row for row in rows if row.draws])
    if seen:
        print("\n" + quality_table(seen))
    if options.json:
        content = {"machine": machine, "quick": options.quick, "skipped": skipped(), "not timed": not_timed()}
        content |= {"wrong": wrong(), "rows": [row.as_json() for row in rows], "quality": as_json(seen)}
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    if options.plot:
        draw(rows, options.plot, machine, options.quick)
    return 1 if wrong() else 0


def _rows(sections: dict[str, Section], plan: Plan) -> Iterator[Row]:
    for name, section in sections.items():
        with _told(name):
            yield from section(plan)


def _seen(plan: Plan) -> dict[str, Seen]:
    from bench.contenders import available
    from bench.quality import look, with_claims

    draws, seconds = (1_000_000, 0.2) if plan.quick else (10_000_000, 3.0)
    with _told("quality"):
        return {name: look(name, draws, seconds) for name in with_claims() if available(name)}


@contextlib.contextmanager
def _told(part: str) -> Iterator[None]:
    """Say on stderr that a part begins, and how long it took."""
    title, started = part.replace("_", " "), time.monotonic()
    print(f"{title} ...", file=sys.stderr, flush=True)
    yield
    print(f"{title}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def _print_peers(rows: list[Row]) -> None:
    from bench.peer_table import peer_tables

    if rows:
        print(
            "\nns a draw, for one draw ns a call, and how many times faster than NumPy's Generator; by draws a call\n"
        )
        print(peer_tables(rows))


if __name__ == "__main__":
    sys.exit(main())
