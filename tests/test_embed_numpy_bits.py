"""ChaChaBits: NumPy's generators over the words of a lapnoise stream, each word given out once."""

import concurrent.futures
import copy
import ctypes
import gc
import json
import os
import pickle
import sys
import textwrap
import threading

import fresh_process
import numpy as np
import pytest
import stats

import lapnoise
from lapnoise import ChaChaBits, default_rng

END = 2**62
DOUBLE = 2.0**-53

GOLDEN_WORDS = [16753149246387740960, 12895515795363899951]
GOLDEN_DOUBLES = [0.908190040445374, 0.6990673120327339]
GOLDEN_HALVES = [1141596448, 3900646522, 3793398319]
GOLDEN_20 = [7997776715974297026, 1190141480823472867]

SEEDS = [0, 7, [1, 2, 3], np.random.SeedSequence(5, spawn_key=(3,)), 2**200]


def words(n, seed=7, rounds=12, at=0):
    rng = default_rng(seed, rounds=rounds)
    rng.seek(at)
    return rng.words(n)


def doubles(some):
    return (some >> np.uint64(11)).astype(np.float64) * DOUBLE


def halves(some):
    return [half for word in some.tolist() for half in (word & 0xFFFFFFFF, word >> 32)]


def next32(bits, n=1):
    """Return draws of 32 bits by the C function itself, as NumPy makes them inside."""
    interface = bits.ctypes
    return [interface.next_uint32(interface.state) for _ in range(n)]


@pytest.mark.parametrize("rounds", [8, 12, 20])
@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_words_are_those_of_the_stream(seed, rounds):
    """The words are those of `default_rng` with the same seed and rounds, in order, over many batches."""
    bits = ChaChaBits(seed, rounds=rounds)
    expected = words(2000, seed, rounds)
    got = [bits.random_raw(), *bits.random_raw(700), *bits.random_raw((2, 3)).ravel()]
    interface = bits.ctypes
    got += [interface.next_uint64(interface.state) for _ in range(1100)]
    got += bits.random_raw(193).tolist()
    assert got == expected.tolist()
    assert bits.position == 2000


def test_golden_values():
    """A seed gives these words, floats, halves and normal draws, on every machine."""
    assert ChaChaBits(7).random_raw(2).tolist() == GOLDEN_WORDS
    assert np.random.Generator(ChaChaBits(7)).random(2).tolist() == GOLDEN_DOUBLES
    assert next32(ChaChaBits(7), 3) == GOLDEN_HALVES
    assert np.random.Generator(ChaChaBits(7, rounds=20)).integers(0, 2**64, 2, np.uint64).tolist() == GOLDEN_20


def test_doubles_are_the_high_bits_of_words():
    """`Generator.random` gives (word >> 11) 2^-53 of each word in its turn, across batches too."""
    rng = np.random.Generator(ChaChaBits(7))
    assert np.array_equal(rng.random(5), doubles(words(5)))
    assert np.array_equal([rng.random() for _ in range(3)], doubles(words(3, at=5)))
    assert np.array_equal(rng.random(1500), doubles(words(1500, at=8)))
    assert np.array_equal(np.random.RandomState(ChaChaBits(7)).random_sample(5), doubles(words(5)))


def test_halves_are_low_then_high():
    """A draw of 32 bits takes the low half of a word, the next one the high half, whatever is drawn in between."""
    bits = ChaChaBits(7)
    assert next32(bits, 1025) == halves(words(513))[:1025]
    assert bits.random_raw() == words(1, at=513)[0]
    assert next32(bits, 2) == [halves(words(1, at=512))[1], halves(words(1, at=514))[0]]
    floats = np.random.Generator(ChaChaBits(7)).random(6, np.float32)
    expected = [(half >> 8) * 2.0**-24 for half in halves(words(3))]
    assert floats.tolist() == expected


def test_raw_words_leave_a_half_alone():
    """`random_raw` without output takes its words too, and keeps a half word for the next draw of 32 bits."""
    bits = ChaChaBits(7)
    next32(bits)
    assert bits.random_raw(5, output=False) is None
    assert bits.random_raw(output=False) is None
    assert bits.position == 7
    assert next32(bits) == [halves(words(1))[1]]
    assert bits.random_raw(0).shape == (0,)
    assert bits.random_raw((2, 0, 3)).shape == (2, 0, 3)


P3 = "[0.1, 0.2, 0.7]"
CALLS = {
    "beta": ["1.0, 2.0", "1.0, 2.0, 3"],
    "binomial": ["5, 0.3", "500, 0.3, 3"],
    "bytes": ["3"],
    "chisquare": ["3.0", "3.0, 3"],
    "choice": ["5", "5, 3", "5, 3, False", f"[1, 2, 3], p={P3}", f"3, 2, False, p={P3}"],
    "dirichlet": ["[1.0, 2.0]", "[1.0, 2.0], 3"],
    "exponential": ["", "1.0, 3"],
    "f": ["1.0, 2.0", "1.0, 2.0, 3"],
    "gamma": ["2.0", "2.0, 1.0, 3"],
    "geometric": ["0.3", "0.5, 3"],
    "gumbel": ["", "0.0, 1.0, 3"],
    "hypergeometric": ["5, 6, 3", "50, 60, 30, 3"],
    "laplace": ["", "0.0, 1.0, 3"],
    "logistic": ["", "0.0, 1.0, 3"],
    "lognormal": ["", "0.0, 1.0, 3"],
    "logseries": ["0.3", "0.3, 3"],
    "multinomial": [f"5, {P3}", f"5, {P3}, 3"],
    "multivariate_normal": ["[0.0, 0.0], np.eye(2)", "[0.0, 0.0], np.eye(2), 3"],
    "negative_binomial": ["3, 0.4", "3, 0.4, 3"],
    "noncentral_chisquare": ["3.0, 1.0", "3.0, 1.0, 3"],
    "noncentral_f": ["2.0, 3.0, 1.0", "2.0, 3.0, 1.0, 3"],
    "normal": ["", "0.0, 1.0, 3"],
    "pareto": ["3.0", "3.0, 3"],
    "permutation": ["5", "np.arange(5)", "np.ones((3, 3))"],
    "poisson": ["", "20.0, 3"],
    "power": ["3.0", "3.0, 3"],
    "rayleigh": ["", "1.0, 3"],
    "shuffle": ["[1, 2, 3]", "np.arange(5)", "np.ones((3, 3))"],
    "standard_cauchy": ["", "3"],
    "standard_exponential": ["", "3"],
    "standard_gamma": ["2.0", "2.0, 3"],
    "standard_normal": ["", "3"],
    "standard_t": ["3.0", "3.0, 3"],
    "triangular": ["0.0, 1.0, 2.0", "0.0, 1.0, 2.0, 3"],
    "uniform": ["", "0.0, 1.0, 3"],
    "vonmises": ["0.0, 1.0", "0.0, 1.0, 3"],
    "wald": ["1.0, 1.0", "1.0, 1.0, 3"],
    "weibull": ["2.0", "2.0, 3"],
    "zipf": ["3.0", "3.0, 3"],
}
GENERATOR_CALLS = CALLS | {
    "integers": ["5", "5, 9, 3", "2**40", "5, dtype=np.uint8", "5, size=3, dtype=np.int16", "[3, 4]"],
    "multivariate_hypergeometric": ["[3, 4], 2", "[3, 4], 2, 3, method='count'"],
    "permuted": ["np.arange(5)", "np.ones((3, 3))", "np.ones((3, 3)), axis=1"],
    "random": ["", "3", "3, np.float32"],
}
LEGACY_CALLS = CALLS | {
    "rand": ["", "3"],
    "randint": ["5", "5, 9, 3"],
    "randn": ["", "3"],
    "random": ["", "3"],
    "random_sample": ["", "3"],
    "tomaxint": ["", "3"],
}
KINDS = [(np.random.Generator, GENERATOR_CALLS), (np.random.RandomState, LEGACY_CALLS)]
NO_DRAWS = {"bit_generator", "spawn", "get_state", "set_state", "seed", "random_integers"}


def each_call(calls):
    return [f"rng.{name}({arguments})" for name, each in calls.items() for arguments in each]


@pytest.mark.parametrize(("kind", "calls"), KINDS, ids=["Generator", "RandomState"])
def test_every_distribution_runs(kind, calls):
    """Every method of NumPy's generators draws, the same again from the same seed, and takes words."""
    assert {name for name in dir(kind) if not name.startswith("_")} - NO_DRAWS == set(calls)
    for call in each_call(calls):
        results = []
        for _ in range(2):
            bits = ChaChaBits(7)
            results.append(eval(call, {"rng": kind(bits), "np": np}))
            assert bits.position > 0, call
        assert repr(results[0]) == repr(results[1]), call


class Entered(Exception):
    """Raised by a lock that lets nobody in."""


@pytest.mark.parametrize(("kind", "calls"), KINDS, ids=["Generator", "RandomState"])
def test_every_draw_of_numpy_enters_the_lock_first(kind, calls, monkeypatch):
    """No method of NumPy's takes a word before it has entered the lock, which may refuse."""
    bits = ChaChaBits(7)
    rng = kind(bits)
    before = bits.position

    def refuse(self):
        raise Entered

    monkeypatch.setattr(type(bits.lock), "__enter__", refuse)
    for call in [*each_call(calls), "bits.random_raw()", "bits._benchmark(3)", "bits.cffi"]:
        with pytest.raises(Entered):
            eval(call, {"rng": rng, "np": np, "bits": bits})
    assert bits.position == before


N = 200_000
MOMENTS = {
    "standard_normal": (lambda rng: rng.standard_normal(N), 0.0, 1.0, 3.0),
    "laplace": (lambda rng: rng.laplace(size=N), 0.0, 2.0, 24.0),
    "standard_exponential": (lambda rng: rng.standard_exponential(N), 1.0, 1.0, 9.0),
    "random": (lambda rng: rng.random(N), 0.5, 1 / 12, 1 / 80),
    "random float32": (lambda rng: rng.random(N, np.float32), 0.5, 1 / 12, 1 / 80),
    "integers": (lambda rng: rng.integers(0, 1000, N), 499.5, (1000**2 - 1) / 12, 1000**4 / 80),
}


def mean_check(draws, mean, variance):
    z = stats.normal_quantile(stats.ALPHA)
    unit = np.sqrt(variance / len(draws))
    detects = (z + stats.normal_quantile(2 * stats.MISS)) * unit
    return stats.Check("mean", abs(float(np.mean(draws, dtype=np.float64)) - mean), z * unit, detects)


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name):
    """Means and mean squares of NumPy's distributions over ChaCha's words are theirs."""
    draw, mean, variance, fourth = MOMENTS[name]
    draws = np.asarray(draw(np.random.Generator(ChaChaBits(11))), np.float64)
    stats.accept(mean_check(draws, mean, variance))
    squares = (draws - mean) ** 2
    stats.accept(mean_check(squares, variance, fourth - variance**2))
    unit = np.sqrt(variance)
    stats.reject(mean_check(draws + 0.05 * unit, mean, variance))
    stats.reject(mean_check(1.1 * squares, variance, fourth - variance**2))


@pytest.mark.parametrize("place", [0, 1, 127, 128, 511, 512, 513, 1000, 2**40 + 77])
@pytest.mark.parametrize("half", [False, True])
def test_state_returns_anywhere(place, half):
    """A state set again goes on with the same words and halves, whether in the middle of a batch or of a word."""
    bits = ChaChaBits(7, rounds=8)
    bits.advance(place)
    if half:
        next32(bits)
    kept = bits.state
    expected = [next32(bits, 3), bits.random_raw(1000).tolist(), bits.state]
    other = ChaChaBits()
    rng = np.random.Generator(other)
    other.state = json.loads(json.dumps(kept))
    assert [next32(other, 3), other.random_raw(1000).tolist(), other.state] == expected
    bits.state = kept
    assert bits.state == kept
    assert np.array_equal(rng.random(3), doubles(words(3, rounds=8, at=other.position - 3)))


def test_state_keeps_stream_and_children():
    """A state tells the stream of a jumped one, and how many children were spawned."""
    bits = ChaChaBits(7)
    bits.spawn(2)
    other = ChaChaBits(1)
    other.state = bits.state
    assert [child.random_raw() for child in other.spawn(1)] == [
        child.random_raw() for child in ChaChaBits(7).spawn(3)[2:]
    ]
    there = bits.jumped(3)
    other.state = there.state
    assert other.random_raw(5).tolist() == there.random_raw(5).tolist() != words(5).tolist()


COPIES = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("how", COPIES)
def test_copies_go_on_alike_and_apart(how):
    """A copy of a seeded one goes on alike, from the middle of a word, with seed and children, and shares nothing."""
    bits = ChaChaBits(7)
    bits.random_raw(700)
    next32(bits)
    bits.spawn(1)
    expected = [*next32(ChaChaBits(7).advance(700), 2)[1:], *words(600, at=701)]
    children = [child.random_raw() for child in ChaChaBits(7).spawn(3)[1:]]
    again = COPIES[how](bits)
    for each in (again, bits):
        assert [*next32(each), *each.random_raw(600)] == expected
        assert [child.random_raw() for child in each.spawn(2)] == children
        assert each.seed_seq.entropy == 7


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
@pytest.mark.parametrize("kind", [np.random.Generator, np.random.RandomState])
def test_copies_of_numpys_generators(kind, how):
    """NumPy's generators over these bits can be pickled and copied too, and go on alike."""
    rng = kind(ChaChaBits(7))
    rng.standard_normal(701)
    again = COPIES[how](rng)
    assert again.standard_normal(700).tolist() == rng.standard_normal(700).tolist()
    if kind is np.random.RandomState:
        rng.set_state(state := again.get_state(legacy=False))
        assert state["bit_generator"] == "ChaChaBits"
        assert again.standard_normal(3).tolist() == rng.standard_normal(3).tolist()


def test_the_key_of_the_system_is_not_shown():
    """Keyed by the operating system it can be neither copied, pickled nor jumped; neither state nor text tell a key."""
    bits = ChaChaBits()
    for attempt in (
        lambda: bits.state,
        lambda: bits.jumped(),
        lambda: copy.copy(bits),
        lambda: copy.deepcopy(bits),
        lambda: pickle.dumps(bits),
        lambda: pickle.dumps(np.random.Generator(bits)),
        lambda: np.random.RandomState(bits).get_state(legacy=False),
    ):
        with pytest.raises(TypeError, match="keyed by the operating system cannot be pickled or copied"):
            attempt()
    assert repr(bits) == "ChaChaBits(key from the operating system, rounds=12, position=0)"
    with pytest.raises(TypeError, match="seed must be None, an int"):
        ChaChaBits(bits.seed_seq)
    assert not set(bits.random_raw(100).tolist()) & set(ChaChaBits().random_raw(100).tolist())
    seeded = ChaChaBits(7, rounds=8)
    seeded.random_raw(3)
    assert repr(seeded) == "ChaChaBits(key from a seed, rounds=8, position=3)"


def test_spawn_gives_the_children_of_the_generator():
    """Children are those that `Generator.spawn` of the same seed gives, by count; NumPy's own spawn leads there."""
    bits, rng = ChaChaBits(7, rounds=20), default_rng(7, rounds=20)
    expected = [child.words(3).tolist() for child in rng.spawn(5)]
    spawned = [*bits.spawn(2), *(child.bit_generator for child in np.random.Generator(bits).spawn(3))]
    assert [child.random_raw(3).tolist() for child in spawned] == expected
    assert bits.position == 0
    system = ChaChaBits().spawn(2)
    assert system[0].random_raw() != system[1].random_raw()
    with pytest.raises(TypeError, match="a generator that was jumped cannot spawn"):
        bits.jumped().spawn(1)


def test_from_generator_takes_a_child():
    """Made from a lapnoise generator it draws from the generator's next child, and leaves its words alone."""
    rng = default_rng(7, rounds=8)
    made = [ChaChaBits.from_generator(rng) for _ in range(2)]
    assert [bits.random_raw(3).tolist() for bits in made] == [
        child.words(3).tolist() for child in default_rng(7, rounds=8).spawn(2)
    ]
    assert rng.position == 0
    named = ChaChaBits.from_generator(rng.child("numpy"))
    assert named.random_raw() == default_rng(7, rounds=8).child("numpy").spawn(1)[0].words(1)[0]
    with pytest.raises(TypeError, match=r"^rng must be a lapnoise Generator, got numpy\.random\..*Generator$"):
        ChaChaBits.from_generator(np.random.default_rng(7))


def test_jumps_go_to_streams_of_their_own():
    """A jump leads to the stream with that much larger an id, at the same place, without the half word."""
    from lapnoise.bits.chacha import stream_word
    from lapnoise.bits.entropy import Key

    bits = ChaChaBits(7)
    bits.random_raw(130)
    next32(bits)
    key = np.frombuffer(Key.from_seed(np.random.SeedSequence(7)).reveal(), "<u4").tolist()
    for jumps in (1, 5, 2**64 - 1):
        there = bits.jumped(jumps)
        expected = [stream_word(key, 131 + i, jumps, 12) for i in range(3)]
        assert there.random_raw(2).tolist() == expected[:2]
        assert next32(there) == [expected[2] & 0xFFFFFFFF]
    assert bits.jumped(2).jumped(3).random_raw() == bits.jumped(5).random_raw()
    assert bits.jumped(0).random_raw() == words(1, at=131)[0]
    assert bits.jumped().position == bits.position == 131
    with pytest.raises(ValueError, match=r"^jumps must be less than 2\*\*64 in all, got 1 after 18446744073709551615$"):
        bits.jumped(2**64 - 1).jumped()


def test_advance_moves_the_place():
    """Advancing goes on or back by whole words, drops a half word, and stays within the stream."""
    bits = ChaChaBits(7)
    rng = np.random.Generator(bits)
    next32(bits)
    assert bits.advance(699) is bits
    assert np.array_equal(rng.random(3), doubles(words(3, at=700)))
    bits.advance(-703)
    assert next32(bits) == halves(words(1))[:1]
    for delta in (-2, END):
        with pytest.raises(ValueError, match=rf"^delta must lead to a position from 0 to 2\*\*62, got {delta} at 1$"):
            bits.advance(delta)
    assert next32(bits) == halves(words(1))[1:]
    system = ChaChaBits()
    system.random_raw(3)
    with pytest.raises(ValueError, match=r"^delta must be >= 0 with a key from the operating system, .*, got -1$"):
        system.advance(-1)
    assert system.advance(5).position == 8


def test_a_signal_handler_draws_other_words():
    """A handler that draws while words are being made gets those behind them, and none is given out twice."""
    script = """
    import signal, numpy as np
    from lapnoise import ChaChaBits

    bits, inner = ChaChaBits(7), []
    signal.signal(signal.SIGALRM, lambda *_: inner.append(bits.random_raw(8)))
    outer = []
    for _ in range(5):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        outer.append(bits.random_raw(10_000_000))
    drawn = np.concatenate([*outer, *inner])
    expected = ChaChaBits(7).random_raw(bits.position)
    print(len(inner) > 0, drawn.size == bits.position, bool((np.sort(drawn) == np.sort(expected)).all()))
    """
    assert fresh_process.run(script, timeout=120).split() == ["True", "True", "True"]


def test_the_lock_that_was_entered_is_left():
    """A process that forks inside the lock can draw in the child and leave the lock there."""
    script = """
    import os
    from lapnoise import ChaChaBits

    bits = ChaChaBits()
    with bits.lock:
        bits.random_raw()
        pid = os.fork()
        if pid == 0:
            bits.random_raw(3)
    if pid == 0:
        bits.random_raw(2)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), bits.position)
    """
    assert fresh_process.run(script).split() == ["0", "1"]


def test_the_end_of_the_stream():
    """At word 2^62 every draw is refused; a draw that began before goes on, into words of the same stream."""
    from lapnoise.bits.chacha import stream_word
    from lapnoise.bits.entropy import Key

    bits = ChaChaBits(7)
    rng = np.random.Generator(bits)
    bits.advance(END - 3)
    with pytest.raises(OverflowError, match=r"^the stream ends at word 2\*\*62, and a draw at position"):
        bits.random_raw(4)
    assert bits.random_raw(2).tolist() == words(2, at=END - 3).tolist()
    drawn = rng.random(3)
    key = np.frombuffer(Key.from_seed(np.random.SeedSequence(7)).reveal(), "<u4").tolist()
    assert drawn.tolist() == [(stream_word(key, END - 1 + i, 0, 12) >> 11) * DOUBLE for i in range(3)]
    assert bits.position == END
    for draw in (
        rng.random,
        lambda: rng.normal(size=3),
        bits.random_raw,
        lambda: bits.random_raw(1),
    ):
        with pytest.raises(OverflowError, match=r"^the stream ends at word 2\*\*62"):
            draw()
    again = ChaChaBits(1)
    again.state = bits.state
    with pytest.raises(OverflowError):
        again.random_raw()
    bits.advance(-1)
    assert bits.random_raw() == words(1, at=END - 1)[0]


@pytest.fixture
def eager_switching():
    """Make Python change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_share_an_instance(eager_switching):
    """Every word that 16 threads take, by generators of their own and alone and in arrays, is given out once."""
    bits = ChaChaBits(7)
    shared = np.random.Generator(bits)

    def work(i):
        own = np.random.Generator(bits)
        sizes = [None if j % 3 else 1 + (i * j) % 300 for j in range(40)]
        return np.concatenate([np.atleast_1d((own, shared)[j % 2].random(size)) for j, size in enumerate(sizes)])

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        got = np.sort(np.concatenate(list(pool.map(work, range(16)))))
    assert bits.position == got.size
    assert np.array_equal(got, np.sort(doubles(words(got.size))))


def test_the_lock_is_a_lock():
    """It can be held by name, again by the thread that holds it, and keeps other threads out."""
    bits = ChaChaBits(7)
    lock = bits.lock
    with lock, lock:
        assert np.random.Generator(bits).random() == doubles(words(1))[0]
        taken = []
        other = threading.Thread(target=lambda: taken.append(lock.acquire(timeout=0.01)))
        other.start()
        other.join()
    assert taken == [False]
    assert lock.acquire(False)
    lock.release()
    bits.advance(END - 1)
    for _ in range(2):
        with pytest.raises(OverflowError):
            lock.acquire()
    bits.advance(-1)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:  # what was refused is not held
        assert pool.submit(bits.random_raw).result(10) == words(1, at=END - 1)[0]


def test_memory_lives_as_long_as_a_generator():
    """A generator draws on when its bits are forgotten, and memory is given back when it is forgotten too."""
    import weakref

    bits = ChaChaBits(7)
    rng, ended = np.random.Generator(bits), weakref.ref(bits.lock)
    del bits
    gc.collect()
    others = [ChaChaBits(seed).random_raw(600) for seed in range(50)]
    assert np.array_equal(rng.random(1000), doubles(words(1000)))
    assert len(others) == 50
    del rng
    assert ended() is None


def test_it_is_a_bit_generator():
    """NumPy knows it as its own, with a capsule, C interface and benchmark; one seed stays the one that was given."""
    sequence = np.random.SeedSequence(5)
    bits = lapnoise.embed.numpy_bits.ChaChaBits(sequence)
    assert isinstance(bits, np.random.BitGenerator)
    assert np.random.default_rng(bits).bit_generator is bits
    assert bits.seed_seq is sequence
    assert bits.ctypes.state_address == bits.ctypes.state.value
    bits._benchmark(100, "double")
    assert bits.position == 100
    next_double = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(
        ctypes.cast(bits.ctypes.next_double, ctypes.c_void_p).value
    )
    assert next_double(bits.ctypes.state) == doubles(words(1, seed=5, at=100))[0]


def test_jitted_functions_take_a_generator():
    """Numba draws from a Generator on these bits what NumPy draws."""
    import numba

    @numba.njit
    def draw(rng, n):
        return [rng.random() for _ in range(n)], rng.standard_normal(), rng.laplace(0.0, 1.0)

    bits = ChaChaBits(7)
    rng = np.random.Generator(ChaChaBits(7))
    assert draw(np.random.Generator(bits), 600) == (rng.random(600).tolist(), rng.standard_normal(), rng.laplace())
    assert bits.position == rng.bit_generator.position


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ("ChaChaBits(-1)", ValueError, "seed must be >= 0, got -1"),
        ("ChaChaBits(True)", TypeError, "seed must be None, an int, a sequence of ints or a SeedSequence, got True"),
        ("ChaChaBits('a')", TypeError, "seed must be None, an int, a sequence of ints or a SeedSequence, got 'a'"),
        ("ChaChaBits([])", TypeError, "seed must be None, an int, a sequence of ints or a SeedSequence, got []"),
        ("ChaChaBits(7, rounds=10)", ValueError, "rounds must be 8, 12 or 20, got 10"),
        ("bits.jumped(1.0)", TypeError, "jumps must be an int, got 1.0"),
        ("bits.jumped(-1)", ValueError, "jumps must be >= 0, got -1"),
        ("bits.advance('a')", TypeError, "delta must be an int, got 'a'"),
        ("bits.spawn(-1)", ValueError, "n_children must be >= 0, got -1"),
        ("bits.random_raw(-1)", ValueError, "size must be >= 0, got -1"),
        ("put(7)", TypeError, "state must be a dict, got int"),
        ("put({})", ValueError, 'state["bit_generator"] must be "ChaChaBits", got None'),
        ("put(np.random.PCG64(1).state)", ValueError, 'state["bit_generator"] must be "ChaChaBits", got \'PCG64\''),
        ("put(state | {'state': 3})", TypeError, 'state["state"] must be a dict, got int'),
        ("put(inner(key=2**256))", ValueError, 'state["state"]["key"] must be from 0 to 2**256 - 1'),
        ("put(inner(key='a'))", TypeError, 'state["state"]["key"] must be an int, got str'),
        (
            "put(inner(position=2**62 + 1))",
            ValueError,
            'state["state"]["position"] must be from 0 to 2**62, got 4611686018427387905',
        ),
        ("put(inner(position=-1))", ValueError, 'state["state"]["position"] must be from 0 to 2**62, got -1'),
        ("put(inner(rounds=7))", ValueError, "rounds must be 8, 12 or 20, got 7"),
        (
            "put(state | {'uinteger': 2**32})",
            ValueError,
            'state["uinteger"] must be from 0 to 2**32 - 1, got 4294967296',
        ),
        ("put({'bit_generator': 'ChaChaBits', 'state': {}})", ValueError, 'state["state"]["key"] must be given'),
    ],
)
def test_what_is_refused(call, error, message):
    """Arguments of the wrong kind or value are refused by name, and nothing moves; no number of a state is shown."""
    bits = ChaChaBits(7)
    state = bits.state
    scope = {
        "bits": bits,
        "ChaChaBits": ChaChaBits,
        "np": np,
        "state": state,
        "put": lambda value: setattr(bits, "state", value),
        "inner": lambda **changes: state | {"state": state["state"] | changes},
    }
    with pytest.raises(error) as refused:
        eval(call, scope)
    assert str(refused.value) == message
    assert bits.state == state


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

FORKED = """
import json, os, pickle, threading
import multiprocessing
import numpy as np
import lapnoise
from lapnoise import ChaChaBits

def in_child(draw):
    # Run draw() in a forked process and return what it returned.
    receiver, sender = multiprocessing.get_context("fork").Pipe(duplex=False)
    def work():
        try:
            sender.send(draw())
        except BaseException as error:
            sender.send(f"{type(error).__name__}: {error}")
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    sender.close()
    got = receiver.recv()
    process.join()
    return got
"""


def forked(script):
    return json.loads(fresh_process.run(FORKED + textwrap.dedent(script)))


@needs_fork
@pytest.mark.parametrize("before", ["pass", "rng.random()", "bits.random_raw(700); rng.integers(5)"])
def test_forked_children_of_the_system_have_words_of_their_own(before):
    """Keyed by the operating system, parent, children and a grandchild share no word, whatever was buffered."""
    people = forked(f"""
    bits = ChaChaBits()
    rng = np.random.Generator(bits)
    {before}
    words = lambda: [rng.random() for _ in range(5)] + rng.random(600).tolist() + rng.random(5, np.float32).tolist()
    family = lambda: [words(), in_child(words), bits.spawn(1)[0].random_raw(3).tolist()]
    print(json.dumps([words(), in_child(words), *in_child(family), in_child(lambda: bits.random_raw(600).tolist())]))
    """)
    single = people[0][605:], people[1][605:], people[2][605:]
    assert len({tuple(each) for each in single}) == 3
    drawn = [value for each in people for value in each[:605]]
    assert len(set(drawn)) == len(drawn)


@needs_fork
def test_seeded_ones_refuse_in_a_forked_child():
    """In a forked child every draw of a seeded one raises what a seeded Generator raises, and the parent goes on."""
    told, after = forked("""
    bits = ChaChaBits(7)
    rng = np.random.Generator(bits)
    legacy = np.random.RandomState(bits)
    rng.random()
    attempts = [rng.random, lambda: rng.integers(5, size=3), lambda: rng.shuffle([1, 2]), legacy.randn, bits.random_raw,
                lambda: bits.random_raw(3), lambda: bits.spawn(1), lambda: bits.jumped(), lambda: bits.advance(1),
                lambda: bits.state, lambda: pickle.dumps(rng), lambda: bits.cffi, lambda: bits._benchmark(1),
                lambda: setattr(bits, "state", state)]
    state = bits.state
    print(json.dumps([[in_child(attempt) for attempt in attempts], bits.random_raw(2).tolist()]))
    """)
    assert len(told) == 14
    for each in told:
        assert each.startswith("RuntimeError: this generator was seeded before the process forked")
    assert after == words(2, at=1).tolist()


@needs_fork
def test_jitted_functions_see_a_fork():
    """Jitted draws of a forked child are its own too, where the key is the system's; of a seeded one they repeat."""
    drawn = forked("""
    import numba
    @numba.njit
    def jitted(rng):
        return [rng.random() for _ in range(20)]
    rng = np.random.Generator(ChaChaBits())
    jitted(rng)
    seeded = np.random.Generator(ChaChaBits(7))
    print(json.dumps([in_child(lambda: jitted(rng)), in_child(lambda: jitted(rng)), jitted(rng),
                      in_child(lambda: jitted(seeded)), jitted(seeded)]))
    """)
    assert len({value for each in drawn for value in each}) == 80
    assert drawn[3] == drawn[4] == doubles(words(20)).tolist()


@needs_fork
def test_a_fork_amid_draws_of_other_threads_does_not_hang():
    """A child forked while other threads hold the lock draws at once."""
    drawn = forked("""
    rng = np.random.Generator(ChaChaBits())
    stop = threading.Event()
    def busy():
        while not stop.is_set():
            rng.random(100_000)
    threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    drawn = [in_child(rng.random) for _ in range(10)]
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps(drawn))
    """)
    assert len(set(drawn)) == 10
    assert all(isinstance(each, float) for each in drawn)


def test_functions_are_cached_and_do_without_a_cache(tmp_path):
    """A second process loads the C functions from the cache; where it is damaged they are compiled, with a warning."""
    script = """
    import json, warnings
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        import lapnoise
        word = lapnoise.ChaChaBits(7).random_raw()
    from lapnoise.embed._bit_functions import FUNCTIONS
    hits = [function._compiled.cache_hits for function in FUNCTIONS[:3]]
    print(json.dumps([word, hits, [f"{w.category.__name__}" for w in told]]))
    """
    first, second = (json.loads(fresh_process.run(script, NUMBA_CACHE_DIR=tmp_path / "cache")) for _ in range(2))
    assert first == [words(1)[0], [0, 0, 0], []]
    assert second == [words(1)[0], [1, 1, 1], []]
    for path in (tmp_path / "cache").rglob("*.nbi"):
        path.write_bytes(b"")
    damaged = json.loads(fresh_process.run(script, NUMBA_CACHE_DIR=tmp_path / "cache"))
    assert damaged == [words(1)[0], [0, 0, 0], ["UncachedKernelsWarning"]]
