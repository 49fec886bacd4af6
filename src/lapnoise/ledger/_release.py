"""What a release is before any value is looked at: its cost, its fingerprint, and how its result is kept."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from lapnoise import _check
from lapnoise._check import ledger_arguments
from lapnoise._containers import describe as described
from lapnoise._containers import unwrap
from lapnoise._version import __version__
from lapnoise.ledger._amounts import Amount, to_text
from lapnoise.ledger._chain import encode

__all__ = ["Request", "describe", "pack", "prepare", "unpack"]

_PUBLIC = ("exclude", "measure")
"""Options as long as the candidates that do not depend on data."""

_PLAIN = (str, int, float, bool, type(None))


class Request(NamedTuple):
    """A release that was checked as far as parameters, dtypes and shapes go."""

    method: str
    cost: Amount
    details: dict[str, Any]


def prepare(
    mechanism: Any,
    inputs: tuple[Any, ...],
    *,
    label: str,
    request_id: str | None,
    data_version: str | None,
    options: dict[str, Any],
) -> Request:
    """Check everything that does not depend on values, and say what the release costs and is."""
    method = ledger_arguments.releasing(mechanism)[0]
    verify = getattr(mechanism, "verify_inputs", None)
    if verify is not None:
        verify(*inputs, **options)
    elif method == "add_noise" and inputs:
        _check.values(unwrap(inputs[0])[0])
    if request_id is not None:
        _verify_keeping(method, inputs, options)
    public = getattr(mechanism, "_public_inputs", ())
    told = {
        "inputs": [_form(value) for value in inputs],
        "options": {
            name: _canonical(value) if name == "clamp" else _digest(value) if name in _PUBLIC else _form(value)
            for name, value in options.items()
            if name not in ("rng", "threads", "out") and value is not None
        },
        "data_version": data_version,
    }
    if public:
        told["public"] = [_digest(inputs[i]) for i in public if i < len(inputs)]
    private = not getattr(options.get("rng"), "repeatable", False)
    return describe(mechanism, told, label=label, private=private)


def describe(mechanism: Any, told: dict[str, Any], *, label: str, private: bool) -> Request:
    """Return what a release by a mechanism costs and is; ``told`` says what it is made of, without values."""
    method, epsilon, delta, parameters = ledger_arguments.releasing(mechanism)
    details = {
        "version": __version__,
        "mechanism": type(mechanism).__name__,
        "parameters": {name: _canonical(value) for name, value in parameters.items()},
        "private": private,
        **told,
    }
    signed = [type(mechanism).__module__, label, to_text(epsilon), to_text(delta), details]
    details["fingerprint"] = hashlib.sha256(encode(signed).encode()).hexdigest()
    return Request(method, Amount(epsilon, delta), details | _law(mechanism))


def pack(result: Any) -> bytes:
    """Return a result as bytes: plain values as JSON, arrays as NPY. Index and mask come from the caller again."""
    if isinstance(result, _PLAIN) and not isinstance(result, np.generic):
        return b"J" + encode([type(result).__name__, result.hex() if isinstance(result, float) else result]).encode()
    buffer = io.BytesIO()
    data = unwrap(result)[0]
    np.save(buffer, np.asarray(data), allow_pickle=False)
    return (b"S" if isinstance(data, np.generic) else b"A") + buffer.getvalue()


def unpack(content: bytes, method: str, inputs: tuple[Any, ...]) -> Any:
    """Return a stored result in the form of the inputs."""
    kind, body = content[:1], content[1:]
    if kind == b"J":
        name, value = json.loads(body)
        return float.fromhex(value) if name == "float" else value
    array = np.load(io.BytesIO(body), allow_pickle=False)
    if kind == b"S":
        return array[()]
    return unwrap(inputs[0])[1](array) if method == "add_noise" else array


def _verify_keeping(method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
    if method == "add_noise":
        dtype = getattr(inputs[0], "dtype", None) if inputs else None
        ledger_arguments.result_size(int(np.size(inputs[0])) * (4 if dtype == np.float32 else 8) if inputs else 0)
        ledger_arguments.no_output(options.get("out"))
    elif inputs and not isinstance(inputs[0], np.ndarray):
        ledger_arguments.plain_candidates(inputs[0], (*_PLAIN, np.generic))


def _form(value: Any) -> Any:
    """Return type, shape and dtype: what may be said of data without saying anything of values."""
    if isinstance(value, (*_PLAIN, np.generic)):
        return type(value).__name__
    if isinstance(value, list | tuple):
        # No dtype: which one NumPy would choose depends on the values.
        try:
            return [type(value).__name__, *np.shape(value)]
        except ValueError:  # candidates of several shapes
            return [type(value).__name__, len(value)]
    return [type(value).__name__, *described(value)]


def _digest(value: Any) -> str:
    """Return a hash of public inputs, candidates or strata, which may be told apart by their values."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    listed = list(value) if isinstance(value, tuple | range) else value
    return hashlib.sha256(repr(listed).encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """Return public parameters as JSON can write them, the same for the same parameters."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Fraction | Decimal) or (isinstance(value, int) and not isinstance(value, bool)):
        return to_text(Fraction(value)) if not isinstance(value, Decimal) else str(value)
    if isinstance(value, str | bool | None):
        return value
    if isinstance(value, Mapping):
        return sorted(([encode(_canonical(key)), _canonical(part)] for key, part in value.items()), key=encode)
    if isinstance(value, np.ndarray):
        return [str(value.dtype), list(value.shape), *map(_canonical, value.reshape(-1).tolist())]
    if isinstance(value, list | tuple):
        return [_canonical(part) for part in value]
    return [type(value).__name__, repr(value)]


def _law(mechanism: Any) -> dict[str, str]:
    """Return what tighter accounting needs: rho, and for discrete Laplace noise its scale in lattice steps."""
    law: dict[str, str] = {}
    if isinstance(rho := getattr(mechanism, "rho", None), Fraction):
        law["rho"] = to_text(rho)
    if type(mechanism).__name__ in ("LaplaceMechanism", "DiscreteLaplaceMechanism"):
        law["steps"] = float(mechanism.lattice.t).hex()
    return law
