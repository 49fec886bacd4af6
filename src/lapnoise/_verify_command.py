"""The command ``lapnoise verify``: whether the sampler keeps its word on this machine, or recorded noise its claim."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from lapnoise._console import ExitCode, guarded, say, tell, tell_json
from lapnoise.errors import InputDataError

if TYPE_CHECKING:
    from lapnoise.evaluate import Verification
    from lapnoise.evaluate.verification import Check

__all__ = ["verify"]

HEADER = ("", "subject", "tested", "statistic", "is", "at most", "false alarms")


@click.command()
@click.option(
    "--full/--quick",
    "full",
    help="Minutes, with five times the draws and hundreds of times the words, or seconds. Default: quick.",
)
@click.option("--noise", metavar="FILE", help="Instead: differences, released minus true, from an NPY file.")
@click.option("--epsilon", metavar="E", help="What is claimed of them, with --noise.")
@click.option("--sensitivity", metavar="D", help="The sensitivity that is claimed, with --noise.")
@click.option("--mechanism", type=click.Choice(["laplace", "discrete-laplace"]), help="With --noise. Default: laplace.")
@click.option(
    "--false-alarm",
    metavar="P",
    type=float,
    default=1e-6,
    show_default=True,
    help="How often a right sampler fails, all checks together; 1e-12 at least.",
)
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Test the same words again. Default: fresh ones.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print only what failed, and where to look.")
def verify(full: bool, noise: str | None, as_json: bool, quiet: bool, **given: Any) -> int:
    """Test the installed sampler on this machine: exit code 0 if all is well, 1 if not, 4 if that cannot be printed.

    Known answers, exact noise and releases of every mechanism against integer arithmetic, distributions at several
    scales and types, threads and forks, guarantees and budget arithmetic. Every line says what was tested, the
    statistic, its threshold and how often a right sampler fails it; what fails says where to look.

    With --noise differences that you recorded are tested against the Laplace noise that they are said to be.
    """
    claim = ("epsilon", "sensitivity")
    for name in claim if noise is not None else (*claim, "mechanism"):
        if (noise is None) != (given[name] is None):
            raise click.UsageError(f"--{name} needs --noise" if noise is None else f"--noise needs --{name}")
    if noise is not None and (full or given["seed"] is not None):
        raise click.UsageError("--full and --seed do not go with --noise: nothing is drawn")

    def run() -> int:
        try:
            found = _installed(full, given, quiet) if noise is None else _recorded(noise, given)
        except InputDataError as error:
            say(f"{noise}: {error}")
            return ExitCode.BAD_INPUT
        except OSError as error:
            say(f"noise cannot be read: {noise!r}: {error.strerror or type(error).__name__}")
            return ExitCode.USAGE
        except (TypeError, ValueError, OverflowError) as error:
            say(str(error))
            return ExitCode.USAGE
        if as_json:
            tell_json(_as_json(found))
        else:
            _print(found, quiet)
        return ExitCode.DONE if found.passed else ExitCode.UNEXPECTED

    return guarded(run)


def _installed(full: bool, given: dict[str, Any], quiet: bool) -> Verification:
    from lapnoise import evaluate

    shown = not quiet and sys.stderr.isatty()
    return evaluate.verify(
        full=full,
        false_alarm=given["false_alarm"],
        seed=given["seed"],
        progress=(lambda subject: say(f"testing: {subject}")) if shown else None,
    )


def _recorded(path: str, given: dict[str, Any]) -> Verification:
    from lapnoise import evaluate
    from lapnoise.evaluate._column import read_noise

    differences = read_noise(path)
    mechanism = given["mechanism"] or "laplace"
    return evaluate.verify_noise(
        differences,
        epsilon=given["epsilon"],
        sensitivity=given["sensitivity"],
        mechanism=mechanism,
        false_alarm=given["false_alarm"],
    )


def _print(found: Verification, quiet: bool) -> None:
    lines = [HEADER, *(_cells(check) for check in (found.failed if quiet else found.checks))]
    if len(lines) > 1:
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
        for line in lines:
            tell("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    if found.passed:
        if not quiet:
            tell(f"{len(found.checks)} checks passed; a right sampler fails one run in {1 / found.false_alarm:,.0f}")
        return
    tell(f"{len(found.failed)} of {len(found.checks)} checks FAILED. Look here, in this order:")
    for place in found.look:
        tell(f"  {place}")


def _cells(check: Check) -> tuple[str, ...]:
    alarm = f"{check.false_alarm:.1e}" if check.false_alarm else "none"
    state = "ok" if check.passed else "FAILED"
    return (
        state,
        check.subject,
        check.tested,
        check.measure,
        f"{check.statistic:.5g}",
        f"{check.threshold:.5g}",
        alarm,
    )


def _as_json(found: Verification) -> dict[str, Any]:
    checks = [
        {
            "subject": check.subject,
            "tested": check.tested,
            "measure": check.measure,
            "statistic": check.statistic,
            "threshold": check.threshold,
            "false_alarm": check.false_alarm,
            "passed": check.passed,
            "look": "" if check.passed else check.look.replace("\n", "; "),
        }
        for check in found.checks
    ]
    return {"passed": found.passed, "false_alarm": found.false_alarm, "checks": checks}
