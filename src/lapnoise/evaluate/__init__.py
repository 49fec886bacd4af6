"""Looking at mechanisms from outside: what they cost, how they compare, whether they keep their word."""

from __future__ import annotations

from lapnoise.evaluate.auditing import Audit, audit
from lapnoise.evaluate.comparison import Comparison, compare

__all__ = ["Audit", "Comparison", "audit", "compare"]
