"""ChaCha: published vectors, and the sixteen lanes against the reading copy everywhere the two could part."""

import random

import numba
import numpy as np
import pytest
from oracles import stream_words

from lapnoise.bits.chacha import block, stream_word
from lapnoise.bits.chacha_lanes import BATCH_WORDS, GROUP_WORDS, WORD_ROOM, copy_words, refill
from lapnoise.bits.entropy import Key
from lapnoise.bits.stream import MAX_POSITION, Stream
from lapnoise.generator import Generator

ZERO_KEY = "00" * 32

# RFC 8439, section 2.3.2 and appendix A.1: 20 rounds. The 32-bit counter is state word 12 and the nonce words 13 to 15;
# here word 13 is the upper half of the block counter, and words 14 and 15 are the stream id.
RFC_8439 = {
    "section 2.3.2": (
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        1,
        "000000090000004a00000000",
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    "A.1 vector 1": (
        ZERO_KEY,
        0,
        "00" * 12,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    "A.1 vector 2": (
        ZERO_KEY,
        1,
        "00" * 12,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    "A.1 vector 3": (
        "00" * 31 + "01",
        1,
        "00" * 12,
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    "A.1 vector 4": (
        "00ff" + "00" * 30,
        2,
        "00" * 12,
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
    "A.1 vector 5": (
        ZERO_KEY,
        0,
        "00" * 11 + "02",
        "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
        "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
    ),
}

# J. Strombergson, "Test Vectors for the Stream Cipher ChaCha", draft-strombergson-chacha-test-vectors-01 (2013), keys
# of 256 bits: TC1 (all zero), TC2 (one bit of the key), TC3 (one bit of the IV), TC4 (all ones), TC7 (sequences) and
# TC8 (no pattern), keystream blocks 0 and 1. The IV is our stream id.
STROMBERGSON = [
    (
        8,
        ZERO_KEY,
        "0000000000000000",
        "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e"
        "984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42"
        "d2aefa0deaa5c151bf0adb6c01f2a5adc0fd581259f9a2aadcf20f8fd566a26b"
        "5032ec38bbc5da98ee0c6f568b872a65a08abf251deb21bb4b56e5d8821e68aa",
    ),
    (
        12,
        ZERO_KEY,
        "0000000000000000",
        "9bf49a6a0755f953811fce125f2683d50429c3bb49e074147e0089a52eae155f"
        "0564f879d27ae3c02ce82834acfa8c793a629f2ca0de6919610be82f411326be"
        "0bd58841203e74fe86fc71338ce0173dc628ebb719bdcbcc151585214cc089b4"
        "42258dcda14cf111c602b8971b8cc843e91e46ca905151c02744a6b017e69316",
    ),
    (
        20,
        ZERO_KEY,
        "0000000000000000",
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        8,
        "01" + "00" * 31,
        "0000000000000000",
        "cf5ee9a0494aa9613e05d5ed725b804b12f4a465ee635acc3a311de8740489ea"
        "289d04f43c7518db56eb4433e498a1238cd8464d3763ddbb9222ee3bd8fae3c8"
        "b4355a7d93dd8867089ee643558b95754efa2bd1a8a1e2d75bcdb32015542638"
        "291941feb49965587c4fdfe219cf0ec132a6cd4dc067392e67982fe53278c0b4",
    ),
    (
        12,
        ZERO_KEY,
        "0100000000000000",
        "64b8bdf87b828c4b6dbaf7ef698de03df8b33f635714418f9836ade59be12969"
        "46c953a0f38ecffc9ecb98e81d5d99a5edfc8f9a0a45b9e41ef3b31f028f1d0f"
        "559db4a7f222c442fe23b9a2596a88285122ee4f1363896ea77ca150912ac723"
        "bff04b026a2f807e03b29c02077d7b06fc1ab9827c13c8013a6d83bd3b52a26f",
    ),
    (
        20,
        "ff" * 32,
        "ffffffffffffffff",
        "d9bf3f6bce6ed0b54254557767fb57443dd4778911b606055c39cc25e674b836"
        "3feabc57fde54f790c52c8ae43240b79d49042b777bfd6cb80e931270b7f50eb"
        "5bac2acd86a836c5dc98c116c1217ec31d3a63a9451319f097f3b4d6dab07787"
        "19477d24d24b403a12241d7cca064f790f1d51ccaff6b1667d4bbca1958c4306",
    ),
    (
        12,
        "00112233445566778899aabbccddeeffffeeddccbbaa99887766554433221100",
        "0f1e2d3c4b5a6978",
        "7ed12a3a63912ae941ba6d4c0d5e862e568b0e5589346935505f064b8c2698db"
        "f7d850667d8e67be639f3b4f6a16f92e65ea80f6c7429445da1fc2c1b9365040"
        "e32e50c4106f3b3da1ce7ccb1e7140b153493c0f3ad9a9bcff077ec4596f1d0f"
        "29bf9cbaa502820f732af5a93c49eee33d1c4f12af3b4297af91fe41ea9e94a2",
    ),
    (
        8,
        "c46ec1b18ce8a878725a37e780dfb7351f68ed2e194c79fbc6aebee1a667975d",
        "1ada31d5cf688221",
        "838751b42d8ddd8a3d77f48825a2ba752cf4047cb308a5978ef274973be374c9"
        "6ad848065871417b08f034e681fe46a93f7d5c61d1306614d4aaf257a7cff08b"
        "16f2fda170cc18a4b58a2667ed962774af792a6e7f3c77992540711a7a136d7e"
        "8a2f8d3f93816709d45a3fa5f8ce72fde15be7b841acba3a2abd557228d9fe4f",
    ),
    (
        12,
        "c46ec1b18ce8a878725a37e780dfb7351f68ed2e194c79fbc6aebee1a667975d",
        "1ada31d5cf688221",
        "1482072784bc6d06b4e73bdc118bc0103c7976786ca918e06986aa251f7e9cc1"
        "b2749a0a16ee83b4242d2e99b08d7c20092b80bc466c87283b61b1b39d0ffbab"
        "d94b116bc1ebdb329b9e4f620db695544a8e3d9b68473d0c975a46ad966ed631"
        "e42aff530ad5eac7d8047adfa1e5113c91f3e3b883f1d189ac1c8fe07ba5a42b",
    ),
    (
        20,
        "c46ec1b18ce8a878725a37e780dfb7351f68ed2e194c79fbc6aebee1a667975d",
        "1ada31d5cf688221",
        "f63a89b75c2271f9368816542ba52f06ed49241792302b00b5e8f80ae9a473af"
        "c25b218f519af0fdd406362e8d69de7f54c604a6e00f353f110f771bdca8ab92"
        "e5fbc34e60a1d9a9db17345b0a402736853bf910b060bdf1f897b6290f01d138"
        "ae2c4c90225ba9ea14d518f55929dea098ca7a6ccfe61227053c84e49a4a3332",
    ),
]

SECRET = random.Random(1).randbytes(32)
EDGES = [
    *range(3),
    *(edge + step for edge in (128, 512, 640, 1024) for step in (-1, 0, 1)),
]
STREAM_IDS = [0, 1, 1 << 40, (1 << 64) - 1]

# A position is eight times its block number, or 2^35 where the block counter reaches 2^32 and its upper half is used.
FAR_STARTS = [2**35 - 300, 2**40 - 7, 2**53 + 1, 2**60 + 129, MAX_POSITION - 700]


def words_of(text: str) -> tuple[int, ...]:
    """Return bytes, given as hexadecimal digits, as little-endian 32-bit words."""
    return tuple(int(word) for word in np.frombuffer(bytes.fromhex(text), "<u4"))


def source_of(secret: bytes, stream: int, rounds: int) -> np.ndarray:
    """Return what kernels take for a stream."""
    return Stream(Key(secret, seeded=True), rounds, stream).source


def from_lanes(source: np.ndarray, start: int, count: int) -> np.ndarray:
    """Return words of the fast path."""
    out = np.empty(count, np.uint64)
    copy_words(out, source, start, np.empty(WORD_ROOM, np.uint64))
    return out


def lane_block(secret: bytes, counter: int, stream: int, rounds: int) -> bytes:
    """Return the 64 bytes of one block as the fast path makes it, picked out of its group."""
    group, lane = divmod(counter, 16)
    words = from_lanes(source_of(secret, stream, rounds), 128 * group, 128)
    return words.astype("<u8").view("<u4").reshape(16, 16)[:, lane].tobytes()


@pytest.mark.parametrize(("key", "counter", "nonce", "keystream"), RFC_8439.values(), ids=RFC_8439)
def test_rfc_8439_vectors(key, counter, nonce, keystream):
    """Both paths give the blocks of RFC 8439 where its counter and nonce are laid into our counter and stream id."""
    first, second, third = words_of(nonce)
    place = counter | first << 32, second | third << 32

    assert words_of(keystream) == tuple(block(words_of(key), *place, 20))
    assert bytes.fromhex(keystream) == lane_block(bytes.fromhex(key), *place, 20)


@pytest.mark.parametrize(("rounds", "key", "iv", "keystream"), STROMBERGSON)
def test_strombergson_vectors(rounds, key, iv, keystream):
    """Both paths give the published blocks 0 and 1 at 8, 12 and 20 rounds."""
    stream = int.from_bytes(bytes.fromhex(iv), "little")
    blocks = [block(words_of(key), counter, stream, rounds) for counter in (0, 1)]

    assert words_of(keystream) == tuple(blocks[0] + blocks[1])
    assert bytes.fromhex(keystream) == b"".join(lane_block(bytes.fromhex(key), i, stream, rounds) for i in (0, 1))


def test_layout_of_a_stream():
    """A word is one output word of two neighbouring blocks, the even one in its low half, as the docstring says."""
    key = words_of(SECRET.hex())
    for position in (0, 1, 7, 8, 127, 128, 1000, 2**35 + 77):
        g, i = divmod(position, 128)
        low = block(key, 16 * g + 2 * (i % 8), 5, 12)[i // 8]
        high = block(key, 16 * g + 2 * (i % 8) + 1, 5, 12)[i // 8]

        assert low | high << 32 == stream_word(key, position, 5, 12)
        assert [low | high << 32] == stream_words(key, position, 1, 5, 12).tolist()


@pytest.mark.parametrize("rounds", [8, 12, 20])
def test_lanes_equal_the_reference_at_every_offset(rounds):
    """Wherever a read starts within groups and batches, and however long it is, it gives the reference's words."""
    expected = stream_words(words_of(SECRET.hex()), 0, 2200, 3, rounds)
    source = source_of(SECRET, 3, rounds)
    for start in range(701):
        for count in EDGES:
            got = from_lanes(source, start, count)

            assert np.array_equal(expected[start : start + count], got), (start, count)


@pytest.mark.parametrize("stream", STREAM_IDS)
@pytest.mark.parametrize("start", FAR_STARTS)
def test_lanes_equal_the_reference_far_out(start, stream):
    """Both halves of the block counter and of the stream id reach the lanes, up to the end of a stream."""
    expected = stream_words(words_of(SECRET.hex()), start, 700, stream, 8)
    source = source_of(SECRET, stream, 8)

    assert np.array_equal(expected, from_lanes(source, start, 700))
    for skip in (1, 127, 128, 129, 300, 301, 699):
        assert np.array_equal(expected[skip:], from_lanes(source, start + skip, 700 - skip))


@pytest.mark.parametrize("rounds", [8, 12, 20])
def test_seek_equals_read(rounds):
    """A generator gives the same words whether it reads on, reads in pieces or seeks, and its position counts them."""
    generator = Generator(Stream(Key(SECRET, seeded=True), rounds), threads=1)
    expected = stream_words(words_of(SECRET.hex()), 0, 1500, 0, rounds)

    assert np.array_equal(expected, generator.words(1500))
    generator.seek(0)
    pieces = [generator.words(n) for n in (0, 1, 126, 1, 1, 255, 128, 300, 688)]
    assert np.array_equal(expected, np.concatenate(pieces))
    assert generator.position == 1500
    for start in range(0, 701, 7):
        generator.seek(start)
        assert np.array_equal(expected[start : start + 130], generator.words(130))
        assert generator.position == start + 130


def test_last_word_of_a_stream():
    """The last word before MAX_POSITION can be had and the next one cannot; a refused read takes nothing."""
    generator = Generator(Stream(Key(SECRET, seeded=True), 12), threads=1)
    generator.seek(MAX_POSITION - 1)
    with pytest.raises(OverflowError, match=r"ends at word 2\*\*62"):
        generator.words(2)

    assert generator.position == MAX_POSITION - 1
    assert stream_word(words_of(SECRET.hex()), MAX_POSITION - 1, 0, 12) == int(generator.words(1)[0])
    with pytest.raises(OverflowError, match=r"ends at word 2\*\*62"):
        generator.words(1)


def test_streams_of_one_key_differ():
    """Another stream id, number of rounds or key gives other words throughout."""
    places = [(SECRET, 0, 8), (SECRET, 1, 8), (SECRET, 1 << 32, 8), (SECRET, 0, 12), (bytes(32), 0, 8)]
    words = np.concatenate([from_lanes(source_of(*place), 0, 512) for place in places])

    assert np.unique(words).size == words.size


@numba.njit(error_model="numpy")
def refilled(source, position, wanted, draw_words):
    words = np.zeros(WORD_ROOM + GROUP_WORDS, np.uint64)
    skip, count = refill(words, source, position, wanted, draw_words)
    return words, skip, count


@pytest.mark.parametrize("draw_words", [1, 2])
def test_refill(draw_words):
    """A batch begins at its position, holds whole draws, is as long as it can be, and stays within its room."""
    source = source_of(SECRET, 0, 8)
    expected = from_lanes(source, 0, 4 * BATCH_WORDS)
    for position in range(2 * GROUP_WORDS + 2):
        for wanted in (2, 4, 126, 128, 130, 382, 510, 512, 514, 1000):
            words, skip, count = refilled(source, position, wanted, draw_words)

            assert np.array_equal(expected[position : position + count], words[skip : skip + count])
            assert not words[WORD_ROOM:].any()
            assert count % draw_words == 0
            whole = BATCH_WORDS - position % GROUP_WORDS
            assert count == min(wanted, whole if whole % draw_words == 0 else BATCH_WORDS)
