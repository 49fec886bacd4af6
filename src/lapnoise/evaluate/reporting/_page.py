"""The page of a report, section by section."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lapnoise._numbers import as_text
from lapnoise._version import __version__
from lapnoise.evaluate import plots
from lapnoise.evaluate._sums import share
from lapnoise.evaluate.reporting import _html as html
from lapnoise.evaluate.reporting._checked import audited, verified
from lapnoise.evaluate.reporting._named import NAMED
from lapnoise.mechanisms import LaplaceMechanism

if TYPE_CHECKING:
    from lapnoise.evaluate.reporting import Report

__all__ = ["written"]

LEVELS = ("0.5", "0.9", "0.95", "0.99", "0.999")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
REVEALS = (
    "This page tells true answers: its section “Errors on the data” is computed from them. It is for whoever may see "
    "the data, and must not be published where they are private."
)


def written(found: Report) -> str:
    """Return the page."""
    return html.page(found.title, _parts(found))


def _parts(found: Report) -> Iterator[str]:
    yield f"<h1>{html.escaped(found.title)}</h1>"
    if found.answers is not None:
        yield html.warning(REVEALS)
    if not found.sound:
        yield html.warning("A check of this page FAILED: see “Error against epsilon”, “Audit” and “Verification”.")
    yield _released(found)
    yield _guaranteed(found)
    yield _size(found)
    yield _way()
    yield _compared(found)
    yield _law(found)
    yield _errors(found)
    yield _lattice(found)
    if found.answers is not None:
        yield _on_data(found)
    yield audited(found)
    yield verified(found)
    yield _reveals(found)
    yield f"<footer>\n{html.paragraph(_made(found))}\n</footer>"


def _released(found: Report) -> str:
    about, mechanism = NAMED[found.name], found.mechanism
    pairs = [
        ("mechanism", f"{about.title} ({type(mechanism).__name__})"),
        ("epsilon asked", as_text(mechanism.epsilon_asked)),
        ("epsilon attained", f"{float(mechanism.epsilon):.10g}, never above what was asked"),
    ]
    if found.delta:
        pairs.append(("delta", as_text(found.delta)))
    pairs.append(("sensitivity", f"{as_text(mechanism.sensitivity)} in {about.norm} norm"))
    if about.needs_domain:
        pairs.append(("domain of the results", f"{as_text(mechanism.low)} to {as_text(mechanism.high)}"))
    pairs.append(("granularity", f"{_power(mechanism.lattice.exponent)}: every result is a multiple of it"))
    pairs.append(("holds for", _holds_for(found)))
    told = (
        "Numbers are released with the mechanism below. Its parameters are public; the scale of the noise and the "
        "lattice follow from them alone, and from nothing in the data."
    )
    return html.section(
        "release", "What was released", html.paragraph(told), html.facts("Parameters of the release", pairs)
    )


def _holds_for(found: Report) -> str:
    if found.name == "discrete-laplace":
        return "vectors of any length: nothing is rounded, so the number of coordinates does not matter"
    if found.changed == 1:
        return (
            "one number, or a vector of which one record changes one coordinate at most. Of any other vector "
            "granularity and scale are others"
        )
    return (
        f"vectors of which one record changes {found.changed:,} coordinates at most, such as those of that length; of "
        "other numbers of coordinates granularity and scale are others"
    )


def _guaranteed(found: Report) -> str:
    about = NAMED[found.name]
    promise = about.promise
    if found.name == "bounded-laplace" and found.delta:
        promise = NAMED["gaussian"].promise
    epsilon = float(found.mechanism.epsilon_asked)
    meaning = (
        f"Neighbours are data sets whose true numbers differ by at most the sensitivity, in {about.norm} norm over the "
        f"whole vector that is released. With epsilon {epsilon:.4g} nobody who sees the release can be more than "
        f"{_times(epsilon)} times as sure of anything about one person as without that person's data"
        f"{f', but with probability {float(found.delta):.4g}' if found.delta else ''}."
    )
    limits = (
        "Not guaranteed: that the sensitivity was stated rightly, which is a property of the question; anything about "
        "further releases of the same data, which cost as much again; number, order and shape of the values, and where "
        "values are missing, which are published as they are."
    )
    return html.section("guarantee", "What is guaranteed", *map(html.paragraph, (promise, meaning, limits)))


def _size(found: Report) -> str:
    mechanism = found.mechanism
    worst = ", of the worst value in the domain" if found.name == "bounded-laplace" else ""
    pairs = [
        ("scale" if found.name != "gaussian" else "sigma", f"{mechanism.scale:.6g}"),
        ("standard deviation", f"{mechanism.std:.6g}"),
        ("mean squared error", f"{mechanism.mse:.6g}"),
    ]
    if found.name == "truncated-laplace":
        pairs.append(("largest error", f"{mechanism.bound:.6g}"))
    rows = [(f"{float(level):.1%}", f"{mechanism.interval(level):.6g}") for level in LEVELS]
    return html.section(
        "noise",
        "How large the noise is",
        html.facts(f"Noise on one number{worst}", pairs),
        html.table("How far a released number lies from the true one", ("share of releases", "at most"), rows),
    )


def _way() -> str:
    told = (
        "Query, sensitivity and epsilon are decisions of whoever releases; all that comes after follows from them, "
        "exactly."
    )
    alternative = (
        "Diagram: query, sensitivity, budget and ledger, scale and lattice, exact noise, release, post-processing, "
        "each with an arrow to the next."
    )
    return html.section("chain", "From the query to the release", html.figure(plots.chain(), alternative, told))


def _compared(found: Report) -> str:
    header = ("mechanism", "epsilon", "delta", "scale", "error", "95 % within", "largest error")
    rows = [
        (
            row.mechanism,
            f"{float(row.epsilon):.4g}",
            f"{float(row.delta):.4g}",
            f"{row.scale:.4g}",
            f"{row.error:.4g}",
            f"{row.half_width:.4g}",
            "none" if math.isinf(row.largest) else f"{row.largest:.4g}",
        )
        for row in found.comparison
    ]
    told = (
        "The mechanisms side by side at equal guarantees, for one number that one person can change by the "
        "sensitivity. The error is the root of the mean squared one; where it depends on the value, it is that of "
        "the worst value."
    )
    if not found.delta:
        told += " Those that need a delta have that of the table."
    return html.section(
        "comparison", "Comparison", html.paragraph(told), html.table("At equal guarantees", header, rows)
    )


def _law(found: Report) -> str:
    mechanism, n = found.mechanism, found.noise.size
    if not found.noise.any():
        nothing = (
            f"All {n:,} draws made for this page are 0, as nearly all noise is at this epsilon: no picture shows it."
        )
        return html.section("distribution", "Distribution of the noise", html.paragraph(nothing))
    density = plots.density(found.noise, mechanism=mechanism)
    told = f"Histogram of {n:,} draws made for this page, on a logarithmic axis, and the density that they should have."
    quantiles = plots.quantiles(found.noise, mechanism=mechanism)
    beside = "Ordered draws against quantiles of the law: on the line, and in the tails within the band, if they fit."
    return html.section(
        "distribution",
        "Distribution of the noise",
        html.figure(density, f"Histogram of {n:,} draws of noise beside the density of its law.", told),
        html.figure(
            quantiles, "Quantiles of the draws against quantiles of the law, with the line of equality.", beside
        ),
    )


def _errors(found: Report) -> str:
    (curve,) = found.errors.curves
    rows = [
        (f"{epsilon:.6g}", f"{one.measured:.5g}", f"{one.theory:.5g}", f"{one.low:.5g} to {one.high:.5g}")
        for epsilon, one in curve.points
    ]
    within = sum(one.within for _, one in curve.points)
    told = (
        f"{found.errors.n:,} errors were drawn at each epsilon. Each statistic lies in its band with probability "
        f"{share(found.errors.level)}; {within} of {len(rows)} do."
    )
    if found.astray:
        places = ", ".join(f"{float(epsilon):.6g}" for epsilon in found.astray)
        told += f" At epsilon {places} errors are FAR OUT, as those of right noise are once in a million pages."
    if found.name == "bounded-laplace":
        told += " The errors are those of a value in the middle of the domain."
    parts = [
        html.paragraph(told),
        html.table(curve.name.capitalize(), ("epsilon", "measured", "theory", "band"), rows),
    ]
    if all(one.measured > 0.0 for _, one in curve.points):  # axes are logarithmic
        caption = "Markers are measured, the line is theory."
        alternative = "Error against epsilon on logarithmic axes, beside theory."
        parts.append(html.figure(plots.sweep(found.errors), alternative, caption))
    return html.section("errors", "Error against epsilon", *parts)


def _lattice(found: Report) -> str:
    mechanism = found.mechanism
    if not isinstance(mechanism, LaplaceMechanism):
        mechanism = LaplaceMechanism(epsilon=mechanism.epsilon_asked, sensitivity=mechanism.sensitivity, changed=1)
    told = (
        "Noise in floating-point arithmetic leaves holes: of neighbouring floats some can come from one true value and "
        "others from another, so that a single output may tell which it was. Here results are multiples of a power of "
        "two, and every one of them can come from every value."
    )
    if mechanism is not found.mechanism:
        told += " The picture is of the Laplace mechanism at this epsilon and sensitivity."
    ax = plots.lattice_close_up(mechanism=mechanism)
    told_above = " ".join(ax.get_title().split())
    return html.section(
        "lattice",
        "The lattice, close up",
        html.figure(ax, f"Neighbouring outputs that two inputs reach: {told_above}.", told),
    )


def _on_data(found: Report) -> str:
    result: Any = found.answers
    called = "the data" if found.column is None else f"column “{found.column}”"
    header = ("query", "epsilon", "scale", "bias", "error", "theory", "band", "relative", "bounding")
    rows = [
        (
            row.query,
            f"{float(row.epsilon):.6g}",
            f"{row.scale:.4g}",
            f"{row.bias:.4g}",
            f"{row.rmse.measured:.4g}",
            f"{row.rmse.theory:.4g}",
            f"{row.rmse.low:.5g} to {row.rmse.high:.5g}",
            f"{row.relative:.2%}" if math.isfinite(row.relative) else "none",
            f"{row.bounding:.4g}",
        )
        for row in result.rows
    ]
    told = (
        f"Private queries of {called}, values within {result.low:g} to {result.high:g}, were answered {result.n:,} "
        "times at each epsilon and compared with the true answers. “Bounding” is what the bounds themselves changed."
    )
    caption = "Markers are measured, lines are theory."
    return html.section(
        "data",
        "Errors on the data",
        html.warning(REVEALS),
        html.paragraph(told),
        html.table("Errors of private queries", header, rows),
        html.figure(plots.sweep(result), "Errors of four queries against epsilon, beside theory.", caption),
    )


def _reveals(found: Report) -> str:
    told = (
        "All sections but “Errors on the data” follow from public parameters, and from noise that was drawn for this "
        "page: they tell nothing of the data, and cost no epsilon. "
    )
    if found.answers is None:
        told += "That section is left out here, since it would tell true answers."
    else:
        told += "That section is in this page, and tells true answers."
    return html.section("reveals", "What this page reveals", html.paragraph(told))


def _made(found: Report) -> str:
    seed = "" if found.errors.seed is None else f", with seed {found.errors.seed}"
    return (
        f"Made by lapnoise {__version__} on {found.made:%Y-%m-%d %H:%M} UTC{seed}, with Python "
        f"{platform.python_version()} on {platform.system()} {platform.machine()}."
    )


def _power(exponent: int) -> str:
    return "1" if exponent == 0 else f"2{str(exponent).translate(SUPERSCRIPTS)}"


def _times(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 700 else "exp(epsilon)"
