"""The report's parts on mechanisms beside Laplace, selections and queries, in their order."""

from __future__ import annotations

from bench.sections_bounded import BOUNDED_SECTIONS
from bench.sections_experiment import rows_experiment
from bench.sections_gaussian import GAUSSIAN_SECTIONS
from bench.sections_planar import rows_planar
from bench.sections_queries import rows_queries
from bench.sections_selection import SELECTION_SECTIONS
from bench.sections_stratified import rows_stratified

__all__ = ["MECHANISM_SECTIONS"]

MECHANISM_SECTIONS = (
    rows_stratified,
    *GAUSSIAN_SECTIONS,
    *BOUNDED_SECTIONS,
    rows_planar,
    *SELECTION_SECTIONS,
    rows_queries,
    rows_experiment,
)
