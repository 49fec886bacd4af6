"""What a generator of bits is told about its place, and what it can be made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lapnoise._check._rules import count, integer, shown
from lapnoise._check._sampling import rounds

__all__ = ["advanced", "bits_state", "jumped", "jumped_has_no_children", "source_generator"]

_STREAMS = 1 << 64
_NAME = "ChaChaBits"
_PARTS = {"key": 256, "stream_id": 64, "position": 63, "spawned": 64}
_HALF = {"has_uint32": 1, "uinteger": 32}


def advanced(delta: Any, place: int, largest: int) -> int:
    """Return the place that lies ``delta`` words further on, or back."""
    new = place + integer("delta", delta)
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


def bits_state(value: Any, largest: int) -> dict[str, int]:
    """Return the numbers that a state holds; what else stands in it, as NumPy's RandomState adds, is passed over.

    A message shows no number of a state, since one of them is the key.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"state must be a dict, got {type(value).__name__}")
    if value.get("bit_generator") != _NAME:
        raise ValueError(f'state["bit_generator"] must be "{_NAME}", got {shown(value.get("bit_generator"))}')
    inner = value.get("state")
    if not isinstance(inner, Mapping):
        raise TypeError(f'state["state"] must be a dict, got {type(inner).__name__}')
    numbers = {name: _bits(f'state["state"]["{name}"]', inner, name, bits) for name, bits in _PARTS.items()}
    numbers |= {name: _bits(f'state["{name}"]', value, name, bits) for name, bits in _HALF.items()}
    if numbers["position"] > largest:
        raise ValueError(f'state["state"]["position"] must be at most 2**{largest.bit_length() - 1}')
    numbers["rounds"] = rounds(inner.get("rounds"))
    return numbers


def _bits(name: str, holder: Mapping[str, Any], key: str, bits: int) -> int:
    if key not in holder:
        raise ValueError(f"{name} must be given")
    try:
        number = integer(name, holder[key])
    except TypeError:
        raise TypeError(f"{name} must be an int, got {type(holder[key]).__name__}") from None
    if not 0 <= number < 1 << bits:
        raise ValueError(f"{name} must be from 0 to 2**{bits} - 1")
    return number
