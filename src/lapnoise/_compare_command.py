"""The command ``lapnoise compare``: the mechanisms side by side at equal guarantees."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from lapnoise._console import ExitCode, guarded, say, tell, tell_json

if TYPE_CHECKING:
    from lapnoise.evaluate import Comparison

__all__ = ["compare"]

HEADER = ("mechanism", "epsilon", "delta", "scale", "error", "95 % within", "largest error")


@click.command()
@click.option("--epsilon", metavar="E", required=True, help="What each mechanism spends, for instance 0.5 or 1/3.")
@click.option(
    "--delta",
    metavar="D",
    default="1e-6",
    show_default=True,
    help="What those spend beside it that need a delta; 0 leaves them out.",
)
@click.option(
    "--sensitivity",
    metavar="S",
    default="1",
    show_default=True,
    help="How much one person can change any one coordinate.",
)
@click.option(
    "--coordinates",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many coordinates one person can change at once.",
)
@click.option("--low", metavar="L", default="0", show_default=True, help="Least value, where a mechanism has bounds.")
@click.option("--high", metavar="H", default="100", show_default=True, help="Largest value.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the table in Markdown.")
def compare(
    epsilon: str,
    delta: str,
    sensitivity: str,
    coordinates: int,
    low: str,
    high: str,
    as_json: bool,
    as_markdown: bool,
) -> int:
    """Compare the mechanisms that add noise to numbers, at equal guarantees.

    Scale, error (the root of the mean squared error) and the half-width that holds 95 of 100 errors are those of one
    coordinate. Where they depend on the value, as with bounds, they are those of the worst value within the bounds.
    """

    def run() -> int:
        from lapnoise import evaluate

        try:
            rows = evaluate.compare(
                epsilon=epsilon, delta=delta, sensitivity=sensitivity, coordinates=coordinates, low=low, high=high
            )
        except (TypeError, ValueError, OverflowError) as error:
            say(str(error))
            return ExitCode.USAGE
        if as_json:
            tell_json({"comparison": [_as_json(row) for row in rows]})
        else:
            lines = [HEADER, *(_cells(row) for row in rows)]
            for line in _markdown(lines) if as_markdown else _aligned(lines):
                tell(line)
        return ExitCode.DONE

    return guarded(run)


def _cells(row: Comparison) -> tuple[str, ...]:
    largest = "none" if math.isinf(row.largest) else f"{row.largest:.4g}"
    numbers = (f"{number:.4g}" for number in (row.scale, row.error, row.half_width))
    return (row.mechanism, f"{float(row.epsilon):.4g}", f"{float(row.delta):.4g}", *numbers, largest)


def _as_json(row: Comparison) -> dict[str, object]:
    return {
        "mechanism": row.mechanism,
        "epsilon": str(row.epsilon),
        "delta": str(row.delta),
        "scale": row.scale,
        "error": row.error,
        "half_width_95": row.half_width,
        "largest_error": None if math.isinf(row.largest) else row.largest,
    }


def _aligned(lines: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
    texts = []
    for first, *others in lines:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        texts.append("  ".join([first.ljust(widths[0]), *cells]))
    return texts


def _markdown(lines: list[tuple[str, ...]]) -> list[str]:
    rows = [f"| {' | '.join(line)} |" for line in lines]
    return [rows[0], "|" + " --- |" * len(HEADER), *rows[1:]]
