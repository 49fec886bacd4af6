"""Laplace noise under the names of numpy.random, so that code which calls them changes one import."""

from __future__ import annotations

from typing import Any, NoReturn

from lapnoise import _check
from lapnoise.generator import Generator, default_rng

__all__ = ["Random", "random"]


class Random:
    """What stands in for the module ``numpy.random``: functions that draw from one hidden generator.

    The generator is made at the first draw, under a key from the operating system. Many threads may draw at once; after
    a fork the child has another key. Nothing can be seeded: what has to come again takes `lapnoise.default_rng`.

    Notes
    -----
    This samples; it makes no claim of privacy. What is published takes a mechanism, such as
    `lapnoise.LaplaceMechanism`.

    Examples
    --------
    >>> from lapnoise.embed.numpy_random import random  # instead of: from numpy import random
    >>> random.laplace(0.0, 2.0, size=(2, 3)).shape
    (2, 3)
    """

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: Generator | None = None

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from the Laplace distribution with density exp(-abs(x - loc) / scale) / (2 scale).

        Parameters
        ----------
        loc : float or array_like of floats, optional
            Mean of the distribution.
        scale : float or array_like of floats, optional
            b, so that the variance is 2 b^2; finite and >= 0.
        size : int or tuple of ints, optional
            Shape of the result; None means that of ``loc`` and ``scale`` together.

        Returns
        -------
        float or ndarray

        Raises
        ------
        ValueError
            If ``scale`` is negative, as in NumPy, or NaN or infinite, or shapes do not fit.
        OverflowError
            If a draw could pass the largest float.
        """
        return self._generator().laplace(loc, scale, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from the exponential distribution with mean ``scale``.

        Parameters
        ----------
        scale, size
            As in `laplace`.

        Returns
        -------
        float or ndarray

        Raises
        ------
        ValueError, OverflowError
            As in `laplace`.
        """
        return self._generator().exponential(scale, size)

    def __getattr__(self, name: str) -> NoReturn:
        _check.no_such_law(name)

    def _generator(self) -> Generator:
        # No lock: two threads that come first at once make two generators, of which each may draw. A lock held during
        # a fork would stay held in the child.
        if self._made is None:
            self._made = default_rng()
        return self._made


random = Random()
"""The one of this process, to be imported in place of ``numpy.random``."""
