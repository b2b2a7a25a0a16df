"""Are `tools`, `index`, `workspace` and `templates` Docyard's own?

These packages stand at the root under common names. If another distribution, or a folder on `PYTHONPATH`,
brings a package of the same name, Docyard would run somebody else's code; so it looks before it imports.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from os.path import dirname, join, realpath

OURS = ("tools", "index", "workspace", "templates")


def check_names(home: str | None = None, names: Sequence[str] = OURS) -> None:
    """Raise ImportError, before any of them is imported, unless each name is the package in `home`.

    `home` is the folder in which the package `docyard` itself stands.
    """
    home = home or dirname(dirname(realpath(__file__)))
    for name in names:
        ours = join(home, name)
        found = _place(find_spec(name))
        if found is None or realpath(found) != realpath(ours):
            raise ImportError(
                f"Docyard's own package {name!r} is {ours}, but Python finds "
                f"{found or 'none of that name'}. Install Docyard in an environment of its own, for example "
                "with `pipx install docyard`, and leave PYTHONPATH unset when it runs.",
                name=name,
                path=found,
            )


def _place(spec: ModuleSpec | None) -> str | None:
    """Return the folder of a package, or the file of a module."""
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return next(iter(spec.submodule_search_locations))
    return spec.origin
