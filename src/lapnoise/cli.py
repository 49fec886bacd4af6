"""The command ``lapnoise``.

Data go to files or stdout, messages and the progress bar to stderr. Only Click is imported here: what a command needs
is imported inside it, so that help and usage errors answer at once.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from lapnoise._audit_command import audit
from lapnoise._compare_command import compare
from lapnoise._console import (
    ExitCode,
    ProgressBar,
    UnexpectedError,
    finished,
    guarded,
    say,
    show_warning,
    tell,
    tell_json,
)
from lapnoise._experiment_command import experiment
from lapnoise._ledger_commands import ledger_commands
from lapnoise._noise_options import noise_options, print_receipt
from lapnoise._report_command import report
from lapnoise._verify_command import verify
from lapnoise._version import __version__
from lapnoise.errors import (
    BudgetExhaustedError,
    InputDataError,
    LapnoiseWarning,
    LedgerDamagedError,
    LedgerError,
    OutputError,
)

if TYPE_CHECKING:
    from lapnoise.files import Receipt
    from lapnoise.files._charge import Charge
    from lapnoise.files._noising import Noising

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv
        Arguments behind the program's name; None means those of the process.

    Returns
    -------
    int
        0 done, 1 unexpected, 2 usage, 3 bad input data, 4 output could not be written, 5 budget refused,
        130 interrupted.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", LapnoiseWarning)
        warnings.showwarning = show_warning
        try:
            code = _commands.main(None if argv is None else list(argv), "lapnoise", standalone_mode=False)
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            command = context.command_path if context else "lapnoise"
            say(f"{error.format_message()} ({command} --help lists what there is)")
            return ExitCode.USAGE
        except (click.Abort, KeyboardInterrupt):
            return ExitCode.INTERRUPTED
        except SystemExit:  # Click's own, where nobody reads the help
            code = ExitCode.NO_OUTPUT
        except OSError as error:  # the same, on a full disk
            say(f"standard output could not be written: {error.strerror or type(error).__name__}")
            code = ExitCode.NO_OUTPUT
    return finished(code if isinstance(code, int) else ExitCode.DONE)


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lapnoise", message="%(prog)s %(version)s")
@click.pass_context
def _commands(context: click.Context) -> int:
    """Laplace noise at memory speed from cryptographic randomness.

    Exit codes: 0 done, 1 unexpected, 2 usage, 3 bad input data, 4 output could not be written, 5 budget
    refused, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return ExitCode.DONE


_commands.add_command(compare)
_commands.add_command(audit)
_commands.add_command(experiment)
_commands.add_command(verify)
_commands.add_command(report)


@_commands.command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option(
    "--epsilon",
    metavar="E",
    help="Privacy cost of the whole file, for instance 0.5 or 1/3. With --strata: --epsilon-by instead.",
)
@click.option(
    "--sensitivity",
    metavar="D",
    help="L1 sensitivity (gaussian: L2) of the vector of ALL noised cells: how much one person's data can change it.",
)
@click.option(
    "--columns",
    metavar="A,B",
    multiple=True,
    help="Columns to noise, in any order; repeat for more. May be left out when exactly one column is numeric. Quote a "
    "name that has a comma in it.",
)
@click.option(
    "--mechanism",
    type=click.Choice(["laplace", "discrete-laplace", "gaussian", "bounded-laplace", "stratified"]),
    help="discrete-laplace takes integers and writes integers; bounded-laplace stays within --clip. "
    "Default: laplace, or stratified where there are --strata.",
)
@click.option("--delta", metavar="D", help="Delta, for gaussian and bounded-laplace.")
@click.option(
    "--changed",
    metavar="N",
    type=click.IntRange(min=1),
    help="How many cells one person can change at most. Default: all noised cells.",
)
@click.option("--clip", metavar="LOW HIGH", nargs=2, help="Bound values before noise.")
@click.option(
    "--clip-column",
    metavar="NAME LOW HIGH",
    nargs=3,
    multiple=True,
    help="Bound the values of one column before noise, instead of --clip; repeat for more.",
)
@click.option("--clamp", metavar="LOW HIGH", nargs=2, help="Clip results after noise, at no cost.")
@click.option(
    "--local",
    is_flag=True,
    help="Each row is one person, who pays epsilon: --clip gives the sensitivity, and missing cells need --fill.",
)
@click.option("--fill", metavar="X", help="Count a missing cell as X, and noise it, instead of leaving it missing.")
@click.option("--strata", metavar="COLUMN", help="Column that tells the stratum of a row, for stratified noise.")
@click.option(
    "--epsilon-by",
    metavar="NAME=E,NAME=E",
    multiple=True,
    help="Epsilon of each stratum. Quote a NAME=E that has a comma in it.",
)
@click.option("--strata-public", is_flag=True, help="With --local: the stratum of each person is public.")
@click.option(
    "--strata-per-person",
    metavar="N",
    type=click.IntRange(min=1),
    help="In how many strata one person can have cells at most. Default: in all.",
)
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Repeatable noise for tests; protects nobody.")
@click.option("--force", is_flag=True, help="Replace DST if it exists.")
@click.option("--dry-run", is_flag=True, help="Check everything, print what would be done, write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as one JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="Neither summary nor progress bar; warnings and errors stay.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["csv", "npy", "parquet", "arrow"]),
    help="Format, where SRC's name says none.",
)
@click.option(
    "--delimiter", metavar="C", help="Delimiter of a CSV file, or the word tab. Default: comma, tab for .tsv."
)
@click.option(
    "--quote",
    metavar="C",
    default='"',
    show_default=True,
    help="The character that quotes cells of a CSV file; the word none: no cell is quoted.",
)
@click.option(
    "--missing",
    metavar="TEXT",
    multiple=True,
    help="What a missing cell says, instead of the default (empty, NA, NaN, nan, null, None); repeat for more.",
)
@click.option("--no-header", is_flag=True, help="A CSV file has no header; its columns are called 1, 2, ...")
@click.option(
    "--encoding",
    metavar="NAME",
    default="utf-8",
    show_default=True,
    help="Of the column names of a CSV file; other bytes pass through.",
)
@click.option(
    "--threads", metavar="N", type=click.IntRange(min=1), help="Threads that draw. Default: the usable cores."
)
@click.option(
    "--digest-source",
    is_flag=True,
    help="Put the SHA-256 of SRC into the receipt, which must then be kept like the data.",
)
@click.option(
    "--ledger",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Charge epsilon to this ledger, made by `lapnoise ledger create`, before any value is read. The charge stands "
    "when the file turns out bad; --dry-run finds that out before.",
)
def noise(source: str, target: str, **given: Any) -> int:
    """Add noise to numbers in SRC and write DST.

    SRC is a CSV (.csv, .tsv, or - for standard input), NPY (.npy), Parquet (.parquet) or Arrow IPC (.arrow, .feather)
    file, or a directory of Parquet files, for which DST is a directory too. It is never changed; DST appears whole or
    not at all. DST - is standard output, for CSV.

        lapnoise noise counts.csv noisy.csv --columns people --epsilon 0.5 --sensitivity 1

    All noised cells together form one released vector: --sensitivity is the L1 sensitivity of that whole vector, and
    the whole file costs epsilon. With --local each row is one person, who pays epsilon, and --clip gives the
    sensitivity. Row count, order, missing cells and columns that are not named are published as they are.

    Numbers are rounded to multiples of a power of two, the granularity, and the noise is exact on those multiples, so
    that floating-point attacks find nothing.
    """
    dry_run, as_json, quiet = (given.pop(name) for name in ("dry_run", "as_json", "quiet"))
    ledger = given.pop("ledger")
    options = noise_options(given)
    if target == "-" and as_json and not dry_run:
        raise click.UsageError("--json and DST - cannot be given together: both print on standard output")

    def run() -> int:
        from lapnoise.files._charge import Charge
        from lapnoise.files._noising import prepared

        bar = ProgressBar(shown=not quiet and sys.stderr.isatty())
        charge = None
        try:
            charge = None if ledger is None else Charge(ledger, dry_run=dry_run)
            with (
                bar,
                prepared(source, target, dry_run=dry_run, progress=bar.show, charge=charge, **options) as noising,
            ):
                receipt = noising.plan if dry_run else _run(noising, bar)
        except InputDataError as error:
            say(f"{'standard input' if source == '-' else source}: {error}")
            _say_charged(charge)
            return ExitCode.BAD_INPUT
        except OutputError as error:
            say(str(error))
            _say_charged(charge)
            return ExitCode.NO_OUTPUT
        except BudgetExhaustedError as error:
            say(str(error))
            return ExitCode.REFUSED
        except LedgerDamagedError as error:
            say(str(error))
            return ExitCode.BAD_INPUT
        except LedgerError as error:
            say(str(error))
            return ExitCode.NO_OUTPUT
        except OSError as error:
            say(f"source cannot be read: {source!r}: {error.strerror or type(error).__name__}")
            return ExitCode.USAGE
        except (TypeError, ValueError, OverflowError) as error:
            say(str(error))
            return ExitCode.USAGE
        print_receipt(receipt, as_json=as_json, quiet=quiet)
        if not (as_json or quiet):
            _say_charged(charge)
        return ExitCode.DONE

    return guarded(run)


@_commands.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(as_json: bool) -> int:
    """Say what lapnoise runs on: versions, processor, threads, cache, extras and the first words of a known stream."""

    def run() -> int:
        from lapnoise._doctor import examine

        facts = examine()
        if as_json:
            tell_json(facts)
        else:
            for name, value in facts.items():
                tell(f"{name.replace('_', ' ')}: {_plain(value)}")
        return ExitCode.DONE

    return guarded(run)


_commands.add_command(ledger_commands)


def _run(noising: Noising, bar: ProgressBar) -> Receipt:
    try:
        return noising.run(bar.show)
    except (InputDataError, OutputError, LedgerError):
        raise
    except (TypeError, ValueError, OverflowError, OSError) as error:
        # Arguments and source were found good before.
        raise UnexpectedError from error


def _say_charged(charge: Charge | None) -> None:
    if charge is not None and charge.entry is not None:
        say(charge.told)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(part)}" for name, part in value.items())
    if isinstance(value, list):
        return " ".join(map(_plain, value))
    if value is None:
        return "absent"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
