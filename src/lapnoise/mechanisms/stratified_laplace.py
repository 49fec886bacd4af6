"""Laplace noise whose strength depends on a public attribute: strata, each with an epsilon of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check, _release
from lapnoise import lattice as lattices
from lapnoise._containers import unwrap
from lapnoise.generator import Generator
from lapnoise.mechanisms._additive import generator_for, verify_generator
from lapnoise.mechanisms._on_floats import FloatMechanism
from lapnoise.mechanisms.laplace import LaplaceMechanism

__all__ = ["StratifiedLaplaceMechanism"]


class StratifiedLaplaceMechanism(FloatMechanism):
    """Add exact Laplace noise on one lattice, of scale sensitivity / epsilon of the stratum that a value belongs to.

    Parameters
    ----------
    epsilon : mapping of str or int to float, str, Decimal or Fraction
        Strata, and the epsilon of each; none more than 2^30 times another.
    sensitivity : float, str, Decimal, Fraction or Sensitivity
        How much one record can change the values of any one stratum, in L1 norm.
    changed : int, optional
        How many values of one stratum one record can change at most, as in `LaplaceMechanism`.
    granularity : float or Fraction, optional
        A power of two to use instead of the one that is chosen.
    strata_per_person : int, optional
        In how many strata one person can have values at most, which decides what is charged. None means in all of them.

    Attributes
    ----------
    epsilon, scale, std, variance, mse : mapping
        Of each stratum.
    epsilon_asked : Fraction
        What a ledger charges: the sum of the ``strata_per_person`` largest epsilons.

    Notes
    -----
    Strata are public attributes of the cells (a region, an income band of a published table): which cell is in which
    stratum is not protected. A person in one stratum spends its epsilon, so at worst the largest; one in k strata
    spends the sum of theirs. Where a neighbouring data set has a person replaced, that person may move from one stratum
    to another, so that each counts: give twice the number (at most two strata where a person is in one).

    All strata share a lattice, chosen for the largest epsilon, so that a value does not show its stratum's scale by its
    last digits.

    References
    ----------
    F. McSherry, "Privacy integrated queries", SIGMOD 2009, section 3.3 (parallel composition).

    Examples
    --------
    >>> import lapnoise
    >>> m = lapnoise.StratifiedLaplaceMechanism(epsilon={"low": 1, "high": "0.2"}, sensitivity=1, strata_per_person=1)
    >>> round(m.scale["high"], 6), m.epsilon_asked
    (5.0, Fraction(1, 1))
    """

    __slots__ = ("_laws", "strata", "strata_per_person")

    _public_inputs = (1,)
    strata: tuple[Any, ...]
    strata_per_person: int
    _laws: tuple[LaplaceMechanism, ...]

    def __init__(
        self,
        *,
        epsilon: Mapping[Any, Any],
        sensitivity: Any,
        changed: int | None = None,
        granularity: Any = None,
        strata_per_person: int | None = None,
    ) -> None:
        asked = _check.epsilon_by_stratum(epsilon)
        delta1 = _check.sensitivity(sensitivity)
        bound = _check.changed(changed, sensitivity)
        given = None if granularity is None else _check.granularity(granularity)
        most = (
            len(asked) if strata_per_person is None else _check.count("strata_per_person", strata_per_person, least=1)
        )
        exponent = _shared_exponent(asked.values(), delta1, bound or 1) if given is None else given
        laws = tuple(
            LaplaceMechanism(epsilon=e, sensitivity=delta1, changed=bound, granularity=Fraction(2) ** exponent)
            for e in asked.values()
        )
        _check.strata_on_lattice(max(law.lattice.t for law in laws), MOST_T)
        self._set(
            epsilon_asked=sum(sorted(asked.values())[-most:], Fraction(0)),
            sensitivity=delta1,
            changed=bound,
            lattice=max((law.lattice for law in laws), key=lambda on: on.epsilon),
            strata=tuple(asked),
            strata_per_person=min(most, len(asked)),
            _exponent=given,
            _laws=laws,
        )

    def _parameters(self) -> dict[str, Any]:
        return {
            "epsilon": {name: law.epsilon_asked for name, law in zip(self.strata, self._laws, strict=True)},
            "sensitivity": self.sensitivity,
            "changed": self.changed,
            "granularity": self._granularity_asked,
            "strata_per_person": self.strata_per_person,
        }

    def __hash__(self) -> int:
        return hash((type(self), self.strata, self._laws, self.strata_per_person))

    def stratum(self, name: Any) -> LaplaceMechanism:
        """Return the mechanism of one stratum alone, on the lattice that all share."""
        return self._laws[self.strata.index(_check.stratum(name, self.strata))]

    @property
    def epsilon(self) -> Mapping[Any, Fraction]:  # type: ignore[override] # one for each stratum
        """Epsilon attained in each stratum, exactly."""
        return self._of_each("epsilon")

    @property
    def scale(self) -> Mapping[Any, float]:  # type: ignore[override]
        """Scale b of the noise in each stratum."""
        return self._of_each("scale")

    @property
    def log_scale(self) -> Mapping[Any, float]:  # type: ignore[override]
        """Natural logarithm of the scale in each stratum."""
        return self._of_each("log_scale")

    @property
    def std(self) -> Mapping[Any, float]:  # type: ignore[override]
        """Standard deviation of the noise in each stratum."""
        return self._of_each("std")

    @property
    def variance(self) -> Mapping[Any, float]:  # type: ignore[override]
        """Variance of the noise in each stratum."""
        return self._of_each("variance")

    @property
    def mse(self) -> Mapping[Any, float]:  # type: ignore[override]
        """Mean squared error of a released value of each stratum: its variance."""
        return self._of_each("mse")

    def interval(self, level: Any) -> Mapping[Any, float]:  # type: ignore[override]
        """Return for each stratum the half-width h of `LaplaceMechanism.interval`."""
        halves = [law.interval(level) for law in self._laws]
        return MappingProxyType(dict(zip(self.strata, halves, strict=True)))

    def spent(self, strata: int | None = None) -> Fraction:
        """Return what a person spends who has values in so many strata at worst: the sum of the largest epsilons.

        Parameters
        ----------
        strata : int, optional
            None means ``strata_per_person``.
        """
        most = self.strata_per_person if strata is None else _check.count("strata", strata, least=1)
        return sum(sorted(law.epsilon for law in self._laws)[-most:], Fraction(0))

    def privacy_loss(self, distance: Any) -> tuple[Fraction, Fraction]:
        """Return (epsilon, delta) for values that differ by ``distance`` in each of ``strata_per_person`` strata."""
        losses = sorted(law.privacy_loss(distance)[0] for law in self._laws)
        return sum(losses[-self.strata_per_person :], Fraction(0)), Fraction(0)

    @classmethod
    def epsilon_for(
        cls,
        *,
        sensitivity: Any,
        std: Mapping[Any, Any] | None = None,
        half_width: Mapping[Any, Any] | None = None,
        confidence: Any = None,
        changed: int | None = None,
    ) -> dict[Any, Fraction]:
        """Return for each stratum the least epsilon, to 12 digits, with which its noise is as small as is wanted.

        Parameters
        ----------
        sensitivity, changed
            As for the mechanism.
        std, half_width : mapping
            From each stratum to the standard deviation, or the half-width, wanted there.
        confidence : float, str, Decimal or Fraction
            With ``half_width``, the same for all strata.
        """
        wanted = _check.accuracy_by_stratum(std, half_width)
        key = "std" if half_width is None else "half_width"
        found = {
            name: LaplaceMechanism.epsilon_for(
                sensitivity=sensitivity, changed=changed, confidence=confidence, **{key: value}
            )
            for name, value in wanted.items()
        }
        # A stratum on its own lattice has steps of another size than on the one that all share: some 2^-20 in epsilon.
        return {name: value * (1 + Fraction(1, 1 << 18)) for name, value in found.items()}

    def verify_floats(self) -> None:
        """Raise OverflowError where a scale or the granularity is beyond the floats."""
        for law in self._laws:
            law.verify_floats()

    def add_noise(  # type: ignore[override] # what a value's stratum is must be told
        self,
        values: Any,
        strata: Any,
        *,
        out: NDArray[Any] | None = None,
        rng: Any = None,
        clamp: tuple[float, float] | None = None,
        threads: int | None = None,
    ) -> Any:
        """Return the values with noise, each by its stratum.

        Parameters
        ----------
        values, out, rng, clamp, threads
            As in `LaplaceMechanism.add_noise`; one word of the stream a value, whatever its stratum.
        strata : array_like of str or int, or pandas Series, also categorical
            The stratum of each value, in the shape of ``values``.

        Returns
        -------
        float, ndarray, masked array or Series
            The same kind as ``values``.

        Raises
        ------
        ValueError
            If a stratum is unknown or missing, or as in `LaplaceMechanism.add_noise`; nothing is drawn then.
        """
        _check.same_index("strata", strata, values)
        array, target, bound, finish = self._prepare(values, out, clamp)
        codes, places = _check.stratum_codes(strata, self.strata, array.shape)
        bound._add(generator_for(rng, threads), array, target, codes, places)
        return finish()

    def verify_inputs(  # type: ignore[override]
        self, values: Any, strata: Any, *, out: Any = None, rng: Any = None, clamp: Any = None, threads: Any = None
    ) -> None:
        """Refuse what `add_noise` would refuse, as far as that depends on strata, dtypes and shapes: not on values."""
        _check.same_index("strata", strata, values)
        array = self._inputs(unwrap(values)[0], out, clamp)[0]
        _check.stratum_codes(strata, self.strata, array.shape)
        verify_generator(rng, threads)

    def _add(  # type: ignore[override]
        self,
        generator: Generator,
        values: NDArray[Any],
        target: NDArray[Any],
        codes: NDArray[Any],
        places: Sequence[int],
    ) -> None:
        _release.add_stratified_noise(
            generator, values, target, self.lattice.exponent, self._scales_in_steps(places), codes
        )

    def _add_steps(
        self,
        generator: Generator,
        steps: NDArray[np.int64],
        target: NDArray[np.int64],
        codes: NDArray[Any],
        places: Sequence[int],
    ) -> None:
        from lapnoise._strata_noise import strata_kernel

        draw = strata_kernel(self._scales_in_steps(places))
        _release.add_drawn_integer_noise(generator, steps, target, draw, [codes])

    def _scales_in_steps(self, places: Sequence[int]) -> list[float]:
        """Return the scale of each code's stratum, whose place among all strata is given."""
        return [self._laws[place].lattice.t for place in places]

    def _of_each(self, name: str) -> Mapping[Any, Any]:
        values = [getattr(law, name) for law in self._laws]
        return MappingProxyType(dict(zip(self.strata, values, strict=True)))


MOST_T = 2.0**43
"""Largest scale in steps that the kernel for strata takes, that of the fast tier."""


def _shared_exponent(epsilons: Iterable[Fraction], sensitivity: Fraction, changed: int) -> int:
    """Return the exponent of the lattice that suits the largest epsilon, or the finest on which all scales fit."""
    amounts = list(epsilons)
    finest = lattices.choose(max(amounts), sensitivity, changed).exponent
    # t = (ceil(Δ / r) + s - 1) / epsilon <= 2^43 where Δ / r <= 2^42 epsilon, but for a great many values.
    widest = sensitivity / min(amounts)
    return max(finest, widest.numerator.bit_length() - widest.denominator.bit_length() + 1 - 42)
