"""A dask cluster on this machine, whose workers are processes of their own, and tasks that go wrong there once."""

import contextlib
import os
import signal
import time
import uuid
from pathlib import Path


@contextlib.contextmanager
def started():
    """Yield a client of two workers, each a process with one thread; a worker that dies is started anew."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def first_time(folder, name):
    """Return whether this is the first call with this name, from whatever process."""
    try:
        (Path(folder) / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def kill_worker_once(partition, folder):
    """Give a partition back; kill the worker that sees the sixth."""
    if len(partition):
        marks = Path(folder)
        (marks / f"call {uuid.uuid4().hex}").touch()
        if len(list(marks.glob("call *"))) > 5 and first_time(folder, "killed"):
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)
    return partition


def fail_once(partition, folder):
    """Give a partition back; fail the first time in each."""
    if len(partition) and first_time(folder, f"failed {partition['id'].iloc[0]}"):
        raise RuntimeError("this attempt fails, as the test wants it")
    return partition


def another_row_later(partition, folder):
    """Give a partition back, with a row twice but for the first time."""
    import pandas as pd

    if len(partition) and not first_time(folder, f"computed {partition['id'].iloc[0]}"):
        return pd.concat([partition, partition.iloc[:1]])
    return partition
