"""Looking at mechanisms from outside: what they cost, how they compare, whether they keep their word."""

from __future__ import annotations

from lapnoise.evaluate.auditing import Audit, audit
from lapnoise.evaluate.comparison import Comparison, compare
from lapnoise.evaluate.experiments import Experiment, experiment
from lapnoise.evaluate.query_experiments import QueryErrors, query_errors
from lapnoise.evaluate.reporting import Report, report
from lapnoise.evaluate.verification import Verification, verify, verify_noise

__all__ = [
    "Audit",
    "Comparison",
    "Experiment",
    "QueryErrors",
    "Report",
    "Verification",
    "audit",
    "compare",
    "experiment",
    "query_errors",
    "report",
    "verify",
    "verify_noise",
]
