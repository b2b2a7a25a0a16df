"""The layout of the packages; `python -m tests.project.layout` prints it.

The layout of a package is its number of modules, the median and the maximum length of its files, and its
largest folder. It also contains import cycles between folders or modules, and imports of higher layers of
`pyproject.toml`. Late and type-only imports are included.
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

ROOT = Path(__file__).parents[2]
PACKAGES = ("docyard", "tools", "index", "workspace")
MAX_MODULES = 20
"""The maximum number of modules directly in a folder, without `__init__.py`."""


class Layout(NamedTuple):
    """The figures of a package: lines of each file, modules of each folder, and forbidden imports.

    `cycles` contains the members of each import cycle. `upward_imports` contains the importer and the
    imported module of each import of a higher layer.
    """

    package: str
    line_counts: Mapping[Path, int]
    module_counts: Mapping[Path, int]
    cycles: tuple[tuple[str, ...], ...]
    upward_imports: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        longest_file = max(self.line_counts, key=lambda path: self.line_counts[path])
        largest_folder = max(self.module_counts, key=lambda path: self.module_counts[path])
        return (
            f"{self.package:10} {len(self.line_counts):4} modules, "
            f"median {median(self.line_counts.values()):.0f} lines, "
            f"longest {self.line_counts[longest_file]} ({longest_file}); "
            f"most modules in a folder {self.module_counts[largest_folder]} ({largest_folder}); "
            f"import cycles {len(self.cycles)}, imports of higher layers {len(self.upward_imports)}"
        )


def read_layouts() -> Iterator[Layout]:
    """Yield the layout of each package."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    for package in PACKAGES:
        paths = [path.relative_to(ROOT) for path in sorted((ROOT / package).rglob("*.py"))]
        line_counts = {path: len((ROOT / path).read_text().splitlines()) for path in paths}
        cycles = tuple(_find_cycles(graph, package))
        upward_imports = tuple(_find_upward_imports(graph, package))
        yield Layout(package, line_counts, count_modules(package), cycles, upward_imports)


def count_modules(package: str) -> Counter[Path]:
    """Return the number of modules directly in each folder of a package."""
    paths = (ROOT / package).rglob("*.py")
    return Counter(path.parent.relative_to(ROOT) for path in paths if path.name != "__init__.py")


def find_public_classes(package: str) -> Mapping[str, list[Path]]:
    """Return the public classes of a package: each name with the files that define it."""
    files: dict[str, list[Path]] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text(), re.MULTILINE):
            files.setdefault(name, []).append(path.relative_to(ROOT))
    return files


def find_docstring_differences(package: str) -> Mapping[Path, set[str]]:
    """Return the names that only the docstring of a folder lists or only the folder contains, by folder."""
    differences: dict[Path, set[str]] = {}
    for path in sorted((ROOT / package).rglob("__init__.py")):
        folder = path.parent
        docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
        documented_names = re.findall(r"^ *([a-z0-9_]+(?:\.py|/))  +\S", docstring, re.MULTILINE)
        modules = {module.name for module in folder.glob("*.py")} - {"__init__.py"}
        folders = {f"{inner.parent.name}/" for inner in folder.glob("*/__init__.py")}
        if difference := set(documented_names) ^ (modules | folders):
            differences[folder.relative_to(ROOT)] = difference
    return differences


def find_self_importing_folders(package: str) -> set[str]:
    """Return the folders whose `__init__.py` imports modules of the folder.

    If one thread imports such a folder while another imports one of its modules, each waits for the other.
    Python then raises an ImportError in one of them.
    """
    importing_folders = set()
    for path in sorted((ROOT / package).rglob("__init__.py")):
        folder = path.parent.relative_to(ROOT).as_posix()
        own_import = re.compile(rf"^(from|import) {re.escape(folder.replace('/', '.'))}\b", re.MULTILINE)
        if own_import.search(path.read_text(encoding="utf-8")):
            importing_folders.add(folder)
    return importing_folders


def _find_cycles(graph: grimp.ImportGraph, parent: str) -> Iterator[tuple[str, ...]]:
    """Yield one import cycle for each folder whose modules or subfolders import each other in a cycle."""
    children = sorted(graph.find_children(parent))
    imports = {child: _find_imported_siblings(graph, child, children) for child in children}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        yield tuple(error.args[1])
    for child in children:
        yield from _find_cycles(graph, child)


def _find_imported_siblings(graph: grimp.ImportGraph, importer: str, siblings: list[str]) -> set[str]:
    modules = {importer, *graph.find_descendants(importer)}
    imported_names = {name for module in modules for name in graph.find_modules_directly_imported_by(module)}
    return {
        sibling
        for sibling in siblings
        if sibling != importer and imported_names & {sibling, *graph.find_descendants(sibling)}
    }


def _find_upward_imports(graph: grimp.ImportGraph, package: str) -> Iterator[tuple[str, str]]:
    """Yield the imports of a package that go from a lower layer to a higher one."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    for contract in settings["contracts"]:
        if contract["type"] != "layers" or not any(
            container.split(".")[0] == package for container in contract.get("containers", ())
        ):
            continue
        for container in contract["containers"]:
            layers = [re.split(r"\s*[|:]\s*", layer) for layer in contract["layers"]]
            for number, lower_group in enumerate(layers):
                for higher_group in layers[:number]:
                    for lower in lower_group:
                        for higher in higher_group:
                            yield from _find_imports(graph, f"{container}.{lower}", f"{container}.{higher}")


def _find_imports(graph: grimp.ImportGraph, importer: str, imported: str) -> Iterator[tuple[str, str]]:
    for module in sorted({importer, *graph.find_descendants(importer)}):
        for name in sorted(graph.find_modules_directly_imported_by(module)):
            if name == imported or name.startswith(imported + "."):
                yield module, name


def main() -> int:
    """Print the layout of each package and each broken rule; return 1 if a rule is broken."""
    layouts = list(read_layouts())
    print(*layouts, sep="\n")
    problems = [" -> ".join(cycle) for layout in layouts for cycle in layout.cycles]
    problems += [
        f"{importer} imports {imported}, which is in a higher layer"
        for layout in layouts
        for importer, imported in layout.upward_imports
    ]
    for package in PACKAGES:
        problems += [
            f"{folder}: the docstring and the files differ: {', '.join(names)}"
            for folder, names in find_docstring_differences(package).items()
        ]
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
