"""SipHash-2-4-128 over rows, against published values and against plain Python."""

import sys

import fresh_process
import numpy as np
import pytest
from siphash_oracle import siphash

from lapnoise import default_rng
from lapnoise.kernels.siphash import STATE_ROWS, absorb_bytes, absorb_integers, finish, start

KEY = bytes(range(16))

# Hashes of 00 01 ... under the key 00 01 ... 0f, for lengths from 0 on, as the reference implementation prints them.
PUBLISHED_64 = [
    "310e0edd47db6f72",
    "fd67dc93c539f874",
    "5a4fa9d909806c0d",
    "2d7efbd796666785",
    "b7877127e09427cf",
    "8da699cd64557618",
    "cee3fe586e46c9cb",
    "37d1018bf50002ab",
    "6224939a79f5f593",
    "b0e4a90bdf82009e",
    "f3b9dd94c5bb5d7a",
    "a7ad6b22462fb3f4",
    "fbe50e86bc8f1e75",
    "903d84c02756ea14",
    "eef27a8e90ca23f7",
    "e545be4961ca29a1",
]
PUBLISHED_128 = [
    "a3817f04ba25a8e66df67214c7550293",
    "da87c1d86b99af44347659119b22fc45",
    "8177228da4a45dc7fca38bdef60affe4",
    "9c70b60c5267a94e5f33b6b02985ed51",
    "f88164c12d9c8faf7d0f6e7c7bcd5579",
    "1368875980776f8854527a07690e9627",
    "14eeca338b208613485ea0308fd7a15e",
    "a1f1ebbed8dbc153c0b84aa61ff08239",
    "3b62a9ba6258f5610f83e264f31497b4",
    "264499060ad9baabc47f8b02bb6d71ed",
    "00110dc378146956c95447d3f3d0fbba",
    "0151c568386b6677a2b4dc6f81e5dc18",
    "d626b266905ef35882634df68532c125",
    "9869e247e9c08b10d029934fc4b952f7",
    "31fcefac66d7de9c7ec7485fe4494902",
    "5493e99933b0a8117e08ec0f97cfc3d9",
    "6ee2a4ca67b054bbfd3315bf85230577",
    "473d06e8738db89854c066c47ae47740",
    "a426e5e423bf4885294da481feaef723",
    "78017731cf65fab074d5208952512eb1",
    "9e25fc833f2290733e9344a5e83839eb",
    "568e495abe525a218a2214cd3e071d12",
    "4a29b54552d16b9a469c10528eff0aae",
    "c9d184ddd5a9f5e0cf8ce29a9abf691c",
    "2db479ae78bd50d8882a8a178a6132ad",
    "8ece5f042d5e447b5051b9eacb8d8f6f",
    "9c0b53b4b3c307e87eaee08678141f66",
    "abf248af69a6eae4bfd3eb2f129eeb94",
    "0664da1668574b88b935f3027358aef4",
    "aa4b9dc4bf337de90cd4fd3c467c6ab7",
    "ea5c7f471faf6bde2b1ad7d4686d2287",
    "2939b0183223fafc1723de4f52c43d35",
    "7c3956ca5eeafc3e363e9d556546eb68",
    "77c6077146f01c32b6b69d5f4ea9ffcf",
    "37a6986cb8847edf0925f0f1309b54de",
    "a705f0e69da9a8f907241a2e923c8cc8",
    "3dc47d1f29c448461e9e76ed904f6711",
    "0d62bf01e6fc0e1a0d3c4751c5d3692b",
    "8c03468bca7c669ee4fd5e084bbee7b5",
    "528a5bb93baf2c9c4473cce5d0d22bd9",
    "df6a301e95c95dad97ae0cc8c6913bd8",
    "801189902c857f39e73591285e70b6db",
    "e617346ac9c231bb3650ae34ccca0c5b",
    "27d93437efb721aa401821dcec5adf89",
    "89237d9ded9c5e78d8b1c9b166cc7342",
    "4a6d8091bf5e7d651189fa94a250b14c",
    "0e33f96055e7ae893ffc0e3dcf492902",
    "e61c432b720b19d18ec8d84bdc63151b",
    "f7e5aef549f782cf379055a608269b16",
    "438d030fd0b7a54fa837f2ad201a6403",
    "a590d3ee4fbf04e3247e0d27f286423f",
    "5fe2c1a172fe93c4b15cd37caef9f538",
    "2c97325cbd06b36eb2133dd08b3a017c",
    "92c814227a6bca949ff0659f002ad39e",
    "dce850110bd8328cfbd50841d6911d87",
    "67f14984c7da791248e32bb5922583da",
    "1938f2cf72d54ee97e94166fa91d2a36",
    "74481e9646ed49fe0f6224301604698e",
    "57fca5de98a9d6d8006438d0583d8a1d",
    "9fecde1cefdc1cbed4763674d9575359",
    "e3040c00eb28f15366ca73cbd872e740",
    "7697009a6a831dfecca91c5993670f7a",
    "5853542321f567a005d547a4f04759bd",
    "5150d1772f50834a503e069a973fbd7c",
]


def key_words(key: bytes) -> np.ndarray:
    """Return a key as kernels take it."""
    return np.frombuffer(key, "<u8").astype(np.uint64)


def hashed(rows: int, *columns) -> list[bytes]:
    """Return the hash of each row; a column is a function that appends to a state."""
    state = np.empty((STATE_ROWS, rows), np.uint64)
    start(state, key_words(KEY))
    for append in columns:
        append(state)
    out = np.empty((rows, 2), np.uint64)
    finish(state, out)
    return [row.astype("<u8").tobytes() for row in out]


def test_oracle_is_siphash():
    """The plain Python copy gives all the published values, of 64 bits and of 128."""
    assert len(PUBLISHED_128) == 64
    for n, published in enumerate(PUBLISHED_128):
        assert siphash(KEY, bytes(range(n))).hex() == published, n
    for n, published in enumerate(PUBLISHED_64):
        assert siphash(KEY, bytes(range(n)), 8).hex() == published, n


@pytest.mark.parametrize("pairs", [0, 1, 2, 3])
def test_published_values(pairs):
    """Messages of whole words, appended in pairs, have the published hashes, in every row."""
    words = np.frombuffer(bytes(range(16 * pairs)), "<i8").tolist()

    def append(k):
        return lambda state: absorb_integers(state, np.full(21, words[2 * k + 1]), words[2 * k], 0)

    assert {made.hex() for made in hashed(21, *map(append, range(pairs)))} == {PUBLISHED_128[16 * pairs]}


def test_bytes_of_every_length_and_place():
    """Rows of 0 to 40 bytes, at every offset and up to the last byte of the data, are hashed as the oracle has it."""
    rows = [bytes(range(n, 2 * n)) for n in range(41)] + [b"\0" * n for n in range(20)]
    for order in (rows, rows[::-1]):
        for lead in range(9):
            data = np.frombuffer(b"\xff" * lead + b"".join(order), np.uint8).copy()
            offsets = lead + np.cumsum([0, *map(len, order)])
            made = hashed(len(order), lambda state, o=offsets, d=data: absorb_bytes(state, o, d, 7))
            head = [(7 | len(row) << 8).to_bytes(8, "little") for row in order]
            wanted = [siphash(KEY, h + row + bytes(-len(row) % 8)) for h, row in zip(head, order, strict=True)]
            assert made == wanted


def test_what_lies_behind_a_row_is_not_hashed():
    """The same row among other bytes has the same hash."""
    alone = hashed(1, lambda state: absorb_bytes(state, np.array([0, 5]), np.frombuffer(b"abcde", np.uint8), 7))
    amid = hashed(1, lambda state: absorb_bytes(state, np.array([3, 8]), np.frombuffer(b"xyzabcdeuvwrst", np.uint8), 7))

    assert alone == amid


def test_many_integers():
    """Random integers of either sign, over more rows than a register holds, have the oracle's hashes."""
    values = default_rng(5).words(1003).view(np.int64)
    made = hashed(values.size, lambda state: absorb_integers(state, values, 1, 2))
    wanted = [
        siphash(KEY, (2 if x < 0 else 1).to_bytes(8, "little") + x.to_bytes(8, "little", signed=True))
        for x in values.tolist()
    ]

    assert made == wanted


def test_long_messages():
    """The length counts modulo 256, and a message may have many parts."""
    part = np.frombuffer(bytes(range(200)), np.uint8)
    parts = [lambda state: absorb_bytes(state, np.array([0, 200]), part, 8)] * 3
    head = (8 | 200 << 8).to_bytes(8, "little")

    assert hashed(1, *parts) == [siphash(KEY, (head + bytes(range(200))) * 3)]


GUARDED = """
import ctypes, mmap, sys
import numpy as np
from lapnoise.kernels.siphash import STATE_ROWS, absorb_bytes, start
page = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * page)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
if ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + page), ctypes.c_size_t(page), 0):
    sys.exit("mprotect failed")
state = np.empty((STATE_ROWS, 1), np.uint64)
for size in range(40):
    data = np.frombuffer(memory, np.uint8, size, page - size) if size else np.empty(0, np.uint8)
    start(state, np.zeros(2, np.uint64))
    absorb_bytes(state, np.array([0, size]), data, 7)
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux to forbid a page")
def test_nothing_behind_the_data_is_read():
    """Rows of 0 to 39 bytes that end at a page that must not be touched are hashed."""
    assert fresh_process.run(GUARDED) == "done\n"
