"""Queries: private answers about a column of rows, from data to a released number."""

from __future__ import annotations

from lapnoise.queries.quantile import private_quantile

__all__ = ["private_quantile"]
