"""Keys: where they come from, how children are derived, and that none is shown."""

import hashlib
import os

import numpy as np
import pytest

from lapnoise import default_rng
from lapnoise.bits.entropy import Key
from lapnoise.bits.stream import Stream

SECRET = bytes(range(32))
KEY = Key(SECRET, seeded=True)

# One pair for each way in which two lists of labels could be confused.
CONFUSABLE = [
    ((1,), ("1",)),
    ((1,), (b"1",)),
    (("1",), (b"1",)),
    (("ab",), ("a", "b")),
    (("a", "b"), ("b", "a")),
    (("", "a"), ("a", "")),
    (("a",), ("a", "")),
    ((b"",), ("",)),
    ((0,), (b"\x00",)),
    ((0,), (256,)),
    ((255,), (-1,)),
    ((1,), (-1,)),
    ((2**64,), (2**64 + 1,)),
    ((2**64,), (0,)),
    (("é",), ("e\u0301",)),
]


def secret_of(key: Key) -> bytes:
    """Return the 32 bytes of a key by the way that kernels get them."""
    return key.words().astype("<u8").tobytes()


def encoded(label: str | int | bytes) -> bytes:
    """Return a label as the derivation hashes it: a letter for its type, its length in eight bytes, its bytes."""
    if isinstance(label, int):
        width = 1
        while not -(1 << (8 * width - 1)) <= label < 1 << (8 * width - 1):
            width += 1
        kind, body = b"i", label.to_bytes(width, "little", signed=True)
    elif isinstance(label, str):
        kind, body = b"s", label.encode()
    else:
        kind, body = b"b", label
    return kind + len(body).to_bytes(8, "little") + body


def derived(secret: bytes, person: bytes, message: bytes) -> bytes:
    """Return BLAKE2b keyed with the parent's key, 32 bytes (RFC 7693, section 2.9)."""
    return hashlib.blake2b(message, key=secret, person=person.ljust(16, b"\0"), digest_size=32).digest()


def test_a_fresh_key_is_what_the_operating_system_gives(monkeypatch):
    """The 32 bytes of os.urandom are the key, unchanged and asked for in one call."""
    asked = []
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or SECRET)

    assert secret_of(Key.from_os()) == SECRET
    assert asked == [32]


@pytest.mark.parametrize("error", [OSError("no randomness"), NotImplementedError("no source")])
def test_no_entropy_no_generator(monkeypatch, error):
    """Where the operating system has no randomness, making a generator fails with its error: nothing stands in."""

    def refuse(size):
        raise error

    monkeypatch.setattr(os, "urandom", refuse)
    with pytest.raises(type(error), match=str(error)):
        default_rng()
    with pytest.raises(type(error), match=str(error)):
        Key.from_os()


@pytest.mark.parametrize("size", [0, 1, 31, 33])
def test_a_short_or_long_answer_is_refused(monkeypatch, size):
    """A key is never made of another number of bytes than were asked for."""
    monkeypatch.setattr(os, "urandom", lambda _: bytes(size))
    with pytest.raises(RuntimeError, match=f"gave {size} random bytes where 32 were asked for"):
        default_rng()


def test_fresh_generators_differ():
    """Generators without a seed share no word, and neither do their children of the same name."""
    generators = [default_rng() for _ in range(4)]
    words = np.concatenate([g.words(64) for g in generators] + [g.child("a").words(64) for g in generators])

    assert np.unique(words).size == words.size


def test_a_seed_gives_the_first_256_bits_of_its_sequence():
    """The key of a seed is eight 32-bit words of SeedSequence.generate_state, little-endian, and so recomputable."""
    state = np.random.SeedSequence(7).generate_state(8, np.uint32)
    expected = b"".join(int(word).to_bytes(4, "little") for word in state)

    assert secret_of(Key.from_seed(np.random.SeedSequence(7))) == expected
    assert expected[:16] == np.random.SeedSequence(7).generate_state(2, np.uint64).astype("<u8").tobytes()
    assert secret_of(default_rng(7)._stream.key) == expected


def test_equal_seeds_in_other_clothes():
    """An int, a NumPy int, a one-element list and the SeedSequence of one seed give one stream."""
    expected = default_rng(7).words(8)
    for seed in (np.int64(7), np.uint8(7), [7], (7,), np.array([7]), np.random.SeedSequence(7)):
        assert np.array_equal(expected, default_rng(seed).words(8))


def test_neighbouring_seeds_share_nothing():
    """R-06: pairs (seed, i) that add up alike, seeds beyond 64 bits and spawned sequences have keys of their own."""
    seeds = [[s, i] for s in range(20) for i in range(20)] + [2**64, 2**64 + 1, 2**200]
    seeds += np.random.SeedSequence(7).spawn(20)
    words = {int(default_rng(seed).words(1)[0]) for seed in seeds}

    assert len(words) == len(seeds)


def test_a_seed_sequence_is_not_used_up():
    """Making a generator from a SeedSequence does not change the sequence."""
    sequence = np.random.SeedSequence(7)
    first = default_rng(sequence).words(4)

    assert np.array_equal(first, default_rng(sequence).words(4))
    assert sequence.n_children_spawned == 0


@pytest.mark.parametrize(
    "labels",
    [("a",), ("ab",), ("a", "b"), ("é", "\U0001f600"), (b"\x00\xff",), (0,), (127,), (128,), (-129,), (2**70,)],
)
def test_child_keys_recomputed(labels):
    """A child's key is BLAKE2b, keyed with its parent's, of the number of labels and each with its type and length."""
    message = len(labels).to_bytes(8, "little") + b"".join(map(encoded, labels))
    got = KEY.child(labels)

    assert secret_of(got) == derived(SECRET, b"lapnoise child", message)
    assert got.seeded


@pytest.mark.parametrize("number", [0, 1, 255, 2**40])
def test_spawned_keys_recomputed(number):
    """A spawned key is BLAKE2b of its number in eight bytes, under a personalisation of its own."""
    assert secret_of(KEY.spawned(number)) == derived(SECRET, b"lapnoise spawn", number.to_bytes(8, "little"))


def test_golden_keys():
    """Children of a known key have these keys for as long as STREAM_VERSION is 1."""
    golden = {
        ("a",): "0a6f44a1974232dbb5e9cf17808c8e61b402bf1f565f7c9f3f5a44b0fc67df0f",
        (1,): "e591122aa74e06bc8d4f69082f502e65acea8133e229cbc70ffa8ce8f3d65e68",
        (b"1", "x"): "28061b43e90e89c3e314de21d69a3e386abafc15030593e570646de7bd065dcf",
    }
    for labels, expected in golden.items():
        assert expected == secret_of(KEY.child(labels)).hex()
    assert secret_of(KEY.spawned(0)).hex() == "270facdb3559c6dff758c7769d7bcce20411cb910aebfd3810490086fcfff01a"


@pytest.mark.parametrize(("one", "other"), CONFUSABLE)
def test_labels_do_not_coincide(one, other):
    """Labels of different type, number, order or length give different children."""
    assert secret_of(KEY.child(one)) != secret_of(KEY.child(other))


def test_kinds_of_children_do_not_meet():
    """Named, spawned and nested children of one key, and the key itself, are all different."""
    spawned = [KEY.spawned(i) for i in range(8)]
    named = [KEY.child((i,)) for i in range(8)]
    # A label whose encoding ends as the message of a spawned key does.
    crafted = [KEY.child((i.to_bytes(8, "little"),)) for i in range(8)]
    nested = [KEY.child(("a", "b")), KEY.child(("a",)).child(("b",)), KEY.spawned(0).spawned(0)]
    secrets = {secret_of(key) for key in [KEY, *spawned, *named, *crafted, *nested]}

    assert len(secrets) == 1 + 8 + 8 + 8 + 3


def test_children_inherit_their_origin():
    """The child of a seeded key is seeded; that of a key from the operating system is not."""
    fresh = Key.from_os()

    assert not fresh.child(("a",)).seeded
    assert not fresh.spawned(0).seeded
    assert KEY.spawned(0).seeded


def test_nothing_shows_the_key():
    """Neither repr nor str nor format of key, stream and generator holds any eight bytes of the key, in any form."""
    key = Key(SECRET, seeded=False)
    stream = Stream(key, 12)
    generator = default_rng(7)
    shown = "".join(f"{x!r}{x!s}{x}" for x in (key, KEY, stream))
    shown += f"{generator!r}{generator!s}{generator}"

    for secret in (SECRET, secret_of(generator._stream.key)):
        for start in range(25):
            piece = secret[start : start + 8]
            for form in (piece.hex(), repr(piece)[2:-1], str(int.from_bytes(piece, "little")), str(list(piece))[1:-1]):
                assert form not in shown
    assert repr(key) == "Key(<from the operating system>)"
    assert repr(KEY) == "Key(<from a seed>)"
    assert not hasattr(key, "__dict__")


def test_keys_compare_but_do_not_hash():
    """Keys are equal when bytes and origin are, and cannot become dictionary keys."""
    assert Key(SECRET, seeded=True) == KEY
    assert Key(SECRET, seeded=False) != KEY
    assert Key(bytes(32), seeded=True) != KEY
    assert KEY != SECRET
    with pytest.raises(TypeError, match="unhashable"):
        hash(KEY)


def test_a_key_of_the_operating_system_is_not_handed_out():
    """Only a seeded key reveals itself, for pickling."""
    assert KEY.reveal() == SECRET
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        Key.from_os().reveal()
