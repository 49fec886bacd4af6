"""Measurements of OpenDP whose noise is drawn here, for its chains, compositions and odometers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from lapnoise import _check
from lapnoise import lattice as lattices
from lapnoise._numbers import fraction_up
from lapnoise.generator import Generator
from lapnoise.mechanisms import DiscreteLaplaceMechanism, LaplaceMechanism
from lapnoise.mechanisms._additive import verify_generator

__all__ = ["make_laplace"]

_BITS = 40
"""log2 of the scale in steps of the lattice: what the rounding of n coordinates costs is n 2^-40 of scale / d_in."""


def make_laplace(input_domain: Any, input_metric: Any, scale: Any, *, rng: Generator | None = None) -> Any:
    """Return an OpenDP Measurement that adds exact Laplace noise, for what ``opendp.measurements.make_laplace`` takes.

    Parameters
    ----------
    input_domain : opendp.mod.Domain
        ``atom_domain`` of floats or of integers of at most 64 bits, signed, or ``vector_domain`` of one. Floats without
        NaN (``nan=False``), and vectors of floats with their size.
    input_metric : opendp.mod.Metric
        ``absolute_distance`` for atoms, ``l1_distance`` for vectors.
    scale : float, str, Decimal or Fraction
        b of the noise, finite and > 0; rounded up to the lattice, which for n floats adds at most n 2^-39 of it.
    rng : Generator, optional
        None draws from ChaCha20 under a fresh key from the operating system at every call. A seeded one warns then.

    Returns
    -------
    opendp.mod.Measurement
        From the domain to its own type, under ``max_divergence``: pure differential privacy. Integers saturate at the
        ends of their type. Infinite floats, NaN and vectors of another size are refused when it is called.

    Raises
    ------
    TypeError, ValueError
        If domain, metric and scale do not fit, or ``rng`` is no Generator of this library.
    opendp.mod.OpenDPException
        If the features ``contrib`` and ``honest-but-curious`` are not enabled, which user-defined measurements need.

    Notes
    -----
    Its map is `lapnoise.LaplaceMechanism.privacy_loss`, computed exactly and rounded up to a float: for floats
    (ceil(d_in / r) + n - 1) / t, with r the granularity, t r the scale and n the size, which is a bound for every two
    vectors at that distance (`lapnoise.lattice`); for integers d_in / t.

    Examples
    --------
    ::

        import opendp.prelude as dp
        from lapnoise.embed import opendp

        dp.enable_features("contrib", "honest-but-curious")
        space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
        measurement = opendp.make_laplace(*space, scale=2.0)
        measurement(10.0), measurement.map(d_in=1.0)
    """
    from opendp.measurements import make_user_measurement
    from opendp.measures import max_divergence

    dtype, shape = _check.numeric_space(input_domain, input_metric)
    mechanism = _mechanism(scale, dtype, shape)
    verify_generator(rng, None)
    clamp = (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) if dtype.kind in "iu" else None

    def function(value: Any) -> Any:
        array = np.array(value, dtype)
        _check.list_of_length(array.shape, shape)
        _check.finite_values(array)
        return mechanism.add_noise(array, rng=rng, clamp=clamp).tolist()

    def privacy_map(d_in: Any) -> float:
        return fraction_up(mechanism.privacy_loss(d_in)[0])

    return make_user_measurement(
        input_domain, input_metric, max_divergence(), function, privacy_map, TO=input_domain.carrier_type
    )


def _mechanism(
    scale: Any, dtype: np.dtype[Any], shape: tuple[int, ...] | None
) -> LaplaceMechanism | DiscreteLaplaceMechanism:
    """Return the mechanism of this scale: that of epsilon 1 for a sensitivity as large."""
    b = _check.sensitivity(scale, "scale")
    if dtype.kind != "f" or shape is None:
        return DiscreteLaplaceMechanism(epsilon=1, sensitivity=b)
    exponent = max(lattices.floor_log2(b) - _BITS, lattices.LEAST_EXPONENT)
    size = max((1, *shape))
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=b, changed=size, granularity=Fraction(2) ** exponent)
    mechanism.verify_floats()
    return mechanism
