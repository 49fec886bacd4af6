"""What is asked of the noise on a table or an array: whose data a row is, bounds, and the mechanism that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapnoise import _check
from lapnoise._check import noise_terms
from lapnoise._numbers import SquareRoot
from lapnoise.mechanisms import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    StratifiedLaplaceMechanism,
)

__all__ = ["CENTRAL", "LOCAL", "FileMechanism", "Terms", "terms"]

FileMechanism = (
    LaplaceMechanism
    | DiscreteLaplaceMechanism
    | GaussianMechanism
    | BoundedLaplaceMechanism
    | StratifiedLaplaceMechanism
)

_BY_NAME: dict[str, type[FileMechanism]] = {
    "laplace": LaplaceMechanism,
    "discrete-laplace": DiscreteLaplaceMechanism,
    "gaussian": GaussianMechanism,
    "bounded-laplace": BoundedLaplaceMechanism,
    "stratified": StratifiedLaplaceMechanism,
}

CENTRAL = (
    "All noised cells form one released vector: sensitivity is the {norm} sensitivity of that whole vector, and the "
    "whole file costs epsilon. Row count, order, missing cells and columns not named are published as they are."
)

LOCAL = (
    "Each row is one person, who pays epsilon: sensitivity is what the bounds let a row change. Row count, order and "
    "columns not named are published as they are."
)

Bounds = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Terms:
    """What was asked, checked as far as that goes without a file.

    Attributes
    ----------
    name
        Of the mechanism, as on the command line.
    local
        Whether each row is one person.
    clip
        Bounds that values are clipped to before noise: for all columns, or for each by name; None without.
    clamp
        Bounds that results are clipped to after noise, as given.
    fill
        What a missing cell counts as; None leaves it missing.
    strata
        Name of the column that says which stratum a row belongs to.
    changed
        How many cells one person can change at most, where that was given.
    """

    name: str
    local: bool
    clip: Bounds | Mapping[str, Bounds] | None
    clamp: tuple[Any, Any] | None
    fill: Fraction | None
    strata: str | None
    changed: int | None
    _given: FileMechanism | None
    _parameters: Mapping[str, Any]

    @property
    def whole(self) -> bool:
        """Whether noised cells must be integers, and stay such."""
        return self.name == "discrete-laplace" or bool(getattr(self._given, "integers", False))

    @property
    def epsilon_given(self) -> Any:
        """Epsilon as it was given; None where a mechanism or a mapping was."""
        given = self._parameters.get("epsilon")
        return None if isinstance(given, Mapping) else given

    @property
    def sensitivity_given(self) -> Any:
        """Sensitivity as it was given; None where it follows from bounds or a mechanism."""
        return self._parameters.get("sensitivity")

    def cost(self) -> str:
        """Return what epsilon and sensitivity are about, in two sentences."""
        return LOCAL if self.local else CENTRAL.format(norm="L2" if self.name == "gaussian" else "L1")

    def bounds_of(self, column: str) -> Bounds | None:
        """Return the bounds of a column; an array's has the empty name."""
        return self.clip.get(column) if isinstance(self.clip, Mapping) else self.clip

    def mechanism(self, columns: tuple[str, ...], cells_per_row: int) -> FileMechanism:
        """Return the mechanism as it is charged, for columns with these names and so many noised cells in a row."""
        if isinstance(self.clip, Mapping):
            noise_terms.clipped_columns(self.clip, columns, every=self.local)
        parameters = dict(self._parameters)
        if self.local:
            widths = [high - low for low, high in self._bounds_in_a_row(columns, cells_per_row)]
            square = sum((width * width for width in widths), Fraction(0))
            parameters["sensitivity"] = SquareRoot(square) if self.name == "gaussian" else sum(widths, Fraction(0))
            if self.name != "discrete-laplace":
                parameters["changed"] = len(widths)
        made = self._given or _BY_NAME[self.name](**parameters)
        if not isinstance(made, DiscreteLaplaceMechanism):
            made.verify_floats()
        return made

    def for_cells(self, mechanism: FileMechanism, cells: int) -> FileMechanism:
        """Return the mechanism as it is drawn from, for so many noised cells in all."""
        return mechanism.for_length(max(cells, 1))

    def _bounds_in_a_row(self, columns: tuple[str, ...], cells_per_row: int) -> list[Bounds]:
        if isinstance(self.clip, Mapping):
            return [self.clip[name] for name in columns]
        return [self.clip] * cells_per_row if self.clip else []


def terms(
    *,
    mechanism: Any,
    epsilon: Any,
    delta: Any,
    sensitivity: Any,
    changed: Any,
    local: Any,
    clip: Any,
    clamp: Any,
    fill: Any,
    strata: Any,
    epsilon_by: Any,
    strata_public: Any,
    strata_per_person: Any,
    columns: tuple[str, ...] | None,
) -> Terms:
    """Check what is asked of the noise; arguments as in :func:`lapnoise.files.add_noise`."""
    by_person = _check.flag("local", local)
    if mechanism is None:
        mechanism = "laplace" if strata is None and epsilon_by is None else "stratified"
    name, given = noise_terms.mechanism(mechanism, _BY_NAME)
    bounds = noise_terms.clip(clip)
    filled = None if fill is None else noise_terms.fill(fill)
    stratum = noise_terms.strata(strata, needed=name == "stratified")
    public = _check.flag("strata_public", strata_public)
    asked = {"epsilon": epsilon, "delta": delta, "sensitivity": sensitivity, "changed": changed}
    asked |= {"epsilon_by": epsilon_by, "strata_per_person": strata_per_person}
    noise_terms.consistent(name, asked, given=given is not None, local=by_person, clip=bounds, public=public)
    if filled is not None:
        noise_terms.fill_within(filled, bounds)
    parameters = {key: value for key, value in asked.items() if value is not None and key != "epsilon_by"}
    if name == "discrete-laplace" and "changed" in parameters:
        _check.count("changed", parameters.pop("changed"), least=1)
    if name == "stratified":
        parameters["epsilon"] = epsilon_by
        if by_person:
            parameters["strata_per_person"] = 1
    if name == "bounded-laplace" and isinstance(bounds, tuple):
        parameters["low"], parameters["high"] = bounds
    checked = Terms(
        name=name,
        local=by_person,
        clip=bounds,
        clamp=None if clamp is None else noise_terms.clamp(clamp),
        fill=filled,
        strata=stratum,
        changed=changed,
        _given=given,
        _parameters=parameters,
    )
    # What is wrong with parameters shows before a file is opened.
    checked.mechanism(columns or _named_bounds(bounds), len(columns or (0,)))
    return checked


def _named_bounds(bounds: Bounds | Mapping[str, Bounds] | None) -> tuple[str, ...]:
    return tuple(bounds) if isinstance(bounds, Mapping) else ()
