"""What every generator has whatever it draws: words, children, a place in the stream, and a text without a key."""

import math

import numpy as np
import pytest
from bitwise import same

from lapnoise import default_rng
from lapnoise.bits.chacha import stream_word
from lapnoise.bits.stream import MAX_POSITION

F32 = np.float32


def test_words_are_those_of_the_reference():
    """`words` gives the ChaCha stream of the key that SeedSequence makes, also beyond block 2^32."""
    key = [int(k) for k in np.random.SeedSequence(7).generate_state(8, np.uint32)]
    for rounds in (8, 12, 20):
        rng = default_rng(7, rounds=rounds)
        for position in (0, 1, 127, 128, 511, 2**29 - 3, 2**29, 2**32 + 1, 2**60 + 77, MAX_POSITION - 5):
            rng.seek(position)
            assert rng.words(5).tolist() == [stream_word(key, position + i, 0, rounds) for i in range(5)]


def test_end_of_the_stream():
    """The last word of a stream can be drawn; a draw beyond is refused and takes nothing."""
    rng = default_rng(1)
    rng.seek(MAX_POSITION - 3)
    assert rng.laplace(size=2).size == 2
    for refused in (lambda: rng.laplace(size=2), lambda: rng.words(2), lambda: rng.laplace(size=3, dtype=F32)):
        with pytest.raises(OverflowError, match=r"the stream ends at word 2\*\*62"):
            refused()
    assert rng.position == MAX_POSITION - 1
    assert math.isfinite(rng.laplace())
    with pytest.raises(OverflowError, match=r"the stream ends at word 2\*\*62"):
        rng.laplace()
    assert rng.position == MAX_POSITION
    assert rng.laplace(size=0).size == 0


def test_seeds_and_rounds_make_streams():
    """Equal seeds agree in every form, others differ, and so do numbers of rounds."""
    first = {}
    for seed in (7, 8, [7, 8], [8, 7], 2**200):
        for rounds in (8, 12, 20):
            first[repr(seed), rounds] = int(default_rng(seed, rounds=rounds).words(1)[0])
    assert len(set(first.values())) == len(first)
    forms = (np.int64(7), np.random.SeedSequence(7), np.array(7), [7], (7,), np.array([7]))
    assert all(default_rng(form).words(1)[0] == first["7", 12] for form in forms)


def test_children_belong_to_their_labels():
    """The same labels give the same child whatever was drawn before; other labels, and nesting, give others."""
    rng = default_rng(1)
    made = {}
    for labels in [
        ("a",),
        ("b",),
        ("ab",),
        ("a", "b"),
        ("b", "a"),
        (1,),
        ("1",),
        (b"1",),
        (b"a",),
        (-1,),
        (2**70,),
        ("",),
    ]:
        made[labels] = rng.child(*labels).words(4).tobytes()
        assert rng.position == 0
    made["nested"] = rng.child("a").child("b").words(4).tobytes()
    made["parent"] = rng.words(4).tobytes()
    assert len(set(made.values())) == len(made)
    rng.laplace(size=100)
    rng.spawn(3)
    assert all(rng.child(*labels).words(4).tobytes() == made[labels] for labels in made if isinstance(labels, tuple))
    assert rng.child(np.int64(1)).words(4).tobytes() == made[1,]


def test_spawn_counts():
    """Every call of `spawn` gives new children, split in any way, and the position does not move."""
    rng = default_rng(1)
    together = [child.words(2).tobytes() for child in rng.spawn(5)]
    other = default_rng(1)
    other.laplace(size=10)
    apart = [child.words(2).tobytes() for count in (2, 0, 3) for child in other.spawn(count)]
    assert together == apart
    assert len({*together, *(child.words(2).tobytes() for child in rng.spawn(5))}) == 10
    assert rng.position == 0


def test_children_inherit():
    """Children have their parent's rounds, threads and origin."""
    rng = default_rng(1, rounds=20, threads=3)
    for child in (rng.child("a"), *rng.spawn(1)):
        assert repr(child) == "Generator(key from a seed, rounds=20, position=0)"
        assert child._threads == 3
    assert "the operating system" in repr(default_rng().child("a"))


def test_seeds_and_shards_do_not_collide():
    """Streams for (seed, shard) differ for every pair, also where seed plus shard is the same."""
    first = {int(default_rng(seed).child(i).words(1)[0]) for seed in range(100) for i in range(100)}
    assert len(first) == 10_000


def test_shards_share_no_noise():
    """Fifty shards of one seed have no draw in common."""
    rng = default_rng(1)
    shards = [rng.child("column", i).laplace(size=1000) for i in range(50)]
    assert np.unique(np.concatenate(shards)).size == 50_000


def test_repr_shows_no_key():
    """A generator's text names its origin, rounds and position, and no word of its key."""
    rng = default_rng(5)
    rng.words(3)
    assert repr(rng) == "Generator(key from a seed, rounds=12, position=3)"
    shown = repr(rng._stream) + repr(rng._stream.key)
    assert not any(str(int(word)) in shown or f"{int(word):x}" in shown for word in rng._stream.source[:4])


def test_global_numpy_state_has_no_part():
    """numpy.random's global generator neither changes the draws nor is changed by them."""
    before = np.random.get_state()
    first = default_rng(7).laplace(size=10)
    after = np.random.get_state()
    assert np.array_equal(after[1], before[1])
    assert after[2:] == before[2:]
    try:
        np.random.seed(1)
        assert same(default_rng(7).laplace(size=10), first)
    finally:
        np.random.set_state(before)


def test_generators_without_a_seed_differ():
    """No default seed exists: two generators made without one have nothing in common."""
    assert not np.intersect1d(default_rng().laplace(size=1000), default_rng().laplace(size=1000)).size


@pytest.fixture
def rng():
    """Give a generator in the middle of a group of draws, and verify that its position is the same afterwards."""
    generator = default_rng(1)
    generator.seek(5)
    generator.laplace()
    yield generator
    assert generator.position == 6


@pytest.mark.parametrize(
    ("position", "error", "rule"),
    [
        (-1, ValueError, r"^position must be from 0 to 2\*\*62, got -1$"),
        (MAX_POSITION + 1, ValueError, r"^position must be from 0 to 2\*\*62, got 4611686018427387905$"),
        (1.0, TypeError, r"^position must be an int, got 1\.0$"),
        (True, TypeError, r"^position must be an int, got True$"),
        (None, TypeError, r"^position must be an int, got None$"),
        ("1", TypeError, r"^position must be an int, got '1'$"),
    ],
)
def test_position(rng, position, error, rule):
    """A position is an int from 0 to the end of the stream."""
    with pytest.raises(error, match=rule):
        rng.seek(position)


@pytest.mark.parametrize(("n", "error"), [(-1, ValueError), (1.5, TypeError), (None, TypeError), (True, TypeError)])
def test_counts(rng, n, error):
    """Numbers of words and children are ints >= 0."""
    for ask in (rng.words, rng.spawn):
        with pytest.raises(error, match=rf"^n must be (>= 0|an int), got {n}$"):
            ask(n)


@pytest.mark.parametrize("labels", [(), (1.5,), ("a", None), (True,), (("a",),), (np.float64(1),)], ids=repr)
def test_labels(rng, labels):
    """A child has at least one label, each str, int or bytes."""
    with pytest.raises(
        TypeError, match=r"^labels must (be str, int or bytes|hold at least one str, int or bytes), got "
    ):
        rng.child(*labels)


@pytest.mark.parametrize(
    ("seed", "error", "rule"),
    [
        (-1, ValueError, r"^seed must be >= 0, got -1$"),
        ([1, -2], ValueError, r"^seed must hold ints >= 0 only, got \[1, -2\]$"),
        (True, TypeError, r"^seed must be None, an int, a sequence of ints or a SeedSequence, got True$"),
        ([1, True], TypeError, r"^seed must be None, .*, got \[1, True\]$"),
        (1.0, TypeError, r"^seed must be None, .*, got 1\.0$"),
        ("1", TypeError, r"^seed must be None, .*, got '1'$"),
        (b"1", TypeError, r"^seed must be None, .*, got b'1'$"),
        ([], TypeError, r"^seed must be None, .*, got \[\]$"),
        (np.array(1.0), TypeError, r"^seed must be None, .*, got array\(1\.\)$"),
        (np.random.default_rng(1), TypeError, r"^seed must be None, .*, got Generator\(PCG64\)"),
    ],
    ids=repr,
)
def test_seed(seed, error, rule):
    """A seed is an int >= 0, a sequence of such, or a SeedSequence."""
    with pytest.raises(error, match=rule):
        default_rng(seed)


@pytest.mark.parametrize("rounds", [0, 7, 10, 24, True, None, "12", 12.5])
def test_rounds(rounds):
    """ChaCha has 8, 12 or 20 rounds."""
    with pytest.raises(ValueError, match=rf"^rounds must be 8, 12 or 20, got {rounds!r}$"):
        default_rng(1, rounds=rounds)


@pytest.mark.parametrize(("threads", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_threads(threads, error):
    """A number of threads is an int >= 1."""
    with pytest.raises(error, match=rf"^threads must be (>= 1|an int), got {threads!r}$"):
        default_rng(1, threads=threads)
