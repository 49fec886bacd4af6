"""The azimuthal equidistant projection of a sphere: metres east and north of an origin, and back.

A point at great-circle distance d and azimuth theta from the origin goes to (d sin theta, d cos theta). On arcs through
the origin distances are kept; across them they are stretched, by

    (d / R) / sin(d / R)

at distance d from the origin and by less elsewhere nearer to it. So two points within D < pi R / 2 of the origin, whose
great-circle distance is s, lie between s and s (D / R) / sin(D / R) apart in the plane: the arc between them stays
within D of the origin, since that cap is convex, and no part of it is stretched by more; and the way back, which makes
nothing longer, makes the straight line a path on the sphere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["EARTH_RADIUS", "project", "unproject"]

EARTH_RADIUS = 6_371_008.8
"""Mean radius (2 a + b) / 3 of the ellipsoid WGS 84, in metres."""

Floats = NDArray[np.float64]


def project(latitude: Floats, longitude: Floats, origin: tuple[float, float]) -> Floats:
    """Return points in metres, shape (..., 2): east and north. The antipode of the origin goes due east."""
    phi, phi0 = np.radians(latitude), np.radians(origin[0])
    across = np.radians(longitude - origin[1])
    # North as sin(phi - phi0) and a small rest: the usual difference of products cancels near the origin.
    east = np.cos(phi) * np.sin(across)
    north = np.sin(phi - phi0) + 2.0 * np.sin(phi0) * np.cos(phi) * np.sin(across / 2.0) ** 2
    up = np.sin(phi0) * np.sin(phi) + np.cos(phi0) * np.cos(phi) * np.cos(across)
    side = np.hypot(east, north)
    arc = np.arctan2(side, up)
    at_origin = side == 0.0
    stretch = EARTH_RADIUS * arc / np.where(at_origin, 1.0, side)
    antipode = at_origin & (up < 0.0)
    return np.stack([np.where(antipode, np.pi * EARTH_RADIUS, stretch * east), stretch * north], axis=-1)


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
