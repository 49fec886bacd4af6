"""Where pyspark is imported, and a session on this machine whose executors find what the driver has."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapnoise import _check

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["frame_of", "local_session", "rdd_of"]


def local_session(master: str = "local[*]", *, options: Mapping[str, Any] | None = None) -> SparkSession:
    """Return a Spark session on this machine, for trying things out and for tests.

    Executors run the Python that the driver runs, find the package where the driver found it, and share its cache of
    compiled kernels. Needs the extra ``spark``, and Java.

    Parameters
    ----------
    master : str, optional
        ``"local[*]"``: threads of one JVM, as many as there are cores. ``"local-cluster[2,1,1024]"``: two executors
        with one core and 1,024 MiB each, processes of their own as on a real cluster.
    options : mapping, optional
        Settings of Spark by name, such as ``{"spark.ui.enabled": "false"}``.

    Raises
    ------
    ImportError
        If pyspark is not installed; the message names the extra.
    RuntimeError
        If Java is not there; the message says what to install.
    """
    address = _check.local_master(master)
    spark_class = _sql().SparkSession
    home = os.environ.get("JAVA_HOME") or None
    _check.java_home(home, shutil.which("java") if home is None else shutil.which("java", path=Path(home) / "bin"))
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    builder = spark_class.builder.master(address).config("spark.pyspark.python", sys.executable)
    builder = builder.config("spark.executorEnv.PYTHONPATH", path)
    if "NUMBA_CACHE_DIR" in os.environ:
        builder = builder.config("spark.executorEnv.NUMBA_CACHE_DIR", os.environ["NUMBA_CACHE_DIR"])
    for name, value in (options or {}).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    if "PYSPARK_PYTHON" not in os.environ:
        # The setting above is for programs that are submitted; else tasks would run whatever `python3` is on the path.
        session.sparkContext.pythonExec = sys.executable
    return session


def frame_of(value: Any) -> DataFrame:
    """Return a frame."""
    _check.spark_frame(value, _sql().DataFrame)
    return value


def rdd_of(value: Any) -> RDD[Any]:
    """Return an RDD."""
    _sql()
    from pyspark import RDD

    _check.spark_rdd(value, RDD)
    return value


def _sql() -> Any:
    try:
        import pyarrow  # noqa: F401
        from pyspark import sql
    except ImportError as error:
        _check.clustered("spark", error)
    return sql
