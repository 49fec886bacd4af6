"""What diffprivlib offers, by its names and calls, with exact noise: mechanisms, and its own tools on top of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

from lapnoise import _check
from lapnoise.embed._diffprivlib_mechanisms import (
    Gaussian,
    GaussianAnalytic,
    GaussianDiscrete,
    Geometric,
    GeometricTruncated,
    Laplace,
    LaplaceBoundedDomain,
    LaplaceBoundedNoise,
    LaplaceTruncated,
)
from lapnoise.embed._one_number import OneNumber, generator_for

__all__ = [
    "Gaussian",
    "GaussianAnalytic",
    "GaussianDiscrete",
    "Geometric",
    "GeometricTruncated",
    "Laplace",
    "LaplaceBoundedDomain",
    "LaplaceBoundedNoise",
    "LaplaceTruncated",
    "tools",
]


def tools() -> SimpleNamespace:
    """Return diffprivlib's own tools, which take their noise from the mechanisms above.

    The functions are those of ``diffprivlib.tools`` as it is installed, loaded a second time with other mechanisms in
    their names; diffprivlib itself stays as it is, for all threads. What they take, what they warn of, and what they
    tell a ``BudgetAccountant`` is diffprivlib's; ``random_state`` is None, an int or a `lapnoise.Generator`.

    Returns
    -------
    SimpleNamespace
        ``count_nonzero``, ``sum``, ``mean``, ``var``, ``std``, their ``nan`` forms, ``histogram``, ``histogram2d`` and
        ``histogramdd``. ``quantile``, ``percentile`` and ``median`` raise NotImplementedError.

    Raises
    ------
    ImportError
        If diffprivlib is not installed.
    NotImplementedError
        If the version that is installed uses a mechanism that is not offered here.

    Notes
    -----
    The noise is exact for the sensitivity that diffprivlib states. That its statistics, added up in floating point,
    have that sensitivity is diffprivlib's claim; `lapnoise.queries` adds up exactly.

    Examples
    --------
    ::

        from lapnoise.embed import diffprivlib

        tools = diffprivlib.tools()
        tools.mean(ages, epsilon=0.5, bounds=(0, 120))
    """
    from diffprivlib.mechanisms.base import DPMechanism

    offered: dict[str, Callable[..., Any]] = {}
    for home, names in _TOOLS.items():
        module = _second_copy(home)
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and issubclass(value, DPMechanism):
                _check.mechanism_there(name, list(_MECHANISMS))
                setattr(module, name, _MECHANISMS[name])
        module.check_random_state = generator_for  # type: ignore[attr-defined] # NumPy's would be refused
        offered |= {name: getattr(module, name) for name in names}
    refused = {name: partial(_refuse, name) for name in ("median", "percentile", "quantile")}
    return SimpleNamespace(**offered, **refused)


_TOOLS = {
    "diffprivlib.tools.utils": (
        *("count_nonzero", "mean", "nanmean", "nanstd", "nansum", "nanvar", "std", "sum", "var"),
    ),
    "diffprivlib.tools.histograms": ("histogram", "histogram2d", "histogramdd"),
}

_MECHANISMS: dict[str, type[OneNumber]] = {
    kind.__name__: kind
    for kind in (
        *(Laplace, LaplaceTruncated, LaplaceBoundedDomain, LaplaceBoundedNoise, Geometric, GeometricTruncated),
        *(Gaussian, GaussianAnalytic, GaussianDiscrete),
    )
}


def _second_copy(name: str) -> ModuleType:
    """Return a module loaded anew, which no import finds."""
    from importlib.util import find_spec, module_from_spec

    spec: Any = find_spec(name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _refuse(tool: str, *arguments: Any, **options: Any) -> None:
    _check.no_private_tool(tool)
