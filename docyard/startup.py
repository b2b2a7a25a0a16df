"""The checks before other imports: the platform, and that `tools`, `index` and others are Docyard's own.

Docyard locks files with `fcntl`, which Windows does not have. Without the check, each command would fail
at an import.

`tools`, `index`, `workspace` and `templates` are common names at the root. If another distribution, or a
folder on `PYTHONPATH`, has a package of the same name, Docyard would run the code of that package. So the
packages are checked before they are imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from os.path import dirname, join, realpath
from sys import platform

OWN_PACKAGES = ("tools", "index", "workspace", "templates")


class UnsupportedPlatform(Exception):
    """Docyard cannot run on this platform."""

    fix = (
        "Use Docyard on Linux. On Windows, run `wsl --install`, and `pipx install docyard` in that Linux; or "
        "open the pages of a Docyard server in a browser."
    )


def check_platform() -> None:
    """Raise UnsupportedPlatform if Python has no module `fcntl`."""
    if find_spec("fcntl") is None:
        raise UnsupportedPlatform(f"Docyard does not run on {platform}: it needs file locks of POSIX (fcntl)")


def check_own_packages(root: str | None = None, names: Sequence[str] = OWN_PACKAGES) -> None:
    """Raise ImportError unless each name resolves to the package in `root`. No package is imported.

    `root` is the folder that contains the package `docyard` itself.
    """
    root = root or dirname(dirname(realpath(__file__)))
    for name in names:
        expected = join(root, name)
        location = _find_location(find_spec(name))
        if location is None or realpath(location) != realpath(expected):
            raise ImportError(
                f"Docyard's own package {name!r} is {expected}, but Python finds "
                f"{location or 'no such package'}. Install Docyard in a separate environment, for example "
                "with `pipx install docyard`, and unset PYTHONPATH when it runs.",
                name=name,
                path=location,
            )


def _find_location(spec: ModuleSpec | None) -> str | None:
    """Return the folder of a package, or the file of a module."""
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return next(iter(spec.submodule_search_locations))
    return spec.origin
