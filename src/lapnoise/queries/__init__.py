"""Private statistics of rows: bounded, added up exactly, and released with exact Laplace noise.

Neighbouring data sets differ by all rows of one person: there or not ("add-remove"), or another person's ("replace").
Without person ids every row is taken as one person's.
"""

from __future__ import annotations

from lapnoise.queries._count import private_count
from lapnoise.queries._histogram import HistogramResult, private_histogram
from lapnoise.queries._mean import MeanResult, private_mean
from lapnoise.queries._quantile import QuantileResult, private_quantile
from lapnoise.queries._result import QueryResult
from lapnoise.queries._sum import private_sum

__all__ = [
    "HistogramResult",
    "MeanResult",
    "QuantileResult",
    "QueryResult",
    "private_count",
    "private_histogram",
    "private_mean",
    "private_quantile",
    "private_sum",
]
