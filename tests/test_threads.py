"""The pool of threads: how many there are, and that each block is done once whatever happens."""

import itertools
import json
import os
import threading
import time
from collections import Counter

import fresh_process
import numpy as np
import pytest

from lapnoise import _threads, default_rng
from lapnoise._threads import available_threads, run_blocks


def threads_of(script="", **changes):
    """Return what `available_threads` says in a fresh process."""
    printed = fresh_process.run(
        f"{script}\nfrom lapnoise._threads import available_threads as n; print(n())", **changes
    )
    return int(printed)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_affinity_counts():
    """A process bound to one core has one thread, and never more than its cores."""
    bind = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"
    assert threads_of(bind, LAPNOISE_NUM_THREADS=None) == 1
    assert 1 <= threads_of(LAPNOISE_NUM_THREADS=None) <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("text", "cap"),
    [("1", 1), (" 3 ", 3), ("100000", 100_000), ("0", None), ("-1", None), ("", None), ("two", None), ("1.5", None)],
)
def test_the_environment_caps(monkeypatch, text, cap):
    """LAPNOISE_NUM_THREADS lowers the number of threads; what is no positive integer is ignored."""
    monkeypatch.delenv("LAPNOISE_NUM_THREADS", raising=False)
    free = available_threads()
    monkeypatch.setenv("LAPNOISE_NUM_THREADS", text)
    assert _threads.thread_cap() == cap
    assert available_threads() == min(free, cap or free)


@pytest.mark.parametrize(("asked", "cap", "used"), [(8, "2", 2), (2, "8", 2), (8, None, 8), (None, "1", 1)])
def test_the_cap_stands_above_what_a_generator_asks_for(monkeypatch, asked, cap, used):
    """Large draws use no more threads than LAPNOISE_NUM_THREADS, whatever ``threads`` says."""
    monkeypatch.delenv("LAPNOISE_NUM_THREADS", raising=False)
    if cap is not None:
        monkeypatch.setenv("LAPNOISE_NUM_THREADS", cap)
    seen = []
    monkeypatch.setattr("lapnoise._fill.run_blocks", lambda work, blocks, threads: seen.append(threads))
    default_rng(1, threads=asked).laplace(size=1_000_000)
    if used == 1:
        assert seen in ([], [1])
    else:
        assert seen == [used]


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "100000 100000"}, 1),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.cfs_quota_us": "300000", "cpu.cfs_period_us": "100000"}, 3),
        ({"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
    ids=repr,
)
def test_quotas_of_a_cgroup(tmp_path, monkeypatch, files, cores):
    """A quota counts in whole cores, rounded up; without one there is no limit."""
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n")
    limits = _threads._limit_at(tmp_path)
    monkeypatch.setattr(_threads, "_cgroup_limits", lambda: limits)
    quota = getattr(_threads._cgroup_quota, "__wrapped__", _threads._cgroup_quota)
    assert quota() == cores


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 100])
@pytest.mark.parametrize("blocks", [0, 1, 2, 7, 100, 1000])
def test_each_block_is_done_once(blocks, threads):
    """Every block is worked on once, by at most the asked number of threads, and all are done at the end."""
    done, workers = [], set()

    def work(i):
        workers.add(threading.get_ident())
        done.append(i)

    run_blocks(work, blocks, threads)
    assert sorted(done) == list(range(blocks))
    assert len(workers) <= max(1, min(threads, blocks))


def test_threads_work_at_the_same_time():
    """Blocks that wait for one another are done together."""
    barrier = threading.Barrier(3)
    run_blocks(lambda i: barrier.wait(timeout=30), 3, 3)
    assert not barrier.broken


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("bad", [0, 1, 50, 99])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_an_error_of_a_block_is_raised(threads, bad, error):
    """The error of a block is raised at the caller, nothing runs on afterwards, and the pool works as before."""
    running = Counter()

    def work(i):
        running["now"] += 1
        try:
            if i == bad:
                raise error(f"block {i}")
            time.sleep(0.0001)
        finally:
            running["now"] -= 1

    with pytest.raises(error, match=f"block {bad}"):
        run_blocks(work, 100, threads)
    assert running["now"] == 0
    done = []
    run_blocks(done.append, 10, threads)
    assert sorted(done) == list(range(10))


def test_an_error_ends_the_work():
    """After an error no further blocks are begun, but for those under way."""
    begun = []

    def work(i):
        begun.append(i)
        if i == 0:
            raise ValueError("first")
        time.sleep(0.01)

    with pytest.raises(ValueError, match="first"):
        run_blocks(work, 1000, 2)
    assert len(begun) < 100


def test_work_is_done_without_a_pool(monkeypatch):
    """With the pool shut down the caller does everything itself."""

    class Closed:
        def submit(self, work):
            raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(_threads, "_executor", lambda helpers: Closed())
    done = []
    run_blocks(lambda i: done.append((i, threading.get_ident())), 20, 4)
    assert done == [(i, threading.get_ident()) for i in range(20)]


def test_work_is_done_with_a_busy_pool(monkeypatch):
    """While all helpers are held up elsewhere the caller does everything itself, and does not wait for them."""
    monkeypatch.setattr(_threads, "_pool", None)
    monkeypatch.setattr(_threads, "_pool_size", 0)
    release, held = threading.Event(), threading.Barrier(3)

    def hold(i):
        held.wait(timeout=30)
        release.wait(timeout=20)

    outer = threading.Thread(target=run_blocks, args=(hold, 2, 2))
    outer.start()
    held.wait(timeout=30)
    try:
        done, begun = [], time.monotonic()
        run_blocks(done.append, 50, 2)
        assert sorted(done) == list(range(50))
        assert time.monotonic() - begun < 10
    finally:
        release.set()
        outer.join()


def test_nested_use_does_not_deadlock():
    """Blocks may use the pool themselves, with more threads or fewer than the pool has."""
    done = Counter()

    def outer(i):
        run_blocks(lambda j: done.update([(i, j)]), 5, 2 + i % 4)

    run_blocks(outer, 20, 3)
    assert done == Counter(itertools.product(range(20), range(5)))


def test_many_callers_with_pools_of_many_sizes():
    """Callers that each want another number of threads, so that pools replace one another, all get their work done."""
    results = {}

    def call(k):
        done = []
        for _ in range(20):
            run_blocks(done.append, 10, 2 + k)
        results[k] = Counter(done)

    callers = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert results == {k: Counter(dict.fromkeys(range(10), 20)) for k in range(8)}


def test_drawing_while_python_ends():
    """A draw of many blocks in a function that runs at exit, when no pool takes work, is whole."""
    script = """
    import atexit, json
    import lapnoise

    rng = lapnoise.default_rng(7, threads=2)
    rng.laplace(size=300_000)

    def late():
        print(json.dumps(rng.laplace(size=300_000).sum()))

    atexit.register(late)
    """
    late = json.loads(fresh_process.run(script))
    assert late == default_rng(7).laplace(size=600_000)[300_000:].sum()


def test_small_draws_start_no_thread():
    """Below the size where threads pay, a draw stays on the calling thread, and importing starts none either."""
    script = """
    import threading
    import numpy as np
    import lapnoise
    rng = lapnoise.default_rng(7, threads=4)
    rng.laplace(size=50_000)
    rng.add_laplace(np.zeros(100_000)[::2], 1.0)
    few = threading.active_count()
    rng.laplace(size=500_000)
    print(few, threading.active_count())
    """
    few, many = map(int, fresh_process.run(script, LAPNOISE_NUM_THREADS=None).split())
    assert few == 1
    assert 2 <= many <= 4


def test_scratch_belongs_to_a_thread():
    """Kernels that run at once never share their work space."""
    from lapnoise._fill import scratch

    barrier = threading.Barrier(2)
    found = {}

    def take(k):
        found[k] = scratch()
        barrier.wait(timeout=30)

    threads = [threading.Thread(target=take, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not np.shares_memory(found[0], found[1])
    assert scratch() is scratch()
