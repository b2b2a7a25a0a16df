"""Packages whose `__init__` is read when something of it is asked for, and not before.

A package's `__init__` often imports all that the package can do. A program that needs one of its modules
pays for everything, and a start-up is mostly such imports.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType


class _Unread(ModuleType):
    """A package that its submodules can be imported from; any other attribute reads its `__init__` first."""

    def __getattr__(self, name: str) -> object:
        spec = self.__spec__
        if spec is None or spec.loader is None or name.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'", name=name, obj=self)
        self.__class__ = ModuleType  # type: ignore[assignment]  # from here on it is a package like any other
        spec.loader.exec_module(self)
        return getattr(self, name)


def read_late(*names: str) -> None:
    """Puts off reading these packages, outermost first; one that is imported or missing is left alone."""
    for name in names:
        if name in sys.modules:
            continue
        spec = find_spec(name)
        if spec is None or spec.loader is None or spec.submodule_search_locations is None:
            return
        module = module_from_spec(spec)
        module.__class__ = _Unread
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
