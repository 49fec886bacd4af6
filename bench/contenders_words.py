"""NumPy's sampler over cryptographic words as contenders: randomgen's bit generators, and our own."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from bench.contender import LOC, SCALE, Call, Contender, imported

__all__ = ["WORDS"]


def _over(module: str, kind: str, options: dict[str, Any], n: int, loc: float = LOC, scale: Any = SCALE) -> Call:
    bits = getattr(imported(module), kind)(1, **options)
    return functools.partial(np.random.Generator(bits).laplace, loc, scale, n)


def _contender(module: str, kind: str, **options: Any) -> Contender:
    return Contender(functools.partial(_over, module, kind, options), module=module, array=True)


WORDS = {
    "randomgen ChaCha8": _contender("randomgen", "ChaCha", rounds=8),
    "randomgen ChaCha20": _contender("randomgen", "ChaCha", rounds=20),
    "randomgen AESCounter": _contender("randomgen", "AESCounter"),
    "numpy Generator(lapnoise ChaChaBits)": _contender("lapnoise.embed.numpy_bits", "ChaChaBits"),
}
