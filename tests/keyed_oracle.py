"""Keyed noise written from its description: BLAKE2b for keys, SipHash for rows, ChaCha20 for words, then intervals.

Nothing here comes from the modules under test but the plain Python cipher, which has tests of its own.
"""

import hashlib
import struct
from fractions import Fraction

import exact_oracles
from siphash_oracle import identity

from lapnoise import STREAM_VERSION
from lapnoise.bits.chacha import block

KEY_FORMAT = 1


def derived(key: bytes, purpose: str, parts, size: int = 32) -> bytes:
    """Return what BLAKE2b makes of a list of parts under a key, for a purpose."""
    message = struct.pack("<Q", len(parts))
    for part in parts:
        if part is None:
            letter, body = b"n", b""
        elif isinstance(part, str):
            letter, body = b"s", part.encode()
        elif isinstance(part, Fraction):
            upper = signed(part.numerator)
            letter, body = b"q", struct.pack("<Q", len(upper)) + upper + signed(part.denominator)
        else:
            letter, body = b"i", signed(part)
        message += letter + struct.pack("<Q", len(body)) + body
    return hashlib.blake2b(message, digest_size=size, key=key, person=f"lapnoise {purpose}".encode()).digest()


def signed(number: int) -> bytes:
    """Return the bytes of an integer in two's complement, with a bit for the sign."""
    return number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)


class Oracle:
    """The noise of one column of a release; ``told`` is the class, the number of parameters, and each with its name."""

    def __init__(self, secret: bytes, release_id: str, told: list, exponent: int, t, column: str) -> None:
        root = hashlib.blake2b(secret, digest_size=32, person=b"lapnoise secret").digest()
        release = derived(root, "release", [release_id, STREAM_VERSION, KEY_FORMAT])
        self.rows = derived(release, "rows", [], 16)
        self.key = derived(release, "column", [*told, exponent, Fraction(t), column])
        self.exponent, self.t = exponent, Fraction(t)

    def place(self, parts, value) -> tuple[int, int]:
        """Return the place of a cell in ChaCha's input: of the row with these parts, and this exact value."""
        low, high = identity(self.rows, parts)
        point = exact_oracles.half_up(Fraction(value), self.exponent) * Fraction(2) ** self.exponent
        near = float(point) if abs(point) < 2**1023 else 2.0**1023 * float(point / 2**1023)
        rest = 0.0 if near in (float("inf"), float("-inf")) else float(point - Fraction(near))
        return low ^ bits(near), high ^ bits(rest)

    def word(self, place: tuple[int, int], number: int) -> int:
        """Return word ``number`` of a cell."""
        key = self.key
        if number >= 8:
            further = struct.pack("<Q", number // 8)
            key = hashlib.blake2b(further, digest_size=32, key=key, person=b"lapnoise further").digest()
        halves = block(struct.unpack("<8I", key), *place, 20)
        return halves[number % 8 * 2 + 1] << 32 | halves[number % 8 * 2]

    def noise(self, parts, value) -> int:
        """Return the noise of a cell in steps."""
        place = self.place(parts, value)
        return exact_oracles.draw(self.t, self.word(place, 0), lambda depth: self.word(place, depth + 1))

    def is_open(self, parts, value) -> bool:
        """Return whether the first word of a cell does not settle its draw."""
        first = self.word(self.place(parts, value), 0) >> 1
        return exact_oracles._common_floor(self.t, first, exact_oracles.FIRST_BITS) is None

    def release(self, parts, value, kind) -> float:
        """Return the noisy value."""
        return exact_oracles.lattice_sum(Fraction(value), self.noise(parts, value), self.exponent, kind)


def bits(value: float) -> int:
    """Return the bits of a float64."""
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def laplace(secret, release_id, mechanism, column) -> Oracle:
    """Return the oracle of a LaplaceMechanism with ``changed`` set."""
    granularity = mechanism._granularity_asked
    told = [
        *("LaplaceMechanism", 4),
        *("changed", mechanism.changed),
        *("epsilon", mechanism.epsilon_asked),
        *("granularity", granularity),
        *("sensitivity", mechanism.sensitivity),
    ]
    return Oracle(secret, release_id, told, mechanism.lattice.exponent, mechanism.lattice.t, column)


def discrete(secret, release_id, mechanism, column) -> Oracle:
    """Return the oracle of a DiscreteLaplaceMechanism."""
    told = [
        "DiscreteLaplaceMechanism",
        2,
        "epsilon",
        mechanism.epsilon_asked,
        "sensitivity",
        mechanism.sensitivity,
    ]
    return Oracle(secret, release_id, told, 0, mechanism.lattice.t, column)
