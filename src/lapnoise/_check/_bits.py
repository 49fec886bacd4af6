"""What a generator of bits is told about its place, and what it can be made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lapnoise._check._rules import count, integer, shown
from lapnoise._check._sampling import rounds

__all__ = ["advanced", "bits_state", "jumped", "jumped_has_no_children", "source_generator"]

_STREAMS = 1 << 64
_NAME = "ChaChaBits"
_PARTS = {"key": 2**256 - 1, "stream_id": 2**64 - 1, "position": 2**62, "spawned": 2**64 - 1}
_HALF = {"has_uint32": 1, "uinteger": 2**32 - 1}


def advanced(delta: Any, place: int, largest: int, seeded: bool) -> int:
    """Return the place that lies ``delta`` words further on, or, with a key from a seed, back."""
    number = integer("delta", delta)
    if number < 0 and not seeded:
        raise ValueError(
            "delta must be >= 0 with a key from the operating system, whose words are given out once, got "
            f"{shown(delta)}"
        )
    new = place + number
    if not 0 <= new <= largest:
        raise ValueError(
            f"delta must lead to a position from 0 to 2**{largest.bit_length() - 1}, got {shown(delta)} at {place}"
        )
    return new


def jumped(jumps: Any, stream_id: int) -> int:
    """Return the id of the stream that lies ``jumps`` streams further on."""
    new = stream_id + count("jumps", jumps)
    if new >= _STREAMS:
        raise ValueError(f"jumps must be less than 2**64 in all, got {shown(jumps)} after {stream_id}")
    return new


def jumped_has_no_children(stream_id: int) -> None:
    """Refuse children of a generator that was jumped."""
    if stream_id:
        raise TypeError(
            "a generator that was jumped cannot spawn, because its children would be those of the generator that it "
            "came from; spawn from that one"
        )


def source_generator(value: Any, kind: type) -> None:
    """Refuse anything but a lapnoise Generator."""
    if not isinstance(value, kind):
        given = type(value)
        raise TypeError(f"rng must be a lapnoise Generator, got {given.__module__}.{given.__qualname__}")


def bits_state(value: Any) -> dict[str, int]:
    """Return the numbers that a state holds; what else stands in it, as NumPy's RandomState adds, is passed over.

    No message shows the key.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"state must be a dict, got {type(value).__name__}")
    if value.get("bit_generator") != _NAME:
        raise ValueError(f'state["bit_generator"] must be "{_NAME}", got {shown(value.get("bit_generator"))}')
    inner = value.get("state")
    if not isinstance(inner, Mapping):
        raise TypeError(f'state["state"] must be a dict, got {type(inner).__name__}')
    numbers = {name: _number(f'state["state"]["{name}"]', inner, name, most) for name, most in _PARTS.items()}
    numbers |= {name: _number(f'state["{name}"]', value, name, most) for name, most in _HALF.items()}
    numbers["rounds"] = rounds(inner.get("rounds"))
    return numbers


def _number(name: str, holder: Mapping[str, Any], key: str, most: int) -> int:
    if key not in holder:
        raise ValueError(f"{name} must be given")
    try:
        number = integer(name, holder[key])
    except TypeError:
        raise TypeError(f"{name} must be an int, got {type(holder[key]).__name__}") from None
    if not 0 <= number <= most:
        bits = most.bit_length()
        end = "1" if most == 1 else f"2**{bits} - 1" if most & 1 else f"2**{bits - 1}"
        raise ValueError(f"{name} must be from 0 to {end}" + ("" if key == "key" else f", got {shown(number)}"))
    return number
