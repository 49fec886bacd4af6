"""Keys: 256 bits from the operating system, or from a seed where repeatable noise is wanted and no privacy is.

References
----------
.. [1] M.-J. Saarinen, J.-P. Aumasson, RFC 7693, "The BLAKE2 Cryptographic Hash", 2015, section 2.9 (keyed hashing).
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

__all__ = ["Key"]

KEY_BYTES = 32

# BLAKE2b's personalisation parameter, 16 bytes: keys of one kind never meet those of another.
_BY_LABEL = b"lapnoise child"
_BY_COUNT = b"lapnoise spawn"


class Key:
    """A 256-bit ChaCha key that does not show itself.

    Parameters
    ----------
    secret : bytes
        The 32 bytes of the key.
    seeded : bool
        Whether the key can be made again from a seed.
    """

    __slots__ = ("_secret", "seeded")

    seeded: bool

    def __init__(self, secret: bytes, *, seeded: bool) -> None:
        self._secret = secret
        self.seeded = seeded

    @classmethod
    def from_os(cls) -> Key:
        """Take a fresh key from the operating system.

        Raises
        ------
        OSError, NotImplementedError
            Whatever ``os.urandom`` raises where it has no randomness to give: there is no second source.
        RuntimeError
            If fewer bytes came than were asked for.
        """
        secret = os.urandom(KEY_BYTES)
        if len(secret) != KEY_BYTES:
            raise RuntimeError(f"the operating system gave {len(secret)} random bytes where {KEY_BYTES} were asked for")
        return cls(secret, seeded=False)

    @classmethod
    def from_seed(cls, seed: np.random.SeedSequence) -> Key:
        """Make the repeatable key of a seed: the first 256 bits of its state."""
        return cls(seed.generate_state(KEY_BYTES // 4, np.uint32).astype("<u4").tobytes(), seeded=True)

    def child(self, labels: Iterable[str | int | bytes]) -> Key:
        """Derive the key that belongs to these labels; the same labels give the same key.

        Every label is hashed with its type and length before it, so that neither 1, "1" and b"1" nor ("ab",) and
        ("a", "b") coincide.
        """
        encoded = [_encode_label(label) for label in labels]
        return self._derive(_BY_LABEL, len(encoded).to_bytes(8, "little") + b"".join(encoded))

    def spawned(self, count: int) -> Key:
        """Derive the key of the spawned child number ``count``."""
        return self._derive(_BY_COUNT, count.to_bytes(8, "little"))

    def words(self) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """Return the key as four uint64 words, as ChaCha's state holds it in memory."""
        return np.frombuffer(self._secret, dtype="<u8").astype(np.uint64)

    def _derive(self, kind: bytes, message: bytes) -> Key:
        import hashlib  # 2 ms, for children alone

        secret = hashlib.blake2b(message, digest_size=KEY_BYTES, key=self._secret, person=kind).digest()
        return Key(secret, seeded=self.seeded)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key):
            return NotImplemented
        import hmac

        return hmac.compare_digest(self._secret, other._secret) and self.seeded == other.seeded

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Key(<{'from a seed' if self.seeded else 'from the operating system'}>)"

    def reveal(self) -> bytes:
        """Return the 32 bytes of a seeded key, for pickling; a key from the operating system stays where it is."""
        if not self.seeded:
            raise TypeError(
                "a generator keyed by the operating system cannot be pickled or copied, because its noise would appear "
                "twice, nor jumped or its state told; make one in each worker, or hand out children of a seeded one"
            )
        return self._secret

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.reveal(),)


def _restore(secret: bytes) -> Key:
    return Key(secret, seeded=True)


def _encode_label(label: str | int | bytes) -> bytes:
    if isinstance(label, str):
        kind, body = b"s", label.encode("utf-8", "surrogatepass")
    elif isinstance(label, bytes):
        kind, body = b"b", label
    else:
        kind, body = b"i", label.to_bytes((label.bit_length() + 8) // 8, "little", signed=True)
    return kind + len(body).to_bytes(8, "little") + body
