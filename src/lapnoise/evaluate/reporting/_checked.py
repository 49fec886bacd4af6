"""The sections of a report on what was tested: the audit, and the sampler that is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lapnoise.evaluate.reporting import _html as html

if TYPE_CHECKING:
    from lapnoise.evaluate.reporting import Report

__all__ = ["audited", "verified"]


def audited(found: Report) -> str:
    """Return the section on the audit."""
    one = found.audit
    pairs = [
        ("audited", f"{one.mechanism}, inputs {one.inputs[0]:.6g} and {one.inputs[1]:.6g}"),
        ("event", f"{one.event}; chosen on {one.chosen_on:,} outputs of each input"),
        ("counted", f"{one.hits:,} of {one.more:.6g}, {one.others:,} of {one.less:.6g}, among {one.counted:,} of each"),
        ("shown", f"epsilon at least {one.shown:.4g}; false alarms {one.false_alarm:g}"),
        ("can show", f"no epsilon above {one.power.largest:.4g}, whatever the outputs: so few are {one.counted:,}"),
        *(("finds", text) for text in one.power.told()),
        ("verdict", one.verdict),
    ]
    told = (
        "Outputs of two neighbouring inputs prove a lower bound for epsilon, whatever made them. Where that is more "
        "than what is claimed, the claim is broken. That it is not is no proof; the proofs are in the documentation."
    )
    return html.section("audit", "Audit", html.paragraph(told), html.facts("What the outputs show", pairs))


def verified(found: Report) -> str:
    """Return the section on the verification of the sampler."""
    checks = found.verification.checks
    header = ("result", "subject", "tested", "statistic", "is", "at most", "false alarms")
    rows = [
        (
            "ok" if check.passed else "FAILED",
            check.subject,
            check.tested,
            check.measure,
            f"{check.statistic:.5g}",
            f"{check.threshold:.5g}",
            f"{check.false_alarm:.1e}" if check.false_alarm else "none",
        )
        for check in checks
    ]
    told = (
        f"The sampler was tested on the machine that made this page: {len(checks) - len(found.verification.failed)} of "
        f"{len(checks)} checks passed. A right sampler fails one run in {1 / found.verification.false_alarm:,.0f}."
    )
    looks = [f"Look at: {look}" for look in found.verification.look]
    return html.section(
        "verification",
        "Verification",
        html.paragraph(told),
        *map(html.paragraph, looks),
        html.table("Checks of the installed sampler", header, rows, words=4),
    )
