"""What every mechanism is: an immutable set of parameters that compares, hashes, prints and pickles by them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, NoReturn

__all__ = ["Mechanism"]


class Mechanism:
    """An immutable set of parameters."""

    __slots__ = ()

    _public_inputs: ClassVar[tuple[int, ...]] = ()
    """Which inputs of a release are public, so that a ledger may tell requests apart by them."""

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; make another one to change {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _parameters(self) -> dict[str, Any]:
        raise TypeError(f"{type(self).__name__} has no parameters")

    @property
    def delta(self) -> Fraction:
        """Delta that a ledger charges beside epsilon: 0 for pure differential privacy."""
        return Fraction(0)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._parameters() == other._parameters()

    def __hash__(self) -> int:
        return hash((type(self), tuple(self._parameters().values())))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._parameters())

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={_told(value)}" for name, value in self._parameters().items() if value is not None)
        return f"{type(self).__name__}({told})"


def _rebuild(kind: type[Mechanism], parameters: dict[str, Any]) -> Mechanism:
    return kind(**parameters)


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_told(entry)}" for key, entry in value.items()) + "}"
    if not isinstance(value, Fraction):
        return repr(value)
    try:
        near = repr(float(value))
        return near if Fraction(near) == value else f"Fraction('{value}')"
    except (OverflowError, ValueError):  # beyond the floats, or of more digits than Python writes
        exponent = value.numerator.bit_length() - value.denominator.bit_length()
        return f"Fraction(about 2**{exponent})"
