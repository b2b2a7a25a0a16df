"""How the packages are laid out, printed: `python -m tests.layout`.

For each package: modules, the median and the longest file in lines, the most modules of a folder, folders and
modules that import each other in a circle, and imports that go up between the layers of `pyproject.toml`.
Late and type-only imports count.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import median
from typing import NamedTuple

import grimp

ROOT = Path(__file__).parent.parent
PACKAGES = ("docyard", "tools", "index", "workspace")
MAX_MODULES = 20
"""Modules that may lie directly in a folder."""


class Layout(NamedTuple):
    """The figures of one package. `circles` are the members of each circle, `upward` pairs of modules."""

    package: str
    lines: Mapping[Path, int]
    folders: Mapping[Path, int]
    circles: tuple[tuple[str, ...], ...]
    upward: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        longest = max(self.lines, key=lambda path: self.lines[path])
        folder = max(self.folders, key=lambda path: self.folders[path])
        return (
            f"{self.package:10} {len(self.lines):4} modules, median {median(self.lines.values()):.0f} lines, "
            f"longest {self.lines[longest]} ({longest}); most in a folder {self.folders[folder]} ({folder}); "
            f"circles {len(self.circles)}, imports upward {len(self.upward)}"
        )


def layouts() -> Iterator[Layout]:
    """Give the layout of each package."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    for package in PACKAGES:
        paths = [path.relative_to(ROOT) for path in sorted((ROOT / package).rglob("*.py"))]
        lines = {path: len((ROOT / path).read_text().splitlines()) for path in paths}
        folders = Counter(path.parent for path in paths if path.name != "__init__.py")
        yield Layout(package, lines, folders, tuple(_circles(graph, package)), tuple(_upward(graph, package)))


def public_classes(package: str) -> Mapping[str, list[Path]]:
    """Find the public classes of a package: each name with the files that define one of that name."""
    found: dict[str, list[Path]] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text(), re.MULTILINE):
            found.setdefault(name, []).append(path.relative_to(ROOT))
    return found


def listed_wrongly(package: str) -> Mapping[Path, set[str]]:
    """Compare the files that docstrings of folders list with those that are there; give what differs."""
    found: dict[Path, set[str]] = {}
    for path in sorted((ROOT / package).rglob("__init__.py")):
        folder = path.parent
        docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
        listed = re.findall(r"^ *([a-z0-9_]+(?:\.py|/))  +\S", docstring, re.MULTILINE)
        modules = {module.name for module in folder.glob("*.py")} - {"__init__.py"}
        folders = {f"{inner.parent.name}/" for inner in folder.glob("*/__init__.py")}
        if differing := set(listed) ^ (modules | folders):
            found[folder.relative_to(ROOT)] = differing
    return found


def _circles(graph: grimp.ImportGraph, parent: str) -> Iterator[tuple[str, ...]]:
    """Give a circle of each folder whose modules and folders import each other in one."""
    children = sorted(graph.find_children(parent))
    imported = {child: _imported(graph, child, children) for child in children}
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        yield tuple(error.args[1])
    for child in children:
        yield from _circles(graph, child)


def _imported(graph: grimp.ImportGraph, importer: str, children: list[str]) -> set[str]:
    inside = {importer, *graph.find_descendants(importer)}
    found = {name for module in inside for name in graph.find_modules_directly_imported_by(module)}
    return {
        child for child in children if child != importer and found & {child, *graph.find_descendants(child)}
    }


def _upward(graph: grimp.ImportGraph, package: str) -> Iterator[tuple[str, str]]:
    """Give the imports of a package that go from a lower layer to a higher one."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    for contract in settings["contracts"]:
        if contract["type"] != "layers" or not any(
            container.split(".")[0] == package for container in contract.get("containers", ())
        ):
            continue
        for container in contract["containers"]:
            layers = [re.split(r"\s*[|:]\s*", layer) for layer in contract["layers"]]
            for place, low in enumerate(layers):
                for high in layers[:place]:
                    for lower in low:
                        for higher in high:
                            yield from _imports(graph, f"{container}.{lower}", f"{container}.{higher}")


def _imports(graph: grimp.ImportGraph, importer: str, imported: str) -> Iterator[tuple[str, str]]:
    for module in sorted({importer, *graph.find_descendants(importer)}):
        for name in sorted(graph.find_modules_directly_imported_by(module)):
            if name == imported or name.startswith(imported + "."):
                yield module, name


def main() -> int:
    """Print the layout of each package, then what breaks its rules; return 1 if something does."""
    found = list(layouts())
    print(*found, sep="\n")
    wrong = [" -> ".join(circle) for layout in found for circle in layout.circles]
    wrong += [" imports up ".join(pair) for layout in found for pair in layout.upward]
    for package in PACKAGES:
        wrong += [
            f"{folder}: lists wrongly {', '.join(names)}" for folder, names in listed_wrongly(package).items()
        ]
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
