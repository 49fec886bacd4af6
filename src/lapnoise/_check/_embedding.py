"""What other libraries hand over: tensors, numbers one at a time, spaces of data sets."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lapnoise import _numbers
from lapnoise._check._arrays import number_or_array
from lapnoise._check._bits import source_generator
from lapnoise._check._rules import amount, integer, shown

__all__ = [
    "cpu_device",
    "domain_ends",
    "given_generator",
    "list_of_length",
    "mechanism_on_numbers",
    "mechanism_there",
    "no_gradient",
    "no_moments",
    "no_private_tool",
    "no_such_law",
    "no_tensor",
    "not_read",
    "not_shared",
    "numeric_space",
    "one_integer",
    "one_number",
    "random_state",
    "real_ends",
    "same_memory",
    "tensor_dtype",
    "tensor_holds",
    "whole_ends",
]

_HELD = ("float32", "float64", "int64")

_SPACES = {
    re.compile(r"AtomDomain<(\w+)>"): re.compile(r"AbsoluteDistance<\w+>"),
    re.compile(r"VectorDomain<AtomDomain<(\w+)>>"): re.compile(r"L1Distance<\w+>"),
}
_KINDS = {f"{sign}{bits}": f"{name}int{bits}" for sign, name in (("i", ""), ("u", "u")) for bits in (8, 16, 32, 64)}
_KINDS = {**_KINDS, "f32": "float32", "f64": "float64"}
del _KINDS["u64"]  # beyond the integers that are released


def given_generator(value: Any, kind: type) -> None:
    """Refuse anything but a lapnoise Generator, None included."""
    if value is None:
        raise TypeError("rng must be a lapnoise Generator, got None")
    source_generator(value, kind)


def mechanism_on_numbers(value: Any, kinds: tuple[type, ...]) -> None:
    """Refuse what has no ``add_noise`` that takes values alone."""
    if not isinstance(value, kinds):
        raise TypeError(
            f"mechanism must be a lapnoise mechanism that adds noise to numbers, got {type(value).__name__}"
        )


def cpu_device(name: str, is_cpu: bool) -> None:
    """Refuse a tensor that lies elsewhere than in CPU memory."""
    if not is_cpu:
        raise ValueError(f"tensor must lie in CPU memory, got one on {name}: move it there, and back afterwards")


def tensor_dtype(dtype: Any) -> None:
    """Refuse elements on which noise cannot be put in place; a dtype of NumPy or of PyTorch."""
    if str(dtype).removeprefix("torch.") not in _HELD:
        raise TypeError(
            f"tensor must hold float32, float64 or int64, got {dtype}: convert it first, since noise rounded to less "
            "would be another noise"
        )


def tensor_holds(dtype: np.dtype[Any], whole: bool) -> None:
    """Refuse floats for noise in integers, and integers for noise in floats."""
    if (dtype.kind == "i") != whole:
        raise TypeError(f"tensor must hold {'int64' if whole else 'float32 or float64'} for this noise, got {dtype}")


def no_gradient(required: bool, name: str = "tensor") -> None:
    """Refuse a tensor whose gradient would not know of the noise."""
    if required:
        raise ValueError(
            f"{name} must not require a gradient, which would not know of the noise: hand over {name}.detach(), which "
            "shares its memory"
        )


def not_read(name: str, error: Exception) -> NoReturn:
    """Refuse a tensor as a parameter where NumPy cannot read it, for the reason that its library gives."""
    raise TypeError(f"{name} must be numbers that NumPy reads, got: {error}") from error


def not_shared(error: Exception) -> NoReturn:
    """Refuse a tensor that its library does not let share its memory, for the reason that it gives."""
    raise ValueError(f"tensor must share its memory with NumPy, got: {error}") from error


def same_memory(array: NDArray[Any], address: int) -> None:
    """Refuse what was copied on its way."""
    if array.size and array.__array_interface__["data"][0] != address:
        raise ValueError("tensor must share its memory with NumPy, got a copy of it")


def no_tensor(value: Any) -> NoReturn:
    """Refuse what shares its memory by no protocol."""
    raise TypeError(
        f"tensor must be a torch.Tensor, a numpy array, or have __dlpack__ or __array_interface__, got {type(value)!r}"
    )


def one_number(value: Any) -> None:
    """Refuse what is not one real number."""
    if not isinstance(value, Real):
        raise TypeError(f"value must be one real number, got a {type(value).__name__}")


def one_integer(value: Any) -> None:
    """Refuse what is not one integer."""
    if not isinstance(value, Integral):
        raise TypeError(f"value must be one integer, got a {type(value).__name__}")


def real_ends(lower: Any, upper: Any) -> tuple[float, float]:
    """Return ends at which results are cut off as floats; lower <= upper, neither NaN."""
    low, high = number_or_array("lower", lower), number_or_array("upper", upper)
    if not (isinstance(low, float) and isinstance(high, float) and low <= high):
        raise ValueError(f"lower and upper must be two numbers with lower <= upper, got {shown((lower, upper))}")
    return low, high


def whole_ends(lower: Any, upper: Any) -> tuple[int, int]:
    """Return ends at which integers are cut off, of 64 bits and lower <= upper; an infinity leaves a side open."""
    low = -(2**63) if isinstance(lower, float) and lower == -math.inf else integer("lower", lower)
    high = 2**63 - 1 if isinstance(upper, float) and upper == math.inf else integer("upper", upper)
    if not -(2**63) <= low <= high < 2**63:
        raise ValueError(f"lower and upper must be ints of 64 bits with lower <= upper, got {shown((lower, upper))}")
    return low, high


def domain_ends(lower: Any, upper: Any) -> tuple[Fraction, Fraction]:
    """Return the ends of a domain at their exact stored values; both finite, lower < upper."""
    low = amount("lower", lower, _numbers.as_stored, "finite", lambda amount: True)
    high = amount("upper", upper, _numbers.as_stored, "finite", lambda amount: True)
    if low >= high:
        raise ValueError(f"lower must be less than upper, got lower {shown(lower)} and upper {shown(upper)}")
    return low, high


def random_state(value: Any) -> int:
    """Return the seed that diffprivlib's ``random_state`` may be, if it is neither None nor a lapnoise Generator."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"random_state must be None, an int or a lapnoise Generator, got {shown(value)}")
    return int(value)


def no_moments(mechanism: Any) -> NoReturn:
    """Refuse to tell bias or variance where there is no formula."""
    raise NotImplementedError(f"bias and variance of {type(mechanism).__name__} depend on the value, and are not told")


def mechanism_there(name: str, offered: Sequence[str]) -> None:
    """Refuse to give a tool its noise where it needs a mechanism that is not offered."""
    if name not in offered:
        raise NotImplementedError(
            f"diffprivlib must use mechanisms that are offered ({', '.join(offered)}), got one that uses {name}"
        )


def no_private_tool(tool: str) -> NoReturn:
    """Refuse a tool whose noise is not offered."""
    raise NotImplementedError(
        f"diffprivlib's {tool} must not be asked here: its chances depend on floating-point lengths between values; "
        "lapnoise.queries.private_quantile is exact"
    )


def no_such_law(name: str) -> NoReturn:
    """Refuse a name of numpy.random's that is not offered."""
    raise AttributeError(
        f"lapnoise.embed.numpy_random.random has no attribute {name!r}: it offers laplace and exponential alone; "
        "numpy.random.Generator(lapnoise.ChaChaBits()) draws from the other distributions, and "
        "lapnoise.default_rng(seed) takes a seed"
    )


def numeric_space(domain: Any, metric: Any) -> tuple[np.dtype[Any], tuple[int, ...] | None]:
    """Return dtype and shape of the members of a space of OpenDP's, or None for vectors of no known length."""
    told, distance = str(getattr(domain, "type", domain)), str(getattr(metric, "type", metric))
    for members, distances in _SPACES.items():
        found = members.fullmatch(told)
        if found and distances.fullmatch(distance):
            if found[1] not in _KINDS:
                break
            dtype = np.dtype(_KINDS[found[1]])
            vector = told.startswith("Vector")
            shape = () if not vector else None if domain.size is None else (domain.size,)
            if dtype.kind == "f":
                if (domain.element_domain if vector else domain).nan:
                    raise ValueError(f"input_domain must not hold NaN, got {domain}: make it with nan=False")
                if shape is None:
                    raise ValueError(f"input_domain must tell the size of vectors of floats, got {domain}")
            return dtype, shape
    raise TypeError(
        "input_domain and input_metric must be numbers (floats, or integers up to 64 bits, signed) under the absolute "
        f"distance, or vectors of them under the L1 distance, got {told} and {distance}"
    )


def list_of_length(found: tuple[int, ...], shape: tuple[int, ...] | None) -> None:
    """Refuse data of another shape than that of its domain."""
    if found != shape and (shape is not None or len(found) != 1):
        raise ValueError(f"values must have the shape {shape or '(n,)'} of their domain, got {found}")
