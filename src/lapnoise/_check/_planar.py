"""Points of the plane and of the globe."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapnoise import _numbers
from lapnoise._check._arrays import FLOAT64, number_or_array, place, values
from lapnoise._check._rules import amount, pair, positive_amount, shown

__all__ = ["degrees", "no_origin", "no_radius", "origin", "planar_scale", "points", "radius", "reach"]

_LARGEST_INTEGER = 1 << 53

_USUAL_REACH, _LONGEST_REACH = 1_000_000, 5_000_000
"""Metres. The usual one stretches a map by 0.4 %, less than the earth is flattened, and the longest by 11 %."""


def radius(value: Any) -> Fraction:
    """Return a distance in metres at its exact stored value; it must be finite and > 0."""
    return positive_amount("radius", value, _numbers.as_stored)


def origin(value: Any) -> tuple[float, float]:
    """Return (latitude, longitude) in degrees as floats."""
    latitude, longitude = (number_or_array("origin", part) for part in pair("origin", value, "latitude, longitude"))
    if not (isinstance(latitude, float) and isinstance(longitude, float)):
        raise TypeError(f"origin must be two numbers (latitude, longitude), got {shown(value)}")
    if not (abs(latitude) <= 90.0 and -180.0 <= longitude <= 360.0):
        raise ValueError(
            "origin must be (latitude, longitude) in degrees, latitude from -90 to 90 and longitude from -180 to 360, "
            f"got {shown(value)}"
        )
    return latitude, longitude


def reach(value: Any, centre: tuple[float, float] | None) -> Fraction | None:
    """Return a distance in metres at its exact stored value, the usual one for None; None where there is no origin."""
    if centre is None:
        if value is not None:
            raise ValueError("origin must be given with reach, which is a distance from it, got None")
        return None
    most = f"> 0 and at most {_LONGEST_REACH} metres"
    given = _USUAL_REACH if value is None else value
    return amount("reach", given, _numbers.as_stored, most, lambda metres: 0 < metres <= _LONGEST_REACH)


def planar_scale(t: float, most: float, exponent: int) -> None:
    """Refuse a lattice that is no float, or so fine that the noise has more steps than the sampler serves."""
    if exponent > 1023:
        raise OverflowError(f"granularity must be a float to release floats, got 2**{exponent}: epsilon is too small")
    if not t <= most:
        told = "more than floats hold" if math.isinf(t) else f"about 2**{math.log2(t):.0f}"
        raise ValueError(
            "granularity and radius must leave the noise at most 2**43 steps of the granularity (radius at least some "
            f"2**-40 / epsilon), got {told}"
        )


def points(value: Any) -> NDArray[Any]:
    """Return array-like points, two coordinates along the last axis: float32, float64, or integers up to 2^53."""
    array = values(value)
    if array.ndim == 0 or array.shape[-1] != 2:
        raise ValueError(f"points must have shape (2,), (n, 2) or (..., 2), got {array.shape}")
    if array.dtype.kind == "b":
        raise TypeError("points must be real numbers, got dtype bool")
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        wrong = np.argwhere((array > _LARGEST_INTEGER) | (array < -_LARGEST_INTEGER))
        if len(wrong):
            raise ValueError(f"{place(tuple(wrong[0]), 'points')} must be within 2**53 metres of 0, got more")
    return array


def degrees(latitude: Any, longitude: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return latitudes and longitudes as float64 arrays of one shape, each in its range or NaN."""
    read = {}
    for name, value, least, most in (("latitude", latitude, -90.0, 90.0), ("longitude", longitude, -180.0, 360.0)):
        array = np.asarray(number_or_array(name, value), FLOAT64)
        wrong = np.argwhere((array < least) | (array > most))
        if len(wrong):
            raise ValueError(
                f"{place(tuple(wrong[0]), name)} must be from {least:g} to {most:g} degrees or NaN, got another"
            )
        read[name] = array
    lat, lon = read["latitude"], read["longitude"]
    if lat.shape != lon.shape:
        raise ValueError(f"latitude and longitude must have one shape, got {lat.shape} and {lon.shape}")
    return lat, lon


def no_radius() -> NoReturn:
    """Refuse to say what a release costs where no distance was given."""
    raise ValueError("radius must be given to charge a budget, which costs epsilon times radius, got None")


def no_origin() -> NoReturn:
    """Refuse to project where no origin was given."""
    raise ValueError(
        "origin must be given to add noise to degrees, a public (latitude, longitude) that never follows from the "
        "points, got None"
    )
