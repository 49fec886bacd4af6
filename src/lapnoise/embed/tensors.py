"""Noise written into tensors where they lie: of PyTorch, and of whatever lets its memory be shared.

PyTorch is never imported here: where no tensor of it exists there is nothing to recognise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lapnoise import _check
from lapnoise.generator import Generator
from lapnoise.mechanisms import DiscreteLaplaceMechanism
from lapnoise.mechanisms._on_floats import FloatMechanism

__all__ = ["add_laplace_", "add_noise_", "as_array", "laplace_"]

Tensor = TypeVar("Tensor")


def as_array(tensor: Any) -> NDArray[Any]:
    """Return the NumPy array that is the tensor's memory: what is written to one stands in the other.

    Parameters
    ----------
    tensor : torch.Tensor, ndarray, or an object with ``__dlpack__`` or ``__array_interface__``
        float32, float64 or int64, in CPU memory that may be written; of any strides, also of no dimension.

    Returns
    -------
    ndarray
        It keeps the memory alive. PyTorch does not see what is written through it; the functions below tell it.

    Raises
    ------
    TypeError
        If it is no tensor, or of another dtype: noise on float16 or bfloat16 would be rounded to what is left of it.
    ValueError
        If it lies on another device, may not be written (as JAX's arrays), requires a gradient, repeats its own memory,
        or does not share it. With NumPy before 2.1 all that comes by DLPack may not be written.

    Examples
    --------
    >>> import numpy as np
    >>> from lapnoise.embed import tensors
    >>> x = np.zeros(3)
    >>> tensors.as_array(x) is x
    True
    """
    return _shared(tensor)[0]


def laplace_(tensor: Tensor, loc: Any = 0.0, scale: Any = 1.0, *, rng: Generator) -> Tensor:
    """Fill a tensor with Laplace draws, in place, and return it.

    This samples; it makes no claim of privacy.

    Parameters
    ----------
    tensor : torch.Tensor, ndarray, or an object with ``__dlpack__`` or ``__array_interface__``
        float32 or float64, as in `as_array`. float32 takes half a word of the stream a draw.
    loc, scale : float or array_like
        As in `lapnoise.Generator.laplace`; a CPU tensor counts as the array that it is.
    rng : Generator
        What `lapnoise.default_rng` returns. The draws are those of ``rng.laplace``, bit for bit.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As `as_array` and `lapnoise.Generator.laplace`; nothing is drawn or written then.
    """
    array, written = _floats(tensor, rng)
    rng.laplace(_parameter("loc", loc), _parameter("scale", scale), dtype=array.dtype, out=array)
    written()
    return tensor


def add_laplace_(tensor: Tensor, scale: Any, *, rng: Generator) -> Tensor:
    """Add Laplace draws to a tensor, in place, and return it.

    This samples; it makes no claim of privacy. What is published takes `add_noise_`.

    Parameters
    ----------
    tensor
        As in `laplace_`.
    scale : float or array_like
        As in `lapnoise.Generator.add_laplace`; a CPU tensor counts as the array that it is.
    rng : Generator
        What `lapnoise.default_rng` returns. The draws are those of ``rng.add_laplace``, bit for bit.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As `as_array` and `lapnoise.Generator.add_laplace`; nothing is drawn or written then.
    """
    array, written = _floats(tensor, rng)
    rng.add_laplace(array, _parameter("scale", scale), out=array)
    written()
    return tensor


def add_noise_(tensor: Tensor, mechanism: Any, *, rng: Generator | None = None) -> Tensor:
    """Add a mechanism's exact, private noise to a tensor, in place, and return it.

    The tensor is the whole vector that is released. Where one record changes several tensors (the gradients of a
    model's layers), they are one vector in pieces: its sensitivity counts them all, and each piece takes the mechanism
    bound to the length of the whole, ``mechanism.for_length(n)``.

    Parameters
    ----------
    tensor : torch.Tensor, ndarray, or an object with ``__dlpack__`` or ``__array_interface__``
        float32 or float64, as in `as_array`; int64 for mechanisms on integers.
    mechanism : LaplaceMechanism, DiscreteLaplaceMechanism, GaussianMechanism or another on numbers
        One whose ``add_noise`` takes values alone.
    rng : Generator, optional
        As in the mechanism's ``add_noise``: None draws from ChaCha20 under a fresh key from the operating system.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As `as_array` and the mechanism's ``add_noise``; nothing is drawn or written then.

    Examples
    --------
    >>> import numpy as np
    >>> import lapnoise
    >>> from lapnoise.embed import tensors
    >>> gradient = np.zeros(1000, np.float32)
    >>> tensors.add_noise_(gradient, lapnoise.LaplaceMechanism(epsilon=1, sensitivity=0.5)) is gradient
    True
    """
    _check.mechanism_on_numbers(mechanism, (FloatMechanism, DiscreteLaplaceMechanism))
    array, written = _shared(tensor)
    whole = isinstance(mechanism, DiscreteLaplaceMechanism) or getattr(mechanism, "integers", False)
    _check.tensor_holds(array.dtype, whole)
    mechanism.add_noise(array, out=array, rng=rng)
    written()
    return tensor


def _floats(tensor: Any, rng: Any) -> tuple[NDArray[Any], Callable[[], None]]:
    _check.given_generator(rng, Generator)
    array, written = _shared(tensor)
    _check.tensor_holds(array.dtype, False)
    return array, written


def _parameter(name: str, value: Any) -> Any:
    """Return a parameter; a tensor of PyTorch as the array that NumPy reads."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return value
    _check.no_gradient(value.requires_grad, name)
    try:
        return value.numpy()
    except (RuntimeError, TypeError) as error:
        _check.not_read(name, error)


def _shared(tensor: Any) -> tuple[NDArray[Any], Callable[[], None]]:
    """Return the array that is a tensor's memory, and what to call when it has been written."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        array, written = _of_torch(tensor, torch)
    else:
        array, written = _by_protocol(tensor), lambda: None
    _check.tensor_dtype(array.dtype)
    return _check.output(array, array.dtype, None, "tensor"), written


def _of_torch(tensor: Any, torch: Any) -> tuple[NDArray[Any], Callable[[], None]]:
    _check.cpu_device(str(tensor.device), tensor.device.type == "cpu")
    _check.tensor_dtype(tensor.dtype)
    _check.no_gradient(tensor.requires_grad)
    try:
        # Not by DLPack: it leaves out a pending sign, and before PyTorch 2.9 it does not say what may be written.
        array = tensor.numpy()
    except (RuntimeError, TypeError) as error:
        _check.not_shared(error)
    _check.same_memory(array, tensor.data_ptr())
    # What autograd keeps for a backward pass it tells to be stale by this count.
    increment = torch.autograd.graph.increment_version
    return array, lambda: increment(tensor)


def _by_protocol(tensor: Any) -> NDArray[Any]:
    if isinstance(tensor, np.ndarray):
        _check.no_mask("tensor", tensor)
        return tensor
    try:
        if hasattr(tensor, "__dlpack__"):
            kind, number = tensor.__dlpack_device__()
            _check.cpu_device(f"{_DEVICES.get(int(kind), f'DLPack device {int(kind)}')}:{number}", kind == _CPU)
            return np.from_dlpack(tensor)
        if hasattr(tensor, "__array_interface__"):
            array = np.asarray(tensor)
            _check.same_memory(array, tensor.__array_interface__["data"][0])
            return array
    except (BufferError, RuntimeError, TypeError) as error:
        _check.not_shared(error)
    _check.cpu_device("cuda", not hasattr(tensor, "__cuda_array_interface__"))
    return _check.no_tensor(tensor)


_CPU = 1
_DEVICES = {1: "cpu", 2: "cuda", 3: "cuda_host", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 13: "cuda_managed"}
"""Devices by their number in DLPack, dlpack.h, DLDeviceType."""
