"""What ``lapnoise experiment`` prints: tables for people, JSON and CSV for machines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapnoise._console import say, tell, tell_json

if TYPE_CHECKING:
    from lapnoise.evaluate.experiments import Experiment, Halving, Statistic, SweepRow
    from lapnoise.evaluate.query_experiments import QueryErrors, QueryRow

__all__ = ["print_experiment"]

SWEEP_HEADER = ("epsilon", "scale", "mean", "band", "std", "theory", "band", "MSE", "theory", "band")
COMPOSED_HEADER = ("releases", "epsilon each", "total epsilon", "scale", *SWEEP_HEADER[2:])
QUERY_HEADER = ("query", "epsilon", "scale", "bias", "RMSE", "theory", "band", "relative", "bounding")


def print_experiment(result: Any, *, as_json: bool, as_csv: bool) -> None:
    """Print an experiment as a table, one JSON object or CSV; of one on data it is said that it tells true answers."""
    from lapnoise.evaluate import QueryErrors

    on_data = isinstance(result, QueryErrors)
    if as_json:
        tell_json(_queries_as_json(result) if on_data else _sweep_as_json(result))
    elif as_csv:
        file = io.StringIO()
        if on_data:
            flat = [{**_flat(row), "note": result.note} for row in _queries_as_json(result)["rows"]]
        else:
            parts = _sweep_as_json(result)
            flat = [{"table": name, **_flat(row)} for name in ("rows", "composed") for row in parts[name]]
        writer = csv.DictWriter(file, list(flat[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
        tell(file.getvalue(), end="")
    else:
        for line in _queries_told(result) if on_data else _sweep_told(result):
            tell(line)
    if on_data:
        say(result.note)


def _sweep_told(result: Experiment) -> Iterator[str]:
    yield f"errors of {result.n:,} releases for each row, sensitivity {result.sensitivity}; bands hold {_share(result)}"
    yield from _aligned([SWEEP_HEADER, *(_sweep_cells(row) for row in result.rows)])
    for halving in result.halvings:
        yield (
            f"halving epsilon from {halving.epsilon} to {halving.half}: std times {_ratio(halving.std)}, "
            f"MSE times {_ratio(halving.mse)}"
        )
    if result.composed:
        yield f"the mean of {result.composed[0].releases} releases of one number, and one release for as much:"
        cells = [(str(row.releases), _short(row.epsilon), *_composed_cells(row)) for row in result.composed]
        yield from _aligned([COMPOSED_HEADER, *cells])


def _queries_told(result: QueryErrors) -> Iterator[str]:
    yield (
        f"errors of {result.n:,} answers for each row, values within [{result.low:g}, {result.high:g}], "
        f"{result.bins} cells; bands hold {_share(result)}"
    )
    yield from _aligned([QUERY_HEADER, *(_query_cells(row) for row in result.rows)])


def _share(result: Experiment | QueryErrors) -> str:
    from lapnoise.evaluate._sums import share

    return f"{share(result.level)} of all, each by itself"


def _sweep_cells(row: SweepRow) -> tuple[str, ...]:
    return (_short(row.epsilon), *_statistics(row))


def _composed_cells(row: SweepRow) -> tuple[str, ...]:
    return (_short(row.total_epsilon), *_statistics(row))


def _statistics(row: SweepRow) -> tuple[str, ...]:
    mean = (f"{row.mean.measured:.4g}", _band(row.mean))
    others = [
        cell for part in (row.std, row.mse) for cell in (f"{part.measured:.5g}", f"{part.theory:.5g}", _band(part))
    ]
    return (f"{row.scale:.5g}", *mean, *others)


def _query_cells(row: QueryRow) -> tuple[str, ...]:
    numbers = (f"{number:.4g}" for number in (row.scale, row.bias, row.rmse.measured, row.rmse.theory))
    return (row.query, _short(row.epsilon), *numbers, _band(row.rmse), f"{row.relative:.2%}", f"{row.bounding:.4g}")


def _band(statistic: Statistic) -> str:
    return f"{statistic.low:.5g} to {statistic.high:.5g}{'' if statistic.within else ' (!)'}"


def _ratio(statistic: Statistic) -> str:
    return f"{statistic.measured:.4g} (theory {statistic.theory:.4g}, band {_band(statistic)})"


def _short(number: Any) -> str:
    return f"{float(number):.6g}"


def _aligned(lines: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        yield "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))


def _sweep_as_json(result: Any) -> dict[str, Any]:
    return {
        **_both("sensitivity", result.sensitivity),
        "n": result.n,
        **_both("level", result.level),
        "seed": result.seed,
        "rows": [_row_as_json(row) for row in result.rows],
        "halvings": [_halving_as_json(halving) for halving in result.halvings],
        "composed": [_row_as_json(row) for row in result.composed],
    }


def _row_as_json(row: SweepRow) -> dict[str, Any]:
    return {
        **_both("epsilon", row.epsilon),
        "releases": row.releases,
        **_both("total_epsilon", row.total_epsilon),
        "scale": row.scale,
        "mean": _statistic_as_json(row.mean),
        "std": _statistic_as_json(row.std),
        "mse": _statistic_as_json(row.mse),
    }


def _halving_as_json(halving: Halving) -> dict[str, Any]:
    return {
        **_both("epsilon", halving.epsilon),
        **_both("half", halving.half),
        "std": _statistic_as_json(halving.std),
        "mse": _statistic_as_json(halving.mse),
    }


def _queries_as_json(result: Any) -> dict[str, Any]:
    rows = [
        {
            "query": row.query,
            **_both("epsilon", row.epsilon),
            "scale": row.scale,
            "bias": row.bias,
            "rmse": _statistic_as_json(row.rmse),
            "relative": row.relative,
            "bounding": row.bounding,
        }
        for row in result.rows
    ]
    return {
        "low": result.low,
        "high": result.high,
        "bins": result.bins,
        "n": result.n,
        **_both("level", result.level),
        "seed": result.seed,
        "note": result.note,
        "rows": rows,
    }


def _statistic_as_json(statistic: Statistic) -> dict[str, Any]:
    return {
        "measured": statistic.measured,
        "theory": statistic.theory,
        "low": statistic.low,
        "high": statistic.high,
        "within": statistic.within,
    }


def _both(name: str, amount: Fraction) -> dict[str, Any]:
    """Return an amount as a number, which every reader takes for one, and as the fraction that it is."""
    return {name: float(amount), f"{name}_exact": str(amount)}


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith("_exact"):
            continue  # a spreadsheet takes 1/10 for a day
        if isinstance(value, dict):
            flat[name] = value["measured"]
            flat.update({f"{name}_{part}": value[part] for part in ("theory", "low", "high", "within")})
        else:
            flat[name] = value
    return flat
