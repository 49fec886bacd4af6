"""A Spark cluster on this machine, whose executors are processes of their own, and tasks that go wrong there once."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pyspark
import pytest

from lapnoise import spark

HERE = Path(__file__).parent

java = pytest.mark.skipif(
    shutil.which("java") is None and "JAVA_HOME" not in os.environ and "CI" not in os.environ,
    reason="Spark needs a Java runtime: apt install openjdk-17-jre-headless",
)
"""Of tests that need Java, which is always there where CI is set: they fail there without it."""

OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.task.maxFailures": "2",
    "spark.sql.session.timeZone": "UTC",
    # What these tests hand to tasks lies here.
    "spark.executorEnv.PYTHONPATH": os.pathsep.join([str(Path(spark.__file__).parents[2]), str(HERE)]),
    # Python starts with a warning of pyspark's about pandas in each worker.
    "spark.executorEnv.PYTHONWARNINGS": "ignore",
}


def session(**options):
    """Return a session on two executors, each with one core and a JVM and Python workers of its own."""
    found = spark.local_session("local-cluster[2,1,1024]", options={**OPTIONS, **options})
    found.sparkContext.setLogLevel("OFF")
    return found


@contextlib.contextmanager
def separate_hosts():
    """Yield the address of a cluster of two workers under two names of this machine.

    Spark starts no second attempt of a task on the host of the first one, and a ``local-cluster`` has one host.
    """
    command = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    deploy = "org.apache.spark.deploy"
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())

        def start(*arguments):
            log = stack.enter_context(tempfile.TemporaryFile("w+"))
            process = subprocess.Popen([command, *arguments], env=environment, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return log

        log = start(f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        found = None
        for _ in range(600):
            log.seek(0)
            if found := re.search(r"spark://127\.0\.0\.1:\d+", log.read()):
                break
            time.sleep(0.1)
        for host in ("127.0.0.1", "127.0.0.2"):
            options = ["--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", folder]
            start(f"{deploy}.worker.Worker", *options, found[0])
        yield found[0]


def told(frame, key="id"):
    """Return all rows in the order of a key, floats by their bits."""
    rows = sorted(frame.collect(), key=lambda row: row[key])
    return [tuple(map(_bits, row)) for row in rows]


def _bits(value):
    return value.hex() if isinstance(value, float) else value


def first_time(folder, name):
    """Return whether this is the first call with this name, from whatever process."""
    try:
        (Path(folder) / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def fail_once(folder):
    """Return a task that fails the first time in each partition, once all of its rows were handed on."""

    def task(batches):
        from pyspark import TaskContext

        yield from batches
        if first_time(folder, f"failed {TaskContext.get().partitionId()}"):
            raise RuntimeError("this attempt fails, as the test wants it")

    return task


def kill_executor_once(folder):
    """Return a task that kills the JVM of its executor the first time, in the middle of its rows."""

    def task(batches):
        for batch in batches:
            yield batch
            if first_time(folder, "killed"):
                os.kill(_parent(os.getppid()), signal.SIGKILL)
                time.sleep(60)

    return task


def linger_once(folder, seconds):
    """Return a task that in partition 0 takes long the first time, so that Spark starts another attempt beside it."""

    def task(batches):
        from pyspark import TaskContext

        context = TaskContext.get()
        yield from batches
        (Path(folder) / f"attempt {context.partitionId()} {context.attemptNumber()}").touch()
        if context.partitionId() == 0 and first_time(folder, "lingered"):
            time.sleep(seconds)

    return task


def another_row_later(folder):
    """Return a task that gives its first batch twice but for the first time."""

    def task(batches):
        again = not first_time(folder, "computed")
        for batch in batches:
            yield batch
            if again:
                yield batch
                again = False

    return task


def take(folder):
    """Return a task that makes a folder with a file."""

    def task(batches):
        Path(folder).mkdir(exist_ok=True)
        (Path(folder) / "kept").touch()
        yield from batches

    return task


def batch_lengths(batches):
    """Give the number of rows of each batch."""
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([batch.num_rows])], ["n"])


def _parent(pid):
    """Return the process that started another: of a daemon of Python workers, the executor."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
