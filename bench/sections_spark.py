"""The report's part on Spark: noise as a job of two executors against the same job without, and its stage alone."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.rows import Row, cost, plain, speed
from bench.sections import MILLION, Plan
from bench.timing import Measurement, Timed, interleave
from lapnoise import LaplaceMechanism
from lapnoise._keyed_release import KeyedRelease
from lapnoise._record_batches import task_generator
from lapnoise._row_keys import from_numpy

__all__ = ["SPARK_SECTIONS", "rows_spark"]

SECRET = bytes(range(32))
MECHANISM = LaplaceMechanism(epsilon=1, sensitivity=1, changed=1)
BATCH = 10_000
"""Rows that Spark hands to a task at a time."""


def rows_spark(plan: Plan) -> Iterator[Row]:
    """Time the noise of one column in one thread, batch by batch, and then whole jobs on a cluster of two executors."""
    yield from _stage(plan)
    missing = importlib.util.find_spec("pyspark") is None or not (shutil.which("java") or "JAVA_HOME" in os.environ)
    if not missing:
        yield from _jobs(plan)


def _stage(plan: Plan) -> Iterator[Row]:
    group = f"noise of one float64 column, {BATCH:,} rows at a time, keyed by one int64 (ns a row)"
    x = np.random.default_rng(1).normal(size=MILLION)
    ids = np.arange(MILLION)
    release = KeyedRelease(SECRET, "bench")
    rows, column = release.rows(), release.column(MECHANISM, "x")
    rng = task_generator()

    def by_batch(work: Callable[[slice], Any]) -> Callable[[], None]:
        def call() -> None:
            for first in range(0, MILLION, BATCH):
                work(slice(first, first + BATCH))

        return call

    def keyed(part: slice) -> Any:
        return column.add_noise(x[part], rows.identities([from_numpy("id", ids[part])]))

    reference = "numpy.random.laplace"
    tasks = [
        Timed(reference, by_batch(lambda part: x[part] + np.random.laplace(0.0, 1.0, BATCH)), MILLION),
        Timed("release mode", by_batch(lambda part: MECHANISM.add_noise(x[part], rng=rng)), MILLION),
        Timed("keyed mode", by_batch(keyed), MILLION),
    ]
    measured = interleave(tasks, plan.repeats)
    theirs = (f"{reference}, added", measured[reference])
    yield plain(group, theirs[0], measured[reference])
    yield speed(group, "release mode", measured["release mode"], theirs, 1, "spark release stage")
    found = measured["keyed mode"]
    yield Row(
        group, "keyed mode", found.ns, threads=1, spread=found.spread, target="spark keyed stage", judged=found.ns
    )


def _jobs(plan: Plan) -> Iterator[Row]:
    from lapnoise import spark

    rows = 20 * MILLION if plan.repeats > 10 else 2 * MILLION
    fewer = 2 * MILLION  # enough that what a job costs whatever its rows weighs little
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "8",
    }
    session = spark.local_session("local-cluster[2,1,2048]", options={**options, "spark.executor.memory": "2g"})
    session.sparkContext.setLogLevel("OFF")
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield from _timed_jobs(session, Path(folder), rows, fewer)
    finally:
        session.stop()


def _timed_jobs(session: Any, folder: Path, rows: int, fewer: int) -> Iterator[Row]:
    from pyspark.sql import functions

    from lapnoise import spark

    made = session.range(0, rows, 1, 8).selectExpr("id", "randn(7) as x")
    made.write.parquet(str(folder / "given"))
    frame = session.read.parquet(str(folder / "given"))
    group = f"two executors of one core, {rows:,} rows of int64 and float64, read from Parquet (ns a row)"

    def identity(batches: Any) -> Any:
        yield from batches

    def one(value: float) -> float:
        return value + float(np.random.laplace(0.0, 1.0))

    one_by_one = functions.udf(one, "double", useArrow=True)
    one_pickled = functions.udf(one, "double", useArrow=False)

    @functools.partial(functions.udf, returnType="double")
    def exact_one_by_one(value: float) -> float:
        return float(MECHANISM.add_noise(value))

    options: dict[str, Any] = {"mechanism": MECHANISM, "release_id": "bench", "key_columns": "id", "secret": SECRET}
    lazy = spark.add_noise(frame, "x", **options, assume_unique=True)
    exact = frame.where(f"id < {fewer // 10}").repartition(2).withColumn("x", exact_one_by_one("x"))
    pickled = frame.where(f"id < {fewer}").withColumn("x", one_pickled("x"))
    numbers = frame.where(f"id < {fewer}").select("x").rdd.map(lambda row: row[0])
    single = frame.where(f"id < {fewer}").withColumn("x", one_by_one("x"))

    def drop(what: Any) -> None:
        what.write.format("noop").mode("overwrite").save()

    def written(make: Callable[[str], Any]) -> Callable[[], None]:
        def call() -> None:
            make(str(folder / "out"))
            shutil.rmtree(folder / "out")

        return call

    same = frame.mapInArrow(identity, frame.schema)
    reference, copy = "identity function", "identity function, written"
    exact_element = "the mechanism called per element"
    by_pickle, by_rdd = "a Python function per element, pickled", "a Python function per element of an RDD"
    element, element_copy = "a Python function per element", "a Python function per element, written"
    keyed, release = "keyed noise", "release, written"
    tasks = [
        Timed(reference, lambda: drop(same), rows, None),
        Timed(keyed, lambda: drop(lazy), rows, None),
        Timed(element, lambda: drop(single), fewer, None),
        Timed(by_pickle, lambda: drop(pickled), fewer, None),
        Timed(by_rdd, lambda: numbers.map(one).sum(), fewer, None),
        Timed(exact_element, lambda: drop(exact), fewer // 10, None),
        Timed(element_copy, written(lambda path: single.write.parquet(path)), fewer, None),
        Timed(copy, written(lambda path: same.write.parquet(path)), rows, None),
        Timed(release, written(lambda path: spark.release(frame, path, columns="x", mechanism=MECHANISM)), rows, None),
        Timed("check for repeated keys", lambda: spark.add_noise(frame, "x", **options), rows, None),
    ]
    measured = interleave(tasks, 3)
    yield plain(group, reference, measured[reference], None)
    yield cost(group, keyed, measured[keyed], (reference, measured[reference]), None, "spark identity")
    yield _faster(group, keyed, measured, element)
    yield _faster(group, keyed, measured, by_pickle)
    yield _faster(group, keyed, measured, by_rdd)
    yield speed(group, keyed, measured[keyed], (exact_element, measured[exact_element]), None)
    yield plain(group, copy, measured[copy], None)
    yield cost(group, release, measured[release], (copy, measured[copy]), None, "spark identity")
    yield _faster(group, release, measured, element_copy)
    yield plain(group, f"{element}, {fewer:,} rows", measured[element], None)
    yield plain(group, f"{element_copy}, {fewer:,} rows", measured[element_copy], None)
    yield plain(group, "check for repeated keys, apart", measured["check for repeated keys"], None)


def _faster(group: str, what: str, measured: dict[str, Measurement], element: str) -> Row:
    return speed(group, what, measured[what], (element, measured[element]), None, "spark per element")


SPARK_SECTIONS = (rows_spark,)
