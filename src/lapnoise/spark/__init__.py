"""Noise and private statistics on Spark: what is recomputed comes out the same, or is written once.

Two modes and no third. `add_noise` is keyed: noise is a function of a secret, the release and the cell, so that a task
that runs again makes the same bytes. `release` draws noise once, writes it once and reads it back. The statistics are
added up on the executors as integers, and get noise once, on the driver.
"""

from __future__ import annotations

from lapnoise.spark._elements import parallel_noise
from lapnoise.spark._frames import add_noise
from lapnoise.spark._queries import private_count, private_histogram, private_mean, private_sum
from lapnoise.spark._session import local_session
from lapnoise.spark._written import release

__all__ = [
    "add_noise",
    "local_session",
    "parallel_noise",
    "private_count",
    "private_histogram",
    "private_mean",
    "private_sum",
    "release",
]
