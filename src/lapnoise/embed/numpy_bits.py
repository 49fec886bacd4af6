"""A NumPy BitGenerator over ChaCha: every distribution of numpy.random from cryptographic words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lapnoise import _check
from lapnoise.bits.entropy import Key
from lapnoise.bits.stream import MAX_POSITION, Stream
from lapnoise.embed._guarded_words import GuardedWords
from lapnoise.generator import Generator

if TYPE_CHECKING:
    from numpy.random import SeedSequence

__all__ = ["ChaChaBits"]


class ChaChaBits(np.random.BitGenerator):
    """Bits for `numpy.random.Generator` from ChaCha: the words of `lapnoise.default_rng`, in their order.

    Parameters
    ----------
    seed : int, sequence of ints, numpy.random.SeedSequence or None, optional
        None takes a 256-bit key from the operating system, and fails where that has none to give. Anything else gives a
        repeatable stream, for tests and simulation; it protects nobody.
    rounds : {8, 12, 20}, optional
        Rounds of the ChaCha cipher. More are slower; 20 is the cipher as standardised (RFC 8439).

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these; the message names it.

    Notes
    -----
    What is claimed is the words: ``ChaChaBits(seed).random_raw(n)`` is ``default_rng(seed).words(n)``. A draw of 64
    bits is the next word; one of 32 bits takes the low half of a word and keeps the high half for the next of 32 bits;
    a float is (word >> 11) 2^-53. What is made of them is NumPy's: its distributions work in floating point, are not
    exact, and make no claim of privacy. Which words a distribution takes is NumPy's affair, and may change with it.

    One instance may be used by many threads and generators; each word is given out once. NumPy enters `lock` before it
    draws, and there a forked process is seen: keyed by the operating system, an instance goes on with a new key; a
    seeded one raises RuntimeError. A normal draw that the legacy RandomState keeps back goes to parent and child alike.

    Functions jitted by Numba draw without the lock: one thread at a time may call them. They take an instance keyed by
    the operating system to a new key in a forked process too, but repeat there what a seeded one gives its parent, and
    so do addresses from `ctypes` and `cffi` that are kept over a fork, for either.

    A stream ends at word 2^62. A draw that begins there is refused; one that began before goes on into words that
    nothing else is made of, so that none is given out twice.

    Examples
    --------
    >>> import numpy, lapnoise
    >>> rng = numpy.random.Generator(lapnoise.ChaChaBits())
    >>> rng.standard_normal(3).shape
    (3,)
    """

    def __init__(self, seed: int | list[int] | SeedSequence | None = None, *, rounds: int = 12) -> None:
        checked_rounds = _check.rounds(rounds)
        sequence = None if seed is None else _check.seed(seed)
        key = Key.from_os() if sequence is None else Key.from_seed(sequence)
        self._begin(Stream(key, checked_rounds), sequence)

    @classmethod
    def from_generator(cls, rng: Generator) -> Self:
        """Make one from a lapnoise generator, of which it takes the next child of `Generator.spawn`.

        So neither gives out words of the other, and every call gives others. ``rng.child("name")`` in the place of
        ``rng`` gives a repeatable one that has a name.

        Raises
        ------
        TypeError
            If ``rng`` is not a lapnoise Generator.
        """
        _check.source_generator(rng, Generator)
        return cls._over(rng.spawn(1)[0]._stream)

    @classmethod
    def _over(cls, stream: Stream, sequence: SeedSequence | None = None, half: int | None = None) -> Self:
        made = cls.__new__(cls)
        made._begin(stream, sequence, half)
        return made

    def _begin(self, stream: Stream, sequence: SeedSequence | None, half: int | None = None) -> None:
        # Without a seed of ours NumPy would take one of its own from the operating system.
        given: Any = np.random.bit_generator.SeedlessSeedSequence() if sequence is None else sequence
        super().__init__(given)
        self._words = GuardedWords(stream, half)
        # The base made a capsule of its own bitgen_t, which Generator, ctypes and cffi all read: it is filled in.
        self._words.connect(super().capsule)

    @property
    def lock(self) -> Any:  # type: ignore[override]
        """The lock that whoever draws enters first; it sees forks, and the end of the stream."""
        return self._words

    @property
    def position(self) -> int:
        """Place in the stream, in 64-bit words; a half word that is kept counts as given out."""
        return self._words.position

    def random_raw(self, size: Any = None, output: bool = True) -> Any:
        """Return the next words of the stream, uint64.

        Parameters
        ----------
        size : int or tuple of ints, optional
            Shape of the result; None gives one int.
        output : bool, optional
            False returns None, the words being taken all the same.

        Raises
        ------
        OverflowError
            If they would pass the end of the stream; nothing is given out then.
        """
        shape = _check.size(size)
        if shape is None:
            with self._words:
                word = super().random_raw()
            return word if output else None
        out = np.empty(shape, np.uint64)
        self._words.take(out.reshape(-1))
        return out if output else None

    def _benchmark(self, cnt: int, method: str = "uint64") -> None:
        with self._words:
            super()._benchmark(cnt, method)

    @property
    def ctypes(self) -> Any:
        """The C interface as in NumPy's generators, for ctypes and Numba; asking for it renews a key after a fork.

        It never raises: draws by way of it that ought to be refused are the caller's affair.
        """
        # Numba reads this whenever a jitted function is called with a Generator, and crashes where that raises.
        self._words.renew()
        return super().ctypes

    @property
    def cffi(self) -> Any:
        """The C interface as in NumPy's generators, for cffi; refused as a draw is."""
        with self._words:
            return super().cffi

    def spawn(self, n_children: int) -> list[Self]:
        """Return n new independent instances, over the streams that `Generator.spawn` of this seed gives.

        Every call gives others.

        Raises
        ------
        TypeError
            If this one was made by `jumped`, which has the key, and so the children, of another.
        """
        count = _check.count("n_children", n_children)
        stream = self._words.stream
        _check.jumped_has_no_children(stream.stream_id)
        return [type(self)._over(child) for child in stream.spawn(count)]

    def jumped(self, jumps: int = 1) -> Self:
        """Return an instance as if ``jumps`` times 2^62 words had been drawn; a half word is not taken along.

        It has the same key and position, and a stream id larger by ``jumps``, so that the two never meet.

        Parameters
        ----------
        jumps : int, optional
            >= 0; all in all less than 2^64.

        Raises
        ------
        TypeError
            If the key is from the operating system, because the same jump gives the same words again: use `spawn`.
        """
        with self._words.held():
            here = self._words.placed()
        there = Stream(here.key, here.rounds, _check.jumped(jumps, here.stream_id))
        there.position = here.position
        return type(self)._over(there)

    def advance(self, delta: int) -> Self:
        """Move as if ``delta`` words had been drawn, or, where it is negative, taken back; a half word is dropped.

        Parameters
        ----------
        delta : int
            It must lead to a position from 0 to 2^62, and back only where the key is from a seed.

        Returns
        -------
        ChaChaBits
            This one.
        """
        with self._words.held():
            seeded = self._words.stream.key.seeded
            self._words.move(_check.advanced(delta, self._words.position, MAX_POSITION, seeded))
        return self

    @property
    def state(self) -> dict[str, Any]:
        """Where a seeded stream stands, exactly, as a dict of ints; it holds the key, from which all words follow.

        Raises
        ------
        TypeError
            If the key is from the operating system.
        """
        with self._words.held():
            here, half = self._words.placed(), self._words.half
        inner = {
            "key": int.from_bytes(here.key.reveal(), "little"),
            "stream_id": here.stream_id,
            "position": here.position,
            "rounds": here.rounds,
            "spawned": here.spawned,
        }
        kept = {"has_uint32": int(half is not None), "uinteger": half or 0}
        return {"bit_generator": "ChaChaBits", "state": inner, **kept}

    @state.setter
    def state(self, value: Mapping[str, Any]) -> None:
        numbers = _check.bits_state(value)
        key = Key(numbers["key"].to_bytes(32, "little"), seeded=True)
        stream = Stream(key, numbers["rounds"], numbers["stream_id"])
        stream.position, stream.spawned = numbers["position"], numbers["spawned"]
        with self._words.held():
            self._words.load(stream, numbers["uinteger"] if numbers["has_uint32"] else None)

    def __reduce__(self) -> tuple[Any, ...]:
        with self._words.held():
            here, half = self._words.placed(), self._words.half
        sequence = self.seed_seq
        known = sequence if isinstance(sequence, np.random.SeedSequence) else None
        # NumPy 1.26 makes the pickles of its Generator and RandomState of these three, the second of length one.
        return _restore, ((type(self), here, known, half),), None

    def __repr__(self) -> str:
        stream = self._words.stream
        origin = "a seed" if stream.key.seeded else "the operating system"
        return f"{type(self).__name__}(key from {origin}, rounds={stream.rounds}, position={self.position})"


def _restore(parts: tuple[type[ChaChaBits], Stream, SeedSequence | None, int | None]) -> ChaChaBits:
    kind, stream, sequence, half = parts
    return kind._over(stream, sequence, half)
