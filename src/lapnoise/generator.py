"""Generator: Laplace noise in arrays, from a stream of words that any process can address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._check import FLOAT32, FLOAT64, INT64
from lapnoise._containers import is_column, unwrap
from lapnoise._fill import SERIAL_BELOW, scratch, separate
from lapnoise._word_source import WordSource, exact_noise, kernels
from lapnoise.bits.entropy import Key
from lapnoise.bits.stream import MAX_POSITION, Stream
from lapnoise.signed_log import SignedLog

if TYPE_CHECKING:
    from numpy.random import SeedSequence


__all__ = ["Generator", "default_rng"]

_GROUP = 128  # words that the stream makes at least, and single draws are kept of


def default_rng(
    seed: int | list[int] | SeedSequence | None = None, *, rounds: int = 12, threads: int | None = None
) -> Generator:
    """Return a generator of Laplace noise.

    Parameters
    ----------
    seed : int, sequence of ints, numpy.random.SeedSequence or None, optional
        None takes a 256-bit key from the operating system, and fails where that has none to give. Anything else gives a
        repeatable stream, for tests and simulation; it protects nobody.
    rounds : {8, 12, 20}, optional
        Rounds of the ChaCha cipher. More are slower; 20 is the cipher as standardised (RFC 8439).
    threads : int, optional
        Threads for large arrays at most; None uses the cores that this process may use. No draw depends on it.

    Returns
    -------
    Generator

    Raises
    ------
    TypeError, ValueError
        If an argument is none of these; the message names it.
    """
    checked_rounds = _check.rounds(rounds)
    checked_threads = _check.threads(threads)
    key = Key.from_os() if seed is None else Key.from_seed(_check.seed(seed))
    return Generator(Stream(key, checked_rounds), threads=checked_threads)


class Generator(WordSource):
    """Laplace noise from a ChaCha stream; made by `default_rng`.

    Every draw is a function of (key, position) alone, bit for bit: not of threads, blocks, memory layout or machine. It
    takes a fixed number of 64-bit words, whatever its value and its parameters: one for `laplace`, `exponential`,
    `log_laplace`, `discrete_laplace` and `bounded_laplace`, two for the exponential difference, half of that for
    float32 (low half first; an odd half left over at the end of a call is dropped). Index order is C order. So n draws
    at once equal any split of them into consecutive calls, and `seek` reaches every draw by itself.

    One generator may be used by many threads; every draw is given out once. After a fork a generator keyed by the
    operating system takes a new key in the child, and a seeded one refuses to draw there; its `child` works.

    Notes
    -----
    These methods sample; they make no claim of privacy. Noise added in floating point can tell values apart by their
    low bits (Mironov 2012).
    """

    def __init__(self, stream: Stream, *, threads: int | None = None) -> None:
        super().__init__(stream, threads=threads)
        self._singles: list[float] = []
        self._singles_group = -1
        self._singles_source = stream.source

    def laplace(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dtype: Any = np.float64,
        out: NDArray[Any] | None = None,
        method: str = "inverse",
    ) -> Any:
        """Draw from the Laplace distribution with density exp(-abs(x - loc) / scale) / (2 scale).

        Parameters
        ----------
        loc : float or array_like, optional
            Mean of the distribution. NaN and infinities pass through, as in NumPy. A masked array keeps its mask.
        scale : float or array_like, optional
            b, so that the variance is 2 b^2; finite and >= 0. 0 gives ``loc`` exactly.
        size : int or tuple of ints, optional
            Shape of the result; it may extend the shape that ``loc`` and ``scale`` broadcast to.
        dtype : {numpy.float64, numpy.float32}, optional
            Type of the result, and of the arithmetic.
        out : ndarray, optional
            Array of this dtype to write to and return.
        method : {"inverse", "exponential_difference"}, optional
            ``"inverse"``: a sign and -log(u). ``"exponential_difference"``: log(u2 / u1), at twice the words.

        Returns
        -------
        float or ndarray
            A float where all arguments are numbers and neither ``size`` nor ``out`` is given.

        Raises
        ------
        ValueError
            If ``scale`` is negative, -0.0, NaN or infinite, or shapes do not fit. Nothing is drawn then.
        OverflowError
            If ``scale`` is so large that a draw could pass the largest float (45 b; in float32, 23 b).

        Notes
        -----
        In float64 u = (2 j + 1) 2^-64 with j uniform on 63 bits: the magnitude is from 2^-64 b to 44.4 b, within 2 ulp
        of -b log(u). In float32 j has 31 bits and the magnitude reaches 22.2 b. The result is the product with b,
        rounded, added to loc, rounded.

        References
        ----------
        L. Devroye, "Non-Uniform Random Variate Generation", 1986, sections II.2 and IX.2.
        """
        if (
            type(loc) is float
            and type(scale) is float
            and 0.0 < scale < 1e300
            and size is None
            and out is None
            and dtype is np.float64
            and method == "inverse"
        ):
            return loc + scale * self._single()
        kind = _check.dtype(dtype)
        b, how = _check.scale(scale, kind), _check.method(method)
        if type(loc) is float:
            return self._draw(loc, b, size, out, kind, how)
        data, rewrap = unwrap(loc) if isinstance(loc, np.ma.MaskedArray) else (loc, None)
        result = self._draw(_check.number_or_array("loc", data), b, size, out, kind, how)
        return result if rewrap is None or out is not None else rewrap(result)

    def exponential(
        self, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64, out: NDArray[Any] | None = None
    ) -> Any:
        """Draw from the exponential distribution with mean ``scale``: the magnitude of Laplace noise.

        At the same position of the stream it is the magnitude of ``laplace(0, scale)``, bit for bit.

        Parameters
        ----------
        scale : float or array_like, optional
            Mean; finite and >= 0.
        size, dtype, out
            As in `laplace`.

        Returns
        -------
        float or ndarray

        Raises
        ------
        ValueError, OverflowError
            As in `laplace`.
        """
        kind = _check.dtype(dtype)
        b = _check.scale(scale, kind)
        target, bare = _target({"scale": b}, size, out, kind)
        kernel = kernels().exponential[kind]
        self._fill(kernel, [target], [_apart(b, target)])
        return target.item() if bare else target if out is None else out

    def add_laplace(self, values: Any, scale: Any, *, out: NDArray[Any] | None = None, method: str = "inverse") -> Any:
        """Return values + Laplace noise, in one pass.

        Parameters
        ----------
        values : float, array_like, masked array, pandas or polars Series, Arrow Array or ChunkedArray
            What noise is added to. float32 gives float32; float64, integers and bool give float64. NaN stays NaN, and
            every cell takes its word, masked and missing ones too.
        scale : float or array_like
            b of the noise, finite and >= 0; an array is broadcast with ``values``.
        out : ndarray, optional
            Array to write to and return; ``out=values`` works in place.
        method : {"inverse", "exponential_difference"}, optional
            As in `laplace`.

        Returns
        -------
        float, ndarray, masked array, Series, Array or ChunkedArray
            The same kind as ``values``, bit for bit what ``laplace(values, scale)`` gives.

        Raises
        ------
        ValueError, OverflowError
            As in `laplace`.
        TypeError
            If ``values`` are not real numbers, or float16.
        """
        data, rewrap = unwrap(values)
        array = _check.values(data)
        kind = FLOAT32 if array.dtype.newbyteorder("=") == FLOAT32 else FLOAT64
        size = array.shape if is_column(values) else None
        result = self._draw(array, _check.scale(scale, kind), size, out, kind, _check.method(method), name="values")
        return result if out is not None else rewrap(result)

    def log_laplace(self, log_scale: Any = 0.0, size: Any = None) -> SignedLog:
        """Draw Laplace noise of any size, as a sign and the natural logarithm of its magnitude.

        Parameters
        ----------
        log_scale : float or array_like, optional
            ln b, finite; it may lie far beyond the logarithm of the largest float.
        size : int or tuple of ints, optional
            As in `laplace`.

        Returns
        -------
        SignedLog
            sign (-1 or 1) and ln abs(x) = ln b + ln E, E being the `exponential` draw of the same word.

        Raises
        ------
        ValueError
            If ``log_scale`` is NaN or infinite.
        """
        b = _check.finite("log_scale", log_scale)
        target, bare = _target({"log_scale": b}, size, None, FLOAT64)
        sign = np.empty(target.shape, np.int8)
        self._fill(kernels().log_laplace, [target, sign], [b])
        return SignedLog(sign.item(), target.item()) if bare else SignedLog(sign, target)

    def bounded_laplace(self, loc: Any, scale: Any, low: Any, high: Any, size: Any = None) -> Any:
        """Draw from the Laplace distribution conditioned on [low, high]; nothing is clipped, no mass sits at the ends.

        Parameters
        ----------
        loc : float or array_like
            Centre of the distribution before conditioning, finite; it may lie far outside the interval.
        scale : float or array_like
            b before conditioning, as in `laplace`. 0 gives the point of the interval nearest to ``loc``.
        low, high : float or array_like
            The interval, low <= high; -inf and inf leave a side open, up to the largest float.
        size : int or tuple of ints, optional
            As in `laplace`.

        Returns
        -------
        float or ndarray

        Raises
        ------
        ValueError, OverflowError
            As in `laplace`, and if low > high or a bound is NaN.

        Notes
        -----
        Inversion of the conditioned distribution function, one word a draw. An interval in a tail costs no accuracy:
        beyond its nearer end the distribution is an exponential cut to the interval's width.
        """
        b = _check.scale(scale, FLOAT64)
        centre, lower, upper = _check.interval(loc, low, high)
        parameters = {"loc": centre, "scale": b, "low": lower, "high": upper}
        target, bare = _target(parameters, size, None, FLOAT64)
        self._fill(kernels().bounded_laplace, [target], list(parameters.values()))
        return target.item() if bare else target

    def discrete_laplace(self, scale: Any = 1.0, size: Any = None, *, out: NDArray[Any] | None = None) -> Any:
        """Draw exactly from the discrete Laplace distribution: P(k) = (1 - q) / (1 + q) q^abs(k), q = exp(-1 / scale).

        Parameters
        ----------
        scale : float or array_like, optional
            From 0 (always k = 0) to 2^57, taken at its exact value. In an array each different scale takes some 30 us
            once, and each draw 30 ns.
        size : int or tuple of ints, optional
            As in `laplace`.
        out : ndarray of int64, optional
            Array to write to and return.

        Returns
        -------
        int or ndarray of int64
            The distribution is exact for uniformly random words: no rounding changes a probability. An integer beyond
            2^63 - 1, of probability below exp(-64), is cut to it.

        Raises
        ------
        ValueError
            As in `laplace`.
        OverflowError
            If ``scale`` is above 2^57.

        Notes
        -----
        One word a draw, and further words from streams of their own where the first leaves the integer open.
        Construction and proof: docs/exact-sampling.md.
        """
        t = _check.discrete_scale(scale)
        target, bare = _target({"scale": t}, size, out, INT64)
        noise = exact_noise()
        if isinstance(t, float):
            self._fill(noise.discrete_kernel(t), [target], [])
        else:
            self._fill(noise.discrete_kernel_each(), [target], [_apart(t, target)], kind=FLOAT64)
        return target.item() if bare else target if out is None else out

    def _draw(
        self,
        loc: Any,
        scale: Any,
        size: Any,
        out: NDArray[Any] | None,
        kind: np.dtype[Any],
        method: str,
        name: str = "loc",
    ) -> Any:
        inverse = method == "inverse"
        table = kernels()
        kernel = (table.laplace if inverse else table.difference)[kind]
        if type(loc) is float and type(scale) is float:
            # Two numbers always fit, and a short array needs neither blocks nor threads: a microsecond less.
            target, bare = _target({}, size, out, kind)
            flags = target.flags
            if kind is FLOAT64 and 0 < target.size <= SERIAL_BELOW and flags.c_contiguous and flags.aligned:
                stream = self._stream
                start = stream.reserve(target.size if inverse else 2 * target.size)
                kernel(target if target.ndim == 1 else target.reshape(-1), loc, scale, stream.source, start, scratch())
                return target.item() if bare else target if out is None else out
        else:
            target, bare = _target({name: loc, "scale": scale}, size, out, kind)
            if out is not None:
                loc = separate(loc, target)
                scale = _apart(scale, target)
        self._fill(kernel, [target], [loc, scale], 1 if inverse else 2)
        return target.item() if bare else target if out is None else out

    def _single(self) -> float:
        """Return one standard draw. A group of draws is made at once and kept for the next calls."""
        stream = self._stream
        stream.enter()
        with stream.lock:
            position = stream.position
            if position >> 7 != self._singles_group or stream.source is not self._singles_source:
                self._make_singles(position >> 7)
            stream.position = position + 1
            return self._singles[position & 127]

    def _make_singles(self, group: int) -> None:
        if group * _GROUP >= MAX_POSITION:
            raise OverflowError("the stream ends at word 2**62")
        draws = np.empty(_GROUP)
        source = self._stream.source
        kernels().laplace[FLOAT64](draws, 0.0, 1.0, source, group * _GROUP, scratch())
        self._singles, self._singles_group, self._singles_source = draws.tolist(), group, source


def _target(
    parameters: dict[str, Any], size: Any, out: NDArray[Any] | None, kind: np.dtype[Any]
) -> tuple[NDArray[Any], bool]:
    """Return the array to write to, and whether the result is a bare number."""
    wanted = _check.size(size)
    if out is not None:
        target = _check.output(out, kind, wanted)
        if parameters:
            _check.shape(parameters, target.shape)
        return target, False
    if not parameters:
        return np.empty(wanted or (), kind), wanted is None
    bare = wanted is None and not any(isinstance(p, np.ndarray) for p in parameters.values())
    return np.empty(_check.shape(parameters, wanted), kind), bare


def _apart(parameter: Any, target: NDArray[Any]) -> Any:
    """Return a parameter that no write to the target can change."""
    if isinstance(parameter, np.ndarray) and np.may_share_memory(parameter, target):
        return parameter.copy()
    return parameter
