"""The command ``lapnoise experiment``: errors against theory over a range of epsilon, drawn or on real data."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from lapnoise._console import ExitCode, ProgressBar, guarded, say
from lapnoise.errors import InputDataError, OutputError

if TYPE_CHECKING:
    from lapnoise.evaluate.experiments import Experiment, Halving, Statistic, SweepRow
    from lapnoise.evaluate.query_experiments import QueryErrors, QueryRow

__all__ = ["experiment"]

SWEEP_HEADER = ("epsilon", "scale", "mean", "band", "std", "theory", "band", "MSE", "theory", "band")
COMPOSED_HEADER = ("releases", "epsilon each", "total epsilon", "scale", *SWEEP_HEADER[2:])
QUERY_HEADER = ("query", "epsilon", "scale", "bias", "RMSE", "theory", "band", "relative", "bounding")


@click.command()
@click.option(
    "--epsilon",
    "epsilons",
    metavar="E,E",
    default="0.1,0.5,1,2",
    show_default=True,
    help="What is spent, one row each; a number may be written 1/3.",
)
@click.option("--sensitivity", metavar="D", help="L1 sensitivity of the number that is released. Default: 1.")
@click.option(
    "--n", metavar="N", type=int, help="Errors drawn for each row: 10000; with --data answers to each query: 200."
)
@click.option(
    "--releases",
    metavar="K",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Show also what K releases of the same number cost, and what their mean is worth.",
)
@click.option(
    "--data",
    metavar="FILE",
    help="Instead: errors of private count, sum, mean and histogram on a CSV or NPY file, each row one person's.",
)
@click.option("--column", metavar="NAME", help="Column of a CSV file, with --data.")
@click.option("--low", metavar="L", help="Least value that counts, with --data: public, not read from the data.")
@click.option("--high", metavar="H", help="Largest value that counts, with --data.")
@click.option("--bins", metavar="N", type=click.IntRange(min=1), help="Cells of the histogram, with --data: 10.")
@click.option(
    "--level",
    metavar="P",
    default="0.999",
    show_default=True,
    help="Probability that a statistic lies in its band, for each by itself.",
)
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Draw the same again. Default: a fresh key.")
@click.option(
    "--threads", metavar="N", type=click.IntRange(min=1), help="Threads that draw. Default: the usable cores."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")
@click.option("--plot", metavar="FILE", help="Draw the errors and the line of theory into FILE (.png, .svg, .pdf).")
@click.option("--force", is_flag=True, help="Replace FILE of --plot if it exists.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def experiment(epsilons: str, as_json: bool, as_csv: bool, plot: str | None, force: bool, **given: Any) -> int:
    """Compare errors of the Laplace mechanism with theory over a range of epsilon.

    Each row has scale b, mean, standard deviation and mean squared error of the noise beside what theory says,
    sqrt(2) b and 2 b^2, and the band in which each statistic lies with probability --level.

    With --data the errors are those of private queries on a column, against their true answers. Such an experiment
    tells the true answers: it is for planning, not for publishing.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv cannot be given together: both print on standard output")
    _verify_options(given)
    asked = [part.strip() for part in epsilons.split(",") if part.strip()]

    def run() -> int:
        try:
            if plot is not None:
                from lapnoise.evaluate._picture import verify_picture

                verify_picture(plot, force)
            with ProgressBar(shown=not given["quiet"] and sys.stderr.isatty()) as bar:
                result: Any = (_on_data if given["data"] is not None else _drawn)(asked, given, bar)
            if plot is not None:
                from lapnoise.evaluate._picture import save_sweep

                save_sweep(result, plot, force)
        except InputDataError as error:
            say(f"{given['data']}: {error}")
            return ExitCode.BAD_INPUT
        except OutputError as error:
            say(str(error))
            return ExitCode.NO_OUTPUT
        except OSError as error:
            say(f"data cannot be read: {given['data']!r}: {error.strerror or type(error).__name__}")
            return ExitCode.USAGE
        except (TypeError, ValueError, OverflowError) as error:
            say(str(error))
            return ExitCode.USAGE
        _print(result, as_json=as_json, as_csv=as_csv)
        return ExitCode.DONE

    return guarded(run)


def _verify_options(given: dict[str, Any]) -> None:
    for name in ("column", "low", "high", "bins"):
        if given["data"] is None and given[name] is not None:
            raise click.UsageError(f"--{name} needs --data")
    if given["data"] is not None:
        for name in ("low", "high"):
            if given[name] is None:
                raise click.UsageError(f"--data needs --{name}: a public bound, not read from the data")
        if given["releases"] > 1 or given["sensitivity"] is not None or given["threads"] is not None:
            raise click.UsageError("--releases, --sensitivity and --threads do not go with --data")


def _drawn(epsilons: Sequence[str], given: dict[str, Any], bar: ProgressBar) -> Experiment:
    from lapnoise import evaluate

    return evaluate.experiment(
        epsilons,
        sensitivity="1" if given["sensitivity"] is None else given["sensitivity"],
        n=10_000 if given["n"] is None else given["n"],
        releases=given["releases"],
        level=given["level"],
        seed=given["seed"],
        threads=given["threads"],
        progress=lambda done, total: bar.show("drawn", "errors", done, total),
    )


def _on_data(epsilons: Sequence[str], given: dict[str, Any], bar: ProgressBar) -> QueryErrors:
    from lapnoise import evaluate
    from lapnoise.evaluate._column import read_column

    values = read_column(given["data"], given["column"])
    return evaluate.query_errors(
        values,
        given["low"],
        given["high"],
        epsilons=epsilons,
        n=200 if given["n"] is None else given["n"],
        bins=10 if given["bins"] is None else given["bins"],
        level=given["level"],
        seed=given["seed"],
        progress=lambda done, total: bar.show("asked", "answers", done, total),
    )


def _print(result: Any, *, as_json: bool, as_csv: bool) -> None:
    from lapnoise.evaluate import QueryErrors

    on_data = isinstance(result, QueryErrors)
    if as_json:
        click.echo(json.dumps(_queries_as_json(result) if on_data else _sweep_as_json(result)))
    elif as_csv:
        file = io.StringIO()
        flat = [_flat(row) for row in (_queries_as_json if on_data else _sweep_as_json)(result)["rows"]]
        if on_data:
            flat = [{**row, "note": result.note} for row in flat]
        else:
            flat += [_flat(row) for row in _sweep_as_json(result)["composed"]]
        writer = csv.DictWriter(file, list(flat[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
        click.echo(file.getvalue(), nl=False)
    else:
        for line in _queries_told(result) if on_data else _sweep_told(result):
            click.echo(line)
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
        "sensitivity": str(result.sensitivity),
        "n": result.n,
        "level": str(result.level),
        "seed": result.seed,
        "rows": [_row_as_json(row) for row in result.rows],
        "halvings": [_halving_as_json(halving) for halving in result.halvings],
        "composed": [_row_as_json(row) for row in result.composed],
    }


def _row_as_json(row: SweepRow) -> dict[str, Any]:
    return {
        "epsilon": str(row.epsilon),
        "releases": row.releases,
        "total_epsilon": str(row.total_epsilon),
        "scale": row.scale,
        "mean": _statistic_as_json(row.mean),
        "std": _statistic_as_json(row.std),
        "mse": _statistic_as_json(row.mse),
    }


def _halving_as_json(halving: Halving) -> dict[str, Any]:
    return {
        "epsilon": str(halving.epsilon),
        "half": str(halving.half),
        "std": _statistic_as_json(halving.std),
        "mse": _statistic_as_json(halving.mse),
    }


def _queries_as_json(result: Any) -> dict[str, Any]:
    rows = [
        {
            "query": row.query,
            "epsilon": str(row.epsilon),
            "scale": row.scale,
            "bias": row.bias,
            "rmse": _statistic_as_json(row.rmse),
            "relative": row.relative if row.relative < float("inf") else None,
            "bounding": row.bounding,
        }
        for row in result.rows
    ]
    return {
        "low": result.low,
        "high": result.high,
        "bins": result.bins,
        "n": result.n,
        "level": str(result.level),
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


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat[name] = value["measured"]
            flat.update({f"{name}_{part}": value[part] for part in ("theory", "low", "high", "within")})
        else:
            flat[name] = value
    return flat
