"""One generator in many hands: pickles, copies and threads give out no draw twice."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest
from bitwise import same

from lapnoise import default_rng


def copies(rng):
    yield pickle.loads(pickle.dumps(rng))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(rng, protocol))
    yield copy.copy(rng)
    yield copy.deepcopy(rng)


def test_copies_of_a_seeded_generator():
    """A pickle or a copy has the key, position, count of spawned children, rounds and threads; it moves alone."""
    for begin in ("fresh", "array", "scalar", "sought"):
        rng = default_rng(7, rounds=20, threads=3)
        if begin != "fresh":
            rng.spawn(2)
            _ = rng.laplace() if begin == "scalar" else rng.laplace(size=130)
        if begin == "sought":
            rng.seek(2**61 + 1)
        position = rng.position
        twin = default_rng(7, rounds=20)
        twin.spawn(0 if begin == "fresh" else 2)
        twin.seek(position)
        expected = twin.laplace(size=5)
        spawned = twin.spawn(1)[0].words(2)
        for other in copies(rng):
            assert repr(other) == repr(rng)
            assert other._threads == 3
            assert other._stream.sought == (begin == "sought")
            assert same([other.laplace() for _ in range(5)], expected)
            assert same(other.spawn(1)[0].words(2), spawned)
            assert same(other.child("a").words(2), twin.child("a").words(2))
            assert rng.position == position
        assert same(rng.laplace(size=5), expected)


@pytest.mark.parametrize(
    "make",
    [default_rng, lambda: default_rng().child("a"), lambda: default_rng().spawn(1)[0]],
    ids=["new", "child", "spawn"],
)
@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy], ids=lambda way: way.__name__)
def test_a_generator_keyed_by_the_operating_system_is_not_copied(make, way):
    """Neither such a generator nor its stream, its key or its children can be pickled or copied; it says why."""
    rng = make()
    for owned in (rng, rng._stream, rng._stream.key, [rng]):
        if way is copy.copy and type(owned) is list:
            continue
        with pytest.raises(
            TypeError, match="keyed by the operating system cannot be pickled or copied, because its noise"
        ):
            way(owned)


@pytest.mark.parametrize(
    "step", ["words(1)", "laplace()", "laplace(size=3)", "spawn(1)", "seek(5)", "__reduce__()[1][1].__reduce__()"]
)
def test_steps_along_a_stream_wait_for_its_lock(step):
    """Whatever reads and moves the position, or the count of children, holds the stream's lock."""
    rng = default_rng(7)
    rng.words(1)
    done = threading.Event()

    def take_step():
        eval(f"rng.{step}", {"rng": rng})
        done.set()

    thread = threading.Thread(target=take_step)
    with rng._stream.lock:
        thread.start()
        assert not done.wait(timeout=0.05)
    thread.join()
    assert done.is_set()


@pytest.fixture
def eager_switching():
    """Let the interpreter change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(count, work):
    """Run work(i) in so many threads, released together, and return what they returned."""
    barrier = threading.Barrier(count)
    results = [None] * count

    def run(i):
        barrier.wait()
        results[i] = work(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_share_a_generator(eager_switching):
    """Every word of a generator that 32 threads use is given out once: together they have those of one thread."""
    rng = default_rng(7, threads=2)
    got = in_threads(32, lambda i: np.concatenate([rng.words(1 + (i * j) % 300) for j in range(60)]))
    every = np.sort(np.concatenate(got))
    assert rng.position == every.size
    assert np.array_equal(every, np.sort(default_rng(7).words(every.size)))


def test_threads_share_single_draws(eager_switching):
    """Single draws and arrays of draws by 32 threads are those of a fresh generator, each given out once."""
    rng = default_rng(7)

    def work(i):
        drawn = []
        for j in range(100):
            drawn += rng.laplace(size=3).tolist() if (i + j) % 7 == 0 else [rng.laplace()]
        return drawn

    got = np.sort(np.concatenate(in_threads(32, work)))
    assert np.array_equal(got, np.sort(default_rng(7).laplace(size=got.size)))


def test_threads_spawn_distinct_children(eager_switching):
    """32 threads that spawn 100 children each at once get 3200 different ones, those of one thread."""
    rng = default_rng(7)
    got = in_threads(32, lambda i: [int(child.words(1)[0]) for _ in range(20) for child in rng.spawn(5)])
    expected = [int(child.words(1)[0]) for child in default_rng(7).spawn(3200)]
    assert sorted(word for words in got for word in words) == sorted(expected)
    assert len(set(expected)) == 3200


def test_threads_draw_large_arrays(eager_switching):
    """Threads that all draw arrays for the pool get whole arrays: each is a run of a fresh generator's draws."""
    n = 150_000
    rng = default_rng(7, threads=3)
    got = in_threads(8, lambda i: rng.laplace(size=n))
    expected = default_rng(7, threads=1).laplace(size=8 * n).reshape(8, n)
    assert sorted(map(bytes, got)) == sorted(map(bytes, expected))


def test_children_of_a_shared_generator(eager_switching):
    """`child` may be called from many threads while others draw."""
    rng = default_rng(7)
    got = in_threads(16, lambda i: (rng.laplace(size=10), rng.child(i % 4).words(2).tolist())[1])
    assert got == [default_rng(7).child(i % 4).words(2).tolist() for i in range(16)]
