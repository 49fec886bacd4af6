"""The planar Laplace mechanism: a point of the plane, or of the globe, hidden among those around it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check, _release
from lapnoise import planar_lattice as lattices
from lapnoise._check import FLOAT32, FLOAT64
from lapnoise._containers import unwrap
from lapnoise.mechanisms._additive import generator_for, verify_generator
from lapnoise.mechanisms._mechanism import Mechanism
from lapnoise.mechanisms._planning import least_epsilon
from lapnoise.mechanisms._sphere import ROUNDING, project, stretch, unproject

__all__ = ["PlanarLaplaceMechanism"]

_DECIMALS = 9
"""Decimals of a degree in results: 0.1 mm on the ground."""


class PlanarLaplaceMechanism(Mechanism):
    """Add planar Laplace noise, P(z) proportional to exp(-epsilon ||z||), exactly, to points on a lattice.

    Two places at distance d could have led to any result with probabilities that differ by a factor of at most
    exp(epsilon d), or a little more for the rounding: geo-indistinguishability. Near places cannot be told apart, far
    ones can.

    Parameters
    ----------
    epsilon : float, str, Decimal or Fraction
        Loss for each metre, finite and > 0; ln(4) / 200 m lets two places 200 m apart differ by a factor of 4. A float
        counts as it prints.
    radius : float, str, Decimal or Fraction, optional
        Distance in metres within which a person's place shall be hidden. With it the loss between two places at most
        ``radius`` apart is at most epsilon radius, rounding included, and that is what a ledger charges. Without it the
        loss at distance d is at most epsilon (d + sqrt(2) r), r the granularity, and a ledger refuses the mechanism.
    granularity : float or Fraction, optional
        r, a power of two in metres to use instead of the one that is chosen: 2^-24 / epsilon or a little less, down to
        2^-40 / epsilon where that keeps the cost of rounding, sqrt(2) r / radius, below a millionth.
    origin : (float, float), optional
        Latitude and longitude in degrees of a public place, about which `add_noise_degrees` projects. It must not
        follow from the points. With it all that is said of losses holds for distances on the sphere, between any two
        places (without ``radius``, for d + 1e-6 m in place of d, for rounding), and the noise of both methods is wider
        by the most that the map stretches within ``reach``.
    reach : float, str, Decimal or Fraction, optional
        Metres from ``origin`` within which places are expected: public, > 0 and at most 5 000 000. `add_noise_degrees`
        moves places beyond it to within. The noise is wider by 0.4 % for 1 000 000, which None stands for where there
        is an origin, by 0.1 % for 500 000 and by 11 % for 5 000 000.

    Attributes
    ----------
    epsilon : Fraction
        Loss for each metre between places on the lattice, in the plane, exactly: at most what was asked.
    scale : float
        1 / epsilon in metres.

    Notes
    -----
    The guarantee is proved for the distribution that is sampled, on the square lattice of granularity r: coordinates
    are rounded half up, which takes two points at distance d to less than d / r + sqrt(2) steps, and the noise is r z
    with P(z) proportional to exp(-alpha ||z||) over pairs of integers, alpha = epsilon r (docs/exact-sampling.md). With
    a generator keyed by the operating system it rests on ChaCha20. Each row is taken as a place of its own: what
    a person with k rows spends is the sum, k epsilon radius.

    Statistics are those of the law in the continuous plane, whose radius is Gamma(2, 1 / epsilon). The one on the
    lattice differs by some (epsilon r)^3, which for the granularities that are chosen is below 1e-21.

    References
    ----------
    M. E. Andrés, N. E. Bordenabe, K. Chatzikokolakis, C. Palamidessi, "Geo-indistinguishability: differential privacy
    for location-based systems", CCS 2013, sections 3 and 4.

    Examples
    --------
    >>> import lapnoise
    >>> m = lapnoise.PlanarLaplaceMechanism(epsilon="0.01", radius=200)
    >>> float(m.epsilon_asked), round(m.mean_distance, 3), round(m.interval(0.95), 3)
    (2.0, 200.0, 474.386)
    """

    __slots__ = ("_asked", "_exponent", "lattice", "origin", "radius", "reach")

    _asked: Fraction
    _exponent: int | None
    lattice: lattices.PlanarLattice
    origin: tuple[float, float] | None
    radius: Fraction | None
    reach: Fraction | None

    def __init__(
        self, *, epsilon: Any, radius: Any = None, granularity: Any = None, origin: Any = None, reach: Any = None
    ) -> None:
        asked = _check.epsilon(epsilon)
        within = None if radius is None else _check.radius(radius)
        exponent = None if granularity is None else _check.granularity(granularity)
        centre = None if origin is None else _check.origin(origin)
        farthest = _check.reach(reach, centre)
        self._set(_asked=asked, radius=within, _exponent=exponent, origin=centre, reach=farthest)
        chosen = self._choose()
        _check.planar_scale(chosen.t, lattices.MOST_T, chosen.exponent)
        self._set(lattice=chosen)

    def _choose(self) -> lattices.PlanarLattice:
        """Return the lattice whose loss in the plane is at most what was asked for distances on the ground."""
        if self.radius is None:
            per_metre = self._asked if self.reach is None else self._asked / stretch(self.reach)
            return lattices.choose(per_metre, None, self._exponent)
        apart = self._in_plane(self.radius)
        return lattices.choose(self._asked * self.radius / apart, apart, self._exponent)

    def _in_plane(self, distance: Fraction) -> Fraction:
        """Return how far apart in the plane two places at this distance are at most."""
        return distance if self.reach is None else stretch(self.reach) * (distance + ROUNDING)

    def _parameters(self) -> dict[str, Any]:
        granularity = None if self._exponent is None else Fraction(2) ** self._exponent
        return {
            "epsilon": self._asked,
            "radius": self.radius,
            "granularity": granularity,
            "origin": self.origin,
            "reach": self.reach,
        }

    @property
    def epsilon(self) -> Fraction:
        """Loss for each metre between places on the lattice, in the plane, exactly; at most what was asked."""
        return self.lattice.epsilon

    @property
    def epsilon_asked(self) -> Fraction:
        """What a ledger charges: epsilon times ``radius``.

        Raises
        ------
        ValueError
            If no radius was given: a loss for each metre is not an amount that a budget could be charged with.
        """
        return self._asked * self.radius if self.radius is not None else _check.no_radius()

    @property
    def granularity(self) -> float:
        """r, the power of two in metres of which every coordinate of a result is a multiple."""
        return math.ldexp(1.0, self.lattice.exponent)

    @property
    def scale(self) -> float:
        """1 / epsilon in metres; the radius of the noise is Gamma(2, scale)."""
        return float(1 / self.epsilon)

    @property
    def std(self) -> float:
        """Standard deviation of the noise in each coordinate, sqrt(3) / epsilon."""
        return math.sqrt(3.0) * self.scale

    @property
    def variance(self) -> float:
        """Variance of the noise in each coordinate, 3 / epsilon^2."""
        return self.std * self.std

    @property
    def mean_distance(self) -> float:
        """Mean distance between a point and its release, 2 / epsilon."""
        return 2.0 * self.scale

    def interval(self, level: Any) -> float:
        """Return the radius in metres that holds the noise with probability ``level``.

        Parameters
        ----------
        level : float, str, Decimal or Fraction
            Between 0 and 1, read as it prints.

        Notes
        -----
        P(radius <= h) = 1 - (1 + epsilon h) exp(-epsilon h), so h = -(W((level - 1) / e) + 1) / epsilon with the branch
        -1 of Lambert's W (Andrés et al., section 4.2). That cancels for small levels, so the quantile of Gamma(2) is
        computed by the inverse of the incomplete gamma function, from the smaller one of level and 1 - level.
        """
        from scipy.special import gammainccinv, gammaincinv

        exact = _check.level(level)
        below, above = float(exact), float(1 - exact)
        return float(gammaincinv(2.0, below) if below < 0.5 else gammainccinv(2.0, above)) * self.scale

    @classmethod
    def epsilon_for(
        cls,
        *,
        std: Any = None,
        half_width: Any = None,
        confidence: Any = None,
        radius: Any = None,
        origin: Any = None,
        reach: Any = None,
    ) -> Fraction:
        """Return the least epsilon for each metre, to 12 digits, with which the noise is as small as is wanted.

        Parameters
        ----------
        std : float, str, Decimal or Fraction
            Standard deviation in each coordinate wanted, in metres, or instead of it
        half_width, confidence : float, str, Decimal or Fraction
            a release within half_width metres of the truth is wanted with probability ``confidence``.
        radius, origin, reach
            As for the mechanism.

        Examples
        --------
        >>> import lapnoise
        >>> float(lapnoise.PlanarLaplaceMechanism.epsilon_for(half_width=500, confidence=0.95))
        0.00948772903679
        """
        goal = _check.accuracy(std, half_width, confidence)
        return least_epsilon(lambda epsilon: cls(epsilon=epsilon, radius=radius, origin=origin, reach=reach), goal)

    def privacy_loss(self, distance: Any) -> tuple[Fraction, Fraction]:
        """Return (epsilon, delta) for two places that are at most ``distance`` metres apart; delta is 0.

        epsilon is alpha (distance / r + sqrt(2)), the root rounded up at its 128th bit: an exact upper bound. With an
        ``origin`` it holds for distances on the sphere between any two places given to `add_noise_degrees`, and for
        distances in the plane too: the stretch of the map and 1e-6 m for rounding are added to the distance.

        Parameters
        ----------
        distance : float, str, Decimal or Fraction
            At least 0, at its exact value. 0 costs nothing without an ``origin``; with it, places that are the same
            may be written in two ways, and count as 1e-6 m apart.
        """
        exact = _check.distance(distance)
        if exact == 0 and self.reach is None:
            return Fraction(0), Fraction(0)
        steps = self._in_plane(exact) / self.lattice.granularity
        return Fraction(self.lattice.alpha) * (steps + lattices.SQRT2), Fraction(0)

    def add_noise(
        self, points: Any, *, out: NDArray[Any] | None = None, rng: Any = None, threads: int | None = None
    ) -> Any:
        """Return the points with noise.

        Parameters
        ----------
        points : array_like
            Points in metres, shape (2,), (n, 2) or (..., 2), in a plane that is laid over the ground without stretching
            it much. float32 gives float32, all else float64. Where one coordinate is NaN both become NaN.
        out : ndarray, optional
            Array to write to and return; ``out=points`` works in place.
        rng : Generator, optional
            None draws from ChaCha20 under a fresh key from the operating system. A seeded generator warns.
        threads : int, optional
            Threads at most, where ``rng`` is None.

        Returns
        -------
        ndarray or masked array
            Of the shape of ``points``; multiples of the granularity, rounded to the dtype, never -0.0. A point takes
            one place of the stream.

        Raises
        ------
        ValueError
            If a coordinate is infinite, or shapes do not fit; nothing is drawn then.
        TypeError
            If coordinates are not real numbers.
        """
        data, rewrap = unwrap(points)
        array, kind, given = _inputs(data, out)
        target = np.empty(array.shape, kind) if given is None else given
        where = _release.find_infinite(array)
        if where >= 0:
            _check.infinite_value(np.unravel_index(where, array.shape))
        _release.add_planar_noise(generator_for(rng, threads), array, target, self.lattice)
        return out if out is not None else rewrap(target)

    def verify_inputs(self, points: Any, *, out: Any = None, rng: Any = None, threads: Any = None) -> None:
        """Refuse what `add_noise` would refuse, as far as that depends on dtypes, shapes and options: not on values."""
        _inputs(unwrap(points)[0], out)
        verify_generator(rng, threads)

    def add_noise_degrees(
        self, latitude: Any, longitude: Any, *, rng: Any = None, threads: int | None = None
    ) -> tuple[Any, Any]:
        """Return latitudes and longitudes with noise.

        Parameters
        ----------
        latitude : float, array_like, masked array or Series
            Degrees from -90 to 90. NaN in one of the two makes both NaN.
        longitude : float, array_like, masked array or Series
            Degrees from -180 to 360, of the same shape.
        rng, threads
            As in `add_noise`.

        Returns
        -------
        (latitude, longitude)
            Of the kinds that were given, rounded to 9 decimals (0.1 mm), longitudes from -180 to below 180, never -0.0.

        Raises
        ------
        ValueError
            If the mechanism has no ``origin``, a number is out of range, or shapes do not fit; nothing is drawn then.

        Notes
        -----
        Degrees count on a sphere of radius R = 6 371 008.8 m. Points are projected by the azimuthal equidistant
        projection about ``origin``, noise is added in the plane, and the projection is undone. For places within
        ``reach`` D of the origin distances in the plane are above those on the sphere by a factor of at most

            (D / R) / sin(D / R),

        which the scale of the noise allows for: `privacy_loss` and what is charged hold on the sphere, for any two
        places. Those beyond ``reach`` are moved before noise is added, not refused, since an error would tell where
        they are: to ``reach`` from the origin in their direction, or, where the antipode is nearer than ``reach``, to
        their distance from the antipode. The sphere is folded there because neighbours at the antipode must stay
        neighbours. The earth's flattening adds up to 0.6 % to the loss. Noise that reaches beyond the antipode goes on
        around the sphere.
        """
        if self.origin is None or self.reach is None:
            _check.no_origin()
        (given_latitude, rewrap_latitude), (given_longitude, rewrap_longitude) = unwrap(latitude), unwrap(longitude)
        lat, lon = _check.degrees(given_latitude, given_longitude)
        points = project(lat, lon, self.origin, float(self.reach))
        _release.add_planar_noise(generator_for(rng, threads), points, points, self.lattice)
        noisy = [np.asarray(angle.round(_DECIMALS) + 0.0) for angle in unproject(points, self.origin)]
        noisy[1][noisy[1] == 180.0] = -180.0  # rounding may close the circle
        return rewrap_latitude(noisy[0]), rewrap_longitude(noisy[1])


def _inputs(data: Any, out: Any) -> tuple[NDArray[Any], np.dtype[Any], NDArray[Any] | None]:
    """Return points, dtype of the result and output."""
    array = _check.points(data)
    kind = FLOAT32 if array.dtype.newbyteorder("=") == FLOAT32 else FLOAT64
    return array, kind, None if out is None else _check.output(out, kind, array.shape)
