"""Modules of the package with one piece of source changed: a check that accepts such a mutant is worth nothing."""

import importlib
from pathlib import Path
from types import ModuleType


def mutant(name: str, *changes: tuple[str, str]) -> ModuleType:
    """Return the module ``name`` made anew from its source with each (old, new) text exchanged.

    The package itself stays as it is. Only modules of device functions can be changed so: a cached kernel needs a file.
    """
    original = importlib.import_module(name)
    path = Path(original.__file__ or "")
    source = path.read_text()
    for old, new in changes:
        if source.count(old) != 1:
            raise ValueError(f"{old!r} must stand once in {name}, found {source.count(old)} times")
        source = source.replace(old, new)
    module = ModuleType(f"{name}_mutant")
    exec(compile(source, f"{path.stem}_mutant.py", "exec"), module.__dict__)
    return module
