"""What all benches share: a cache of their own, pinned cores, and the numbers that stand beside each result."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

# Numba reads this at its import, and sees no edits in other files than a kernel's own: an old cache may hold old code.
if "NUMBA_CACHE_DIR" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="lapnoise-bench-")
    atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)

import pytest

from bench.machine import describe
from bench.timing import all_cores, cores, keep_freed_memory


def pytest_configure(config: pytest.Config) -> None:
    keep_freed_memory()
    config.option.benchmark_disable_gc = True
    if float(config.option.benchmark_max_time) == 1.0:  # as the plugin has it: half of that settles these medians
        config.option.benchmark_max_time = "0.5"


def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    machine_info["lapnoise_bench"] = describe()


@pytest.fixture(autouse=True)
def _quiet_collector() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


Clock = Callable[..., None]


@pytest.fixture
def clock(benchmark: Any) -> Clock:
    """Return the function that times a call and files what belongs to it."""

    def run(
        call: Callable[[], Any],
        *,
        group: str,
        correct: bool,
        draws: int = 1,
        words: float = 0.0,
        threads: int | None = 1,
    ) -> None:
        """Time ``call``, which makes ``draws`` draws from ``words`` words each; refuse where draws were wrong."""
        assert correct
        benchmark.group = group
        with cores(threads):
            call()  # compiles, and touches the memory
            benchmark(call)
        benchmark.extra_info |= {
            "words_per_draw": words,
            "threads": all_cores() if threads is None else threads,
            "correct": correct,
        }
        if benchmark.stats:  # there are none with --benchmark-disable
            ns = benchmark.stats.stats.median / draws * 1e9
            benchmark.extra_info |= {"ns_per_draw": round(ns, 4), "draws_per_second": round(1e9 / ns)}

    return run
