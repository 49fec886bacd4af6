"""Noise that is a function of what it protects: of a secret, a release and a cell, on whatever machine it is made.

The noise of a cell depends on the secret, the id of the release, the versions of stream and key format, the mechanism
with every parameter and its lattice, the name of the column, the key of the row, and the value rounded to the lattice;
and on nothing else. So a task that runs again, in another partition, order or batch, makes the same bytes.

Without the parameters one id at two epsilons would give two equations that solve for the value; without the value an
id that is used on changed data would give the difference. With the value in it cells that did not change repeat, and
the others have noise of their own.

Every derivation is BLAKE2b, keyed from the secret on, with a personalisation for each purpose. Its message is a list of
typed parts, each with its length before it, the number of parts first.

References
----------
.. [1] M.-J. Saarinen, J.-P. Aumasson, RFC 7693, "The BLAKE2 Cryptographic Hash", 2015, section 2.9 (keyed hashing).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check, _release
from lapnoise._check import FLOAT32, FLOAT64, INT64
from lapnoise._row_keys import KEY_FORMAT, KeyColumn, hash_rows, length
from lapnoise.bits.stream import STREAM_VERSION
from lapnoise.mechanisms import DiscreteLaplaceMechanism, LaplaceMechanism

__all__ = ["KeyedColumn", "KeyedRelease", "KeyedRows"]

Part = int | str | Fraction | None

_KEY_BYTES = 32
_SIPHASH_BYTES = 16
_SECRET, _RELEASE, _ROWS, _COLUMN = b"lapnoise secret", b"lapnoise release", b"lapnoise rows", b"lapnoise column"
_CHECK = b"lapnoise check"


class KeyedColumn:
    """The noise of one column of a release.

    Made by `KeyedRelease.column`. It pickles with its key, which opens this column of this release alone, and does not
    show it.

    Attributes
    ----------
    mechanism : LaplaceMechanism or DiscreteLaplaceMechanism
        What noise is added.
    """

    __slots__ = ("_key", "mechanism")

    def __init__(self, mechanism: LaplaceMechanism | DiscreteLaplaceMechanism, key: bytes) -> None:
        self.mechanism = mechanism
        self._key = key

    def add_noise(self, values: Any, identities: NDArray[np.uint64], mask: Any = None) -> NDArray[Any]:
        """Return values with noise, each a function of the value and its row's identity alone.

        Parameters
        ----------
        values : array_like
            One-dimensional. The Laplace mechanism takes float64, float32 (which stays float32) and integers, which give
            float64; the discrete one takes integers and gives int64. NaN stays NaN.
        identities : ndarray of uint64
            Two words a row, from `KeyedRelease.identities`.
        mask : array_like of bool, optional
            True where a value is missing; what stands there is not looked at, and the result is 0.

        Raises
        ------
        ValueError
            If a value is infinite, or the arrays do not fit.
        TypeError
            If values are not of a type that the mechanism takes.
        """
        given = _check.keyed_values(values)
        rows = _check.row_identities(identities, given.size)
        missing = _check.keyed_mask(mask, given.size)
        if missing is not None:
            given = given.copy()
            given[missing] = 0
        if isinstance(self.mechanism, DiscreteLaplaceMechanism):
            out = self._sums(self.mechanism, given, rows)
        else:
            out = self._floats(self.mechanism, given, rows)
        if missing is not None:
            out[missing] = 0
        return out

    def _floats(self, mechanism: LaplaceMechanism, given: NDArray[Any], rows: NDArray[np.uint64]) -> NDArray[Any]:
        where = _release.find_infinite(given)
        if where >= 0:
            _check.infinite_value((where,))
        from lapnoise import _keyed_noise

        out = np.empty(given.size, FLOAT32 if given.dtype == FLOAT32 else FLOAT64)
        if given.dtype.kind == "f":
            _keyed_noise.add_to_floats(out, given, rows, self._key, mechanism.lattice)
        else:
            whole, unsigned = _as_int64(given)
            _keyed_noise.add_to_integers(out, whole, rows, self._key, mechanism.lattice, unsigned)
        return out

    def _sums(self, mechanism: DiscreteLaplaceMechanism, given: NDArray[Any], rows: NDArray[np.uint64]) -> NDArray[Any]:
        whole, unsigned = _as_int64(_check.integer_values(given))
        from lapnoise import _keyed_noise

        out = np.empty(given.size, INT64)
        _keyed_noise.sum_integers(out, whole, rows, self._key, mechanism.lattice.t, unsigned)
        return out

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyedColumn):
            return NotImplemented
        return hmac.compare_digest(self._key, other._key) and self.mechanism == other.mechanism

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyedColumn, (self.mechanism, self._key)

    def __repr__(self) -> str:
        return f"KeyedColumn({self.mechanism!r})"


class KeyedRows:
    """What rows of one release are called.

    Made by `KeyedRelease.rows`. It pickles with its key, which says nothing of any noise, and does not show it.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def identities(self, columns: Sequence[KeyColumn]) -> NDArray[np.uint64]:
        """Return the identity of each row, two uint64 words, from the columns of its key in their order."""
        _check.key_columns([length(column) for column in columns])
        return hash_rows(columns, np.frombuffer(self._key, "<u8").astype(np.uint64))

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyedRows, (self._key,)

    def __repr__(self) -> str:
        return "KeyedRows()"


class KeyedRelease:
    """The identities of rows and the columns of one release.

    It keeps a key that is derived for this release, and not the secret.

    Parameters
    ----------
    secret : bytes
        At least 32 bytes that nobody can guess, for instance of `secrets.token_bytes`. Who has it and the result has
        the data: keep it as you keep these.
    release_id : str
        What one release is called. Another release takes another id.
    """

    __slots__ = ("_key", "release_id")

    def __init__(self, secret: bytes, release_id: str) -> None:
        whole = _check.secret(secret)
        self.release_id = _check.name("release_id", release_id)
        root = hashlib.blake2b(whole, digest_size=_KEY_BYTES, person=_SECRET).digest()
        self._key = _derive(root, _RELEASE, [self.release_id, STREAM_VERSION, KEY_FORMAT])

    def rows(self) -> KeyedRows:
        """Return what tells rows apart, for machines that need not have more."""
        return KeyedRows(_derive(self._key, _ROWS, [], _SIPHASH_BYTES))

    def identities(self, columns: Sequence[KeyColumn]) -> NDArray[np.uint64]:
        """Return the identity of each row, as its `KeyedRows` do."""
        return self.rows().identities(columns)

    def check_value(self) -> str:
        """Return text that another secret, id or format would not give, and from which no key can be told."""
        return _derive(self._key, _CHECK, [], _SIPHASH_BYTES).hex()

    def column(self, mechanism: Any, name: str) -> KeyedColumn:
        """Return the noise of the column of this name by a mechanism that has ``changed`` set."""
        _check.keyed_mechanism(mechanism, (LaplaceMechanism, DiscreteLaplaceMechanism))
        if isinstance(mechanism, LaplaceMechanism):
            _check.bound_length(mechanism.changed)
            mechanism.verify_floats()
        return KeyedColumn(mechanism, _derive(self._key, _COLUMN, [*_told(mechanism), _check.name("name", name)]))

    def __repr__(self) -> str:
        return f"KeyedRelease({self.release_id!r})"


def _told(mechanism: LaplaceMechanism | DiscreteLaplaceMechanism) -> list[Part]:
    """Return all that a mechanism is: its class, its parameters by name, and the lattice that follows from them.

    The lattice too, because a later version may choose another one for the same parameters.
    """
    parameters = sorted(mechanism._parameters().items())
    lattice = mechanism.lattice
    named: list[Part] = [type(mechanism).__name__, len(parameters)]
    for name, value in parameters:
        named += [name, value]
    return [*named, lattice.exponent, Fraction(lattice.t)]


def _derive(key: bytes, purpose: bytes, parts: Sequence[Part], size: int = _KEY_BYTES) -> bytes:
    message = len(parts).to_bytes(8, "little") + b"".join(map(_encoded, parts))
    return hashlib.blake2b(message, digest_size=size, key=key, person=purpose).digest()


def _encoded(part: Part) -> bytes:
    if part is None:
        kind, body = b"n", b""
    elif isinstance(part, str):
        kind, body = b"s", part.encode("utf-8")
    elif isinstance(part, int):
        kind, body = b"i", _signed(part)
    elif isinstance(part, Fraction):
        numerator = _signed(part.numerator)
        kind, body = b"q", len(numerator).to_bytes(8, "little") + numerator + _signed(part.denominator)
    else:
        raise TypeError(f"a parameter of type {type(part).__name__} has no encoding")
    return kind + len(body).to_bytes(8, "little") + body


def _signed(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 8) // 8, "little", signed=True)


def _as_int64(values: NDArray[Any]) -> tuple[NDArray[np.int64], bool]:
    """Return integers as int64, uint64 seen as int64, and whether it was uint64."""
    if values.dtype == np.uint64:
        return values.view(np.int64), True
    return values.astype(np.int64, copy=False), False
