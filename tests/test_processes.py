"""Forked and spawned processes: no draw is ever given out twice.

Forks happen in fresh processes, which have a time limit.
"""

import json
import multiprocessing
import os
import textwrap

import fresh_process
import numpy as np
import pytest

from lapnoise import default_rng

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

FORKED = """
import json, os, sys
import numpy as np
import lapnoise

def in_child(draw):
    # Run draw() in a forked process and return what it returned.
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, json.dumps(draw()).encode())
            os._exit(0)
        except BaseException as error:
            os.write(write, json.dumps(f"{type(error).__name__}: {error}").encode())
            os._exit(1)
    os.close(write)
    with open(read, "rb") as pipe:
        printed = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(printed)
"""

DRAW = {
    "scalars": "[rng.laplace() for _ in range(200)]",
    "array": "rng.laplace(size=200).tolist()",
    "float32": "rng.laplace(size=200, dtype=np.float32).tolist()",
    "words": "rng.words(200).tolist()",
    "sum": "rng.add_laplace(np.zeros(200), 1.0).tolist()",
    "child": "rng.child('a').laplace(size=200).tolist()",
    "spawn": "rng.spawn(1)[0].laplace(size=200).tolist()",
}


@needs_fork
@pytest.mark.parametrize("before", ["pass", "rng.laplace()", "rng.laplace(size=300)", "rng.words(1); rng.spawn(2)"])
def test_forked_children_draw_noise_of_their_own(before):
    """Whatever a parent without a seed drew before, eight children and four grandchildren share no draw."""
    script = f"""
    def draws():
        return {{name: eval(code) for name, code in {DRAW!r}.items()}}

    def family():
        own = draws()
        return [own, in_child(draws), in_child(draws)]

    rng = lapnoise.default_rng()
    {before}
    people = [person for _ in range(2) for person in in_child(family)]
    people += [in_child(draws) for _ in range(6)]
    people.append(draws())
    print(json.dumps(people))
    """
    people = json.loads(fresh_process.run(FORKED + textwrap.dedent(script)))
    assert len(people) == 13
    for name in DRAW:
        drawn = np.array([person[name] for person in people])
        if name == "float32":
            # float32 noise has 2^32 values, some in common by chance; all in one place is none.
            assert not (drawn[:, None, :] == drawn[None]).all(axis=2)[~np.eye(13, dtype=bool)].any()
            continue
        assert np.unique(drawn).size == drawn.size, name


@needs_fork
@pytest.mark.parametrize(
    "first", ["rng.child('a').words(2)", "rng.spawn(1)[0].words(2)", "kept.words(2)", "rng.words(2)"]
)
def test_the_first_step_in_a_forked_child_is_its_own(first):
    """Without a seed even a child of the same name, made or kept, gives other words in each process."""
    script = f"""
    rng = lapnoise.default_rng()
    kept = rng.child("kept")
    step = lambda: {first}.tolist()
    print(json.dumps([in_child(step), in_child(step), step(), in_child(step)]))
    """
    assert np.unique(json.loads(fresh_process.run(FORKED + textwrap.dedent(script)))).size == 8


@needs_fork
def test_children_of_multiprocessing_draw_noise_of_their_own():
    """Tasks of a pool that forks share no draw with one another or with the parent."""
    script = """
    import json, multiprocessing
    import lapnoise

    rng = lapnoise.default_rng()

    def task(i):
        return [rng.laplace() for _ in range(20)] + rng.laplace(size=100).tolist()

    drawn = [task(0)]
    with multiprocessing.get_context("fork").Pool(4) as pool:
        drawn += pool.map(task, range(16), chunksize=1)
    drawn.append(task(0))
    print(json.dumps(drawn))
    """
    drawn = np.array(json.loads(fresh_process.run(script)))
    assert drawn.shape == (18, 120)
    assert np.unique(drawn).size == drawn.size


@needs_fork
def test_a_fork_that_python_does_not_see():
    """After a fork made by C code, which runs no hook of Python's, the child still draws noise of its own."""
    script = """
    import ctypes
    os.fork = ctypes.PyDLL(None).fork
    rng = lapnoise.default_rng()
    first = rng.laplace(size=50).tolist()
    seeded = lapnoise.default_rng(1)
    refused = in_child(lambda: seeded.laplace())
    print(json.dumps([refused, first, in_child(lambda: rng.laplace(size=50).tolist()), rng.laplace(size=50).tolist(),
                      in_child(lambda: [rng.laplace() for _ in range(50)]), [rng.laplace() for _ in range(50)]]))
    """
    refused, *drawn = json.loads(fresh_process.run(FORKED + textwrap.dedent(script)))
    assert refused.startswith("RuntimeError: this generator was seeded before the process forked")
    assert np.unique(drawn).size == 250


SEEDED_CALLS = {
    "laplace": "rng.laplace()",
    "laplace array": "rng.laplace(size=3)",
    "laplace float32": "rng.laplace(size=3, dtype=np.float32)",
    "laplace of no draws": "rng.laplace(size=0)",
    "add_laplace": "rng.add_laplace([1.0], 1.0)",
    "exponential": "rng.exponential()",
    "log_laplace": "rng.log_laplace()",
    "bounded_laplace": "rng.bounded_laplace(0.0, 1.0, 0.0, 1.0)",
    "words": "rng.words(1)",
    "spawn": "rng.spawn(1)",
    "seek": "rng.seek(0)",
    "pickle": "pickle.dumps(rng)",
    "copy": "copy.copy(rng)",
    "deepcopy": "copy.deepcopy(rng)",
}


@needs_fork
@pytest.mark.parametrize("before", ["pass", "rng.laplace()", "rng.laplace(size=300)"])
def test_a_seeded_generator_refuses_to_draw_in_a_forked_child(before):
    """In the child every draw, spawn, seek and pickle of a seeded generator raises and moves nothing; children work."""
    script = f"""
    import copy, pickle

    def attempts():
        told = {{}}
        for name, code in {SEEDED_CALLS!r}.items():
            try:
                told[name] = repr(eval(code))
            except BaseException as error:
                told[name] = f"{{type(error).__name__}}: {{error}}"
        child = lambda: rng.child("a", 1).words(3).tolist()
        return [told, rng.position, child(), in_child(child)]

    rng = lapnoise.default_rng(7)
    {before}
    print(json.dumps([in_child(attempts), rng.position, rng.child("a", 1).words(3).tolist(), rng.words(3).tolist()]))
    """
    (told, position, child, grandchild), after, own_child, words = json.loads(
        fresh_process.run(FORKED + textwrap.dedent(script))
    )
    for name, message in told.items():
        assert message.startswith("RuntimeError: this generator was seeded before the process forked"), name
        assert "child(label)" in message
    expected = default_rng(7)
    assert child == grandchild == own_child == expected.child("a", 1).words(3).tolist()
    assert position == after == {"pass": 0, "rng.laplace()": 1, "rng.laplace(size=300)": 300}[before]
    expected.seek(after)
    assert words == expected.words(3).tolist()


@needs_fork
def test_a_seeded_child_made_in_the_child_can_be_used_and_pickled_there():
    """What `child` gives in a forked process is an ordinary generator of that process."""
    script = """
    import pickle
    rng = lapnoise.default_rng(7)
    def use():
        mine = rng.child("worker", 3)
        mine.laplace()
        other = pickle.loads(pickle.dumps(mine))
        mine.seek(0)
        drawn = mine.laplace(size=2).tolist() + mine.spawn(1)[0].laplace(size=2).tolist()
        return [drawn, other.laplace(size=1).tolist(), in_child(lambda: mine.laplace())]
    print(json.dumps(in_child(use)))
    """
    drawn, copied, refused = json.loads(fresh_process.run(FORKED + textwrap.dedent(script)))
    expected = default_rng(7).child("worker", 3)
    assert drawn == [*expected.laplace(size=2), *expected.spawn(1)[0].laplace(size=2)]
    expected.seek(1)
    assert copied == [expected.laplace()]
    assert refused.startswith("RuntimeError: this generator was seeded before the process forked")


@needs_fork
def test_a_fork_amid_draws_of_other_threads_does_not_hang():
    """A child forked while other threads hold the generator's locks and the pool's can draw at once, on two threads."""
    script = """
    import threading
    rng = lapnoise.default_rng(threads=2)
    rng.laplace(size=500_000)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            rng.laplace()
            rng.laplace(size=200_000)

    threads = [threading.Thread(target=busy, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    drawn = [in_child(lambda: [rng.laplace(), float(rng.laplace(size=400_000).sum())]) for _ in range(20)]
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps(drawn))
    """
    drawn = json.loads(fresh_process.run(FORKED + textwrap.dedent(script)))
    assert np.unique(drawn).size == 40


@needs_fork
def test_a_fork_after_the_pool_was_used_does_not_hang():
    """Large draws use two threads before a fork, in processes of a pool that were forked, and after it."""
    script = """
    import multiprocessing, threading
    import numpy as np
    import lapnoise

    n = 1_000_000
    rng = lapnoise.default_rng(7, threads=2)
    expected = rng.child(0).laplace(size=n)

    def task(i):
        child = rng.child(i)
        drawn = child.laplace(size=n).sum(), child.add_laplace(np.zeros(n)[::2], 1.0).sum()
        return drawn, threading.active_count() > 1

    with multiprocessing.get_context("fork").Pool(2) as pool:
        got = pool.map(task, [0, 0, 1])
    assert got[0] == got[1] != got[2]
    assert got[0] == task(0)
    assert got[0][0][0] == expected.sum()
    assert all(helped for _, helped in got)
    """
    fresh_process.run(script, LAPNOISE_NUM_THREADS=None)


def test_processes_without_a_seed_differ():
    """Two fresh processes draw different noise, and the same with one seed."""
    script = "import lapnoise, sys; print(lapnoise.default_rng(eval(sys.argv[1])).laplace(size=3).tolist())"
    running = [fresh_process.start(script, seed) for seed in ("None", "None", "5", "5")]
    first, second, seeded, again = map(fresh_process.finish, running)
    assert first != second
    assert seeded == again == f"{default_rng(5).laplace(size=3).tolist()}\n"


POOL = """
import json, multiprocessing, sys
import numpy as np
import lapnoise

def task(job):
    rng, i = job
    return rng.child("task", i).laplace(size=20).tolist()

def continued(rng):
    return [rng.position, rng.laplace(size=3).tolist(), rng.spawn(1)[0].laplace(size=3).tolist()]

if __name__ == "__main__":
    method, workers = sys.argv[1], int(sys.argv[2])
    rng = lapnoise.default_rng(7)
    rng.laplace(size=10)
    rng.spawn(2)
    try:
        multiprocessing.get_context(method).Pool(1).map(task, [(lapnoise.default_rng(), 0)])
    except TypeError as error:
        refused = str(error)
    with multiprocessing.get_context(method).Pool(workers) as pool:
        tasks = pool.map(task, [(rng, i) for i in range(10)], chunksize=1)
        print(json.dumps([tasks, pool.map(continued, [rng]), refused]))
"""


@pytest.fixture(scope="module")
def pool_script(tmp_path_factory):
    """Return the path of a script whose functions worker processes can import."""
    path = tmp_path_factory.mktemp("pool") / "pool_script.py"
    path.write_text(POOL)
    return path


@pytest.mark.parametrize(("method", "workers"), [("spawn", 1), ("spawn", 2), ("spawn", 4), ("forkserver", 2)])
def test_tasks_do_not_depend_on_the_number_of_workers(pool_script, method, workers):
    """A child for each task gives the same noise with any number of spawned workers; none of the tasks share any.

    A generator handed to a worker goes on where it stood, and one keyed by the operating system is not handed over.
    """
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    running = fresh_process.start(pool_script, method, workers)
    tasks, continued, refused = json.loads(fresh_process.finish(running, 120))
    assert "keyed by the operating system cannot be pickled" in refused
    assert tasks == [default_rng(7).child("task", i).laplace(size=20).tolist() for i in range(10)]
    assert np.unique(tasks).size == 200
    expected = default_rng(7)
    expected.laplace(size=10)
    third = expected.spawn(3)[2]
    assert continued == [[10, expected.laplace(size=3).tolist(), third.laplace(size=3).tolist()]]
