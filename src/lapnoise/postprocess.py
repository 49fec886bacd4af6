"""What may be done to released numbers at no cost in privacy: bounds, totals, order.

Every function takes what was released and public constraints, never the data. Each gives the kind that it was given
(a list an array, a Series a Series with its index), leaves its input as it is, and done twice changes nothing more, bit
for bit. NaN and missing values are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise._check import FLOAT64, INT64
from lapnoise._containers import missing_in, unwrap

__all__ = ["clamp", "isotonic", "nonnegative", "project_to_total", "round_to_total"]

Array = NDArray[Any]

_MARGIN = 2.0**-50
"""A sum this near to the total, relative to the size of the terms, is the total: four units of the last place."""


def clamp(values: Any, low: Any, high: Any) -> Any:
    """Return the values clipped to [low, high].

    Parameters
    ----------
    values : number, array_like or Series
        Released numbers.
    low, high : float or int
        low <= high; ints where the values are integers. Infinities leave a side of floats open.

    Returns
    -------
    number, ndarray or Series
        Of the same dtype.

    Notes
    -----
    Clipping costs no privacy but biases: mass gathers at the ends.

    Examples
    --------
    >>> from lapnoise import postprocess
    >>> postprocess.clamp([-3, 5, 12], 0, 10).tolist()
    [0, 5, 10]
    """
    array, rewrap = _taken(values, _check.released)
    least, most = _check.limits(low, high, array.dtype)
    return rewrap(_clipped(array, least, most))


def nonnegative(values: Any) -> Any:
    """Return the values with 0 for negative ones.

    Parameters
    ----------
    values : number, array_like or Series
        Released numbers.

    Returns
    -------
    number, ndarray or Series
        Of the same dtype; never -0.0.

    Notes
    -----
    Of many cells near 0 this raises the sum, by half the scale of Laplace noise each; `project_to_total` does not.

    Examples
    --------
    >>> from lapnoise import postprocess
    >>> postprocess.nonnegative([-0.5, 2.0]).tolist()
    [0.0, 2.0]
    """
    array, rewrap = _taken(values, _check.released)
    return rewrap(np.asarray(np.maximum(array, array.dtype.type(0)) + array.dtype.type(0)))


def round_to_total(values: Any, total: int) -> Any:
    """Return integers near the values that sum exactly to ``total``.

    Each value is rounded down, and what is missing from the total is given to the largest remainders, the first of
    equal ones. Where the values sum to the total, every integer is less than 1 from its value. Where they do not, all
    are moved by one whole number first, negative results becoming 0 unless there were negative values. Of the integers
    with this total (and that sign) these are the nearest, in the sense of squares.

    Parameters
    ----------
    values : array_like or Series
        Released numbers, of any shape, below 2^53 in magnitude.
    total : int
        Public total, below 2^62; >= 0 unless a value is negative.

    Returns
    -------
    ndarray of int64 or Series

    References
    ----------
    M. L. Balinski, H. P. Young, "Fair Representation", 1982, on the method of largest remainders (Hamilton's).

    Examples
    --------
    >>> from lapnoise import postprocess
    >>> postprocess.round_to_total([1.5, 1.5, 7.0], 10).tolist()
    [2, 1, 7]
    """
    array, rewrap = _taken(values, lambda *given: _check.finite_released(*given, whole=True))
    wanted = _check.whole_total(total, array.size)
    flat = array.reshape(-1)
    floor = np.floor(flat).astype(INT64)
    keep_sign = bool((floor >= 0).all())
    if keep_sign and wanted < 0:
        _check.negative_total(wanted)
    if not flat.size:
        return rewrap(floor.reshape(array.shape))
    remainder = flat - floor
    missing = wanted - _exact_sum(floor)
    if missing >= 0 or not keep_sign:
        shift, missing = (0, missing) if 0 <= missing <= flat.size else divmod(missing, flat.size)
        floor += shift
        may_grow = np.arange(flat.size)
    else:
        shift = _least_shift(floor, wanted)
        may_grow = np.flatnonzero(floor >= shift)
        floor = np.maximum(floor - shift, 0)
        missing = wanted - _exact_sum(floor)
    order = np.argsort(-remainder[may_grow], kind="stable")
    floor[may_grow[order[:missing]]] += 1
    return rewrap(floor.reshape(array.shape))


def project_to_total(values: Any, total: float, *, low: float = 0) -> Any:
    """Return the point nearest to the values whose coordinates are at least ``low`` and sum to ``total``.

    Parameters
    ----------
    values : array_like or Series
        Released numbers, of any shape, below 2^1000 in magnitude.
    total : float
        Public total, at least ``low`` times the number of values.
    low : float, optional
        Least value of each, finite.

    Returns
    -------
    ndarray of float64 or Series
        max(values - tau, low), tau solved for the total; the sum is within 2^-50 of the total, relative to the terms.
        Values that fulfil the constraints to that accuracy come back as they are. `round_to_total` makes integers of
        them, of exactly this total.

    References
    ----------
    J. Duchi, S. Shalev-Shwartz, Y. Singer, T. Chandra, "Efficient projections onto the l1-ball for learning in high
    dimensions", ICML 2008, figure 1.

    Examples
    --------
    >>> from lapnoise import postprocess
    >>> postprocess.project_to_total([-2.0, 3.0, 8.0], 10).tolist()
    [0.0, 2.5, 7.5]
    """
    array, rewrap = _taken(values, _check.finite_released)
    wanted, least = _check.total(total, array.size, low)
    given = array.reshape(-1).astype(FLOAT64)
    size = abs(wanted) + abs(least) * given.size
    # What stands above the least value is all that is shared out.
    above = max(wanted - least * given.size, 0.0)
    near = abs(math.fsum(given.tolist()) - wanted) <= _MARGIN * size
    if not given.size or ((given >= least).all() and near):
        return rewrap(given.reshape(array.shape) + 0.0)
    # Counted from the largest value, so that nothing cancels where all values are large; tau lies within ``above``.
    depth = given - given.max()
    reached = np.sort(depth[depth > -above])[::-1]
    projected = np.full(given.size, least)
    if reached.size:
        levels = (np.cumsum(reached) - above) / np.arange(1, reached.size + 1)
        tau = levels[np.flatnonzero(reached > levels)[-1]]
        projected += np.maximum(depth - tau, 0.0)
        largest = int(projected.argmax())
        projected[largest] = max(projected[largest] + (wanted - math.fsum(projected.tolist())), least)
    return rewrap(projected.reshape(array.shape) + 0.0)


def isotonic(values: Any, *, increasing: bool = True, weights: Any = None) -> Any:
    """Return the nearest values, in the sense of weighted squares, that never fall (or never rise).

    Parameters
    ----------
    values : array_like or Series
        Released numbers, one-dimensional, below 2^1000 in magnitude.
    increasing : bool, optional
        Whether they shall never fall; False: never rise.
    weights : array_like, optional
        A weight > 0 for each value; None gives all the same.

    Returns
    -------
    ndarray of float64 or Series

    References
    ----------
    R. E. Barlow, D. J. Bartholomew, J. M. Bremner, H. D. Brunk, "Statistical Inference under Order Restrictions", 1972:
    the pool-adjacent-violators algorithm, as `scipy.optimize.isotonic_regression` has it.

    Examples
    --------
    >>> from lapnoise import postprocess
    >>> postprocess.isotonic([1.0, 3.0, 2.0, 4.0]).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    array, rewrap = _taken(values, _check.finite_vector)
    given = array.astype(FLOAT64)
    loads = None if weights is None else _check.weights(weights, given.shape)
    early, late = (given[:-1], given[1:]) if increasing else (given[1:], given[:-1])
    if (early <= late).all():  # pooling equal values would move them by a last bit
        return rewrap(given)
    from scipy.optimize import isotonic_regression

    return rewrap(isotonic_regression(given, weights=loads, increasing=increasing).x)


def _taken(values: Any, check: Callable[..., Array]) -> tuple[Array, Callable[[Array], Any]]:
    """Return checked values as an array, and what gives a result their form."""
    missing = missing_in(values)
    data, rewrap = (values, None) if isinstance(values, np.ma.MaskedArray) else unwrap(values)
    array = check(data, missing)
    return array, rewrap or np.asarray


def _clipped(array: Array, low: Any, high: Any) -> Array:
    return np.asarray(np.clip(array, array.dtype.type(low), array.dtype.type(high)))


def _exact_sum(integers: NDArray[np.int64]) -> int:
    """Return a sum that does not wrap, of less than 2^31 integers."""
    return (int((integers >> 32).sum()) << 32) + int((integers & 0xFFFFFFFF).sum())


def _least_shift(floor: NDArray[np.int64], total: int) -> int:
    """Return the least c with sum(max(floor - c, 0)) <= total, for floors >= 0 that sum to more."""
    too_little, enough = 0, int(floor.max())
    while enough - too_little > 1:
        middle = (too_little + enough) // 2
        if _exact_sum(np.maximum(floor - middle, 0)) <= total:
            enough = middle
        else:
            too_little = middle
    return enough
