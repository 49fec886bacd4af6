"""The only package that rejects a caller's argument.

Every check runs before a word is drawn, a budget charged or a file made, and every message names the parameter, the
rule and the value. A module of checks loads when a name of it is first asked for: most programs need two of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Those that drawing needs come first, because the search for a name loads what it passes.
_MODULES = (
    "_arrays",
    "_sampling",
    "_amounts",
    "_bits",
    "_clusters",
    "_dask",
    "_domains",
    "_embedding",
    "_gaussian",
    "_keyed",
    "_planar",
    "_postprocess",
    "_quantile",
    "_queries",
    "_rules",
    "_selection",
    "_strata",
    "_streams",
)

if TYPE_CHECKING:
    from lapnoise._check._amounts import *  # noqa: F403
    from lapnoise._check._arrays import *  # noqa: F403
    from lapnoise._check._bits import *  # noqa: F403
    from lapnoise._check._clusters import *  # noqa: F403
    from lapnoise._check._dask import *  # noqa: F403
    from lapnoise._check._domains import *  # noqa: F403
    from lapnoise._check._embedding import *  # noqa: F403
    from lapnoise._check._gaussian import *  # noqa: F403
    from lapnoise._check._keyed import *  # noqa: F403
    from lapnoise._check._planar import *  # noqa: F403
    from lapnoise._check._postprocess import *  # noqa: F403
    from lapnoise._check._quantile import *  # noqa: F403
    from lapnoise._check._queries import *  # noqa: F403
    from lapnoise._check._rules import *  # noqa: F403
    from lapnoise._check._sampling import *  # noqa: F403
    from lapnoise._check._selection import *  # noqa: F403
    from lapnoise._check._strata import *  # noqa: F403
    from lapnoise._check._streams import *  # noqa: F403
else:  # a type checker would take this for leave to ask for any name

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        modules = (import_module(f"lapnoise._check.{module}") for module in _MODULES)
        if name == "__all__":
            return sorted(offered for module in modules for offered in module.__all__)
        for module in modules:
            if name in module.__all__:
                value = globals()[name] = getattr(module, name)
                return value
        raise AttributeError(f"module 'lapnoise._check' has no attribute {name!r}")
