"""A check that `tools`, `index`, `workspace` and `templates` are Docyard's own packages.

These packages have common names at the root. If another distribution, or a folder on `PYTHONPATH`, has a
package of the same name, Docyard would run foreign code. So they are checked before they are imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from os.path import dirname, join, realpath

OURS = ("tools", "index", "workspace", "templates")


def check_names(home: str | None = None, names: Sequence[str] = OURS) -> None:
    """Raise ImportError unless each name resolves to the package in `home`. Imports none of them.

    `home` is the folder that holds the package `docyard` itself.
    """
    home = home or dirname(dirname(realpath(__file__)))
    for name in names:
        ours = join(home, name)
        found = _find_location(find_spec(name))
        if found is None or realpath(found) != realpath(ours):
            raise ImportError(
                f"Docyard's own package {name!r} is {ours}, but Python finds "
                f"{found or 'none of that name'}. Install Docyard in an environment of its own, for example "
                "with `pipx install docyard`, and leave PYTHONPATH unset when it runs.",
                name=name,
                path=found,
            )


def _find_location(spec: ModuleSpec | None) -> str | None:
    """Return the folder of a package, or the file of a module."""
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return next(iter(spec.submodule_search_locations))
    return spec.origin
