"""The only package that rejects a caller's argument.

Every check runs before a word is drawn, a budget charged or a file made, and every message names the parameter, the
rule and the value.
"""

from __future__ import annotations

from lapnoise._check._amounts import bounds, delta, distance, epsilon, float_release, granularity, level, sensitivity
from lapnoise._check._arrays import (
    FLOAT32,
    FLOAT64,
    INT64,
    Parameter,
    clamp,
    dtype,
    finite,
    finite_values,
    infinite_value,
    integer_clamp,
    integer_values,
    no_mask,
    no_signed_log,
    number_or_array,
    output,
    shape,
    size,
    values,
)
from lapnoise._check._rules import count
from lapnoise._check._sampling import (
    ROUNDS,
    Method,
    discrete_scale,
    generator,
    interval,
    labels,
    method,
    position,
    rounds,
    scale,
    seed,
    threads,
)

__all__ = [
    "FLOAT32",
    "FLOAT64",
    "INT64",
    "ROUNDS",
    "Method",
    "Parameter",
    "bounds",
    "clamp",
    "count",
    "delta",
    "discrete_scale",
    "distance",
    "dtype",
    "epsilon",
    "finite",
    "finite_values",
    "float_release",
    "generator",
    "granularity",
    "infinite_value",
    "integer_clamp",
    "integer_values",
    "interval",
    "labels",
    "level",
    "method",
    "no_mask",
    "no_signed_log",
    "number_or_array",
    "output",
    "position",
    "rounds",
    "scale",
    "seed",
    "sensitivity",
    "shape",
    "size",
    "threads",
    "values",
]
