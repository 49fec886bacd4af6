"""The command ``lapnoise report``: one page about a mechanism, to be attached to a release."""

from __future__ import annotations

import sys
from typing import Any

import click

from lapnoise._console import ExitCode, guarded, say
from lapnoise.errors import InputDataError, OutputError

__all__ = ["report"]


@click.command()
@click.argument("target", metavar="OUT.html")
@click.option(
    "--mechanism",
    type=click.Choice(["laplace", "discrete-laplace", "gaussian", "truncated-laplace", "bounded-laplace"]),
    default="laplace",
    show_default=True,
)
@click.option("--epsilon", metavar="E", default="1", show_default=True, help="Of the release; may be written 1/3.")
@click.option(
    "--sensitivity", metavar="S", default="1", show_default=True, help="L1 sensitivity of the release; gaussian: L2."
)
@click.option(
    "--delta", metavar="D", default="0", show_default=True, help="For gaussian and truncated-laplace, which need one."
)
@click.option(
    "--changed",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many of the released numbers one record can change: the length of a vector, if nothing less is known.",
)
@click.option("--low", metavar="L", help="Least value, for bounded-laplace and --data: public, not read from the data.")
@click.option("--high", metavar="H", help="Largest value.")
@click.option(
    "--data",
    metavar="FILE",
    help="Add errors of private queries on a CSV or NPY file, each row one person's. The page then tells true answers.",
)
@click.option("--column", metavar="NAME", help="Column of a CSV file, with --data.")
@click.option("--title", metavar="TEXT", help="Title of the page.")
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Draw the same again. Default: fresh keys.")
@click.option("--force", is_flag=True, help="Replace OUT.html if it exists.")
@click.option("--quiet", is_flag=True, help="Do not say what is done next.")
def report(target: str, force: bool, quiet: bool, **given: Any) -> int:
    """Write one page about a mechanism: what it guarantees, how large its noise is, and that it does what it says.

    OUT.html asks for nothing from elsewhere, and may be attached to a release. It takes some seconds and needs the
    extra plots. Without --data it tells nothing of any data, and costs no epsilon.

    Exit codes: 0 done; 1 a check, the audit or the errors failed, which the page says, or matplotlib is missing; 2
    usage; 3 bad data; 4 OUT.html exists, or could not be written.
    """
    data = given.pop("data")
    if data is None and given["column"] is not None:
        raise click.UsageError("--column needs --data")
    if data is not None and (given["low"] is None or given["high"] is None):
        raise click.UsageError("--data needs --low and --high: public bounds, not read from the data")

    def run() -> int:
        from lapnoise import evaluate
        from lapnoise.evaluate.reporting import verify_page

        try:
            verify_page(target, force)
            values = None
            if data is not None:
                from lapnoise.evaluate._column import read_column

                values = read_column(data, given["column"])
            shown = not quiet and sys.stderr.isatty()
            found = evaluate.report(data=values, progress=(lambda part: say(f"{part} ...")) if shown else None, **given)
            found.save(target, force=force)
        except InputDataError as error:
            say(f"{data}: {error}")
            return ExitCode.BAD_INPUT
        except OutputError as error:
            say(str(error))
            return ExitCode.NO_OUTPUT
        except OSError as error:
            say(f"data cannot be read: {data!r}: {error.strerror or type(error).__name__}")
            return ExitCode.USAGE
        except (TypeError, ValueError, OverflowError) as error:
            say(str(error))
            return ExitCode.USAGE
        if found.answers is not None:
            say("the page tells true answers: it must not be published where the data are private")
        if not found.sound:
            say("a check or the audit failed: the page says which")
            return ExitCode.UNEXPECTED
        return ExitCode.DONE

    return guarded(run)
