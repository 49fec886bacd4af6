"""The azimuthal equidistant projection of a sphere: metres east and north of an origin, and back.

A point at great-circle distance d and azimuth theta from the origin goes to (g sin theta, g cos theta), where

    g = min(d, reach, pi R - d),    reach < pi R / 2.

Within ``reach`` that is the projection itself. Points beyond are moved first: the sphere is folded halfway between the
origin and its antipode, so that these two meet, and what is still beyond ``reach`` goes to the nearest point within.
Were it not folded, neighbours at the antipode would go to opposite ends of the map; by the no-retraction theorem every
continuous rule moves some far points inside. Neither step makes any path on the sphere longer: folding keeps lengths,
and moving from d to reach <= d <= pi R / 2 shortens circles about the origin, by sin(reach / R) / sin(d / R), and rays
to nothing. The projection keeps lengths along rays and stretches circles by (d / R) / sin(d / R), which grows with d.
So the arc between any two places, of length s, becomes a path, and they lie in the plane at most

    s (reach / R) / sin(reach / R)

apart.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["EARTH_RADIUS", "ROUNDING", "project", "stretch", "unproject"]

EARTH_RADIUS = 6_371_008.8
"""Mean radius (2 a + b) / 3 of the ellipsoid WGS 84, in metres."""

ROUNDING = Fraction(1, 10**6)
"""Metres by which `project` may bring two points farther apart than stated, for its rounding: 1e-7 by the derivation.

Angles of up to 540 degrees are off by at most 3e-15 radians, and unit vectors by some 5e-15: 3e-8 m a point.
"""

Floats = NDArray[np.float64]


def stretch(reach: Fraction) -> Fraction:
    """Return (reach / R) / sin(reach / R) by four terms of the sine, which is then too small, rounded up at 2^-64."""
    square = (reach / Fraction(EARTH_RADIUS)) ** 2
    sine = 1 - square / 6 + square**2 / 120 - square**3 / 5040
    return Fraction(math.ceil(2**64 / sine), 2**64)


def project(latitude: Floats, longitude: Floats, origin: tuple[float, float], reach: float) -> Floats:
    """Return points in metres, shape (..., 2): east and north. The antipode of the origin goes to the origin."""
    phi, phi0 = np.radians(latitude), np.radians(origin[0])
    across = np.radians(longitude - origin[1])
    # North as sin(phi - phi0) and a small rest: the usual difference of products cancels near the origin.
    east = np.cos(phi) * np.sin(across)
    north = np.sin(phi - phi0) + 2.0 * np.sin(phi0) * np.cos(phi) * np.sin(across / 2.0) ** 2
    up = np.sin(phi0) * np.sin(phi) + np.cos(phi0) * np.cos(phi) * np.cos(across)
    side = np.hypot(east, north)
    arc = np.minimum(np.arctan2(side, np.abs(up)), reach / EARTH_RADIUS)
    share = EARTH_RADIUS * arc / np.where(side == 0.0, 1.0, side)
    return np.stack([share * east, share * north], axis=-1)


def unproject(points: Floats, origin: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return (latitude, longitude) in degrees, the longitude from -180 to below 180.

    Points farther than half the circumference go on around the sphere. At a pole the longitude is the origin's.
    """
    x, y = points[..., 0] / EARTH_RADIUS, points[..., 1] / EARTH_RADIUS
    arc = np.hypot(x, y)
    at_origin = arc == 0.0
    share = np.where(at_origin, 1.0, np.sin(arc) / np.where(at_origin, 1.0, arc))
    east, north, up = share * x, share * y, np.cos(arc)
    sin0, cos0 = np.sin(np.radians(origin[0])), np.cos(np.radians(origin[0]))
    outward = up * cos0 - north * sin0
    latitude = np.degrees(np.arctan2(up * sin0 + north * cos0, np.hypot(east, outward)))
    longitude = origin[1] + np.degrees(np.arctan2(east, outward))
    return latitude, (longitude + 180.0) % 360.0 - 180.0
