"""SipHash-2-4 in plain Python, written from the paper, and the encoding of row keys, written from its description."""

import datetime
from collections.abc import Sequence

MASK = (1 << 64) - 1
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def siphash(key: bytes, message: bytes, size: int = 16) -> bytes:
    """Return the hash of 8 or 16 bytes."""
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    text = b"somepseudorandomlygeneratedbytes"
    v = [int.from_bytes(text[i : i + 8], "big") ^ k for i, k in zip(range(0, 32, 8), (k0, k1, k0, k1), strict=True)]
    if size == 16:
        v[1] ^= 0xEE
    whole = len(message) // 8 * 8
    words = [message[i : i + 8] for i in range(0, whole, 8)]
    words.append(message[whole:] + bytes(7 - len(message) % 8) + bytes([len(message) % 256]))
    for word in words:
        m = int.from_bytes(word, "little")
        v[3] ^= m
        _rounds(v, 2)
        v[0] ^= m
    v[2] ^= 0xEE if size == 16 else 0xFF
    _rounds(v, 4)
    out = (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")
    if size == 8:
        return out
    v[1] ^= 0xDD
    _rounds(v, 4)
    return out + (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")


def _rounds(v: list[int], count: int) -> None:
    for _ in range(count):
        for a, b, c, d, first, second in ((0, 1, 2, 3, 13, 16), (2, 1, 0, 3, 17, 21)):
            v[a] = (v[a] + v[b]) & MASK
            v[c] = (v[c] + v[d]) & MASK
            v[b] = _rotated(v[b], first) ^ v[a]
            v[d] = _rotated(v[d], second) ^ v[c]
            v[a] = _rotated(v[a], 32)


def _rotated(word: int, count: int) -> int:
    return (word << count | word >> 64 - count) & MASK


def encoded(parts: Sequence[object]) -> bytes:
    """Return the bytes of a row's key."""
    return b"".join(map(_part, parts))


def identity(key: bytes, parts: Sequence[object]) -> tuple[int, int]:
    """Return the identity of a row as two words."""
    digest = siphash(key, encoded(parts))
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def _part(entry: object) -> bytes:
    if isinstance(entry, bool):
        return _words(4, int(entry))
    if isinstance(entry, int):
        return _words(2 if entry < 0 else 1 if entry < 1 << 63 else 3, entry)
    if isinstance(entry, datetime.datetime):
        return _words(6, (entry - EPOCH) // datetime.timedelta(microseconds=1))
    if isinstance(entry, datetime.date):
        return _words(5, (entry - EPOCH.date()).days)
    tag, body = (7, entry.encode()) if isinstance(entry, str) else (8, bytes(entry))
    return _words(tag | len(body) << 8) + body + bytes(-len(body) % 8)


def _words(*words: int) -> bytes:
    return b"".join((word & MASK).to_bytes(8, "little") for word in words)
