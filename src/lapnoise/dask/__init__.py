"""Noise on dask frames and arrays, and private statistics: what is recomputed comes out the same, or is written once.

Two modes and no third. `add_noise` is keyed: noise is a function of a secret, the release and the cell, so that a task
that runs again makes the same bytes, and the same as on Spark. `release` draws noise once, writes it once and reads it
back. The statistics are added up in the tasks as integers, and get noise once, where they are asked for.
"""

from __future__ import annotations

from lapnoise.dask._keyed import add_noise
from lapnoise.dask._queries import private_count, private_histogram, private_mean, private_sum
from lapnoise.dask._written import release

__all__ = ["add_noise", "private_count", "private_histogram", "private_mean", "private_sum", "release"]
