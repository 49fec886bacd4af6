"""From a Generator to what jitted and C code draws from: six words that name a stream, and a place in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._exact_noise import exact_draw, law
from lapnoise.bits.stream import MAX_POSITION
from lapnoise.generator import Generator

__all__ = ["discrete_law", "finish", "reserve", "verify"]

_LARGEST = 2**63 - 1


def reserve(rng: Generator, words: int) -> tuple[NDArray[np.uint64], int]:
    """Give out the next words of a generator to code that makes its draws itself.

    Parameters
    ----------
    rng : Generator
        It moves on as if it had drawn them, so that no word is given out twice.
    words : int
        How many, >= 0: one for each draw in float64, half of one for each in float32, rounded up.

    Returns
    -------
    source : ndarray of uint64, shape (6,)
        The key in four words, the stream id, and half the number of rounds: a copy, for as long as it is needed.
        Whoever reads it can make all noise of the generator again.
    position : int
        Place of the first word.

    Raises
    ------
    TypeError, ValueError
        If ``rng`` is no Generator, or ``words`` no int >= 0.
    OverflowError
        If the words would pass the end of the stream.
    RuntimeError
        If the generator was seeded before this process was forked. A source that was reserved before a fork draws the
        same noise in both processes, which cannot be seen where it is used: reserve in each process.

    Examples
    --------
    >>> import lapnoise
    >>> source, position = reserve(lapnoise.default_rng(7), 1000)
    >>> position
    0
    """
    _check.given_generator(rng, Generator)
    return rng._reserve(_check.count("words", words))


def verify(source: NDArray[np.uint64], position: int, words: int, scale: Any = 0.0, dtype: Any = np.float64) -> None:
    """Refuse in Python what device functions would refuse in the middle of a loop.

    In a `prange` Numba loses an exception that is not raised on the calling thread, and with it the rest of a chunk:
    values that wait there for noise get none. So look at all that a parallel loop will use before it starts.

    Parameters
    ----------
    source : ndarray of uint64, shape (6,)
        What `reserve` returned.
    position, words : int
        The stretch of the stream that the loop will use.
    scale : float or array_like, optional
        The scales that it will use.
    dtype : {numpy.float64, numpy.float32}, optional
        Type of its draws.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As in `Generator.laplace`, and if the source is none or the words leave the stream.
    """
    _check.stream_source(source)
    _check.position(position, MAX_POSITION - _check.count("words", words))
    _check.scale(scale, _check.dtype(dtype))


def discrete_law(scale: float) -> NDArray[np.float64]:
    """Return what the device functions for discrete noise take of its scale.

    Parameters
    ----------
    scale : float
        t of P(k) = (1 - q) / (1 + q) q^abs(k), q = exp(-1 / t); from 0 to 2^57, taken at its exact value.

    Returns
    -------
    ndarray of float64, shape (5,)

    Raises
    ------
    TypeError, ValueError, OverflowError
        As in `Generator.discrete_laplace`.
    """
    return law(_check.scalar("scale", _check.discrete_scale(scale)))


def finish(law: NDArray[np.float64], source: NDArray[np.uint64], positions: Any) -> NDArray[np.int64]:
    """Return the discrete draws at places whose first word leaves the integer open.

    Parameters
    ----------
    law : ndarray of float64, shape (5,)
        What `discrete_law` returned.
    source : ndarray of uint64, shape (6,)
        What `reserve` returned.
    positions : array_like of int
        Places of the words, of any shape.

    Returns
    -------
    ndarray of int64
        Draws as `Generator.discrete_laplace` makes them there, cut to +-(2^63 - 1); some 50 us each.

    Raises
    ------
    TypeError, ValueError
        If an array is not what its function returns, or a position lies outside the stream.
    """
    _check.discrete_law(law)
    _check.stream_source(source)
    places = _check.positions(positions, MAX_POSITION - 1)
    draws = [exact_draw(float(law[0]), source, place) for place in places.ravel().tolist()]
    return np.array([min(max(draw, -_LARGEST), _LARGEST) for draw in draws], np.int64).reshape(places.shape)
