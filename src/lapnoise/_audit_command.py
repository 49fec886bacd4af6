"""The command ``lapnoise audit``: what outputs of two neighbouring inputs prove about epsilon."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lapnoise._console import ExitCode, ProgressBar, guarded, say, tell, tell_json
from lapnoise.errors import InputDataError

if TYPE_CHECKING:
    from lapnoise.evaluate import Audit

__all__ = ["audit"]


@click.command()
@click.argument("mechanism")
@click.option("--epsilon", metavar="E", required=True, help="What is claimed, for instance 0.5 or 1/3.")
@click.option("--delta", metavar="D", default="0", show_default=True, help="What is claimed beside it.")
@click.option(
    "--sensitivity", metavar="S", default="1", show_default=True, help="How far neighbours lie apart at most."
)
@click.option("--low", metavar="L", help="Least value, for bounded-laplace.")
@click.option("--high", metavar="H", help="Largest value, for bounded-laplace.")
@click.option(
    "--inputs", metavar="A B", nargs=2, help="Two neighbours. Default: 0 and S; for bounded-laplace L and L + S."
)
@click.option(
    "--draws",
    metavar="N",
    default="1e6",
    show_default=True,
    help="Outputs of each input. Memory does not grow with them.",
)
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Repeat an audit.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Neither report nor progress bar; the exit code says what was found.")
def audit(mechanism: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Bound epsilon from below by what outputs of two neighbouring inputs show.

    MECHANISM is laplace, discrete-laplace, gaussian, bounded-laplace or truncated-laplace; numpy-laplace, which is no
    mechanism and breaks its claim; or module:function, a callable that is found on the path or in the current
    directory. It is called with a float64 array of equal values, and with seed=N if it has a parameter of that name,
    and returns as many numbers, one release of each value, independent of one another. What it prints goes to stderr.

    An event is chosen on a quarter of the outputs and counted among the others. The bound exceeds the epsilon of a
    mechanism that keeps its claim once in a million audits at most.

    Exit codes: 0 consistent with the claim, 1 claim violated, 2 usage, 3 the callable failed, repeated itself
    or returned no numbers, 4 standard output could not be written.
    """

    def run() -> int:
        from lapnoise import evaluate

        bar = ProgressBar(shown=not quiet and sys.stderr.isatty())
        try:
            # What a module or a callable prints is no part of what is found.
            with bar, _modules_beside_the_caller(), contextlib.redirect_stdout(sys.stderr):
                found = evaluate.audit(mechanism, progress=bar.show, **given)
        except InputDataError as error:
            say(str(error))
            return ExitCode.BAD_INPUT
        except (TypeError, ValueError, OverflowError) as error:
            say(str(error))
            return ExitCode.USAGE
        if as_json:
            tell_json(_as_json(found))
        elif not quiet:
            for name, text in _report(found):
                tell(f"{name:<9}{text}")
        if found.violated:
            say(f"{found.mechanism}: {found.verdict}")
            return ExitCode.UNEXPECTED
        return ExitCode.DONE

    return guarded(run)


@contextlib.contextmanager
def _modules_beside_the_caller() -> Iterator[None]:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(here)


def _report(found: Audit) -> list[tuple[str, str]]:
    more, less = f"{found.more:.6g}", f"{found.less:.6g}"
    return [
        ("audited", f"{found.mechanism}, inputs {found.inputs[0]:.6g} and {found.inputs[1]:.6g}"),
        ("event", f"{found.event}; chosen on {found.chosen_on:,} outputs of each input"),
        ("counted", f"{found.hits:,} of {more}, {found.others:,} of {less}, among {found.counted:,} others of each"),
        ("shown", f"epsilon at least {found.shown:.4g}; false alarms {found.false_alarm:g}"),
        *(("finds", text) for text in _powers(found)),
        ("verdict", found.verdict),
    ]


def _powers(found: Audit) -> list[str]:
    """Return what an audit of this size finds, in words."""
    able = found.power
    if able.largest <= found.epsilon:
        return [f"nothing: outputs of this number show an epsilon of {able.largest:.4g} at most, so it takes more"]
    return [*able.told(), f"an epsilon of {able.largest:.4g} at most, whatever is audited"]


def _as_json(found: Audit) -> dict[str, Any]:
    return {
        "mechanism": found.mechanism,
        "epsilon": str(found.epsilon),
        "delta": str(found.delta),
        "inputs": list(found.inputs),
        "draws": found.draws,
        "chosen_on": found.chosen_on,
        "counted": found.counted,
        "event": found.event,
        "more": found.more,
        "less": found.less,
        "hits": found.hits,
        "others": found.others,
        "shown": found.shown,
        "false_alarm": found.false_alarm,
        "finds": {
            "epsilon": found.power.epsilon_found,
            "two_percent": found.power.two_percent,
            "impossible": found.power.impossible,
            "largest": found.power.largest,
        },
        "verdict": "violated" if found.violated else "consistent",
    }
