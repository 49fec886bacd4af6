"""The command ``lapnoise experiment``: errors against theory over a range of epsilon, drawn or on real data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from lapnoise._console import ExitCode, ProgressBar, guarded, say
from lapnoise._experiment_output import print_experiment
from lapnoise.errors import InputDataError, OutputError

if TYPE_CHECKING:
    from lapnoise.evaluate import Experiment, QueryErrors

__all__ = ["experiment"]


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
    "--n", metavar="N", help="Errors drawn for each row: 1e4 unless given; with --data answers to each query: 200."
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
        print_experiment(result, as_json=as_json, as_csv=as_csv)
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
    from lapnoise._check import experiment_arguments

    return evaluate.experiment(
        epsilons,
        sensitivity="1" if given["sensitivity"] is None else given["sensitivity"],
        n=10_000 if given["n"] is None else experiment_arguments.whole("n", given["n"]),
        releases=given["releases"],
        level=given["level"],
        seed=given["seed"],
        threads=given["threads"],
        progress=lambda done, total: bar.show("drawn", "errors", done, total),
    )


def _on_data(epsilons: Sequence[str], given: dict[str, Any], bar: ProgressBar) -> QueryErrors:
    from lapnoise import evaluate
    from lapnoise._check import experiment_arguments
    from lapnoise.evaluate._column import read_column

    values = read_column(given["data"], given["column"])
    return evaluate.query_errors(
        values,
        given["low"],
        given["high"],
        epsilons=epsilons,
        n=200 if given["n"] is None else experiment_arguments.whole("n", given["n"]),
        bins=10 if given["bins"] is None else given["bins"],
        level=given["level"],
        seed=given["seed"],
        progress=lambda done, total: bar.show("asked", "answers", done, total),
    )
