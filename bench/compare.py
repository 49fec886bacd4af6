"""`python -m bench.compare OLD.json NEW.json`: what became slower from one report to another, and what faster.

Ratios are compared, never times. A row's ratio to what it is compared with has changed where it moved by more than 10 %
and by more than three times the spread of both: the root of the sum of the squares of all four relative spreads, those
of the row and of its reference in the old report and in the new one. Where one of them had fewer than five repeats, or
a report comes from a quick run, it must have moved by more than 30 %, since so few say little of their spread. Rows
that lack a spread, their own or their reference's, are not judged.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Change", "changes", "main"]

LEAST = 0.10
SPREADS = 3.0

LEAST_OF_FEW, FEW = 0.30, 5
"""The least change that counts where there were fewer repeats than that."""

BUSY = 0.2
"""Cores that other processes may keep busy during a run that is trusted."""

Key = tuple[Any, ...]

_SPREADS = ("spread", "reference_spread")


@dataclass(frozen=True)
class Change:
    """One row in both reports.

    Attributes
    ----------
    name : str
        Group and name of the row, and what it is compared with.
    old, new : float
        Ratios to the reference.
    factor : float
        How many times faster it is now, against the same reference; below 1 it is slower.
    spread : float
        That of all four medians together, relative.
    least : float
        The relative change from which on it counts.
    """

    name: str
    old: float
    new: float
    factor: float
    spread: float
    least: float

    @property
    def beyond(self) -> bool:
        """Whether that is more than chance moves a ratio."""
        moved = abs(math.log(self.factor))
        return moved > math.log1p(self.least) and moved > SPREADS * self.spread


def changes(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]], quick: bool = False) -> list[Change]:
    """Return the rows that both reports have with a ratio and spreads, in the order of the new one.

    ``quick`` says that one of them comes from a quick run. Where a report does not tell repeats, they count as few.
    """
    before = {_key(row): row for row in old if _judged(row)}
    return [_change(before[_key(row)], row, quick) for row in new if _judged(row) and _key(row) in before]


def _judged(row: dict[str, Any]) -> bool:
    return bool(_ratio(row)) and all(row.get(name) is not None for name in _SPREADS)


def _change(a: dict[str, Any], b: dict[str, Any], quick: bool) -> Change:
    old, new = _ratio(a), _ratio(b)
    factor = new / old if b.get("faster", True) else old / new
    spreads = [float(row[name]) for row in (a, b) for name in _SPREADS]
    few = quick or min(int(row.get("repeats") or 0) for row in (a, b)) < FEW
    least = LEAST_OF_FEW if few else LEAST
    name = f"{b['group']} | {b['what']}" + (f", {b['draws']:,} draws" if b.get("draws") else "")
    return Change(f"{name} | against {_reference(b)}", old, new, factor, math.hypot(*spreads), least)


def _ratio(row: dict[str, Any]) -> float:
    return float(row.get("ratio") or 0.0)


def _reference(row: dict[str, Any]) -> str:
    return str(row.get("against", "")).rpartition(": ")[0]


def _key(row: dict[str, Any]) -> Key:
    return (*(row.get(name) for name in ("group", "what", "threads", "draws")), _reference(row))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what changed; return 1 where something became slower, 0 where nothing did, 2 where a file is no report."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", metavar="OLD", type=Path, help="written by `python -m bench.report --json OLD`")
    parser.add_argument("new", metavar="NEW", type=Path, help="written later, or elsewhere")
    options = parser.parse_args(arguments)
    try:
        old, new = _read(options.old), _read(options.new)
    except ValueError as error:
        parser.error(str(error))
    _print_machines(old, new)
    rows = changes(old["rows"], new["rows"], bool(old.get("quick") or new.get("quick")))
    with_ratio = [sum(1 for row in report["rows"] if _judged(row)) for report in (old, new)]
    slower = sorted((row for row in rows if row.beyond and row.factor < 1), key=lambda row: row.factor)
    faster = sorted((row for row in rows if row.beyond and row.factor > 1), key=lambda row: -row.factor)
    print(f"compared: {len(rows)} ratios; only in the old report {with_ratio[0] - len(rows)}, ", end="")
    print(f"only in the new one {with_ratio[1] - len(rows)}")
    for title, chosen in (("slower", slower), ("faster", faster)):
        print(f"{title}: {len(chosen)}")
        for row in chosen:
            print(f"  {_factor(row)}, ratio {row.old:.3g} -> {row.new:.3g}, spread {row.spread:.0%}: {row.name}")
    return 1 if slower else 0


def _factor(row: Change) -> str:
    return f"{row.factor:.2f} times faster" if row.factor > 1 else f"{1 / row.factor:.2f} times slower"


def _read(path: Path) -> dict[str, Any]:
    try:
        report = json.loads(path.read_text())
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise ValueError(f"{path} is no JSON") from None
    rows = report.get("rows") if isinstance(report, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and {"group", "what"} <= set(row) for row in rows):
        raise ValueError(f"{path} holds no rows, as `python -m bench.report --json FILE` writes them")
    return dict(report)


OTHERS = "other processes"
_VARYING = ("clock under load", OTHERS)


def _print_machines(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Say whether both reports come from one machine, and which versions moved."""
    a, b = old.get("machine", {}), new.get("machine", {})
    differing = [name for name in dict.fromkeys([*a, *b]) if name not in _VARYING and a.get(name) != b.get(name)]
    other = [name for name in differing if name in ("processor", "cores given", "compiled for", "vector flags")]
    print(f"machines: {'different: ratios may differ for that alone' if other else 'the same kind'}")
    for name in differing:
        print(f"  {name}: {a.get(name, 'not known')} -> {b.get(name, 'not known')}")
    print(f"{OTHERS}: {a.get(OTHERS, 'not known')} -> {b.get(OTHERS, 'not known')}")
    doubts = [*_doubts("old", old), *_doubts("new", new)]
    if doubts:
        print(f"not to be trusted: {'; '.join(doubts)}")


def _doubts(which: str, report: dict[str, Any]) -> Iterator[str]:
    """Yield why what a report says may be chance."""
    if report.get("quick"):
        yield f"the {which} report is a quick run"
    cores, _, rest = str(report.get("machine", {}).get(OTHERS, "")).partition(" ")
    if rest.startswith("cores busy") and float(cores) > BUSY:
        yield f"the machine was busy during the {which} one"


if __name__ == "__main__":
    sys.exit(main())
